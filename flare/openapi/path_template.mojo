"""Turns route patterns into path templates of OpenAPI."""

from std.collections import List

from flare.http.routing.pattern import RoutePattern, SegmentKind

comptime _HEXADECIMAL: StaticString = "0123456789ABCDEF"
comptime _REST: StaticString = "rest"


struct PathTemplate(Copyable, Movable):
    """A path with the names of its parameters in braces.

    OpenAPI has no parameter that spans segments, so the rest of a path becomes
    one like any other.
    """

    var text: String
    """The template, such as `/items/{id}`."""
    var shape: String
    """The template without the names of its parameters. Two templates of one
    document have different shapes.
    """
    var names: List[String]
    """The names of the parameters, in the order of the pattern."""
    var has_rest: Bool
    """Whether the last parameter is the rest of the path."""

    def __init__(out self, pattern: StringSlice) raises:
        """Parses a pattern.

        Args:
            pattern: A pattern of a router, not `*`.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self.text = String()
        self.shape = String()
        self.names = List[String]()
        self.has_rest = False
        for segment in RoutePattern(pattern).segments:
            self.text.write("/")
            self.shape.write("/")
            if segment.kind == SegmentKind.LITERAL:
                var literal = _escaped(segment.text)
                self.text.write(literal)
                self.shape.write(literal)
                continue
            var name = String(unsafe_from_utf8=Span(segment.text))
            if segment.kind == SegmentKind.REST:
                self.has_rest = True
                if name == "*":
                    name = self._free_name()
            self.text.write("{", name, "}")
            self.shape.write("{}")
            self.names.append(name^)

    def _free_name(self) -> String:
        var name = String(_REST)
        while name in self.names:
            name.write("_")
        return name^


def _escaped(octets: List[UInt8]) -> String:
    # RFC 3986 section 3.3 allows some octets in a segment as they are.
    var text = String()
    for octet in octets:
        if _is_plain(octet):
            text.write(chr(Int(octet)))
        else:
            text.write(
                "%",
                _HEXADECIMAL[byte=Int(octet >> 4)],
                _HEXADECIMAL[byte=Int(octet & 15)],
            )
    return text^


def _is_plain(octet: UInt8) -> Bool:
    var lower = octet | 32
    if lower >= 97 and lower <= 122 or octet >= 48 and octet <= 57:
        return True
    comptime OTHERS: StaticString = "-._~!$&'()*+,;=:@"
    for other in OTHERS.as_bytes():
        if other == octet:
            return True
    return False
