"""A redirection leads to a URL of http or https, and takes no secrets along.

Invariant: whatever a Location says, it either leads where a model of the WHATWG
URL Standard leads, to http or https, or is one error; the URL is visible ASCII;
it leaves the origin exactly if scheme, host or port are others, and then its
origin may see no secrets of a client whose base URL has the other one; the
method changes by the table of RFC 9110 section 15.4; and what proves who asks
never goes to another origin, in any case of its letters.
"""

from flare.http.client_error import ClientError
from flare.http.client.call.redirect import drop_fields, redirection
from flare.http.client.credentials.secrets import may_see_secrets
from flare.message import HeaderMap, Method, Url

from fuzz.harness import Histogram, run
from fuzz.location_model import FollowedUrl
from fuzz.random import Random, mutate, splice
from fuzz.url_model import BuiltUrl, accepts_url


# What browsers read in a way of their own.
comptime _PIECES: List[StaticString] = [
    " ",
    "\t",
    "\r\n",
    "\0",
    "\x7f",
    "\\",
    "\\",
    "/",
    "//",
    "%",
    "%2e",
    ".%2E",
    "..",
    "#",
    "?",
    "@",
    ":",
    '"<>`',
    "{^|}'",
    "\u00e9",
]
comptime _FRONTS: List[StaticString] = [
    "http:",
    "HTTP:",
    "https:/",
    "https:\\",
    "ws:",
    "\\\\",
    "///",
    "//%61",
    "//1.",
    "//0x7f.1/",
    "//3232235777/",
    "//256.1/",
    "//0300.168.1.1",
    "//%C3%A9",
]


def fuzz_redirect(mut random: Random, mut histogram: Histogram) raises:
    """Follows one redirection.

    Args:
        random: Draws and damages it.
        histogram: Counts the outcome.

    Raises:
        Error: If it leads elsewhere than it should, or takes secrets along.
    """
    var base_octets = BuiltUrl(random).octets()
    if not accepts_url(Span(base_octets)):
        return
    var base = Url.parse_octets(Span(base_octets))
    if not base.scheme().startswith("http"):
        return
    var built = BuiltUrl(random)
    var location = built.reference(random)
    if random.chance(30):
        location = built.octets()
    if random.chance(40):
        location = mutate(location, random)
        if random.chance(10):
            location = splice(location, base_octets, random)
    if random.chance(40):
        for _ in range(random.between(1, 3)):
            var piece = random.pick(materialize[_PIECES]())
            var at = random.below(len(location) + 1)
            var rear = List[UInt8](Span(location)[at:])
            location.shrink(at)
            location.extend(piece.as_bytes())
            location.extend(Span(rear))
    if random.chance(20):
        var front = List[UInt8](random.pick(materialize[_FRONTS]()).as_bytes())
        front.extend(Span(location))
        location = front^
    if random.chance(10):
        location = _near(base, random)
    histogram.input(location)
    var statuses: List[Int] = [301, 302, 303, 307, 308]
    var status = random.pick(statuses)
    var method = Method(UInt8(random.below(Method.COUNT)))
    _follow(base, location, status, method, random, histogram)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_redirect)


def _follow(
    base: Url,
    location: List[UInt8],
    status: Int,
    method: Method,
    mut random: Random,
    mut histogram: Histogram,
) raises:
    var wanted = FollowedUrl(base, location)
    var is_url = wanted.is_url and wanted.scheme.startswith("http")
    try:
        var next = redirection(
            base,
            method,
            status,
            StringSlice(unsafe_from_utf8=Span(location)),
        )
        if not is_url:
            raise Error("followed what is no URL to ", next.url)
        histogram.count_whole(
            "elsewhere" if next.leaves_origin else "same origin"
        )
        _check_url(next.url, wanted)
        _check_origin(base, next.url, wanted, next.leaves_origin)
        _check_method(status, method, next.becomes_get)
        _check_fields(next.leaves_origin, next.becomes_get, random)
    except e:
        var error = ClientError.of(e)
        if not error:
            raise e^
        histogram.count("refused")
        if is_url:
            raise Error("refused a URL: ", e)
        if error.value().kind != ClientError.BAD_REDIRECT:
            raise Error("the error has the kind ", error.value().kind)


def _near(base: Url, mut random: Random) -> List[UInt8]:
    # The host of the base, perhaps with another scheme, or at another port.
    comptime schemes: List[StaticString] = ["http://", "https:", "//", "///"]
    comptime ports: List[StaticString] = ["", ":80", ":443", ":81", ":", "."]
    var host = String(base.host())
    if ":" in host:
        host = String("[", host, "]")
    var text = String(
        random.pick(materialize[schemes]()),
        host,
        random.pick(materialize[ports]()),
        "/x",
    )
    return List[UInt8](text.as_bytes())


def _check_url(found: Url, wanted: FollowedUrl) raises:
    for octet in found.text().as_bytes():
        if octet <= 32 or octet >= 127:
            raise Error("an octet that no URL has")
    if (
        found.scheme() != wanted.scheme
        or found.host() != wanted.host
        or found.port() != wanted.port
    ):
        raise Error("the origin became ", found)
    if found.target() != wanted.path + wanted.query:
        raise Error("the target became ", found.target())
    var fragment = String()
    if found.fragment():
        fragment = String("#", found.fragment().value())
    if fragment != wanted.fragment:
        raise Error("the fragment became ", fragment)
    if Url.parse_lenient(found.text().as_bytes()) != found:
        raise Error("it is read otherwise")


def _check_origin(
    base: Url, found: Url, wanted: FollowedUrl, leaves_origin: Bool
) raises:
    var is_same = (
        wanted.scheme == base.scheme()
        and wanted.host == base.host()
        and wanted.port == base.port()
    )
    if is_same == leaves_origin:
        raise Error("leaves the origin: ", leaves_origin)
    if may_see_secrets(base.copy(), None, found) != is_same:
        raise Error("may see secrets, or may not")


def _check_method(status: Int, method: Method, becomes_get: Bool) raises:
    var wanted = False
    if status == 303:
        wanted = not (method == Method.GET or method == Method.HEAD)
    elif status <= 302:
        wanted = method == Method.POST
    if wanted != becomes_get:
        raise Error("becomes GET: ", becomes_get)


def _check_fields(
    leaves_origin: Bool, becomes_get: Bool, mut random: Random
) raises:
    var names: List[String] = [
        "Authorization",
        "authorization",
        "COOKIE",
        "Cookie",
        "Proxy-authorization",
        "HOST",
        "Content-type",
        "expect",
        "X-Mine",
        "Accept",
        "x-API-key",
        "X-Auth-TOKEN",
        "x-listed",
    ]
    var headers = HeaderMap()
    for _ in range(random.below(8)):
        headers.append(random.pick(names), "1")
    var kept = headers.count("x-mine") + headers.count("accept")
    drop_fields(
        headers,
        leaves_origin=leaves_origin,
        becomes_get=becomes_get,
        secrets=["X-Listed"],
    )
    if headers.count("x-mine") + headers.count("accept") != kept:
        raise Error("a harmless field was dropped")
    for line in headers:
        var name = String(line.name).lower()
        if leaves_origin and (
            "authorization" in name
            or "x-" in name
            and name != "x-mine"
            or name == "cookie"
            or name == "host"
        ):
            raise Error(name, " leaves the origin")
        if becomes_get and (name == "content-type" or name == "expect"):
            raise Error(name, " describes no content")
