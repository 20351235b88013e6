"""A server's machine that tests feed with frames as text."""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message import HeaderMap
from flare.proto.h2.frame import (
    FRAME_HEADER_OCTETS,
    append_frame_header,
    read_frame_header,
    read_uint32,
)
from flare.proto.h2.h2_event import H2Event
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.h2.h2_machine import H2Machine
from flare.proto.h2.h2_state import H2State
from flare.proto.h2.hpack import append_named_literal
from flare.proto.h2.outgoing_heads import ResponseStart
from flare.proto.h2.preface import PREFACE

comptime GET: StaticString = (
    ":method: GET|:scheme: https|:authority: a.test|:path: /"
)
"""The lines of a request without content."""
comptime POST: StaticString = (
    ":method: POST|:scheme: https|:authority: a.test|:path: /"
)
"""The lines of a request with content."""


def block_of(lines: StringSlice) raises -> List[UInt8]:
    """Returns a field block of literals.

    Args:
        lines: The lines, with bars between them.

    Returns:
        The block.
    """
    var block = heap_create(Buffer())
    for line in lines.split("|"):
        if line.byte_length() == 0:
            continue
        var text = String(line)
        var colon = text.find(": ", 1)
        append_named_literal(
            text[byte=:colon].as_bytes(),
            text[byte = colon + 2 :].as_bytes(),
            block,
        )
    var octets = List[UInt8](block[].span())
    heap_destroy(block)
    return octets^


def date_span() -> Span[UInt8, ImmUntrackedOrigin]:
    """Returns a value of Date.

    Returns:
        The 29 octets.
    """
    comptime DATE: StaticString = "Sun, 06 Nov 1994 08:49:37 GMT"
    return Span[UInt8, ImmUntrackedOrigin](
        unsafe_ptr=DATE.as_bytes()
        .unsafe_ptr()
        .unsafe_origin_cast[ImmUntrackedOrigin](),
        length=29,
    )


def number(value: Int) -> List[UInt8]:
    """Returns a number of four octets.

    Args:
        value: The number.

    Returns:
        The octets, the highest first.
    """
    return [
        UInt8(value >> 24 & 255),
        UInt8(value >> 16 & 255),
        UInt8(value >> 8 & 255),
        UInt8(value & 255),
    ]


struct MachineScene(Movable):
    """A machine with its window and output."""

    var state: PointerTo[H2State]
    """The state of the machine."""
    var window: PointerTo[Buffer]
    """The octets that it has not consumed."""
    var output: PointerTo[Buffer]
    """The octets that it has written."""
    var now_ms: Int
    """The time."""

    def __init__(out self, limits: H2Limits = H2Limits()) raises:
        """Creates a machine that has received preface and settings, and whose
        first output is dropped.

        Args:
            limits: The limits.
        """
        self.state = heap_create(H2State(limits))
        self.window = heap_create(Buffer())
        self.output = heap_create(Buffer())
        self.now_ms = 1000
        self.machine().begin(self.output)
        self.window[].append(PREFACE)
        self.frame(4, 0, 0, [])
        self.frame(4, 1, 0, [])
        _ = self.next()
        self.output[].clear()

    def __deinit__(deinit self):
        """Frees the machine."""
        heap_destroy(self.state)
        heap_destroy(self.window)
        heap_destroy(self.output)

    def machine(self) -> H2Machine:
        """Returns the machine.

        Returns:
            The handle.
        """
        return H2Machine(self.state)

    def frame(self, kind: Int, flags: Int, id: Int, payload: List[UInt8]):
        """Receives a frame.

        Args:
            kind: Its type.
            flags: Its flags.
            id: Its stream.
            payload: Its payload.
        """
        append_frame_header(
            len(payload), UInt8(kind), UInt8(flags), id, self.window
        )
        self.window[].append(Span(payload))

    def request(self, id: Int, lines: StringSlice, ends: Bool = True) raises:
        """Receives a head.

        Args:
            id: Its stream.
            lines: Its lines.
            ends: Whether the request has no content.
        """
        self.frame(1, 5 if ends else 4, id, block_of(lines))

    def next(self) raises -> H2Event:
        """Returns the next event.

        Returns:
            The event, whose octets are dropped.
        """
        var event: H2Event
        try:
            event = self.machine().next_event(
                self.window[].span(), self.now_ms, self.output
            )
        except e:
            self.machine().fail(e, self.output)
            raise Error(e)
        self.window[].consume(event.consumed)
        return event

    def answer(self, slot: Int, content: StringSlice) raises -> Bool:
        """Sends a plain response.

        Args:
            slot: The slot of the stream.
            content: The content.

        Returns:
            False if it is not plain enough now.
        """
        var fields = HeaderMap()
        fields.append("Content-Type", "text/plain")
        return self.machine().send_plain_response(
            ResponseStart(slot, 200, content.byte_length(), date_span()),
            fields,
            content.as_bytes(),
            self.output,
        )

    def sent(self) -> String:
        """Describes the frames that were written, and drops them.

        Returns:
            Type, flags, stream and length of each, and a code or an increment.
        """
        return describe_frames(self.output)


def describe_frames(output: PointerTo[Buffer]) -> String:
    """Describes frames, and drops them.

    Args:
        output: The frames.

    Returns:
        Type, flags, stream and length of each, and a code or an increment.
    """
    var text = String()
    while len(output[]) > 0:
        var octets = output[].span()
        var header = read_frame_header(octets, 0)
        text.write(_name(header.kind), ":", header.flags, ":", header.stream_id)
        if header.kind == 3 or header.kind == 8:
            text.write(":", read_uint32(octets, FRAME_HEADER_OCTETS))
        elif header.kind == 7:
            text.write(":", read_uint32(octets, FRAME_HEADER_OCTETS + 4))
        else:
            text.write(":", header.length)
        text.write(" ")
        output[].consume(FRAME_HEADER_OCTETS + header.length)
    return String(text.strip())


def _name(kind: UInt8) -> String:
    comptime NAMES: List[StaticString] = [
        "DATA",
        "HEADERS",
        "PRIORITY",
        "RST",
        "SETTINGS",
        "PUSH",
        "PING",
        "GOAWAY",
        "WINDOW",
        "CONTINUATION",
    ]
    return String(materialize[NAMES]()[Int(kind)])
