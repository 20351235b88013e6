"""Sends systemd the state of a service: ready, stopping, alive (sd_notify(3)).

A notification is one datagram to a Unix socket whose address systemd puts into
the environment. The environment is read by one call of the program, never
otherwise. A `NotifySocket` does not change after that, so that any thread may
send.
"""

from std.memory import ArcPointer

from flare.net.error import checked
from flare.sys.clock import monotonic_ms
from flare.sys.errno import EAGAIN, ETIMEDOUT
from flare.sys.file import close_descriptor
from flare.sys.process import PollEntry, process_id, wait_readable
from flare.sys.service_variables import (
    NOTIFY_VARIABLE,
    WATCHDOG_VARIABLE,
    take_service_variables,
)
from flare.sys.socket import open_socket, send_octets_to
from flare.sys.socket_address import AF_UNIX, SocketAddressStorage
from flare.sys.socket_constants import MSG_DONTWAIT, SOCK_DGRAM
from flare.unix import UnixAddr

comptime WATCHDOG_PARTS = 4
"""How many signs of life are sent in the time in which systemd wants one. A
worker may be busy for three of these parts before it counts as dead."""

comptime _BAD: StaticString = "http.bad_activation "
comptime _WATCHDOG_USEC_MAX = 1 << 50
# How long a notification waits for room in the queue of systemd. The kernel
# does not tell when there is room, so the call tries again.
comptime _SEND_MS = 100
comptime _TRY_AGAIN_MS = 2


struct _NotifyState(Movable):
    var descriptor: Int32
    var address: SocketAddressStorage
    var name: String
    # 0 if systemd wants no signs of life.
    var watchdog_usec: Int

    def __init__(
        out self,
        descriptor: Int32,
        address: SocketAddressStorage,
        name: String,
        watchdog_usec: Int,
    ):
        self.descriptor = descriptor
        self.address = address.copy()
        self.name = name
        self.watchdog_usec = watchdog_usec

    def __deinit__(deinit self):
        _ = close_descriptor(self.descriptor)


struct NotifySocket(Copyable, Movable):
    """Sends notifications to the service manager that started the process.

    `HttpServer.notify` sends those of a server. If no service manager asked
    for notifications, all methods do nothing.
    """

    var _state: Optional[ArcPointer[_NotifyState]]

    def __init__(out self):
        """Creates a socket without a receiver, whose methods do nothing."""
        self._state = None

    @staticmethod
    def from_systemd() raises -> Self:
        """Returns the socket that systemd named for this service
        (`Type=notify`), or one without a receiver.

        This call reads and removes the variables NOTIFY_SOCKET, WATCHDOG_USEC
        and WATCHDOG_PID, so a second call finds no receiver.

        Returns:
            The socket.

        Raises:
            An error `http.bad_activation` if a variable is malformed.
            NetError: `net.no_descriptors open` if no socket can be opened.
        """
        var found = take_service_variables()
        if found.notify_socket.byte_length() == 0:
            return Self()
        var first = found.notify_socket.as_bytes()[0]
        if first != UInt8(ord("/")) and first != UInt8(ord("@")):
            raise Error(
                _BAD,
                NOTIFY_VARIABLE,
                " is neither an absolute path nor an abstract name",
            )
        var address: UnixAddr
        try:
            address = UnixAddr.parse(found.notify_socket)
        except e:
            raise Error(_BAD, NOTIFY_VARIABLE, ": ", e)
        var is_watched = (
            found.watchdog_process.byte_length() == 0
            or found.watchdog_process == String(process_id())
        )
        var watchdog_usec = 0
        if found.watchdog_usec.byte_length() > 0 and is_watched:
            watchdog_usec = _microseconds(found.watchdog_usec)
        var opened = checked("open", open_socket(AF_UNIX, SOCK_DGRAM))
        var self = Self()
        self._state = ArcPointer(
            _NotifyState(
                Int32(opened),
                address.to_storage(),
                found.notify_socket,
                watchdog_usec,
            )
        )
        return self^

    def is_connected(self) -> Bool:
        """Returns whether a service manager takes the notifications.

        Returns:
            False if `send` does nothing.
        """
        return Bool(self._state)

    def watchdog_ms(self) -> Optional[Int]:
        """Returns the watchdog timeout of systemd (`WatchdogSec=`).

        Returns:
            Milliseconds, at least 1; `None` if systemd has set no watchdog.
        """
        if not self._state or self._state.value()[].watchdog_usec == 0:
            return None
        return max(self._state.value()[].watchdog_usec // 1000, 1)

    def send(self, text: StringSlice) raises:
        """Sends assignments, such as `STATUS=loading the model`.

        If the queue of systemd is full, the call blocks its thread for up to
        100 ms.

        Args:
            text: One `NAME=value` a line; see sd_notify(3).

        Raises:
            NetError: `net.timeout send` if systemd takes nothing, another one
                if the socket is gone or the text is too long.
        """
        var sent = self.try_send(text)
        _ = checked("send", -ETIMEDOUT if sent == -EAGAIN else sent)

    def try_send(self, text: StringSlice, *, waits: Bool = True) -> Int:
        """Sends assignments as `send` does, without an exception.

        Args:
            text: One `NAME=value` a line.
            waits: Whether the call waits for room in the queue.

        Returns:
            0 or more, or a negated errno.
        """
        if not self._state:
            return 0
        var state = self._state.value()
        var until_ms = monotonic_ms() + _SEND_MS
        while True:
            var sent = send_octets_to(
                state[].descriptor,
                text.as_bytes(),
                state[].address,
                MSG_DONTWAIT,
            )
            if sent != -EAGAIN or not waits or monotonic_ms() >= until_ms:
                return sent
            var entries = List[PollEntry]()
            _ = wait_readable(entries, _TRY_AGAIN_MS)

    def variables(self) -> List[String]:
        """Returns the environment variables by which `from_systemd` finds the
        same receiver in another process.

        Returns:
            `NAME=value` for each variable; empty without a receiver.
        """
        var found = List[String]()
        if self._state:
            var state = self._state.value()
            found.append(String(NOTIFY_VARIABLE, "=", state[].name))
            if state[].watchdog_usec > 0:
                found.append(
                    String(WATCHDOG_VARIABLE, "=", state[].watchdog_usec)
                )
        return found^


def _microseconds(text: String) raises -> Int:
    var microseconds: Int
    try:
        microseconds = Int(text)
    except e:
        raise Error(_BAD, WATCHDOG_VARIABLE, " is no number: ", e)
    if microseconds < 1 or microseconds > _WATCHDOG_USEC_MAX:
        raise Error(_BAD, WATCHDOG_VARIABLE, " is out of bounds")
    return microseconds
