"""Says what is asked of the targets, and what is claimed of flare, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .products import SITE

WRK = "wrk"
LEAN = "lean"
H2LOAD = "h2load"
RESUMING = "resuming"
SLOW_CLIENTS = "slow_clients"
IDLE = "idle"
TWO_WORKERS = "two_workers"

# What the servers are for which a workload asks: those with the products in
# memory, those of the arena, and those with the products in a database.
PRODUCTS = "products"
ARENA = "arena"
STORED = "stored"

CPU = "cpu"
SYSTEM_CALLS = "system_calls"
MEMORY = "memory"
LATENCY = "latency"
INSTRUCTIONS = "instructions"
MEASURES = (CPU, SYSTEM_CALLS, MEMORY, LATENCY, INSTRUCTIONS)

# What is compared: a figure of the measure in front of it.
FIGURES = {
    "cpu_us": CPU,
    "system_calls": SYSTEM_CALLS,
    "memory_octets": MEMORY,
    "p50": LATENCY,
    "p99": LATENCY,
    "p99.9": LATENCY,
    "window_p99": LATENCY,
    "instructions": INSTRUCTIONS,
}

LIMITS = ("limit_io_uring", "limit_epoll")
FLARE = ("flare_io_uring", "flare_epoll")
PEERS = (
    "nginx",
    "net_http",
    "fasthttp",
    "fiber",
    "fiber_prefork",
    "hyper",
    "axum",
    "actix_web",
    "ntex",
    "may_minihttp",
)
# Those written in Go, which have the products in a database too.
GO_PEERS = ("net_http", "fasthttp", "fiber", "fiber_prefork")
# Those that have a server of the arena.
ARENA_PEERS = ("fasthttp", "hyper", "actix_web")
# Those whose programs serve WebSockets.
WEBSOCKET_PEERS = (
    "net_http",
    "fasthttp",
    "hyper",
    "actix_web",
    "ntex",
    "uwebsockets",
)
# Those whose programs serve files, nginx with its cache of open files.
FILE_PEERS = ("nginx", "net_http", "fasthttp", "actix_web", "h2o")
# Those whose programs speak HTTP/2.
HTTP2_PEERS = ("nginx", "net_http", "hyper", "actix_web", "h2o")
# They serve nothing else here.
FILE_SERVERS = ("nginx_reopening", "h2o")
WEBSOCKET_SERVERS = ("uwebsockets",)
TARGETS = (*LIMITS, *FLARE, *PEERS, *FILE_SERVERS, *WEBSOCKET_SERVERS)
# flare as another checkout builds it.
BEFORE = ("before_io_uring", "before_epoll")
OURS = (*FLARE, *BEFORE)
# Behind the name of a target that runs with two workers.
TWO_WORKERS_SUFFIX = "_2_workers"
# Stand for whoever shows the lowest figure in the run.
BEST_OF_ALL = "the best of all"
BEST_PEER = "the best peer"
# Stands for no target: the bound is the figure itself.
ABSOLUTE = ""

# When all files were last modified.
FILE_DATE = "Thu, 01 Jan 2026 00:00:00 GMT"
_KIB = 1024
_MIB = 1024 * _KIB
_SIZES = (
    ("4k", 4 * _KIB, 64),
    ("64k", 64 * _KIB, 64),
    ("1m", _MIB, 16),
    ("16m", 16 * _MIB, 4),
)


@dataclass(frozen=True)
class Claim:
    """Says that a figure of one target is at most so much of another's."""

    subject: str
    bound: float
    reference: str
    figure: str = "cpu_us"
    is_strict: bool = False

    def __str__(self) -> str:
        what = f"{self.figure}: {self.subject}"
        if self.reference == ABSOLUTE:
            return f"{what} ≤ {self.bound:g}"
        if self.is_strict and self.bound == 1:
            return f"{what} < {self.reference}"
        return f"{what} ≤ {self.bound:.2f} × {self.reference}"


