"""Tests what the epoll backend asks the kernel for."""

from std.testing import assert_equal, assert_true

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime import BackendKind
from flare.runtime.operation import Operation, OperationKind, OperationState
from flare.runtime.reactor import ReactorConfig
from flare.sys.clock import monotonic_ms
from flare.sys.file import close_descriptor
from flare.sys.socket import open_socket_pair, receive_octets
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import MSG_DONTWAIT, SOCK_STREAM
from flare.sys.thread import join_thread, start_thread
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
