"""Tests for `flare.runtime.fiber`."""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime.backend import BackendKind
from flare.runtime.current import current_fiber
from flare.runtime.fiber import NO_DEADLINE, Fiber, FiberFunction
from flare.runtime.fiber_queue import RESUMED_PER_TURN_MAX
from flare.runtime.operation import CANCELLED, TIMED_OUT, OperationKind
from flare.runtime.reactor import ReactorConfig
from flare.sys.file import close_descriptor
from flare.sys.memory import PAGE_OCTETS
from flare.sys.socket import open_socket_pair, send_octets
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import SOCK_STREAM
from tests.asserting import assert_equal, assert_false, assert_true
from tests.runtime.loop import Log, Loop


def test_a_parked_fiber_goes_on_in_the_turn_after_its_wake() raises:
    var stage = _Stage(ReactorConfig())
    var fiber = stage.start(_park)
    assert_equal(stage.take(), ["begin"])
    stage.turn()
    assert_equal(stage.take(), [])
    fiber.wake()
    assert_equal(stage.take(), [], "not inside the wake")
    stage.turn()
    assert_equal(stage.take(), ["end 0"])
    assert_equal(stage.loop.busy(), 0)
    fiber.wake()
    stage.turn()
    assert_equal(stage.take(), [], "an ended fiber does not wake")
    stage.close()


def test_a_fiber_woken_twice_goes_on_once() raises:
    var stage = _Stage(ReactorConfig())
    var fiber = stage.start(_park_twice)
    fiber.wake()
    fiber.wake()
    stage.turn()
    assert_equal(stage.take(), ["first 0"])
    stage.turn()
    assert_equal(stage.take(), [])
    fiber.wake()
    stage.turn()
    assert_equal(stage.take(), ["second 0"])
    stage.close()


def test_a_wait_ends_at_the_earlier_of_its_timeout_and_the_deadline() raises:
    var rows: List[Tuple[Int, Int, Int]] = [
        (5, NO_DEADLINE, TIMED_OUT),
        (NO_DEADLINE, 5, TIMED_OUT),
        (5, 60_000, TIMED_OUT),
        (60_000, 5, TIMED_OUT),
        (0, NO_DEADLINE, TIMED_OUT),
        (60_000, 0, TIMED_OUT),
        (60_000, -5, TIMED_OUT),
    ]
    for row in rows:
        var stage = _Stage(ReactorConfig())
        stage.state[].timeout_ms = row[0]
        stage.state[].deadline_in_ms = row[1]
        var begun = stage.loop.reactor.refresh_now_ms()
        _ = stage.start(_wait_with_deadline)
        while stage.loop.busy() > 0:
            stage.turn()
        assert_equal(stage.take(), [String("end ", row[2])])
        var took = stage.loop.reactor.refresh_now_ms() - begun
        var least = 5 if row[0] == 5 or row[1] == 5 else 0
        assert_true(took >= least and took < 5_000, String(took))
        assert_equal(stage.loop.reactor.timers().armed_count(), 0)
        stage.close()


def test_an_operation_reports_to_its_fiber_on_every_backend() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var stage = _Stage(ReactorConfig(backend=kind))
        _ = stage.start(_read)
        stage.turn(1)
        assert_equal(stage.take(), ["reading"])
        assert_equal(send_octets(stage.state[].theirs, "hey".as_bytes()), 3)
        while stage.loop.busy() > 0:
            stage.turn()
        assert_equal(stage.take(), ["read 3"])
        stage.close()


def test_an_operation_past_its_deadline_times_out() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var stage = _Stage(ReactorConfig(backend=kind))
        stage.state[].timeout_ms = 5
        var fiber = stage.start(_read)
        while stage.loop.busy() > 0:
            stage.turn()
        assert_equal(stage.take(), ["reading", String("read ", TIMED_OUT)])
        assert_true(fiber.operation().is_idle())
        stage.close()


