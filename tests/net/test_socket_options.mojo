"""Tests for `flare.net.socket_options`, read back from the kernel."""

from std.testing import assert_raises

from flare.net import KeepAlive, RawSocket, SocketAddr
from flare.sys.socket import accept_socket, receive_octets
from flare.sys.socket_address import SocketAddressStorage
from flare.sys.socket_constants import (
    IPPROTO_IP,
    IPPROTO_IPV6,
    IPPROTO_TCP,
    IPV6_TCLASS,
    IPV6_V6ONLY,
    IP_TOS,
    SOL_SOCKET,
    SO_BROADCAST,
    SO_KEEPALIVE,
    SO_RCVBUF,
    SO_REUSEADDR,
    SO_REUSEPORT,
    SO_SNDBUF,
    TCP_KEEPCNT,
    TCP_KEEPIDLE,
    TCP_KEEPINTVL,
    TCP_NODELAY,
)
from tests.asserting import assert_equal, assert_true
from tests.sys.ready import wait_readable


def _listening() raises -> RawSocket:
    var listener = RawSocket.tcp_v4()
    listener.bind(SocketAddr.localhost(0))
    listener.listen()
    return listener^


def test_two_sockets_share_a_port_when_both_ask() raises:
    var first = RawSocket.tcp_v4()
    first.set_reuse_port(True)
    first.bind(SocketAddr.localhost(0))
    first.listen()
    var second = RawSocket.tcp_v4()
    second.set_reuse_port(True)
    second.bind(first.local_address())
    second.listen()
    assert_true(second.local_address() == first.local_address())


def test_switches_are_seen_by_the_kernel() raises:
    var socket = RawSocket.tcp_v4()
    for wanted in range(1, -1, -1):
        var enabled = wanted == 1
        socket.set_reuse_address(enabled)
        assert_equal(socket.option(SOL_SOCKET, SO_REUSEADDR), wanted)
        socket.set_reuse_port(enabled)
        assert_equal(socket.option(SOL_SOCKET, SO_REUSEPORT), wanted)
        socket.set_no_delay(enabled)
        assert_equal(Int(socket.option(IPPROTO_TCP, TCP_NODELAY) != 0), wanted)
        socket.set_broadcast(enabled)
        assert_equal(socket.option(SOL_SOCKET, SO_BROADCAST), wanted)


def test_keep_alive_sets_all_its_times() raises:
    var socket = RawSocket.tcp_v4()
    assert_equal(socket.option(SOL_SOCKET, SO_KEEPALIVE), 0)
    socket.set_keep_alive(KeepAlive(60, 7, 3))
    assert_equal(socket.option(SOL_SOCKET, SO_KEEPALIVE), 1)
    assert_equal(socket.option(IPPROTO_TCP, TCP_KEEPIDLE), 60)
    assert_equal(socket.option(IPPROTO_TCP, TCP_KEEPINTVL), 7)
    assert_equal(socket.option(IPPROTO_TCP, TCP_KEEPCNT), 3)
    socket.set_keep_alive(None)
    assert_equal(socket.option(SOL_SOCKET, SO_KEEPALIVE), 0)
    with assert_raises(contains="net.other option errno=22"):
        socket.set_keep_alive(KeepAlive(0, 1, 1))


def test_buffers_get_at_least_what_was_asked() raises:
    var socket = RawSocket.tcp_v4()
    socket.set_send_buffer_octets(32768)
    assert_equal(socket.option(SOL_SOCKET, SO_SNDBUF), 65536)
    socket.set_receive_buffer_octets(65536)
    assert_equal(socket.option(SOL_SOCKET, SO_RCVBUF), 131072)


def test_no_linger_time_resets_the_peer() raises:
    var listener = _listening()
    var client = RawSocket.tcp_v4()
    var address = listener.local_address()
    _ = client.start_connect(address)
    wait_readable(listener.descriptor())
    var peer = SocketAddressStorage()
    var server = RawSocket(
        unsafe_descriptor=Int32(accept_socket(listener.descriptor(), peer))
    )
    client.set_linger(0)
    client.close()
    wait_readable(server.descriptor())
    var octets = Array[UInt8, 4](fill=0)
    assert_equal(receive_octets(server.descriptor(), Span(octets)), -104)
    _ = server^
    _ = listener^


def test_waiting_in_close_is_refused() raises:
    var socket = RawSocket.tcp_v4()
    for seconds in [1, -1, 65_536]:
        with assert_raises(contains="net.unsupported option"):
            socket.set_linger(seconds)
    socket.set_linger(0)
    socket.set_linger(None)
    socket.close()
    with assert_raises(contains="net.closed option"):
        socket.set_linger(0)


def test_v6_only_belongs_to_v6() raises:
    var v6 = RawSocket.tcp_v6()
    v6.set_v6_only(True)
    assert_equal(v6.option(IPPROTO_IPV6, IPV6_V6ONLY), 1)
    v6.set_v6_only(False)
    assert_equal(v6.option(IPPROTO_IPV6, IPV6_V6ONLY), 0)
    var v4 = RawSocket.tcp_v4()
    with assert_raises(contains="net.unsupported option"):
        v4.set_v6_only(True)


def test_type_of_service_fits_the_family() raises:
    var v4 = RawSocket.udp_v4()
    v4.set_type_of_service(0xB8)
    assert_equal(v4.option(IPPROTO_IP, IP_TOS), 0xB8)
    var v6 = RawSocket.udp_v6()
    v6.set_type_of_service(0x88)
    assert_equal(v6.option(IPPROTO_IPV6, IPV6_TCLASS), 0x88)


comptime TESTS = __functions_in_module()
