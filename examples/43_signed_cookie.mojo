# Run: mojo run -I . examples/43_signed_cookie.mojo
# Prints: hello stranger
# Prints: hello ann
# Prints: hello stranger
"""Recognizes a client by a signed cookie, which it cannot forge."""

from flare.http import Cookie, Handler
from flare.prelude import *
from flare.session import Signer
from flare.testing import TestClient

comptime DAY_SECONDS = 86_400


@fieldwise_init
struct Greeter(Handler):
    var signer: Signer

    def serve(self, req: Request) raises -> Response:
        if req.path == "/sign-in":
            var response = ok("welcome")
            response.set_cookie(
                self.signer.cookie(
                    Cookie("user", "ann", path="/", http_only=True)
                )
            )
            return response^
        var user = self.signer.read(req, "user", max_age_seconds=DAY_SECONDS)
        return ok(String("hello ", user.or_else("stranger")))


def main() raises:
    # A real program reads its keys from a file. The first one signs.
    var signer = Signer(
        keys=[
            "the new key, of at least 32 octets",
            "the old key, until its cookies expire",
        ]
    )
    var client = TestClient(Greeter(signer^))
    show(client, "")
    var cookie = client.get("/sign-in").headers.get("Set-Cookie").value()
    var signed = String(cookie.split(";")[0])
    show(client, signed)
    # A single changed letter is another signature.
    show(client, signed.replace("user=", "user=A"))


def show(client: TestClient[Greeter], cookie: String) raises:
    var headers = HeaderMap()
    headers.set("Cookie", cookie)
    print(client.get("/", headers).text())
