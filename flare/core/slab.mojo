"""Lends slots of one type whose addresses never change.

A slot has a generation, which rises when the slot is returned. A handle that
is used after that is detected; it never reaches the slot's next user.
"""

from .pointer import PointerTo, heap_create, heap_destroy

from std.memory import Layout, ThinAllocation, alloc, dealloc
from std.sys.info import size_of

comptime _CHUNK_SLOTS = 64


@fieldwise_init
struct SlotHandle(Equatable, TrivialRegisterPassable):
    """Identifies a slot and its present user."""

    var index: UInt32
    """The index of the slot."""
    var generation: UInt32
    """The generation: which user of the slot."""


struct SlabState[T: Movable & Deinitable](Movable):
    """The slots. Only `Slab` uses it.

    Parameters:
        T: The type of the slots' values.
    """

    var chunks: List[PointerTo[Self.T]]
    """The slots, 64 to a chunk."""
    var generations: List[UInt32]
    """One per slot; odd while it is lent."""
    var free: List[UInt32]
    """The unused slots."""
    # Octets: a list of Bool would be one more type to compile.
    var are_cold: List[UInt8]
    """1 for each chunk that was passed to the function of `visit_idle_chunks`,
    and not used since; otherwise 0.
    """
    var count_max: Int
    """The maximum number of slots."""

    def __init__(out self, count_max: Int):
        """Creates a slab without slots.

        Args:
            count_max: The maximum number of slots.
        """
        self.chunks = List[PointerTo[Self.T]]()
        self.generations = List[UInt32]()
        self.free = List[UInt32]()
        self.are_cold = List[UInt8]()
        self.count_max = count_max


@fieldwise_init
struct Slab[T: Movable & Deinitable](TrivialRegisterPassable):
    """Lends slots to one thread.

    Parameters:
        T: The type of the slots' values.
    """

    var state: PointerTo[SlabState[Self.T]]
    """The heap state."""

    @staticmethod
    def create(count_max: Int) -> Self:
        """Creates a slab. Memory is allocated when slots are taken.

        Args:
            count_max: The maximum number of slots that may be lent at the same
                time.

        Returns:
            A handle. Call `destroy` after all slots are returned.
        """
        return Self(heap_create(SlabState[Self.T](count_max)))

    def destroy(self):
        """Frees the memory. Values in slots that are still lent are not
        destroyed.
        """
        for chunk in self.state[].chunks:
            dealloc(
                ThinAllocation(unsafe_owned_ptr=chunk).unsafe_with_layout(
                    Layout[Self.T](count=_CHUNK_SLOTS)
                )
            )
        heap_destroy(self.state)

    def take(self, var value: Self.T) -> Optional[SlotHandle]:
        """Lends a slot that holds a value.

        Args:
            value: The value.

        Returns:
            The slot. `None` at the limit, which destroys the value.
        """
        ref s = self.state[]
        if self.lent() >= s.count_max:
            return None
        if len(s.free) == 0:
            self._grow()
        var index = s.free.pop()
        s.generations[Int(index)] += 1
        s.are_cold[Int(index) // _CHUNK_SLOTS] = 0
        self._at(index).unsafe_write(value^)
        return SlotHandle(index, s.generations[Int(index)])

    def give(self, handle: SlotHandle) -> Bool:
        """Returns a slot, and destroys its value.

        Args:
            handle: The result of `take`.

        Returns:
            False if the slot was returned before; the call then has no effect.
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
        """Returns the value in a slot.

        Args:
            handle: The result of `take`.

        Returns:
            The value's address; `None` if the slot was returned.
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
        """Returns the number of slots in use.

        Returns:
            The number.
        """
        return len(self.state[].generations) - len(self.state[].free)

    def handles(self) -> List[SlotHandle]:
        """Returns the slots in use.

        Returns:
            Their handles, in arbitrary order.
        """
        var handles = List[SlotHandle]()
        for i in range(len(self.state[].generations)):
            var generation = self.state[].generations[i]
            if generation & 1 == 1:
                handles.append(SlotHandle(UInt32(i), generation))
        return handles^

    def visit_idle_chunks(self, function: def(Int, Int) thin -> None):
        """Calls a function for each chunk of memory without a lent slot; once,
        until a slot in it is lent again.

        Args:
            function: The function; it gets the address and the length of the
                chunk, whose content may be dropped.
        """
        ref s = self.state[]
        for chunk in range(len(s.chunks)):
            if s.are_cold[chunk] == 1:
                continue
            var is_idle = True
            for i in range(chunk * _CHUNK_SLOTS, (chunk + 1) * _CHUNK_SLOTS):
                is_idle = is_idle and s.generations[i] & 1 == 0
            if is_idle:
                s.are_cold[chunk] = 1
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
        s.are_cold.append(0)
        var first = len(s.generations)
        for _ in range(_CHUNK_SLOTS):
            s.generations.append(0)
        # Giving back never allocates: there is room for every slot.
        s.free.reserve(len(s.generations))
        for i in range(first + _CHUNK_SLOTS - 1, first - 1, -1):
            s.free.append(UInt32(i))
