"""Answers what `RouteTable` answers by trying every route on every request.

It shares no code with the table: it splits patterns and paths itself, decodes
escapes itself, and keeps the best of all routes that match.
"""


@fieldwise_init
struct ModelRoute(Copyable, Movable):
    """Holds a route as texts."""

    var method: String
    """The method."""
    var segments: List[String]
    """The segments of the pattern as written."""


@fieldwise_init
struct ModelAnswer(Copyable, Movable):
    """Says what a request should be answered with."""

    var kind: String
    """The name of the kind, as `MatchKind` writes it."""
    var endpoint: Int
    """The index of the route, or -1."""
    var captures: List[String]
    """The captured octets in the order of the pattern."""
    var allowed: List[String]
    """The methods of the Allow field, in no order."""


comptime KNOWN_METHODS: List[StaticString] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "CONNECT",
    "OPTIONS",
    "TRACE",
    "PATCH",
]
"""The methods of RFC 9110 and RFC 5789."""


def split_path(path: Span[UInt8, _]) -> List[List[UInt8]]:
    """Splits what follows the first slash at each slash.

    Args:
        path: A path that starts with a slash.

    Returns:
        The segments as received.
    """
    var segments = List[List[UInt8]]()
    var segment = List[UInt8]()
    for i in range(1, len(path)):
        if path[i] == UInt8(ord("/")):
            segments.append(segment.copy())
            segment.clear()
        else:
            segment.append(path[i])
    segments.append(segment^)
    return segments^


def decoded(raw: List[UInt8]) -> Optional[List[UInt8]]:
    """Decodes percent escapes.

    Args:
        raw: Any octets.

    Returns:
        The octets, or none if an escape is malformed.
    """
    comptime DIGITS: StaticString = "0123456789abcdef"
    var result = List[UInt8]()
    var i = 0
    while i < len(raw):
        if raw[i] != UInt8(ord("%")):
            result.append(raw[i])
            i += 1
            continue
        if i + 2 >= len(raw):
            return None
        var value = 0
        for k in range(1, 3):
            var digit = Int(raw[i + k])
            if digit >= ord("A") and digit <= ord("F"):
                digit += 32
            var found = -1
            for d in range(16):
                if Int(DIGITS.as_bytes()[d]) == digit:
                    found = d
            if found < 0:
                return None
            value = value * 16 + found
        result.append(UInt8(value))
        i += 3
    return result^


struct Model(Copyable, Movable):
    """Holds routes in the order of adding."""

    var routes: List[ModelRoute]
    """The routes; the index is the endpoint."""

    def __init__(out self):
        """Holds no route."""
        self.routes = []

    def add(mut self, method: String, pattern: String) -> Bool:
        """Adds a route that is well-formed.

        Args:
            method: The method.
            pattern: The pattern.

        Returns:
            False, adding nothing, if its shape has the method already.
        """
        var segments = List[String]()
        for segment in split_path(pattern.as_bytes()):
            segments.append(String(StringSlice(unsafe_from_utf8=Span(segment))))
        for route in self.routes:
            if route.method == method and _shape(route.segments) == _shape(
                segments
            ):
                return False
        self.routes.append(ModelRoute(method, segments^))
        return True

    def answer(self, method: String, path: Span[UInt8, _]) -> ModelAnswer:
        """Answers a request.

        Args:
            method: The method.
            path: The path.

        Returns:
            The answer.
        """
        if path == "*".as_bytes() and method == "OPTIONS":
            return self._whole_server()
        if len(path) == 0 or path[0] != UInt8(ord("/")):
            return _answer("BAD_PATH")
        var segments = split_path(path)
        for segment in segments:
            var octets = decoded(segment)
            if not octets:
                return _answer("BAD_PATH")
            if octets.value() == [UInt8(46)]:
                return _answer("BAD_PATH")
            if octets.value() == [UInt8(46), UInt8(46)]:
                return _answer("BAD_PATH")
            if UInt8(0) in octets.value():
                return _answer("BAD_PATH")
        if not self._knows(method):
            return _answer("METHOD_NOT_IMPLEMENTED")
        var best = -1
        var best_rank = String()
        var allowed = List[String]()
        for i in range(len(self.routes)):
            ref route = self.routes[i]
            var rank = _rank(route.segments, segments)
            if not rank:
                continue
            _include(allowed, route.method)
            if route.method == "GET":
                _include(allowed, "HEAD")
            var is_exact = route.method == method
            if not is_exact and not (
                method == "HEAD" and route.method == "GET"
            ):
                continue
            # Among routes of one shape the one with the method itself wins.
            var whole = rank.value() + ("0" if is_exact else "1")
            if best < 0 or whole < best_rank:
                best = i
                best_rank = whole^
        if best >= 0:
            var found = _answer("FOUND")
            found.endpoint = best
            found.captures = _captured(self.routes[best].segments, segments)
            return found^
        if len(allowed) == 0:
            return _answer("NOT_FOUND")
        _include(allowed, "OPTIONS")
        var refused = _answer(
            "OPTIONS" if method == "OPTIONS" else "METHOD_NOT_ALLOWED"
        )
        refused.allowed = allowed^
        return refused^

    def _whole_server(self) -> ModelAnswer:
        var options = _answer("OPTIONS")
        _include(options.allowed, "OPTIONS")
        for route in self.routes:
            _include(options.allowed, route.method)
            if route.method == "GET":
                _include(options.allowed, "HEAD")
        return options^

    def _knows(self, method: String) -> Bool:
        for known in materialize[KNOWN_METHODS]():
            if method == known:
                return True
        for route in self.routes:
            if route.method == method:
                return True
        return False


def _answer(kind: String) -> ModelAnswer:
    return ModelAnswer(kind, -1, [], [])


def _include(mut methods: List[String], method: String):
    if method not in methods:
        methods.append(method)


def _is_rest(segment: String) -> Bool:
    return segment.startswith("*")


def _is_parameter(segment: String) -> Bool:
    return segment.startswith(":") or segment.startswith("{")


def _shape(segments: List[String]) -> String:
    var shape = String()
    for segment in segments:
        shape += "/"
        if _is_rest(segment):
            shape += "*"
        elif _is_parameter(segment):
            shape += ":"
        else:
            for octet in decoded(List[UInt8](segment.as_bytes())).value():
                shape += String(Int(octet), ".")
    return shape^


def _rank(pattern: List[String], path: List[List[UInt8]]) -> Optional[String]:
    var rank = String()
    for i in range(len(pattern)):
        if i >= len(path):
            return None
        if _is_rest(pattern[i]):
            return rank + "2"
        if _is_parameter(pattern[i]):
            if len(path[i]) == 0:
                return None
            rank += "1"
            continue
        var text = decoded(List[UInt8](pattern[i].as_bytes()))
        if text.value() != decoded(path[i]).value():
            return None
        rank += "0"
    if len(pattern) != len(path):
        return None
    return rank^


def _captured(pattern: List[String], path: List[List[UInt8]]) -> List[String]:
    var captures = List[String]()
    for i in range(len(pattern)):
        var text = String(StringSlice(unsafe_from_utf8=Span(path[i])))
        if _is_rest(pattern[i]):
            for k in range(i + 1, len(path)):
                text += "/"
                text += StringSlice(unsafe_from_utf8=Span(path[k]))
            captures.append(text)
        elif _is_parameter(pattern[i]):
            captures.append(text)
    return captures^
