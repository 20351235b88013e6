"""Erases the type of a handler, so that a list can hold handlers of any type.
"""

from flare.core import Erased, heap_create, heap_destroy

from flare.sys.driver import CALLS_DRIVER

from .exchange import Exchange
from .handler import Handler
from .request import Request
from .response import Response

comptime ServeFunction = def(Erased, Exchange) raises thin -> Response
"""A function that answers the request of an exchange, given `object`."""


trait MakesEndpoint:
    """A handler whose functions the driver library has."""

    def into_endpoint(deinit self) -> Endpoint:
        """Turns the handler into an endpoint of the driver library.

        Returns:
            The endpoint.
        """
        ...


struct Endpoint(Copyable, Movable):
    """A handler of any type."""

    # Of a handler its heap address; of a function the function.
    var _object: Erased
    var _serve: ServeFunction
    var _copy: def(Erased) thin -> Erased
    var _destroy: def(Erased) thin -> None

    def __init__[H: Handler](out self, var handler: H):
        """Takes ownership of a handler.

        Parameters:
            H: The type of the handler.

        Args:
            handler: The handler.
        """
        comptime if CALLS_DRIVER and conforms_to(H, MakesEndpoint):
            self = handler^.into_endpoint()
        else:
            self = Self(
                object=heap_create(handler^).unsafe_bitcast[NoneType](),
                serve=_serve_handler[H],
                copy=_copy_handler[H],
                destroy=_destroy_handler[H],
            )

    def __init__(out self, *, object: Erased, serve: ServeFunction):
        """Creates an endpoint that calls a function.

        Args:
            object: The first argument of `serve`; it is not freed.
            serve: The function.
        """
        self._object = object
        self._serve = serve
        self._copy = _copy_nothing
        self._destroy = _destroy_nothing

    def __init__(
        out self,
        *,
        object: Erased,
        serve: ServeFunction,
        copy: def(Erased) thin -> Erased,
        destroy: def(Erased) thin -> None,
    ):
        """Takes ownership of an object with its functions.

        Args:
            object: The first argument of the functions.
            serve: Answers a request.
            copy: Copies the object.
            destroy: Frees the object.
        """
        self._object = object
        self._serve = serve
        self._copy = copy
        self._destroy = destroy

    def __init__(out self, *, copy: Self):
        """Copies the handler.

        Args:
            copy: The endpoint to copy.
        """
        self._object = copy._copy(copy._object)
        self._serve = copy._serve
        self._copy = copy._copy
        self._destroy = copy._destroy

    def __deinit__(deinit self):
        """Frees the handler."""
        self._destroy(self._object)

    @always_inline
    def serve(self, exchange: Exchange) raises -> Response:
        """Answers a request.

        Args:
            exchange: The exchange of the request.

        Returns:
            The response.

        Raises:
            The error of the handler.
        """
        return self._serve(self._object, exchange)


def _serve_handler[
    H: Handler
](object: Erased, exchange: Exchange) raises -> Response:
    return object.unsafe_bitcast[H]()[].serve(Request(unsafe_exchange=exchange))


def _copy_handler[H: Handler](object: Erased) -> Erased:
    return heap_create(object.unsafe_bitcast[H]()[].copy()).unsafe_bitcast[
        NoneType
    ]()


def _destroy_handler[H: Handler](object: Erased):
    heap_destroy(object.unsafe_bitcast[H]())


def _copy_nothing(object: Erased) -> Erased:
    return object


def _destroy_nothing(object: Erased):
    pass
