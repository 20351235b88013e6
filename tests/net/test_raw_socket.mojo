"""Tests for `flare.net.raw_socket`, on the loopback address."""

from std.testing import assert_raises

from flare.net import NetError, RawSocket, SocketAddr
from flare.sys.socket import accept_socket, receive_octets, socket_option
from flare.sys.socket_address import (
    AF_INET,
    AF_INET6,
    AF_UNIX,
    SocketAddressStorage,
)
from flare.sys.socket_constants import (
    SOCK_DGRAM,
    SOCK_STREAM,
    SOL_SOCKET,
    SO_DOMAIN,
    SO_TYPE,
)
from tests.asserting import assert_equal, assert_false, assert_true
from tests.sys.ready import wait_readable, wait_writable


def _listening() raises -> RawSocket:
    var listener = RawSocket.tcp_v4()
    listener.bind(SocketAddr.localhost(0))
    listener.listen()
    return listener^


def _is_open(descriptor: Int32) -> Bool:
    var value = 0
    return socket_option(descriptor, SOL_SOCKET, SO_TYPE, value) == 0


def _kind_of(e: Error) raises -> Int:
    var error = NetError.of(e)
    assert_true(Bool(error), String(e))
    return error.value().kind


def test_sockets_have_the_family_and_type_of_their_names() raises:
    var tcp_v4 = RawSocket.tcp_v4()
    assert_equal(tcp_v4.option(SOL_SOCKET, SO_DOMAIN), AF_INET)
    assert_equal(tcp_v4.option(SOL_SOCKET, SO_TYPE), SOCK_STREAM)
    var tcp_v6 = RawSocket.tcp_v6()
    assert_equal(tcp_v6.option(SOL_SOCKET, SO_DOMAIN), AF_INET6)
    assert_equal(tcp_v6.option(SOL_SOCKET, SO_TYPE), SOCK_STREAM)
    var udp_v4 = RawSocket.udp_v4()
    assert_equal(udp_v4.option(SOL_SOCKET, SO_DOMAIN), AF_INET)
    assert_equal(udp_v4.option(SOL_SOCKET, SO_TYPE), SOCK_DGRAM)
    var udp_v6 = RawSocket.udp_v6()
    assert_equal(udp_v6.option(SOL_SOCKET, SO_DOMAIN), AF_INET6)
    assert_equal(udp_v6.option(SOL_SOCKET, SO_TYPE), SOCK_DGRAM)
    var unix = RawSocket.of(AF_UNIX, SOCK_STREAM)
    assert_equal(unix.option(SOL_SOCKET, SO_DOMAIN), AF_UNIX)


def test_the_end_of_its_life_closes_the_socket() raises:
    var socket = RawSocket.tcp_v4()
    var descriptor = socket.descriptor()
    assert_true(_is_open(descriptor))
    _ = socket^
    assert_false(_is_open(descriptor))


def test_closing_twice_closes_once() raises:
    var socket = RawSocket.tcp_v4()
    var descriptor = socket.descriptor()
    socket.close()
    assert_false(socket.is_open())
    assert_equal(socket.descriptor(), -1)
    # The number goes to the next socket, which the second close must spare.
    var other = RawSocket.tcp_v4()
    assert_equal(other.descriptor(), descriptor)
    socket.close()
    _ = socket^
    assert_true(_is_open(descriptor))
    _ = other^


def test_a_descriptor_given_away_stays_open() raises:
    var descriptor = RawSocket.tcp_v4().into_descriptor()
    assert_true(_is_open(descriptor))
    var socket = RawSocket(unsafe_descriptor=descriptor)
    _ = socket^
    assert_false(_is_open(descriptor))


def test_a_closed_socket_says_so() raises:
    var socket = RawSocket.tcp_v4()
    socket.close()
    with assert_raises(contains="net.closed option errno=9"):
        socket.set_no_delay(True)
    with assert_raises(contains="net.closed bind 127.0.0.1:0 errno=9"):
        socket.bind(SocketAddr.localhost(0))
    with assert_raises(contains="net.closed listen errno=9"):
        socket.listen()
    with assert_raises(contains="net.closed connect 127.0.0.1:9 errno=9"):
        _ = socket.start_connect(SocketAddr.localhost(9))
    with assert_raises(contains="net.closed local_address errno=9"):
        _ = socket.local_address()
    with assert_raises(contains="net.closed peer_address errno=9"):
        _ = socket.peer_address()
    with assert_raises(contains="net.closed shut_down errno=9"):
        socket.end_sending()


def test_a_connect_reaches_a_listener() raises:
    var listener = _listening()
    var address = listener.local_address()
    assert_true(address.port != 0)
    var client = RawSocket.tcp_v4()
    if not client.start_connect(address):
        wait_writable(client.descriptor())
    client.finish_connect(address)
    assert_true(client.peer_address() == address)
    var peer = SocketAddressStorage()
    wait_readable(listener.descriptor())
    var accepted = accept_socket(listener.descriptor(), peer)
    assert_true(accepted >= 0)
    var server = RawSocket(unsafe_descriptor=Int32(accepted))
    assert_true(SocketAddr.from_storage(peer).value() == client.local_address())
    client.end_sending()
    wait_readable(server.descriptor())
    var octets = Array[UInt8, 4](fill=0)
    assert_equal(receive_octets(server.descriptor(), Span(octets)), 0)
    _ = server^
    _ = listener^


def test_a_refused_connect_names_the_address() raises:
    var listener = _listening()
    var address = listener.local_address()
    listener.close()
    var client = RawSocket.tcp_v4()
    try:
        assert_false(client.start_connect(address))
        wait_writable(client.descriptor())
        client.finish_connect(address)
        assert_true(False, "nobody listens")
    except e:
        assert_equal(
            String(e), String("net.refused connect ", address, " errno=111")
        )


def test_an_address_in_use_is_named() raises:
    var listener = _listening()
    var address = listener.local_address()
    var other = RawSocket.tcp_v4()
    try:
        other.bind(address)
        assert_true(False, "the address is taken")
    except e:
        assert_equal(_kind_of(e), NetError.ADDRESS_IN_USE)
        assert_true(NetError.of(e).value().address.value() == address)
    _ = listener^


def test_an_address_of_another_machine_cannot_be_bound() raises:
    var socket = RawSocket.tcp_v4()
    try:
        socket.bind(SocketAddr.parse("192.0.2.1:0"))
        assert_true(False, "the address is not ours")
    except e:
        assert_equal(_kind_of(e), NetError.ADDRESS_NOT_AVAILABLE)


def test_an_unknown_family_is_unsupported() raises:
    try:
        _ = RawSocket.of(1000, SOCK_STREAM)
        assert_true(False, "no such family")
    except e:
        assert_equal(_kind_of(e), NetError.UNSUPPORTED)
        assert_equal(NetError.of(e).value().operation, "open")


def test_a_family_that_is_not_ip_has_no_socket_address() raises:
    var unix = RawSocket.of(AF_UNIX, SOCK_STREAM)
    with assert_raises(contains="net.unsupported local_address"):
        _ = unix.local_address()


def test_a_datagram_socket_cannot_listen() raises:
    var socket = RawSocket.udp_v4()
    with assert_raises(contains="net.unsupported listen"):
        socket.listen()


comptime TESTS = __functions_in_module()
