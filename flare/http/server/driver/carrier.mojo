"""Moves octets between an exchange and its connection.

All functions except `_on_finished`, `_on_lost` and `_on_content_due` run on
the fiber of a handler. They may wait: for content, for room in the output, for
an upgraded peer.
"""

from std.memory import OwnedPointer

from flare.core import Erased, OctetPointer, PointerTo
from flare.http.exchange import (
    CUT_OFF,
    CarrierFunctions,
    Exchange,
    ExchangeState,
    MutOctets,
    NOT_RECEIVED,
    OVER,
    OutputRoom,
    STOPPING,
    UpgradedFunctions,
)
from flare.http.stream_address import StreamAddr
from flare.message import HeaderMap, Status
from flare.net import NetError
from flare.runtime.current import current_reactor
from flare.runtime.operation import CANCELLED, FileRange
from flare.runtime.wait import waiting_fiber
from flare.sys.socket_address import AF_UNIX, SocketAddressStorage
from flare.sys.socket_file import peer_credentials
from flare.tls import TlsMachine
from flare.unix import PeerCredentials

from ..exchange.request_content import begin_content_wait
from ..exchange.stream import record_lost
from ..receiving.direct_content import receive_directly
from ..receiving.protocol_input import (
    finish_exchange,
    forget_exchange,
    note_demand,
    receive_wish,
    refuse_excess,
)
from ..receiving.upgraded_input import (
    abort_stream,
    consume_upgraded,
    has_upgraded_ended,
    is_held_back,
    note_early,
    upgraded_octets,
)
from ..records.statistics import count
from ..sending.h1_responses import can_send_file, count_file_content
from ..sending.protocol_output import (
    begin_stream_output,
    end_stream_output,
    room_for_stream,
    write_continue,
    write_interim,
    write_stream_octets,
)
from ..sending.upgraded_output import (
    may_write_upgraded,
    queue_upgraded,
    unsent_of_upgraded,
    upgraded_room,
)
from ..transport.connection_state import ConnectionState, Stage, connection_of
from ..transport.log_lines import log_line_of_peer
from ..transport.outbox import forget_file, has_file
from ..transport.read_ahead import adjust_receive
from ..transport.window import window
from ..transport.worker_state import ExchangeFunctions, worker_of
from .connection import Connection, end_content_wait
from .due import note_due


def exchange_functions() -> ExchangeFunctions:
    """Returns the functions that an exchange calls back.

    They call `process`, which starts exchanges. The compiler resolves such a
    cycle only through values, so the worker stores them.

    Returns:
        The functions.
    """
    return ExchangeFunctions(
        CarrierFunctions(
            _on_demand,
            _peer_address,
            _peer_credentials,
            _hides_client,
            _tls,
            _inform,
            _write_content,
            _write_file,
            _end_stream,
            UpgradedFunctions(
                _begin_upgrade,
                _await_octets,
                _consume_octets,
                _await_upgraded_room,
                _unsent_octets,
                _announce_output,
                _is_held_back,
                _abort,
            ),
        ),
        _on_finished,
        _on_lost,
        _on_content_due,
    )


@always_inline
def _of(exchange: Erased) -> Exchange:
    return exchange.unsafe_bitcast[ExchangeState]()


def _on_demand(exchange: Erased):
    var x = _of(exchange)
    var c = connection_of(x)
    begin_content_wait(x)
    if (
        not refuse_excess(x)
        and x[].head.expects_continue
        and len(x[].content.octets) == 0
        and not x[].content.view
    ):
        x[].head.expects_continue = False
        write_continue(x)
    if not note_demand(x):
        note_due(c)
    elif not receive_directly(c, x):
        Connection(c).process()


def _peer_address(exchange: Erased) raises -> StreamAddr:
    var storage = SocketAddressStorage()
    var c = connection_of(_of(exchange))
    if c[].proxy.client:
        return c[].proxy.client.value()[]
    var result = worker_of(c)[].reactor.peer_address(c[].descriptor, storage)
    if result < 0:
        raise Error(NetError.from_errno("peer_address", result))
    var address = StreamAddr.from_storage(storage)
    if not address:
        raise Error(NetError(NetError.UNSUPPORTED, "peer_address"))
    if not address.value().is_unix() and not c[].proxy.hides_client:
        # It does not change, and a limit of rates asks for each request.
        c[].proxy.client = OwnedPointer(address.value().socket_address())
    return address.value().copy()


