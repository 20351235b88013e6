"""Sends systemd signs of life while all workers turn their loops.

The first worker asks all workers by their mailboxes, itself too, and the last
one to answer sends the sign. A worker answers in a turn of its loop. If its
handler computes without end, or waits for a lock, no sign is sent. A question
stays open until all workers have answered it, so a mailbox holds at most one of
them. Answers touch the state of the watchdog, which therefore lies on the heap
until all workers have ended.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime.reactor import Reactor
from flare.runtime.timer_task import TIMER_OF_TASK, TimerTask
from flare.runtime.timer_wheel import TimerEntry
from flare.sys.thread import Lock

from .registry import ServerRegistry
from .notify_socket import WATCHDOG_PARTS, NotifySocket
from ..transport.worker_state import WorkerState

comptime SIGN_OF_LIFE: StaticString = "WATCHDOG=1"
"""The notification that systemd waits for."""


struct _Question(Movable):
    var watchdog: PointerTo[_WatchdogState]
    var is_open: Bool

    def __init__(out self, watchdog: PointerTo[_WatchdogState]):
        self.watchdog = watchdog
        self.is_open = False


struct _WatchdogState(Movable):
    # Guards `open_count` and the questions.
    var lock: Lock
    # The answers that are awaited, and one while questions are being asked.
    var open_count: Int
    # By number of the worker.
    var questions: List[PointerTo[_Question]]
    var socket: NotifySocket
    var registry: ServerRegistry
    var period_ms: Int
    # The first worker's; none while it does not run.
    var reactor: Optional[Reactor]
    var timer: TimerEntry
    var task: TimerTask

    def __init__(
        out self, socket: NotifySocket, registry: ServerRegistry, period_ms: Int
    ):
        self.lock = Lock.create()
        self.open_count = 0
        self.questions = List[PointerTo[_Question]]()
        self.socket = socket.copy()
        self.registry = registry.copy()
        self.period_ms = period_ms
        self.reactor = None
        self.timer = TimerEntry(None, TIMER_OF_TASK)
        self.task = TimerTask(Erased(unsafe_from_address=64), _on_timer)


@fieldwise_init
struct Watchdog(TrivialRegisterPassable):
    """A handle to the state of the questions to the workers of a process."""

    var _state: PointerTo[_WatchdogState]

    @staticmethod
    def create(
        socket: NotifySocket, registry: ServerRegistry, workers: Int
    ) -> Optional[Self]:
        """Creates a watchdog, if systemd has set a watchdog timeout.

        Args:
            socket: The socket to systemd.
            registry: The registry that lists the running workers.
            workers: How many there will be.

        Returns:
            A handle; call `destroy` when all workers have ended.
        """
        var watchdog_ms = socket.watchdog_ms()
        if not watchdog_ms:
            return None
        var period_ms = max(watchdog_ms.value() // WATCHDOG_PARTS, 1)
        var w = heap_create(_WatchdogState(socket, registry, period_ms))
        for _ in range(workers):
            w[].questions.append(heap_create(_Question(w)))
        w[].task.owner = w.unsafe_bitcast[NoneType]()
        w[].timer.owner = (
            Pointer(to=w[].task)
            .unsafe_origin_cast[MutUntrackedOrigin]()
            .unsafe_bitcast[NoneType]()
        )
        return Self(w)

    def destroy(self):
        """Frees the watchdog; no worker runs any more."""
        for question in self._state[].questions:
            heap_destroy(question)
        self._state[].lock.destroy()
        heap_destroy(self._state)

    def begin(self, reactor: Reactor):
        """Starts to ask the workers.

        Args:
            reactor: The first worker's; called on its thread.
        """
        self._state[].reactor = reactor
        _on_timer(self._state.unsafe_bitcast[NoneType]())

    def end(self):
        """Stops asking; called on the first worker's thread."""
        var w = self._state
        if w[].timer.is_armed():
            w[].reactor.value().timers().cancel(_timer(w))
        w[].reactor = None

    def leave(self, worker: Int):
        """Removes a worker that has ended from the questions.

        Args:
            worker: Its number.
        """
        _answer(self._state[].questions[worker].unsafe_bitcast[NoneType]())


def _on_timer(owner: Erased):
    var w = owner.unsafe_bitcast[_WatchdogState]()
    var reactor = w[].reactor.value()
    reactor.timers().arm(_timer(w), reactor.now_ms() + w[].period_ms)
    w[].lock.acquire()
    var is_answered = w[].open_count == 0
    if is_answered:
        w[].open_count = 1
    w[].lock.release()
    if is_answered:
        w[].registry.visit_workers(_ask, owner)
        _close_one(w)


def _ask(owner: Erased, worker: PointerTo[WorkerState]):
    var w = owner.unsafe_bitcast[_WatchdogState]()
    var question = w[].questions[worker[].index]
    w[].lock.acquire()
    question[].is_open = True
    w[].open_count += 1
    w[].lock.release()
    worker[].reactor.post(_answer, question.unsafe_bitcast[NoneType]())


def _answer(argument: Erased):
    var question = argument.unsafe_bitcast[_Question]()
    var w = question[].watchdog
    w[].lock.acquire()
    var was_open = question[].is_open
    question[].is_open = False
    w[].lock.release()
    if was_open:
        _close_one(w)


def _close_one(w: PointerTo[_WatchdogState]):
    w[].lock.acquire()
    w[].open_count -= 1
    var is_last = w[].open_count == 0
    w[].lock.release()
    if is_last:
        # The next sign comes soon enough if this one finds no room.
        _ = w[].socket.try_send(SIGN_OF_LIFE, waits=False)


@always_inline
def _timer(w: PointerTo[_WatchdogState]) -> PointerTo[TimerEntry]:
    return Pointer(to=w[].timer).unsafe_origin_cast[MutUntrackedOrigin]()
