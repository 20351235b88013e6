"""Passes the records of requests from workers to a thread that writes them.

Each worker has its own ring, which only it fills and only the writing thread
empties. So a worker never waits for a reader; if its ring is full, the record is
dropped and counted. The thread looks every 20 ms, and sooner if a ring becomes a
quarter full.
"""

from std.atomic import Atomic, Ordering

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.core.text_buffer import TextBuffer
from flare.http.exchange import Exchange
from flare.runtime.line_queue import LAST_LINES_MS
from flare.runtime.octet_ring import OctetRing, OctetRingState
from flare.sys.clock import monotonic_ns, unix_us
from flare.sys.errno import EINVAL, ENOMEM
from flare.sys.file import STANDARD_OUTPUT
from flare.sys.file_writing import open_to_append
from flare.sys.process import block_signals
from flare.sys.signal import SIGPIPE
from flare.sys.thread import Lock, join_thread_within, start_thread

from .access_entry import FACTS_OCTETS, put_record
from .access_facts import AccessEvent, AccessFacts, AccessFields
from .access_format import AccessFormat, AccessOptions, append_line
from .access_outlet import AccessOutlet
from .access_record import AccessRecord

comptime RING_OCTETS = 512 * 1024
"""How many octets of one worker's records may wait: about 2,000 records with
the head of a browser.
"""
comptime _FULL_OCTETS = RING_OCTETS // 4
comptime _PAUSE_MS = 20
comptime _FILE_MODE = 0o640
comptime _NS_PER_US = 1_000


struct AccessRing(Movable):
    """The records of one worker."""

    var entries: OctetRingState
    """The records."""
    var fields: AccessFields
    """The fields that records keep."""
    var target_octets_max: Int
    """The most octets of a request target that a record keeps."""
    var queue: Erased
    """The queue whose thread empties the ring."""

    def __init__(out self, options: AccessOptions, queue: Erased):
        """Creates an empty ring with all its memory.

        Args:
            options: The contents of the records.
            queue: The queue whose thread empties the ring.
        """
        self.entries = OctetRingState(RING_OCTETS)
        self.fields = options.format.fields()
        self.target_octets_max = options.target_octets_max
        self.queue = queue

    @staticmethod
    def entries_of(ring: PointerTo[Self]) -> OctetRing:
        """Returns a handle to the records.

        Args:
            ring: The ring.

        Returns:
            The handle.
        """
        return OctetRing(
            Pointer(to=ring[].entries).unsafe_origin_cast[MutUntrackedOrigin]()
        )


struct AccessQueue(Movable):
    """All rings of a server. Only the functions below use it."""

    var options: AccessOptions
    """How records are written."""
    var outlet: AccessOutlet
    """The destination of lines."""
    var rings: List[PointerTo[AccessRing]]
    """One ring for each worker."""
    var lock: Lock
    """Guards `is_ending`; the writing thread sleeps on it."""
    var is_asleep: UInt32
    """1 while the writing thread sleeps or is about to; atomic."""
    var is_ending: Bool
    """Whether the workers have ended."""
    var thread: UInt64
    """The writing thread."""
    var record: AccessRecord
    """The record that the writing thread fills again and again."""
    var line: TextBuffer
    """The line of that record."""
    var lines: TextBuffer
    """Whole lines that are not written yet."""

    def __init__(out self, options: AccessOptions, descriptor: Int32):
        """Creates a queue without rings.

        Args:
            options: How records are written.
            descriptor: The destination of lines.
        """
        self.options = options
        self.outlet = AccessOutlet(descriptor)
        self.rings = []
        self.lock = Lock.create()
        self.is_asleep = 0
        self.is_ending = False
        self.thread = 0
        self.record = AccessRecord()
        self.line = TextBuffer()
        self.lines = TextBuffer()


def begin_queue(options: AccessOptions, workers: Int) -> Int:
    """Opens the file of a log, and starts the writing thread.

    Args:
        options: How records are written.
        workers: The number of workers.

    Returns:
        The address of the queue, or the negated errno of the file. It is
        `-EINVAL` if the path contains a NUL, and `-ENOMEM` if no thread could
        be started.
    """
    var descriptor = Int(STANDARD_OUTPUT)
    if options.file.find("\0") >= 0:
        # The kernel would open the file of the part before.
        return -EINVAL
    if options.file.byte_length() > 0:
        descriptor = open_to_append(options.file, _FILE_MODE)
        if descriptor < 0:
            return descriptor
    var queue = heap_create(AccessQueue(options, Int32(descriptor)))
    for _ in range(workers):
        queue[].rings.append(
            heap_create(AccessRing(options, queue.unsafe_bitcast[NoneType]()))
        )
    var started = start_thread(_write_records, queue.unsafe_bitcast[NoneType]())
    if started[0] < 0:
        _destroy(queue)
        return -ENOMEM
    queue[].thread = started[1]
    return Int(queue)


