"""Parses the parameters of a query such as `name=value&flag`.

The syntax is that of HTML forms (URL Standard, section 5.1): `&` separates
parameters, the first `=` name and value; `+` is a blank.
"""

from flare.core import find_octet

from .percent import equals_decoded, percent_decoded

comptime _AMPERSAND: UInt8 = 38
comptime _EQUALS_SIGN: UInt8 = 61


@fieldwise_init
struct QueryParameter[origin: ImmOrigin](ImplicitlyCopyable):
    """A view of one parameter as received.

    Parameters:
        origin: The origin of the octets.
    """

    var raw_name: StringSlice[Self.origin]
    """The name, with its escapes."""
    var raw_value: StringSlice[Self.origin]
    """The value, with its escapes; empty if there is no `=`."""

    def has_name(self, name: StringSlice) -> Bool:
        """Returns whether the decoded name equals a text, without copying it.

        Args:
            name: The text; case-sensitive.

        Returns:
            True if both are equal, octet by octet.
        """
        return equals_decoded[plus_is_blank=True](
            self.raw_name.as_bytes(), name.as_bytes()
        )

    def name(self) -> String:
        """Returns the name, decoded.

        Returns:
            The name; octets that are not UTF-8 become U+FFFD.
        """
        return percent_decoded[plus_is_blank=True](self.raw_name)

    def value(self) -> String:
        """Returns the value, decoded.

        Returns:
            The value; octets that are not UTF-8 become U+FFFD.
        """
        # Most values need neither decoding nor memory.
        if _is_plain(self.raw_value.as_bytes()):
            return String(self.raw_value)
        return percent_decoded[plus_is_blank=True](self.raw_value)


struct QueryParameters[origin: ImmOrigin](
    ImplicitlyCopyable, Iterable, Iterator
):
    """Iterates over the parameters of a query, and finds them by name.

    Only decoding copies octets. Empty parameters (`a&&b`) are skipped.

    Parameters:
        origin: The origin of the octets.
    """

    comptime Element = QueryParameter[Self.origin]
    """The type of each element."""
    comptime IteratorType[
        mut: Bool, //, view_origin: Origin[mut=mut]
    ]: Iterator = Self
    """The view itself.

    Parameters:
        mut: Whether the view may be changed.
        view_origin: The origin of the view.
    """

    var _rest: Span[UInt8, Self.origin]

    def __init__(out self, query: StringSlice[Self.origin]):
        """Creates an iterator over the parameters of a query.

        Args:
            query: The query without the `?`, or the content of a form.
        """
        self._rest = query.as_bytes()

    def __init__(out self, query: Span[UInt8, Self.origin]):
        """Creates an iterator over the parameters of a query.

        Args:
            query: The octets of the query without the `?`.
        """
        self._rest = query

    def __iter__(ref self) -> Self:
        """Returns the view for a `for` loop.

        Returns:
            A copy at the same position.
        """
        return self

    def __next__(
        mut self,
    ) raises StopIteration -> QueryParameter[Self.origin]:
        """Returns the next parameter.

        Returns:
            Views of its name and value.

        Raises:
            StopIteration: After the last parameter.
        """
        while len(self._rest) != 0:
            var end = find_octet(self._rest, _AMPERSAND)
            var piece = self._rest[:end]
            self._rest = self._rest[min(end + 1, len(self._rest)) :]
            if len(piece) != 0:
                var name_octets = find_octet(piece, _EQUALS_SIGN)
                return QueryParameter(
                    StringSlice(unsafe_from_utf8=piece[:name_octets]),
                    StringSlice(
                        unsafe_from_utf8=piece[
                            min(name_octets + 1, len(piece)) :
                        ]
                    ),
                )
        raise StopIteration()

    def get(self, name: StringSlice) -> Optional[String]:
        """Returns the decoded value of the first parameter of a name.

        Args:
            name: The name, decoded.

        Returns:
            The value, or `None`.
        """
        for parameter in self:
            if parameter.has_name(name):
                return parameter.value()
        return None

    def values(self, name: StringSlice) -> List[String]:
        """Returns the decoded values of all parameters of a name.

        Args:
            name: The name, decoded.

        Returns:
            The values in order.
        """
        var found = List[String]()
        for parameter in self:
            if parameter.has_name(name):
                found.append(parameter.value())
        return found^

    def __contains__(self, name: StringSlice) -> Bool:
        """Returns whether there is a parameter of a name.

        Args:
            name: The name, decoded.

        Returns:
            True if there is one, even with an empty value.
        """
        for parameter in self:
            if parameter.has_name(name):
                return True
        return False


def _is_plain(octets: Span[UInt8, _]) -> Bool:
    for octet in octets:
        if octet >= 128 or octet == UInt8(ord("%")) or octet == UInt8(ord("+")):
            return False
    return True
