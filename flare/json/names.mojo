"""Says how the fields of a struct stand in JSON; the struct names the traits."""


trait JsonNames:
    """Is a struct whose fields have other names in JSON, in both directions."""

    @staticmethod
    def json_name(field: StaticString) -> StaticString:
        """Names a field in JSON; called when building.

        Args:
            field: The name of the field in the struct.

        Returns:
            Its key in the object.
        """
        ...


trait JsonRefusesUnknownFields:
    """Is a struct that is not read from an object with a field that it has
    not; other structs pass such fields over."""

    ...


trait JsonOmitsNone:
    """Is a struct whose fields are left out where they are an `Optional`
    without a value; other structs write `null`."""

    ...


def name_of[T: AnyType, field: StaticString]() -> StaticString:
    """Names a field in JSON.

    Parameters:
        T: The struct.
        field: The name of the field in the struct.

    Returns:
        Its key in the object.
    """
    comptime if conforms_to(T, JsonNames):
        return T.json_name(field)
    else:
        return field


def is_optional[F: AnyType]() -> Bool:
    """Tells whether a type is an `Optional`.

    Parameters:
        F: The type.

    Returns:
        True if it is.
    """
    return reflect[F].base_name() == "Optional"
