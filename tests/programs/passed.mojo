"""Serves at sockets that were passed to it, passes them on, and tells systemd
(tests/python/test_loopback_passed.py, test_loopback_notify.py,
test_h2_lifecycle.py).

With `--tls FOLDER`, the last address speaks TLS.
"""

from std.sys import argv

from flare.http import (
    Handler,
    HttpServer,
    Listener,
    NotifySocket,
    Request,
    Response,
    Router,
    ServerConfig,
    ServerHandle,
    ok,
)
from flare.runtime import BackendKind, blocking, sleep
from flare.sys.clock import monotonic_ms
from flare.sys.process import process_id
from flare.tls import TlsIdentity, TlsServerConfig


def own_id(req: Request) raises -> Response:
    return ok(String(process_id()))


def delay(req: Request) raises -> Response:
    sleep(Int(req.param("ms")))
    return ok(String(process_id()))


def busy(req: Request) raises -> Response:
    var until_ms = monotonic_ms() + Int(req.param("ms"))
    while monotonic_ms() < until_ms:
        pass
    return ok(String(process_id()))


@fieldwise_init
struct Stop(Handler):
    """Stops the server from a handler."""

    var handle: ServerHandle

    def serve(self, req: Request) raises -> Response:
        self.handle.shutdown()
        return ok(String(process_id()))


@fieldwise_init
struct HandOver(Handler):
    """Lets another program go on, and says what has become of it."""

    var handle: ServerHandle

    def serve(self, req: Request) raises -> Response:
        var handle = self.handle.copy()
        var timeout_ms = 10_000
        var command = List[String]()
        var kind = String(req.param("kind"))
        if kind == "self":
            for i in range(len(argv())):
                command.append(String(argv()[i]))
        elif kind == "missing":
            command.append("/nowhere/program")
        elif kind == "false":
            command.append("/bin/false")
        elif kind == "silent":
            command.append("/bin/sleep")
            command.append("60")
            timeout_ms = 300

        def body() raises {var handle^, var command^, var timeout_ms} -> Int:
            return handle.hand_over(command, timeout_ms=timeout_ms)

        try:
            return ok(String(blocking(body^)))
        except e:
            return ok(String(e))


def main() raises:
    var config = ServerConfig()
    var workers = 1
    var supervise = False
    var notifies = False
    var certificates = Optional[String]()
    var places = List[String]()
    var options = argv()
    var i = 1
    while i < len(options):
        if options[i] == "--supervise":
            supervise = True
        elif options[i] == "--notify":
            notifies = True
        elif options[i] == "--workers":
            i += 1
            workers = Int(options[i])
        elif options[i] == "--at":
            i += 1
            places.append(String(options[i]))
        elif options[i] == "--tls":
            i += 1
            certificates = String(options[i])
        elif options[i] == "--backend":
            i += 1
            config.backend = (
                BackendKind.EPOLL if options[i]
                == "epoll" else BackendKind.IO_URING
            )
        else:
            raise Error("unknown option ", options[i])
        i += 1
    var listeners = Listener.from_systemd()
    print(len(listeners), "passed", flush=True)
    for k in range(len(listeners)):
        print(listeners[k].address(), listeners[k].name(), flush=True)
    print(len(Listener.from_systemd()), "left", flush=True)
    if len(listeners) == 0:
        for place in places:
            listeners.append(Listener.bind(place))
    var secure = List[Listener]()
    if certificates:
        # With many workers, each listener was passed on once for each.
        var address = listeners[len(listeners) - 1].address()
        for k in reversed(range(len(listeners))):
            if listeners[k].address() == address:
                secure.append(listeners.pop(k))
    var server = HttpServer.with_listeners(listeners^, config^)
    while len(secure) > 0:
        server.add_tls(secure.pop(), _tls(certificates.value()))
    if notifies:
        var notify = NotifySocket.from_systemd()
        if notify.is_connected():
            notify.send("STATUS=about to serve")
        if NotifySocket.from_systemd().is_connected():
            raise Error("the variables are still there")
        server.notify(notify)
    for address in server.local_addresses():
        print("at", address, flush=True)
    var router = Router()
    router.get("/id", own_id)
    router.get("/delay/:ms", delay)
    router.get("/busy/:ms", busy)
    router.get("/stop", Stop(server.handle()))
    router.get("/hand-over/:kind", HandOver(server.handle()))
    server.serve(router^, num_workers=workers, supervise=supervise)
    print("ended", flush=True)


def _tls(folder: String) raises -> TlsServerConfig:
    return TlsServerConfig(
        TlsIdentity.files(
            String(folder, "/server.pem"), String(folder, "/server.key")
        )
    )
