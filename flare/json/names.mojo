"""Changes how a struct's fields appear in JSON, by traits the struct conforms
to.
"""


trait JsonNames:
    """A struct whose fields have other names in JSON, for reading and writing.
    """

    @staticmethod
    def json_name(field: StaticString) -> StaticString:
        """Returns the JSON key of a field. Called at compile time.

        Args:
            field: The field's name in the struct.

        Returns:
            The key in the object.
        """
        ...


trait JsonRefusesUnknownFields:
    """A struct that refuses objects with unknown fields. Other structs ignore
    them.
    """

    ...


trait JsonOmitsNone:
    """A struct that omits fields whose `Optional` has no value. Other structs
    write `null`.
    """

    ...


def name_of[T: AnyType, field: StaticString]() -> StaticString:
    """Returns the JSON key of a field.

    Parameters:
        T: The struct.
        field: The field's name in the struct.

    Returns:
        The key in the object.
    """
    comptime if conforms_to(T, JsonNames):
        return T.json_name(field)
    else:
        return field


def is_optional[F: AnyType]() -> Bool:
    """Returns whether a type is an `Optional`.

    Parameters:
        F: The type.

    Returns:
        True for an `Optional`.
    """
    return reflect[F].base_name() == "Optional"
