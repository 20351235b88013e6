"""Declares the functions of routers in the driver library: `routes` has them.
"""

from flare.core import Erased, PointerTo
from flare.sys.driver import TextView, present_driver_tables

from .endpoint import Endpoint, ServeFunction
from .router_state import RouterState


@fieldwise_init
struct RouterFunctions(Movable):
    """The functions of routers in the driver library."""

    var open_router: def() thin -> PointerTo[RouterState]
    """Creates a router without routes."""
    var copy_router: def(Erased) thin -> Erased
    """Copies a router."""
    var close_router: def(Erased) thin -> None
    """Frees a router."""
    var add_route: def(
        PointerTo[RouterState], TextView, TextView, var Endpoint, Int
    ) raises thin -> None
    """Adds a route."""
    var mount: def(
        PointerTo[RouterState], TextView, PointerTo[RouterState]
    ) raises thin -> None
    """Adds the routes of another router."""
    var answer: ServeFunction
    """Answers a request."""


def router_functions() -> PointerTo[RouterFunctions]:
    """Finds the functions of routers.

    Returns:
        The functions; if the library is missing, the process ends.
    """
    return present_driver_tables()[].router.unsafe_bitcast[RouterFunctions]()
