"""Runs one worker of a server: accepts, serves, and ends when told."""

from flare.core import Erased, PointerTo, heap_destroy, write_escaped
from flare.http.builders import error_response
from flare.http.exchange import ExchangeState
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.runtime.current import current_reactor, set_current_reactor
from flare.runtime.operation import CANCELLED, Operation
from flare.runtime.reactor import Reactor

from .connection import Connection
from .connection_state import ConnectionState
from .output import write_response
from .statistics import WorkerStatistics
from .worker_state import WorkerState

comptime _ACCEPT_PAUSE_MS = 100


@fieldwise_init
struct Worker(TrivialRegisterPassable):
    """Names a worker of a server."""

    var state: PointerTo[WorkerState]
    """The heap state."""

    def run(self):
        """Serves until `stop` was called and every connection has ended."""
        var w = self.state
        var before = current_reactor()
        set_current_reactor(w[].reactor)
        w[].accept.descriptor = w[].listener
        w[].accept.multishot = True
        w[].accept.owner = w.unsafe_bitcast[NoneType]()
        w[].accept.complete = _on_accept
        w[].accept_task.owner = w.unsafe_bitcast[NoneType]()
        w[].accept_task.fire = _on_accept_timer
        w[].accept_timer.owner = (
            Pointer(to=w[].accept_task)
            .unsafe_origin_cast[MutUntrackedOrigin]()
            .unsafe_bitcast[NoneType]()
        )
        if not w[].stopping:
            w[].reactor.submit(self._accept())
        while not self._is_done():
            w[].reactor.turn(self._turn_limit_ms())
            self._count()
            if w[].stopping and w[].reactor.now_ms() >= w[].stop_deadline_ms:
                self._abort_all()
        set_current_reactor(before)

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
        w[].reactor.cancel(self._accept())
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

    @always_inline
    def _accept(self) -> Operation:
        return Operation(
            Pointer(to=self.state[].accept).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )

    def _is_done(self) -> Bool:
        var w = self.state
        return (
            w[].stopping
            and w[].connections.lent() == 0
            and self._accept().is_idle()
        )

    def _turn_limit_ms(self) -> Int:
        var w = self.state
        if not w[].stopping:
            return -1
        return max(w[].stop_deadline_ms - w[].reactor.now_ms(), 0) + 1

    def _abort_all(self):
        var w = self.state
        for slot in w[].connections.handles():
            var c = w[].connections.find(slot)
            if c:
                Connection(c.value()).abort()
        w[].stop_deadline_ms = w[].reactor.now_ms() + 10

    @always_inline
    def _counter(self, index: Int) -> PointerTo[Int64]:
        return (
            self.state[]
            .statistics.unsafe_bitcast[Int64]()
            .unsafe_offset(index)
        )

    @always_inline
    def _count(self):
        var w = self.state
        WorkerStatistics.set(self._counter(3), w[].in_flight)
        WorkerStatistics.set(
            self._counter(6), w[].reactor.state[].fibers.busy()
        )
        WorkerStatistics.set(self._counter(7), w[].reactor.buffers().lent())
        WorkerStatistics.set(
            self._counter(8), w[].reactor.timers().armed_count()
        )

    @always_inline
    def _count_accepted(self):
        WorkerStatistics.add(self._counter(0), 1)
        WorkerStatistics.set(
            self._counter(1), self.state[].connections.lent()
        )

    def _pause_accepting(self):
        var w = self.state
        w[].accept_paused = True
        w[].reactor.cancel(self._accept())
        w[].reactor.timers().arm(
            Pointer(to=w[].accept_timer).unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
            w[].reactor.now_ms() + _ACCEPT_PAUSE_MS,
        )


def _on_accept(operation: Operation):
    var worker = Worker(
        operation.state[].owner.value().unsafe_bitcast[WorkerState]()
    )
    var w = worker.state
    var result = operation.result()
    if result >= 0:
        if not worker.add(Int32(result)):
            # The kernel keeps later ones in the listen queue.
            w[].reactor.close(Int32(result))
            worker._pause_accepting()
    elif result != CANCELLED:
        # No descriptor or no memory is left, or the peer gave up already.
        worker._pause_accepting()
    if operation.is_idle() and not w[].accept_paused and not w[].stopping:
        w[].reactor.submit(operation)


def _on_accept_timer(owner: Erased):
    var worker = Worker(owner.unsafe_bitcast[WorkerState]())
    var w = worker.state
    w[].accept_paused = False
    if worker._accept().is_idle() and not w[].stopping:
        w[].reactor.submit(worker._accept())


def run_handler[H: Handler](task: Erased):
    """Answers one request; what a fiber of a server runs.

    Parameters:
        H: The type of the handler.

    Args:
        task: The exchange.
    """
    var x = task.unsafe_bitcast[ExchangeState]()
    var c = x[].source.value().owner.unsafe_bitcast[ConnectionState]()
    var response: Response
    try:
        var handler = x[].handler.unsafe_bitcast[H]()
        response = handler[].serve(Request(unsafe_exchange=x))
    except e:
        if not x[].peer_gone and x[].content_status == 0:
            _report(c, x[].request_id, e)
        response = error_response(500)
    if x[].peer_gone:
        return
    if x[].content_status != 0:
        response = error_response(x[].content_status)
    write_response(c, response^)


@no_inline
def _report(c: PointerTo[ConnectionState], request_id: Int, error: Error):
    var w = c[].worker.unsafe_bitcast[WorkerState]()
    WorkerStatistics.add(
        w[].statistics.unsafe_bitcast[Int64]().unsafe_offset(4), 1
    )
    var text = String(error)
    var line = String(
        "flare: worker ", w[].index, " request ", request_id, " raised: "
    )
    write_escaped(text.as_bytes(), line)
    w[].config.log.line(line)
