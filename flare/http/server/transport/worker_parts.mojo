"""The parts of which the state of a worker consists."""

from flare.core import Erased, PointerTo, Slab, SlotHandle
from flare.http.exchange import Exchange, ExchangeState
from flare.http.later_jobs import LaterJobs
from flare.message import HTTP_DATE_OCTETS
from flare.runtime.buffer_pool import BufferPool
from flare.runtime.line_ring import LineFunction
from flare.runtime.operation import OperationKind, OperationState
from flare.runtime.reactor import LARGE_BUFFER_OCTETS
from flare.runtime.timer_task import TIMER_OF_TASK, TimerTask
from flare.runtime.timer_wheel import TimerEntry
from flare.tls import TlsContext

from ..listening.protocols import HttpProtocols
from ..records.access_log import AccessFeed
from .unsent_pool import UnsentPool

comptime OUTPUT_OCTETS = 16384
"""The size that output buffers begin with."""
comptime SLOW_TURN_LOG_MS = 1000
"""The shortest time between two lines about slow turns."""
comptime HANDSHAKE_STEPS_MAX = 16
"""Steps of TLS handshakes in one turn of the loop. Each may take a third of a
millisecond, in which no other request is served.
"""
comptime _OUTPUTS_MAX = 16_384
comptime _LARGE_OUTPUTS_MAX = 4096


struct ListenerState(Movable):
    """A worker's interest in one listening socket."""

    var accept: OperationState
    """The multishot accept."""
    var worker: Erased
    """The worker."""
    var is_shared: Bool
    """Whether other workers accept from the socket too."""
    var is_lent: Bool
    """Whether another process keeps the socket open: new clients are then not
    held back, and waiting ones are left to that process.
    """
    var is_drained: Bool
    """Whether no client was waiting when the stopping worker last looked."""
    var tls: Optional[TlsContext]
    """The TLS context of its connections, if they are encrypted."""
    var protocols: HttpProtocols
    """The versions of HTTP that its connections may speak."""

    def __init__(
        out self,
        descriptor: Int32,
        worker: Erased,
        is_shared: Bool,
        var tls: Optional[TlsContext] = None,
    ):
        """Creates the state before the first accept.

        Args:
            descriptor: The listening socket.
            worker: The worker.
            is_shared: Whether other workers accept from it too.
            tls: The TLS context of its connections, if they are encrypted.
        """
        self.accept = OperationState(OperationKind.ACCEPT)
        self.accept.descriptor = descriptor
        self.accept.multishot = True
        # A worker that was informed of a connection then comes after the other
        # workers.
        self.accept.transient = is_shared
        self.worker = worker
        self.is_shared = is_shared
        self.is_lent = False
        self.is_drained = False
        self.tls = tls^
        self.protocols = HttpProtocols.ALL


@fieldwise_init
struct Accepted(Copyable, Movable):
    """An accepted socket for which there is no slot yet."""

    var descriptor: Int32
    """The socket."""
    var listener: PointerTo[ListenerState]
    """The listener that accepted it."""


struct ExchangePool(Movable):
    """The blocks of requests."""

    var slab: Slab[ExchangeState]
    """All blocks."""
    var spare: List[Exchange]
    """Blocks that are not in use."""
    var lost: List[Exchange]
    """Blocks to which the stacks of lost fibers refer."""
    var lent: Int
    """The number of blocks in use; a leaked block shows here."""
    var later: LaterJobs
    """The jobs that responses have left."""

    def __init__(out self, write: LineFunction):
        """Creates an empty pool.

        Args:
            write: Logs a line.
        """
        self.slab = Slab[ExchangeState].create(Int.MAX)
        self.spare = List[Exchange]()
        self.lost = List[Exchange]()
        self.lent = 0
        self.later = LaterJobs(write)


struct RequestRecords(Movable):
    """The destinations of the records of answered requests."""

    var access: Optional[AccessFeed]
    """The access log, if there is one."""
    var recorder: Int
    """The address of the recorder of `ServerConfig.metrics`; 0 without
    metrics."""

    def __init__(out self):
        """Creates no destinations."""
        self.access = None
        self.recorder = 0


