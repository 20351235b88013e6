"""Tests for `flare.postgres.error` and `flare.core.error_text`."""

from flare.postgres import PostgresError

from tests.asserting import assert_equal, assert_false, assert_true


def test_every_field_survives_the_text() raises:
    var error = PostgresError(PostgresError.SERVER, sent=True)
    error.sqlstate = "23505"
    error.message = 'line 1\nline "2" \\x41 sent="false" ü'
    error.detail = "Key (id)=(1) already exists."
    error.hint = "a hint"
    error.constraint = "items_pkey"
    error.table = "items"
    error.column = 'a " b'
    error.position = 15
    var text = String(error)
    for octet in text.as_bytes():
        assert_true(octet >= 32 and octet < 127, text)
    assert_true(text.startswith('postgres.server 23505 message="line 1\\x0a'))
    var read = PostgresError.of(Error(text)).value()
    assert_equal(read.kind, PostgresError.SERVER)
    assert_equal(read.sqlstate, "23505")
    assert_equal(read.message, error.message)
    assert_equal(read.detail, error.detail)
    assert_equal(read.hint, error.hint)
    assert_equal(read.constraint, error.constraint)
    assert_equal(read.table, error.table)
    assert_equal(read.column, error.column)
    assert_equal(read.position, 15)
    assert_true(read.sent)


def test_every_kind_survives_the_text() raises:
    for kind in range(PostgresError.ROLLED_BACK + 1):
        var error = PostgresError(kind, "why")
        var read = PostgresError.of(Error(String(error)))
        assert_equal(read.value().kind, kind)
        assert_equal(read.value().message, "why")
    assert_equal(
        String(PostgresError(PostgresError.NO_ROWS)), "postgres.no_rows"
    )


def test_whether_it_was_sent_survives_the_text() raises:
    for kind in range(
        PostgresError.CONNECTION_LOST, PostgresError.ROLLED_BACK + 1
    ):
        for sent in [True, False]:
            var error = PostgresError(kind, "x", sent=sent)
            var read = PostgresError.of(Error(String(error))).value()
            assert_equal(read.sent, sent)


def test_which_errors_may_pass() raises:
    for kind in range(PostgresError.ROLLED_BACK + 1):
        assert_equal(
            PostgresError(kind).is_transient(),
            kind == PostgresError.CONNECTION_LOST
            or kind == PostgresError.CONNECT
            or kind == PostgresError.TIMEOUT
            or kind == PostgresError.ACQUIRE_TIMEOUT,
        )
    for code in ["40001", "40P01", "53300", "55P03", "57P01", "57P03"]:
        var error = PostgresError(PostgresError.SERVER)
        error.sqlstate = String(code)
        assert_true(error.is_transient(), code)
    for code in ["23505", "42P01", "22012", "25P02", "57014", "28P01"]:
        for kind in [PostgresError.SERVER, PostgresError.CONNECT]:
            var error = PostgresError(kind)
            error.sqlstate = String(code)
            assert_false(error.is_transient(), code)


def test_other_texts_are_no_errors_of_the_database() raises:
    for text in [
        "",
        "net.timeout wait errno=110",
        "postgres",
        "postgres.",
        "postgres.nothing",
        "postgres.server 23505 42601",
        'postgres.server message="x',
        "postgres.server message=x",
        'postgres.server message="x"y',
        'postgres.server message="x" 23505',
        'postgres.server message="ü"',
        "postgres.server a=",
    ]:
        assert_false(Bool(PostgresError.of(Error(String(text)))), String(text))


def test_the_codes_of_violations() raises:
    var error = PostgresError(PostgresError.SERVER)
    error.sqlstate = "23505"
    assert_true(error.is_unique_violation())
    error.sqlstate = "23503"
    assert_true(error.is_foreign_key_violation())
    error.sqlstate = "23514"
    assert_true(error.is_check_violation())
    error.sqlstate = "23502"
    assert_true(error.is_not_null_violation())
    for code in ["40001", "40P01"]:
        error.sqlstate = String(code)
        assert_true(error.is_serialization_failure())
    error.sqlstate = "42601"
    assert_false(
        error.is_unique_violation()
        or error.is_foreign_key_violation()
        or error.is_check_violation()
        or error.is_not_null_violation()
        or error.is_serialization_failure()
    )


comptime TESTS = __functions_in_module()
