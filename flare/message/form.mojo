"""Holds the fields of an HTML form, and writes them as such a form is sent.

The coding is `application/x-www-form-urlencoded` of the URL Standard (section
5), which queries have too.
"""

from flare.core import OctetSet, equals

from .percent import percent_encode
from .query import QueryParameters

comptime FORM_CONTENT_TYPE: StaticString = "application/x-www-form-urlencoded"
"""The media type of the coding."""

comptime _KEPT = OctetSet.of(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789*-._"
)


@fieldwise_init
struct FormLimits(ImplicitlyCopyable):
    """Bounds what is read of a form."""

    var octets_max: Int
    """The longest coded form."""
    var fields_max: Int
    """The most fields: each costs more memory than it has octets."""

    def __init__(out self):
        """Allows 1 MiB and 1,000 fields."""
        self.octets_max = 1 << 20
        self.fields_max = 1000


@fieldwise_init
struct FormField(Copyable, Movable):
    """Holds one field of a form."""

    var name: String
    """The name, decoded."""
    var value: String
    """The value, decoded."""


trait FromForm(Deinitable, Movable):
    """Is a type that can be read out of the fields of a form."""

    @staticmethod
    def from_form(fields: FormFields) raises -> Self:
        """Reads a value.

        Args:
            fields: The fields, decoded.

        Returns:
            The value.

        Raises:
            Anything: the request is answered 400.
        """
        ...


struct FormFields(Copyable, FromForm, Movable, Sized):
    """Holds names and values in order; a name may stand more than once."""

    var fields: List[FormField]
    """The fields."""

    def __init__(out self):
        """Makes a form without fields."""
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
        """Takes over the fields of a literal; a name may stand more than once.

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
        """Reads a coded form. Any octets are one; what is not UTF-8 when
        decoded becomes U+FFFD.

        Args:
            octets: The coded form, without a `?`.
            limits: What is read at most.

        Returns:
            The fields in order.

        Raises:
            Error: `message.bad_form` if it is larger than a limit.
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
        """Copies the fields, so that a handler can have them as they are.

        Args:
            fields: The fields.

        Returns:
            The same fields.

        Raises:
            Nothing.
        """
        return fields.copy()

    def append(mut self, var name: String, var value: String):
        """Adds a field behind the others; those of the same name stay.

        Args:
            name: The name, any text.
            value: The value, any text.
        """
        self.fields.append(FormField(name^, value^))

    def get(self, name: StringSlice) -> Optional[String]:
        """Finds the value of the first field of a name.

        Args:
            name: The name; its case counts.

        Returns:
            The value, or none.
        """
        for field in self.fields:
            if equals(field.name.as_bytes(), name.as_bytes()):
                return field.value
        return None

    def values(self, name: StringSlice) -> List[String]:
        """Finds the values of all fields of a name.

        Args:
            name: The name; its case counts.

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
            name: The name; its case counts.

        Returns:
            True if there is one, be its value empty.
        """
        return Bool(self.get(name))

    def __len__(self) -> Int:
        """Counts the fields.

        Returns:
            The count.
        """
        return len(self.fields)

    def encoded(self) -> String:
        """Writes the form as it is sent, or as a query.

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
