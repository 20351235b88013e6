"""Functions that return common responses."""

from flare.core import OctetSet
from flare.message import (
    Status,
    escaped_percents,
    percent_encode,
    reason_phrase,
)
from flare.proto.h1 import H1Rule

from .body import Body
from .response import Response

comptime _TEXT: StaticString = "text/plain; charset=utf-8"
comptime _JSON: StaticString = "application/json"
comptime _HTML: StaticString = "text/html; charset=utf-8"
comptime _PROBLEM: StaticString = "application/problem+json"


def _uri_octets() -> OctetSet:
    var octets = OctetSet.of(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
        ":/?#[]@!$&'()*+,;=%"
    )
    # Control characters are refused by the field, not hidden in it.
    for octet in range(32):
        octets.add(UInt8(octet))
    octets.add(127)
    return octets


comptime _URI_OCTETS = _uri_octets()


def _typed[type: StaticString = _TEXT](status: Int, var body: Body) -> Response:
    var response = Response(status, body^)
    response.headers.append_constant["Content-Type", type]()
    return response^


def ok(var body: Body = Body()) -> Response:
    """Returns a 200 response with a text.

    Args:
        body: The content.

    Returns:
        The response, of type `text/plain; charset=utf-8`.
    """
    return _typed(Status.OK, body^)


def ok_json(var body: Body) -> Response:
    """Returns a 200 response with a JSON text.

    Args:
        body: The JSON text, sent as it is.

    Returns:
        The response, of type `application/json`.
    """
    return _typed[_JSON](Status.OK, body^)


def ok_html(var body: Body) -> Response:
    """Returns a 200 response with an HTML page.

    Args:
        body: The page: `html(t"…")`, whose values are escaped. Other text is
            sent as it is, so escape any part that came from a client.

    Returns:
        The response, of type `text/html; charset=utf-8`.
    """
    return _typed[_HTML](Status.OK, body^)


def rejection_answer(status: Int, reason: Span[UInt8, _]) -> Response:
    """Returns the answer for a refusal by an extractor.

    Args:
        status: The status code.
        reason: A text, or the JSON object of a problem (RFC 9457).

    Returns:
        The response, of type `text/plain; charset=utf-8` or
        `application/problem+json`.
    """
    if len(reason) > 0 and reason[0] == UInt8(ord("{")):
        return _typed[_PROBLEM](status, Body(reason))
    return _typed(status, Body(reason))


def created(
    var body: Body = Body(), location: StringSlice = ""
) raises -> Response:
    """Returns a 201 response.

    Args:
        body: The content.
        location: The URL or path of the new resource, escaped as for
            `redirect`; if empty, the response has no Location.

    Returns:
        The response.

    Raises:
        An error `message.bad_header_value` if the location has a control
        character.
    """
    return _created[_TEXT](body^, location)


def created_json(var body: Body, location: StringSlice = "") raises -> Response:
    """Returns a 201 response with a JSON text, such as `dumps(value)`.

    Args:
        body: The JSON text, sent as it is.
        location: The URL or path of the new resource, escaped as for
            `redirect`; if empty, the response has no Location.

    Returns:
        The response, of type `application/json`.

    Raises:
        An error `message.bad_header_value` if the location has a control
        character.
    """
    return _created[_JSON](body^, location)


def _created[
    type: StaticString
](var body: Body, location: StringSlice) raises -> Response:
    var response = _typed[type](Status.CREATED, body^)
    if location.byte_length() > 0:
        response.headers.set("Location", _escaped(location))
    return response^


def accepted(var body: Body = Body()) -> Response:
    """Returns a 202 response: the work is not finished.

    Args:
        body: The content.

    Returns:
        The response.
    """
    return _typed(Status.ACCEPTED, body^)


def no_content() -> Response:
    """Returns a 204 response, without content.

    Returns:
        The response.
    """
    return Response(Status.NO_CONTENT)


def redirect(
    location: StringSlice, status: Int = Status.FOUND
) raises -> Response:
    """Returns a redirect.

    Args:
        location: The target, a URL or a path. Octets that no URI may contain,
            such as a blank or `é`, are escaped; escapes are kept. Check a
            target that is part of a request.
        status: 301, 302, 303, 307 or 308.

    Returns:
        The response.

    Raises:
        An error `message.bad_header_value` if the location has a control
        character.
    """
    var response = Response(status)
    response.headers.set("Location", _escaped(location))
    return response^


