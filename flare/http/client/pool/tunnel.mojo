"""Asks a proxy for a way to a host: CONNECT (RFC 9110 section 9.3.6), or SOCKS 5
(RFC 1928).

The host is named, not looked up: the proxy may know names that we do not. The
caller bounds how long all of it may take.
"""

from flare.core import heap_create, heap_destroy
from flare.message import HeaderMap
from flare.net import IpAddr
from flare.proto.h1 import BodyLength
from flare.tcp import TcpStream

from ...client_error import ClientError, Phase, raised
from ..config.proxy import Proxy
from ..exchange.client_exchange import ClientExchange
from ..exchange.exchange_state import ClientExchangeState
from ..transport.client_connection import ClientConnection
from .origin import Origin

comptime _VERSION: UInt8 = 5
comptime _AUTHENTICATION_VERSION: UInt8 = 1
comptime _NO_AUTHENTICATION: UInt8 = 0
comptime _USER_AND_PASSWORD: UInt8 = 2
comptime _CONNECT: UInt8 = 1
comptime _IPV4: UInt8 = 1
comptime _NAME: UInt8 = 3
comptime _IPV6: UInt8 = 4
comptime _NAME_OCTETS_MAX = 255
comptime _UNREAD_OCTETS_MAX = 1 << 62


def ask_for_tunnel(
    connection: ClientConnection, proof: Optional[String], origin: Origin
) raises:
    """Opens a tunnel to an origin through an HTTP proxy.

    Args:
        connection: The connection to the proxy.
        proof: The value of Proxy-Authorization.
        origin: The origin.

    Raises:
        ClientError: `client.proxy handshake`, `client.timeout handshake` and
            others.
    """
    var exchange = ClientExchange(heap_create(ClientExchangeState()))
    exchange.state[].connection = connection
    try:
        var host = origin[].host
        if ":" in host:
            host = String("[", host, "]")
        var target = String(host, ":", origin[].port)
        var fields = HeaderMap()
        fields.append("Host", target)
        if proof:
            fields.append("Proxy-Authorization", proof.value())
        # No limit on the content of a refusal: it is never read.
        exchange.begin(_UNREAD_OCTETS_MAX)
        exchange.write_head("CONNECT", target, fields, BodyLength.NONE)
        exchange.flush()
        var status = exchange.receive_head()
        if status < 200 or status > 299:
            raise raised(
                ClientError.PROXY,
                Phase.HANDSHAKE,
                "the proxy opens no tunnel",
                status=status,
            )
        exchange.consume_head()
        if exchange.has_received():
            # The host cannot speak first in a tunnel of ours.
            raise raised(
                ClientError.PROXY,
                Phase.HANDSHAKE,
                "the proxy says more than its answer",
            )
    finally:
        heap_destroy(exchange.state)


def ask_socks(
    tcp: TcpStream, proxy: Proxy, host: StringSlice, port: Int
) raises:
    """Asks a SOCKS 5 proxy to connect to a host.

    Args:
        tcp: The connection to the proxy.
        proxy: The proxy.
        host: The host, an IPv6 address without brackets.
        port: Its port.

    Raises:
        ClientError: `client.proxy handshake` and others.
    """
    tcp.write_all(Span(socks_greeting(Bool(proxy.user))))
    var choice = _read_exactly(tcp, 2)
    if choice[0] != _VERSION:
        raise _no_socks("the proxy does not speak SOCKS 5")
    if choice[1] == _USER_AND_PASSWORD and proxy.user:
        tcp.write_all(
            Span(socks_credentials(proxy.user.value(), proxy.password))
        )
        var judged = _read_exactly(tcp, 2)
        if judged[0] != _AUTHENTICATION_VERSION or judged[1] != 0:
            raise _no_socks("the proxy refuses user and password")
    elif choice[1] != _NO_AUTHENTICATION:
        raise _no_socks("the proxy wants to know who asks")
    tcp.write_all(Span(socks_request(host, port)))
    var answer = _read_exactly(tcp, 4)
    if answer[0] != _VERSION:
        raise _no_socks("the proxy does not speak SOCKS 5")
    if answer[1] != 0:
        raise _no_socks(socks_reason(answer[1]))
    # The address that the proxy uses tells us nothing.
    var rest: Int
    if answer[3] == _IPV4:
        rest = 4
    elif answer[3] == _IPV6:
        rest = 16
    elif answer[3] == _NAME:
        rest = Int(_read_exactly(tcp, 1)[0])
    else:
        raise _no_socks("the proxy names no address")
    _ = _read_exactly(tcp, rest + 2)


