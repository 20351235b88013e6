"""Speaks WebSocket at either end of a connection, without I/O and clock.

Received octets become events (`next_event`); frames become octets
(`write_...`). The rules of their order are in `frame_state`, reading in
`frame_reader`. This module is the interface.
"""

from flare.core import Buffer, PointerTo, copy_xored

from .codes import WsCloseCode, WsOpcode
from .frame_event import WsEvent
from .frame_header import CONTROL_OCTETS_MAX, WsFrameHead, write_frame_head
from .frame_reader import (
    has_control_frame,
    next_frame_event,
    take_short_message,
)
from .frame_state import FrameKind, WsRole, WsStage, WsState, next_stage
from .text import is_utf8
from .violation import WsProtocolError

comptime CLOSE_REASON_OCTETS_MAX = CONTROL_OCTETS_MAX - 2
"""The longest reason of a Close."""


@fieldwise_init
struct WsMachine(TrivialRegisterPassable):
    """A handle to one connection's `WsState`, which its owner keeps in place.
    """

    var state: PointerTo[WsState]
    """The state; it must outlive every copy of this handle."""

    def next_event(
        self, window: Span[mut=True, UInt8, _]
    ) raises WsProtocolError -> WsEvent:
        """Returns the next event.

        Call it again after every event except `NEED_OCTETS`. Before that, drop
        the octets that the event `consumed` from the window. The payload of the
        event is unmasked in place.

        Args:
            window: The unconsumed octets, contiguous. The machine changes the
                octets of payloads, and those that remain only once.

        Returns:
            One event.

        Raises:
            WsProtocolError: If the peer breaks a rule. Later octets are then
                dropped; the owner may still write a Close.
        """
        try:
            return next_frame_event(self.state, window)
        except e:
            self.state[].receiving = WsStage.FAILED
            raise e

    @always_inline
    def take_short_message(
        self, window: Span[UInt8, _], output: PointerTo[Buffer]
    ) -> Int:
        """Takes a message that lies whole in front of the window, in one short
        frame, outside of any other message. The result is that of `next_event`
        and a copy, in less time.

        Args:
            window: The unconsumed octets, contiguous. They stay as they are.
            output: The content is appended there.

        Returns:
            The length of the frame, which the owner drops from the front of the
            window. 0 if `next_event` must read the next frame.
        """
        return take_short_message(self.state, window, output)

    def has_control_frame(self, window: Span[UInt8, _]) -> Bool:
        """Returns whether the next event is a control frame that has arrived
        whole, or a violation in its header. The state stays as it is.

        Args:
            window: The unconsumed octets, contiguous.

        Returns:
            False if data is in front, or more octets are needed.
        """
        return has_control_frame(self.state, window)

    def stop_receiving(self):
        """Makes the machine drop all later octets, because the owner has found
        a violation in the content of a message.
        """
        self.state[].receiving = WsStage.FAILED

    def write_frame_head(
        self, head: WsFrameHead, output: PointerTo[Buffer]
    ) raises WsProtocolError:
        """Writes the header of a data frame; the payload follows.

        Args:
            head: The header: text, binary or a continuation. A client needs a
                key for each frame.
            output: The destination.

        Raises:
            WsProtocolError: If the frame is not allowed now; no octet is then
                written.
        """
        ref s = self.state[]
        self._check_mask(head.mask)
        if WsOpcode.is_control(head.opcode) or not WsOpcode.is_known(
            head.opcode
        ):
            raise WsProtocolError.local("not a data frame")
        if head.rsv1 and not (
            s.can_compress and head.opcode != WsOpcode.CONTINUATION
        ):
            raise WsProtocolError.local("a frame that may not be compressed")
        if not self.can_write():
            raise WsProtocolError.local("a frame after the close")
        var next = next_stage(s.sending, FrameKind.of(head.opcode, head.fin))
        if next == WsStage.ILLEGAL:
            raise WsProtocolError.local("a frame out of its order")
        s.sending = next
        write_frame_head(head, output)

    @always_inline
    def write_short_message(
        self, opcode: UInt8, octets: Span[UInt8, _], output: PointerTo[Buffer]
    ) -> Bool:
        """Writes a message of a server in one short frame, with the octets of
        `write_frame_head` and `write_payload`, in less time.

        Args:
            opcode: One of `WsOpcode`.
            octets: The message; not a view of the output.
            output: The destination.

        Returns:
            False if `write_frame_head` must write the frame or refuse it; no
            octet is then written.
        """
        ref s = self.state[]
        if (
            s.role != WsRole.SERVER
            or s.sending != WsStage.OPEN
            or not self.can_write()
            or len(octets) > CONTROL_OCTETS_MAX
            or not (opcode == WsOpcode.TEXT or opcode == WsOpcode.BINARY)
        ):
            return False
        write_frame_head(WsFrameHead(opcode, len(octets)), output)
        output[].append(octets)
        return True

    def write_payload(
        self,
        octets: Span[UInt8, _],
        output: PointerTo[Buffer],
        *,
        mask: Optional[UInt32] = None,
        offset: Int = 0,
    ):
        """Writes octets of the payload of the frame whose header was written
        last.

        Args:
            octets: The octets; not a view of the output.
            output: The destination.
            mask: The key of the frame, if it has one.
            offset: The number of octets of the payload before these.
        """
        write_payload(octets, output, mask, offset)

    def write_ping(
        self,
        payload: Span[UInt8, _],
        output: PointerTo[Buffer],
        *,
        mask: Optional[UInt32] = None,
    ) raises WsProtocolError:
        """Writes a ping.

        Args:
            payload: At most 125 octets, which the pong returns.
            output: The destination.
            mask: The key of a client.

        Raises:
            WsProtocolError: If no frame may be written, or the payload is too
                long; no octet is then written.
        """
        self._write_control(WsOpcode.PING, payload, output, mask)

    def write_pong(
        self,
        payload: Span[UInt8, _],
        output: PointerTo[Buffer],
        *,
        mask: Optional[UInt32] = None,
    ) raises WsProtocolError:
        """Writes a pong.

        Args:
            payload: The payload of the ping; at most 125 octets.
            output: The destination.
            mask: The key of a client.

        Raises:
            WsProtocolError: If no frame may be written, or the payload is too
                long; no octet is then written.
        """
        self._write_control(WsOpcode.PONG, payload, output, mask)

    def write_close(
        self,
        code: UInt16,
        reason: StringSlice,
        output: PointerTo[Buffer],
        *,
        mask: Optional[UInt32] = None,
    ) raises WsProtocolError -> Bool:
        """Writes the Close of this endpoint, unless it was written before.

        After that, the machine drops all frames but the Close of the peer.

        Args:
            code: A valid code, or `WsCloseCode.NO_STATUS` for a Close without
                one.
            reason: At most 123 octets; empty without a code.
            output: The destination.
            mask: The key of a client.

        Returns:
            False if a Close was written before; no octet is then written.

        Raises:
            WsProtocolError: If code, reason or key are not valid; no octet is
                then written.
        """
        ref s = self.state[]
        if s.sending == WsStage.CLOSE_SENT:
            return False
        self._check_mask(mask)
        var count = reason.byte_length()
        var payload = Array[UInt8, CONTROL_OCTETS_MAX](fill=0)
        if code == WsCloseCode.NO_STATUS:
            if count > 0:
                raise WsProtocolError.local("a reason without a close code")
        else:
            if not WsCloseCode.is_valid(code):
                raise WsProtocolError.local("an invalid close code")
            if count > CLOSE_REASON_OCTETS_MAX:
                raise WsProtocolError.local("a close reason over 123 octets")
            if not is_utf8(reason.as_bytes()):
                raise WsProtocolError.local("a close reason that is not UTF-8")
            payload[0] = UInt8(code >> 8)
            payload[1] = UInt8(code & 0xFF)
            for i in range(count):
                payload[2 + i] = reason.as_bytes()[i]
            count += 2
        write_frame_head(WsFrameHead(WsOpcode.CLOSE, count, mask=mask), output)
        write_payload(Span(payload)[:count], output, mask, 0)
        s.sending = WsStage.CLOSE_SENT
        if s.receiving < WsStage.CLOSE_SENT:
            s.receiving = WsStage.CLOSE_SENT
        return True

    @always_inline
    def can_write(self) -> Bool:
        """Returns whether frames other than a Close may be written.

        Returns:
            False after a Close of either end, and after a violation.
        """
        return self.state[].receiving < WsStage.CLOSE_SENT

    @always_inline
    def has_sent_close(self) -> Bool:
        """Returns whether the Close of this endpoint was written.

        Returns:
            True if it was written.
        """
        return self.state[].sending == WsStage.CLOSE_SENT

    @always_inline
    def has_received_close(self) -> Bool:
        """Returns whether the Close of the peer was reported.

        Returns:
            True if the peer sends no further frame.
        """
        return self.state[].receiving == WsStage.CLOSE_RECEIVED

    @always_inline
    def has_failed(self) -> Bool:
        """Returns whether the peer broke a rule.

        Returns:
            True if the peer's octets are dropped.
        """
        return self.state[].receiving == WsStage.FAILED

    @always_inline
    def is_receiving_message(self) -> Bool:
        """Returns whether part of a message has arrived.

        Returns:
            True from the header of its first frame to its last octet.
        """
        ref s = self.state[]
        return s.receiving == WsStage.IN_MESSAGE or s.frame.is_open

    @always_inline
    def is_sending_message(self) -> Bool:
        """Returns whether a message lacks its last frame.

        Returns:
            True if the next data frame is a continuation.
        """
        return self.state[].sending == WsStage.IN_MESSAGE

    @always_inline
    def announced_octets(self) -> UInt64:
        """Returns how many octets of the frame in progress have not arrived.

        Returns:
            The rest of its payload.
        """
        return self.state[].frame.left

    @always_inline
    def _check_mask(self, mask: Optional[UInt32]) raises WsProtocolError:
        if (self.state[].role == WsRole.CLIENT) != Bool(mask):
            raise WsProtocolError.local(
                "a server masks no frame, a client each"
            )

    def _write_control(
        self,
        opcode: UInt8,
        payload: Span[UInt8, _],
        output: PointerTo[Buffer],
        mask: Optional[UInt32],
    ) raises WsProtocolError:
        self._check_mask(mask)
        if not self.can_write():
            raise WsProtocolError.local("a frame after the close")
        if len(payload) > CONTROL_OCTETS_MAX:
            raise WsProtocolError.local("a control frame over 125 octets")
        write_frame_head(WsFrameHead(opcode, len(payload), mask=mask), output)
        write_payload(payload, output, mask, 0)


@always_inline
def write_payload(
    octets: Span[UInt8, _],
    output: PointerTo[Buffer],
    mask: Optional[UInt32],
    offset: Int,
):
    """Appends octets of a payload, masked if there is a key.

    Args:
        octets: The octets; not a view of the output.
        output: The destination.
        mask: The key of the frame, if it has one.
        offset: The number of octets of the payload before these.
    """
    if not mask:
        output[].append(octets)
        return
    var n = len(octets)
    copy_xored(
        output[].reserve(n), octets.unsafe_ptr(), n, mask.value(), offset
    )
    output[].advance(n)
