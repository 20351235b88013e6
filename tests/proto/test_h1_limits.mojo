"""Tests for `flare.proto.h1.limits`."""

from flare.core import heap_create, heap_destroy
from flare.proto.h1 import H1Limits, H1Machine, H1State
from flare.proto.h1 import Head, Role

from tests.asserting import assert_equal, assert_false, assert_true


def test_the_defaults_have_no_problem() raises:
    assert_false(H1Limits().first_problem())
    comptime assert not H1Limits().first_problem(), "checked while building"


def test_each_limit_has_bounds_and_both_ends_belong_to_it() raises:
    var rows = _rows()
    for row in rows:
        var problem = row.limits.first_problem()
        assert_equal(problem.__bool__(), row.is_wrong, row.name)
        if problem:
            assert_true(problem.value().startswith(row.name), row.name)


def test_a_window_of_head_octets_max_is_never_told_to_wait() raises:
    var limits = H1Limits(
        request_target_octets_max=20, field_section_octets_max=64
    )
    var starts: List[StaticString] = [
        "\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nX: ",
        "GET /",
        "",
        "GET / HTTP/1.1\r\nHost: a\r\n",
    ]
    for start in starts:
        var octets = List[UInt8](start.as_bytes())
        while len(octets) < limits.head_octets_max():
            octets.append(97)
        var machine = H1Machine(heap_create(H1State(Role.SERVER, limits)))
        var head = heap_create(Head())
        var is_refused = False
        try:
            _ = machine.next_event(octets, head)
        except:
            is_refused = True
        assert_true(is_refused, start)
        heap_destroy(head)
        heap_destroy(machine.state)


comptime TESTS = __functions_in_module()


@fieldwise_init
struct Row(Copyable):
    """Holds limits and whether they are wrong."""

    var name: StaticString
    """The limit."""
    var limits: H1Limits
    """The limits."""
    var is_wrong: Bool
    """Whether the limit is out of its bounds."""


def _rows() -> List[Row]:
    comptime MAX = UInt32(1 << 24)
    var target: StaticString = "request_target_octets_max"
    var section: StaticString = "field_section_octets_max"
    var lines: StaticString = "field_lines_max"
    var trailer: StaticString = "trailer_section_octets_max"
    var extension: StaticString = "chunk_extension_octets_max"
    var extensions: StaticString = "chunk_extensions_octets_max"
    var empty: StaticString = "empty_lines_max"
    var informational: StaticString = "informational_responses_max"
    var body: StaticString = "body_octets_max"
    return [
        Row(target, H1Limits(request_target_octets_max=0), True),
        Row(target, H1Limits(request_target_octets_max=1), False),
        Row(target, H1Limits(request_target_octets_max=65535), False),
        Row(target, H1Limits(request_target_octets_max=65536), True),
        Row(section, H1Limits(field_section_octets_max=63), True),
        Row(section, H1Limits(field_section_octets_max=64), False),
        Row(section, H1Limits(field_section_octets_max=MAX), False),
        Row(section, H1Limits(field_section_octets_max=MAX + 1), True),
        Row(lines, H1Limits(field_lines_max=0), True),
        Row(lines, H1Limits(field_lines_max=1), False),
        Row(lines, H1Limits(field_lines_max=65536), False),
        Row(lines, H1Limits(field_lines_max=65537), True),
        Row(trailer, H1Limits(trailer_section_octets_max=0), False),
        Row(trailer, H1Limits(trailer_section_octets_max=MAX), False),
        Row(trailer, H1Limits(trailer_section_octets_max=MAX + 1), True),
        Row(extension, H1Limits(chunk_extension_octets_max=MAX), False),
        Row(extension, H1Limits(chunk_extension_octets_max=MAX + 1), True),
        Row(extensions, H1Limits(chunk_extensions_octets_max=MAX), False),
        Row(extensions, H1Limits(chunk_extensions_octets_max=MAX + 1), True),
        Row(empty, H1Limits(empty_lines_max=0), False),
        Row(empty, H1Limits(empty_lines_max=1024), False),
        Row(empty, H1Limits(empty_lines_max=1025), True),
        Row(informational, H1Limits(informational_responses_max=65536), False),
        Row(informational, H1Limits(informational_responses_max=65537), True),
        Row(body, H1Limits(body_octets_max=0), False),
        Row(body, H1Limits(body_octets_max=-1), True),
        Row(body, H1Limits(body_octets_max=1 << 62), False),
        Row(body, H1Limits(body_octets_max=(1 << 62) + 1), True),
    ]
