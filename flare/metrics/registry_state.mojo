"""Holds the families of a program, and the memory in which they are counted.

Each worker has an area of its own, in memory that was mapped before the
workers started. So a process that a supervisor forks counts in memory that all
others read, and its counts outlive it.
"""

from flare.core import Erased, PointerTo, heap_create
from flare.runtime.reactor import Reactor, ReactorState
from flare.sys.clock import unix_ms
from flare.sys.memory import PAGE_OCTETS, map_shared_sparse
from flare.sys.process import process_id, thread_id
from flare.sys.thread import Lock
from flare.sys.thread_cell import thread_word

from .area import (
    AREA_HEAD_OCTETS,
    Area,
    BEGUN_WORD,
    OWNER_WORD,
    THREAD_WORD,
)
from .buckets import BucketTable
from .family import Family, FamilyKind, HistogramUnit
from .metrics_text import MetricsText
from .place import Place, PlaceState

comptime AREA_OCTETS_MAX = 64 * 1024 * 1024
"""The most octets of an area. Pages that are not written take no memory."""


@fieldwise_init
struct MetricsSource(TrivialRegisterPassable):
    """A function that reads numbers only when they are asked for."""

    var owner: Erased
    """Its first argument."""
    var write: def(Erased, PointerTo[MetricsText]) thin -> None
    """Writes families."""


@fieldwise_init
struct AreaClaim(Copyable, Movable):
    """The areas of one server."""

    var first: Int
    """The index of the first one."""
    var count: Int
    """How many there are."""
    var is_free: Bool
    """Whether that server has ended, so that another one may have them."""


struct RegistryState(Movable):
    """The state of a registry. Only `Metrics` and its instruments use it."""

    var families: List[PointerTo[Family]]
    """The families, which do not change once a server has started."""
    var octets: Int
    """How much of an area they take."""
    var table: BucketTable
    """Finds the buckets of histograms."""
    var others: Place
    """Where threads count that have no place of their own."""
    var areas: List[Area]
    """All areas; the first is that of the process in which the program began.
    """
    var lock: Lock
    """Guards the areas and their claims."""
    var claims: List[AreaClaim]
    """Which areas belong to which server."""
    var sources: List[MetricsSource]
    """The functions that write further families."""
    var servers: Optional[Erased]
    """The state of the servers that count here; they know its type."""
    var functions: Optional[Erased]
    """The functions by which servers count here; they know the type."""
    var duration_bounds: List[Int]
    """The bounds of histograms of times, in nanoseconds."""
    var created_ms: Int
    """When the registry was created, since 1970."""

    def __init__(out self, area: Area, var duration_bounds: List[Int]):
        """Creates a registry without families.

        Args:
            area: The area for threads without a place of their own.
            duration_bounds: The bounds of histograms of times.
        """
        self.families = []
        self.octets = AREA_HEAD_OCTETS
        self.table = BucketTable()
        self.others = Place.create(0, area, is_own=False)
        self.areas = [area]
        self.lock = Lock.create()
        self.claims = []
        self.sources = []
        self.servers = None
        self.functions = None
        self.duration_bounds = duration_bounds^
        self.created_ms = unix_ms()


@always_inline
def place_of_thread(state: PointerTo[RegistryState]) -> Place:
    """Returns where the calling thread counts.

    Args:
        state: The registry.

    Returns:
        Its own place if it is a worker that counts in this registry.
    """
    var word = thread_word()[]
    if word != 0:
        var own = PointerTo[ReactorState](
            unsafe_from_address=word
        )[].outlets.metrics_place
        if own:
            var place = Place(own.unsafe_value().unsafe_bitcast[PlaceState]())
            if place.state[].registry == Int(state):
                return place
    return state[].others


def registry_of_thread() -> Int:
    """Returns the registry in which the calling thread counts as a worker.

    Returns:
        Its address; 0 if the thread is no worker of a server with metrics.
    """
    var word = thread_word()[]
    if word == 0:
        return 0
    ref own = PointerTo[ReactorState](
        unsafe_from_address=word
    )[].outlets.metrics_place
    if not own:
        return 0
    return own.unsafe_value().unsafe_bitcast[PlaceState]()[].registry


def register(state: PointerTo[RegistryState], var family: Family) raises -> Int:
    """Adds a family, or finds an equal one.

    Args:
        state: The registry.
        family: The family.

    Returns:
        Its index.

    Raises:
        Error: `metrics.name_taken`, `metrics.started`, or `metrics.too_many`.
    """
    ref s = state[]
    for i in range(len(s.families)):
        if s.families[i][].is_like(family):
            return i
        for name in s.families[i][].sample_names():
            if name in family.sample_names():
                raise Error("metrics.name_taken ", family.name)
    if len(s.claims) > 0:
        raise Error("metrics.started a family follows a server: ", family.name)
    if s.octets + family.octets() > AREA_OCTETS_MAX:
        raise Error("metrics.too_many families: ", family.name)
    family.offset = s.octets
    s.octets += family.octets()
    s.families.append(heap_create(family^))
    return len(s.families) - 1


