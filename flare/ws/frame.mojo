"""Defines single frames, for programs that work below messages."""

from flare.core import Buffer, heap_create, heap_destroy, xor_octets
from flare.proto.ws import (
    WsCloseCode,
    WsFrameHead,
    WsOpcode,
    WsRole,
    WsState,
    is_utf8,
    write_frame_head,
    write_payload,
)
from flare.proto.ws.frame_header import read_frame_header

from .error import WsError


struct WsFrame(Copyable, Movable):
    """A frame (RFC 6455 section 5.2). It owns its payload."""

    var opcode: UInt8
    """The kind, one of `WsOpcode`."""
    var fin: Bool
    """Whether it is the last frame of its message."""
    var payload: List[UInt8]
    """The octets, not masked."""

    def __init__(
        out self, opcode: UInt8, var payload: List[UInt8], *, fin: Bool = True
    ):
        """Creates a frame.

        Args:
            opcode: The kind, one of `WsOpcode`.
            payload: The octets.
            fin: Whether it is the last frame of its message.
        """
        self.opcode = opcode
        self.fin = fin
        self.payload = payload^

    @staticmethod
    def text(text: StringSlice) -> Self:
        """Creates the only frame of a text message.

        Args:
            text: The text.

        Returns:
            The frame.
        """
        return Self(WsOpcode.TEXT, List[UInt8](text.as_bytes()))

    @staticmethod
    def binary(octets: Span[UInt8, _]) -> Self:
        """Creates the only frame of a binary message.

        Args:
            octets: The octets.

        Returns:
            The frame.
        """
        return Self(WsOpcode.BINARY, List[UInt8](octets))

    @staticmethod
    def ping(octets: Span[UInt8, _]) -> Self:
        """Creates a ping.

        Args:
            octets: At most 125 octets.

        Returns:
            The frame.
        """
        return Self(WsOpcode.PING, List[UInt8](octets))

    @staticmethod
    def pong(octets: Span[UInt8, _]) -> Self:
        """Creates a pong.

        Args:
            octets: The octets of the ping.

        Returns:
            The frame.
        """
        return Self(WsOpcode.PONG, List[UInt8](octets))

    @staticmethod
    def close(
        code: UInt16 = WsCloseCode.NORMAL, reason: StringSlice = ""
    ) -> Self:
        """Creates a Close.

        Args:
            code: The code; `WsCloseCode.NO_STATUS` for a Close without one.
            reason: At most 123 octets.

        Returns:
            The frame.
        """
        var payload = List[UInt8]()
        if code != WsCloseCode.NO_STATUS:
            payload.append(UInt8(code >> 8))
            payload.append(UInt8(code & 255))
            payload.extend(reason.as_bytes())
        return Self(WsOpcode.CLOSE, payload^)

    def text_payload(self) raises -> String:
        """Returns the payload as text.

        Returns:
            The text.

        Raises:
            An error `ws.bad_call` if the payload is not UTF-8, which one frame
            of a longer text need not be.
        """
        if not is_utf8(Span(self.payload)):
            raise Error(WsError(WsError.BAD_CALL, "the payload is not UTF-8"))
        return String(unsafe_from_utf8=Span(self.payload))

    def encode(self, mask: Optional[UInt32] = None) -> List[UInt8]:
        """Returns the octets of the frame.

        Args:
            mask: The key of a client; a server masks no frame.

        Returns:
            Header and payload.
        """
        var output = heap_create(Buffer())
        write_frame_head(
            WsFrameHead(
                self.opcode, len(self.payload), mask=mask, fin=self.fin
            ),
            output,
        )
        write_payload(Span(self.payload), output, mask, 0)
        var octets = List[UInt8](output[].span())
        heap_destroy(output)
        return octets^

    @staticmethod
    def decode_one(octets: Span[UInt8, _]) raises -> WsDecodedFrame:
        """Reads the first frame of a sequence of octets. It checks the form of
        the frame, but neither the order of frames nor the text.

        Args:
            octets: The octets of any end, masked or not.

        Returns:
            The frame, unmasked; none if the octets do not contain all of it.

        Raises:
            An error `ws.protocol` if the form of the frame is illegal.
        """
        var role = WsRole.SERVER
        if len(octets) > 1 and octets[1] & 0x80 == 0:
            role = WsRole.CLIENT
        try:
            var header = read_frame_header(
                WsState(role, message_octets_max=Int.MAX), octets, 0
            )
            if (
                header.octets == 0
                or UInt64(len(octets) - header.octets) < header.length
            ):
                return WsDecodedFrame(0, None)
            var end = header.octets + Int(header.length)
            var payload = List[UInt8](octets[header.octets : end])
            if header.key != 0:
                xor_octets(payload.unsafe_ptr(), len(payload), header.key, 0)
            return WsDecodedFrame(
                end, Self(header.opcode(), payload^, fin=header.is_final())
            )
        except e:
            raise Error(
                WsError(WsError.PROTOCOL, String(e.reason), code=e.close_code())
            )


struct WsDecodedFrame(Movable):
    """The result of `WsFrame.decode_one`."""

    var consumed: Int
    """How many octets the frame has; 0 if it is not whole."""
    var _frame: Optional[WsFrame]

    def __init__(out self, consumed: Int, var frame: Optional[WsFrame]):
        """Creates a result.

        Args:
            consumed: How many octets the frame has.
            frame: The frame, if it is whole.
        """
        self.consumed = consumed
        self._frame = frame^

    def is_whole(self) -> Bool:
        """Returns whether the octets contain a whole frame.

        Returns:
            False if more octets are needed.
        """
        return Bool(self._frame)

    def take_frame(mut self) raises -> WsFrame:
        """Returns the frame, once.

        Returns:
            The frame.

        Raises:
            An error `ws.bad_call` if it is not whole, or was taken before.
        """
        if not self._frame:
            raise Error(WsError(WsError.BAD_CALL, "there is no whole frame"))
        return self._frame.take()
