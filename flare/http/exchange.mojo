"""Stores one request while it lives, with the context of its answer.

The block belongs to a worker's pool and is reused, so that a request allocates
no memory. A worker or a test makes it, and supplies `CarrierFunctions`: they wait
for request content, and send a streamed response over the connection.
"""

from flare.core import Buffer, Erased, OctetPointer, PointerTo, SlotHandle
from flare.message import HeaderMap
from flare.proto.head import Head
from flare.runtime.fiber import Fiber
from flare.runtime.operation import FileRange
from flare.tls import TlsMachine
from flare.unix import PeerCredentials

from std.memory import unsafe_memcpy

from .content_state import ContentState, ContentWait, untracked
from .path_parameters import PathParameters
from .stream_address import StreamAddr
from .surroundings import Surroundings

comptime MutOctets = Span[UInt8, MutUntrackedOrigin]
"""A view of octets that the view's owner may change."""

comptime NOT_UTF8: StaticString = "http.not_utf8"
"""The start of the error for octets of a peer that are not text."""
comptime BAD_JSON: StaticString = "json."
"""The start of the error for octets of a peer that are not JSON."""
comptime BAD_FORM: StaticString = "http.bad_form"
"""The start of the error for a form that breaks a rule or a limit."""

comptime OVER: StaticString = "http.stream_over the request has ended"
"""The error of using a request's content, or its response's stream, after the
request is over.
"""

comptime CUT_OFF: StaticString = "http.content cut off"
"""The start of the error for a peer that left too early."""

comptime NOT_RECEIVED: StaticString = "http.not_received no such octets"
"""The error of consuming octets that have not arrived."""

comptime STOPPING: StaticString = "http.stopping the server stops"
"""The error of an endless stream when its server stops."""


@fieldwise_init
struct OutputRoom(TrivialRegisterPassable):
    """Room in the output of an upgraded connection."""

    var output: PointerTo[Buffer]
    """The output, to which octets are appended."""
    var octets: Int
    """How many may be appended, and 16 more for their framing; 0 only if the
    caller does not wait.
    """


@fieldwise_init
struct UpgradedFunctions(TrivialRegisterPassable):
    """The functions of a carrier that serve a stream after an upgrade; the
    exchange is the first argument."""

    var begin: def(Erased) raises thin -> None
    """Sends the head of an upgrade; the function of the stream speaks next."""
    var await_octets: def(Erased, Int) raises thin -> MutOctets
    """Returns the octets that are not consumed yet, and parks while they are
    not more than a number. At the end of the peer's stream they may be fewer.
    """
    var consume_octets: def(Erased, Int) raises thin -> None
    """Drops octets from the front of the unconsumed ones."""
    var await_room: def(Erased, Int) raises thin -> OutputRoom
    """Returns room for at most a number of octets, and parks while there is
    none. With 0 or less, it returns at once, and reserves memory for the
    negated number of octets if there is any room.
    """
    var unsent_octets: def(Erased) thin -> Int
    """Returns how many octets are not sent yet."""
    var announce_output: def(Erased) thin -> None
    """Called when octets were appended to the output."""
    var is_held_back: def(Erased) thin -> Bool
    """Returns whether the peer's octets are not received for now."""
    var abort: def(Erased) thin -> None
    """Ends the connection at once, and cancels its handler."""


@fieldwise_init
struct CarrierFunctions(TrivialRegisterPassable):
    """The functions of a carrier; the exchange is the first argument."""

    var demand: def(Erased) thin -> None
    """Called when a handler wants content, which may have to be requested."""
    var peer_address: def(Erased) raises thin -> StreamAddr
    """Returns the address of the peer."""
    var peer_credentials: def(Erased) raises thin -> PeerCredentials
    """Returns the process at the other end of a Unix socket."""
    var hides_client: def(Erased) thin -> Bool
    """Returns whether a proxy has opened the connection without naming its
    client."""
    var tls: def(Erased) thin -> Optional[PointerTo[TlsMachine]]
    """Returns the TLS machine of the connection; `None` without TLS."""
    var inform: def(Erased, Int, PointerTo[HeaderMap]) raises thin -> None
    """Sends an interim response with these fields."""
    var write: def(Erased, OctetPointer, Int) raises thin -> Int
    """Takes octets of a streamed response, and parks while there is no room.
    The head is sent first. Without octets, only the head is sent.
    """
    var write_file: def(Erased, FileRange) raises thin -> Int
    """Sends octets of a file as the content of a streamed response, and parks
    until they are sent or cannot be. The file stays open meanwhile. Returns
    the number sent. After 0, the caller writes these octets itself.
    """
    var end: def(Erased) raises thin -> None
    """Ends a streamed response: the head if it is due, trailers, the end."""
    var upgraded: UpgradedFunctions
    """The functions after an upgrade."""


