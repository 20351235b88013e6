# Run: mojo run -I . examples/51_after_response.mojo
# Prints: the client has: welcome, ann
# Prints: a mail to ann was sent
"""Sends a mail after the response, so that the client does not wait for it."""

from flare.http import after_response
from flare.prelude import *
from flare.testing import TestClient


def sign_up(req: Request) raises -> Response:
    var name = String(req.param("name"))

    def send_mail() raises {var name}:
        # It may wait, as a handler may.
        sleep(10)
        print("a mail to", name, "was sent")

    after_response(req, send_mail^)
    return ok(String("welcome, ", name))


def main() raises:
    var router = Router()
    router.post("/people/:name", sign_up)
    var client = TestClient(router^)
    print("the client has:", client.post("/people/ann", "").text())
    # A server waits for such jobs when it stops.
    sleep(50)
