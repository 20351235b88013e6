"""Measures what middleware adds to a handler, without server and socket.

Each figure contains the handler and its response of two fields, which the row
`handler` has alone.
"""

from std.benchmark import black_box

from measure import measure

from flare.core import Buffer, Recycler, heap_create
from flare.http import (
    Cors,
    CorsConfig,
    CrossOriginProtection,
    Handler,
    Limit,
    RateKeys,
    RateLimit,
    RateLimitConfig,
    Request,
    RequestValue,
    Response,
    Timeout,
    Tracing,
    ok,
)
from flare.http.exchange import Exchange, ExchangeState
from flare.http.handler import FnHandler
from flare.http.rate import RateTable
from flare.http.spans.span import RequestSpan
from flare.http.spans.span_facts import SpanFacts, SpanTexts
from flare.http.spans.span_feed import SpanFeed, SpanFeedState
from flare.proto.h1 import H1Limits, H1Machine, H1State, Role
from flare.json import FromJson, ToJson
from flare.message import Method, TraceContext
from flare.session import (
    CookieSessions,
    MemorySessions,
    Session,
    SessionKeeping,
    Sessions,
    Signer,
)
from flare.sys.thread import Lock
from flare.sys.thread_cell import set_thread_recycler

comptime _BROWSER: StaticString = (
    "Host: example.org\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:120.0)\r\n"
    "Accept: */*\r\n"
    "Accept-Language: en-US,en;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Referer: https://example.org/\r\n"
)

comptime _PARENT: StaticString = (
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)


def main() raises:
    """Prints the figures.

    Raises:
        Error: If a request is not answered.
    """
    # As on a worker: the memory of header fields is used again.
    set_thread_recycler(Recycler.create())
    var plain = exchange_of("GET", "")
    measure_handler("handler", FnHandler(hello), plain)
    cross_origin()
    cors()
    rate_limit()
    limits()
    tracing()
    sessions()


def cross_origin() raises:
    var guard = CrossOriginProtection(
        FnHandler(hello), trusted_origins=["https://login.example"]
    )
    measure_handler(
        "cross_origin_protection/GET", guard, exchange_of("GET", "")
    )
    measure_handler(
        "cross_origin_protection/POST of the own page",
        guard,
        exchange_of(
            "POST",
            "Origin: https://example.org\r\nSec-Fetch-Site: same-origin\r\n",
        ),
    )
    measure_handler(
        "cross_origin_protection/POST without Sec-Fetch-Site",
        guard,
        exchange_of("POST", "Origin: https://example.org\r\n"),
    )


def cors() raises:
    var open = Cors(FnHandler(hello), CorsConfig(origins=["*"]))
    var listed = Cors(
        FnHandler(hello),
        CorsConfig(
            origins=["https://a.example", "https://*.b.example"],
            credentials=True,
        ),
    )
    var plain = exchange_of("GET", "")
    var named = exchange_of("GET", "Origin: https://a.example\r\n")
    measure_handler("cors/every origin", open, named)
    measure_handler("cors/without an origin", listed, plain)
    measure_handler("cors/a listed origin", listed, named)
    measure_handler(
        "cors/an origin by a wildcard",
        listed,
        exchange_of("GET", "Origin: https://x.b.example\r\n"),
    )
    measure_handler(
        "cors/preflight",
        listed,
        exchange_of(
            "OPTIONS",
            (
                "Origin: https://a.example\r\n"
                "Access-Control-Request-Method: PUT\r\n"
                "Access-Control-Request-Headers: content-type\r\n"
            ),
        ),
    )


def rate_limit() raises:
    # No client sends that much, so each request is admitted.
    var plain = exchange_of("GET", "X-User: someone\r\n")
    # As a worker notes it.
    plain[].started_ns = 1_000_000_000_000
    var config = RateLimitConfig(requests=1_000_000_000, key=by_number)
    measure_handler(
        "rate_limit/by a number", RateLimit(FnHandler(hello), config), plain
    )
    config.is_exact = True
    measure_handler(
        "rate_limit/by a number, exact",
        RateLimit(FnHandler(hello), config),
        plain,
    )
    config.is_exact = False
    config.key = by_user
    measure_handler(
        "rate_limit/by a field", RateLimit(FnHandler(hello), config), plain
    )
    config.key = by_number
    config.reports = True
    measure_handler(
        "rate_limit/by a number, with a report",
        RateLimit(FnHandler(hello), config),
        plain,
    )
    table()


def limits() raises:
    var plain = exchange_of("GET", "")
    measure_handler("request_value/of a word", Numbers(), plain)
    measure_handler("request_value/of a text", Texts(), plain)
    measure_handler(
        "limit/content", Limit(FnHandler(hello), body_octets=1000), plain
    )
    measure_handler("timeout", Timeout(FnHandler(hello), 1000), plain)


