"""Stores the values of a route's parameters."""

from flare.core import Buffer, OctetPointer, equals

from .routing import Captures
from .routing.path import decode_escape

comptime PATH_PARAMETERS_MAX = 16
"""The most parameters of a route."""


@fieldwise_init
struct _PathParameter(TrivialRegisterPassable):
    var name: OctetPointer
    var name_octets: Int
    var value: OctetPointer
    var value_octets: Int


struct PathParameters(Movable):
    """The names and decoded values of a route's parameters. The memory is
    reused.
    """

    var captures: Captures
    """The result of the route table; a router reads it and appends."""
    var _entries: List[_PathParameter]
    var _decoded: Buffer

    def __init__(out self):
        """Creates an empty list."""
        self.captures = Captures()
        self._entries = List[_PathParameter](capacity=PATH_PARAMETERS_MAX)
        self._decoded = Buffer()

    @always_inline
    def clear(mut self):
        """Drops all parameters and keeps the memory."""
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
            path_octets: The length of the whole path. Memory for all values is
                reserved at once, so that later values do not move earlier
                ones.
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
        """Swaps the memory of decoded values for another buffer.

        Args:
            octets: The other buffer.
        """
        swap(self._decoded, octets)

    def __len__(self) -> Int:
        """Returns the number of parameters.

        Returns:
            The number.
        """
        return len(self._entries)

    @always_inline
    def value_at(self, index: Int) -> Optional[Span[UInt8, origin_of(self)]]:
        """Returns the value of a parameter, by its place in the pattern.

        Args:
            index: The place, from 0.

        Returns:
            The decoded value; `None` if the route has fewer parameters.
        """
        if index < 0 or index >= len(self._entries):
            return None
        return self._value(self._entries[index])

    def name_at(self, index: Int) -> StringSlice[origin_of(self)]:
        """Returns the name of a parameter by its place in the pattern.

        Args:
            index: The place, from 0; less than the number of parameters.

        Returns:
            The name: an identifier, or `*`.
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
        """Returns the value of a parameter, by its name.

        Args:
            name: The name.

        Returns:
            The decoded value, or `None`.
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
