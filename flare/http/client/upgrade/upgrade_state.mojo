"""Defines the state of a connection that a server has upgraded for a client.

A connection of HTTP/1.1 leaves the pool with the 101: a protocol may keep it for
days, and requests must not wait for that. In HTTP/2, the call lasts as long as
its stream.

The protocol speaks over an `UpgradedStream`, as at a server: `carrier` has the
functions of its exchange. Its handle may outlive the upgrade, so the block of
the exchange is recycled, and each upgrade has a number of its own.
"""

from flare.core import (
    BlockKind,
    Buffer,
    Erased,
    PointerTo,
    heap_create,
    heap_destroy,
)
from flare.http.exchange import CarrierFunctions, Exchange, ExchangeState
from flare.message import Status
from flare.runtime.fiber import Fiber
from flare.sys.clock import monotonic_ns
from flare.sys.thread_cell import thread_recycler

from ..call.call import exchange_of
from ..call.client_state import CallOwner, ClientState
from ..transport.client_connection import ClientConnection


struct UpgradeSending(Movable):
    """The direction to the server."""

    var octets: Buffer
    """The octets in flight. The output collects further ones."""
    var output: Buffer
    """The output of a stream. A connection has one of its own."""
    var is_busy: Bool
    """Whether a fiber is sending. It sends the octets of others too."""
    var write_ms: Int
    """The longest wait for room."""
    var failure: Optional[Error]
    """The error of sending, after which no octet can follow."""
    var waiters: List[Fiber]
    """The fibers that wait for room."""

    def __init__(out self, write_ms: Int):
        """Creates the state before the first octet.

        Args:
            write_ms: The longest wait for room.
        """
        self.octets = Buffer()
        self.output = Buffer()
        self.is_busy = False
        self.write_ms = write_ms
        self.failure = None
        self.waiters = List[Fiber]()

    def wake_all(self):
        """Wakes the fibers that wait for room."""
        for fiber in self.waiters:
            fiber.wake()


struct ClientUpgradeState(Movable):
    """A connection after the response to an offer to upgrade."""

    var exchange: Exchange
    """The exchange of the stream. Its head is that of the response."""
    var functions: CarrierFunctions
    """The functions of the exchange."""
    var connection: Optional[ClientConnection]
    """The connection of HTTP/1.1; none after a refusal."""
    var call: Optional[CallOwner]
    """The call whose exchange is the stream, in HTTP/2."""
    var status: Int
    """The status of the response; 101 if the connection was upgraded."""
    var refusal: List[UInt8]
    """The first octets of the content of a refusal."""
    var sending: UpgradeSending
    """The direction to the server."""
    var has_ended: Bool
    """Whether the server has ended its stream."""
    var fibers: Int
    """How many fibers wait inside the functions."""
    var is_over: Bool
    """Whether the upgrade has ended; the last fiber to leave frees it."""

    def __init__(
        out self, status: Int, functions: CarrierFunctions, write_ms: Int
    ):
        """Creates the state of a response that has arrived.

        Args:
            status: The status.
            functions: The functions of the exchange.
            write_ms: The longest wait for room.
        """
        self.exchange = _taken()
        self.functions = functions
        self.connection = None
        self.call = None
        self.status = status
        self.refusal = List[UInt8]()
        self.sending = UpgradeSending(write_ms)
        self.has_ended = False
        self.fibers = 0
        self.is_over = False


comptime ClientUpgrade = PointerTo[ClientUpgradeState]
"""A handle to an upgraded connection."""


@always_inline
def upgrade_of(exchange: Erased) -> ClientUpgrade:
    """Returns the upgrade of an exchange that is not over.

    Args:
        exchange: The exchange.

    Returns:
        The upgrade.
    """
    ref x = exchange.unsafe_bitcast[ExchangeState]()[]
    return x.carrier.unsafe_value().unsafe_bitcast[ClientUpgradeState]()


def open_exchange(u: ClientUpgrade):
    """Makes the stream of an upgrade usable.

    Args:
        u: The upgrade, which has a connection.
    """
    ref x = u[].exchange[]
    x.host.functions = Pointer(to=u[].functions).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    x.carrier = u.unsafe_bitcast[NoneType]()
    # Unlike a counter, the clock never shows a number of an earlier upgrade
    # whose block this was.
    x.request_id = monotonic_ns()
    x.stream.status = Status.SWITCHING_PROTOCOLS
    x.stream.is_open = True


def close_and_free(u: ClientUpgrade):
    """Closes the connection at once, and frees the upgrade. Fibers that wait
    in it get an error.

    Args:
        u: The upgrade.
    """
    ref x = u[].exchange[]
    x.end()
    x.stream.end()
    x.carrier = None
    u[].is_over = True
    if u[].connection:
        u[].connection.unsafe_value().close()
    elif u[].call:
        exchange_of(u[].call.value().call).close()
    u[].sending.wake_all()
    _free_unused(u)


def leave(u: ClientUpgrade):
    """Notes that a fiber no longer waits in the functions of an upgrade.

    Args:
        u: The upgrade, which may be freed by this.
    """
    u[].fibers -= 1
    _free_unused(u)


def _free_unused(u: ClientUpgrade):
    if not u[].is_over or u[].fibers > 0:
        return
    if u[].connection:
        u[].connection.unsafe_value().destroy()
    elif u[].call:
        _leave_stream(u[].call.value())
    _give_back(u[].exchange)
    heap_destroy(u)


def _leave_stream(owner: CallOwner):
    ClientState.pool_of(owner.state).discard(
        owner.call[].origin.value(), exchange_of(owner.call)
    )


def _taken() -> Exchange:
    var recycler = thread_recycler()
    if recycler:
        var block = recycler.value().take(BlockKind.UPGRADE)
        if block:
            return block.value().unsafe_bitcast[ExchangeState]()
    return heap_create(ExchangeState())


def _give_back(exchange: Exchange):
    # The head of a response may be long, and the block may lie for long.
    exchange[].gathered = Buffer()
    var recycler = thread_recycler()
    if not recycler or not recycler.value().give(
        BlockKind.UPGRADE, exchange.unsafe_bitcast[NoneType](), _destroy
    ):
        heap_destroy(exchange)


def _destroy(block: Erased):
    heap_destroy(block.unsafe_bitcast[ExchangeState]())