def ring_of(queue: Erased, worker: Int) -> Erased:
    """Returns the ring of a worker.

    Args:
        queue: The queue.
        worker: The worker's number.

    Returns:
        The ring.
    """
    return (
        queue.unsafe_bitcast[AccessQueue]()[]
        .rings.unsafe_get(worker)
        .unsafe_bitcast[NoneType]()
    )


def put_in_ring(ring: Erased, exchange: Exchange, event: AccessEvent) -> Bool:
    """Puts the record of a request into a ring. Call it on the worker's thread.

    Args:
        ring: The ring of the worker.
        exchange: The request.
        event: How it ended.

    Returns:
        False if there is no room.
    """
    var r = ring.unsafe_bitcast[AccessRing]()
    var entries = AccessRing.entries_of(r)
    if not put_record(
        entries, exchange, event, r[].fields, r[].target_octets_max
    ):
        return False
    if entries.seems_fuller_than(_FULL_OCTETS):
        _wake(r[].queue.unsafe_bitcast[AccessQueue]())
    return True


def end_queue(queue: Erased):
    """Writes the remaining records and ends the thread. All workers must have
    ended.

    If the log is stuck for a second, the server abandons its thread and leaks
    its memory.

    Args:
        queue: The queue.
    """
    var q = queue.unsafe_bitcast[AccessQueue]()
    q[].lock.acquire()
    q[].is_ending = True
    q[].lock.wake_all()
    q[].lock.release()
    if join_thread_within(q[].thread, LAST_LINES_MS):
        _destroy(q)


def _destroy(q: PointerTo[AccessQueue]):
    for ring in q[].rings:
        heap_destroy(ring)
    q[].outlet.close()
    q[].lock.destroy()
    heap_destroy(q)


@no_inline
def _wake(q: PointerTo[AccessQueue]):
    # A thread that is about to sleep may be missed: it looks again in 20 ms.
    var asleep = Pointer(to=q[].is_asleep)
    if Atomic[UInt32].load[ordering=Ordering.ACQUIRE](asleep) == 1:
        # Until the thread runs, the next records need not wake it again.
        Atomic[UInt32].store[ordering=Ordering.RELEASE](asleep, 0)
        q[].lock.acquire()
        q[].lock.wake_one()
        q[].lock.release()


def _write_records(argument: Erased) abi("C") -> Optional[Erased]:
    var q = argument.unsafe_bitcast[AccessQueue]()
    # A reader that has gone makes a write fail; it does not end the process.
    _ = block_signals(SIGPIPE)
    var is_ending = False
    while not is_ending:
        is_ending = _sleep(q)
        # Both clocks are read once: a record has the time of one of them.
        var offset_ns = unix_us() * _NS_PER_US - monotonic_ns()
        for ring in q[].rings:
            drain(q, AccessRing.entries_of(ring), offset_ns)
        _write_lines(q)
    return None


def _sleep(q: PointerTo[AccessQueue]) -> Bool:
    q[].lock.acquire()
    if not q[].is_ending:
        var asleep = Pointer(to=q[].is_asleep)
        Atomic[UInt32].store[ordering=Ordering.RELEASE](asleep, 1)
        q[].lock.wait_for(_PAUSE_MS)
        Atomic[UInt32].store[ordering=Ordering.RELEASE](asleep, 0)
    var is_ending = q[].is_ending
    q[].lock.release()
    return is_ending


def drain(q: PointerTo[AccessQueue], entries: OctetRing, offset_ns: Int):
    """Writes the records that wait in a ring. Call it on the writing thread.

    Those that are added meanwhile wait for the next call, so that a busy worker
    does not keep the thread from the rings of others.

    Args:
        q: The queue.
        entries: The ring.
        offset_ns: The wall clock minus the monotonic clock.
    """
    for _ in range(entries.waiting() // FACTS_OCTETS):
        var entry = entries.oldest()
        if not entry:
            return
        var octets = entry.unsafe_value()
        q[].record.load(
            octets.unsafe_ptr().unsafe_bitcast[AccessFacts]()[],
            octets[FACTS_OCTETS:],
            offset_ns,
        )
        # The record has copied all.
        entries.drop_oldest()
        if q[].options.format == AccessFormat.FUNCTION:
            q[].options.write(q[].record)
        else:
            _add_line(q)


def _add_line(q: PointerTo[AccessQueue]):
    ref line = q[].line
    append_line(line, q[].record, q[].options.format)
    line.append("\n")
    if len(q[].lines) + len(line) > q[].outlet.write_octets_max:
        _write_lines(q)
    q[].lines.append(line.span())
    line.shorten(len(line))


def _write_lines(q: PointerTo[AccessQueue]):
    if len(q[].lines) > 0:
        q[].outlet.write(q[].lines.span())
        q[].lines.shorten(len(q[].lines))
