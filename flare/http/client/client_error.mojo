"""Defines the error of the client and its text form.

    client.<kind> <phase>[ status=<number>]: <detail>

A user gets the text only, because one `try` takes one error type;
`ClientError.of` reads it back. The detail is a fixed phrase, or the text of
the error of a layer below, so that `NetError.of(Error(e.detail))` reads that.
"""

from flare.core import equals, index_of_text, text_at
from flare.dns import DnsError
from flare.net import NetError
from flare.tls import TlsError

from ..encoding.error import EncodingError

comptime _KINDS: List[StaticString] = [
    "other",
    "bad_url",
    "bad_request",
    "bad_config",
    "resolve",
    "refused",
    "unreachable",
    "tls",
    "proxy",
    "timeout",
    "cancelled",
    "closed",
    "reset",
    "protocol",
    "too_large",
    "too_many_redirects",
    "bad_redirect",
    "status",
    "queue_full",
    "over",
    "encoding",
]

comptime _PHASES: List[StaticString] = [
    "prepare",
    "queue",
    "connect",
    "handshake",
    "send",
    "head",
    "content",
    "redirect",
    "answer",
]

comptime _PREFIX: StaticString = "client."
comptime _STATUS: StaticString = "status="


struct Phase:
    """Names how far an exchange came."""

    comptime PREPARE: StaticString = "prepare"
    """Nothing was done but to look at the request."""
    comptime QUEUE: StaticString = "queue"
    """It waited for a connection of the pool."""
    comptime CONNECT: StaticString = "connect"
    """It connected: to the host, or to a proxy."""
    comptime HANDSHAKE: StaticString = "handshake"
    """It spoke with a proxy, or shook hands in TLS."""
    comptime SEND: StaticString = "send"
    """It sent head and content."""
    comptime HEAD: StaticString = "head"
    """It waited for the head of the response."""
    comptime CONTENT: StaticString = "content"
    """It received the content of the response."""
    comptime REDIRECT: StaticString = "redirect"
    """It looked at where a response points to."""
    comptime ANSWER: StaticString = "answer"
    """The response is whole."""


