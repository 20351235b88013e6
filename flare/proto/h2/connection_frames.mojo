"""Writes the frames of a connection as a whole (RFC 9113 section 6)."""

from flare.core import Buffer, PointerTo

from .frame import H2FrameType, append_frame_header, append_uint32
from .h2_state import DEFAULT_WINDOW, H2State
from .preface import PREFACE
from .settings import (
    H2SettingId,
    append_setting,
    append_settings_header,
)
from .window_update import append_window_update

comptime PING_OCTETS = 8
"""The payload of a PING (section 6.7)."""
# Each line counts 32 octets more (section 6.5.2).
comptime _LINE_OVERHEAD = 32


def begin_connection(state: PointerTo[H2State], output: PointerTo[Buffer]):
    """Writes this end's settings, after the preface of a client, and widens the
    connection's window.

    Args:
        state: The connection.
        output: The destination.
    """
    ref limits = state[].limits
    if state[].is_client:
        output[].append(PREFACE)
        append_settings_header(3, output)
        append_setting(H2SettingId.ENABLE_PUSH, 0, output)
    else:
        append_settings_header(5, output)
        append_setting(
            H2SettingId.MAX_CONCURRENT_STREAMS, limits.streams_max, output
        )
        append_setting(H2SettingId.ENABLE_CONNECT_PROTOCOL, 1, output)
        append_setting(H2SettingId.NO_RFC7540_PRIORITIES, 1, output)
    append_setting(
        H2SettingId.INITIAL_WINDOW_SIZE, limits.stream_window_octets, output
    )
    append_setting(
        H2SettingId.MAX_HEADER_LIST_SIZE,
        limits.head.section_octets_max + _LINE_OVERHEAD * limits.head.lines_max,
        output,
    )
    state[].has_unacknowledged_settings = True
    var more = limits.connection_window_octets - DEFAULT_WINDOW
    if more > 0:
        append_window_update(0, more, output)


def go_away(
    state: PointerTo[H2State],
    last_id: Int,
    code: UInt32,
    output: PointerTo[Buffer],
):
    """Writes a GOAWAY.

    Args:
        state: The connection.
        last_id: The highest stream that is still processed.
        code: One of `H2Code`.
        output: The destination.
    """
    state[].ids.last_allowed = last_id
    append_frame_header(8, H2FrameType.GOAWAY, 0, 0, output)
    append_uint32(UInt32(last_id), output)
    append_uint32(code, output)


def ping(octets: UInt64, output: PointerTo[Buffer]):
    """Writes a PING.

    Args:
        octets: Its payload.
        output: The destination.
    """
    append_frame_header(PING_OCTETS, H2FrameType.PING, 0, 0, output)
    append_uint32(UInt32(octets >> 32), output)
    append_uint32(UInt32(octets & 0xFFFFFFFF), output)
