"""Answers the probes of load balancers and orchestrators."""

from flare.core import PointerTo, equals, heap_create, heap_destroy
from flare.http.builders import method_not_allowed, ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.message import Method, Status
from flare.net import NetError
from flare.runtime.fiber import Fiber, remove_fiber
from flare.runtime.wait import deadline_in, waiting_fiber

comptime CHECK_MS_MAX = 1000
"""How long the waits of one check may take."""
comptime RESULT_MS = 1000
"""How long the results of checks are used again."""


@fieldwise_init
struct HealthCheck(Copyable, Movable):
    """One condition under which a server is ready."""

    var name: StaticString
    """Its name, which clients see if it fails."""
    var check: def(Request) raises thin -> None
    """Raises if the condition is not met. It may wait, and reads the state by
    `State[T].of(req)`."""


struct _Results(Movable):
    # When the latest run ended, by the loop's clock; 0 before.
    var ended_ms: Int
    # The names of the checks that failed, each with a line end.
    var failing: String
    var is_running: Bool
    # Fibers of other requests that wait for the run.
    var waiters: List[Fiber]

    def __init__(out self):
        self.ended_ms = 0
        self.failing = ""
        self.is_running = False
        self.waiters = []


struct Health[H: Handler](Handler):
    """Answers GET and HEAD of two paths, and leaves all others to a handler.

    - The live path gets 200 as long as the loop of the worker turns. A program
      that does not answer should be restarted.
    - The ready path gets 200, or 503 with the names of the checks that fail. A
      stopping server gets 503 too. A load balancer then sends its requests
      elsewhere.

    Each check may wait for one second. Its result is used for a second, and
    requests that come meanwhile share a run. Errors of checks are not shown.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var _ready: List[HealthCheck]
    var _live_path: StaticString
    var _ready_path: StaticString
    # Of this worker.
    var _results: PointerTo[_Results]

    def __init__(
        out self,
        var inner: Self.H,
        *,
        var ready: List[HealthCheck] = [],
        live_path: StaticString = "/-/live",
        ready_path: StaticString = "/-/ready",
    ):
        """Creates middleware that answers probes.

        Args:
            inner: The inner handler.
            ready: The conditions under which the server is ready.
            live_path: The path that shows that the program runs.
            ready_path: The path that shows that it can take requests.
        """
        self.inner = inner^
        self._ready = ready^
        self._live_path = live_path
        self._ready_path = ready_path
        self._results = heap_create(_Results())

    def __init__(out self, *, copy: Self):
        """Copies the middleware for another worker, which runs the checks
        itself.

        Args:
            copy: The middleware to copy.
        """
        self.inner = copy.inner.copy()
        self._ready = copy._ready.copy()
        self._live_path = copy._live_path
        self._ready_path = copy._ready_path
        self._results = heap_create(_Results())

    def __init__(out self, *, deinit move: Self):
        """Moves the middleware.

        Args:
            move: The middleware to move.
        """
        self.inner = move.inner^
        self._ready = move._ready^
        self._live_path = move._live_path
        self._ready_path = move._ready_path
        self._results = move._results

    def __deinit__(deinit self):
        """Frees the results."""
        heap_destroy(self._results)

    def serve(self, req: Request) raises -> Response:
        """Answers a probe, or calls the inner handler.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            The error of the inner handler, and `net.cancelled` if the client
            leaves during a check.
        """
        var x = req.unsafe_exchange()
        var path = x[].head.path(x[].window())
        if equals(path, self._live_path.as_bytes()):
            x[].route = self._live_path
            return _answer(req, "")
        if equals(path, self._ready_path.as_bytes()):
            x[].route = self._ready_path
            return self._answer_ready(req)
        return self.inner.serve(req)

    @no_inline
    def _answer_ready(self, req: Request) raises -> Response:
        if _is_stopping(req):
            return _answer(req, "stopping\n")
        return _answer(req, self._failing(req))

    def _failing(self, req: Request) raises -> String:
        if len(self._ready) == 0:
            return ""
        var fiber = waiting_fiber("wait")
        ref results = self._results[]
        while True:
            var now_ms = fiber.reactor().refresh_now_ms()
            if results.ended_ms != 0 and now_ms - results.ended_ms < RESULT_MS:
                return results.failing.copy()
            if not results.is_running:
                return self._run(req, fiber)
            results.waiters.append(fiber)
            var result = fiber.wait()
            remove_fiber(results.waiters, fiber)
            if result < 0:
                raise Error(NetError.from_errno("wait", result))

    def _run(self, req: Request, fiber: Fiber) raises -> String:
        ref results = self._results[]
        results.is_running = True
        var failing = String()
        for check in self._ready:
            if not _passes(check, req):
                failing.write(check.name, "\n")
        results.is_running = False
        # The next of them runs the checks if this run counts for nothing.
        for other in results.waiters:
            other.wake()
        if fiber.is_cancelled():
            # The checks failed because their client has left.
            raise Error(NetError.from_errno("wait", fiber.wait(0)))
        results.failing = failing.copy()
        results.ended_ms = fiber.reactor().refresh_now_ms()
        return failing^


def _passes(check: HealthCheck, req: Request) -> Bool:
    try:
        with deadline_in(CHECK_MS_MAX):
            check.check(req)
        return True
    except:
        return False


def _answer(req: Request, failing: StringSlice) raises -> Response:
    if req.method != Method.GET and req.method != Method.HEAD:
        return method_not_allowed("GET, HEAD")
    var response = ok("ok\n")
    if failing.byte_length() > 0:
        response = ok(String(failing))
        response.status = Status.SERVICE_UNAVAILABLE
    response.headers.set("Cache-Control", "no-store")
    return response^


def _is_stopping(req: Request) -> Bool:
    var place = req.unsafe_exchange()[].host.stopping_place
    return place != 0 and PointerTo[Bool](unsafe_from_address=place)[]