struct ExchangeHost(TrivialRegisterPassable):
    """The worker, or the test, of a block; the same for all its requests."""

    var worker: Int
    """The index of the worker."""
    var handler: Erased
    """The handler; the function that runs it knows its type."""
    var functions: PointerTo[CarrierFunctions]
    """The functions of the carriers."""
    var slot: SlotHandle
    """The slot of the block in the slab of the worker, if it has one."""
    var stopping_place: Int
    """The address of the worker's `Bool`, True while it stops; 0 in a test."""
    var jobs_place: Int
    """The address of the worker's `LaterJobs`; 0 in a test."""

    def __init__(out self):
        """Creates the description of a block whose requests have no carrier."""
        self.worker = 0
        self.handler = Erased(unsafe_from_address=64)
        self.functions = PointerTo[CarrierFunctions](unsafe_from_address=64)
        self.slot = SlotHandle(0, 0)
        self.stopping_place = 0
        self.jobs_place = 0


struct ExchangeStage:
    """The stages of an exchange, from its head to its end."""

    comptime HEAD: UInt8 = 0
    """Its head is still being read."""
    comptime STARTING: UInt8 = 1
    """The head is complete, and the handler is about to start."""
    comptime RUNNING: UInt8 = 2
    """The handler runs."""
    comptime UPGRADED: UInt8 = 3
    """The handler runs and speaks another protocol."""


@fieldwise_init
struct StreamFilter(TrivialRegisterPassable):
    """Transforms the octets of a streamed response before the carrier gets
    them.
    """

    var owner: Erased
    """The first argument of the functions."""
    var write: def(Erased, Erased, OctetPointer, Int) raises thin -> Int
    """Takes octets for an exchange, and parks as the carrier does. Without
    octets, only the head is sent.
    """
    var release: def(Erased) thin -> None
    """Called once, when the response is over."""
    var taken_octets: Int
    """How many octets it has taken."""


@fieldwise_init
struct UpgradedProtocol(TrivialRegisterPassable):
    """The protocol that follows an upgrade, as its connection knows it."""

    var state: Erased
    """The first argument of the functions."""
    var on_octets: def(Erased) thin -> None
    """Called on the loop when octets have arrived and no fiber reads them. It
    must not wait.
    """
    var on_room: def(Erased) thin -> None
    """Called on the loop when octets were sent and no fiber waits for room. It
    must not wait.
    """
    var on_stop: def(Erased) thin -> None
    """Called on the loop once when the server stops. It must not wait."""
    var on_lost: def(Erased) thin -> None
    """Called on the loop if the function ignored its cancellation, so that it
    never runs again. It must not wait.
    """


struct UpgradeState(Movable):
    """The state of an upgraded connection."""

    var protocol: Optional[UpgradedProtocol]
    """The protocol, if it wants to be called."""
    var read_timeout_ms: Int
    """The longest wait of one read."""
    var has_read: Bool
    """Whether the function has read."""
    var has_said_end: Bool
    """Whether the protocol told the peer of the end, so that also a failure
    needs no reset.
    """
    var has_heard_end: Bool
    """Whether the peer told the protocol of the end, and sends no more."""
    var has_lost_peer: Bool
    """Whether the connection ended before the peer told the protocol so."""

    def __init__(out self, read_timeout_ms: Int = 0):
        """Creates the state of a connection whose function has not begun.

        Args:
            read_timeout_ms: The longest wait of one read.
        """
        self.protocol = None
        self.read_timeout_ms = read_timeout_ms
        self.has_read = False
        self.has_said_end = False
        self.has_heard_end = False
        self.has_lost_peer = False


struct StopNotice(TrivialRegisterPassable):
    """Tracks how the function of a stream is informed that its server stops."""

    var is_endless: Bool
    """Whether the stream is endless: a stopping server ends it at once."""
    var is_stopping: Bool
    """Whether the server is stopping."""
    var write_tells: Bool
    """Whether a write informs the function of the stop although there is room:
    the function may never read.
    """
    var was_told: Bool
    """Whether the function was informed of the stop."""
    var was_told_idle: Bool
    """Whether it was informed after it had read all that had arrived."""

    def __init__(out self):
        """Creates the notice of a stream that has not begun."""
        self.is_endless = False
        self.is_stopping = False
        self.write_tells = False
        self.was_told = False
        self.was_told_idle = False

    def is_due(self) -> Bool:
        """Returns whether the function must still be informed.

        Returns:
            True for an endless stream that was not informed yet.
        """
        return self.is_stopping and self.is_endless and not self.was_told


