"""A restricted route admits no host, no proxy and no password but its own.

Invariant: an accepted host is an address, `localhost`, a name below it, or the
configured name, up to its port; a request with a field of a proxy is noticed
whatever its case; credentials are accepted only if they stand alone and are the
right ones. Each of these is accepted if it was not damaged.
"""

from flare.core.sha256 import sha256_digest
from flare.http.middleware.client_access import (
    is_own_host,
    knows_secret,
    names_proxy,
)
from flare.message import HeaderMap
from flare.net import IpAddr

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _NAME: StaticString = "status.example"
comptime _TOKEN: StaticString = "b3BlcmF0b3I6c2VjcmV0"
comptime _GOOD: List[StaticString] = [
    "localhost",
    "a.localhost",
    "127.0.0.1",
    "192.0.2.9",
    "[::1]",
    "[2001:db8::9]",
    "status.example",
]
comptime _PARTS: List[StaticString] = [
    "localhost",
    ".localhost",
    "status.example",
    ".example",
    "evil",
    "127.0.0.1",
    "[::1]",
    ".",
    "-",
    "a",
    ":",
    "@",
]
comptime _OF_PROXIES: List[StaticString] = [
    "forwarded",
    "via",
    "x-real-ip",
    "x-client-ip",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "true-client-ip",
    "cf-connecting-ip",
    "cdn-loop",
]
comptime _OTHERS: List[StaticString] = [
    "accept",
    "x-forwarde",
    "x-request-id",
    "viaduct",
    "forwarder",
    "user-agent",
    "x-real-ips",
]


def fuzz_client_access(mut random: Random, mut histogram: Histogram) raises:
    """Draws a host, fields and credentials, damaged or not.

    Args:
        random: Draws and damages them.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    _try_host(random, histogram)
    _try_fields(random, histogram)
    _try_credentials(random, histogram)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_client_access)


def _try_host(mut random: Random, mut histogram: Histogram) raises:
    var is_whole = random.chance(40)
    var octets = List[UInt8]()
    if is_whole:
        octets.extend(random.pick(materialize[_GOOD]()).as_bytes())
        if random.chance(40):
            octets.extend(String(":", random.below(65536)).as_bytes())
        _change_case(octets, random)
    else:
        for _ in range(1 + random.below(4)):
            octets.extend(random.pick(materialize[_PARTS]()).as_bytes())
        if random.chance(40):
            octets = mutate(octets, random)
    histogram.input(octets)
    var text = String(from_utf8_lossy=Span(octets))
    var is_accepted = is_own_host(text, [String(_NAME)])
    if is_whole and not is_accepted:
        raise Error("refused the host ", text)
    if not is_accepted:
        histogram.count("host refused")
        return
    histogram.count_whole("host accepted")
    var lower = text.lower()
    var start = Int(lower.startswith("["))
    var end = lower.find("]") if start > 0 else lower.find(":")
    if end < 0:
        end = lower.byte_length()
    var host = String(lower[byte=start:end])
    if host == "localhost" or host == _NAME:
        return
    if host.endswith(".localhost") and host.byte_length() > 10:
        return
    _ = IpAddr.parse(host)


def _try_fields(mut random: Random, mut histogram: Histogram) raises:
    var fields = HeaderMap()
    var has_proxy = False
    for _ in range(random.below(5)):
        var name = List[UInt8]()
        if random.chance(25):
            name.extend(random.pick(materialize[_OF_PROXIES]()).as_bytes())
            has_proxy = True
        else:
            name.extend(random.pick(materialize[_OTHERS]()).as_bytes())
        _change_case(name, random)
        fields.append(StringSlice(unsafe_from_utf8=Span(name)), "192.0.2.9")
    if names_proxy(fields.view()) != has_proxy:
        raise Error("a proxy was overlooked, or seen without one")
    histogram.count("proxy" if has_proxy else "no proxy")


def _try_credentials(mut random: Random, mut histogram: Histogram) raises:
    var fields = HeaderMap()
    var lines = 1 + Int(random.chance(20))
    var is_right = lines == 1
    for _ in range(lines):
        var token = List[UInt8](_TOKEN.as_bytes())
        if random.chance(40):
            var at = random.below(len(token))
            var letter = random.octets_of("abcXYZ019+/=", 1)[0]
            is_right = is_right and token[at] == letter
            token[at] = letter
        elif random.chance(10):
            _ = token.pop()
            is_right = False
        var scheme = List[UInt8]("Basic ".as_bytes())
        _change_case(scheme, random)
        if random.chance(10):
            scheme = List[UInt8]("Bearer ".as_bytes())
            is_right = False
        scheme.extend(Span(token))
        fields.append(
            "Authorization", StringSlice(unsafe_from_utf8=Span(scheme))
        )
    var secret = sha256_digest(_TOKEN.as_bytes())
    if knows_secret(fields.view(), secret) != is_right:
        raise Error("credentials were mistaken")
    histogram.count("right" if is_right else "wrong")


def _change_case(mut octets: List[UInt8], mut random: Random):
    for i in range(len(octets)):
        var is_letter = octets[i] >= 97 and octets[i] <= 122
        if is_letter and random.chance(30):
            octets[i] -= 32
