"""Tests for Unix sockets of datagrams."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.net import NetError
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.unix import DatagramTooLarge, UnixDatagram
from tests.asserting import assert_equal, assert_false, assert_true
from tests.tcp.loops import octets_of, on_each_backend, pattern
from tests.unix.names import abstract_name

comptime _Shared = ArcPointer[UnixDatagram]


def test_a_datagram_arrives_whole_and_is_answered() raises:
    on_each_backend(_echo)


def test_who_has_no_name_cannot_be_answered() raises:
    on_each_backend(_unbound)


def test_what_does_not_fit_raises_both_ways() raises:
    on_each_backend(_too_large)


def test_a_send_to_a_full_queue_waits_for_room() raises:
    on_each_backend(_full)


def test_a_send_that_waits_can_be_ended() raises:
    on_each_backend(_ended)


def test_a_receiver_that_is_gone_says_so() raises:
    on_each_backend(_gone)


def test_closing_ends_a_receive() raises:
    on_each_backend(_close_under_wait)


def _echo() raises:
    var server = UnixDatagram.bind(abstract_name(20))
    var client = UnixDatagram.bind(abstract_name(21))
    var into = List[UInt8](length=70_000, fill=0)
    for length in [0, 1, 65_536]:
        client.send_to(Span(pattern(length)), abstract_name(20))
        var came = server.recv_from(Span(into))
        assert_equal(came[0], length)
        assert_equal(String(came[1]), abstract_name(21))
        assert_true(List(Span(into)[0:length]) == pattern(length))
        server.send_to(Span(into)[0:length], came[1])
        assert_equal(client.recv(Span(into)), length)
    client.connect(abstract_name(20))
    assert_equal(String(client.peer_address()), abstract_name(20))
    assert_equal(String(client.local_address()), abstract_name(21))
    client.send("abc".as_bytes())
    assert_equal(server.recv(Span(into)), 3)
    assert_equal(List(Span(into)[0:3]), octets_of("abc"))


def _unbound() raises:
    var server = UnixDatagram.bind(abstract_name(22))
    var client = UnixDatagram.unbound()
    client.send_to("x".as_bytes(), abstract_name(22))
    var into = List[UInt8](length=8, fill=0)
    var came = server.recv_from(Span(into))
    assert_true(came[1].is_unnamed())
    with assert_raises(contains="net.bad_address send_to"):
        server.send_to("y".as_bytes(), came[1])
    with assert_raises(contains="net.closed send"):
        client.send("z".as_bytes())
    assert_true(client.local_address().is_unnamed())


def _too_large() raises:
    var server = UnixDatagram.bind(abstract_name(23))
    var client = UnixDatagram.bind(abstract_name(24))
    client.set_send_buffer_octets(10_000)
    try:
        client.send_to(Span(pattern(100_000)), abstract_name(23))
        assert_true(False, "it is larger than the buffer")
    except e:
        var error = DatagramTooLarge.of(e).value()
        assert_equal(error.operation, "send_to")
        assert_equal(error.octets, 100_000)
        assert_equal(NetError.of(e).value().kind, NetError.TOO_LARGE)
    client.send_to("0123456789".as_bytes(), abstract_name(23))
    var into = List[UInt8](length=9, fill=0)
    try:
        _ = server.recv_from(Span(into))
        assert_true(False, "it does not fit")
    except e:
        var error = DatagramTooLarge.of(e).value()
        assert_equal(error.octets, 10)
        assert_equal(error.octets_max, 9)
    client.send_to("012345678".as_bytes(), abstract_name(23))
    assert_equal(server.recv_from(Span(into))[0], 9)


def _full() raises:
    for connected in [False, True]:
        var server = UnixDatagram.bind(abstract_name(25))
        var client = UnixDatagram.unbound()
        if connected:
            client.connect(abstract_name(25))

        def fill() raises {var client^, var connected} -> Int:
            for i in range(500):
                if connected:
                    client.send(Span(pattern(i % 7)))
                else:
                    client.send_to(Span(pattern(i % 7)), abstract_name(25))
            return 500

        var filling = spawn(fill^)
        sleep(20)
        assert_false(filling.is_done())
        var into = List[UInt8](length=8, fill=0)
        for i in range(500):
            assert_equal(server.recv(Span(into)), i % 7, String(i))
        assert_equal(filling^.join(), 500)


def _ended() raises:
    var server = UnixDatagram.bind(abstract_name(26))
    var client = _Shared(UnixDatagram.unbound())
    var held = client

    def fill() raises {var held}:
        while True:
            held[].send_to("x".as_bytes(), abstract_name(26))

    client[].set_send_timeout_ms(20)
    with assert_raises(contains="net.timeout send_to errno=110: @"):
        fill()
    client[].set_send_timeout_ms(None)
    var filling = spawn(fill)
    sleep(10)
    filling.cancel()
    with assert_raises(contains="net.cancelled send_to"):
        filling^.join()
    var closing = spawn(fill)
    sleep(10)
    client[].close()
    with assert_raises(contains="net.closed send_to"):
        closing^.join()
    _ = server^


def _gone() raises:
    var server = UnixDatagram.bind(abstract_name(27))
    var client = UnixDatagram.unbound()
    client.connect(abstract_name(27))
    server.close()
    with assert_raises(contains="net.refused send errno=111"):
        client.send("x".as_bytes())
    with assert_raises(contains="net.refused send_to errno=111: @"):
        client.send_to("x".as_bytes(), abstract_name(27))
    with assert_raises(contains="net.not_found send_to errno=2: /no/such"):
        client.send_to("x".as_bytes(), "/no/such")
    with assert_raises(contains="net.refused connect errno=111: @"):
        client.connect(abstract_name(27))


def _close_under_wait() raises:
    var server = _Shared(UnixDatagram.bind(abstract_name(28)))
    var held = server

    def receive() raises {var held} -> Int:
        var into = List[UInt8](length=8, fill=0)
        return held[].recv(Span(into))

    var receiving = spawn(receive)
    sleep(5)
    assert_false(receiving.is_done())
    server[].close()
    with assert_raises(contains="net.closed receive"):
        _ = receiving^.join()


comptime TESTS = __functions_in_module()
