"""Writes the text formats of Prometheus 0.0.4 and of OpenMetrics 1.0.0.

The two differ in the names of counters, in the line with the unit, in
escaping help, and in the last line.
"""

from flare.core import find_octet
from flare.core.text_buffer import TextBuffer

from .series_key import KEY_END

comptime _QUOTE: UInt8 = 34
comptime _BACKSLASH: UInt8 = 92
comptime _LF: UInt8 = 10
comptime _ZERO: UInt8 = 48
comptime _SPACE: UInt8 = 32
comptime _CLOSE: UInt8 = 125


@fieldwise_init
struct MetricsFormat(Equatable, TrivialRegisterPassable):
    """A text format of metrics."""

    comptime PROMETHEUS = Self(0)
    """The text format 0.0.4 of Prometheus."""
    comptime OPEN_METRICS = Self(1)
    """OpenMetrics 1.0.0."""

    var number: UInt8
    """Its number."""

    def media_type(self) -> StaticString:
        """Returns the value of Content-Type.

        Returns:
            The media type with its version.
        """
        if self == Self.OPEN_METRICS:
            return "application/openmetrics-text; version=1.0.0; charset=utf-8"
        return "text/plain; version=0.0.4; charset=utf-8"


struct MetricsText(Movable):
    """A text of metrics that is being written."""

    var format: MetricsFormat
    """The format."""
    var _text: TextBuffer
    var _has_labels: Bool

    def __init__(out self, format: MetricsFormat):
        """Creates an empty text.

        Args:
            format: The format.
        """
        self.format = format
        self._text = TextBuffer()
        self._has_labels = False

    def counter(mut self, name: StringSlice, help: StringSlice, value: Int):
        """Writes a counter without labels.

        Args:
            name: Its name, without `_total`.
            help: Its meaning.
            value: Its value.
        """
        self.begin(name, "counter", help)
        self.begin_sample(name, "_total")
        self.end_sample(value)

    def gauge(mut self, name: StringSlice, help: StringSlice, value: Int):
        """Writes a gauge without labels.

        Args:
            name: Its name.
            help: Its meaning.
            value: Its value.
        """
        self.begin(name, "gauge", help)
        self.begin_sample(name, "")
        self.end_sample(value)

    def begin(
        mut self,
        name: StringSlice,
        type: StaticString,
        help: StringSlice,
        unit: StaticString = "",
    ):
        """Begins a family.

        Args:
            name: Its name, without the `_total` of a counter.
            type: Its type.
            help: Its meaning.
            unit: Its unit, if the name ends in it.
        """
        var is_open = self.format == MetricsFormat.OPEN_METRICS
        var end: StaticString = ""
        if type == "counter" and not is_open:
            end = "_total"
        self._append("# TYPE ", name, end)
        self._append(" ", type, "\n")
        if is_open and unit.byte_length() > 0:
            self._append("# UNIT ", name, " ")
            self._append(unit, "\n", "")
        self._append("# HELP ", name, end)
        self._append(" ", "", "")
        self._escape(help.as_bytes(), escapes_quotes=is_open)
        self._text.append("\n")

    def begin_sample(mut self, name: StringSlice, end: StaticString):
        """Begins a line of numbers. Labels follow, then `end_sample`.

        Args:
            name: The name of the family.
            end: The end of the name on this line.
        """
        self._append(name, end, "")
        self._has_labels = False

    def labels(mut self, names: List[String], key: Span[UInt8, _]):
        """Writes labels. One without a value is left out.

        Args:
            names: Their names.
            key: Their values, each with `KEY_END` after it.
        """
        var start = 0
        for name in names:
            var end = find_octet(key, KEY_END, start)
            if end > start:
                self.label(name, key[start:end])
            start = end + 1

    def label(mut self, name: StringSlice, value: Span[UInt8, _]):
        """Writes a label.

        Args:
            name: Its name.
            value: Its value.
        """
        self._append("," if self._has_labels else "{", name, '="')
        self._has_labels = True
        self._escape(value, escapes_quotes=True)
        self._text.append('"')

    def bound(mut self, edge: Int, decimals: Int):
        """Writes the label of a bucket.

        Args:
            edge: Its upper edge, times a power of ten.
            decimals: The exponent of the power.
        """
        self._append("," if self._has_labels else "{", 'le="', "")
        self._has_labels = True
        self._append_number(
            edge, decimals, is_float=self.format == MetricsFormat.OPEN_METRICS
        )
        self._text.append('"')

    def last_bound(mut self):
        """Writes the label of the bucket for all values."""
        self._append("," if self._has_labels else "{", 'le="+Inf"', "")
        self._has_labels = True

    def end_sample(mut self, value: Int, decimals: Int = 0):
        """Ends a line with its number.

        Args:
            value: The number, times a power of ten.
            decimals: The exponent of the power.
        """
        if self._has_labels:
            self._text.append_octet(_CLOSE)
        self._text.append_octet(_SPACE)
        self._append_number(value, decimals, is_float=False)
        self._text.append("\n")

    def end(mut self) -> String:
        """Ends the text.

        Returns:
            The text.
        """
        if self.format == MetricsFormat.OPEN_METRICS:
            self._text.append("# EOF\n")
        return self._text.take()

    def _append(
        mut self, first: StringSlice, second: StringSlice, third: StringSlice
    ):
        self._text.append(first.as_bytes())
        self._text.append(second.as_bytes())
        self._text.append(third.as_bytes())

    def _escape(mut self, octets: Span[UInt8, _], *, escapes_quotes: Bool):
        for octet in octets:
            if octet == _LF:
                self._text.append("\\n")
            elif octet == _BACKSLASH:
                self._text.append("\\\\")
            elif octet == _QUOTE and escapes_quotes:
                self._text.append('\\"')
            else:
                self._text.append_octet(octet)

    def _append_number(mut self, value: Int, decimals: Int, *, is_float: Bool):
        var rest = value
        if rest < 0:
            self._text.append("-")
            rest = -rest
        var power = 1
        for _ in range(decimals):
            power *= 10
        self._text.append_decimal(rest // power)
        rest %= power
        if rest == 0:
            if is_float:
                self._text.append(".0")
            return
        self._text.append(".")
        while rest > 0:
            power //= 10
            self._text.append_octet(_ZERO + UInt8(rest // power))
            rest %= power
