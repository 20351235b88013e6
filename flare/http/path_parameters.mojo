"""Holds what a route's parameters matched."""

from flare.core import Buffer, OctetPointer, equals

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

    var _entries: List[_PathParameter]
    var _decoded: Buffer

    def __init__(out self):
        """Holds nothing."""
        self._entries = List[_PathParameter](capacity=PATH_PARAMETERS_MAX)
        self._decoded = Buffer()

    @always_inline
    def clear(mut self):
        """Forgets everything; the memory stays."""
        self._entries.clear()
        self._decoded.clear()

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

    def room(mut self, octets: Int) -> OctetPointer:
        """Makes room for a decoded value; `append` names it afterwards.

        Args:
            octets: The length of the whole path, so that later values do not
                move earlier ones.

        Returns:
            Where to write; followed by `keep`.
        """
        return self._decoded.reserve(octets)

    def keep(mut self, octets: Int):
        """Keeps what was written to `room`.

        Args:
            octets: How many octets.
        """
        self._decoded.advance(octets)

    def __len__(self) -> Int:
        """Counts the parameters.

        Returns:
            The count.
        """
        return len(self._entries)

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
                return Span[UInt8, origin_of(self)](
                    unsafe_ptr=entry.value.unsafe_mut_cast[
                        False
                    ]().unsafe_origin_cast[origin_of(self)](),
                    length=entry.value_octets,
                )
        return None


@always_inline
def _address(octets: Span[UInt8, _]) -> OctetPointer:
    return (
        octets.unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )
