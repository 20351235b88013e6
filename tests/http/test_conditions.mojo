"""Tests conditional requests: tables of fields, and handlers that answer."""

from flare.http import (
    ConditionResult,
    ETag,
    HeaderMap,
    HttpDate,
    Method,
    Request,
    Response,
    Router,
    Validators,
    evaluate_conditions,
    no_content,
    not_modified,
    ok,
    precondition_failed,
    precondition_fails,
    range_applies,
    unchanged,
)
from flare.testing import TestClient

from tests.asserting import assert_equal, assert_false, assert_true

comptime _NOW = 1_700_000_000
comptime _MODIFIED = 946_684_800
comptime _AT: StaticString = "Sat, 01 Jan 2000 00:00:00 GMT"
comptime _BEFORE: StaticString = "Fri, 31 Dec 1999 23:59:59 GMT"
comptime _AFTER: StaticString = "Sat, 01 Jan 2000 00:00:01 GMT"


def test_each_pair_of_conditions_is_decided_in_the_order_of_the_rfc() raises:
    # A field, `+` if it has the state of the resource, `-` if another one;
    # the answers to GET and HEAD, and to PUT and DELETE.
    var rows: List[Tuple[String, String, String]] = [
        ("", "200", "200"),
        ("IM+", "200", "200"),
        ("IM-", "412", "412"),
        ("US+", "200", "200"),
        ("US-", "412", "412"),
        ("NM+", "304", "412"),
        ("NM-", "200", "200"),
        ("MS+", "304", "200"),
        ("MS-", "200", "200"),
        ("IM+ US+", "200", "200"),
        ("IM+ US-", "200", "200"),
        ("IM- US+", "412", "412"),
        ("IM- US-", "412", "412"),
        ("IM+ NM+", "304", "412"),
        ("IM+ NM-", "200", "200"),
        ("IM- NM+", "412", "412"),
        ("IM- NM-", "412", "412"),
        ("IM+ MS+", "304", "200"),
        ("IM+ MS-", "200", "200"),
        ("IM- MS+", "412", "412"),
        ("IM- MS-", "412", "412"),
        ("US+ NM+", "304", "412"),
        ("US+ NM-", "200", "200"),
        ("US- NM+", "412", "412"),
        ("US- NM-", "412", "412"),
        ("US+ MS+", "304", "200"),
        ("US+ MS-", "200", "200"),
        ("US- MS+", "412", "412"),
        ("US- MS-", "412", "412"),
        ("NM+ MS+", "304", "412"),
        ("NM+ MS-", "304", "412"),
        ("NM- MS+", "200", "200"),
        ("NM- MS-", "200", "200"),
        ("IM+ US- NM- MS+", "200", "200"),
        ("IM+ US- NM+ MS-", "304", "412"),
        ("IM- US+ NM+ MS+", "412", "412"),
        ("US+ NM- MS+", "200", "200"),
    ]
    var validators = Validators(ETag.strong("a"), HttpDate(_MODIFIED))
    for row in rows:
        var fields = _fields_of(row[0])
        for method in [Method.GET, Method.HEAD]:
            assert_equal(_answer(method, fields, validators), row[1], row[0])
        for method in [Method.PUT, Method.DELETE, Method.OTHER]:
            assert_equal(_answer(method, fields, validators), row[2], row[0])
        for method in [Method.OPTIONS, Method.TRACE, Method.CONNECT]:
            assert_equal(_answer(method, fields, validators), "200", row[0])


def test_the_order_of_the_lines_does_not_matter() raises:
    var validators = Validators(ETag.strong("a"), HttpDate(_MODIFIED))
    var fields = HeaderMap()
    fields.append("if-modified-since", _AT)
    fields.append("if-none-match", '"b"')
    fields.append("IF-MATCH", '"a"')
    assert_equal(_answer(Method.GET, fields, validators), "200")


def test_tags_are_compared_weakly_to_read_and_strongly_to_write() raises:
    # The tag, the field; the answers to GET with If-None-Match, and to PUT
    # with If-Match.
    var rows: List[Tuple[String, String, String, String]] = [
        ('"a"', '"a"', "304", "200"),
        ('"a"', 'W/"a"', "304", "412"),
        ('W/"a"', '"a"', "304", "412"),
        ('W/"a"', 'W/"a"', "304", "412"),
        ('"a"', '"b", "a"', "304", "200"),
        ('"a"', '"b"', "200", "412"),
        ('"a"', "a", "200", "412"),
        ('"a"', "*", "304", "200"),
        ('W/"a"', "*", "304", "200"),
        ('"a"', '"b", *', "200", "412"),
        ('"*"', "*", "304", "200"),
        ('"a"', '"*"', "200", "412"),
        ('"a"', "", "200", "412"),
    ]
    for row in rows:
        var validators = Validators(ETag.parse(row[0].as_bytes()).value())
        var fields = HeaderMap()
        fields.append("If-None-Match", row[1])
        assert_equal(_answer(Method.GET, fields, validators), row[2], row[1])
        fields.clear()
        fields.append("If-Match", row[1])
        assert_equal(_answer(Method.PUT, fields, validators), row[3], row[1])


