"""Joins a connection to the reactor: its operations, and what they call.

A completion is looked at once, in the turn that dispatches it, and the
connection goes on as far as it can.
"""

from flare.core import Erased, PointerTo
from flare.runtime.operation import (
    CANCELLED,
    NO_BUFFERS,
    Operation,
    OperationKind,
)

from .connection import Connection
from ..transport.connection_state import ConnectionState, Stage, Wait
from ..transport.deadline import begin_waiting, count_read_by_peer, set_deadline
from ..transport.window import receive_octets
from ..transport.output import (
    STREAM_OCTETS_MAX,
    count_sent,
    flush,
    machine,
    release_output,
    worker_of,
)
from ..transport.read_ahead import (
    has_ended,
    has_left,
    note_starved,
    receive_operation,
)
from ..transport.worker_state import WorkerState


def begin_connection(
    worker: PointerTo[WorkerState], descriptor: Int32
) -> Optional[Connection]:
    """Takes a slot for an accepted socket and begins to receive.

    Args:
        worker: The worker.
        descriptor: The socket, which the connection closes.

    Returns:
        The connection, or none if the worker has no slot left; the socket
        is then untouched.
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
    c[].receive.descriptor = descriptor
    c[].receive.multishot = True
    c[].receive.owner = c.unsafe_bitcast[NoneType]()
    c[].receive.complete = on_receive
    c[].watch.descriptor = descriptor
    c[].watch.owner = c.unsafe_bitcast[NoneType]()
    c[].watch.complete = _on_peer_left
    c[].send.descriptor = descriptor
    c[].send.owner = c.unsafe_bitcast[NoneType]()
    c[].send.complete = on_sent
    c[].timer_task.owner = c.unsafe_bitcast[NoneType]()
    c[].timer_task.fire = _on_timer
    c[].timer.owner = (
        Pointer(to=c[].timer_task)
        .unsafe_origin_cast[MutUntrackedOrigin]()
        .unsafe_bitcast[NoneType]()
    )
    worker[].reactor.submit(receive_operation(c))
    begin_waiting(c)
    return Connection(c)


def on_receive(operation: Operation):
    """Takes in what was received.

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
            if c[].stage == Stage.LINGERING and not c[].lingers:
                set_deadline(c, Wait.PEER_ENDS, w[].config.linger_timeout_ms)
            c[].lingers = True
    elif result == 0:
        c[].peer_ended = True
        machine(c).receive_end()
    elif result == NO_BUFFERS:
        if w[].reactor.buffers().is_exhausted():
            c[].starved = True
            note_starved(w, c[].slot)
    elif result != CANCELLED:
        connection.peer_is_gone()
    if c[].stage == Stage.LINGERING and c[].peer_ended:
        c[].stage = Stage.CLOSING
    connection.process()


def on_sent(operation: Operation):
    """Goes on once octets were sent.

    Args:
        operation: The send of a connection.
    """
    var connection = _of(operation.state[].owner.unsafe_value())
    var c = connection.state
    if operation.result() <= 0:
        if c[].stage != Stage.CLOSING or operation.result() != CANCELLED:
            connection.peer_is_gone()
        connection.settle()
        return
    count_sent(c, operation.result())
    count_read_by_peer(c, operation.result())
    if c[].stage == Stage.CLOSING:
        connection.settle()
        return
    flush(c)
    if c[].running and len(c[].output) < STREAM_OCTETS_MAX:
        var writer = c[].exchange.unsafe_value()[].stream.waiter
        if writer:
            writer.unsafe_value().wake()
    if operation.is_idle():
        release_output(c)
        connection.process()
    else:
        connection.settle()


def _on_peer_left(operation: Operation):
    var connection = _of(operation.state[].owner.unsafe_value())
    var c = connection.state
    # Without a handler that waits, the end of what is received tells as much.
    if c[].running:
        if has_left(c):
            connection.peer_is_gone()
        elif has_ended(c):
            if c[].exchange.unsafe_value()[].content_complete:
                connection.peer_has_ended()
            elif c[].receive_paused:
                # Nobody reads what may still lie in front of the end.
                connection.peer_is_gone()
    connection.settle()


def _on_timer(owner: Erased):
    _of(owner).expire()


@always_inline
def _of(owner: Erased) -> Connection:
    return Connection(owner.unsafe_bitcast[ConnectionState]())