struct StreamState(Movable):
    """The state of a streamed response."""

    var held_octets: Int
    """How much memory its function retains until the end. The field is first,
    next to the buffers that are counted with it.
    """
    var status: Int
    """The status of the head."""
    var headers: HeaderMap
    """The fields of the head."""
    var trailers: HeaderMap
    """The trailer fields, which follow the content."""
    var is_head_due: Bool
    """Whether the head is still to be written."""
    var is_open: Bool
    """Whether the function that writes the response, or speaks the other
    protocol, is running.
    """
    var written: Int
    """The number of octets of content taken."""
    var waiter: Optional[Fiber]
    """The fiber that waits for room."""
    var filter: Optional[StreamFilter]
    """The filter of the octets, if any."""
    var identifier: List[UInt8]
    """X-Request-Id of any response, until an access log has its record."""
    var upgrade: UpgradeState
    """The state after an upgrade."""
    var stop: StopNotice
    """How far the function is informed of a stop."""

    def __init__(out self):
        """Creates the state of a response that is not streamed."""
        self.status = 0
        self.headers = HeaderMap()
        self.trailers = HeaderMap()
        self.is_head_due = False
        self.is_open = False
        self.written = 0
        self.waiter = None
        self.filter = None
        self.held_octets = 0
        self.upgrade = UpgradeState()
        self.identifier = []
        self.stop = StopNotice()

    def end(mut self):
        """Resets the state. Using a handle to the stream then raises an error.
        """
        self.is_head_due = False
        self.is_open = False
        self.upgrade = UpgradeState()
        self.stop = StopNotice()
        self.held_octets = 0
        self.headers = HeaderMap()
        self.trailers = HeaderMap()
        if self.filter:
            var filter = self.filter.unsafe_value()
            self.filter = None
            filter.release(filter.owner)


