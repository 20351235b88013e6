"""Sends and receives datagrams on a socket that several fibers may use.

Each call is tried at once and never waits in the kernel; if it would wait, a
poll parks the fiber. So the kernel touches the caller's memory only while the
caller runs.
"""

from flare.core import PointerTo
from flare.net import DatagramTooLarge, NetError, SocketAddr
from flare.net.error import checked
from flare.sys.datagram_slots import DatagramSlots
from flare.sys.errno import EAGAIN, EINTR, EMSGSIZE
from flare.sys.socket import (
    open_socket,
    receive_octets_from,
    send_octets,
    send_octets_to,
)
from flare.sys.socket_address import AF_UNSPEC, SocketAddressStorage
from flare.sys.socket_constants import MSG_DONTWAIT, MSG_TRUNC, SOCK_DGRAM

from .fiber import NO_DEADLINE, Fiber
from .socket import NOT_WAITED, FiberSocket, SocketDirection, is_simulated


@fieldwise_init
struct DatagramSocket(TrivialRegisterPassable):
    """A datagram socket that fibers wait on."""

    var socket: FiberSocket
    """The socket; its owner destroys it."""

    @staticmethod
    def open(
        family: Int, protocol: Int, about: Optional[SocketAddr]
    ) raises -> Int32:
        """Opens a datagram socket.

        Args:
            family: `AF_INET`, `AF_INET6` or `AF_UNIX`.
            protocol: `IPPROTO_UDP`, or 0.
            about: The address that errors name.

        Returns:
            The descriptor, in blocking mode.

        Raises:
            NetError: `net.no_descriptors open`, `net.unsupported open` and
                others; the latter always on a simulated network, which has
                streams only.
        """
        if is_simulated():
            raise NetError(NetError.UNSUPPORTED, "open", address=about)
        return Int32(
            checked(
                "open",
                open_socket(family, SOCK_DGRAM, protocol, non_blocking=False),
                about,
            )
        )

    @no_inline
    def receive(
        self,
        name: StaticString,
        into: Span[mut=True, UInt8, _],
        mut sender: SocketAddressStorage,
    ) raises -> Int:
        """Receives one datagram, and parks while there is none.

        Args:
            name: The operation, for errors.
            into: The buffer.
            sender: Set to the sender's address.

        Returns:
            The datagram's length.

        Raises:
            Error: A `DatagramTooLarge` if the datagram is longer than `into`,
                which then contains its beginning; `net.timeout`, `net.closed`,
                `net.refused` and others.
        """
        var direction = self.socket.receiving()
        var fiber = self.socket.begin_attempts(direction, name)
        var deadline_ms = NOT_WAITED
        var result: Int
        while True:
            result = receive_octets_from(
                self.socket.descriptor(),
                into,
                sender,
                MSG_DONTWAIT | MSG_TRUNC,
            )
            if not self._goes_on(result, direction, fiber, deadline_ms):
                break
        var octets = self.socket.finish(direction, name, result)
        if octets > len(into):
            raise DatagramTooLarge(
                name, octets, len(into), SocketAddr.from_storage(sender)
            )
        return octets

    @no_inline
    def send(
        self,
        name: StaticString,
        octets: Span[UInt8, _],
        receiver: SocketAddressStorage,
        octets_max: Int,
    ) raises:
        """Sends one datagram, and parks while the kernel has no room for it.

        Args:
            name: The operation, for errors.
            octets: The datagram.
            receiver: The receiver's address; of no family for the connected
                peer.
            octets_max: The limit of the transport, for the error.

        Raises:
            Error: A `DatagramTooLarge` if the kernel refuses the length;
                `net.timeout`, `net.closed`, `net.refused`, `net.unreachable`
                and others.
        """
        var direction = self.socket.sending()
        var fiber = self.socket.begin_attempts(direction, name)
        var deadline_ms = NOT_WAITED
        var result: Int
        while True:
            if receiver.family() == AF_UNSPEC:
                result = send_octets(
                    self.socket.descriptor(), octets, MSG_DONTWAIT
                )
            else:
                result = send_octets_to(
                    self.socket.descriptor(), octets, receiver, MSG_DONTWAIT
                )
            if not self._goes_on(result, direction, fiber, deadline_ms):
                break
        _ = self._sent(
            direction, name, result, len(octets), receiver, octets_max
        )

    @no_inline
    def receive_many(self, slots: DatagramSlots) raises -> Int:
        """Receives datagrams that have arrived, and parks while there are
        none.

        Args:
            slots: The buffers.

        Returns:
            The number of datagrams, at least 1.

        Raises:
            Error: `net.timeout receive_from`, `net.closed receive_from` and
                others.
        """
        comptime NAME: StaticString = "receive_from"
        slots.clear()
        var direction = self.socket.receiving()
        var fiber = self.socket.begin_attempts(direction, NAME)
        var deadline_ms = NOT_WAITED
        var result: Int
        while True:
            result = slots.receive(self.socket.descriptor())
            if not self._goes_on(result, direction, fiber, deadline_ms):
                break
        direction[].unwaited += max(result, 0)
        return self.socket.finish(direction, NAME, result)

    @no_inline
    def send_many(
        self, slots: DatagramSlots, start: Int, octets_max: Int
    ) raises -> Int:
        """Sends datagrams in order, and parks while there is no room for the
        first.

        Args:
            slots: The datagrams.
            start: The first slot to send; one in use.
            octets_max: The limit of the transport, for the error.

        Returns:
            The number that the kernel took, at least 1.

        Raises:
            Error: As `send` does, for the first datagram.
        """
        comptime NAME: StaticString = "send_to"
        var direction = self.socket.sending()
        var fiber = self.socket.begin_attempts(direction, NAME)
        var deadline_ms = NOT_WAITED
        var result: Int
        while True:
            result = slots.send(self.socket.descriptor(), start)
            if not self._goes_on(result, direction, fiber, deadline_ms):
                break
        direction[].unwaited += max(result, 0)
        return self._sent(
            direction,
            NAME,
            result,
            slots.length(start),
            slots.address(start),
            octets_max,
        )

    def _goes_on(
        self,
        mut result: Int,
        direction: PointerTo[SocketDirection],
        fiber: Fiber,
        mut deadline_ms: Int,
    ) -> Bool:
        if result == -EINTR:
            return True
        if result != -EAGAIN:
            return False
        if deadline_ms != NOT_WAITED and direction == self.socket.sending():
            # The socket has room, but the receiver has none. A poll does not
            # notice that if the socket is not connected.
            var left_ms = deadline_ms
            if deadline_ms != NO_DEADLINE:
                left_ms -= fiber.reactor().refresh_now_ms()
            result = self.socket.pause(fiber, left_ms)
            return result >= 0
        result = self.socket.wait_ready(direction, fiber, deadline_ms)
        return result >= 0

    def _sent(
        self,
        direction: PointerTo[SocketDirection],
        name: StaticString,
        result: Int,
        octets: Int,
        receiver: SocketAddressStorage,
        octets_max: Int,
    ) raises -> Int:
        var about = SocketAddr.from_storage(receiver)
        if result == -EMSGSIZE:
            _ = self.socket.finish(direction, name, 0)
            raise DatagramTooLarge(
                name,
                octets,
                octets_max if octets > octets_max else 0,
                about if about else self.socket.address(),
            )
        return self.socket.finish(direction, name, result, about)
