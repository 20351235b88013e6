"""Runs a handler on a fiber and writes what it returns."""

from flare.core import Erased, PointerTo, write_escaped
from flare.http.builders import error_response
from flare.http.exchange import Exchange, ExchangeState
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response

from .connection_state import ConnectionState
from .output import worker_of, write_response
from .statistics import WorkerStatistics


def run_handler[H: Handler](task: Erased):
    """Answers one request; what a fiber of a server runs.

    Parameters:
        H: The type of the handler.

    Args:
        task: The exchange.
    """
    var x = task.unsafe_bitcast[ExchangeState]()
    try:
        var handler = x[].handler.unsafe_bitcast[H]()
        _answer(x, handler[].serve(Request(unsafe_exchange=x)))
    except e:
        _answer_error(x, e)


def run_comptime_handler[H: Handler, //, handler: H](task: Erased):
    """Answers one request with a handler that is known when building.

    Parameters:
        H: The type of the handler.
        handler: The handler.

    Args:
        task: The exchange.
    """
    var x = task.unsafe_bitcast[ExchangeState]()
    try:
        _answer(x, materialize[handler]().serve(Request(unsafe_exchange=x)))
    except e:
        _answer_error(x, e)


@always_inline
def _connection(x: Exchange) -> PointerTo[ConnectionState]:
    return x[].source.unsafe_value().owner.unsafe_bitcast[ConnectionState]()


@always_inline
def _answer(x: Exchange, var response: Response):
    if x[].peer_gone:
        return
    if x[].content_status != 0:
        response = error_response(x[].content_status)
    write_response(_connection(x), response^)


@no_inline
def _answer_error(x: Exchange, error: Error):
    var status = x[].status_of(error)
    # A handler that was cut off fails by no fault of its own.
    if status == 500 and not x[].peer_gone and x[].content_status == 0:
        _report(x, error)
    _answer(x, error_response(status))


def _report(x: Exchange, error: Error):
    var w = worker_of(_connection(x))
    WorkerStatistics.add(Pointer(to=w[].statistics[].handler_errors), 1)
    var text = String(error)
    var line = String(
        "flare: worker ", w[].index, " request ", x[].request_id, " raised: "
    )
    write_escaped(text.as_bytes(), line)
    w[].config.log.line(line)
