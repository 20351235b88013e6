"""Feeds frames of a WebSocket, and the lists of its handshake."""

from flare.core import Buffer, heap_create, heap_destroy
from flare.message import FieldLine
from flare.proto.ws import (
    DeflatePolicy,
    WsEvent,
    WsMachine,
    WsMessageCheck,
    WsRole,
    WsState,
    choose_deflate,
)
from flare.ws.inflater import Inflater

from .cost_row import CostRow, numbered, repeated, section_of

comptime _OCTETS_MAX = 1 << 24


def ws_rows() -> List[CostRow]:
    """Lists what is measured.

    Returns:
        The rows.
    """
    comptime parameters = numbered["; a", "=b", "permessage-deflate"]
    comptime quotes = repeated[';a="b"', "permessage-deflate"]
    return [
        CostRow("WebSocket: one message", 1 << 16, _text, _all_at_once),
        CostRow("WebSocket: octet by octet", 1 << 16, _text, _one_by_one),
        CostRow("WebSocket: short fragments", 1 << 16, _short, _all_at_once),
        CostRow("WebSocket: pings in it", 1 << 16, _pings, _all_at_once),
        CostRow("WebSocket: final blocks", 1 << 16, _final_blocks, _inflate),
        CostRow("WebSocket: compressed", 1 << 16, _final_blocks, _inflate_each),
        CostRow("WebSocket: parameters", 1 << 14, parameters, _extensions),
        CostRow("WebSocket: quoted values", 1 << 14, quotes, _extensions),
    ]


def _text(octets: Int) raises -> List[UInt8]:
    # One text of characters of two octets: C3 A4 for each.
    var made: List[UInt8] = [0x81, 0xFF, 0, 0, 0, 0, 0, 0]
    made.extend([UInt8(octets >> 8 & 255), UInt8(octets & 255)])
    made[7] = UInt8(octets >> 16)
    made.extend([1, 2, 3, 4])
    for i in range(octets):
        made.append(UInt8(0xA4 if i % 2 == 1 else 0xC3) ^ UInt8(1 + i % 4))
    return made^


def _short(octets: Int) raises -> List[UInt8]:
    # Fragments of one octet, the first of a binary message.
    var made: List[UInt8] = [2, 0x81, 0, 0, 0, 0, 7]
    while len(made) < octets:
        made.extend([0, 0x81, 9, 0, 0, 0, 7])
    return made^


def _pings(octets: Int) raises -> List[UInt8]:
    var made: List[UInt8] = [2, 0x81, 0, 0, 0, 0, 7]
    while len(made) < octets:
        made.extend([0x89, 0x80, 1, 2, 3, 4, 0, 0x81, 9, 0, 0, 0, 7])
    return made^


def _all_at_once(octets: List[UInt8]) raises:
    _feed(octets, len(octets))


def _one_by_one(octets: List[UInt8]) raises:
    _feed(octets, 1)


def _feed(octets: List[UInt8], piece: Int) raises:
    # The machine unmasks in place, and the input is used again.
    var arrived = octets.copy()
    var state = heap_create(
        WsState(WsRole.SERVER, message_octets_max=_OCTETS_MAX)
    )
    var machine = WsMachine(state)
    var start = 0
    for end in range(piece, len(arrived) + 1, piece):
        while True:
            var event = machine.next_event(Span(arrived)[start:end])
            start += event.consumed
            if event.kind == WsEvent.NEED_OCTETS:
                break
    heap_destroy(state)
    if start < len(arrived):
        raise Error("not read to its end")


def _final_blocks(octets: Int) raises -> List[UInt8]:
    # Empty ones: the decompressor begins anew behind each.
    var made: List[UInt8] = []
    while len(made) < octets:
        made.extend([0x03, 0x00])
    return made^


def _inflate(octets: List[UInt8]) raises:
    _inflate_pieces(octets, len(octets))


def _inflate_each(octets: List[UInt8]) raises:
    _inflate_pieces(octets, 1)


def _inflate_pieces(octets: List[UInt8], piece: Int) raises:
    var inflater = Inflater.open(window_bits=15, keeps_context=True).value()
    var check = heap_create(WsMessageCheck(_OCTETS_MAX))
    var content = heap_create(Buffer())
    for start in range(0, len(octets), piece):
        inflater.inflate(Span(octets)[start : start + piece], check, content)
    inflater.end_message(check, content)
    inflater.close()
    heap_destroy(check)
    heap_destroy(content)


def _extensions(octets: List[UInt8]) raises:
    var lines: List[FieldLine] = []
    var all = List[UInt8]()
    all.extend("Sec-WebSocket-Extensions: ".as_bytes())
    all.extend(Span(octets))
    lines.append(FieldLine(0, 24, 26, UInt32(len(octets))))
    _ = choose_deflate(section_of(all, lines), DeflatePolicy.shared())
    _ = (all^, lines^)
