"""Tests for single datagrams of `flare.udp`: lengths, peers, refusals."""

from std.testing import assert_raises

from flare.net import NetError, SocketAddr
from flare.runtime.task import spawn
from flare.udp import DatagramTooLarge, UdpSocket
from tests.asserting import assert_equal, assert_false, assert_true
from tests.tcp.loops import octets_of, on_each_backend, pattern


def test_a_datagram_arrives_whole_with_its_sender() raises:
    on_each_backend(_echo)


def test_datagrams_of_every_length_arrive_and_one_more_octet_is_refused() raises:
    on_each_backend(_lengths)


def test_a_datagram_longer_than_the_room_raises_and_the_next_one_arrives() raises:
    on_each_backend(_truncated)


def test_a_connected_socket_speaks_with_one_peer() raises:
    on_each_backend(_connected)


def test_a_peer_that_refuses_shows_on_a_connected_socket() raises:
    on_each_backend(_refused)


def test_a_socket_at_any_v6_address_takes_v4_unless_told_not_to() raises:
    on_each_backend(_dual_stack)


def test_an_address_in_use_is_refused_unless_both_share_it() raises:
    on_each_backend(_in_use)


def test_a_broadcast_needs_leave() raises:
    on_each_backend(_broadcast)


def test_a_closed_socket_says_so() raises:
    on_each_backend(_closed)


def test_without_a_peer_nothing_is_sent() raises:
    on_each_backend(_no_peer)


def test_one_try_mixes_errors_of_datagrams_with_others() raises:
    on_each_backend(_mixed)


def _echo() raises:
    for any in [SocketAddr.localhost(0), SocketAddr.localhost_v6(0)]:
        var server = UdpSocket.bind(any)
        var client = UdpSocket.bind(any)
        var address = server.local_address()
        assert_true(address.ip == any.ip)
        assert_true(address.port != 0)

        def serve() raises {var server^} -> Int:
            var octets = List[UInt8](length=64, fill=0)
            var came = server.recv_from(Span(octets))
            server.send_to(Span(octets)[0 : came[0]], came[1])
            return came[0]

        var serving = spawn(serve^)
        client.send_to("hello".as_bytes(), address)
        var into = List[UInt8](length=64, fill=0)
        var came = client.recv_from(Span(into))
        assert_equal(came[0], 5)
        assert_true(came[1] == address)
        assert_equal(List(Span(into)[0:5]), octets_of("hello"))
        assert_equal(serving^.join(), 5)


def _lengths() raises:
    for any in [SocketAddr.localhost(0), SocketAddr.localhost_v6(0)]:
        var server = UdpSocket.bind(any)
        var client = UdpSocket.bind(any)
        var address = server.local_address()
        var octets_max = (
            UdpSocket.OCTETS_MAX_V4 if any.ip.is_v4() else UdpSocket.OCTETS_MAX_V6
        )
        var into = List[UInt8](length=65_536, fill=7)
        for length in [0, 1, 1472, 1473, octets_max - 1, octets_max]:
            client.send_to(Span(pattern(length)), address)
            var came = server.recv_from(Span(into))
            assert_equal(came[0], length)
            assert_true(List(Span(into)[0:length]) == pattern(length))
        for length in [octets_max + 1, 65_536, 100_000]:
            try:
                client.send_to(Span(pattern(length)), address)
                assert_true(False, "it is too large")
            except e:
                var error = DatagramTooLarge.of(e).value()
                assert_equal(error.operation, "send_to")
                assert_equal(error.octets, length)
                assert_equal(error.octets_max, octets_max)
                assert_true(error.address.value() == address)
                assert_equal(NetError.of(e).value().kind, NetError.TOO_LARGE)
                assert_equal(NetError.of(e).value().errno, 90)
        # Nothing of it was sent.
        client.send_to("x".as_bytes(), address)
        assert_equal(server.recv_from(Span(into))[0], 1)


