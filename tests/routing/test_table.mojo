"""Tests for `flare.http.routing.table`."""

from std.testing import assert_raises

from flare.core import heap_create, heap_destroy
from flare.http.routing import Captures, RouteTable
from flare.message import Method

from tests.asserting import assert_equal


def test_the_most_specific_pattern_wins_whatever_the_order() raises:
    for order in range(2):
        var table = RouteTable()
        var patterns: List[StaticString] = [
            "/a/b",
            "/a/:x",
            "/a/*",
            "/:x/b",
            "/:x/:y",
            "/*",
            "/a/:x/c",
            "/:x/b/d",
        ]
        for i in range(len(patterns)):
            var at = i if order == 0 else len(patterns) - 1 - i
            table.add("GET", patterns[at], at)
        for row in [
            Row("GET", "/a/b", "/a/b"),
            Row("GET", "/a/z", "/a/:x x=z"),
            Row("GET", "/a/", "/a/* *="),
            Row("GET", "/z/b", "/:x/b x=z"),
            Row("GET", "/z/y", "/:x/:y x=z y=y"),
            Row("GET", "/z", "/* *=z"),
            Row("GET", "/", "/* *="),
            # Literal branches that end dead give way to later choices.
            Row("GET", "/a/b/c", "/a/:x/c x=b"),
            Row("GET", "/a/b/d", "/a/* *=b/d"),
            Row("GET", "/z/b/d", "/:x/b/d x=z"),
            Row("GET", "/z/b/e", "/* *=z/b/e"),
        ]:
            assert_equal(_answer(table, row.method, row.path), row.answer)


def test_a_pattern_without_the_method_leaves_the_path_to_others() raises:
    var table = RouteTable()
    table.add("POST", "/files/upload", 0)
    table.add("GET", "/files/*path", 1)
    table.add("DELETE", "/files/:name", 2)
    for row in [
        Row("GET", "/files/upload", "/files/*path path=upload"),
        Row("POST", "/files/upload", "/files/upload"),
        Row("DELETE", "/files/upload", "/files/:name name=upload"),
        Row("PUT", "/files/upload", "405 GET, HEAD, POST, DELETE, OPTIONS"),
        Row("PUT", "/files/other", "405 GET, HEAD, DELETE, OPTIONS"),
        Row("PUT", "/files/a/b", "405 GET, HEAD, OPTIONS"),
        Row("PUT", "/elsewhere", "404"),
    ]:
        assert_equal(_answer(table, row.method, row.path), row.answer)


def test_methods_follow_rfc_9110() raises:
    var table = RouteTable()
    table.add("GET", "/get", 0)
    table.add("POST", "/post", 1)
    table.add("HEAD", "/both", 2)
    table.add("GET", "/both", 3)
    table.add("HEAD", "/head", 4)
    table.add("OPTIONS", "/own", 5)
    table.add("PURGE", "/cache", 6)
    for row in [
        Row("GET", "/get", "/get"),
        Row("HEAD", "/get", "/get"),
        Row("HEAD", "/post", "405 POST, OPTIONS"),
        Row("GET", "/head", "405 HEAD, OPTIONS"),
        Row("OPTIONS", "/get", "204 GET, HEAD, OPTIONS"),
        Row("OPTIONS", "/own", "/own"),
        Row("GET", "/own", "405 OPTIONS"),
        Row("OPTIONS", "/none", "404"),
        Row("PURGE", "/cache", "/cache"),
        Row("PURGE", "/get", "405 GET, HEAD, OPTIONS"),
        Row("GET", "/cache", "405 OPTIONS, PURGE"),
        Row("PATCH", "/none", "404"),
        # Known to HTTP, though no route has it.
        Row("TRACE", "/get", "405 GET, HEAD, OPTIONS"),
        Row("CONNECT", "/get", "405 GET, HEAD, OPTIONS"),
        # Known to nobody; methods are case-sensitive.
        Row("BREW", "/get", "501"),
        Row("BREW", "/none", "501"),
        Row("get", "/get", "501"),
        Row("PURG", "/cache", "501"),
        Row("PURGES", "/cache", "501"),
        # The path is judged first.
        Row("BREW", "/../get", "400"),
    ]:
        assert_equal(_answer(table, row.method, row.path), row.answer)
    var own = _match(table, "HEAD", "/both")
    assert_equal(own, 2)
    assert_equal(_match(table, "GET", "/both"), 3)


