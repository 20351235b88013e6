"""Writes frames. Frames of different messages never interleave.

A frame that finds no room parks its fiber within the frame. Meanwhile
`is_busy` holds other fibers back, and control frames collect in `due`. Between
the frames of a message, they are written at once.
"""

from std.sys.intrinsics import unlikely

from flare.core import Buffer, PointerTo
from flare.http.exchange import OutputRoom, STOPPING
from flare.http.upgraded_stream import UpgradedStream
from flare.net import NetError
from flare.proto.ws import WsCloseCode, WsFrameHead
from flare.runtime.fiber import remove_fiber
from flare.runtime.wait import waiting_fiber

from .error import WsError
from .held import drop_held, send_held
from .masks import next_mask
from .socket_state import (
    Socket,
    arm_watch,
    closed_error,
    fresh_now_ms,
    lose,
    machine_of,
    open_socket,
    socket_of,
)
from .statistics import count_sent

# Beyond that, a flood of pings is answered in part.
comptime _DUE_OCTETS_MAX = 4096
# One octet of the header tells the length.
comptime _SHORT_OCTETS_MAX = 125


def begin_sending(stream: UpgradedStream) raises -> Socket:
    """Waits until no other fiber writes, and holds other fibers back.

    Args:
        stream: The stream of the WebSocket.

    Returns:
        The state. `end_sending` must follow.

    Raises:
        An error `ws.closed` if the connection is closed; `net.…` if the fiber's
        deadline passes first.
    """
    var s = socket_of(stream)
    if s[].sending.is_busy:
        _await_turn(stream)
        s = socket_of(stream)
        if s[].closing.code != 0:
            var error = closed_error(s)
            end_sending(stream)
            raise error^
        return s
    if s[].closing.code != 0:
        raise closed_error(s)
    s[].sending.is_busy = True
    return s


@no_inline
def _await_turn(stream: UpgradedStream) raises:
    var s = socket_of(stream)
    var fiber = waiting_fiber("send")
    s[].sending.waiters.append(fiber)
    while True:
        var result = fiber.wait()
        s = socket_of(stream)
        var has_turn = Bool(s[].sending.turn) and (
            s[].sending.turn.value() == fiber
        )
        if has_turn:
            s[].sending.turn = None
        if result < 0:
            if has_turn:
                end_sending(stream)
            else:
                remove_fiber(s[].sending.waiters, fiber)
            raise Error(NetError.from_errno("send", result))
        if has_turn:
            return


def end_sending(stream: UpgradedStream) raises:
    """Writes control frames that became due, and hands the turn to the fiber
    that has waited longest. So no fiber holds the others back endlessly.

    Args:
        stream: The stream of the WebSocket.

    Raises:
        An error `ws.closed` if the connection was lost.
    """
    var state = open_socket(stream)
    if not state:
        return
    var s = state.unsafe_value()
    if len(s[].sending.due) > 0 or s[].closing.has_to_say:
        try:
            write_all_due(stream)
        except e:
            state = open_socket(stream)
            if state:
                _pass_turn(state.unsafe_value())
            raise e
        s = socket_of(stream)
    _pass_turn(s)


@no_inline
def write_all_due(stream: UpgradedStream) raises:
    """Writes the control frames that became due, and the Close if the server
    stops; waits for room.

    Args:
        stream: The stream of the WebSocket, between `begin_sending` and
            `end_sending`, at the end of a frame.

    Raises:
        An error `ws.closed` if the connection was lost.
    """
    while True:
        var s = socket_of(stream)
        if s[].closing.has_to_say:
            s[].closing.has_to_say = False
            write_close(stream, WsCloseCode.GOING_AWAY, "")
        if len(s[].sending.due) == 0:
            return
        _write_due(stream)


def write_due_now(s: Socket):
    """Writes the control frames that became due, if there is room for all of
    them and no frame is being written. It does not wait.

    Args:
        s: The state.
    """
    ref due = s[].sending.due
    if len(due) == 0 or s[].sending.is_in_frame():
        return
    try:
        var room = _room_now(s, len(due))
        if room.octets >= len(due):
            room.output[].append(due.span())
            due.clear()
            s[].stream.announce_output()
    except:
        # The connection was lost: the fiber that receives next finds that.
        return


def _pass_turn(s: Socket):
    s[].sending.is_busy = False
    if len(s[].broadcast.held) > 0:
        send_held(s)
    if len(s[].sending.waiters) > 0:
        s[].sending.is_busy = True
        var next = s[].sending.waiters.pop(0)
        s[].sending.turn = next
        next.wake()


