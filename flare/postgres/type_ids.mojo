"""Numbers the types of PostgreSQL (`pg_type.dat`)."""


struct TypeId:
    """Object ids of types. They are the same in every database."""

    comptime UNKNOWN = 0
    """The server derives the type from the place of a parameter."""
    comptime BOOL = 16
    """`boolean`."""
    comptime BYTEA = 17
    """`bytea`."""
    comptime CHAR = 18
    """The type `"char"` of one octet."""
    comptime NAME = 19
    """`name`."""
    comptime INT8 = 20
    """`bigint`."""
    comptime INT2 = 21
    """`smallint`."""
    comptime INT4 = 23
    """`integer`."""
    comptime TEXT = 25
    """`text`."""
    comptime JSON = 114
    """`json`."""
    comptime XML = 142
    """`xml`."""
    comptime FLOAT4 = 700
    """`real`."""
    comptime FLOAT8 = 701
    """`double precision`."""
    comptime UNKNOWN_TEXT = 705
    """A literal whose type is not known."""
    comptime BPCHAR = 1042
    """`character(n)`."""
    comptime VARCHAR = 1043
    """`character varying(n)`."""
    comptime DATE = 1082
    """`date`."""
    comptime TIMESTAMP = 1114
    """`timestamp without time zone`."""
    comptime TIMESTAMPTZ = 1184
    """`timestamp with time zone`."""
    comptime NUMERIC = 1700
    """`numeric`."""
    comptime UUID = 2950
    """`uuid`."""
    comptime JSONB = 3802
    """`jsonb`."""
    comptime FIRST_OF_USERS = 16384
    """The first id that is not built in: enums, domains, extensions."""


def array_id_of(element: Int) -> Int:
    """Returns the type of arrays of a type.

    Args:
        element: The object id of the elements' type.

    Returns:
        The object id; 0 if flare knows none.
    """
    if element == TypeId.BOOL:
        return 1000
    if element == TypeId.BYTEA:
        return 1001
    if element == TypeId.INT2:
        return 1005
    if element == TypeId.INT4:
        return 1007
    if element == TypeId.INT8:
        return 1016
    if element == TypeId.FLOAT4:
        return 1021
    if element == TypeId.FLOAT8:
        return 1022
    if element == TypeId.DATE:
        return 1182
    if element == TypeId.TIMESTAMPTZ:
        return 1185
    if element == TypeId.TEXT:
        return 1009
    if element == TypeId.NUMERIC:
        return 1231
    if element == TypeId.UUID:
        return 2951
    return 0


comptime _ARRAY_IDS: List[Int] = [
    # json, boolean, bytea, "char", name, smallint, integer, text.
    199,
    1000,
    1001,
    1002,
    1003,
    1005,
    1007,
    1009,
    # character(n), varchar, bigint, real, double precision, timestamp, date.
    1014,
    1015,
    1016,
    1021,
    1022,
    1115,
    1182,
    # timestamptz, numeric, uuid, jsonb.
    1185,
    1231,
    2951,
    3807,
]


def is_array_id(id: Int) -> Bool:
    """Returns whether a type may be an array.

    Args:
        id: The object id.

    Returns:
        True for arrays of types that flare decodes, and for types of users.
    """
    comptime for known in _ARRAY_IDS:
        if id == known:
            return True
    return id >= TypeId.FIRST_OF_USERS


def is_text_id(id: Int) -> Bool:
    """Returns whether the binary form of a type may be a text.

    Args:
        id: The object id.

    Returns:
        True for texts, for JSON, and for types of users.
    """
    return (
        id == TypeId.TEXT
        or id == TypeId.VARCHAR
        or id == TypeId.BPCHAR
        or id == TypeId.NAME
        or id == TypeId.JSON
        or id == TypeId.JSONB
        or id == TypeId.XML
        or id == TypeId.CHAR
        or id == TypeId.UNKNOWN_TEXT
        or id >= TypeId.FIRST_OF_USERS
    )
