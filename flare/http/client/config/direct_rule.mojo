"""Reads the rules that name hosts to reach without a proxy (`NO_PROXY`).

A rule that no host can ever match is an error: otherwise a misspelt rule would
send requests through a proxy silently.
"""

from flare.core import COLON, equals_ignoring_case, find_octet
from flare.message import valid_host
from flare.message.cookie_scope import is_address
from flare.net import IpAddr, IpNetwork

comptime _DOT: UInt8 = 46
comptime _SLASH: UInt8 = 47
comptime _ASTERISK: UInt8 = 42
comptime _BRACKET: UInt8 = 91
comptime _CLOSING_BRACKET: UInt8 = 93
comptime _ANY_PORT = -1
comptime _NO_PORT = -2


struct DirectRule(Copyable, Movable):
    """A set of hosts: all, a block of addresses, or a name and the names below
    it; optionally with a port.
    """

    var _means_all: Bool
    var _block: Optional[IpNetwork]
    # Without dots at its ends; empty if the rule is no name.
    var _name: String
    var _port: Int

    @staticmethod
    def parse(text: StringSlice) -> Optional[Self]:
        """Parses a rule.

        Args:
            text: `*`, an address, `10.0.0.0/8`, or a name with or without `.`
                or `*.` in front. A colon and a port may follow; an IPv6 address
                with a port stands in brackets.

        Returns:
            The rule; none if no host can match the text.
        """
        var rule = Self()
        var octets = text.as_bytes()
        if len(octets) > 0 and octets[0] == _BRACKET:
            var end = find_octet(octets, _CLOSING_BRACKET)
            if end == len(octets):
                return None
            rule._port = _port_behind(octets[end + 1 :])
            rule._block = _block_of(octets[1:end])
            if rule._port == _NO_PORT or not rule._block:
                return None
            return rule^
        var colon = find_octet(octets, COLON)
        if colon < len(octets) and find_octet(octets, COLON, colon + 1) == len(
            octets
        ):
            rule._port = _port_behind(octets[colon:])
            octets = octets[:colon]
        if rule._port == _NO_PORT:
            return None
        if len(octets) == 1 and octets[0] == _ASTERISK:
            rule._means_all = True
            return rule^
        rule._block = _block_of(octets)
        if rule._block:
            return rule^
        rule._name = String(StringSlice(unsafe_from_utf8=_bare_name(octets)))
        if not _is_name(rule._name):
            return None
        return rule^

    def __init__(out self):
        """Creates a rule that matches no host yet."""
        self._means_all = False
        self._block = None
        self._name = String()
        self._port = _ANY_PORT

    def means(self, host: StringSlice, port: Int) -> Bool:
        """Returns whether the rule includes a host.

        Args:
            host: The host, an IPv6 address without brackets.
            port: The port.

        Returns:
            True if the rule includes the host.
        """
        if self._port != _ANY_PORT and self._port != port:
            return False
        if self._means_all:
            return True
        if self._block:
            try:
                return self._block.value().contains(
                    IpAddr.parse_octets(host.as_bytes())
                )
            except:
                return False
        var found = host.as_bytes()
        if len(found) > 0 and found[len(found) - 1] == _DOT:
            found = found[: len(found) - 1]
        var extra = len(found) - self._name.byte_length()
        if extra < 0 or not equals_ignoring_case(
            found[extra:], self._name.as_bytes()
        ):
            return False
        return extra == 0 or found[extra - 1] == _DOT


def _bare_name[
    origin: ImmOrigin
](octets: Span[UInt8, origin]) -> Span[UInt8, origin]:
    var start = 0
    if len(octets) > 1 and octets[0] == _ASTERISK and octets[1] == _DOT:
        start = 1
    while start < len(octets) and octets[start] == _DOT:
        start += 1
    var end = len(octets)
    if end > start and octets[end - 1] == _DOT:
        end -= 1
    return octets[start:end]


def _is_name(name: String) -> Bool:
    # A name whose last label is a number is meant as an address, or as the
    # front of one, and no host has it.
    var octets = name.as_bytes()
    return (
        valid_host(octets)
        and find_octet(octets, _ASTERISK) == len(octets)
        and not is_address(octets)
    )


def _block_of(octets: Span[UInt8, _]) -> Optional[IpNetwork]:
    var slash = find_octet(octets, _SLASH)
    try:
        var address = IpAddr.parse_octets(octets[:slash])
        if slash == len(octets):
            address = address.unmapped()
            return IpNetwork(address, 32 if address.is_v4() else 128)
        if address.is_v4_mapped():
            return None
        # Bits after the prefix are ignored, as in other programs.
        var bits = _number_in(octets[slash + 1 :])
        if bits < 0 or bits > (32 if address.is_v4() else 128):
            return None
        return IpNetwork(address, bits)
    except:
        return None


def _port_behind(octets: Span[UInt8, _]) -> Int:
    if len(octets) == 0:
        return _ANY_PORT
    if octets[0] != COLON:
        return _NO_PORT
    var port = _number_in(octets[1:])
    return port if 0 < port <= 65535 else _NO_PORT


def _number_in(octets: Span[UInt8, _]) -> Int:
    if len(octets) == 0 or len(octets) > 5:
        return -1
    var number = 0
    for octet in octets:
        if octet - 48 > 9:
            return -1
        number = number * 10 + Int(octet - 48)
    return number