struct ClientError(Copyable, Movable, Writable):
    """Says what a request failed with, and how far it had come."""

    comptime OTHER = 0
    """A failure without a kind of its own; `detail` tells more."""
    comptime BAD_URL = 1
    """The URL is none, or not one of http and https."""
    comptime BAD_REQUEST = 2
    """What was to be sent is no request; nothing was sent."""
    comptime BAD_CONFIG = 3
    """A field of the configuration is out of its bounds."""
    comptime RESOLVE = 4
    """The name of the host has no address."""
    comptime REFUSED = 5
    """Nobody listens there."""
    comptime UNREACHABLE = 6
    """No route leads there, or nothing is at the path."""
    comptime TLS = 7
    """TLS failed: the certificate, for one, cannot be accepted."""
    comptime PROXY = 8
    """The proxy has refused, or does not speak its protocol."""
    comptime TIMEOUT = 9
    """A deadline passed."""
    comptime CANCELLED = 10
    """The fiber that waited was cancelled."""
    comptime CLOSED = 11
    """The peer closed before the response was whole."""
    comptime RESET = 12
    """The peer broke the connection off."""
    comptime PROTOCOL = 13
    """What the peer sent is no HTTP/1.1."""
    comptime TOO_LARGE = 14
    """The response exceeds a limit."""
    comptime TOO_MANY_REDIRECTS = 15
    """The limit of redirections was passed."""
    comptime BAD_REDIRECT = 16
    """A redirection leads to no URL of http or https."""
    comptime STATUS = 17
    """The status does not stand for success; of `raise_for_status`."""
    comptime QUEUE_FULL = 18
    """Too many requests wait for a connection already."""
    comptime OVER = 19
    """The exchange or the client has ended."""
    comptime ENCODING = 20
    """The content is not coded as Content-Encoding says."""

    var kind: Int
    """One of the constants above."""
    var phase: StaticString
    """How far it came, one of `Phase`."""
    var status: Int
    """The status of the response; 0 where there is none."""
    var detail: String
    """What exactly, for people and for the errors of the layers below."""

    def __init__(
        out self,
        kind: Int,
        phase: StaticString,
        var detail: String,
        *,
        status: Int = 0,
    ):
        """Makes an error.

        Args:
            kind: One of the constants of this struct.
            phase: One of `Phase`.
            detail: What exactly; printable.
            status: The status of the response, or 0.
        """
        self.kind = kind
        self.phase = phase
        self.status = status
        self.detail = detail^

    @staticmethod
    def of(e: Error) -> Optional[Self]:
        """Reads the fields back out of an error that a function raised.

        Args:
            e: Any error.

        Returns:
            The fields, or none if it is not an error of the client.
        """
        var text = String(e)
        if not text.startswith(_PREFIX):
            return None
        var end = text.find(": ")
        if end < 0:
            return None
        var octets = text.as_bytes()
        var parts = StringSlice(unsafe_from_utf8=octets[0:end]).split(" ")
        if len(parts) < 2 or len(parts) > 3:
            return None
        var kind = index_of_text[_KINDS](
            parts[0].as_bytes()[_PREFIX.byte_length() :]
        )
        var phase = index_of_text[_PHASES](parts[1].as_bytes())
        if not kind or not phase:
            return None
        var status = 0
        if len(parts) == 3:
            status = _status_in(parts[2].as_bytes())
            if status == 0:
                return None
        return Self(
            kind.value(),
            text_at[_PHASES](phase.value()),
            String(StringSlice(unsafe_from_utf8=octets[end + 2 :])),
            status=status,
        )

    @staticmethod
    def because(phase: StaticString, cause: Error) -> Self:
        """Makes the error of a phase out of what a layer below raised.

        Args:
            phase: How far the exchange came.
            cause: What was raised.

        Returns:
            The error, or what was raised if it is an error of the client.
        """
        var own = Self.of(cause)
        if own:
            return own.value().copy()
        return Self(_kind_of(cause), phase, String(cause))

    def is_broken_off(self) -> Bool:
        """Tells whether the connection ended.

        Returns:
            True if the peer has closed it or broken it off.
        """
        return self.kind == Self.RESET or self.kind == Self.CLOSED

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `of` reads.

        Args:
            writer: The destination.
        """
        writer.write(_PREFIX, text_at[_KINDS](self.kind), " ", self.phase)
        if self.status != 0:
            writer.write(" ", _STATUS, self.status)
        writer.write(": ", self.detail)


def raised(
    kind: Int, phase: StaticString, detail: StaticString, *, status: Int = 0
) -> Error:
    """Makes an error with a fixed detail.

    Args:
        kind: One of the constants of `ClientError`.
        phase: One of `Phase`.
        detail: What exactly.
        status: The status of the response, or 0.

    Returns:
        The error.
    """
    return Error(ClientError(kind, phase, String(detail), status=status))


def _kind_of(cause: Error) -> Int:
    var net = NetError.of(cause)
    if net:
        return _kind_of_net(net.value().kind)
    var dns = DnsError.of(cause)
    if dns:
        if dns.value().kind == DnsError.TIMEOUT:
            return ClientError.TIMEOUT
        if dns.value().kind == DnsError.CANCELLED:
            return ClientError.CANCELLED
        return ClientError.RESOLVE
    var tls = TlsError.of(cause)
    if tls:
        # The end of the transport is the end of the peer, said or not.
        if tls.value().kind == TlsError.TRUNCATED:
            return ClientError.CLOSED
        return ClientError.TLS
    var encoding = EncodingError.of(cause)
    if encoding:
        if (
            encoding.value().kind == EncodingError.TOO_LARGE
            or encoding.value().kind == EncodingError.RATIO
        ):
            return ClientError.TOO_LARGE
        return ClientError.ENCODING
    return ClientError.OTHER


def _kind_of_net(kind: Int) -> Int:
    if kind == NetError.TIMEOUT:
        return ClientError.TIMEOUT
    if kind == NetError.CANCELLED:
        return ClientError.CANCELLED
    if kind == NetError.REFUSED:
        return ClientError.REFUSED
    if kind == NetError.RESET:
        return ClientError.RESET
    if kind == NetError.CLOSED:
        return ClientError.CLOSED
    if kind == NetError.UNREACHABLE or kind == NetError.NOT_FOUND:
        return ClientError.UNREACHABLE
    return ClientError.OTHER


def _status_in(octets: Span[UInt8, _]) -> Int:
    var start = _STATUS.byte_length()
    if len(octets) != start + 3 or not equals(
        octets[0:start], _STATUS.as_bytes()
    ):
        return 0
    var number = 0
    for octet in octets[start:]:
        if octet - 48 > 9:
            return 0
        number = number * 10 + Int(octet - 48)
    return number