def _peer_credentials(exchange: Erased) raises -> PeerCredentials:
    var c = connection_of(_of(exchange))
    var storage = SocketAddressStorage()
    var found = PeerCredentials(0, 0, 0)
    var result = worker_of(c)[].reactor.peer_address(c[].descriptor, storage)
    if result == 0 and storage.family() == AF_UNIX:
        result = peer_credentials(c[].descriptor, found)
    elif result == 0:
        # For TCP, the kernel would name no process and report success.
        raise Error(NetError(NetError.UNSUPPORTED, "peer_credentials"))
    if result < 0:
        raise Error(NetError.from_errno("peer_credentials", result))
    return found


def _hides_client(exchange: Erased) -> Bool:
    return connection_of(_of(exchange))[].proxy.hides_client


def _tls(exchange: Erased) -> Optional[PointerTo[TlsMachine]]:
    var c = connection_of(_of(exchange))
    if not c[].tls:
        return None
    return Pointer(to=c[].tls.value()[].machine.value()).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()


def _inform(exchange: Erased, status: Int, fields: PointerTo[HeaderMap]) raises:
    var x = _of(exchange)
    var c = connection_of(x)
    _check_thread(c)
    _await_room(x)
    try:
        write_interim(x, status, fields[])
    except e:
        raise Error("http.bad_inform ", e)
    note_due(c)


def _write_content(
    exchange: Erased, octets: OctetPointer, count: Int
) raises -> Int:
    var x = _of(exchange)
    var c = connection_of(x)
    _check_thread(c)
    _await_room(x)
    # The answer says what was wrong with the content, if it can still be given.
    x[].check_content()
    var taken: Int
    try:
        if x[].stream.is_head_due:
            begin_stream_output(x)
        taken = min(count, _room_left(x))
        if taken > 0:
            write_stream_octets(x, Span(unsafe_ptr=octets, length=taken))
    except e:
        raise Error("http.bad_content ", e)
    note_due(c)
    return taken


def _write_file(exchange: Erased, file: FileRange) raises -> Int:
    var x = _of(exchange)
    var c = connection_of(x)
    _check_thread(c)
    _await_room(x)
    x[].check_content()
    try:
        if x[].stream.is_head_due:
            begin_stream_output(x)
    except e:
        raise Error("http.bad_content ", e)
    if (
        c[].h2
        or c[].tls
        or c[].outbox.large
        or not can_send_file(x, file.octets)
    ):
        return 0
    if x[].stream.waiter:
        raise Error("http.busy another fiber writes")
    c[].operations.send.uncopied.file = file
    note_due(c)
    var request_id = x[].request_id
    try:
        while has_file(c):
            _await_sent(x)
    finally:
        # However the wait ended, the file may be closed next.
        if x[].request_id == request_id:
            forget_file(c)
    var sent = file.octets - c[].operations.send.uncopied.file.octets
    count_file_content(x, sent)
    return sent


def _begin_upgrade(exchange: Erased) raises:
    var x = _of(exchange)
    try:
        begin_stream_output(x)
    except e:
        raise Error("http.bad_upgrade ", e)
    # Each peer may wait for the other to speak first.
    note_early(x)
    note_due(connection_of(x))


def _end_stream(exchange: Erased) raises:
    try:
        end_stream_output(_of(exchange))
    except e:
        raise Error("http.bad_content ", e)


def _await_upgraded_room(exchange: Erased, count: Int) raises -> OutputRoom:
    var x = _of(exchange)
    var c = connection_of(x)
    _check_thread(c)
    if count > 0:
        _await_room(x)
    else:
        _check_peer(x)
    if not may_write_upgraded(x):
        raise Error(CUT_OFF, ": the stream has ended")
    return upgraded_room(x, count)


def _unsent_octets(exchange: Erased) -> Int:
    return unsent_of_upgraded(_of(exchange))


def _announce_output(exchange: Erased):
    var x = _of(exchange)
    queue_upgraded(x)
    note_due(connection_of(x))


def _is_held_back(exchange: Erased) -> Bool:
    return is_held_back(_of(exchange))


def _abort(exchange: Erased):
    var x = _of(exchange)
    var c = connection_of(x)
    if abort_stream(x):
        note_due(c)
    else:
        Connection(c).abort()


def _await_octets(exchange: Erased, more_than: Int) raises -> MutOctets:
    var x = _of(exchange)
    var c = connection_of(x)
    _check_thread(c)
    var request_id = x[].request_id
    x[].stream.upgrade.has_read = True
    while True:
        var octets = upgraded_octets(x)
        if len(octets) > more_than:
            return octets
        _check_peer(x)
        if has_upgraded_ended(x):
            _check_end(c)
            return octets
        if x[].stream.stop.is_due():
            # The function pauses: its output so far may be all.
            x[].stream.stop.was_told_idle = True
            _tell_stop(x)
        if x[].waiter:
            raise Error("http.busy another fiber reads")
        var fiber = waiting_fiber("read")
        x[].waiter = fiber
        var result = fiber.wait(x[].stream.upgrade.read_timeout_ms)
        _check_not_over(x, request_id)
        x[].waiter = None
        if result == CANCELLED:
            raise Error(CUT_OFF, ": the connection broke or the server stops")
        if result < 0:
            raise Error(NetError.from_errno("read", result))


