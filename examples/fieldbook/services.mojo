"""The database, the pictures, the changes and the counters, for handlers."""

from flare.core import PointerTo
from flare.http import CacheRule, StaticFiles
from flare.metrics import Counter, Gauge, Metrics
from flare.prelude import *
from flare.runtime import Broadcast
from flare.session import SqliteSessions
from flare.sqlite import Database


@fieldwise_init
struct Change(Copyable):
    """A change of a note, for the pages that show it."""

    var kind: StaticString
    var json: String


@fieldwise_init
struct Counts(Copyable):
    """The counters of the program, besides those of the server."""

    var sign_ins: Counter
    var wrong_passwords: Counter
    var notes: Counter
    var watchers: Gauge

    @staticmethod
    def of(metrics: Metrics) raises -> Self:
        var sign_ins = metrics.counter(
            "sign_ins_total", "Forms to sign in.", labels=["result"]
        )
        return Self(
            sign_ins.of("ok"),
            sign_ins.of("wrong"),
            metrics.counter("notes_total", "Notes that were written."),
            metrics.gauge("watchers", "Pages that wait for changes."),
        )


@fieldwise_init
struct Common(Copyable):
    """The values that all workers share."""

    var data: String
    """The path of the folder with the database and the pictures."""
    var pictures: StaticFiles
    var changes: Broadcast[Change]
    var counts: Counts


@fieldwise_init
struct Services(Movable):
    """The state of one worker: a database of its own, and the shared values."""

    var database: Database
    var common: Common


def open_services(worker: Int, common: Common) raises -> Services:
    return Services(open_database(common.data), common.copy())


def picture_files(data: String) raises -> StaticFiles:
    # Another picture of a note has another name.
    var forever = CacheRule("*", "private, max-age=31536000, immutable")
    return StaticFiles(data + "/pictures", cache_control=[forever^])


def database_of(req: Request) raises -> PointerTo[Database]:
    return Pointer(to=State[Services].of(req)[].database)


def open_database(data: String) raises -> Database:
    return Database(data + "/fieldbook.db")


def create_tables(database: Database) raises:
    """Creates the tables, unless they exist. Call it before the server starts.
    """
    _ = database.execute(
        "CREATE TABLE IF NOT EXISTS people ("
        " name TEXT PRIMARY KEY,"
        # A hash of it.
        " password TEXT NOT NULL)"
    )
    _ = database.execute(
        "CREATE TABLE IF NOT EXISTS notes ("
        # An id is never used again, so a page cannot mistake a note.
        " id INTEGER PRIMARY KEY AUTOINCREMENT,"
        " author TEXT NOT NULL REFERENCES people(name),"
        " place TEXT NOT NULL,"
        " text TEXT NOT NULL,"
        " picture TEXT,"
        " written_at TEXT NOT NULL"
        " DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')))"
    )
    SqliteSessions.create_table(database)
