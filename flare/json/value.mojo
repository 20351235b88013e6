"""Represents JSON of any shape, for programs that have no struct for it."""

from std.memory import ArcPointer

from flare.sys.driver import octet_view

from .document import Document, Node
from .documents import (
    error_of,
    find_member,
    nearest_float,
    no_such_key,
    parse,
    write,
    wrong_type,
)
from .error import JsonError
from .from_json import FromJson
from .limits import JsonLimits
from .reader import JsonReader
from .shared_document import take_value
from .to_json import ToJson
from .writer import JsonOutput, JsonWriter


struct Value(FromJson, ImplicitlyCopyable, Sized, ToJson, Writable):
    """A value of a parsed JSON text. It cannot be changed.

    All values of one text share the text's memory, including the values that
    `decode` stores in structs, lists and dictionaries. The memory is freed
    with the last of them. Copying a value counts a reference; a copy may be
    used on another thread.
    """

    var _document: ArcPointer[Document]
    var _index: Int

    def __init__(
        out self,
        octets: Span[UInt8, _],
        limits: JsonLimits = JsonLimits(),
    ) raises:
        """Parses a text.

        Args:
            octets: The text, UTF-8.
            limits: Bounds on its length, depth and keys.

        Raises:
            The text of a `JsonError`.
        """
        var document = parse(octet_view(octets), limits)
        self._index = len(document.nodes) - 1
        self._document = ArcPointer(document^)

    def __init__(out self, document: ArcPointer[Document], index: Int):
        """Creates a reference to one value of a parsed text.

        Args:
            document: The parsed text.
            index: The node of the value.
        """
        self._document = document
        self._index = index

    def is_null(self) -> Bool:
        """Returns whether the value is `null`.

        Returns:
            True for `null`.
        """
        return self.node().kind == Node.NULL

    def is_bool(self) -> Bool:
        """Returns whether the value is `true` or `false`.

        Returns:
            True for `true` and `false`.
        """
        return self.node().kind == Node.BOOL

    def is_number(self) -> Bool:
        """Returns whether the value is a number.

        Returns:
            True for an integer or another number.
        """
        return self.node().kind in (Node.INTEGER, Node.NUMBER)

    def is_string(self) -> Bool:
        """Returns whether the value is a string.

        Returns:
            True for a string.
        """
        return self.node().kind == Node.STRING

    def is_array(self) -> Bool:
        """Returns whether the value is an array.

        Returns:
            True for an array.
        """
        return self.node().kind == Node.ARRAY

    def is_object(self) -> Bool:
        """Returns whether the value is an object.

        Returns:
            True for an object.
        """
        return self.node().kind == Node.OBJECT

    def bool_value(self) raises -> Bool:
        """Returns the value as a boolean.

        Returns:
            The boolean.

        Raises:
            The text of a `JsonError` if the value is not a boolean.
        """
        self._check(Node.BOOL, "a boolean")
        return self.node().place == 1

    def int_value(self) raises -> Int:
        """Returns the value as an integer.

        Returns:
            The integer.

        Raises:
            The text of a `JsonError` if the value is not a number, has a
            fraction or an exponent, or does not fit an `Int`.
        """
        var node = self.node()
        if node.kind == Node.INTEGER:
            return node.place
        if node.kind == Node.NUMBER and _is_integral(self._octets()):
            if len(self._octets()) == 2:
                # Of two octets there is only -0.
                return 0
            raise self._error(
                JsonError.OUT_OF_RANGE, "the number does not fit an Int"
            )
        raise self._wrong_type("an integer")

    def float_value(self) raises -> Float64:
        """Returns the value as the nearest `Float64`.

        Returns:
            The number.

        Raises:
            The text of a `JsonError` if the value is not a number, or is too
            large.
        """
        var node = self.node()
        if node.kind == Node.INTEGER:
            return Float64(node.place)
        if node.kind != Node.NUMBER:
            raise self._wrong_type("a number")
        var number = nearest_float(octet_view(self._octets()))
        if not number:
            raise self._error(
                JsonError.OUT_OF_RANGE, "the number does not fit a Float64"
            )
        return number.value()

    def number_text(self) raises -> String:
        """Returns a number as the text spells it, with all its digits.

        Returns:
            The number as written.

        Raises:
            The text of a `JsonError` if the value is not a number.
        """
        var node = self.node()
        if node.kind == Node.INTEGER:
            return String(node.place)
        if node.kind != Node.NUMBER:
            raise self._wrong_type("a number")
        return String(unsafe_from_utf8=self._octets())

    def string_value(self) raises -> String:
        """Returns a copy of a string.

        Returns:
            The decoded content.

        Raises:
            The text of a `JsonError` if the value is not a string.
        """
        return String(unsafe_from_utf8=self.text().as_bytes())

    def text(self) raises -> StringSlice[origin_of(self)]:
        """Returns a view of a string, without a copy.

        Returns:
            The decoded content.

        Raises:
            The text of a `JsonError` if the value is not a string.
        """
        self._check(Node.STRING, "a string")
        return StringSlice[origin_of(self)](unsafe_from_utf8=self._octets())

    def __len__(self) -> Int:
        """Returns the number of elements or members.

        Returns:
            The number; 0 if the value is neither an array nor an object.
        """
        var node = self.node()
        if node.kind != Node.ARRAY and node.kind != Node.OBJECT:
            return 0
        return Int(node.size)

    def __getitem__(self, index: Int) raises -> Self:
        """Returns an element of an array.

        Args:
            index: Its index, from 0.

        Returns:
            The element.

        Raises:
            The text of a `JsonError` if the value is not an array, or the
            index is out of range.
        """
        self._check(Node.ARRAY, "an array")
        var node = self.node()
        if index < 0 or index >= Int(node.size):
            raise self._error(
                JsonError.NOT_FOUND,
                String(
                    "there is no index ", index, ", the length is ", node.size
                ),
            )
        return Self(self._document, node.place + index)

    def __getitem__(self, key: StringSlice) raises -> Self:
        """Returns the value of an object's member.

        Args:
            key: The key.

        Returns:
            The value.

        Raises:
            The text of a `JsonError` if the value is not an object, or lacks
            the key.
        """
        self._check(Node.OBJECT, "an object")
        var found = self.get(key)
        if not found:
            raise no_such_key(
                self._document[], self._index, octet_view(key.as_bytes())
            )
        return found.take()

    def get(self, key: StringSlice) -> Optional[Self]:
        """Returns the value of an object's member, if there is one.

        Args:
            key: The key.

        Returns:
            The value; `None` if this is not an object or lacks the key.
        """
        var node = self.node()
        if node.kind != Node.OBJECT:
            return None
        var found = find_member(
            self._document[], node, octet_view(key.as_bytes())
        )
        if not found:
            return None
        return Self(self._document, found.value())

    def __contains__(self, key: StringSlice) -> Bool:
        """Returns whether an object has a key.

        Args:
            key: The key.

        Returns:
            True if it has; False if the value is not an object.
        """
        return Bool(self.get(key))

    def elements(self) raises -> List[Self]:
        """Returns the elements of an array.

        Returns:
            The elements in order.

        Raises:
            The text of a `JsonError` if the value is not an array.
        """
        self._check(Node.ARRAY, "an array")
        var node = self.node()
        var list = List[Self](capacity=Int(node.size))
        for i in range(Int(node.size)):
            list.append(Self(self._document, node.place + i))
        return list^

    def members(self) raises -> List[Member]:
        """Returns the members of an object.

        Returns:
            Keys and values, in the order of the text.

        Raises:
            The text of a `JsonError` if the value is not an object.
        """
        self._check(Node.OBJECT, "an object")
        var node = self.node()
        var list = List[Member](capacity=Int(node.size))
        for i in range(Int(node.size)):
            var at = node.place + 2 * i
            var key = self._document[].octets(self._document[].nodes[at])
            list.append(
                Member(
                    String(unsafe_from_utf8=key),
                    Self(self._document, at + 1),
                )
            )
        return list^

    def write_to(self, mut writer: Some[Writer]):
        """Writes the value as JSON, without white space.

        Args:
            writer: The destination.
        """
        var output = JsonOutput()
        write(output.writer(), self._document[], self._index)
        writer.write(output.unsafe_text())

    @always_inline
    def node(self) -> Node:
        """Returns the node that describes the value.

        Returns:
            The node.
        """
        return self._document[].nodes.unsafe_get(self._index)

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        """Reads a value of any type.

        All values that one `decode` reads share one text. The text grows until
        `decode` returns; until then, no other thread may use any of them.

        Args:
            json: The reader, in front of the value.

        Returns:
            The value.

        Raises:
            An error if the value is malformed.
        """
        var taken = take_value(json)
        return Self(taken.document, taken.index)

    def to_json(self, json: JsonWriter) raises:
        """Writes the value as part of a larger text.

        Args:
            json: The destination.

        Raises:
            Never in practice: every parsed value can be written.
        """
        write(json, self._document[], self._index)

    def _octets(self) -> Span[UInt8, origin_of(self)]:
        return rebind[Span[UInt8, origin_of(self)]](
            self._document[].octets(self.node())
        )

    @always_inline
    def _check(self, kind: UInt32, wanted: StaticString) raises:
        if self.node().kind != kind:
            raise self._wrong_type(wanted)

    @no_inline
    def _wrong_type(self, wanted: StaticString) -> Error:
        return wrong_type(self._document[], self._index, wanted)

    @no_inline
    def _error(self, kind: Int, var reason: String) -> Error:
        return error_of(self._document[], self._index, kind, reason^)


@fieldwise_init
struct Member(Copyable):
    """A member of an object: a key and its value."""

    var key: String
    """The key."""
    var value: Value
    """The value."""


def _is_integral(text: Span[UInt8, _]) -> Bool:
    for octet in text:
        if octet != UInt8(ord("-")) and octet - 48 > 9:
            return False
    return True
