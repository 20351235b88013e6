"""Sends events for as long as a client listens (Server-Sent Events)."""

from std.memory import ArcPointer

from flare.core import PointerTo
from flare.message import Status
from flare.net import NetError
from flare.runtime.fiber import Fiber
from flare.runtime.operation import CANCELLED
from flare.runtime.task import JoinHandle, spawn
from flare.runtime.wait import sleep, waiting_fiber

from .body import Body
from .event_text import write_event
from .exchange import Exchange
from .request import Request
from .response import Response
from .response_stream import ResponseStream
from .stream_function import ExchangeTask, StreamFunction

comptime HEARTBEAT_MS = 15_000
"""How often a client hears something by default, in milliseconds: proxies close
connections that are silent for 30 seconds and more."""
comptime LAST_EVENT_ID_OCTETS_MAX = 1_024
"""The longest Last-Event-ID that is read."""


struct _State(Movable):
    var stream: ResponseStream
    # Whether a fiber is within a write: an event must not begin within another.
    var is_writing: Bool
    var waiting: List[Fiber]
    var written_at_ms: Int
    var is_over: Bool

    def __init__(out self, stream: ResponseStream, now_ms: Int):
        self.stream = stream
        self.is_writing = False
        self.waiting = List[Fiber]()
        self.written_at_ms = now_ms
        self.is_over = False


struct EventStream(ImplicitlyCopyable):
    """Sends events to one client. `event_stream` makes a response of it.

    When the client leaves, or the server stops, the waits of the function and
    `send` raise errors. The fibers of the function may all use it.
    """

    var _state: ArcPointer[_State]

    def __init__(out self, *, unsafe_stream: ResponseStream, now_ms: Int):
        """Creates the events of a response.

        Args:
            unsafe_stream: The stream of the response.
            now_ms: The time of the loop, in milliseconds.

        Safety:
            The memory of the exchange outlives it.
        """
        self._state = ArcPointer(_State(unsafe_stream, now_ms))

    def send(
        self,
        data: StringSlice,
        *,
        name: StringSlice = "",
        id: Optional[String] = None,
        retry_ms: Optional[Int] = None,
    ) raises:
        """Sends an event. It waits if the client reads slowly, and 64 KiB have
        collected.

        Args:
            data: The data; line ends of any kind reach the client as LF.
            name: The type of the event, which selects the listener in a page;
                by default, that is `message`.
            id: The Last-Event-ID of the client when it connects again.
            retry_ms: How long the client waits before it connects again, in
                milliseconds; browsers choose a few seconds.

        Raises:
            Error: `http.bad_event` if name or id contain NUL, CR or LF.
                `http.content cut off` if the client has left, and
                `http.stopping` if the server stops.

            NetError: If the deadline of the fiber passes first.
        """
        self._write(write_event(data, name=name, id=id, retry_ms=retry_ms))

    def comment(self) raises:
        """Sends a line that clients ignore, so that proxies see octets.

        Raises:
            The errors of `ResponseStream.write`.
        """
        self._write(":\n\n")

    def is_stopping(self) raises -> Bool:
        """Returns whether the server is stopping.

        Returns:
            True from the start of the shutdown.

        Raises:
            An error `http.stream_over` after the function has returned.
        """
        return self._state[].stream.is_stopping()

    def _write(self, text: String) raises:
        var state = self._state
        while state[].is_writing:
            var fiber = waiting_fiber("write")
            state[].waiting.append(fiber)
            var result = fiber.wait()
            _remove(state[].waiting, fiber)
            if result == CANCELLED:
                raise Error("http.content cut off: the client has left")
            if result < 0:
                raise Error(NetError.from_errno("write", result))
        state[].is_writing = True
        try:
            state[].stream.write_text(text)
            state[].written_at_ms = waiting_fiber("write").reactor().now_ms()
        finally:
            state[].is_writing = False
            for fiber in state[].waiting:
                fiber.wake()


