"""Whatever happens to the records of a client, a server of HTTPS says nothing
in plain, answers only what was asked, and has nothing left at the end.

Invariant: what a server sends are records, unless a client has spoken plain
HTTP; what a client reads are beginnings of the answers to its requests, in
order; a client that nobody disturbs gets all of them, and then the word that
nothing follows; and when the server has ended, nothing is left of it.
"""

from std.ffi import _Global

from flare.core import PointerTo, heap_create
from flare.http.builders import ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.runtime.backends.simulated_faults import SimulatedFaults
from flare.runtime.backends.simulated_network import Peer
from flare.testing.test_server import TestServer
from flare.tls import TlsContext

from fuzz.harness import Histogram, run
from fuzz.random import Random
from tests.server.answers import read_answers
from tests.server.secure_peer import SecurePeer
from tests.tls.certificates import client_config, server_config

comptime _TURNS_MAX = 5_000
comptime _REQUESTS_MAX = 5
comptime _CONTENT_OCTETS_MAX = 60_000
# More than may shake hands in one turn of the loop.
comptime _CROWD = 20
comptime _RECORD_HEADER_OCTETS = 5
# RFC 8446 section 5.1.
comptime _KIND_MIN: UInt8 = 20
comptime _KIND_MAX: UInt8 = 23
comptime _ALERT: UInt8 = 21
# RFC 8446 section 5.2, RFC 5246 section 6.2.3.
comptime _RECORD_OCTETS_MAX = 16 * 1024 + 2048

comptime _CONTEXTS = _Global[
    StorageType=Int, "fuzz_https_contexts", _make_contexts
]


struct _Contexts(Movable):
    var clients: TlsContext
    var servers: TlsContext

    def __init__(out self) raises:
        self.clients = TlsContext.for_clients(client_config())
        self.servers = TlsContext.for_servers(server_config())


@fieldwise_init
struct _Counter(Handler):
    """Answers with the path and the length of the content, at length."""

    def serve(self, req: Request) raises -> Response:
        var count = len(req.body.octets())
        return ok(_answer(String(req.path), count))


struct _Run(Movable):
    """Holds one connection and what is done to it."""

    var client: SecurePeer
    var fault_percent: Int
    var largest: Int
    var faults: Int
    # The lengths of the contents that were sent.
    var asked: List[Int]
    # The first octet that the server got; -1 before.
    var first_octet: Int
    # What the server has sent, behind the last whole record.
    var record: List[UInt8]

    def __init__(out self, var client: SecurePeer, mut random: Random):
        self.client = client^
        self.fault_percent = 0 if random.chance(40) else random.between(1, 8)
        self.largest = random.between(1, 60) if random.chance(
            20
        ) else random.between(100, 20_000)
        self.faults = 0
        self.asked = List[Int]()
        self.first_octet = -1
        self.record = List[UInt8]()


