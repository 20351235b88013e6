"""Tests what the epoll backend asks the kernel for."""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime import BackendKind
from flare.runtime.operation import Operation, OperationKind, OperationState
from flare.runtime.reactor import Reactor, ReactorConfig
from flare.sys.clock import monotonic_ms
from flare.sys.file import close_descriptor
from flare.sys.socket import (
    accept_socket,
    bind_socket,
    connect_socket,
    listen_socket,
    local_socket_address,
    open_socket,
    open_socket_pair,
    receive_octets,
    send_octets,
)
from flare.sys.socket_address import AF_INET, AF_UNIX, SocketAddressStorage
from flare.sys.socket_constants import MSG_DONTWAIT, MSG_OOB, SOCK_STREAM
from flare.sys.thread import join_thread, start_thread
from tests.asserting import assert_equal, assert_true
from tests.runtime.loop import Loop

comptime _PIECE_OCTETS = 64 * 1024
comptime _PIECES_MAX = 1000


def test_who_waits_for_octets_is_not_woken_because_there_is_room() raises:
    # The kernel interrupts a thread's waits while it takes away rings that the
    # thread has ended; this one has had none.
    var problem = heap_create(String())
    var started = start_thread(
        _wait_beside_room, problem.unsafe_bitcast[NoneType]()
    )
    join_thread(started[1])
    assert_equal(problem[], "")
    heap_destroy(problem)


def _wait_beside_room(argument: Erased) abi("C") -> Optional[Erased]:
    try:
        var pair = _Pair()
        var receive = pair.operation(OperationKind.RECEIVE)
        pair.loop.reactor.submit(Operation(receive))
        var begun_ms = monotonic_ms()
        pair.loop.turn(50)
        assert_true(
            monotonic_ms() - begun_ms >= 49, "a turn with nothing to do"
        )
        assert_true(Operation(receive).is_in_flight())
        pair.close()
    except e:
        argument.unsafe_bitcast[String]()[] = String(e)
    return None


def test_who_found_no_room_goes_on_when_there_is_some() raises:
    var pair = _Pair()
    var receive = pair.operation(OperationKind.RECEIVE)
    pair.loop.reactor.submit(Operation(receive))
    var octets = List[UInt8](length=_PIECE_OCTETS, fill=1)
    var send = pair.operation(OperationKind.SEND)
    send[].address = octets.unsafe_ptr().unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    send[].length = len(octets)
    var sent = 0
    for _ in range(_PIECES_MAX):
        pair.loop.reactor.submit(Operation(send))
        pair.loop.turn(0)
        if not Operation(send).is_idle():
            break
        sent += Int(send[].result)
    assert_true(Operation(send).is_in_flight(), "there was always room")
    var received = 0
    while received < sent:
        received += receive_octets(pair.theirs, Span(octets), 0)
    var begun_ms = monotonic_ms()
    pair.loop.turn(5000)
    assert_true(Operation(send).is_idle())
    assert_true(send[].result > 0)
    assert_true(monotonic_ms() - begun_ms < 4000)
    pair.close()
    _ = octets^


def test_what_goes_at_once_has_left_before_the_turn_goes_on() raises:
    var pair = _Pair()
    var octets = List[UInt8](length=3, fill=1)
    var into = List[UInt8](length=16, fill=0)
    var send = pair.operation(OperationKind.SEND)
    send[].address = octets.unsafe_ptr().unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    send[].length = len(octets)
    pair.loop.reactor.submit_at_once(Operation(send))
    var received = receive_octets(pair.theirs, Span(into), MSG_DONTWAIT)
    assert_equal(received, 3)
    assert_true(Operation(send).is_in_flight())
    pair.loop.turn(0)
    assert_true(Operation(send).is_idle())
    assert_equal(send[].result, 3)
    pair.close()
    _ = octets^


def test_what_lies_behind_an_urgent_octet_is_received() raises:
    for rounds in [1, 3]:
        var connection = _Connection()
        var loop = Loop(ReactorConfig(backend=BackendKind.EPOLL))
        var receive = heap_create(OperationState(OperationKind.RECEIVE))
        var received = heap_create(_Received(loop.reactor))
        receive[].descriptor = connection.ours
        receive[].multishot = True
        receive[].owner = received.unsafe_bitcast[NoneType]()
        receive[].complete = _on_received
        loop.reactor.submit(Operation(receive))
        for past in range(rounds):
            connection.send_with_urgent_octet()
            var begun_ms = monotonic_ms()
            while len(received[].octets) < 6 * (past + 1):
                loop.turn(2000)
                assert_true(monotonic_ms() - begun_ms < 1500, "some still lie")
            assert_true(
                Span(received[].octets)[6 * past :] == "abcdef".as_bytes()
            )
        loop.reactor.cancel(Operation(receive))
        while not Operation(receive).is_idle():
            loop.turn(10)
        loop.close()
        connection.close()
        heap_destroy(receive)
        heap_destroy(received)


struct _Received(Movable):
    var reactor: Reactor
    var octets: List[UInt8]

    def __init__(out self, reactor: Reactor):
        self.reactor = reactor
        self.octets = []


def _on_received(operation: Operation):
    var received = operation.state[].owner.value().unsafe_bitcast[_Received]()
    if operation.result() > 0:
        var buffer = operation.state[].buffer.value()
        received[].octets.extend(
            Span(unsafe_ptr=buffer, length=operation.result())
        )
        received[].reactor.buffers().give(buffer)


struct _Connection(Movable):
    """Is a TCP connection to ourselves."""

    var ours: Int32
    var theirs: Int32

    def __init__(out self) raises:
        var listener = Int32(open_socket(AF_INET, SOCK_STREAM))
        var address = SocketAddressStorage.v4([127, 0, 0, 1], 0)
        assert_equal(bind_socket(listener, address), 0)
        assert_equal(listen_socket(listener, 1), 0)
        assert_equal(local_socket_address(listener, address), 0)
        self.theirs = Int32(
            open_socket(AF_INET, SOCK_STREAM, non_blocking=False)
        )
        assert_equal(connect_socket(self.theirs, address), 0)
        var peer = SocketAddressStorage()
        self.ours = Int32(accept_socket(listener, peer))
        assert_true(self.ours >= 0)
        _ = close_descriptor(listener)

    def send_with_urgent_octet(self) raises:
        assert_equal(send_octets(self.theirs, "abc".as_bytes()), 3)
        assert_equal(send_octets(self.theirs, "!".as_bytes(), MSG_OOB), 1)
        assert_equal(send_octets(self.theirs, "def".as_bytes()), 3)

    def close(self):
        _ = close_descriptor(self.ours)
        _ = close_descriptor(self.theirs)


struct _Pair(Movable):
    var loop: Loop
    var ours: Int32
    var theirs: Int32
    var operations: List[PointerTo[OperationState]]

    def __init__(out self) raises:
        self.loop = Loop(ReactorConfig(backend=BackendKind.EPOLL))
        self.ours = -1
        self.theirs = -1
        self.operations = List[PointerTo[OperationState]]()
        # The loop itself has things to begin with.
        self.loop.turn(0)
        assert_equal(
            open_socket_pair(AF_UNIX, SOCK_STREAM, self.ours, self.theirs), 0
        )

    def operation(mut self, kind: OperationKind) -> PointerTo[OperationState]:
        var state = heap_create(OperationState(kind))
        state[].descriptor = self.ours
        self.operations.append(state)
        return state

    def close(mut self) raises:
        self.loop.close()
        _ = close_descriptor(self.ours)
        _ = close_descriptor(self.theirs)
        for state in self.operations:
            heap_destroy(state)


comptime TESTS = __functions_in_module()
