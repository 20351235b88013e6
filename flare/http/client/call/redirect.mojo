"""Computes the target and the fields of a redirected request.

Pure functions over received fields: RFC 9110 section 15.4.
"""

from flare.message import HeaderMap, Method, SyntaxError, Url, resolve_location
from flare.message.international_host import NOT_CONVERTED

from ...client_error import ClientError, Phase, raised
from ..credentials.secrets import drop_secrets


comptime _OTHER_SCHEME: StaticString = (
    "Location has another scheme than http and https"
)


struct Redirection(Movable):
    """The request that follows a redirect."""

    var url: Url
    """The new URL."""
    var becomes_get: Bool
    """Whether it is a GET without content, whatever it was."""
    var leaves_origin: Bool
    """Whether it goes to another origin, which gets no credentials."""

    def __init__(
        out self, var url: Url, becomes_get: Bool, leaves_origin: Bool
    ):
        """Creates a redirect.

        Args:
            url: The new URL.
            becomes_get: Whether the method changes.
            leaves_origin: Whether the origin changes.
        """
        self.url = url^
        self.becomes_get = becomes_get
        self.leaves_origin = leaves_origin


def is_redirection(status: Int) -> Bool:
    """Returns whether a status is a redirect to follow.

    Args:
        status: The status.

    Returns:
        True for 301, 302, 303, 307 and 308.
    """
    return (
        status == 301
        or status == 302
        or status == 303
        or status == 307
        or status == 308
    )


def becomes_get(status: Int, method: Method) -> Bool:
    """Returns whether the method changes.

    301 and 302 change a POST, as all clients have always done (sections 15.4.2
    and 15.4.3); 303 changes all methods except HEAD.

    Args:
        status: A redirection.
        method: The method of the request that was redirected.

    Returns:
        True if a GET without content follows.
    """
    if status == 303:
        return method != Method.GET and method != Method.HEAD
    return (status == 301 or status == 302) and method == Method.POST


def redirection(
    base: Url, method: Method, status: Int, location: StringSlice
) raises -> Redirection:
    """Returns the request that follows a redirect.

    Args:
        base: The URL of the redirected request.
        method: The method of the redirected request.
        status: The status, a redirection.
        location: The value of Location, which is read as browsers do.

    Returns:
        The request that follows.

    Raises:
        ClientError: `client.bad_redirect redirect` if the location is not a
            URL of http or https, or not an allowed one.
    """
    var url: Url
    try:
        url = resolve_location(base, location.as_bytes())
    except e:
        raise raised(
            ClientError.BAD_REDIRECT,
            Phase.REDIRECT,
            _reason_of(e),
            status=status,
        )
    if not url.scheme().startswith("http"):
        raise raised(
            ClientError.BAD_REDIRECT,
            Phase.REDIRECT,
            _OTHER_SCHEME,
            status=status,
        )
    # The URL that is asked for decides, whatever the Location looks like.
    var leaves_origin = not url.has_origin_of(base)
    return Redirection(url^, becomes_get(status, method), leaves_origin)


def drop_fields(
    mut headers: HeaderMap,
    *,
    leaves_origin: Bool,
    becomes_get: Bool,
    secrets: List[String] = List[String](),
):
    """Removes the fields that must not follow a redirect.

    Args:
        headers: The fields that the program has set.
        leaves_origin: Whether the origin changes: credentials and a Host of
            the program are then removed.
        becomes_get: Whether the content and its fields are removed.
        secrets: The names of secret fields, besides those that `is_secret`
            knows.
    """
    if leaves_origin:
        drop_secrets(headers, secrets)
        _ = headers.remove("Host")
    if becomes_get:
        comptime for name in [
            "Content-Type",
            "Content-Length",
            "Content-Encoding",
            "Content-Language",
            "Content-Location",
            "Expect",
        ]:
            _ = headers.remove(name)


def _reason_of(fault: SyntaxError) -> StaticString:
    if fault.part == "scheme":
        return _OTHER_SCHEME
    if fault.part == "user information":
        return "Location holds user information"
    if fault.part == "host" and fault.reason == NOT_CONVERTED:
        return "the host of Location has a letter that is not converted"
    if fault.part == "host" or fault.part == "port":
        return "Location names no host that can be asked"
    return "Location is no URL of http or https"
