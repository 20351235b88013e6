"""Builds the answers that the server makes in the place of a handler.

Middleware adds its fields to what the handler inside returns. If that raises,
or if the server discards what it returned, the fields are taken from
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
    """Answers with a status, the fields of middleware, and the reason phrase or,
    if the content of the request breaks a rule of HTTP/1.1, that of the rule.

    Args:
        x: The exchange.
        status: The status code, 400 to 599.

    Returns:
        The response.
    """
    var rule = H1Rule.NONE
    if status == x[].content_status:
        rule = x[].content_rule
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
    """Returns whether the server may answer in the place of a response.

    Args:
        req: The request.
        response: What its handler returned.

    Returns:
        True if a function has still to write the content, if the content of the
        request is to blame, if status or framing may be refused, or if there
        may be no room for the content.
    """
    return (
        response.body.is_stream()
        or req.unsafe_exchange()[].content_status != 0
        or response.status < 200
        or response.status > 599
        or response.headers.has_known(FieldName.CONTENT_LENGTH)
        or response.headers.has_known(FieldName.TRANSFER_ENCODING)
        or (
            len(response.body) > COPY_OCTETS_MAX
            and not response.body.is_sealed()
        )
    )