def bad_request(var body: Body = Body("bad request")) -> Response:
    """Returns a 400 response.

    Args:
        body: The content: the reason, for the client's author.

    Returns:
        The response.
    """
    return _typed(Status.BAD_REQUEST, body^)


def unauthorized(challenge: StringSlice) raises -> Response:
    """Returns a 401 response with a challenge (RFC 9110 section 11.6.1).

    Args:
        challenge: The value of WWW-Authenticate, such as `Bearer`.

    Returns:
        The response.

    Raises:
        An error `message.bad_header_value` if the challenge cannot be a field
        value.
    """
    var response = _typed(Status.UNAUTHORIZED, "unauthorized")
    response.headers.set("WWW-Authenticate", challenge)
    return response^


def forbidden(var body: Body = Body("forbidden")) -> Response:
    """Returns a 403 response.

    Args:
        body: The content.

    Returns:
        The response.
    """
    return _typed(Status.FORBIDDEN, body^)


def not_found(what: StringSlice = "") -> Response:
    """Returns a 404 response.

    Args:
        what: The name of the missing resource; sent as text of at most 256
            octets.

    Returns:
        The response.
    """
    if what.byte_length() == 0:
        return _typed(Status.NOT_FOUND, "not found")
    var octets = List[UInt8]("not found: ".as_bytes())
    octets.extend(what.as_bytes()[: min(what.byte_length(), 256)])
    return _typed(Status.NOT_FOUND, octets^)


def method_not_allowed(allow: StringSlice) raises -> Response:
    """Returns a 405 response with the methods that the resource supports.

    Args:
        allow: The value of Allow, such as `GET, HEAD`.

    Returns:
        The response.

    Raises:
        An error `message.bad_header_value` if the list cannot be a field value.
    """
    var response = _typed(Status.METHOD_NOT_ALLOWED, "method not allowed")
    response.headers.set("Allow", allow)
    return response^


def conflict(var body: Body = Body("conflict")) -> Response:
    """Returns a 409 response.

    Args:
        body: The content.

    Returns:
        The response.
    """
    return _typed(Status.CONFLICT, body^)


def precondition_failed(
    var body: Body = Body("precondition failed"),
) -> Response:
    """Returns a 412 response: a condition of the request does not hold.

    Args:
        body: The content.

    Returns:
        The response.
    """
    return _typed(Status.PRECONDITION_FAILED, body^)


def unprocessable(var body: Body = Body("unprocessable content")) -> Response:
    """Returns a 422 response.

    Args:
        body: The content.

    Returns:
        The response.
    """
    return _typed(Status.UNPROCESSABLE_CONTENT, body^)


def internal_error() -> Response:
    """Returns a 500 response, without the reason.

    Returns:
        The response.
    """
    return _typed(Status.INTERNAL_SERVER_ERROR, "internal server error")


def not_implemented() -> Response:
    """Returns a 501 response.

    Returns:
        The response.
    """
    return _typed(Status.NOT_IMPLEMENTED, "not implemented")


def service_unavailable(retry_after_s: Int = 1) -> Response:
    """Returns a 503 response with a Retry-After field.

    Args:
        retry_after_s: The value of Retry-After, in seconds.

    Returns:
        The response.
    """
    var response = _typed(Status.SERVICE_UNAVAILABLE, "service unavailable")
    try:
        response.headers.set("Retry-After", String(retry_after_s))
    except:
        debug_assert(False, "a number is a field value")
    return response^


def error_response(status: Int) -> Response:
    """Returns a response with a status, and its reason phrase as content.

    Args:
        status: The status code, 400 to 599.

    Returns:
        The response.
    """
    return _typed(status, reason_phrase(status))


def refusal(status: Int, rule: H1Rule) -> Response:
    """Returns the answer to a peer that broke a rule of HTTP/1.1.

    Args:
        status: The status code, 400 to 599.
        rule: The rule.

    Returns:
        The response. Its content is the phrase of the rule; without one, the
        reason phrase of the status. A 503 has a Retry-After field.
    """
    if rule != H1Rule.NONE:
        return _typed(status, rule.phrase())
    if status == Status.SERVICE_UNAVAILABLE:
        return service_unavailable()
    return error_response(status)


def _escaped(location: StringSlice) -> String:
    var escaped = List[UInt8](capacity=location.byte_length() + 16)
    var text = escaped_percents(location)
    percent_encode[_URI_OCTETS](text.as_bytes(), escaped)
    return String(unsafe_from_utf8=Span(escaped))
