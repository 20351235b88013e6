"""A client takes for a response what a naive parser does, and nothing else.

Invariant: whatever octets come and then end, one exchange of a client gives
exactly the status and the content that a naive parser of the whole input finds,
or one error of the client; and it would use the connection again only if the
input was one whole response, as it should be, and no more.
"""

from flare.core import heap_create, heap_destroy, write_escaped
from flare.http.client.transport.client_connection import ClientConnection
from flare.http.client_error import ClientError
from flare.http.client.exchange.client_exchange import ClientExchange
from flare.http.client.exchange.exchange_state import ClientExchangeState
from flare.http.received import Received
from flare.message import HeaderMap
from flare.proto.h1 import BodyLength, H1Limits
from flare.sys.file import close_descriptor
from flare.sys.socket import open_socket_pair, send_octets, shut_down_socket
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import SHUT_WR, SOCK_STREAM
from flare.unix import UnixStream

from fuzz.h1_grammar import response
from fuzz.h1_reference import END, Reference
from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate


@fieldwise_init
struct _Outcome(Movable):
    var status: Int
    var content: List[UInt8]
    var kind: Int
    var is_kept: Bool


def fuzz_client_response(mut random: Random, mut histogram: Histogram) raises:
    """Lets a client read one input.

    Args:
        random: Draws and damages it.
        histogram: Counts the outcome.

    Raises:
        Error: If client and naive parser disagree.
    """
    var methods: List[String] = ["GET", "GET", "POST", "HEAD"]
    var method = random.pick(methods)
    var octets = response(random)
    if random.chance(60):
        octets = mutate(octets, random)
    histogram.input(octets)
    var reference = Reference(octets)
    reference.read_response(method)
    var outcome = _ask(method, octets)
    if outcome.kind < 0:
        histogram.count_whole("answered")
    elif outcome.kind == ClientError.PROTOCOL:
        histogram.count("refused")
    elif outcome.kind == ClientError.TOO_LARGE:
        histogram.count("too large")
    elif outcome.kind == ClientError.CLOSED:
        histogram.count("cut off")
    else:
        raise Error("the error has the kind ", outcome.kind)
    _compare(outcome, reference)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_client_response)


def _compare(outcome: _Outcome, reference: Reference) raises:
    var status = 0
    var data = String()
    var is_whole = False
    for line in reference.lines:
        if line.startswith("= RESPONSE_HEAD "):
            status = Int(String(line[byte=16:19]))
        elif line.startswith("= DATA "):
            data = String(line[byte=7:])
        elif line == "= END_OF_MESSAGE":
            is_whole = True
    if reference.verdict == END and outcome.kind >= 0:
        raise Error("refused what the reference accepts")
    if outcome.kind >= 0:
        return
    if not is_whole:
        raise Error("accepted what is no whole response")
    if outcome.status != status:
        raise Error("the status is ", outcome.status)
    if _shown(outcome.content) != data:
        raise Error("the content is ", _shown(outcome.content))
    if outcome.is_kept and reference.verdict != END:
        raise Error("octets lie behind the response")
    if outcome.is_kept and (reference.is_odd or reference.was_odd):
        raise Error("the connection of an odd response is kept")


def _ask(method: String, octets: List[UInt8]) raises -> _Outcome:
    var here = Int32(-1)
    var there = Int32(-1)
    if (
        open_socket_pair(AF_UNIX, SOCK_STREAM, here, there, non_blocking=False)
        < 0
    ):
        raise Error("no sockets")
    if len(octets) > 0:
        _ = send_octets(there, Span(octets), 0)
    _ = shut_down_socket(there, SHUT_WR)
    var connection = ClientConnection.create(H1Limits())
    connection.carry_over(UnixStream(unsafe_descriptor=here))
    var exchange = ClientExchange(heap_create(ClientExchangeState()))
    exchange.state[].connection = connection
    var outcome = _Outcome(0, List[UInt8](), -1, False)
    var received = Received()
    try:
        exchange.begin(10 << 20)
        var fields = HeaderMap()
        fields.append("Host", "a")
        exchange.write_head(method, "/", fields, BodyLength.NONE)
        exchange.send(Span(List[UInt8]()), expects_continue=False)
        outcome.status = exchange.receive_head()
        exchange.consume_head()
        exchange.receive_content(received.state)
        outcome.content.extend(received.state[].content.span())
        outcome.is_kept = exchange.can_carry_another()
    except e:
        var error = ClientError.of(e)
        outcome.kind = error.value().kind if error else ClientError.OTHER
    _ = received^
    heap_destroy(exchange.state)
    connection.destroy()
    _ = close_descriptor(there)
    return outcome^


def _shown(octets: List[UInt8]) -> String:
    var text = String()
    write_escaped(Span(octets), text)
    return text^
