"""Defines the handler traits."""

from .request import Request
from .response import Response

comptime HandlerFunction = def(Request) raises thin -> Response
"""A plain handler function."""


trait Handler(Copyable, Deinitable, Movable):
    """A type that answers requests. Middleware is a handler that contains a
    handler.

    A handler runs on a fiber of the worker that receives the request. Each
    worker has its own copy, so threads never share a handler. A handler is
    immutable; keep mutable values in `State[T]`.
    """

    def serve(self, req: Request) raises -> Response:
        """Answers one request.

        Args:
            req: The request, which lives until the response is sent.

        Returns:
            The response.

        Raises:
            Any error; the answer is then a 500, without the error's text.
        """
        ...


@fieldwise_init
struct FnHandler(Handler, ImplicitlyCopyable):
    """A handler that calls a function."""

    var function: HandlerFunction
    """The function."""

    def serve(self, req: Request) raises -> Response:
        """Calls the function.

        Args:
            req: The request.

        Returns:
            The function's response.

        Raises:
            The function's error.
        """
        return self.function(req)


struct NoHandler(Movable):
    """Matches a value that is not a handler, for overloads that fail the build.

    Such an overload takes a variadic argument of this type. The compiler
    prefers other overloads, so it chooses this one only if no other matches.
    """

    @implicit
    def __init__[F: AnyType](out self, value: F):
        """Creates the placeholder from any value, which it drops.

        Parameters:
            F: The type of the value.

        Args:
            value: The value.
        """
        pass
