"""Measures what a record of the access log costs a worker, and its line the
writing thread.

`put` is all that a server does for a request with an access log but reading the
clock, with the head of a browser. `line` is what the writing thread does for it.
"""

from std.benchmark import black_box

from measure import measure

from flare.core import OctetPointer, heap_create
from flare.core.text_buffer import TextBuffer
from flare.http import AccessLog
from flare.http.exchange import Exchange, ExchangeStage, ExchangeState
from flare.http.server.records.access_entry import FACTS_OCTETS
from flare.http.server.records.access_facts import (
    AccessEnd,
    AccessEvent,
    AccessFacts,
    AccessOutcome,
)
from flare.http.server.records.access_format import append_line
from flare.http.server.records.access_queue import (
    AccessQueue,
    AccessRing,
    put_in_ring,
)
from flare.http.server.records.access_record import AccessRecord
from flare.message import FieldLine, Method
from flare.net import IpAddr, SocketAddr
from flare.sys.file import STANDARD_OUTPUT

comptime _TARGET: StaticString = "/api/v1/things/4711?page=3"
comptime _FIELDS: StaticString = (
    "host: www.example.com\r\nuser-agent: Mozilla/5.0 (X11; Linux x86_64)"
    " AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0"
    " Safari/537.36\r\naccept:"
    " text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\naccept-language:"
    " en-US,en;q=0.9,de;q=0.8\r\naccept-encoding: gzip, deflate, br,"
    " zstd\r\nreferer: https://www.example.com/api/v1/things?page=2\r\ncookie:"
    " session=0af7651916cd43dd8448eb211c80319c; theme=dark\r\nsec-fetch-dest:"
    " document\r\nsec-fetch-mode: navigate\r\nsec-fetch-site:"
    " same-origin\r\nx-request-id:"
    " 7c4a8d09-ca37-4a2e-9f6e-000000000001\r\ntraceparent:"
    " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n"
)


def main() raises:
    """Prints the figures.

    Raises:
        Error: Never.
    """
    var exchange = _make_exchange()
    _bench("plain", AccessLog.standard_output(), exchange)
    _bench("common", AccessLog.common(), exchange)
    _bench("combined", AccessLog.combined(), exchange)
    _bench("json", AccessLog.json_lines(), exchange)


def _bench(name: String, log: AccessLog, exchange: Exchange) raises:
    var queue = heap_create(AccessQueue(log.options, STANDARD_OUTPUT))
    var ring = heap_create(
        AccessRing(log.options, queue.unsafe_bitcast[NoneType]())
    )
    var handle = ring.unsafe_bitcast[NoneType]()
    var event = AccessEvent(
        AccessOutcome(200, AccessEnd.COMPLETE, True, 2326, 1_700_000),
        0,
        True,
        True,
        True,
        SocketAddr(IpAddr.v4(192, 0, 2, 7), 4711),
        Span[UInt8, ImmUntrackedOrigin](),
    )
    # Once it is full, it empties at once: each record takes memory of its own.
    var entries = AccessRing.entries_of(ring)

    def put(i: Int) raises {imm} -> Int:
        if not put_in_ring(handle, black_box(exchange), black_box(event)):
            entries.state[].taken = entries.state[].written
        return i

    measure(String("access_log/put, ", name), put)

    entries.state[].taken = entries.state[].written
    _ = put_in_ring(handle, exchange, event)
    var octets = entries.oldest().value()
    var line = heap_create(TextBuffer())
    var record = heap_create(AccessRecord())
    var format = log.options.format

    def write(i: Int) raises {imm} -> Int:
        record[].load(
            octets.unsafe_ptr().unsafe_bitcast[AccessFacts]()[],
            octets[FACTS_OCTETS:],
            i,
        )
        append_line(line[], record[], format)
        var length = len(line[])
        line[].shorten(length)
        return length

    measure(String("access_log/line, ", name, ", octets ", write(0)), write)


def _make_exchange() -> Exchange:
    var text = heap_create(String("GET ", _TARGET, " HTTP/1.1\r\n", _FIELDS))
    var octets = text[].as_bytes()
    var x = heap_create(ExchangeState())
    x[].begin()
    x[].octets = OctetPointer(unsafe_from_address=Int(octets.unsafe_ptr()))
    x[].octet_count = len(octets)
    x[].stage = ExchangeStage.RUNNING
    x[].request_id = 4711
    x[].started_ns = 200_000
    x[].route = "/api/v1/things/:id"
    x[].head.method = Method.GET
    x[].head.target_start = 4
    x[].head.target_octets = _TARGET.byte_length()
    var at = 4 + _TARGET.byte_length() + 11
    while at < len(octets):
        var line = FieldLine(UInt32(at), 0, 0, 0)
        while octets[at] != UInt8(ord(":")):
            at += 1
        line.name_octets = UInt32(at) - line.name_start
        line.value_start = UInt32(at + 2)
        while octets[at] != 13:
            at += 1
        line.value_octets = UInt32(at) - line.value_start
        x[].head.lines.append(line)
        at += 2
    return x
