"""Checks types, parameters and errors for `postgres.mojo`."""

from std.testing import assert_equal, assert_true

from flare.json import Value
from flare.postgres import (
    Database,
    Date,
    Numeric,
    PostgresError,
    Timestamp,
)


@fieldwise_init
struct Row(Copyable, Movable):
    """A field of each type."""

    var flag: Bool
    """`boolean`."""
    var small: Int16
    """`smallint`."""
    var middle: Int32
    """`integer`."""
    var large: Int64
    """`bigint`."""
    var real: Float32
    """`real`."""
    var double: Float64
    """`double precision`."""
    var text: String
    """`text`."""
    var octets: List[UInt8]
    """`bytea`."""
    var json: Value
    """`jsonb`."""
    var time: Timestamp
    """`timestamptz`."""
    var day: Date
    """`date`."""
    var none: Optional[String]
    """NULL."""


def check_types(db: Database) raises:
    """Reads each type at its bounds.

    Args:
        db: The database.

    Raises:
        Error: If a value is wrong.
    """
    check_arrays(db)
    var row = db.query_one[Row](
        "SELECT NULL::text AS none, date '1999-12-31' AS day, timestamptz"
        " '2001-01-01 00:00:01.5+00' AS time, '{\"a\": [1, null]}'::jsonb AS"
        " json, '\\x00ff5c'::bytea AS octets, 'ü' AS text, 'NaN'::float8 AS"
        " double, 1.5::real AS real, '-9223372036854775808'::int8 AS large,"
        " (-2147483648)::int4 AS middle, '-32768'::int2 AS small, true AS flag"
    )
    assert_true(row.flag and not row.none)
    assert_equal(row.small, Int16.MIN)
    assert_equal(row.middle, Int32.MIN)
    assert_equal(row.large, Int64.MIN)
    assert_equal(row.real, 1.5)
    assert_true(row.double != row.double)
    assert_equal(row.text, "ü")
    assert_equal(row.octets, [UInt8(0), 255, 92])
    assert_equal(String(row.json), '{"a":[1,null]}')
    assert_equal(row.time.unix_us, 978_307_201_500_000)
    assert_equal(row.day.unix_days, 10_956)
    for text in [
        "0",
        "0.00",
        "-1",
        "10000",
        "99999999.99999999",
        "0.00001",
        "-0.5",
        "123456789012345678901234567890.1234567890",
        "1e-20",
        "NaN",
        "Infinity",
        "-Infinity",
    ]:
        assert_equal(
            db.query_one[String]("SELECT $1::numeric", String(text)),
            db.query_one[String]("SELECT $1::numeric::text", String(text)),
        )
    assert_equal(
        db.query_one[String](
            "SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid"
        ),
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    )
    for sql in [
        "SELECT 'x'::varchar",
        "SELECT 'x'::char(1)",
        "SELECT 'x'::name",
        "SELECT 'x'::\"char\"",
        "SELECT 'x'::xml",
        "SELECT 'x'",
    ]:
        assert_equal(db.query_one[String](String(sql)), "x")
    assert_equal(db.query_one[String]("SELECT '1'::json"), "1")
    assert_equal(db.query_one[String]("SELECT '1'::jsonb"), "1")
    assert_equal(db.query_one[Float64]("SELECT 0.25::real"), 0.25)
    assert_equal(db.query_one[Int]("SELECT 7::int2"), 7)
    assert_equal(db.query_one[UInt8]("SELECT 255"), 255)
    assert_equal(len(db.query[Int]("SELECT 1 WHERE false")), 0)
    _ = db.execute("DROP TYPE IF EXISTS mood")
    _ = db.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    assert_equal(db.query_one[String]("SELECT 'glad'::mood"), "glad")
    _check_refused(db)


