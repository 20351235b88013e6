"""A client's machine that tests feed with frames as text, or connect to a
server's machine.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message import HeaderMap
from flare.proto.h1 import BodyLength
from flare.proto.h2.h2_event import H2Event
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.h2.h2_machine import H2Machine
from flare.proto.h2.h2_state import H2State
from flare.proto.h2.outgoing_requests import RequestStart
from flare.proto.h2.frame import append_frame_header

from tests.asserting import assert_equal

from .machine_scene import block_of, describe_frames


struct ClientScene(Movable):
    """A client's machine with its window and output."""

    var state: PointerTo[H2State]
    """The state of the machine."""
    var window: PointerTo[Buffer]
    """The octets that it has not consumed."""
    var output: PointerTo[Buffer]
    """The octets that it has written."""

    def __init__(out self, limits: H2Limits = H2Limits()) raises:
        """Creates a machine that has received settings, and whose first output
        is dropped.

        Args:
            limits: The limits.
        """
        self.state = heap_create(H2State(limits, is_client=True))
        self.window = heap_create(Buffer())
        self.output = heap_create(Buffer())
        self.machine().begin(self.output)
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

    def head(self, id: Int, lines: StringSlice, ends: Bool = False) raises:
        """Receives a head.

        Args:
            id: Its stream.
            lines: Its lines.
            ends: Whether it ends the stream.
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
                self.window[].span(), 1000, self.output
            )
        except e:
            self.machine().fail(e, self.output)
            raise Error(e)
        self.window[].consume(event.consumed)
        return event

    def ask(
        self,
        method: String = "GET",
        path: String = "/",
        length: BodyLength = BodyLength.NONE,
        fields: String = "",
    ) raises -> Int:
        """Sends the head of a request.

        Args:
            method: Its method.
            path: Its path.
            length: The length of its content.
            fields: Further lines, with bars between them.

        Returns:
            The slot of its stream.
        """
        var map = HeaderMap()
        map.append("Host", "a.test")
        for line in fields.split("|"):
            if line.byte_length() > 0:
                var text = String(line)
                var colon = text.find(": ")
                map.append(text[byte=:colon], text[byte = colon + 2 :])
        try:
            var slot = self.machine().send_request_head(
                RequestStart(method.as_bytes(), path.as_bytes(), True, length),
                map,
                self.output,
            )
            _ = method
            _ = path
            return slot
        except e:
            raise Error(e)

    def sent_nothing(self) raises:
        """Fails if frames were written."""
        assert_equal(self.sent(), "")

    def sent(self) -> String:
        """Describes the frames that were written, and drops them.

        Returns:
            Type, flags, stream and length of each, and a code or an increment.
        """
        return describe_frames(self.output)
