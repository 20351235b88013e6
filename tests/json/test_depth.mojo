"""Tests for `flare.json`: no input ends a fiber by its depth.

A fiber has 192 KiB of stack, where the main thread has 8 MiB.
"""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.json import (
    DEPTH_MAX,
    FromJson,
    JsonError,
    JsonLimits,
    JsonOutput,
    JsonReader,
    JsonWriter,
    ToJson,
    Value,
    decode,
    dumps,
    loads,
)
from flare.runtime import spawn

from tests.asserting import assert_equal, assert_true


@fieldwise_init
struct Holder(Copyable, FromJson, ToJson):
    var data: Value


@fieldwise_init
struct Passing(Copyable, FromJson, ToJson):
    var id: Int


@fieldwise_init
struct Quoted(Copyable, ToJson):
    """Writes the text of what it holds as a part of its own."""

    var inner: List[ArcPointer[Quoted]]

    def to_json(self, json: JsonWriter) raises:
        json.begin_array()
        for inner in self.inner:
            var text = dumps(inner[])
            json.unsafe_raw(text.as_bytes())
        json.end_array()


@fieldwise_init
struct Branch(Copyable, FromJson, ToJson):
    var tree: ArcPointer[Tree]

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        return Self(ArcPointer(Tree.from_json(json)))

    def to_json(self, json: JsonWriter) raises:
        self.tree[].to_json(json)


@fieldwise_init
struct Tree(Copyable, FromJson, ToJson):
    var id: Int
    var branches: List[Branch]


def test_a_value_is_read_and_written_at_any_depth() raises:
    _on_fiber(_read_and_write_values)


def test_the_smallest_body_that_ended_a_server_is_answered() raises:
    _on_fiber(_answer_with_a_part)


def test_texts_that_are_parts_of_texts_are_refused_where_the_stack_ends() raises:
    _on_fiber(_write_quoted)


def test_values_in_types_are_read_and_written_at_any_depth() raises:
    _on_fiber(_read_and_write_types)


def test_what_is_passed_over_and_what_is_wrong_may_lie_at_any_depth() raises:
    _on_fiber(_pass_over_and_fail)


def test_a_struct_that_holds_itself_is_refused_where_the_stack_ends() raises:
    # On the main thread there is room for what the limits allow.
    for levels in [1, 64, 120]:
        var text = _tree_text(levels)
        assert_equal(dumps(decode[Tree](text)), text)
    _on_fiber(_read_trees)


def test_a_tree_of_the_program_is_refused_where_the_stack_ends() raises:
    _on_fiber(_write_trees)


def test_a_level_that_is_refused_leaves_no_whole_text() raises:
    var output = JsonOutput()
    var json = output.writer()
    for _ in range(DEPTH_MAX):
        json.begin_array()
    with assert_raises(contains="json.too_deep "):
        json.begin_object()
    for _ in range(DEPTH_MAX):
        json.end_array()
    with assert_raises(contains="json.misuse "):
        _ = output.take_text()


def _read_and_write_values() raises:
    for levels in [1, 2, 3, 140, 256, DEPTH_MAX]:
        for form in range(3):
            # The last form has two levels, the second one ends in another.
            var count = levels // 2 if form == 2 else levels - form
            var text = _nested(form, max(count, 0))
            var limits = JsonLimits(depth_max=levels)
            var value = loads(text, limits)
            assert_equal(dumps(value), dumps(decode[Value](text, limits)))
            assert_equal(String(value), dumps(value))
            var indented = dumps(value, indent=1)
            assert_equal(dumps(loads(indented, limits)), dumps(value))
            var part = value
            for _ in range(max(count, 0)):
                part = _inner(part)
                var inner = loads(dumps(part), limits)
                assert_equal(dumps(inner), String(part))
                if levels > 256:
                    break
            var part_indented = dumps(part, indent=2)
            assert_equal(dumps(loads(part_indented, limits)), dumps(part))


def _answer_with_a_part() raises:
    var text = String('{"data":', String("[") * 140, String("]") * 140, "}")
    assert_equal(text.byte_length(), 289)
    for levels in [140, 255]:
        text = String('{"data":', _nested(0, levels), "}")
        var data = loads(text)["data"]
        assert_equal(dumps(data), _nested(0, levels))
        assert_equal(String(data), dumps(data))
        assert_equal(dumps(loads(dumps(data, indent=2))), dumps(data))


