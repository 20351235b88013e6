"""Sends values of each type to SQLite and back."""

from flare.json import Value, dumps, loads
from flare.sqlite import (
    Column,
    Database,
    Date,
    FromColumn,
    SqliteError,
    Timestamp,
    ToParameter,
    ValueBlock,
)

from tests.asserting import assert_equal, assert_false, assert_true

from .scratch import expect, sqlite_error


@fieldwise_init
struct Everything(Copyable, Movable):
    var flag: Bool
    var small: Int8
    var whole: Int
    var single: Float32
    var real: Float64
    var text: String
    var octets: List[UInt8]
    var value: Value
    var at: Timestamp
    var day: Date
    var note: Optional[String]


def test_a_struct_of_each_type() raises:
    var db = Database(":memory:")
    var row = db.query_one[Everything](
        (
            "SELECT $1 AS flag, $2 AS small, $3 AS whole, $4 AS single,"
            " $5 AS real, $6 AS text, $7 AS octets, $8 AS value, $9 AS at,"
            " $10 AS day, $11 AS note"
        ),
        True,
        Int8(-128),
        Int.MIN,
        Float32(0.5),
        1e308,
        String("ä€😀"),
        _all_octets(),
        loads('{"a": [1, null]}'),
        Timestamp(1_234_567_890_123_456),
        Date(-25_567),
        Optional[String](None),
    )
    assert_true(row.flag)
    assert_equal(row.small, -128)
    assert_equal(row.whole, Int.MIN)
    assert_equal(row.single, 0.5)
    assert_equal(row.real, 1e308)
    assert_equal(row.text, "ä€😀")
    assert_equal(len(row.octets), 256)
    assert_equal(row.octets[255], 255)
    assert_equal(dumps(row.value), '{"a":[1,null]}')
    assert_equal(row.at.unix_us, 1_234_567_890_123_456)
    assert_equal(row.day.unix_days, -25_567)
    assert_false(Bool(row.note))


def test_least_and_largest_values() raises:
    var db = Database(":memory:")
    _check[Int8](db, [Int8.MIN, 0, Int8.MAX])
    _check[UInt8](db, [0, UInt8.MAX])
    _check[Int16](db, [Int16.MIN, Int16.MAX])
    _check[UInt16](db, [UInt16.MAX])
    _check[Int32](db, [Int32.MIN, Int32.MAX])
    _check[UInt32](db, [UInt32.MAX])
    _check[Int64](db, [Int64.MIN, Int64.MAX])
    _check[Int](db, [Int.MIN, Int.MAX])
    _check[Bool](db, [True, False])
    _check[String](db, [String(), String("x") * 100_000])
    var infinity = Float64.MAX * 2
    _check[Float64](db, [0.0, 5e-324, Float64.MAX, infinity, -infinity])
    _check[Float32](db, [Float32(0.1), Float32.MAX])
    _check[List[UInt8]](db, [List[UInt8](), List[UInt8](length=9, fill=0)])
    _check[Date](db, [Date(-719_528), Date(2_932_896), Date(0)])
    comptime day = 86_400_000_000
    _check[Timestamp](
        db,
        [
            Timestamp(-719_528 * day),
            Timestamp(2_932_897 * day - 1),
            Timestamp(-1),
            Timestamp(0),
            Timestamp(1),
        ],
    )


def test_null_is_named_with_column_type_and_field() raises:
    var db = Database(":memory:")
    _ = db.execute("CREATE TABLE t (n INTEGER, s)")
    _ = db.execute("INSERT INTO t VALUES (NULL, NULL)")
    assert_equal(
        _decode_error[_Pair](db, "SELECT n, s FROM t"),
        (
            "column n of type INTEGER is NULL: make the field an Optional"
            " (field n)"
        ),
    )
    assert_equal(
        _decode_error[String](db, "SELECT s FROM t"),
        (
            "column s of type NULL is NULL: make the field an Optional"
            " (field of the only column)"
        ),
    )
    assert_false(Bool(db.query_one[Optional[Int]]("SELECT n FROM t")))


def test_values_of_another_type_are_refused() raises:
    var db = Database(":memory:")
    assert_equal(
        _decode_error[Int](db, "SELECT 'a' AS x"),
        (
            "column x of type TEXT contains TEXT, which does not fit Int (field"
            " of the only column)"
        ),
    )
    for sql in ["SELECT 1.5", "SELECT x'00'", "SELECT '1'"]:
        _ = _decode_error[Int](db, sql)
    _ = _decode_error[Int8](db, "SELECT 128")
    _ = _decode_error[UInt8](db, "SELECT -1")
    _ = _decode_error[UInt64](db, "SELECT -1")
    _ = _decode_error[Bool](db, "SELECT 2")
    _ = _decode_error[String](db, "SELECT 1")
    _ = _decode_error[String](db, "SELECT CAST(x'ff' AS TEXT)")
    _ = _decode_error[List[UInt8]](db, "SELECT 'a'")
    _ = _decode_error[Value](db, "SELECT 1")
    _ = _decode_error[Float64](db, "SELECT '1'")
    _ = _decode_error[Float64](db, "SELECT 9007199254740993")
    _ = _decode_error[Float64](db, "SELECT 9223372036854775807")
    _ = _decode_error[Float32](db, "SELECT 16777217")
    assert_equal(db.query_one[Float64]("SELECT 9007199254740992"), 1 << 53)
    assert_equal(db.query_one[Float32]("SELECT 16777216"), 1 << 24)
    assert_equal(
        db.query_one[UInt64]("SELECT 9223372036854775807"),
        UInt64(Int64.MAX),
    )


