"""Tests for `flare.http.routing.plain_paths` and what a table puts there."""

from std.testing import assert_equal

from flare.http.routing import RouteTable
from flare.http.routing.plain_paths import NO_ENDPOINT, PlainPaths
from flare.message import Method


def test_patterns_without_parameters_are_found_by_their_own_text() raises:
    var table = RouteTable()
    var patterns: List[StaticString] = [
        "/",
        "/a",
        "/a/",
        "/a//b",
        "/%C3%A4",
        "/a/:x",
        "/a/{x}/c",
        "/b/*",
    ]
    for i in range(len(patterns)):
        table.add("GET", patterns[i], 10 + i)
    for i in range(len(patterns)):
        var plain = table.find_plain(Method.GET, patterns[i].as_bytes())
        if i < 5:
            assert_equal(plain.endpoint, 10 + i, patterns[i])
            assert_equal(plain.route, i, patterns[i])
            assert_equal(plain.pattern, patterns[i])
        else:
            assert_equal(plain.endpoint, NO_ENDPOINT, patterns[i])
    # Other ways to write the same paths, and other paths.
    for path in ["", "*", "/%61", "/a/%62", "/a/x/c", "/%c3%a4", "//", "/b/"]:
        var plain = table.find_plain(Method.GET, path.as_bytes())
        assert_equal(plain.endpoint, NO_ENDPOINT, path)


def test_a_path_is_found_with_the_methods_of_its_own_routes_only() raises:
    var table = RouteTable()
    table.add("GET", "/both", 0)
    table.add("HEAD", "/both", 1)
    table.add("GET", "/get", 2)
    table.add("OPTIONS", "*", 3)
    table.add("PURGE", "/get", 4)
    var rows: List[Row] = [
        Row(Method.GET, "/both", 0),
        Row(Method.HEAD, "/both", 1),
        Row(Method.GET, "/get", 2),
        Row(Method.HEAD, "/get", NO_ENDPOINT),
        Row(Method.POST, "/get", NO_ENDPOINT),
        Row(Method.OPTIONS, "/get", NO_ENDPOINT),
        Row(Method.OTHER, "/get", NO_ENDPOINT),
        Row(Method.OTHER, "", NO_ENDPOINT),
        Row(Method.OPTIONS, "*", NO_ENDPOINT),
    ]
    for row in rows:
        var plain = table.find_plain(row.method, row.path.as_bytes())
        assert_equal(plain.endpoint, row.endpoint, String(row.method, row.path))


def test_mounted_routes_and_copies_are_found_too() raises:
    var inner = RouteTable()
    inner.add("GET", "/", 0)
    inner.add("POST", "/a", 1)
    var table = RouteTable()
    table.mount("/api", inner, 5)
    table.mount("/api/:version", inner, 7)
    var copy = table.copy()
    table.add("GET", "/later", 9)
    for row in [
        Row(Method.GET, "/api", 5),
        Row(Method.POST, "/api/a", 6),
        Row(Method.POST, "/api/2/a", NO_ENDPOINT),
        Row(Method.GET, "/later", NO_ENDPOINT),
    ]:
        var plain = copy.find_plain(row.method, row.path.as_bytes())
        assert_equal(plain.endpoint, row.endpoint, row.path)


def test_a_refused_route_is_not_found() raises:
    var table = RouteTable()
    table.add("GET", "/%61", 0)
    try:
        table.add("GET", "/a", 1)
    except:
        pass
    var plain = table.find_plain(Method.GET, "/a".as_bytes())
    assert_equal(plain.endpoint, NO_ENDPOINT)


def test_paths_of_every_length_differ_in_every_octet() raises:
    for length in List(range(1, 40)) + [256, 257, 2048]:
        var paths = PlainPaths()
        var path = List[UInt8](length=length, fill=UInt8(ord("x")))
        paths.add(Method.PUT, path, 3, 4)
        assert_equal(paths.find(Method.PUT, path).endpoint, 4)
        assert_equal(paths.find(Method.GET, path).endpoint, NO_ENDPOINT)
        for at in range(length):
            path[at] = UInt8(ord("y"))
            assert_equal(paths.find(Method.PUT, path).endpoint, NO_ENDPOINT)
            path[at] = UInt8(ord("x"))
        path.append(UInt8(ord("x")))
        assert_equal(paths.find(Method.PUT, path).endpoint, NO_ENDPOINT)


def test_a_table_that_grows_keeps_its_paths() raises:
    var paths = PlainPaths()
    for i in range(1000):
        var path = String("/path-", i)
        paths.add(Method.GET, path.as_bytes(), i, 2 * i)
        paths.add(Method.POST, path.as_bytes(), i, 2 * i + 1)
    for i in range(1000):
        var path = String("/path-", i)
        var got = paths.find(Method.GET, path.as_bytes())
        assert_equal(got.route, i)
        assert_equal(got.endpoint, 2 * i)
        assert_equal(got.pattern, path)
        var posted = paths.find(Method.POST, path.as_bytes())
        assert_equal(posted.endpoint, 2 * i + 1)
        var other = String("/path_", i)
        var none = paths.find(Method.GET, other.as_bytes())
        assert_equal(none.endpoint, NO_ENDPOINT)


@fieldwise_init
struct Row(Copyable, Movable):
    var method: Method
    var path: StaticString
    var endpoint: Int


comptime TESTS = __functions_in_module()
