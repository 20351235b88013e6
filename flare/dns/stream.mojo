"""Asks one server over TCP, if an answer does not fit a datagram (RFC 1035
section 4.2.2, RFC 7766).
"""

from flare.net import NetError, SocketAddr
from flare.net.error import checked
from flare.runtime.socket import FiberSocket
from flare.runtime.wait import waiting_fiber
from flare.sys.socket import open_socket
from flare.sys.socket_address import AF_INET, AF_INET6
from flare.sys.socket_constants import IPPROTO_TCP, SOCK_STREAM

from .datagram import query_for, random_number, take_answer
from .error import DnsError
from .finding import Finding

comptime _LENGTH_OCTETS = 2


def ask_by_stream(
    server: SocketAddr,
    name: String,
    mut finding: Finding,
    timeout_ms: Int,
    *,
    with_edns: Bool,
) raises:
    """Asks one question over a new connection.

    Args:
        server: The server.
        name: The whole name.
        finding: The question; the answer is recorded in it.
        timeout_ms: The longest wait for connection and answer together.
        with_edns: Whether the query has an OPT record.

    Raises:
        Error: If the fiber is cancelled or no socket can be opened.
    """
    var query = query_for(name, finding.type, random_number(), with_edns)
    finding.begin()
    var message: List[UInt8]
    try:
        message = _exchange(server, query, timeout_ms)
    except e:
        var error = NetError.of(e)
        var kind = error.value().kind if error else NetError.OTHER
        if kind == NetError.CANCELLED or kind == NetError.NO_DESCRIPTORS:
            raise e^
        finding.fail(
            DnsError.TIMEOUT if kind == NetError.TIMEOUT else DnsError.TRY_AGAIN
        )
        return
    if not take_answer(Span(message), Span(query), finding):
        finding.fail(DnsError.BAD_ANSWER)


struct _Connection(Movable):
    var socket: FiberSocket

    def __init__(out self, socket: FiberSocket):
        self.socket = socket

    def __deinit__(deinit self):
        self.socket.destroy()


def _exchange(
    server: SocketAddr, query: List[UInt8], timeout_ms: Int
) raises -> List[UInt8]:
    var reactor = waiting_fiber("resolve").reactor()
    var deadline_ms = reactor.deadline_after(timeout_ms)
    var opened = checked(
        "resolve",
        open_socket(
            AF_INET if server.ip.is_v4() else AF_INET6,
            SOCK_STREAM,
            IPPROTO_TCP,
            non_blocking=False,
        ),
        server,
    )
    var connection = _Connection(FiberSocket.create(Int32(opened), server))
    ref socket = connection.socket
    socket.connect(server, timeout_ms)
    # Length and message in one segment (RFC 7766 section 8).
    var octets = List[UInt8](capacity=_LENGTH_OCTETS + len(query))
    octets.append(UInt8(len(query) >> 8))
    octets.append(UInt8(len(query) & 255))
    octets.extend(Span(query))
    var sent = 0
    while sent < len(octets):
        socket.set_send_timeout_ms(
            max(deadline_ms - reactor.refresh_now_ms(), 0)
        )
        sent += socket.send(Span(octets)[sent:])
    var length = List[UInt8](length=_LENGTH_OCTETS, fill=0)
    _receive_all(socket, length, deadline_ms)
    var count = Int(length[0]) << 8 | Int(length[1])
    var message = List[UInt8](length=count, fill=0)
    _receive_all(socket, message, deadline_ms)
    _ = connection^
    return message^


def _receive_all(
    socket: FiberSocket, mut into: List[UInt8], deadline_ms: Int
) raises:
    var reactor = waiting_fiber("resolve").reactor()
    var count = 0
    while count < len(into):
        socket.set_receive_timeout_ms(
            max(deadline_ms - reactor.refresh_now_ms(), 0)
        )
        var came = socket.receive(Span(into)[count:])
        if came == 0:
            raise NetError(NetError.CLOSED, "resolve")
        count += came
