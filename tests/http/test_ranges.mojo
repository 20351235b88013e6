"""Tests the selection of ranges, and the parts of a response with several."""

from std.testing import assert_raises

from flare.core import Buffer
from flare.http import (
    ByteRange,
    ByteRanges,
    ETag,
    HeaderMap,
    HttpDate,
    Method,
    RangeKind,
    RangeParts,
    Request,
    Response,
    SealedContent,
    Status,
    Validators,
    content_range,
    ok,
    range_not_satisfiable,
    requested_ranges,
)
from flare.http.ranges import select_ranges
from flare.testing import TestClient

from tests.asserting import assert_equal, assert_true


def test_one_range_is_selected_as_its_two_positions_say() raises:
    var rows: List[Tuple[String, String]] = [
        ("bytes=0-0", "0-0"),
        ("bytes=0-99", "0-99"),
        ("bytes=10-19", "10-19"),
        ("bytes=999-999", "999-999"),
        ("bytes=0-999", "0-999"),
        ("bytes=0-1000", "0-999"),
        ("bytes=990-5000", "990-999"),
        ("bytes=0-", "0-999"),
        ("bytes=1-", "1-999"),
        ("bytes=999-", "999-999"),
        ("bytes=-1", "999-999"),
        ("bytes=-999", "1-999"),
        ("bytes=-1000", "0-999"),
        ("bytes=-1001", "0-999"),
        ("bytes=00010-00019", "10-19"),
        ("bytes=-0001", "999-999"),
        ("BYTES=0-0", "0-0"),
        ("Bytes=0-0", "0-0"),
        ("bytes= 0-0", "0-0"),
        ("bytes=0-0 ", "0-0"),
        ("bytes=,0-0", "0-0"),
        ("bytes=0-0,", "0-0"),
        ("bytes=, ,\t0-0 ,,", "0-0"),
    ]
    for row in rows:
        assert_equal(_selected(row[0], 1000), row[1], row[0])


def test_a_range_after_the_end_is_not_satisfiable() raises:
    for value in [
        "bytes=1000-",
        "bytes=1000-1000",
        "bytes=2000-3000",
        "bytes=-0",
        "bytes=-00",
        "bytes=1000-,-0",
        "bytes=2000-,3000-,4000-",
    ]:
        assert_equal(_selected(value, 1000), "unsatisfiable", value)


def test_a_malformed_range_is_ignored() raises:
    var rows: List[String] = [
        "",
        "bytes",
        "bytes=",
        "bytes=,",
        "bytes= ",
        "bytes=-",
        "bytes=--1",
        "bytes=1--",
        "bytes=5-4",
        "bytes=1-0",
        "bytes=a-b",
        "bytes=1-b",
        "bytes=a-1",
        "bytes=1",
        "bytes=1-2-3",
        "bytes=+1-2",
        "bytes=1-+2",
        "bytes=1 -2",
        "bytes=1- 2",
        "bytes=0x1-0x2",
        "bytes=1.0-2",
        "bytes=-1-",
        "bytes=*",
        "bytes=0-0;1-1",
        "bytes=0-0 100-100",
        "bytes=0-0, x",
        "bytes=x, 0-0",
        "bytes=2000-, x",
        "bytes=0-0, 9-8",
        "bytes 0-0",
        "bytes =0-0",
        "bytes:0-0",
        "byte=0-0",
        "bytess=0-0",
        "items=0-0",
        "none",
        "0-0",
        "=0-0",
        "bytes==0-0",
        "bytes=0-0\x01",
        "bytes=\xc3\xa91-2",
    ]
    for row in rows:
        assert_equal(_selected(row, 1000), "whole", row)


def test_a_position_that_does_not_fit_lies_after_any_end() raises:
    var rows: List[Tuple[String, String]] = [
        ("bytes=0-9223372036854775806", "0-999"),
        ("bytes=0-9223372036854775807", "0-999"),
        ("bytes=0-9223372036854775808", "0-999"),
        ("bytes=0-18446744073709551616", "0-999"),
        ("bytes=5-99999999999999999999999999", "5-999"),
        ("bytes=-18446744073709551617", "0-999"),
        ("bytes=9223372036854775807-", "unsatisfiable"),
        ("bytes=9223372036854775808-", "unsatisfiable"),
        ("bytes=18446744073709551616-", "unsatisfiable"),
        ("bytes=18446744073709551616-18446744073709551617", "unsatisfiable"),
        ("bytes=0-00000000000000000000000000000000007", "0-7"),
        ("bytes=18446744073709551616-7", "whole"),
    ]
    for row in rows:
        assert_equal(_selected(row[0], 1000), row[1], row[0])


