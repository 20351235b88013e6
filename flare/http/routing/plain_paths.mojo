"""Finds the routes whose pattern is the path itself, in one step.

Such a pattern has no parameters. A path that equals it octet by octet has only
literal segments on its way through the tree, each of which goes before every
other choice, so that the search would end there as well; and it is a good
path, as no pattern holds a dot segment, a NUL or a malformed escape. Any other
way to write the same path, and any other method, is left to the search.
"""

from flare.core import equals
from flare.message import Method

from .octet_hash import hash_octets
from .pattern import PATTERN_OCTETS_MAX

comptime NO_ENDPOINT = -1
"""Says that the path has to be searched for."""

# No path is as long; the empty path with an unknown method has the key 0.
comptime _FREE = UInt32.MAX


@fieldwise_init
struct PlainRoute(TrivialRegisterPassable):
    """Names a route whose pattern is the path."""

    var route: Int
    """The number of the route."""
    var endpoint: Int
    """Its endpoint, or `NO_ENDPOINT`; the rest means nothing then."""
    var pattern: StaticString
    """Its pattern; it lives as long as the table."""


@fieldwise_init
struct _Place(TrivialRegisterPassable):
    # The length of the path and the method, or _FREE.
    var key: UInt32
    var start: UInt32
    var endpoint: UInt32
    var route: UInt32


struct PlainPaths(Copyable, Movable):
    """Holds a hash table of paths, each with one method."""

    var _places: List[_Place]
    # The upper bits of a hash choose the place: 64 less their number.
    var _shift: UInt64
    var _count: Int
    var _texts: List[UInt8]

    def __init__(out self):
        """Makes an empty table."""
        self._places = _free_places(16)
        self._shift = 60
        self._count = 0
        self._texts = List[UInt8](capacity=256)

    def add(
        mut self,
        method: Method,
        path: Span[UInt8, _],
        route: Int,
        endpoint: Int,
    ):
        """Adds a path that it does not have with this method.

        Args:
            method: The method; not `Method.OTHER`.
            path: The path, which is the pattern.
            route: The number of the route.
            endpoint: Its endpoint; not negative.
        """
        # A table at most half full ends every probe soon.
        if 2 * (self._count + 1) > len(self._places):
            self._grow()
        self._insert(
            _Place(
                _key(method, path),
                UInt32(len(self._texts)),
                UInt32(endpoint),
                UInt32(route),
            ),
            path,
        )
        self._texts.extend(path)
        self._count += 1

    @always_inline
    def find(self, method: Method, path: Span[UInt8, _]) -> PlainRoute:
        """Looks for a path.

        Args:
            method: The method.
            path: The path as received.

        Returns:
            The route, if there is one.
        """
        if len(path) > PATTERN_OCTETS_MAX:
            return PlainRoute(0, NO_ENDPOINT, "")
        var key = _key(method, path)
        var places = self._places.unsafe_ptr()
        var at = self._first_place(key, path)
        while True:
            ref place = places[unsafe_offset=at]
            if place.key == key:
                var text = self._text(Int(place.start), len(path))
                if equals(text, path):
                    return PlainRoute(
                        Int(place.route),
                        Int(place.endpoint),
                        StaticString(unsafe_from_utf8=text),
                    )
            elif place.key == _FREE:
                return PlainRoute(0, NO_ENDPOINT, "")
            at = (at + 1) & (len(self._places) - 1)

    @always_inline
    def _first_place(self, key: UInt32, path: Span[UInt8, _]) -> Int:
        return Int(hash_octets(UInt64(key), path) >> self._shift)

    @always_inline
    def _text(self, start: Int, octets: Int) -> Span[UInt8, ImmStaticOrigin]:
        # The table lives as long as the router, and so longer than a request.
        return Span[UInt8, ImmStaticOrigin](
            unsafe_ptr=self._texts.unsafe_ptr()
            .unsafe_offset(start)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmStaticOrigin](),
            length=octets,
        )

    def _insert(mut self, place: _Place, path: Span[UInt8, _]):
        var at = self._first_place(place.key, path)
        while self._places[at].key != _FREE:
            at = (at + 1) & (len(self._places) - 1)
        self._places[at] = place

    def _grow(mut self):
        var old = self._places^
        self._places = _free_places(2 * len(old))
        self._shift -= 1
        for place in old:
            if place.key != _FREE:
                self._insert(
                    place, self._text(Int(place.start), Int(place.key >> 8))
                )


def _free_places(count: Int) -> List[_Place]:
    return List[_Place](length=count, fill=_Place(_FREE, 0, 0, 0))


@always_inline
def _key(method: Method, path: Span[UInt8, _]) -> UInt32:
    return UInt32(len(path)) << 8 | UInt32(method.id)
