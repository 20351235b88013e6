"""Feeds DNS answers, challenges, headers of proxies, files of the system,
routes and what is logged."""

from flare.core import heap_create, heap_destroy, write_escaped
from flare.dns.hosts_file import HostsFile
from flare.dns.resolv_conf import ResolvConf
from flare.http import netrc_login
from flare.http.client.credentials.digest import digest_challenge
from flare.http.routing import Captures, MatchKind, RouteTable
from flare.message import FieldLine, Method, PublicSuffixes
from flare.net.proxy_header import parse_proxy_header
from flare.proto.dns import read_answer, write_query

from .cost_row import CostRow, numbered, repeated, section_of, text_of

comptime _SIGNATURE: StaticString = "\r\n\r\n\0\r\nQUIT\n"


def network_rows() -> List[CostRow]:
    """Lists what is measured.

    Returns:
        The rows.
    """
    comptime challenges = repeated['Digest nonce="a\\"", realm=b, Basic x y, ']
    comptime open_quotes = repeated['Digest a="\\', "", '"']
    comptime hosts = numbered["127.0.0.1 n", " m # x\n"]
    comptime resolv = numbered["search a b\noptions n", "\n"]
    comptime netrc = numbered["machine n", " login a password b\n"]
    comptime suffixes = numbered["n", ".example\n"]
    return [
        CostRow("DNS: one name", 1 << 12, _records, _answer),
        CostRow("DNS: names that lead on", 1 << 12, _chain, _answer),
        CostRow("challenges", 1 << 15, challenges, _challenge),
        CostRow("challenges in quotes", 1 << 15, open_quotes, _challenge),
        CostRow("PROXY protocol", 1800, _proxy_header, _proxy),
        CostRow("hosts file", 1 << 16, hosts, _hosts, heap_factor_max=40),
        CostRow("resolv.conf", 1 << 15, resolv, _resolv),
        CostRow("netrc", 1 << 16, netrc, _netrc),
        CostRow("suffixes", 1 << 15, suffixes, _suffixes, heap_factor_max=40),
        CostRow("what is logged", 1 << 17, repeated["\x01\xff\n"], _log),
        CostRow("path of many segments", 1 << 15, repeated["/a"], _route),
        CostRow("path of escapes", 1 << 15, repeated["/%61"], _route),
        CostRow("many routes", 1 << 12, _numbers, _routes, heap_factor_max=200),
    ]


def _message(records: Int) raises -> List[UInt8]:
    # The query of an A record, as an answer with that many records.
    var message = write_query("a.example", 1, 7, with_edns=False)
    message[2] = 0x81
    message[3] = 0x80
    message[6] = UInt8(records >> 8)
    message[7] = UInt8(records & 255)
    return message^


def _records(octets: Int) raises -> List[UInt8]:
    var count = octets // 16
    var message = _message(count)
    for _ in range(count):
        # A pointer to the name of the question, A, IN, an hour.
        message.extend([0xC0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4, 127, 0, 0, 1])
    return message^


def _chain(octets: Int) raises -> List[UInt8]:
    # Eight names lead to each other, and stand behind all that do not count.
    var count = octets // 16
    var message = _message(count + 8)
    for _ in range(count):
        message.extend([1, 98, 0, 0, 5, 0, 1, 0, 0, 14, 16, 0, 1, 0])
    var owner: UInt16 = 12
    for i in range(8):
        message.append(UInt8(0xC0 | (owner >> 8)))
        message.append(UInt8(owner & 255))
        message.extend([0, 5, 0, 1, 0, 0, 14, 16, 0, 3])
        owner = UInt16(len(message))
        message.extend([1, UInt8(99 + i), 0])
    return message^


def _answer(octets: List[UInt8]) raises:
    var query = write_query("a.example", 1, 7, with_edns=False)
    _ = read_answer(Span(octets), Span(query))


def _challenge(octets: List[UInt8]) raises:
    var lines: List[FieldLine] = []
    var all = List[UInt8]()
    all.extend("WWW-Authenticate: ".as_bytes())
    all.extend(Span(octets))
    lines.append(FieldLine(0, 16, 18, UInt32(len(octets))))
    _ = digest_challenge(section_of(all, lines))
    _ = (all^, lines^)


def _proxy_header(octets: Int) raises -> List[UInt8]:
    var made = List[UInt8]()
    made.extend(_SIGNATURE.as_bytes())
    made.extend([0x21, 0x11, UInt8(octets >> 8), UInt8(octets & 255)])
    made.extend([127, 0, 0, 1, 127, 0, 0, 1, 0, 80, 0, 80])
    # Each of these has three octets and no value.
    while len(made) < octets + 16:
        made.append(UInt8(4 if len(made) % 3 == 1 else 0))
    return made^


def _proxy(octets: List[UInt8]) raises:
    # As it comes: each time what has come is looked at.
    for end in range(0, len(octets), 64):
        _ = parse_proxy_header(Span(octets)[:end])
    if not parse_proxy_header(Span(octets)):
        raise Error("not read to its end")


def _hosts(octets: List[UInt8]) raises:
    _ = HostsFile.parse(Span(octets))


def _resolv(octets: List[UInt8]) raises:
    _ = ResolvConf.parse(Span(octets))


def _netrc(octets: List[UInt8]) raises:
    if netrc_login(text_of(octets), "other"):
        raise Error("found what is not there")


def _suffixes(octets: List[UInt8]) raises:
    _ = PublicSuffixes.parse(text_of(octets))


def _log(octets: List[UInt8]) raises:
    var line = String()
    write_escaped(Span(octets), line)


def _route(octets: List[UInt8]) raises:
    # Patterns that part late: a search that tries each way in turn would take
    # twice as long with each segment.
    var table = RouteTable()
    var number = 0
    for end in ["/x", "/y", "/*rest"]:
        for depth in range(12):
            var plain = String()
            var mixed = String()
            for i in range(depth):
                plain.write("/a")
                mixed.write("/a" if i % 2 == 0 else String("/:p", i))
            table.add("GET", String(plain, "/:q", end), number)
            table.add("POST", String(mixed, "/a/:r", end), number + 1)
            number += 2
    var captures = heap_create(Captures())
    for _ in range(10):
        _ = table.search(Method.GET, "GET".as_bytes(), Span(octets), captures)
        _ = table.find(Method.POST, "POST".as_bytes(), Span(octets), captures)
    heap_destroy(captures)


def _numbers(octets: Int) raises -> List[UInt8]:
    return List[UInt8](length=octets, fill=0)


def _routes(octets: List[UInt8]) raises:
    var table = RouteTable()
    for i in range(len(octets) // 16):
        table.add("GET", String("/a", i, "/:b/c"), i)
    var captures = heap_create(Captures())
    for i in range(len(octets) // 16):
        var path = String("/a", i, "/b/d")
        var found = table.search(
            Method.GET, "GET".as_bytes(), path.as_bytes(), captures
        )
        if found.kind == MatchKind.FOUND:
            raise Error("found what is not there")
    heap_destroy(captures)
