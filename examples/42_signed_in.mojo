# Run: mojo run -I . examples/42_signed_in.mojo
# Prints: 401 unauthorized
# Prints: 200 hello ann, user 7
"""Passes the user from middleware to the handlers within it."""

from flare.http import Handler, RequestValue, unauthorized
from flare.prelude import *
from flare.testing import TestClient


@fieldwise_init
struct User(Movable):
    var number: Int
    var name: String


@fieldwise_init
struct SignedIn[H: Handler](Handler):
    var inner: Self.H

    def serve(self, req: Request) raises -> Response:
        # A real program looks the session up.
        var session = req.cookie("session")
        if session and session.value() == "s3cret":
            req.set(User(7, "ann"))
            return self.inner.serve(req)
        return unauthorized("Cookie")


def greet(user: RequestValue[User]) -> String:
    return String("hello ", user[].name, ", user ", user[].number)


def main() raises:
    var router = Router()
    router.get("/", greet)
    var client = TestClient(SignedIn(router^))
    show(client.get("/"))
    var headers = HeaderMap()
    headers.set("Cookie", "session=s3cret")
    show(client.get("/", headers))


def show(response: Response) raises:
    print(response.status, response.text())
