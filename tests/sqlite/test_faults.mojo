"""Tests files that are locked, read-only, full or damaged."""

from std.os import remove
from std.testing import assert_raises

from flare.runtime import sleep
from flare.sqlite import Database, DatabaseOptions, SqliteError
from flare.sys.clock import monotonic_ms

from tests.asserting import assert_equal, assert_false, assert_true

from .scratch import Scratch, error_of, expect, sqlite_error


def test_a_lock_of_another_connection() raises:
    var scratch = Scratch()
    var db = Database(scratch.path(), DatabaseOptions(busy_timeout_ms=100))
    var other = Database(scratch.path())
    _ = db.execute("CREATE TABLE t (a)")
    with other.transaction() as tx:
        _ = tx.execute("INSERT INTO t VALUES (1)")
        var begun_ms = monotonic_ms()
        var error = error_of(db, "INSERT INTO t VALUES (2)")
        assert_true(error.is_busy(), String(error))
        assert_true(error.is_serialization_failure())
        assert_true(95 <= monotonic_ms() - begun_ms < 1_000)
        with assert_raises(contains="sqlite.engine 5"):
            with db.transaction() as mine:
                pass
        with assert_raises(contains="sqlite.engine 5"):
            _ = db.execute("CREATE TABLE u (a)")
        # Queries do not wait.
        assert_equal(db.query_one[Int]("SELECT count(*) FROM t"), 0)
    assert_equal(db.execute("INSERT INTO t VALUES (2)").rows, 1)
    assert_equal(db.query_one[Int]("SELECT count(*) FROM t"), 2)
    db.close()
    other.close()
    scratch.remove()


def test_a_reader_that_could_not_open_is_forgotten_when_the_file_opens() raises:
    var scratch = Scratch()
    var db = Database(scratch.path())
    _ = db.execute("CREATE TABLE t (a)")
    assert_true(db.is_healthy())
    db._core.state[].target.set_open_failed(True)
    assert_false(db.is_healthy())
    var until_ms = monotonic_ms() + 5_000
    while not db.is_healthy() and monotonic_ms() < until_ms:
        sleep(1)
    assert_true(db.is_healthy())
    db.close()
    scratch.remove()


def test_a_file_that_is_only_read() raises:
    var scratch = Scratch()
    var db = Database(scratch.path())
    _ = db.execute("CREATE TABLE t (a)")
    _ = db.execute("INSERT INTO t VALUES (1)")
    var reading = Database(scratch.path(), DatabaseOptions(read_only=True))
    assert_equal(reading.query_one[Int]("SELECT a FROM t"), 1)
    var error = error_of(reading, "INSERT INTO t VALUES (2)")
    assert_true(error.is_read_only(), String(error))
    db.close()
    reading.close()
    scratch.remove()


def test_a_file_that_does_not_exist_is_not_made_for_reading() raises:
    var scratch = Scratch()
    var options = DatabaseOptions(read_only=True)
    var db = Database(scratch.path(), options)
    var error = error_of(db, "SELECT 1")
    expect(SqliteError.OPEN, error)
    assert_equal(error.code & 0xFF, 14)
    # It is tried again, and by `is_healthy` too.
    assert_false(db.is_healthy())
    var other = Database(scratch.path())
    _ = other.execute("CREATE TABLE t (a)")
    for _ in range(200):
        if db.is_healthy():
            break
        sleep(10)
    assert_true(db.is_healthy())
    assert_equal(db.query_one[Int]("SELECT count(*) FROM t"), 0)
    other.close()
    db.close()
    scratch.remove()


def test_a_folder_that_does_not_exist() raises:
    var db = Database("/nowhere/at/all.db")
    for _ in range(3):
        expect(SqliteError.OPEN, error_of(db, "SELECT 1"))
        expect(SqliteError.OPEN, error_of(db, "INSERT INTO t VALUES (1)"))
    with assert_raises(contains="sqlite.open 14"):
        with db.transaction() as tx:
            pass


def test_a_full_database() raises:
    var scratch = Scratch()
    var db = Database(scratch.path())
    _ = db.execute("CREATE TABLE t (a)")
    var pages = db.query_one[Int]("PRAGMA page_count")
    _ = db.execute(String("PRAGMA max_page_count = ", pages + 2))
    var rows = 0
    while True:
        try:
            _ = db.execute(
                "INSERT INTO t VALUES ($1)", List[UInt8](length=500, fill=7)
            )
            rows += 1
        except e:
            assert_true(sqlite_error(e).is_full(), String(e))
            break
    assert_true(rows > 10)
    assert_equal(db.query_one[Int]("SELECT count(*) FROM t"), rows)
    with assert_raises(contains="sqlite.engine 13"):
        with db.transaction() as tx:
            _ = tx.execute("DELETE FROM t WHERE rowid = 1")
            _ = tx.execute(
                "INSERT INTO t VALUES ($1)", List[UInt8](length=90_000, fill=7)
            )
    assert_equal(db.query_one[Int]("SELECT count(*) FROM t"), rows)
    _ = db.execute("PRAGMA max_page_count = 1000000")
    _ = db.execute("INSERT INTO t VALUES (1)")
    assert_equal(db.query_one[Int]("SELECT count(*) FROM t"), rows + 1)
    db.close()
    scratch.remove()


def test_a_file_of_another_format() raises:
    var scratch = Scratch()
    with open(scratch.path(), "w") as file:
        file.write("This is no database. " * 100)
    var db = Database(scratch.path())
    var error = error_of(db, "SELECT 1")
    expect(SqliteError.OPEN, error)
    assert_true(error.is_corrupt(), String(error))
    db.close()
    scratch.remove()


def test_a_damaged_file() raises:
    var scratch = Scratch()
    var db = Database(scratch.path())
    _ = db.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b)")
    with db.transaction() as tx:
        for i in range(2_000):
            _ = tx.execute("INSERT INTO t VALUES ($1, hex(randomblob(50)))", i)
    _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    var octets: List[UInt8]
    with open(scratch.path(), "r") as file:
        octets = file.read_bytes()
    for i in range(8_192, len(octets)):
        octets[i] = 0x5A
    with open(scratch.path(), "w") as file:
        file.write_bytes(Span(octets))
    var broken = Database(scratch.path())
    var error = error_of(broken, "SELECT sum(length(b)) FROM t")
    assert_true(error.is_corrupt(), String(error))
    expect(SqliteError.ENGINE, error)
    broken.close()
    scratch.remove()


comptime TESTS = __functions_in_module()
