"""Writes structs as JSON, by compile-time reflection on their fields."""

from std.collections import Dict, List, Optional
from std.collections.string import String
from std.collections.string.string_span import get_static_string
from std.simd import SIMD

from .names import JsonOmitsNone, is_optional, name_of
from .writer import JsonWriter


trait ToJson:
    """A type that can be written as JSON."""

    def to_json(self, json: JsonWriter) raises:
        """Writes one value; a struct is written field by field.

        Args:
            json: The destination.

        Raises:
            An error if JSON cannot represent the value.
        """
        comptime names = reflect[Self].field_names()
        json.begin_object()
        comptime for i in range(reflect[Self].field_count()):
            comptime F = reflect[Self].field_types()[i]
            comptime assert conforms_to(F, ToJson), String(
                reflect[Self].name(),
                ".",
                names[i],
                " is not written as JSON: its type does not conform to ToJson",
            )
            comptime name = name_of[Self, names[i]]()
            ref field = reflect[Self].field_ref[i](self)
            var is_left_out = False
            comptime if (
                conforms_to(Self, JsonOmitsNone)
                and is_optional[F]()
                and conforms_to(F, Boolable)
            ):
                is_left_out = not Bool(field)
            if not is_left_out:
                json.constant_key[name, _key_text[name]()]()
                field.to_json(json)
        json.end_object()


def _key_text[name: StaticString]() -> StaticString:
    return get_static_string[',"', name, '":']()


__extension SIMD(ToJson):
    @always_inline
    def to_json(self, json: JsonWriter) raises:
        """Writes a number.

        Args:
            self: The value.
            json: The destination.

        Raises:
            An error if it is NaN or infinite.
        """
        comptime assert Self.length == 1, "a vector is no JSON number"
        comptime if Self.dtype.is_floating_point():
            json.float(Float64(self[0]))
        elif Self.dtype == DType.uint64 or Self.dtype == DType.uint:
            json.uint(UInt64(self[0]))
        else:
            json.int(Int(self[0]))


__extension Bool(ToJson):
    @always_inline
    def to_json(self, json: JsonWriter) raises:
        """Writes a boolean.

        Args:
            self: The value.
            json: The destination.
        """
        json.bool(self)


__extension String(ToJson):
    def to_json(self, json: JsonWriter) raises:
        """Writes a string.

        Args:
            self: The value.
            json: The destination.
        """
        json.string_octets(self.as_bytes())


__extension List(ToJson):
    def to_json(self, json: JsonWriter) raises:
        """Writes an array.

        Args:
            self: The value.
            json: The destination.

        Raises:
            The error of an element that cannot be written.
        """
        comptime assert conforms_to(
            Self.T, ToJson
        ), "the elements of a list are not written as JSON"
        json.begin_array()
        for i in range(len(self)):
            self[i].to_json(json)
        json.end_array()


__extension Array(ToJson):
    def to_json(self, json: JsonWriter) raises:
        """Writes an array, such as `[1, 2, 3]`.

        Args:
            self: The value.
            json: The destination.

        Raises:
            The error of an element that cannot be written.
        """
        comptime assert conforms_to(
            Self.T, ToJson
        ), "the elements of an array are not written as JSON"
        json.begin_array()
        for i in range(len(self)):
            self[i].to_json(json)
        json.end_array()


__extension Dict(ToJson):
    def to_json(self, json: JsonWriter) raises:
        """Writes an object.

        Args:
            self: The value.
            json: The destination.

        Raises:
            The error of a member that cannot be written.
        """
        comptime assert conforms_to(
            Self.V, ToJson
        ), "the values of a dictionary are not written as JSON"
        comptime assert conforms_to(
            Self.V, Copyable
        ), "Mojo walks over no dictionary whose values are not Copyable"
        comptime assert (
            reflect[Self.K].name() == reflect[String].name()
        ), "the keys of a dictionary in JSON are of type String"
        json.begin_object()
        for entry in self.items():
            json.key(rebind[String](entry.key))
            entry.value.to_json(json)
        json.end_object()


__extension Optional(ToJson):
    def to_json(self, json: JsonWriter) raises:
        """Writes the value, or `null`.

        Args:
            self: The value.
            json: The destination.

        Raises:
            The error of a value that cannot be written.
        """
        comptime assert conforms_to(
            Self.T, ToJson
        ), "the value of an optional is not written as JSON"
        if self:
            self.value().to_json(json)
        else:
            json.null()
