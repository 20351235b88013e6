"""Waits for a socket in tests that call the kernel without the runtime."""

from std.ffi import c_int, external_call

from tests.asserting import assert_equal

comptime _POLLIN: Int16 = 1
comptime _POLLOUT: Int16 = 4
comptime _LIMIT_MS = 10_000


@fieldwise_init
struct _PollEntry(TrivialRegisterPassable):
    var descriptor: Int32
    var events: Int16
    var returned: Int16


def wait_readable(descriptor: Int32) raises:
    """Waits until a socket has octets, an end, an error or a connection.

    Args:
        descriptor: The socket.

    Raises:
        Error: If nothing came for ten seconds.
    """
    _wait(descriptor, _POLLIN)


def wait_writable(descriptor: Int32) raises:
    """Waits until a socket is connected, or failed to connect.

    Args:
        descriptor: The socket.

    Raises:
        Error: If nothing came for ten seconds.
    """
    _wait(descriptor, _POLLOUT)


def _wait(descriptor: Int32, events: Int16) raises:
    var entry = _PollEntry(descriptor, events, 0)
    assert_equal(
        external_call["poll", c_int](
            Pointer(to=entry), Int(1), c_int(_LIMIT_MS)
        ),
        1,
        "the socket became ready",
    )
