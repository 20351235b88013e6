# Run: mojo run -I . examples/18_middleware.mojo
# Prints: GET /secret -> 401 unauthorized
# Prints: GET /secret -> 200 the secret
"""Wraps a router in handlers of our own and of the library."""

from flare.http import AddHeader, LogSink, Logger, SecurityHeaders, unauthorized
from flare.prelude import *
from flare.testing import TestClient


@fieldwise_init
struct RequireAuth[H: Handler](Handler):
    var inner: Self.H
    var token: String

    def serve(self, req: Request) raises -> Response:
        var given = req.headers.get("Authorization")
        if not given or given.value() != self.token:
            return unauthorized("Bearer")
        return self.inner.serve(req)


def secret(req: Request) raises -> Response:
    return ok("the secret")


def main() raises:
    var router = Router()
    router.get("/secret", secret)

    # The outermost one comes first. All of it compiles into direct calls.
    var site = Logger(
        SecurityHeaders(
            AddHeader(
                RequireAuth(router^, "Bearer tok_abc"),
                name="Server",
                value="flare",
            )
        ),
        LogSink.standard_error(),
    )

    var client = TestClient(site^)
    show(client.get("/secret"))
    var headers = HeaderMap()
    headers.set("Authorization", "Bearer tok_abc")
    show(client.get("/secret", headers))


def show(response: Response) raises:
    print("GET /secret ->", response.status, response.text())
    print(response.headers)
