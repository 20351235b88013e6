"""Defines the error codes of HTTP/2, and the error of its machine."""

from flare.core import text_at

from .hpack.hpack_error import HpackError


struct H2Code:
    """The error codes (RFC 9113 section 7)."""

    comptime NO_ERROR: UInt32 = 0
    """A graceful end."""
    comptime PROTOCOL_ERROR: UInt32 = 1
    """A violation without a code of its own."""
    comptime INTERNAL_ERROR: UInt32 = 2
    """A fault of the sender of the code."""
    comptime FLOW_CONTROL_ERROR: UInt32 = 3
    """A window was exceeded."""
    comptime SETTINGS_TIMEOUT: UInt32 = 4
    """Settings were not acknowledged in time."""
    comptime STREAM_CLOSED: UInt32 = 5
    """A frame for a stream that is half-closed."""
    comptime FRAME_SIZE_ERROR: UInt32 = 6
    """A frame of a length that it may not have."""
    comptime REFUSED_STREAM: UInt32 = 7
    """A stream was not processed at all, so it may be tried again."""
    comptime CANCEL: UInt32 = 8
    """A stream is no longer needed."""
    comptime COMPRESSION_ERROR: UInt32 = 9
    """The tables of HPACK differ."""
    comptime CONNECT_ERROR: UInt32 = 10
    """The connection of a CONNECT was lost."""
    comptime ENHANCE_YOUR_CALM: UInt32 = 11
    """The peer causes too much work."""
    comptime INADEQUATE_SECURITY: UInt32 = 12
    """The TLS of the connection is too weak."""
    comptime HTTP_1_1_REQUIRED: UInt32 = 13
    """The resource needs HTTP/1.1."""


def code_name(code: UInt32) -> StaticString:
    """Returns the name of an error code.

    Args:
        code: The code.

    Returns:
        The name, as in the RFC; `unknown code` for others.
    """
    comptime NAMES: List[StaticString] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ]
    if code > H2Code.HTTP_1_1_REQUIRED:
        return "unknown code"
    return text_at[NAMES](Int(code))


@fieldwise_init
struct H2Error(ImplicitlyCopyable, Writable):
    """A violation of HTTP/2 by the peer, or a mistake of the caller.

    An error of a stream ends that stream with RST_STREAM. An error of the
    connection ends it with GOAWAY (RFC 9113 section 5.4).
    """

    var code: UInt32
    """One of `H2Code`."""
    var stream_id: Int
    """The stream; 0 for the connection."""
    var reason: StaticString
    """A fixed phrase for logs, never octets from the peer."""
    var is_local: Bool
    """Whether the caller is at fault."""

    @staticmethod
    def connection(code: UInt32, reason: StaticString) -> Self:
        """Returns an error of the connection.

        Args:
            code: One of `H2Code`.
            reason: The phrase for logs.

        Returns:
            The error.
        """
        return Self(code, 0, reason, False)

    @staticmethod
    def compression(cause: HpackError) -> Self:
        """Returns the error of a field block that cannot be decompressed.

        Args:
            cause: The error of the decoder.

        Returns:
            The error.
        """
        return Self.connection(H2Code.COMPRESSION_ERROR, cause.reason)

    @staticmethod
    def local(reason: StaticString) -> Self:
        """Returns an error of the caller, which has written nothing.

        Args:
            reason: The phrase for logs.

        Returns:
            The error.
        """
        return Self(H2Code.INTERNAL_ERROR, 0, reason, True)

    def write_to(self, mut writer: Some[Writer]):
        """Writes one line for a log.

        Args:
            writer: The destination.
        """
        if self.is_local:
            writer.write(self.reason)
            return
        writer.write("http/2 error ", self.code)
        if self.stream_id != 0:
            writer.write(" of stream ", self.stream_id)
        writer.write(": ", self.reason)
