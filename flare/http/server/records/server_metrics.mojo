"""Connects a server with a registry of metrics.

A server knows only the functions of `MetricsFunctions`. So the code for metrics
is part of a program only if it creates them.
"""

from std.sys import size_of

from flare.core import Erased, PointerTo, heap_create
from flare.http.exchange import Exchange
from flare.metrics import HistogramUnit, Metrics
from flare.metrics.area import (
    AREA_HEAD_OCTETS,
    Area,
    BEGUN_WORD,
    OWNER_WORD,
    PAST_CPU_WORD,
    PROCESS_WORD,
    START_WORD,
    THREAD_WORD,
)
from flare.metrics.metrics_text import MetricsText
from flare.metrics.registry_state import (
    MetricsSource,
    RegistryState,
    claim_areas,
    edges_of,
    enter_area,
    enter_process,
    register,
    release_areas,
)
from flare.runtime.reactor import Reactor

from .request_metrics import (
    RequestEnd,
    RequestRecorder,
    record_request,
    request_family,
)
from .server_families import write_process_families, write_server_families
from .statistics import WorkerStatistics


@fieldwise_init
struct MetricsEntry(TrivialRegisterPassable):
    """A worker that starts to count."""

    var reactor: Reactor
    """Its loop."""
    var counters: PointerTo[WorkerStatistics]
    """Its counters."""
    var first: Int
    """The index of the first area of its server."""
    var worker: Int
    """Its number."""
    var workers: Int
    """The number of workers of the server."""
    var is_process: Bool
    """Whether it is a process of its own."""


@fieldwise_init
struct MetricsFunctions(TrivialRegisterPassable):
    """The functions that a server with metrics calls; `owner` is the first
    argument of each."""

    var owner: Erased
    """The registry."""
    var claim: def(Erased, Int, Bool) raises thin -> Int
    """Reserves areas for a number of workers, which may be processes of their
    own. Returns the index of the first one."""
    var enter: def(Erased, MetricsEntry) thin -> Erased
    """Makes a worker count, and returns its recorder."""
    var record: def(Erased, Exchange, RequestEnd) thin -> None
    """Counts a request; the recorder is the first argument."""
    var release: def(Erased, Int, Int) thin -> None
    """Returns the areas of a server that has ended, by the index of the first
    one and the number of workers."""
    var watch: Int
    """The address of memory that `record` uses too; 0 without one."""


struct ServerMetrics(TrivialRegisterPassable):
    """The registry in which a server counts, if any."""

    # One word, because configurations are copied. 0 without a registry.
    var _functions: Int

    @always_inline
    def __init__(out self):
        """Creates the choice of no metrics."""
        self._functions = 0

    @implicit
    def __init__(out self, metrics: Metrics):
        """Creates the choice of a registry.

        Args:
            metrics: The registry.
        """
        # One block for each registry, so that the status page can change it.
        var state = metrics.unsafe_state()
        if not state[].functions:
            state[].functions = heap_create(
                MetricsFunctions(
                    state.unsafe_bitcast[NoneType](),
                    _claim,
                    _enter,
                    record_request,
                    _release,
                    0,
                )
            ).unsafe_bitcast[NoneType]()
        self._functions = Int(state[].functions.value())

    @always_inline
    def is_chosen(self) -> Bool:
        """Returns whether there is a registry.

        Returns:
            False if the server counts in none.
        """
        return self._functions != 0

    @always_inline
    def functions(self) -> PointerTo[MetricsFunctions]:
        """Returns the functions that count.

        Returns:
            The functions, if there is a registry.
        """
        return PointerTo[MetricsFunctions](unsafe_from_address=self._functions)


struct ServersState(Movable):
    """The state that the servers of one registry share."""

    var registry: PointerTo[RegistryState]
    """The registry."""
    var number: Int
    """The index of the family of requests."""
    var recorders: List[Optional[PointerTo[RequestRecorder]]]
    """The recorders of this process, by area."""
    var past: WorkerStatistics
    """The counters of the servers that have ended."""

    def __init__(out self, registry: PointerTo[RegistryState], number: Int):
        """Creates the state of no servers.

        Args:
            registry: The registry.
            number: The index of the family of requests.
        """
        self.registry = registry
        self.number = number
        self.recorders = []
        self.past = WorkerStatistics()


@fieldwise_init
struct WorkerView(ImplicitlyCopyable):
    """The state of one worker, as another thread sees it."""

    var area: Int
    """The index of its area."""
    var process: Int
    """The id of its process."""
    var thread: Int
    """The id of its thread."""
    var counters: WorkerStatistics
    """Its counters."""


def server_state(
    registry: PointerTo[RegistryState],
) -> Optional[PointerTo[ServersState]]:
    """Returns the state of the servers that count in a registry.

    Args:
        registry: The registry.

    Returns:
        The state; `None` before a server counts there.
    """
    if not registry[].servers:
        return None
    return _servers_of(registry)


