"""Tests for multicast groups on the loopback interface."""

from std.testing import assert_raises

from flare.net import IpAddr, NetError, SocketAddr, interface_index
from flare.udp import UdpSocket
from tests.asserting import assert_equal, assert_true
from tests.tcp.loops import on_each_backend


def test_every_member_of_a_group_gets_what_is_sent_to_it() raises:
    on_each_backend(_members)


def test_who_left_a_group_gets_nothing_more() raises:
    on_each_backend(_left)


def test_a_group_is_joined_once_and_left_once() raises:
    for text in ["239.77.0.1", "ff02::77"]:
        var group = IpAddr.parse(text)
        var socket = UdpSocket.bind(
            SocketAddr.any_v4(0) if group.is_v4() else SocketAddr.any_v6(0)
        )
        var loopback = interface_index("lo")
        socket.join_group(group, interface_index=loopback)
        with assert_raises(contains="net.address_in_use option"):
            socket.join_group(group, interface_index=loopback)
        socket.leave_group(group, interface_index=loopback)
        with assert_raises(contains="net.address_not_available option"):
            socket.leave_group(group, interface_index=loopback)


def test_what_is_no_group_is_refused() raises:
    var socket = UdpSocket.bind(SocketAddr.any_v4(0))
    for text in ["127.0.0.1", "255.255.255.255", "::1"]:
        try:
            socket.join_group(IpAddr.parse(text))
            assert_true(False, "it is no group")
        except e:
            assert_equal(NetError.of(e).value().kind, NetError.UNSUPPORTED)
    # A group of the other version.
    with assert_raises(contains="option"):
        socket.join_group(IpAddr.parse("ff02::77"))
    socket.close()
    with assert_raises(contains="net.closed option"):
        socket.join_group(IpAddr.parse("239.77.0.1"))


def test_options_of_groups_hold_in_both_versions() raises:
    for any in [SocketAddr.any_v4(0), SocketAddr.any_v6(0)]:
        var socket = UdpSocket.bind(any)
        var is_v4 = any.ip.is_v4()
        var level = 0 if is_v4 else 41
        assert_equal(socket.option(level, 34 if is_v4 else 19), 1)
        socket.set_multicast_loop(False)
        assert_equal(socket.option(level, 34 if is_v4 else 19), 0)
        assert_equal(socket.option(level, 33 if is_v4 else 18), 1)
        socket.set_multicast_hops(7)
        assert_equal(socket.option(level, 33 if is_v4 else 18), 7)
        socket.set_multicast_interface(interface_index("lo"))
        with assert_raises(contains="option"):
            socket.set_multicast_interface(1_000_000)


def test_an_interface_has_an_index_or_is_not_there() raises:
    assert_true(interface_index("lo") >= 1)
    var names: List[String] = [
        String(),
        String("no-such-one"),
        String("lo\x00"),
        String("a-name-of-16-oct"),
        String("x") * 300,
    ]
    for name in names:
        with assert_raises(contains="net.other option errno=19"):
            _ = interface_index(name)


def _members() raises:
    var group = IpAddr.parse("239.77.0.1")
    var loopback = interface_index("lo")
    var first = UdpSocket.bind(SocketAddr.any_v4(0), reuse_address=True)
    var port = first.local_address().port
    var second = UdpSocket.bind(SocketAddr.any_v4(port), reuse_address=True)
    first.join_group(group, interface_index=loopback)
    second.join_group(group, interface_index=loopback)
    var sender = UdpSocket.bind(SocketAddr.any_v4(0))
    sender.set_multicast_interface(loopback)
    sender.send_to("hello".as_bytes(), SocketAddr(group, port))
    var into = List[UInt8](length=64, fill=0)
    assert_equal(first.recv_from(Span(into))[0], 5)
    assert_equal(second.recv_from(Span(into))[0], 5)


def _left() raises:
    var group = IpAddr.parse("239.77.0.2")
    var loopback = interface_index("lo")
    var member = UdpSocket.bind(SocketAddr.any_v4(0))
    var address = SocketAddr(group, member.local_address().port)
    var sender = UdpSocket.bind(SocketAddr.any_v4(0))
    sender.set_multicast_interface(loopback)
    member.join_group(group, interface_index=loopback)
    sender.send_to("in".as_bytes(), address)
    var into = List[UInt8](length=64, fill=0)
    assert_equal(member.recv_from(Span(into))[0], 2)
    member.leave_group(group, interface_index=loopback)
    sender.send_to("out".as_bytes(), address)
    member.set_receive_timeout_ms(5)
    with assert_raises(contains="net.timeout receive_from"):
        _ = member.recv_from(Span(into))


comptime TESTS = __functions_in_module()