def test_tags_on_several_lines_are_one_list() raises:
    var validators = Validators(ETag.strong("a"))
    var fields = HeaderMap()
    fields.append("If-None-Match", '"b"')
    fields.append("Accept", "*/*")
    fields.append("If-None-Match", '"c", "a"')
    assert_equal(_answer(Method.GET, fields, validators), "304")
    fields.clear()
    fields.append("If-Match", "bad")
    fields.append("If-Match", '"a"')
    assert_equal(_answer(Method.PUT, fields, validators), "200")


def test_a_star_asks_whether_there_is_a_representation() raises:
    for exists in [False, True]:
        var validators = Validators(exists=exists)
        var fields = HeaderMap()
        fields.append("If-Match", "*")
        assert_equal(
            _answer(Method.PUT, fields, validators), "200" if exists else "412"
        )
        fields.clear()
        fields.append("If-None-Match", "*")
        assert_equal(
            _answer(Method.PUT, fields, validators), "412" if exists else "200"
        )
        assert_equal(
            _answer(Method.GET, fields, validators), "304" if exists else "200"
        )


def test_a_resource_without_a_tag_matches_none_and_one_without_a_date_ignores_dates() raises:
    var dated = Validators(HttpDate(_MODIFIED))
    var fields = _fields_of("IM+")
    assert_equal(_answer(Method.PUT, fields, dated), "412")
    fields = _fields_of("NM+ MS+")
    assert_equal(_answer(Method.GET, fields, dated), "200")
    var tagged = Validators(ETag.strong("a"))
    fields = _fields_of("US- MS+")
    assert_equal(_answer(Method.GET, fields, tagged), "200")


def test_dates_of_each_format_are_compared_by_the_second() raises:
    # The date, and the answers to GET with If-Modified-Since and with
    # If-Unmodified-Since.
    var rows: List[Tuple[String, String, String]] = [
        (String(_AT), "304", "200"),
        (String(_AFTER), "304", "200"),
        (String(_BEFORE), "200", "412"),
        ("Saturday, 01-Jan-00 00:00:00 GMT", "304", "200"),
        ("Friday, 31-Dec-99 23:59:59 GMT", "200", "412"),
        ("Sat Jan  1 00:00:00 2000", "304", "200"),
        ("Fri Dec 31 23:59:59 1999", "200", "412"),
        ("Fri, 31 Dec 9999 23:59:59 GMT", "304", "200"),
        ("", "200", "200"),
        ("0", "200", "200"),
        ("946684800", "200", "200"),
        ("Sat, 01 Jan 2000 00:00:00", "200", "200"),
        ("Sat, 01 Jan 2000 00:00:00 UTC", "200", "200"),
        ("Sat, 32 Jan 2000 00:00:00 GMT", "200", "200"),
        ("Sat, 01 Jan 2000 00:00:00 GMT; length=9", "200", "200"),
    ]
    var validators = Validators(HttpDate(_MODIFIED))
    for row in rows:
        var fields = HeaderMap()
        fields.append("If-Modified-Since", row[0])
        assert_equal(_answer(Method.GET, fields, validators), row[1], row[0])
        fields.clear()
        fields.append("If-Unmodified-Since", row[0])
        assert_equal(_answer(Method.GET, fields, validators), row[2], row[0])


def test_a_repeated_date_is_ignored() raises:
    var validators = Validators(HttpDate(_MODIFIED))
    for name in ["If-Modified-Since", "If-Unmodified-Since"]:
        var fields = HeaderMap()
        fields.append(name, _AFTER if name == "If-Modified-Since" else _BEFORE)
        assert_true(_answer(Method.GET, fields, validators) != "200", name)
        fields.append(name, _AFTER)
        assert_equal(_answer(Method.GET, fields, validators), "200", name)


def test_a_range_applies_to_the_representation_that_the_client_has() raises:
    # The tag of the resource, If-Range, whether the range applies.
    var rows: List[Tuple[String, String, Bool]] = [
        ('"a"', '"a"', True),
        ('"a"', '"b"', False),
        ('"a"', 'W/"a"', False),
        ('W/"a"', '"a"', False),
        ('W/"a"', 'W/"a"', False),
        ('"a"', '"a", "b"', False),
        ('"a"', '"a" ', True),
        ('"a"', '"a"x', False),
        ('"a"', "a", False),
        ('"a"', "*", False),
        ('"a"', "", False),
        ('"ab"', '"a"', False),
        ('"a"', '"ab"', False),
        ('"a"', String(_AT), True),
        ('"a"', String(_BEFORE), False),
        ('"a"', String(_AFTER), False),
        ('"a"', "Saturday, 01-Jan-00 00:00:00 GMT", True),
        ('"a"', "Sat Jan  1 00:00:00 2000", True),
        ('"a"', "Sat, 01 Jan 2000", False),
    ]
    for row in rows:
        var validators = Validators(
            ETag.parse(row[0].as_bytes()).value(), HttpDate(_MODIFIED)
        )
        var fields = HeaderMap()
        fields.append("If-Range", row[1])
        assert_equal(
            range_applies(fields.view(), validators, _NOW), row[2], row[1]
        )


