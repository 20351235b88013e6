"""Checks of streams, for the cases of the tests of `flare.postgres`."""

from std.testing import assert_equal, assert_false, assert_raises

from flare.json import Value
from flare.postgres import Database, DatabaseOptions
from flare.sys.clock import monotonic_ms

comptime _SERIES: StaticString = (
    "SELECT i AS id, 'row ' || i AS name FROM generate_series(1, $1::int) i"
)


@fieldwise_init
struct _Row(Copyable, Movable):
    var id: Int32
    var name: String


def check_streams(url: String) raises:
    """Checks what streams return, and what they leave behind."""
    var db = Database(url, DatabaseOptions(max_connections=2))
    for count in [0, 1, 9, 10, 11, 1000]:
        var seen = 0
        with db.stream[_Row](_SERIES, count, batch_rows_max=10) as rows:
            var row = rows.next()
            while row:
                seen += 1
                assert_equal(Int(row.value().id), seen)
                assert_equal(row.value().name, String("row ", seen))
                row = rows.next()
            assert_false(Bool(rows.next()))
            assert_equal(len(rows.next_batch()), 0)
        assert_equal(seen, count)
    _check_kinds(db)
    _check_faults(db)
    # Nothing owns the connections any more.
    with db.transaction():
        with db.transaction():
            pass
    assert_equal(db.statistics().open_connections, 2)


def _check_kinds(db: Database) raises:
    # Other columns, other parameters, the same connection.
    with db.stream[String]("SELECT $1 || $2", "a", "b") as rows:
        assert_equal(rows.next().value(), "ab")
    with db.stream[Value](
        "SELECT to_jsonb(i) FROM generate_series(1, 25) i", batch_rows_max=10
    ) as rows:
        var lengths = List[Int]()
        while True:
            var batch = rows.next_batch()
            if len(batch) == 0:
                break
            lengths.append(len(batch))
        assert_equal(lengths, [10, 10, 5])
    # The rest of a batch whose start was read row by row.
    with db.stream[Int32](
        "SELECT generate_series(1, 25)", batch_rows_max=10
    ) as rows:
        for i in range(1, 4):
            assert_equal(Int(rows.next().value()), i)
        assert_equal(len(rows.next_batch()), 7)
        # A block may be left early.
    with db.stream[Int]("VALUES (1::int8), (2)") as rows:
        assert_equal(rows.next().value(), 1)


def _check_faults(db: Database) raises:
    # In the middle of the rows: those before it are returned.
    var seen = 0
    with assert_raises(contains="postgres.server 22012"):
        with db.stream[Int32](
            "SELECT 100 / (50 - i) FROM generate_series(1, 100) i",
            batch_rows_max=7,
        ) as rows:
            while True:
                _ = rows.next()
                seen += 1
    assert_equal(seen, 49)
    with assert_raises(contains="postgres.server 42601"):
        with db.stream[Int]("DELETE FROM pg_class") as rows:
            _ = rows.next()
    with assert_raises(contains="postgres.decode"):
        with db.stream[Int]("SELECT 'a'") as rows:
            _ = rows.next()
    with assert_raises(contains="batch_rows_max"):
        with db.stream[Int]("SELECT 1", batch_rows_max=0) as rows:
            _ = rows.next()
    with assert_raises(contains="the user's"):
        with db.stream[Int32](_SERIES_OF_NUMBERS) as rows:
            _ = rows.next()
            raise Error("the user's")
    var left = db.stream[Int32](_SERIES_OF_NUMBERS)
    var rows = left.__enter__()
    assert_equal(Int(rows.next().value()), 1)
    left.__exit__()
    with assert_raises(contains="postgres.closed"):
        while rows.next():
            pass


comptime _SERIES_OF_NUMBERS: StaticString = (
    "SELECT i FROM generate_series(1, 1000000) i"
)


def read_long_stream(url: String, rows_wanted: Int) raises:
    """Reads many rows, and prints how many and how much memory it took."""
    var db = Database(url)
    var before = _resident_kib()
    var began_ms = monotonic_ms()
    var seen = 0
    var sum = 0
    var most = before
    with db.stream[_Row](_SERIES, rows_wanted, batch_rows_max=1000) as rows:
        while True:
            var batch = rows.next_batch()
            if len(batch) == 0:
                break
            for row in batch:
                sum += Int(row.id)
            seen += len(batch)
            if seen % 100_000 == 0:
                most = max(most, _resident_kib())
    assert_equal(seen, rows_wanted)
    assert_equal(sum, rows_wanted * (rows_wanted + 1) // 2)
    print("rows", seen, "ms", monotonic_ms() - began_ms, "kib", most - before)


def _resident_kib() raises -> Int:
    with open("/proc/self/statm", "r") as statm:
        return Int(statm.read().split(" ")[1]) * 4