@dataclass(frozen=True)
class Workload:
    """Says what is asked for, by how many clients, and what is claimed."""

    name: str
    group: str
    what: str
    path: str
    generator: str = WRK
    method: str = "GET"
    content_octets: int = 0
    threads: int = 1
    connections: int = 64
    depth: int = 1
    close_percent: int = 0
    requests_per_connection: int | None = None
    # Lines of the request's head.
    fields: tuple[str, ...] = ()
    status: int = 200
    # A profile of the arena, whose servers are programs of their own.
    profile: str = ""
    # Servers read what they answer from a database.
    needs_database: bool = False
    # Inside of TLS; only targets that serve HTTPS here are asked.
    is_secure: bool = False
    # Requests at a time on each connection of HTTP/2; 0 for HTTP/1.1.
    streams: int = 0
    # Asked for in turn, the one path if there are none; over HTTP/2 a thousand
    # queries of it then.
    paths: tuple[str, ...] = ()
    # A request is a message on a WebSocket, and comes back as it is.
    is_websocket: bool = False
    # The pool's products differ in length.
    lengths_vary: bool = False
    # Requests per second in all; none for as many as are answered.
    rate: float | None = None
    # Latency is measured at this share of the slowest target's capacity.
    rate_share: float = 0.5
    measures: tuple[str, ...] = (CPU, SYSTEM_CALLS, MEMORY, INSTRUCTIONS)
    claims: tuple[Claim, ...] = ()

    @property
    def route(self) -> str:
        """Names the route, the first segment of the path."""
        return self.path.split("/")[1]

    @property
    def kind(self) -> str:
        """Names the programs that are asked."""
        if self.profile:
            return ARENA
        return STORED if self.needs_database else PRODUCTS


def ahead_of(subjects: tuple[str, ...], peers=PEERS) -> tuple[Claim, ...]:
    """Claims that each subject costs less than each peer."""
    return tuple(
        Claim(subject, 1.0, peer, is_strict=True)
        for subject in subjects
        for peer in peers
    )


def near_limits(io_uring: float, epoll: float) -> tuple[Claim, ...]:
    """Claims that each backend is near the limit of its kernel interface."""
    return (
        Claim("flare_io_uring", io_uring, "limit_io_uring"),
        Claim("flare_epoll", epoll, "limit_epoll"),
    )


def unchanged(workload: Workload, bound: float) -> Workload:
    """Returns the workload with one claim: flare costs at most `bound` times
    the CPU time of another checkout."""
    return replace(
        workload,
        claims=tuple(
            Claim(flare, bound, before)
            for flare, before in zip(FLARE, BEFORE)
        ),
    )


def _no_worse_p99() -> tuple[Claim, ...]:
    return tuple(
        Claim("flare_io_uring", 1.0, BEST_PEER, figure=figure)
        for figure in ("window_p99", "p99")
    )


_PLAINTEXT_CLAIMS = (
    *near_limits(1.10, 1.12),
    *ahead_of(FLARE, tuple(p for p in PEERS if p != "may_minihttp")),
    *ahead_of(("flare_io_uring",), ("may_minihttp",)),
)
_SYSTEM_CALL_CLAIMS = (
    Claim("flare_io_uring", 1.10, "limit_io_uring", figure="system_calls"),
    Claim("flare_epoll", 1.10, "limit_epoll", figure="system_calls"),
)


