"""Decides which clients reach a restricted route."""

from std.base64 import b64encode

from flare.core import COLON, equals_ignoring_case
from flare.core.hmac import same_digest
from flare.core.sha256 import Sha256Digest, sha256_digest
from flare.message import FieldSection, WebOrigin, is_page_of_host
from flare.message.list_grammar import trim_blanks
from flare.net import IpAddr, IpNetwork

from ..builders import error_response, forbidden
from ..client import BasicAuth
from ..middleware.request_origin import has_origin, only_origin
from ..request import Request
from ..response import Response

comptime _SCHEME: StaticString = "Basic "
comptime _FORWARDED: StaticString = "x-forwarded-"
# Fields by which proxies say for whom they ask.
comptime _OF_PROXIES: List[StaticString] = [
    "Forwarded",
    "Via",
    "X-Real-IP",
    "X-Client-IP",
    "X-Cluster-Client-IP",
    "X-Original-Forwarded-For",
    "X-Envoy-External-Address",
    "True-Client-IP",
    "CF-Connecting-IP",
    "Fastly-Client-IP",
    "CDN-Loop",
]


struct ClientAccess(Copyable, Movable):
    """The rules that a client must meet."""

    var _by_address: Bool
    # If empty, the addresses of this machine.
    var _networks: List[IpNetwork]
    var _hosts: List[String]
    # Of `name:password` in base64, as clients send it.
    var _secret: Optional[Sha256Digest]

    def __init__(
        out self,
        *,
        var networks: List[IpNetwork] = [],
        credentials: Optional[BasicAuth] = None,
        var hosts: List[String] = [],
    ) raises:
        """Creates the rules.

        Args:
            networks: The networks of the clients. If empty, only this machine,
                or, with credentials, all.
            credentials: The name and the password that clients must know.
            hosts: Further names by which clients may ask for the server.

        Raises:
            Error: `http.bad_access` if the credentials have no password or
                a colon in the name, or a host is empty.
        """
        self._by_address = len(networks) > 0 or not credentials
        self._networks = networks^
        for host in hosts:
            if host.byte_length() == 0:
                raise Error("http.bad_access hosts: a name is empty")
        self._hosts = hosts^
        self._secret = None
        if credentials:
            ref known = credentials.value()
            if known.password.byte_length() == 0:
                raise Error("http.bad_access credentials: no password")
            for octet in known.user.as_bytes():
                if octet == COLON:
                    raise Error("http.bad_access credentials: a colon")
            var pair = String(known.user, ":", known.password)
            self._secret = sha256_digest(b64encode(pair.as_bytes()).as_bytes())

    def refusal(self, req: Request) raises -> Optional[Response]:
        """Returns the answer to a client that may not ask.

        Args:
            req: The request.

        Returns:
            403 or 401; `None` if the client meets the rules.

        Raises:
            Error: `message.headers_too_large`.
        """
        if self._by_address:
            var reason = self._fault_of(req)
            if reason.byte_length() > 0:
                var response = forbidden(String(reason, "\n"))
                response.headers.append_constant["Cache-Control", "no-store"]()
                return response^
        if self._secret and not knows_secret(req.headers, self._secret.value()):
            var response = error_response(401)
            response.headers.append_constant["Cache-Control", "no-store"]()
            response.headers.append_constant[
                "WWW-Authenticate", 'Basic realm="restricted", charset="UTF-8"'
            ]()
            return response^
        return None

    def _fault_of(self, req: Request) -> StaticString:
        """Returns the rule about addresses that a client does not meet; empty
        if it meets all."""
        if (
            req.unsafe_exchange()[]
            .host.functions[]
            .hides_client(
                req.unsafe_exchange().unsafe_bitcast[NoneType]()
            ) if req.unsafe_exchange()[]
            .carrier else True
        ):
            return "the address of the client is not known"
        # nginx asks servers in HTTP/1.0, and says nothing of its client, unless
        # it is configured otherwise.
        if req.version.major == 1 and req.version.minor == 0:
            return "HTTP/1.0 may come from a proxy"
        if names_proxy(req.headers):
            return "a proxy has forwarded the request"
        if not self._is_near(req):
            return "the route is for other addresses"
        if not is_own_host(req.authority, self._hosts):
            # A page of another site may let its own name lead to this address
            # (DNS rebinding). Then browsers send that name.
            return "the route is for other names of the host"
        return ""

    def _is_near(self, req: Request) -> Bool:
        var found: Optional[IpAddr]
        try:
            found = req.peer().ip_address()
        except:
            return False
        if not found:
            # A Unix socket: its file has permissions.
            return True
        var address = found.value().unmapped()
        if len(self._networks) == 0:
            return address.is_loopback()
        for network in self._networks:
            if network.contains(address):
                return True
        return False