def test_the_target_asterisk_belongs_to_options() raises:
    var table = RouteTable()
    table.add("GET", "/a", 0)
    table.add("PURGE", "/b", 1)
    assert_equal(
        _answer(table, "OPTIONS", "*"), "204 GET, HEAD, OPTIONS, PURGE"
    )
    assert_equal(_answer(table, "GET", "*"), "400")
    table.add("OPTIONS", "*", 7)
    assert_equal(_match(table, "OPTIONS", "*"), 7)
    with assert_raises(contains="OPTIONS * is there already"):
        table.add("OPTIONS", "*", 8)
    with assert_raises(contains="only OPTIONS has the target *"):
        table.add("GET", "*", 8)


def test_segments_are_compared_decoded_and_never_split_by_escapes() raises:
    var table = RouteTable()
    table.add("GET", "/caf%C3%A9/:x", 0)
    table.add("GET", "/a%2Fb", 1)
    table.add("GET", "/a/b", 2)
    table.add("GET", "/files/*", 3)
    table.add("GET", "/%3Aid", 4)
    table.add("GET", "/long-literal-of-more-than-sixteen-octets", 5)
    for row in [
        Row("GET", "/café/1", "/caf%C3%A9/:x x=1"),
        Row("GET", "/c%61f%c3%a9/a%2Fb", "/caf%C3%A9/:x x=a%2Fb"),
        Row("GET", "/a%2fb", "/a%2Fb"),
        Row("GET", "/a/b", "/a/b"),
        Row("GET", "/a/%62", "/a/b"),
        Row("GET", "/a%252Fb", "404"),
        Row("GET", "/files/%2Fetc%2F", "/files/* *=%2Fetc%2F"),
        Row("GET", "/:id", "/%3Aid"),
        Row("GET", "/A/b", "404"),
        Row(
            "GET",
            "/long-literal-of-more-th%61n-sixteen-octets",
            "/long-literal-of-more-than-sixteen-octets",
        ),
        Row("GET", "/long-literal-of-more-than-sixteen-octetS", "404"),
        Row("GET", "/Long-literal-of-more-than-sixteen-octets", "404"),
    ]:
        assert_equal(_answer(table, row.method, row.path), row.answer)


def test_slashes_count_and_parameters_take_no_empty_segment() raises:
    var table = RouteTable()
    table.add("GET", "/a", 0)
    table.add("GET", "/b/", 1)
    table.add("GET", "/c/:x/d", 2)
    table.add("GET", "/e//f", 3)
    table.add("GET", "/g/*", 4)
    for row in [
        Row("GET", "/a/", "404"),
        Row("GET", "/b", "404"),
        Row("GET", "/b/", "/b/"),
        Row("GET", "//a", "404"),
        Row("GET", "/c//d", "404"),
        Row("GET", "/c/1/d", "/c/:x/d x=1"),
        Row("GET", "/c/1/d/", "404"),
        Row("GET", "/c/1", "404"),
        Row("GET", "/e/f", "404"),
        Row("GET", "/e//f", "/e//f"),
        Row("GET", "/g", "404"),
        Row("GET", "/g/", "/g/* *="),
        Row("GET", "/g//", "/g/* *=/"),
        Row("GET", "/g/x//y/", "/g/* *=x//y/"),
        Row("GET", "/", "404"),
        Row("GET", "", "400"),
    ]:
        assert_equal(_answer(table, row.method, row.path), row.answer)


