"""Decides which fields may follow the content of a message."""

from flare.message import FieldName, HeaderMap

# Fields that frame, route or authenticate a message, or describe its content: a
# recipient needs them before that (RFC 9110 section 6.5.1).
comptime _FORBIDDEN = (
    FieldName.bit(FieldName.HOST)
    | FieldName.bit(FieldName.CONTENT_LENGTH)
    | FieldName.bit(FieldName.TRANSFER_ENCODING)
    | FieldName.bit(FieldName.CONNECTION)
    | FieldName.bit(FieldName.TE)
    | FieldName.bit(FieldName.TRAILER)
    | FieldName.bit(FieldName.UPGRADE)
    | FieldName.bit(FieldName.CONTENT_TYPE)
    | FieldName.bit(FieldName.CONTENT_ENCODING)
    | FieldName.bit(FieldName.CONTENT_RANGE)
    | FieldName.bit(FieldName.AUTHORIZATION)
    | FieldName.bit(FieldName.SET_COOKIE)
)


def may_be_trailers(fields: HeaderMap) -> Bool:
    """Returns whether fields may be a trailer section.

    Args:
        fields: The fields that a program wants to send.

    Returns:
        False if one of them belongs to the header section.
    """
    return fields.known() & _FORBIDDEN == 0
