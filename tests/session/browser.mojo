"""A site with sessions, and a browser that visits it."""

from flare.http import (
    Handler,
    HeaderMap,
    Request,
    Response,
    ResponseStream,
    Router,
    ok,
)
from flare.json import FromJson, ToJson
from flare.runtime import sleep
from flare.session import MemorySessions, Session, SessionRecord, SessionStore
from flare.session.keeping import key_of
from flare.testing import TestClient


struct Visit(Defaultable, FromJson, ToJson):
    """What the site remembers of a client."""

    var count: Int
    """How often it has counted."""
    var user: String
    """Who has signed in."""

    def __init__(out self):
        """Creates the data of a client that is new."""
        self.count = 0
        self.user = String()


struct Browser[H: Handler](Movable):
    """A client that keeps one cookie.

    Parameters:
        H: The type of the site.
    """

    var client: TestClient[Self.H]
    """The connection."""
    var cookie: String
    """The cookie with its name, or nothing."""

    def __init__(out self, var client: TestClient[Self.H]):
        """Creates a browser without a cookie.

        Args:
            client: The connection.
        """
        self.client = client^
        self.cookie = String()

    def get(mut self, target: StringSlice) raises -> Response:
        """Visits a page.

        Args:
            target: The page.

        Returns:
            The response.

        Raises:
            If it is malformed.
        """
        var headers = HeaderMap()
        if self.cookie:
            headers.set("Cookie", self.cookie)
        var response = self.client.get(target, headers)
        var field = response.headers.get("Set-Cookie")
        if field:
            var text = String(field.value())
            self.cookie = String(text.split(";")[0])
            if "Max-Age=0" in text:
                self.cookie = String()
        return response^


@fieldwise_init
struct Late[H: Handler](Handler):
    """A handler during which another request destroys the session.

    Parameters:
        H: The type of the handler within.
    """

    var inner: Self.H
    """The handler within."""
    var store: MemorySessions
    """The store of the sessions."""

    def serve(self, req: Request) raises -> Response:
        """Answers, and destroys the session for `/late` and `/late-sign-in`.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            As the handler within.
        """
        if not req.path.startswith("/late"):
            return self.inner.serve(req)
        var session = Session[Visit].of(req)
        session[].count += 1
        if req.path == "/late-sign-in":
            session.renew()
        var id = String(req.cookie("__Host-session").value())
        self.store.remove(req, key_of(id))
        return ok("late")


struct SlowStore(SessionStore):
    """A store that takes its time to remove a record."""

    var inner: MemorySessions
    """The records."""
    var delay_ms: Int
    """How long it takes."""

    def __init__(out self, inner: MemorySessions, delay_ms: Int = 500):
        """Creates a slow store.

        Args:
            inner: The records.
            delay_ms: How long it takes.
        """
        self.inner = inner.copy()
        self.delay_ms = delay_ms

    def load(self, req: Request, key: String) raises -> Optional[SessionRecord]:
        """Returns a record.

        Args:
            req: The request.
            key: The key.

        Returns:
            As the inner store.

        Raises:
            As the inner store.
        """
        return self.inner.load(req, key)

    def insert(self, req: Request, key: String, record: SessionRecord) raises:
        """Adds a record.

        Args:
            req: The request.
            key: The key.
            record: The record.

        Raises:
            As the inner store.
        """
        self.inner.insert(req, key, record)

    def update(
        self,
        req: Request,
        key: String,
        new_key: String,
        record: SessionRecord,
    ) raises -> Bool:
        """Changes a record.

        Args:
            req: The request.
            key: The key.
            new_key: The new key.
            record: The record.

        Returns:
            As the inner store.

        Raises:
            As the inner store.
        """
        return self.inner.update(req, key, new_key, record)

    def touch(self, req: Request, key: String, expires_at: Int) raises:
        """Extends a record.

        Args:
            req: The request.
            key: The key.
            expires_at: The end.

        Raises:
            As the inner store.
        """
        self.inner.touch(req, key, expires_at)

    def remove(self, req: Request, key: String) raises:
        """Removes a record, after a while.

        Args:
            req: The request.
            key: The key.

        Raises:
            As the inner store.
        """
        sleep(self.delay_ms)
        self.inner.remove(req, key)


def site() raises -> Router[]:
    """Returns the pages of the site.

    Returns:
        The router.

    Raises:
        Never.
    """
    var router = Router()
    router.get("/count", count)
    router.get("/peek", peek)
    router.get("/plain", plain)
    router.get("/cached", cached)
    router.get("/sign-in", sign_in)
    router.get("/sign-out", sign_out)
    router.get("/switch", switch)
    router.get("/raise", count_and_raise)
    router.get("/out-and-raise", sign_out_and_raise)
    router.get("/large", grow)
    router.get("/length", length)
    router.get("/stream", stream)
    return router^


def count(session: Session[Visit]) -> String:
    session[].count += 1
    return String(session[].count)


def peek(session: Session[Visit]) -> String:
    return String(
        "new " if session.is_new() else "old ",
        session[].count,
        " ",
        session[].user,
    )


def plain() -> String:
    return "plain"


def cached(session: Session[Visit]) raises -> Response:
    return ok(session[].user).with_header("Cache-Control", "no-store")


def sign_in(session: Session[Visit]) -> String:
    session.renew()
    session[].user = "ann"
    return ""


def sign_out(session: Session[Visit]) -> String:
    session.destroy()
    return ""


def switch(session: Session[Visit]) -> String:
    session.destroy()
    session[].user = "eve"
    return ""


def count_and_raise(session: Session[Visit]) raises -> String:
    session[].count += 1
    raise Error("a failure")


def sign_out_and_raise(session: Session[Visit]) raises -> String:
    session.destroy()
    raise Error("a failure")


def grow(req: Request, session: Session[Visit]) raises -> String:
    session[].user = "x" * Int(req.query)
    return ""


def length(session: Session[Visit]) -> String:
    return String(session[].user.byte_length())


def stream(req: Request, session: Session[Visit]) raises -> Response:
    def write(req: Request, stream: ResponseStream) raises {}:
        stream.write_text(Session[Visit].of(req)[].user)

    return Response.stream(write)