def view_workers(
    registry: PointerTo[RegistryState], mut sums: WorkerStatistics
) -> List[WorkerView]:
    """Reads the counters of all workers. Callable on any thread.

    Args:
        registry: The registry, in which servers count.
        sums: Set to the sums since the start, those of servers that have ended
            included.

    Returns:
        The workers that serve.
    """
    ref s = registry[]
    var views = List[WorkerView]()
    s.lock.acquire()
    sums = _servers_of(registry)[].past
    for i in range(len(s.areas)):
        var area = s.areas[i]
        if _add_counters(area, sums):
            views.append(
                WorkerView(
                    i,
                    area.head(PROCESS_WORD),
                    area.head(THREAD_WORD),
                    WorkerStatistics.snapshot(
                        PointerTo[WorkerStatistics](
                            unsafe_from_address=area.head(OWNER_WORD)
                        )
                    ),
                )
            )
    s.lock.release()
    return views^


def _claim(owner: Erased, workers: Int, are_processes: Bool) raises -> Int:
    var registry = owner.unsafe_bitcast[RegistryState]()
    ref s = registry[]
    if not s.servers:
        var edges = edges_of(registry, HistogramUnit.SECONDS, s.duration_bounds)
        var number = register(registry, request_family(edges))
        var servers = heap_create(ServersState(registry, number))
        s.servers = servers.unsafe_bitcast[NoneType]()
        s.sources.append(
            MetricsSource(servers.unsafe_bitcast[NoneType](), _write)
        )
    # Threads of a process that are no worker count in an area of their own.
    return claim_areas(registry, 2 * workers if are_processes else workers)


def _enter(owner: Erased, entry: MetricsEntry) -> Erased:
    var registry = owner.unsafe_bitcast[RegistryState]()
    var servers = _servers_of(registry)
    if entry.is_process:
        enter_process(registry, entry.first + entry.workers + entry.worker)
    var index = entry.first + entry.worker
    _note_start(registry[].areas[index], entry.counters)
    var place = enter_area(registry, entry.reactor, index, Int(entry.counters))
    ref s = registry[]
    s.lock.acquire()
    while len(servers[].recorders) <= index:
        servers[].recorders.append(None)
    var recorder: PointerTo[RequestRecorder]
    if servers[].recorders[index]:
        recorder = servers[].recorders[index].value()
        recorder[].place = place
    else:
        recorder = heap_create(
            RequestRecorder(registry, servers[].number, place)
        )
        servers[].recorders[index] = recorder
    s.lock.release()
    return recorder.unsafe_bitcast[NoneType]()


def _release(owner: Erased, first: Int, workers: Int):
    var registry = owner.unsafe_bitcast[RegistryState]()
    ref s = registry[]
    var servers = _servers_of(registry)
    s.lock.acquire()
    for i in range(first, first + workers):
        _ = _add_counters(s.areas[i], servers[].past)
        s.areas[i].set_head(OWNER_WORD, 0)
    s.lock.release()
    release_areas(registry, first)


def _write(owner: Erased, text: PointerTo[MetricsText]):
    var servers = owner.unsafe_bitcast[ServersState]()
    ref s = servers[].registry[]
    var sums = WorkerStatistics()
    var processes = List[Int]()
    var areas = List[Area]()
    var past_cpu_ms = 0
    var workers = 0
    s.lock.acquire()
    sums.add(servers[].past)
    for area in s.areas:
        if _add_counters(area, sums):
            workers += 1
        var process = area.head(PROCESS_WORD)
        past_cpu_ms += area.head(PAST_CPU_WORD)
        if process != 0 and process not in processes:
            processes.append(process)
            areas.append(area)
    s.lock.release()
    write_server_families(text, sums, workers)
    write_process_families(text, areas, past_cpu_ms, s.created_ms)


def _note_start(area: Area, counters: PointerTo[WorkerStatistics]):
    # If a server serves again, its counters continue, and the past contains
    # their values so far. If a process is started again, they continue, too.
    comptime assert (
        8 * START_WORD + size_of[WorkerStatistics]() <= AREA_HEAD_OCTETS
    ), "the head is too short"
    if area.head(BEGUN_WORD) == 0:
        area.word(8 * START_WORD).unsafe_bitcast[
            WorkerStatistics
        ]()[] = WorkerStatistics.snapshot(counters)
        area.set_head(BEGUN_WORD, 1)


def _add_counters(area: Area, mut sums: WorkerStatistics) -> Bool:
    var counters = area.head(OWNER_WORD)
    if counters == 0:
        return False
    sums.add(
        WorkerStatistics.snapshot(
            PointerTo[WorkerStatistics](unsafe_from_address=counters)
        )
    )
    var start = area.word(8 * START_WORD).unsafe_bitcast[WorkerStatistics]()
    sums.add(start[], -1)
    return True


def _servers_of(
    registry: PointerTo[RegistryState],
) -> PointerTo[ServersState]:
    return registry[].servers.value().unsafe_bitcast[ServersState]()