def edges_of(
    state: PointerTo[RegistryState], unit: HistogramUnit, bounds: List[Int]
) raises -> List[Int]:
    """Returns the edges that some bounds are.

    Args:
        state: The registry.
        unit: The unit of the bounds.
        bounds: The bounds.

    Returns:
        The indices of the edges.

    Raises:
        Error: `metrics.bad_bounds` if one is no edge, or not above the one
            before it.
    """
    var edges = List[Int]()
    for bound in bounds:
        # A product must not wrap to another edge.
        var edge = Optional[Int](None)
        if 0 < bound <= 100_000_000_000:
            edge = state[].table.edge_at(bound * unit.scale)
        if not edge:
            raise Error("metrics.bad_bounds is no edge of a bucket: ", bound)
        if len(edges) > 0 and edge.value() <= edges[len(edges) - 1]:
            raise Error("metrics.bad_bounds are not in order: ", bound)
        edges.append(edge.value())
    return edges^


def claim_areas(state: PointerTo[RegistryState], count: Int) raises -> Int:
    """Reserves areas for the workers of a server, and closes the registry to
    further families.

    Args:
        state: The registry.
        count: The number of areas.

    Returns:
        The index of the first one.

    Raises:
        Error: `metrics.no_memory`.
    """
    ref s = state[]
    with s.lock:
        for i in range(len(s.claims)):
            if s.claims[i].is_free and s.claims[i].count == count:
                s.claims[i].is_free = False
                return s.claims[i].first
        var octets = (s.octets + PAGE_OCTETS - 1) // PAGE_OCTETS * PAGE_OCTETS
        var mapped = map_shared_sparse(count * octets)
        if mapped < 0:
            raise Error("metrics.no_memory errno=", -mapped)
        var first = len(s.areas)
        for i in range(count):
            var area = Area(mapped + i * octets)
            _copy_series(s, area)
            s.areas.append(area)
        s.claims.append(AreaClaim(first, count, False))
        return first


def release_areas(state: PointerTo[RegistryState], first: Int):
    """Leaves the areas of a server to a later one, which continues to count.

    Args:
        state: The registry.
        first: The result of `claim_areas`.
    """
    ref s = state[]
    s.lock.acquire()
    for i in range(len(s.claims)):
        if s.claims[i].first == first:
            s.claims[i].is_free = True
            for k in range(s.claims[i].count):
                s.areas[first + k].set_head(OWNER_WORD, 0)
                s.areas[first + k].set_head(BEGUN_WORD, 0)
                s.areas[first + k].set_process(0)
    s.lock.release()


def enter_area(
    state: PointerTo[RegistryState], reactor: Reactor, index: Int, owner: Int
) -> Place:
    """Makes the calling thread, a worker, count in an area.

    Args:
        state: The registry.
        reactor: The loop of the thread.
        index: The index of the area.
        owner: The word for readers of this worker.

    Returns:
        The place of the thread.
    """
    var area = state[].areas[index]
    var place = Place.create(Int(state), area, is_own=True)
    _forget_gauges(state, area)
    area.set_head(OWNER_WORD, owner)
    area.set_process(process_id())
    area.set_head(THREAD_WORD, thread_id())
    reactor.state[].outlets.metrics_place = place.state.unsafe_bitcast[
        NoneType
    ]()
    return place


def enter_process(state: PointerTo[RegistryState], index: Int):
    """Makes the threads of a forked process that are no workers count in an
    area of their own. Called before there are any.

    Args:
        state: The registry.
        index: The index of the area.
    """
    ref s = state[]
    # A thread of the supervisor may have held it during the fork.
    s.lock = Lock.create()
    _forget_gauges(state, s.areas[index])
    s.others = Place.create(Int(state), s.areas[index], is_own=False)


def _copy_series(s: RegistryState, area: Area):
    # Instruments that exist already are in the same place everywhere.
    for family in s.families:
        if len(family[].labels) > 0:
            for i in range(s.areas[0].series_count(family[])):
                var series = s.areas[0].series(family[], i)
                _ = area.publish(family[], s.areas[0].key(family[], series))


def _forget_gauges(state: PointerTo[RegistryState], area: Area):
    # A gauge counts present things, and those of a dead worker have ended.
    for family in state[].families:
        if family[].kind == FamilyKind.GAUGE:
            for i in range(area.series_count(family[])):
                area.word(area.series(family[], i))[] = 0
