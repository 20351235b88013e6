"""A hosts file gives each name the addresses that a plain judge finds.

Invariant: any octets are a file; each name that stands in it, and one that does
not, has the addresses of the lines that name it, in their order and none twice;
what is no name has none.
"""

from flare.dns.hosts_file import HostsFile
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


def fuzz_hosts_file(mut random: Random, mut histogram: Histogram) raises:
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
    var file = HostsFile.parse(Span(octets))
    var names = List[Octets]()
    var addresses = List[IpAddr]()
    for line in cut_lines(Span(_without_comments(octets))):
        if len(line) < 2:
            continue
        var address = _address(line[0])
        if not address:
            continue
        for i in range(1, len(line)):
            if is_host_name(Span(line[i])):
                names.append(_key(line[i]))
                addresses.append(address.value())
            elif (
                len(
                    file.addresses_of(
                        StringSlice(unsafe_from_utf8=Span(line[i]))
                    )
                )
                > 0
            ):
                raise Error("what is no name has an address")
    names.append(Octets("unknown".as_bytes()))
    for name in names:
        var wanted = List[IpAddr]()
        for i in range(len(addresses)):
            if names[i] == name and addresses[i] not in wanted:
                wanted.append(addresses[i])
        var found = file.addresses_of(StringSlice(unsafe_from_utf8=Span(name)))
        if found != wanted:
            raise Error(
                "the addresses of ",
                StringSlice(unsafe_from_utf8=Span(name)),
                " are ",
                len(found),
                " and not ",
                len(wanted),
            )
        if len(found) > 0:
            histogram.count_whole(String(len(found), " addresses"))


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_hosts_file)


def _draw_file(mut random: Random) -> Octets:
    var octets = Octets()
    for _ in range(random.below(8)):
        if random.chance(10):
            octets.extend(Span(draw_blank(random)))
        octets.extend(Span(draw_address(random)))
        if random.chance(1):
            octets.extend(Span(Octets(length=4080, fill=32)))
        for _ in range(random.below(4)):
            octets.extend(Span(draw_blank(random)))
            octets.extend(Span(draw_name(random)))
        if random.chance(20):
            if random.chance(50):
                octets.extend(Span(draw_blank(random)))
            octets.extend("#c 1.1.1.1".as_bytes())
        octets.append(10)
    return octets^


def _without_comments(octets: Octets) -> Octets:
    # The octets of comments become longer blanks of the same length.
    var kept = octets.copy()
    var is_comment = False
    for i in range(len(kept)):
        if kept[i] == 10:
            is_comment = False
        elif kept[i] == 35:
            is_comment = True
        if is_comment:
            kept[i] = 32
    return kept^


def _address(octets: Octets) -> Optional[IpAddr]:
    try:
        return IpAddr.parse_octets(Span(octets))
    except:
        return None


def _key(name: Octets) -> Octets:
    var lower = Octets(
        String(StringSlice(unsafe_from_utf8=Span(name))).lower().as_bytes()
    )
    if lower[len(lower) - 1] == 46:
        _ = lower.pop()
    return lower^
