"""Defines the fields of an HTML form, and encodes them for sending.

The encoding is `application/x-www-form-urlencoded` (URL Standard, section 5),
as in queries.
"""

from flare.core import OctetSet, equals

from .percent import percent_encode
from .query import QueryParameters

comptime FORM_CONTENT_TYPE: StaticString = "application/x-www-form-urlencoded"
"""The media type of the encoding."""

comptime _KEPT = OctetSet.of(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789*-._"
)


@fieldwise_init
struct FormLimits(ImplicitlyCopyable):
    """Limits on a form that is read."""

    var octets_max: Int
    """The longest encoded form."""
    var fields_max: Int
    """The most fields: a field needs more memory than it has octets."""

    def __init__(out self):
        """Creates limits of 1 MiB and 1,000 fields."""
        self.octets_max = 1 << 20
        self.fields_max = 1000


@fieldwise_init
struct FormField(Copyable, Movable):
    """One field of a form."""

    var name: String
    """The name, decoded."""
    var value: String
    """The value, decoded."""


trait FromForm(Deinitable, Movable):
    """A type that can be read from the fields of a form."""

    @staticmethod
    def from_form(fields: FormFields) raises -> Self:
        """Reads a value.

        Args:
            fields: The fields, decoded.

        Returns:
            The value.

        Raises:
            Any error; the request is then answered 400.
        """
        ...


struct FormFields(Copyable, FromForm, Movable, Sized):
    """The fields of a form, in order; names may repeat."""

    var fields: List[FormField]
    """The fields."""

    def __init__(out self):
        """Creates a form without fields."""
        self.fields = List[FormField]()

    @implicit
    def __init__(out self, fields: Dict[String, String]):
        """Copies the names and values of a dictionary, in its order.

        Args:
            fields: The names with their values.
        """
        self.fields = List[FormField](capacity=len(fields))
        for item in fields.items():
            self.fields.append(FormField(item.key, item.value))

    def __init__(
        out self,
        var names: List[String],
        var values: List[String],
        __dict_literal__: NoneType,
    ):
        """Creates a form from a dictionary literal; names may repeat.

        Args:
            names: The names.
            values: The value of each name.
            __dict_literal__: Tells the compiler that `{name: value}` means
                this constructor.
        """
        self.fields = List[FormField](capacity=len(names))
        for i in range(len(names)):
            self.fields.append(FormField(names[i], values[i]))

    @staticmethod
    def parse(
        octets: Span[UInt8, _], limits: FormLimits = FormLimits()
    ) raises -> Self:
        """Parses an encoded form. Any octets are valid; decoded octets that
        are not UTF-8 become U+FFFD.

        Args:
            octets: The encoded form, without a `?`.
            limits: Bounds on the form.

        Returns:
            The fields in order.

        Raises:
            Error: `message.bad_form` if it exceeds a limit.
        """
        if len(octets) > limits.octets_max:
            raise Error("message.bad_form too long")
        var form = Self()
        for parameter in QueryParameters(octets):
            if len(form.fields) == limits.fields_max:
                raise Error("message.bad_form too many fields")
            form.fields.append(FormField(parameter.name(), parameter.value()))
        return form^

    @staticmethod
    def from_form(fields: FormFields) raises -> Self:
        """Returns a copy of the fields, for a handler that takes them as they
        are.

        Args:
            fields: The fields.

        Returns:
            The same fields.

        Raises:
            Never.
        """
        return fields.copy()

    def append(mut self, var name: String, var value: String):
        """Adds a field after all others; those of the same name stay.

        Args:
            name: The name, any text.
            value: The value, any text.
        """
        self.fields.append(FormField(name^, value^))

    def get(self, name: StringSlice) -> Optional[String]:
        """Returns the value of the first field of a name.

        Args:
            name: The name; case-sensitive.

        Returns:
            The value, or `None`.
        """
        for field in self.fields:
            if equals(field.name.as_bytes(), name.as_bytes()):
                return field.value
        return None

    def values(self, name: StringSlice) -> List[String]:
        """Returns the values of all fields of a name.

        Args:
            name: The name; case-sensitive.

        Returns:
            The values in order.
        """
        var found = List[String]()
        for field in self.fields:
            if equals(field.name.as_bytes(), name.as_bytes()):
                found.append(field.value)
        return found^

    def __contains__(self, name: StringSlice) -> Bool:
        """Returns whether there is a field of a name.

        Args:
            name: The name; case-sensitive.

        Returns:
            True if there is one, even with an empty value.
        """
        return Bool(self.get(name))

    def __len__(self) -> Int:
        """Returns the number of fields.

        Returns:
            The number.
        """
        return len(self.fields)

    def encoded(self) -> String:
        """Returns the encoded form, for a content or a query.

        Returns:
            ASCII, without a `?`.
        """
        var octets = List[UInt8]()
        for field in self.fields:
            if len(octets) > 0:
                octets.append(UInt8(ord("&")))
            percent_encode[_KEPT, blank_is_plus=True](
                field.name.as_bytes(), octets
            )
            octets.append(UInt8(ord("=")))
            percent_encode[_KEPT, blank_is_plus=True](
                field.value.as_bytes(), octets
            )
        return String(unsafe_from_utf8=Span(octets))
