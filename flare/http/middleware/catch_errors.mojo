"""Converts the errors of handlers into responses of the program's choice."""

from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response

comptime ErrorFunction = def(Request, Error) raises thin -> Response
"""A function that answers a request whose handler raised."""


@fieldwise_init
struct CatchErrors[H: Handler](Handler):
    """Answers with a function of the program if the inner handler raises.

    The text of an error may contain details that belong in the log only. The
    function chooses the answer to the client.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var answer: ErrorFunction
    """The function that answers after an error."""

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response or, after an error, that of the
        function.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            The error of the function; the answer is then a 500.
        """
        try:
            return self.inner.serve(req)
        except e:
            return self.answer(req, e)
