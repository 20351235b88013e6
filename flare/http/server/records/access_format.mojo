"""Defines the formats of the access log."""

from flare.core.text_buffer import TextBuffer

from .access_facts import AccessFields
from .access_lines import (
    append_combined_line,
    append_common_line,
    append_json_line,
)
from .access_record import AccessRecord


@fieldwise_init
struct AccessFormat(Equatable, TrivialRegisterPassable):
    """A format of the access log."""

    comptime FUNCTION = Self(0)
    """A function of the program gets each record."""
    comptime PLAIN = Self(1)
    """The text of `AccessRecord`."""
    comptime JSON = Self(2)
    """JSON lines."""
    comptime COMMON = Self(3)
    """Common Log Format."""
    comptime COMBINED = Self(4)
    """Combined Log Format."""

    var code: UInt8
    """The number of the constant."""

    def fields(self) -> AccessFields:
        """Returns the fields that the format shows.

        Returns:
            The fields that a worker copies.
        """
        if self == Self.PLAIN or self == Self.COMMON:
            return AccessFields(AccessFields.NONE)
        if self == Self.COMBINED:
            return AccessFields(AccessFields.USER_AGENT | AccessFields.REFERER)
        if self == Self.JSON:
            return AccessFields(AccessFields.ALL & ~AccessFields.REFERER)
        return AccessFields(AccessFields.ALL)


@fieldwise_init
struct AccessOptions(ImplicitlyCopyable):
    """The contents and the form of the records of an access log."""

    var format: AccessFormat
    """The format."""
    var write: def(AccessRecord) thin -> None
    """Receives each record if `format` is `FUNCTION`."""
    var file: String
    """The path of the file; empty for standard output."""
    var target_octets_max: Int
    """The most octets of a request target that a record keeps."""


def append_line(
    mut line: TextBuffer, record: AccessRecord, format: AccessFormat
):
    """Appends a record in a format, without an end of line.

    Args:
        line: The destination.
        record: The record.
        format: Any but `FUNCTION`.
    """
    if format == AccessFormat.JSON:
        append_json_line(line, record)
    elif format == AccessFormat.COMMON:
        append_common_line(line, record)
    elif format == AccessFormat.COMBINED:
        append_combined_line(line, record)
    else:
        record.append_to(line)