def test_a_range_applies_without_if_range_and_never_with_two() raises:
    var validators = Validators(ETag.strong("a"))
    var fields = HeaderMap()
    assert_true(range_applies(fields.view(), validators, _NOW))
    fields.append("If-Range", '"a"')
    fields.append("If-Range", '"a"')
    assert_false(range_applies(fields.view(), validators, _NOW))


def test_a_range_does_not_apply_if_the_validator_is_missing() raises:
    var fields = HeaderMap()
    fields.append("If-Range", '"a"')
    assert_false(
        range_applies(fields.view(), Validators(HttpDate(_MODIFIED)), _NOW)
    )
    assert_false(range_applies(fields.view(), Validators(exists=True), _NOW))
    fields.clear()
    fields.append("If-Range", _AT)
    assert_false(
        range_applies(fields.view(), Validators(ETag.strong("a")), _NOW)
    )


def test_a_handler_answers_304_with_its_validators() raises:
    var client = TestClient(_page)
    var answer = client.get("/")
    assert_equal(answer.status, 200)
    assert_equal(answer.headers.get("ETag").value(), '"7"')
    assert_equal(answer.headers.get("Last-Modified").value(), _AT)
    var headers = HeaderMap()
    headers.append("If-None-Match", answer.headers.get("ETag").value())
    answer = client.get("/", headers)
    assert_equal(answer.status, 304)
    assert_equal(answer.headers.get("ETag").value(), '"7"')
    assert_false("Last-Modified" in answer.headers)
    assert_equal(len(answer.body), 0)
    headers.clear()
    headers.append("If-None-Match", '"6"')
    assert_equal(client.get("/", headers).text(), "page")
    headers.clear()
    headers.append("If-Modified-Since", _AT)
    assert_equal(client.get("/", headers).status, 304)
    headers.clear()
    headers.append("If-Match", '"6"')
    assert_equal(client.get("/", headers).status, 412)


def test_a_304_of_a_resource_without_a_tag_has_its_date() raises:
    var response = not_modified(HttpDate(_MODIFIED))
    assert_equal(response.headers.get("Last-Modified").value(), _AT)
    response = not_modified(Validators(exists=True))
    assert_equal(len(response.headers), 0)


def test_a_handler_refuses_to_overwrite_what_a_client_has_not_seen() raises:
    var router = Router()
    router.put("/there", _replace)
    router.put("/new", _create)
    var client = TestClient(router^)
    var rows: List[Tuple[String, String, String, Int]] = [
        ("/there", "If-Match", '"7"', 204),
        ("/there", "If-Match", '"6"', 412),
        ("/there", "If-None-Match", "*", 412),
        ("/there", "If-Unmodified-Since", "Sat, 01 Jan 2000 00:00:00 GMT", 204),
        ("/there", "Accept", "*/*", 204),
        ("/new", "If-None-Match", "*", 204),
        ("/new", "If-Match", "*", 412),
        ("/new", "If-Match", '"7"', 412),
    ]
    for row in rows:
        var headers = HeaderMap()
        headers.append(row[1], row[2])
        var answer = client.put(row[0], "x", headers)
        assert_equal(answer.status, row[3], row[0] + " " + row[1])


def _page(req: Request) raises -> Response:
    var validators = Validators(ETag.strong(7), HttpDate(_MODIFIED))
    if unchanged(req, validators):
        return not_modified(validators)
    if precondition_fails(req, validators):
        return precondition_failed()
    var response = ok("page")
    validators.add_to(response.headers)
    return response^


def _replace(req: Request) raises -> Response:
    if precondition_fails(req, ETag.strong(7)):
        return precondition_failed()
    return no_content()


def _create(req: Request) raises -> Response:
    if precondition_fails(req, Validators(exists=False)):
        return precondition_failed()
    return no_content()


def _fields_of(text: String) raises -> HeaderMap:
    var fields = HeaderMap()
    for part in text.split(" "):
        var holds = part.endswith("+")
        var tag: StaticString = '"a"' if holds else '"b"'
        if part.startswith("IM"):
            fields.append("If-Match", tag)
        elif part.startswith("NM"):
            fields.append("If-None-Match", tag)
        elif part.startswith("US"):
            fields.append("If-Unmodified-Since", _AT if holds else _BEFORE)
        elif part.startswith("MS"):
            fields.append("If-Modified-Since", _AT if holds else _BEFORE)
    return fields^


def _answer(
    method: Method, fields: HeaderMap, validators: Validators
) -> String:
    var result = evaluate_conditions(method, fields.view(), validators, _NOW)
    if result == ConditionResult.PASSED:
        return "200"
    return "304" if result == ConditionResult.NOT_MODIFIED else "412"


comptime TESTS = __functions_in_module()
