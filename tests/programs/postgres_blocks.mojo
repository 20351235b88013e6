"""Checks of COPY, of savepoints, of transactions that are repeated, and of how
long connections last, for the cases of the tests of `flare.postgres`."""

from std.memory import ArcPointer
from std.testing import assert_equal, assert_raises, assert_true

from flare.json import Value, dumps, loads
from flare.postgres import (
    Database,
    DatabaseOptions,
    Date,
    Numeric,
    Timestamp,
    Transaction,
    Uuid,
)
from flare.runtime import sleep, spawn
from flare.runtime.task import JoinHandle

comptime _UUID: StaticString = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"


@fieldwise_init
struct _Row(Copyable, Movable):
    var id: Int
    var small: Int
    var name: Optional[String]
    var octets: List[UInt8]
    var at: Timestamp
    var day: Date
    var ok: Bool
    var ratio: Float64
    var tags: Value
    var numbers: List[Int32]
    var key: Uuid
    var other_key: String
    var mood: String


@fieldwise_init
struct _Pair(Copyable, Movable):
    var id: Int
    var name: String


def check_copies(url: String) raises:
    """Checks what COPY stores, and what it leaves behind."""
    var db = Database(url, DatabaseOptions(max_connections=1))
    _ = db.execute("DROP TABLE IF EXISTS copied, pairs")
    _ = db.execute("DROP TYPE IF EXISTS feeling")
    _ = db.execute("CREATE TYPE feeling AS ENUM ('glad', 'sad')")
    _ = db.execute(
        "CREATE TABLE copied (id int, small smallint, name varchar(9), octets"
        " bytea, at timestamptz, day date, ok boolean, ratio double precision,"
        " tags jsonb, numbers int[], key uuid, other_key uuid, mood feeling,"
        " extra int DEFAULT 7)"
    )
    _ = db.execute("CREATE TABLE pairs (id bigint PRIMARY KEY, name text)")
    _check_kinds(db)
    _check_many(db)
    _check_refusals(db)
    _check_inside(db)
    _check_values(db)
    assert_equal(db.statistics().open_connections, 1)


def _row(id: Int) raises -> _Row:
    return _Row(
        id,
        -id,
        None if id % 2 == 0 else Optional(String("name ", id)),
        [0, 10, 255],
        Timestamp(1_700_000_000_123_456),
        Date(19_000),
        True,
        0.5,
        loads('{"a": [1, "\\u00e9"]}'),
        [1, 2, 3],
        Uuid.parse(_UUID),
        String(_UUID),
        "sad",
    )


def _check_kinds(db: Database) raises:
    with db.copy_in[_Row]("copied") as copy:
        for id in range(1, 4):
            copy.add(_row(id))
    assert_equal(db.query_one[Int]("SELECT count(*) FROM copied"), 3)
    var rows = db.query[_Row](
        "SELECT id, small, name, octets, at, day, ok, ratio, tags, numbers,"
        " key, other_key::text, mood FROM copied WHERE extra = 7 ORDER BY id"
    )
    for i in range(3):
        ref row = rows[i]
        assert_equal(row.id, i + 1)
        assert_equal(row.small, -i - 1)
        assert_equal(Bool(row.name), i != 1)
        assert_equal(row.octets, [0, 10, 255])
        assert_equal(row.at.unix_us, 1_700_000_000_123_456)
        assert_equal(row.day.unix_days, 19_000)
        assert_true(row.ok)
        assert_equal(row.ratio, 0.5)
        assert_equal(dumps(row.tags), '{"a":[1,"é"]}')
        assert_equal(row.numbers, [1, 2, 3])
        assert_equal(String(row.key), String(_UUID))
        assert_equal(row.other_key, String(_UUID))
        assert_equal(row.mood, "sad")
    # No row at all, and no statement but the usual ones afterwards.
    with db.copy_in[_Pair]("public.pairs"):
        pass
    assert_equal(db.query_one[Int]("SELECT count(*) FROM pairs"), 0)


def _check_many(db: Database) raises:
    # More than the pieces on their way, while others wait for the connection.
    var stored = 0
    with db.copy_in[_Pair]("pairs") as copy:
        for id in range(100_000):
            copy.add(_Pair(id, String("name ", id)))
        stored = 100_000
    assert_equal(
        db.query_one[Int](
            "SELECT count(*) FROM pairs WHERE name = 'name ' || id"
        ),
        stored,
    )
    _ = db.execute("DELETE FROM pairs")
    # One row of many pieces.
    with db.copy_in[_Pair]("pairs") as copy:
        copy.add(_Pair(1, String("x") * 1_000_000))
    assert_equal(
        db.query_one[Int32]("SELECT length(name) FROM pairs"), 1_000_000
    )
    _ = db.execute("DELETE FROM pairs")


