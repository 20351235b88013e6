"""Keeps deadlines in order: a hierarchical timing wheel without a clock.

Level 0 has a slot for each of the 64 milliseconds that share their upper bits
with the wheel's time. Each level above has slots 64 times as wide. An entry
lies on the level of the highest bit in which its deadline differs from the
time. So each level holds later deadlines than all levels below it. One bit
scan finds the first occupied slot, and an entry moves at most once per level.
The alternative is one wheel with rounds. It visits every entry of a slot at
each turn, even those with distant deadlines, and cannot find the next deadline
cheaply. Eleven levels cover every deadline that an `Int` can hold.
"""

from std.bit import count_leading_zeros, count_trailing_zeros

from flare.core import Erased, PointerTo, heap_create, heap_destroy

comptime _SLOT_BITS = 6
comptime _SLOTS = 1 << _SLOT_BITS
comptime _LEVELS = 11
# The lists after the slots. Their entries were late when armed, wait to be
# taken, or were taken too early.
comptime _LATE = _LEVELS * _SLOTS
comptime _DUE = _LATE + 1
comptime _HELD = _DUE + 1
comptime _LISTS = _HELD + 1
comptime _IDLE = -1

comptime _Link = Optional[PointerTo[TimerEntry]]


struct TimerEntry(Movable):
    """One deadline, inside the heap block of its owner.

    The wheel links entries by address, so an armed entry must neither move nor
    be destroyed. Set `owner` once the enclosing block is in its final place.
    """

    var owner: Optional[Erased]
    """The owner of the deadline; the wheel never reads it."""
    var tag: Int
    """The purpose of the deadline, numbered by the owner."""
    var deadline_ms: Int
    """The deadline last armed, in milliseconds."""
    var _next: _Link
    # The first entry of a list has the last one here.
    var _previous: _Link
    var _list: Int

    def __init__(out self, owner: Optional[Erased] = None, tag: Int = 0):
        """Creates an idle entry.

        Args:
            owner: The owner of the deadline, if its address is known already.
            tag: The purpose of the deadline.
        """
        self.owner = owner
        self.tag = tag
        self.deadline_ms = 0
        self._next = None
        self._previous = None
        self._list = _IDLE

    def __init__(out self, *, deinit move: Self):
        """Moves an idle entry, for example when its owner moves to the heap.

        Args:
            move: The entry; not armed.
        """
        debug_assert(move._list == _IDLE, "an armed TimerEntry moved")
        self.owner = move.owner
        self.tag = move.tag
        self.deadline_ms = move.deadline_ms
        self._next = None
        self._previous = None
        self._list = _IDLE

    def __deinit__(deinit self):
        """Asserts in debug builds that the entry is idle."""
        debug_assert(self._list == _IDLE, "an armed TimerEntry died")

    @always_inline
    def is_armed(self) -> Bool:
        """Returns whether the wheel holds the entry.

        Returns:
            True from `arm` until `next_due` returns it or `cancel`.
        """
        return self._list != _IDLE


struct _WheelState(Movable):
    var now_ms: Int
    var armed: Int
    # One bit per level that has an occupied slot; one bit per occupied slot.
    var levels: UInt64
    var occupied: Array[UInt64, _LEVELS]
    var first: Array[_Link, _LISTS]

    def __init__(out self, now_ms: Int):
        self.now_ms = now_ms
        self.armed = 0
        self.levels = 0
        self.occupied = Array[UInt64, _LEVELS](fill=0)
        self.first = Array[_Link, _LISTS](fill=None)


