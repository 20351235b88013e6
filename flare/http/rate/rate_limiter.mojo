"""Counts the requests of clients, for one handler or several.

A worker finds its own table by its thread, so that it needs no lock. With
`is_exact`, all workers share tables under locks.
"""

from std.memory import ArcPointer

from flare.http.builders import error_response
from flare.http.request import Request
from flare.http.response import Response
from flare.message import HeaderMap, Status
from flare.sys.clock import monotonic_ns
from flare.sys.thread import Lock
from flare.sys.thread_cell import thread_word

from .rate_config import RateLimitConfig
from .rate_keys import RateKeys
from .rate_table import RateAnswer, RateTable

comptime _NS_PER_SECOND = 1_000_000_000
comptime _SHARDS_LOG = 6
comptime _SHARDS = 1 << _SHARDS_LOG
# As many workers as a server can have.
comptime _SLOTS = 256


@fieldwise_init
struct _Slot(Copyable, Movable):
    # The thread that alone uses the table.
    var thread: Int
    var table: Optional[RateTable]


@fieldwise_init
struct _Shard(Copyable, Movable):
    var lock: Lock
    var table: RateTable


struct _Limiter(Movable):
    var config: RateLimitConfig
    var request_ns: Int
    var quota_ns: Int
    var keys: RateKeys
    var policy: String
    # Guards the owners of slots.
    var lock: Lock
    var slots: List[_Slot]
    # Empty unless all workers count together.
    var shards: List[_Shard]

    def __init__(out self, config: RateLimitConfig) raises:
        self.keys = RateKeys.random()
        self.request_ns = config.request_ns()
        self.quota_ns = config.quota_ns()
        self.policy = String(
            '"',
            config.name,
            '";q=',
            config.requests,
            ";w=",
            config.window_seconds,
        )
        self.lock = Lock.create()
        self.slots = List[_Slot](length=_SLOTS, fill=_Slot(0, None))
        self.shards = []
        if config.is_exact:
            var entries = max(
                config.entries >> _SHARDS_LOG, RateTable.ENTRIES_MIN
            )
            for _ in range(_SHARDS):
                self.shards.append(
                    _Shard(Lock.create(), RateTable.create(entries))
                )
        self.config = config.copy()

    def __deinit__(deinit self):
        for slot in self.slots:
            if slot.table:
                slot.table.value().destroy()
        for shard in self.shards:
            shard.table.destroy()
            shard.lock.destroy()
        self.lock.destroy()


