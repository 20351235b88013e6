"""Feeds field blocks of HTTP/2."""

from flare.proto.h2.head_limits import H2HeadLimits
from flare.proto.h2.hpack import HpackDecoder
from flare.proto.h2.request_head import RequestHeadReader

from .cost_row import CostRow

comptime _NO_LIMIT = 1 << 30


def h2_rows() -> List[CostRow]:
    """Lists what is measured.

    Returns:
        The rows.
    """
    return [
        CostRow("HPACK: references", 1 << 16, _references, _decode),
        CostRow("HPACK: insertions", 1 << 16, _insertions, _decode),
        CostRow("HPACK: large insertions", 1 << 16, _large, _decode),
        CostRow("HPACK: long codes", 1 << 16, _codes, _decode),
        CostRow("HTTP/2: crumbs", 1 << 16, _crumbs, _read, heap_factor_max=32),
        CostRow("HTTP/2: lines", 1 << 16, _lines, _read, heap_factor_max=64),
    ]


def _references(octets: Int) raises -> List[UInt8]:
    # An octet for a line of 2,000.
    var made: List[UInt8] = [0x40, 1, 97, 0x7F, 0xD1, 0x0E]
    made.extend(List[UInt8](length=2000, fill=98))
    made.extend(List[UInt8](length=octets, fill=0xBE))
    return made^


def _insertions(octets: Int) raises -> List[UInt8]:
    var made = List[UInt8]()
    while len(made) < octets:
        made.extend([UInt8(0x40), 0, 0])
    return made^


def _large(octets: Int) raises -> List[UInt8]:
    # Each makes room for itself, and refers to the name of the one before it.
    var made: List[UInt8] = [0x40, 1, 97, 0]
    while len(made) < octets:
        made.extend([UInt8(0x7E), 0x7F, 0xD1, 0x0E])
        made.extend(List[UInt8](length=2000, fill=98))
    return made^


def _codes(octets: Int) raises -> List[UInt8]:
    # Line feeds have codes of 30 bits.
    var made = List[UInt8]()
    while len(made) < octets:
        made.extend([UInt8(0), 1, 97, 0x8F])
        made.extend([0xFF, 0xFF, 0xFF, 0xF3, 0xFF, 0xFF, 0xFF, 0xCF])
        made.extend([0xFF, 0xFF, 0xFF, 0x3F, 0xFF, 0xFF, 0xFC])
    return made^


def _crumbs(octets: Int) raises -> List[UInt8]:
    # Index 32 is Cookie.
    var made: List[UInt8] = [0x82, 0x87, 0x84, 0x41, 1, 97, 0x60, 1, 97]
    made.extend(List[UInt8](length=octets, fill=0xBE))
    return made^


def _lines(octets: Int) raises -> List[UInt8]:
    var made: List[UInt8] = [0x82, 0x87, 0x84, 0x41, 1, 97]
    while len(made) < octets:
        made.extend([UInt8(0), 1, 97, 1, 98])
    return made^


def _decode(octets: List[UInt8]) raises:
    var decoder = HpackDecoder.create()
    decoder.begin_block()
    var at = 0
    while True:
        var field = decoder.next(Span(octets), at)
        if not field:
            break
        at = field.end
    decoder.destroy()


def _read(octets: List[UInt8]) raises:
    var limits = H2HeadLimits()
    limits.section_octets_max = _NO_LIMIT
    limits.lines_max = _NO_LIMIT
    limits.crumbs_max = _NO_LIMIT
    var decoder = HpackDecoder.create()
    var reader = RequestHeadReader(limits)
    var fault = reader.read(decoder, Span(octets))
    decoder.destroy()
    if fault:
        raise Error(fault.reason)
