"""Turns received octets into parts of responses, for all exchanges of a shared
connection.
"""

from flare.core import PointerTo
from flare.message import FieldLine, FieldSection, Status
from flare.net import NetError
from flare.proto.h2.h2_error import H2Code, code_name
from flare.proto.h2.h2_event import H2Event
from flare.proto.h2.h2_state import H2Input
from flare.proto.h2.stream_state import H2StreamState
from flare.runtime.fiber import Fiber

from ...client_error import ClientError, Phase, raised
from ..transport.clock import now
from .sending import announce, wake_writers
from .shared_connection import SharedConnection, not_processed
from ..transport.shared_state import ServerGoaway
from ..transport.stream_inbox import Inbox

comptime _REFRESHING_READS_MAX = 64
comptime _ARRIVAL_TIMEOUT_MS = 1


def take_octets(c: SharedConnection, count: Int):
    """Takes the octets that a read has added to the window.

    Args:
        c: The connection.
        count: Their number; 0 at the end.
    """
    ref s = c.state()[]
    if count == 0:
        return c.fail(_closed(s.goaway))
    s.liveness.note_heard(now())
    var had_settings = c.has_settings()
    while True:
        var event: H2Event
        try:
            event = c.machine().next_event(
                c.connection.window(), now(), c.output()
            )
        except e:
            c.machine().fail(e, c.output())
            announce(c)
            c.fail(raised(ClientError.PROTOCOL, Phase.HEAD, e.reason))
            return
        _deliver(c, event)
        c.connection.consume(event.consumed)
        if event.kind == H2Event.NEED_OCTETS:
            break
    wake_writers(c)
    c.wake_beginners()
    if not had_settings and c.has_settings():
        for fiber in s.waiting:
            fiber.wake()


def judge_failure(
    c: SharedConnection, failure: Error, fiber: Fiber, deadline_ms: Int
) raises:
    """Finds out whom the failure of a read concerns.

    Args:
        c: The connection. It fails, if the connection has failed or the server
            does not answer.
        failure: The error of the read.
        fiber: The fiber that has read.
        deadline_ms: When its wait ends.

    Raises:
        The error, if only the wait of that fiber has ended.
    """
    ref s = c.state()[]
    var kind = NetError.OTHER
    var net = NetError.of(failure)
    if net:
        kind = net.value().kind
    if kind == NetError.CANCELLED:
        if fiber.is_cancelled():
            raise Error(failure)
        # The wait begins anew: there is something else to do.
        return
    if kind != NetError.TIMEOUT:
        return c.fail(ClientError.because(Phase.HEAD, failure))
    if s.liveness.is_dead(now()):
        return c.fail(
            raised(
                ClientError.TIMEOUT,
                Phase.HEAD,
                "the server does not answer a PING",
            )
        )
    if not s.liveness.is_question_due(now()):
        if now() >= deadline_ms:
            raise Error(failure)
        # Another fiber has asked meanwhile.
        return
    c.ask()
    announce(c)


def refresh(c: SharedConnection) -> Bool:
    """Takes the frames that have arrived while no exchange used the connection.

    Args:
        c: The connection.

    Returns:
        Whether it can carry an exchange.
    """
    c.state()[].liveness.note_heard(now())
    for _ in range(_REFRESHING_READS_MAX):
        if not c.may_take_more():
            return False
        if c.connection.is_silent():
            announce(c)
            return c.may_take_more()
        try:
            take_octets(c, c.connection.fill(_ARRIVAL_TIMEOUT_MS))
        except e:
            var net = NetError.of(e)
            # Only a part of a record has arrived.
            return net and net.value().kind == NetError.TIMEOUT
    return False


def _deliver(c: SharedConnection, event: H2Event):
    if event.kind == H2Event.NEED_OCTETS:
        return
    if event.kind == H2Event.PONG:
        return _take_answer(c)
    if event.kind == H2Event.WINDOW_SMALL:
        _ = c.machine().grow_windows(c.output())
        return
    if event.kind == H2Event.GOING_AWAY:
        return _take_goaway(c, event)
    var inbox = c.state()[].inboxes[event.slot].value()
    _deliver_to(c, inbox, event)
    inbox[].wake()


