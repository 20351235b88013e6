"""Tests deadlines, cancelling, bounds, and many fibers at once."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.runtime import deadline_in, sleep, spawn
from flare.runtime.task import JoinHandle
from flare.sqlite import Database, DatabaseOptions, SqliteError
from flare.sys.clock import monotonic_ms

from tests.asserting import assert_equal, assert_true

from .scratch import Scratch, error_of, expect, sqlite_error


def test_a_deadline_stops_a_query() raises:
    var scratch = Scratch()
    var db = Database(scratch.path(), DatabaseOptions(query_timeout_ms=100))
    assert_equal(db.query_one[Int]("SELECT 1"), 1)
    var begun_ms = monotonic_ms()
    var error = error_of(db, _ENDLESS)
    expect(SqliteError.TIMEOUT, error)
    assert_true(not error.sent)
    assert_true(95 <= monotonic_ms() - begun_ms < 900)
    with assert_raises(contains="sqlite.timeout"):
        with deadline_in(20):
            _ = db.query[Int](_ENDLESS)
    # The readers are free again.
    for _ in range(4):
        assert_equal(db.query_one[Int]("SELECT 1"), 1)
    assert_equal(db.statistics().timeouts, 2)
    with assert_raises(contains="sqlite.timeout"):
        with deadline_in(0):
            _ = db.query[Int]("SELECT 1")
    db.close()
    scratch.remove()


def test_a_stop_reaches_no_other_statement() raises:
    # One reader: a statement is stopped at any moment, also when it has just
    # ended, and the next one is not.
    var scratch = Scratch()
    var options = DatabaseOptions(reader_threads=1)
    var db = ArcPointer(Database(scratch.path(), options))
    assert_equal(db[].query_one[Int]("SELECT 1"), 1)
    var stopped = 0
    for run in range(200):
        var handles = List[JoinHandle[Int]]()
        for i in range(6):

            def asks() raises {var db, var i} -> Int:
                return db[].query_one[Int](_COUNT, 2_000 + i)

            handles.append(spawn(asks))
        var victim = handles.pop(run % 6)
        for _ in range(run % 4):
            sleep(0)
        victim.cancel()
        try:
            _ = victim^.join()
        except e:
            assert_true("net.cancelled" in String(e), String(e))
            stopped += 1
        for i in range(6):
            if i != run % 6:
                assert_equal(handles.pop(0).join(), 2_000 + i)
    assert_true(stopped > 100, String(stopped))
    db[].close()
    scratch.remove()


def test_a_cancelled_fiber_stops_its_query() raises:
    var scratch = Scratch()
    var options = DatabaseOptions(reader_threads=1, query_timeout_ms=60_000)
    var db = ArcPointer(Database(scratch.path(), options))

    def waits() raises {var db} -> Int:
        return db[].query_one[Int](_ENDLESS)

    var handle = spawn(waits)
    var queued = spawn(waits)
    sleep(50)
    var begun_ms = monotonic_ms()
    queued.cancel()
    handle.cancel()
    with assert_raises(contains="net.cancelled"):
        _ = handle^.join()
    with assert_raises(contains="net.cancelled"):
        _ = queued^.join()
    assert_equal(db[].query_one[Int]("SELECT 1"), 1)
    assert_true(monotonic_ms() - begun_ms < 1_000)
    db[].close()
    scratch.remove()


def test_a_full_queue_refuses() raises:
    var scratch = Scratch()
    var options = DatabaseOptions(waiting_max=3)
    var db = ArcPointer(Database(scratch.path(), options))
    _ = db[].execute("CREATE TABLE t (a)")
    var full = 0
    var handles = List[JoinHandle[Int]]()
    with db[].transaction() as tx:
        _ = tx.execute("INSERT INTO t VALUES (0)")
        for i in range(8):

            def adds() raises {var db, var i} -> Int:
                return db[].execute("INSERT INTO t VALUES ($1)", i).rows

            handles.append(spawn(adds))
        sleep(10)
        assert_equal(db[].statistics().waiting, 3)
        # The statements of the transaction are not refused.
        _ = tx.execute("INSERT INTO t VALUES (1)")
        while len(handles) > 3:
            try:
                _ = handles.pop().join()
            except e:
                expect(SqliteError.QUEUE_FULL, sqlite_error(e))
                full += 1
        assert_equal(full, 5)
    while len(handles) > 0:
        assert_equal(handles.pop().join(), 1)
    assert_equal(db[].query_one[Int]("SELECT count(*) FROM t"), 5)
    db[].close()
    scratch.remove()


def test_readers_do_not_wait_for_a_slow_query() raises:
    var scratch = Scratch()
    var db = ArcPointer(Database(scratch.path()))

    def waits() raises {var db} -> Int:
        with deadline_in(500):
            return db[].query_one[Int](_ENDLESS)

    var handle = spawn(waits)
    sleep(20)
    var begun_ms = monotonic_ms()
    for i in range(100):
        assert_equal(db[].query_one[Int]("SELECT $1", i), i)
    assert_true(monotonic_ms() - begun_ms < 400)
    with assert_raises(contains="sqlite.timeout"):
        _ = handle^.join()
    db[].close()
    scratch.remove()


def test_many_fibers_at_once() raises:
    var scratch = Scratch()
    var options = DatabaseOptions(
        waiting_max=10_000, acquire_timeout_ms=30_000, query_timeout_ms=30_000
    )
    var db = ArcPointer(Database(scratch.path(), options))
    _ = db[].execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    var handles = List[JoinHandle[Int]]()
    for i in range(1_000):

        def works() raises {var db, var i} -> Int:
            _ = db[].execute("INSERT INTO t VALUES ($1, 'x')", i)
            var a = db[].query_one[Int]("SELECT a FROM t WHERE a = $1", i)
            if i % 10 == 0:
                with db[].transaction() as tx:
                    _ = tx.execute("UPDATE t SET b = 'y' WHERE a = $1", i)
            return a

        handles.append(spawn(works))
    var sum = 0
    while len(handles) > 0:
        sum += handles.pop().join()
    assert_equal(sum, 999 * 500)
    assert_equal(
        db[].query_one[Int]("SELECT count(*) FROM t WHERE b = 'y'"), 100
    )
    db[].close()
    scratch.remove()


def test_closing_answers_all_fibers() raises:
    for _ in range(20):
        var scratch = Scratch()
        var db = ArcPointer(Database(scratch.path()))
        _ = db[].execute("CREATE TABLE t (a)")
        var handles = List[JoinHandle[String]]()
        for i in range(12):

            def waits() raises {var db, var i} -> String:
                try:
                    if i % 3 == 0:
                        _ = db[].query[Int](_ENDLESS)
                    elif i % 3 == 1:
                        _ = db[].execute("INSERT INTO t VALUES (1)")
                        with db[].transaction() as tx:
                            _ = tx.query[Int](_ENDLESS)
                    else:
                        with db[].transaction(read_only=True) as tx:
                            _ = tx.query[Int](_ENDLESS)
                except e:
                    return sqlite_error(e).name()
                return "answered"

            handles.append(spawn(waits))
        sleep(20)
        var begun_ms = monotonic_ms()
        db[].close()
        assert_true(monotonic_ms() - begun_ms < 1_000)
        while len(handles) > 0:
            assert_equal(handles.pop().join(), "closed")
        assert_true(not db[].is_healthy())
        assert_equal(db[].statistics().open_connections, 0)
        db[].close()
        scratch.remove()


comptime TESTS = __functions_in_module()
comptime _ENDLESS: StaticString = (
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT"
    " count(*) FROM n"
)
comptime _COUNT: StaticString = (
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i <"
    " $1) SELECT count(*) FROM n"
)
