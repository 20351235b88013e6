"""Tests when what completions submit reaches the kernel."""

from std.testing import assert_equal, assert_true

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime import BackendKind
from flare.runtime.operation import Operation, OperationKind, OperationState
from flare.runtime.reactor import Reactor, ReactorConfig
from flare.sys.clock import monotonic_ns
from flare.sys.file import close_descriptor
from flare.sys.process import block_signals, set_signal_mask
from flare.sys.sealed_pages import SealedPages
from flare.sys.socket import open_socket_pair, receive_octets, send_octets
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import MSG_DONTWAIT, SOCK_STREAM
from tests.runtime.loop import Loop


@fieldwise_init
struct _Row(ImplicitlyCopyable):
    var count: Int
    var handler_us: Int


def test_slow_answers_do_not_wait_for_one_another() raises:
    # The more come at once, the longer may handlers take.
    for row in [_Row(20, 3000), _Row(20, 20), _Row(2, 2)]:
        for backend in [BackendKind.EPOLL, BackendKind.IO_URING]:
            var crowd = _Crowd(backend, row.count, handler_us=row.handler_us)
            crowd.play()
            # The last one has nobody behind it that could see its answer.
            assert_equal(crowd.answered_before[], row.count - 1)
            crowd.close()


def test_quick_answers_share_a_call() raises:
    for backend in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var fewest = 100
        # The machine may halt in the midst of a turn.
        for _ in range(50):
            var crowd = _Crowd(backend, 100, handler_us=0)
            crowd.play()
            fewest = min(fewest, crowd.answered_before[])
            crowd.close()
        assert_true(fewest < 25, String(fewest, " of 100 did not wait"))


def test_who_is_told_of_sealed_pages_gets_all_signals() raises:
    for backend in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=backend))
        var ours = Int32(-1)
        var theirs = Int32(-1)
        assert_equal(open_socket_pair(AF_UNIX, SOCK_STREAM, ours, theirs), 0)
        var pages = SealedPages()
        assert_equal(pages.seal(List[UInt8](length=40_000, fill=7)), 0)
        var blocked = _blocked_signals()
        var told = heap_create(~blocked)
        var send = heap_create(OperationState(OperationKind.SEND))
        send[].descriptor = ours
        send[].owner = told.unsafe_bitcast[NoneType]()
        send[].complete = _on_sent
        var octets = (
            pages.octets()
            .unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )
        send[].address = octets
        send[].second = octets
        send[].second_length = len(pages)
        send[].second_is_sealed = True
        loop.reactor.submit(Operation(send))
        for _ in range(100):
            loop.turn(1)
            if Operation(send).is_idle():
                break
        assert_equal(Int(send[].result), 40_000)
        assert_true(send[].is_non_blocking, "the pages were copied")
        assert_equal(told[], blocked)
        assert_equal(_blocked_signals(), blocked)
        loop.close()
        _ = pages^
        heap_destroy(send)
        heap_destroy(told)
        _ = close_descriptor(ours)
        _ = close_descriptor(theirs)


def _on_sent(operation: Operation):
    operation.state[].owner.value().unsafe_bitcast[
        UInt64
    ]()[] = _blocked_signals()


def _blocked_signals() -> UInt64:
    var before = block_signals()
    set_signal_mask(before)
    return before


struct _Member(Movable):
    """Is a connection whose request is answered with one octet."""

    var reactor: Reactor
    var ours: Int32
    var theirs: Int32
    var receive: OperationState
    var send: OperationState
    var octet: UInt8
    var handler_us: Int
    # Whose answer should have come before this request is looked at.
    var before: Optional[PointerTo[_Member]]
    var answered_before: PointerTo[Int]

    def __init__(
        out self,
        reactor: Reactor,
        before: Optional[PointerTo[_Member]],
        handler_us: Int,
        answered_before: PointerTo[Int],
    ) raises:
        self.reactor = reactor
        self.ours = -1
        self.theirs = -1
        self.receive = OperationState(OperationKind.RECEIVE)
        self.send = OperationState(OperationKind.SEND)
        self.octet = 97
        self.handler_us = handler_us
        self.before = before
        self.answered_before = answered_before
        assert_equal(
            open_socket_pair(AF_UNIX, SOCK_STREAM, self.ours, self.theirs), 0
        )
        self.receive.descriptor = self.ours
        self.send.descriptor = self.ours
        assert_equal(send_octets(self.theirs, "q".as_bytes()), 1)


def _operation(mut state: OperationState) -> Operation:
    return Operation(Pointer(to=state).unsafe_origin_cast[MutUntrackedOrigin]())


def _on_receive(operation: Operation):
    var m = operation.state[].owner.value().unsafe_bitcast[_Member]()
    m[].reactor.buffers().give(operation.state[].buffer.value())
    if m[].before:
        var octet = Array[UInt8, 1](fill=0)
        var found = receive_octets(
            m[].before.value()[].theirs, Span(octet), MSG_DONTWAIT
        )
        if found == 1:
            m[].answered_before[] += 1
    var begun_ns = monotonic_ns()
    while monotonic_ns() - begun_ns < m[].handler_us * 1000:
        pass
    # As whoever waits with a deadline does.
    _ = m[].reactor.refresh_now_ms()
    m[].send.address = Pointer(to=m[].octet).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    m[].send.length = 1
    m[].reactor.submit(_operation(m[].send))


struct _Crowd(Movable):
    """Holds connections whose requests all come in one turn."""

    var loop: Loop
    var members: List[PointerTo[_Member]]
    var answered_before: PointerTo[Int]

    def __init__(
        out self, backend: BackendKind, count: Int, *, handler_us: Int
    ) raises:
        self.loop = Loop(ReactorConfig(backend=backend))
        # The loop itself has things to begin with.
        self.loop.turn(0)
        self.members = List[PointerTo[_Member]]()
        self.answered_before = heap_create(0)
        var before = Optional[PointerTo[_Member]](None)
        for _ in range(count):
            var m = heap_create(
                _Member(
                    self.loop.reactor, before, handler_us, self.answered_before
                )
            )
            m[].receive.owner = m.unsafe_bitcast[NoneType]()
            m[].receive.complete = _on_receive
            self.members.append(m)
            before = m

    def play(mut self) raises:
        for m in self.members:
            self.loop.reactor.submit(_operation(m[].receive))
        for _ in range(100):
            self.loop.turn(100)
            if self._is_done():
                return
        raise Error("not all were answered")

    def _is_done(self) -> Bool:
        for m in self.members:
            if m[].send.result != 1 or not _operation(m[].send).is_idle():
                return False
        return True

    def close(mut self) raises:
        self.loop.close()
        for m in self.members:
            _ = close_descriptor(m[].ours)
            _ = close_descriptor(m[].theirs)
            heap_destroy(m)
        heap_destroy(self.answered_before)


comptime TESTS = __functions_in_module()