def _plaintext() -> tuple[Workload, ...]:
    what = "13 octets of text, `Hello, World!`"
    return (
        Workload(
            "plaintext",
            "plaintext",
            what,
            "/plaintext",
            measures=MEASURES,
            claims=(*_PLAINTEXT_CLAIMS, *_SYSTEM_CALL_CLAIMS),
        ),
        Workload(
            "plaintext_c256",
            "plaintext_c256",
            f"{what}, 256 connections",
            "/plaintext",
            threads=8,
            connections=256,
        ),
        Workload(
            "plaintext_lean",
            "plaintext_lean",
            f"{what}, asked for by a client that leaves the server no rest",
            "/plaintext",
            generator=LEAN,
            claims=_PLAINTEXT_CLAIMS,
        ),
        Workload(
            "plaintext_tenth",
            "plaintext_tenth",
            f"{what}, at a tenth of the slowest target's capacity",
            "/plaintext",
            generator=LEAN,
            rate_share=0.1,
            measures=(LATENCY,),
            claims=(
                Claim("flare_io_uring", 1.05, "flare_epoll", figure="p50"),
            ),
        ),
        Workload(
            "pipelined",
            "pipelined",
            f"{what}, 16 requests at a time",
            "/plaintext",
            depth=16,
            claims=(
                Claim("flare_io_uring", 1.35, "limit_io_uring"),
                *ahead_of(("flare_io_uring",)),
            ),
        ),
        Workload(
            "pipelined_c256",
            "pipelined_c256",
            f"{what}, 16 requests at a time, 256 connections",
            "/plaintext",
            threads=8,
            connections=256,
            depth=16,
        ),
    )


def _connections() -> tuple[Workload, ...]:
    return (
        Workload(
            "mixed_keepalive",
            "mixed_keepalive",
            "one request in five asks to close the connection",
            "/plaintext",
            close_percent=20,
        ),
        Workload(
            "churn",
            "churn",
            "a connection per request",
            "/plaintext",
            generator=LEAN,
            requests_per_connection=1,
            claims=ahead_of(FLARE, ("nginx", "hyper")),
        ),
        Workload(
            "limited",
            "limited",
            "a connection closes after 10 requests",
            "/plaintext",
            generator=LEAN,
            requests_per_connection=10,
            claims=ahead_of(FLARE, ("nginx", "hyper")),
        ),
    )


def _products() -> tuple[Workload, ...]:
    ahead = ahead_of(("flare_io_uring",))
    return (
        Workload(
            "read",
            "read",
            "a product of about 4 KB out of 500",
            "/read",
            lengths_vary=True,
            measures=MEASURES,
            claims=(*near_limits(1.15, 1.15), *ahead, *_no_worse_p99()),
        ),
        Workload(
            "simple",
            "simple",
            'a small JSON text, `{"message":"hi"}`',
            "/simple",
            measures=MEASURES,
            claims=(*near_limits(1.15, 1.15), *ahead, *_no_worse_p99()),
        ),
        Workload(
            "compute",
            "compute",
            "100 products sorted by price, and statistics of them",
            "/compute",
            lengths_vary=True,
            measures=MEASURES,
            claims=(*near_limits(1.10, 1.10), *ahead, *_no_worse_p99()),
        ),
        Workload(
            "list",
            "list",
            "25 products, about 100 KB",
            "/list",
            lengths_vary=True,
            measures=MEASURES,
            claims=(
                Claim("flare_io_uring", 1.05, BEST_OF_ALL),
                *_no_worse_p99(),
            ),
        ),
        Workload(
            "list_lean",
            "list_lean",
            "25 products, asked for by a client that leaves the server no rest",
            "/list",
            generator=LEAN,
            lengths_vary=True,
            claims=(Claim("flare_io_uring", 1.05, BEST_OF_ALL),),
        ),
    )


def _catalogue(kind: str) -> tuple[Workload, ...]:
    """Gives the scenarios of a shop's catalogue, in memory or stored."""
    where = "in a database" if kind == STORED else "in memory"

    def workload(route: str, what: str, path: str, **more) -> Workload:
        name = "stored" if kind == STORED else "catalogue"
        return Workload(
            f"{name}_{route}",
            name,
            f"{what}; 100 connections, products {where}",
            path,
            connections=100,
            needs_database=kind == STORED,
            lengths_vary=True,
            measures=(CPU, MEMORY),
            claims=ahead_of(FLARE, GO_PEERS),
            **more,
        )

    return (
        workload("read", "a product of about 4 KB", "/read"),
        workload("compute", "statistics of 100 products", "/compute"),
        workload(
            "mixed",
            "three products and two lists of 25 in turn",
            "/read",
            paths=("/read", "/list", "/read", "/list", "/read"),
        ),
        workload("simple", 'no product, `{"message":"hi"}`', "/simple"),
    )