@always_inline
def write_short(
    stream: UpgradedStream, opcode: UInt8, octets: Span[UInt8, _]
) raises -> Bool:
    """Writes a short message at once, if no frame is being written or due, and
    there is room for it. Such a message is never compressed.

    Args:
        stream: The stream of the WebSocket.
        opcode: The kind, `WsOpcode.TEXT` or `WsOpcode.BINARY`.
        octets: The message.

    Returns:
        False if no octet was written: `begin_sending` and `write_frame` follow.

    Raises:
        An error `ws.closed` if the connection is closed or lost.
    """
    var count = len(octets)
    var s = socket_of(stream)
    if unlikely(
        count > _SHORT_OCTETS_MAX
        or s[].sending.is_busy
        or s[].closing.code != 0
        or len(s[].broadcast.held) > 0
    ):
        return False
    var room = _room_now(s, count)
    if unlikely(
        room.octets < count
        or not machine_of(s).write_short_message(opcode, octets, room.output)
    ):
        return False
    stream.announce_output()
    _count(s, count, True)
    return True


@always_inline
def _count(s: Socket, octets: Int, is_end: Bool):
    if s[].broadcast.worker:
        count_sent(
            s[].broadcast.worker.unsafe_value().statistics(), octets, is_end
        )


def write_frame(
    stream: UpgradedStream, head: WsFrameHead, octets: Span[UInt8, _]
) raises:
    """Writes one data frame; waits for room.

    Args:
        stream: The stream of the WebSocket, between `begin_sending` and
            `end_sending`.
        head: The header; its length is that of the octets.
        octets: The payload.

    Raises:
        An error `ws.closed` if the connection is closed or lost.
    """
    var taken = 0
    var framed = head
    var is_head_due = True
    while is_head_due or taken < len(octets):
        var room = await_room(stream, max(len(octets) - taken, 1))
        var s = socket_of(stream)
        if is_head_due:
            # A Close may have been written while the fiber waited.
            if s[].closing.code != 0:
                raise closed_error(s)
            framed.mask = next_mask(s)
            try:
                machine_of(s).write_frame_head(framed, room.output)
            except e:
                raise Error(WsError(WsError.BAD_CALL, String(e.reason)))
            is_head_due = False
        var count = min(room.octets, len(octets) - taken)
        machine_of(s).write_payload(
            octets[taken : taken + count],
            room.output,
            mask=framed.mask,
            offset=taken,
        )
        taken += count
        stream.announce_output()
    _count(socket_of(stream), len(octets), head.fin)


def _write_due(stream: UpgradedStream) raises:
    var due = Buffer()
    swap(due, socket_of(stream)[].sending.due)
    var taken = 0
    while taken < len(due):
        var room = await_room(stream, len(due) - taken)
        room.output[].append(due.span()[taken : taken + room.octets])
        taken += room.octets
        stream.announce_output()


def write_pong(stream: UpgradedStream, payload: Span[UInt8, _]) raises:
    """Answers a ping, if the connection is not closing; waits for room.

    Args:
        stream: The stream of the WebSocket.
        payload: The payload of the ping.

    Raises:
        An error `ws.closed` if the connection was lost.
    """
    var s = socket_of(stream)
    if not machine_of(s).can_write():
        return
    if s[].sending.is_busy:
        if len(s[].sending.due) > _DUE_OCTETS_MAX:
            s[].sending.due.clear()
        encode_pong(s, payload, due_of(s))
        write_due_now(s)
        return
    var room = _room_now(s, len(payload) + 1)
    if room.octets > 0:
        encode_pong(s, payload, room.output)
        stream.announce_output()
        return
    encode_pong(s, payload, due_of(s))
    # Other fibers must not write while this one waits.
    s[].sending.is_busy = True
    end_sending(stream)


def write_ping(stream: UpgradedStream) raises -> Bool:
    """Sends a ping, unless a frame is being written: whether the peer takes it
    shows as well whether the peer lives. It does not wait.

    Args:
        stream: The stream of the WebSocket.

    Returns:
        Whether it was sent.

    Raises:
        An error `ws.closed` if the connection is closed or lost.
    """
    var s = socket_of(stream)
    if s[].closing.code != 0:
        raise closed_error(s)
    if s[].sending.is_in_frame():
        return False
    _ = encode_ping(s, _room_now(s, 16).output)
    stream.announce_output()
    return True


def encode_ping(s: Socket, output: PointerTo[Buffer]) raises -> UInt64:
    """Appends a ping. Its payload is its number.

    Args:
        s: The state.
        output: The destination.

    Returns:
        The number.

    Raises:
        An error `ws.closed` if the connection is closing.
    """
    s[].sending.pings += 1
    var number = s[].sending.pings
    var payload = Array[UInt8, 8](fill=0)
    for i in range(8):
        payload[i] = UInt8(number >> UInt64(56 - 8 * i) & 255)
    append_ping(s, Span(payload), output)
    return number


