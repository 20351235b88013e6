"""Holds handlers and requests that the tests of this package share."""

from flare.http import Handler, Request, Response, ok
from flare.json import loads
from flare.testing import TestClient


@fieldwise_init
struct Answer(Handler):
    """Answers with its text, the route and the parameters asked for."""

    var text: String
    """What the answer begins with."""
    var parameter: String
    """The name of the route's parameter to show, or nothing."""

    def serve(self, req: Request) raises -> Response:
        """Answers.

        Args:
            req: The request.

        Returns:
            A text.

        Raises:
            If the route has no such parameter.
        """
        var text = String(self.text, " ", req.unsafe_exchange()[].route)
        if self.parameter:
            text.write(" ", req.param(self.parameter))
        return ok(text^)


def asked[
    H: Handler
](
    client: TestClient[H],
    target: StringSlice,
    method: StringSlice = "GET",
) raises -> String:
    """Sends a request and describes the answer in one line.

    Parameters:
        H: The type of the handler.

    Args:
        client: The client.
        target: The request target.
        method: The method.

    Returns:
        Status, value of Allow if there is one, and content.

    Raises:
        If the arguments cannot be a request.
    """
    return _described(client.request(method, target))


def asked_octets[
    H: Handler
](client: TestClient[H], octets: StringSlice) raises -> String:
    """Sends octets and describes the answer in one line.

    Parameters:
        H: The type of the handler.

    Args:
        client: The client.
        octets: One whole request.

    Returns:
        Status, value of Allow if there is one, and content.

    Raises:
        If the content is not UTF-8.
    """
    return _described(client.request_octets(octets.as_bytes()))


def _described(response: Response) raises -> String:
    var text = String(response.status)
    var allow = response.headers.get("Allow")
    if allow:
        text.write(" [", allow.value(), "]")
    if len(response.body) > 0:
        text.write(" ", shown(response))
    return text^


def shown(response: Response) raises -> String:
    """Describes a content in one line.

    Args:
        response: The response.

    Returns:
        The text; of a list of problems each with its place, separated by
        semicolons.

    Raises:
        If the content is not UTF-8.
    """
    var type = response.headers.get("Content-Type")
    if not type or not type.value().startswith("application/problem+json"):
        return String(response.text())
    var problem = loads(response.text())
    if problem["status"].int_value() != response.status:
        raise Error("the status is not that of ", response.text())
    var text = String()
    for error in problem["errors"].elements():
        if text:
            text.write("; ")
        var place = error["in"].string_value()
        if place == "body":
            text.write(error["pointer"].string_value())
        else:
            text.write(error["name"].string_value())
            if "pointer" in error:
                text.write(error["pointer"].string_value())
        text.write(": ", error["detail"].string_value())
        if "line" in error:
            text.write(
                " (line ",
                error["line"].int_value(),
                ", column ",
                error["column"].int_value(),
                ")",
            )
    return text^
