"""Joins the values of labels into the key of a series."""

from flare.json.utf8 import sequence_octets

from .family import LABELS_MAX, LABEL_OCTETS_MAX

comptime KEY_END: UInt8 = 0xFF
"""Stands after each value. UTF-8 does not contain it."""
comptime KEY_OCTETS_MAX = LABELS_MAX * (LABEL_OCTETS_MAX + 1)
"""The longest key."""
comptime OTHER: StaticString = "other"
"""The value of each label of the series for all label sets beyond the limit."""


struct SeriesKey(Movable):
    """The values of some labels, each with `KEY_END` after it."""

    var _octets: Array[UInt8, KEY_OCTETS_MAX]
    var _count: Int
    var _values: Int

    def __init__(out self):
        """Creates a key without values."""
        self._values = 0
        self._octets = Array[UInt8, KEY_OCTETS_MAX](fill=0)
        self._count = 0

    @staticmethod
    def of_others(labels: Int) -> Self:
        """Returns the key of the series for all label sets beyond the limit.

        Args:
            labels: The number of labels.

        Returns:
            The key.
        """
        var key = Self()
        for _ in range(labels):
            key.add(OTHER)
        return key^

    def add(mut self, value: StringSlice):
        """Adds a value. Of a long one, the first characters in
        `LABEL_OCTETS_MAX` octets are kept. Octets that are no UTF-8 become `?`:
        readers refuse a page that has them.

        Args:
            value: The value; those after `LABELS_MAX` are only counted.
        """
        self._values += 1
        if self._values > LABELS_MAX:
            return
        var octets = value.as_bytes()
        var kept = len(octets)
        if kept > LABEL_OCTETS_MAX:
            kept = LABEL_OCTETS_MAX
            # No character is cut.
            while kept > 0 and octets[kept] & 0xC0 == 0x80:
                kept -= 1
        var i = 0
        while i < kept:
            var count = 1
            if octets[i] >= 0x80:
                count = sequence_octets(octets, i)
            for k in range(max(count, 1)):
                self._octets[self._count] = octets[
                    i + k
                ] if count > 0 else UInt8(ord("?"))
                self._count += 1
            i += max(count, 1)
        self._octets[self._count] = KEY_END
        self._count += 1

    def values(self) -> Int:
        """Returns how many values were added.

        Returns:
            The number.
        """
        return self._values

    def span(self) -> Span[UInt8, origin_of(self)]:
        """Returns the octets of the key.

        Returns:
            A view of them.
        """
        return Span[UInt8, origin_of(self)](
            unsafe_ptr=self._octets.unsafe_ptr().unsafe_origin_cast[
                origin_of(self)
            ](),
            length=self._count,
        )