struct OutputPools(Movable):
    """The pools of output buffers and of buffers for other octets."""

    var usual: BufferPool
    """Output buffers; other growing buffers begin in them, too."""
    var large: BufferPool
    """Buffers of 64 KiB for buffers that have grown, if those for large reads
    are in use."""
    var unsent: UnsentPool
    """Contents of HTTP/2 that wait for their turn."""
    var lent: Int
    """Output buffers in use."""

    def __init__(out self):
        """Creates empty pools."""
        self.usual = BufferPool.create(OUTPUT_OCTETS, _OUTPUTS_MAX)
        self.large = BufferPool.create(LARGE_BUFFER_OCTETS, _LARGE_OUTPUTS_MAX)
        self.unsent = UnsentPool()
        self.lent = 0


struct HandshakeQueue(Movable):
    """TLS handshakes that continue in the next turns."""

    var waiting: List[SlotHandle]
    """Their connections, in this order."""
    var steps_left: Int
    """How many steps of handshakes may still be taken in this turn."""

    def __init__(out self):
        """Creates an empty queue."""
        self.waiting = List[SlotHandle]()
        self.steps_left = HANDSHAKE_STEPS_MAX


struct TurnEnd(Movable):
    """The connections that a worker continues after the turn of its loop."""

    var due: List[SlotHandle]
    """Connections whose handlers have written or ended."""
    var starved: List[SlotHandle]
    """Connections that found no free receive buffer."""
    var handshakes: HandshakeQueue
    """TLS handshakes that continue in the next turns."""

    def __init__(out self):
        """Creates the state without connections to continue."""
        self.due = List[SlotHandle]()
        self.starved = List[SlotHandle]()
        self.handshakes = HandshakeQueue()


struct Accepting(Movable):
    """The state of accepting in one worker."""

    var waiting: List[Accepted]
    """Accepted sockets for which there is no slot yet."""
    var slot_freed: def(Erased) thin -> None
    """Called with the worker when a connection has ended."""
    var is_paused: Bool
    """Whether accepting is paused."""
    var timer: TimerEntry
    """Armed while clients may wait that cannot be accepted."""
    var task: TimerTask
    """The function that the timer calls."""
    var has_ended: Bool
    """Whether accepting has ended, even for waiting clients."""
    var stuck_since_ms: Int
    """The time since which waiting clients could not be accepted, or -1."""
    var ask_for_room: def(Erased, Erased) thin -> None
    """Called with `peers` and the worker when connections of other workers hold
    what this one needs to accept."""
    var peers: Erased
    """The other workers."""
    var spare_descriptor: Int32
    """Used to answer a client when no other descriptor is left, or -1."""

    def __init__(out self, any: Erased):
        """Creates the state before the first connection.

        Args:
            any: Any address; the worker sets its own when it begins.
        """
        self.waiting = List[Accepted]()
        self.slot_freed = _nothing
        self.is_paused = False
        self.timer = TimerEntry(None, TIMER_OF_TASK)
        self.task = TimerTask()
        self.has_ended = False
        self.stuck_since_ms = -1
        self.ask_for_room = _ask_nobody
        self.peers = any
        self.spare_descriptor = -1


struct Trimming(Movable):
    """The state of trimming: when a worker returns memory."""

    var timer: TimerEntry
    """Armed while memory may be returned."""
    var task: TimerTask
    """The function that the timer calls."""
    var request_id: Int
    """The number of the next request when memory was last returned."""
    var has_freed: Bool
    """Whether connections have ended, or long buffers were freed, since."""

    def __init__(out self):
        """Creates the state without memory to return."""
        self.timer = TimerEntry(None, TIMER_OF_TASK)
        self.task = TimerTask()
        self.request_id = 1
        self.has_freed = False


struct ReportRate(Movable):
    """Limits how often a worker logs the same kind of event."""

    var slow_turn_ms: Int
    """When a slow turn was logged last."""
    var second: Int
    """The second in which connections were reported last."""
    var count: Int
    """How many were in that second."""

    def __init__(out self):
        """Creates the limit before the first report."""
        self.slow_turn_ms = -SLOW_TURN_LOG_MS
        self.second = -1
        self.count = 0


struct DateField(Movable):
    """The value of Date."""

    var octets: List[UInt8]
    """The 29 octets, as of `second`."""
    var second: Int
    """The second that they say."""

    def __init__(out self):
        """Creates the field before the first second."""
        self.octets = List[UInt8](length=HTTP_DATE_OCTETS, fill=0)
        self.second = -1


def _nothing(owner: Erased):
    pass


def _ask_nobody(peers: Erased, worker: Erased):
    pass
