"""Parses the parameters of a field value: `text/html; charset="utf-8"`.

The grammar is that of RFC 9110 section 5.6.6, with blanks around the
semicolon. Content-Type and Content-Disposition have this form.
"""

from flare.core import (
    SPACE,
    TAB,
    TOKEN_OCTETS,
    equals_lower,
    find_member,
)

from .syntax_error import SyntaxError

comptime _SEMICOLON: UInt8 = 59
comptime _EQUALS_SIGN: UInt8 = 61
comptime _QUOTE: UInt8 = 34
comptime _BACKSLASH: UInt8 = 92


@fieldwise_init
struct FieldParameter[origin: ImmOrigin](ImplicitlyCopyable):
    """A view of one parameter as received.

    Parameters:
        origin: The origin of the octets.
    """

    var name: Span[UInt8, Self.origin]
    """The name, a token in any case."""
    var raw_value: Span[UInt8, Self.origin]
    """The value; if quoted, the part between the quotation marks."""
    var is_quoted: Bool
    """Whether the value is quoted."""

    def value(self) -> List[UInt8]:
        """Returns the value without its escapes.

        A backslash escapes a quotation mark or another backslash. Other
        backslashes stay, because some clients send the path of a file.

        Returns:
            The octets.
        """
        var value = List[UInt8](capacity=len(self.raw_value))
        var i = 0
        while i < len(self.raw_value):
            var b = self.raw_value[i]
            if (
                self.is_quoted
                and b == _BACKSLASH
                and i + 1 < len(self.raw_value)
                and (
                    self.raw_value[i + 1] == _QUOTE
                    or self.raw_value[i + 1] == _BACKSLASH
                )
            ):
                i += 1
                b = self.raw_value[i]
            value.append(b)
            i += 1
        return value^


struct FieldParameters[origin: ImmOrigin](ImplicitlyCopyable):
    """Iterates over the parameters after the first part of a field value.

    Parameters:
        origin: The origin of the octets.
    """

    var _octets: Span[UInt8, Self.origin]
    var _next: Int
    var _first_octets: Int

    def __init__(out self, octets: Span[UInt8, Self.origin]):
        """Creates an iterator over the parameters of a field value.

        Args:
            octets: The value, without blanks around it.
        """
        self._octets = octets
        var end = 0
        while end < len(octets) and octets[end] != _SEMICOLON:
            end += 1
        self._next = end
        while end > 0 and _is_blank(octets[end - 1]):
            end -= 1
        self._first_octets = end

    def first(self) -> Span[UInt8, Self.origin]:
        """Returns the part before the parameters.

        Returns:
            The first part, without blanks after it, such as a media type.
        """
        return self._octets[: self._first_octets]

    def next(
        mut self,
    ) raises SyntaxError -> Optional[FieldParameter[Self.origin]]:
        """Returns the next parameter.

        Returns:
            Views of its name and value; `None` after the last one. An empty
            parameter (`a;;b=c`) is skipped.

        Raises:
            SyntaxError: If a parameter is malformed.
        """
        var i = self._next
        var is_divided = False
        while True:
            i = self._skip_blanks(i)
            if i == len(self._octets):
                self._next = i
                return None
            if self._octets[i] != _SEMICOLON:
                break
            is_divided = True
            i += 1
        var end = find_member[TOKEN_OCTETS, False](self._octets, i)
        var name = self._octets[i:end]
        if (
            not is_divided
            or len(name) == 0
            or end == len(self._octets)
            or self._octets[end] != _EQUALS_SIGN
        ):
            raise SyntaxError("parameter", i, "no name and equals sign")
        var start = end + 1
        if start < len(self._octets) and self._octets[start] == _QUOTE:
            end = self._quoted_end(start + 1)
            self._next = end + 1
            return FieldParameter(name, self._octets[start + 1 : end], True)
        end = find_member[TOKEN_OCTETS, False](self._octets, start)
        if end == start:
            raise SyntaxError("parameter", start, "no value")
        self._next = end
        return FieldParameter(name, self._octets[start:end], False)

    def find(
        self, name: StaticString
    ) raises SyntaxError -> Optional[FieldParameter[Self.origin]]:
        """Returns a parameter, by its name.

        Args:
            name: The name in lower case.

        Returns:
            The parameter, or `None`.

        Raises:
            SyntaxError: If there are two of that name, or one is malformed.
        """
        var found = Optional[FieldParameter[Self.origin]](None)
        var rest = self
        while True:
            var parameter = rest.next()
            if not parameter:
                return found
            if equals_lower(parameter.value().name, name.as_bytes()):
                if found:
                    raise SyntaxError("parameter", 0, "it stands twice")
                found = parameter

    def _skip_blanks(self, start: Int) -> Int:
        var i = start
        while i < len(self._octets) and _is_blank(self._octets[i]):
            i += 1
        return i

    def _quoted_end(self, start: Int) raises SyntaxError -> Int:
        var i = start
        while i < len(self._octets):
            if self._octets[i] == _QUOTE:
                return i
            var is_escape = (
                self._octets[i] == _BACKSLASH
                and i + 1 < len(self._octets)
                and (
                    self._octets[i + 1] == _QUOTE
                    or self._octets[i + 1] == _BACKSLASH
                )
            )
            i += 2 if is_escape else 1
        raise SyntaxError("parameter", start, "a quotation mark is missing")


@always_inline
def _is_blank(b: UInt8) -> Bool:
    return b == SPACE or b == TAB
