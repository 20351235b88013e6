"""Tests headers of frames, padding and settings (RFC 9113 sections 4 and 6)."""

from flare.core import Buffer, heap_create, heap_destroy
from flare.proto.h2.h2_error import H2Code
from flare.proto.h2.frame import (
    H2Flag,
    H2FrameHeader,
    H2FrameType,
    append_frame_header,
    payload_of,
    read_frame_header,
)
from flare.proto.h2.settings import (
    H2PeerSettings,
    H2SettingId,
    append_setting,
    append_settings_ack,
    append_settings_header,
    updated_settings,
)

from tests.asserting import assert_equal, assert_true

from .blocks import octets_of


@fieldwise_init
struct _Header(Copyable):
    var length: Int
    var kind: UInt8
    var flags: UInt8
    var stream_id: Int
    var octets: String


@fieldwise_init
struct _Padded(Copyable):
    var kind: UInt8
    var flags: UInt8
    var octets: Int
    var first: UInt8
    var start: Int
    var length: Int
    var code: UInt32


def test_headers_come_back() raises:
    var into = heap_create(Buffer())
    var rows: List[_Header] = [
        _Header(
            0, H2FrameType.SETTINGS, H2Flag.ACK, 0, "000000 04 01 00000000"
        ),
        _Header(
            16384,
            H2FrameType.DATA,
            H2Flag.END_STREAM | H2Flag.PADDED,
            (1 << 31) - 1,
            "004000 00 09 7fffffff",
        ),
        _Header(
            (1 << 24) - 1,
            H2FrameType.PRIORITY_UPDATE,
            0,
            5,
            "ffffff 10 00 00000005",
        ),
    ]
    for row in rows:
        into[].clear()
        into[].append_octet(7)
        append_frame_header(
            row.length, row.kind, row.flags, row.stream_id, into
        )
        assert_true(
            into[].span()[1:] == Span(octets_of(row.octets)), row.octets
        )
        var header = read_frame_header(into[].span(), 1)
        assert_equal(header.length, row.length)
        assert_equal(header.kind, row.kind)
        assert_equal(header.flags, row.flags)
        assert_equal(header.stream_id, row.stream_id)
    # The reserved bit has no effect.
    var octets = octets_of("000000 00 00 80000003")
    assert_equal(read_frame_header(Span(octets), 0).stream_id, 3)
    heap_destroy(into)


def test_padding_and_priority_are_no_payload() raises:
    comptime PADDED = H2Flag.PADDED
    comptime PRIORITY = H2Flag.PRIORITY
    var rows: List[_Padded] = [
        _Padded(H2FrameType.DATA, 0, 10, 200, 0, 10, H2Code.NO_ERROR),
        _Padded(H2FrameType.DATA, PADDED, 10, 0, 1, 9, H2Code.NO_ERROR),
        _Padded(H2FrameType.DATA, PADDED, 10, 9, 1, 0, H2Code.NO_ERROR),
        _Padded(H2FrameType.DATA, PADDED, 10, 10, 0, 0, H2Code.PROTOCOL_ERROR),
        _Padded(H2FrameType.DATA, PADDED, 0, 0, 0, 0, H2Code.FRAME_SIZE_ERROR),
        _Padded(H2FrameType.DATA, PRIORITY, 10, 200, 0, 10, H2Code.NO_ERROR),
        _Padded(H2FrameType.HEADERS, PRIORITY, 10, 200, 5, 5, H2Code.NO_ERROR),
        _Padded(
            H2FrameType.HEADERS, PRIORITY, 4, 0, 0, 0, H2Code.FRAME_SIZE_ERROR
        ),
        _Padded(
            H2FrameType.HEADERS, PRIORITY | PADDED, 10, 4, 6, 0, H2Code.NO_ERROR
        ),
        _Padded(
            H2FrameType.HEADERS,
            PRIORITY | PADDED,
            10,
            5,
            0,
            0,
            H2Code.PROTOCOL_ERROR,
        ),
        _Padded(
            H2FrameType.HEADERS,
            PRIORITY | PADDED,
            5,
            0,
            0,
            0,
            H2Code.FRAME_SIZE_ERROR,
        ),
    ]
    for row in rows:
        var octets = List[UInt8](length=row.octets, fill=row.first)
        var code = H2Code.NO_ERROR
        var start = 0
        var length = 0
        try:
            var part = payload_of(
                H2FrameHeader(row.octets, row.kind, row.flags, 1), Span(octets)
            )
            start = part.start
            length = part.length
        except e:
            code = e.code
        assert_equal(code, row.code)
        assert_equal(start, row.start)
        assert_equal(length, row.length)


def test_settings_are_read() raises:
    var into = heap_create(Buffer())
    append_settings_header(7, into)
    append_setting(H2SettingId.HEADER_TABLE_SIZE, 0, into)
    append_setting(H2SettingId.ENABLE_PUSH, 0, into)
    append_setting(H2SettingId.MAX_CONCURRENT_STREAMS, 7, into)
    append_setting(H2SettingId.INITIAL_WINDOW_SIZE, 1, into)
    append_setting(H2SettingId.INITIAL_WINDOW_SIZE, (1 << 31) - 1, into)
    append_setting(H2SettingId.MAX_FRAME_SIZE, 20_000, into)
    append_setting(0xABCD, (1 << 32) - 1, into)
    var header = read_frame_header(into[].span(), 0)
    assert_equal(header.length, len(into[]) - 9)
    assert_equal(header.kind, H2FrameType.SETTINGS)
    var settings = updated_settings(H2PeerSettings(), into[].span()[9:])
    assert_equal(settings.header_table_octets, 0)
    assert_true(not settings.may_push)
    assert_equal(settings.streams_max, 7)
    # Of two values, the later one counts.
    assert_equal(settings.window_octets, (1 << 31) - 1)
    assert_equal(settings.frame_octets_max, 20_000)
    assert_equal(settings.section_octets_max, Int.MAX)
    into[].clear()
    append_settings_ack(into)
    assert_true(into[].span() == Span(octets_of("000000 04 01 00000000")))
    heap_destroy(into)


def test_settings_that_are_not_allowed_end_the_connection() raises:
    var rows: List[Tuple[String, UInt32]] = [
        ("0001 00000000 00", H2Code.FRAME_SIZE_ERROR),
        ("0002 00000002", H2Code.PROTOCOL_ERROR),
        ("0004 80000000", H2Code.FLOW_CONTROL_ERROR),
        ("0005 00003fff", H2Code.PROTOCOL_ERROR),
        ("0005 01000000", H2Code.PROTOCOL_ERROR),
        ("0008 00000002", H2Code.PROTOCOL_ERROR),
        ("0008 00000001 0008 00000000", H2Code.PROTOCOL_ERROR),
        ("0009 00000002", H2Code.PROTOCOL_ERROR),
        ("0005 00ffffff 0003 ffffffff", H2Code.NO_ERROR),
        ("", H2Code.NO_ERROR),
    ]
    for row in rows:
        var octets = octets_of(row[0])
        var code = H2Code.NO_ERROR
        try:
            _ = updated_settings(H2PeerSettings(), Span(octets))
        except e:
            code = e.code
            assert_equal(e.stream_id, 0)
        assert_equal(code, row[1], row[0])


comptime TESTS = __functions_in_module()
