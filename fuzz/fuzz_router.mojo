"""A table of random routes answers random requests as a search of all routes.

Invariant: kind, route, captures and allowed methods are those of the model,
and a pattern is refused if and only if the model has its shape already.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.routing import Captures, MatchKind, RouteMatch, RouteTable
from flare.message import Method
from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate
from fuzz.routing_model import Model, ModelAnswer, split_path

comptime _METHODS: List[StaticString] = [
    "GET",
    "GET",
    "GET",
    "POST",
    "HEAD",
    "OPTIONS",
    "DELETE",
    "PURGE",
    "get",
]
comptime _LITERALS: List[StaticString] = [
    "a",
    "b",
    "a",
    "ab",
    "%61",
    "a%62",
    "x%2Fy",
    "",
    "files",
    "long-literal-of-28-octets-00",
    "long-literal-of-28-octets-01",
    "%C3%A4",
    "...",
]
comptime _VALUES: List[StaticString] = [
    "a",
    "b",
    "7",
    "%2f",
    "a%20b",
    "",
    "..",
    "%2E",
    "%00",
    "%e",
    "...",
    "value",
    "0123456789012345678901234567890123456789",
]


def _pattern(mut random: Random) -> String:
    var pattern = String()
    var depth = random.between(1, 5)
    for i in range(depth):
        var draw = random.below(10)
        if draw < 5:
            pattern += "/" + random.pick(materialize[_LITERALS]())
        elif draw < 7:
            pattern += String("/:p", i)
        elif draw < 9 or i + 1 < depth:
            pattern += String("/{q", i, "}")
        else:
            pattern += "/*" if random.chance(50) else "/*rest"
    return pattern^


def _path(pattern: String, mut random: Random) -> List[UInt8]:
    var path = List[UInt8]()
    for segment in split_path(pattern.as_bytes()):
        path.append(UInt8(ord("/")))
        var first = segment[0] if len(segment) > 0 else 0
        if first == UInt8(ord("*")):
            for i in range(random.below(3)):
                if i > 0:
                    path.append(UInt8(ord("/")))
                path.extend(random.pick(materialize[_VALUES]()).as_bytes())
        elif first == UInt8(ord(":")) or first == UInt8(ord("{")):
            # Half of the values are those that literals have as well.
            if random.chance(50):
                path.extend(random.pick(materialize[_LITERALS]()).as_bytes())
            elif random.chance(70):
                path.append(UInt8(97 + random.below(3)))
            else:
                path.extend(random.pick(materialize[_VALUES]()).as_bytes())
        else:
            for octet in segment:
                if octet != UInt8(ord("%")) and random.chance(10):
                    _append_escape(octet, path)
                else:
                    path.append(octet)
    if random.chance(15):
        return mutate(path, random)
    return path^


def _append_escape(octet: UInt8, mut path: List[UInt8]):
    # An octet within an escape would make another one of it.
    var n = len(path)
    for back in range(1, 3):
        if n >= back and path[n - back] == UInt8(ord("%")):
            path.append(octet)
            return
    comptime DIGITS: StaticString = "0123456789abcdef"
    path.append(UInt8(ord("%")))
    path.append(DIGITS.as_bytes()[Int(octet >> 4)])
    path.append(DIGITS.as_bytes()[Int(octet & 15)])


struct _Case(Movable):
    var table: RouteTable
    var model: Model
    var captures: PointerTo[Captures]
    var text: String

    def __init__(out self):
        self.table = RouteTable()
        self.model = Model()
        self.captures = heap_create(Captures())
        self.text = String()

    def __deinit__(deinit self):
        heap_destroy(self.captures)

    def add(mut self, method: String, pattern: String) raises:
        self.text += method + " " + pattern + "\n"
        var is_refused = False
        try:
            self.table.add(method, pattern, len(self.model.routes))
        except e:
            is_refused = True
            if not String(e).startswith("http.bad_route "):
                raise e^
        if self.model.add(method, pattern) == is_refused:
            raise Error("the model disagrees about refusing ", pattern)

    def check(self, method: String, path: List[UInt8]) raises -> MatchKind:
        var wanted = self.model.answer(method, path)
        var known = Method.from_octets(method.as_bytes())
        # Of a path that is a pattern `find` asks the search nothing.
        var searched = self.table.search(
            known, method.as_bytes(), path, self.captures
        )
        self._check(searched, wanted, path)
        var found = self.table.find(
            known, method.as_bytes(), path, self.captures
        )
        self._check(found, wanted, path)
        return found.kind

    def _check(
        self, found: RouteMatch, wanted: ModelAnswer, path: List[UInt8]
    ) raises:
        if String(found.kind) != wanted.kind:
            raise Error(found.kind, " instead of ", wanted.kind)
        if found.endpoint != wanted.endpoint:
            raise Error("endpoint ", found.endpoint, " not ", wanted.endpoint)
        if found.route != wanted.endpoint:
            raise Error("route ", found.route, " not ", wanted.endpoint)
        self._check_captures(wanted, path)
        var allow = String()
        self.table.write_allow(found.allowed, allow)
        var count = 0
        if allow:
            for name in allow.split(", "):
                count += 1
                if String(name) not in wanted.allowed:
                    raise Error("Allow names ", name)
        if count != len(wanted.allowed):
            raise Error("Allow has ", count, " methods")

    def _check_captures(self, wanted: ModelAnswer, path: List[UInt8]) raises:
        if len(self.captures[]) != len(wanted.captures):
            raise Error("captured ", len(self.captures[]), " parameters")
        for i in range(len(wanted.captures)):
            var place = self.captures[][i]
            var start = Int(place.start)
            var octets = Span(path)[start : start + Int(place.octets)]
            if octets != wanted.captures[i].as_bytes():
                raise Error("parameter ", i, " has another value")


def _check_damaged(
    pattern: String, mut random: Random, mut histogram: Histogram
) raises:
    var damaged = mutate(pattern.as_bytes(), random)
    histogram.input(damaged)
    var table = RouteTable()
    try:
        table.add("GET", StringSlice(unsafe_from_utf8=Span(damaged)), 0)
    except e:
        if not String(e).startswith("http.bad_route "):
            raise e^
        histogram.count("pattern refused")


def fuzz_router(mut random: Random, mut histogram: Histogram) raises:
    """Compares a random table with the model on eight requests.

    Args:
        random: Draws routes and requests.
        histogram: Counts the answers.

    Raises:
        Error: If table and model disagree.
    """
    var one = _Case()
    var patterns = List[String]()
    var methods = List[String]()
    for i in range(random.between(1, 12)):
        patterns.append(_pattern(random))
        methods.append(String(random.pick(materialize[_METHODS]())))
        histogram.input(one.text.as_bytes())
        one.add(methods[i], patterns[i])
    _check_damaged(patterns[0], random, histogram)
    for _ in range(8):
        var route = random.below(len(patterns))
        var method = methods[route]
        if random.chance(30):
            method = String(random.pick(materialize[_METHODS]()))
        var path = _path(patterns[route], random)
        var input = List[UInt8](one.text.as_bytes())
        input.extend(method.as_bytes())
        input.append(UInt8(ord(" ")))
        input.extend(Span(path))
        histogram.input(input)
        var answer = String(one.check(method, path))
        if answer == "FOUND":
            histogram.count_whole(answer)
        else:
            histogram.count(answer)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_router)
