"""Keeps the routes of routers, and answers requests: the work of a `Router`.

If the program calls a driver library, each function passes the call on to the
function of the same name there.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.sys.driver import CALLS_DRIVER, TextView

from .endpoint import Endpoint
from .exchange import Exchange
from .response import Response
from .route_request import answer_routed
from .router_functions import router_functions
from .router_state import RouterState


def open_router() -> PointerTo[RouterState]:
    """Creates a router without routes.

    Returns:
        The router.
    """
    comptime if CALLS_DRIVER:
        return router_functions()[].open_router()
    else:
        return heap_create(RouterState())


def copy_router(router: Erased) -> Erased:
    """Copies a router; the routes are shared, the handlers copied.

    Args:
        router: The `RouterState`.

    Returns:
        The copy.
    """
    comptime if CALLS_DRIVER:
        return router_functions()[].copy_router(router)
    else:
        var state = router.unsafe_bitcast[RouterState]()
        return heap_create(state[].copy()).unsafe_bitcast[NoneType]()


def close_router(router: Erased):
    """Frees the routes and handlers.

    Args:
        router: The `RouterState`.
    """
    comptime if CALLS_DRIVER:
        router_functions()[].close_router(router)
    else:
        heap_destroy(router.unsafe_bitcast[RouterState]())


def add_route(
    router: PointerTo[RouterState],
    method: TextView,
    pattern: TextView,
    var endpoint: Endpoint,
    parameters: Int,
) raises:
    """Adds a route.

    Args:
        router: The router.
        method: The method.
        pattern: The pattern.
        endpoint: The handler.
        parameters: How many route parameters the handler uses by position.

    Raises:
        Error: `http.bad_route` with the reason.
    """
    comptime if CALLS_DRIVER:
        router_functions()[].add_route(
            router, method, pattern, endpoint^, parameters
        )
    else:
        router[].add(method, pattern, endpoint^, parameters)


def mount(
    router: PointerTo[RouterState],
    prefix: TextView,
    other: PointerTo[RouterState],
) raises:
    """Adds all routes of another router under a prefix.

    Args:
        router: The router.
        prefix: A pattern without `*`.
        other: The other router; its handlers are copied.

    Raises:
        Error: `http.bad_route` with the reason.
    """
    comptime if CALLS_DRIVER:
        router_functions()[].mount(router, prefix, other)
    else:
        ref state = router[]
        state.own_table()
        var first_endpoint = len(state.endpoints)
        for endpoint in other[].endpoints:
            state.endpoints.append(endpoint.copy())
        state.table[].mount(prefix, other[].table[], first_endpoint)


@always_inline
def answer(router: Erased, exchange: Exchange) raises -> Response:
    """Answers a request through the handler of its route.

    Args:
        router: The `RouterState`.
        exchange: The exchange of the request.

    Returns:
        The handler's response, or the router's own.

    Raises:
        The error of the handler.
    """
    comptime if CALLS_DRIVER:
        return router_functions()[].answer(router, exchange)
    else:
        return answer_routed(router.unsafe_bitcast[RouterState](), exchange)