def test_cancelling_resumes_only_after_the_final_completion() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var stage = _Stage(ReactorConfig(backend=kind))
        var fiber = stage.start(_read)
        stage.turn(1)
        _ = stage.take()
        fiber.cancel()
        fiber.cancel()
        fiber.wake()
        assert_false(fiber.operation().is_idle())
        assert_equal(stage.take(), [])
        while stage.loop.busy() > 0:
            # Whenever the fiber has gone on, the kernel has let go.
            if len(stage.state[].log.read()) > 0:
                assert_true(fiber.operation().is_idle())
            stage.turn()
        assert_equal(stage.take(), [String("read ", CANCELLED)])
        stage.close()


def test_a_fiber_cancelled_before_its_submission_reads_nothing() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var stage = _Stage(ReactorConfig(backend=kind))
        assert_equal(send_octets(stage.state[].theirs, "hey".as_bytes()), 3)
        var fiber = stage.start(_read)
        fiber.cancel()
        while stage.loop.busy() > 0:
            stage.turn()
        assert_equal(stage.take(), ["reading", String("read ", CANCELLED)])
        stage.close()


def test_fibers_that_yield_take_turns_and_leave_the_kernel_its_own() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var stage = _Stage(ReactorConfig(backend=kind))
        _ = stage.start(_yield_three_times)
        _ = stage.start(_yield_three_times)
        _ = stage.start(_read)
        assert_equal(send_octets(stage.state[].theirs, "hey".as_bytes()), 3)
        stage.state[].log.add("turn")
        while stage.loop.busy() > 0:
            stage.turn()
            stage.state[].log.add("turn")
        var lines = stage.take()
        var yields = 0
        var read_at = -1
        for i in range(len(lines)):
            if lines[i] == "read 3":
                read_at = i
            if lines[i].startswith("yield"):
                yields += 1
        assert_equal(yields, 6)
        # Each turn resumes each of them once.
        for n in range(3):
            assert_equal(_count_until(lines, String("yield ", n)), 2)
        assert_true(read_at >= 0 and read_at < len(lines) - 2)
        stage.close()


def test_a_turn_resumes_a_bounded_number_in_the_order_of_waking() raises:
    comptime count = 2 * RESUMED_PER_TURN_MAX + 1
    var stage = _Stage(ReactorConfig())
    var fibers = List[Fiber]()
    for _ in range(count):
        fibers.append(stage.start(_park_and_name))
    for i in range(count):
        # In another order than that of starting.
        fibers[i * 7 % count].wake()
    var ended = List[String]()
    for wanted in [RESUMED_PER_TURN_MAX, RESUMED_PER_TURN_MAX, 1, 0]:
        stage.turn()
        var lines = stage.take()
        assert_equal(len(lines), wanted)
        ended += lines^
    for i in range(count):
        assert_equal(ended[i], _name_of(fibers[i * 7 % count]))
    stage.close()


def test_a_fiber_that_yields_lets_all_that_were_ready_before_it_run() raises:
    var stage = _Stage(ReactorConfig())
    _ = stage.start(_yield_three_times)
    for _ in range(2 * RESUMED_PER_TURN_MAX):
        stage.start(_park).wake()
    _ = stage.take()
    while stage.loop.busy() > 0:
        stage.turn()
    var lines = stage.take()
    # It yielded before the others were woken, and again behind all of them.
    assert_equal(lines[0], "yield 1")
    assert_equal(lines[2 * RESUMED_PER_TURN_MAX + 1], "yield 2")
    stage.close()


def test_stacks_begin_at_many_offsets_of_their_pages() raises:
    var stage = _Stage(ReactorConfig())
    var offsets = List[Int]()
    for _ in range(24):
        var own = stage.start(_park).state[].context.own % PAGE_OCTETS
        if own not in offsets:
            offsets.append(own)
    assert_true(len(offsets) > 6, String(len(offsets)))
    stage.close()


def test_locals_survive_a_wait_that_is_not_inlined() raises:
    var stage = _Stage(ReactorConfig())
    var first = stage.start(_sum_while_parked)
    var second = stage.start(_sum_while_parked)
    for _ in range(10):
        first.wake()
        second.wake()
        stage.turn()
    assert_equal(stage.take(), ["sum 55", "sum 55"])
    stage.close()


