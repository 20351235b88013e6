"""Turns SIGTERM and SIGINT into a flag, for programs without a server.

The handler of the signals writes an octet to a socket. It is never read, so
each wait and each look finds it.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.net import NetError
from flare.sys.file import close_descriptor
from flare.sys.signal import (
    SIGINT,
    SIGTERM,
    SavedAction,
    catch_signal,
    restore_signal,
    set_signal_descriptor,
)
from flare.sys.socket import open_socket_pair, receive_octets
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import MSG_DONTWAIT, MSG_PEEK, SOCK_STREAM

from .readiness import wait_readable


struct _CaughtSignals(Movable):
    var reader: Int32
    var writer: Int32
    var descriptor_before: Int32
    var terminate_before: PointerTo[SavedAction]
    var interrupt_before: PointerTo[SavedAction]
    var are_caught: Bool

    def __init__(out self, reader: Int32, writer: Int32):
        self.reader = reader
        self.writer = writer
        self.descriptor_before = set_signal_descriptor(writer)
        self.terminate_before = catch_signal(SIGTERM)[1]
        self.interrupt_before = catch_signal(SIGINT)[1]
        self.are_caught = True

    def release(mut self):
        if self.are_caught:
            self.are_caught = False
            restore_signal(SIGTERM, self.terminate_before)
            restore_signal(SIGINT, self.interrupt_before)
            _ = set_signal_descriptor(self.descriptor_before)


struct StopSignals(Movable):
    """SIGTERM and SIGINT, as a flag of the process.

    While it exists, the first of these signals sets the flag and does not end
    the program. After the program has seen the flag, a second signal has its
    usual effect. An `HttpServer` catches the signals itself.
    """

    var _caught: PointerTo[_CaughtSignals]

    def __init__(out self) raises:
        """Creates the flag, and catches the signals.

        Raises:
            NetError: If no descriptor is left.
        """
        var reader = Int32(-1)
        var writer = Int32(-1)
        var opened = open_socket_pair(AF_UNIX, SOCK_STREAM, reader, writer)
        if opened < 0:
            raise Error(NetError.from_errno("open", opened))
        self._caught = heap_create(_CaughtSignals(reader, writer))

    def __deinit__(deinit self):
        """Restores the previous effect of the signals."""
        ref caught = self._caught[]
        caught.release()
        _ = close_descriptor(caught.reader)
        _ = close_descriptor(caught.writer)
        heap_destroy(self._caught)

    def is_stopping(self) -> Bool:
        """Returns whether a signal has arrived.

        Returns:
            True from the first signal on.
        """
        var octet = Array[UInt8, 1](fill=0)
        var count = receive_octets(
            self._caught[].reader, Span(octet), MSG_PEEK | MSG_DONTWAIT
        )
        if count > 0:
            self._caught[].release()
        return count > 0

    def wait(self) raises:
        """Parks until a signal arrives.

        Raises:
            NetError: `net.cancelled wait`, or `net.timeout wait` at the
                deadline of the fiber.
        """
        wait_readable(Int(self._caught[].reader), None)
        self._caught[].release()