def is_own_host(authority: StringSlice, names: List[String]) -> Bool:
    """Returns whether a browser that asks for a host cannot have been led here
    by the owner of another name.

    Args:
        authority: The host of the request, with or without a port.
        names: Further names of the server.

    Returns:
        True for an IP address, `localhost` and names below it, and the further
        names.
    """
    var text = String("http://", authority)
    return _is_own(text.as_bytes(), names)


def _is_own(page: Span[UInt8, _], names: List[String]) -> Bool:
    var origin = WebOrigin[ImmOrigin(page.origin)].parse(page)
    if not origin:
        return False
    var host = origin.value().host
    for name in names:
        if equals_ignoring_case(host, name.as_bytes()):
            return True
    # Browsers ask no name server for these (RFC 6761 section 6.3).
    comptime LOCAL: StaticString = ".localhost"
    if equals_ignoring_case(host, LOCAL.as_bytes()[1:]):
        return True
    var start = len(host) - LOCAL.byte_length()
    if start > 0 and equals_ignoring_case(host[start:], LOCAL.as_bytes()):
        return True
    try:
        _ = IpAddr.parse_octets(host)
        return True
    except:
        return False


def knows_secret(fields: FieldSection, secret: Sha256Digest) -> Bool:
    """Returns whether a request has the credentials.

    Args:
        fields: Its fields.
        secret: The SHA-256 of `name:password` in base64.

    Returns:
        True if it has one field Authorization, which has them.
    """
    var lines = 0
    var is_right = False
    for value in fields.values("Authorization"):
        lines += 1
        var octets = value.as_bytes()
        comptime LENGTH = _SCHEME.byte_length()
        if len(octets) > LENGTH and equals_ignoring_case(
            octets[:LENGTH], _SCHEME.as_bytes()
        ):
            is_right = same_digest(
                sha256_digest(trim_blanks(octets[LENGTH:])), secret
            )
    return lines == 1 and is_right


def is_of_other_site(req: Request) -> Bool:
    """Returns whether a page of another site makes a browser ask. It could not
    read the answer, but keep others from it.

    Args:
        req: The request.

    Returns:
        True by Sec-Fetch-Site, or else by Origin.
    """
    for value in req.headers.values("Sec-Fetch-Site"):
        if not (value == "same-origin" or value == "none"):
            return True
    if not has_origin(req):
        return False
    var origin = only_origin(req)
    return not origin or not is_page_of_host(
        origin.value().as_bytes(), req.authority
    )


def names_proxy(fields: FieldSection) -> Bool:
    """Returns whether a proxy has written into a request.

    Args:
        fields: The fields of the request.

    Returns:
        True if there is a field in which proxies tell of clients or of
        themselves.
    """
    var names = materialize[_OF_PROXIES]()
    for line in fields:
        var name = line.name.as_bytes()
        for other in names:
            if equals_ignoring_case(name, other.as_bytes()):
                return True
        comptime LENGTH = _FORWARDED.byte_length()
        if len(name) > LENGTH and equals_ignoring_case(
            name[:LENGTH], _FORWARDED.as_bytes()
        ):
            return True
    return False
