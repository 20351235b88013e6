"""Runs jobs after a response was sent."""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime.current import current_fiber
from flare.runtime.deadline import set_run_deadline, set_scope_deadline
from flare.runtime.fiber import NO_DEADLINE
from flare.runtime.fiber_local import FiberLocal
from flare.runtime.task import captures_a_view, spawn
from flare.runtime.wait import deadline_in, waiting_fiber

from .later_jobs import LaterJobsPlace
from .request import Request
from .request_values import find_value, set_value

comptime JOB_MS = 60_000
"""How long the waits of a job may take by default."""
comptime _BORROWS: StaticString = (
    "the closure captures a view or a reference, which ends with the request:"
    " capture a copy, such as String(req.path)"
)


def after_response[
    F: def() raises -> None
](req: Request, var job: F, *, timeout_ms: Int = JOB_MS) raises:
    """Runs a job after the response was sent, on a fiber of its own: a mail to
    send, or a statistic to write. The client does not wait for it.

    - The jobs of a request run one after the other, in the order of the calls.
      They run also if the handler raises, or the client leaves.
    - An error of a job is logged, and the next job runs.
    - A server that stops waits for its jobs, up to `shutdown_timeout_ms`. Then
      their waits raise `net.cancelled`. A process that dies loses them: store
      jobs that must not be lost in a database first.
    - The closure owns its captures, because the request is over when it runs.

    Parameters:
        F: The type of the job.

    Args:
        req: The request being answered.
        job: The job.
        timeout_ms: How long its waits may take together, in milliseconds; a
            minute by default, so that no job waits forever.

    Raises:
        An error `http.read_only` if the request was created for sending.
    """
    comptime assert not captures_a_view[F](), _BORROWS
    if req._is_own:
        raise Error("http.read_only a request to send has no values")
    var x = req.unsafe_exchange()
    var entry = _Job(
        heap_create(_Closure[F](job^)).unsafe_bitcast[NoneType](),
        _run[_Closure[F]],
        _destroy[_Closure[F]],
        timeout_ms,
    )
    var found = find_value[_JobsOfRequest](x[].app.values)
    if found:
        found.unsafe_value()[].jobs.entries.append(entry)
    else:
        var jobs = _JobsOfRequest(LaterJobsPlace(x[].host.jobs_place))
        jobs.jobs.entries.append(entry)
        set_value(x[].app.values, jobs^)


@fieldwise_init
struct _Job(TrivialRegisterPassable):
    var block: Erased
    var run: def(Erased) raises thin -> None
    var destroy: def(Erased) thin -> None
    var timeout_ms: Int


struct _Jobs(Movable):
    # Owns the jobs, whether they run or not.
    var entries: List[_Job]
    var place: LaterJobsPlace
    # Whether the worker knows of them.
    var is_counted: Bool
    # The block that the handler's fiber shares, such as its span.
    var local: Optional[FiberLocal]

    def __init__(out self, place: LaterJobsPlace):
        self.entries = []
        self.place = place
        self.is_counted = False
        self.local = None
        var fiber = current_fiber()
        if fiber and fiber.value().state[].kin.local:
            self.local = fiber.value().state[].kin.local.value().hold()

    def __init__(out self, *, deinit move: Self):
        self.entries = move.entries^
        self.place = move.place
        self.is_counted = move.is_counted
        self.local = move.local

    def __deinit__(deinit self):
        for entry in self.entries:
            entry.destroy(entry.block)
        if self.local:
            self.local.value().release()
        if self.is_counted:
            self.place.jobs().value()[].count -= 1

    def report(self, problem: StringSlice):
        var jobs = self.place.jobs()
        if jobs:
            jobs.value()[].report(problem)


struct _JobsOfRequest(Movable):
    # Among the values of the request, which are destroyed when it is over.
    var jobs: _Jobs

    def __init__(out self, place: LaterJobsPlace):
        self.jobs = _Jobs(place)

    def __init__(out self, *, deinit move: Self):
        self.jobs = move.jobs^

    def __deinit__(deinit self):
        _start(self.jobs^)


@no_inline
def _start(var jobs: _Jobs):
    var place = jobs.place.jobs()
    if place:
        place.value()[].count += 1
        jobs.is_counted = True

    def run() raises {var jobs^}:
        _run_all(jobs)

    try:
        spawn(run^).detach()
    except e:
        if place:
            place.value()[].report(String(e))


def _run_all(jobs: _Jobs) raises:
    # The deadlines of the handler, on whose fiber the request may have ended,
    # are not those of the jobs.
    var fiber = waiting_fiber("wait")
    set_run_deadline(fiber, NO_DEADLINE)
    set_scope_deadline(fiber, NO_DEADLINE)
    fiber.leave_local()
    if jobs.local:
        fiber.state[].kin.local = jobs.local.value().hold()
    for entry in jobs.entries:
        try:
            with deadline_in(entry.timeout_ms):
                entry.run(entry.block)
        except e:
            jobs.report(String(e))


trait _Runnable(Deinitable, Movable):
    @staticmethod
    def run(block: PointerTo[Self]) raises capturing:
        ...


struct _Closure[F: def() raises -> None](_Runnable):
    var job: Self.F

    def __init__(out self, var job: Self.F):
        self.job = job^

    @staticmethod
    def run(block: PointerTo[Self]) raises capturing:
        block[].job()


def _run[C: _Runnable](block: Erased) raises:
    C.run(block.unsafe_bitcast[C]())


def _destroy[C: _Runnable](block: Erased):
    heap_destroy(block.unsafe_bitcast[C]())
