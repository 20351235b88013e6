"""Parses the PROXY protocol header, in which a proxy names its client.

Version 1 is a line of text, version 2 is binary. The header is the first thing
on a connection. Parse it only if the peer is a trusted proxy: otherwise any
client could choose its address. Pure functions over octets.
"""

from flare.core import CR, LF, SPACE, equals

from .ip_address import IpAddr
from .socket_address import SocketAddr

comptime PROXY_HEADER_OCTETS_MAX = 4096
"""The default limit for a header of version 2. The addresses need 52 octets;
the rest is what proxies add about themselves.
"""

comptime _LINE_START: StaticString = "PROXY "
comptime _LINE_OCTETS_MAX = 107
# With CR LF, as the protocol says.
comptime _SIGNATURE: StaticString = "\r\n\r\n\x00\r\nQUIT\n"
comptime _FRONT_OCTETS = 16
# The signature, the command, the family, and the length of the rest.
comptime _COMMAND_LOCAL: UInt8 = 0x20
comptime _COMMAND_PROXY: UInt8 = 0x21
comptime _TRANSPORT_STREAM: UInt8 = 1
comptime _V4_OCTETS = 4
comptime _V6_OCTETS = 16
comptime _UNIX_OCTETS = 216
comptime _PORT_DIGITS_MAX = 5
comptime _PORT_MAX = 65535


@fieldwise_init
struct ProxyHeaderError(ImplicitlyCopyable, Writable):
    """Describes why octets are not a PROXY protocol header."""

    var reason: StaticString
    """A fixed phrase, never octets of the peer."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the reason.

        Args:
            writer: The destination.
        """
        writer.write("net.bad_proxy_header: ", self.reason)


@fieldwise_init
struct ProxyHeader(Copyable, Movable):
    """The addresses that a proxy reported for a connection."""

    var octets: Int
    """The length of the header; the client's own octets follow."""
    var source: Optional[SocketAddr]
    """The client's address; `None` if the proxy does not know it or speaks for
    itself. The address of the connection applies then.
    """
    var destination: Optional[SocketAddr]
    """The address to which the client connected, or `None` likewise."""


def parse_proxy_header(
    octets: Span[UInt8, _], octets_max: Int = PROXY_HEADER_OCTETS_MAX
) raises ProxyHeaderError -> Optional[ProxyHeader]:
    """Parses the header at the start of a connection.

    Args:
        octets: The received octets, from the first one on.
        octets_max: The longest header of version 2.

    Returns:
        The header; `None` while more octets are needed.

    Raises:
        ProxyHeaderError: At the first invalid octet.
    """
    if len(octets) == 0:
        return None
    if octets[0] == _LINE_START.as_bytes()[0]:
        return _parse_line(octets)
    return _parse_binary(octets, octets_max)


def _parse_line(
    octets: Span[UInt8, _]
) raises ProxyHeaderError -> Optional[ProxyHeader]:
    _check_front(octets, _LINE_START)
    var end = 0
    var n = min(len(octets), _LINE_OCTETS_MAX)
    while end < n and octets[end] != CR:
        if octets[end] == LF:
            raise ProxyHeaderError("LF without CR")
        end += 1
    if end + 1 >= _LINE_OCTETS_MAX:
        raise ProxyHeaderError("the line is longer than 107 octets")
    if end + 1 >= len(octets):
        return None
    if octets[end + 1] != LF:
        raise ProxyHeaderError("CR without LF")
    var fields = _Fields(_LINE_START.byte_length())
    var family = fields.next(octets[:end])
    var whole = end + 2
    if equals(family, "UNKNOWN".as_bytes()):
        return ProxyHeader(whole, None, None)
    var is_v4 = equals(family, "TCP4".as_bytes())
    if not is_v4 and not equals(family, "TCP6".as_bytes()):
        raise ProxyHeaderError("the line names no known protocol")
    var source = _parse_ip(fields.next(octets[:end]), is_v4)
    var destination = _parse_ip(fields.next(octets[:end]), is_v4)
    var source_port = _parse_port(fields.next(octets[:end]))
    var destination_port = _parse_port(fields.next(octets[:end]))
    if fields.at <= end:
        raise ProxyHeaderError("the line has too many fields")
    return ProxyHeader(
        whole,
        SocketAddr(source, source_port),
        SocketAddr(destination, destination_port),
    )