@fieldwise_init
struct TimerWheel(TrivialRegisterPassable):
    """A handle to a wheel on the heap; copies refer to the same wheel.

    One thread uses a wheel. It allocates no memory after `create` and makes no
    callbacks. `arm`, `cancel` and `next_due` take constant time. The time of
    `advance` grows with the entries it moves, not with the jump of the clock.
    """

    var _state: PointerTo[_WheelState]

    @staticmethod
    def create(now_ms: Int) -> Self:
        """Creates an empty wheel.

        Args:
            now_ms: The time at which it starts; a negative one counts as 0.

        Returns:
            The wheel, which lives until `destroy`.
        """
        return Self(heap_create(_WheelState(max(now_ms, 0))))

    def destroy(self):
        """Frees the wheel.

        Safety:
            No entry is armed, and no copy of the handle is used afterwards.
        """
        debug_assert(self._state[].armed == 0, "a TimerWheel in use died")
        heap_destroy(self._state)

    def arm(self, entry: PointerTo[TimerEntry], deadline_ms: Int):
        """Sets the deadline of an entry, armed or idle.

        The entry becomes due at the first `advance` that reaches the deadline.
        If the deadline is in the past, that is the next `advance` to any time.
        So an owner that arms its own due entry again cannot trap a loop over
        `next_due`.

        Args:
            entry: The entry, which must not move while it is armed.
            deadline_ms: The deadline, on the clock of `advance`.
        """
        var list = self._list_for(deadline_ms)
        if list == _DUE:
            list = _LATE
        entry[].deadline_ms = deadline_ms
        if entry[]._list == list:
            return
        if entry[]._list == _IDLE:
            self._state[].armed += 1
        else:
            self._unlink(entry)
        self._append(entry, list)

    def cancel(self, entry: PointerTo[TimerEntry]):
        """Makes an entry idle. It has no effect on an idle entry.

        Args:
            entry: The entry; it may be due and not taken yet.
        """
        if entry[]._list == _IDLE:
            return
        self._unlink(entry)
        entry[]._list = _IDLE
        self._state[].armed -= 1

    def advance(self, now_ms: Int):
        """Advances the time, and makes the entries that it reaches due.

        Args:
            now_ms: The time; if it is before the wheel's time, that does not
                change.
        """
        if self._state[].first[_LATE]:
            self._make_due(_LATE)
        var before = self._state[].now_ms
        if now_ms <= before:
            return
        self._state[].now_ms = now_ms
        if self._state[].first[_HELD]:
            self._make_due(_HELD)
        var top = _level_of(before ^ now_ms)
        # The levels below `top` shared bits with the time that have changed
        # since: everything they hold is past.
        for level in range(top):
            self._make_slots_due(level, ~UInt64(0))
        var slot = _slot_of(now_ms, top)
        self._make_slots_due(top, (UInt64(1) << UInt64(slot)) - 1)
        if (self._state[].occupied[top] >> UInt64(slot)) & 1 == 1:
            self._spread(top, slot)

    def next_due(self) -> Optional[PointerTo[TimerEntry]]:
        """Takes the next due entry and makes it idle.

        The wheel returns entries that were late when armed first, then the
        others by deadline. Entries that one jump of the clock found in the same
        slot of an upper level keep the order of arming.

        Returns:
            The entry; `None` if no entry is due.
        """
        var link = self._state[].first[_DUE]
        if link:
            self.cancel(link.unsafe_value())
        return link

    @always_inline
    def hold(self, entry: PointerTo[TimerEntry]):
        """Keeps an entry that `next_due` returned too early within its
        millisecond. It becomes due again with the next millisecond.

        Args:
            entry: The entry; idle.
        """
        self._state[].armed += 1
        self._append(entry, _HELD)

    @always_inline
    def first_held(self) -> Optional[PointerTo[TimerEntry]]:
        """Returns the entry that has been held longest. `cancel` releases it.

        Returns:
            The entry; `None` if no entry is held.
        """
        return self._state[].first[_HELD]

    def next_deadline_ms(self) -> Optional[Int]:
        """Returns until when a loop may wait before the next `advance`.

        Returns:
            A time that is not after any armed deadline: the start of the first
            occupied slot. A loop that waits for an entry thus wakes at most
            once per level before its deadline. The wheel's own time if an
            entry is due already, the next millisecond if one is held; `None`
            if no entry is armed.
        """
        ref state = self._state[]
        if state.first[_DUE] or state.first[_LATE]:
            return state.now_ms
        if state.first[_HELD]:
            return state.now_ms + 1
        if state.levels == 0:
            return None
        var level = Int(count_trailing_zeros(state.levels))
        var slot = Int(count_trailing_zeros(state.occupied[level]))
        var shift = level * _SLOT_BITS
        # The shift by a level's whole width passes 63 bits on the top level,
        # so it is made in two steps.
        var upper = (state.now_ms >> shift) >> _SLOT_BITS
        return ((upper << _SLOT_BITS) | slot) << shift

    def now_ms(self) -> Int:
        """Returns the time of the wheel.

        Returns:
            The latest time given to `create` or `advance`.
        """
        return self._state[].now_ms

    def armed_count(self) -> Int:
        """Returns the number of entries that the wheel holds.

        Returns:
            The number, including entries that are due and not taken yet.
        """
        return self._state[].armed

    @always_inline
    def _list_for(self, deadline_ms: Int) -> Int:
        var now_ms = self._state[].now_ms
        if deadline_ms <= now_ms:
            return _DUE
        var level = _level_of(deadline_ms ^ now_ms)
        return level * _SLOTS + _slot_of(deadline_ms, level)

    @always_inline
    def _append(self, entry: PointerTo[TimerEntry], list: Int):
        ref state = self._state[]
        entry[]._list = list
        entry[]._next = None
        var link = state.first[list]
        if link:
            var first = link.unsafe_value()
            entry[]._previous = first[]._previous
            first[]._previous.unsafe_value()[]._next = entry
            first[]._previous = entry
            return
        entry[]._previous = entry
        state.first[list] = entry
        if list < _LATE:
            var level = list >> _SLOT_BITS
            state.occupied[level] |= UInt64(1) << UInt64(list & (_SLOTS - 1))
            state.levels |= UInt64(1) << UInt64(level)

    @always_inline
    def _unlink(self, entry: PointerTo[TimerEntry]):
        ref state = self._state[]
        var list = entry[]._list
        var next = entry[]._next
        var previous = entry[]._previous.unsafe_value()
        var first = state.first[list].unsafe_value()
        if first != entry:
            previous[]._next = next
            if next:
                next.unsafe_value()[]._previous = previous
            else:
                first[]._previous = previous
            return
        state.first[list] = next
        if next:
            next.unsafe_value()[]._previous = previous
        else:
            self._mark_empty(list)

    @always_inline
    def _mark_empty(self, list: Int):
        if list >= _LATE:
            return
        ref state = self._state[]
        var level = list >> _SLOT_BITS
        state.occupied[level] &= ~(UInt64(1) << UInt64(list & (_SLOTS - 1)))
        if state.occupied[level] == 0:
            state.levels &= ~(UInt64(1) << UInt64(level))

    def _detach(self, list: Int) -> _Link:
        var link = self._state[].first[list]
        self._state[].first[list] = None
        self._mark_empty(list)
        return link

    def _make_due(self, list: Int):
        var link = self._detach(list)
        while link:
            var entry = link.unsafe_value()
            link = entry[]._next
            self._append(entry, _DUE)

    def _make_slots_due(self, level: Int, slots: UInt64):
        var passed = self._state[].occupied[level] & slots
        while passed != 0:
            self._make_due(level * _SLOTS + Int(count_trailing_zeros(passed)))
            passed &= passed - 1

    def _spread(self, level: Int, slot: Int):
        var link = self._detach(level * _SLOTS + slot)
        while link:
            var entry = link.unsafe_value()
            link = entry[]._next
            self._append(entry, self._list_for(entry[].deadline_ms))


@always_inline
def _level_of(difference: Int) -> Int:
    return (63 - Int(count_leading_zeros(UInt64(difference)))) // _SLOT_BITS


@always_inline
def _slot_of(time_ms: Int, level: Int) -> Int:
    return (time_ms >> (level * _SLOT_BITS)) & (_SLOTS - 1)