def _check_refused(db: Database) raises:
    for sql in [
        "SELECT 256",
        "SELECT -1",
        "SELECT 1::numeric",
        "SELECT 'x'",
        "SELECT NULL::int",
        "SELECT 1, 2",
        "SELECT",
    ]:
        assert_equal(_kind_of[UInt8](db, String(sql)), PostgresError.DECODE)
    assert_equal(_kind_of[Int32](db, "SELECT 2147483648"), PostgresError.DECODE)
    assert_equal(
        _kind_of[Float32](db, "SELECT 1::float8"), PostgresError.DECODE
    )
    assert_equal(_kind_of[String](db, "SELECT now()"), PostgresError.DECODE)
    assert_equal(_kind_of[String](db, "SELECT ROW(1, 2)"), PostgresError.DECODE)
    _ = db.execute("CREATE EXTENSION IF NOT EXISTS ltree")
    assert_equal(
        _kind_of[String](db, "SELECT 'a.b'::ltree"), PostgresError.DECODE
    )
    assert_equal(
        _kind_of[Timestamp](db, "SELECT 'infinity'::timestamptz"),
        PostgresError.DECODE,
    )
    assert_equal(
        _kind_of[Date](db, "SELECT '-infinity'::date"), PostgresError.DECODE
    )
    assert_equal(_kind_of[Row](db, "SELECT 1 AS flag"), PostgresError.DECODE)
    assert_equal(
        _kind_of[_Two](db, "SELECT 1 AS a, 2 AS a"), PostgresError.DECODE
    )
    assert_equal(
        _kind_of[_Two](db, "SELECT 1 AS a, 2 AS b, 3 AS c"),
        PostgresError.DECODE,
    )
    # A row that fails in its second field drops the first.
    for _ in range(1000):
        assert_equal(
            _kind_of[_Held](
                db, "SELECT repeat('x', 100) AS a, NULL::text AS b"
            ),
            PostgresError.DECODE,
        )
    try:
        _ = db.query_one[_Held]("SELECT 'x' AS a, NULL::text AS b")
    except e:
        var error = PostgresError.of(e).value()
        assert_equal(error.column, "b")
        assert_true("type 25" in error.message, error.message)
        assert_true("field b" in error.message, error.message)


def check_parameters(db: Database) raises:
    """Sends each type at its bounds.

    Args:
        db: The database.

    Raises:
        Error: If the server read another value.
    """
    _same(db, "int8", "-9223372036854775808", Int.MIN)
    _same(db, "int8", "9223372036854775807", Int64.MAX)
    _same(db, "int4", "-2147483648", Int32.MIN)
    _same(db, "int2", "32767", Int16.MAX)
    _same(db, "int2", "255", UInt8(255))
    _same(db, "int8", "4294967295", UInt32.MAX)
    _same(db, "float8", "-0.1", Float64(-0.1))
    _same(db, "float8", "Infinity", Float64.MAX * 10)
    _same(db, "float4", "0.5", Float32(0.5))
    _same(db, "bool", "true", True)
    _same(db, "text", "it's; -- \\ \" $1", String("it's; -- \\ \" $1"))
    _same(db, "text", "", String())
    _same(db, "numeric", "1.50", String("1.50"))
    _same(
        db,
        "numeric[]",
        "{1.50,-0.00001,NaN,123456789.5}",
        List[Numeric](
            [
                Numeric("1.50"),
                Numeric("-0.00001"),
                Numeric("NaN"),
                Numeric("123456789.5"),
            ]
        ),
    )
    _same(db, "date", "2020-02-29", String("2020-02-29"))
    _same(db, "date", "1970-01-02", Date(1))
    _same(db, "jsonb", '{"a": 1}', Value('{"a":1}'.as_bytes()))
    _same(db, "bytea", "\\x00ff", List[UInt8]([UInt8(0), 255]))
    _same(db, "bytea", "\\x", List[UInt8]())
    _same(db, "int8[]", "{1,-2}", List[Int]([1, -2]))
    _same(db, "int4[]", "{}", List[Int32]())
    var texts: List[Optional[String]] = [String("a"), String(), None]
    _same(db, "text[]", '{a,"",NULL}', texts)
    assert_true(
        db.query_one[Bool](
            "SELECT $1 = timestamptz '2001-01-01 00:00:01.5+00'",
            Timestamp(978_307_201_500_000),
        )
    )
    assert_true(db.query_one[Bool]("SELECT $1 IS NULL", Optional[Int](None)))
    assert_equal(
        db.query_one[Int](
            "SELECT count(*) FROM unnest($1) u", List[Int]([1, 2, 3])
        ),
        3,
    )
    try:
        _ = db.query_one[String]("SELECT $1", String("a\0b"))
        assert_true(False, "NUL in a text")
    except e:
        assert_equal(
            PostgresError.of(e).value().kind, PostgresError.BAD_PARAMETER
        )
    # List literals are arrays of Mojo.
    assert_equal(
        db.query_one[Int](
            "SELECT count(*) FROM generate_series(1, 9) AS g WHERE g = ANY($1)",
            [1, 5],
        ),
        2,
    )
    assert_equal(
        db.query_one[List[String]]("SELECT $1::text[]", ["a", "b"]),
        ["a", "b"],
    )