def test_a_representation_may_be_as_long_as_a_number_can_be() raises:
    assert_equal(
        _selected("bytes=9223372036854775806-", Int.MAX),
        "9223372036854775806-9223372036854775806",
    )
    assert_equal(
        _selected("bytes=-1", Int.MAX),
        "9223372036854775806-9223372036854775806",
    )
    assert_equal(
        _selected("bytes=4294967296-4294967297", 1 << 33),
        "4294967296-4294967297",
    )
    assert_equal(_selected("bytes=0-,1-", Int.MAX), "whole")
    assert_equal(
        _selected("bytes=0-0,9223372036854775000-", Int.MAX),
        "0-0 9223372036854775000-9223372036854775806",
    )


def test_an_empty_representation_is_sent_whole() raises:
    for value in ["bytes=0-", "bytes=0-0", "bytes=-1", "bytes=-0", "bytes=9-"]:
        assert_equal(_selected(value, 0), "whole", value)


def test_ranges_that_are_near_are_merged_at_the_place_of_the_first() raises:
    var rows: List[Tuple[String, String]] = [
        ("bytes=0-0,200-200", "0-0 200-200"),
        ("bytes=200-200,0-0", "200-200 0-0"),
        # 80 octets lie between the first two, 79 between the others.
        ("bytes=0-0,81-81", "0-0 81-81"),
        ("bytes=0-0,80-80", "0-80"),
        ("bytes=81-81,0-0", "81-81 0-0"),
        ("bytes=80-80,0-0", "0-80"),
        ("bytes=0-9,10-19", "0-19"),
        ("bytes=0-9,5-19", "0-19"),
        ("bytes=5-19,0-9", "0-19"),
        ("bytes=0-99,10-19", "0-99"),
        ("bytes=10-19,0-99", "0-99"),
        ("bytes=0-0,0-0", "0-0"),
        ("bytes=0-0,-1", "0-0 999-999"),
        ("bytes=0-0,300-300,600-600", "0-0 300-300 600-600"),
        ("bytes=0-0,150-150,70-70", "0-150"),
        ("bytes=300-300,0-0,150-150,70-70", "300-300 0-150"),
        ("bytes=0-0,300-300,150-150,70-70", "0-150 300-300"),
        ("bytes=0-0,600-600,300-300,601-601", "0-0 600-601 300-300"),
        ("bytes=500-500,2000-,600-600", "500-500 600-600"),
        ("bytes=2000-,500-500", "500-500"),
        ("bytes=500-500,-0", "500-500"),
    ]
    for row in rows:
        assert_equal(_selected(row[0], 1000), row[1], row[0])


def test_ranges_that_together_are_as_long_as_the_whole_are_the_whole() raises:
    var rows: List[Tuple[String, String]] = [
        ("bytes=0-499,500-999", "whole"),
        ("bytes=0-499,500-998", "0-998"),
        ("bytes=0-499,600-999", "0-499 600-999"),
        ("bytes=0-,0-", "whole"),
        ("bytes=0-,5-5", "whole"),
        ("bytes=0-699,400-699", "whole"),
        ("bytes=0-698,400-699", "0-699"),
        ("bytes=0-,2000-", "0-999"),
    ]
    for row in rows:
        assert_equal(_selected(row[0], 1000), row[1], row[0])


def test_more_than_two_ranges_that_overlap_are_ignored() raises:
    var rows: List[Tuple[String, String]] = [
        ("bytes=0-9,5-14,300-300", "0-14 300-300"),
        ("bytes=0-9,5-14,14-20", "whole"),
        ("bytes=0-9,5-14,15-20", "0-20"),
        ("bytes=0-0,0-0,0-0", "whole"),
        ("bytes=0-9,9-9,300-309,309-309", "whole"),
        ("bytes=0-9,10-19,20-29", "0-29"),
    ]
    for row in rows:
        assert_equal(_selected(row[0], 1000), row[1], row[0])


