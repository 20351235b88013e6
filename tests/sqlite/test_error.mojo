"""Tests for `flare.sqlite.error`."""

from flare.sqlite import SqliteError

from tests.asserting import assert_equal, assert_false, assert_true


def test_the_text_form_has_all_fields() raises:
    var error = SqliteError.from_code(
        SqliteError.ENGINE, 2067, "UNIQUE constraint failed: a.b, a.c"
    )
    error.position = 3
    assert_equal(
        String(error),
        (
            'sqlite.engine 2067 message="UNIQUE constraint failed: a.b, a.c"'
            ' table="a" column="b" position="3"'
        ),
    )
    var read = SqliteError.of(Error(String(error))).value()
    assert_equal(String(read), String(error))
    assert_true(read.is_unique_violation())
    assert_false(read.is_check_violation())


def test_each_kind_is_read_back() raises:
    for kind in range(15):
        var error = SqliteError(kind, 'a "b"\n\x00', sent=kind % 2 == 0)
        var read = SqliteError.of(Error(String(error))).value()
        assert_equal(read.kind, kind)
        assert_equal(read.sent, error.sent)
        assert_equal(read.message, error.message)


def test_other_errors_have_no_fields() raises:
    for text in ["", "sqlite.", "sqlite.nothing", "postgres.server 23505"]:
        assert_false(Bool(SqliteError.of(Error(text))))
    assert_false(Bool(SqliteError.of(Error('sqlite.engine 1 message="\n"'))))


def test_names_of_constraints() raises:
    var error = _constraint(1299, "NOT NULL constraint failed: t.c")
    assert_equal(error.table, "t")
    assert_equal(error.column, "c")
    assert_true(error.is_not_null_violation())
    error = _constraint(275, "CHECK constraint failed: positive")
    assert_equal(error.constraint, "positive")
    assert_equal(error.table, "")
    assert_true(error.is_check_violation())
    error = _constraint(787, "FOREIGN KEY constraint failed")
    assert_equal(error.constraint, "")
    assert_true(error.is_foreign_key_violation())
    error = _constraint(2067, "UNIQUE constraint failed: index 'lower'")
    assert_equal(error.table, "")
    assert_true(error.is_unique_violation())


def test_classes_of_codes() raises:
    assert_true(_constraint(517, "").is_busy())
    assert_true(_constraint(6, "").is_serialization_failure())
    assert_true(_constraint(1544, "").is_read_only())
    assert_true(_constraint(13, "").is_full())
    assert_true(_constraint(267, "").is_corrupt())
    assert_true(_constraint(26, "").is_corrupt())
    assert_false(_constraint(1, "").is_busy())


comptime TESTS = __functions_in_module()


def _constraint(code: Int, message: StringSlice) -> SqliteError:
    return SqliteError.from_code(SqliteError.ENGINE, code, message)
