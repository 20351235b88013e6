"""Tests statements outside of transactions."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.runtime import deadline_in, sleep, spawn
from flare.sqlite import Database, DatabaseOptions, SqliteError
from flare.sqlite.options import Synchronous

from tests.asserting import assert_equal, assert_false, assert_true

from .scratch import Scratch, error_of, expect, sqlite_error


def test_statements() raises:
    var scratch = Scratch()
    var db = Database(scratch.path())
    assert_equal(
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)").rows, 0
    )
    for i in range(10):
        assert_equal(
            db.execute("INSERT INTO t VALUES ($1, $2)", i, String("v", i)).rows,
            1,
        )
    assert_equal(
        db.execute("UPDATE t SET v = $1 WHERE id > $2", "w", 6).rows, 3
    )
    assert_equal(db.execute("DELETE FROM t WHERE id = $1", 11).rows, 0)
    # The count of an earlier statement is not that of this one.
    assert_equal(db.execute("CREATE INDEX i ON t (v)").rows, 0)
    assert_equal(db.execute("SELECT id FROM t").rows, 10)
    assert_equal(len(db.query[Int]("SELECT id FROM t ORDER BY id")), 10)
    assert_equal(db.query_one[String]("SELECT v FROM t WHERE id = $1", 2), "v2")
    assert_false(Bool(db.query_optional[Int]("SELECT id FROM t WHERE id = 99")))
    assert_equal(db.query_optional[Int]("SELECT id FROM t LIMIT 1").value(), 0)
    expect(SqliteError.NO_ROWS, error_of(db, "SELECT id FROM t WHERE id = 99"))
    expect(SqliteError.TOO_MANY_ROWS, error_of(db, "SELECT id FROM t"))
    # These write, and return rows.
    assert_equal(
        db.query_one[Int]("INSERT INTO t VALUES (20, 'x') RETURNING id"), 20
    )
    assert_equal(
        db.query[Int](
            "WITH n(i) AS (VALUES (21), (22)) INSERT INTO t SELECT i, 'y' FROM"
            " n RETURNING id"
        )[1],
        22,
    )
    assert_equal(db.query_one[Int]("SELECT count(*) FROM t"), 13)
    assert_equal(db.query_one[String]("PRAGMA journal_mode"), "wal")
    assert_equal(db.execute("VACUUM").rows, 0)
    var counts = db.statistics()
    assert_equal(counts.statements, 26)
    assert_equal(counts.errors, 0)
    assert_equal(counts.open_connections, 3)
    while db.statistics().busy_connections > 0:
        sleep(1)
    db.close()
    scratch.remove()


def test_settings_of_the_connections() raises:
    var scratch = Scratch()
    var options = DatabaseOptions(synchronous=Synchronous.FULL)
    var db = Database(scratch.path(), options)
    assert_equal(db.query_one[Int]("PRAGMA synchronous"), 2)
    assert_equal(db.query_one[Int]("PRAGMA foreign_keys"), 1)
    assert_equal(
        db.query_one[String]("SELECT * FROM pragma_journal_mode"), "wal"
    )
    assert_equal(db.query_one[Int]("SELECT * FROM pragma_query_only"), 1)
    db.close()
    var normal = Database(scratch.path())
    assert_equal(normal.query_one[Int]("PRAGMA synchronous"), 1)
    normal.close()
    scratch.remove()


def test_parameters_by_number_and_by_place() raises:
    var db = Database(":memory:")
    assert_equal(db.query_one[String]("SELECT $2 || $1 || $2", "a", "b"), "bab")
    assert_equal(db.query_one[String]("SELECT ?2 || ?1", "a", "b"), "ba")
    assert_equal(db.query_one[String]("SELECT ? || ?", "a", "b"), "ab")
    assert_equal(db.query_one[Int]("SELECT 1"), 1)
    var rows: List[String] = [
        "SELECT $1",
        "SELECT $1, $3",
        "SELECT ?",
        "SELECT 1",
        "SELECT :a, :b",
        "SELECT $a, $b",
        "SELECT @1, @2",
        "SELECT $0, $1, $2",
        "SELECT $1, $99999999999999999999",
        "SELECT $1, $2(3)",
    ]
    for sql in rows:
        try:
            _ = db.execute(sql, 1, 2)
        except e:
            expect(SqliteError.BAD_PARAMETER, sqlite_error(e))
            continue
        raise Error("taken: ", sql)


def test_columns_and_fields_are_compared_by_name() raises:
    var db = Database(":memory:")
    var pair = db.query_one[_Pair]("SELECT 'x' AS b, 1 AS a")
    assert_equal(pair.a, 1)
    assert_equal(pair.b, "x")
    for sql in [
        "SELECT 1 AS a",
        "SELECT 1 AS a, 'x' AS b, 2 AS c",
        "SELECT 1 AS a, 'x' AS c",
        "SELECT 1 AS a, 2 AS a",
        "SELECT 1 AS a, 'x' AS B",
    ]:
        with assert_raises(contains="and the fields of"):
            _ = db.query[_Pair](sql)
    with assert_raises(contains="sqlite.decode"):
        _ = db.query[Int]("SELECT 1, 2")
    with assert_raises(contains="sqlite.decode"):
        _ = db.query[Int]("CREATE TABLE t (a)")


def test_a_row_that_is_not_decoded_leaves_nothing_behind() raises:
    var db = Database(":memory:")
    for _ in range(1000):
        with assert_raises(contains="column b"):
            _ = db.query[_Texts](
                "SELECT 'a text that lies on the heap' AS a, NULL AS b"
            )


def test_statements_that_are_refused() raises:
    var scratch = Scratch()
    var db = Database(scratch.path())
    _ = db.execute("CREATE TABLE t (a)")
    for sql in [
        "",
        " -- nothing\n",
        ";",
        "SELECT 1; SELECT 2",
        "SELECT 1\0",
        "BEGIN",
        "begin immediate",
        "COMMIT",
        "END",
        "ROLLBACK",
        "SAVEPOINT flare",
        "ROLLBACK TO flare",
        "RELEASE flare",
        "/* /* */ COMMIT",
        "ATTACH ':memory:' AS x",
        "DETACH main",
    ]:
        expect(SqliteError.BAD_PARAMETER, error_of(db, sql))
    # Blanks and comments may follow.
    assert_equal(db.query_one[Int]("SELECT 1; -- one\n /* two */ ;"), 1)
    # A statement of flare itself is no key to the same text of a program.
    with db.transaction() as tx:
        with tx.savepoint():
            _ = tx.execute("INSERT INTO t VALUES (1)")
    for sql in ["COMMIT", "SAVEPOINT flare_1", "BEGIN IMMEDIATE"]:
        expect(SqliteError.BAD_PARAMETER, error_of(db, sql))
    var error = error_of(db, "SELECT nobody FROM t")
    expect(SqliteError.ENGINE, error)
    assert_equal(error.message, "no such column: nobody")
    assert_equal(error.position, 8)
    assert_equal(error.code, 1)
    db.close()
    scratch.remove()


def test_constraints() raises:
    var db = Database(":memory:")
    _ = db.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, n INT NOT NULL,"
        " c INT CONSTRAINT positive CHECK (c > 0), p INT REFERENCES t (id))"
    )
    _ = db.execute("INSERT INTO t VALUES (1, 'a', 1, 1, NULL)")
    var error = error_of(db, "INSERT INTO t VALUES (1, 'b', 1, 1, NULL)")
    assert_true(error.is_unique_violation())
    error = error_of(db, "INSERT INTO t VALUES (2, 'a', 1, 1, NULL)")
    assert_true(error.is_unique_violation())
    assert_equal(error.table, "t")
    assert_equal(error.column, "u")
    error = error_of(db, "INSERT INTO t VALUES (2, 'b', NULL, 1, NULL)")
    assert_true(error.is_not_null_violation())
    assert_equal(error.column, "n")
    error = error_of(db, "INSERT INTO t VALUES (2, 'b', 1, 0, NULL)")
    assert_true(error.is_check_violation())
    assert_equal(error.constraint, "positive")
    error = error_of(db, "INSERT INTO t VALUES (2, 'b', 1, 1, 9)")
    assert_true(error.is_foreign_key_violation())
    assert_equal(db.query_one[Int]("SELECT count(*) FROM t"), 1)
    assert_equal(db.statistics().errors, 5)


def test_columns_follow_a_change_of_the_schema() raises:
    var scratch = Scratch()
    var db = Database(scratch.path())
    _ = db.execute("CREATE TABLE t (a)")
    _ = db.execute("INSERT INTO t VALUES (1)")
    assert_equal(db.query_one[Int]("SELECT * FROM t"), 1)
    _ = db.execute("ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'x'")
    for _ in range(4):
        assert_equal(db.query_one[_Pair]("SELECT * FROM t").b, "x")
    db.close()
    scratch.remove()


def test_more_statements_than_the_cache_holds() raises:
    var db = Database(":memory:", DatabaseOptions(cached_statements=3))
    for _ in range(2):
        for i in range(10):
            assert_equal(
                db.query_one[Int](String("SELECT ", i, " + $1"), 1), i + 1
            )


def test_a_result_has_a_bound() raises:
    var scratch = Scratch()
    var options = DatabaseOptions(result_octets_max=16 * 100)
    var db = Database(scratch.path(), options)
    comptime count: StaticString = (
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE"
        " i < $1) SELECT i FROM n"
    )
    assert_equal(len(db.query[Int](count, 100)), 100)
    for i in [101, 1_000_000_000]:
        try:
            _ = db.query[Int](count, i)
            raise Error("taken")
        except e:
            expect(SqliteError.TOO_LARGE, sqlite_error(e))
    with assert_raises(contains="sqlite.too_large"):
        _ = db.query_one[String]("SELECT printf('%2000d', 1)")
    # A change whose rows are too many has no effect.
    _ = db.execute("CREATE TABLE t (a)")
    with assert_raises(contains="sqlite.too_large"):
        _ = db.query[Int](String("INSERT INTO t ", count, " RETURNING a"), 200)
    assert_equal(db.query_one[Int]("SELECT count(*) FROM t"), 0)
    db.close()
    scratch.remove()


def test_short_queries_on_the_calling_thread() raises:
    var scratch = Scratch()
    var db = Database(scratch.path(), DatabaseOptions(inline_reads=True))
    _ = db.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    for i in range(100):
        _ = db.execute("INSERT INTO t VALUES ($1)", i)
        assert_equal(db.query_one[Int]("SELECT max(a) FROM t"), i)
    assert_equal(db.statistics().inline_reads, 100)
    # One that writes, one that is slow, and one with an error.
    assert_equal(
        db.execute("WITH n AS (SELECT 1) UPDATE t SET a = a").rows, 100
    )
    assert_equal(
        db.query_one[Int](
            "WITH n(i) AS (VALUES (500)) INSERT INTO t SELECT i FROM n"
            " RETURNING a"
        ),
        500,
    )
    for _ in range(2):
        assert_equal(
            db.query_one[Int](
                "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM"
                " n WHERE i < 1000000) SELECT count(*) FROM n"
            ),
            1_000_000,
        )
    assert_equal(db.statistics().inline_reads, 100)
    assert_equal(error_of(db, "SELECT x FROM t").message, "no such column: x")
    assert_equal(db.query_one[Int]("SELECT count(*) FROM t"), 101)
    assert_equal(db.statistics().inline_reads, 101)
    with assert_raises(contains="sqlite.timeout"):
        with deadline_in(0):
            _ = db.query[Int]("SELECT a FROM t")
    db.close()
    scratch.remove()


def test_queries_on_the_calling_thread_have_the_stack_of_a_thread() raises:
    var scratch = Scratch()
    var options = DatabaseOptions(inline_reads=True)
    var db = ArcPointer(Database(scratch.path(), options))
    assert_equal(db[].query_one[Int]("SELECT 1"), 1)

    def asks() raises {var db} -> Int:
        # SQLite recurses to the depth of the text, and of the pattern.
        var deep = String("[") * 1_900 + String("]") * 1_900
        var valid = db[].query_one[Int]("SELECT json_array_length($1)", deep)
        var pattern = String("%a") * 20_000
        return valid + db[].query_one[Int](
            "SELECT $1 LIKE $2", String("a") * 20_000, pattern
        )

    assert_equal(spawn(asks).join(), 2)
    assert_true(db[].statistics().inline_reads > 1)
    db[].close()
    scratch.remove()


def test_options_out_of_bounds() raises:
    for path in ["", "a\0b"]:
        with assert_raises(contains="sqlite.bad_options"):
            _ = Database(path)
    for options in [
        DatabaseOptions(reader_threads=0),
        DatabaseOptions(reader_threads=65),
        DatabaseOptions(acquire_timeout_ms=0),
        DatabaseOptions(query_timeout_ms=0),
        DatabaseOptions(transaction_timeout_ms=0),
        DatabaseOptions(busy_timeout_ms=-1),
        DatabaseOptions(result_octets_max=0),
        DatabaseOptions(waiting_max=0),
        DatabaseOptions(cached_statements=0),
    ]:
        with assert_raises(contains="sqlite.bad_options"):
            _ = Database("x", options)


comptime TESTS = __functions_in_module()


@fieldwise_init
struct _Pair(Copyable, Movable):
    var a: Int
    var b: String


@fieldwise_init
struct _Texts(Copyable, Movable):
    var a: String
    var b: String
