"""Stores the numbers of one worker in memory that forked processes share.

Every area has the same layout: a head, then the families. A family has a head
and its series. A series has its numbers and, if the family has labels, its
key. Only one thread writes an area, and never changes a key that it has
published; so readers need no lock. A worker that is started again finds the
series of its predecessor.
"""

from std.atomic import Atomic, Ordering

from flare.core import OctetPointer, PointerTo, copy_octets, equals

from .family import FAMILY_HEAD_OCTETS, Family, SERIES_MAX

comptime AREA_HEAD_OCTETS = 2048
"""The octets before the first family."""
comptime OWNER_WORD = 0
"""The word of the head that leads to other numbers of the worker."""
comptime BEGUN_WORD = 2
"""The word of the head that is set once the owner's numbers have a start."""
comptime START_WORD = 8
"""The first word of the head for those numbers at the start."""
comptime PROCESS_WORD = 1
"""The word of the head with the id of the worker's process."""
comptime THREAD_WORD = 3
"""The word of the head with the id of the worker's thread."""
comptime CPU_WORD = 4
"""The word of the head with the CPU time of the process, in milliseconds, as a
reader has last seen it. Of a process with several areas, one has it."""
comptime PAST_CPU_WORD = 5
"""The word of the head with the CPU time of the processes that had the area
before, as far as readers have seen it."""


@fieldwise_init
struct Area(Equatable, TrivialRegisterPassable):
    """A handle to the numbers of one worker."""

    var address: Int
    """The address of its head."""

    @always_inline
    def word(self, offset: Int) -> PointerTo[Int64]:
        """Returns the place of a number.

        Args:
            offset: Its offset in the area.

        Returns:
            A pointer to it.
        """
        return PointerTo[Int64](unsafe_from_address=self.address + offset)

    def set_head(self, word: Int, value: Int):
        """Sets a word of the head.

        Args:
            word: The index of the word.
            value: Its value.
        """
        Atomic[Int64].store[ordering=Ordering.RELEASE](
            self.word(8 * word), Int64(value)
        )

    def head(self, word: Int) -> Int:
        """Returns a word of the head. Callable on any thread.

        Args:
            word: The index of the word.

        Returns:
            Its value; 0 if it was never set.
        """
        return Int(
            Atomic[Int64].load[ordering=Ordering.ACQUIRE](self.word(8 * word))
        )

    def set_process(self, process: Int):
        """Notes the process to which the area belongs from now on.

        Args:
            process: Its id; 0 for none.
        """
        if self.head(PROCESS_WORD) != process:
            # A counter must not fall when a process ends.
            self.set_head(
                PAST_CPU_WORD, self.head(PAST_CPU_WORD) + self.head(CPU_WORD)
            )
            self.set_head(CPU_WORD, 0)
        self.set_head(PROCESS_WORD, process)

    def series_count(self, family: Family) -> Int:
        """Returns how many series of a family the worker has. Callable on any
        thread.

        Args:
            family: The family.

        Returns:
            The number; always 1 without labels.
        """
        if len(family.labels) == 0:
            return 1
        return Int(
            Atomic[Int64].load[ordering=Ordering.ACQUIRE](
                self.word(family.offset)
            )
        )

    def series(self, family: Family, index: Int) -> Int:
        """Returns where a series begins.

        Args:
            family: The family.
            index: Its index.

        Returns:
            The offset in the area.
        """
        return family.offset + FAMILY_HEAD_OCTETS + index * family.stride

    def key(
        self, family: Family, series: Int
    ) -> Span[UInt8, MutUntrackedOrigin]:
        """Returns the key of a published series.

        Args:
            family: The family; it has labels.
            series: The offset of the series.

        Returns:
            A view of the key.
        """
        var place = series + family.key_offset()
        return Span[UInt8, MutUntrackedOrigin](
            unsafe_ptr=OctetPointer(
                unsafe_from_address=self.address + place + 8
            ),
            length=Int(self.word(place)[]),
        )

    def publish(self, family: Family, key: Span[UInt8, _]) -> Int:
        """Adds a series. Only the thread that writes the area calls it.

        Args:
            family: The family; it has labels, and fewer than `SERIES_MAX` + 1
                series.
            key: The key, which no series has.

        Returns:
            The offset of the series, whose numbers are 0.
        """
        var count = self.series_count(family)
        debug_assert(count <= SERIES_MAX, "too many series")
        var series = self.series(family, count)
        for i in range(Family.words_of(family.kind)):
            # A process that died in here has published nothing.
            self.word(series + 8 * i)[] = 0
        var place = series + family.key_offset()
        self.word(place)[] = Int64(len(key))
        copy_octets(
            OctetPointer(unsafe_from_address=self.address + place + 8),
            key.unsafe_ptr(),
            len(key),
        )
        Atomic[Int64].store[ordering=Ordering.RELEASE](
            self.word(family.offset), Int64(count + 1)
        )
        return series

    def has_key(self, family: Family, index: Int, key: Span[UInt8, _]) -> Bool:
        """Returns whether a published series has a key.

        Args:
            family: The family; it has labels.
            index: The index of the series.
            key: The key.

        Returns:
            True if all octets are equal.
        """
        return equals(self.key(family, self.series(family, index)), key)


@always_inline
def change(place: PointerTo[Int64], by: Int):
    """Changes a number that only the calling thread changes.

    Args:
        place: The number.
        by: The number to add.
    """
    Atomic[Int64].store[ordering=Ordering.RELAXED](place, place[] + Int64(by))


@always_inline
def change_together(place: PointerTo[Int64], by: Int):
    """Changes a number that several threads change.

    Args:
        place: The number.
        by: The number to add.
    """
    _ = Atomic[Int64].fetch_add[ordering=Ordering.RELAXED](place, Int64(by))


@always_inline
def read_number(place: PointerTo[Int64]) -> Int:
    """Returns a number that another thread may be changing.

    Args:
        place: The number.

    Returns:
        Its value at some moment.
    """
    return Int(Atomic[Int64].load[ordering=Ordering.RELAXED](place))