def _check_refusals(db: Database) raises:
    # By the server, at the end, in the middle of much, and at the start.
    for count in [2, 50_000]:
        with assert_raises(contains="postgres.server 23505"):
            with db.copy_in[_Pair]("pairs") as copy:
                for id in range(count):
                    copy.add(_Pair(id // 2, "a"))
    with assert_raises(contains="postgres.server 42P01"):
        with db.copy_in[_Pair]("nowhere"):
            pass
    with assert_raises(contains="postgres.server 42703"):
        with db.copy_in[_Row]("pairs"):
            pass
    # A name is never a part of the statement.
    with assert_raises(contains="postgres.server 42P01"):
        with db.copy_in[_Pair]('pairs"; DROP TABLE pairs; --'):
            pass
    assert_equal(db.statistics().connects, 1)
    # By flare; the connection is given up.
    var row = _row(1)
    row.small = 40_000
    with assert_raises(contains="field small does not fit"):
        with db.copy_in[_Row]("copied") as copy:
            copy.add(_row(7))
            copy.add(row)
    with assert_raises(contains="mine"):
        with db.copy_in[_Pair]("pairs") as copy:
            for id in range(20_000):
                copy.add(_Pair(id, "a"))
            raise Error("mine")
    assert_equal(db.query_one[Int]("SELECT count(*) FROM pairs"), 0)
    assert_equal(
        db.query_one[Int]("SELECT count(*) FROM copied WHERE id = 7"), 0
    )


def _check_inside(db: Database) raises:
    with db.transaction() as tx:
        _ = tx.execute("INSERT INTO pairs VALUES (-1, 'before')")
        with tx.copy_in[_Pair]("pairs") as copy:
            copy.add(_Pair(1, "a"))
            with assert_raises(contains="COPY is not ended"):
                _ = tx.execute("SELECT 1")
            copy.add(_Pair(2, "b"))
        assert_equal(tx.query_one[Int]("SELECT count(*) FROM pairs"), 3)
    with assert_raises(contains="mine"):
        with db.transaction() as tx:
            with tx.copy_in[_Pair]("pairs") as copy:
                copy.add(_Pair(3, "c"))
            raise Error("mine")
    assert_equal(db.query_one[Int]("SELECT count(*) FROM pairs"), 3)


def _check_values(db: Database) raises:
    var key = Uuid.random()
    assert_true(key != Uuid.random())
    assert_equal(db.query_one[Uuid]("SELECT $1::uuid", key), key)
    assert_equal(
        db.query_one[String]("SELECT $1::uuid::text", key), String(key)
    )
    var keys: List[Uuid] = [key, Uuid.parse(_UUID)]
    assert_equal(db.query_one[List[Uuid]]("SELECT $1::uuid[]", keys), keys)
    for text in ["0", "-12.50", "NaN", "1e3", "99999999999999999999.0001"]:
        var number = db.query_one[Numeric](
            "SELECT $1::numeric", Numeric(String(text))
        )
        assert_equal(
            number.text,
            db.query_one[String]("SELECT $1::numeric::text", String(text)),
        )
    with assert_raises(contains="postgres.server 22P02"):
        _ = db.query_one[Numeric]("SELECT $1", Numeric("much"))
    with assert_raises(contains="does not fit Numeric"):
        _ = db.query_one[Numeric]("SELECT 1")


def check_repeated(url: String) raises:
    """Checks transactions that the server ends for the sake of others."""
    var db = ArcPointer(Database(url, DatabaseOptions(max_connections=8)))
    _ = db[].execute("DROP TABLE IF EXISTS balances")
    _ = db[].execute("CREATE TABLE balances (id int PRIMARY KEY, n int)")
    _ = db[].execute("INSERT INTO balances VALUES (1, 0), (2, 0)")
    _meet(db)
    # Serialization: each reads what another one writes.
    var handles = List[JoinHandle[Int]]()
    for _ in range(8):

        def add() raises {var db} -> Int:
            def body(tx: Transaction) raises -> Int:
                var n = tx.query_one[Int32](
                    "SELECT n FROM balances WHERE id = 1"
                )
                sleep(1)
                _ = tx.execute(
                    "UPDATE balances SET n = $1 WHERE id = 1", Int(n) + 1
                )
                return Int(n)

            for _ in range(5):
                _ = db[].run_transaction(body, attempts_max=1_000)
            return 0

        handles.append(spawn(add))
    while len(handles) > 0:
        _ = handles.pop().join()
    assert_equal(
        db[].query_one[Int32]("SELECT n FROM balances WHERE id = 1"), 40
    )
    # What is not for its sake is raised at once, and nothing is repeated.
    var runs = ArcPointer(0)

    def fails(tx: Transaction) raises {var runs} -> Int:
        runs[] += 1
        return tx.query_one[Int]("SELECT 1 / 0")

    with assert_raises(contains="22012"):
        _ = db[].run_transaction(fails)
    assert_equal(runs[], 1)


def _meet(db: ArcPointer[Database]) raises:
    # Two transactions lock two rows in opposite orders: 40P01 for one, whose
    # second run succeeds.
    var runs = ArcPointer(0)
    var handles = List[JoinHandle[Int]]()
    for first in range(1, 3):

        def work() raises {var db, var first, var runs} -> Int:
            def body(tx: Transaction) raises {var first, var runs} -> Int:
                runs[] += 1
                _ = tx.execute("UPDATE balances SET n = n WHERE id = $1", first)
                sleep(50)
                _ = tx.execute(
                    "UPDATE balances SET n = n WHERE id = $1", 3 - first
                )
                return 0

            return db[].run_transaction(body)

        handles.append(spawn(work))
    while len(handles) > 0:
        _ = handles.pop().join()
    assert_equal(runs[], 3)


def check_closed(url: String) raises:
    """Checks what a database does after `close`."""
    var db = Database(url)
    assert_equal(db.query_one[Int]("SELECT 1"), 1)
    db.close()
    db.close()
    with assert_raises(contains="postgres.closed"):
        _ = db.query_one[Int]("SELECT 1")
    with assert_raises(contains="postgres.closed"):
        with db.transaction():
            pass
    assert_equal(db.statistics().open_connections, 0)


def check_lifetime(url: String) raises:
    """Checks that connections are replaced in time, and none is interrupted."""
    var options = DatabaseOptions(max_connections=2)
    options.max_lifetime_ms = 300
    var db = ArcPointer(Database(url, options))
    var handles = List[JoinHandle[Int]]()
    for _ in range(8):

        def ask() raises {var db} -> Int:
            for i in range(300):
                assert_equal(db[].query_one[Int]("SELECT $1", i), i)
                sleep(3)
            return 0

        handles.append(spawn(ask))
    # A transaction is not ended in its middle.
    with db[].transaction() as tx:
        var pid = tx.query_one[Int32]("SELECT pg_backend_pid()")
        sleep(600)
        assert_equal(tx.query_one[Int32]("SELECT pg_backend_pid()"), pid)
    while len(handles) > 0:
        _ = handles.pop().join()
    var counts = db[].statistics()
    assert_equal(counts.errors + counts.lost + counts.repeated, 0)
    assert_true(counts.connects >= 4, String(counts.connects))
    # Without use, none is left, and the next statement finds one.
    sleep(500)
    assert_equal(db[].statistics().open_connections, 0)
    assert_equal(db[].query_one[Int]("SELECT 1"), 1)


def check_savepoints(url: String) raises:
    """Checks what a savepoint undoes."""
    var db = Database(url, DatabaseOptions(max_connections=1))
    _ = db.execute("DROP TABLE IF EXISTS steps")
    _ = db.execute("CREATE TABLE steps (id int PRIMARY KEY)")
    with db.transaction() as tx:
        _ = tx.execute("INSERT INTO steps VALUES (1)")
        with assert_raises(contains="23505"):
            with tx.savepoint():
                _ = tx.execute("INSERT INTO steps VALUES (2)")
                _ = tx.execute("INSERT INTO steps VALUES (1)")
        # An error that the block keeps to itself undoes it too, and is told.
        with assert_raises(contains="postgres.rolled_back"):
            with tx.savepoint():
                _ = tx.execute("INSERT INTO steps VALUES (3)")
                with assert_raises(contains="23505"):
                    _ = tx.execute("INSERT INTO steps VALUES (1)")
        with tx.savepoint():
            _ = tx.execute("INSERT INTO steps VALUES (4)")
            with assert_raises(contains="mine"):
                with tx.savepoint():
                    _ = tx.execute("INSERT INTO steps VALUES (5)")
                    raise Error("mine")
    assert_equal(
        db.query[Int32]("SELECT id FROM steps ORDER BY id"),
        [Int32(1), Int32(4)],
    )
    assert_equal(db.statistics().connects, 1)
