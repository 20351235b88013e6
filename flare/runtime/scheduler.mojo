"""Runs one function on several threads, each on its own CPU.

The threads share only the argument. Each creates its own reactor, or gets a
private one at its first wait.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.net import NetError
from flare.sys.thread import (
    Lock,
    allowed_cpus,
    join_thread,
    pin_to_cpu,
    set_affinity,
    start_thread,
)

from .cpu_quota import cpu_quota

comptime WORKERS_MAX = 256
"""The most threads that one scheduler starts."""

comptime WorkerFunction = def(Erased, Int) thin -> None
"""The function for each thread: its arguments are the shared one and the
worker's number from 0.
"""

comptime _CLOSED = 0
comptime _OPEN = 1
comptime _ABANDONED = 2


struct _Gate(Movable):
    # All threads wait until the last one has started. Otherwise, if one failed
    # to start, the others would run without an end.
    var lock: Lock
    var phase: Int

    def __init__(out self):
        self.lock = Lock.create()
        self.phase = _CLOSED


@fieldwise_init
struct _Seat(Movable):
    var gate: PointerTo[_Gate]
    var function: WorkerFunction
    var argument: Erased
    var index: Int
    var cpu: Int


struct Scheduler:
    """Starts the workers of a server and waits for their end."""

    @staticmethod
    def start(
        count: Int, pin: Bool, function: WorkerFunction, argument: Erased
    ) raises:
        """Runs a function on several threads until all calls have returned.

        Worker 0 is the calling thread, whose CPU affinity is restored
        afterwards.

        Args:
            count: The number of workers, 1 to 256.
            pin: Whether worker N runs only on the Nth allowed CPU. If there
                are more workers than CPUs, the numbering starts again.
            function: Called once on each thread.
            argument: The argument of each call; shared by the threads.

        Raises:
            NetError: If a thread cannot be started; the function then ran on
                none.

            An error `runtime.bad_count` if `count` is not 1 to 256.
        """
        if count < 1 or count > WORKERS_MAX:
            raise Error(
                "runtime.bad_count workers must be 1 to ",
                WORKERS_MAX,
                ", not ",
                count,
            )
        var cpus = allowed_cpus()
        var gate = heap_create(_Gate())
        var seats = List[PointerTo[_Seat]]()
        var threads = List[UInt64]()
        var problem = 0
        for index in range(count):
            var cpu = cpus[index % len(cpus)] if pin else -1
            var seat = heap_create(_Seat(gate, function, argument, index, cpu))
            seats.append(seat)
            if index > 0:
                var started = start_thread(
                    _run_thread, seat.unsafe_bitcast[NoneType]()
                )
                if started[0] < 0:
                    problem = started[0]
                    break
                threads.append(started[1])
        _open(gate, problem == 0)
        if problem == 0:
            _run_seat(seats[0])
            if pin:
                _ = set_affinity(cpus)
        for thread in threads:
            join_thread(thread)
        for seat in seats:
            heap_destroy(seat)
        gate[].lock.destroy()
        heap_destroy(gate)
        if problem < 0:
            raise Error(NetError.from_errno("start", problem))


def default_worker_count() -> Int:
    """Returns how many workers can run at the same time.

    Returns:
        The number of CPUs that the calling thread may run on, or less if a
        control group allows less CPU time; 1 to 256.
    """
    var count = len(allowed_cpus())
    var quota = cpu_quota()
    if quota:
        count = min(count, quota.value())
    return max(1, min(count, WORKERS_MAX))


def _open(gate: PointerTo[_Gate], run: Bool):
    gate[].lock.acquire()
    gate[].phase = _OPEN if run else _ABANDONED
    gate[].lock.wake_all()
    gate[].lock.release()


def _passes(gate: PointerTo[_Gate]) -> Bool:
    gate[].lock.acquire()
    while gate[].phase == _CLOSED:
        gate[].lock.wait()
    var run = gate[].phase == _OPEN
    gate[].lock.release()
    return run


def _run_seat(seat: PointerTo[_Seat]):
    if seat[].cpu >= 0:
        # A sandbox may forbid it; the worker is as right on any CPU.
        _ = pin_to_cpu(seat[].cpu)
    seat[].function(seat[].argument, seat[].index)


def _run_thread(argument: Erased) abi("C") -> Optional[Erased]:
    var seat = argument.unsafe_bitcast[_Seat]()
    if _passes(seat[].gate):
        _run_seat(seat)
    return None