def _truncated() raises:
    var server = UdpSocket.bind(SocketAddr.localhost(0))
    var client = UdpSocket.bind(SocketAddr.localhost(0))
    var sender = client.local_address()
    client.connect(server.local_address())
    for room in [0, 1, 9]:
        client.send("0123456789".as_bytes())
        client.send("next".as_bytes())
        var into = List[UInt8](length=16, fill=0)
        try:
            _ = server.recv_from(Span(into)[0:room])
            assert_true(False, "it does not fit")
        except e:
            assert_equal(
                String(e),
                String(
                    "net.too_large receive_from ",
                    sender,
                    ": octets=10",
                    String(" limit=", room) if room > 0 else String(),
                ),
            )
            var error = DatagramTooLarge.of(e).value()
            assert_equal(error.octets, 10)
            assert_equal(error.octets_max, room)
            assert_true(error.address.value() == sender)
            assert_equal(NetError.of(e).value().errno, 0)
        # What had no room was not touched.
        assert_equal(into[room], 0)
        assert_equal(server.recv_from(Span(into))[0], 4)
    client.send("0123456789".as_bytes())
    var exact = List[UInt8](length=10, fill=0)
    assert_equal(server.recv_from(Span(exact))[0], 10)


def _connected() raises:
    var server = UdpSocket.bind(SocketAddr.localhost(0))
    var client = UdpSocket.bind(SocketAddr.any_v4(0))
    var stranger = UdpSocket.bind(SocketAddr.localhost(0))
    with assert_raises(contains="net.closed peer_address"):
        _ = client.peer_address()
    client.connect(server.local_address())
    assert_true(client.peer_address() == server.local_address())
    # The kernel has chosen the address that leads to the peer.
    assert_true(client.local_address().ip.is_loopback())
    stranger.send_to("lies".as_bytes(), client.local_address())
    client.send("ask".as_bytes())
    var into = List[UInt8](length=64, fill=0)
    var came = server.recv_from(Span(into))
    assert_equal(came[0], 3)
    server.send_to("answer".as_bytes(), came[1])
    assert_equal(client.recv(Span(into)), 6)
    assert_equal(List(Span(into)[0:6]), octets_of("answer"))
    # Another receiver may still be named.
    client.send_to("hello".as_bytes(), stranger.local_address())
    assert_equal(stranger.recv_from(Span(into))[0], 5)
    try:
        client.send(Span(List[UInt8](length=65_508, fill=0)))
        assert_true(False, "it is too large")
    except e:
        var error = DatagramTooLarge.of(e).value()
        assert_equal(error.operation, "send")
        assert_equal(error.octets_max, 65_507)
        assert_true(error.address.value() == server.local_address())


def _refused() raises:
    var server = UdpSocket.bind(SocketAddr.localhost(0))
    var address = server.local_address()
    var client = UdpSocket.bind(SocketAddr.localhost(0))
    client.connect(address)
    server.close()
    client.send("anybody?".as_bytes())
    var into = List[UInt8](length=64, fill=0)
    try:
        _ = client.recv(Span(into))
        assert_true(False, "nobody is there")
    except e:
        assert_equal(
            String(e), String("net.refused receive ", address, " errno=111")
        )
    # The error was told; the socket goes on.
    client.set_receive_timeout_ms(1)
    with assert_raises(contains=String("net.timeout receive ", address)):
        _ = client.recv(Span(into))
    client.send("still?".as_bytes())
    with assert_raises(contains=String("net.refused send ", address)):
        for _ in range(2):
            client.send("and now?".as_bytes())