def check_arrays(db: Database) raises:
    """Reads arrays into lists.

    Args:
        db: The database.

    Raises:
        Error: If a value is wrong.
    """
    assert_equal(
        db.query_one[List[Int32]]("SELECT '{1,-2,2147483647}'::int4[]"),
        [Int32(1), -2, 2147483647],
    )
    assert_equal(len(db.query_one[List[Int]]("SELECT '{}'::int8[]")), 0)
    assert_equal(
        db.query_one[List[String]]("SELECT array['a', 'ü', '', 'c d,\"']"),
        ["a", "ü", "", 'c d,"'],
    )
    var found = db.query_one[List[Optional[Bool]]](
        "SELECT '{t,NULL,f}'::bool[]"
    )
    assert_equal(len(found), 3)
    assert_true(found[0].value() and not found[1] and not found[2].value())
    var days = db.query_one[List[Date]]("SELECT array[date '1970-01-02']")
    assert_equal(days[0].unix_days, 1)
    var rows = db.query[Lists](
        "SELECT array[1.5::float8] AS numbers, NULL::text[] AS texts,"
        " array['\\x00'::bytea] AS octets"
    )
    assert_equal(rows[0].numbers, [1.5])
    assert_true(not rows[0].texts)
    assert_equal(len(rows[0].octets[0]), 1)
    for row in [
        ("'{1,NULL}'::int8[]", "an element that is NULL"),
        ("'{{1,2},{3,4}}'::int8[]", "more than one dimension"),
        ("'{a}'::text[]", "does not fit Int"),
        ("1::int8", "does not fit List"),
    ]:
        try:
            _ = db.query_one[List[Int]](String("SELECT ", row[0]))
            assert_true(False, row[0])
        except e:
            assert_true(row[1] in String(e), String(e))
            assert_equal(PostgresError.of(e).value().kind, PostgresError.DECODE)


@fieldwise_init
struct Lists(Movable):
    """Lists of each kind."""

    var numbers: List[Float64]
    """`double precision[]`."""
    var texts: Optional[List[String]]
    """NULL."""
    var octets: List[List[UInt8]]
    """`bytea[]`."""


def check_errors(db: Database) raises:
    """Reads the fields of the server's errors.

    Args:
        db: The database.

    Raises:
        Error: If a field is wrong.
    """
    _ = db.execute("DROP TABLE IF EXISTS errors")
    _ = db.execute(
        'CREATE TABLE errors (id int PRIMARY KEY, "a ""b" int NOT NULL, CHECK'
        " (id < 10))"
    )
    _ = db.execute("INSERT INTO errors VALUES (1, 1)")
    var error = _error_of(db, "INSERT INTO errors VALUES (1, 1)")
    assert_true(error.is_unique_violation() and error.sent)
    assert_equal(error.constraint, "errors_pkey")
    assert_equal(error.table, "errors")
    assert_equal(error.detail, "Key (id)=(1) already exists.")
    error = _error_of(db, "INSERT INTO errors VALUES (2, NULL)")
    assert_true(error.is_not_null_violation())
    assert_equal(error.column, 'a "b')
    error = _error_of(db, "INSERT INTO errors VALUES (11, 1)")
    assert_true(error.is_check_violation())
    error = _error_of(db, "SELECT nowhere FROM errors")
    assert_equal(error.sqlstate, "42703")
    assert_equal(error.position, 8)
    error = _error_of(
        db, "DO $$ BEGIN RAISE EXCEPTION E'a\\nb\" x=\"\\u00fc' ; END $$"
    )
    assert_equal(error.message, 'a\nb" x="ü')
    assert_true("\n" not in String(error))


def _same[
    T: AnyType
](db: Database, type: StringSlice, text: StringSlice, value: T) raises:
    assert_equal(
        db.query_one[String](String("SELECT ($1::", type, ")::text"), value),
        String(text),
    )


def _kind_of[T: Deinitable & Movable](db: Database, sql: String) -> Int:
    try:
        _ = db.query[T](sql)
        return -1
    except e:
        var error = PostgresError.of(e)
        return error.value().kind if error else -2


def _error_of(db: Database, sql: String) raises -> PostgresError:
    try:
        _ = db.execute(sql)
    except e:
        return PostgresError.of(e).value().copy()
    raise Error("no error: ", sql)


@fieldwise_init
struct _Two(Copyable, Movable):
    var a: Int
    var b: Int


@fieldwise_init
struct _Held(Copyable, Movable):
    var a: String
    var b: String
