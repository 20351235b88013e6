"""Turns responses of handlers into frames of HTTP/2."""

from flare.core import Buffer, PointerTo
from flare.http.exchange import Exchange
from flare.http.response import Response
from flare.message import FieldName, HeaderMap, Status
from flare.proto.h2.h2_machine import H2Machine
from flare.proto.h2.outgoing_heads import ResponseStart

from ..transport.connection_state import ConnectionState, connection_of
from ..transport.h2_connection import StreamSide, UnsentContent
from ..transport.outbox import make_room, output_of
from ..transport.worker_state import worker_of
from .sent import Sent

# The most content of one stream that waits for its turn, written piece by
# piece: two frames.
comptime _GATHERED_OCTETS = 32 * 1024
# The most of all streams, beyond which each may gather less. So 128 of them hold
# 1.25 MiB in place of 4.
comptime _GATHERED_OF_ALL_OCTETS = 256 * 1024
comptime _GATHERED_IN_CROWD_OCTETS = 8 * 1024
# The most output after a response that is written in one step. The content of
# others waits for its turn, so that the output fits the buffers of the pool.
comptime _AT_ONCE_OCTETS = 32 * 1024
# The size for most heads; a longer one makes the buffer grow.
comptime _HEAD_OCTETS = 512


@always_inline
def h2_machine(c: PointerTo[ConnectionState]) -> H2Machine:
    """Returns the machine of a connection of HTTP/2.

    Args:
        c: The connection.

    Returns:
        The handle.
    """
    return H2Machine(
        Pointer(to=c[].h2.unsafe_value()[].state).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
    )


@always_inline
def side_of(
    c: PointerTo[ConnectionState], slot: Int
) -> ref[MutUntrackedOrigin] StreamSide:
    """Returns the server's part of a stream.

    Args:
        c: The connection.
        slot: The slot of the stream.

    Returns:
        A reference that is valid until the next stream begins.
    """
    return (
        c[]
        .h2.unsafe_value()[]
        .streams.unsafe_ptr()
        .unsafe_offset(slot)
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()[]
    )


@always_inline
def may_answer(x: Exchange) -> Bool:
    """Returns whether a response may still be written.

    Args:
        x: The request.

    Returns:
        False if its stream has ended meanwhile.
    """
    return h2_machine(connection_of(x)).may_send(x[].stream_slot)


@always_inline
def write_plain_h2(x: Exchange, response: Response) -> Bool:
    """Writes a whole response in one step, if it is a plain one.

    Args:
        x: The request.
        response: The response.

    Returns:
        False if the response needs more steps; the output is then unchanged.
    """
    var c = connection_of(x)
    var output = output_of(c)
    var octets = response.body.octets()
    if len(output[]) + len(octets) > _AT_ONCE_OCTETS:
        return False
    make_room(c, _HEAD_OCTETS + len(octets))
    return h2_machine(c).send_plain_response(
        _start(x, response.status, len(octets)),
        response.headers,
        octets,
        output,
    )


@always_inline
def _start(x: Exchange, status: Int, content_octets: Int) -> ResponseStart:
    var w = worker_of(connection_of(x))
    w[].refresh_date()
    return ResponseStart(
        x[].stream_slot,
        status,
        content_octets,
        Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=Span(w[].date.octets)
            .unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            length=len(w[].date.octets),
        ),
    )


def write_h2(x: Exchange, var response: Response) raises -> Sent:
    """Writes the head of a response, and queues its content.

    Args:
        x: The request.
        response: The response.

    Returns:
        The response that was written.

    Raises:
        Error: If its fields contradict its content; the output is then unchanged.
    """
    var c = connection_of(x)
    var machine = h2_machine(c)
    var slot = x[].stream_slot
    var output = output_of(c)
    make_room(c, _HEAD_OCTETS)
    var sent = Sent(response.status, len(response.body))
    machine.send_response_head(
        _start(x, response.status, sent.content_octets),
        response.headers,
        output,
    )
    if sent.content_octets > 0 and machine.may_send(slot):
        ref unsent = _take_unsent(c, slot)
        unsent.body = response^.into_body()
        unsent.is_last = True
        c[].h2.unsafe_value()[].unsent_octets += unsent.body_octets()
        machine.queue(slot, sent.content_octets)
    return sent


