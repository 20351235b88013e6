"""Tests responses, their contents, and the functions that build them."""

from std.testing import assert_raises

from flare.http import (
    Body,
    Response,
    SealedContent,
    accepted,
    bad_request,
    conflict,
    created,
    created_json,
    error_response,
    forbidden,
    internal_error,
    method_not_allowed,
    no_content,
    not_found,
    not_implemented,
    ok,
    ok_html,
    ok_json,
    redirect,
    service_unavailable,
    unauthorized,
    unprocessable,
)

from tests.asserting import assert_equal, assert_true


def test_builders_set_status_type_and_content() raises:
    _check(ok("x"), 200, "text/plain; charset=utf-8", "x")
    _check(ok(), 200, "text/plain; charset=utf-8", "")
    _check(ok_json("{}"), 200, "application/json", "{}")
    _check(ok_html("<p>"), 200, "text/html; charset=utf-8", "<p>")
    _check(
        ok_html("<p>").with_status(404), 404, "text/html; charset=utf-8", "<p>"
    )
    _check(created("x"), 201, "text/plain; charset=utf-8", "x")
    _check(created_json("{}"), 201, "application/json", "{}")
    assert_equal(
        created_json("{}", location="/ä b").headers.get("Location").value(),
        "/%C3%A4%20b",
    )
    with assert_raises(contains="message.bad_header_value"):
        _ = created_json("{}", location="/a\r\nX: y")
    _check(accepted("x"), 202, "text/plain; charset=utf-8", "x")
    _check(no_content(), 204, "", "")
    _check(bad_request(), 400, "text/plain; charset=utf-8", "bad request")
    _check(bad_request("x"), 400, "text/plain; charset=utf-8", "x")
    _check(forbidden(), 403, "text/plain; charset=utf-8", "forbidden")
    _check(not_found(), 404, "text/plain; charset=utf-8", "not found")
    _check(conflict("x"), 409, "text/plain; charset=utf-8", "x")
    _check(unprocessable("x"), 422, "text/plain; charset=utf-8", "x")
    _check(
        internal_error(),
        500,
        "text/plain; charset=utf-8",
        "internal server error",
    )
    _check(
        not_implemented(), 501, "text/plain; charset=utf-8", "not implemented"
    )
    _check(
        error_response(413),
        413,
        "text/plain; charset=utf-8",
        "Content Too Large",
    )


def test_long_and_sealed_contents_are_sent_from_where_they_are() raises:
    for count in [0, 8 << 10, (8 << 10) + 1, 32 << 10, (32 << 10) + 1]:
        var octets = List[UInt8](length=count, fill=120)
        var sealed = ok(SealedContent(octets))
        assert_equal(sealed.body.is_copied(), count <= 8 << 10)
        assert_equal(ok(octets^).body.is_copied(), count <= 32 << 10)


def test_sealed_content_is_shared_by_the_responses_that_carry_it() raises:
    var sealed = SealedContent("never changes")
    assert_equal(len(sealed), 13)
    var first = ok_json(sealed)
    var second = ok(sealed)
    assert_true(first.body.is_sealed())
    assert_true(not ok("x").body.is_sealed())
    assert_equal(
        Int(first.body.octets().unsafe_ptr()),
        Int(second.body.octets().unsafe_ptr()),
    )
    _check(first, 200, "application/json", "never changes")
    _ = sealed^
    _ = first^
    _check(second, 200, "text/plain; charset=utf-8", "never changes")
    _check(
        ok(SealedContent(List[UInt8]())), 200, "text/plain; charset=utf-8", ""
    )


def test_parts_of_sealed_content_are_answered() raises:
    var sealed = SealedContent("never changes")
    var part = sealed[6:]
    _ = sealed^
    assert_equal(len(part), 7)
    _check(ok_json(part), 200, "application/json", "changes")
    _check(ok_json(part[2:5][:2]), 200, "application/json", "an")
    assert_equal(len(part[3:3]), 0)
    _check(ok_json(part[3:3]), 200, "application/json", "")
    assert_equal(len(part[5:2]), 0)
    _check(ok_json(part[3:99]), 200, "application/json", "nges")
    _check(ok_json(part[-2:]), 200, "application/json", "es")
    assert_true(ok(part).body.is_sealed())


