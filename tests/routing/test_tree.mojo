"""Tests for `flare.http.routing.tree` and the search through it."""

from flare.core import heap_create, heap_destroy
from flare.http.routing import Captures, MatchKind, RoutePattern, RouteTable
from flare.http.routing.tree import SegmentTree
from flare.message import Method
from fuzz.harness import Histogram
from fuzz.fuzz_router import fuzz_router
from fuzz.random import Random

from tests.asserting import assert_equal, assert_true


def test_equal_shapes_share_a_node_and_others_do_not() raises:
    var tree = SegmentTree()
    var a = tree.add(RoutePattern("/a/:x/b").segments)
    assert_equal(tree.add(RoutePattern("/%61/{y}/b").segments), a)
    var nodes = len(tree.nodes)
    for other in ["/a/x/b", "/a/:x/c", "/a/*", "/a/:x", "/:x/:y/b"]:
        assert_true(tree.add(RoutePattern(other).segments) != a, other)
    assert_true(len(tree.nodes) > nodes)


def test_a_literal_is_found_under_its_own_parent_only() raises:
    var tree = SegmentTree()
    var parents = List[Int]()
    for i in range(300):
        parents.append(
            tree.add(RoutePattern(String("/parent-", i, "/child")).segments)
        )
    for i in range(300):
        var text = String("parent-", i)
        var parent = tree.literal_child(0, text.as_bytes())
        assert_equal(tree.literal_child(parent, "child".as_bytes()), parents[i])
        assert_equal(tree.literal_child(parent, "chilD".as_bytes()), 0)
        assert_equal(tree.literal_child(parent, text.as_bytes()), 0)


def test_literals_of_every_length_differ_in_every_octet() raises:
    for length in range(1, 40):
        var tree = SegmentTree()
        var text = List[UInt8](length=length, fill=UInt8(ord("x")))
        var pattern = "/" + String(StringSlice(unsafe_from_utf8=Span(text)))
        var node = tree.add(RoutePattern(pattern).segments)
        assert_equal(tree.literal_child(0, text), node)
        for at in range(length):
            text[at] = UInt8(ord("y"))
            assert_equal(tree.literal_child(0, text), 0)
            text[at] = UInt8(ord("x"))


def test_dead_ends_cost_at_most_one_visit_per_node() raises:
    # Every segment is a literal and a parameter at once, and the paths match
    # both everywhere: all of the 8,191 nodes are reached, none answers.
    var table = RouteTable()
    for i in range(1 << 11):
        var pattern = String()
        for bit in range(11):
            pattern += "/a" if (i >> bit) & 1 == 0 else String("/:p", bit)
        table.add("GET", pattern + "/end", i)
    var captures = heap_create(Captures())
    var dead = String()
    for _ in range(11):
        dead += "/a"
    for end in ["/END", "", "/end/", "/end/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a"]:
        var path = dead + end
        var found = table.find(
            Method.GET, "GET".as_bytes(), path.as_bytes(), captures
        )
        assert_true(found.kind == MatchKind.NOT_FOUND, end)
    var path = dead + "/end"
    assert_equal(
        table.find(
            Method.GET, "GET".as_bytes(), path.as_bytes(), captures
        ).endpoint,
        0,
    )
    heap_destroy(captures)


def test_the_deepest_pattern_with_all_parameters_is_found() raises:
    var table = RouteTable()
    var pattern = String()
    var path = String()
    for i in range(64):
        pattern += String("/:p", i) if i % 4 == 0 else String("/x")
        path += "/x"
        table.add("PUT", pattern, i)
        if i < 60:
            # A choice below every node makes the search recurse.
            table.add("GET", pattern + "/*", 100 + i)
    var captures = heap_create(Captures())
    var found = table.find(
        Method.PUT, "PUT".as_bytes(), path.as_bytes(), captures
    )
    assert_equal(found.endpoint, 63)
    assert_equal(len(captures[]), 16)
    assert_equal(captures[][15].start, UInt32(121))
    heap_destroy(captures)


def test_a_path_far_deeper_than_all_patterns_is_refused_or_taken_whole() raises:
    var table = RouteTable()
    table.add("GET", "/:a/:b", 0)
    var path = String()
    for _ in range(4000):
        path += "/x"
    var captures = heap_create(Captures())
    var found = table.find(
        Method.GET, "GET".as_bytes(), path.as_bytes(), captures
    )
    assert_true(found.kind == MatchKind.NOT_FOUND)
    table.add("GET", "/:a/*", 1)
    found = table.find(Method.GET, "GET".as_bytes(), path.as_bytes(), captures)
    assert_equal(found.endpoint, 1)
    assert_equal(captures[][1].start, UInt32(3))
    assert_equal(captures[][1].octets, UInt32(7997))
    heap_destroy(captures)


def test_a_table_agrees_with_a_search_of_all_routes() raises:
    var histogram = Histogram()
    for seed in range(3000):
        var random = Random(55, seed)
        fuzz_router(random, histogram)
    assert_true(histogram.occurrences("FOUND") > 3000)


comptime TESTS = __functions_in_module()
