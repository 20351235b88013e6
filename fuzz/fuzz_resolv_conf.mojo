"""A resolv.conf is read as a plain judge reads it.

Invariant: any octets are a file; servers, search list and options are those of
the lines that name them, within their bounds.
"""

from flare.dns.resolv_conf import ResolvConf
from flare.net import IpAddr

from fuzz.harness import Histogram, run
from fuzz.lines_model import (
    Octets,
    cut_lines,
    draw_address,
    draw_blank,
    draw_name,
    is_host_name,
)
from fuzz.random import Random, mutate

comptime _KEYWORDS: List[StaticString] = [
    "nameserver",
    "search",
    "domain",
    "options",
]

comptime _OPTIONS: List[StaticString] = [
    "ndots:",
    "timeout:",
    "attempts:",
    "rotate",
    "ndots",
    "edns0",
    "ndots:x",
]


def fuzz_resolv_conf(mut random: Random, mut histogram: Histogram) raises:
    """Reads one file.

    Args:
        random: Draws it.
        histogram: Counts what is found.

    Raises:
        Error: If the invariant does not hold.
    """
    var octets = _draw_file(random)
    if random.chance(50):
        octets = mutate(Span(octets), random)
    histogram.input(Span(octets))
    var conf = ResolvConf.parse(Span(octets))
    var wanted = _judge(octets)
    if conf.servers != wanted.servers:
        raise Error("there are ", len(conf.servers), " servers")
    if conf.search != wanted.search:
        raise Error("there are ", len(conf.search), " domains")
    if (
        conf.ndots != wanted.ndots
        or conf.timeout_seconds != wanted.timeout_seconds
        or conf.attempts != wanted.attempts
    ):
        raise Error(
            "the options are ",
            conf.ndots,
            ", ",
            conf.timeout_seconds,
            ", ",
            conf.attempts,
        )
    if len(conf.servers) > 0 or len(conf.search) > 0:
        histogram.count_whole("servers or domains")
    else:
        histogram.count("neither")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_resolv_conf)


def _draw_file(mut random: Random) -> Octets:
    var octets = Octets()
    for _ in range(random.below(8)):
        if random.chance(10):
            octets.append(random.octets_of("#; ", 1)[0])
        var kind = random.below(4)
        octets.extend(materialize[_KEYWORDS]()[kind].as_bytes())
        for _ in range(random.below(4)):
            octets.extend(Span(draw_blank(random)))
            if kind == 0:
                octets.extend(Span(draw_address(random)))
            elif kind < 3:
                octets.extend(Span(draw_name(random)))
            else:
                octets.extend(random.pick(materialize[_OPTIONS]()).as_bytes())
                octets.extend(
                    Span(random.octets_of("0123456789", random.below(4)))
                )
        octets.append(10)
    return octets^


def _judge(octets: Octets) raises -> ResolvConf:
    var conf = ResolvConf()
    for line in cut_lines(Span(octets)):
        if len(line) == 0:
            continue
        var keyword = _text(line[0])
        if keyword == "nameserver" and len(line) > 1:
            if len(conf.servers) < 3:
                var address = _address(line[1])
                if address:
                    conf.servers.append(address.value())
        elif keyword == "search" or keyword == "domain":
            conf.search = []
            var count_max = 32 if keyword == "search" else 1
            for i in range(1, len(line)):
                if is_host_name(Span(line[i])) and len(conf.search) < count_max:
                    conf.search.append(_text(line[i]))
        elif keyword == "options":
            for i in range(1, len(line)):
                _judge_option(_text(line[i]), conf)
    return conf^


def _judge_option(option: String, mut conf: ResolvConf) raises:
    var parts = option.split(":")
    if len(parts) != 2 or parts[1].byte_length() == 0:
        return
    for octet in parts[1].as_bytes():
        if octet < 48 or octet > 57:
            return
    # More digits than a number holds are over every bound.
    var digits = parts[1].lstrip("0")
    var value = 1000
    if digits.byte_length() < 4:
        value = Int(String("0", digits))
    if parts[0] == "ndots":
        conf.ndots = min(value, 15)
    elif parts[0] == "timeout":
        conf.timeout_seconds = min(max(value, 1), 30)
    elif parts[0] == "attempts":
        conf.attempts = min(max(value, 1), 5)


def _text(octets: Octets) -> String:
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


def _address(octets: Octets) -> Optional[IpAddr]:
    try:
        return IpAddr.parse_octets(Span(octets))
    except:
        return None
