"""Runs a handler on a fiber and writes its response."""

from flare.core import Erased
from flare.http.error_answer import error_answer
from flare.http.exchange import Exchange, ExchangeState
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response

from .departures import cut_off
from .record import answer, answer_with_error, record_departure
from .stream import answer_with_stream, report_error


def run_handler[H: Handler](task: Erased):
    """Answers one request; the function that a server's fiber runs.

    Parameters:
        H: The type of the handler.

    Args:
        task: The exchange.
    """
    var x = task.unsafe_bitcast[ExchangeState]()
    var handler = x[].host.handler.unsafe_bitcast[H]()
    var response: Response
    try:
        response = handler[].serve(Request(unsafe_exchange=x))
    except e:
        _answer_error(x, e)
        return
    _answer(x, response^)


def run_comptime_handler[H: Handler, //, handler: H](task: Erased):
    """Answers one request with a handler that is known at compile time.

    Parameters:
        H: The type of the handler.
        handler: The handler.

    Args:
        task: The exchange.
    """
    var x = task.unsafe_bitcast[ExchangeState]()
    var response: Response
    try:
        response = materialize[handler]().serve(Request(unsafe_exchange=x))
    except e:
        _answer_error(x, e)
        return
    _answer(x, response^)


@always_inline
def _answer(x: Exchange, var response: Response):
    if x[].peer_gone or x[].content.status != 0 or response.body.is_stream():
        _answer_otherwise(x, response^)
    else:
        answer(x, response^)


@no_inline
def _answer_otherwise(x: Exchange, var response: Response):
    if x[].peer_gone:
        record_departure(x)
    elif x[].content.status != 0:
        answer_with_error(x, x[].content.status)
    else:
        answer_with_stream(x, response^)


@no_inline
def _answer_error(x: Exchange, error: Error):
    if x[].peer_ended:
        cut_off(x)
    var status = x[].status_of(error)
    # A handler that was cut off fails by no fault of its own.
    if status == 500 and not x[].peer_gone and x[].content.status == 0:
        report_error(x, error)
    _answer(x, error_answer(x, status))