def _transfers() -> tuple[Workload, ...]:
    uploads = tuple(
        Workload(
            f"upload_{name}",
            "upload",
            f"{octets // _KIB} KiB of content read bit by bit",
            "/upload",
            generator=LEAN,
            method="POST",
            content_octets=octets,
            connections=connections,
        )
        for name, octets, connections in _SIZES
    )
    downloads = tuple(
        Workload(
            f"download_{name}",
            "download",
            f"{octets // _KIB} KiB of content written bit by bit",
            f"/download/{octets}",
            generator=LEAN,
            connections=connections,
        )
        for name, octets, connections in _SIZES
    )
    return uploads + downloads


def _files() -> tuple[Workload, ...]:
    def workload(octets: int, to_nginx: float, **more) -> Workload:
        return Workload(
            f"files_{octets // 1000}k",
            "files",
            f"a file of {octets} octets",
            f"/files/{octets}.bin",
            claims=(
                Claim("flare_io_uring", to_nginx, "nginx"),
                *ahead_of(FLARE, FILE_PEERS),
            ),
            **more,
        )

    return (
        workload(1_000, 1.0, measures=MEASURES),
        workload(20_000, 0.75),
        workload(100_000, 0.6, connections=16),
        workload(1_000_000, 1.0, connections=16),
        Workload(
            "files_304",
            "files",
            "a file that the client has",
            "/files/20000.bin",
            fields=(f"If-Modified-Since: {FILE_DATE}",),
            status=304,
            claims=ahead_of(FLARE, FILE_PEERS),
        ),
        Workload(
            "files_br",
            "files",
            "the compressed sibling of a file: 20,000 octets of 60,000",
            "/files/60000.bin",
            fields=("Accept-Encoding: gzip, deflate, br, zstd",),
        ),
    )


def _https() -> tuple[Workload, ...]:
    def workload(name: str, what: str, path: str, **more) -> Workload:
        return Workload(
            f"https_{name}",
            "https",
            what,
            path,
            is_secure=True,
            measures=(CPU, SYSTEM_CALLS, MEMORY),
            claims=tuple(Claim(flare, 1.0, "nginx") for flare in FLARE),
            **more,
        )

    return (
        workload("plaintext", "13 octets of text inside of TLS", "/plaintext"),
        workload(
            "download",
            "1 MiB of content inside of TLS",
            f"/download/{_MIB}",
            connections=16,
        ),
        workload(
            "full",
            "a full handshake per request",
            "/plaintext",
            close_percent=100,
        ),
        workload(
            "file",
            "a file of 20000 octets inside of TLS",
            "/files/20000.bin",
        ),
        workload(
            "resumed",
            "a resumed handshake per connection, and no request (TLS 1.2)",
            "/plaintext",
            generator=RESUMING,
            connections=8,
        ),
    )


def _http2() -> tuple[Workload, ...]:
    def workload(name: str, what: str, to_h2o: float, **more) -> Workload:
        return Workload(
            f"h2_{name}",
            "h2",
            f"13 octets of text over HTTP/2, a thousand targets: {what}",
            "/plaintext",
            generator=H2LOAD,
            measures=(CPU, SYSTEM_CALLS, MEMORY, LATENCY),
            claims=(
                Claim("flare_io_uring", to_h2o, "h2o"),
                *ahead_of(FLARE, HTTP2_PEERS),
                *_no_worse_p99(),
            ),
            **more,
        )

    return (
        workload(
            "m32", "TLS, 8 connections, 32 streams", 0.66,
            is_secure=True, connections=8, streams=32,
        ),
        workload(
            "m100", "TLS, 4 connections, 100 streams", 0.5,
            is_secure=True, connections=4, streams=100,
        ),
        workload(
            "m1", "TLS, 64 connections, a stream each", 1.0,
            is_secure=True, streams=1,
        ),
        workload(
            "c_m32", "no TLS, 8 connections, 32 streams", 0.66,
            connections=8, streams=32,
        ),
        workload(
            "c_m100", "no TLS, 4 connections, 100 streams", 0.5,
            connections=4, streams=100,
        ),
        Workload(
            "h2_static",
            "h2",
            "20 files of a site by their compressed siblings, inside of TLS:"
            " 8 connections, 32 streams",
            "/files/site",
            generator=H2LOAD,
            is_secure=True,
            connections=8,
            streams=32,
            paths=tuple(f"/files/site/{name}" for name, _ in SITE),
            fields=("accept-encoding: gzip, deflate, br, zstd",),
            measures=(CPU, SYSTEM_CALLS, MEMORY),
            claims=(
                *(Claim(flare, 2 / 3, "hyper") for flare in FLARE),
                *ahead_of(FLARE, ("nginx", "h2o")),
            ),
        ),
    )


def _waits() -> tuple[Workload, ...]:
    return (
        Workload(
            "delay",
            "delay",
            "a handler that waits for 10 ms, asked by 256 clients",
            "/delay",
            generator=LEAN,
            connections=256,
            measures=(CPU, MEMORY),
        ),
        Workload(
            "two_workers",
            "two_workers",
            "13 octets of text at a fixed rate: two workers, and one at half"
            " the rate",
            "/plaintext",
            generator=TWO_WORKERS,
            rate_share=0.25,
            measures=(CPU,),
            claims=tuple(
                Claim(name + TWO_WORKERS_SUFFIX, 1.10, name) for name in FLARE
            ),
        ),
        Workload(
            "slow_clients",
            "slow_clients",
            "a fixed rate of requests beside 200 clients that send their"
            " heads octet by octet",
            "/plaintext",
            generator=SLOW_CLIENTS,
            rate=5_000,
            measures=(CPU,),
        ),
        Workload(
            "idle",
            "idle",
            "resident memory per idle keep-alive connection, in octets",
            "/plaintext",
            generator=IDLE,
            measures=(MEMORY,),
            claims=tuple(
                Claim(name, 1536.0, ABSOLUTE, figure="memory_octets")
                for name in FLARE
            ),
        ),
    )


def _websockets() -> tuple[Workload, ...]:
    def workload(name: str, what: str, claims=(), **more) -> Workload:
        return Workload(
            name,
            "websocket",
            what,
            "/ws",
            generator=LEAN,
            is_websocket=True,
            claims=(*claims, *ahead_of(FLARE, WEBSOCKET_PEERS)),
            **more,
        )

    what = "5 octets of text echoed on a WebSocket"
    return (
        workload("echo-ws", what, near_limits(1.10, 1.10), measures=MEASURES),
        workload(
            "echo-ws-pipelined",
            f"{what}, 16 messages at a time",
            near_limits(1.35, 1.35),
            depth=16,
        ),
        workload(
            "echo-ws-limited",
            f"{what}, a connection closes after 10 messages",
            requests_per_connection=10,
        ),
    )


