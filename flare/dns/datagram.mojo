"""Asks one server by datagrams (RFC 1035 section 4.2.1).

Each exchange has its own socket, connected to the server, with an
unpredictable port and unpredictable ids (RFC 5452 section 9.2). So the kernel
drops datagrams from elsewhere. Datagrams of the server that answer another
question are ignored, up to a bound.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.net import NetError, SocketAddr
from flare.net.error import checked
from flare.proto.dns import DnsMessageError, read_answer, write_query
from flare.runtime.fiber import Fiber
from flare.runtime.operation import (
    CANCELLED,
    POLL_IN,
    TIMED_OUT,
    OperationKind,
)
from flare.runtime.wait import waiting_fiber
from flare.sys.errno import EAGAIN
from flare.sys.file import close_descriptor
from flare.sys.random import fill_random
from flare.sys.socket import (
    bind_socket,
    connect_socket,
    open_socket,
    receive_octets,
    send_octets,
)
from flare.sys.socket_address import AF_INET, AF_INET6
from flare.sys.socket_constants import IPPROTO_UDP, MSG_DONTWAIT, SOCK_DGRAM

from .error import DnsError
from .finding import Finding

comptime FOREIGN_MAX = 64
"""How many datagrams may answer other questions before the server is given up.
"""

comptime _DATAGRAM_OCTETS_MAX = 4096
comptime _PORT_TRIES = 8
comptime _PORT_MIN = 1024


struct _Query(Copyable, Movable):
    # The index of the question, the query, and whether its answer has arrived.
    var index: Int
    var message: List[UInt8]
    var is_answered: Bool

    def __init__(out self, index: Int, var message: List[UInt8]):
        self.index = index
        self.message = message^
        self.is_answered = False


struct DatagramExchange(Movable):
    """The queries that were sent to one server, and the socket for their
    answers.
    """

    # On the heap, because a fiber is parked in what asks for it.
    var _state: PointerTo[_ExchangeState]

    def __init__(
        out self,
        server: SocketAddr,
        name: String,
        mut findings: List[Finding],
        *,
        with_edns: Bool,
    ) raises:
        """Creates an exchange, and sends a query for each open question.

        Args:
            server: The server.
            name: The whole name.
            findings: The questions.
            with_edns: Whether to offer to receive larger datagrams.

        Raises:
            Error: If no socket can be opened.
        """
        var queries = _write_queries(name, findings, with_edns)
        var socket = _Socket(
            Int32(
                checked(
                    "resolve",
                    open_socket(
                        AF_INET if server.ip.is_v4() else AF_INET6,
                        SOCK_DGRAM,
                        IPPROTO_UDP,
                    ),
                    server,
                )
            )
        )
        _bind_unforeseeable_port(socket.descriptor, server)
        var problem = connect_socket(socket.descriptor, server.to_storage())
        for query in queries:
            if problem >= 0:
                problem = send_octets(
                    socket.descriptor, Span(query.message), MSG_DONTWAIT
                )
        self._state = heap_create(_ExchangeState(socket^, queries^))
        if problem < 0:
            self._fail(findings, DnsError.TRY_AGAIN)

    def __deinit__(deinit self):
        """Closes the socket."""
        heap_destroy(self._state)

    def next_truncated(
        self, mut findings: List[Finding], deadline_ms: Int
    ) raises -> Optional[Int]:
        """Waits for answers, until one is truncated.

        After asking that question over TCP, call it again: other answers may
        have arrived meanwhile.

        Args:
            findings: The questions; answers are recorded in them.
            deadline_ms: How long to wait.

        Returns:
            The index of the question; `None` if no further answer is expected.

        Raises:
            Error: If the fiber is cancelled.
        """
        var fiber = waiting_fiber("resolve")
        ref x = self._state[]
        var descriptor = x.socket.descriptor
        var buffer = List[UInt8](length=_DATAGRAM_OCTETS_MAX, fill=0)
        while not x.has_failed and _open_count(x.queries) > 0:
            var count = receive_octets(descriptor, Span(buffer), MSG_DONTWAIT)
            if count >= 0:
                var index = _take(Span(buffer)[:count], x.queries, findings)
                if not index:
                    x.foreign += 1
                elif findings[index.value()].was_truncated:
                    return index
                if x.foreign == FOREIGN_MAX:
                    self._fail(findings, DnsError.BAD_ANSWER)
                continue
            if count != -EAGAIN:
                # No server listens there, or no route leads there.
                self._fail(findings, DnsError.TRY_AGAIN)
                continue
            var left_ms = deadline_ms - fiber.reactor().refresh_now_ms()
            var ready = TIMED_OUT
            if left_ms > 0:
                ready = _wait_readable(fiber, descriptor, left_ms)
            if ready == CANCELLED:
                raise Error(NetError.from_errno("resolve", CANCELLED))
            if ready == TIMED_OUT:
                self._fail(findings, DnsError.TIMEOUT)
            elif ready < 0:
                self._fail(findings, DnsError.TRY_AGAIN)
        return None

    def _fail(self, mut findings: List[Finding], failure: Int):
        self._state[].has_failed = True
        _fail_open(self._state[].queries, findings, failure)


struct _ExchangeState(Movable):
    var socket: _Socket
    var queries: List[_Query]
    var foreign: Int
    var has_failed: Bool

    def __init__(out self, var socket: _Socket, var queries: List[_Query]):
        self.socket = socket^
        self.queries = queries^
        self.foreign = 0
        self.has_failed = False


struct _Socket(Movable):
    var descriptor: Int32

    def __init__(out self, descriptor: Int32):
        self.descriptor = descriptor

    def __deinit__(deinit self):
        _ = close_descriptor(self.descriptor)


def random_number() raises -> UInt16:
    """Returns an unpredictable number.

    Returns:
        Any number of 16 bits.

    Raises:
        NetError: If the kernel has no random generator.
    """
    var octets = List[UInt8](length=2, fill=0)
    _ = checked("resolve", fill_random(Span(octets)))
    return UInt16(octets[0]) << 8 | UInt16(octets[1])


def query_for(
    name: String, type: UInt16, id: UInt16, with_edns: Bool
) raises -> List[UInt8]:
    """Returns a query for a name that was checked.

    Args:
        name: The whole name.
        type: The type of record.
        id: The id.
        with_edns: Whether to offer to receive larger datagrams.

    Returns:
        The message.

    Raises:
        Error: `dns.bad_name resolve` if the name has no wire form.
    """
    try:
        return write_query(name, type, id, with_edns=with_edns)
    except e:
        raise Error("dns.bad_name resolve: ", e.reason)


def take_answer(
    message: Span[UInt8, _], query: Span[UInt8, _], mut finding: Finding
) -> Bool:
    """Records the answer of a message to a question.

    Args:
        message: The received message.
        query: The query that was sent.
        finding: The question.

    Returns:
        False if the message answers another question.
    """
    try:
        finding.take(read_answer(message, query))
    except e:
        if e.kind == DnsMessageError.FOREIGN or len(message) < 12:
            return False
        finding.fail(DnsError.BAD_ANSWER)
    return True


def _write_queries(
    name: String, mut findings: List[Finding], with_edns: Bool
) raises -> List[_Query]:
    var queries = List[_Query]()
    var id = random_number()
    for i in range(len(findings)):
        if not findings[i].is_open():
            continue
        findings[i].begin()
        var message = query_for(name, findings[i].type, id, with_edns)
        queries.append(_Query(i, message^))
        # Never the same one twice at a time.
        var other = random_number()
        id = other if other != id else other + 1
    return queries^


def _bind_unforeseeable_port(descriptor: Int32, server: SocketAddr) raises:
    for _ in range(_PORT_TRIES):
        var port = random_number()
        if Int(port) < _PORT_MIN:
            continue
        var local = SocketAddr.any_v4(port)
        if not server.ip.is_v4():
            local = SocketAddr.any_v6(port)
        if bind_socket(descriptor, local.to_storage()) == 0:
            return
    # The kernel chooses at random too, among fewer ports.


def _wait_readable(fiber: Fiber, descriptor: Int32, timeout_ms: Int) -> Int:
    ref operation = fiber.state[].operation
    operation.kind = OperationKind.POLL
    operation.descriptor = descriptor
    operation.length = POLL_IN
    operation.multishot = False
    operation.address = None
    operation.second = None
    return fiber.perform(timeout_ms)


def _take(
    message: Span[UInt8, _],
    mut queries: List[_Query],
    mut findings: List[Finding],
) -> Optional[Int]:
    for i in range(len(queries)):
        ref query = queries[i]
        if not query.is_answered and take_answer(
            message, Span(query.message), findings[query.index]
        ):
            query.is_answered = True
            return query.index
    return None


def _open_count(queries: List[_Query]) -> Int:
    var count = 0
    for query in queries:
        count += 0 if query.is_answered else 1
    return count


def _fail_open(
    mut queries: List[_Query], mut findings: List[Finding], failure: Int
):
    for i in range(len(queries)):
        if not queries[i].is_answered:
            findings[queries[i].index].fail(failure)