def test_builders_set_the_field_that_belongs_to_the_status() raises:
    assert_equal(_field(created("x", "/users/7"), "Location"), "/users/7")
    assert_equal(_field(created("x"), "Location"), "")
    var moved = redirect("/new", 308)
    assert_equal(moved.status, 308)
    assert_equal(_field(moved, "Location"), "/new")
    assert_equal(redirect("/new").status, 302)
    assert_equal(_field(unauthorized("Bearer"), "WWW-Authenticate"), "Bearer")
    assert_equal(_field(method_not_allowed("GET, HEAD"), "Allow"), "GET, HEAD")
    assert_equal(_field(service_unavailable(7), "Retry-After"), "7")


def test_locations_are_escaped() raises:
    var rows: List[Tuple[String, String]] = [
        ("/café x", "/caf%C3%A9%20x"),
        ("/caf%C3%A9%20x", "/caf%C3%A9%20x"),
        ("/ok?q=100%#a#b", "/ok?q=100%25#a#b"),
        ("/%4", "/%254"),
        ('/a"b<c>d\\e^f`g{h|i}j', "/a%22b%3Cc%3Ed%5Ce%5Ef%60g%7Bh%7Ci%7Dj"),
        ("https://[::1]:8443/~a;b=c,d'e(f)!$&*+@", ""),
        ("//b.example/😀", "//b.example/%F0%9F%98%80"),
    ]
    for row in rows:
        var wanted = row[1] if row[1] else row[0]
        assert_equal(_field(redirect(row[0]), "Location"), wanted)
        assert_equal(_field(created("x", row[0]), "Location"), wanted)


def test_a_location_cannot_split_the_response() raises:
    with assert_raises(contains="message.bad_header_value"):
        _ = redirect("/\r\nSet-Cookie: a=b")
    with assert_raises(contains="message.bad_header_value"):
        _ = created("x", "/\nX: y")


def test_what_was_not_found_is_cut_to_256_octets() raises:
    var prefix = String("not found: ")
    assert_equal(String(not_found("x" * 256).text()), prefix + "x" * 256)
    assert_equal(String(not_found("x" * 257).text()), prefix + "x" * 256)


def test_contents_keep_their_octets_however_they_came() raises:
    var text = String("0123456789012345678901234567890123456789")
    assert_equal(String(Body("literal").text()), "literal")
    assert_equal(String(Body(text).text()), text)
    assert_equal(String(Body(StringSlice(text)).text()), text)
    assert_equal(String(Body(text.as_bytes()).text()), text)
    assert_equal(String(Body(List[UInt8](text.as_bytes())).text()), text)
    assert_equal(len(Body(text.as_bytes())), 40)
    assert_equal(len(Body()), 0)
    assert_equal(len(Body(text.as_bytes()[:0])), 0)


def test_a_content_moves_with_its_response() raises:
    var text = String("short")
    var response = ok(text)
    var body = response^.into_body()
    assert_equal(String(body.text()), "short")


def test_success_is_200_to_299() raises:
    var rows: List[Tuple[Int, Bool]] = [
        (199, False),
        (200, True),
        (299, True),
        (300, False),
    ]
    for row in rows:
        assert_equal(Response(row[0]).ok(), row[1])


def test_a_header_is_set_in_an_expression() raises:
    var response = ok("x").with_header("X-A", "1").with_header("x-a", "2")
    assert_equal(_field(response, "X-A"), "2")
    assert_equal(response.headers.count("X-A"), 1)
    with assert_raises(contains="message.bad_header_name"):
        _ = ok("x").with_header("a b", "1")


def _check(
    response: Response, status: Int, type: StringSlice, text: StringSlice
) raises:
    assert_equal(response.status, status)
    assert_equal(_field(response, "Content-Type"), String(type))
    assert_equal(String(response.text()), String(text))


def _field(response: Response, name: StringSlice) -> String:
    var value = response.headers.get(name)
    return String(value.value()) if value else String()


comptime TESTS = __functions_in_module()
