"""Takes in the content of requests of HTTP/2, as far as their windows allow."""

from flare.core import PointerTo
from flare.http.exchange import Exchange
from flare.proto.h2.h2_event import H2Event
from flare.runtime.fiber import Fiber

from ..exchange.request_content import (
    append_content,
    count_content,
    gathers_content,
    may_take_content,
    refusal_of_content,
)
from ..records.statistics import count
from ..sending.h2_responses import h2_machine, side_of
from ..transport.connection_state import ConnectionState, connection_of
from ..transport.outbox import output_of
from ..transport.worker_state import worker_of


def take_content(
    c: PointerTo[ConnectionState],
    event: H2Event,
    octets: Span[UInt8, MutUntrackedOrigin],
):
    """Takes content of a request.

    Args:
        c: The connection.
        event: The content.
        octets: The window in which it was reported.
    """
    var exchange = side_of(c, event.slot).exchange
    if not exchange:
        # Its response is on the way already.
        h2_machine(c).release(event.slot, event.length, output_of(c))
        return
    var x = exchange.unsafe_value()
    x[].content.received += event.length
    if event.ends:
        x[].content.is_complete = True
    if not refuse_h2_excess(x):
        if event.length > 0 and x[].content.status == 0:
            append_content(x, octets[event.start : event.start + event.length])
            count_content(x, event.length)
        release_taken(x)
    if event.ends:
        _wake(x[].waiter)


def take_trailers(c: PointerTo[ConnectionState], event: H2Event):
    """Takes the trailers of a request.

    Args:
        c: The connection.
        event: The trailers.
    """
    var exchange = side_of(c, event.slot).exchange
    if not exchange:
        return
    var x = exchange.unsafe_value()
    ref trailers = h2_machine(c).state[].input.trailers
    worker_of(c)[].make_room(x[].content.trailers, len(trailers.octets))
    x[].content.trailers.append(trailers.octets.span())
    swap(x[].head.trailers, trailers.lines)
    x[].content.is_complete = True
    _wake(x[].waiter)


def refuse_h2_excess(x: Exchange) -> Bool:
    """Rejects the content of a request if its received or announced length
    exceeds the handler's limit.

    Args:
        x: The request, whose handler runs.

    Returns:
        True if the content was rejected.
    """
    if x[].content.status != 0 or not x[].is_running():
        return False
    var status = refusal_of_content(x, 0)
    if status == 0:
        return False
    refuse_h2_content(x, status)
    return True


def refuse_h2_content(x: Exchange, status: Int):
    """Rejects the content of a request in progress.

    Args:
        x: The request.
        status: The status that answers the request, in place of the handler's
            response.
    """
    count(worker_of(connection_of(x))[].statistics[].refused)
    x[].content.status = status
    _wake(x[].waiter)


def refuse_h2_contents(c: PointerTo[ConnectionState], status: Int):
    """Rejects the contents that are still gathered.

    Args:
        c: The connection.
        status: The status that answers the requests.
    """
    for i in range(len(c[].h2.unsafe_value()[].streams)):
        var x = c[].h2.unsafe_value()[].streams[i].exchange
        if x and gathers_content(x.unsafe_value()):
            refuse_h2_content(x.unsafe_value(), status)


def release_all_taken(c: PointerTo[ConnectionState]):
    """Returns credit for the content that the handlers of a connection have taken.

    Args:
        c: The connection.
    """
    for i in range(len(c[].h2.unsafe_value()[].streams)):
        var x = c[].h2.unsafe_value()[].streams[i].exchange
        if x and x.unsafe_value()[].is_running():
            release_taken(x.unsafe_value())


def release_taken(x: Exchange):
    """Returns credit for the content that a handler has taken.

    Args:
        x: The request, whose handler runs.
    """
    var c = connection_of(x)
    var machine = h2_machine(c)
    var held = machine.held_octets(x[].stream_slot)
    if held == 0:
        return
    # Octets that were read stay in the buffer until the last one is. So it
    # outgrows no window.
    var unread = len(x[].content.octets)
    var tunnel = side_of(c, x[].stream_slot).tunnel
    if tunnel:
        unread = tunnel.unsafe_value()[].windowed_octets()
    elif x[].content.is_whole:
        # It is kept, within the limit of the content and the worker's budget.
        unread = 0 if may_take_content(x) else held
    if held > unread:
        machine.release(x[].stream_slot, held - unread, output_of(c))


@always_inline
def _wake(fiber: Optional[Fiber]):
    if fiber:
        fiber.unsafe_value().wake()