def _consume_octets(exchange: Erased, count: Int) raises:
    var x = _of(exchange)
    var c = connection_of(x)
    if count < 0 or count > len(upgraded_octets(x)):
        raise Error(NOT_RECEIVED)
    consume_upgraded(x, count)
    if c[].h2 or len(window(c)) > 0:
        # The function may read no more in this turn, and its protocol looks.
        note_due(c)
    if c[].window.is_paused and c[].stage == Stage.OPEN:
        adjust_receive(c, receive_wish(c))


def _await_room(x: Exchange) raises:
    _check_peer(x)
    if x[].stream.stop.write_tells:
        _tell_stop(x)
    while room_for_stream(x) <= 0:
        _tell_stop(x)
        _await_sent(x)


def _await_sent(x: Exchange) raises:
    """Parks until a send has ended, or the exchange."""
    if x[].stream.waiter:
        raise Error("http.busy another fiber writes")
    var request_id = x[].request_id
    var fiber = waiting_fiber("write")
    x[].stream.waiter = fiber
    var result = fiber.wait()
    _check_not_over(x, request_id)
    x[].stream.waiter = None
    if result == CANCELLED:
        _tell_stop(x)
        raise Error(CUT_OFF, ": the peer left or does not read")
    if result < 0:
        raise Error(NetError.from_errno("write", result))
    _check_peer(x)


def _room_left(x: Exchange) -> Int:
    # The head that was written since, or what others have buffered, may have
    # taken the room that was waited for: a write always gets on.
    return max(room_for_stream(x), 1)


@always_inline
def _check_thread(c: PointerTo[ConnectionState]) raises:
    var reactor = current_reactor()
    if not reactor or reactor.unsafe_value() != worker_of(c)[].reactor:
        raise Error("runtime.wrong_thread")


@always_inline
def _check_not_over(x: Exchange, request_id: Int) raises:
    # A fiber that the handler has spawned may outlive it: then neither the
    # exchange nor the connection is its own.
    if x[].request_id != request_id:
        raise Error(OVER)


def _check_peer(x: Exchange) raises:
    if x[].peer_gone or connection_of(x)[].stage != Stage.OPEN:
        raise Error(CUT_OFF, ": the peer left")


def _tell_stop(x: Exchange) raises:
    ref stream = x[].stream
    if not stream.stop.is_due():
        return
    # After an upgrade, the function may answer in its protocol. A function
    # that writes a response has no more to say, and may ignore the stop.
    stream.stop.was_told = stream.status == Status.SWITCHING_PROTOCOLS
    raise Error(STOPPING)


def _check_end(c: PointerTo[ConnectionState]) raises:
    if c[].tls and c[].tls.value()[].was_cut:
        # In another protocol an end may mean that all was said.
        raise Error(CUT_OFF, ": the connection ended without a close_notify")


def _on_finished(task: Erased):
    var x = _of(task)
    var c = connection_of(x)
    finish_exchange(c, x)
    note_due(c)


def _on_content_due(task: Erased):
    end_content_wait(_of(task))


def _on_lost(task: Erased):
    """Abandons a handler that ignored its cancellation for too long.

    Its fiber never runs again. The exchange stays, because the handler's stack
    refers to it. Content that was handed out stays too, because a fiber
    spawned by the handler may still view it. If the request can no longer be
    answered, the connection ends.
    """
    var x = _of(task)
    var c = connection_of(x)
    var w = worker_of(c)
    log_line_of_peer(
        w,
        String(
            "flare: worker ",
            w[].index,
            " request ",
            x[].request_id,
            " ignored being cancelled; its fiber is lost",
        ),
    )
    # The next octets on the connection would be taken for the answer, and a
    # half-streamed answer for the whole.
    c[].ending.resets = c[].ending.resets or (x[].stream.is_open and not c[].h2)
    count(w[].statistics[].handlers_lost)
    if x[].stream.upgrade.protocol:
        var protocol = x[].stream.upgrade.protocol.unsafe_value()
        protocol.on_lost(protocol.state)
    if x[].stream.is_open:
        w[].streams -= 1
    else:
        w[].in_flight -= 1
    record_lost(x)
    forget_exchange(c, x)
    w[].lose_exchange(x)
    Connection(c).settle()
