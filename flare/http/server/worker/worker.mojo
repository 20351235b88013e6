"""Runs one worker of a server: accepts, serves, and ends when told."""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime.current import current_reactor, set_current_reactor
from flare.tls import TlsContext

from ..driver.connection import Connection
from ..driver.due import continue_due
from ..driver.starved import feed_starved
from ..driver.tls_connection import go_on_shaking_hands
from ..listening.protocols import HttpProtocols
from ..records.statistics import count, set_counter
from ..transport.buffered import (
    arm_tick,
    buffered_octets,
    is_full,
    is_short_of_room,
    stop_tick,
)
from ..transport.log_lines import log_line
from ..transport.worker_parts import (
    HANDSHAKE_STEPS_MAX,
    ListenerState,
    SLOW_TURN_LOG_MS,
)
from ..transport.worker_state import WorkerState
from .accepting import (
    admit,
    begin_accepting,
    close_spare,
    end_accepting,
    give_up_accepting,
    keep_spare,
    shed_connections,
    worker_has_ended,
)
from .content_room import begin_budget, feed_waiting
from .shedding import shed
from .trimming import arm_trimming, begin_trimming, end_trimming


@fieldwise_init
struct Worker(TrivialRegisterPassable):
    """A handle to a worker of a server."""

    var state: PointerTo[WorkerState]
    """The heap state."""

    def listen(
        self,
        descriptor: Int32,
        var tls: Optional[TlsContext] = None,
        *,
        is_shared: Bool = False,
        is_lent: Bool = False,
        protocols: HttpProtocols = HttpProtocols.ALL,
    ):
        """Adds a listening socket; called before `begin`.

        Args:
            descriptor: The socket; it stays open until `run` has returned.
            tls: The TLS context of its connections, if they are encrypted.
            is_shared: Whether other workers accept from it too.
            is_lent: Whether another process keeps it open.
            protocols: The versions of HTTP that its connections may speak.
        """
        var w = self.state
        var listener = heap_create(
            ListenerState(
                descriptor, w.unsafe_bitcast[NoneType](), is_shared, tls^
            )
        )
        listener[].is_lent = is_lent
        listener[].protocols = protocols
        listener[].accept.owner = listener.unsafe_bitcast[NoneType]()
        w[].listeners.append(listener)

    def prepare(self) -> Int:
        """Reserves the descriptor for answers under overload.

        Returns:
            0, or the negated errno if the worker should not serve.
        """
        return keep_spare(self.state)

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
        w[].reactor.watch_slow_turns(
            _on_slow_turn, w.unsafe_bitcast[NoneType]()
        )
        begin_budget(w)
        begin_trimming(w)
        begin_accepting(w)
        self._count()

    def turn(self):
        """Runs one turn of the worker's loop."""
        var w = self.state
        w[].reactor.turn(self._turn_limit_ms())
        ref end = w[].turn_end
        if len(end.due) > 0:
            continue_due(w)
        if (
            end.handshakes.steps_left < HANDSHAKE_STEPS_MAX
            or len(end.handshakes.waiting) > 0
        ):
            go_on_shaking_hands(w)
        if len(end.starved) > 0 and not w[].reactor.buffers().is_exhausted():
            feed_starved(w)
        if w[].budget.timer.is_armed() or is_full(w):
            _make_room(w)
        if not w[].trimming.timer.is_armed():
            arm_trimming(w)
        self._count()
        if w[].stopping and w[].reactor.now_ms() >= w[].stop_deadline_ms:
            self.abort_all()

    def stop(self):
        """Starts to stop: clients in the listen queue are the last that the
        worker serves.

        Called on the worker's thread.
        """
        var w = self.state
        if w[].stopping:
            return
        w[].stopping = True
        w[].stop_deadline_ms = (
            w[].reactor.refresh_now_ms() + w[].config.shutdown_timeout_ms
        )
        for slot in w[].connections.handles():
            var c = w[].connections.find(slot)
            if c:
                Connection(c.value()).stop()
        end_trimming(w)
        end_accepting(w)

    def leave(self):
        """Starts to stop, and leaves the sockets to another process.

        Called on the worker's thread.
        """
        for listener in self.state[].listeners:
            listener[].is_lent = True
        self.stop()

    def end_fibers(self):
        """Cancels fibers that outlived their request, after `run` has returned.
        """
        self.state[].reactor.end_fibers()

    def destroy(self):
        """Frees the worker and its reactor; `run` has returned."""
        var w = self.state
        close_spare(w)
        # Fibers that outlived their requests still use the exchanges; those of
        # lost fibers are in memory that the reactor lends.
        w[].reactor.close()
        w[].free_spares()
        w[].free_lost()
        w[].connections.destroy()
        w[].exchanges.slab.destroy()
        w[].outputs.usual.destroy()
        w[].outputs.large.destroy()
        w[].reactor.destroy()
        heap_destroy(w)

    def add(self, descriptor: Int32) -> Bool:
        """Serves a socket that another worker or caller has accepted.

        Args:
            descriptor: The socket; it belongs to the worker from now on.

        Returns:
            False if no slot is free.
        """
        return admit(self.state, descriptor)

    def shed_connections(self):
        """Closes idle connections, and others after their next response.

        Call it on the worker's thread.
        """
        _ = shed_connections(self.state)

    def is_done(self) -> Bool:
        """Returns whether the worker has ended.

        Returns:
            True after `stop`, when no connection is left.
        """
        return worker_has_ended(self.state)

    def _turn_limit_ms(self) -> Int:
        var w = self.state
        if not w[].stopping:
            return -1
        return max(w[].stop_deadline_ms - w[].reactor.now_ms(), 0) + 1

    def abort_all(self):
        """Ends every connection at once; after `stop`."""
        var w = self.state
        give_up_accepting(w)
        w[].exchanges.later.are_given_up = True
        for slot in w[].connections.handles():
            var c = w[].connections.find(slot)
            if c:
                Connection(c.value()).abort()
        w[].stop_deadline_ms = w[].reactor.now_ms() + 10

    @always_inline
    def _count(self):
        var w = self.state
        set_counter(w[].statistics[].requests_in_flight, w[].in_flight)
        set_counter(w[].statistics[].streams, w[].streams)
        set_counter(w[].statistics[].fibers, w[].reactor.state[].fibers.busy())
        set_counter(
            w[].statistics[].receive_buffers, w[].reactor.buffers().lent()
        )
        set_counter(w[].statistics[].buffered_octets, buffered_octets(w))
        set_counter(w[].statistics[].timers, w[].reactor.timers().armed_count())
        if w[].reactor.state[].outlets.lines:
            set_counter(
                w[].statistics[].log_lines_dropped,
                w[].reactor.state[].outlets.lines.value().dropped(),
            )


@no_inline
def _make_room(w: PointerTo[WorkerState]):
    """Checks the connections that hold much and those that wait, if the budget
    is short. The tick stays armed as long as a check may be due.
    """
    var is_waited_for = len(w[].budget.waiting) > 0
    if is_full(w) or (is_waited_for and is_short_of_room(w)):
        arm_tick(w)
        shed(w)
    if is_waited_for:
        feed_waiting(w)
    elif not is_full(w):
        stop_tick(w)


def _on_slow_turn(owner: Erased, busy_ms: Int):
    var w = owner.unsafe_bitcast[WorkerState]()
    count(w[].statistics[].slow_turns)
    var now_ms = w[].reactor.now_ms()
    if now_ms - w[].reports.slow_turn_ms < SLOW_TURN_LOG_MS:
        return
    w[].reports.slow_turn_ms = now_ms
    log_line(
        w,
        String(
            "flare: worker ",
            w[].index,
            " was busy for ",
            busy_ms,
            " ms in one turn; its newest request is ",
            w[].next_request_id - 1,
        ),
    )
