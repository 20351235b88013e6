"""Reads and writes the settings of a connection (RFC 9113 section 6.5)."""

from flare.core import Buffer, PointerTo

from .h2_error import H2Code, H2Error
from .frame import (
    FRAME_OCTETS_MAX,
    H2Flag,
    H2FrameType,
    append_frame_header,
    append_uint32,
    read_uint32,
)

comptime WINDOW_MAX = (1 << 31) - 1
"""The largest window (section 6.9.1)."""
comptime _SETTING_OCTETS = 6
comptime _FRAME_OCTETS_LIMIT = (1 << 24) - 1


struct H2SettingId:
    """The numbers of the settings."""

    comptime HEADER_TABLE_SIZE: UInt16 = 1
    """The size of the dynamic table that the peer's encoder may use."""
    comptime ENABLE_PUSH: UInt16 = 2
    """Whether the peer may push."""
    comptime MAX_CONCURRENT_STREAMS: UInt16 = 3
    """How many streams the peer may have open."""
    comptime INITIAL_WINDOW_SIZE: UInt16 = 4
    """The window with which each stream begins."""
    comptime MAX_FRAME_SIZE: UInt16 = 5
    """The longest payload that the sender accepts."""
    comptime MAX_HEADER_LIST_SIZE: UInt16 = 6
    """The longest header section that the sender accepts."""
    comptime ENABLE_CONNECT_PROTOCOL: UInt16 = 8
    """Whether `:protocol` is understood (RFC 8441 section 3)."""
    comptime NO_RFC7540_PRIORITIES: UInt16 = 9
    """Whether priorities of RFC 7540 are ignored (RFC 9218 section 2.1)."""


struct H2PeerSettings(TrivialRegisterPassable):
    """The settings that the peer has sent, or their defaults."""

    var header_table_octets: Int
    """The size of the table that this end's encoder may use."""
    var may_push: Bool
    """Whether a server may push to it."""
    var streams_max: Int
    """How many streams this end may have open."""
    var window_octets: Int
    """The window with which each stream begins."""
    var frame_octets_max: Int
    """The longest payload that it accepts."""
    var section_octets_max: Int
    """The longest header section that it accepts."""
    var has_connect_protocol: Bool
    """Whether it understands `:protocol`."""

    def __init__(out self, *, of_server: Bool = False):
        """Creates the defaults (section 6.5.2).

        Args:
            of_server: Whether the peer is a server, which never allows a push.
        """
        self.header_table_octets = 4096
        self.may_push = not of_server
        self.streams_max = Int.MAX
        self.window_octets = 65535
        self.frame_octets_max = FRAME_OCTETS_MAX
        self.section_octets_max = Int.MAX
        self.has_connect_protocol = False


def updated_settings(
    before: H2PeerSettings, payload: Span[UInt8, _]
) raises H2Error -> H2PeerSettings:
    """Reads a frame of settings that is no acknowledgement.

    Args:
        before: The settings so far.
        payload: The whole payload.

    Returns:
        The settings after it. Unknown ones have no effect.

    Raises:
        H2Error: If the length or a value is not allowed.
    """
    if len(payload) % _SETTING_OCTETS != 0:
        raise H2Error.connection(
            H2Code.FRAME_SIZE_ERROR, "a setting is incomplete"
        )
    var settings = before
    for at in range(0, len(payload), _SETTING_OCTETS):
        var id = UInt16(payload[at]) << 8 | UInt16(payload[at + 1])
        _apply(settings, id, Int(read_uint32(payload, at + 2)))
    return settings


def _apply(mut settings: H2PeerSettings, id: UInt16, value: Int) raises H2Error:
    if id == H2SettingId.HEADER_TABLE_SIZE:
        settings.header_table_octets = value
    elif id == H2SettingId.ENABLE_PUSH:
        settings.may_push = _flag(value, "ENABLE_PUSH is neither 0 nor 1")
    elif id == H2SettingId.MAX_CONCURRENT_STREAMS:
        settings.streams_max = value
    elif id == H2SettingId.INITIAL_WINDOW_SIZE:
        if value > WINDOW_MAX:
            raise H2Error.connection(
                H2Code.FLOW_CONTROL_ERROR, "INITIAL_WINDOW_SIZE exceeds 2^31-1"
            )
        settings.window_octets = value
    elif id == H2SettingId.MAX_FRAME_SIZE:
        if value < FRAME_OCTETS_MAX or value > _FRAME_OCTETS_LIMIT:
            raise H2Error.connection(
                H2Code.PROTOCOL_ERROR, "MAX_FRAME_SIZE is out of range"
            )
        settings.frame_octets_max = value
    elif id == H2SettingId.MAX_HEADER_LIST_SIZE:
        settings.section_octets_max = value
    elif id == H2SettingId.ENABLE_CONNECT_PROTOCOL:
        var has_it = _flag(value, "ENABLE_CONNECT_PROTOCOL is neither 0 nor 1")
        if settings.has_connect_protocol and not has_it:
            # RFC 8441 section 3.
            raise H2Error.connection(
                H2Code.PROTOCOL_ERROR, "ENABLE_CONNECT_PROTOCOL is taken back"
            )
        settings.has_connect_protocol = has_it
    elif id == H2SettingId.NO_RFC7540_PRIORITIES:
        _ = _flag(value, "NO_RFC7540_PRIORITIES is neither 0 nor 1")


def _flag(value: Int, reason: StaticString) raises H2Error -> Bool:
    if value > 1:
        raise H2Error.connection(H2Code.PROTOCOL_ERROR, reason)
    return value == 1


def append_setting(id: UInt16, value: Int, into: PointerTo[Buffer]):
    """Writes one setting.

    Args:
        id: One of `H2SettingId`.
        value: The value; below 2^32.
        into: The destination, after the header of a frame.
    """
    into[].append_octet(UInt8(id >> 8))
    into[].append_octet(UInt8(id & 255))
    append_uint32(UInt32(value), into)


def append_settings_header(count: Int, into: PointerTo[Buffer]):
    """Writes the header of a frame of settings.

    Args:
        count: How many follow.
        into: The destination.
    """
    append_frame_header(
        count * _SETTING_OCTETS, H2FrameType.SETTINGS, 0, 0, into
    )


def append_settings_ack(into: PointerTo[Buffer]):
    """Writes the acknowledgement of settings.

    Args:
        into: The destination.
    """
    append_frame_header(0, H2FrameType.SETTINGS, H2Flag.ACK, 0, into)
