"""Defines the error of look-ups and its text form.

    dns.<kind> <operation>[ <host>[ code=<number>]]
    dns.bad_name <operation>: <detail>

Callers receive the text only, as with `NetError`; `DnsError.of` reads the
fields back. The detail after the colon is for people; it is escaped.
"""

from flare.core import equals, index_of_text, text_at, write_escaped

comptime _KINDS: List[StaticString] = [
    "other",
    "not_found",
    "no_address",
    "timeout",
    "try_again",
    "server_failure",
    "refused",
    "bad_name",
    "bad_answer",
    "cancelled",
    "no_memory",
]

comptime _OPERATIONS: List[StaticString] = ["resolve"]

comptime _PREFIX: StaticString = "dns."
comptime _CODE: StaticString = "code="
comptime _CODE_DIGITS_MAX = 6
comptime _SHOWN_OCTETS_MAX = 64
comptime _COLON: UInt8 = 58
comptime _MINUS: UInt8 = 45


@fieldwise_init
struct DnsError(ImplicitlyCopyable, Writable):
    """Describes a failed look-up."""

    comptime OTHER = 0
    """A failure without a kind of its own; see `code`."""
    comptime NOT_FOUND = 1
    """The name does not exist."""
    comptime NO_ADDRESS = 2
    """The name exists, but has no address of the family that was asked for."""
    comptime TIMEOUT = 3
    """No server answered in time, or the deadline passed."""
    comptime TRY_AGAIN = 4
    """No server could be reached, or the servers failed temporarily."""
    comptime SERVER_FAILURE = 5
    """The servers could not find the answer."""
    comptime REFUSED = 6
    """The servers refuse to answer this machine."""
    comptime BAD_NAME = 7
    """The text is not a host name; no server was asked."""
    comptime BAD_ANSWER = 8
    """The answer of the servers is malformed."""
    comptime CANCELLED = 9
    """The fiber that waited for the look-up was cancelled."""
    comptime NO_MEMORY = 10
    """Memory, or room for one more look-up, has run out."""

    var kind: Int
    """One of the constants above."""
    var operation: StaticString
    """The operation: `"resolve"`."""
    var host: String
    """The name or address; empty if the text is not a name."""
    var code: Int
    """The server's code (RFC 1035 section 4.1.1). For the system's look-up,
    the negative number of the C library; 0 without a code.
    """

    @staticmethod
    def of(e: Error) -> Optional[Self]:
        """Returns the fields of an error that a look-up raised.

        Args:
            e: Any error.

        Returns:
            The fields; `None` if the error has another origin.
        """
        var text = String(e)
        if not text.startswith(_PREFIX):
            return None
        var parts = text.split(" ")
        if len(parts) < 2:
            return None
        var kind = index_of_text[_KINDS](
            parts[0].as_bytes()[_PREFIX.byte_length() :]
        )
        var word = parts[1].as_bytes()
        var has_detail = len(word) > 0 and word[len(word) - 1] == _COLON
        if has_detail:
            word = word[: len(word) - 1]
        var operation = index_of_text[_OPERATIONS](word)
        if not kind or not operation:
            return None
        var error = Self(
            kind.value(), text_at[_OPERATIONS](operation.value()), String(), 0
        )
        if has_detail or len(parts) == 2:
            return error^
        if len(parts) > 4:
            return None
        error.host = String(parts[2])
        if len(parts) == 4:
            var code = _code_in(parts[3].as_bytes())
            if not code:
                return None
            error.code = code.value()
        return error^

    def can_retry(self) -> Bool:
        """Returns whether the same look-up may succeed later.

        Returns:
            True if the servers failed; False if they gave a definite answer.
        """
        return self.kind in (
            Self.TIMEOUT,
            Self.TRY_AGAIN,
            Self.SERVER_FAILURE,
            Self.BAD_ANSWER,
            Self.NO_MEMORY,
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `of` reads.

        Args:
            writer: The destination.
        """
        writer.write(_PREFIX, text_at[_KINDS](self.kind), " ", self.operation)
        if self.host:
            writer.write(" ", self.host)
            if self.code != 0:
                writer.write(" ", _CODE, self.code)


@fieldwise_init
struct HostNameError(ImplicitlyCopyable, Writable):
    """Describes why a text is not a host name."""

    var reason: StaticString
    """A fixed phrase, never octets of the text."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the reason.

        Args:
            writer: The destination.
        """
        writer.write(self.reason)

    def about(self, octets: Span[UInt8, _]) -> Error:
        """Returns the error that the caller of the look-up gets.

        Args:
            octets: The refused text; it may come from a peer.

        Returns:
            An error whose text starts with `dns.bad_name resolve`, and shows
            the text escaped, cut off if it is long.
        """
        var text = String("dns.bad_name resolve: ", self.reason, ': "')
        var shown = min(len(octets), _SHOWN_OCTETS_MAX)
        write_escaped(octets[0:shown], text)
        text += '"' if shown == len(octets) else '..."'
        return Error(text^)


def _code_in(octets: Span[UInt8, _]) -> Optional[Int]:
    comptime START = _CODE.byte_length()
    if len(octets) <= START or not equals(octets[:START], _CODE.as_bytes()):
        return None
    var is_negative = octets[START] == _MINUS
    var first = START + 1 if is_negative else START
    var digits = len(octets) - first
    if digits < 1 or digits > _CODE_DIGITS_MAX or octets[first] == 48:
        return None
    var number = 0
    for octet in octets[first:]:
        if octet - 48 > 9:
            return None
        number = number * 10 + Int(octet - 48)
    return -number if is_negative else number