def fuzz_https_server(mut random: Random, mut histogram: Histogram) raises:
    """Runs one connection to a simulated server.

    Args:
        random: Draws the requests, the pieces and the faults.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var contexts = PointerTo[_Contexts](
        unsafe_from_address=_CONTEXTS.get_or_create_ptr()[]
    )
    var faults = SimulatedFaults()
    if random.chance(50):
        faults = SimulatedFaults.frequent()
    var server = TestServer(
        _Counter(),
        seed=random.below(1 << 30),
        faults=faults,
        tls=contexts[].servers,
    )
    var crowd = List[Peer]()
    if random.chance(5):
        _begin_crowd(server, contexts, crowd)
    var r = _Run(SecurePeer(server.connect(), contexts[].clients), random)
    var shape = List[UInt8]()
    shape.append(UInt8(r.fault_percent))
    histogram.input(shape)
    var wanted = random.between(1, _REQUESTS_MAX)
    for _ in range(_TURNS_MAX):
        var moved = _ask(r, wanted, random)
        moved += _carry(r, random)
        # Time stands still for a client that is not done: none is late.
        if random.chance(50):
            server.turn_now()
        else:
            server.settle()
        moved += _take(r, r.client.peer.received())
        if moved == 0 and r.client.end.machine.pending() == 0:
            if _take(r, server.receive(r.client.peer)) == 0:
                break
    _judge(r, wanted, histogram)
    r.client.peer.close()
    for peer in crowd:
        peer.close()
    server.stop()
    var remains = server.remains()
    if remains.byte_length() > 0:
        raise Error("left behind: ", remains)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_https_server)


def _make_contexts() -> Int:
    try:
        return Int(heap_create(_Contexts()))
    except:
        # Without certificates nothing can be tried.
        return 0


def _answer(path: String, count: Int) -> String:
    return String(path, " ", count, " ") + String("x") * (count // 2)


def _begin_crowd(
    server: TestServer[_Counter],
    contexts: PointerTo[_Contexts],
    mut crowd: List[Peer],
) raises:
    for _ in range(_CROWD):
        var guest = SecurePeer(server.connect(), contexts[].clients)
        guest.push()
        crowd.append(guest.peer)


def _ask(mut r: _Run, wanted: Int, mut random: Random) raises -> Int:
    """Writes the next request, or not yet.

    Returns:
        0 if nothing more is to be asked.
    """
    ref end = r.client.end
    if not end.is_done or end.has_ended or end.error:
        return 0
    if len(r.asked) == wanted:
        end.machine.close()
        return 0
    if end.machine.pending() > 0 or random.chance(40):
        return 1
    var count = random.below(500)
    if r.largest > 60 and random.chance(20):
        count = random.below(_CONTENT_OCTETS_MAX)
    var text = (
        String(
            "POST /",
            len(r.asked),
            " HTTP/1.1\r\nHost: a\r\nContent-Length: ",
            count,
            "\r\n\r\n",
        )
        + String("y") * count
    )
    if end.machine.write(text.as_bytes()) != text.byte_length():
        raise Error("a request was cut")
    r.asked.append(count)
    return 1


def _carry(mut r: _Run, mut random: Random) -> Int:
    ref machine = r.client.end.machine
    var count = min(machine.pending(), random.between(1, r.largest))
    if count == 0:
        return 0
    var octets = List[UInt8]()
    octets.extend(machine.output()[0:count])
    machine.sent(count)
    if random.chance(r.fault_percent):
        r.faults += 1
        _disturb(octets, r.client.peer, random)
    if r.first_octet < 0 and len(octets) > 0:
        r.first_octet = Int(octets[0])
    r.client.peer.send(Span(octets))
    return count


def _disturb(mut octets: List[UInt8], peer: Peer, mut random: Random):
    var at = random.below(len(octets))
    var kind = random.below(6)
    if kind == 0:
        octets[at] ^= UInt8(1) << UInt8(random.below(8))
    elif kind == 1:
        octets.shrink(at)
    elif kind == 2:
        var again = octets.copy()
        octets.extend(Span(again))
    elif kind == 3:
        octets[at] = random.interesting_octet()
    elif kind == 4:
        peer.send(Span(octets)[0:at])
        peer.end_sending()
    else:
        peer.reset()


def _take(mut r: _Run, octets: List[UInt8]) raises -> Int:
    if not _is_text(r.first_octet):
        _check_records(r, octets)
        r.client.end.window.extend(Span(octets))
    var before = len(r.client.end.plaintext)
    r.client.end.turn()
    return len(octets) + len(r.client.end.plaintext) - before


def _is_text(octet: Int) -> Bool:
    return octet >= 0 and octet | 32 >= 97 and octet | 32 <= 122


def _check_records(mut r: _Run, octets: List[UInt8]) raises:
    """Raises unless the server sends records."""
    r.record.extend(Span(octets))
    var at = 0
    while len(r.record) - at >= _RECORD_HEADER_OCTETS:
        var kind = r.record[at]
        var length = (Int(r.record[at + 3]) << 8) | Int(r.record[at + 4])
        # A client whose version is too old is told so in that version.
        var is_known = r.record[at + 1] == 3 or (
            kind == _ALERT and r.faults > 0
        )
        if kind < _KIND_MIN or kind > _KIND_MAX or not is_known:
            raise Error("the server has sent what is no record")
        if length > _RECORD_OCTETS_MAX:
            raise Error("the server has sent a giant record")
        if len(r.record) - at < _RECORD_HEADER_OCTETS + length:
            break
        at += _RECORD_HEADER_OCTETS + length
    var rest = List[UInt8]()
    rest.extend(Span(r.record)[at : len(r.record)])
    r.record = rest^


def _judge(r: _Run, wanted: Int, mut histogram: Histogram) raises:
    ref end = r.client.end
    var answers = read_answers(Span(end.plaintext), List[Bool]())
    var whole = 0
    for i in range(len(answers)):
        if not answers[i].is_whole:
            break
        if answers[i].status >= 400 and r.faults > 0:
            # The rest of a request that never came.
            break
        if i >= len(r.asked):
            raise Error("an answer that nobody has asked for")
        if answers[i].content != _answer(String("/", i), r.asked[i]):
            raise Error(
                "answer ",
                i,
                " (",
                answers[i].status,
                ") is not that of request ",
                i,
            )
        whole += 1
    if r.faults > 0:
        histogram.count("ended" if end.has_ended else "cut off")
        return
    if end.error:
        raise Error("nobody disturbed the connection, but it failed")
    if whole != wanted or len(answers) != wanted:
        raise Error(whole, " of ", wanted, " requests were answered")
    if not end.has_ended:
        raise Error("the end was not announced")
    histogram.count_whole("undisturbed")
