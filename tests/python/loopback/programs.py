"""Finds the programs of other makers that flare is tested with."""

import shutil


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
