"""Tests the templates of paths."""

from std.testing import assert_raises

from flare.openapi.docs_page import relative_path
from flare.openapi.path_template import PathTemplate

from tests.asserting import assert_equal, assert_true


@fieldwise_init
struct Row(Copyable):
    var pattern: StaticString
    var text: StaticString
    var shape: StaticString


@fieldwise_init
struct Reference(Copyable):
    var page: StaticString
    var document: StaticString
    var wanted: StaticString


def test_patterns_become_templates() raises:
    for row in [
        Row("/", "/", "/"),
        Row("/items/:id", "/items/{id}", "/items/{}"),
        Row("/items/{id}/", "/items/{id}/", "/items/{}/"),
        Row("/files/*path", "/files/{path}", "/files/{}"),
        Row("/files/*", "/files/{rest}", "/files/{}"),
        # A name of its own.
        Row("/:rest/*", "/{rest}/{rest_}", "/{}/{}"),
        # What a template must not contain as it is.
        Row(
            "/a%20b/%7Bx%7D/é", "/a%20b/%7Bx%7D/%C3%A9", "/a%20b/%7Bx%7D/%C3%A9"
        ),
        Row("/%3Ax/a%2Fb", "/:x/a%2Fb", "/:x/a%2Fb"),
    ]:
        var template = PathTemplate(row.pattern)
        assert_equal(template.text, String(row.text), String(row.pattern))
        assert_equal(template.shape, String(row.shape), String(row.pattern))


def test_names_are_those_of_the_pattern() raises:
    var template = PathTemplate("/a/:x/:y/*z")
    assert_true(template.has_rest)
    assert_equal(StaticString(", ").join(template.names), "x, y, z")
    assert_true(not PathTemplate("/a/:x").has_rest)


def test_a_bad_pattern_is_an_error() raises:
    with assert_raises(contains="http.bad_route"):
        _ = PathTemplate("items")


def test_references_are_right_behind_any_prefix() raises:
    for row in [
        Reference("/docs", "/openapi.json", "./openapi.json"),
        Reference("/docs/", "/openapi.json", "../openapi.json"),
        Reference("/a/docs", "/openapi.json", "../openapi.json"),
        Reference("/a/docs", "/a/openapi.json", "./openapi.json"),
        Reference("/docs", "/b/openapi.json", "./b/openapi.json"),
        Reference("/ab/docs", "/ac/d.json", "../ac/d.json"),
        Reference("/a/b/docs", "/c/d.json", "../../c/d.json"),
    ]:
        assert_equal(
            relative_path(row.page, row.document),
            String(row.wanted),
            String(row.page),
        )


comptime TESTS = __functions_in_module()