def inform_h2(x: Exchange, status: Int, fields: HeaderMap) raises:
    """Writes an interim response.

    Args:
        x: The request.
        status: The status, 1xx.
        fields: The fields.

    Raises:
        Error: If the response has begun, or a field is invalid.
    """
    var c = connection_of(x)
    h2_machine(c).send_informational(
        x[].stream_slot, status, fields, output_of(c)
    )


def wire_status(x: Exchange) -> Int:
    """Returns the status of a streamed response as the client receives it.

    Args:
        x: The exchange.

    Returns:
        In HTTP/2, 200 for an upgrade (RFC 8441 section 5).
    """
    var status = x[].stream.status
    if status == Status.SWITCHING_PROTOCOLS and x[].head.version.major == 2:
        return Status.OK
    return status


def is_false_success(x: Exchange, status: Int) -> Bool:
    """Returns whether a status would make the client of an extended CONNECT
    believe that the handler speaks its protocol.

    Args:
        x: The exchange.
        status: The status of a response that is no upgrade.

    Returns:
        True for 2xx in HTTP/2. To HTTP/1.1, 101 is the only success.
    """
    return (
        x[].head.wants_upgrade
        and 200 <= status < 300
        and x[].head.version.major == 2
    )


def write_h2_stream_head(x: Exchange) raises:
    """Writes the head of a streamed response.

    Args:
        x: The exchange, which has the head.

    Raises:
        Error: If its fields contradict one another; the output is then unchanged.
    """
    var c = connection_of(x)
    if x[].stream.status == Status.SWITCHING_PROTOCOLS and (
        x[].stream.headers.has_known(FieldName.CONTENT_LENGTH)
    ):
        raise Error("Content-Length in a 101 response")
    h2_machine(c).send_response_head(
        _start(x, wire_status(x), -1),
        x[].stream.headers,
        output_of(c),
    )
    x[].stream.is_head_due = False
    x[].stream.headers = HeaderMap()


def h2_stream_room(x: Exchange) -> Int:
    """Returns how much content a handler may write before it waits.

    Args:
        x: The exchange.

    Returns:
        The octets; 0 or less if it has to wait.
    """
    var c = connection_of(x)
    var room = _GATHERED_OCTETS
    if c[].h2.unsafe_value()[].gathered_octets > _GATHERED_OF_ALL_OCTETS:
        room = _GATHERED_IN_CROWD_OCTETS
    var unsent = side_of(c, x[].stream_slot).unsent
    if unsent:
        room -= len(unsent.unsafe_value()[].gathered)
    return room


@always_inline
def count_gathered(c: PointerTo[ConnectionState], slot: Int):
    """Counts the content that a handler has written, after a change of it.

    Args:
        c: The connection.
        slot: The slot of a stream that has some.
    """
    ref unsent = side_of(c, slot).unsent.unsafe_value()[]
    var octets = len(unsent.gathered)
    c[].h2.unsafe_value()[].gathered_octets += octets - unsent.counted_octets
    unsent.counted_octets = octets


def write_h2_stream_content(x: Exchange, octets: Span[UInt8, _]) raises:
    """Queues content of a streamed response whose head is written.

    Args:
        x: The exchange.
        octets: The content, for which there is room.

    Raises:
        Error: If it exceeds the Content-Length of the response.
    """
    var c = connection_of(x)
    var machine = h2_machine(c)
    var slot = x[].stream_slot
    machine.count_content(slot, len(octets))
    x[].stream.written += len(octets)
    if not machine.may_send(slot):
        # The response has no content.
        return
    gathered_of(x)[].append(octets)
    count_gathered(c, slot)
    machine.queue(slot, len(octets))


