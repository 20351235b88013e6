"""Defines the error of the client and its text form.

 client.<kind> <phase>[ status=<number>]: <detail>

Callers receive the text only, because one `try` catches one error type;
`ClientError.of` reads the fields back. The detail is a fixed phrase, or the
text of an error of a lower layer, which `NetError.of(Error(e.detail))` reads.
"""

from flare.core import equals, index_of_text, text_at
from flare.dns import DnsError
from flare.message import reason_phrase
from flare.net import NetError
from flare.tls import TlsError

from .encoding.error import EncodingError

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
    "file",
    "not_processed",
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
    """The phases of an exchange."""

    comptime PREPARE: StaticString = "prepare"
    """The request was checked; no octet was sent."""
    comptime QUEUE: StaticString = "queue"
    """The request waited for a connection of the pool."""
    comptime CONNECT: StaticString = "connect"
    """The client connected to the host or to a proxy."""
    comptime HANDSHAKE: StaticString = "handshake"
    """The client asked a proxy, or performed the TLS handshake."""
    comptime SEND: StaticString = "send"
    """The client sent head and content."""
    comptime HEAD: StaticString = "head"
    """The client waited for the head of the response."""
    comptime CONTENT: StaticString = "content"
    """The client received the content of the response."""
    comptime REDIRECT: StaticString = "redirect"
    """The client examined the target of a redirect."""
    comptime ANSWER: StaticString = "answer"
    """The response is complete."""


struct ClientError(Copyable, Movable, Writable):
    """Describes why a request failed, and in which phase."""

    comptime OTHER = 0
    """A failure without a kind of its own; see `detail`."""
    comptime BAD_URL = 1
    """The URL is malformed, or not http or https."""
    comptime BAD_REQUEST = 2
    """The request is invalid; no octet was sent."""
    comptime BAD_CONFIG = 3
    """A field of the configuration is out of its bounds."""
    comptime RESOLVE = 4
    """The name of the host has no address."""
    comptime REFUSED = 5
    """No server listens at the address."""
    comptime UNREACHABLE = 6
    """No route leads to the address, or the path does not exist."""
    comptime TLS = 7
    """TLS failed: for example, the certificate was not accepted."""
    comptime PROXY = 8
    """The proxy has refused, or does not speak its protocol."""
    comptime TIMEOUT = 9
    """A deadline passed."""
    comptime CANCELLED = 10
    """The fiber that waited was cancelled."""
    comptime CLOSED = 11
    """The peer closed before the response was whole."""
    comptime RESET = 12
    """The peer reset the connection or the stream."""
    comptime PROTOCOL = 13
    """The peer's octets are not valid HTTP."""
    comptime TOO_LARGE = 14
    """The response exceeds a limit."""
    comptime TOO_MANY_REDIRECTS = 15
    """The limit of redirects was exceeded."""
    comptime BAD_REDIRECT = 16
    """A redirect leads to a URL that is not http or https."""
    comptime STATUS = 17
    """The status is not a success; raised by `raise_for_status`."""
    comptime QUEUE_FULL = 18
    """Too many requests wait for a connection already."""
    comptime OVER = 19
    """The exchange or the client has ended."""
    comptime ENCODING = 20
    """The content is not encoded as Content-Encoding says, or against the
    request."""
    comptime FILE = 21
    """A file could not be written; the detail is the text of a `FileError`."""

    comptime NOT_PROCESSED = 22
    """The server has refused the request before it was processed, so any request
    may be sent again."""

    var kind: Int
    """One of the constants, such as `ClientError.TIMEOUT`."""
    var phase: StaticString
    """The phase of the failure, one of `flare.http.client.Phase`."""
    var status: Int
    """The status of the response; 0 without one."""
    var detail: String
    """Details, for people and for the errors of lower layers."""

    def __init__(
        out self,
        kind: Int,
        phase: StaticString,
        var detail: String,
        *,
        status: Int = 0,
    ):
        """Creates an error.

        Args:
            kind: One of the constants of this struct.
            phase: One of `Phase`.
            detail: Details; printable.
            status: The status of the response, or 0.
        """
        self.kind = kind
        self.phase = phase
        self.status = status
        self.detail = detail^

    @staticmethod
    def of(e: Error) -> Optional[Self]:
        """Returns the fields of an error that the client raised.

        Args:
            e: Any error.

        Returns:
            The fields; `None` if the error has another origin.
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
        """Returns the error of a phase for an error of a lower layer.

        Args:
            phase: The phase of the failure.
            cause: The error of the lower layer.

        Returns:
            The error; `cause` itself if it is an error of the client.
        """
        var own = Self.of(cause)
        if own:
            return own.value().copy()
        return Self(_kind_of(cause), phase, String(cause))

    def is_broken_off(self) -> Bool:
        """Returns whether the connection ended.

        Returns:
            True if the peer has closed or reset the connection.
        """
        return self.kind == Self.RESET or self.kind == Self.CLOSED

    def can_retry(self) -> Bool:
        """Returns whether the same request may succeed later.

        The server may have acted on the first request. Repeat a request only if
        it is idempotent.

        Returns:
            True if the host was not found or reached, if the connection ended, or
            if the request was not processed. True also after a timeout, and for
            the statuses 429, 502, 503 and 504.
        """
        return (
            self.kind == Self.REFUSED
            or self.kind == Self.UNREACHABLE
            or self.kind == Self.RESOLVE
            or self.kind == Self.TIMEOUT
            or self.kind == Self.NOT_PROCESSED
            or self.is_broken_off()
            or (self.kind == Self.STATUS and is_passing_status(self.status))
        )

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
    """Returns an error with fixed details.

    Args:
        kind: One of the constants of `ClientError`.
        phase: One of `Phase`.
        detail: The details.
        status: The status of the response, or 0.

    Returns:
        The error.
    """
    return Error(ClientError(kind, phase, String(detail), status=status))


def raise_for_status(status: Int) raises:
    """Raises an error if a status is 400 or above.

    Args:
        status: The status.

    Raises:
        An error `client.status answer status=404: Not Found` or similar.
    """
    if status >= 400:
        raise raised(
            ClientError.STATUS,
            Phase.ANSWER,
            reason_phrase(status),
            status=status,
        )


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


def is_passing_status(status: Int) -> Bool:
    """Returns whether a status describes a temporary condition.

    Args:
        status: The status code.

    Returns:
        True for 429, 502, 503 and 504.
    """
    return status == 429 or status == 502 or status == 503 or status == 504