def test_at_most_sixteen_ranges_are_selected() raises:
    var value = String("bytes=")
    var expected = String()
    for i in range(16):
        value += String("," if i > 0 else "", 200 * i, "-", 200 * i)
        expected += String(" " if i > 0 else "", 200 * i, "-", 200 * i)
    assert_equal(_selected(value, 100_000), expected)
    assert_equal(_selected(value + ",,", 100_000), expected)
    assert_equal(_selected(value + ",3200-3200", 100_000), "whole")
    assert_equal(_selected(value + ",100000-", 100_000), "whole")


def test_only_get_with_one_range_field_has_ranges() raises:
    var validators = Validators(ETag.strong("a"), HttpDate(0))
    var fields = HeaderMap()
    assert_equal(_of_request(Method.GET, fields, validators), "whole")
    fields.append("range", "bytes=0-0")
    assert_equal(_of_request(Method.GET, fields, validators), "0-0")
    for method in [Method.HEAD, Method.POST, Method.PUT, Method.OTHER]:
        assert_equal(_of_request(method, fields, validators), "whole")
    fields.append("Range", "bytes=0-0")
    assert_equal(_of_request(Method.GET, fields, validators), "whole")


def test_a_range_of_another_representation_is_ignored() raises:
    var validators = Validators(ETag.strong("a"), HttpDate(0))
    var rows: List[Tuple[String, String]] = [
        ('"a"', "0-0"),
        ('"b"', "whole"),
        ('W/"a"', "whole"),
        ("Thu, 01 Jan 1970 00:00:00 GMT", "0-0"),
        ("Thu, 01 Jan 1970 00:00:01 GMT", "whole"),
    ]
    for row in rows:
        var fields = HeaderMap()
        fields.append("Range", "bytes=0-0")
        fields.append("If-Range", row[0])
        assert_equal(
            _of_request(Method.GET, fields, validators), row[1], row[0]
        )


def test_content_range_is_written() raises:
    assert_equal(content_range(ByteRange(0, 1), 1), "bytes 0-0/1")
    assert_equal(content_range(ByteRange(100, 900), 1000), "bytes 100-999/1000")
    assert_equal(
        content_range(ByteRange(0, Int.MAX), Int.MAX),
        "bytes 0-9223372036854775806/9223372036854775807",
    )


def test_an_answer_of_416_has_the_length() raises:
    var response = range_not_satisfiable(1000)
    assert_equal(response.status, 416)
    assert_equal(response.headers.get("Content-Range").value(), "bytes */1000")


def test_several_ranges_are_parts_of_known_length() raises:
    var ranges = ByteRanges.of("bytes=100-102,0-0,-1".as_bytes(), 1000)
    var parts = RangeParts(
        ranges^, 1000, boundary="b", part_type="text/css; charset=utf-8"
    )
    assert_equal(parts.content_type(), "multipart/byteranges; boundary=b")
    var output = Buffer()
    for i in range(len(parts.ranges)):
        var before = len(output)
        parts.append_head(i, output)
        assert_equal(len(output) - before, parts.head_octets(i))
        for _ in range(parts.ranges[i].octets):
            output.append("x")
    parts.append_end(output)
    assert_equal(
        String(unsafe_from_utf8=output.span()),
        (
            "--b\r\nContent-Type: text/css; charset=utf-8\r\n"
            "Content-Range: bytes 100-102/1000\r\n\r\nxxx\r\n"
            "--b\r\nContent-Type: text/css; charset=utf-8\r\n"
            "Content-Range: bytes 0-0/1000\r\n\r\nx\r\n"
            "--b\r\nContent-Type: text/css; charset=utf-8\r\n"
            "Content-Range: bytes 999-999/1000\r\n\r\nx\r\n--b--\r\n"
        ),
    )
    assert_equal(parts.content_length(), len(output))