def gathered_of(x: Exchange) -> PointerTo[Buffer]:
    """Returns the content of a streamed response that waits for its turn.

    Args:
        x: The exchange, whose stream may send.

    Returns:
        The content; it stays in place until the stream ends.
    """
    var c = connection_of(x)
    var slot = x[].stream_slot
    if not side_of(c, slot).unsent:
        _ = _take_unsent(c, slot)
    return Pointer(
        to=side_of(c, slot).unsent.unsafe_value()[].gathered
    ).unsafe_origin_cast[MutUntrackedOrigin]()


def queue_gathered(x: Exchange):
    """Announces content that was appended to `gathered_of`.

    Args:
        x: The exchange.
    """
    var c = connection_of(x)
    var slot = x[].stream_slot
    var unsent = side_of(c, slot).unsent
    if not unsent or not may_answer(x):
        return
    count_gathered(c, slot)
    var queued = h2_machine(c).state[].streams[slot].queued_octets
    var octets = len(unsent.unsafe_value()[].gathered) - queued
    if octets > 0:
        h2_machine(c).queue(slot, octets)


def end_h2_stream(x: Exchange) raises:
    """Ends a streamed response whose function has returned.

    Args:
        x: The exchange.

    Raises:
        Error: If the content falls short of its Content-Length, or a field may
            not be a trailer.
    """
    if x[].stream.is_head_due:
        write_h2_stream_head(x)
    var c = connection_of(x)
    var machine = h2_machine(c)
    var slot = x[].stream_slot
    machine.check_trailers(x[].stream.trailers)
    if machine.is_content_short(slot):
        raise Error("the content falls short of its Content-Length")
    if not machine.may_send(slot):
        return
    var unsent = side_of(c, slot).unsent
    if unsent and len(unsent.unsafe_value()[].gathered) > 0:
        unsent.unsafe_value()[].is_last = True
        swap(unsent.unsafe_value()[].trailers, x[].stream.trailers)
        return
    drop_unsent(c, slot)
    if len(x[].stream.trailers) > 0:
        machine.send_trailers(slot, x[].stream.trailers, output_of(c))
    else:
        machine.send_end(slot, output_of(c))


def reset_h2(x: Exchange, code: UInt32):
    """Ends the stream of a request at once.

    Args:
        x: The request.
        code: One of `H2Code`.
    """
    var c = connection_of(x)
    drop_unsent(c, x[].stream_slot)
    if not h2_machine(c).has_ended(x[].stream_slot):
        h2_machine(c).reset(x[].stream_slot, code, output_of(c))


def forget_h2(c: PointerTo[ConnectionState], slot: Int):
    """Frees the slot of a stream whose response is written, or never will be.

    Args:
        c: The connection.
        slot: The slot of the stream.
    """
    drop_unsent(c, slot)
    h2_machine(c).forget(slot, output_of(c))


def _take_unsent(
    c: PointerTo[ConnectionState], slot: Int
) -> ref[MutUntrackedOrigin] UnsentContent:
    var w = worker_of(c)
    var unsent = w[].outputs.unsent.take(w[].config.write_timeout_ms)
    c[].h2.unsafe_value()[].unsent_count += 1
    side_of(c, slot).unsent = unsent
    return unsent[]


@always_inline
def drop_unsent(c: PointerTo[ConnectionState], slot: Int):
    """Frees content that is not sent any more.

    Args:
        c: The connection.
        slot: The slot of its stream.
    """
    if side_of(c, slot).unsent:
        _drop(c, slot)


@no_inline
def _drop(c: PointerTo[ConnectionState], slot: Int):
    var unsent = side_of(c, slot).unsent.unsafe_value()
    side_of(c, slot).unsent = None
    ref h2 = c[].h2.unsafe_value()[]
    h2.unsent_count -= 1
    h2.unsent_octets -= unsent[].body_octets()
    h2.gathered_octets -= unsent[].counted_octets
    worker_of(c)[].outputs.unsent.give(unsent)
    worker_of(c)[].trimming.has_freed = True
