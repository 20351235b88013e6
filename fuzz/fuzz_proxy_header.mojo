"""A proxy's header is taken whole or not at all, wherever it is cut.

Invariant: a header that was built is read with the addresses it was built from;
of what is accepted, every shorter front waits for more and every longer one is
accepted alike; of what is refused, nothing that follows is accepted. A line
with IPv4 addresses that is accepted is spelled as one that was built.
"""

from flare.core import equals
from flare.net import IpAddr, SocketAddr
from flare.net.proxy_header import ProxyHeader, parse_proxy_header
from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate


def fuzz_proxy_header(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one header, perhaps damaged, with octets behind it.

    Args:
        random: Draws and damages it.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var is_v4 = random.chance(50)
    var source = _address(is_v4, random)
    var destination = _address(is_v4, random)
    var octets: List[UInt8]
    if random.chance(50):
        octets = _line(source, destination)
    else:
        octets = _binary(source, destination, random)
    var length = len(octets)
    var is_whole = random.chance(40)
    if not is_whole:
        octets = mutate(octets, random)
    octets.extend(Span(random.octets(random.below(40))))
    histogram.input(octets)
    var outcome = _outcome(octets)
    if is_whole:
        var wanted = String(length, " ", source, " ", destination)
        if outcome != wanted:
            raise Error(outcome, " instead of ", wanted)
    _check_cuts(octets, outcome)
    if outcome == "more" or outcome == "refused":
        histogram.count_whole(outcome)
    else:
        histogram.count_whole("accepted")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_proxy_header)


def _check_cuts(octets: List[UInt8], outcome: String) raises:
    # In the order of arrival: more, more, and then one answer that stays.
    var is_decided = False
    for end in range(len(octets) + 1):
        var found = _outcome(Span(octets)[:end])
        if not is_decided and found == "more":
            continue
        is_decided = True
        if found != outcome:
            raise Error("after ", end, " octets ", found, ", then ", outcome)


def _outcome(octets: Span[UInt8, _]) raises -> String:
    var header: Optional[ProxyHeader]
    try:
        header = parse_proxy_header(octets)
    except e:
        return "refused"
    if not header:
        return "more"
    ref h = header.value()
    if h.octets > len(octets):
        raise Error("more octets taken than there are")
    if Bool(h.source) != Bool(h.destination):
        raise Error("one address without the other")
    if not h.source:
        return String(h.octets)
    if octets[0] == 80 and h.source.value().ip.is_v4():
        var built = _line(h.source.value(), h.destination.value())
        if not equals(octets[: h.octets], built):
            raise Error("a line is accepted that is spelled otherwise")
    return String(h.octets, " ", h.source.value(), " ", h.destination.value())


def _address(is_v4: Bool, mut random: Random) -> SocketAddr:
    var port = UInt16(random.below(65536))
    if is_v4:
        return SocketAddr(
            IpAddr.from_v4_number(UInt32(random.below(1 << 32))), port
        )
    var groups = SIMD[DType.uint16, 8](0)
    for i in range(8):
        if random.chance(60):
            groups[i] = UInt16(random.below(65536))
    return SocketAddr(IpAddr.from_groups(groups), port)


def _line(source: SocketAddr, destination: SocketAddr) -> List[UInt8]:
    var octets = List[UInt8]()
    var text = String(
        "PROXY TCP4 " if source.ip.is_v4() else "PROXY TCP6 ",
        source.ip,
        " ",
        destination.ip,
        " ",
        source.port,
        " ",
        destination.port,
        "\r\n",
    )
    octets.extend(text.as_bytes())
    return octets^


def _binary(
    source: SocketAddr, destination: SocketAddr, mut random: Random
) -> List[UInt8]:
    var octets = List[UInt8]()
    octets.extend("\r\n\r\n\x00\r\nQUIT\n".as_bytes())
    octets.append(0x21)
    octets.append(UInt8(0x11) if source.ip.is_v4() else UInt8(0x21))
    var more = random.octets(random.below(30))
    var length = (12 if source.ip.is_v4() else 36) + len(more)
    octets.append(0)
    octets.append(UInt8(length))
    for address in [source, destination]:
        if address.ip.is_v4():
            var number = address.ip.v4_octets()
            for i in range(4):
                octets.append(number[i])
        else:
            var number = address.ip.v6_octets()
            for i in range(16):
                octets.append(number[i])
    for address in [source, destination]:
        octets.append(UInt8(address.port >> 8))
        octets.append(UInt8(address.port & 255))
    octets.extend(Span(more))
    return octets^