def _dual_stack() raises:
    var both = UdpSocket.bind(SocketAddr.any_v6(0))
    var port = both.local_address().port
    var by_v4 = UdpSocket.bind(SocketAddr.localhost(0))
    var into = List[UInt8](length=64, fill=0)
    by_v4.send_to("v4".as_bytes(), SocketAddr.localhost(port))
    var came = both.recv_from(Span(into))
    assert_equal(
        String(came[1]),
        String("[::ffff:127.0.0.1]:", by_v4.local_address().port),
    )
    both.send_to("mapped".as_bytes(), came[1])
    assert_equal(by_v4.recv_from(Span(into))[0], 6)
    both.send_to("plain".as_bytes(), by_v4.local_address())
    assert_equal(by_v4.recv_from(Span(into))[0], 5)
    try:
        both.send_to(Span(List[UInt8](length=65_508, fill=0)), came[1])
        assert_true(False, "a mapped address has the limit of IPv4")
    except e:
        assert_equal(DatagramTooLarge.of(e).value().octets_max, 65_507)
    var only = UdpSocket.bind(SocketAddr.any_v6(0), v6_only=True)
    with assert_raises(contains="send_to"):
        only.send_to("v4".as_bytes(), by_v4.local_address())


def _in_use() raises:
    var first = UdpSocket.bind(SocketAddr.localhost(0))
    try:
        _ = UdpSocket.bind(first.local_address(), reuse_address=True)
        assert_true(False, "the address is taken")
    except e:
        assert_equal(NetError.of(e).value().kind, NetError.ADDRESS_IN_USE)
        assert_true(
            NetError.of(e).value().address.value() == first.local_address()
        )
    var one = UdpSocket.bind(SocketAddr.localhost(0), reuse_address=True)
    var two = UdpSocket.bind(one.local_address(), reuse_address=True)
    assert_true(one.local_address() == two.local_address())
    var three = UdpSocket.bind(SocketAddr.localhost(0), reuse_port=True)
    var four = UdpSocket.bind(three.local_address(), reuse_port=True)
    assert_true(three.local_address() == four.local_address())


def _broadcast() raises:
    var receiver = UdpSocket.bind(SocketAddr.any_v4(0))
    var sender = UdpSocket.bind(SocketAddr.localhost(0))
    var everybody = SocketAddr.parse(
        String("127.255.255.255:", receiver.local_address().port)
    )
    with assert_raises(contains="net.permission send_to 127.255.255.255:"):
        sender.send_to("hello".as_bytes(), everybody)
    sender.set_broadcast(True)
    sender.send_to("hello".as_bytes(), everybody)
    var into = List[UInt8](length=64, fill=0)
    var came = receiver.recv_from(Span(into))
    assert_equal(came[0], 5)
    assert_true(came[1] == sender.local_address())


def _closed() raises:
    var socket = UdpSocket.bind(SocketAddr.localhost(0))
    var address = socket.local_address()
    var into = List[UInt8](length=64, fill=0)
    socket.close()
    socket.close()
    assert_false(socket.is_open())
    assert_equal(socket.descriptor(), -1)
    with assert_raises(contains="net.closed receive_from"):
        _ = socket.recv_from(Span(into))
    with assert_raises(contains="net.closed send_to"):
        socket.send_to("x".as_bytes(), address)
    with assert_raises(contains="net.closed connect"):
        socket.connect(address)
    with assert_raises(contains="net.closed local_address"):
        _ = socket.local_address()
    with assert_raises(contains="net.closed option"):
        socket.set_broadcast(True)
    # The address is free again.
    var next = UdpSocket.bind(address)
    assert_true(next.local_address() == address)


def _no_peer() raises:
    var socket = UdpSocket.bind(SocketAddr.localhost(0))
    with assert_raises(contains="errno=89"):
        socket.send("x".as_bytes())


def _mixed() raises:
    var socket = UdpSocket.bind(SocketAddr.localhost(0))
    var seen = List[String]()
    for row in ["100000", "many", "1"]:
        try:
            var octets = List[UInt8](length=Int(row), fill=0)
            socket.send_to(Span(octets), socket.local_address())
            seen.append("sent")
        except e:
            seen.append("large" if DatagramTooLarge.of(e) else "other")
    assert_equal(" ".join(seen), "large other sent")


comptime TESTS = __functions_in_module()
