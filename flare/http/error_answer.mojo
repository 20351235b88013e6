"""Builds the answers that the server gives in place of a handler.

Middleware adds its fields to the response of its handler. If the handler
raises, or if the server discards the response, the fields come from
`req.error_headers()`.
"""

from flare.message import FieldName, HeaderMap
from flare.proto.h1 import H1Rule

from .body import COPY_OCTETS_MAX
from .builders import refusal
from .exchange import Exchange
from .request import Request
from .response import Response


def error_answer(x: Exchange, status: Int) -> Response:
    """Returns the answer for a failed request, with the fields of middleware.

    Its content is the reason phrase, or the phrase of the broken rule if the
    request's content violates HTTP/1.1.

    Args:
        x: The exchange.
        status: The status code, 400 to 599.

    Returns:
        The response.
    """
    var rule = H1Rule.NONE
    if status == x[].content.status:
        rule = x[].content.rule
    var response = refusal(status, rule)
    _add_error_headers(x, response)
    return response^


def _add_error_headers(x: Exchange, mut response: Response):
    # A field of the answer's own counts.
    if len(x[].error_headers) == 0:
        return
    var headers = HeaderMap()
    swap(headers, x[].error_headers)
    var own = response.headers.copy()
    try:
        for i in range(len(headers)):
            if not own.contains(headers.name(i)):
                response.headers.append(headers.name(i), headers.value(i))
    except:
        # As many as there is room for.
        return


def may_be_discarded(req: Request, response: Response) -> Bool:
    """Returns whether the server may discard a response and answer itself.

    Args:
        req: The request.
        response: The response of the handler.

    Returns:
        True if the content is streamed, if the request's content is malformed,
        if status or framing may be refused, or if memory may be short.
    """
    return (
        response.body.is_stream()
        or req.unsafe_exchange()[].content.status != 0
        or response.status < 200
        or response.status > 599
        or response.headers.has_known(FieldName.CONTENT_LENGTH)
        or response.headers.has_known(FieldName.TRANSFER_ENCODING)
        or (
            len(response.body) > COPY_OCTETS_MAX
            and not response.body.is_sealed()
        )
    )
