"""Runs one worker of a server: accepts, serves, and ends when told."""

from flare.core import (
    Erased,
    PointerTo,
    heap_create,
    heap_destroy,
)
from flare.runtime.current import current_reactor, set_current_reactor
from flare.runtime.operation import CANCELLED, Operation

from .connection import Connection
from .read_ahead import feed_starved
from .statistics import WorkerStatistics
from .worker_state import ListenerState, WorkerState

comptime _ACCEPT_PAUSE_MS = 100


@fieldwise_init
struct Worker(TrivialRegisterPassable):
    """Names a worker of a server."""

    var state: PointerTo[WorkerState]
    """The heap state."""

    def listen(self, descriptor: Int32):
        """Adds a listening socket; called before `begin`.

        Args:
            descriptor: The socket; it stays open until `run` has returned.
        """
        var w = self.state
        var listener = heap_create(
            ListenerState(descriptor, w.unsafe_bitcast[NoneType]())
        )
        listener[].accept.owner = listener.unsafe_bitcast[NoneType]()
        listener[].accept.complete = _on_accept
        w[].listeners.append(listener)

    def run(self):
        """Serves until `stop` was called and every connection has ended."""
        var before = current_reactor()
        set_current_reactor(self.state[].reactor)
        self.begin()
        while not self.is_done():
            self.turn()
        set_current_reactor(before)

    def begin(self):
        """Begins to accept connections."""
        var w = self.state
        w[].accept_task.owner = w.unsafe_bitcast[NoneType]()
        w[].accept_task.fire = _on_accept_timer
        w[].slot_freed = _on_slot_freed
        w[].accept_timer.owner = (
            Pointer(to=w[].accept_task)
            .unsafe_origin_cast[MutUntrackedOrigin]()
            .unsafe_bitcast[NoneType]()
        )
        self._resume_accepting()
        self._count()

    def turn(self):
        """Runs one turn of the worker's loop."""
        var w = self.state
        w[].reactor.turn(self._turn_limit_ms())
        if len(w[].starved) > 0 and not w[].reactor.buffers().is_exhausted():
            feed_starved(w)
        self._count()
        if w[].stopping and w[].reactor.now_ms() >= w[].stop_deadline_ms:
            self.abort_all()

    def stop(self):
        """Begins to end: no new connection, and no new request on old ones.

        Called on the worker's thread.
        """
        var w = self.state
        if w[].stopping:
            return
        w[].stopping = True
        w[].stop_deadline_ms = (
            w[].reactor.refresh_now_ms() + w[].config.shutdown_timeout_ms
        )
        self._cancel_accepts()
        while len(w[].waiting) > 0:
            w[].reactor.close(w[].waiting.pop())
        if w[].accept_timer.is_armed():
            w[].reactor.timers().cancel(
                Pointer(to=w[].accept_timer).unsafe_origin_cast[
                    MutUntrackedOrigin
                ]()
            )
        for slot in w[].connections.handles():
            var c = w[].connections.find(slot)
            if c:
                Connection(c.value()).stop()

    def destroy(self):
        """Frees the worker and its reactor; `run` has returned."""
        var w = self.state
        w[].free_spares()
        w[].reactor.destroy()
        w[].connections.destroy()
        heap_destroy(w)

    def add(self, descriptor: Int32) -> Bool:
        """Serves a socket that somebody else has accepted.

        Args:
            descriptor: The socket; it belongs to the worker from now on.

        Returns:
            False if there is no room for it.
        """
        var w = self.state
        if not Connection.begin(w, descriptor):
            return False
        self._count_accepted()
        return True

    def is_done(self) -> Bool:
        """Tells whether the worker has ended.

        Returns:
            True after `stop`, when no connection is left.
        """
        var w = self.state
        if not w[].stopping or w[].connections.lent() > 0:
            return False
        for listener in w[].listeners:
            if not _accept_of(listener).is_idle():
                return False
        return True

    def end_turn(self):
        """Keeps the present turn from waiting: nothing more may happen."""
        var w = self.state
        w[].reactor.post(_nothing, w.unsafe_bitcast[NoneType]())

    def _resume_accepting(self):
        var w = self.state
        w[].accept_paused = False
        if w[].stopping:
            return
        for listener in w[].listeners:
            if _accept_of(listener).is_idle():
                w[].reactor.submit(_accept_of(listener))

    def _cancel_accepts(self):
        for listener in self.state[].listeners:
            self.state[].reactor.cancel(_accept_of(listener))

    def _turn_limit_ms(self) -> Int:
        var w = self.state
        if not w[].stopping:
            return -1
        return max(w[].stop_deadline_ms - w[].reactor.now_ms(), 0) + 1

    def abort_all(self):
        """Ends every connection at once; after `stop`."""
        var w = self.state
        for slot in w[].connections.handles():
            var c = w[].connections.find(slot)
            if c:
                Connection(c.value()).abort()
        w[].stop_deadline_ms = w[].reactor.now_ms() + 10

    @always_inline
    def _count(self):
        var w = self.state
        WorkerStatistics.set(
            Pointer(to=w[].statistics[].requests_in_flight), w[].in_flight
        )
        WorkerStatistics.set(
            Pointer(to=w[].statistics[].fibers),
            w[].reactor.state[].fibers.busy(),
        )
        WorkerStatistics.set(
            Pointer(to=w[].statistics[].receive_buffers),
            w[].reactor.buffers().lent(),
        )
        WorkerStatistics.set(
            Pointer(to=w[].statistics[].timers),
            w[].reactor.timers().armed_count(),
        )

    @always_inline
    def _count_accepted(self):
        var w = self.state
        WorkerStatistics.add(
            Pointer(to=w[].statistics[].connections_accepted), 1
        )
        WorkerStatistics.set(
            Pointer(to=w[].statistics[].connections), w[].connections.lent()
        )

    def _pause_accepting(self):
        var w = self.state
        w[].accept_paused = True
        self._cancel_accepts()
        w[].reactor.timers().arm(
            Pointer(to=w[].accept_timer).unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
            w[].reactor.now_ms() + _ACCEPT_PAUSE_MS,
        )


