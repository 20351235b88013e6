"""A redirection leads to a URL of http or https, and takes no secrets along.

Invariant: whatever a Location says, its blanks and what is beyond ASCII escaped
behind the host, it either leads where the rules of RFC 3986 lead, to http or
https, or is one error; it leaves the origin exactly if scheme,
host or port are others; the method changes by the table of RFC 9110 section
15.4; and what names who asks never goes to another origin, in any case of its
letters.
"""

from flare.http.client.error import ClientError
from flare.http.client.redirect import drop_fields, redirection
from flare.message import HeaderMap, Method, Url

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate, splice
from fuzz.url_model import BuiltUrl, absolute_form, accepts_url


# What is escaped, and what no URL has.
comptime _BLANK_OR_FOREIGN: List[UInt8] = [32, 32, 32, 0x80, 0xA9, 0xC3, 0xFF]
comptime _CONTROLS: List[UInt8] = [0, 9, 10, 13, 31, 127]


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
    if random.chance(30):
        for _ in range(random.between(1, 3)):
            var octet = random.pick(materialize[_BLANK_OR_FOREIGN]())
            if random.chance(10):
                octet = random.pick(materialize[_CONTROLS]())
            location.insert(random.below(len(location) + 1), octet)
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
    var joined = _escaped(absolute_form(base, location))
    var is_url = accepts_url(Span(joined))
    if is_url:
        var wanted = Url.parse_octets(Span(joined))
        var scheme = String(wanted.scheme())
        is_url = scheme == "http" or scheme == "https"
    try:
        var next = redirection(
            base,
            method,
            status,
            StringSlice(unsafe_from_utf8=Span(location)),
        )
        if not is_url:
            raise Error("followed what is no URL")
        histogram.count_whole(
            "elsewhere" if next.leaves_origin else "same origin"
        )
        _check_origin(base, next.url, joined, next.leaves_origin)
        _check_target(next.url, location, joined)
        _check_method(status, method, next.becomes_get)
        _check_fields(next.leaves_origin, next.becomes_get, random)
    except e:
        var error = ClientError.of(e)
        if not error:
            raise e^
        histogram.count("refused")
        if is_url:
            raise Error("refused a URL")
        if error.value().kind != ClientError.BAD_REDIRECT:
            raise Error("the error has the kind ", error.value().kind)


def _escaped(joined: List[UInt8]) -> List[UInt8]:
    # Of an absolute URL, behind its host.
    var escaped = List[UInt8]()
    var slashes = 0
    for octet in joined:
        slashes += Int(octet == 47)
        if slashes >= 2 and (octet == 63 or octet == 35):
            slashes = 3
        if slashes < 3 or (octet != 32 and octet < 128):
            escaped.append(octet)
            continue
        escaped.append(37)
        for digit in [Int(octet // 16), Int(octet % 16)]:
            escaped.append(UInt8(digit + (48 if digit < 10 else 55)))
    return escaped^


def _check_target(
    found: Url, location: List[UInt8], joined: List[UInt8]
) raises:
    for octet in found.text().as_bytes():
        if octet <= 32 or octet >= 127:
            raise Error("an octet that no URL has")
    var wanted = Url.parse_octets(Span(joined))
    var has_dots = False
    for octet in wanted.path().as_bytes():
        has_dots |= octet == 46
    if len(location) == 0 or location[0] != 47 or has_dots:
        return
    if String(found.target()) != String(wanted.target()):
        raise Error("the target became ", found.target())


def _check_origin(
    base: Url, found: Url, joined: List[UInt8], leaves_origin: Bool
) raises:
    var wanted = Url.parse_octets(Span(joined))
    if not found.has_origin_of(wanted):
        raise Error("the origin became ", found)
    var is_same = (
        String(wanted.scheme()) == String(base.scheme())
        and String(wanted.host()) == String(base.host())
        and wanted.port() == base.port()
    )
    if is_same == leaves_origin:
        raise Error("leaves the origin: ", leaves_origin)


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
    ]
    var headers = HeaderMap()
    for _ in range(random.below(8)):
        headers.append(random.pick(names), "1")
    var kept = headers.count("x-mine") + headers.count("accept")
    drop_fields(headers, leaves_origin=leaves_origin, becomes_get=becomes_get)
    if headers.count("x-mine") + headers.count("accept") != kept:
        raise Error("a harmless field was dropped")
    for line in headers:
        var name = String(line.name).lower()
        if leaves_origin and (
            "authorization" in name or name == "cookie" or name == "host"
        ):
            raise Error(name, " leaves the origin")
        if becomes_get and (name == "content-type" or name == "expect"):
            raise Error(name, " describes no content")
