# Run: mojo run -I . examples/44_sessions.mojo
# Prints: stranger, page 1
# Prints: stranger, page 2
# Prints: ann, page 3
# Prints: stranger, page 1
"""Remembers a client from page to page, until it signs out."""

from flare.prelude import *
from flare.session import MemorySessions, Session, Sessions
from flare.testing import TestClient


struct Visit(Defaultable, FromJson, ToJson):
    var user: Optional[String]
    var pages: Int

    def __init__(out self):
        self.user = None
        self.pages = 0


def show(session: Session[Visit]) -> String:
    session[].pages += 1
    return String(
        session[].user.or_else("stranger"), ", page ", session[].pages
    )


def sign_in(session: Session[Visit], name: Path[String]) -> String:
    # The client gets a new id, so that an id from before is worth nothing.
    session.renew()
    session[].user = name.value
    return "welcome"


def sign_out(session: Session[Visit]) -> String:
    session.destroy()
    return "good bye"


def main() raises:
    var router = Router()
    router.get("/", show)
    router.get("/sign-in/:name", sign_in)
    router.get("/sign-out", sign_out)
    var client = TestClient(Sessions[Visit](router^, MemorySessions()))
    var cookie = String()
    for target in ["/", "/", "/sign-in/ann", "/", "/sign-out", "/"]:
        var headers = HeaderMap()
        headers.set("Cookie", cookie)
        var response = client.get(target, headers)
        var set = response.headers.get("Set-Cookie")
        if set:
            cookie = String(set.value().split(";")[0])
        if target == "/":
            print(response.text())
