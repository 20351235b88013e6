"""Runs a program of changes on a `HeaderMap` and on a plain list of pairs."""

from flare.core import equals, equals_ignoring_case
from flare.message import FieldName, HeaderMap, known_field

from fuzz.random import Random

comptime _NAMES: List[StaticString] = [
    "Host",
    "hOST",
    "Content-Length",
    "content-length",
    "X-A",
    "x-a",
    "X-AB",
    "Via",
    "Set-Cookie",
    "Y",
    "te",
    "a b",
    "",
    "bad\r\n",
]
comptime _OPERATIONS = 10


@fieldwise_init
struct _Pair(Copyable):
    var name: List[UInt8]
    var value: List[UInt8]

    def wire_octets(self) -> Int:
        return len(self.name) + len(self.value) + 4


def random_program(mut random: Random) -> List[UInt8]:
    """Draws the octets of a program.

    Args:
        random: Decides.

    Returns:
        Operations, each with the octets it takes.
    """
    var program = List[UInt8]()
    for _ in range(random.between(1, 30)):
        program.append(UInt8(random.below(_OPERATIONS)))
        program.append(UInt8(random.below(len(materialize[_NAMES]()))))
        var members = StaticString("abc 1,=")
        if random.chance(20):
            members = "abc 1\t,=\x7f\r"
        var length_max = 40 if random.chance(30) else 6
        var value = random.octets_of(members, random.below(length_max))
        program.append(UInt8(len(value)))
        program.extend(Span(value))
        program.append(random.octet())
    return program^


struct Program(Movable):
    """Reads operations off octets and applies each to map and list."""

    var accepted: Int
    """How many insertions both took."""
    var refused: Int
    """How many insertions both refused."""
    var _octets: List[UInt8]
    var _at: Int
    var _map: HeaderMap
    var _pairs: List[_Pair]

    def __init__(out self, octets: Span[UInt8, _]):
        """Makes a program that begins with nothing.

        Args:
            octets: What to read operations off; any octets.
        """
        self.accepted = 0
        self.refused = 0
        self._octets = List[UInt8](octets)
        self._at = 0
        self._map = HeaderMap()
        self._pairs = []

    def run(mut self) raises:
        """Applies all operations.

        Raises:
            Error: If map and list disagree.
        """
        while self._at < len(self._octets):
            self._step()
            self._compare()

    def _next(mut self) -> Int:
        if self._at >= len(self._octets):
            return 0
        self._at += 1
        return Int(self._octets[self._at - 1])

    def _step(mut self) raises:
        var operation = self._next() % _OPERATIONS
        var names = materialize[_NAMES]()
        var name = List[UInt8](names[self._next() % len(names)].as_bytes())
        var value = List[UInt8]()
        for _ in range(self._next()):
            value.append(UInt8(self._next()))
        var more = self._next()
        if operation < 4:
            self._insert(name, value, replaces=False)
        elif operation < 6:
            self._insert(name, value, replaces=True)
        elif operation == 6:
            self._remove(name)
        elif operation == 7:
            var copied = self._map.copy()
            self._map = copied^
        elif operation == 8:
            # Long values and many lines reach the bounds.
            for _ in range(more * 100):
                value.append(97)
            self._insert(name, value, replaces=more % 2 == 0)
        elif more < 16:
            self._map.clear()
            self._pairs.clear()
        else:
            for _ in range(more):
                self._insert(name, value, replaces=False)

    def _insert(
        mut self, name: List[UInt8], value: List[UInt8], *, replaces: Bool
    ) raises:
        var expected = self._expected(name, value, replaces)
        var name_text = StringSlice(unsafe_from_utf8=Span(name))
        var value_text = StringSlice(unsafe_from_utf8=Span(value))
        var code = String()
        try:
            if replaces:
                self._map.set(name_text, value_text)
            else:
                self._map.append(name_text, value_text)
        except e:
            code = String(e)
        if not code.startswith(expected) or (code == "") != (expected == ""):
            raise Error("wanted '", expected, "', got '", code, "'")
        if expected != "":
            self.refused += 1
            return
        self.accepted += 1
        var pair = _Pair(name.copy(), _trimmed(value))
        var at = self._find(name)
        if not replaces or at == len(self._pairs):
            self._pairs.append(pair^)
            return
        self._pairs[at] = pair^
        for i in range(len(self._pairs) - 1, at, -1):
            if equals_ignoring_case(Span(self._pairs[i].name), Span(name)):
                _ = self._pairs.pop(i)

    def _expected(
        self, name: List[UInt8], value: List[UInt8], replaces: Bool
    ) -> StaticString:
        if len(name) == 0:
            return "message.bad_header_name"
        for b in name:
            if b == 13 or b == 10 or b == 32:
                return "message.bad_header_name"
        for b in value:
            if (b < 32 and b != 9) or b == 127:
                return "message.bad_header_value"
        var octets = len(_trimmed(value)) + len(name) + 4
        var lines = len(self._pairs)
        for pair in self._pairs:
            octets += pair.wire_octets()
        var at = self._find(name)
        if replaces and at < lines:
            octets -= self._pairs[at].wire_octets()
        else:
            lines += 1
        if octets > 1 << 20 or lines > 4096:
            return "message.headers_too_large"
        return ""

    def _remove(mut self, name: List[UInt8]) raises:
        var removed = 0
        for i in range(len(self._pairs) - 1, -1, -1):
            if equals_ignoring_case(Span(self._pairs[i].name), Span(name)):
                _ = self._pairs.pop(i)
                removed += 1
        var got = self._map.remove(StringSlice(unsafe_from_utf8=Span(name)))
        if got != removed:
            raise Error("removed ", got, " lines instead of ", removed)

    def _find(self, name: List[UInt8]) -> Int:
        for i in range(len(self._pairs)):
            if equals_ignoring_case(Span(self._pairs[i].name), Span(name)):
                return i
        return len(self._pairs)

    def _compare(self) raises:
        if len(self._map) != len(self._pairs):
            raise Error("the map has ", len(self._map), " lines")
        var wire = List[UInt8]()
        var known = UInt64(0)
        for i in range(len(self._pairs)):
            ref pair = self._pairs[i]
            wire.extend(Span(pair.name))
            wire.extend(": ".as_bytes())
            wire.extend(Span(pair.value))
            wire.extend("\r\n".as_bytes())
            known |= FieldName.bit(known_field(Span(pair.name)))
            if not equals(
                self._map.name(i).as_bytes(), Span(pair.name)
            ) or not equals(self._map.value(i).as_bytes(), Span(pair.value)):
                raise Error("line ", i, " differs")
        if not equals(self._map.wire(), Span(wire)):
            raise Error("the wire forms differ")
        for id in range(1, FieldName.COUNT):
            var has = known & FieldName.bit(UInt8(id)) != 0
            if self._map.has_known(UInt8(id)) != has:
                raise Error("has_known of ", id, " is not ", has)


def _trimmed(value: List[UInt8]) -> List[UInt8]:
    var start = 0
    var end = len(value)
    while start < end and (value[start] == 32 or value[start] == 9):
        start += 1
    while end > start and (value[end - 1] == 32 or value[end - 1] == 9):
        end -= 1
    return List[UInt8](value[start:end])
