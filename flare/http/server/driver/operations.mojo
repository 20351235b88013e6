"""Connects a connection to the reactor: its operations and their callbacks.

A completion is looked at once, in the turn that dispatches it, and the
connection continues as far as possible.
"""

from flare.core import Erased, PointerTo
from flare.runtime.operation import (
    CANCELLED,
    NO_BUFFERS,
    Operation,
    OperationKind,
)

from ..exchange.departures import connection_lost, half_closed
from ..exchange.of_connection import has_all_content, wake_writers
from ..receiving.protocol_input import (
    go_away,
    has_waiting_requests,
    is_upgraded,
    note_peer_end,
)
from ..sending.protocol_output import add_queued_content
from ..transport.connection_state import ConnectionState, Stage, Wait
from ..transport.deadline import begin_waiting, note_sent, set_deadline
from ..transport.outbox import (
    STREAM_OCTETS_MAX,
    end_file_sending,
    flush,
    has_file,
    release_output,
)
from ..transport.proxy_header import note_client
from ..transport.read_ahead import has_half_closed, has_left, receive_operation
from ..transport.window import receive_octets, window
from ..transport.worker_state import WorkerState, worker_of
from .connection import Connection
from .starved import note_starved


def begin_connection(
    worker: PointerTo[WorkerState], descriptor: Int32
) -> Optional[Connection]:
    """Assigns a slot to an accepted socket, and starts to receive.

    Args:
        worker: The worker.
        descriptor: The socket, which the connection closes.

    Returns:
        The connection, or none if the worker has no slot left; the socket is
        then untouched.
    """
    var taken = worker[].connections.take(
        ConnectionState(
            worker.unsafe_bitcast[NoneType](),
            descriptor,
            worker[].config.h1_limits(),
        )
    )
    if not taken:
        return None
    var c = worker[].connections.find(taken.value()).value()
    c[].slot = taken.value()
    c[].operations.receive.descriptor = descriptor
    c[].operations.receive.multishot = True
    c[].operations.receive.owner = c.unsafe_bitcast[NoneType]()
    c[].operations.receive.complete = on_receive
    c[].operations.watch.descriptor = descriptor
    c[].operations.watch.owner = c.unsafe_bitcast[NoneType]()
    c[].operations.watch.complete = _on_peer_left
    c[].operations.send.descriptor = descriptor
    c[].operations.send.owner = c.unsafe_bitcast[NoneType]()
    c[].operations.send.complete = on_sent
    c[].deadline.task.owner = c.unsafe_bitcast[NoneType]()
    c[].deadline.task.fire = _on_timer
    c[].deadline.timer.owner = (
        Pointer(to=c[].deadline.task)
        .unsafe_origin_cast[MutUntrackedOrigin]()
        .unsafe_bitcast[NoneType]()
    )
    worker[].reactor.submit(receive_operation(c))
    if worker[].stopping:
        go_away(c)
    begin_waiting(c)
    if worker[].records.access:
        note_client(c)
    return Connection(c)


def on_receive(operation: Operation):
    """Processes a completed receive.

    Args:
        operation: The receive of a connection.
    """
    var connection = _of(operation.state[].owner.unsafe_value())
    var c = connection.state
    var w = worker_of(c)
    var result = operation.result()
    var is_large = operation.state[].kind == OperationKind.READ
    if is_large and (result <= 0 or c[].stage != Stage.OPEN):
        w[].reactor.large_buffers().give(operation.state[].address.value())
    if result > 0:
        if c[].stage == Stage.OPEN:
            var buffer = (
                operation.state[]
                .address if is_large else operation.state[]
                .buffer
            )
            receive_octets(
                c, w[].reactor.buffers(), buffer.value(), result, is_large
            )
        else:
            if not is_large:
                w[].reactor.buffers().give(operation.state[].buffer.value())
            if c[].stage == Stage.LINGERING and not c[].ending.lingers:
                set_deadline(c, Wait.PEER_ENDS, w[].config.linger_timeout_ms)
            c[].ending.lingers = True
    elif result == 0:
        note_peer_end(c)
    elif result == NO_BUFFERS:
        if w[].reactor.buffers().is_exhausted():
            c[].window.is_starved = True
            note_starved(w, c[].slot)
    elif result != CANCELLED:
        connection_lost(c)
    if c[].stage == Stage.LINGERING and c[].ending.peer_ended:
        c[].stage = Stage.CLOSING
    connection.process()


def on_sent(operation: Operation):
    """Continues after a completed send.

    Args:
        operation: The send of a connection.
    """
    var connection = _of(operation.state[].owner.unsafe_value())
    var c = connection.state
    if operation.result() <= 0:
        if end_file_sending(c):
            wake_writers(c)
            connection.settle()
            return
        if c[].stage != Stage.CLOSING or operation.result() != CANCELLED:
            connection_lost(c)
        connection.settle()
        return
    note_sent(c, operation.result())
    if c[].stage == Stage.CLOSING:
        connection.settle()
        return
    add_queued_content(c)
    flush(c)
    if len(c[].outbox.output) < STREAM_OCTETS_MAX and not has_file(c):
        wake_writers(c)
    if not operation.is_idle():
        connection.settle()
        return
    release_output(c)
    # Requests may have waited for the room that is free now.
    if len(window(c)) > 0 or c[].ending.peer_ended or has_waiting_requests(c):
        connection.process()
    else:
        connection.settle()


def _on_peer_left(operation: Operation):
    var connection = _of(operation.state[].owner.unsafe_value())
    var c = connection.state
    # Without a handler that waits, the end of what is received tells as much.
    if c[].running > 0:
        if has_left(c):
            connection_lost(c)
        elif has_half_closed(c) and not is_upgraded(c):
            if has_all_content(c):
                half_closed(c)
            elif c[].window.is_paused:
                # Octets before the end that are still unread are never read.
                connection_lost(c)
    connection.settle()


def _on_timer(owner: Erased):
    _of(owner).expire()


@always_inline
def _of(owner: Erased) -> Connection:
    return Connection(owner.unsafe_bitcast[ConnectionState]())
