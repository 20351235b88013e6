"""Looks up the route for a method and a path.

The most specific pattern wins: from left to right, literal text is preferred
to a parameter, and a parameter to the rest of the path. If a pattern's routes
lack the method, the search continues: `POST /files/upload` leaves `GET
/files/upload` to `GET /files/*`. HEAD uses the route of GET unless it has its
own. The table itself answers OPTIONS (RFC 9110 sections 9.3.2 and 9.3.7).
`path.mojo` has the rules for paths. Trailing slashes count: `/a` and `/a/` are
two routes.
"""

from flare.core import (
    PointerTo,
    heap_create,
    heap_destroy,
    is_token,
    write_escaped,
)
from flare.message import Method

from .captures import Captures
from .path import scan_path
from .pattern import RoutePattern, SegmentKind, bad_route
from .route_match import MatchKind, PlainRoute, RouteMatch
from .search import Search
from .text_table import TextTable
from .tree import NO_ROUTE, SegmentTree

comptime METHODS_MAX = 64
"""The largest number of different methods, those of HTTP included."""


struct _Route(Copyable, Movable):
    var method: UInt8
    # The next route of the same node, or NO_ROUTE.
    var next: Int32
    var endpoint: Int
    var pattern: String
    var names: List[String]

    def __init__(
        out self,
        method: UInt8,
        next: Int32,
        endpoint: Int,
        pattern: StringSlice,
        parsed: RoutePattern,
    ):
        self.method = method
        self.next = next
        self.endpoint = endpoint
        self.pattern = String(pattern)
        self.names = []
        for segment in parsed.segments:
            if segment.kind != SegmentKind.LITERAL:
                self.names.append(
                    String(StringSlice(unsafe_from_utf8=Span(segment.text)))
                )


struct _TableState(Copyable, Movable):
    var tree: SegmentTree
    # The numbers, from 1, of the routes whose pattern has no parameter.
    var plain_paths: TextTable
    var routes: List[_Route]
    # The methods beside those of HTTP; the id of the first is Method.COUNT.
    var extensions: List[String]
    var methods: UInt64
    var asterisk_route: Int

    def __init__(out self):
        self.tree = SegmentTree()
        self.plain_paths = TextTable()
        self.routes = []
        self.extensions = []
        self.methods = 0
        self.asterisk_route = NO_ROUTE


