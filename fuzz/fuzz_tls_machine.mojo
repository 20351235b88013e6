"""Whatever happens to its records, a connection loses or gains no octet.

Invariant: what an end of TLS reads is a beginning of what the other end wrote,
all of it if the end was reported; nothing but an error of the peer's making
ends a connection earlier, the same error comes again, and a connection that
nobody disturbs is read to its end.
"""

from std.ffi import _Global

from flare.core import PointerTo, heap_create
from flare.tls import TlsContext, TlsError, TlsMachine, TlsStep
from flare.tls.machine import OUTPUT_OCTETS_MAX

from fuzz.harness import Histogram, run
from fuzz.random import Random
from tests.tls.certificates import client_config, server_config

comptime _TURNS_MAX = 20_000
comptime _WRITE_OCTETS_MAX = 40_000

comptime _CONTEXTS = _Global[
    StorageType=Int, "fuzz_tls_contexts", _make_contexts
]


struct _Contexts(Movable):
    var clients: TlsContext
    var servers: TlsContext

    def __init__(out self) raises:
        self.clients = TlsContext.for_clients(client_config())
        self.servers = TlsContext.for_servers(server_config())


struct _End(Movable):
    var machine: TlsMachine
    var window: List[UInt8]
    # What it has still to write, what it has written, and what it has read.
    var to_write: List[UInt8]
    var written: List[UInt8]
    var plaintext: List[UInt8]
    # How much of that was compared with what was written.
    var judged: Int
    var is_done: Bool
    var has_closed: Bool
    var has_ended: Bool
    var transport_ended: Bool
    var error: Optional[TlsError]

    def __init__(out self, var machine: TlsMachine, var to_write: List[UInt8]):
        self.machine = machine^
        self.window = List[UInt8]()
        self.to_write = to_write^
        self.written = List[UInt8]()
        self.plaintext = List[UInt8]()
        self.judged = 0
        self.is_done = False
        self.has_closed = False
        self.has_ended = False
        self.transport_ended = False
        self.error = None


