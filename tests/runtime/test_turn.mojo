"""Tests when what completions submit reaches the kernel."""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime import BackendKind
from flare.runtime.current import current_reactor
from flare.runtime.operation import (
    CANCELLED,
    POLL_IN,
    Completion,
    Operation,
    OperationKind,
    OperationState,
)
from flare.runtime.reactor import Reactor, ReactorConfig
from flare.runtime.task import spawn
from flare.runtime.timer_task import TIMER_OF_TASK, TimerTask
from flare.runtime.timer_wheel import TimerEntry
from flare.runtime.wait import waiting_fiber
from flare.sys.clock import monotonic_ms, monotonic_ns
from flare.sys.file import close_descriptor
from flare.sys.process import block_signals, set_signal_mask
from flare.sys.sealed_pages import SealedPages
from flare.sys.socket import open_socket_pair, receive_octets, send_octets
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import MSG_DONTWAIT, SOCK_STREAM
from tests.asserting import assert_equal, assert_false, assert_true
from tests.runtime.loop import Loop


# Two turns of rounds, and one beyond.
comptime _ROUNDS_MAX = 17


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


def test_a_cancel_of_any_round_is_not_slept_over() raises:
    for backend in [BackendKind.EPOLL, BackendKind.IO_URING]:
        for rounds in range(1, _ROUNDS_MAX + 1):
            var chain = _Chain(backend, rounds)
            chain.play()
            assert_equal(Int(chain.parked[].result), CANCELLED)
            chain.close()


def test_who_cancels_and_joins_after_any_round_is_not_slept_over() raises:
    for backend in [BackendKind.EPOLL, BackendKind.IO_URING]:
        for rounds in range(1, _ROUNDS_MAX + 1):
            _cancel_and_join(backend, rounds)


def test_work_for_the_end_of_a_turn_is_not_slept_over() raises:
    for backend in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=backend))
        var state = heap_create(OperationState(OperationKind.RECEIVE))
        var operation = Operation(state)
        state[].complete = _leave_work
        operation.mark_queued()
        operation.mark_in_flight()
        ref reactor = loop.reactor.state[]
        reactor.in_flight += 1
        # It completes before the turn waits.
        reactor.completions.append(
            Completion(operation, state[].sequence, Int32(0), False, None)
        )
        var begun_ms = monotonic_ms()
        loop.turn(2000)
        assert_true(monotonic_ms() - begun_ms < 1000, "slept over work")
        # The kernel frees rings of earlier tests, which interrupts waits.
        var longest_ms = 0
        var end_ms = monotonic_ms() + 5000
        while longest_ms < 15 and monotonic_ms() < end_ms:
            begun_ms = monotonic_ms()
            loop.turn(20)
            longest_ms = monotonic_ms() - begun_ms
        assert_true(longest_ms >= 15, "waits no more")
        heap_destroy(state)
        loop.close()


def test_waits_do_not_end_in_time_that_a_handler_computes() raises:
    for backend in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=backend))
        var ours = Int32(-1)
        var theirs = Int32(-1)
        assert_equal(open_socket_pair(AF_UNIX, SOCK_STREAM, ours, theirs), 0)
        var state = heap_create(OperationState(OperationKind.POLL))
        state[].descriptor = ours
        state[].length = POLL_IN
        state[].complete = _compute
        loop.reactor.submit(Operation(state))
        while not Operation(state).is_in_flight():
            loop.turn(0)
        var has_fired = heap_create(False)
        var task = heap_create(
            TimerTask(has_fired.unsafe_bitcast[NoneType](), _note_fired)
        )
        var timer = heap_create(
            TimerEntry(task.unsafe_bitcast[NoneType](), TIMER_OF_TASK)
        )
        _ = send_octets(theirs, "x".as_bytes(), MSG_DONTWAIT)
        loop.reactor.timers().arm(timer, loop.reactor.refresh_now_ms() + 10)
        while not Operation(state).is_idle():
            loop.turn(100)
        # What came while the callback computed is collected first.
        assert_false(has_fired[])
        loop.turn(0)
        assert_true(has_fired[])
        loop.close()
        _ = close_descriptor(ours)
        _ = close_descriptor(theirs)
        heap_destroy(timer)
        heap_destroy(task)
        heap_destroy(has_fired)
        heap_destroy(state)


def test_a_buffer_that_comes_without_octets_goes_back_to_the_pool() raises:
    for result in [0, -104, CANCELLED]:
        var loop = Loop(ReactorConfig(backend=BackendKind.EPOLL))
        var state = heap_create(OperationState(OperationKind.RECEIVE))
        var operation = Operation(state)
        operation.mark_queued()
        operation.mark_in_flight()
        ref reactor = loop.reactor.state[]
        reactor.in_flight += 1
        var buffer = reactor.buffers.take()
        assert_equal(reactor.buffers.lent(), 1)
        reactor.completions.append(
            Completion(
                operation, state[].sequence, Int32(result), False, buffer
            )
        )
        loop.turn(0)
        assert_true(operation.is_idle())
        assert_false(state[].buffer)
        assert_equal(reactor.buffers.lent(), 0)
        heap_destroy(state)
        loop.close()


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
        assert_true(
            sealed.send[].uncopied.is_non_blocking, "no pages were sent for"
        )
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
        assert_true(
            sealed.send[].uncopied.is_non_blocking, "no pages were sent for"
        )
        assert_equal(sealed.told[], _blocked_signals())
        sealed.loop.reactor.cancel(Operation(sealed.send))
        while not Operation(sealed.send).is_idle():
            sealed.loop.turn(1)
        sealed.close()


