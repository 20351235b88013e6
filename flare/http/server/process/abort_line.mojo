"""Logs in one line which request ended the process.

A bad index, an overflowed stack or a failed allocation in a handler ends the
process by a signal; Mojo cannot unwind. The line is composed on the thread at
fault, in memory of its stack, from constant words. It allocates no memory and
contains no octets of a peer.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.http.exchange import ExchangeState
from flare.message import Method
from flare.runtime.fiber import FiberFunction
from flare.runtime.reactor import ReactorState
from flare.sys.fatal_signal import FatalSignals, fatal_signal_name
from flare.sys.file import STANDARD_ERROR, wait_writable, write_descriptor
from flare.sys.thread_cell import thread_word

from ..transport.worker_state import WorkerState

comptime _LINE_OCTETS_MAX = 512
comptime _ROUTE_OCTETS_MAX = 256
# How long a line may wait for its reader.
comptime _WRITE_MS = 100


struct _Watched(Movable):
    # The address of each worker's `ReactorState`; 0 while it does not run.
    var reactors: List[Int]
    # How the fibers that run handlers are told from all others.
    var finished: Int
    var supervised: Bool
    var signals: Optional[FatalSignals]

    def __init__(out self, workers: Int, supervised: Bool):
        self.reactors = List[Int](length=workers, fill=0)
        self.finished = 0
        self.supervised = supervised
        self.signals = None


@fieldwise_init
struct AbortLine(TrivialRegisterPassable):
    """Writes a line to standard error when a fault ends the process."""

    var _state: PointerTo[_Watched]

    @staticmethod
    def open(workers: Int, *, supervised: Bool) -> Self:
        """Watches for faults until `close`.

        Args:
            workers: The number of workers.
            supervised: Whether another process restarts this one. Then the
                process ends without the runtime's backtrace, which takes so
                long that the kernel would continue to accept connections for
                it.

        Returns:
            A handle.
        """
        var state = heap_create(_Watched(workers, supervised))
        state[].signals = FatalSignals.open(
            _write_line,
            state.unsafe_bitcast[NoneType](),
            ends_at_once=supervised,
        )
        return Self(state)

    def close(self):
        """Restores the signals' actions, after all workers have left."""
        if self._state[].signals:
            self._state[].signals.value().close()
        heap_destroy(self._state)

    def enter(self, worker: PointerTo[WorkerState]):
        """Records the loop that a worker runs.

        Args:
            worker: The worker; called on its thread.
        """
        self._state[].finished = _address(worker[].functions.finished)
        self._state[].reactors[worker[].index] = Int(worker[].reactor.state)

    def leave(self, worker: PointerTo[WorkerState]):
        """Records that a worker's loop has ended.

        Args:
            worker: The worker.
        """
        self._state[].reactors[worker[].index] = 0


def _address(function: FiberFunction) -> Int:
    var copy = function
    return Pointer(to=copy).unsafe_bitcast[Int]()[]


def _write_line(number: Int, argument: Erased, unknown: Bool) -> Bool:
    var watched = argument.unsafe_bitcast[_Watched]()
    var worker = _worker_of_thread(watched)
    if worker < 0 and not unknown:
        return False
    var line = _Line()
    line.append("flare: ")
    if worker < 0:
        line.append("a thread that is no worker")
    else:
        line.append("worker ")
        line.append_number(worker)
    line.append(" died of ")
    line.append(fatal_signal_name(number))
    if worker >= 0:
        _append_request(watched, line)
    if watched[].supervised:
        line.append("; it is restarted\n")
    else:
        line.append("; the server ends\n")
    # If nothing reads standard error, the process must end all the same.
    if wait_writable(STANDARD_ERROR, _WRITE_MS):
        _ = write_descriptor(
            STANDARD_ERROR, Span(line.octets)[0 : line.octet_count]
        )
    return True


def _worker_of_thread(watched: PointerTo[_Watched]) -> Int:
    var reactor = thread_word()[]
    if reactor != 0:
        for i in range(len(watched[].reactors)):
            if watched[].reactors[i] == reactor:
                return i
    return -1


def _append_request(watched: PointerTo[_Watched], mut line: _Line):
    var reactor = PointerTo[ReactorState](unsafe_from_address=thread_word()[])
    var fiber = reactor[].fibers.current()
    if (
        not fiber
        or _address(fiber.value().state[].finished) != watched[].finished
    ):
        line.append(" outside of any request")
        return
    var x = fiber.value().state[].task.unsafe_bitcast[ExchangeState]()
    line.append(" in request ")
    line.append_number(x[].request_id)
    line.append(" (")
    var method = x[].head.method
    line.append(
        method.name() if method != Method.OTHER else "an extension method"
    )
    if x[].route.byte_length() > 0:
        line.append(" ")
        line.append(x[].route)
    else:
        line.append(", no route")
    line.append(")")


struct _Line(Movable):
    var octets: Array[UInt8, _LINE_OCTETS_MAX]
    var octet_count: Int

    def __init__(out self):
        self.octets = Array[UInt8, _LINE_OCTETS_MAX](fill=0)
        self.octet_count = 0

    def append(mut self, text: StaticString):
        var octets = text.as_bytes()
        for i in range(min(len(octets), _ROUTE_OCTETS_MAX)):
            # The remaining room is for the text after a long route.
            if self.octet_count < _LINE_OCTETS_MAX:
                self.octets[self.octet_count] = octets[i]
                self.octet_count += 1

    def append_number(mut self, number: Int):
        var divisor = 1
        while number // divisor >= 10:
            divisor *= 10
        while divisor > 0:
            if self.octet_count < _LINE_OCTETS_MAX:
                self.octets[self.octet_count] = UInt8(
                    48 + number // divisor % 10
                )
                self.octet_count += 1
            divisor //= 10
