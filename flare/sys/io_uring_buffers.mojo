"""Offers the kernel a ring of buffers that receives of io_uring pick from.

A ring is a handle to heap state, because the kernel shares its memory. One
thread uses it. Layouts: `linux/io_uring.h`.
"""

from std.atomic import Atomic, Ordering

from flare.core import OctetPointer, PointerTo, heap_create, heap_destroy

from .io_uring import Uring
from .memory import at_address, map_private, unmap

comptime _REGISTER_BUFFER_RING = 22


@fieldwise_init
struct _BufferEntry(TrivialRegisterPassable):
    var address: UInt64
    var octets: UInt32
    var id: UInt16
    var tail: UInt16


struct BufferRingState(Movable):
    """The ring from which the kernel picks receive buffers."""

    var entries: PointerTo[_BufferEntry]
    """Shared with the kernel; the first entry's last field is the tail."""
    var mask: Int
    """Turns a count into an index."""
    var tail: UInt16
    """How many buffers were given, modulo 65536."""

    def __init__(out self, address: Int, count: Int):
        """Creates the state of a mapped ring.

        Args:
            address: The address of its mapping.
            count: The number of entries; a power of two.
        """
        self.entries = at_address(address).unsafe_bitcast[_BufferEntry]()
        self.mask = count - 1
        self.tail = 0


@fieldwise_init
struct BufferRing(TrivialRegisterPassable):
    """A ring that offers receive buffers to the kernel."""

    var state: PointerTo[BufferRingState]
    """The heap state."""

    @staticmethod
    def open(ring: Uring, group: Int, count: Int) -> Tuple[Int, Optional[Self]]:
        """Registers an empty ring of buffers.

        Args:
            ring: The ring whose operations pick from it.
            group: The group's id.
            count: The number of buffers that fit; a power of two.

        Returns:
            0 and the ring of buffers, or the negated errno and none.
        """
        var address = map_private(count * 16)
        if address < 0:
            return (address, None)
        var registration = heap_create(_BufferRingRegistration())
        registration[].address = UInt64(address)
        registration[].entries_and_group = UInt64(count) | (UInt64(group) << 32)
        var done = ring.register(_REGISTER_BUFFER_RING, Int(registration), 1)
        heap_destroy(registration)
        if done < 0:
            _ = unmap(address, count * 16)
            return (done, None)
        return (0, Self(heap_create(BufferRingState(address, count))))

    @always_inline
    def give(self, id: Int, address: OctetPointer, octets: Int):
        """Adds a buffer; `publish` makes it visible.

        Args:
            id: Named by the completion that uses it.
            address: The buffer.
            octets: Its length.

        Safety:
            The memory stays until a completion names the id, or the io_uring
            is closed.
        """
        ref s = self.state[]
        # Field by field: the last field of the first entry is the tail.
        ref entry = s.entries[unsafe_offset=Int(s.tail) & s.mask]
        entry.address = UInt64(Int(address))
        entry.octets = UInt32(octets)
        entry.id = UInt16(id)
        s.tail += 1

    @always_inline
    def publish(self):
        """Makes the added buffers visible to the kernel."""
        Atomic[UInt16].store[ordering=Ordering.RELEASE](
            self.state[].entries.unsafe_bitcast[UInt16]().unsafe_offset(7),
            self.state[].tail,
        )

    def close(self):
        """Frees the ring; the io_uring it belongs to is closed before."""
        _ = unmap(Int(self.state[].entries), (self.state[].mask + 1) * 16)
        heap_destroy(self.state)


struct _BufferRingRegistration(Movable):
    var address: UInt64
    var entries_and_group: UInt64
    var reserved: Array[UInt64, 3]

    def __init__(out self):
        self.address = 0
        self.entries_and_group = 0
        self.reserved = Array[UInt64, 3](fill=0)
