"""Speaks TLS on a connection: the completions of its operations.

The connection, its driver and its rules are the same. Received octets are
decrypted before they are processed, and no request is read before the
handshake is complete.
"""

from flare.core import Buffer, PointerTo, SlotHandle, heap_create
from flare.http.alpn import AlpnName
from flare.runtime.operation import Operation, OperationKind
from flare.tls import TlsContext

from ..exchange.departures import connection_lost
from ..receiving.h2_requests import begin_h2
from ..receiving.protocol_input import note_peer_end
from ..records.statistics import count
from ..transport.connection_state import ConnectionState, Stage, Wait
from ..transport.deadline import await_handshake
from ..transport.encryption import Decryption, decrypt, free_transport
from ..transport.outbox import count_sent, flush, output_of, release_output
from ..transport.proxy_header import take_proxy_header
from ..transport.tls_transport import TlsTransport
from ..transport.worker_parts import HANDSHAKE_STEPS_MAX
from ..transport.worker_state import WorkerState, turn_again, worker_of
from .connection import Connection
from .operations import on_receive, on_sent

# The most octets that a handshake keeps while it waits for its turn; then it
# waits no longer.
comptime _WAITING_OCTETS_MAX = 32 * 1024
# The parts of the answer to plain HTTP, before and after the date.
comptime _PLAIN_HTTP_BEFORE_DATE: StaticString = (
    "HTTP/1.1 400 Bad Request\r\nDate: "
)
comptime _PLAIN_HTTP_BEHIND_DATE: StaticString = (
    "\r\n"
    "Content-Type: text/plain; charset=utf-8\r\n"
    "Content-Length: 40\r\n"
    "Connection: close\r\n\r\n"
    "This port speaks HTTPS, not plain HTTP.\n"
)


def begin_tls(connection: Connection, context: TlsContext):
    """Prepares a new connection for its TLS handshake.

    Args:
        connection: The connection, before its first octet.
        context: The context that the connections of its listener share.
    """
    var c = connection.state
    c[].tls = heap_create(TlsTransport(context))
    c[].operations.receive.complete = _on_receive
    c[].operations.send.complete = _on_sent
    c[].stage = Stage.SHAKING_HANDS
    await_handshake(c, c[].tls.value()[].handshake_timeout_ms)


def go_on_shaking_hands(w: PointerTo[WorkerState]):
    """Continues waiting handshakes, the longest waiting first.

    Args:
        w: The worker, at the end of a turn.
    """
    var first = List[SlotHandle]()
    var count = 0
    while (
        count < len(w[].turn_end.handshakes.waiting)
        and len(first) < w[].turn_end.handshakes.steps_left
    ):
        # A client that has left meanwhile takes no step away from others.
        if _shakes_hands(
            w[].connections.find(w[].turn_end.handshakes.waiting[count])
        ):
            first.append(w[].turn_end.handshakes.waiting[count])
        count += 1
    var rest = List[SlotHandle](w[].turn_end.handshakes.waiting[count:])
    w[].turn_end.handshakes.waiting = rest^
    w[].turn_end.handshakes.steps_left = HANDSHAKE_STEPS_MAX
    if len(w[].turn_end.handshakes.waiting) > 0:
        # The next turn must not wait for something else to happen.
        turn_again(w)
    for slot in first:
        var c = w[].connections.find(slot)
        if _shakes_hands(c):
            c.value()[].tls.value()[].is_queued = False
            var connection = Connection(c.value())
            _take_waiting(connection)
            if c.value()[].ending.peer_ended and _shakes_hands(c):
                connection_lost(connection.state)
            connection.process()


def _on_receive(operation: Operation):
    var c = (
        operation.state[].owner.unsafe_value().unsafe_bitcast[ConnectionState]()
    )
    var connection = Connection(c)
    var w = worker_of(c)
    var count = operation.result()
    if count == 0:
        _note_end(connection)
    if count <= 0 or c[].stage not in (Stage.OPEN, Stage.SHAKING_HANDS):
        on_receive(operation)
        return
    var is_large = operation.state[].kind == OperationKind.READ
    var buffer = (
        operation.state[].address if is_large else operation.state[].buffer
    ).value()
    var octets = Span[UInt8, MutUntrackedOrigin](
        unsafe_ptr=buffer, length=count
    )
    var behind_header = Buffer()
    if c[].proxy.is_header_due:
        # A proxy says for whom it connects before the first record.
        behind_header = _take_proxy_header(c, octets)
        octets = Span[UInt8, MutUntrackedOrigin](unsafe_ptr=buffer, length=0)
        if len(behind_header) > 0:
            octets = Span[UInt8, MutUntrackedOrigin](
                unsafe_ptr=behind_header.unsafe_front(),
                length=len(behind_header),
            )
    # Octets after the close_notify have no meaning.
    if not c[].ending.peer_ended and len(octets) > 0:
        if _is_first(c) and _is_text(octets[0]):
            _answer_plain_http(c)
        elif c[].stage == Stage.OPEN or _may_go_on(connection, octets):
            _go_on(connection, decrypt(c, octets, is_large=is_large))
    _ = behind_header^
    if is_large:
        w[].reactor.large_buffers().give(buffer)
    else:
        w[].reactor.buffers().give(buffer)
    connection.process()


