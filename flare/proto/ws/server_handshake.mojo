"""Checks the request of an opening handshake, and describes its response.

The rules are those of RFC 6455 section 4.2, and over HTTP/2 of RFC 8441 section
5, which needs no key. The HTTP machine has checked the request as a request;
its owner sends the 101 or the refusal.
"""

from flare.core import equals, find_octet, is_token
from flare.message import FieldSection, HeaderMap, Method
from flare.message.list_grammar import COMMA, lists_member, trim_blanks

from ..head import BodyKind, Head
from .deflate_parameters import (
    DeflateParameters,
    DeflatePolicy,
    choose_deflate,
)
from .extension_list import OFFERS_MAX
from .handshake_error import WRONG_VERSION, WsHandshakeError, only_value
from .handshake_key import accept_value, is_key
from .origins import WsOrigins


struct WsServerPolicy(Copyable, Movable):
    """The handshakes that a server accepts."""

    var origins: WsOrigins
    """The pages that may connect."""
    var protocols: List[String]
    """The subprotocols that the server speaks, the preferred one first; each a
    token.
    """
    var deflate: Optional[DeflatePolicy]
    """How messages may be compressed; `None` if not at all."""

    def __init__(
        out self,
        *,
        var origins: WsOrigins = WsOrigins(),
        var protocols: List[String] = [],
        deflate: Optional[DeflatePolicy] = None,
    ):
        """Creates a policy.

        Args:
            origins: The pages that may connect; by default those of the host
                of the request.
            protocols: The subprotocols, the preferred one first.
            deflate: How messages may be compressed; by default not at all.
        """
        self.origins = origins^
        self.protocols = protocols^
        self.deflate = deflate


struct WsServerAnswer(Movable):
    """The response with which a server accepts a handshake."""

    var accept: String
    """The value of Sec-WebSocket-Accept; empty over HTTP/2."""
    var protocol: String
    """The chosen subprotocol; empty if there is none."""
    var deflate: Optional[DeflateParameters]
    """The agreed compression, if any."""

    def __init__(
        out self,
        var accept: String,
        var protocol: String,
        deflate: Optional[DeflateParameters],
    ):
        """Creates an answer.

        Args:
            accept: The value of Sec-WebSocket-Accept; empty over HTTP/2.
            protocol: The subprotocol, or an empty text.
            deflate: The compression, if any.
        """
        self.accept = accept^
        self.protocol = protocol^
        self.deflate = deflate

    def add_fields(self, mut fields: HeaderMap) raises:
        """Adds the fields of the 101.

        Args:
            fields: The fields of the response.

        Raises:
            An error `message.bad_header_value` if a subprotocol of the program
            is no token, or `message.headers_too_large`.
        """
        fields.append_constant["Upgrade", "websocket"]()
        fields.append_constant["Connection", "upgrade"]()
        if self.accept.byte_length() > 0:
            fields.append("Sec-WebSocket-Accept", self.accept)
        if self.protocol.byte_length() > 0:
            fields.append("Sec-WebSocket-Protocol", self.protocol)
        if self.deflate:
            fields.append(
                "Sec-WebSocket-Extensions", _text_of(self.deflate.value())
            )


@no_inline
def _text_of(deflate: DeflateParameters) -> String:
    # The buffer of the text would make the frame of each handshake longer, and
    # the page that it touches stays with the fiber.
    return String(deflate)


def answer_handshake[
    origin: ImmOrigin
](
    head: Head, octets: Span[UInt8, origin], policy: WsServerPolicy
) raises WsHandshakeError -> WsServerAnswer:
    """Checks a request and returns its answer.

    Parameters:
        origin: The origin of the octets.

    Args:
        head: The head of the request.
        octets: The window in which the head was reported.
        policy: The handshakes that the server accepts.

    Returns:
        The answer.

    Raises:
        WsHandshakeError: If the server must refuse, with the status.
    """
    return answer_handshake(head, octets, policy, policy.deflate)


def answer_handshake[
    origin: ImmOrigin
](
    head: Head,
    octets: Span[UInt8, origin],
    policy: WsServerPolicy,
    deflate_policy: Optional[DeflatePolicy],
) raises WsHandshakeError -> WsServerAnswer:
    """Checks a request and returns its answer, with a compression that depends
    on the time.

    Parameters:
        origin: The origin of the octets.

    Args:
        head: The head of the request.
        octets: The window in which the head was reported.
        policy: The handshakes that the server accepts.
        deflate_policy: How messages may be compressed, instead of the choice of
            the policy.

    Returns:
        The answer.

    Raises:
        WsHandshakeError: If the server must refuse, with the status.
    """
    var fields = head.fields(octets)
    _check_request(head, fields)
    if not policy.origins.accept(fields, head.authority(octets)):
        raise WsHandshakeError(403, "the origin is not accepted")
    var accept = String()
    if head.version.major == 1:
        var key = only_value(fields, "Sec-WebSocket-Key")
        if not is_key(key):
            raise WsHandshakeError.malformed("no key, or a malformed one")
        accept = accept_value(key)
    var protocol = _choose_protocol(fields, policy.protocols)
    var deflate = choose_deflate(fields, deflate_policy)
    return WsServerAnswer(accept^, protocol^, deflate)


def _check_request(head: Head, fields: FieldSection) raises WsHandshakeError:
    # The machine of HTTP/1.1 sets `wants_upgrade` if Connection lists
    # `upgrade`; that of HTTP/2, for an extended CONNECT.
    var is_stream = head.version.major == 2
    if not head.wants_upgrade:
        raise WsHandshakeError(
            400 if is_stream else 426, "no offer of websocket"
        )
    if not _offers_websocket(fields):
        raise WsHandshakeError(
            501 if is_stream else 426, "no offer of websocket"
        )
    if head.method != Method.GET:
        raise WsHandshakeError.malformed("the method is not GET")
    if head.body != BodyKind.NONE:
        # The first octets of the new protocol would be uncertain.
        raise WsHandshakeError.malformed("a handshake with content")
    var version = only_value(fields, "Sec-WebSocket-Version")
    if not equals(version, "13".as_bytes()):
        raise WsHandshakeError(400 if is_stream else 426, WRONG_VERSION)


def _offers_websocket(fields: FieldSection) -> Bool:
    for value in fields.values("Upgrade"):
        if lists_member(value.as_bytes(), "websocket".as_bytes()):
            return True
    return False


def _choose_protocol(
    fields: FieldSection, spoken: List[String]
) raises WsHandshakeError -> String:
    var best = len(spoken)
    var offers = 0
    for value in fields.values("Sec-WebSocket-Protocol"):
        var octets = value.as_bytes()
        var start = 0
        while start < len(octets):
            var end = find_octet(octets, COMMA, start)
            var offer = trim_blanks(octets[start:end])
            start = end + 1
            if len(offer) == 0:
                continue
            offers += 1
            if offers > OFFERS_MAX:
                raise WsHandshakeError.malformed("too many subprotocols")
            if not is_token(offer):
                raise WsHandshakeError.malformed("a subprotocol is no token")
            for i in range(best):
                if equals(offer, spoken[i].as_bytes()):
                    best = i
                    break
    return spoken[best] if best < len(spoken) else String()
