"""Configures which pages of other origins may read responses."""

from flare.core import is_token

comptime MAX_AGE_SECONDS_MAX = 86400
"""The longest time for which a browser keeps the answer to a preflight: a day
in Firefox, two hours in Chromium."""


def common_methods() -> List[String]:
    """Returns the methods that pages may use by default.

    Returns:
        GET, HEAD, POST, PUT, PATCH and DELETE.
    """
    return ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


struct CorsConfig(Copyable, Movable):
    """Configures `Cors`. Every field but `origins` has a default."""

    var origins: List[String]
    """The origins whose pages may read responses, as entries of `OriginList`:
    `https://a.example`, or `https://*.b.example` for each host below it. Only
    `*` permits every page, and `null` those whose origin browsers hide.
    """
    var credentials: Bool
    """Whether browsers may send cookies and other credentials, and pages may
    read the responses to them. False by default. It excludes `*` and `null`,
    because then any page could act as any visitor.
    """
    var methods: List[String]
    """The methods that pages may use; `common_methods()` by default. GET, HEAD
    and POST need no permission. Methods are case-sensitive."""
    var request_headers: Optional[List[String]]
    """The fields that pages may send. By default, all that they ask for: the
    origins are trusted. Accept, Accept-Language, Content-Language, and simple
    types of content need no permission.
    """
    var exposed_headers: List[String]
    """The fields of responses that pages may read, none by default.
    Cache-Control, Content-Language, Content-Length, Content-Type, Expires,
    Last-Modified and Pragma need no permission.
    """
    var max_age_seconds: Int
    """How long browsers remember the answer to a preflight, from 0 to 86,400.
    600 by default: after ten minutes, a changed configuration applies
    everywhere.
    """
    var private_network: Bool
    """Whether pages of the Internet may ask this server if it is in a private
    network (`Access-Control-Allow-Private-Network`). False by default."""

    def __init__(
        out self,
        *,
        var origins: List[String],
        credentials: Bool = False,
        var methods: List[String] = common_methods(),
        var request_headers: Optional[List[String]] = None,
        var exposed_headers: List[String] = [],
        max_age_seconds: Int = 600,
        private_network: Bool = False,
    ):
        """Creates a configuration.

        Args:
            origins: The origins whose pages may read responses.
            credentials: Whether they may do so with cookies.
            methods: The methods that they may use.
            request_headers: The fields that they may send; `None` allows all.
            exposed_headers: The fields of responses that they may read.
            max_age_seconds: How long browsers remember these permissions.
            private_network: Whether the server may be in a private network.
        """
        self.origins = origins^
        self.credentials = credentials
        self.methods = methods^
        self.request_headers = request_headers^
        self.exposed_headers = exposed_headers^
        self.max_age_seconds = max_age_seconds
        self.private_network = private_network

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first reason why the configuration is invalid. `Cors`
        checks the syntax of the origins too.

        Returns:
            A sentence that begins with the name of a field, or `None`.
        """
        if len(self.origins) == 0:
            return StaticString("origins must not be empty")
        if "*" in self.origins and len(self.origins) > 1:
            return StaticString("origins has * and others")
        if self.credentials and ("*" in self.origins or "null" in self.origins):
            return StaticString(
                "credentials need named origins: with * or null, any page"
                " could act as any visitor"
            )
        if not _are_names(self.methods, self.credentials):
            return StaticString("methods has one that is not a token")
        if self.request_headers and not _are_names(
            self.request_headers.value(), self.credentials
        ):
            return StaticString("request_headers has a malformed name")
        if not _are_names(self.exposed_headers, self.credentials):
            return StaticString("exposed_headers has a malformed name")
        if (
            self.max_age_seconds < 0
            or self.max_age_seconds > MAX_AGE_SECONDS_MAX
        ):
            return StaticString("max_age_seconds is not 0 to 86400")
        return None


def _are_names(names: List[String], has_credentials: Bool) -> Bool:
    for name in names:
        # With credentials, browsers take * for a name, not for all names.
        if not is_token(name.as_bytes()) or (has_credentials and name == "*"):
            return False
    return True
