"""Tests that a send and the receive beside it are one step."""

from std.memory import ArcPointer

from flare.core import PointerTo, heap_create, heap_destroy
from flare.net import NetError
from flare.runtime.current import current_reactor
from flare.runtime.operation import (
    TIMED_OUT,
    Operation,
    OperationKind,
    OperationState,
)
from flare.runtime.socket_exchange import (
    SentAndReceived,
    can_send_and_receive,
    send_and_receive,
)
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.sys.errno import EAGAIN
from flare.sys.file import close_descriptor
from flare.sys.socket import open_socket_pair, send_octets
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import SOCK_STREAM

from tests.asserting import assert_equal, assert_false, assert_true
from tests.tcp.loops import Shared, connected_shared, octets_of, on_each_backend

comptime _LONG_MS = 5_000
comptime _SHORT_MS = 20


def test_an_answer_comes_after_what_was_sent() raises:
    on_each_backend(_answered)


def test_what_was_there_before_is_told_from_an_answer() raises:
    on_each_backend(_came_first)


def test_what_was_there_before_is_told_where_buffers_are_short() raises:
    on_each_backend(_came_first_to_an_empty_ring)


def test_an_end_that_was_there_before_is_told() raises:
    on_each_backend(_ended_first)


def test_who_waits_too_long_has_sent_all_the_same() raises:
    on_each_backend(_late)


def test_who_is_cancelled_gives_both_directions_back() raises:
    on_each_backend(_cancelled)


def test_what_does_not_fit_is_sent_in_part_or_not_at_all() raises:
    on_each_backend(_too_much)


def test_a_direction_that_is_in_use_is_refused() raises:
    on_each_backend(_busy)


def _answered() raises:
    if not can_send_and_receive():
        return
    var ends = connected_shared()
    var server = ends.server

    def answer() raises {var server}:
        var piece = List[UInt8](length=16, fill=0)
        assert_equal(server[].read(Span(piece)), 3)
        server[].write_all("answer".as_bytes())

    var answering = spawn(answer^)
    var into = List[UInt8](length=16, fill=0)
    # The same operation serves one exchange after the other.
    var done = _exchange(ends.client, "ask", into, _LONG_MS)
    answering^.join()
    assert_equal(done.sent, 3)
    assert_equal(done.received, 6)
    assert_false(done.came_first)
    assert_equal(into[0], UInt8(ord("a")))


def _came_first() raises:
    if not can_send_and_receive():
        return
    var ends = connected_shared()
    ends.server[].write_all("forged".as_bytes())
    var into = List[UInt8](length=16, fill=0)
    var done = _exchange(ends.client, "ask", into, _LONG_MS)
    assert_equal(done.sent, 3)
    assert_equal(done.received, 6)
    assert_true(done.came_first)


def _came_first_to_an_empty_ring() raises:
    if not can_send_and_receive():
        return
    var ends = connected_shared()
    ends.server[].write_all("forged".as_bytes())
    var client = ends.client
    # Both are carried by one call, these receives before that of the exchange.
    var receives = _Receives()

    def take() raises {var receives}:
        receives.submit()

    def ask() raises {var client} -> Int:
        var into = List[UInt8](length=16, fill=0)
        var done = _exchange(client, "ask", into, _LONG_MS)
        assert_equal(done.received, 6)
        return Int(done.came_first)

    var taking = spawn(take^)
    var asking = spawn(ask^)
    taking^.join()
    assert_equal(asking^.join(), 1)
    receives.end()


