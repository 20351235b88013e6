"""Adds a header field to every response."""

from flare.http.error_answer import may_be_discarded
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.message import HeaderMap


struct AddHeader[H: Handler](Handler):
    """Adds one header field to responses that lack it.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var _name: String
    var _value: String

    def __init__(
        out self, var inner: Self.H, *, var name: String, var value: String
    ) raises:
        """Creates middleware that adds a field to a handler's responses.

        Args:
            inner: The inner handler.
            name: The field's name, a token.
            value: The field's value.

        Raises:
            An error `message.bad_header_name` or `message.bad_header_value`.
        """
        var trial = HeaderMap()
        trial.set(name, value)
        self.inner = inner^
        self._name = name^
        self._value = value^

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response with the field.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            The error of the inner handler, and `message.headers_too_large`.
        """
        var response: Response
        try:
            response = self.inner.serve(req)
        except e:
            self._try_to_add(req.error_headers())
            raise e^
        if may_be_discarded(req, response):
            self._try_to_add(req.error_headers())
        self._add(response.headers)
        return response^

    def _add(self, mut headers: HeaderMap) raises:
        if not headers.contains(self._name):
            headers.append(self._name, self._value)

    @no_inline
    def _try_to_add(self, mut headers: HeaderMap):
        # A field that finds no room must not hide the error.
        try:
            self._add(headers)
        except:
            return
