"""Holds what a route's parameters matched."""

from flare.core import Buffer, OctetPointer, equals

from .routing import Captures
from .routing.path import decode_escape

comptime PATH_PARAMETERS_MAX = 16
"""How many parameters a route may have."""


@fieldwise_init
struct _PathParameter(TrivialRegisterPassable):
    var name: OctetPointer
    var name_octets: Int
    var value: OctetPointer
    var value_octets: Int


struct PathParameters(Movable):
    """Remembers names and decoded values; reused, so it does not allocate."""

    var captures: Captures
    """What the route table found; a router reads it and appends."""
    var _entries: List[_PathParameter]
    var _decoded: Buffer

    def __init__(out self):
        """Holds nothing."""
        self.captures = Captures()
        self._entries = List[_PathParameter](capacity=PATH_PARAMETERS_MAX)
        self._decoded = Buffer()

    @always_inline
    def clear(mut self):
        """Forgets everything; the memory stays."""
        self._entries.clear()
        self._decoded.clear()

    @always_inline
    def append(mut self, name: Span[UInt8, _], value: Span[UInt8, _]):
        """Adds a parameter whose value needs no decoding.

        Args:
            name: The name, in a table that outlives the request.
            value: The value, in the request's head.
        """
        self._entries.append(
            _PathParameter(
                _address(name), len(name), _address(value), len(value)
            )
        )

    @always_inline
    def append_decoded(
        mut self,
        name: Span[UInt8, _],
        value: Span[UInt8, _],
        path_octets: Int,
    ):
        """Adds a parameter whose value has escapes.

        Args:
            name: The name, in a table that outlives the request.
            value: The value as received; its escapes are well-formed.
            path_octets: The length of the whole path: room for all values is
                made at once, so that later ones do not move earlier ones.
        """
        if len(self._decoded) == 0:
            _ = self._decoded.reserve(path_octets)
        var target = self._decoded.reserve(len(value))
        var octets = 0
        var i = 0
        while i < len(value):
            var octet = Int(value[i])
            if octet == ord("%"):
                octet = max(decode_escape(value, i), 0)
                i += 2
            target[unsafe_offset=octets] = UInt8(octet)
            octets += 1
            i += 1
        self._decoded.advance(octets)
        self._entries.append(
            _PathParameter(_address(name), len(name), target, octets)
        )

    def swap_decoded(mut self, mut octets: Buffer):
        """Exchanges the memory that holds values which had escapes.

        Args:
            octets: Other memory.
        """
        swap(self._decoded, octets)

    def __len__(self) -> Int:
        """Counts the parameters.

        Returns:
            The count.
        """
        return len(self._entries)

    @always_inline
    def value_at(self, index: Int) -> Optional[Span[UInt8, origin_of(self)]]:
        """Returns a parameter by its place in the pattern.

        Args:
            index: From 0.

        Returns:
            Its decoded value, or none if the route has fewer parameters.
        """
        if index < 0 or index >= len(self._entries):
            return None
        return self._value(self._entries[index])

    def name_at(self, index: Int) -> StringSlice[origin_of(self)]:
        """Returns the name of a parameter by its place in the pattern.

        Args:
            index: From 0; below the count.

        Returns:
            Its name: an identifier, or `*`.
        """
        var entry = self._entries[index]
        return StringSlice[origin_of(self)](
            unsafe_from_utf8=Span[UInt8, origin_of(self)](
                unsafe_ptr=entry.name.unsafe_mut_cast[
                    False
                ]().unsafe_origin_cast[origin_of(self)](),
                length=entry.name_octets,
            )
        )

    def find(
        self, name: Span[UInt8, _]
    ) -> Optional[Span[UInt8, origin_of(self)]]:
        """Looks a parameter up.

        Args:
            name: Its name.

        Returns:
            Its decoded value, or none.
        """
        for entry in self._entries:
            if equals(
                Span(unsafe_ptr=entry.name, length=entry.name_octets), name
            ):
                return self._value(entry)
        return None

    @always_inline
    def _value(self, entry: _PathParameter) -> Span[UInt8, origin_of(self)]:
        return Span[UInt8, origin_of(self)](
            unsafe_ptr=entry.value.unsafe_mut_cast[False]().unsafe_origin_cast[
                origin_of(self)
            ](),
            length=entry.value_octets,
        )


@always_inline
def _address(octets: Span[UInt8, _]) -> OctetPointer:
    return (
        octets.unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )
