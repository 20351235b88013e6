"""Serves what the loopback tests ask for (tests/python/test_loopback_*.py)."""

from std.sys import stderr
from std.time import sleep as sleep_thread

from flare.http import (
    FnHandler,
    Handler,
    HeaderMap,
    Request,
    Response,
    ResponseStream,
    Router,
    SealedContent,
    SecureOnly,
    ServerHandle,
    StrictTransportSecurity,
    UpgradedStream,
    no_content,
    not_found,
    ok,
)
from flare.http.server.records.statistics import WorkerStatistics
from flare.runtime import (
    Cancel,
    Event,
    blocking,
    deadline_in,
    sleep,
    spawn,
)
from flare.sys.clock import monotonic_ms
from flare.tls import TlsServerConfig

from subject_depth import deep
from subject_options import SubjectOptions, identity
from subject_streams import events, news, polite
from subject_sums import (
    PIECE_OCTETS,
    nibble,
    regret,
    share,
    sum_of,
    sum_up,
    sum_up_slowly,
    sum_with_trailer,
)


def home(req: Request) raises -> Response:
    return ok("hello")


# What a browser is to do (tests/python/test_https_peers.py). Its requests wait
# for one another, so that the page is done when it is loaded.
comptime PAGE: StaticString = """<!doctype html><title>flare</title>
<body><script>
function ask(method, path, content) {
  const request = new XMLHttpRequest();
  request.open(method, path, false);
  request.overrideMimeType("text/plain; charset=x-user-defined");
  request.send(content);
  return request.responseText;
}
const octets = ask("GET", "/stream/1048576");
let wrong = 0;
for (let i = 0; i < octets.length; i++) {
  if ((octets.charCodeAt(i) & 255) !== i % 251) wrong++;
}
let users = 0;
for (let i = 0; i < 20; i++) {
  if (ask("GET", "/users/" + i) === "user " + i) users++;
}
document.body.textContent = [
  octets.length, wrong, users, ask("POST", "/upload", "x".repeat(300000)),
  ask("GET", "/tls"), isSecureContext,
  performance.getEntriesByType("navigation")[0].nextHopProtocol,
].join(" ");
</script>"""


def page(req: Request) raises -> Response:
    return ok(PAGE).with_header("Content-Type", "text/html")


def echo(req: Request) raises -> Response:
    return ok(req.text())


def tls_details(req: Request) raises -> Response:
    var tls = req.tls()
    if not tls:
        return ok("plain")
    ref details = tls.value()
    return ok(
        String(
            details.version,
            "\n",
            details.cipher,
            "\n",
            details.server_name.or_else("-"),
            "\n",
            details.peer_subject.or_else("-"),
            "\n",
            "resumed" if details.is_resumed else "full",
        )
    )


@fieldwise_init
struct Reload(Handler):
    """Replaces the certificate, or reads the present one again."""

    var handle: ServerHandle
    var certificates: String

    def serve(self, req: Request) raises -> Response:
        try:
            if req.param("name") == "same":
                self.handle.reload_tls()
            else:
                self.handle.reload_tls(
                    TlsServerConfig(
                        identity(self.certificates, req.param("name"))
                    )
                )
        except e:
            return ok(String(e))
        return ok("reloaded")


def late_echo(req: Request) raises -> Response:
    _wait(req)
    return ok(req.text())


def echo_late(req: Request) raises -> Response:
    var content = String(req.text())
    _wait(req)
    return ok(content)


def receive(req: Request) raises -> Response:
    return ok(String("received ", len(req.body.octets())))


def upload(req: Request) raises -> Response:
    return ok(String(len(req.body.octets())))


def user(req: Request) raises -> Response:
    return ok(String("user ", req.param("id")))


def delay(req: Request) raises -> Response:
    _wait(req)
    return ok(String("waited ", req.param("ms")))


def busy(req: Request) raises -> Response:
    var until = monotonic_ms() + Int(req.param("ms"))
    while monotonic_ms() < until:
        pass
    return ok("busy")


def sleep0(req: Request) raises -> Response:
    sleep(0)
    return ok("slept")


def big(req: Request) raises -> Response:
    var response = ok(List[UInt8](length=Int(req.param("octets")), fill=120))
    if req.query.byte_length() > 0:
        response.headers.set("Priority", req.query)
    return response^