def test_the_other_slash_is_found_but_never_names_another_host() raises:
    var table = RouteTable()
    table.add("GET", "/a", 0)
    table.add("GET", "/b/", 1)
    table.add("GET", "/c/:x", 2)
    table.add("GET", "/:any/*", 3)
    table.add("POST", "/d", 4)
    var captures = heap_create(Captures())
    for row in [
        Slash("/a/", True),
        Slash("/b", True),
        Slash("/c/1/", True),
        Slash("/d/", False),
        Slash("/", False),
        Slash("//evil.example", False),
        Slash("//evil.example/", False),
        Slash("/\\evil.example", False),
        Slash("/a/../", False),
    ]:
        assert_equal(
            table.finds_with_other_slash(
                Method.GET, "GET".as_bytes(), row.path.as_bytes(), captures
            ),
            row.is_found,
            row.path,
        )
        assert_equal(len(captures[]), 0)
    heap_destroy(captures)


def test_one_method_and_one_shape_make_a_duplicate() raises:
    var table = RouteTable()
    table.add("GET", "/a/:x", 0)
    table.add("GET", "/a/*", 1)
    table.add("POST", "/a/:y", 2)
    table.add("GET", "/a/x", 3)
    for pattern in ["/a/:y", "/a/{z}", "/%61/:x", "/a/*rest", "/a/%78"]:
        with assert_raises(contains="pattern of the same shape, /"):
            table.add("GET", pattern, 9)
    assert_equal(len(table), 4)
    assert_equal(_answer(table, "POST", "/a/1"), "/a/:y y=1")


def test_a_method_is_a_token_and_there_are_at_most_54_new_ones() raises:
    var table = RouteTable()
    for bad in ["", "GE T", "GET/", "GET\n"]:
        with assert_raises(contains="http.bad_route the method is not a token"):
            table.add(bad, "/", 0)
    for i in range(54):
        table.add(String("METHOD-", i), "/", i)
    assert_equal(_match(table, "METHOD-53", "/"), 53)
    with assert_raises(contains="http.bad_route there are too many methods"):
        table.add("METHOD-54", "/", 54)


def test_a_mounted_table_answers_behind_its_prefix() raises:
    var users = RouteTable()
    users.add("GET", "/", 0)
    users.add("GET", "/:id", 1)
    users.add("PURGE", "/:id/cache/*", 2)
    var table = RouteTable()
    table.add("GET", "/", 0)
    table.mount("/api/users", users, 10)
    table.mount("/t/:tenant/", users, 20)
    for row in [
        Row("GET", "/api/users", "/api/users"),
        Row("GET", "/api/users/", "404"),
        Row("GET", "/api/users/7", "/api/users/:id id=7"),
        Row("GET", "/t/acme", "/t/:tenant tenant=acme"),
        Row("GET", "/t/acme/7", "/t/:tenant/:id tenant=acme id=7"),
        Row(
            "PURGE",
            "/t/acme/7/cache/x/y",
            "/t/:tenant/:id/cache/* tenant=acme id=7 *=x/y",
        ),
    ]:
        assert_equal(_answer(table, row.method, row.path), row.answer)
    assert_equal(_match(table, "GET", "/api/users/7"), 11)
    assert_equal(_match(table, "GET", "/t/acme/7"), 21)
    with assert_raises(contains="two parameters have the same name"):
        table.mount("/x/:id", users, 40)
    with assert_raises(contains="pattern of the same shape"):
        table.mount("/", users, 50)
    with assert_raises(contains="* is not the last segment"):
        table.mount("/y/*", users, 60)
    users.add("OPTIONS", "*", 3)
    with assert_raises(contains="OPTIONS * cannot be mounted"):
        table.mount("/z", users, 70)


def test_a_table_mounted_at_the_root_keeps_its_patterns() raises:
    var inner = RouteTable()
    inner.add("GET", "/", 0)
    inner.add("GET", "/a/*", 1)
    var table = RouteTable()
    table.mount("/", inner, 5)
    assert_equal(_match(table, "GET", "/"), 5)
    assert_equal(_match(table, "GET", "/a/b"), 6)