struct ExchangeState(Movable):
    """A request and the context of its answer. `Request` is the view of it."""

    var head: Head
    """The head, as offsets into `octets`."""
    var octets: OctetPointer
    """The window in which the head was reported; it stays in place meanwhile.
    """
    var octet_count: Int
    """The length of the head."""
    var host: ExchangeHost
    """Whose block it is."""
    var carrier: Optional[Erased]
    """The connection, which `host.functions` know. It is `None` if the content
    is complete and no peer receives the response piece by piece."""
    # The fields that a new request resets are neighbours, so that a few stores
    # suffice.
    var rejected_status: Int
    """The status that answers an uncaught error caused by the peer's octets,
    or 0.
    """
    var waiter: Optional[Fiber]
    """The fiber that waits for content."""
    var fiber: Optional[Fiber]
    """The fiber that runs the handler."""
    var request_id: Int
    """The number of the request, from 1, counted by the worker. It is 0 until
    the head is complete, and after the request is over. So old handles detect
    that the block no longer belongs to them.
    """
    var started_ns: Int
    """When the head was complete, by the reactor's clock; 0 before."""
    var app: Surroundings
    """The state and the values that the handler gets from those around it;
    `State[T]` and `RequestValue[T]` read them."""
    var read_buffer: Optional[OctetPointer]
    """The receive buffer that holds the head, if it lies in one."""
    var error_headers: HeaderMap
    """The fields for the answer that the server gives if the handler fails."""
    var route: StaticString
    """The route's pattern, for logs; empty before routing."""
    var peer_ended: Bool
    """Whether the peer has ended its side, which counts as leaving."""
    var peer_gone: Bool
    """Whether the peer left before the answer was sent."""
    var stage: UInt8
    """How far it is, one of `ExchangeStage`."""
    var stream_slot: Int
    """The slot of its stream on a connection of HTTP/2."""
    var content: ContentState
    """The content received so far."""
    var stream: StreamState
    """The state of a streamed response."""
    var content_wait: ContentWait
    """A wait for it."""
    var gathered: Buffer
    """The octets of the head, if they came in several pieces."""
    var parameters: PathParameters
    """The values of the route's parameters."""

    def __init__(out self):
        """Creates an empty block."""
        self.head = Head()
        self.octets = OctetPointer(unsafe_from_address=64)
        self.octet_count = 0
        self.parameters = PathParameters()
        self.content = ContentState()
        self.content_wait = ContentWait()
        self.stream = StreamState()
        self.rejected_status = 0
        self.carrier = None
        self.waiter = None
        self.fiber = None
        self.request_id = 0
        self.host = ExchangeHost()
        self.app = Surroundings(None, "", None)
        self.route = ""
        self.read_buffer = None
        self.gathered = Buffer()
        self.error_headers = HeaderMap()
        self.peer_ended = False
        self.peer_gone = False
        self.started_ns = 0
        self.stage = ExchangeStage.HEAD
        self.stream_slot = -1

    @always_inline
    def begin(mut self):
        """Resets the block for a new request. Memory and carrier are kept."""
        self.parameters.clear()
        self.content.begin()
        _ = self.content_wait.reader.end()
        self.route = ""
        self.rejected_status = 0
        self.waiter = None
        self.fiber = None
        self.request_id = 0
        self.started_ns = 0
        self.app.state = None
        self.read_buffer = None
        if len(self.error_headers) > 0:
            self.error_headers = HeaderMap()
        self.peer_ended = False
        self.peer_gone = False
        self.stage = ExchangeStage.HEAD

    @always_inline
    def is_running(self) -> Bool:
        """Returns whether the handler runs.

        Returns:
            True from its start until its response is written.
        """
        return self.stage >= ExchangeStage.RUNNING

    @always_inline
    def is_upgraded(self) -> Bool:
        """Returns whether the handler speaks another protocol.

        Returns:
            True from the 101 on.
        """
        return self.stage == ExchangeStage.UPGRADED

    @always_inline
    def awaits_content(self) -> Bool:
        """Returns whether a fiber waits for content that may still arrive.

        Returns:
            True if the wait has a deadline.
        """
        return (
            Bool(self.waiter)
            and self.content.status == 0
            and self.stage == ExchangeStage.RUNNING
        )

    @always_inline
    def end(mut self):
        """Ends the request: wakes fibers, and destroys its values."""
        self.request_id = 0
        if self.waiter or self.stream.waiter or self.app.values:
            self._end_rest()

    # Few requests leave any of this, so it is not part of their way.
    @no_inline
    def _end_rest(mut self):
        if self.waiter:
            self.waiter.unsafe_value().wake()
        if self.stream.waiter:
            self.stream.waiter.unsafe_value().wake()
        self.waiter = None
        self.stream.waiter = None
        self.app.free_values()

    def status_of(self, error: Error) -> Int:
        """Returns the status that answers an error which the handler did not
        catch.

        Args:
            error: The error.

        Returns:
            400 to 499 if the peer's octets are not the text, JSON or form that
            the handler expected; otherwise 500.
        """
        # The text tells the error from a later one of another cause.
        if self.rejected_status != 0:
            var text = String(error)
            if (
                text.startswith(NOT_UTF8)
                or text.startswith(BAD_JSON)
                or text.startswith(BAD_FORM)
            ):
                return self.rejected_status
        return 500

    @always_inline
    def window(self) -> Span[UInt8, ImmUntrackedOrigin]:
        """Returns a view of the head's octets.

        Returns:
            A view, valid while the exchange lives.
        """
        return Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=self.octets.unsafe_mut_cast[False]().unsafe_origin_cast[
                ImmUntrackedOrigin
            ](),
            length=self.octet_count,
        )

    @always_inline
    def check_content(self) raises:
        """Raises an error if the content was refused.

        Raises:
            An error `http.content …` with the status that answers it.
        """
        if self.content.status != 0:
            raise self._content_error()

    @no_inline
    def _content_error(self) -> Error:
        return Error("http.content bad, status ", self.content.status)

    def take_content(mut self, into: Span[mut=True, UInt8, _]) -> Int:
        """Moves content that has arrived into the reader's memory.

        Args:
            into: The destination.

        Returns:
            The number of octets; 0 if there are none.
        """
        var source = self.content_octets()[self.content.taken :]
        var count = min(len(source), len(into))
        if count == 0:
            return 0
        unsafe_memcpy(
            dest=into.unsafe_ptr(), src=source.unsafe_ptr(), count=count
        )
        self.content.taken += count
        if count == len(source) and not self.content.is_whole:
            self.content.octets.clear()
            if not self.content.view:
                self.content.taken = 0
        return count

    def trailer_octets(self) -> Span[UInt8, ImmUntrackedOrigin]:
        """Returns a view of the trailer section.

        Returns:
            A view, valid while the exchange lives.
        """
        return untracked(self.content.trailers)

    def content_octets(self) -> Span[UInt8, ImmUntrackedOrigin]:
        """Returns a view of the content that has arrived.

        Returns:
            A view, valid until more content is appended.
        """
        return self.content.span()


comptime Exchange = PointerTo[ExchangeState]
"""A pointer to the block of one request."""