def tracing() raises:
    var plain = exchange_of("GET", "")
    plain[].started_ns = 1_000_000_000_000
    plain[].route = "/hello"
    var named = exchange_of("GET", String("traceparent: ", _PARENT, "\r\n"))
    named[].started_ns = 1_000_000_000_000
    var traces = FreesValues(Tracing(FnHandler(hello)))
    measure_handler("tracing/a new trace", traces, plain)
    measure_handler("tracing/a trace of the client", traces, named)
    # What a span that is reported costs besides.
    var feed = SpanFeed(
        heap_create(
            SpanFeedState(
                heap_create(UInt32(0)),
                Lock.create(),
                plain.unsafe_bitcast[NoneType](),
            )
        )
    )
    var ring = feed.entries()
    var facts = SpanFacts(
        TraceContext.parse(_PARENT.as_bytes()).value(),
        0,
        0,
        0,
        Method.GET,
        1,
        1,
        200,
        False,
        False,
        SpanTexts(0, 0, 0),
    )

    def report(i: Int) raises {imm} -> Int:
        var span = RequestSpan.begin(facts, plain)
        span.state[].feed = feed
        span.set_path(plain[].head.path(plain[].window()))
        span.end()
        if ring.seems_fuller_than(65536):
            ring.state[].taken = ring.state[].written
        return i

    measure("middleware/tracing/report", report)


def sessions() raises:
    var keys: List[String] = ["a key of thirty-two octets or more"]
    measure_sessions("signed", CookieSessions(Signer(keys=keys)))
    measure_sessions("in memory", MemorySessions())


def measure_sessions[K: SessionKeeping](name: StringSlice, keeping: K) raises:
    var plain = exchange_of("GET", "")
    var writes = FreesValues(Sessions[Visit](FnHandler(write), keeping.copy()))
    var begun = writes.serve(Request(unsafe_exchange=plain))
    var cookie = begun.headers.get("Set-Cookie").value().split(";")[0]
    var known = exchange_of("GET", String("Cookie: ", cookie, "\r\n"))
    measure_handler(
        String("session/", name, ", not asked for"),
        FreesValues(Sessions[Visit](FnHandler(hello), keeping.copy())),
        known,
    )
    measure_handler(
        String("session/", name, ", read"),
        FreesValues(Sessions[Visit](FnHandler(read), keeping.copy())),
        known,
    )
    measure_handler(String("session/", name, ", changed"), writes, known)


struct Visit(Defaultable, FromJson, ToJson):
    var user: String
    var pages: Int

    def __init__(out self):
        self.user = "someone"
        self.pages = 0


def read(req: Request) raises -> Response:
    var response = hello(req)
    response.status += Session[Visit].of(req)[].pages
    return response^


def write(req: Request) raises -> Response:
    var session = Session[Visit].of(req)
    session[].pages += 1
    return hello(req)


@fieldwise_init
struct FreesValues[H: Handler](Handler):
    var inner: Self.H

    def serve(self, req: Request) raises -> Response:
        var response = self.inner.serve(req)
        req.unsafe_exchange()[].app.free_values()
        return response^


def table() raises:
    var table = RateTable.create(65536)
    var keys = RateKeys.random()

    def one_key(i: Int) raises {imm} -> Int:
        return table.admit(black_box(UInt64(77)), 1_000_000 + i, 1, 60).used_ns

    measure("middleware/rate_table/one key", one_key)

    def many_keys(i: Int) raises {imm} -> Int:
        return table.admit(keys.of(i & 32767), 1_000_000 + i, 1, 60_000).used_ns

    measure("middleware/rate_table/one of 32,768 numbers", many_keys)

    def new_keys(i: Int) raises {imm} -> Int:
        return table.admit(keys.of(i), 1_000_000_000, 1_000, 60_000).used_ns

    measure("middleware/rate_table/a new number each time", new_keys)


@fieldwise_init
struct Numbers(Handler):
    def serve(self, req: Request) raises -> Response:
        req.set(7)
        var response = hello(req)
        response.status += RequestValue[Int].of(req)[]
        req.unsafe_exchange()[].app.free_values()
        return response^


@fieldwise_init
struct Texts(Handler):
    def serve(self, req: Request) raises -> Response:
        req.set(String("a name"))
        var response = hello(req)
        response.status += RequestValue[String].of(req)[].byte_length()
        req.unsafe_exchange()[].app.free_values()
        return response^


def by_number(req: Request, keys: RateKeys) raises -> Optional[UInt64]:
    return keys.of(12345)


def by_user(req: Request, keys: RateKeys) raises -> Optional[UInt64]:
    return keys.of(req.headers.get("X-User").value())


def hello(req: Request) raises -> Response:
    var response = ok("hello")
    response.headers.append_constant["Cache-Control", "no-store"]()
    return response^


def exchange_of(method: StringSlice, fields: StringSlice) raises -> Exchange:
    var octets = heap_create(Buffer())
    octets[].append(
        String(
            method, " /hello HTTP/1.1\r\n", _BROWSER, fields, "\r\n"
        ).as_bytes()
    )
    var machine = H1Machine(heap_create(H1State(Role.SERVER, H1Limits())))
    var exchange = heap_create(ExchangeState())
    exchange[].begin()
    var event = machine.next_event(
        octets[].span(),
        Pointer(to=exchange[].head).unsafe_origin_cast[MutUntrackedOrigin](),
    )
    exchange[].octets = octets[].unsafe_front()
    exchange[].octet_count = event.consumed
    return exchange


def measure_handler[
    H: Handler
](name: StringSlice, handler: H, exchange: Exchange) raises:
    def serve(i: Int) raises {imm} -> Int:
        return handler.serve(
            Request(unsafe_exchange=black_box(exchange))
        ).status

    measure(String("middleware/", name), serve)