def test_blocks_are_used_again_under_a_new_generation() raises:
    var stage = _Stage(ReactorConfig(fibers_max=2))
    var seen = List[Fiber]()
    for i in range(10):
        var fiber = stage.start(_park)
        if fiber not in seen:
            seen.append(fiber)
        assert_equal(Int(fiber.state[].generation), i + 1)
        assert_false(fiber.is_cancelled())
        fiber.cancel()
        stage.turn()
    assert_equal(len(seen), 1, "the last one given back is lent first")
    _ = stage.take()
    stage.close()


def test_trimming_takes_the_stacks_of_idle_fibers_which_run_again() raises:
    var stage = _Stage(ReactorConfig(fibers_max=20))
    var fibers = List[Fiber]()
    for _ in range(20):
        fibers.append(stage.start(_park))
        _deepest(fibers[len(fibers) - 1])[] = 7
    for i in range(15):
        fibers[i].wake()
    stage.turn()
    _ = stage.take()
    var queue = stage.loop.reactor.state[].fibers
    var rounds = 0
    while queue.trim(4):
        rounds += 1
    assert_equal(rounds, 1)
    assert_equal(queue.state[].idle_count, 4)
    assert_equal(queue.state[].cold_count, 11)
    assert_equal(stage.loop.busy(), 5)
    for i in range(20):
        assert_equal(Int(_deepest(fibers[i])[]), 0 if i < 15 else 7, String(i))
    var again = List[Fiber]()
    for _ in range(15):
        again.append(stage.start(_sum_while_parked))
    assert_false(stage.try_start(_park), "as many as before")
    for _ in range(10):
        for fiber in again:
            fiber.wake()
        stage.turn()
    assert_equal(stage.take(), List[String](length=15, fill="sum 55"))
    for i in range(15, 20):
        fibers[i].wake()
    stage.turn()
    assert_equal(stage.take(), List[String](length=5, fill="end 0"))
    assert_equal(stage.loop.busy(), 0)
    stage.close()


def test_at_the_limit_no_fiber_starts() raises:
    var stage = _Stage(ReactorConfig(fibers_max=3))
    var fibers = List[Fiber]()
    for _ in range(3):
        fibers.append(stage.start(_park))
    assert_false(stage.try_start(_park))
    fibers[1].wake()
    stage.turn()
    assert_true(stage.try_start(_park))
    _ = stage.take()
    stage.close()


def test_a_thousand_waits_are_refused_and_the_next_is_for_ever() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var stage = _Stage(ReactorConfig(backend=kind))
        var fiber = stage.start(_wait_without_end)
        fiber.cancel()
        # Each refused wait is one turn that does not hold up the loop.
        for _ in range(1001):
            assert_equal(stage.loop.leaked(), 0)
            stage.turn(0)
        assert_equal(stage.loop.leaked(), 1)
        assert_equal(stage.state[].refused, 1000)
        for _ in range(10):
            stage.turn(0)
            fiber.wake()
        assert_equal(stage.state[].refused, 1000)
        assert_false(stage.loop.reactor.state[].fibers.has_ready())
        stage.close()


def test_destroying_a_reactor_unwinds_its_fibers() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var stage = _Stage(ReactorConfig(backend=kind))
        _ = stage.start(_read)
        _ = stage.start(_park)
        stage.turn(1)
        _ = stage.take()
        var log = stage.state[].log
        stage.close(False)
        var lines = log.take()
        assert_equal(len(lines), 2)
        assert_true(String("read ", CANCELLED) in lines)
        assert_true(String("end ", CANCELLED) in lines)


struct _StageState(Movable):
    var log: Log
    var ours: Int32
    var theirs: Int32
    var octets: List[UInt8]
    var timeout_ms: Int
    var deadline_in_ms: Int
    var refused: Int

    def __init__(out self):
        self.log = Log()
        self.ours = -1
        self.theirs = -1
        self.octets = List[UInt8](length=16, fill=0)
        self.timeout_ms = NO_DEADLINE
        self.deadline_in_ms = NO_DEADLINE
        self.refused = 0


