"""Speaks HTTP/2 to a server on a simulated network, with the machine of a client.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message import HeaderMap
from flare.proto.h1 import BodyLength
from flare.proto.h2.h2_event import H2Event
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.h2.h2_machine import H2Machine
from flare.proto.h2.h2_state import H2State
from flare.proto.h2.outgoing_requests import RequestStart
from flare.runtime.backends.simulated_network import Peer


struct H2Talk(Movable):
    """The client's end of a connection."""

    var peer: Peer
    """The transport."""
    var state: PointerTo[H2State]
    """The machine."""
    var window: PointerTo[Buffer]
    """The octets that it has not consumed."""
    var output: PointerTo[Buffer]
    """The frames that are not sent."""
    var answered: Int
    """How many responses were received whole."""

    def __init__(out self, peer: Peer):
        """Begins the connection.

        Args:
            peer: The transport.
        """
        self.peer = peer
        self.state = heap_create(H2State(H2Limits(), is_client=True))
        self.window = heap_create(Buffer())
        self.output = heap_create(Buffer())
        self.answered = 0
        H2Machine(self.state).begin(self.output)

    def __deinit__(deinit self):
        """Frees the machine."""
        heap_destroy(self.state)
        heap_destroy(self.window)
        heap_destroy(self.output)

    def ask(self, path: StaticString) raises:
        """Begins a request, which `talk` sends.

        Args:
            path: Its path.

        Raises:
            Error: If no further one may begin.
        """
        var fields = HeaderMap()
        fields.append("Host", "a.test")
        try:
            _ = H2Machine(self.state).send_request_head(
                RequestStart(
                    "GET".as_bytes(), path.as_bytes(), False, BodyLength.NONE
                ),
                fields,
                self.output,
            )
        except e:
            raise Error(e)

    def talk(mut self) raises:
        """Sends the frames, and takes those of the server that have arrived.

        Raises:
            Error: If the server has reset a stream, or violates the protocol.
        """
        var machine = H2Machine(self.state)
        self.window[].append(Span(self.peer.received()))
        while len(self.window[]) > 0:
            var event: H2Event
            try:
                event = machine.next_event(self.window[].span(), 0, self.output)
            except e:
                raise Error(e)
            self.window[].consume(event.consumed)
            if event.kind == H2Event.NEED_OCTETS:
                break
            if event.kind == H2Event.RESET:
                raise Error("a stream was reset")
            if event.kind == H2Event.DATA:
                machine.release(event.slot, event.length, self.output)
            if event.ends:
                machine.forget(event.slot, self.output)
                self.answered += 1
        self.peer.send(self.output[].span())
        self.output[].clear()
