"""Checks that a statement that is slow, or fails, harms no other one."""

from std.memory import ArcPointer
from std.testing import assert_equal, assert_true

from flare.postgres import Database, DatabaseOptions
from flare.runtime import sleep, spawn
from flare.runtime.task import JoinHandle
from flare.sys.clock import monotonic_ms
from flare.sys.process import exit_process, fork_process, wait_for_end
from postgres_faults import error_of

comptime _STATEMENTS = 5
comptime _TIMEOUT_MS = 500


def check_neighbours(url: String) raises:
    """Checks statements that begin together with a slow one, with the same
    deadline for all.

    Args:
        url: The database.
    """
    for slow in range(_STATEMENTS):
        var db = ArcPointer(
            Database(url, DatabaseOptions(query_timeout_ms=_TIMEOUT_MS))
        )
        _ = db[].query_one[Int]("SELECT 1")
        var handles = List[JoinHandle[Bool]]()
        for i in range(_STATEMENTS):

            def ask() raises {var db, var i, var slow} -> Bool:
                try:
                    if i == slow:
                        _ = db[].execute("SELECT pg_sleep(30)")
                    else:
                        _ = db[].query_one[Int]("SELECT $1", i)
                except:
                    return False
                return True

            handles.append(spawn(ask))
        for i in range(_STATEMENTS):
            assert_equal(handles.pop(0).join(), i != slow, String(slow))
    _check_lock(url)
    _check_once(url)
    _check_first_health(url)


def _check_lock(url: String) raises:
    """A statement waits for the lock of a transaction, and the fiber of the
    transaction sends one outside of it."""
    var db = ArcPointer(Database(url))
    _ = db[].execute("DROP TABLE IF EXISTS locked")
    _ = db[].execute("CREATE TABLE locked (a int)")
    _ = db[].execute("INSERT INTO locked VALUES (1)")
    var handles = List[JoinHandle[Int]]()
    with db[].transaction() as tx:
        _ = tx.execute("UPDATE locked SET a = 2")

        def update() raises {var db} -> Int:
            return db[].execute("UPDATE locked SET a = a + 1").rows

        handles.append(spawn(update))
        sleep(20)
        var begun_ms = monotonic_ms()
        assert_equal(db[].query_one[Int]("SELECT 3"), 3)
        assert_true(monotonic_ms() - begun_ms < 1000)
    assert_equal(handles.pop().join(), 1)
    assert_equal(db[].query_one[Int]("SELECT a FROM locked"), 3)


def _check_once(url: String) raises:
    """A procedure commits, and raises the codes of a plan that is lost."""
    var db = Database(url)
    _ = db.execute("DROP TABLE IF EXISTS once")
    _ = db.execute("CREATE TABLE once (a int)")
    for code in ["26000", "0A000"]:
        _ = db.execute(
            String(
                "CREATE OR REPLACE PROCEDURE commits() LANGUAGE plpgsql AS $$",
                " BEGIN INSERT INTO once VALUES (1); COMMIT;",
                " RAISE EXCEPTION 'x' USING ERRCODE='",
                code,
                "'; END $$",
            )
        )
        for _ in range(2):
            var sqlstate = String()
            try:
                _ = db.execute("CALL commits()")
            except e:
                sqlstate = error_of(e).sqlstate
            assert_equal(sqlstate, code)
    assert_equal(db.query_one[Int]("SELECT count(*) FROM once"), 4)


def _check_first_health(url: String) raises:
    """A database that has answered nothing is not healthy."""
    var nowhere = Database("postgres://a:b@127.0.0.1:9/x")
    for _ in range(5):
        assert_true(not nowhere.is_healthy())
        sleep(20)
    var db = Database(url)
    var end_ms = monotonic_ms() + 5000
    while not db.is_healthy():
        assert_true(monotonic_ms() < end_ms)
        sleep(5)


def check_fork(url: String) raises:
    """A child may not use the connections of its parent.

    Args:
        url: The database.
    """
    var db = Database(url)
    var backend = db.query_one[Int]("SELECT pg_backend_pid()")
    var child = fork_process()
    if child == 0:
        var code = 1
        try:
            _ = db.query_one[Int]("SELECT 1")
        except e:
            if "postgres.closed" in String(e) and "fork" in String(e):
                code = 0
        try:
            with db.transaction() as tx:
                _ = tx.query_one[Int]("SELECT 1")
                code = 2
        except e:
            if "fork" not in String(e):
                code = 3
        db.close()
        exit_process(code)
    assert_equal(wait_for_end(child).exit_code(), 0)
    assert_equal(db.query_one[Int]("SELECT pg_backend_pid()"), backend)
