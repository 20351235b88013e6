"""Passes access records from workers to a thread that writes them.

Each worker has its own ring, which only it fills and only the writing thread
empties. So a worker neither waits nor takes a lock; if the ring is full, the
record is dropped and counted.
"""

from std.atomic import Atomic, Ordering

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime.line_queue import LAST_LINES_MS
from flare.sys.process import block_signals
from flare.sys.signal import SIGPIPE
from flare.sys.thread import Lock, join_thread_within, start_thread

from .log import AccessLog, AccessRecord

comptime RECORDS_MAX = 1024
"""The most records of one worker that may wait; a power of two."""

comptime _PAUSE_MS = 20


struct AccessRingState(Movable):
    """The records of one worker. Only `AccessRing` uses it."""

    var records: List[AccessRecord]
    """The slots."""
    var written: UInt64
    """How many records the worker has added; atomic."""
    var taken: UInt64
    """How many records the writing thread has removed; atomic."""

    def __init__(out self):
        """Creates an empty ring with all its memory."""
        self.records = List[AccessRecord](
            length=RECORDS_MAX, fill=AccessRecord()
        )
        self.written = 0
        self.taken = 0


@fieldwise_init
struct AccessRing(TrivialRegisterPassable):
    """A handle to one worker's ring."""

    var state: PointerTo[AccessRingState]
    """The heap state."""

    def next_slot(self) -> Optional[PointerTo[AccessRecord]]:
        """Returns the slot for the next record. Call it on the worker's
        thread.

        Returns:
            The slot, to fill before `publish`; `None` if the ring is full.
        """
        ref s = self.state[]
        var taken = Atomic[UInt64].load[ordering=Ordering.ACQUIRE](
            Pointer(to=s.taken)
        )
        if s.written - taken >= RECORDS_MAX:
            return None
        return (
            s.records.unsafe_ptr()
            .unsafe_origin_cast[MutUntrackedOrigin]()
            .unsafe_offset(Int(s.written) & (RECORDS_MAX - 1))
        )

    def publish(self):
        """Makes the filled slot visible to the writing thread."""
        Atomic[UInt64].store[ordering=Ordering.RELEASE](
            Pointer(to=self.state[].written), self.state[].written + 1
        )

    def drain(self, log: AccessLog):
        """Writes the waiting records. Call it on the writing thread.

        Args:
            log: The destination of the records.
        """
        ref s = self.state[]
        var written = Atomic[UInt64].load[ordering=Ordering.ACQUIRE](
            Pointer(to=s.written)
        )
        for at in range(Int(s.taken), Int(written)):
            log.write(s.records.unsafe_get(at & (RECORDS_MAX - 1)))
            Atomic[UInt64].store[ordering=Ordering.RELEASE](
                Pointer(to=s.taken), UInt64(at + 1)
            )


struct AccessQueueState(Movable):
    """All rings of a server. Only `AccessQueue` uses it."""

    var log: AccessLog
    """The destination of the records."""
    var rings: List[AccessRing]
    """One ring for each worker."""
    var lock: Lock
    """Guards `ending`; the writing thread sleeps on it."""
    var ending: Bool
    """Whether the workers have ended."""
    var thread: UInt64
    """The writing thread."""

    def __init__(out self, log: AccessLog, workers: Int):
        """Creates a ring for each worker.

        Args:
            log: The destination of the records.
            workers: The number of workers.
        """
        self.log = log
        self.rings = List[AccessRing]()
        for _ in range(workers):
            self.rings.append(AccessRing(heap_create(AccessRingState())))
        self.lock = Lock.create()
        self.ending = False
        self.thread = 0


@fieldwise_init
struct AccessQueue(TrivialRegisterPassable):
    """Runs the thread that writes a server's access records."""

    var state: PointerTo[AccessQueueState]
    """The heap state."""

    @staticmethod
    def begin(log: AccessLog, workers: Int) -> Optional[Self]:
        """Starts the writing thread.

        Args:
            log: The destination of the records.
            workers: The number of workers.

        Returns:
            The queue; `None` if no thread could be started.
        """
        var queue = Self(heap_create(AccessQueueState(log, workers)))
        var started = start_thread(
            _write_records, queue.state.unsafe_bitcast[NoneType]()
        )
        if started[0] < 0:
            queue._destroy()
            return None
        queue.state[].thread = started[1]
        return queue

    def ring(self, worker: Int) -> AccessRing:
        """Returns the ring of a worker.

        Args:
            worker: The worker's number.

        Returns:
            The ring.
        """
        return self.state[].rings.unsafe_get(worker)

    def end(self):
        """Writes the remaining records and ends the thread. All workers must
        have ended.

        If the log is stuck for a second, the server abandons its thread and
        leaks its memory.
        """
        self.state[].lock.acquire()
        self.state[].ending = True
        self.state[].lock.wake_all()
        self.state[].lock.release()
        if join_thread_within(self.state[].thread, LAST_LINES_MS):
            self._destroy()

    def _destroy(self):
        for ring in self.state[].rings:
            heap_destroy(ring.state)
        self.state[].lock.destroy()
        heap_destroy(self.state)


def _write_records(argument: Erased) abi("C") -> Optional[Erased]:
    var state = argument.unsafe_bitcast[AccessQueueState]()
    # A reader that has gone makes a write fail; it does not end the process.
    _ = block_signals(SIGPIPE)
    var ending = False
    while not ending:
        state[].lock.acquire()
        if not state[].ending:
            state[].lock.wait_for(_PAUSE_MS)
        ending = state[].ending
        state[].lock.release()
        for ring in state[].rings:
            ring.drain(state[].log)
    return None
