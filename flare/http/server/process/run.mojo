"""Runs the plan of a server: here, or in a driver that was compiled before.

The driver is the same for all programs, and takes most of the time that the
compiler needs for a server. `tools/quick.py` compiles it once, as a shared
library, and then programs with `-D FLARE_DRIVER=<digest of the sources>`: they
call that library. The library knows the handler as an `Endpoint`, whose
functions are the program's. Program and library see the same structs on the
heap. The name of the file has the digest, so that no program loads a library of
other sources.
"""

from std.collections.string.string_span import get_static_string
from std.sys.defines import get_defined_string, is_defined

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.http.endpoint import Endpoint
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.sys.dynamic_library import LibraryFunctions

from ..config import ServerConfig
from .handle import ServerHandle
from .plan import ServePlan, run_workers
from .supervise import supervise_workers

comptime DRIVER_IS_LIBRARY = is_defined["FLARE_DRIVER"]()
"""Whether the program calls a driver that was compiled before."""
comptime _WORKERS_MAX = 256
comptime _FUNCTION: StaticString = "flare_driver_run"
comptime _Run = def(Erased, Erased) thin abi("C") -> None


struct ErasedHandler(Handler):
    """A handler of any type, as a driver in a library calls it."""

    var _endpoint: Endpoint

    def __init__[H: Handler](out self, var handler: H):
        """Takes ownership of a handler.

        Parameters:
            H: The type of the handler.

        Args:
            handler: The handler that answers.
        """
        self._endpoint = Endpoint(handler^)

    def serve(self, req: Request) raises -> Response:
        """Calls the handler.

        Args:
            req: The request.

        Returns:
            The handler's response.

        Raises:
            The handler's error.
        """
        return self._endpoint.serve(req._exchange)


def make_plan(
    config: ServerConfig,
    handle: ServerHandle,
    num_workers: Int,
    pin_cores: Bool,
    supervise: Bool,
) raises -> ServePlan:
    """Returns a plan whose function and handlers are still to be set.

    Args:
        config: The limits.
        handle: Watches and stops the server.
        num_workers: The number of workers of the server.
        pin_cores: Whether each of several workers keeps to one CPU.
        supervise: Whether each worker is a process of its own.

    Returns:
        The plan.

    Raises:
        An error `http.bad_workers` if the number is out of bounds.
    """
    if num_workers < 1 or num_workers > _WORKERS_MAX:
        raise Error("http.bad_workers must be 1 to 256: ", num_workers)
    return ServePlan(
        config,
        _run_nothing,
        handle,
        pin=pin_cores and num_workers > 1,
        supervised=supervise,
    )


def give_handlers[
    H: Handler
](mut plan: ServePlan, var handler: H, num_workers: Int) -> List[PointerTo[H]]:
    """Returns one handler for each worker, and stores references to them in a
    plan.

    Parameters:
        H: The type of the handler.

    Args:
        plan: The plan.
        handler: The handler. The last worker gets it, and each other worker a
            copy.
        num_workers: The number of workers of the server.

    Returns:
        The handlers, which the caller destroys after the server has stopped.
    """
    var handlers = List[PointerTo[H]]()
    for _ in range(num_workers - 1):
        handlers.append(heap_create(handler.copy()))
    handlers.append(heap_create(handler^))
    for own in handlers:
        plan.handlers.append(own.unsafe_bitcast[NoneType]())
    return handlers^


def _run_nothing(task: Erased):
    pass


def run_plan(plan: PointerTo[ServePlan]) raises:
    """Runs all workers until the server stops.

    Args:
        plan: The plan that they share; its sockets are open.

    Raises:
        The errors of `run_workers` and `supervise_workers`.
        An error `http.no_driver` if the program was built for a library that
        is not beside it.
    """
    comptime if DRIVER_IS_LIBRARY:
        _run_in_library(plan)
    else:
        run_plan_here(plan)


def run_plan_here(plan: PointerTo[ServePlan]) raises:
    """Runs all workers with the driver that is compiled into the program.

    Args:
        plan: The plan that they share; its sockets are open.

    Raises:
        The errors of `run_workers` and `supervise_workers`.
    """
    if plan[].supervised:
        supervise_workers(plan)
    else:
        run_workers(plan)


def _run_in_library(plan: PointerTo[ServePlan]) raises:
    comptime assert (
        get_defined_string["ASSERT", "safe"]() == "safe"
        and not is_defined["ASAN"]()
        and not is_defined["TSAN"]()
    ), "with assertions or a sanitizer a program is built whole"
    comptime NAME = get_static_string[
        "libflare_driver_", get_defined_string["FLARE_DRIVER", "none"](), ".so"
    ]()
    var driver = LibraryFunctions[[_FUNCTION]](NAME)
    if not driver.is_loaded:
        raise Error("http.no_driver ", NAME, " is missing: build it again")
    var problem = heap_create(Optional[Error](None))
    driver.function[_FUNCTION, _Run]()(
        plan.unsafe_bitcast[NoneType](), problem.unsafe_bitcast[NoneType]()
    )
    var raised = problem[].copy()
    heap_destroy(problem)
    if raised:
        raise raised.value().copy()
