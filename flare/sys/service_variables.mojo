"""Reads the environment variables that systemd sets for a service.

The convention is that of sd_notify(3) and sd_watchdog_enabled(3). One variable
of the environment holds the address of a socket, two others ask for signs of
life. They are read and removed when a program asks for it, and at no other
time.
"""

from std.os import getenv, unsetenv

comptime NOTIFY_VARIABLE: StaticString = "NOTIFY_SOCKET"
"""The variable with the address of the socket for notifications."""
comptime WATCHDOG_VARIABLE: StaticString = "WATCHDOG_USEC"
"""The variable with the period of the watchdog, in microseconds."""
comptime _WATCHDOG_PID_VARIABLE: StaticString = "WATCHDOG_PID"


@fieldwise_init
struct ServiceVariables(Copyable, Movable):
    """The values of the environment variables, unchecked."""

    var notify_socket: String
    """A path, or `@` and an abstract name; empty if there is no socket."""
    var watchdog_usec: String
    """The microseconds between two signs of life; empty if none are wanted."""
    var watchdog_process: String
    """The process that must give them; empty if it does not matter."""


def take_service_variables() -> ServiceVariables:
    """Returns the environment variables that systemd set, and removes them so
    that child processes do not see them.

    Returns:
        The values, unchecked.
    """
    var found = ServiceVariables(
        getenv(NOTIFY_VARIABLE),
        getenv(WATCHDOG_VARIABLE),
        getenv(_WATCHDOG_PID_VARIABLE),
    )
    _ = unsetenv(NOTIFY_VARIABLE)
    _ = unsetenv(WATCHDOG_VARIABLE)
    _ = unsetenv(_WATCHDOG_PID_VARIABLE)
    return found^
