"""Compares `TimerWheel` with a list of deadlines that is searched entry by entry.

A program of octets drives both: the fuzz harness draws programs, the property
test runs a fixed set of them.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime import TimerEntry, TimerWheel

comptime ENTRIES = 8
"""How many entries a program arms and cancels."""

comptime IDLE = 0
"""The entry is in nobody's hands."""
comptime WAITING = 1
"""The entry is armed, its deadline not reached by an advance."""
comptime DUE = 2
"""The entry was reached and not yet taken."""


@fieldwise_init
struct Outcome(ImplicitlyCopyable):
    """Counts what a program did."""

    var armed: Int
    """How often an entry was armed."""
    var fired: Int
    """How many entries were taken."""
    var cancelled: Int
    """How often an armed entry was cancelled."""
    var longest_jump_ms: Int
    """The longest step of the clock."""


struct Program(Movable):
    """Runs a program on a wheel and on the list it is compared with."""

    var octets: List[UInt8]
    """The program; an operand past its end is 0."""
    var position: Int
    """The index of the next octet."""
    var wheel: TimerWheel
    """The wheel under test."""
    var entries: List[PointerTo[TimerEntry]]
    """The entries, tagged with their index."""
    var states: List[Int]
    """What each entry should be: `IDLE`, `WAITING` or `DUE`."""
    var deadlines: List[Int]
    """When each entry should be due."""
    var now_ms: Int
    """The time both agree on."""
    var outcome: Outcome
    """What happened so far."""

    def __init__(out self, octets: Span[UInt8, _]):
        """Prepares a run.

        Args:
            octets: The program; its first operand is the time of the start.
        """
        self.octets = List[UInt8](octets)
        self.position = 0
        self.entries = []
        self.states = []
        self.deadlines = []
        for i in range(ENTRIES):
            self.entries.append(heap_create(TimerEntry(tag=i)))
            self.states.append(IDLE)
            self.deadlines.append(0)
        self.now_ms = 0
        self.outcome = Outcome(0, 0, 0, 0)
        self.wheel = TimerWheel.create(0)
        self.now_ms = self._duration()
        self.wheel.advance(self.now_ms)

    def __deinit__(deinit self):
        """Frees wheel and entries."""
        for entry in self.entries:
            self.wheel.cancel(entry)
        self.wheel.destroy()
        for entry in self.entries:
            heap_destroy(entry)

    def run(mut self) raises -> Outcome:
        """Runs the program to its end and then lets every entry fire.

        Returns:
            What happened.

        Raises:
            Error: If wheel and list disagree.
        """
        while self.position < len(self.octets):
            self._step()
            self._compare()
        var turns = 0
        while self.wheel.next_deadline_ms():
            self._advance(self.wheel.next_deadline_ms().value())
            while self._take():
                pass
            self._compare()
            turns += 1
            if turns > 12 * ENTRIES:
                raise Error("a loop wakes too often before a deadline")
        return self.outcome

    def _octet(mut self) -> Int:
        if self.position >= len(self.octets):
            return 0
        self.position += 1
        return Int(self.octets[self.position - 1])

    def _duration(mut self) -> Int:
        # The first octet is a power of two, so that all levels are equally
        # likely; the others put the duration beside it.
        var power = self._octet() & 63
        var offset = self._octet() - 128
        if power == 63:
            return 0
        var duration = 1 << power
        if offset & 1 == 1:
            return max(duration - 1, 0)
        return max(duration + offset, 0) if power < 60 else duration

    def _later(self, duration: Int) -> Int:
        return (
            Int.MAX if duration
            > Int.MAX - self.now_ms else self.now_ms + duration
        )

    def _step(mut self) raises:
        var kind = self._octet() & 7
        var i = self._octet() & (ENTRIES - 1)
        if kind <= 2:
            self._arm(i)
        elif kind == 3:
            if self.states[i] != IDLE:
                self.outcome.cancelled += 1
            self.wheel.cancel(self.entries[i])
            self.states[i] = IDLE
        elif kind == 4:
            self._advance(self._later(self._duration()))
        elif kind == 5:
            var next = self.wheel.next_deadline_ms()
            if next:
                self._advance(next.value() - (i & 1))
        elif kind == 6:
            _ = self._take(holds=i & 1 == 1)
        else:
            self._advance(self.now_ms - i)
            while self._take():
                pass

    def _arm(mut self, i: Int):
        var duration = self._duration()
        var deadline = self._later(duration)
        if i == 0:
            deadline = max(self.now_ms - duration, -1)
        self.wheel.arm(self.entries[i], deadline)
        self.states[i] = WAITING
        self.deadlines[i] = deadline
        self.outcome.armed += 1

    def _advance(mut self, now_ms: Int):
        self.wheel.advance(now_ms)
        if now_ms > self.now_ms:
            self.outcome.longest_jump_ms = max(
                self.outcome.longest_jump_ms, now_ms - self.now_ms
            )
            self.now_ms = now_ms
        for i in range(ENTRIES):
            if self.states[i] == WAITING and self.deadlines[i] <= self.now_ms:
                self.states[i] = DUE

    def _take(mut self, *, holds: Bool = False) raises -> Bool:
        var taken = self.wheel.next_due()
        if not taken:
            for i in range(ENTRIES):
                if self.states[i] == DUE:
                    raise Error("entry ", i, " did not fire")
            return False
        var i = taken.value()[].tag
        if self.states[i] != DUE:
            raise Error("entry ", i, " fired in state ", self.states[i])
        if holds and self.now_ms < Int.MAX:
            self.wheel.hold(taken.value())
            self.states[i] = WAITING
            self.deadlines[i] = self.now_ms + 1
            if not self.wheel.first_held():
                raise Error("entry ", i, " is not held")
            return True
        self.states[i] = IDLE
        self.outcome.fired += 1
        return True

    def _compare(self) raises:
        var armed = 0
        var earliest = Int.MAX
        var is_late = False
        for i in range(ENTRIES):
            var is_armed = self.states[i] != IDLE
            if self.entries[i][].is_armed() != is_armed:
                raise Error("entry ", i, " is armed in only one of the two")
            if is_armed:
                armed += 1
                earliest = min(earliest, self.deadlines[i])
                is_late |= self.deadlines[i] <= self.now_ms
        if self.wheel.armed_count() != armed:
            raise Error("armed_count ", self.wheel.armed_count())
        if self.wheel.now_ms() != self.now_ms:
            raise Error("the wheel says it is ", self.wheel.now_ms())
        var next = self.wheel.next_deadline_ms()
        if Bool(next) != (armed > 0):
            raise Error("next_deadline_ms disagrees about being empty")
        if is_late and next.value() != self.now_ms:
            raise Error("next_deadline_ms would wait for a due entry")
        if armed > 0 and not is_late:
            if next.value() > earliest or next.value() <= self.now_ms:
                raise Error("next_deadline_ms ", next.value())
