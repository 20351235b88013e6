"""Checks the name of a server before it is sent or verified."""

from flare.net import IpAddr

from .error import TlsError

comptime _NAME_OCTETS_MAX = 253
comptime _LABEL_OCTETS_MAX = 63


@fieldwise_init
struct ServerName(Copyable, Movable):
    """A host name or IP address that a certificate can be for.

    Addresses are compared octet by octet (RFC 9525 section 6.4): an
    IPv4-mapped IPv6 address has 16 octets, so it is not the IPv4 address.
    """

    var text: String
    """The name without a final dot, or the address without brackets."""
    var is_address: Bool
    """Whether it is an address, which is verified but not sent (RFC 6066
    section 3).
    """

    @staticmethod
    def parse(host: StringSlice) raises -> Self:
        """Parses and checks a name.

        Args:
            host: A host name as in the DNS (RFC 1123; for other scripts the
                ASCII form of RFC 5890), or an address.

        Returns:
            The name.

        Raises:
            Error: `tls.bad_name connect`.
        """
        try:
            return Self(String(IpAddr.parse_octets(host.as_bytes())), True)
        except e:
            if not _is_name(_without_last_dot(host.as_bytes())):
                raise TlsError(TlsError.BAD_NAME, "connect").about(
                    host.as_bytes()
                )
        return Self(
            String(
                StringSlice(unsafe_from_utf8=_without_last_dot(host.as_bytes()))
            ),
            False,
        )


def _without_last_dot[
    origin: ImmOrigin
](octets: Span[UInt8, origin]) -> Span[UInt8, origin]:
    var count = len(octets)
    if count > 1 and octets[count - 1] == 46:
        count -= 1
    return octets[0:count]


def _is_name(octets: Span[UInt8, _]) -> Bool:
    if len(octets) == 0 or len(octets) > _NAME_OCTETS_MAX:
        return False
    var label_octets = 0
    for octet in octets:
        if octet == 46:
            if label_octets == 0:
                return False
            label_octets = 0
            continue
        label_octets += 1
        if label_octets > _LABEL_OCTETS_MAX or not _is_name_octet(octet):
            return False
    return label_octets > 0


def _is_name_octet(octet: UInt8) -> Bool:
    return (
        (octet | 32) - 97 < 26
        or octet - 48 < 10
        or octet == 45
        # No host name has one, but names in the DNS that hosts stand at do.
        or octet == 95
    )
