"""Negotiates the compression of messages: permessage-deflate (RFC 7692).

A client offers parameters, and a server accepts one offer or none. Both ends
then know which window each of them compresses with, and whether it is kept
between two messages.
"""

from flare.core import equals_lower
from flare.message import FieldSection

from .extension_list import (
    OFFERS_MAX,
    ExtensionParameter,
    ExtensionReader,
)
from .frame_state import WsRole
from .handshake_error import WsHandshakeError

comptime WINDOW_BITS_MIN: UInt8 = 8
"""The smallest window of RFC 7692: 256 octets."""
comptime WINDOW_BITS_MAX: UInt8 = 15
"""The largest one, which applies without a parameter: 32 KiB."""
comptime COMPRESSED_BITS_MIN: UInt8 = 9
"""The smallest window with which zlib compresses."""
comptime _NAME: StaticString = "permessage-deflate"
comptime _ZERO: UInt8 = 48


struct DeflateParameters(Equatable, ImplicitlyCopyable, Writable):
    """The parameters of an offer, or of its acceptance."""

    var server_no_context_takeover: Bool
    """Whether the server compresses each message by itself."""
    var client_no_context_takeover: Bool
    """Whether the client compresses each message by itself."""
    var server_window_bits: Optional[UInt8]
    """The base-2 logarithm of the server's window: 8 to 15."""
    var client_window_bits: Optional[UInt8]
    """That of the client's window. In an offer, its presence allows the server
    to limit the window.
    """

    def __init__(
        out self,
        *,
        server_no_context_takeover: Bool = False,
        client_no_context_takeover: Bool = False,
        server_window_bits: Optional[UInt8] = None,
        client_window_bits: Optional[UInt8] = WINDOW_BITS_MAX,
    ):
        """Creates the parameters of an offer.

        Args:
            server_no_context_takeover: Whether the server has to compress each
                message by itself.
            client_no_context_takeover: Whether the client will do so.
            server_window_bits: The largest window of the server, from 8 to 15.
            client_window_bits: The largest window of the client, from 9 to 15;
                `None` if the server may not limit it.
        """
        self.server_no_context_takeover = server_no_context_takeover
        self.client_no_context_takeover = client_no_context_takeover
        self.server_window_bits = server_window_bits
        self.client_window_bits = client_window_bits

    def compression_bits(self, role: UInt8) -> UInt8:
        """Returns the largest window with which an end may compress.

        Args:
            role: The end, one of `WsRole`.

        Returns:
            The bits, 8 to 15. An end that cannot compress with 8 bits sends
            its messages uncompressed.
        """
        if role == WsRole.SERVER:
            return self.server_window_bits.or_else(WINDOW_BITS_MAX)
        return self.client_window_bits.or_else(WINDOW_BITS_MAX)

    def keeps_context(self, role: UInt8) -> Bool:
        """Returns whether an end keeps its window between two messages.

        Args:
            role: The end, one of `WsRole`.

        Returns:
            False if each of its messages can be inflated by itself.
        """
        if role == WsRole.SERVER:
            return not self.server_no_context_takeover
        return not self.client_no_context_takeover

    def __eq__(self, other: Self) -> Bool:
        """Compares all parameters.

        Args:
            other: The other parameters.

        Returns:
            True if all are equal.
        """
        return (
            self.server_no_context_takeover == other.server_no_context_takeover
            and self.client_no_context_takeover
            == other.client_no_context_takeover
            and _same(self.server_window_bits, other.server_window_bits)
            and _same(self.client_window_bits, other.client_window_bits)
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the value of Sec-WebSocket-Extensions.

        Args:
            writer: The destination.
        """
        writer.write(_NAME)
        if self.server_no_context_takeover:
            writer.write("; server_no_context_takeover")
        if self.client_no_context_takeover:
            writer.write("; client_no_context_takeover")
        if self.server_window_bits:
            writer.write(
                "; server_max_window_bits=", self.server_window_bits.value()
            )
        if self.client_window_bits:
            writer.write(
                "; client_max_window_bits=", self.client_window_bits.value()
            )


@fieldwise_init
struct DeflatePolicy(ImplicitlyCopyable):
    """The parameters that a server wants."""

    var no_context_takeover: Bool
    """Whether each message, of both ends, is compressed by itself."""
    var window_bits: UInt8
    """The largest window of each end, 9 to 15."""

    @staticmethod
    def shared() -> Self:
        """Returns the policy of one compressor for many connections.

        Returns:
            No window is kept between messages.
        """
        return Self(True, WINDOW_BITS_MAX)

    @staticmethod
    def dedicated(window_bits: UInt8) -> Self:
        """Returns the policy of a compressor for each connection.

        Args:
            window_bits: The largest window of each end, 9 to 15.

        Returns:
            The windows are kept between messages.
        """
        debug_assert(
            COMPRESSED_BITS_MIN <= window_bits <= WINDOW_BITS_MAX,
            "window_bits of ",
            window_bits,
        )
        return Self(False, window_bits)


def choose_deflate(
    fields: FieldSection, policy: Optional[DeflatePolicy]
) raises WsHandshakeError -> Optional[DeflateParameters]:
    """Returns the answer to the first offer that a server can accept.

    Args:
        fields: The fields of the request.
        policy: The parameters that the server wants; none if it does not
            compress. The offers are checked in any case.

    Returns:
        The parameters of the response, or `None`.

    Raises:
        WsHandshakeError: If the list is malformed, or has more than 16
            members.
    """
    var chosen = Optional[DeflateParameters](None)
    var offers = 0
    for value in fields.values("Sec-WebSocket-Extensions"):
        var reader = ExtensionReader(value.as_bytes())
        while True:
            var name = reader.next_name()
            if not name:
                break
            offers += 1
            if offers > OFFERS_MAX:
                raise WsHandshakeError.malformed("too many extensions")
            var offer = _read_parameters[False](reader)
            if (
                policy
                and offer
                and not chosen
                and equals_lower(name.value(), _NAME.as_bytes())
            ):
                chosen = accept_offer(offer.value(), policy.value())
    return chosen


def accept_offer(
    offer: DeflateParameters, policy: DeflatePolicy
) -> Optional[DeflateParameters]:
    """Returns a server's answer to an offer (RFC 7692 section 7.1).

    Args:
        offer: The offer.
        policy: The parameters that the server wants.

    Returns:
        The parameters of the response; `None` if the server declines.
    """
    var bits = policy.window_bits
    var asked = offer.server_window_bits.or_else(WINDOW_BITS_MAX)
    if asked < bits:
        if asked < COMPRESSED_BITS_MIN:
            return None
        bits = asked
    var agreed = DeflateParameters(
        server_no_context_takeover=offer.server_no_context_takeover
        or policy.no_context_takeover,
        client_no_context_takeover=offer.client_no_context_takeover
        or policy.no_context_takeover,
        client_window_bits=None,
    )
    if offer.server_window_bits or bits < WINDOW_BITS_MAX:
        agreed.server_window_bits = bits
    if offer.client_window_bits:
        var least = min(offer.client_window_bits.value(), policy.window_bits)
        if least < WINDOW_BITS_MAX:
            agreed.client_window_bits = least
    return agreed


def read_deflate_response(
    fields: FieldSection, offers: List[DeflateParameters]
) raises WsHandshakeError -> Optional[DeflateParameters]:
    """Returns the parameters that a server has accepted.

    Args:
        fields: The fields of the response.
        offers: The offers of the client. The response answers any of them.

    Returns:
        The parameters; `None` if the server does not compress.

    Raises:
        WsHandshakeError: If the server names an extension that was not
            offered, or parameters that answer no offer.
    """
    var agreed = Optional[DeflateParameters](None)
    for value in fields.values("Sec-WebSocket-Extensions"):
        var reader = ExtensionReader(value.as_bytes())
        while True:
            var name = reader.next_name()
            if not name:
                break
            if (
                len(offers) == 0
                or agreed
                or not equals_lower(name.value(), _NAME.as_bytes())
            ):
                raise WsHandshakeError.failed("an extension without an offer")
            agreed = _read_parameters[True](reader)
            if not agreed or not _answers_any(agreed.value(), offers):
                raise WsHandshakeError.failed(
                    "parameters of compression that do not answer the offer"
                )
    return agreed


def _answers_any(
    agreed: DeflateParameters, offers: List[DeflateParameters]
) -> Bool:
    for offer in offers:
        if _answers(agreed, offer):
            return True
    return False


def _answers(agreed: DeflateParameters, offer: DeflateParameters) -> Bool:
    if offer.server_no_context_takeover and agreed.keeps_context(WsRole.SERVER):
        return False
    if offer.server_window_bits and not agreed.server_window_bits:
        return False
    if agreed.client_window_bits and not offer.client_window_bits:
        return False
    return (
        not offer.server_window_bits
        or agreed.server_window_bits.value() <= offer.server_window_bits.value()
    ) and (
        not agreed.client_window_bits
        or agreed.client_window_bits.value() <= offer.client_window_bits.value()
    )


def _read_parameters[
    is_response: Bool, origin: ImmOrigin
](
    mut reader: ExtensionReader[origin],
) raises WsHandshakeError -> Optional[
    DeflateParameters
]:
    # None if the parameters cannot be accepted: RFC 7692 section 7.1 lists a
    # name that is unknown or repeated, and an invalid value.
    var found = DeflateParameters(client_window_bits=None)
    var is_legal = True
    while True:
        var parameter = reader.next_parameter()
        if not parameter:
            break
        is_legal = is_legal and _note[is_response](found, parameter.value())
    return Optional(found) if is_legal else None


def _note[
    is_response: Bool, origin: ImmOrigin
](mut found: DeflateParameters, parameter: ExtensionParameter[origin]) -> Bool:
    # False if the parameter cannot be accepted.
    var name = parameter.name
    var value = parameter.value
    if equals_lower(name, "server_no_context_takeover".as_bytes()):
        var is_first = not found.server_no_context_takeover
        found.server_no_context_takeover = True
        return is_first and not value
    if equals_lower(name, "client_no_context_takeover".as_bytes()):
        var is_first = not found.client_no_context_takeover
        found.client_no_context_takeover = True
        return is_first and not value
    if equals_lower(name, "server_max_window_bits".as_bytes()):
        var is_first = not found.server_window_bits
        found.server_window_bits = _window_bits(value)
        return is_first and Bool(found.server_window_bits)
    if equals_lower(name, "client_max_window_bits".as_bytes()):
        var is_first = not found.client_window_bits
        # An offer may leave the value open.
        found.client_window_bits = WINDOW_BITS_MAX
        if is_response or value:
            found.client_window_bits = _window_bits(value)
        return is_first and Bool(found.client_window_bits)
    return False


def _window_bits[
    origin: ImmOrigin
](value: Optional[Span[UInt8, origin]]) -> Optional[UInt8]:
    # A number from 8 to 15 without leading zeros (RFC 7692 section 7.1.2).
    if not value:
        return None
    var digits = value.value()
    if len(digits) == 1 and (digits[0] == 56 or digits[0] == 57):
        return digits[0] - _ZERO
    if len(digits) == 2 and digits[0] == 49 and digits[1] - _ZERO <= 5:
        return digits[1] - _ZERO + 10
    return None


def _same(a: Optional[UInt8], b: Optional[UInt8]) -> Bool:
    return a.or_else(0) == b.or_else(0)
