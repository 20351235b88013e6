"""Tests for many datagrams in one call."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.net import SocketAddr
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.udp import DatagramBatch, DatagramTooLarge, UdpSocket
from tests.asserting import assert_equal, assert_false, assert_true
from tests.tcp.loops import octets_of, on_each_backend, pattern

comptime _Shared = ArcPointer[UdpSocket]


def test_a_batch_goes_out_and_comes_in_whole() raises:
    on_each_backend(_whole)


def test_a_batch_on_connected_sockets_needs_no_addresses() raises:
    on_each_backend(_connected)


def test_a_batch_takes_what_has_come_and_leaves_the_rest() raises:
    on_each_backend(_rest)


def test_a_datagram_that_was_cut_raises_and_the_others_are_whole() raises:
    on_each_backend(_cut)


def test_a_batch_that_cannot_go_out_says_how_far_it_came() raises:
    on_each_backend(_partly)


def test_a_receive_of_a_batch_waits_and_can_be_ended() raises:
    on_each_backend(_waits)


def test_the_bounds_of_a_batch_hold() raises:
    var none = DatagramBatch(0, octets_max=-1)
    assert_equal(none.count_max(), 1)
    none.append(Span(List[UInt8]()))
    assert_true(none.is_full())
    with assert_raises(contains="net.no_memory send_to"):
        none.append(Span(List[UInt8]()))
    none.clear()
    assert_equal(len(none), 0)
    try:
        none.append("x".as_bytes(), SocketAddr.localhost(9))
        assert_true(False, "there is no room")
    except e:
        assert_equal(DatagramTooLarge.of(e).value().octets, 1)
    var many = DatagramBatch(5000, octets_max=8)
    assert_equal(many.count_max(), DatagramBatch.COUNT_MAX)
    for i in range(DatagramBatch.COUNT_MAX):
        many.append(Span(pattern(i % 9)), SocketAddr.localhost(UInt16(i)))
    for i in range(DatagramBatch.COUNT_MAX):
        assert_true(List(many.octets(i)) == pattern(i % 9))
        assert_true(many.address(i).value() == SocketAddr.localhost(UInt16(i)))
    var moved = many^
    assert_equal(len(moved), DatagramBatch.COUNT_MAX)


def _whole() raises:
    for any in [SocketAddr.localhost(0), SocketAddr.localhost_v6(0)]:
        var server = UdpSocket.bind(any)
        var client = UdpSocket.bind(any)
        var batch = DatagramBatch(16, octets_max=1500)
        for i in range(16):
            batch.append(Span(pattern(i * 100)), server.local_address())
        assert_equal(client.send_batch(batch), 16)
        var came = DatagramBatch(32, octets_max=1500)
        var count = 0
        while count < 16:
            var now = server.recv_batch(came)
            assert_equal(len(came), now)
            for i in range(now):
                assert_true(
                    List(came.octets(i)) == pattern((count + i) * 100),
                    String(count + i),
                )
                assert_true(came.address(i).value() == client.local_address())
            count += now
        assert_equal(count, 16)


def _connected() raises:
    var server = UdpSocket.bind(SocketAddr.localhost(0))
    var client = UdpSocket.bind(SocketAddr.localhost(0))
    client.connect(server.local_address())
    var batch = DatagramBatch(4)
    batch.append("a".as_bytes())
    batch.append("bc".as_bytes())
    assert_false(batch.address(0))
    assert_equal(client.send_batch(batch, start=1), 1)
    assert_equal(client.send_batch(batch, start=2), 0)
    assert_equal(client.send_batch(batch, start=-1), 0)
    assert_equal(server.recv_batch(batch), 1)
    assert_equal(List(batch.octets(0)), octets_of("bc"))
    assert_true(batch.address(0).value() == client.local_address())
    # What was received goes back to where it came from.
    assert_equal(server.send_batch(batch), 1)
    assert_equal(client.recv_batch(batch), 1)
    assert_equal(List(batch.octets(0)), octets_of("bc"))


def _rest() raises:
    var server = UdpSocket.bind(SocketAddr.localhost(0))
    var address = server.local_address()
    for i in range(5):
        server.send_to(Span(pattern(i)), address)
    var batch = DatagramBatch(3)
    assert_equal(server.recv_batch(batch), 3)
    assert_equal(server.recv_batch(batch), 2)
    assert_equal(len(batch.octets(1)), 4)
    server.set_receive_timeout_ms(0)
    with assert_raises(contains="net.timeout receive_from"):
        _ = server.recv_batch(batch)
    assert_equal(len(batch), 0)


def _cut() raises:
    var server = UdpSocket.bind(SocketAddr.localhost(0))
    var address = server.local_address()
    for length in [4, 11, 10, 0]:
        server.send_to(Span(pattern(length)), address)
    var batch = DatagramBatch(8, octets_max=10)
    assert_equal(server.recv_batch(batch), 4)
    assert_true(List(batch.octets(0)) == pattern(4))
    try:
        _ = batch.octets(1)
        assert_true(False, "its last octet is lost")
    except e:
        var error = DatagramTooLarge.of(e).value()
        assert_equal(error.octets, 11)
        assert_equal(error.octets_max, 10)
        assert_true(error.address.value() == address)
    assert_true(List(batch.octets(2)) == pattern(10))
    assert_equal(len(batch.octets(3)), 0)
    # Nor does it go on to anybody in part.
    assert_equal(server.send_batch(batch), 1)
    with assert_raises(contains="net.too_large send_to"):
        _ = server.send_batch(batch, start=1)
    assert_equal(server.send_batch(batch, start=2), 2)
    assert_equal(server.recv_batch(batch), 3)
    assert_true(List(batch.octets(1)) == pattern(10))


def _partly() raises:
    var server = UdpSocket.bind(SocketAddr.localhost(0))
    var address = server.local_address()
    var batch = DatagramBatch(4, octets_max=65_535)
    batch.append("a".as_bytes(), address)
    batch.append(Span(pattern(65_508)), address)
    batch.append("c".as_bytes(), address)
    assert_equal(server.send_batch(batch), 1)
    try:
        _ = server.send_batch(batch, start=1)
        assert_true(False, "it is too large")
    except e:
        var error = DatagramTooLarge.of(e).value()
        assert_equal(error.octets, 65_508)
        assert_equal(error.octets_max, 65_507)
        assert_true(error.address.value() == address)
    assert_equal(server.send_batch(batch, start=2), 1)
    assert_equal(server.recv_batch(batch), 2)
    assert_equal(List(batch.octets(1)), octets_of("c"))


def _waits() raises:
    var socket = _Shared(UdpSocket.bind(SocketAddr.localhost(0)))
    var held = socket

    def receive() raises {var held} -> Int:
        var batch = DatagramBatch(4)
        return held[].recv_batch(batch)

    var receiving = spawn(receive)
    sleep(1)
    assert_false(receiving.is_done())
    socket[].send_to("x".as_bytes(), socket[].local_address())
    assert_equal(receiving^.join(), 1)
    var closing = spawn(receive)
    sleep(1)
    socket[].close()
    with assert_raises(contains="net.closed receive_from"):
        _ = closing^.join()


comptime TESTS = __functions_in_module()
