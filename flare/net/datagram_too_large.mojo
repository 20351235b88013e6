"""Defines the error of a datagram that does not fit, and its text form.

    net.too_large <operation>[ <address>][ errno=90]: octets=<n>[ limit=<n>]

A colon, a blank and more for people may follow.
It is a text of `NetError` whose detail is read too.
"""

from flare.core import equals
from flare.sys.errno import EMSGSIZE

from .error import NetError
from .socket_address import SocketAddr

comptime _DETAIL: StaticString = ": octets="
comptime _LIMIT: StaticString = " limit="
comptime _DIGITS_MAX = 18


@fieldwise_init
struct DatagramTooLarge(ImplicitlyCopyable, Writable):
    """Describes a datagram that was too large to send, or that arrived cut
    off.
    """

    var operation: StaticString
    """The operation: `"send_to"`, `"receive_from"` and so on."""
    var octets: Int
    """The length of the datagram."""
    var octets_max: Int
    """The largest length: of the transport when sending, of the buffer when
    receiving; 0 if only the kernel knows.
    """
    var address: Optional[SocketAddr]
    """The peer, if known."""

    @staticmethod
    def of(e: Error) -> Optional[Self]:
        """Returns the fields of an error that a datagram operation raised.

        Args:
            e: Any error.

        Returns:
            The fields; `None` if the error is not about a datagram that is too
            large.
        """
        var error = NetError.of(e)
        if not error or error.value().kind != NetError.TOO_LARGE:
            return None
        var text = String(e)
        var start = text.find(_DETAIL)
        if start < 0:
            return None
        var detail = text.as_bytes()[start + _DETAIL.byte_length() :]
        var length = _digits(detail)
        var octets = _number_in(detail[0:length])
        if not octets:
            return None
        var octets_max = Optional[Int](0)
        var rest = detail[length : len(detail)]
        if _begins_with(rest, _LIMIT):
            rest = rest[_LIMIT.byte_length() : len(rest)]
            length = _digits(rest)
            octets_max = _number_in(rest[0:length])
            rest = rest[length : len(rest)]
        if not octets_max or not (len(rest) == 0 or _begins_with(rest, ": ")):
            return None
        return Self(
            error.value().operation,
            octets.value(),
            octets_max.value(),
            error.value().address,
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `of` and `NetError.of` read.

        Args:
            writer: The destination.
        """
        var is_sent = self.operation.startswith("send")
        writer.write(
            NetError(
                NetError.TOO_LARGE,
                self.operation,
                errno=EMSGSIZE if is_sent else 0,
                address=self.address,
            ),
            _DETAIL,
            self.octets,
        )
        if self.octets_max > 0:
            writer.write(_LIMIT, self.octets_max)


def _begins_with(octets: Span[UInt8, _], text: StaticString) -> Bool:
    return len(octets) >= text.byte_length() and equals(
        octets[0 : text.byte_length()], text.as_bytes()
    )


def _digits(octets: Span[UInt8, _]) -> Int:
    var count = 0
    while count < len(octets) and octets[count] - 48 <= 9:
        count += 1
    return count


def _number_in(octets: Span[UInt8, _]) -> Optional[Int]:
    if len(octets) < 1 or len(octets) > _DIGITS_MAX:
        return None
    if octets[0] == 48 and len(octets) > 1:
        return None
    var number = 0
    for octet in octets:
        if octet - 48 > 9:
            return None
        number = number * 10 + Int(octet - 48)
    return number