def fuzz_tls_machine(mut random: Random, mut histogram: Histogram) raises:
    """Runs one connection whose records are cut, lost, repeated or changed.

    Args:
        random: Draws the octets, the pieces and the faults.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var contexts = PointerTo[_Contexts](
        unsafe_from_address=_CONTEXTS.get_or_create_ptr()[]
    )
    var client = _End(
        TlsMachine.client(contexts[].clients, "localhost"), _drawn(random)
    )
    var server = _End(TlsMachine.server(contexts[].servers), _drawn(random))
    var shape = List[UInt8]()
    shape.append(UInt8(len(client.to_write) & 255))
    shape.append(UInt8(len(server.to_write) & 255))
    histogram.input(shape)
    var fault_percent = 0 if random.chance(40) else random.between(1, 6)
    var largest = random.between(1, 30) if random.chance(
        20
    ) else random.between(100, 20_000)
    # Each turn carries one piece, and the turns are bounded.
    largest = max(
        largest, (len(client.to_write) + len(server.to_write)) // 1000
    )
    var faults = 0
    for _ in range(_TURNS_MAX):
        var moved = _write(client, random) + _write(server, random)
        moved += _carry(client, server, largest, fault_percent, faults, random)
        moved += _carry(server, client, largest, fault_percent, faults, random)
        _judge(client, server)
        _judge(server, client)
        if (
            moved == 0
            and client.machine.pending() == 0
            and server.machine.pending() == 0
        ):
            break
    if faults == 0:
        if client.error or server.error:
            raise Error("nobody disturbed the connection, but it failed")
        if not client.has_ended or not server.has_ended:
            raise Error("nobody disturbed the connection, but it did not end")
        histogram.count_whole("undisturbed")
        return
    histogram.count("failed" if client.error or server.error else "survived")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_tls_machine)


def _drawn(mut random: Random) -> List[UInt8]:
    var count = random.below(200)
    if random.chance(10):
        count = random.below(100_000)
    var octets = List[UInt8](length=count, fill=0)
    var octet = random.octet()
    for i in range(count):
        octets[i] = octet + UInt8((i * 7 + (i >> 8)) & 255)
    return octets^


def _write(mut end: _End, mut random: Random) raises -> Int:
    if not end.is_done or end.has_closed or end.error:
        return 0
    var left = len(end.to_write) - len(end.written)
    if left == 0:
        end.machine.close()
        end.has_closed = True
        return 1
    if end.machine.pending() >= OUTPUT_OCTETS_MAX:
        return 0
    var start = len(end.written)
    var count = min(left, random.between(1, _WRITE_OCTETS_MAX))
    var octets = Span(end.to_write)[start : start + count]
    var taken = end.machine.write(octets)
    if taken < 1 or taken > count:
        raise Error("a write took ", taken, " of ", count)
    end.written.extend(octets[0:taken])
    return taken


def _carry(
    mut sender: _End,
    mut receiver: _End,
    largest: Int,
    fault_percent: Int,
    mut faults: Int,
    mut random: Random,
) raises -> Int:
    var count = min(sender.machine.pending(), random.between(1, largest))
    var octets = List[UInt8]()
    octets.extend(sender.machine.output()[0:count])
    sender.machine.sent(count)
    if count > 0 and random.chance(fault_percent):
        faults += 1
        _disturb(octets, receiver, random)
    if not receiver.transport_ended:
        receiver.window.extend(Span(octets))
    return count + _turn(receiver, random)


def _disturb(mut octets: List[UInt8], mut receiver: _End, mut random: Random):
    var at = random.below(len(octets))
    var kind = random.below(5)
    if kind == 0:
        octets[at] ^= UInt8(1) << UInt8(random.below(8))
    elif kind == 1:
        octets.shrink(at)
    elif kind == 2:
        var again = octets.copy()
        octets.extend(Span(again))
    elif kind == 3:
        octets[at] = random.interesting_octet()
    else:
        octets.shrink(at)
        receiver.window.extend(Span(octets))
        receiver.transport_ended = True


def _turn(mut end: _End, mut random: Random) raises -> Int:
    if end.error:
        _fail_again(end)
        return 0
    var moved: Int
    try:
        moved = _go_on(end, random)
    except e:
        end.error = e
        if e.kind == TlsError.TRUNCATED and not end.transport_ended:
            raise Error("an end was reported that never came")
        return 1
    return moved


def _go_on(mut end: _End, mut random: Random) raises TlsError -> Int:
    var moved = 0
    while not end.is_done:
        var step = end.machine.handshake(Span(end.window))
        moved += step.consumed
        _drop(end.window, step.consumed)
        if step.kind == TlsStep.DONE:
            end.is_done = True
            moved += 1
        elif step.kind == TlsStep.HAS_OCTETS:
            return moved
        else:
            if end.transport_ended:
                end.machine.receive_end()
            return moved
    var into = List[UInt8](length=random.between(1, 20_000), fill=0)
    while not end.has_ended:
        var step = end.machine.read(Span(end.window), Span(into))
        moved += step.consumed
        _drop(end.window, step.consumed)
        if step.kind == TlsStep.DATA:
            moved += step.count
            end.plaintext.extend(Span(into)[0 : step.count])
        elif step.kind == TlsStep.END:
            end.has_ended = True
        else:
            if end.transport_ended:
                end.machine.receive_end()
            return moved
    return moved


def _fail_again(mut end: _End) raises:
    var into = List[UInt8](length=8, fill=0)
    try:
        _ = end.machine.read(Span(end.window), Span(into))
    except e:
        if e.kind != end.error.value().kind:
            raise Error("another error the second time: ", e)
        return
    raise Error("the connection went on after an error")


def _judge(mut reader: _End, writer: _End) raises:
    var count = len(reader.plaintext)
    if count > len(writer.written):
        raise Error("more was read than was written")
    if reader.has_ended and count != len(writer.to_write):
        raise Error("the end came before all was read")
    if reader.has_ended and not writer.has_closed:
        raise Error("an end was read that nobody wrote")
    for i in range(reader.judged, count):
        if reader.plaintext[i] != writer.written[i]:
            raise Error("octet ", i, " differs")
    reader.judged = count


def _drop(mut window: List[UInt8], count: Int):
    var rest = List[UInt8]()
    rest.extend(Span(window)[count : len(window)])
    window = rest^


def _make_contexts() -> Int:
    try:
        return Int(heap_create(_Contexts()))
    except e:
        print("no contexts:", e)
        return 0
