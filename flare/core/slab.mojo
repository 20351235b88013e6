"""Lends slots of one type whose addresses never change.

A slot carries a generation, raised whenever it is given back, so that a handle
kept too long is found out instead of reaching its slot's next user.
"""

from .pointer import PointerTo, heap_create, heap_destroy

from std.memory import Layout, ThinAllocation, alloc, dealloc
from std.sys.info import size_of

comptime _CHUNK_SLOTS = 64


@fieldwise_init
struct SlotHandle(Equatable, TrivialRegisterPassable):
    """Names a slot for as long as one user has it."""

    var index: UInt32
    """Which slot."""
    var generation: UInt32
    """Which of its users."""


struct SlabState[T: Movable & Deinitable](Movable):
    """Holds the slots. Only `Slab` touches it.

    Parameters:
        T: What a slot holds.
    """

    var chunks: List[PointerTo[Self.T]]
    """The slots, 64 to a chunk."""
    var generations: List[UInt32]
    """One per slot; odd while it is lent."""
    var free: List[UInt32]
    """The slots nobody uses."""
    var are_cold: List[Bool]
    """Which chunks were given to the function of `visit_idle_chunks`, and
    hold nothing since."""
    var count_max: Int
    """How many slots there may be."""

    def __init__(out self, count_max: Int):
        """Makes a slab without slots.

        Args:
            count_max: How many there may be.
        """
        self.chunks = List[PointerTo[Self.T]]()
        self.generations = List[UInt32]()
        self.free = List[UInt32]()
        self.are_cold = List[Bool]()
        self.count_max = count_max


@fieldwise_init
struct Slab[T: Movable & Deinitable](TrivialRegisterPassable):
    """Lends slots to one thread.

    Parameters:
        T: What a slot holds.
    """

    var state: PointerTo[SlabState[Self.T]]
    """The heap state."""

    @staticmethod
    def create(count_max: Int) -> Self:
        """Makes a slab; memory is taken when slots are asked for.

        Args:
            count_max: How many slots may be lent at once.

        Returns:
            A handle; call `destroy` when every slot is back.
        """
        return Self(heap_create(SlabState[Self.T](count_max)))

    def destroy(self):
        """Frees the memory; slots still lent are not destroyed."""
        for chunk in self.state[].chunks:
            dealloc(
                ThinAllocation(unsafe_owned_ptr=chunk).unsafe_with_layout(
                    Layout[Self.T](count=_CHUNK_SLOTS)
                )
            )
        heap_destroy(self.state)

    def take(self, var value: Self.T) -> Optional[SlotHandle]:
        """Lends a slot and moves a value into it.

        Args:
            value: What the slot will hold.

        Returns:
            The slot, or none at the limit; the value is then destroyed.
        """
        ref s = self.state[]
        if self.lent() >= s.count_max:
            return None
        if len(s.free) == 0:
            self._grow()
        var index = s.free.pop()
        s.generations[Int(index)] += 1
        s.are_cold[Int(index) // _CHUNK_SLOTS] = False
        self._at(index).unsafe_write(value^)
        return SlotHandle(index, s.generations[Int(index)])

    def give(self, handle: SlotHandle) -> Bool:
        """Destroys what a slot holds and takes the slot back.

        Args:
            handle: What `take` returned.

        Returns:
            False if the slot was given back before; nothing is done then.
        """
        var found = self.find(handle)
        if not found:
            return False
        found.value().unsafe_deinit_pointee()
        self.state[].generations[Int(handle.index)] += 1
        self.state[].free.append(handle.index)
        return True

    @always_inline
    def find(self, handle: SlotHandle) -> Optional[PointerTo[Self.T]]:
        """Finds what a slot holds.

        Args:
            handle: What `take` returned.

        Returns:
            Its address, or none if the slot was given back since.
        """
        ref s = self.state[]
        if (
            handle.generation & 1 == 0
            or Int(handle.index) >= len(s.generations)
            or s.generations[Int(handle.index)] != handle.generation
        ):
            return None
        return self._at(handle.index)

    def lent(self) -> Int:
        """Counts the slots in use.

        Returns:
            The count.
        """
        return len(self.state[].generations) - len(self.state[].free)

    def handles(self) -> List[SlotHandle]:
        """Lists the slots in use.

        Returns:
            Their handles, in no order that means anything.
        """
        var handles = List[SlotHandle]()
        for i in range(len(self.state[].generations)):
            var generation = self.state[].generations[i]
            if generation & 1 == 1:
                handles.append(SlotHandle(UInt32(i), generation))
        return handles^

    def visit_idle_chunks(self, function: def(Int, Int) thin -> None):
        """Calls a function for each chunk of memory in which no slot is lent,
        once until one was.

        Args:
            function: Called with address and octets of the chunk, whose content
                is of no use.
        """
        ref s = self.state[]
        for chunk in range(len(s.chunks)):
            if s.are_cold[chunk]:
                continue
            var is_idle = True
            for i in range(chunk * _CHUNK_SLOTS, (chunk + 1) * _CHUNK_SLOTS):
                is_idle = is_idle and s.generations[i] & 1 == 0
            if is_idle:
                s.are_cold[chunk] = True
                function(Int(s.chunks[chunk]), _CHUNK_SLOTS * size_of[Self.T]())

    @always_inline
    def _at(self, index: UInt32) -> PointerTo[Self.T]:
        return (
            self.state[]
            .chunks[Int(index) // _CHUNK_SLOTS]
            .unsafe_offset(Int(index) % _CHUNK_SLOTS)
        )

    @no_inline
    def _grow(self):
        ref s = self.state[]
        s.chunks.append(alloc(Layout[Self.T](count=_CHUNK_SLOTS)).unsafe_leak())
        s.are_cold.append(False)
        var first = len(s.generations)
        for _ in range(_CHUNK_SLOTS):
            s.generations.append(0)
        # Giving back never allocates: there is room for every slot.
        s.free.reserve(len(s.generations))
        for i in range(first + _CHUNK_SLOTS - 1, first - 1, -1):
            s.free.append(UInt32(i))
