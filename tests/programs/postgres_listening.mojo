"""Checks of notifications, for the cases of the tests of `flare.postgres`."""

from std.memory import ArcPointer
from std.testing import assert_equal, assert_false, assert_raises, assert_true
from std.time import perf_counter_ns

from flare.postgres import Database, DatabaseOptions
from flare.runtime import deadline_in, sleep, spawn
from flare.runtime.task import JoinHandle

comptime _NOTIFY: StaticString = "SELECT pg_notify($1, $2)::text"
comptime _ODD: StaticString = 'Ja"b; c'
comptime _OVERFLOW: StaticString = (
    "SELECT count(pg_notify('a', i::text)) FROM generate_series(1, 4097) i"
)
comptime _END: StaticString = (
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <>"
    " pg_backend_pid() AND query LIKE 'LISTEN%'"
)


def check_listening(url: String) raises:
    """Checks what arrives, and what is left behind."""
    var db = ArcPointer(Database(url, DatabaseOptions(max_connections=2)))
    _check_messages(db[])
    _check_waits(db)
    _check_timeouts(db[])
    _check_gaps(db[])
    _check_ends(db[])
    _check_an_end_during_an_attempt(db)
    # Nothing owns the connections any more.
    with db[].transaction():
        with db[].transaction():
            pass
    # None of them listens any more.
    assert_equal(
        db[].query_one[Int]("SELECT count(*) FROM pg_listening_channels()"), 0
    )


def _check_messages(db: Database) raises:
    with db.listen("a", _ODD) as notifications:
        _ = db.query_one[String](_NOTIFY, "other", "x")
        for i in range(600):
            _ = db.query_one[String](_NOTIFY, "a", String(i))
        _ = db.query_one[String](_NOTIFY, _ODD, "")
        for i in range(600):
            var found = notifications.next()
            assert_equal(found.channel, "a")
            assert_equal(found.payload, String(i))
            assert_true(found.process_id > 0)
            assert_false(found.is_gap)
        var last = notifications.next()
        assert_equal(last.channel, _ODD)
        assert_equal(last.payload, "")


def _check_waits(db: ArcPointer[Database]) raises:
    def notify() raises {var db}:
        sleep(50)
        _ = db[].query_one[String](_NOTIFY, "a", "late")

    var sending = spawn(notify^)
    with db[].listen("a") as notifications:
        assert_equal(notifications.next().payload, "late")
        with assert_raises(contains="postgres.timeout"):
            with deadline_in(30):
                _ = notifications.next()
        _ = db[].query_one[String](_NOTIFY, "a", "after")
        assert_equal(notifications.next().payload, "after")
    sending^.join()


def _check_timeouts(db: Database) raises:
    with db.listen("a") as notifications:
        assert_false(notifications.next(timeout_ms=0))
        var begun_ns = perf_counter_ns()
        assert_false(notifications.next(timeout_ms=30))
        assert_true(perf_counter_ns() - begun_ns >= 30_000_000)
        _ = db.query_one[String](_NOTIFY, "a", "in time")
        var found = notifications.next(timeout_ms=5_000)
        assert_equal(found.value().payload, "in time")
        # An earlier deadline of the fiber is an error, as without a timeout.
        with assert_raises(contains="postgres.timeout"):
            with deadline_in(30):
                _ = notifications.next(timeout_ms=5_000)
        # A lost connection, while all others are taken.
        assert_equal(db.query_one[Int](_END), 1)
        with db.transaction():
            with db.transaction():
                assert_false(notifications.next(timeout_ms=30))
                assert_false(notifications.next(timeout_ms=0))
        # One that never waits listens again, too.
        var found_at_last = notifications.next(timeout_ms=0)
        for _ in range(2_000):
            if found_at_last:
                break
            sleep(1)
            found_at_last = notifications.next(timeout_ms=0)
        assert_true(found_at_last.value().is_gap)
        assert_false(notifications.next(timeout_ms=0))
        _ = db.query_one[String](_NOTIFY, "a", "again")
        assert_equal(
            notifications.next(timeout_ms=5_000).value().payload, "again"
        )


def _check_an_end_during_an_attempt(db: ArcPointer[Database]) raises:
    def holds() raises {var db} -> Bool:
        with db[].transaction():
            sleep(300)
        return True

    var handles = List[JoinHandle[Bool]]()
    with db[].transaction() as tx:
        with db[].listen("a") as notifications:
            assert_equal(tx.query_one[Int](_END), 1)
            # From now on, no connection is free to listen again.
            handles.append(spawn(holds^))
            sleep(100)
            var mine = notifications.copy()

            def waits() raises {var mine^} -> Bool:
                try:
                    _ = mine.next()
                    return False
                except e:
                    return String(e).startswith("postgres.closed")

            handles.append(spawn(waits^))
            sleep(50)
        while len(handles) > 0:
            assert_true(handles.pop().join())


def _check_gaps(db: Database) raises:
    with db.listen("a") as notifications:
        # More than may wait.
        assert_equal(db.query_one[Int](_OVERFLOW), 4097)
        sleep(100)
        assert_true(notifications.next().is_gap)
        assert_equal(notifications.next().payload, "4097")
        # A lost connection.
        assert_equal(db.query_one[Int](_END), 1)
        var found = notifications.next()
        assert_true(found.is_gap)
        assert_equal(found.channel, "")
        _ = db.query_one[String](_NOTIFY, "a", "again")
        assert_equal(notifications.next().payload, "again")


def _check_ends(db: Database) raises:
    var scope = db.listen("a")
    var notifications = scope.__enter__()
    scope.__exit__()
    with assert_raises(contains="postgres.closed"):
        _ = notifications.next()
    with assert_raises(contains="a channel has"):
        with db.listen("") as none:
            _ = none.next()
    with assert_raises(contains="a channel has"):
        with db.listen("x" * 64) as none:
            _ = none.next()
    with assert_raises(contains="a channel has"):
        with db.listen("a\0b") as none:
            _ = none.next()
    with assert_raises(contains="the user's"):
        with db.listen("a"):
            raise Error("the user's")
    with assert_raises(contains="postgres.bad_parameter"):
        _ = db.execute("LISTEN a")
