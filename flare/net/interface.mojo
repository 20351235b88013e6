"""Looks up network interfaces by name."""

from flare.sys.multicast import index_of_interface

from .error import checked


def interface_index(name: StringSlice) raises -> Int:
    """Returns the index of a network interface.

    Args:
        name: Its name, such as `lo` or `eth0`.

    Returns:
        The index, at least 1.

    Raises:
        Error: `net.other option errno=19` (ENODEV) if there is none.
    """
    return checked("option", index_of_interface(name))
