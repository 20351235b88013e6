"""Runs one machine over received octets and keeps a transcript."""

from flare.core import (
    Buffer,
    PointerTo,
    heap_create,
    heap_destroy,
    write_escaped,
)
from flare.proto.ws import (
    WsEvent,
    WsFrameHead,
    WsMachine,
    WsOpcode,
    WsProtocolError,
    WsRole,
    WsState,
)

comptime KEY: UInt32 = 0x04030201
"""The key of frames that tests build by hand."""


struct Peer(Movable):
    """Owns a machine, its window and its output.

    Tests ask the machine through it: a handle in the last expression that names
    the peer would outlive its state.
    """

    var machine: WsMachine
    """The machine under test."""
    var output: PointerTo[Buffer]
    """Receives what is written."""
    var window: List[UInt8]
    """The unconsumed octets."""
    var lines: List[String]
    """One line per message, control frame and error, whatever the pieces."""
    var message: List[UInt8]
    """The data of the message in progress."""
    var pieces: Int
    """How many events had data."""
    var events: Int
    """How often an event was asked for."""
    var starts: Int
    """How many events started a message."""
    var takes_short: Bool
    """Whether the short way of messages is tried first."""
    var shorts: Int
    """How many messages it took."""
    var content: PointerTo[Buffer]
    """Receives the messages that it takes."""

    def __init__(
        out self,
        role: UInt8,
        *,
        message_octets_max: Int = 1 << 20,
        can_compress: Bool = False,
        takes_short: Bool = False,
    ):
        """Makes a connection after its handshake.

        Args:
            role: Which end the machine is.
            message_octets_max: The limit on messages.
            can_compress: Whether compression is agreed on.
            takes_short: Whether the short way of messages is tried first.
        """
        self.takes_short = takes_short
        self.shorts = 0
        self.content = heap_create(Buffer())
        self.machine = WsMachine(
            heap_create(
                WsState(
                    role,
                    message_octets_max=message_octets_max,
                    can_compress=can_compress,
                )
            )
        )
        self.output = heap_create(Buffer())
        self.window = []
        self.lines = []
        self.message = []
        self.pieces = 0
        self.events = 0
        self.starts = 0

    def __deinit__(deinit self):
        """Frees the machine."""
        heap_destroy(self.machine.state)
        heap_destroy(self.output)
        heap_destroy(self.content)

    def receive(mut self, octets: Span[UInt8, _]):
        """Feeds octets until the machine needs more.

        Args:
            octets: What arrives.
        """
        self.window.extend(octets)
        var at = 0
        while True:
            var event: WsEvent
            self.events += 1
            var taken = self._take_short(at)
            if taken > 0:
                at += taken
                continue
            try:
                event = self.machine.next_event(Span(self.window)[at:])
            except e:
                self.lines.append(String("! ", e.close_code(), " ", e.reason))
                continue
            self._note(event, at)
            at += event.consumed
            if event.kind == WsEvent.NEED_OCTETS:
                break
        var rest = List[UInt8](Span(self.window)[at:])
        self.window = rest^

    def receive(mut self, octets: List[UInt8]):
        """Feeds octets until the machine needs more.

        Args:
            octets: What arrives.
        """
        self.receive(Span(octets))

    def receive_cut(mut self, octets: Span[UInt8, _], cuts: List[Int]):
        """Feeds octets in pieces.

        Args:
            octets: What arrives.
            cuts: Where the pieces end, ascending.
        """
        var start = 0
        for i in range(len(cuts) + 1):
            var end = cuts[i] if i < len(cuts) else len(octets)
            self.receive(octets[start:end])
            start = end

    def text(self) -> String:
        """Joins the transcript.

        Returns:
            The lines, and the message in progress. After an error, that
            depends on the pieces, and is left out.
        """
        var text = String()
        for line in self.lines:
            text += line + "\n"
        if len(self.message) > 0 and not self.machine.has_failed():
            text += "~ "
            write_escaped(Span(self.message), text)
            text += "\n"
        return text^

    def has_failed(self) -> Bool:
        """Asks the machine, which lives as long as the peer.

        Returns:
            Whether the other end broke a rule.
        """
        return self.machine.has_failed()

    def has_received_close(self) -> Bool:
        """Asks the machine.

        Returns:
            Whether the other end has sent its Close.
        """
        return self.machine.has_received_close()

    def has_sent_close(self) -> Bool:
        """Asks the machine.

        Returns:
            Whether a Close was written.
        """
        return self.machine.has_sent_close()

    def is_sending_message(self) -> Bool:
        """Asks the machine.

        Returns:
            Whether a message lacks its last frame.
        """
        return self.machine.is_sending_message()

    def is_receiving_message(self) -> Bool:
        """Asks the machine.

        Returns:
            Whether part of a message has arrived.
        """
        return self.machine.is_receiving_message()

    def announced_octets(self) -> UInt64:
        """Asks the machine.

        Returns:
            The octets of the frame in progress that have not arrived.
        """
        return self.machine.announced_octets()

    def stage(self) -> UInt8:
        """Returns the state of the receiving side.

        Returns:
            One of `WsStage`.
        """
        return self.machine.state[].receiving

    def role(self) -> UInt8:
        """Returns the end.

        Returns:
            One of `WsRole`.
        """
        return self.machine.state[].role

    def write_frame_head(self, head: WsFrameHead) raises WsProtocolError:
        """Writes the header of a data frame.

        Args:
            head: The header.

        Raises:
            WsProtocolError: If the frame is not allowed.
        """
        self.machine.write_frame_head(head, self.output)

    def write_short(self, opcode: UInt8, octets: Span[UInt8, _]) -> Bool:
        """Writes a message in the short way.

        Args:
            opcode: The opcode.
            octets: The message.

        Returns:
            False if nothing was written.
        """
        return self.machine.write_short_message(opcode, octets, self.output)

    def write_payload(
        self,
        octets: Span[UInt8, _],
        *,
        mask: Optional[UInt32] = None,
        offset: Int = 0,
    ):
        """Writes octets of a payload.

        Args:
            octets: The octets.
            mask: The key.
            offset: The number of octets before them.
        """
        self.machine.write_payload(
            octets, self.output, mask=mask, offset=offset
        )

    def write_ping(
        self, payload: Span[UInt8, _], *, mask: Optional[UInt32] = None
    ) raises WsProtocolError:
        """Writes a ping.

        Args:
            payload: The payload.
            mask: The key.

        Raises:
            WsProtocolError: If the frame is not allowed.
        """
        self.machine.write_ping(payload, self.output, mask=mask)

    def write_pong(
        self, payload: Span[UInt8, _], *, mask: Optional[UInt32] = None
    ) raises WsProtocolError:
        """Writes a pong.

        Args:
            payload: The payload.
            mask: The key.

        Raises:
            WsProtocolError: If the frame is not allowed.
        """
        self.machine.write_pong(payload, self.output, mask=mask)

    def write_close(
        self,
        code: UInt16,
        reason: StringSlice,
        *,
        mask: Optional[UInt32] = None,
    ) raises WsProtocolError -> Bool:
        """Writes a Close.

        Args:
            code: The code.
            reason: The reason.
            mask: The key.

        Returns:
            False if one was written before.

        Raises:
            WsProtocolError: If the Close is not valid.
        """
        return self.machine.write_close(code, reason, self.output, mask=mask)

    def written(self) -> Int:
        """Counts the octets that were written and not taken.

        Returns:
            The number.
        """
        return len(self.output[])

    def take_output(mut self) -> List[UInt8]:
        """Takes what the machine wrote.

        Returns:
            The octets.
        """
        var taken = List[UInt8](self.output[].span())
        self.output[].clear()
        return taken^

    def _take_short(mut self, at: Int) -> Int:
        if not self.takes_short:
            return 0
        self.content[].clear()
        # It writes nothing into the window: its type forbids that.
        var taken = self.machine.take_short_message(
            Span(self.window)[at:], self.content
        )
        if taken == 0:
            if len(self.content[]) > 0:
                self.lines.append("? a part of a message was taken")
            return 0
        self.shorts += 1
        self.pieces += 1
        self.starts += 1
        if len(self.message) > 0:
            self.lines.append("? a message starts within one")
        var is_text = self.window[at] & 15 == WsOpcode.TEXT
        var line = String("= TEXT " if is_text else "= BINARY ")
        write_escaped(self.content[].span(), line)
        self.lines.append(line^)
        return taken

    def _note(mut self, event: WsEvent, at: Int):
        if event.kind == WsEvent.NEED_OCTETS:
            return
        var octets = Span(self.window)[at + event.start :][: event.length]
        if event.kind == WsEvent.DATA:
            self.pieces += 1
            self.starts += 1 if event.starts else 0
            if event.starts and len(self.message) > 0:
                self.lines.append("? a message starts within one")
            self.message.extend(octets)
            if not event.ends:
                if event.ends_frame:
                    self.lines.append("+")
                return
            var line = String("= ")
            line += "TEXT " if event.opcode == WsOpcode.TEXT else "BINARY "
            if event.is_compressed:
                line += "(compressed) "
            write_escaped(Span(self.message), line)
            self.lines.append(line^)
            self.message.clear()
            return
        var line = String("= ")
        if event.kind == WsEvent.PING:
            line += "PING "
        elif event.kind == WsEvent.PONG:
            line += "PONG "
        else:
            line += String("CLOSE ", event.close_code, " ")
        write_escaped(octets, line)
        self.lines.append(line^)


