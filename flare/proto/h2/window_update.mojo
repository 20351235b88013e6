"""Writes WINDOW_UPDATE frames (RFC 9113 section 6.9)."""

from flare.core import Buffer, PointerTo

from .frame import H2FrameType, append_frame_header, append_uint32


def append_window_update(
    stream_id: Int, increment: Int, output: PointerTo[Buffer]
):
    """Writes a frame that widens a window.

    Args:
        stream_id: The stream; 0 for the connection.
        increment: By how many octets; 1 to 2^31-1.
        output: The destination.
    """
    append_frame_header(4, H2FrameType.WINDOW_UPDATE, 0, stream_id, output)
    append_uint32(UInt32(increment), output)