def _compute(operation: Operation):
    var end_ms = monotonic_ms() + 30
    while monotonic_ms() < end_ms:
        pass
    _ = current_reactor().value().refresh_now_ms()


def _note_fired(has_fired: Erased):
    has_fired.unsafe_bitcast[Bool]()[] = True


def _leave_work(operation: Operation):
    current_reactor().value().note_work_after_turn()


struct _Chain(Movable):
    """Is a wait that is cancelled by what completes in a given round."""

    var loop: Loop
    var ours: Int32
    var theirs: Int32
    # Nothing ever comes.
    var parked: PointerTo[OperationState]
    var link: PointerTo[_Link]

    def __init__(out self, backend: BackendKind, rounds: Int) raises:
        self.loop = Loop(ReactorConfig(backend=backend))
        self.ours = -1
        self.theirs = -1
        assert_equal(
            open_socket_pair(AF_UNIX, SOCK_STREAM, self.ours, self.theirs), 0
        )
        self.parked = heap_create(OperationState(OperationKind.POLL))
        self.parked[].descriptor = self.ours
        self.parked[].length = POLL_IN
        self.loop.reactor.submit(Operation(self.parked))
        while not Operation(self.parked).is_in_flight():
            self.loop.turn(0)
        self.link = heap_create(
            _Link(self.loop.reactor, Operation(self.parked), rounds)
        )
        self.parked[].owner = self.link.unsafe_bitcast[NoneType]()
        self.parked[].complete = _on_parked
        self.link[].at_once.owner = self.link.unsafe_bitcast[NoneType]()
        self.link[].at_once.complete = _on_link

    def play(self) raises:
        _complete_at_once(self.link)
        var begun_ms = monotonic_ms()
        for _ in range(10):
            self.loop.turn(2000)
            if Operation(self.parked).is_idle():
                break
        assert_true(monotonic_ms() - begun_ms < 1000, "slept over a cancel")

    def close(mut self) raises:
        self.loop.close()
        _ = close_descriptor(self.ours)
        _ = close_descriptor(self.theirs)
        heap_destroy(self.parked)
        heap_destroy(self.link)


struct _Link(Movable):
    var reactor: Reactor
    var parked: Operation
    var rounds_left: Int
    var at_once: OperationState

    def __init__(out self, reactor: Reactor, parked: Operation, rounds: Int):
        self.reactor = reactor
        self.parked = parked
        self.rounds_left = rounds
        self.at_once = OperationState(OperationKind.POLL)


def _complete_at_once(link: PointerTo[_Link]):
    # Cancelled before the kernel has it, it is complete in the next round.
    link[].reactor.submit(_operation(link[].at_once))
    link[].reactor.cancel(_operation(link[].at_once))


def _on_link(operation: Operation):
    var link = operation.state[].owner.value().unsafe_bitcast[_Link]()
    link[].rounds_left -= 1
    if link[].rounds_left > 0:
        _complete_at_once(link)
    else:
        link[].reactor.cancel(link[].parked)


def _on_parked(operation: Operation):
    # A letter ends the turn, which else would wait for something to do.
    var link = operation.state[].owner.value().unsafe_bitcast[_Link]()
    link[].reactor.post(_ignore, operation.state[].owner.value())


def _ignore(argument: Erased):
    pass


def _cancel_and_join(backend: BackendKind, rounds: Int) raises:
    var loop = Loop(ReactorConfig(backend=backend))
    var ours: Int32 = -1
    var theirs: Int32 = -1
    assert_equal(open_socket_pair(AF_UNIX, SOCK_STREAM, ours, theirs), 0)
    # What waits has a socket on which nothing happens, not even that room comes.
    var silent: Int32 = -1
    var its_peer: Int32 = -1
    assert_equal(open_socket_pair(AF_UNIX, SOCK_STREAM, silent, its_peer), 0)
    var octets = List[UInt8](length=rounds, fill=1)
    assert_equal(send_octets(theirs, octets), rounds)
    var into = heap_create(UInt8(0))

    def park() raises {var silent} -> Int:
        ref operation = waiting_fiber("wait").state[].operation
        operation.kind = OperationKind.POLL
        operation.descriptor = silent
        operation.length = POLL_IN
        return waiting_fiber("wait").perform()

    var parked = heap_create(Optional(spawn(park)))
    loop.turn(0)
    loop.turn(0)

    def read_and_cancel() raises {var parked, var ours, var into, var rounds}:
        var fiber = waiting_fiber("read")
        for _ in range(rounds):
            ref operation = fiber.state[].operation
            operation.kind = OperationKind.READ
            operation.descriptor = ours
            operation.address = into
            operation.length = 1
            assert_equal(fiber.perform(), 1)
        parked[].value().cancel()
        assert_equal(parked[].take().join(), CANCELLED)

    var reader = spawn(read_and_cancel)
    var begun_ms = monotonic_ms()
    for _ in range(10 + rounds):
        loop.turn(2000)
        if reader.is_done():
            break
    assert_true(monotonic_ms() - begun_ms < 1000, "slept over a cancel")
    reader^.join()
    loop.close()
    for descriptor in [ours, theirs, silent, its_peer]:
        _ = close_descriptor(descriptor)
    heap_destroy(parked)
    heap_destroy(into)


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
        self.send[].uncopied.is_sealed = True

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