def test_times_and_dates_of_sqlite() raises:
    var db = Database(":memory:")
    assert_equal(
        db.query_one[String]("SELECT $1", Timestamp(981_173_106_789_000)),
        "2001-02-03 04:05:06.789000",
    )
    assert_equal(
        db.query_one[String]("SELECT $1", Timestamp(981_173_106_000_000)),
        "2001-02-03 04:05:06",
    )
    assert_equal(db.query_one[String]("SELECT $1", Date(0)), "1970-01-01")
    assert_true(
        db.query_one[Timestamp]("SELECT CURRENT_TIMESTAMP").unix_us
        > 1_700_000_000_000_000
    )
    assert_equal(
        db.query_one[Date]("SELECT date($1, '+1 day')", Date(11_015)).unix_days,
        11_016,
    )
    # Texts are in the order of the times.
    assert_true(
        db.query_one[Bool](
            "SELECT $1 < $2 AND $2 < $3",
            Timestamp(981_173_106_000_000),
            Timestamp(981_173_106_000_001),
            Timestamp(981_173_107_000_000),
        )
    )
    for text in ["2001-02-03T04:05:06Z", "2001-02-03 04:05:06.0"]:
        assert_equal(
            db.query_one[Timestamp]("SELECT $1", StringSlice(text)).unix_us,
            981_173_106_000_000,
        )
    for text in [
        "",
        "2001-02-03",
        "2001-02-03 04:05",
        "2001-02-30 04:05:06",
        "2001-13-03 04:05:06",
        "2001-02-03 24:05:06",
        "2001-02-03 04:60:06",
        "2001-02-03 04:05:60",
        "2001-02-03 04:05:06.",
        "2001-02-03 04:05:06.1234567",
        "2001-02-03 04:05:06 ",
        "2001-02-03 04:05:06+01",
        "2001-02-03x04:05:06",
        "2001 02-03 04:05:06",
        "2001-02-03 04.05:06",
        "2001-02-03 04:05:0x",
    ]:
        _refused[Timestamp](db, String(text))
    for text in ["2001-02-29", "2001-2-03", "2001-02-03 ", "2001-00-01", "x"]:
        _refused[Date](db, String(text))
    _ = _decode_error[Timestamp](db, "SELECT 1")
    _ = _decode_error[Date](db, "SELECT 1")


def test_parameters_that_sqlite_would_change_are_refused() raises:
    var db = Database(":memory:")
    var zero = Float64(0)
    _not_taken(db, zero / zero)
    _not_taken(db, String("a\0b"))
    _not_taken(db, Date(2_932_897))
    _not_taken(db, Date(-719_529))
    _not_taken(db, Timestamp(Int.MAX))
    _not_taken(db, Timestamp(Int.MIN))
    # A text with NUL that another program has stored comes whole.
    assert_equal(db.query_one[String]("SELECT CAST(x'610062' AS TEXT)"), "a\0b")
    var octets: List[UInt8] = [97, 0, 98]
    assert_equal(db.query_one[List[UInt8]]("SELECT $1", octets)[1], 0)


def test_a_type_of_the_program() raises:
    var db = Database(":memory:")
    assert_equal(db.query_one[_Cents]("SELECT $1", _Cents(7)).value, 7)


comptime TESTS = __functions_in_module()


@fieldwise_init
struct _Pair(Copyable, Movable):
    var n: Int
    var s: String


@fieldwise_init
struct _Cents(FromColumn, ImplicitlyCopyable, ToParameter):
    var value: Int

    @staticmethod
    def from_column(column: Column) raises -> Self:
        return Self(Int.from_column(column))

    def add_to(self, mut parameters: ValueBlock) raises:
        self.value.add_to(parameters)


def _all_octets() -> List[UInt8]:
    var octets = List[UInt8]()
    for i in range(256):
        octets.append(UInt8(i))
    return octets^


def _check[
    T: FromColumn & ToParameter & Equatable & Copyable
](db: Database, values: List[T]) raises:
    for value in values:
        var back = db.query_one[T]("SELECT $1", value)
        if back != value:
            raise Error("another value came back")
        var some = db.query_one[Optional[T]](
            "SELECT $1", Optional[T](value.copy())
        )
        if not some or some.value() != value:
            raise Error("another optional came back")


def _decode_error[
    T: Deinitable & Movable
](db: Database, sql: StringSlice) raises -> String:
    try:
        _ = db.query_one[T](sql)
    except e:
        var error = sqlite_error(e)
        expect(SqliteError.DECODE, error)
        return error.message
    raise Error("decoded: ", sql)


def _refused[T: FromColumn](db: Database, text: String) raises:
    try:
        _ = db.query_one[T]("SELECT $1", text)
    except e:
        expect(SqliteError.DECODE, sqlite_error(e))
        return
    raise Error("decoded: ", text)


def _not_taken[T: ToParameter](db: Database, value: T) raises:
    try:
        _ = db.execute("SELECT $1", value)
    except e:
        expect(SqliteError.BAD_PARAMETER, sqlite_error(e))
        return
    raise Error("taken")
