"""Says what answers requests."""

from .request import Request
from .response import Response

comptime HandlerFunction = def(Request) raises thin -> Response
"""A plain function that answers requests."""


trait Handler(Copyable, Deinitable, Movable):
    """Answers requests; middleware is a handler that holds a handler.

    A handler runs on a fiber of the worker that received the request. Each
    worker has a copy of its own, so a handler is never shared by threads. It
    does not change: `State[T]` holds what does.
    """

    def serve(self, req: Request) raises -> Response:
        """Answers one request.

        Args:
            req: The request; it lives until the response is sent.

        Returns:
            The response.

        Raises:
            Anything: it becomes a 500 whose text the peer does not see.
        """
        ...


@fieldwise_init
struct FnHandler(Handler, ImplicitlyCopyable):
    """Makes a handler of a function."""

    var function: HandlerFunction
    """What answers."""

    def serve(self, req: Request) raises -> Response:
        """Calls the function.

        Args:
            req: The request.

        Returns:
            What the function returned.

        Raises:
            What the function raised.
        """
        return self.function(req)
