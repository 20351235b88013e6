"""URLs, targets, Host fields, references are accepted as a plain judge does.

Invariant: any octets are accepted exactly when the judge accepts them, also
where lone percent signs and number signs in fragments are kept; the parts of
what is accepted join to the input, the normal form parses to itself, a resolved
reference has no dot segments and the right origin, and the offset of an error
lies within the input.
"""

from flare.core import equals
from flare.message import (
    Method,
    RequestTarget,
    Url,
    resolve_reference,
    valid_host,
)

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate, splice
from fuzz.url_model import (
    BuiltUrl,
    absolute_form,
    accepts_authority,
    accepts_path,
    accepts_query,
    accepts_url,
)


def fuzz_url(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one URL, target or Host field.

    Args:
        random: Draws and damages it.
        histogram: Counts the outcome.

    Raises:
        Error: If parser and judge disagree, or the parts do not join.
    """
    var built = BuiltUrl(random)
    # Kinds 1 and 3 are targets: those with a path only, and those with a host.
    var kind = random.below(5)
    var method = Method(UInt8(random.below(Method.COUNT)))
    var octets = built.octets()
    if kind == 2 or (kind % 2 == 1 and method == Method.CONNECT):
        octets = built.authority()
    elif kind == 1:
        octets = built.target()
    elif kind == 4:
        octets = built.reference(random)
    if random.chance(50):
        octets = mutate(octets, random)
        if random.chance(10):
            octets = splice(octets, built.octets(), random)
    histogram.input(octets)
    if kind == 2:
        _check_host(octets, histogram)
    elif kind == 0:
        _check_url(octets, histogram)
    elif kind == 4:
        _check_reference(BuiltUrl(random).octets(), octets, histogram)
    else:
        _check_target(octets, method, histogram)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_url)


def _check_host(octets: List[UInt8], mut histogram: Histogram) raises:
    var accepted = valid_host(Span(octets))
    if accepted != accepts_authority(Span(octets)):
        raise Error("valid_host is ", accepted)
    if accepted:
        histogram.count_whole("host accepted")
    else:
        histogram.count("host refused")


def _check_url(octets: List[UInt8], mut histogram: Histogram) raises:
    var text = StringSlice(unsafe_from_utf8=Span(octets))
    _check_lenient(octets)
    var url: Url
    try:
        url = Url.parse_octets(Span(octets))
    except e:
        histogram.count("url refused")
        if accepts_url(Span(octets)):
            raise Error("refused a URL: ", e)
        if e.offset < 0 or e.offset > len(octets):
            raise Error("the offset of the error is ", e.offset)
        return
    histogram.count_whole("url accepted")
    if not accepts_url(Span(octets)):
        raise Error("accepted what is no URL")
    _check_parts(url)
    var again = Url.parse(url.text())
    if not again == url:
        raise Error("the normal form changed to ", again)
    _check_parts(again)
    if again.port() != url.port() or again.host() != url.host():
        raise Error("host or port changed to ", again.authority())
    if not text.lower().startswith(String(url.scheme(), "://")):
        raise Error("the scheme is ", url.scheme())
    if String(url.host()) not in text.lower():
        raise Error("the host is ", url.host())
    var rear = String(url.target()[byte=1:])
    if url.fragment():
        rear.write("#", url.fragment().value())
    if not text.endswith(rear):
        raise Error("the input does not end in ", rear)


def _check_lenient(octets: List[UInt8]) raises:
    # The judge of strict URLs judges these too, once what is allowed has been
    # taken out behind the host.
    var relaxed = octets.copy()
    var slashes = 0
    var number_signs = 0
    for i in range(len(relaxed)):
        slashes += Int(relaxed[i] == 47)
        if slashes >= 2 and (relaxed[i] == 63 or relaxed[i] == 35):
            slashes = 3
        if slashes < 3:
            continue
        number_signs += Int(relaxed[i] == 35)
        if relaxed[i] == 37 or (relaxed[i] == 35 and number_signs > 1):
            relaxed[i] = 97
    var url: Url
    try:
        url = Url.parse_lenient(Span(octets))
    except e:
        if accepts_url(Span(relaxed)):
            raise Error("refused a lenient URL: ", e)
        return
    if not accepts_url(Span(relaxed)):
        raise Error("accepted what is no lenient URL")
    if url != Url.parse_lenient(url.text().as_bytes()):
        raise Error("the lenient normal form changed")
    if accepts_url(Span(octets)):
        var strict = Url.parse_octets(Span(octets))
        if url != strict or url.target() != strict.target():
            raise Error("a strict URL is read otherwise: ", url)


def _check_parts(url: Url) raises:
    var joined = String(url.scheme(), "://", url.authority(), url.path())
    if url.query():
        joined.write("?", url.query().value())
    if not joined.endswith(url.target()):
        raise Error("path and query are not the target ", url.target())
    if url.fragment():
        joined.write("#", url.fragment().value())
    if joined != url.text():
        raise Error("the parts join to ", joined)
    var is_default = url.port() == (443 if url.is_secure() else 80)
    var authority = String(url.host())
    if ":" in url.host():
        authority = String("[", url.host(), "]")
    if not is_default:
        authority.write(":", url.port())
    if authority != url.authority():
        raise Error("host and port join to ", authority)


def _check_target(
    octets: List[UInt8], method: Method, mut histogram: Histogram
) raises:
    var expected = _accepts_target(_with_plain_query(octets), method)
    var target: RequestTarget
    try:
        target = RequestTarget.parse(Span(octets), method)
    except e:
        histogram.count("target refused")
        if expected:
            raise Error("refused a target: ", e)
        if e.offset < 0 or e.offset > len(octets):
            raise Error("the offset of the error is ", e.offset)
        return
    histogram.count_whole("target accepted")
    if not expected:
        raise Error("accepted what is no target")
    var joined = List[UInt8]()
    if target.form == RequestTarget.ABSOLUTE_FORM:
        joined.extend(Span(octets)[: Int(target.authority_start)])
    elif target.form == RequestTarget.ASTERISK_FORM:
        joined.append(42)
    joined.extend(target.authority(Span(octets)))
    joined.extend(target.path(Span(octets)))
    if target.has_query():
        joined.append(63)
        joined.extend(target.query(Span(octets)))
    if not equals(Span(joined), Span(octets)):
        raise Error("the parts do not join to the input")
    if (
        not accepts_path(target.path(Span(octets)))
        or not accepts_query(
            Span(_with_plain_query(octets))[Int(target.query_start) :][
                : Int(target.query_octets)
            ]
        )
        or target.port > 65535
    ):
        raise Error("a part is not what it should be")


def _check_reference(
    base_octets: List[UInt8], octets: List[UInt8], mut histogram: Histogram
) raises:
    if not accepts_url(Span(base_octets)):
        return
    var base = Url.parse_octets(Span(base_octets))
    var joined = absolute_form(base, octets)
    var text = StringSlice(unsafe_from_utf8=Span(octets))
    var url: Url
    try:
        url = resolve_reference(base, text)
    except e:
        histogram.count("reference refused")
        if accepts_url(Span(joined)):
            raise Error("refused a reference: ", e)
        return
    histogram.count_whole("reference accepted")
    if not accepts_url(Span(joined)):
        raise Error("accepted what is no reference")
    if not url.has_origin_of(Url.parse_octets(Span(joined))):
        raise Error("the origin became ", url)
    var path = String(url.path(), "/")
    if len(octets) != 0 and octets[0] != 63 and octets[0] != 35:
        if "/./" in path or "/../" in path:
            raise Error("a dot segment is left in ", url)
    _check_parts(url)


def _with_plain_query(octets: List[UInt8]) -> List[UInt8]:
    # In the query of a target, unlike in that of a URL, a percent sign is an
    # octet like others.
    var plain = octets.copy()
    var is_query = False
    for i in range(len(plain)):
        is_query = is_query or plain[i] == 63
        if is_query and plain[i] == 37:
            plain[i] = 97
    return plain^


def _accepts_target(octets: List[UInt8], method: Method) -> Bool:
    if len(octets) == 0:
        return False
    if method == Method.CONNECT:
        var last = octets[len(octets) - 1]
        var has_port = (
            last >= 48 and last <= 57 and _has_colon_behind_host(octets)
        )
        return has_port and accepts_authority(Span(octets))
    if len(octets) == 1 and octets[0] == 42:
        return method == Method.OPTIONS
    for b in octets:
        if b == 35:
            return False
    if octets[0] != 47:
        return accepts_url(Span(octets))
    var path_octets = 0
    while path_octets < len(octets) and octets[path_octets] != 63:
        path_octets += 1
    if not accepts_path(Span(octets)[:path_octets]):
        return False
    return path_octets == len(octets) or accepts_query(
        Span(octets)[path_octets + 1 :]
    )


def _has_colon_behind_host(octets: List[UInt8]) -> Bool:
    for i in range(len(octets) - 1, -1, -1):
        if octets[i] == 58:
            return True
        if octets[i] == 93:
            return False
    return False