def append_ping(
    s: Socket, payload: Span[UInt8, _], output: PointerTo[Buffer]
) raises:
    """Appends a ping.

    Args:
        s: The state.
        payload: At most 125 octets.
        output: The destination.

    Raises:
        An error `ws.bad_call` if the payload is too long, or the connection is
        closing.
    """
    var mask = next_mask(s)
    try:
        machine_of(s).write_ping(payload, output, mask=mask)
    except e:
        raise Error(WsError(WsError.BAD_CALL, String(e.reason)))


def write_close(
    stream: UpgradedStream, code: UInt16, reason: StringSlice
) raises:
    """Sends the Close of this endpoint, unless it was sent before. It follows
    the frame in progress. It does not wait, because it is sent only once.

    Args:
        stream: The stream of the WebSocket.
        code: The code; `WsCloseCode.NO_STATUS` for none.
        reason: The reason.

    Raises:
        An error `ws.bad_call` if code or reason are not valid; `ws.closed` if
        the connection was lost.
    """
    var s = socket_of(stream)
    if machine_of(s).has_sent_close():
        return
    var output = due_of(s)
    # No other control frame may follow it.
    if not s[].sending.is_in_frame() and len(output[]) == 0:
        output = _room_now(s, 128).output
    encode_close(s, code, reason, output)
    write_due_now(s)
    stream.announce_output()


def _room_now(s: Socket, count: Int) raises -> OutputRoom:
    try:
        return s[].stream.unsafe_room(count)
    except:
        lose(s)
        raise closed_error(s)


def await_room(stream: UpgradedStream, count: Int) raises -> OutputRoom:
    """Waits for room in the output.

    Args:
        stream: The stream of the WebSocket, between `begin_sending` and
            `end_sending`.
        count: How many octets are to be written.

    Returns:
        The room.

    Raises:
        An error `ws.closed` if the connection was lost.
    """
    while True:
        try:
            return stream.unsafe_await_room(count)
        except e:
            var s = socket_of(stream)
            if String(e).startswith(STOPPING):
                # The Close follows the frame in progress.
                s[].closing.has_to_say = True
                continue
            lose(s)
            raise closed_error(s)


def buffered_octets(stream: UpgradedStream) -> Int:
    """Returns how many octets wait until the kernel takes them.

    Args:
        stream: The stream of the WebSocket.

    Returns:
        The number; 0 if the connection has ended.
    """
    var s = open_socket(stream)
    if not s:
        return 0
    ref socket = s.unsafe_value()[]
    var count = len(socket.sending.due)
    for message in socket.broadcast.held:
        count += len(message.octets())
    try:
        return count + stream.unsent_octets()
    except:
        # The peer has left.
        return 0


def encode_pong(
    s: Socket, payload: Span[UInt8, _], output: PointerTo[Buffer]
) raises:
    """Appends a pong.

    Args:
        s: The state.
        payload: The payload of the ping.
        output: The destination.

    Raises:
        An error `ws.bad_call` if the connection is closing.
    """
    var mask = next_mask(s)
    try:
        machine_of(s).write_pong(payload, output, mask=mask)
    except e:
        raise Error(WsError(WsError.BAD_CALL, String(e.reason)))


def encode_close(
    s: Socket, code: UInt16, reason: StringSlice, output: PointerTo[Buffer]
) raises:
    """Appends the Close of this endpoint, from which on it waits for that of
    the peer.

    Args:
        s: The state.
        code: The code; `WsCloseCode.NO_STATUS` for none.
        reason: The reason.
        output: The destination.

    Raises:
        An error `ws.bad_call` if code or reason are not valid.
    """
    var mask = next_mask(s)
    try:
        _ = machine_of(s).write_close(code, reason, output, mask=mask)
    except e:
        raise Error(WsError(WsError.BAD_CALL, String(e.reason)))
    if s[].closing.code == 0:
        s[].closing.code = code
    s[].closing.due_ms = fresh_now_ms() + s[].limits.close_timeout_ms
    arm_watch(s, s[].closing.due_ms)
    # A fiber that receives now waits for the Close only.
    s[].stream.set_read_timeout_ms(s[].limits.close_timeout_ms)
    s[].sending.wake_pinger()
    # No message may follow the Close.
    drop_held(s)


def due_of(s: Socket) -> PointerTo[Buffer]:
    """Returns the control frames that follow the frame being written.

    Args:
        s: The state.

    Returns:
        The buffer.
    """
    return Pointer(to=s[].sending.due).unsafe_origin_cast[MutUntrackedOrigin]()
