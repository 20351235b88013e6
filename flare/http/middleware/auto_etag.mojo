"""Adds an entity tag to whole responses, and answers 304 to clients that have
them already."""

from flare.http.builders import precondition_failed
from flare.http.conditions import (
    ConditionResult,
    Validators,
    evaluate_conditions,
)
from flare.http.content_tag import content_tag
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.message import HeaderMap, Method, Status
from flare.message.list_grammar import lists_member
from flare.sys.clock import unix_seconds


struct AutoETag[H: Handler](Handler):
    """Adds a strong ETag to responses of the inner handler, and evaluates the
    conditions of the request with it (RFC 9110 section 13).

    The tag is a hash of the content. So the handler still does all its work, and
    only the content is not sent again. It is added to 200 responses to GET and
    HEAD. Excepted are:

    - responses that have an ETag: their handler knows better,
    - streams, whose content is not known yet, and forwarded content,
    - responses to HEAD without content,
    - responses with `Cache-Control: no-store`, which no client keeps.

    Place it within `Compress`, which then sends the tag as a weak one.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""

    def __init__(out self, var inner: Self.H):
        """Creates middleware that adds tags.

        Args:
            inner: The inner handler.
        """
        self.inner = inner^

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response with a tag, or a 304 in its
        place.

        Args:
            req: The request.

        Returns:
            The response; 412 if the request is only for another content.

        Raises:
            The error of the inner handler, and `message.headers_too_large`.
        """
        var response = self.inner.serve(req)
        if not _is_taggable(req, response):
            return response^
        var validators = Validators(content_tag(response.body.octets()))
        var result = evaluate_conditions(
            req.method, req.headers, validators, unix_seconds()
        )
        if result == ConditionResult.FAILED:
            return precondition_failed()
        response.headers.set("ETag", validators.tag.value().text())
        if result == ConditionResult.NOT_MODIFIED:
            return _without_content(response^)
        return response^


def _is_taggable(req: Request, response: Response) -> Bool:
    if (
        response.status != Status.OK
        or response.body.is_stream()
        or response.body.received()
        or "ETag" in response.headers
    ):
        return False
    if req.method != Method.GET and (
        req.method != Method.HEAD or len(response.body) == 0
    ):
        return False
    for value in response.headers.values("Cache-Control"):
        if lists_member(value.as_bytes(), "no-store".as_bytes()):
            return False
    return True


def _without_content(var response: Response) raises -> Response:
    """Returns the 304 that stands for a response. It keeps the fields that
    update the client's copy (RFC 9110 section 15.4.5), and those about the
    exchange, such as cookies."""
    var headers = HeaderMap()
    swap(headers, response.headers)
    comptime for i in range(len(_OF_CONTENT)):
        comptime name = _OF_CONTENT[i]
        _ = headers.remove(name)
    var answer = Response(Status.NOT_MODIFIED)
    answer.headers = headers^
    return answer^


comptime _OF_CONTENT: List[StaticString] = [
    "Content-Type",
    "Content-Length",
    "Content-Encoding",
    "Content-Language",
    "Content-Disposition",
    "Last-Modified",
]