@always_inline
def _accept_of(listener: PointerTo[ListenerState]) -> Operation:
    return Operation(
        Pointer(to=listener[].accept).unsafe_origin_cast[MutUntrackedOrigin]()
    )


def _on_accept(operation: Operation):
    var listener = (
        operation.state[].owner.value().unsafe_bitcast[ListenerState]()
    )
    var worker = Worker(listener[].worker.unsafe_bitcast[WorkerState]())
    var w = worker.state
    var result = operation.result()
    if result >= 0:
        if not worker.add(Int32(result)):
            # What was accepted already is served when a slot is free; later
            # ones stay in the listen queue.
            w[].waiting.append(Int32(result))
            w[].accept_paused = True
            worker._cancel_accepts()
    elif result != CANCELLED:
        # No descriptor or no memory is left, or the peer gave up already.
        worker._pause_accepting()
    if worker.is_done():
        worker.end_turn()
    elif operation.is_idle() and not w[].accept_paused and not w[].stopping:
        w[].reactor.submit(operation)


def _on_slot_freed(owner: Erased):
    var worker = Worker(owner.unsafe_bitcast[WorkerState]())
    var w = worker.state
    if worker.is_done():
        worker.end_turn()
    elif len(w[].waiting) > 0:
        _ = worker.add(w[].waiting.pop(0))
    elif w[].accept_paused and not w[].accept_timer.is_armed():
        worker._resume_accepting()


def _nothing(owner: Erased):
    pass


def _on_accept_timer(owner: Erased):
    Worker(owner.unsafe_bitcast[WorkerState]())._resume_accepting()
