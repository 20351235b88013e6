# Run: mojo build -I . -o /tmp/tracing examples/50_tracing.mojo && /tmp/tracing
# Prints: /order/tea in trace 0af7651916cd43dd8448eb211c80319c
# Prints: /price/tea in trace 0af7651916cd43dd8448eb211c80319c
"""Follows a request through two services by its trace."""

from flare.http import (
    ClientConfig,
    HttpClient,
    Tracing,
    current_trace,
    trace_fields,
)
from flare.message import HeaderMap
from flare.prelude import *
from flare.runtime import blocking, spawn


def order(req: Request) raises -> Response:
    print(req.path, "in trace", current_trace().value().trace_id_text())
    # The other service gets the trace with the request.
    return State[HttpClient].of(req)[].get("/price/tea")


def price(req: Request) raises -> Response:
    print(req.path, "in trace", current_trace().value().trace_id_text())
    return ok("3.50")


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var handle = server.handle()
    var url = String("http://127.0.0.1:", handle.local_address().port)
    var router = Router[HttpClient]()
    router.get("/order/tea", order)
    # This service could as well run elsewhere.
    router.get("/price/tea", price)
    var config = ClientConfig(field_source=trace_fields)
    var prices = HttpClient(url, config=config^)
    # `exporter=OtlpExporter(service_name="orders")` reports the spans.
    var app = App(state=prices^, handler=Tracing(router^))

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^, var app^}:
        def run() raises {imm server, imm app}:
            server.serve(app.copy())

        blocking(run)

    var serving = spawn(serve^)
    var client = HttpClient(url)
    var headers = HeaderMap()
    headers.set(
        "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    )
    _ = client.get("/order/tea", headers=headers)
    _ = client^
    handle.shutdown()
    serving^.join()
