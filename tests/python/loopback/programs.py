"""Finds the programs of other makers that flare is tested with, and hides the
libraries that flare loads."""

import os
import shutil
import tempfile
from pathlib import Path

HIDDEN = (
    "libssl.so.3",
    "libcrypto.so.3",
    "libz.so.1",
    "libbrotlienc.so.1",
    "libbrotlidec.so.1",
    "libzstd.so.1",
)


def find_program(*names):
    """Gives the path of the first program that is installed.

    A test that needs one fails without it: to pass it over would hide that
    nothing was tried."""
    for name in names:
        # A shell of no administrator may lack the folder of servers.
        path = shutil.which(name) or shutil.which(name, path="/usr/sbin")
        if path:
            return path
    raise AssertionError(
        f"{' or '.join(names)} is not installed: run `make setup-peers`"
    )


def has_no_browser_package():
    """Tells whether this system has no package of the browser: Ubuntu's is an
    image that needs a service."""
    release = Path("/etc/os-release")
    return (
        release.exists()
        and "ID=ubuntu" in release.read_text().splitlines()
        and not shutil.which("chromium-headless-shell")
        and not shutil.which("chromium")
    )


def without_libraries(test):
    """Gives an environment for programs, in which they find no OpenSSL."""
    folder = tempfile.TemporaryDirectory()
    test.addCleanup(folder.cleanup)
    for name in HIDDEN:
        # The loader gives up at a file that is none of its own.
        (Path(folder.name) / name).touch()
    return {**os.environ, "LD_LIBRARY_PATH": folder.name}
