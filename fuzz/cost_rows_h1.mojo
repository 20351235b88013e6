"""Feeds heads, chunks and trailers, and the fields that are sent on."""

from flare.core import Buffer, heap_create, heap_destroy
from flare.http import HeaderMap, forwarded_fields
from flare.http.field_guard import FieldGuard
from flare.http.forwarding import CONNECTION_OPTIONS_MAX
from flare.http.reverse_proxy import _climbs
from flare.message import FieldLine
from flare.proto.h1 import (
    BodyLength,
    H1Limits,
    H1Machine,
    H1State,
    Head,
    HttpEvent,
    Role,
)

from .cost_row import CostRow, numbered, repeated, section_of

comptime _REQUEST: StaticString = "GET / HTTP/1.1\r\nHost: a\r\n"
comptime _CHUNKED: StaticString = (
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
)
comptime _RESPONSE: StaticString = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"


def h1_rows() -> List[CostRow]:
    """Lists what is measured.

    Returns:
        The rows.
    """
    comptime short_lines = repeated["a:\r\n", _REQUEST, "\r\n"]
    comptime long_value = repeated["a", _REQUEST + "A: ", "\r\n\r\n"]
    comptime long_target = repeated[
        "%41", "GET /", " HTTP/1.1\r\nHost: a\r\n\r\n"
    ]
    comptime foreign_target = repeated[
        "é", "GET /", " HTTP/1.1\r\nHost: a\r\n\r\n"
    ]
    comptime folded = repeated["a: b\r\n \r\n c\r\n", _RESPONSE, "\r\n"]
    comptime one_folded = repeated["\r\n c", _RESPONSE + "a: b", "\r\n\r\n"]
    comptime options = repeated["Connection: a,b\r\n", _REQUEST, "\r\n"]
    comptime one_list = repeated["a,", _REQUEST + "Connection: ", "\r\n\r\n"]
    comptime of_response = repeated["a:\r\n", _RESPONSE, "\r\n"]
    comptime chunks = repeated["1\r\nx\r\n", _CHUNKED, "0\r\n\r\n"]
    comptime trailers = repeated["a:\r\n", _CHUNKED + "0\r\n", "\r\n"]
    # Each is compared with all options before it equals the last one.
    comptime nominated = repeated["xyzw31: 2\r\n"]
    return [
        CostRow("head of short lines", 1 << 17, short_lines, _serve[1 << 30]),
        CostRow("head, octet by octet", 1 << 14, short_lines, _serve[1]),
        CostRow("long value, by octets", 1 << 14, long_value, _serve[1]),
        CostRow("long target, by octets", 1 << 14, long_target, _serve[1]),
        CostRow("target over 127", 1 << 13, foreign_target, _serve[1 << 30]),
        CostRow("folded fields", 1 << 16, folded, _ask[1 << 30]),
        CostRow("one long folded field", 1 << 16, one_folded, _ask[1 << 30]),
        CostRow(
            "path that a proxy judges",
            1 << 16,
            repeated["/a%2fb%2E;%5cc.d/"],
            _judge_path,
            heap_factor_max=64,
        ),
        CostRow("Connection lines", 1 << 16, options, _serve[1 << 30]),
        CostRow("Connection options", 1 << 16, one_list, _serve[1 << 30]),
        CostRow("response head", 1 << 17, of_response, _ask[1 << 30]),
        CostRow("response head, by octets", 1 << 14, of_response, _ask[1]),
        CostRow("chunks", 1 << 17, chunks, _serve[1 << 30]),
        CostRow("chunks, octet by octet", 1 << 14, chunks, _serve[1]),
        CostRow("trailers", 1 << 17, trailers, _serve[1 << 30]),
        CostRow("trailers, octet by octet", 1 << 14, trailers, _serve[1]),
        CostRow("fields that stay", 1 << 16, nominated, _forward),
        CostRow("fields that are guarded", 1 << 16, _make_guarded, _guard),
        CostRow(
            "header map: append and copy",
            1500,
            numbered["N", ""],
            _append,
            heap_factor_max=32,
        ),
    ]


def _limits() -> H1Limits:
    return H1Limits(
        request_target_octets_max=65000,
        field_section_octets_max=1 << 20,
        field_lines_max=1 << 20,
        trailer_section_octets_max=1 << 20,
    )


def _serve[step: Int](octets: List[UInt8]) raises:
    var machine = H1Machine(heap_create(H1State(Role.SERVER, _limits())))
    try:
        _read(machine, Span(octets), step)
    finally:
        heap_destroy(machine.state)


def _ask[step: Int](octets: List[UInt8]) raises:
    var machine = H1Machine(heap_create(H1State(Role.CLIENT, _limits())))
    var fields = HeaderMap()
    fields.append("Host", "a")
    var output = heap_create(Buffer())
    try:
        try:
            machine.send_request_head(
                "GET", "/", fields, BodyLength.NONE, output
            )
            machine.send_end(output)
        except e:
            raise Error("not sent: ", e.reason)
        _read(machine, Span(octets), step)
    finally:
        heap_destroy(machine.state)
        heap_destroy(output)


def _read(machine: H1Machine, octets: Span[UInt8, _], step: Int) raises:
    var head = heap_create(Head())
    var start = 0
    var end = min(step, len(octets))
    try:
        while True:
            var event: HttpEvent
            try:
                event = machine.next_event(octets[start:end], head)
            except e:
                raise Error("refused: ", e.reason)
            start += event.consumed
            if event.kind == HttpEvent.END_OF_MESSAGE:
                break
            if event.kind == HttpEvent.NEED_OCTETS:
                if end == len(octets):
                    raise Error("not read to its end")
                end = min(end + step, len(octets))
    finally:
        heap_destroy(head)


def _make_guarded(octets: Int) raises -> List[UInt8]:
    return repeated["X_Forwarde.Fo: 1\r\nX-Original.Urn: 2\r\n"](octets)


def _lines_of(octets: Span[UInt8, _]) -> List[FieldLine]:
    var lines = List[FieldLine]()
    var start = 0
    while start < len(octets):
        var colon = start
        while octets[colon] != 58:
            colon += 1
        var end = colon
        while octets[end] != 10:
            end += 1
        lines.append(
            FieldLine(
                UInt32(start),
                UInt32(colon - start),
                UInt32(colon + 2),
                UInt32(end - colon - 3),
            )
        )
        start = end + 1
    return lines^


def _forward(octets: List[UInt8]) raises:
    var all = List[UInt8]()
    for i in range(CONNECTION_OPTIONS_MAX):
        all.extend(String("Connection: xyzw", i, "\r\n").as_bytes())
    all.extend(Span(octets))
    var lines = _lines_of(Span(all))
    var fields = forwarded_fields(section_of(all, lines))
    _ = (all^, lines^)
    if len(fields) != 0:
        raise Error("sends ", len(fields), " fields on")


def _guard(octets: List[UInt8]) raises:
    var guard = FieldGuard([], [], HeaderMap())
    var count = 0
    var lines = _lines_of(Span(octets))
    for line in section_of(octets, lines):
        count += Int(guard.has(line.name))
    _ = lines^
    if count != 0:
        raise Error("drops ", count, " fields")


def _judge_path(octets: List[UInt8]) raises:
    if not _climbs(Span(octets)):
        return
    raise Error("climbs")


def _append(octets: List[UInt8]) raises:
    var map = HeaderMap()
    for i in range(len(octets) // 24):
        map.append(
            StringSlice(unsafe_from_utf8=Span(octets)[24 * i : 24 * i + 9]), "1"
        )
    var other = map.copy()
    other.append_all(map.view())