struct _Stage(Movable):
    # A loop and what its fibers share.
    var loop: Loop
    var state: PointerTo[_StageState]

    def __init__(out self, config: ReactorConfig) raises:
        self.loop = Loop(config)
        self.state = heap_create(_StageState())
        var ours = Int32(-1)
        var theirs = Int32(-1)
        _ = open_socket_pair(AF_UNIX, SOCK_STREAM, ours, theirs)
        self.state[].ours = ours
        self.state[].theirs = theirs

    def try_start(self, function: FiberFunction) -> Bool:
        var fibers = self.loop.reactor.state[].fibers
        var started = fibers.start(
            self.loop.reactor, function, self.state.unsafe_bitcast[NoneType]()
        )
        if started:
            fibers.resume(started.value())
        return Bool(started)

    def start(self, function: FiberFunction) -> Fiber:
        var fibers = self.loop.reactor.state[].fibers
        var fiber = fibers.start(
            self.loop.reactor, function, self.state.unsafe_bitcast[NoneType]()
        ).value()
        fibers.resume(fiber)
        return fiber

    def turn(self, wait_ms: Int = 10):
        self.loop.turn(wait_ms)

    def take(self) -> List[String]:
        var lines = self.state[].log.read()
        self.state[].log.lines[].clear()
        return lines^

    def close(mut self, with_log: Bool = True):
        self.loop.close()
        _ = close_descriptor(self.state[].ours)
        _ = close_descriptor(self.state[].theirs)
        if with_log:
            _ = self.state[].log.take()
        heap_destroy(self.state)


def _stage(task: Erased) -> PointerTo[_StageState]:
    return task.unsafe_bitcast[_StageState]()


@no_inline
def _wait(timeout_ms: Int = NO_DEADLINE) -> Int:
    return current_fiber().value().wait(timeout_ms)


def _park(task: Erased):
    _stage(task)[].log.add("begin")
    _stage(task)[].log.add(String("end ", _wait()))


def _park_and_name(task: Erased):
    _ = _wait()
    _stage(task)[].log.add(_name_of(current_fiber().value()))


def _name_of(fiber: Fiber) -> String:
    return String(Int(fiber.state))


def _park_twice(task: Erased):
    _stage(task)[].log.add(String("first ", _wait()))
    _stage(task)[].log.add(String("second ", _wait()))


def _wait_with_deadline(task: Erased):
    var stage = _stage(task)
    var fiber = current_fiber().value()
    if stage[].deadline_in_ms != NO_DEADLINE:
        fiber.state[].deadline_ms = (
            fiber.reactor().refresh_now_ms() + stage[].deadline_in_ms
        )
    stage[].log.add(String("end ", _wait(stage[].timeout_ms)))


def _read(task: Erased):
    var stage = _stage(task)
    stage[].log.add("reading")
    var fiber = current_fiber().value()
    ref operation = fiber.state[].operation
    operation.kind = OperationKind.READ
    operation.descriptor = stage[].ours
    operation.address = (
        stage[].octets.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin]()
    )
    operation.length = 16
    stage[].log.add(String("read ", fiber.perform(stage[].timeout_ms)))


def _yield_three_times(task: Erased):
    for i in range(3):
        _stage(task)[].log.add(String("yield ", i))
        current_fiber().value().yield_turn()


def _sum_while_parked(task: Erased):
    var sum = 0
    var parts = List[Int]()
    for i in range(1, 11):
        parts.append(i)
        sum += _wait_and_give(i)
    var again = 0
    for part in parts:
        again += part
    _stage(task)[].log.add(String("sum ", sum if sum == again else -1))


@no_inline
def _wait_and_give(number: Int) -> Int:
    var before = number
    _ = _wait()
    return before


def _wait_without_end(task: Erased):
    _ = _wait()
    while True:
        if _wait() == CANCELLED:
            _stage(task)[].refused += 1


def _count_until(lines: List[String], wanted: String) -> Int:
    var count = 0
    for line in lines:
        if line == wanted:
            count += 1
    return count


def _deepest(fiber: Fiber) -> PointerTo[UInt8]:
    ref context = fiber.state[].context
    return PointerTo[UInt8](
        unsafe_from_address=context.base + ReactorConfig().guard_octets
    )


comptime TESTS = __functions_in_module()