def _read_and_write_types() raises:
    for levels in [140, 255, DEPTH_MAX - 1]:
        var limits = JsonLimits(depth_max=levels + 1)
        var inner = _nested(0, levels)
        var text = String('{"data":', inner, "}")
        assert_equal(dumps(decode[Holder](text, limits)), text)
        assert_equal(dumps(decode[Dict[String, Value]](text, limits)), text)
        assert_equal(dumps(Holder(loads(text, limits))), _held(text))
        var indented = dumps(decode[Holder](text, limits), indent=3)
        assert_equal(dumps(loads(indented, limits)), text)
        var list = String("[", inner, ",0,", inner, "]")
        assert_equal(dumps(decode[List[Value]](list, limits)), list)
        var lower = JsonLimits(depth_max=levels)
        with assert_raises(contains="json.too_deep data"):
            _ = decode[Holder](text, lower)


def _pass_over_and_fail() raises:
    for levels in [255, DEPTH_MAX - 1]:
        var limits = JsonLimits(depth_max=levels + 1)
        var inner = _nested(0, levels)
        var text = String('{"unknown":', inner, ',"id":7}')
        assert_equal(decode[Passing](text, limits).id, 7)
        var strict = JsonLimits(
            depth_max=levels + 1, duplicate_keys_allowed=False
        )
        assert_equal(decode[Passing](text, strict).id, 7)
        var broken = String(text[byte = : 11 + levels], "x")
        for way in range(3):
            try:
                if way == 0:
                    _ = loads(broken, limits)
                elif way == 1:
                    _ = decode[Passing](broken, limits)
                else:
                    _ = decode[Dict[String, Value]](broken, limits)
                raise Error("read")
            except e:
                var error = JsonError.of(e).value()
                assert_equal(error.kind, JsonError.SYNTAX)
                assert_equal(error.column, 12 + levels)
        var value = loads(text, limits)["unknown"]
        for _ in range(levels):
            value = value[0]
        with assert_raises(contains="json.wrong_type unknown[0][0]"):
            _ = value.string_value()


def _read_trees() raises:
    var deepest = 0
    for levels in [1, 8, 16, 32, 54, 64, 100, 120, DEPTH_MAX // 2]:
        var text = _tree_text(levels)
        try:
            var tree = decode[Tree](text, JsonLimits(depth_max=DEPTH_MAX))
            assert_equal(dumps(tree), text)
            deepest = levels
        except e:
            assert_equal(JsonError.of(e).value().kind, JsonError.TOO_DEEP)
    assert_true(deepest >= 16, String(deepest))
    assert_true(deepest < DEPTH_MAX // 2, String(deepest))


def _write_quoted() raises:
    var chain = List[ArcPointer[Quoted]]()
    chain.append(ArcPointer(Quoted([])))
    for _ in range(DEPTH_MAX):
        chain.append(ArcPointer(Quoted([chain[len(chain) - 1]])))
    assert_equal(dumps(chain[8][]), "[" * 9 + "]" * 9)
    with assert_raises(contains="json.too_deep "):
        _ = dumps(chain[DEPTH_MAX][])
    while chain:
        chain.pop()[].inner.clear()


def _write_trees() raises:
    # Two levels each.
    var tree = Tree(0, [])
    var all = List[ArcPointer[Tree]]()
    for i in range(DEPTH_MAX // 2):
        var outer = Tree(i, [])
        var shared = ArcPointer(tree^)
        all.append(shared)
        outer.branches.append(Branch(shared))
        tree = outer^
    for indent in range(2):
        with assert_raises(contains="json.too_deep "):
            _ = dumps(tree, indent=indent)
    # Its destructor would call itself as often.
    while all:
        var last = all.pop()
        last[].branches.clear()
    tree.branches.clear()


def _on_fiber(function: def() raises thin -> None) raises:
    def body() raises {var function}:
        function()

    _ = spawn(body).join()


def _nested(form: Int, levels: Int) -> String:
    var opening: List[String] = ["[", '{"a":', '[{"a":1,"b":']
    var inner: List[String] = ["1", "{}", '"\\u00e9\\n"']
    var closing: List[String] = ["]", "}", "}]"]
    return String(opening[form] * levels, inner[form], closing[form] * levels)


def _inner(value: Value) raises -> Value:
    if value.is_array():
        var element = value[0]
        return element["b"] if element.is_object() else element
    return value["a"]


def _held(text: String) -> String:
    return String('{"data":', text, "}")


def _tree_text(levels: Int) -> String:
    return String(
        String('{"id":1,"branches":[') * (levels - 1),
        '{"id":2,"branches":[]}',
        String("]}") * (levels - 1),
    )


comptime TESTS = __functions_in_module()
