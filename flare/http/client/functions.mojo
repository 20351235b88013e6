"""Sends single requests, for scripts.

Each call creates a client and drops it. To send more than one request, create
an `HttpClient`: it reuses connections.
"""

from flare.message import FormFields, HeaderMap

from ..content import Content
from ..multipart_form import MultipartForm
from ..response import Response
from .client import HttpClient
from .client_functions import RequestParts
from .requests import request_once


def get(
    url: StringSlice,
    *,
    headers: HeaderMap = HeaderMap(),
    query: FormFields = FormFields(),
    timeout_ms: Optional[Int] = None,
) raises -> Response:
    """Sends a GET request: asks for a representation.

    Args:
        url: An absolute URL of http or https.
        headers: Fields of the request.
        query: Parameters to append to the URL, escaped.
        timeout_ms: The limit of the call; two minutes by default.

    Returns:
        The response, with any status.

    Raises:
        Error: `client.refused connect`, `client.timeout head` and others
            (`ClientError.of`).
    """
    return request_once(
        RequestParts("GET", url, headers, query, timeout_ms), Content()
    )


def head(
    url: StringSlice,
    *,
    headers: HeaderMap = HeaderMap(),
    query: FormFields = FormFields(),
    timeout_ms: Optional[Int] = None,
) raises -> Response:
    """Sends a HEAD request: like `get`, without the content.

    Args:
        url: As in `get`.
        headers: As in `get`.
        query: As in `get`.
        timeout_ms: As in `get`.

    Returns:
        The response.

    Raises:
        Error: As in `get`.
    """
    return request_once(
        RequestParts("HEAD", url, headers, query, timeout_ms), Content()
    )


def options(
    url: StringSlice,
    *,
    headers: HeaderMap = HeaderMap(),
    query: FormFields = FormFields(),
    timeout_ms: Optional[Int] = None,
) raises -> Response:
    """Sends an OPTIONS request: asks for the supported options.

    Args:
        url: As in `get`.
        headers: As in `get`.
        query: As in `get`.
        timeout_ms: As in `get`.

    Returns:
        The response.

    Raises:
        Error: As in `get`.
    """
    return request_once(
        RequestParts("OPTIONS", url, headers, query, timeout_ms), Content()
    )


def delete(
    url: StringSlice,
    *,
    headers: HeaderMap = HeaderMap(),
    query: FormFields = FormFields(),
    timeout_ms: Optional[Int] = None,
) raises -> Response:
    """Sends a DELETE request: asks to remove a resource.

    Args:
        url: As in `get`.
        headers: As in `get`.
        query: As in `get`.
        timeout_ms: As in `get`.

    Returns:
        The response.

    Raises:
        Error: As in `get`.
    """
    return request_once(
        RequestParts("DELETE", url, headers, query, timeout_ms), Content()
    )


def post(
    url: StringSlice,
    var content: Content = Content(),
    *,
    headers: HeaderMap = HeaderMap(),
    query: FormFields = FormFields(),
    timeout_ms: Optional[Int] = None,
) raises -> Response:
    """Sends a POST request: sends content to a resource.

    Args:
        url: As in `get`.
        content: A text, which is sent as JSON, or octets, `FormFields`, or
            `Content(text, type)`.
        headers: As in `get`.
        query: As in `get`.
        timeout_ms: As in `get`.

    Returns:
        The response.

    Raises:
        Error: As in `get`.
    """
    return request_once(
        RequestParts("POST", url, headers, query, timeout_ms), content^
    )


def post(
    url: StringSlice,
    form: MultipartForm,
    *,
    headers: HeaderMap = HeaderMap(),
    query: FormFields = FormFields(),
) raises -> Response:
    """Posts a form with files, which are read while they are sent.

    Args:
        url: As in `get`.
        form: The form.
        headers: As in `get`.
        query: As in `get`.

    Returns:
        The response.

    Raises:
        Error: As in `get`, and the error of reading a file.
    """
    return HttpClient().post(url, form, headers=headers, query=query)


def put(
    url: StringSlice,
    var content: Content = Content(),
    *,
    headers: HeaderMap = HeaderMap(),
    query: FormFields = FormFields(),
    timeout_ms: Optional[Int] = None,
) raises -> Response:
    """Sends a PUT request: replaces a representation.

    Args:
        url: As in `get`.
        content: As in `post`.
        headers: As in `get`.
        query: As in `get`.
        timeout_ms: As in `get`.

    Returns:
        The response.

    Raises:
        Error: As in `get`.
    """
    return request_once(
        RequestParts("PUT", url, headers, query, timeout_ms), content^
    )


def patch(
    url: StringSlice,
    var content: Content = Content(),
    *,
    headers: HeaderMap = HeaderMap(),
    query: FormFields = FormFields(),
    timeout_ms: Optional[Int] = None,
) raises -> Response:
    """Sends a PATCH request: changes a part of a resource.

    Args:
        url: As in `get`.
        content: As in `post`.
        headers: As in `get`.
        query: As in `get`.
        timeout_ms: As in `get`.

    Returns:
        The response.

    Raises:
        Error: As in `get`.
    """
    return request_once(
        RequestParts("PATCH", url, headers, query, timeout_ms), content^
    )