def _arena() -> tuple[Workload, ...]:
    def workload(name: str, what: str, path: str, **more) -> Workload:
        profile = more.pop("profile", name)
        more.setdefault("measures", (CPU, SYSTEM_CALLS, MEMORY))
        return Workload(
            f"arena_{name}",
            "arena",
            what,
            path,
            profile=profile,
            claims=ahead_of(("flare_io_uring",), ARENA_PEERS),
            **more,
        )

    return (
        workload(
            "baseline",
            "a sum of two parameters, and of the content: GET, POST, chunked",
            "/baseline11",
        ),
        workload(
            "limited",
            "a sum; a connection closes after 10 requests",
            "/baseline11?a=13&b=42",
            generator=LEAN,
            requests_per_connection=10,
        ),
        workload(
            "pipelined", "`ok`, 16 requests at a time", "/pipeline", depth=16
        ),
        workload(
            "latency",
            "a sum, asked for 10,000 times a second",
            "/baseline11?a=13&b=42",
            generator=LEAN,
            rate=10_000,
            measures=(CPU,),
        ),
        workload(
            "async",
            "a handler that waits for 10 ms, asked by 1,000 clients",
            "/delay/10",
            generator=LEAN,
            connections=1_000,
            measures=(CPU, MEMORY),
        ),
        workload(
            "json", "1 to 50 items as JSON, made for each answer", "/json"
        ),
        workload(
            "json_compressed",
            "25 to 50 items as JSON, compressed for each answer",
            "/json",
        ),
        workload(
            "json_tls",
            "1 to 50 items as JSON inside of TLS",
            "/json",
            profile="json",
            is_secure=True,
        ),
        workload(
            "upload_500k",
            "500 KiB of content that are counted",
            "/upload",
            profile="upload",
            generator=LEAN,
            method="POST",
            content_octets=500 * _KIB,
            connections=16,
        ),
        workload(
            "upload_20m",
            "20 MiB of content that are counted",
            "/upload",
            profile="upload",
            generator=LEAN,
            method="POST",
            content_octets=20 * _MIB,
            # Of many that share the time few would end within a round.
            connections=4,
        ),
        workload(
            "echo", "10 KiB of content sent back inside of TLS", "/echo",
            is_secure=True,
        ),
        workload(
            "echo_ws",
            "5 octets of text echoed on a WebSocket",
            "/ws",
            generator=LEAN,
            is_websocket=True,
        ),
    )


def _arena_database() -> tuple[Workload, ...]:
    def workload(name: str, what: str, path: str, most: float) -> Workload:
        return Workload(
            f"arena_{name}",
            "arena_database",
            what,
            path,
            profile=name,
            needs_database=True,
            connections=32,
            measures=(CPU, SYSTEM_CALLS, MEMORY),
            claims=tuple(Claim(flare, most, "fasthttp") for flare in FLARE),
        )

    return (
        workload(
            "async_db",
            "5 to 50 items of 100,000 by their price",
            "/async-db",
            0.6,
        ),
        workload(
            "api",
            "three sums, three times 50 items of memory, twice 50 of the"
            " database",
            "/async-db",
            0.5,
        ),
        workload("fortunes", "a page of 201 sayings", "/fortunes", 0.5),
        workload(
            "crud",
            "15 items read that are kept for 200 ms, 3 changed, a page, one"
            " created",
            "/crud/items",
            0.85,
        ),
    )


WORKLOADS = (
    *_plaintext(),
    *_connections(),
    *_products(),
    *_catalogue(PRODUCTS),
    *_catalogue(STORED),
    *_transfers(),
    *_files(),
    *_https(),
    *_http2(),
    *_waits(),
    *_websockets(),
    *_arena(),
    *_arena_database(),
)
QUICK = ("plaintext", "pipelined", "read", "simple")


def chosen(names: list[str] | None) -> list[Workload]:
    """Gives the workloads of these names or groups; all of them for none.

    A name that none has raises `ValueError`.
    """
    if names is None:
        return list(WORKLOADS)
    known = {w.name for w in WORKLOADS} | {w.group for w in WORKLOADS}
    for name in names:
        if name not in known:
            raise ValueError(f"no workload {name}; there are {sorted(known)}")
    return [w for w in WORKLOADS if w.name in names or w.group in names]
