"""Refuses changes that pages of other sites ask browsers for."""

from flare.core import heap_create, heap_destroy
from flare.http.builders import forbidden
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.routing import Captures, MatchKind, RouteTable
from flare.message import Method, OriginList, is_page_of_host

from .request_origin import has_origin, only_origin

comptime _SITE: StaticString = "Sec-Fetch-Site"


struct CrossOriginProtection[H: Handler](Handler):
    """Answers 403 to requests that a page of another origin made.

    Any page can make a browser send a form to any site, with the cookies of its
    user. Browsers state in Sec-Fetch-Site whose page it was. Older ones, and all
    without TLS, state it in Origin, which is compared with the host of the
    request. Clients that are no browsers send neither, and are accepted. GET,
    HEAD and OPTIONS are accepted too, so their handlers should change nothing.
    No token in the form is needed.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var _trusted: OriginList
    var _bypass: RouteTable

    def __init__(
        out self,
        var inner: Self.H,
        *,
        trusted_origins: List[String] = [],
        bypass: List[String] = [],
    ) raises:
        """Creates middleware that refuses a handler's requests of other sites.

        Args:
            inner: The inner handler.
            trusted_origins: Origins of other sites whose requests are
                accepted, such as `https://a.example` or `https://*.b.example`.
                Their pages can do all that your own can.
            bypass: Patterns of paths, as those of routes, whose requests are
                not checked, such as `/webhooks/*`. Handlers there must not
                trust cookies.

        Raises:
            Error: `message.bad_origin` if an origin is malformed, or `*` or
                `null`, which would trust every page. `http.bad_route` if a
                pattern is malformed or listed twice.
        """
        self._trusted = OriginList(trusted_origins)
        if self._trusted.has_any or self._trusted.has_null:
            raise Error("message.bad_origin * and null would trust every page")
        self._bypass = RouteTable()
        for pattern in bypass:
            self._bypass.add(Method.POST.name(), pattern, 0)
        self.inner = inner^

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response, or 403.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            The error of the inner handler.
        """
        if (
            req.method == Method.GET
            or req.method == Method.HEAD
            or req.method == Method.OPTIONS
            or _is_of_this_site(req)
            or self._is_excepted(req)
        ):
            return self.inner.serve(req)
        return forbidden("a page of another site sent this request")

    @no_inline
    def _is_excepted(self, req: Request) -> Bool:
        if len(self._trusted) > 0:
            var origin = only_origin(req)
            if origin and self._trusted.accepts(
                origin.unsafe_value().as_bytes()
            ):
                return True
        if len(self._bypass) == 0:
            return False
        # The router reads paths by the same rules. So no other spelling of a
        # path passes here and reaches another handler there.
        var captures = heap_create(Captures())
        var found = self._bypass.find(
            Method.POST, "POST".as_bytes(), req.path.as_bytes(), captures
        )
        heap_destroy(captures)
        return found.kind == MatchKind.FOUND


def _is_of_this_site(req: Request) -> Bool:
    var lines = 0
    for value in req.headers.values(_SITE):
        lines += 1
        # `none` is a request that no page made, such as a bookmark.
        if not (value == "same-origin" or value == "none"):
            return False
    if lines > 0 or not has_origin(req):
        return True
    var origin = only_origin(req)
    return Bool(origin) and is_page_of_host(
        origin.unsafe_value().as_bytes(), req.authority
    )