struct RateLimiter(Copyable, Movable):
    """A reference to the counts of a limit. Copies refer to the same counts.

    Handlers that share a limiter share the quota of each client.
    """

    var _state: ArcPointer[_Limiter]

    def __init__(out self, config: RateLimitConfig) raises:
        """Creates a limiter that has counted nothing.

        Args:
            config: The limit.

        Raises:
            Error: `http.bad_rate_limit` with the name of the invalid field, and
                `http.rate no random octets`.
        """
        var problem = config.first_problem()
        if problem:
            raise Error("http.bad_rate_limit ", problem.value())
        self._state = ArcPointer(_Limiter(config))

    @always_inline
    def admit(self, req: Request, weight: Int = 1) raises -> RateAnswer:
        """Counts a request, unless it is one too many.

        Args:
            req: The request.
            weight: How many requests it counts for, from 1 to the burst of a
                worker.

        Returns:
            The decision.

        Raises:
            The error of the key function.
        """
        ref state = self._state[]
        var key = state.config.key(req, state.keys)
        if not key:
            return RateAnswer(0, 0)
        var exchange = req.unsafe_exchange()
        # The worker has read its clock when the head was complete.
        var now_ns = exchange[].started_ns
        if now_ns == 0:
            now_ns = monotonic_ns()
        return self.admit_key(
            key.unsafe_value(), now_ns, weight, exchange[].host.worker
        )

    @always_inline
    def admit_key(
        self, key: UInt64, now_ns: Int, weight: Int = 1, worker: Int = 0
    ) -> RateAnswer:
        """Counts a request of a key, unless it is one too many.

        Args:
            key: The key.
            now_ns: The time, by the monotonic clock.
            weight: How many requests it counts for, from 1 to the burst of a
                worker.
            worker: The index of the worker, by which its table is found
                fastest.

        Returns:
            The decision.
        """
        ref state = self._state[]
        var cost_ns = state.request_ns * weight
        if len(state.shards) > 0:
            return self._admit_together(key, now_ns, cost_ns)
        ref slot = state.slots.unsafe_get(worker & (_SLOTS - 1))
        var table: RateTable
        if slot.thread == Int(thread_word()):
            table = slot.table.unsafe_value()
        else:
            table = self._own_table(worker & (_SLOTS - 1))
        return table.admit(key, now_ns, cost_ns, state.quota_ns)

    @no_inline
    def _admit_together(
        self, key: UInt64, now_ns: Int, cost_ns: Int
    ) -> RateAnswer:
        # The set within the shard depends on the other end of the hash.
        ref state = self._state[]
        ref shard = state.shards.unsafe_get(Int(key >> (64 - _SHARDS_LOG)))
        shard.lock.acquire()
        var answer = shard.table.admit(key, now_ns, cost_ns, state.quota_ns)
        shard.lock.release()
        return answer

    @no_inline
    def _own_table(self, first: Int) -> RateTable:
        # Two servers of a process may each have a worker of this index.
        ref state = self._state[]
        var thread = Int(thread_word())
        state.lock.acquire()
        var found = first
        for i in range(_SLOTS):
            ref slot = state.slots[(first + i) & (_SLOTS - 1)]
            if slot.thread == thread or slot.thread == 0:
                found = (first + i) & (_SLOTS - 1)
                break
        # More threads than slots share tables: then a count may be lost.
        ref slot = state.slots[found]
        if not slot.table:
            slot.table = RateTable.create(state.config.entries)
            slot.thread = thread
        var table = slot.table.value()
        state.lock.release()
        return table

    def burst(self) -> Int:
        """Returns how many requests a client may send to one worker at once.

        Returns:
            The number, at least 1.
        """
        return self._state[].quota_ns // self._state[].request_ns

    def reports(self) -> Bool:
        """Returns whether each response states the rest of the quota.

        Returns:
            True if the configuration says so.
        """
        return self._state[].config.reports

    def report(self, answer: RateAnswer, mut headers: HeaderMap) raises:
        """Sets the fields RateLimit and RateLimit-Policy
        (draft-ietf-httpapi-ratelimit-headers-10 sections 3 and 4).

        Args:
            answer: The decision about the request.
            headers: The fields of the response.

        Raises:
            Error: `message.headers_too_large`.
        """
        ref state = self._state[]
        # The clock of another worker may be ahead of that of this one.
        var left = max(state.quota_ns - answer.used_ns, 0) // state.request_ns
        # Until then, the client has no more than the rest.
        var more_ns = answer.wait_ns
        if more_ns == 0 and answer.used_ns > 0:
            more_ns = (
                answer.used_ns - state.quota_ns + (left + 1) * state.request_ns
            )
        headers.set(
            "RateLimit",
            String(
                '"', state.config.name, '";r=', left, ";t=", _seconds(more_ns)
            ),
        )
        headers.set("RateLimit-Policy", state.policy)

    @no_inline
    def refusal(self, answer: RateAnswer) raises -> Response:
        """Returns the answer to a request that is one too many.

        Args:
            answer: The decision about it.

        Returns:
            A 429 response with Retry-After, RateLimit and RateLimit-Policy (RFC
            6585 section 4).

        Raises:
            Error: `message.headers_too_large`.
        """
        var response = error_response(Status.TOO_MANY_REQUESTS)
        response.headers.set("Retry-After", String(_seconds(answer.wait_ns)))
        self.report(answer, response.headers)
        return response^


def _seconds(ns: Int) -> Int:
    # Rounded up: a client that waits that long is admitted.
    return (ns + _NS_PER_SECOND - 1) // _NS_PER_SECOND
