"""Manages the threads that run jobs for the fibers of one reactor.

Threads are started, up to a bound, when a job finds none idle. They end with
the reactor. A job is a pointer and a function; its owner waits until it is
done, so its memory stays valid.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.sys.thread import Lock, join_thread, start_thread

from .reactor import Reactor

comptime JOB_THREADS_MAX = 8
"""The most threads of one reactor for jobs, and as many for look-ups."""

comptime JOBS_MAX = 1024
"""The most jobs that wait for a thread."""

comptime QUEUE_FULL = -105
"""The result of a submission that found the queue full (ENOBUFS)."""


@fieldwise_init
struct Job(TrivialRegisterPassable):
    """A function for a thread to call, and one for the reactor to call
    afterwards.
    """

    var run: def(Erased) thin -> None
    """Called on one of the threads."""
    var done: def(Erased) thin -> None
    """Called in a turn of the reactor, after `run`."""
    var argument: Erased
    """The argument of both."""


struct _JobThreadsState(Movable):
    # Everything but the reactor is guarded by the lock.
    var reactor: Reactor
    var lock: Lock
    var jobs: List[Job]
    # The oldest job in the ring `jobs`, and how many there are.
    var first: Int
    var count: Int
    var idle: Int
    var ending: Bool
    var threads: List[UInt64]

    def __init__(out self, reactor: Reactor):
        self.reactor = reactor
        self.lock = Lock.create()
        self.jobs = List[Job](capacity=JOBS_MAX)
        self.first = 0
        self.count = 0
        self.idle = 0
        self.ending = False
        self.threads = List[UInt64](capacity=JOB_THREADS_MAX)


@fieldwise_init
struct JobThreads(TrivialRegisterPassable):
    """Runs jobs on threads for one reactor."""

    var _state: PointerTo[_JobThreadsState]

    @staticmethod
    def of(reactor: Reactor) -> Self:
        """Returns the threads for the program's jobs.

        Args:
            reactor: The reactor. The first call creates the threads, and
                destroying the reactor ends them.

        Returns:
            A handle.
        """
        if not reactor.state[].helpers:
            reactor.state[].helpers = _make(reactor)
        return _named(reactor.state[].helpers.value())

    @staticmethod
    def for_names(reactor: Reactor) -> Self:
        """Returns the threads for look-ups of names.

        A look-up may take long if a name server does not answer, and peers may
        choose the names. So look-ups and the program's jobs do not share
        threads.

        Args:
            reactor: The reactor. The first call creates the threads, and
                destroying the reactor ends them.

        Returns:
            A handle.
        """
        if not reactor.state[].name_helpers:
            reactor.state[].name_helpers = _make(reactor)
        return _named(reactor.state[].name_helpers.value())

    def submit(self, job: Job) -> Int:
        """Queues a job. Call it on the reactor's thread.

        Args:
            job: The job; its argument lives until `done` was called.

        Returns:
            0; `QUEUE_FULL`; or a negated errno if there is no thread and none
            can be started.
        """
        var s = self._state
        s[].lock.acquire()
        var result = 0
        if s[].count == JOBS_MAX:
            result = QUEUE_FULL
        elif s[].idle <= s[].count and len(s[].threads) < JOB_THREADS_MAX:
            result = self._start_thread()
            # Fewer threads are slower, and as right.
            if result < 0 and len(s[].threads) > 0:
                result = 0
        if result == 0:
            self._append(job)
            s[].lock.wake_one()
        s[].lock.release()
        return result

    def threads(self) -> Int:
        """Returns the number of threads.

        Returns:
            The number; it never decreases before the end.
        """
        return len(self._state[].threads)

    def _start_thread(self) -> Int:
        var started = start_thread(
            _run_thread, self._state.unsafe_bitcast[NoneType]()
        )
        if started[0] == 0:
            self._state[].threads.append(started[1])
            self._state[].idle += 1
        return started[0]

    def _append(self, job: Job):
        var s = self._state
        var place = (s[].first + s[].count) % JOBS_MAX
        if place < len(s[].jobs):
            s[].jobs[place] = job
        else:
            s[].jobs.append(job)
        s[].count += 1

    def _take(self) -> Optional[Job]:
        var s = self._state
        s[].lock.acquire()
        while s[].count == 0 and not s[].ending:
            s[].lock.wait()
        var job = Optional[Job](None)
        if s[].count > 0:
            s[].idle -= 1
            job = s[].jobs[s[].first]
            s[].first = (s[].first + 1) % JOBS_MAX
            s[].count -= 1
        s[].lock.release()
        return job


def _make(reactor: Reactor) -> Erased:
    reactor.state[].end_helpers = _end
    return heap_create(_JobThreadsState(reactor)).unsafe_bitcast[NoneType]()


def _named(threads: Erased) -> JobThreads:
    return JobThreads(threads.unsafe_bitcast[_JobThreadsState]())


def _run_thread(argument: Erased) abi("C") -> Optional[Erased]:
    var threads = JobThreads(argument.unsafe_bitcast[_JobThreadsState]())
    while True:
        var job = threads._take()
        if not job:
            return None
        job.value().run(job.value().argument)
        # This comes before the answer: the fiber that gets it finds this
        # thread for its next job.
        threads._state[].lock.acquire()
        threads._state[].idle += 1
        threads._state[].lock.release()
        threads._state[].reactor.post(job.value().done, job.value().argument)


def _end(threads: Erased):
    var s = threads.unsafe_bitcast[_JobThreadsState]()
    s[].lock.acquire()
    s[].ending = True
    s[].lock.wake_all()
    s[].lock.release()
    for i in range(len(s[].threads)):
        join_thread(s[].threads[i])
    s[].lock.destroy()
    heap_destroy(s)
