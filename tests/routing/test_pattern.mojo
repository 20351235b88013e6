"""Tests for `flare.http.routing.pattern`."""

from std.testing import assert_raises

from flare.http.routing import RoutePattern
from flare.http.routing.pattern import SegmentKind

from tests.asserting import assert_equal, assert_false, assert_true


def test_patterns_are_parsed_into_segments() raises:
    for row in _accepted():
        assert_equal(_text(RoutePattern(row.pattern)), row.segments, row.name)


def test_malformed_patterns_are_refused_with_the_reason() raises:
    for row in _refused():
        with assert_raises(contains="http.bad_route " + row.reason):
            _ = RoutePattern(row.pattern)


def test_the_pattern_length_limit_is_inclusive() raises:
    var pattern = String()
    for _ in range(16):
        pattern += "/"
        for _ in range(127):
            pattern += "x"
    assert_equal(pattern.byte_length(), 2048)
    assert_equal(len(RoutePattern(pattern).segments), 16)
    with assert_raises(contains="http.bad_route a pattern is longer"):
        _ = RoutePattern(pattern + "x")


def test_the_segment_limit_is_inclusive() raises:
    var pattern = String()
    for _ in range(64):
        pattern += "/a"
    assert_equal(len(RoutePattern(pattern).segments), 64)
    with assert_raises(contains="more than 64 segments"):
        _ = RoutePattern(pattern + "/")


def test_the_parameter_limit_is_inclusive_and_counts_the_rest() raises:
    var pattern = String()
    for i in range(15):
        pattern += String("/:p", i)
    assert_equal(RoutePattern(pattern + "/*").parameter_count(), 16)
    assert_equal(RoutePattern(pattern + "/:last").parameter_count(), 16)
    with assert_raises(contains="more than 16 parameters"):
        _ = RoutePattern(pattern + "/:last/*")


def test_the_literal_limit_is_inclusive_and_counts_decoded_octets() raises:
    var literal = String()
    for _ in range(254):
        literal += "x"
    assert_equal(len(RoutePattern("/" + literal + "%20").segments), 1)
    with assert_raises(contains="exceeds 255"):
        _ = RoutePattern("/" + literal + "%20y")


def test_errors_escape_the_pattern() raises:
    with assert_raises(contains="a\\x0ab"):
        _ = RoutePattern("/a\nb")


def test_only_the_lone_asterisk_is_no_path() raises:
    assert_true(RoutePattern("*").is_asterisk)
    assert_false(RoutePattern("/*").is_asterisk)


@fieldwise_init
struct Accepted(Copyable):
    var name: StaticString
    var pattern: StaticString
    var segments: StaticString


@fieldwise_init
struct Refused(Copyable):
    var pattern: StaticString
    var reason: StaticString


def _accepted() -> List[Accepted]:
    return [
        Accepted("the root is one empty segment", "/", "''"),
        Accepted("literals", "/a/bc", "'a' 'bc'"),
        Accepted("a slash at the end", "/a/", "'a' ''"),
        Accepted("two slashes", "//a", "'' 'a'"),
        Accepted("both spellings of a parameter", "/:id/{_a1}", ":id :_a1"),
        Accepted("a rest without name", "/a/*", "'a' **"),
        Accepted("a rest with a name", "/*path", "*path"),
        Accepted("escapes are decoded", "/%61%2Fb", "'a/b'"),
        Accepted("an escaped colon is text", "/%3Aid", "':id'"),
        Accepted("an escaped asterisk is text", "/%2a", "'*'"),
        Accepted("three dots are text", "/...", "'...'"),
        Accepted("a blank is text", "/a b", "'a b'"),
    ]


def _refused() -> List[Refused]:
    return [
        Refused("", "it does not start with /"),
        Refused("a/b", "it does not start with /"),
        Refused("**", "it does not start with /"),
        Refused("/:", "a parameter has no name"),
        Refused("/{}", "a parameter has no name"),
        Refused("/:1a", "the name of a parameter is no identifier"),
        Refused("/:a-b", "the name of a parameter is no identifier"),
        Refused("/{a}b}", "the name of a parameter is no identifier"),
        Refused("/:a:b", "the name of a parameter is no identifier"),
        Refused("/*a*", "the name of a parameter is no identifier"),
        Refused("/**", "the name of a parameter is no identifier"),
        Refused("/:a/{a}", "two parameters have the same name"),
        Refused("/:a/*a", "two parameters have the same name"),
        Refused("/*/", "* is not the last segment"),
        Refused("/*rest/a", "* is not the last segment"),
        Refused("/{a}.json", "a brace does not end its segment"),
        Refused("/{a", "a brace does not end its segment"),
        Refused("/{", "a brace does not end its segment"),
        Refused("/{a/b}", "a brace does not end its segment"),
        Refused("/a}", "a brace stands inside a literal segment"),
        Refused("/a{b}", "a brace stands inside a literal segment"),
        Refused("/v1:batch", "a segment mixes text with : or *"),
        Refused("/a*", "a segment mixes text with : or *"),
        Refused("/a/<b>", "write a parameter as :name or {name}"),
        Refused("/<int:a>/b", "write a parameter as :name or {name}"),
        Refused("/<>", "write a parameter as :name or {name}"),
        Refused("/a?b", "a pattern is a path"),
        Refused("/a#b", "a pattern is a path"),
        Refused("/a\tb", "it contains a control character"),
        Refused("/a\x7f", "it contains a control character"),
        Refused("/%4", "a percent escape is malformed"),
        Refused("/%zz", "a percent escape is malformed"),
        Refused("/.", "a dot segment never matches"),
        Refused("/a/../b", "a dot segment never matches"),
        Refused("/%2e%2E", "a dot segment never matches"),
        Refused("/a%00", "%00 never matches"),
    ]


def _text(pattern: RoutePattern) -> String:
    var text = String()
    for segment in pattern.segments:
        if text:
            text += " "
        var octets = StringSlice(unsafe_from_utf8=Span(segment.text))
        if segment.kind == SegmentKind.LITERAL:
            text += String("'", octets, "'")
        elif segment.kind == SegmentKind.PARAMETER:
            text += String(":", octets)
        else:
            text += String("*", octets)
    return text^


comptime TESTS = __functions_in_module()