def _deliver_to(c: SharedConnection, inbox: Inbox, event: H2Event):
    ref input = c.state()[].machine.input
    if event.kind == H2Event.INFORMATIONAL_HEAD:
        # No later one hides that the content is awaited.
        if inbox[].informational != Status.CONTINUE:
            inbox[].informational = input.heads.head.status
    elif event.kind == H2Event.RESPONSE_HEAD:
        swap(inbox[].head, input.heads.head)
        swap(inbox[].wire, input.heads.octets)
        inbox[].has_head = True
        inbox[].has_ended = event.ends
        if inbox[].head.content_length > inbox[].content_left:
            if not event.ends:
                _refuse_content(c, inbox)
    elif event.kind == H2Event.DATA:
        if event.length > inbox[].content_left:
            return _refuse_content(c, inbox)
        inbox[].content_left -= event.length
        inbox[].content.append(
            c.connection.window()[event.start :][: event.length]
        )
        inbox[].has_ended = event.ends
    elif event.kind == H2Event.TRAILERS:
        _ = inbox[].trailers.unsafe_append_parsed(
            _trailers(
                Pointer(to=input).unsafe_origin_cast[MutUntrackedOrigin]()
            )
        )
        inbox[].has_ended = True
    elif event.kind == H2Event.RESET and not inbox[].has_ended:
        inbox[].failure = _reset_error(c, event)


def _refuse_content(c: SharedConnection, inbox: Inbox):
    if inbox[].failure:
        return
    inbox[].failure = raised(
        ClientError.TOO_LARGE, Phase.CONTENT, "the content exceeds the limit"
    )
    if not c.machine().has_ended(inbox[].slot):
        c.machine().reset(inbox[].slot, H2Code.CANCEL, c.output())


def _reset_error(c: SharedConnection, event: H2Event) -> Error:
    if event.status != 0:
        return raised(
            ClientError.TOO_LARGE, Phase.HEAD, "the head exceeds the limits"
        )
    if c.state()[].machine.streams[event.slot].state == H2StreamState.RESET:
        return raised(
            ClientError.PROTOCOL, Phase.HEAD, "the response is malformed"
        )
    if event.code == H2Code.REFUSED_STREAM:
        return not_processed("the server has refused the stream")
    if event.code == H2Code.HTTP_1_1_REQUIRED and _notes_http1(c):
        return not_processed("the server requires HTTP/1.1")
    return Error(
        ClientError(
            ClientError.RESET,
            Phase.HEAD,
            String("the server has reset the stream: ", code_name(event.code)),
        )
    )


def _notes_http1(c: SharedConnection) -> Bool:
    """Records that the server requires HTTP/1.1. Returns whether the client may
    speak it: without TLS, prior knowledge of HTTP/2 leaves no choice."""
    c.state()[].needs_http1 = Bool(c.connection.state[].transport.tls)
    return c.state()[].needs_http1


def _take_answer(c: SharedConnection):
    ref s = c.state()[]
    s.liveness.note_answer()
    if s.liveness.cancelled() > 0:
        c.ask()


def _take_goaway(c: SharedConnection, event: H2Event):
    ref s = c.state()[]
    s.goaway = ServerGoaway(True, event.stream_id, event.code)
    if event.code == H2Code.HTTP_1_1_REQUIRED:
        _ = _notes_http1(c)
    for i in range(len(s.inboxes)):
        if not s.inboxes[i]:
            continue
        var inbox = s.inboxes[i].value()
        if Int(s.machine.streams[i].id) > event.stream_id:
            if not inbox[].has_ended and not inbox[].failure:
                inbox[].failure = not_processed("the server is going away")
            inbox[].wake()
    for fiber in s.waiting:
        fiber.wake()


def _closed(goaway: ServerGoaway) -> Error:
    if not goaway.has_come or goaway.code == H2Code.NO_ERROR:
        return raised(
            ClientError.CLOSED,
            Phase.HEAD,
            "the peer closed before its response was whole",
        )
    return Error(
        ClientError(
            ClientError.CLOSED,
            Phase.HEAD,
            String(
                "the server has ended the connection: ", code_name(goaway.code)
            ),
        )
    )


def _trailers(
    input: PointerTo[H2Input],
) -> FieldSection[ImmUntrackedOrigin]:
    ref trailers = input[].trailers
    var octets = trailers.octets.span()
    return FieldSection[ImmUntrackedOrigin](
        Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[
                ImmUntrackedOrigin
            ](),
            length=len(octets),
        ),
        Span[FieldLine, ImmUntrackedOrigin](
            unsafe_ptr=trailers.lines.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            length=len(trailers.lines),
        ),
    )