def _parse_binary(
    octets: Span[UInt8, _], octets_max: Int
) raises ProxyHeaderError -> Optional[ProxyHeader]:
    _check_front(octets, _SIGNATURE)
    if len(octets) < _FRONT_OCTETS:
        return None
    var command = octets[12]
    if command != _COMMAND_LOCAL and command != _COMMAND_PROXY:
        raise ProxyHeaderError("the version or the command is unknown")
    var length = Int(octets[14]) << 8 | Int(octets[15])
    var whole = _FRONT_OCTETS + length
    if whole > octets_max:
        raise ProxyHeaderError("the header is longer than the limit")
    if command == _COMMAND_LOCAL:
        # Its addresses, and their family, are to be ignored.
        if len(octets) < whole:
            return None
        return ProxyHeader(whole, None, None)
    var family = octets[13] >> 4
    var transport = octets[13] & 15
    if family > 3 or transport > 2:
        raise ProxyHeaderError("the family or the transport is unknown")
    var address_octets = 0
    if family == 1:
        address_octets = _V4_OCTETS
    elif family == 2:
        address_octets = _V6_OCTETS
    var needed = 2 * address_octets + 4
    if family == 0:
        needed = 0
    elif family == 3:
        needed = _UNIX_OCTETS
    if length < needed:
        raise ProxyHeaderError("the addresses are cut off")
    if len(octets) < whole:
        return None
    if transport != _TRANSPORT_STREAM:
        # Datagrams do not arrive on a stream connection.
        address_octets = 0
    if address_octets == 0:
        return ProxyHeader(whole, None, None)
    var addresses = octets[_FRONT_OCTETS:whole]
    var ports = 2 * address_octets
    return ProxyHeader(
        whole,
        SocketAddr(
            _ip_at(addresses, 0, address_octets), _port_at(addresses, ports)
        ),
        SocketAddr(
            _ip_at(addresses, address_octets, address_octets),
            _port_at(addresses, ports + 2),
        ),
    )


def _check_front(
    octets: Span[UInt8, _], front: StaticString
) raises ProxyHeaderError:
    var wanted = front.as_bytes()
    for i in range(min(len(octets), len(wanted))):
        if octets[i] != wanted[i]:
            raise ProxyHeaderError("the connection begins otherwise")


@fieldwise_init
struct _Fields(Copyable, Movable):
    # The start of the next field; past the line after the last field.
    var at: Int

    def next[
        origin: ImmOrigin
    ](mut self, line: Span[UInt8, origin]) raises ProxyHeaderError -> Span[
        UInt8, origin
    ]:
        if self.at > len(line):
            raise ProxyHeaderError("the line has too few fields")
        var start = self.at
        var end = start
        while end < len(line) and line[end] != SPACE:
            end += 1
        self.at = end + 1
        return line[start:end]


def _parse_ip(
    octets: Span[UInt8, _], is_v4: Bool
) raises ProxyHeaderError -> IpAddr:
    var ip: IpAddr
    try:
        ip = IpAddr.parse_octets(octets)
    except e:
        raise ProxyHeaderError(e.reason)
    if ip.is_v4() != is_v4:
        raise ProxyHeaderError("the address is of another family")
    return ip


def _parse_port(octets: Span[UInt8, _]) raises ProxyHeaderError -> UInt16:
    if len(octets) == 0 or len(octets) > _PORT_DIGITS_MAX:
        raise ProxyHeaderError("a port has one to five digits")
    var port = 0
    for octet in octets:
        if octet - 48 > 9:
            raise ProxyHeaderError("a port has an octet that is no digit")
        port = port * 10 + Int(octet - 48)
    if port > _PORT_MAX or (octets[0] == 48 and len(octets) > 1):
        raise ProxyHeaderError("a port is over 65535 or begins with 0")
    return UInt16(port)


def _ip_at(octets: Span[UInt8, _], start: Int, count: Int) -> IpAddr:
    if count == _V4_OCTETS:
        return IpAddr.v4(
            octets[start],
            octets[start + 1],
            octets[start + 2],
            octets[start + 3],
        )
    var groups = Array[UInt8, _V6_OCTETS](fill=0)
    for i in range(_V6_OCTETS):
        groups[i] = octets[start + i]
    return IpAddr.v6(groups)


def _port_at(octets: Span[UInt8, _], start: Int) -> UInt16:
    return UInt16(octets[start]) << 8 | UInt16(octets[start + 1])