@fieldwise_init
struct _Receives(ImplicitlyCopyable):
    """Receives that use up all that the ring offers at first."""

    comptime COUNT = 64

    var sockets: ArcPointer[List[Int32]]
    var operations: ArcPointer[List[PointerTo[OperationState]]]

    def __init__(out self) raises:
        self.sockets = ArcPointer(List[Int32]())
        self.operations = ArcPointer(List[PointerTo[OperationState]]())
        for _ in range(Self.COUNT):
            var ours: Int32 = -1
            var theirs: Int32 = -1
            assert_equal(
                open_socket_pair(AF_UNIX, SOCK_STREAM, ours, theirs), 0
            )
            self.sockets[].extend([ours, theirs])
            assert_equal(send_octets(theirs, "x".as_bytes()), 1)
            var state = heap_create(OperationState(OperationKind.RECEIVE))
            state[].descriptor = ours
            self.operations[].append(state)

    def submit(self):
        for state in self.operations[]:
            current_reactor().value().submit(Operation(state))

    def end(self) raises:
        for state in self.operations[]:
            assert_equal(Int(state[].result), 1)
            current_reactor().value().buffers().give(state[].buffer.value())
            heap_destroy(state)
        for descriptor in self.sockets[]:
            _ = close_descriptor(descriptor)


def _ended_first() raises:
    if not can_send_and_receive():
        return
    var ends = connected_shared()
    ends.server[].end_sending()
    var into = List[UInt8](length=16, fill=0)
    var done = _exchange(ends.client, "ask", into, _LONG_MS)
    assert_equal(done.received, 0)
    assert_true(done.came_first)


def _late() raises:
    if not can_send_and_receive():
        return
    var ends = connected_shared()
    var into = List[UInt8](length=16, fill=0)
    var done = _exchange(ends.client, "ask", into, _SHORT_MS)
    assert_equal(done.sent, 3)
    assert_equal(done.received, TIMED_OUT)
    assert_equal(ends.server[].read(Span(into)), 3)
    # Both directions are free again.
    ends.server[].write_all("x".as_bytes())
    assert_equal(ends.client[].read(Span(into)), 1)
    assert_equal(ends.client[].write("y".as_bytes()), 1)


def _cancelled() raises:
    if not can_send_and_receive():
        return
    var ends = connected_shared()
    var client = ends.client

    def ask() raises {var client} -> Int:
        var into = List[UInt8](length=16, fill=0)
        return _exchange(client, "ask", into, _LONG_MS).received

    var asking = spawn(ask^)
    sleep(1)
    asking.cancel()
    assert_true(asking^.join() < 0)
    var into = List[UInt8](length=16, fill=0)
    ends.server[].write_all("x".as_bytes())
    assert_equal(ends.client[].read(Span(into)), 1)
    assert_equal(ends.client[].write("y".as_bytes()), 1)


def _too_much() raises:
    if not can_send_and_receive():
        return
    var ends = connected_shared()
    var many = String("x") * (16 * 1024 * 1024)
    var into = List[UInt8](length=16, fill=0)
    # The kernel takes a part, or waits for room until the time is over.
    var done = _exchange(ends.client, many, into, _SHORT_MS)
    assert_true(done.sent < many.byte_length())
    assert_true(done.received == -EAGAIN or done.received == TIMED_OUT)
    # Nobody reads, so that there is no room; what comes ends the wait.
    ends.server[].write_all("x".as_bytes())
    done = _exchange(ends.client, many, into, _LONG_MS)
    assert_equal(done.received, 1)
    assert_true(done.sent >= 0 and done.sent < many.byte_length())


def _busy() raises:
    if not can_send_and_receive():
        return
    var ends = connected_shared()
    var client = ends.client

    def read() raises {var client} -> Int:
        var into = List[UInt8](length=16, fill=0)
        return client[].read(Span(into))

    var reading = spawn(read^)
    sleep(1)
    var into = List[UInt8](length=16, fill=0)
    var failure = Optional[NetError](None)
    try:
        _ = _exchange(ends.client, "ask", into, _LONG_MS)
    except e:
        failure = NetError.of(e)
    assert_true(Bool(failure))
    ends.server[].write_all("x".as_bytes())
    assert_equal(reading^.join(), 1)


def _exchange(
    stream: Shared, text: String, mut into: List[UInt8], timeout_ms: Int
) raises -> SentAndReceived:
    var octets = heap_create(octets_of(text))
    try:
        return send_and_receive(
            stream[].unsafe_socket(),
            Span(octets[]),
            Span(into),
            timeout_ms,
        )
    finally:
        heap_destroy(octets)


comptime TESTS = __functions_in_module()
