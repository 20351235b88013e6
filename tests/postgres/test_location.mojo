"""Tests for `flare.postgres.location` and `flare.postgres.options`."""

from std.testing import assert_raises

from flare.postgres import Database, DatabaseOptions, PostgresTls
from flare.postgres.location import DatabaseLocation

from tests.asserting import assert_equal, assert_false, assert_true


def test_all_parts_of_a_url() raises:
    var options = DatabaseOptions()
    var place = DatabaseLocation.parse(
        (
            "postgresql://us%40er:p%3A%2F@db.example:6543/my%20shop"
            "?sslmode=require&application_name=a%20b&connect_timeout=7"
            "&options=-c%20x=1&sslrootcert=/ca.pem"
        ),
        options,
    )
    assert_equal(place.host, "db.example")
    assert_equal(place.port, 6543)
    assert_equal(place.user, "us@er")
    assert_equal(place.password.value(), "p:/")
    assert_equal(place.database, "my shop")
    assert_true(options.tls == PostgresTls.ENCRYPTED)
    assert_equal(options.application_name, "a b")
    assert_equal(options.connect_timeout_ms, 7_000)
    assert_equal(options.startup_options.value(), "-c x=1")
    assert_equal(options.trust_file.value(), "/ca.pem")


def test_what_a_url_leaves_out() raises:
    var place = _place("postgres://me@db")
    assert_equal(place.port, 5432)
    assert_equal(place.database, "me")
    assert_false(Bool(place.password))
    assert_equal(_place("postgres://me:@db/").password.value(), "")
    assert_equal(_place("postgres://me@[::1]:7/x").host, "::1")
    assert_equal(_place("postgres://me@[::1]:7/x").port, 7)
    assert_equal(_place("postgres://me@/x?host=/run/p&port=8").host, "/run/p")
    assert_equal(_place("postgres://a@b:c@host/x").user, "a@b")
    assert_equal(_place("postgres://me@h:65535").port, 65_535)


def test_local_places() raises:
    for host in ["localhost", "127.0.0.1", "[::1]", "%2Frun%2Fp"]:
        assert_true(_place(String("postgres://me@", host, "/x")).is_local())
    for host in ["db", "10.0.0.1", "[fe80::1]", "localhost.example"]:
        assert_false(_place(String("postgres://me@", host, "/x")).is_local())


def test_urls_that_are_refused_without_showing_the_password() raises:
    for url in [
        "",
        "http://me@db/x",
        "postgres://db/x",
        "postgres://@db/x",
        "postgres://me:SECRET@/x",
        "postgres://me:SECRET@db:/x",
        "postgres://me:SECRET@db:0/x",
        "postgres://me:SECRET@db:65536/x",
        "postgres://me:SECRET@db:1x/x",
        "postgres://me:SECRET@db:123456789012345678901234567890/x",
        "postgres://me:SECRET@[::1/x",
        "postgres://me:SECRET@[::1]x/x",
        "postgres://me:SECRET@a,b/x",
        "postgres://me:SEC%00RET@db/x",
        "postgres://me:SEC/RET@db/x",
        "postgres://me:SEC@RET/x@db/x",
        "postgres://me:SECRET@db/x?sslmode=prefer",
        "postgres://me:SECRET@db/x?sslmode=verify-ca",
        "postgres://me:SECRET@db/x?service=x",
        "postgres://me:SECRET@db/x?connect_timeout=x",
    ]:
        try:
            _ = _place(String(url))
            assert_true(False, String(url))
        except e:
            assert_true(
                String(e).startswith("postgres.bad_options"), String(url)
            )
            assert_false("SEC" in String(e))


def test_options_out_of_bounds_are_refused() raises:
    assert_false(Bool(DatabaseOptions().first_problem()))
    var options = DatabaseOptions()
    options.max_connections = 0
    with assert_raises(contains="max_connections"):
        _ = Database("postgres://me@db", options)
    options = DatabaseOptions()
    options.pipeline_depth = 1_001
    assert_true("pipeline_depth" in options.first_problem().value())
    options = DatabaseOptions()
    options.acquire_timeout_ms = 0
    assert_true("acquire_timeout_ms" in options.first_problem().value())
    options = DatabaseOptions()
    options.query_timeout_ms = -1
    assert_true("query_timeout_ms" in options.first_problem().value())
    options = DatabaseOptions()
    options.application_name = "a\0"
    assert_true("application_name" in options.first_problem().value())
    with assert_raises(contains="connect_timeout_ms"):
        _ = Database("postgres://me@db?connect_timeout=0")


def _place(url: String) raises -> DatabaseLocation:
    var options = DatabaseOptions()
    return DatabaseLocation.parse(url, options)


comptime TESTS = __functions_in_module()
