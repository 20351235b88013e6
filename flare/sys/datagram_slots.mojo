"""Sends and receives many datagrams in one call (sendmmsg(2), recvmmsg(2)).

The kernel reads and writes memory that the slots keep on the heap, and only
while such a call lasts. Each function returns the kernel's result, or the
negated errno.
"""

from std.ffi import c_int, c_uint, external_call
from std.memory import unsafe_memcpy

from flare.core import (
    OctetPointer,
    PointerTo,
    allocate_octets,
    free_octets,
    heap_create,
    heap_destroy,
)

from .errno import EMSGSIZE
from .file import result_or_errno
from .message_description import MessageDescription
from .socket_address import SOCKET_ADDRESS_OCTETS, SocketAddressStorage
from .socket_constants import MSG_DONTWAIT, MSG_TRUNC

comptime DATAGRAM_SLOTS_MAX = 1024
"""The most datagrams that the kernel takes in one call (UIO_MAXIOV)."""

comptime _MSG_NOSIGNAL = 0x4000


@fieldwise_init
struct _Part(Copyable, Movable):
    # `struct iovec`.
    var address: Int
    var octets: Int


@fieldwise_init
struct _Header(Copyable, Movable):
    # `struct mmsghdr`.
    var message: MessageDescription[Int]
    var length: Int


struct _SlotsState(Movable):
    var headers: List[_Header]
    var parts: List[_Part]
    var addresses: List[SocketAddressStorage]
    var octets: OctetPointer
    var slot_octets: Int
    var used: Int

    def __init__(out self, count: Int, slot_octets: Int):
        self.headers = List[_Header](capacity=count)
        self.parts = List[_Part](capacity=count)
        self.addresses = List[SocketAddressStorage](capacity=count)
        self.octets = allocate_octets(max(count * slot_octets, 1))
        self.slot_octets = slot_octets
        self.used = 0
        for i in range(count):
            self.parts.append(_Part(Int(self.octets) + i * slot_octets, 0))
            self.addresses.append(SocketAddressStorage())
            self.headers.append(_Header(MessageDescription(0, 1), 0))


@fieldwise_init
struct DatagramSlots(TrivialRegisterPassable):
    """A handle to a fixed number of datagrams with their addresses."""

    var _state: PointerTo[_SlotsState]

    @staticmethod
    def create(count: Int, slot_octets: Int) -> Self:
        """Allocates slots, none of them used.

        Args:
            count: The number of slots; 1 to `DATAGRAM_SLOTS_MAX`.
            slot_octets: The size of each slot.

        Returns:
            A handle; call `destroy` once.
        """
        var slots = Self(heap_create(_SlotsState(count, slot_octets)))
        ref s = slots._state[]
        for i in range(count):
            s.headers[i].message.parts = Int(Pointer(to=s.parts[i]))
        return slots

    def destroy(self):
        """Frees the slots."""
        free_octets(
            self._state[].octets,
            max(self.count() * self._state[].slot_octets, 1),
        )
        heap_destroy(self._state)

    def count(self) -> Int:
        """Returns the number of slots.

        Returns:
            The number given to `create`.
        """
        return len(self._state[].headers)

    def slot_octets(self) -> Int:
        """Returns the size of each slot.

        Returns:
            The number of octets.
        """
        return self._state[].slot_octets

    def used(self) -> Int:
        """Returns how many slots contain a datagram.

        Returns:
            The number of slots that were filled or received into.
        """
        return self._state[].used

    def clear(self):
        """Frees all slots."""
        self._state[].used = 0

    def fill(
        self,
        octets: Span[mut=False, UInt8, _],
        address: Optional[SocketAddressStorage],
    ):
        """Puts a datagram into the next free slot.

        Args:
            octets: The datagram; no longer than a slot.
            address: The receiver, or none on a connected socket.
        """
        ref s = self._state[]
        var index = s.used
        unsafe_memcpy(
            dest=self.octets(index), src=octets.unsafe_ptr(), count=len(octets)
        )
        s.parts[index].octets = len(octets)
        s.headers[index].length = len(octets)
        s.headers[index].message.name = 0
        s.headers[index].message.name_octets = 0
        if address:
            s.addresses[index] = address.value().copy()
            s.headers[index].message.name = Int(Pointer(to=s.addresses[index]))
            s.headers[index].message.name_octets = address.value().octet_count()
        s.used += 1

    def length(self, index: Int) -> Int:
        """Returns the length of a datagram.

        Args:
            index: Its slot.

        Returns:
            The number of octets; more than the slot's size if the end of a
            received one is lost.
        """
        return self._state[].headers[index].length

    def octets(self, index: Int) -> OctetPointer:
        """Returns the memory of a slot.

        Args:
            index: The slot.

        Returns:
            Its first octet.
        """
        return self._state[].octets.unsafe_offset(
            index * self._state[].slot_octets
        )

    def address(self, index: Int) -> SocketAddressStorage:
        """Copies the address of a datagram.

        Args:
            index: Its slot.

        Returns:
            Its sender or receiver; of no family if there is none.
        """
        if self._state[].headers[index].message.name == 0:
            return SocketAddressStorage()
        return self._state[].addresses[index].copy()

    def receive(self, descriptor: Int32) -> Int:
        """Receives waiting datagrams, up to the number of slots, without
        waiting.

        Args:
            descriptor: A datagram socket.

        Returns:
            The number of used slots, or a negated errno, which leaves none
            used.
        """
        ref s = self._state[]
        s.used = 0
        for i in range(len(s.headers)):
            s.parts[i].octets = s.slot_octets
            s.headers[i].message.name = Int(Pointer(to=s.addresses[i]))
            s.headers[i].message.name_octets = SOCKET_ADDRESS_OCTETS
            s.headers[i].length = 0
        var result = result_or_errno(
            Int(
                external_call["recvmmsg", c_int](
                    descriptor,
                    s.headers.unsafe_ptr(),
                    c_uint(len(s.headers)),
                    c_int(MSG_DONTWAIT | MSG_TRUNC),
                    Int(0),
                )
            )
        )
        s.used = max(result, 0)
        for i in range(s.used):
            s.parts[i].octets = min(s.headers[i].length, s.slot_octets)
        return result

    def send(self, descriptor: Int32, start: Int) -> Int:
        """Sends used slots in order, without waiting.

        Args:
            descriptor: A datagram socket.
            start: The first slot to send.

        Returns:
            How many the kernel took, or the negated errno of the first, which
            is EMSGSIZE too if its end was lost when it was received.
        """
        ref s = self._state[]
        var end = start
        while end < s.used and s.headers[end].length <= s.slot_octets:
            end += 1
        if end == start:
            return -EMSGSIZE
        return result_or_errno(
            Int(
                external_call["sendmmsg", c_int](
                    descriptor,
                    s.headers.unsafe_ptr().unsafe_offset(start),
                    c_uint(end - start),
                    c_int(MSG_DONTWAIT | _MSG_NOSIGNAL),
                )
            )
        )