def frame(role: UInt8, first: UInt8, payload: Span[UInt8, _]) -> List[UInt8]:
    """Builds a frame that an end may receive.

    Args:
        role: Which end receives it: a server gets it masked.
        first: The first octet: FIN, reserved bits, opcode.
        payload: The payload.

    Returns:
        The octets.
    """
    var made = header(role, first, len(payload))
    for i in range(len(payload)):
        var octet = payload[i]
        if role == WsRole.SERVER:
            octet ^= UInt8(1 + i % 4)
        made.append(octet)
    return made^


def frame(role: UInt8, first: UInt8, payload: StaticString) -> List[UInt8]:
    """Builds a frame with a text.

    Args:
        role: Which end receives it.
        first: The first octet.
        payload: The payload.

    Returns:
        The octets.
    """
    return frame(role, first, payload.as_bytes())


def frame(role: UInt8, first: UInt8, payload: List[UInt8]) -> List[UInt8]:
    """Builds a frame with octets.

    Args:
        role: Which end receives it.
        first: The first octet.
        payload: The payload.

    Returns:
        The octets.
    """
    return frame(role, first, Span(payload))


def header(role: UInt8, first: UInt8, length: Int) -> List[UInt8]:
    """Builds the header of a frame that an end may receive.

    Args:
        role: Which end receives it.
        first: The first octet.
        length: The length of the payload.

    Returns:
        The octets.
    """
    var mask = UInt8(0x80 if role == WsRole.SERVER else 0)
    var made: List[UInt8] = [first]
    if length < 126:
        made.append(mask | UInt8(length))
    elif length < 65536:
        made.extend([mask | 126, UInt8(length >> 8), UInt8(length & 0xFF)])
    else:
        made.append(mask | 127)
        for i in range(7, -1, -1):
            made.append(UInt8(length >> (8 * i) & 0xFF))
    if role == WsRole.SERVER:
        made.extend([1, 2, 3, 4])
    return made^


def transcript_of(
    role: UInt8, octets: List[UInt8], cuts: List[Int] = []
) -> String:
    """Runs a new machine.

    Args:
        role: Which end it is.
        octets: What arrives.
        cuts: Where the pieces end.

    Returns:
        The transcript.
    """
    var peer = Peer(role)
    peer.receive_cut(Span(octets), cuts)
    return peer.text()
