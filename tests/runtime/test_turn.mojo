"""Tests when what completions submit reaches the kernel."""

from std.testing import assert_equal, assert_true

from flare.core import Erased, PointerTo, heap_create, heap_destroy
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
        var sealed = _Sealed(backend)
        sealed.send[].complete = _on_sent
        sealed.loop.reactor.submit(Operation(sealed.send))
        for _ in range(100):
            sealed.loop.turn(1)
            if Operation(sealed.send).is_idle():
                break
        assert_equal(Int(sealed.send[].result), 40_000)
        assert_true(sealed.send[].is_non_blocking, "no pages were sent for")
        assert_equal(sealed.told[], _blocked_signals())
        sealed.close()


def test_who_is_told_of_a_slow_turn_gets_all_signals() raises:
    for backend in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var sealed = _Sealed(backend)
        var full = List[UInt8](length=65536, fill=1)
        while send_octets(sealed.ours, full, MSG_DONTWAIT) > 0:
            pass
        sealed.loop.turn(0)
        var begun_ns = monotonic_ns()
        while monotonic_ns() - begun_ns < 150_000_000:
            pass
        sealed.loop.reactor.watch_slow_turns(
            _on_slow_turn, sealed.told.unsafe_bitcast[NoneType]()
        )
        # The socket has no room, so that nothing completes before the wait.
        sealed.loop.reactor.submit(Operation(sealed.send))
        sealed.loop.turn(1)
        assert_true(sealed.send[].is_non_blocking, "no pages were sent for")
        assert_equal(sealed.told[], _blocked_signals())
        sealed.loop.reactor.cancel(Operation(sealed.send))
        while not Operation(sealed.send).is_idle():
            sealed.loop.turn(1)
        sealed.close()


struct _Sealed(Movable):
    """Is a send of sealed pages that is not submitted yet."""

    var loop: Loop
    var ours: Int32
    var theirs: Int32
    var pages: SealedPages
    var send: PointerTo[OperationState]
    # The signals that somebody who was told did not get.
    var told: PointerTo[UInt64]

    def __init__(out self, backend: BackendKind) raises:
        self.loop = Loop(ReactorConfig(backend=backend))
        self.ours = -1
        self.theirs = -1
        self.pages = SealedPages()
        self.send = heap_create(OperationState(OperationKind.SEND))
        self.told = heap_create(~_blocked_signals())
        assert_equal(
            open_socket_pair(AF_UNIX, SOCK_STREAM, self.ours, self.theirs), 0
        )
        assert_equal(self.pages.seal(List[UInt8](length=40_000, fill=7)), 0)
        var octets = (
            self.pages.octets()
            .unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )
        self.send[].descriptor = self.ours
        self.send[].owner = self.told.unsafe_bitcast[NoneType]()
        self.send[].address = octets
        self.send[].second = octets
        self.send[].second_length = len(self.pages)
        self.send[].second_is_sealed = True

    def close(mut self) raises:
        self.loop.close()
        heap_destroy(self.send)
        heap_destroy(self.told)
        _ = close_descriptor(self.ours)
        _ = close_descriptor(self.theirs)


def _on_slow_turn(owner: Erased, busy_ms: Int):
    owner.unsafe_bitcast[UInt64]()[] = _blocked_signals()


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
