"""Acts for a WebSocket while no fiber receives, on the loop.

A handler that waits for a database still answers pings, and its peer learns at
once that the server stops.
"""

from flare.core import Erased
from flare.http.exchange import UpgradedProtocol
from flare.proto.ws import WsCloseCode, WsEvent

from .held import send_held
from .sending import (
    due_of,
    encode_close,
    encode_pong,
    write_close,
    write_due_now,
)
from .socket_state import (
    Socket,
    WsSocketState,
    end_watch,
    lose,
    machine_of,
    note_life,
    note_peer_close,
    note_pong,
    note_unit_end,
)
from .statistics import count_closed
from .subscriber import leave_all

# Room for any control frame.
comptime _CONTROL_OCTETS_MAX = 125


def protocol_of(s: Socket) -> UpgradedProtocol:
    """Returns the functions by which the connection calls a WebSocket.

    Args:
        s: The state.

    Returns:
        The functions, with the state.
    """
    return UpgradedProtocol(
        s.unsafe_bitcast[NoneType](), _on_octets, _on_room, _on_stop, _on_lost
    )


def _on_octets(state: Erased):
    var s = state.unsafe_bitcast[WsSocketState]()
    var unread = _unread_octets(s)
    # The connection also calls for octets that came earlier.
    if unread > s[].receiving.unread_octets:
        note_life(s)
    answer_control_frames(s)
    s[].receiving.unread_octets = _unread_octets(s)


def _unread_octets(s: Socket) -> Int:
    try:
        return len(s[].stream.unsafe_received())
    except:
        return 0


def answer_control_frames(s: Socket):
    """Answers the control frames in front of the received octets, as far as
    there is room.

    Args:
        s: The state; no fiber receives.
    """
    try:
        if machine_of(s).has_sent_close():
            _drop_until_close(s)
            return
        while _answer_control_frame(s):
            pass
    except:
        # The fiber that receives next meets the same error.
        return


def _drop_until_close(s: Socket) raises:
    """Drops the octets before the answer to the Close of this endpoint."""
    var machine = machine_of(s)
    while not machine.has_received_close() and not machine.has_failed():
        var octets = s[].stream.unsafe_received()
        var event: WsEvent
        try:
            event = machine.next_event(octets)
        except:
            # It sends no Close any more.
            machine.stop_receiving()
            return
        if event.kind == WsEvent.CLOSE:
            note_peer_close(
                s,
                event.close_code,
                octets.unsafe_subspan(offset=event.start, length=event.length),
            )
        s[].stream.consume_octets(event.consumed)
        if event.kind == WsEvent.NEED_OCTETS:
            return


def _answer_control_frame(s: Socket) raises -> Bool:
    """Answers the control frame in front of the received octets.

    Returns:
        False if there is none, or no room for the answer. Data stay where they
        are, so that the peer is held back.
    """
    var machine = machine_of(s)
    var octets = s[].stream.unsafe_received()
    if not machine.has_control_frame(octets):
        return False
    var room = s[].stream.unsafe_room()
    var output = room.output
    if s[].sending.is_in_frame() or len(s[].sending.due) > 0:
        output = due_of(s)
        s[].receiving.is_held_back = len(output[]) > _CONTROL_OCTETS_MAX
    else:
        s[].receiving.is_held_back = room.octets < _CONTROL_OCTETS_MAX
    if s[].receiving.is_held_back:
        return False
    var event: WsEvent
    try:
        event = machine.next_event(octets)
    except e:
        machine.stop_receiving()
        s[].receiving.violation = e
        write_close(s[].stream, e.close_code(), "")
        return False
    var payload = octets.unsafe_subspan(offset=event.start, length=event.length)
    if not machine.is_receiving_message():
        note_unit_end(s)
    if event.kind == WsEvent.PING and machine.can_write():
        encode_pong(s, payload, output)
    elif event.kind == WsEvent.PONG:
        note_pong(s, payload)
    elif event.kind == WsEvent.CLOSE:
        note_peer_close(s, event.close_code, payload)
        encode_close(s, event.close_code, "", output)
    write_due_now(s)
    s[].stream.announce_output()
    s[].stream.consume_octets(event.consumed)
    return event.kind != WsEvent.CLOSE


def _on_room(state: Erased):
    var s = state.unsafe_bitcast[WsSocketState]()
    write_due_now(s)
    if len(s[].broadcast.held) > 0:
        send_held(s)
    if s[].receiving.is_held_back:
        answer_control_frames(s)
        s[].receiving.unread_octets = _unread_octets(s)


def _on_stop(state: Erased):
    var s = state.unsafe_bitcast[WsSocketState]()
    if s[].sending.is_in_frame():
        s[].closing.has_to_say = True
        return
    try:
        write_close(s[].stream, WsCloseCode.GOING_AWAY, "")
    except:
        # The connection was lost: the fiber that receives next finds that.
        return


def _on_lost(state: Erased):
    # The stack of the function refers to the state, so the memory stays. But
    # no message may be posted to the loop any more, which soon ends.
    var s = state.unsafe_bitcast[WsSocketState]()
    end_watch(s)
    lose(s)
    s[].sending.wake_all()
    s[].closing.wake_all()
    leave_all(s)
    if s[].broadcast.worker:
        count_closed(
            s[].broadcast.worker.value().statistics(), s[].closing.code
        )