def test_an_empty_table_finds_nothing() raises:
    var table = RouteTable()
    assert_equal(_answer(table, "GET", "/"), "404")
    assert_equal(_answer(table, "OPTIONS", "*"), "204 OPTIONS")
    assert_equal(_answer(table, "BREW", "/"), "501")


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
            assert_equal(plain.endpoint, -1, patterns[i])
    # Other ways to write the same paths, and other paths.
    for path in ["", "*", "/%61", "/a/%62", "/a/x/c", "/%c3%a4", "//", "/b/"]:
        var plain = table.find_plain(Method.GET, path.as_bytes())
        assert_equal(plain.endpoint, -1, path)


def test_a_path_is_found_with_the_methods_of_its_own_routes_only() raises:
    var table = RouteTable()
    table.add("GET", "/both", 0)
    table.add("HEAD", "/both", 1)
    table.add("GET", "/get", 2)
    table.add("OPTIONS", "*", 3)
    table.add("PURGE", "/get", 4)
    var rows: List[Plain] = [
        Plain(Method.GET, "/both", 0),
        Plain(Method.HEAD, "/both", 1),
        Plain(Method.GET, "/get", 2),
        Plain(Method.HEAD, "/get", -1),
        Plain(Method.POST, "/get", -1),
        Plain(Method.OPTIONS, "/get", -1),
        Plain(Method.OTHER, "/get", -1),
        Plain(Method.OTHER, "", -1),
        Plain(Method.OPTIONS, "*", -1),
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
        Plain(Method.GET, "/api", 5),
        Plain(Method.POST, "/api/a", 6),
        Plain(Method.POST, "/api/2/a", -1),
        Plain(Method.GET, "/later", -1),
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
    assert_equal(plain.endpoint, -1)


@fieldwise_init
struct Row(Copyable):
    var method: StaticString
    var path: StaticString
    var answer: StaticString


@fieldwise_init
struct Slash(Copyable):
    var path: StaticString
    var is_found: Bool


@fieldwise_init
struct Plain(Copyable):
    var method: Method
    var path: StaticString
    var endpoint: Int


def _match(table: RouteTable, method: StringSlice, path: StringSlice) -> Int:
    var captures = heap_create(Captures())
    var found = table.find(
        Method.from_octets(method.as_bytes()),
        method.as_bytes(),
        path.as_bytes(),
        captures,
    )
    heap_destroy(captures)
    return found.endpoint


def _answer(
    table: RouteTable, method: StringSlice, path: StringSlice
) raises -> String:
    """Says what the table answers: pattern and parameters, or status and Allow.
    """
    var captures = heap_create(Captures())
    var known = Method.from_octets(method.as_bytes())
    var searched = table.search(
        known, method.as_bytes(), path.as_bytes(), captures
    )
    var found = table.find(known, method.as_bytes(), path.as_bytes(), captures)
    assert_equal(found.kind, searched.kind)
    assert_equal(found.route, searched.route)
    assert_equal(found.endpoint, searched.endpoint)
    assert_equal(found.allowed, searched.allowed)
    var text = String()
    if found.endpoint >= 0:
        text += table.pattern(found.route)
        for i in range(len(captures[])):
            var name = table.parameter_name(found.route, i)
            assert_equal(table.parameter_index(found.route, name), i)
            var start = Int(captures[][i].start)
            var end = start + Int(captures[][i].octets)
            text += String(
                " ",
                name,
                "=",
                StringSlice(unsafe_from_utf8=path.as_bytes()[start:end]),
            )
        assert_equal(table.parameter_index(found.route, "missing"), -1)
    else:
        assert_equal(len(captures[]), 0)
        comptime STATUSES: List[StaticString] = [
            "200",
            "404",
            "405",
            "501",
            "204",
            "400",
        ]
        text += materialize[STATUSES]()[Int(found.kind.value)]
        if found.allowed != 0:
            text += " "
            table.write_allow(found.allowed, text)
    heap_destroy(captures)
    return text^


comptime TESTS = __functions_in_module()
