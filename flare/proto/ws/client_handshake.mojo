"""Describes the request of an opening handshake, and checks its response.

The rules are those of RFC 6455 section 4.1. Responses with another status than
101 are ordinary responses: a redirect, a demand for credentials, a refusal.
"""

from flare.core import equals, equals_lower
from flare.message import FieldSection, HeaderMap

from ..head import Head
from .deflate_parameters import DeflateParameters, read_deflate_response
from .handshake_error import WsHandshakeError, only_value
from .handshake_key import accept_value


struct WsClientOffer(Movable):
    """The handshake that a client asks for."""

    var key: String
    """The value of Sec-WebSocket-Key, of `client_key`."""
    var protocols: List[String]
    """The subprotocols, the preferred one first; each a token."""
    var deflate: List[DeflateParameters]
    """The offers of compression, the preferred one first."""

    def __init__(
        out self,
        var key: String,
        *,
        var protocols: List[String] = [],
        var deflate: List[DeflateParameters] = [],
    ):
        """Creates an offer.

        Args:
            key: A new key, of `client_key`.
            protocols: The subprotocols, the preferred one first.
            deflate: The offers of compression, the preferred one first. A
                server answers at most one of them.
        """
        self.key = key^
        self.protocols = protocols^
        self.deflate = deflate^

    def add_fields(self, mut fields: HeaderMap) raises:
        """Adds the fields of the request.

        Args:
            fields: The fields of the request.

        Raises:
            An error `message.bad_header_value` if a subprotocol contains an
            octet that no field may have, or `message.headers_too_large`.
        """
        fields.append_constant["Upgrade", "websocket"]()
        fields.append_constant["Connection", "upgrade"]()
        fields.append_constant["Sec-WebSocket-Version", "13"]()
        fields.append("Sec-WebSocket-Key", self.key)
        if len(self.protocols) > 0:
            fields.append(
                "Sec-WebSocket-Protocol",
                StaticString(", ").join(self.protocols),
            )
        if len(self.deflate) > 0:
            var offers = String(self.deflate[0])
            for i in range(1, len(self.deflate)):
                offers.write(", ", self.deflate[i])
            fields.append("Sec-WebSocket-Extensions", offers)

    def check_response[
        origin: ImmOrigin
    ](
        self, head: Head, octets: Span[UInt8, origin]
    ) raises WsHandshakeError -> WsClientAgreement:
        """Checks the response of the server.

        Parameters:
            origin: The origin of the octets.

        Args:
            head: The head of the response.
            octets: The window in which the head was reported.

        Returns:
            The agreement.

        Raises:
            WsHandshakeError: If the server does not accept the handshake, or
                accepts parts that were not offered.
        """
        if head.status != 101:
            raise WsHandshakeError.failed("the status is not 101")
        var fields = head.fields(octets)
        # Over HTTP/2, the status says it all (RFC 8441 section 5).
        if head.version.major == 1:
            self._check_upgrade(head, fields)
        var protocol = self._agreed_protocol(fields)
        try:
            return WsClientAgreement(
                protocol^, read_deflate_response(fields, self.deflate)
            )
        except e:
            raise WsHandshakeError.failed(e.reason)

    def _check_upgrade(
        self, head: Head, fields: FieldSection
    ) raises WsHandshakeError:
        var upgrade = only_value(fields, "Upgrade")
        if not head.wants_upgrade or not equals_lower(
            upgrade, "websocket".as_bytes()
        ):
            raise WsHandshakeError.failed("no upgrade to websocket")
        var expected = accept_value(self.key.as_bytes())
        var accept = only_value(fields, "Sec-WebSocket-Accept")
        if not equals(accept, expected.as_bytes()):
            raise WsHandshakeError.failed("the accept value is wrong")

    def _agreed_protocol(
        self, fields: FieldSection
    ) raises WsHandshakeError -> String:
        if "Sec-WebSocket-Protocol" not in fields:
            return String()
        var value = only_value(fields, "Sec-WebSocket-Protocol")
        for offered in self.protocols:
            if equals(value, offered.as_bytes()):
                return offered
        raise WsHandshakeError.failed("a subprotocol without an offer")


struct WsClientAgreement(Movable):
    """The choices of a server that has accepted a handshake."""

    var protocol: String
    """The subprotocol; empty if there is none."""
    var deflate: Optional[DeflateParameters]
    """The agreed compression, if any."""

    def __init__(
        out self,
        var protocol: String,
        deflate: Optional[DeflateParameters],
    ):
        """Creates an agreement.

        Args:
            protocol: The subprotocol, or an empty text.
            deflate: The compression, if any.
        """
        self.protocol = protocol^
        self.deflate = deflate
