"""Begins, starts and ends requests, whatever protocol they came in."""

from flare.http.exchange import Exchange, ExchangeStage
from flare.message import Status
from flare.runtime.fiber import Fiber
from flare.runtime.reactor import NS_PER_MS

from ..records.statistics import count
from ..transport.buffered import is_overfull
from ..transport.connection_state import connection_of
from ..transport.worker_state import worker_of
from .of_connection import any_gathers_content


@always_inline
def begin_exchange(x: Exchange):
    """Numbers a request whose head is complete.

    Args:
        x: The request.
    """
    var c = connection_of(x)
    var w = worker_of(c)
    x[].stage = ExchangeStage.STARTING
    x[].request_id = w[].next_request_id
    x[].started_ns = w[].reactor.now_ns()
    w[].config.bound_content(x[].content, x[].content_wait)
    w[].next_request_id += 1
    count(w[].statistics[].requests)


@always_inline
def start_handler(x: Exchange) -> Bool:
    """Runs the handler on a fiber until it waits or returns.

    Args:
        x: The request.

    Returns:
        False if the worker is overloaded; the request still counts as running,
        and must be answered and finished.
    """
    var c = connection_of(x)
    var w = worker_of(c)
    x[].stage = ExchangeStage.RUNNING
    c[].running += 1
    w[].in_flight += 1
    var fibers = w[].reactor.state[].fibers
    if w[].in_flight <= w[].config.max_requests_in_flight and not is_overfull(
        w
    ):
        var fiber = fibers.start(
            w[].reactor,
            w[].run,
            x.unsafe_bitcast[NoneType](),
            w[].functions.finished,
            Int(UInt64(x[].started_ns) // UInt64(NS_PER_MS))
            + w[].config.handler_timeout_ms,
            w[].functions.lost,
        )
        if fiber:
            x[].fiber = fiber
            fibers.resume(fiber.unsafe_value())
            return True
    count(w[].statistics[].refused)
    return False


@always_inline
def end_handler(x: Exchange):
    """Removes a request from the requests in flight, after its response was
    written.

    Args:
        x: The request.
    """
    var c = connection_of(x)
    x[].stage = ExchangeStage.HEAD
    c[].running -= 1
    if c[].share.awaits_room and not (c[].h2 and any_gathers_content(c)):
        c[].share.awaits_room = False
    worker_of(c)[].in_flight -= 1


def cancel_handler(x: Exchange):
    """Cancels the handler of a request whose peer has left.

    Args:
        x: The request, whose handler runs.
    """
    x[].peer_gone = True
    x[].fiber.value().cancel()
    # Fibers that the handler has spawned may wait for the peer too.
    _wake(x[].waiter)
    _wake(x[].stream.waiter)


def note_half_close(x: Exchange):
    """Cancels the next wait of a handler, because its peer sends no more.

    The handler may read octets that arrived before the end. If it then answers
    without waiting, the answer is sent, because the peer may still read.

    Args:
        x: The request, whose handler runs.
    """
    if not x[].peer_ended:
        x[].peer_ended = True
        x[].fiber.value().cancel()


def stop_stream(x: Exchange):
    """Notifies the function of an open stream that the server is stopping.

    Args:
        x: The exchange, whose stream is open.
    """
    ref stream = x[].stream
    stream.stop.is_stopping = True
    if not stream.stop.is_endless:
        return
    if stream.status == Status.SWITCHING_PROTOCOLS:
        # It may end its protocol properly, so its waits continue.
        stream.stop.write_tells = not stream.upgrade.has_read
        if stream.upgrade.protocol:
            var protocol = stream.upgrade.protocol.unsafe_value()
            protocol.on_stop(protocol.state)
        _wake(x[].waiter)
    else:
        x[].fiber.value().cancel()
    _wake(stream.waiter)


@always_inline
def _wake(fiber: Optional[Fiber]):
    if fiber:
        fiber.unsafe_value().wake()
