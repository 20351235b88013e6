"""Reads Sec-WebSocket-Extensions in one pass (RFC 6455 section 9.1)."""

from flare.core import TOKEN_OCTETS, find_member, find_octet, is_token
from flare.message.list_grammar import COMMA, is_blank

from .handshake_error import WsHandshakeError

comptime OFFERS_MAX = 16
"""The most extensions, and the most protocols, of one request."""
comptime _SEMICOLON: UInt8 = 59
comptime _EQUALS_SIGN: UInt8 = 61
comptime _QUOTE: UInt8 = 34


@fieldwise_init
struct ExtensionParameter[origin: ImmOrigin](ImplicitlyCopyable):
    """A view of one parameter of an extension.

    Parameters:
        origin: The origin of the octets.
    """

    var name: Span[UInt8, Self.origin]
    """The name, a token."""
    var value: Optional[Span[UInt8, Self.origin]]
    """The value, a token without its quotation marks, if there is one."""


struct ExtensionReader[origin: ImmOrigin](ImplicitlyCopyable):
    """Reads the extensions of one field value, each with its parameters.

    Parameters:
        origin: The origin of the octets.
    """

    var _octets: Span[UInt8, Self.origin]
    var _at: Int

    def __init__(out self, octets: Span[UInt8, Self.origin]):
        """Creates a reader of a field value.

        Args:
            octets: The value.
        """
        self._octets = octets
        self._at = 0

    def next_name(
        mut self,
    ) raises WsHandshakeError -> Optional[Span[UInt8, Self.origin]]:
        """Returns the name of the next extension. The caller then reads all
        its parameters.

        Returns:
            The name, a token; `None` after the last one.

        Raises:
            WsHandshakeError: If the list is malformed.
        """
        while self._at < len(self._octets) and (
            is_blank(self._octets[self._at]) or self._octets[self._at] == COMMA
        ):
            self._at += 1
        if self._at == len(self._octets):
            return None
        return self._take_token()

    def next_parameter(
        mut self,
    ) raises WsHandshakeError -> Optional[ExtensionParameter[Self.origin]]:
        """Returns the next parameter of the extension.

        Returns:
            The parameter; `None` after the last one.

        Raises:
            WsHandshakeError: If the list is malformed.
        """
        self._skip_blanks()
        if self._is_at_end() or self._octets[self._at] == COMMA:
            return None
        if self._octets[self._at] != _SEMICOLON:
            raise _malformed()
        self._at += 1
        self._skip_blanks()
        var name = self._take_token()
        if self._is_at_end() or self._octets[self._at] != _EQUALS_SIGN:
            return ExtensionParameter(
                name, Optional[Span[UInt8, Self.origin]](None)
            )
        self._at += 1
        if self._is_at_end() or self._octets[self._at] != _QUOTE:
            return ExtensionParameter(name, Optional(self._take_token()))
        # The text between the quotation marks is a token, so that it has no
        # escape and no comma.
        var start = self._at + 1
        var end = find_octet(self._octets, _QUOTE, start)
        if end == len(self._octets) or not is_token(self._octets[start:end]):
            raise _malformed()
        self._at = end + 1
        return ExtensionParameter(name, Optional(self._octets[start:end]))

    def _take_token(
        mut self,
    ) raises WsHandshakeError -> Span[UInt8, Self.origin]:
        var end = find_member[TOKEN_OCTETS, False](self._octets, self._at)
        if end == self._at:
            raise _malformed()
        var token = self._octets[self._at : end]
        self._at = end
        return token

    def _skip_blanks(mut self):
        while not self._is_at_end() and is_blank(self._octets[self._at]):
            self._at += 1

    @always_inline
    def _is_at_end(self) -> Bool:
        return self._at == len(self._octets)


def _malformed() -> WsHandshakeError:
    return WsHandshakeError.malformed("a malformed list of extensions")