def last_event_id(req: Request) -> Optional[String]:
    """Returns the id of the last event that a client has received before its
    connection broke.

    Args:
        req: The request.

    Returns:
        The id, from anyone; `None` if the client sends none, or one that is
        longer than 1,024 octets or not UTF-8.
    """
    var found = req.headers.get("Last-Event-ID")
    if (
        not found
        or found.value().byte_length() > LAST_EVENT_ID_OCTETS_MAX
        or found.value().byte_length() == 0
    ):
        return None
    try:
        return String(StringSlice(from_utf8=found.value().as_bytes()))
    except:
        return None


def event_stream[
    F: def(Request, EventStream) raises -> None
](
    var function: F, *, heartbeat_ms: Optional[Int] = HEARTBEAT_MS
) raises -> Response:
    """Returns a response whose events a function sends.

    The function runs after the handler has returned, for as long as the client
    listens. The response is `text/event-stream` with `Cache-Control: no-store`,
    and `X-Accel-Buffering: no`, with which nginx passes events on at once.

    Parameters:
        F: The type of the function.

    Args:
        function: The function; a closure owns its captures.
        heartbeat_ms: After how much silence flare sends a comment, in
            milliseconds, 1 or more. The default, 15 seconds, keeps connections
            through proxies. `None`: never.

    Returns:
        The response.

    Raises:
        Error: `http.bad_event` if `heartbeat_ms` is less than 1.
    """
    if heartbeat_ms and heartbeat_ms.value() < 1:
        raise Error("http.bad_event heartbeat_ms: 1 or more")
    var response = Response(
        Status.OK,
        Body(stream=StreamFunction(_EventTask[F](function^, heartbeat_ms))),
    )
    response.headers.append_constant["Content-Type", "text/event-stream"]()
    response.headers.append_constant["Cache-Control", "no-store"]()
    response.headers.append_constant["X-Accel-Buffering", "no"]()
    return response^


struct _EventTask[F: def(Request, EventStream) raises -> None](ExchangeTask):
    var function: Self.F
    var heartbeat_ms: Optional[Int]

    def __init__(out self, var function: Self.F, heartbeat_ms: Optional[Int]):
        self.function = function^
        self.heartbeat_ms = heartbeat_ms

    @staticmethod
    def run(task: PointerTo[Self], exchange: Exchange) raises capturing:
        var stream = ResponseStream.begin(exchange)
        # A page learns at once that it is connected.
        stream.flush()
        var events = EventStream(
            unsafe_stream=stream,
            now_ms=waiting_fiber("wait").reactor().now_ms(),
        )
        var beating = Optional[JoinHandle[NoneType]](None)
        if task[].heartbeat_ms:
            beating = _begin_heartbeat(events, task[].heartbeat_ms.value())
        try:
            task[].function(Request(unsafe_exchange=exchange), events)
        finally:
            # It ends before the response does.
            events._state[].is_over = True
            if beating:
                _end_heartbeat(beating.take())


def _begin_heartbeat(
    events: EventStream, heartbeat_ms: Int
) raises -> JoinHandle[NoneType]:
    def beat() raises {var events, var heartbeat_ms}:
        while not events._state[].is_over:
            var now_ms = waiting_fiber("wait").reactor().now_ms()
            var due_ms = events._state[].written_at_ms + heartbeat_ms
            if now_ms < due_ms:
                sleep(due_ms - now_ms)
            elif events._state[].is_writing:
                # The client has not taken an event yet.
                sleep(heartbeat_ms)
            else:
                events.comment()

    return spawn(beat^)


def _end_heartbeat(var beating: JoinHandle[NoneType]):
    beating.cancel()
    try:
        _ = beating^.join()
    except:
        return


def _remove(mut fibers: List[Fiber], fiber: Fiber):
    for i in range(len(fibers)):
        if fibers[i] == fiber:
            _ = fibers.pop(i)
            return
