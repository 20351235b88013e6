"""Keeps the latest slow requests of all workers.

The entries lie in memory that was mapped before the workers started, so that
processes share it. A number in each entry shows whether it is whole: a writer
clears it first and sets it last. A reader that finds another number after
reading drops the entry. Two writers meet in an entry only if one is delayed for
as long as all others need for a whole round.
"""

from std.atomic import Atomic, Ordering

from flare.core import Erased, OctetPointer, PointerTo, copy_octets
from flare.http.exchange import Exchange
from flare.message import Method
from flare.metrics import Metrics
from flare.sys.memory import map_shared_sparse

from .request_metrics import RequestEnd, RequestRecorder, record_request
from .server_metrics import MetricsFunctions, ServerMetrics

comptime SLOW_REQUESTS = 32
"""How many requests are kept."""
comptime ROUTE_OCTETS_MAX = 128
"""The most octets that are kept of a route's pattern."""

comptime _HEAD_OCTETS = 64
comptime _ENTRY_OCTETS = 192
# Words of the head.
comptime _COUNT = 0
comptime _LIMIT = 1
# Words of an entry. The octets of the route follow them.
comptime _NUMBER = 0
comptime _ENDED = 1
comptime _DURATION = 2
comptime _FACTS = 3
comptime _REQUEST = 4
comptime _ROUTE_OCTETS = 5
comptime _ROUTE = 48


@fieldwise_init
struct SlowRequest(Copyable, Movable):
    """A request that took long."""

    var number: Int
    """Its number among the slow requests, from 1."""
    var ended_ns: Int
    """When it ended, by the monotonic clock."""
    var duration_ns: Int
    """How long it took."""
    var status: Int
    """The status of its answer."""
    var method: Method
    """Its method."""
    var worker: Int
    """The index of its worker."""
    var request_id: Int
    """The number by which the log of the worker identifies it."""
    var route: String
    """The pattern of its route."""


@fieldwise_init
struct SlowRequests(TrivialRegisterPassable):
    """A handle to the latest slow requests of a registry."""

    var address: Int
    """The address of the head."""

    @staticmethod
    def of(metrics: Metrics, limit_ns: Int) raises -> Self:
        """Makes the servers of a registry keep slow requests. Called before a
        server starts.

        Args:
            metrics: The registry.
            limit_ns: How long a slow request takes at least, in nanoseconds.

        Returns:
            The requests. If the servers keep some already, only the limit is
            changed.

        Raises:
            Error: `metrics.no_memory`.
        """
        var functions = ServerMetrics(metrics).functions()
        if functions[].watch == 0:
            var mapped = map_shared_sparse(
                _HEAD_OCTETS + SLOW_REQUESTS * _ENTRY_OCTETS
            )
            if mapped < 0:
                raise Error("metrics.no_memory errno=", -mapped)
            functions[].watch = mapped
            functions[].record = _record_watched
        var slow = Self(functions[].watch)
        slow._word(0, _LIMIT)[] = Int64(limit_ns)
        return slow

    @always_inline
    def limit_ns(self) -> Int:
        """Returns how long a slow request takes at least.

        Returns:
            Nanoseconds.
        """
        return Int(self._word(0, _LIMIT)[])

    def count(self) -> Int:
        """Returns how many slow requests there were. Callable on any thread.

        Returns:
            The number of the latest one.
        """
        return self._load(0, _COUNT)

    @no_inline
    def note(self, x: Exchange, end: RequestEnd, duration_ns: Int):
        """Keeps a request. Callable on any thread.

        Args:
            x: The request.
            end: How it ended.
            duration_ns: How long it took.
        """
        var number = 1 + Int(
            Atomic[Int64].fetch_add[ordering=Ordering.RELAXED](
                self._word(0, _COUNT), 1
            )
        )
        var entry = _offset(number)
        self._store(entry, _NUMBER, 0)
        self._store(entry, _ENDED, end.now_ns)
        self._store(entry, _DURATION, duration_ns)
        var method = x[].head.method if end.is_named else Method.OTHER
        self._store(
            entry,
            _FACTS,
            end.status | Int(method.id) << 16 | x[].host.worker << 32,
        )
        self._store(entry, _REQUEST, x[].request_id)
        var route = x[].route.as_bytes()
        var kept = min(len(route), ROUTE_OCTETS_MAX)
        # No character is cut.
        while 0 < kept < len(route) and route[kept] & 0xC0 == 0x80:
            kept -= 1
        copy_octets(self._route(entry), route.unsafe_ptr(), kept)
        self._store(entry, _ROUTE_OCTETS, kept)
        self._store(entry, _NUMBER, number)

    def after(self, number: Int) -> List[SlowRequest]:
        """Returns the latest requests. Callable on any thread.

        Args:
            number: The number of the latest request that is known.

        Returns:
            The later ones that are still kept, in order.
        """
        var found = List[SlowRequest]()
        var count = self.count()
        for wanted in range(max(number, count - SLOW_REQUESTS) + 1, count + 1):
            var entry = _offset(wanted)
            var octets = self._load(entry, _ROUTE_OCTETS)
            var facts = self._load(entry, _FACTS)
            if (
                self._load(entry, _NUMBER) != wanted
                or octets < 0
                or octets > ROUTE_OCTETS_MAX
            ):
                continue
            var request = SlowRequest(
                wanted,
                self._load(entry, _ENDED),
                self._load(entry, _DURATION),
                facts & 0xFFFF,
                Method(UInt8(facts >> 16 & 0xFF)),
                facts >> 32,
                self._load(entry, _REQUEST),
                String(
                    from_utf8_lossy=Span[UInt8, MutUntrackedOrigin](
                        unsafe_ptr=self._route(entry), length=octets
                    )
                ),
            )
            if self._load(entry, _NUMBER) == wanted:
                found.append(request^)
        return found^

    @always_inline
    def _word(self, entry: Int, word: Int) -> PointerTo[Int64]:
        return PointerTo[Int64](
            unsafe_from_address=self.address + entry + 8 * word
        )

    @always_inline
    def _load(self, entry: Int, word: Int) -> Int:
        return Int(
            Atomic[Int64].load[ordering=Ordering.ACQUIRE](
                self._word(entry, word)
            )
        )

    @always_inline
    def _store(self, entry: Int, word: Int, value: Int):
        Atomic[Int64].store[ordering=Ordering.RELEASE](
            self._word(entry, word), Int64(value)
        )

    @always_inline
    def _route(self, entry: Int) -> OctetPointer:
        return OctetPointer(unsafe_from_address=self.address + entry + _ROUTE)


def _offset(number: Int) -> Int:
    return _HEAD_OCTETS + number % SLOW_REQUESTS * _ENTRY_OCTETS


def _record_watched(recorder: Erased, x: Exchange, end: RequestEnd):
    record_request(recorder, x, end)
    var registry = recorder.unsafe_bitcast[RequestRecorder]()[].registry
    var functions = (
        registry[].functions.unsafe_value().unsafe_bitcast[MetricsFunctions]()
    )
    var slow = SlowRequests(functions[].watch)
    var duration_ns = end.now_ns - x[].started_ns
    # A refused head has no start. An event stream and an upgraded connection
    # last as long as their client stays.
    if (
        duration_ns >= slow.limit_ns()
        and x[].started_ns != 0
        and not x[].stream.stop.is_endless
    ):
        slow.note(x, end, duration_ns)
