"""Defines a handler that shows the state of a server while it changes."""

from std.memory import ArcPointer

from flare.message import Method, Status
from flare.metrics import Metrics
from flare.net import IpNetwork
from flare.runtime.wait import sleep, waiting_fiber

from ..body import Body
from ..builders import forbidden, method_not_allowed, ok, ok_json
from ..client import BasicAuth
from ..event_stream import EventStream, event_stream
from ..handler import Handler
from ..request import Request
from ..response import Response
from ..sealed_content import SealedContent
from ..server.records.slow_requests import SlowRequests
from .page_document import CONTENT_SECURITY_POLICY, DOCUMENT
from ..middleware.client_access import ClientAccess, is_of_other_site
from .status_report import StatusReport
from .status_view import StatusView, VIEWERS_MAX

comptime _SLOW_MS_MAX = 3_600_000
# The longest number of a sample has fewer digits.
comptime _NUMBER_DIGITS_MAX = 18
comptime _RETRY_MS = 2000


struct StatusPage(Handler):
    """Answers with a live view: requests, latencies, routes, workers.

    Mount it with the `Metrics` of the server. A browser gets a page that changes
    each second, `curl` a text, and `?format=json` an object.

    It answers only clients on the same machine, and Unix sockets. Requests that
    a proxy has forwarded are refused, because their clients may be anywhere.
    `allow` and `credentials` admit others. Samples are taken only for viewers;
    each worker has at most 16 of them.
    """

    var _metrics: Metrics
    var _access: ClientAccess
    var _document: SealedContent
    var _slow: SlowRequests
    # Of this worker.
    var _view: ArcPointer[StatusView]

    def __init__(
        out self,
        metrics: Metrics,
        *,
        var allow: List[IpNetwork] = [],
        credentials: Optional[BasicAuth] = None,
        var hosts: List[String] = [],
        slow_ms: Int = 100,
    ) raises:
        """Creates a page. Create it before the server starts.

        Args:
            metrics: The registry that is the server's `ServerConfig.metrics`.
            allow: The networks whose clients see the page, instead of this
                machine. Clients of Unix sockets always do.
            credentials: The name and the password that clients must send
                (RFC 7617). Without `allow`, clients of all addresses may then
                ask, also through proxies. Use them over TLS only.
            hosts: Names of the server by which browsers may ask for it, beside
                `localhost` and addresses. Others are refused, so that no page
                of another site reads this one by DNS rebinding. With
                credentials alone, names are not checked.
            slow_ms: From which duration on a request is listed as slow, 1 to
                3,600,000 milliseconds. By default 100, as for slow turns.

        Raises:
            Error: `http.bad_status_page` or `http.bad_access` with the name of
                the invalid argument, `metrics.no_memory`, and `http.no_memory`.
        """
        if slow_ms < 1 or slow_ms > _SLOW_MS_MAX:
            raise Error("http.bad_status_page slow_ms: 1 to 3600000")
        self._metrics = metrics
        self._access = ClientAccess(
            networks=allow^, credentials=credentials, hosts=hosts^
        )
        self._document = SealedContent(DOCUMENT)
        self._slow = SlowRequests.of(metrics, slow_ms * 1_000_000)
        self._view = ArcPointer(StatusView(metrics.unsafe_state(), self._slow))

    def __init__(out self, *, copy: Self):
        """Copies the page for another worker, which takes samples itself.

        Args:
            copy: The page to copy.
        """
        self._metrics = copy._metrics
        self._access = copy._access.copy()
        self._document = copy._document
        self._slow = copy._slow
        self._view = ArcPointer(
            StatusView(copy._metrics.unsafe_state(), copy._slow)
        )

    def serve(self, req: Request) raises -> Response:
        """Returns the page, the events, the object or the text.

        Args:
            req: The request.

        Returns:
            The response; 403 or 401 for clients that may not see the page, 503
            for too many viewers.

        Raises:
            Error: `message.headers_too_large`.
        """
        if req.method != Method.GET and req.method != Method.HEAD:
            return method_not_allowed("GET, HEAD")
        var refusal = self._access.refusal(req)
        if refusal:
            return refusal.take()
        var response: Response
        var format = _format_of(req)
        if format == _PAGE:
            response = self._page()
        elif format == _TEXT:
            response = ok(self._report(req).text())
        elif is_of_other_site(req):
            response = forbidden("a page of another site asks")
        elif format == _EVENTS:
            response = self._events(req)
        else:
            response = self._json(req)
        if not response.headers.contains("Cache-Control"):
            response.headers.append_constant["Cache-Control", "no-store"]()
        response.headers.append_constant["Vary", "Accept"]()
        response.headers.append_constant["X-Robots-Tag", "noindex"]()
        response.headers.append_constant["X-Content-Type-Options", "nosniff"]()
        response.headers.append_constant[
            "Cross-Origin-Resource-Policy", "same-origin"
        ]()
        return response^

    def _page(self) raises -> Response:
        var response = Response(Status.OK, Body(self._document))
        response.headers.append_constant[
            "Content-Type", "text/html; charset=utf-8"
        ]()
        response.headers.append_constant[
            "Content-Security-Policy", CONTENT_SECURITY_POLICY
        ]()
        response.headers.append_constant["Referrer-Policy", "no-referrer"]()
        return response^

    def _report(self, req: Request) raises -> StatusReport:
        return StatusReport(
            self._metrics.unsafe_state(),
            self._slow,
            _route_of(req),
            waiting_fiber("wait").reactor().clock_ns(),
        )

    def _json(self, req: Request) raises -> Response:
        var since = req.query_parameters().get("since")
        if not since:
            return ok_json(self._report(req).json())
        # A page that cannot receive events asks again and again.
        if self._view[].viewers >= VIEWERS_MAX:
            return _too_many()
        var view = self._view
        view[].refresh(waiting_fiber("wait").reactor(), _route_of(req))
        var text = String('{"messages":[')
        var messages = view[].messages_after(_number_of(since.value()))
        text += StaticString(",").join(messages)
        text += "]}"
        return ok_json(text^)

    def _events(self, req: Request) raises -> Response:
        if self._view[].viewers >= VIEWERS_MAX:
            return _too_many()
        if req.method == Method.HEAD:
            var response = Response(Status.OK)
            response.headers.append_constant[
                "Content-Type", "text/event-stream"
            ]()
            return response^
        var seat = _Seat(self._view)
        var route = _route_of(req)

        def watch(
            viewer: Request, events: EventStream
        ) raises {var seat^, var route}:
            var number = 0
            while True:
                var reactor = waiting_fiber("wait").reactor()
                seat.view[].refresh(reactor, route)
                var latest = seat.view[].number
                for message in seat.view[].messages_after(number):
                    if number == 0:
                        events.send(message, retry_ms=_RETRY_MS)
                    else:
                        events.send(message)
                    number = latest
                number = latest
                sleep(max(seat.view[].due_ms - reactor.refresh_now_ms(), 1))

        return event_stream(watch^)