def _take_proxy_header(
    c: PointerTo[ConnectionState], octets: Span[UInt8, _]
) -> Buffer:
    """Collects octets until the header of a proxy is complete.

    Returns:
        The octets after it.
    """
    var rest = Buffer()
    c[].window.gathered.append(octets)
    if take_proxy_header(c):
        swap(rest, c[].window.gathered)
    return rest^


def _may_go_on(connection: Connection, octets: Span[UInt8, _]) -> Bool:
    """Returns whether a handshake continues in this turn; if not, keeps the
    octets.
    """
    var c = connection.state
    var w = worker_of(c)
    var t = c[].tls.unsafe_value()
    if (
        len(w[].turn_end.handshakes.waiting) == 0
        and w[].turn_end.handshakes.steps_left > 0
    ):
        w[].turn_end.handshakes.steps_left -= 1
        return True
    if len(t[].waiting) + len(octets) > _WAITING_OCTETS_MAX:
        _take_waiting(connection)
        return c[].stage == Stage.OPEN or c[].stage == Stage.SHAKING_HANDS
    t[].waiting.append(octets)
    if not t[].is_queued:
        t[].is_queued = True
        w[].turn_end.handshakes.waiting.append(c[].slot)
        w[].reactor.note_work_after_turn()
    return False


def _shakes_hands(c: Optional[PointerTo[ConnectionState]]) -> Bool:
    return Bool(c) and c.value()[].stage == Stage.SHAKING_HANDS


def _take_waiting(connection: Connection):
    var c = connection.state
    var octets = Buffer()
    swap(octets, c[].tls.unsafe_value()[].waiting)
    if len(octets) > 0 and c[].stage == Stage.SHAKING_HANDS:
        _go_on(connection, decrypt(c, octets.span(), is_large=False))


def _on_sent(operation: Operation):
    var c = (
        operation.state[].owner.unsafe_value().unsafe_bitcast[ConnectionState]()
    )
    if c[].stage != Stage.SHAKING_HANDS or operation.result() <= 0:
        on_sent(operation)
        return
    # The deadline of the handshake bounds the time that the peer takes to read.
    count_sent(c, operation.result())
    flush(c)
    if operation.is_idle():
        release_output(c)


def _go_on(connection: Connection, decryption: Decryption):
    var c = connection.state
    if decryption == Decryption.FAILED:
        count(worker_of(c)[].statistics[].refused)
        if c[].running > 0:
            connection_lost(connection.state)
            return
        # An alert may say why.
        c[].ending.lingers = True
        c[].stage = Stage.LAST_SEND
        return
    if c[].stage == Stage.SHAKING_HANDS:
        if not c[].tls.unsafe_value()[].machine.value().is_open():
            flush(c)
            return
        c[].stage = Stage.OPEN
        c[].deadline.wait = Wait.NOTHING
        _count_handshake(c)
        if _has_chosen_h2(c):
            begin_h2(c)
    if decryption == Decryption.ENDED:
        c[].tls.unsafe_value()[].was_cut = False
        note_peer_end(c)


def _has_chosen_h2(c: PointerTo[ConnectionState]) -> Bool:
    var chosen = c[].tls.unsafe_value()[].machine.value().application_protocol()
    return Bool(chosen) and chosen.value() == AlpnName.HTTP_2


def _count_handshake(c: PointerTo[ConnectionState]):
    var statistics = worker_of(c)[].statistics
    count(statistics[].handshakes)
    if c[].tls.unsafe_value()[].machine.value().is_resumed():
        count(statistics[].handshakes_resumed)


def _note_end(connection: Connection):
    """Distinguishes the end of the transport from a close_notify."""
    var c = connection.state
    var t = c[].tls.unsafe_value()
    if c[].ending.peer_ended:
        return
    t[].was_cut = True
    if c[].stage != Stage.SHAKING_HANDS:
        return
    # Octets that may complete the handshake wait for its turn. A client
    # without an answer cannot complete it.
    if not t[].machine or len(t[].waiting) == 0:
        connection_lost(connection.state)


def _is_first(c: PointerTo[ConnectionState]) -> Bool:
    var t = c[].tls.unsafe_value()
    return not t[].machine and len(t[].waiting) == 0


@always_inline
def _is_text(octet: UInt8) -> Bool:
    # Methods are letters; a record of TLS begins with a number under 32.
    return octet | 32 >= 97 and octet | 32 <= 122


def _answer_plain_http(c: PointerTo[ConnectionState]):
    """Answers a client that speaks HTTP without TLS, also without TLS."""
    var w = worker_of(c)
    count(w[].statistics[].refused)
    free_transport(c)
    c[].operations.receive.complete = on_receive
    c[].operations.send.complete = on_sent
    w[].refresh_date()
    var output = output_of(c)
    output[].append(_PLAIN_HTTP_BEFORE_DATE)
    output[].append(Span(w[].date.octets))
    output[].append(_PLAIN_HTTP_BEHIND_DATE)
    c[].ending.lingers = True
    c[].stage = Stage.LAST_SEND
