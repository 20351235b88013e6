"""Tests changes that share a commit."""

from std.memory import ArcPointer

from flare.runtime import deadline_in, sleep, spawn
from flare.runtime.task import JoinHandle
from flare.sqlite import Database, DatabaseOptions, SqliteError
from flare.sqlite.connection import LaneConnection
from flare.sqlite.target import Target
from flare.sys.libsqlite import sqlite

from tests.asserting import assert_equal, assert_true

from .scratch import Scratch, sqlite_error


def test_many_changes_share_few_commits() raises:
    var scratch = Scratch()
    var db = _made(scratch)
    var before = db[].statistics()
    assert_equal(_outcomes(db, 200, ""), 200)
    var counts = db[].statistics()
    assert_equal(db[].query_one[Int]("SELECT count(*) FROM t"), 200)
    assert_equal(counts.commits - before.commits, 1)
    assert_equal(counts.grouped - before.grouped, 200)
    db[].close()
    scratch.remove()


def test_no_stop_makes_a_begun_transaction_a_failed_one() raises:
    var scratch = Scratch()
    var target = Target.create(
        sqlite().value(), scratch.path(), DatabaseOptions()
    )
    var connection = LaneConnection.create(target, is_reader=False)
    assert_true(not connection.open())
    # The deadline has passed: whatever can be stopped is stopped.
    connection.watch(None, deadline_ns=1)
    for _ in range(2_000):
        assert_true(not connection.command("BEGIN IMMEDIATE"))
        assert_true(connection.is_in_transaction())
        assert_true(not connection.command("COMMIT"))
    connection.destroy()
    target.destroy()
    scratch.remove()


def test_a_change_that_fails_does_not_affect_its_neighbours() raises:
    var scratch = Scratch()
    var db = _made(scratch)
    # Every fourth has an id that was taken, and is partly done when it fails.
    _ = db[].execute("INSERT INTO t VALUES (1000)")
    assert_equal(_outcomes(db, 200, ", (1000)"), 150)
    var ids = db[].query[Int]("SELECT a FROM t WHERE a < 1000 ORDER BY a")
    assert_equal(len(ids), 150)
    for id in ids:
        assert_true(id % 4 != 3)
    db[].close()
    scratch.remove()


def test_a_change_that_rolls_all_back_does_not_affect_its_neighbours() raises:
    var scratch = Scratch()
    var db = _made(scratch)
    _ = db[].execute("INSERT INTO t VALUES (1000)")
    _ = db[].execute(
        "CREATE TRIGGER r BEFORE INSERT ON t WHEN new.a = 1001 BEGIN SELECT"
        " RAISE(ROLLBACK, 'all of it'); END"
    )
    assert_equal(_outcomes(db, 200, ", (1001)"), 150)
    assert_equal(
        db[].query_one[Int]("SELECT count(*) FROM t WHERE a < 1000"), 150
    )
    db[].close()
    scratch.remove()


def test_a_commit_that_fails_affects_its_cause_alone() raises:
    var scratch = Scratch()
    var db = _made(scratch)
    _ = db[].execute(
        "CREATE TABLE c (a REFERENCES t (a) DEFERRABLE INITIALLY DEFERRED)"
    )
    _ = db[].execute(
        "CREATE TRIGGER r AFTER INSERT ON t WHEN new.a % 4 = 3 BEGIN INSERT"
        " INTO c VALUES (-1); END"
    )
    assert_equal(_outcomes(db, 40, ""), 30)
    assert_equal(db[].query_one[Int]("SELECT count(*) FROM t"), 30)
    assert_equal(db[].query_one[Int]("SELECT count(*) FROM c"), 0)
    db[].close()
    scratch.remove()


def test_an_answer_comes_after_the_commit() raises:
    var scratch = Scratch()
    var db = _made(scratch)
    var other = ArcPointer(Database(scratch.path()))
    assert_equal(other[].query_one[Int]("SELECT count(*) FROM t"), 0)
    var handles = List[JoinHandle[Int]]()
    for i in range(100):

        def adds() raises {var db, var other, var i} -> Int:
            _ = db[].execute("INSERT INTO t VALUES ($1)", i)
            # Another connection sees it at once.
            return other[].query_one[Int](
                "SELECT count(*) FROM t WHERE a = $1", i
            )

        handles.append(spawn(adds))
    while len(handles) > 0:
        assert_equal(handles.pop().join(), 1)
    other[].close()
    db[].close()
    scratch.remove()


def test_a_slow_change_is_stopped_without_its_neighbours() raises:
    var scratch = Scratch()
    var db = _made(scratch)
    var handles = List[JoinHandle[String]]()
    for i in range(9):

        def adds() raises {var db, var i} -> String:
            try:
                if i == 4:
                    with deadline_in(100):
                        _ = db[].execute(
                            "INSERT INTO t WITH RECURSIVE n(i) AS (VALUES (100)"
                            " UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
                        )
                else:
                    _ = db[].execute("INSERT INTO t VALUES ($1)", i)
            except e:
                var error = sqlite_error(e)
                return String(error.name(), " ", error.sent)
            return "ok"

        handles.append(spawn(adds))
    for i in range(9):
        assert_equal(handles.pop(0).join(), "timeout False" if i == 4 else "ok")
    assert_equal(
        db[].query[Int]("SELECT a FROM t ORDER BY a"), [0, 1, 2, 3, 5, 6, 7, 8]
    )
    db[].close()
    scratch.remove()


def test_changes_keep_their_order_among_other_statements() raises:
    var scratch = Scratch()
    var db = _made(scratch)
    var handles = List[JoinHandle[Int]]()
    for i in range(30):

        def adds() raises {var db, var i} -> Int:
            if i % 5 == 4:
                return db[].query_one[Int]("PRAGMA user_version")
            return db[].execute("INSERT INTO t VALUES ($1)", i).rows

        handles.append(spawn(adds))
    var sum = 0
    while len(handles) > 0:
        sum += handles.pop().join()
    assert_equal(sum, 24)
    db[].close()
    scratch.remove()


comptime TESTS = __functions_in_module()


def _made(scratch: Scratch) raises -> ArcPointer[Database]:
    var db = ArcPointer(Database(scratch.path()))
    _ = db[].execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    return db^


def _outcomes(
    db: ArcPointer[Database], count: Int, fault: String
) raises -> Int:
    """Inserts the numbers below `count` from as many fibers, every fourth with
    a fault. Returns how many succeed.
    """
    var handles = List[JoinHandle[Int]]()
    # They collect behind a transaction.
    with db[].transaction() as tx:
        for i in range(count):

            def adds() raises {var db, var i, var fault} -> Int:
                # FAIL keeps the rows before the fault, unlike ABORT.
                var sql = String("INSERT OR FAIL INTO t VALUES (", i, ")")
                if i % 4 == 3:
                    sql += fault
                try:
                    return db[].execute(sql).rows
                except e:
                    var error = sqlite_error(e)
                    if error.kind != SqliteError.ENGINE or error.sent:
                        raise e^
                    return 0

            handles.append(spawn(adds))
        while db[].statistics().waiting < count:
            sleep(1)
    var done = 0
    while len(handles) > 0:
        done += Int(handles.pop().join() > 0)
    return done
