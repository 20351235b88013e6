"""Keeps sessions in a table of PostgreSQL, and asks for them over HTTP."""

from std.testing import assert_equal, assert_false, assert_true

from flare.http import App, Response, Router
from flare.json import FromJson, ToJson
from flare.message import HeaderMap
from flare.postgres import Database
from flare.session import (
    PostgresSessions,
    Session,
    Sessions,
)
from flare.sys.clock import unix_seconds
from flare.testing import TestClient


struct Visit(Defaultable, FromJson, ToJson):
    var count: Int

    def __init__(out self):
        self.count = 0


def check_sessions(url: String) raises:
    var db = Database(url)
    _ = db.execute("DROP TABLE IF EXISTS flare_sessions")
    PostgresSessions.create_table(db)
    PostgresSessions.create_table(db)
    var router = Router()
    router.get("/count", count)
    router.get("/renew", renew)
    router.get("/out", sign_out)
    var client = TestClient(
        App.per_worker[open_database](
            url, Sessions[Visit](router^, PostgresSessions())
        )
    )
    var first = cookie_of(client.get("/count"))
    assert_equal(text_of(client.get("/count", with_cookie(first))), "2")
    # The table has no id.
    var key = db.query_one[String]("SELECT key FROM flare_sessions")
    assert_equal(key.byte_length(), 43)
    assert_false(key in first)
    var second = cookie_of(client.get("/renew", with_cookie(first)))
    assert_equal(text_of(client.get("/count", with_cookie(second))), "3")
    assert_equal(text_of(client.get("/count", with_cookie(first))), "1")
    _ = client.get("/out", with_cookie(second))
    assert_equal(text_of(client.get("/count", with_cookie(second))), "1")
    check_ended(db)
    _ = client.get("/count")
    assert_equal(rows(db), 5)
    _ = client.get("/count")
    assert_equal(rows(db), 2)
    _ = db.execute("DROP TABLE flare_sessions")


def check_ended(db: Database) raises:
    # Each new session takes up to 16 with it whose time is over.
    var now = unix_seconds()
    _ = db.execute("DELETE FROM flare_sessions")
    _ = db.execute(
        (
            "INSERT INTO flare_sessions SELECT 'k' || g, '{}', $1, $2 FROM"
            " generate_series(1, 20) g"
        ),
        now - 100,
        now - 1,
    )


def rows(db: Database) raises -> Int:
    return db.query_one[Int]("SELECT count(*) FROM flare_sessions")


def open_database(worker: Int, url: String) raises -> Database:
    return Database(url)


def count(session: Session[Visit]) -> String:
    session[].count += 1
    return String(session[].count)


def renew(session: Session[Visit]) -> String:
    session.renew()
    return ""


def sign_out(session: Session[Visit]) -> String:
    session.destroy()
    return ""


def cookie_of(response: Response) raises -> String:
    var field = response.headers.get("Set-Cookie")
    assert_true(Bool(field))
    return String(field.value().split(";")[0])


def text_of(response: Response) raises -> String:
    return String(response.text())


def with_cookie(cookie: String) raises -> HeaderMap:
    var headers = HeaderMap()
    headers.set("Cookie", cookie)
    return headers^
