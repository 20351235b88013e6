"""Parses route patterns, when a route is registered.

A pattern is `/` and segments between slashes. A segment is literal text, a
parameter (`:name` or `{name}`), or, as the last one, the rest of the path (`*`
or `*name`). Escapes in literal text stand for the octets they encode, so write
a colon at the start of a literal segment as `%3A`. The pattern `*` alone is
the request target of a server-wide OPTIONS (RFC 9112 section 3.2.4).
"""

from flare.core import write_escaped
from flare.message import percent_decode

from .path import decode_escape

comptime PATTERN_OCTETS_MAX = 2048
"""The longest pattern."""
comptime PATTERN_SEGMENTS_MAX = 64
"""The largest number of segments of a pattern."""
comptime LITERAL_OCTETS_MAX = 255
"""The longest literal segment, decoded."""
comptime PARAMETERS_MAX = 16
"""The largest number of parameters of a pattern, the rest included."""

comptime _SLASH: UInt8 = 47
comptime _PERCENT: UInt8 = 37
comptime _COLON: UInt8 = 58
comptime _LESS: UInt8 = 60
comptime _GREATER: UInt8 = 62
comptime _ASTERISK: UInt8 = 42
comptime _OPENING: UInt8 = 123
comptime _CLOSING: UInt8 = 125


@fieldwise_init
struct SegmentKind(Equatable, TrivialRegisterPassable):
    """The kinds of segments."""

    comptime LITERAL = Self(0)
    """One segment that equals the text after decoding."""
    comptime PARAMETER = Self(1)
    """Any one segment, except an empty one."""
    comptime REST = Self(2)
    """The rest of the path, which may be empty."""

    var value: UInt8
    """The number of the kind."""

    def __eq__(self, other: Self) -> Bool:
        """Returns whether two kinds are equal.

        Args:
            other: The other kind.

        Returns:
            True if the kinds are equal.
        """
        return self.value == other.value


@fieldwise_init
struct PatternSegment(Copyable, Movable):
    """One segment of a pattern."""

    var kind: SegmentKind
    """Its kind."""
    var text: List[UInt8]
    """The decoded text of a literal; otherwise the name, `*` if it has none."""


struct RoutePattern(Copyable, Movable):
    """The segments of a valid pattern."""

    var segments: List[PatternSegment]
    """The segments; none for the pattern `*`."""
    var is_asterisk: Bool
    """Whether it is the pattern `*`, which is not a path."""

    def __init__(out self, text: StringSlice) raises:
        """Parses a pattern.

        Args:
            text: The pattern.

        Raises:
            Error: `http.bad_route` with the reason and the pattern.
        """
        self.segments = []
        self.is_asterisk = text == "*"
        if self.is_asterisk:
            return
        var octets = text.as_bytes()
        if len(octets) > PATTERN_OCTETS_MAX:
            raise Error("http.bad_route a pattern is longer than 2048 octets")
        if len(octets) == 0 or octets[0] != _SLASH:
            raise bad_route("it does not start with /", text)
        for octet in octets:
            if octet < 32 or octet == 127:
                raise bad_route("it contains a control character", text)
            if octet == UInt8(ord("?")) or octet == UInt8(ord("#")):
                raise bad_route("a pattern is a path, without ? and #", text)
        var start = 1
        for i in range(1, len(octets) + 1):
            if i == len(octets) or octets[i] == _SLASH:
                self._add(octets[start:i], text)
                start = i + 1
        self._check_counts(text)

    def parameter_count(self) -> Int:
        """Returns how many parameters a match captures.

        Returns:
            The number of parameters, the rest included.
        """
        var count = 0
        for segment in self.segments:
            if segment.kind != SegmentKind.LITERAL:
                count += 1
        return count

    def _add(mut self, raw: Span[UInt8, _], text: StringSlice) raises:
        if (
            len(self.segments) > 0
            and self.segments[len(self.segments) - 1].kind == SegmentKind.REST
        ):
            raise bad_route("* is not the last segment", text)
        if len(raw) > 0 and raw[0] == _COLON:
            self._add_name(SegmentKind.PARAMETER, raw[1:], text)
        elif len(raw) > 0 and raw[0] == _OPENING:
            if raw[len(raw) - 1] != _CLOSING:
                raise bad_route("a brace does not end its segment", text)
            self._add_name(SegmentKind.PARAMETER, raw[1 : len(raw) - 1], text)
        elif len(raw) > 0 and raw[0] == _ASTERISK:
            if len(raw) == 1:
                self.segments.append(
                    PatternSegment(SegmentKind.REST, List[UInt8](raw))
                )
            else:
                self._add_name(SegmentKind.REST, raw[1:], text)
        else:
            self._add_literal(raw, text)

    def _add_name(
        mut self, kind: SegmentKind, name: Span[UInt8, _], text: StringSlice
    ) raises:
        if len(name) == 0:
            raise bad_route("a parameter has no name", text)
        if not _is_identifier(name):
            raise bad_route("the name of a parameter is no identifier", text)
        var copy = List[UInt8](name)
        for segment in self.segments:
            if segment.kind != SegmentKind.LITERAL and segment.text == copy:
                raise bad_route("two parameters have the same name", text)
        self.segments.append(PatternSegment(kind, copy^))

    def _add_literal(mut self, raw: Span[UInt8, _], text: StringSlice) raises:
        if len(raw) > 1 and raw[0] == _LESS and raw[len(raw) - 1] == _GREATER:
            raise bad_route("write a parameter as :name or {name}", text)
        for octet in raw:
            if octet == _OPENING or octet == _CLOSING:
                raise bad_route(
                    (
                        "a brace stands inside a literal segment; write it %7B"
                        " or %7D, or make the whole segment a parameter"
                    ),
                    text,
                )
            if octet == _COLON or octet == _ASTERISK:
                raise bad_route(
                    "a segment mixes text with : or *; write them %3A or %2A",
                    text,
                )
        for i in range(len(raw)):
            if raw[i] == _PERCENT and decode_escape(raw, i) < 0:
                raise bad_route("a percent escape is malformed", text)
        var decoded = List[UInt8](capacity=len(raw) + 1)
        percent_decode(raw, decoded)
        if len(decoded) > LITERAL_OCTETS_MAX:
            raise bad_route("a literal segment exceeds 255 octets", text)
        if decoded == [UInt8(46)] or decoded == [UInt8(46), 46]:
            raise bad_route("a dot segment never matches", text)
        for octet in decoded:
            if octet == 0:
                raise bad_route("%00 never matches", text)
        self.segments.append(PatternSegment(SegmentKind.LITERAL, decoded^))

    def _check_counts(self, text: StringSlice) raises:
        if len(self.segments) > PATTERN_SEGMENTS_MAX:
            raise bad_route("it has more than 64 segments", text)
        if self.parameter_count() > PARAMETERS_MAX:
            raise bad_route("it has more than 16 parameters", text)


def bad_route(reason: StaticString, pattern: StringSlice) -> Error:
    """Returns the error that refuses a route.

    Args:
        reason: The reason.
        pattern: The pattern, which is escaped in the text.

    Returns:
        The error; its text begins with `http.bad_route`.
    """
    var text = String("http.bad_route ", reason, ": ")
    write_escaped(pattern.as_bytes(), text)
    return Error(text^)


def _is_identifier(name: Span[UInt8, _]) -> Bool:
    for i in range(len(name)):
        var lower = name[i] | 32
        var is_letter = (lower >= 97 and lower <= 122) or name[i] == 95
        var is_digit = name[i] >= 48 and name[i] <= 57
        if not is_letter and not (is_digit and i > 0):
            return False
    return True
