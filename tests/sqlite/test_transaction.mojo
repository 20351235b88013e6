"""Tests transactions and savepoints, and how they end."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.runtime import deadline_in, sleep, spawn
from flare.runtime.task import JoinHandle
from flare.sqlite import (
    Database,
    DatabaseOptions,
    Transaction,
)
from flare.sys.clock import monotonic_ms

from tests.asserting import assert_equal, assert_true

from .scratch import Scratch, sqlite_error


def test_the_end_commits_and_an_error_rolls_back() raises:
    var scratch = Scratch()
    var db = _made(scratch)
    with db.transaction() as tx:
        assert_equal(tx.execute("INSERT INTO t VALUES (1)").rows, 1)
        # Others do not see it, and do not wait for it.
        assert_equal(_count(db), 0)
        assert_equal(tx.query_one[Int]("SELECT count(*) FROM t"), 1)
        assert_equal(tx.query_optional[Int]("SELECT a FROM t").value(), 1)
    assert_equal(_count(db), 1)
    with assert_raises(contains="of the program"):
        with db.transaction() as tx:
            _ = tx.execute("INSERT INTO t VALUES (2)")
            raise Error("of the program")
    assert_equal(_count(db), 1)
    assert_equal(_returns(db), 3)
    assert_equal(_count(db), 2)
    db.close()
    scratch.remove()


def test_savepoints() raises:
    var scratch = Scratch()
    var db = _made(scratch)
    with db.transaction() as tx:
        _ = tx.execute("INSERT INTO t VALUES (1)")
        try:
            with tx.savepoint():
                _ = tx.execute("INSERT INTO t VALUES (2)")
                with tx.savepoint():
                    _ = tx.execute("INSERT INTO t VALUES (3)")
                raise Error("undo")
        except:
            assert_equal(tx.query_one[Int]("SELECT count(*) FROM t"), 1)
        with tx.savepoint():
            _ = tx.execute("INSERT INTO t VALUES (4)")
    assert_equal(db.query[Int]("SELECT a FROM t ORDER BY a"), [1, 4])
    db.close()
    scratch.remove()


def test_a_violated_constraint_undoes_the_statement_alone() raises:
    var scratch = Scratch()
    var db = _made(scratch)
    with db.transaction() as tx:
        _ = tx.execute("INSERT INTO t VALUES (1)")
        with assert_raises(contains="sqlite.engine 1555"):
            _ = tx.execute("INSERT INTO t VALUES (2), (1)")
        _ = tx.execute("INSERT INTO t VALUES (3)")
    assert_equal(db.query[Int]("SELECT a FROM t ORDER BY a"), [1, 3])
    # A constraint may be checked at the end.
    _ = db.execute(
        "CREATE TABLE c (a REFERENCES t (a) DEFERRABLE INITIALLY DEFERRED)"
    )
    with assert_raises(contains="sqlite.engine 787"):
        with db.transaction() as tx:
            _ = tx.execute("INSERT INTO c VALUES (9)")
    assert_equal(db.query_one[Int]("SELECT count(*) FROM c"), 0)
    assert_equal(db.execute("INSERT INTO t VALUES (5)").rows, 1)
    db.close()
    scratch.remove()


def test_statements_after_the_end() raises:
    var scratch = Scratch()
    var db = _made(scratch)
    var kept = List[Transaction]()
    with db.transaction() as tx:
        kept.append(tx)
    with assert_raises(contains="sqlite.closed"):
        _ = kept[0].execute("INSERT INTO t VALUES (1)")
    with assert_raises(contains="sqlite.closed"):
        with kept[0].savepoint():
            pass
    with db.transaction() as tx:
        for sql in ["COMMIT", "ROLLBACK", "BEGIN", "SAVEPOINT x", "RELEASE x"]:
            with assert_raises(contains="sqlite.bad_parameter"):
                _ = tx.execute(sql)
    db.close()
    with assert_raises(contains="sqlite.closed"):
        with db.transaction() as tx:
            pass
    scratch.remove()


def test_an_error_that_rolls_back_ends_the_transaction() raises:
    var scratch = Scratch()
    var db = _made(scratch)
    with assert_raises(contains="sqlite.rolled_back"):
        with db.transaction() as tx:
            _ = tx.execute("INSERT INTO t VALUES (1)")
            with assert_raises(contains="sqlite.engine"):
                _ = tx.execute("INSERT OR ROLLBACK INTO t VALUES (1)")
            with assert_raises(contains="sqlite.rolled_back"):
                _ = tx.execute("INSERT INTO t VALUES (2)")
    assert_equal(_count(db), 0)
    assert_equal(db.execute("INSERT INTO t VALUES (5)").rows, 1)
    db.close()
    scratch.remove()


def test_a_change_whose_rows_are_too_many_ends_the_transaction() raises:
    var scratch = Scratch()
    var db = Database(
        scratch.path(), DatabaseOptions(result_octets_max=16 * 100)
    )
    _ = db.execute("CREATE TABLE t (a INTEGER)")
    var values = String("VALUES (0)")
    for i in range(1, 200):
        values.write(", (", i, ")")
    with assert_raises(contains="sqlite.rolled_back"):
        with db.transaction() as tx:
            _ = tx.execute("INSERT INTO t VALUES (-1)")
            with assert_raises(contains="sqlite.too_large"):
                _ = tx.query[Int](
                    String("INSERT INTO t ", values, " RETURNING a")
                )
            with assert_raises(contains="sqlite.rolled_back"):
                _ = tx.execute("INSERT INTO t VALUES (-2)")
    assert_equal(_count(db), 0)
    with db.transaction() as tx:
        _ = tx.execute(String("INSERT INTO t ", values))
        # A query that is too large has changed nothing.
        with assert_raises(contains="sqlite.too_large"):
            _ = tx.query[Int]("SELECT a FROM t")
    assert_equal(_count(db), 200)
    db.close()
    scratch.remove()


def test_a_snapshot_stays_the_same() raises:
    var scratch = Scratch()
    var db = _made(scratch)
    with db.transaction(read_only=True) as tx:
        assert_equal(db.execute("INSERT INTO t VALUES (1)").rows, 1)
        assert_equal(tx.query_one[Int]("SELECT count(*) FROM t"), 0)
        assert_equal(_count(db), 1)
        try:
            _ = tx.execute("INSERT INTO t VALUES (2)")
            raise Error("taken")
        except e:
            assert_true(sqlite_error(e).is_read_only(), String(e))
    assert_equal(_count(db), 1)
    var memory = Database(":memory:")
    _ = memory.execute("CREATE TABLE t (a)")
    with assert_raises(contains="only reads"):
        with memory.transaction(read_only=True) as tx:
            assert_equal(tx.query_one[Int]("SELECT count(*) FROM t"), 0)
            _ = tx.execute("INSERT INTO t VALUES (2)")
    db.close()
    scratch.remove()


def test_an_open_transaction_is_rolled_back_at_its_deadline() raises:
    var scratch = Scratch()
    var options = DatabaseOptions(transaction_timeout_ms=150)
    var db = _made(scratch, options)
    var begun_ms = monotonic_ms()
    with assert_raises(contains="open for longer"):
        with db.transaction() as tx:
            _ = tx.execute("INSERT INTO t VALUES (1)")
            # This waits for the writer, which the transaction holds.
            assert_equal(db.execute("INSERT INTO t VALUES (2)").rows, 1)
            assert_true(140 <= monotonic_ms() - begun_ms < 1_500)
    assert_equal(db.query[Int]("SELECT a FROM t"), [2])
    # Also while a statement runs.
    with assert_raises(contains="sqlite."):
        with db.transaction() as tx:
            _ = tx.execute("INSERT INTO t VALUES (3)")
            _ = tx.query[Int](_ENDLESS)
    assert_true(monotonic_ms() - begun_ms < 3_000)
    assert_equal(db.query[Int]("SELECT a FROM t"), [2])
    db.close()
    scratch.remove()


def test_a_cancelled_fiber_rolls_back() raises:
    var scratch = Scratch()
    var db = ArcPointer(_made(scratch))
    for in_statement in [True, False]:

        def waits() raises {var db, var in_statement} -> Int:
            with db[].transaction() as tx:
                _ = tx.execute("INSERT INTO t VALUES (1)")
                if in_statement:
                    _ = tx.query[Int](_ENDLESS)
                sleep(60_000)
            return 1

        var handle = spawn(waits)
        sleep(50)
        var begun_ms = monotonic_ms()
        handle.cancel()
        with assert_raises(contains="net.cancelled"):
            _ = handle^.join()
        assert_equal(db[].execute("INSERT INTO t VALUES (2)").rows, 1)
        assert_true(monotonic_ms() - begun_ms < 1_000, "the writer is free")
        assert_equal(db[].query[Int]("SELECT a FROM t"), [2])
        _ = db[].execute("DELETE FROM t")
    db[].close()
    scratch.remove()


def test_a_wait_for_the_writer_has_a_deadline() raises:
    var scratch = Scratch()
    var options = DatabaseOptions(acquire_timeout_ms=100)
    var db = _made(scratch, options)
    with db.transaction() as tx:
        _ = tx.execute("INSERT INTO t VALUES (1)")
        with assert_raises(contains="sqlite.acquire_timeout"):
            _ = db.execute("INSERT INTO t VALUES (2)")
        with assert_raises(contains="sqlite.acquire_timeout"):
            with db.transaction() as other:
                pass
        with assert_raises(contains='sqlite.timeout message="the statement'):
            with deadline_in(20):
                _ = db.execute("INSERT INTO t VALUES (3)")
    sleep(50)
    assert_equal(db.query[Int]("SELECT a FROM t"), [1])
    assert_equal(db.statistics().acquire_timeouts, 2)
    db.close()
    scratch.remove()


def test_transactions_of_many_fibers_take_turns() raises:
    var scratch = Scratch()
    var db = ArcPointer(_made(scratch))
    _ = db[].execute("INSERT INTO t VALUES (0)")
    var handles = List[JoinHandle[Int]]()
    for _ in range(50):

        def adds() raises {var db} -> Int:
            with db[].transaction() as tx:
                var a = tx.query_one[Int]("SELECT a FROM t")
                sleep(0)
                _ = tx.execute("UPDATE t SET a = $1", a + 1)
            return 1

        handles.append(spawn(adds))
    while len(handles) > 0:
        _ = handles.pop().join()
    assert_equal(db[].query_one[Int]("SELECT a FROM t"), 50)
    db[].close()
    scratch.remove()


comptime TESTS = __functions_in_module()
comptime _ENDLESS: StaticString = (
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT"
    " count(*) FROM n"
)


def _made(
    scratch: Scratch, options: DatabaseOptions = DatabaseOptions()
) raises -> Database:
    var db = Database(scratch.path(), options)
    _ = db.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    return db^


def _count(db: Database) raises -> Int:
    return db.query_one[Int]("SELECT count(*) FROM t")


def _returns(db: Database) raises -> Int:
    with db.transaction() as tx:
        _ = tx.execute("INSERT INTO t VALUES (3)")
        return 3
    return 0