struct RouteTable(Copyable, Movable, Sized):
    """Stores routes and looks them up.

    Threads may share it once no more routes are added: a look-up changes only
    the captures and allocates no memory.
    """

    # Behind a pointer so that a call copies one word, not every array.
    var _state: PointerTo[_TableState]

    def __init__(out self):
        """Creates an empty table."""
        self._state = heap_create(_TableState())

    def __init__(out self, *, copy: Self):
        """Copies all routes.

        Args:
            copy: The table to copy.
        """
        self._state = heap_create(copy._state[].copy())

    def __deinit__(deinit self):
        """Frees the routes."""
        heap_destroy(self._state)

    def add(
        mut self, method: StringSlice, pattern: StringSlice, endpoint: Int
    ) raises:
        """Adds a route.

        Args:
            method: The method, a case-sensitive token (RFC 9110 section 9.1).
            pattern: The pattern; `*` is for OPTIONS only.
            endpoint: The number that a match reports; not negative.

        Raises:
            Error: `http.bad_route`, with the reason: a malformed pattern or
                method, a pattern of the same shape that has this method
                already, or too many methods.
        """
        debug_assert(endpoint >= 0, "endpoint ", endpoint)
        var parsed = RoutePattern(pattern)
        var id = self._add_method(method, pattern)
        var number = len(self._state[].routes)
        if parsed.is_asterisk:
            if id != Int(Method.OPTIONS.id):
                raise bad_route("only OPTIONS has the target *", pattern)
            if self._state[].asterisk_route != NO_ROUTE:
                raise bad_route("OPTIONS * is there already", pattern)
            self._state[].asterisk_route = number
            self._state[].routes.append(
                _Route(UInt8(id), Int32(NO_ROUTE), endpoint, pattern, parsed)
            )
            return
        var node = self._state[].tree.add(parsed.segments)
        ref place = self._state[].tree.nodes[node]
        var same = self._route_at(Int(place.first_route), id)
        if same != NO_ROUTE:
            var text = String(
                "http.bad_route the same method has a pattern of the same"
                " shape, "
            )
            write_escaped(self._state[].routes[same].pattern.as_bytes(), text)
            text += ": "
            write_escaped(pattern.as_bytes(), text)
            raise Error(text^)
        self._state[].routes.append(
            _Route(UInt8(id), place.first_route, endpoint, pattern, parsed)
        )
        place.first_route = Int32(number)
        place.methods |= UInt64(1) << UInt64(id)
        if id == Int(Method.GET.id):
            place.methods |= _bit(Method.HEAD)
        self._state[].methods |= place.methods
        if id < Method.COUNT and parsed.parameter_count() == 0:
            self._state[].plain_paths.add(id, pattern.as_bytes(), number + 1)

    def mount(
        mut self, prefix: StringSlice, other: RouteTable, first_endpoint: Int
    ) raises:
        """Adds all routes of another table under a prefix.

        The prefix may have parameters. The other table's pattern `/` becomes
        the prefix itself: `/` mounted at `/api` is `/api`.

        Args:
            prefix: A pattern without `*`; a slash at its end is ignored.
            other: The table whose routes are copied.
            first_endpoint: Added to the endpoints of the other table.

        Raises:
            Error: `http.bad_route` with the reason. The routes before the
                refused one are then added.
        """
        var front = String(prefix.removesuffix("/"))
        for i in range(len(other)):
            var route = other._state[].routes[i].copy()
            if route.pattern == "*":
                raise bad_route("OPTIONS * cannot be mounted", route.pattern)
            var joined = front + route.pattern
            if route.pattern == "/" and front:
                joined = front
            self.add(
                other._method_name(Int(route.method)),
                joined,
                route.endpoint + first_endpoint,
            )

    def __len__(self) -> Int:
        """Returns the number of routes.

        Returns:
            The number.
        """
        return len(self._state[].routes)

    def find(
        self,
        method: Method,
        method_name: Span[UInt8, _],
        path: Span[UInt8, _],
        captures: PointerTo[Captures],
    ) -> RouteMatch:
        """Looks up the route of a request.

        The search visits each node of the pattern tree at most once. Captured
        octets lie within the path. Their escapes are well-formed and encode no
        NUL, but may decode to octets that are not UTF-8.

        Args:
            method: The method.
            method_name: Its octets, read if it is `Method.OTHER`.
            path: The path as received, without query; or `*`.
            captures: The destination of the route's parameters; cleared first.

        Returns:
            The result.
        """
        var plain = self.find_plain(method, path)
        if plain.endpoint >= 0:
            captures[]._count = 0
            return RouteMatch(MatchKind.FOUND, plain.endpoint, plain.route, 0)
        return self.search(method, method_name, path, captures)

    @always_inline
    def find_plain(self, method: Method, path: Span[UInt8, _]) -> PlainRoute:
        """Looks up the route of a request whose path equals a pattern.

        If a path equals a pattern without parameters, octet by octet, the
        search would end there too. Such a pattern has only literal segments,
        which are preferred to every other choice. The path is also valid,
        because no pattern has a dot segment, a NUL or a malformed escape.
        Other spellings of the path, and methods that the pattern lacks, need
        the search.

        Args:
            method: The method.
            path: The path as received, without query; or `*`.

        Returns:
            The route, if there is one.
        """
        ref state = self._state[]
        var found = state.plain_paths.find(Int(method.id), path)
        if found.value == 0:
            return PlainRoute(-1, -1, "")
        var route = found.value - 1
        return PlainRoute(
            route, state.routes.unsafe_get(route).endpoint, found.text
        )

    def search(
        self,
        method: Method,
        method_name: Span[UInt8, _],
        path: Span[UInt8, _],
        captures: PointerTo[Captures],
    ) -> RouteMatch:
        """Looks up the route of any request in the pattern tree.

        Args:
            method: The method.
            method_name: Its octets, read if it is `Method.OTHER`.
            path: The path as received, without query; or `*`.
            captures: The destination of the route's parameters; cleared first.

        Returns:
            The result, the same as that of `find`.
        """
        captures[]._count = 0
        captures[]._allowed = 0
        ref state = self._state[]
        if len(path) == 1 and path.unsafe_get(0) == 42:
            return self._find_asterisk(method)
        var scan = scan_path(path)
        if scan.is_bad:
            return _without_route(MatchKind.BAD_PATH)
        var id = Int(method.id)
        if id == Int(Method.OTHER.id):
            id = self._extension_id(method_name)
            if id < 0:
                return _without_route(MatchKind.METHOD_NOT_IMPLEMENTED)
        var search = Search(
            PointerTo[SegmentTree](to=state.tree), path, scan, captures, id
        )
        var node = search.descend(0, 1, 0)
        if node >= 0:
            var route = self._route_of(node, id)
            return RouteMatch(
                MatchKind.FOUND,
                state.routes.unsafe_get(route).endpoint,
                route,
                0,
            )
        captures[]._count = 0
        var allowed = captures[]._allowed
        if allowed == 0:
            return _without_route(MatchKind.NOT_FOUND)
        allowed |= _bit(Method.OPTIONS)
        if method == Method.OPTIONS:
            return RouteMatch(MatchKind.OPTIONS, -1, -1, allowed)
        return RouteMatch(MatchKind.METHOD_NOT_ALLOWED, -1, -1, allowed)

    def finds_with_other_slash(
        self,
        method: Method,
        method_name: Span[UInt8, _],
        path: Span[UInt8, _],
        captures: PointerTo[Captures],
    ) -> Bool:
        """Returns whether a path is found with its final slash removed or one
        added.

        The answer is False for a path that starts with two slashes: a redirect
        to it would lead to another host (RFC 3986 section 4.2). Browsers treat
        a slash and a backslash alike, so it is False for these too.

        Args:
            method: The method.
            method_name: Its octets, read if it is `Method.OTHER`.
            path: The path that was not found.
            captures: Scratch memory; empty afterwards.

        Returns:
            True if a redirect to the other path leads to a route.
        """
        var n = len(path)
        if n < 2 or path[1] == 47 or path[1] == 92:
            return False
        var found: RouteMatch
        if path[n - 1] == 47:
            found = self.find(method, method_name, path[: n - 1], captures)
        else:
            var longer = List[UInt8](path)
            longer.append(47)
            found = self.find(method, method_name, longer, captures)
        captures[]._count = 0
        return found.kind == MatchKind.FOUND

    def pattern(self, route: Int) -> StringSlice[origin_of(self)]:
        """Returns the pattern of a route, for logs.

        Args:
            route: The number of the route, as in `RouteMatch`.

        Returns:
            The pattern as it was added.
        """
        return StringSlice(
            unsafe_from_utf8=_lent[origin_of(self)](
                self._state[].routes[route].pattern.as_bytes()
            )
        )

    def parameter_index(self, route: Int, name: StringSlice) -> Int:
        """Returns the index of a route parameter, by its name.

        Args:
            route: The number of the route, as in `RouteMatch`.
            name: The name; `*` is a rest without a name.

        Returns:
            The index of its capture, or -1 if the route has no such parameter.
        """
        ref names = self._state[].routes[route].names
        for i in range(len(names)):
            if names[i] == name:
                return i
        return -1

    def parameter_name(
        self, route: Int, index: Int
    ) -> StringSlice[origin_of(self)]:
        """Returns the name of a parameter.

        Args:
            route: The number of the route, as in `RouteMatch`.
            index: The index of the capture.

        Returns:
            The name.
        """
        return StringSlice(
            unsafe_from_utf8=_lent[origin_of(self)](
                self._state[].routes[route].names[index].as_bytes()
            )
        )

    def write_allow(self, allowed: UInt64, mut writer: Some[Writer]):
        """Writes the value of an Allow field (RFC 9110 section 10.2.1).

        Args:
            allowed: The methods, as in `RouteMatch`.
            writer: The destination.
        """
        var is_first = True
        for id in range(1, METHODS_MAX):
            if (allowed >> UInt64(id)) & 1 == 0:
                continue
            if not is_first:
                writer.write(", ")
            is_first = False
            writer.write(self._method_name(id))

    def _find_asterisk(self, method: Method) -> RouteMatch:
        if method != Method.OPTIONS:
            return _without_route(MatchKind.BAD_PATH)
        var route = self._state[].asterisk_route
        if route == NO_ROUTE:
            return RouteMatch(
                MatchKind.OPTIONS,
                -1,
                -1,
                self._state[].methods | _bit(Method.OPTIONS),
            )
        return RouteMatch(
            MatchKind.FOUND, self._state[].routes[route].endpoint, route, 0
        )

    @always_inline
    def _route_of(self, node: Int, id: Int) -> Int:
        var first = Int(self._state[].tree.nodes.unsafe_get(node).first_route)
        var route = self._route_at(first, id)
        if route == NO_ROUTE:
            # The node has the bit of HEAD, so it has a route of GET.
            route = self._route_at(first, Int(Method.GET.id))
        return route

    @always_inline
    def _route_at(self, first: Int, id: Int) -> Int:
        var route = first
        while route != NO_ROUTE:
            ref candidate = self._state[].routes.unsafe_get(route)
            if Int(candidate.method) == id:
                return route
            route = Int(candidate.next)
        return NO_ROUTE

    def _extension_id(self, name: Span[UInt8, _]) -> Int:
        ref extensions = self._state[].extensions
        for i in range(len(extensions)):
            if extensions[i].as_bytes() == name:
                return Method.COUNT + i
        return -1

    def _add_method(
        mut self, name: StringSlice, pattern: StringSlice
    ) raises -> Int:
        var known = Method.from_octets(name.as_bytes())
        if known != Method.OTHER:
            return Int(known.id)
        if not is_token(name.as_bytes()):
            raise bad_route("the method is not a token", pattern)
        var id = self._extension_id(name.as_bytes())
        if id >= 0:
            return id
        id = Method.COUNT + len(self._state[].extensions)
        if id >= METHODS_MAX:
            raise bad_route("there are too many methods", pattern)
        self._state[].extensions.append(String(name))
        return id

    def _method_name(self, id: Int) -> String:
        if id < Method.COUNT:
            return String(Method(UInt8(id)).name())
        return self._state[].extensions[id - Method.COUNT]


@always_inline
def _bit(method: Method) -> UInt64:
    return UInt64(1) << UInt64(method.id)


@always_inline
def _without_route(kind: MatchKind) -> RouteMatch:
    return RouteMatch(kind, -1, -1, 0)


@always_inline
def _lent[o: ImmOrigin](octets: Span[UInt8, _]) -> Span[UInt8, o]:
    # The texts live as long as the table, which the compiler cannot follow
    # through the pointer to its state.
    return Span[UInt8, o](
        unsafe_ptr=octets.unsafe_ptr()
        .unsafe_mut_cast[False]()
        .unsafe_origin_cast[o](),
        length=len(octets),
    )
