"""Turns the errors of handlers into responses of the user's choice."""

from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response

comptime ErrorFunction = def(Request, Error) raises thin -> Response
"""Answers a request whose handler raised."""


@fieldwise_init
struct CatchErrors[H: Handler](Handler):
    """Answers with a function of the user's where the handler inside raises.

    The text of an error may hold what only the log should see: the function
    decides what the peer learns.

    Parameters:
        H: The type of the handler inside.
    """

    var inner: Self.H
    """The handler inside."""
    var answer: ErrorFunction
    """Answers instead of it."""

    def serve(self, req: Request) raises -> Response:
        """Lets the handler inside answer, or the function.

        Args:
            req: The request.

        Returns:
            The response of one of them.

        Raises:
            What the function raises: it becomes a 500.
        """
        try:
            return self.inner.serve(req)
        except e:
            return self.answer(req, e)
