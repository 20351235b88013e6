"""Tests for waits of `flare.udp`: their bounds, and who else may end them."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.net import SocketAddr
from flare.runtime.socket import NOT_WAITED, UNWAITED_MAX
from flare.runtime.task import spawn
from flare.runtime.wait import deadline_in, sleep
from flare.udp import UdpSocket
from tests.asserting import assert_equal, assert_false
from tests.tcp.loops import on_each_backend

comptime _Shared = ArcPointer[UdpSocket]


def test_a_receive_ends_after_its_timeout_and_can_be_repeated() raises:
    on_each_backend(_timeout)


def test_with_no_time_only_what_has_come_is_received() raises:
    on_each_backend(_no_time)


def test_a_deadline_bounds_every_receive_inside_it() raises:
    on_each_backend(_deadline)


def test_a_cancelled_receive_raises_and_the_socket_stays_usable() raises:
    on_each_backend(_cancelled)


def test_closing_ends_the_receive_of_another_fiber() raises:
    on_each_backend(_close_under_wait)


def test_a_second_receiver_is_refused_and_the_first_is_not_disturbed() raises:
    on_each_backend(_second_receiver)


def test_who_always_finds_a_datagram_lets_others_run() raises:
    on_each_backend(_fair)


def test_who_always_finds_a_datagram_can_be_cancelled_and_times_out() raises:
    on_each_backend(_busy_ends)


def test_two_fibers_may_wait_for_octets_and_for_room() raises:
    on_each_backend(_both_directions)


def test_a_wait_for_room_leaves_the_wait_for_octets_its_error() raises:
    on_each_backend(_error_beside)


def _timeout() raises:
    var socket = UdpSocket.bind(SocketAddr.localhost(0))
    var address = socket.local_address()
    var into = List[UInt8](length=8, fill=0)
    socket.set_receive_timeout_ms(5)
    for _ in range(3):
        with assert_raises(
            contains=String("net.timeout receive_from ", address, " errno=110")
        ):
            _ = socket.recv_from(Span(into))
    socket.send_to("x".as_bytes(), address)
    assert_equal(socket.recv_from(Span(into))[0], 1)
    socket.set_receive_timeout_ms(None)
    socket.send_to("xy".as_bytes(), address)
    assert_equal(socket.recv_from(Span(into))[0], 2)


def _no_time() raises:
    var socket = UdpSocket.bind(SocketAddr.localhost(0))
    var into = List[UInt8](length=8, fill=0)
    for timeout_ms in [0, -1, Int.MIN]:
        socket.set_receive_timeout_ms(timeout_ms)
        socket.set_send_timeout_ms(timeout_ms)
        with assert_raises(contains="net.timeout receive_from"):
            _ = socket.recv_from(Span(into))
        socket.send_to("xy".as_bytes(), socket.local_address())
        assert_equal(socket.recv_from(Span(into))[0], 2)
    socket.set_receive_timeout_ms(Int.MAX - 1)
    socket.send_to("xyz".as_bytes(), socket.local_address())
    assert_equal(socket.recv_from(Span(into))[0], 3)


def _deadline() raises:
    var socket = UdpSocket.bind(SocketAddr.localhost(0))
    var into = List[UInt8](length=8, fill=0)
    with deadline_in(10):
        with assert_raises(contains="net.timeout receive_from"):
            _ = socket.recv_from(Span(into))
        with assert_raises(contains="net.timeout receive_from"):
            _ = socket.recv_from(Span(into))
    socket.send_to("x".as_bytes(), socket.local_address())
    assert_equal(socket.recv_from(Span(into))[0], 1)


def _cancelled() raises:
    var socket = _Shared(UdpSocket.bind(SocketAddr.localhost(0)))
    var address = socket[].local_address()
    var held = socket

    def receive() raises {var held} -> Int:
        var into = List[UInt8](length=8, fill=0)
        return held[].recv_from(Span(into))[0]

    var receiving = spawn(receive)
    sleep(1)
    assert_false(receiving.is_done())
    receiving.cancel()
    with assert_raises(contains="net.cancelled receive_from 127.0.0.1:"):
        _ = receiving^.join()
    # Who was cancelled before is not given what has come.
    socket[].send_to("x".as_bytes(), address)
    var early = spawn(receive)
    early.cancel()
    with assert_raises(contains="net.cancelled"):
        _ = early^.join()
    var into = List[UInt8](length=8, fill=0)
    assert_equal(socket[].recv_from(Span(into))[0], 1)
    # Dropping the handle cancels, too.
    var dropped = spawn(receive)
    sleep(1)
    _ = dropped^
    sleep(1)
    socket[].send_to("xy".as_bytes(), address)
    assert_equal(socket[].recv_from(Span(into))[0], 2)


def _close_under_wait() raises:
    var socket = _Shared(UdpSocket.bind(SocketAddr.localhost(0)))
    var held = socket

    def receive() raises {var held} -> Int:
        var into = List[UInt8](length=8, fill=0)
        return held[].recv_from(Span(into))[0]

    var receiving = spawn(receive)
    sleep(1)
    assert_false(receiving.is_done())
    socket[].close()
    with assert_raises(contains="net.closed receive_from 127.0.0.1:"):
        _ = receiving^.join()


def _second_receiver() raises:
    var socket = _Shared(UdpSocket.bind(SocketAddr.localhost(0)))
    var held = socket

    def receive() raises {var held} -> Int:
        var into = List[UInt8](length=8, fill=0)
        return held[].recv_from(Span(into))[0]

    var receiving = spawn(receive)
    sleep(1)
    var into = List[UInt8](length=8, fill=0)
    with assert_raises(contains="errno=16"):
        _ = socket[].recv_from(Span(into))
    # Sending is the other direction.
    socket[].send_to("xyz".as_bytes(), socket[].local_address())
    assert_equal(receiving^.join(), 3)


def _fair() raises:
    var socket = UdpSocket.bind(SocketAddr.localhost(0))
    var address = socket.local_address()
    var ran = ArcPointer[Int](0)
    var held = ran

    def count() raises {var held} -> Int:
        held[] += 1
        return held[]

    var into = List[UInt8](length=8, fill=0)
    var counting = spawn(count)
    for i in range(UNWAITED_MAX):
        socket.send_to("x".as_bytes(), address)
        assert_equal(socket.recv_from(Span(into))[0], 1)
        assert_equal(ran[], 0, String(i))
    for _ in range(2):
        socket.send_to("x".as_bytes(), address)
        assert_equal(socket.recv_from(Span(into))[0], 1)
    assert_equal(ran[], 1)
    assert_equal(counting^.join(), 1)


def _busy_ends() raises:
    def talk() raises {} -> Int:
        var socket = UdpSocket.bind(SocketAddr.localhost(0))
        var address = socket.local_address()
        var into = List[UInt8](length=8, fill=0)
        while True:
            socket.send_to("x".as_bytes(), address)
            _ = socket.recv_from(Span(into))

    var talking = spawn(talk)
    sleep(5)
    assert_false(talking.is_done())
    talking.cancel()
    with assert_raises(contains="net.cancelled"):
        _ = talking^.join()
    with deadline_in(10):
        with assert_raises(contains="net.timeout"):
            _ = talk()


def _both_directions() raises:
    var socket = _Shared(UdpSocket.bind(SocketAddr.localhost(0)))
    var held = socket

    def receive() raises {var held} -> Int:
        var into = List[UInt8](length=8, fill=0)
        return held[].recv_from(Span(into))[0]

    for _ in range(3):
        var receiving = spawn(receive)
        sleep(1)
        for _ in range(3):
            _wait_for_room(socket)
        assert_false(receiving.is_done())
        socket[].send_to("xyz".as_bytes(), socket[].local_address())
        assert_equal(receiving^.join(), 3)
        _wait_for_room(socket)


def _wait_for_room(socket: _Shared) raises:
    var inner = socket[].unsafe_socket()
    var direction = inner.sending()
    var fiber = inner.begin_attempts(direction, "send_to")
    var deadline_ms = NOT_WAITED
    var result = inner.wait_ready(direction, fiber, deadline_ms)
    assert_equal(inner.finish(direction, "send_to", result), 0)


def _error_beside() raises:
    var peer = UdpSocket.bind(SocketAddr.localhost(0))
    var address = peer.local_address()
    var socket = _Shared(UdpSocket.bind(SocketAddr.localhost(0)))
    socket[].connect(address)
    var held = socket

    def receive() raises {var held} -> Int:
        var into = List[UInt8](length=8, fill=0)
        return held[].recv(Span(into))

    var receiving = spawn(receive)
    sleep(1)
    peer.close()
    socket[].send("anybody?".as_bytes())
    _wait_for_room(socket)
    with assert_raises(contains=String("net.refused receive ", address)):
        _ = receiving^.join()
    # A new wait is not ended by what was told.
    var again = spawn(receive)
    sleep(1)
    _wait_for_room(socket)
    sleep(1)
    assert_false(again.is_done())
    again.cancel()
    with assert_raises(contains="net.cancelled receive"):
        _ = again^.join()
    _ = peer^


comptime TESTS = __functions_in_module()
