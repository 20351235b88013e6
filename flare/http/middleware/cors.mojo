"""Permits pages of other origins to read responses (CORS, the Fetch standard).
"""

from flare.core import TOKEN_OCTETS
from flare.http.error_answer import may_be_discarded
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.message import HeaderMap, Method, OriginList, Status
from flare.message.list_grammar import COMMA, is_blank

from .cors_config import CorsConfig
from .request_origin import has_origin, only_origin
from .vary import add_to_vary

comptime _ALLOW_ORIGIN: StaticString = "Access-Control-Allow-Origin"
comptime _ALLOW_CREDENTIALS: StaticString = "Access-Control-Allow-Credentials"
comptime _ALLOW_METHODS: StaticString = "Access-Control-Allow-Methods"
comptime _ALLOW_HEADERS: StaticString = "Access-Control-Allow-Headers"
comptime _EXPOSE_HEADERS: StaticString = "Access-Control-Expose-Headers"
comptime _MAX_AGE: StaticString = "Access-Control-Max-Age"
comptime _REQUEST_METHOD: StaticString = "Access-Control-Request-Method"
comptime _REQUEST_HEADERS: StaticString = "Access-Control-Request-Headers"
comptime _REQUEST_NETWORK: StaticString = (
    "Access-Control-Request-Private-Network"
)
comptime _ALLOW_NETWORK: StaticString = "Access-Control-Allow-Private-Network"
# A page asks for few fields; the answer repeats no longer list.
comptime _MIRRORED_OCTETS_MAX = 1024


struct Cors[H: Handler](Handler):
    """Permits pages of listed origins to read a handler's responses.

    - It answers preflights with 204 before the inner handler, also for paths
      that need authentication. The answer to another origin has no permission.
    - All other requests reach the inner handler, whatever their origin: it
      decides about the response, and the browser whether a page may read it.
      Use `CrossOriginProtection` to refuse changes.
    - Every answer has `Vary: Origin`, also after an error of the inner handler,
      so that no cache gives one origin the answer for another. With the origin
      `*` all answers are the same, and have none.
    - Its fields replace those of the inner handler.

    Place it outside of middleware that answers in place of the handler.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var _origins: OriginList
    var _credentials: Bool
    var _mirrors_headers: Bool
    var _private_network: Bool
    # Empty without exposed fields.
    var _exposed: String
    # The fields of each permitted preflight, but those that depend on it.
    var _permission: HeaderMap

    def __init__(out self, var inner: Self.H, config: CorsConfig) raises:
        """Creates middleware that permits requests of other origins.

        Args:
            inner: The inner handler.
            config: The origins, and the rights of their pages.

        Raises:
            Error: `http.bad_cors` with the reason, and `message.bad_origin`
                with the malformed origin.
        """
        var problem = config.first_problem()
        if problem:
            raise Error("http.bad_cors ", problem.value())
        self._origins = OriginList(config.origins)
        self._credentials = config.credentials
        self._mirrors_headers = not config.request_headers
        self._private_network = config.private_network
        self._exposed = _joined(config.exposed_headers)
        self._permission = HeaderMap()
        if config.methods:
            self._permission.set(_ALLOW_METHODS, _joined(config.methods))
        if config.request_headers:
            var names = _joined(config.request_headers.value())
            if names:
                self._permission.set(_ALLOW_HEADERS, names)
        self._permission.set(_MAX_AGE, String(config.max_age_seconds))
        self.inner = inner^

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response with the fields, or the answer
        to a preflight.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            The error of the inner handler, and `message.headers_too_large`.
        """
        if (
            req.method == Method.OPTIONS
            and has_origin(req)
            and _REQUEST_METHOD in req.headers
        ):
            return self._answer_preflight(req)
        var response: Response
        try:
            response = self.inner.serve(req)
        except e:
            self._try_to_add(req, req.error_headers())
            raise e^
        if may_be_discarded(req, response):
            self._try_to_add(req, req.error_headers())
        self._add(req, response.headers)
        return response^

    @always_inline
    def _add(self, req: Request, mut headers: HeaderMap) raises:
        if self._origins.has_any:
            _remove_own(headers)
            headers.append_constant[_ALLOW_ORIGIN, "*"]()
            if self._exposed:
                headers.append(_EXPOSE_HEADERS, self._exposed)
            return
        add_to_vary["Origin"](headers)
        if has_origin(req):
            self._add_permission(req, headers)

    @no_inline
    def _add_permission(self, req: Request, mut headers: HeaderMap) raises:
        _remove_own(headers)
        var origin = only_origin(req)
        if not origin or not self._origins.accepts(
            origin.unsafe_value().as_bytes()
        ):
            return
        headers.append(_ALLOW_ORIGIN, origin.unsafe_value())
        if self._credentials:
            headers.append_constant[_ALLOW_CREDENTIALS, "true"]()
        if self._exposed:
            headers.append(_EXPOSE_HEADERS, self._exposed)

    @no_inline
    def _try_to_add(self, req: Request, mut headers: HeaderMap):
        # A field that finds no room must not hide the error.
        try:
            self._add(req, headers)
        except:
            return

    @no_inline
    def _answer_preflight(self, req: Request) raises -> Response:
        var response = Response(Status.NO_CONTENT)
        response.headers.append_constant[
            "Vary",
            (
                "Origin, Access-Control-Request-Method,"
                " Access-Control-Request-Headers"
            ),
        ]()
        if self._private_network:
            add_to_vary[_REQUEST_NETWORK](response.headers)
        var origin = only_origin(req)
        if not origin or not self._origins.accepts(
            origin.unsafe_value().as_bytes()
        ):
            return response^
        response.headers.append_all(self._permission.view())
        if self._origins.has_any:
            response.headers.set(_ALLOW_ORIGIN, "*")
        else:
            response.headers.set(_ALLOW_ORIGIN, origin.unsafe_value())
        if self._credentials:
            response.headers.set(_ALLOW_CREDENTIALS, "true")
        if self._mirrors_headers:
            var names = req.headers.get(_REQUEST_HEADERS)
            if names and _is_list_of_names(names.unsafe_value().as_bytes()):
                response.headers.set(_ALLOW_HEADERS, names.unsafe_value())
        if self._private_network:
            var asked = req.headers.get(_REQUEST_NETWORK)
            if asked and asked.unsafe_value() == "true":
                response.headers.set(_ALLOW_NETWORK, "true")
        return response^


@always_inline
def _remove_own(mut headers: HeaderMap):
    """Removes the permissions of the inner handler: browsers refuse responses
    with two."""
    for i in range(len(headers)):
        if headers.name(i).byte_length() >= _ALLOW_ORIGIN.byte_length():
            return _remove(headers)


@no_inline
def _remove(mut headers: HeaderMap):
    _ = headers.remove(_ALLOW_ORIGIN)
    _ = headers.remove(_ALLOW_CREDENTIALS)
    _ = headers.remove(_EXPOSE_HEADERS)


def _joined(names: List[String]) -> String:
    return StaticString(", ").join(names)


def _is_list_of_names(octets: Span[UInt8, _]) -> Bool:
    if len(octets) == 0 or len(octets) > _MIRRORED_OCTETS_MAX:
        return False
    for octet in octets:
        if (
            octet != COMMA
            and not is_blank(octet)
            and octet not in materialize[TOKEN_OCTETS]()
        ):
            return False
    return True