def sealed(req: Request) raises -> Response:
    var count = Int(req.param("octets"))
    var octets = List[UInt8](capacity=count + 8)
    while len(octets) < count:
        octets.extend(String(len(octets) // 8).ascii_rjust(7, "0").as_bytes())
        octets.append(10)
    return ok(SealedContent(Span(octets)[:count]))


def headers(req: Request) raises -> Response:
    var found = req.headers.get("X-Echo")
    return ok(found.value()) if found else not_found()


def peer(req: Request) raises -> Response:
    return ok(String(req.peer()))


def credentials(req: Request) raises -> Response:
    var found = req.peer_credentials()
    return ok(String(found.pid, " ", found.uid, " ", found.gid))


def close(req: Request) raises -> Response:
    return ok("closing").with_header("Connection", "close")


def nothing(req: Request) raises -> Response:
    return no_content()


def unchanged(req: Request) raises -> Response:
    return Response(304, "not for the wire")


def fail(req: Request) raises -> Response:
    raise Error("the secret is 7\r\nflare: forged line \x1b[31m")


def split(req: Request) raises -> Response:
    return ok("split").with_header("X-Split", "a\r\nX-Injected: b")


def stream_counted(req: Request) raises -> Response:
    return Response.stream(_write_pattern, length=Int(req.param("octets")))


def stream_chunked(req: Request) raises -> Response:
    return Response.stream(_write_pattern)


def stream_broken(req: Request) raises -> Response:
    return Response.stream(_write_and_raise)


def both_ways(req: Request) raises -> Response:
    return Response.stream(_write_what_is_read)


def hints(req: Request) raises -> Response:
    var fields = HeaderMap()
    fields.set("Link", "</style.css>; rel=preload")
    req.inform(103, fields)
    return ok("page")


def shout(req: Request) raises -> Response:
    return Response.upgrade("shout", _shout)


def shout_late(req: Request) raises -> Response:
    _wait(req)
    return Response.upgrade("shout", _shout)


def read_in(req: Request) raises -> Response:
    var piece = List[UInt8](length=100, fill=0)
    try:
        with deadline_in(Int(req.param("ms"))):
            while req.body.read(Span(piece)) > 0:
                pass
    except e:
        return ok(String(e))
    return ok("all came")


def write_in(req: Request) raises -> Response:
    return Response.stream(_write_in)


def wait(req: Request) raises -> Response:
    try:
        _wait_for(req)
    except e:
        print("cut off:", e, file=stderr)
        raise e^
    print("went on", file=stderr)
    return ok("went on")


def endless(req: Request) raises -> Response:
    return Response.stream(_write_for_ever)


def use_on_thread(req: Request) raises -> Response:
    return Response.stream(_use_on_thread)


def raw(req: Request) raises -> Response:
    return Response.upgrade("raw", _use_raw)


@fieldwise_init
struct Statistics(Handler):
    """Answers with the sums of the workers' counters."""

    var handle: ServerHandle

    def serve(self, req: Request) raises -> Response:
        var sum = WorkerStatistics()
        for each in self.handle.statistics():
            sum.connections_accepted += each.connections_accepted
            sum.connections += each.connections
            sum.requests += each.requests
            sum.requests_in_flight += each.requests_in_flight
            sum.streams += each.streams
            sum.handler_errors += each.handler_errors
            sum.refused += each.refused
            sum.fibers += each.fibers
            sum.receive_buffers += each.receive_buffers
            sum.buffered_octets += each.buffered_octets
            sum.timers += each.timers
            sum.slow_turns += each.slow_turns
        return ok(
            String(
                "connections_accepted=",
                sum.connections_accepted,
                "\nconnections=",
                sum.connections,
                "\nrequests=",
                sum.requests,
                "\nrequests_in_flight=",
                sum.requests_in_flight,
                "\nstreams=",
                sum.streams,
                "\nhandler_errors=",
                sum.handler_errors,
                "\nrefused=",
                sum.refused,
                "\nfibers=",
                sum.fibers,
                "\nreceive_buffers=",
                sum.receive_buffers,
                "\nbuffered_octets=",
                sum.buffered_octets,
                "\ntimers=",
                sum.timers,
                "\nslow_turns=",
                sum.slow_turns,
                "\n",
            )
        )


def main() raises:
    var options = SubjectOptions.read()
    var server = options.bind()
    for address in server.local_addresses():
        if address.is_unix():
            print(address, flush=True)
        else:
            print(address.socket_address().port, flush=True)
    for i in range(options.serves):
        if i > 0:
            # The test has its moment between the two.
            print("served", flush=True)
            _ = input()
        server.serve(
            _routes(server.handle(), options.certificates.or_else(String())),
            num_workers=options.workers,
            supervise=options.supervise,
        )


def _routes(handle: ServerHandle, certificates: String) raises -> Router[]:
    var router = Router()
    router.get("/tls", tls_details)
    router.get("/secure", StrictTransportSecurity(SecureOnly(FnHandler(home))))
    router.get(
        "/secure/:id",
        SecureOnly(FnHandler(user), host=String("a.test"), port=8443),
    )
    router.get("/reload/:name", Reload(handle.copy(), certificates))
    router.get("/", home)
    router.get("/page", page)
    router.post("/echo", echo)
    router.post("/late-echo/:ms", late_echo)
    router.post("/echo-late/:ms", echo_late)
    router.get("/received", receive)
    router.post("/received", receive)
    router.post("/upload", upload)
    router.get("/users/:id", user)
    router.post("/users/:id", user)
    router.route("DESCRIBE", "/users/:id", user)
    router.get("/delay/:ms", delay)
    router.get("/busy/:ms", busy)
    router.get("/deep/:kib", deep)
    router.get("/sleep0", sleep0)
    router.get("/big/:octets", big)
    router.get("/sealed/:octets", sealed)
    router.get("/headers", headers)
    router.get("/peer", peer)
    router.get("/credentials", credentials)
    router.get("/close", close)
    router.get("/nothing", nothing)
    router.get("/unchanged", unchanged)
    router.get("/raise", fail)
    router.post("/raise", fail)
    router.get("/split", split)
    router.post("/sum", sum_up)
    router.post("/nibble", nibble)
    router.post("/share", share)
    router.post("/regret", regret)
    router.post("/sum-slowly/:ms", sum_up_slowly)
    router.post("/sum-trailer", sum_with_trailer)
    router.get("/stream/:octets", stream_counted)
    router.get("/chunks/:octets", stream_chunked)
    router.get("/broken/:octets", stream_broken)
    router.post("/both", both_ways)
    router.get("/hints", hints)
    router.get("/shout", shout)
    router.get("/shout/:ms", shout_late)
    router.post("/read-in/:ms", read_in)
    router.get("/write-in/:ms", write_in)
    router.post("/wait/:what", wait)
    router.get("/endless", endless)
    router.post("/thread", use_on_thread)
    router.get("/raw/:what", raw)
    router.get("/events", events)
    router.get("/news", news)
    router.get("/polite", polite)
    router.get("/statistics", Statistics(handle.copy()))
    return router^


def _wait(req: Request) raises:
    try:
        sleep(Int(req.param("ms")))
    except e:
        print("cut off:", e, file=stderr)
        raise e^


def _write_pattern(req: Request, stream: ResponseStream) raises:
    var piece = List[UInt8](capacity=PIECE_OCTETS)
    for i in range(PIECE_OCTETS):
        piece.append(UInt8(i % 251))
    var left = Int(req.param("octets"))
    while left > 0:
        var count = min(left, PIECE_OCTETS)
        stream.write_all(Span(piece)[:count])
        left -= count


def _write_and_raise(req: Request, stream: ResponseStream) raises:
    _write_pattern(req, stream)
    raise Error("on purpose")


def _write_what_is_read(req: Request, stream: ResponseStream) raises:
    stream.flush()
    req.body.set_octets_max(1 << 40)
    var piece = List[UInt8](length=PIECE_OCTETS, fill=0)
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return
        stream.write_all(Span(piece)[:count])


def _shout(req: Request, stream: UpgradedStream) raises:
    var piece = List[UInt8](length=1000, fill=0)
    while True:
        var count = stream.read(Span(piece))
        if count == 0:
            stream.write_all("bye".as_bytes())
            return
        for i in range(count):
            if piece[i] >= 97 and piece[i] <= 122:
                piece[i] -= 32
        stream.write_all(Span(piece)[:count])


def _write_in(req: Request, stream: ResponseStream) raises:
    try:
        with deadline_in(Int(req.param("ms"))):
            while True:
                stream.write_all(Span(List[UInt8](length=5000, fill=120)))
    except e:
        print("cut off:", e, file=stderr)
        raise e^


def _wait_for(req: Request) raises:
    var what = req.param("what")
    if what == "sleep":
        sleep(50_000)
    elif what == "event":
        Event().wait()
    elif what == "join":
        var child = spawn(_sleep_and_tell)
        child^.join()
    elif what == "blocking":
        var cancel = Cancel.current()

        def compute() raises {var cancel}:
            for _ in range(20_000):
                if cancel.is_cancelled():
                    print("a thread saw it", file=stderr)
                    return
                sleep_thread(0.001)

        blocking(compute)
    elif what == "octets":
        _ = req.body.octets()
    else:
        _ = sum_of(req, 0)


def _sleep_and_tell() raises:
    try:
        sleep(50_000)
    except e:
        print("child cut off:", e, file=stderr)
        raise e^


def _write_for_ever(req: Request, stream: ResponseStream) raises:
    try:
        while True:
            stream.write_all(Span(List[UInt8](length=5000, fill=120)))
    except e:
        print("cut off:", e, file=stderr)
        raise e^


def _use_on_thread(req: Request, stream: ResponseStream) raises:
    # A loop's streams belong to its thread.
    var body = req.body

    def write() raises {var stream}:
        stream.write_text("written")

    def read() raises {var body}:
        var piece = List[UInt8](length=10, fill=0)
        _ = body.read(Span(piece))

    try:
        blocking(write)
    except e:
        stream.write_text(String("write ", e, "\n"))
    try:
        blocking(read)
    except e:
        stream.write_text(String("read ", e, "\n"))


def _use_raw(req: Request, stream: UpgradedStream) raises:
    var piece = List[UInt8](length=5000, fill=120)
    try:
        if req.param("what") == "sleep":
            sleep(50_000)
        while req.param("what") == "write":
            stream.write_all(Span(piece))
        while stream.read(Span(piece)) > 0:
            pass
    except e:
        print("cut off:", e, file=stderr)
        raise e^
