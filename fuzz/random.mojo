"""Draws the random values and damages the inputs of fuzz harnesses.

A stream depends on nothing but the seed and the number of the run, so that one
run can be repeated alone, on any machine.
"""

comptime _GAMMA: UInt64 = 0x9E3779B97F4A7C15

comptime _INTERESTING: StaticString = '\r\n\0:; \t,/?#%@[]"\\=-+0129aZ\x7f'


def _mix(value: UInt64) -> UInt64:
    var z = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    return z ^ (z >> 31)


struct Random(Copyable, Movable):
    """Draws values from one SplitMix64 stream."""

    var state: UInt64
    """All that the stream remembers."""

    def __init__(out self, seed: UInt64, run: Int = 0):
        """Starts the stream of one run.

        Args:
            seed: Any number; the same seed gives the same values.
            run: The number of the run; neighbours get unrelated streams.
        """
        self.state = _mix(_mix(seed + _GAMMA) + UInt64(run) * _GAMMA)

    def next(mut self) -> UInt64:
        """Draws 64 bits.

        Returns:
            Any number.
        """
        self.state += _GAMMA
        return _mix(self.state)

    def below(mut self, bound: Int) -> Int:
        """Draws a number below a bound.

        Args:
            bound: One more than the largest value; at least 1.

        Returns:
            A number from 0 to `bound - 1`.
        """
        debug_assert(bound > 0, "below(", bound, ")")
        return Int(self.next() % UInt64(bound))

    def between(mut self, low: Int, high: Int) -> Int:
        """Draws a number between two bounds.

        Args:
            low: The least value.
            high: The largest value; at least `low`.

        Returns:
            A number from `low` to `high`.
        """
        return low + self.below(high - low + 1)

    def chance(mut self, percent: Int) -> Bool:
        """Decides whether something happens.

        Args:
            percent: How often, from 0 (never) to 100 (always).

        Returns:
            True in `percent` of 100 draws.
        """
        return self.below(100) < percent

    def octet(mut self) -> UInt8:
        """Draws one octet.

        Returns:
            Any octet.
        """
        return UInt8(self.next() >> 56)

    def interesting_octet(mut self) -> UInt8:
        """Draws one octet of those that parsers treat specially.

        Returns:
            CR, LF, NUL, a delimiter, a digit or an octet above 127.
        """
        comptime count = _INTERESTING.byte_length()
        var index = self.below(count + 2)
        if index < count:
            return _INTERESTING.as_bytes()[index]
        return 0x80 if index == count else 0xFF

    def octets(mut self, count: Int) -> List[UInt8]:
        """Draws octets.

        Args:
            count: How many; not negative.

        Returns:
            Any octets.
        """
        var drawn = List[UInt8](capacity=count)
        for _ in range(count):
            drawn.append(self.octet())
        return drawn^

    def octets_of(mut self, members: StaticString, count: Int) -> List[UInt8]:
        """Draws octets of a set.

        Args:
            members: The octets to choose from; not empty.
            count: How many; not negative.

        Returns:
            The octets.
        """
        var drawn = List[UInt8](capacity=count)
        for _ in range(count):
            drawn.append(members.as_bytes()[self.below(members.byte_length())])
        return drawn^

    def pick[T: Copyable & Deinitable](mut self, items: List[T]) -> T:
        """Draws one item of a list.

        Parameters:
            T: The type of the items.

        Args:
            items: The items to choose from; not empty.

        Returns:
            A copy of the item.
        """
        return items[self.below(len(items))].copy()


def mutate(octets: Span[UInt8, _], mut random: Random) -> List[UInt8]:
    """Damages an input at one to four places.

    Args:
        octets: The input; it may be empty.
        random: Decides what happens and where.

    Returns:
        The damaged copy; now and then it equals the input.
    """
    var damaged = List[UInt8](octets)
    for _ in range(1 + random.below(4)):
        _damage(damaged, random)
    return damaged^


def splice(
    first: Span[UInt8, _], second: Span[UInt8, _], mut random: Random
) -> List[UInt8]:
    """Joins the front of one input to the rear of another.

    Args:
        first: Gives the front.
        second: Gives the rear.
        random: Decides where both are cut.

    Returns:
        The joined input.
    """
    var joined = List[UInt8](first[: random.below(len(first) + 1)])
    joined.extend(second[random.below(len(second) + 1) :])
    return joined^


def _damage(mut octets: List[UInt8], mut random: Random):
    if len(octets) == 0:
        octets.append(random.interesting_octet())
        return
    var at = random.below(len(octets))
    var kind = random.below(8)
    if kind == 0:
        octets[at] ^= UInt8(1) << UInt8(random.below(8))
    elif kind == 1:
        octets[at] = random.interesting_octet()
    elif kind == 2:
        octets[at] = random.octet()
    elif kind == 3:
        octets.insert(at, random.interesting_octet())
    elif kind == 4:
        _ = octets.pop(at)
    elif kind == 5:
        octets.shrink(at)
    else:
        _repeat_or_drop(octets, at, kind == 6, random)


def _repeat_or_drop(
    mut octets: List[UInt8], at: Int, repeat: Bool, mut random: Random
):
    var end = at + 1 + random.below(min(16, len(octets) - at))
    var changed = List[UInt8](octets[:end if repeat else at])
    changed.extend(octets[at if repeat else end:])
    octets = changed^
