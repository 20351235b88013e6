"""Makes names and left-over files for the tests of Unix sockets."""

from flare.sys.file import close_descriptor
from flare.sys.process import process_id
from flare.sys.socket import bind_socket, open_socket
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_file import FileIdentity, identify_file
from flare.unix import UnixAddr

from tests.asserting import assert_equal


def abstract_name(number: Int) -> String:
    """Makes an abstract name that no other process has.

    Args:
        number: Tells the names of one process apart.

    Returns:
        The name, with its `@`.
    """
    return String("@flare-test-", process_id(), "-", number)


def leave_socket_at(path: StringSlice, type: Int) raises:
    """Makes the file of a socket whose process has gone.

    Args:
        path: Where.
        type: `SOCK_STREAM` or `SOCK_DGRAM`.

    Raises:
        Error: If that fails.
    """
    var opened = open_socket(AF_UNIX, type)
    assert_equal(
        bind_socket(Int32(opened), UnixAddr.parse(path).to_storage()), 0
    )
    _ = close_descriptor(Int32(opened))


def is_there(path: StringSlice) -> Bool:
    """Tells whether anything has a path.

    Args:
        path: The path.

    Returns:
        True if so.
    """
    var found = FileIdentity()
    return identify_file(path, found) == 0


def is_socket(path: StringSlice) -> Bool:
    """Tells whether a socket has a path.

    Args:
        path: The path.

    Returns:
        True if so.
    """
    var found = FileIdentity()
    return identify_file(path, found) == 0 and found.is_socket