struct _Seat(Movable):
    """A viewer's place, as long as its response lives."""

    var view: ArcPointer[StatusView]

    def __init__(out self, view: ArcPointer[StatusView]):
        self.view = view
        self.view[].viewers += 1

    def __deinit__(deinit self):
        self.view[].viewers -= 1
        if self.view[].viewers == 0:
            self.view[].forget()


comptime _PAGE = 0
comptime _EVENTS = 1
comptime _JSON = 2
comptime _TEXT = 3


def _format_of(req: Request) -> Int:
    var asked = req.query_parameters().get("format")
    if asked:
        if asked.value() == "events":
            return _EVENTS
        if asked.value() == "json":
            return _JSON
        return _TEXT
    for value in req.headers.values("Accept"):
        if value.find("text/html") >= 0:
            return _PAGE
        if value.find("text/event-stream") >= 0:
            return _EVENTS
        if value.find("application/json") >= 0:
            return _JSON
    return _TEXT


def _route_of(req: Request) -> StaticString:
    return req.unsafe_exchange()[].route


def _number_of(text: StringSlice) -> Int:
    # Anything else is the number of no sample.
    var number = 0
    if text.byte_length() > _NUMBER_DIGITS_MAX:
        return 0
    for octet in text.as_bytes():
        var digit = Int(octet) - ord("0")
        if digit < 0 or digit > 9:
            return 0
        number = 10 * number + digit
    return number


def _too_many() -> Response:
    var response = Response(
        Status.SERVICE_UNAVAILABLE,
        "16 viewers look at this worker already\n",
    )
    response.headers.append_constant[
        "Content-Type", "text/plain; charset=utf-8"
    ]()
    response.headers.append_constant["Retry-After", "10"]()
    return response^
