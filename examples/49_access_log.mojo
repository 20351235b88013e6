# Run: mojo build -I . -o /tmp/access_log examples/49_access_log.mojo && /tmp/access_log
# Prints: "method":"GET","target":"/hello/me?a=%22","target_octets":15,"route":"/hello/:name","status":200,"end":"complete"
# Prints: "user_agent":"an \"evil\" client \u00e9","request_id":null,"trace_id":"0af7651916cd43dd8448eb211c80319c"}
"""Prints a line of JSON for each request."""

from flare.http import AccessLog, HttpClient
from flare.message import HeaderMap
from flare.prelude import *
from flare.runtime import blocking, spawn


def hello(req: Request) raises -> Response:
    return ok(String("hello ", req.param("name")))


def main() raises:
    var router = Router()
    router.get("/hello/:name", hello)
    # `combined()` writes lines as Apache and nginx do; `file=` names a file.
    var config = ServerConfig(access_log=AccessLog.json_lines())
    var server = HttpServer.bind(SocketAddr.localhost(0), config^)
    var handle = server.handle()

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^, var router^}:
        def run() raises {imm server, imm router}:
            server.serve(router.copy())

        blocking(run)

    var serving = spawn(serve^)
    var client = HttpClient(
        String("http://127.0.0.1:", handle.local_address().port)
    )
    var headers = HeaderMap()
    headers.set("User-Agent", 'an "evil" client é')
    headers.set(
        "Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    )
    print(client.get("/hello/me?a=%22", headers=headers).text())
    _ = client^
    handle.shutdown()
    serving^.join()
