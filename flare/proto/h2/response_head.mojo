"""Turns a field block into the head of a response (RFC 9113 section 8.3.2)."""

from flare.core import Buffer, equals
from flare.message import FieldName, Status

from ..head import Head, HeadVersion
from .content_length import parse_length
from .field_check import LineKind, is_of_connection
from .h2_state import H2Input
from .head_limits import H2HeadFault, H2HeadLimits
from .hpack import HpackError, HpackField
from .wire_line import append_field_line

# `: ` and CR LF.
comptime _AROUND_OCTETS = 4


def read_response_head(
    mut input: H2Input,
    limits: H2HeadLimits,
    block: Span[mut=False, UInt8, _],
) raises HpackError -> H2HeadFault:
    """Reads a whole block into the head of the connection's reader.

    Args:
        input: The input of a client's connection.
        limits: The limits on the head.
        block: The block.

    Returns:
        The first fault, if there is one. The head is then of no use.

    Raises:
        HpackError: If the block cannot be decompressed.
    """
    ref head = input.heads.head
    ref octets = input.heads.octets
    head.begin(0)
    head.version = HeadVersion(2, 0)
    head.keep_alive = True
    octets.clear()
    input.decoder.begin_block()
    var section_octets = 0
    var fault = H2HeadFault.NONE
    var at = 0
    while True:
        var field = input.decoder.next(block, at)
        if not field:
            break
        at = field.end
        section_octets += len(field.name) + len(field.value) + _AROUND_OCTETS
        # After a fault, the rest matters to the table only.
        if fault:
            continue
        if (
            section_octets > limits.section_octets_max
            or len(head.lines) >= limits.lines_max
        ):
            fault = H2HeadFault.refused(431, "the head exceeds the limits")
        else:
            fault = _take(field, head, octets)
    if not fault and head.status == 0:
        fault = H2HeadFault.malformed("the status is missing")
    return fault


def _take(field: HpackField, mut head: Head, mut octets: Buffer) -> H2HeadFault:
    if field.kind & LineKind.VALID_VALUE == 0:
        return H2HeadFault.malformed("a field value holds a forbidden octet")
    if field.kind & LineKind.VALID_NAME == 0:
        if equals(field.name, ":status".as_bytes()):
            return _take_status(field, head)
        return H2HeadFault.malformed("the name of a field is not valid")
    if head.status == 0:
        return H2HeadFault.malformed("a field before the status")
    if is_of_connection(field.known):
        return H2HeadFault.malformed("a field of a connection of HTTP/1.1")
    if field.known == FieldName.CONTENT_LENGTH:
        var length = parse_length(field.value)
        if length < 0:
            return H2HeadFault.malformed("Content-Length is not a number")
        if head.content_length >= 0 and head.content_length != length:
            return H2HeadFault.malformed("two values of Content-Length")
        head.content_length = length
    head.known |= FieldName.bit(field.known)
    head.known &= ~FieldName.bit(FieldName.UNKNOWN)
    append_field_line(field.name, field.value, head.lines, octets)
    return H2HeadFault.NONE


def _take_status(field: HpackField, mut head: Head) -> H2HeadFault:
    if head.status != 0:
        return H2HeadFault.malformed("more than one status")
    # A 101 is of HTTP/1.1 only (section 8.6).
    var status = parse_length(field.value)
    if (
        len(field.value) != 3
        or status < 100
        or status > 599
        or status == Status.SWITCHING_PROTOCOLS
    ):
        return H2HeadFault.malformed("the status is not valid")
    head.status = status
    return H2HeadFault.NONE