def socks_greeting(has_user: Bool) -> List[UInt8]:
    """Writes the client's greeting (section 3).

    Args:
        has_user: Whether to offer authentication by user and password.

    Returns:
        The octets.
    """
    if has_user:
        return [_VERSION, 2, _NO_AUTHENTICATION, _USER_AND_PASSWORD]
    return [_VERSION, 1, _NO_AUTHENTICATION]


def socks_credentials(
    user: StringSlice, password: StringSlice
) raises -> List[UInt8]:
    """Writes user and password (RFC 1929).

    Args:
        user: At most 255 octets.
        password: At most 255 octets.

    Returns:
        The octets.

    Raises:
        ClientError: `client.bad_config handshake` if one of them is longer.
    """
    if (
        user.byte_length() > _NAME_OCTETS_MAX
        or password.byte_length() > _NAME_OCTETS_MAX
    ):
        raise raised(
            ClientError.BAD_CONFIG,
            Phase.HANDSHAKE,
            "user or password of a proxy is too long",
        )
    var octets: List[UInt8] = [_AUTHENTICATION_VERSION]
    octets.append(UInt8(user.byte_length()))
    octets.extend(user.as_bytes())
    octets.append(UInt8(password.byte_length()))
    octets.extend(password.as_bytes())
    return octets^


def socks_request(host: StringSlice, port: Int) raises -> List[UInt8]:
    """Writes the request to connect (section 4). It sends an address as an
    address, so that the proxy looks up only names.

    Args:
        host: The host, an IPv6 address without brackets.
        port: The port.

    Returns:
        The octets.

    Raises:
        ClientError: `client.bad_url handshake` if the name is too long.
    """
    if host.byte_length() > _NAME_OCTETS_MAX:
        raise raised(
            ClientError.BAD_URL, Phase.HANDSHAKE, "the host is too long"
        )
    var octets: List[UInt8] = [_VERSION, _CONNECT, 0]
    var address = _address_of(host)
    if not address:
        octets.append(_NAME)
        octets.append(UInt8(host.byte_length()))
        octets.extend(host.as_bytes())
    elif address.value().is_v4():
        octets.append(_IPV4)
        for place in range(24, -1, -8):
            var number = address.value().v4_number() >> UInt32(place)
            octets.append(UInt8(number & 255))
    else:
        octets.append(_IPV6)
        for octet in address.value().v6_octets():
            octets.append(octet)
    octets.append(UInt8(port >> 8))
    octets.append(UInt8(port & 255))
    return octets^


def socks_reason(code: UInt8) -> StaticString:
    """Returns the meaning of a refusal (section 6).

    Args:
        code: The reply, not 0.

    Returns:
        A phrase.
    """
    if code == 2:
        return "the proxy's rules forbid it"
    if code == 3 or code == 4:
        return "the proxy cannot reach the host"
    if code == 5:
        return "the host refuses the proxy's connection"
    if code == 7 or code == 8:
        return "the proxy does not connect to such hosts"
    return "the proxy has failed"


def _address_of(host: StringSlice) -> Optional[IpAddr]:
    try:
        return IpAddr.parse(String(host))
    except:
        return None


def _read_exactly(tcp: TcpStream, count: Int) raises -> List[UInt8]:
    var octets = List[UInt8](length=count, fill=0)
    var read = 0
    while read < count:
        var came = tcp.read(Span(octets)[read:count])
        if came == 0:
            raise raised(
                ClientError.CLOSED,
                Phase.HANDSHAKE,
                "the proxy closed before its answer was whole",
            )
        read += came
    return octets^


def _no_socks(reason: StaticString) -> Error:
    return raised(ClientError.PROXY, Phase.HANDSHAKE, reason)
