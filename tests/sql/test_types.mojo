"""Lets one struct have types of columns in both databases."""

from flare.postgres import Column as PostgresColumn
from flare.postgres import FromColumn as FromPostgres
from flare.postgres import Timestamp as PostgresTimestamp
from flare.postgres.answer import Answer
from flare.postgres.parameter import encode_parameters
from flare.postgres.type_ids import TypeId
from flare.sql import Date, Timestamp
from flare.sql.rows import decode_rows
from flare.sqlite import Column as SqliteColumn
from flare.sqlite import Database
from flare.sqlite import FromColumn as FromSqlite

from tests.asserting import assert_equal, assert_true


@fieldwise_init
struct Price(FromPostgres, FromSqlite, ImplicitlyCopyable):
    """A type of a program for both."""

    var cents: Int

    @staticmethod
    def from_column(column: PostgresColumn) raises -> Self:
        return Self(Int.from_column(column))

    @staticmethod
    def from_column(column: SqliteColumn) raises -> Self:
        return Self(Int.from_column(column))


@fieldwise_init
struct Sale(Copyable, Movable):
    var at: PostgresTimestamp
    var day: Optional[Date]
    var price: Price


def test_one_struct_fits_both_databases() raises:
    var db = Database(":memory:")
    var sale = db.query_one[Sale](
        "SELECT $1 AS at, $2 AS day, $3 AS price",
        Timestamp(981_173_106_789_000),
        Date(11_356),
        599,
    )
    assert_equal(sale.at.unix_us, 981_173_106_789_000)
    assert_equal(sale.day.value().unix_days, 11_356)
    assert_equal(sale.price.cents, 599)
    var parameters = encode_parameters(sale.at, sale.day)
    assert_equal(parameters.types[0], Int32(TypeId.TIMESTAMPTZ))
    assert_equal(parameters.types[1], Int32(TypeId.DATE))
    # There is no server here: that it compiles is the test.
    comptime decode = decode_rows[S=Answer, T=Sale]
    assert_true(Answer.decodes[Price]())
    assert_true(Answer.decodes[List[Timestamp]]())


comptime TESTS = __functions_in_module()
