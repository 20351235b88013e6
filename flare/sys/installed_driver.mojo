"""Identifies the driver library that was installed with this package.

A checkout has none. `tools/wheel_backend.py` writes this module anew for the
package of a wheel.
"""

comptime INSTALLED_DRIVER: StaticString = "whole"
"""The digest in the library's name; `whole` if there is no library."""