def test_the_length_of_parts_is_known_at_each_number_of_digits() raises:
    for size in [
        10,
        99,
        100,
        101,
        999,
        1000,
        9999,
        10_000,
        1_000_000_000_000,
        Int.MAX,
    ]:
        for value in ["bytes=0-0", "bytes=-1", "bytes=9-", "bytes=5-8"]:
            var parts = RangeParts(
                ByteRanges.of(value.as_bytes(), size),
                size,
                boundary="a b",
                part_type="",
            )
            var output = Buffer()
            parts.append_head(0, output)
            assert_equal(len(output), parts.head_octets(0))
            var head = len(output)
            parts.append_end(output)
            # Only the length of the content may not fit.
            if size < Int.MAX:
                assert_equal(
                    parts.content_length(), len(output) + parts.ranges[0].octets
                )
            assert_true(len(output) - head == 11)


def test_parts_have_a_boundary_and_a_type_that_end_no_line() raises:
    var one = ByteRanges.of("bytes=0-0".as_bytes(), 1)
    for boundary in ["", "a\r\nb", "a ", "é"]:
        with assert_raises(contains="http.multipart"):
            _ = RangeParts(one.copy(), 1, boundary=boundary, part_type="")
    with assert_raises(contains="http.multipart"):
        _ = RangeParts(one.copy(), 1, boundary="b", part_type="a/b\r\nX: y")
    var parts = RangeParts(one.copy(), 1, boundary="a b", part_type="")
    assert_equal(parts.content_type(), 'multipart/byteranges; boundary="a b"')


def test_a_handler_answers_206_with_the_range() raises:
    var client = TestClient(_letters)
    # Range, If-Range, the answer.
    var rows: List[Tuple[String, String, String]] = [
        ("", "", "200 abcdefghij "),
        ("bytes=2-4", "", "206 cde bytes 2-4/10"),
        ("bytes=-3", "", "206 hij bytes 7-9/10"),
        ("bytes=0-", "", "206 abcdefghij bytes 0-9/10"),
        ("bytes=10-", "", "416 Range Not Satisfiable bytes */10"),
        ("bytes=x", "", "200 abcdefghij "),
        ("bytes=2-4", '"7"', "206 cde bytes 2-4/10"),
        ("bytes=2-4", '"6"', "200 abcdefghij "),
        ("bytes=2-4", 'W/"7"', "200 abcdefghij "),
        ("", '"7"', "200 abcdefghij "),
    ]
    for row in rows:
        var headers = HeaderMap()
        if row[0]:
            headers.append("Range", row[0])
        if row[1]:
            headers.append("If-Range", row[1])
        var answer = client.get("/", headers)
        var described = String(answer.status, " ", answer.text(), " ")
        var written = answer.headers.get("Content-Range")
        if written:
            described += written.value()
        assert_equal(described, row[2], row[0] + " " + row[1])


def _letters(req: Request) raises -> Response:
    var content = SealedContent("abcdefghij")
    var ranges = requested_ranges(req, ETag.strong(7), len(content))
    if ranges.kind == RangeKind.UNSATISFIABLE:
        return range_not_satisfiable(len(content))
    if len(ranges) != 1:
        return ok(content)
    var part = ranges[0]
    var response = Response(
        Status.PARTIAL_CONTENT, content[part.start : part.end()]
    )
    response.headers.set("Content-Range", content_range(part, len(content)))
    return response^


def _selected(value: String, size: Int) raises -> String:
    return _described(ByteRanges.of(value.as_bytes(), size))


def _of_request(
    method: Method, fields: HeaderMap, validators: Validators
) raises -> String:
    return _described(
        select_ranges(method, fields.view(), validators, 1000, 1_700_000_000)
    )


def _described(ranges: ByteRanges) raises -> String:
    if ranges.kind == RangeKind.UNSATISFIABLE:
        assert_equal(len(ranges), 0)
        return "unsatisfiable"
    if ranges.kind == RangeKind.WHOLE:
        assert_equal(len(ranges), 0)
        return "whole"
    var text = String()
    for i in range(len(ranges)):
        text += String(
            " " if i > 0 else "", ranges[i].start, "-", ranges[i].end() - 1
        )
    return text^


comptime TESTS = __functions_in_module()
