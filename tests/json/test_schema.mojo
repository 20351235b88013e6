"""Tests the schemas of types."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.json import (
    FromJson,
    JsonDescriptions,
    JsonNames,
    JsonOmitsNone,
    JsonReader,
    JsonRefusesUnknownFields,
    JsonSchema,
    JsonWriter,
    SchemaSet,
    ToJson,
    Value,
    dumps,
    json_schema,
    loads,
)
from flare.json.schema_names import schema_names

from tests.asserting import assert_equal, assert_false, assert_true


struct Read(Copyable, FromJson):
    var a: Int
    var b: Optional[String]


struct Written(ToJson):
    var a: Int
    var b: Optional[String]


struct Omitted(JsonOmitsNone, ToJson):
    var a: Int
    var b: Optional[String]


struct Both(FromJson, JsonOmitsNone, ToJson):
    var b: Optional[String]


struct Renamed(FromJson, JsonDescriptions, JsonNames, JsonRefusesUnknownFields):
    var first: Int
    var second: Read

    @staticmethod
    def json_name(field: StaticString) -> StaticString:
        return 'fir"st' if field == "first" else field

    @staticmethod
    def json_description(field: StaticString) -> StaticString:
        if field == "":
            return "All of it."
        return 'With "quotes".' if field != "first" else ""


@fieldwise_init
struct Branch(Copyable, FromJson, JsonSchema, ToJson):
    var tree: ArcPointer[Tree]

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        return Self(ArcPointer(Tree.from_json(json)))

    def to_json(self, json: JsonWriter) raises:
        self.tree[].to_json(json)

    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        return schemas.of[Tree]()


struct Tree(Copyable, FromJson, ToJson):
    var name: String
    var below: List[Branch]
    var named: Dict[String, Branch]


struct Page[T: Copyable & FromJson](FromJson):
    var items: List[Self.T]


struct Color(FromJson, JsonSchema):
    var red: Int

    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        return '{"type":"string","enum":["red"]}'


struct Wrong[text: StaticString](JsonSchema):
    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        return String(Self.text)


struct Colored(FromJson):
    var color: Optional[Color]
    var any: Optional[Value]
    var tree: Optional[Read]


struct Unknown:
    var a: Int


def test_numbers_have_their_ranges() raises:
    check[Int]('{"type":"integer","format":"int64"}')
    check[Int64]('{"type":"integer","format":"int64"}')
    check[Int32](
        '{"type":"integer","format":"int32","minimum":-2147483648,'
        '"maximum":2147483647}'
    )
    check[Int16]('{"type":"integer","minimum":-32768,"maximum":32767}')
    check[Int8]('{"type":"integer","minimum":-128,"maximum":127}')
    check[UInt64]('{"type":"integer","format":"uint64","minimum":0}')
    check[UInt32]('{"type":"integer","minimum":0,"maximum":4294967295}')
    check[UInt16]('{"type":"integer","minimum":0,"maximum":65535}')
    check[UInt8]('{"type":"integer","minimum":0,"maximum":255}')
    check[Float64]('{"type":"number","format":"double"}')
    check[Float32]('{"type":"number","format":"float"}')


def test_other_values() raises:
    check[Bool]('{"type":"boolean"}')
    check[String]('{"type":"string"}')
    check[Value]("{}")
    check[Unknown]("{}")
    check[List[Bool]]('{"type":"array","items":{"type":"boolean"}}')
    check[Dict[String, List[Bool]]](
        '{"type":"object","additionalProperties":{"type":"array","items":'
        '{"type":"boolean"}}}'
    )


def test_an_optional_may_be_null() raises:
    check[Optional[Bool]]('{"type":["boolean","null"]}')
    check[Optional[Int]]('{"type":["integer","null"],"format":"int64"}')
    # An enum would still refuse null.
    check[Optional[Color]](
        '{"anyOf":[{"type":"string","enum":["red"]},{"type":"null"}]}'
    )
    check[Optional[Value]]("{}")
    check[Optional[List[Color]]](
        '{"anyOf":[{"type":"array","items":{"type":"string","enum":["red"]}},'
        '{"type":"null"}]}'
    )


def test_an_optional_field_may_be_absent_if_it_is_read() raises:
    check_definition[Read](
        '{"type":"object","properties":{"a":{"type":"integer","format":'
        '"int64"},"b":{"type":["string","null"]}},"required":["a"]}'
    )
    # What is read may hold null, though it is not written.
    check_definition[Both](
        '{"type":"object","properties":{"b":{"type":["string","null"]}}}'
    )


def test_a_struct_that_is_only_written_has_all_its_fields() raises:
    check_definition[Written](
        '{"type":"object","properties":{"a":{"type":"integer","format":'
        '"int64"},"b":{"type":["string","null"]}},"required":["a","b"]}'
    )
    check_definition[Omitted](
        '{"type":"object","properties":{"a":{"type":"integer","format":'
        '"int64"},"b":{"type":"string"}},"required":["a"]}'
    )


def test_names_descriptions_and_unknown_fields() raises:
    check_definition[Renamed](
        '{"type":"object","properties":{"fir\\"st":{"type":"integer","format":'
        '"int64"},"second":{"$ref":"#/$defs/Read","description":"With'
        ' \\"quotes\\"."}},"required":["fir\\"st","second"],'
        '"additionalProperties":false,"description":"All of it."}'
    )


def test_a_type_may_contain_itself() raises:
    check_definition[Tree](
        '{"type":"object","properties":{"name":{"type":"string"},"below":'
        '{"type":"array","items":{"$ref":"#/$defs/Tree"}},"named":{"type":'
        '"object","additionalProperties":{"$ref":"#/$defs/Tree"}}},"required":'
        '["name","below","named"]}'
    )


def test_an_optional_reference_allows_null() raises:
    var definitions = loads(json_schema[Colored]())["$defs"]
    assert_equal(
        dumps(definitions["Colored"]["properties"]["tree"]),
        '{"anyOf":[{"$ref":"#/$defs/Read"},{"type":"null"}]}',
    )
    assert_equal(dumps(definitions["Colored"]["properties"]["any"]), "{}")
    assert_false("required" in definitions["Colored"])


def test_parameters_are_part_of_the_name() raises:
    var text = json_schema[Page[Read]]()
    var document = loads(text)
    assert_equal(document["$ref"].string_value(), "#/$defs/Page_Read")
    assert_true("Page_Read" in document["$defs"], text)
    assert_equal(
        loads(json_schema[Page[Int]]())["$ref"].string_value(),
        "#/$defs/Page_Int",
    )


def test_a_set_defines_a_struct_once() raises:
    var schemas = SchemaSet("#/components/schemas/")
    var first = schemas.of[Read]()
    var second = schemas.of[Read]()
    assert_equal(first, second)
    assert_equal(
        schemas.finished(first), '{"$ref":"#/components/schemas/Read"}'
    )
    assert_equal(len(loads(schemas.finished(schemas.definitions()))), 1)


def test_a_schema_that_is_no_object_is_an_error() raises:
    with assert_raises(contains="json.bad_schema"):
        _ = json_schema[Wrong["{"]]()
    with assert_raises(contains="json.bad_schema"):
        _ = json_schema[Wrong["[]"]]()
    with assert_raises(contains="json.bad_schema"):
        _ = json_schema[List[Wrong['{"type":"string"},"more":1']]]()
    check[Wrong["{}"]]("{}")


def test_names_are_those_of_types_without_modules() raises:
    check_names(["Item", "shop.store.Order"], ["Item", "Order"])
    check_names(
        ["shop.Page[shop.store.Item]", "Page[Int]"], ["Page_Item", "Page_Int"]
    )
    check_names(
        ["Page[SIMD[DType.float64, 1]]", "Two[a.X, b.Y]", "Few[a.X, 1]"],
        ["Page_Float64", "Two_X_Y", "Few_X_1"],
    )


def test_types_of_one_name_have_their_modules_in_front() raises:
    check_names(
        ["shop.Item", "cart.Item", "Other"],
        ["shop.Item", "cart.Item", "Other"],
    )
    # In any order.
    check_names(["cart.Item", "shop.Item"], ["cart.Item", "shop.Item"])
    check_names(
        ["P[a.X]", "P[b.X]", "Item", "a.Item"],
        ["P_a.X", "P_b.X", "Item", "a.Item"],
    )


def test_names_that_are_still_the_same_are_numbered() raises:
    check_names(["P[X]", "P_X"], ["P_X", "P_X_2"])


comptime TESTS = __functions_in_module()


def check[T: AnyType](schema: String) raises:
    var wanted = String(
        '{"$schema":"https://json-schema.org/draft/2020-12/schema"'
    )
    if schema != "{}":
        wanted.write(",", schema[byte = 1 : schema.byte_length() - 1])
    assert_equal(json_schema[T](), String(wanted, "}"))


def check_definition[T: AnyType](schema: String) raises:
    var document = loads(json_schema[T]())
    comptime name: StaticString = reflect[T].base_name()
    assert_equal(document["$ref"].string_value(), String("#/$defs/", name))
    assert_equal(dumps(document["$defs"][name]), schema)


def check_names(types: List[StaticString], wanted: List[String]) raises:
    var names = schema_names(types)
    assert_equal(len(names), len(wanted))
    for i in range(len(names)):
        assert_equal(names[i], wanted[i])
