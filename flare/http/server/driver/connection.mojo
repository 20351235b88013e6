"""Drives one connection of a server: the only driver there is.

Octets arrive by `connection_operations.mojo`; `process` feeds them to the
protocol machine and starts the handler of each request on a fiber; the
handler's response goes out through `output`. Requests of one connection are
answered strictly in order: the next head is read when the previous response is
complete, and all responses that are ready leave in one send.

A connection ends in stages (`Stage`) and its slot is free again only when no
operation is in flight and no fiber uses it.
"""

from flare.core import PointerTo
from flare.http.builders import refusal, service_unavailable
from flare.http.exchange import Carrier, Exchange
from flare.proto.h1 import H1Error, H1Event
from flare.proto.h1.state import SideState
from flare.runtime.fiber import Fiber

from ..transport.buffered import is_overfull, may_take_content, recount
from ..transport.connection_state import ConnectionState, Stage, Wait
from ..transport.deadline import (
    arm_timer,
    await_reader,
    choose_deadline,
    count_content,
    go_on_awaiting_reader,
    hasten_handshake,
    is_content_late,
)
from ..transport.ending import (
    close,
    drop_exchange,
    end_sending,
    give_exchange,
    renew_exchange,
)
from ..transport.window import (
    announces_too_much,
    consume,
    drop_input,
    hand_head_over,
    window,
)
from ..transport.output import (
    end_at_once,
    flush,
    has_output,
    has_room_for_answer,
    machine,
    worker_of,
    write_response,
)
from ..transport.proxy_header import take_proxy_header
from ..transport.read_ahead import (
    READ_AHEAD_OCTETS,
    adjust_receive,
    receive_operation,
    submit_receive,
)
from ..records.statistics import WorkerStatistics
from ..exchange.stream import stop_stream

comptime _DRAINED_OCTETS_MAX = 256 * 1024
# Who waited for the worker to have room was not too slow.
comptime _LATE = 408


@fieldwise_init
struct Connection(TrivialRegisterPassable):
    """Names a connection of a worker."""

    var state: PointerTo[ConnectionState]
    """The heap state."""

    def process(self):
        """Goes as far as the received octets allow; called by the loop."""
        if self.state[].processing:
            return
        self.state[].processing = True
        while self._advance():
            pass
        self.state[].processing = False
        if self.state[].stage <= Stage.LAST_SEND:
            flush(self.state)
        self.settle()

    @always_inline
    def _advance(self) -> Bool:
        """Handles one event of the protocol.

        Returns:
            False if there is nothing to do before something else happens.
        """
        var c = self.state
        if c[].stage != Stage.OPEN:
            return False
        var octets = window(c)
        if c[].upgraded:
            # The octets belong to the handler.
            if c[].exchange and (len(octets) > 0 or c[].peer_ended):
                _wake(c[].exchange.unsafe_value()[].waiter)
            return False
        if not c[].exchange:
            if len(octets) == 0 and not c[].peer_ended:
                return False
            if c[].proxy_header_due:
                return take_proxy_header(c)
            # Who has yet to send the rest of it may read no answer before.
            if not has_room_for_answer(c) and c[].h1.request != SideState.BODY:
                return False
            c[].exchange = worker_of(c)[].take_exchange()
        var x = c[].exchange.unsafe_value()
        if c[].running and (
            x[].content_complete
            or x[].content_status != 0
            or (not x[].content_whole and len(x[].content) >= READ_AHEAD_OCTETS)
            or not may_take_content(c)
        ):
            return False
        try:
            var event = machine(c).next_event(
                octets,
                Pointer(to=x[].head).unsafe_origin_cast[MutUntrackedOrigin](),
            )
            return self._handle(event, x)
        except e:
            return self._refuse(e)

    @always_inline
    def _handle(self, event: H1Event, x: Exchange) -> Bool:
        var c = self.state
        var pool = worker_of(c)[].reactor.buffers()
        if event.kind == H1Event.REQUEST_HEAD:
            hand_head_over(c, x, event.consumed)
            if c[].input:
                consume(c, pool, event.consumed)
            self._begin_exchange(x)
            if machine(c).end_bodiless():
                x[].content_complete = True
                return self._start(x)
            return True
        if event.kind == H1Event.DATA:
            if not c[].running and not c[].starting:
                return self._drain(event)
            if not self._add_content(x, event):
                return False
            consume(c, pool, event.consumed)
            return True
        if event.kind == H1Event.TRAILERS and (c[].running or c[].starting):
            worker_of(c)[].make_room(x[].trailers, event.consumed)
            x[].trailers.append(window(c)[: event.consumed])
        consume(c, pool, event.consumed)
        if event.kind == H1Event.END_OF_MESSAGE:
            x[].content_complete = True
            if c[].starting:
                return self._start_behind(x)
            if not c[].running:
                drop_exchange(c)
                return True
            _wake(x[].waiter)
            return False
        if event.kind == H1Event.TRAILERS:
            return True
        if event.kind == H1Event.NEED_OCTETS:
            if c[].running and announces_too_much(c, x):
                self.refuse_content(413)
                return False
            if c[].starting:
                return self._start_behind(x)
            if not c[].running and len(window(c)) == 0:
                drop_exchange(c)
            return event.consumed > 0
        if event.kind == H1Event.GOING_AWAY:
            drop_exchange(c)
            self._end()
            return False
        if event.kind == H1Event.RESET:
            self.peer_is_gone()
            return False
        return False

    def _begin_exchange(self, x: Exchange):
        var c = self.state
        var w = worker_of(c)
        c[].starting = True
        c[].requests += 1
        x[].request_id = w[].next_request_id
        x[].started_ms = w[].reactor.now_ms()
        if not x[].carrier:
            x[].handler = w[].handler
            x[].worker = w[].index
            x[].carrier = Carrier(
                c.unsafe_bitcast[NoneType](),
                Pointer(to=w[].functions.carrier).unsafe_origin_cast[
                    MutUntrackedOrigin
                ](),
            )
        x[].content_octets_max = w[].config.max_body_size
        x[].content_budget_ms = w[].config.body_timeout_ms
        w[].next_request_id += 1
        WorkerStatistics.add(Pointer(to=w[].statistics[].requests), 1)
        if c[].requests >= w[].config.max_keepalive_requests or w[].stopping:
            machine(c).close_after_exchange()

    @always_inline
    def _add_content(self, x: Exchange, event: H1Event) -> Bool:
        """Takes content in.

        Returns:
            False if it is too much; then the window is dropped, and the
            exchange may be over.
        """
        var c = self.state
        var octets = window(c)[event.start : event.start + event.length]
        x[].content_received += event.length
        if announces_too_much(c, x):
            self.refuse_content(413)
            return False
        # Content that lies whole behind its head is not copied.
        if (
            event.length == x[].head.content_length
            and c[].input_shared
            and x[].read_buffer
        ):
            x[].content_view = octets.unsafe_ptr()
            x[].content_view_octets = event.length
        else:
            worker_of(c)[].make_content_room(x, event.length)
            x[].content.append(octets)
        count_content(c, event.length)
        if x[].waiter:
            if x[].content_streamed:
                _wake(x[].waiter)
        return True

    def _drain(self, event: H1Event) -> Bool:
        """Drops content that came after its response was written."""
        var c = self.state
        # Chunk sizes and extensions count too.
        c[].drained += event.consumed
        consume(c, worker_of(c)[].reactor.buffers(), event.consumed)
        # Who still sends is not idle, but holds no stop up.
        if c[].wait == Wait.NEXT_REQUEST and not worker_of(c)[].stopping:
            c[].wait = Wait.NOTHING
        if c[].drained <= _DRAINED_OCTETS_MAX:
            return True
        c[].lingers = True
        drop_exchange(c)
        self._end()
        return False

    @no_inline
    def _start_behind(self, x: Exchange) -> Bool:
        """Starts a request that did not end with its head."""
        return self._start(x)

    @always_inline
    def _start(self, x: Exchange) -> Bool:
        """Runs the handler on a fiber until it waits or returns."""
        var c = self.state
        var w = worker_of(c)
        c[].starting = False
        c[].running = True
        w[].in_flight += 1
        var fibers = w[].reactor.state[].fibers
        if (
            w[].in_flight <= w[].config.max_requests_in_flight
            and not is_overfull(w)
        ):
            var fiber = fibers.start(
                w[].reactor,
                w[].run,
                x.unsafe_bitcast[NoneType](),
                w[].functions.finished,
                x[].started_ms + w[].config.handler_timeout_ms,
                w[].functions.lost,
            )
            if fiber:
                x[].fiber = fiber
                fibers.resume(fiber.unsafe_value())
                return True
        WorkerStatistics.add(Pointer(to=w[].statistics[].refused), 1)
        write_response(c, service_unavailable())
        self.finish_exchange(x)
        return True

    @always_inline
    def finish_exchange(self, x: Exchange):
        """Ends a request whose response is written.

        Args:
            x: The request.
        """
        var c = self.state
        var w = worker_of(c)
        c[].running = False
        c[].awaits_room = False
        w[].in_flight -= 1
        c[].drained = 0
        var may_send_more = x[].head.keep_alive
        if c[].stage != Stage.OPEN:
            give_exchange(c, x)
        elif c[].upgraded:
            give_exchange(c, x)
            c[].lingers = True
            self._end()
        elif machine(c).wants_close():
            give_exchange(c, x)
            if len(window(c)) > 0 or c[].h1.request == SideState.BODY:
                c[].lingers = True
            c[].may_send_more = may_send_more
            self._end()
        elif len(window(c)) > 0 and has_room_for_answer(c):
            renew_exchange(c, x)
        else:
            give_exchange(c, x)

    def _refuse(self, error: H1Error) -> Bool:
        """Answers a peer that broke the protocol or a limit."""
        var c = self.state
        var is_answered = not c[].running and c[].h1.response == SideState.DONE
        if not is_answered and c[].exchange.value()[].content_status == 0:
            WorkerStatistics.add(
                Pointer(to=worker_of(c)[].statistics[].refused), 1
            )
        WorkerStatistics.count_rule(worker_of(c)[].statistics, error.rule)
        c[].lingers = True
        drop_input(c, worker_of(c)[].reactor.buffers())
        c[].gathered.clear()
        var x = c[].exchange.value()
        var status = error.status if error.status >= 400 else 400
        if c[].running:
            # The handler has the content it will get; its answer is replaced,
            # unless it has begun.
            x[].content_status = status
            x[].content_rule = error.rule
            _wake(x[].waiter)
            return False
        if is_answered:
            # Only the rest of a request whose answer is written is at fault.
            give_exchange(c, x)
            self._end()
            return False
        c[].starting = False
        write_response(c, refusal(status, error.rule))
        give_exchange(c, x)
        self._end()
        return False

    def refuse_content(self, status: Int):
        """Gives the content up that a handler waits for or was to get.

        Args:
            status: What answers the request, whatever the handler returns.
        """
        machine(self.state).stop_receiving()
        _ = self._refuse(H1Error.peer(status, "the content"))

    def _end(self):
        """Closes once all that was written is sent."""
        if self.state[].stage == Stage.OPEN:
            self.state[].stage = Stage.LAST_SEND

    def peer_is_gone(self):
        """Ends at once: nobody is left to read an answer."""
        var c = self.state
        if c[].stage == Stage.CLOSING:
            return
        end_at_once(c)
        if c[].running:
            var x = c[].exchange.value()
            x[].peer_gone = True
            x[].fiber.value().cancel()
            # Fibers that the handler has spawned may wait for the peer too.
            _wake(x[].waiter)
            _wake(x[].stream.waiter)

    def end_behind_answer(self):
        """Drops what stands behind the request whose handler runs, or whose
        answer is sent: the connection ends behind that."""
        var c = self.state
        # Nothing that comes later may be read as a request either.
        machine(c).stop_receiving()
        c[].lingers = True
        drop_input(c, worker_of(c)[].reactor.buffers())
        c[].gathered.clear()
        if not c[].running:
            self._end()

    def peer_has_ended(self):
        """Lets the next wait of the handler fail.

        What came in front of the end counts, and an answer that needs no more
        waiting is sent: the peer may still read.
        """
        var x = self.state[].exchange.value()
        if not x[].peer_ended:
            x[].peer_ended = True
            x[].fiber.value().cancel()

    def settle(self):
        """Decides what the connection waits for next, or ends it."""
        var c = self.state
        recount(c)
        if (
            c[].peer_ended
            and c[].running
            and not c[].upgraded
            and not _may_go_on_alone(c)
        ):
            self.peer_has_ended()
        if c[].stage == Stage.OPEN:
            adjust_receive(c)
            choose_deadline(c)
            return
        if c[].stage == Stage.LAST_SEND and not has_output(c):
            if c[].tls:
                # That nothing more follows is sent too.
                flush(c)
            if not has_output(c):
                end_sending(c)
        # What the peer still sends does not prolong its time to read.
        if c[].stage == Stage.LAST_SEND and c[].wait != Wait.PEER_READS:
            await_reader(c)
        if (
            c[].stage in (Stage.LINGERING, Stage.SHAKING_HANDS)
            and not c[].starved
            and not c[].peer_ended
            and receive_operation(c).is_idle()
        ):
            submit_receive(c)
        if c[].stage == Stage.CLOSING:
            close(c)

    def expire(self):
        """Ends a wait whose deadline has passed."""
        var c = self.state
        if c[].wait == Wait.NOTHING:
            return
        var now = worker_of(c)[].reactor.now_ms()
        if now < c[].deadline_ms:
            arm_timer(c)
            return
        if c[].wait == Wait.HEAD:
            machine(c).stop_receiving()
            if c[].awaits_room:
                _ = self._refuse(H1Error.peer(503, "the head"))
            else:
                _ = self._refuse(H1Error.broken["the head took too long"](408))
            flush(c)
        elif c[].wait == Wait.CONTENT:
            if not c[].running or not c[].exchange.value()[].waiter:
                # The handler has what it waited for.
                c[].wait = Wait.NOTHING
                return
            self.refuse_content(_LATE if not c[].awaits_room else 503)
        elif c[].wait == Wait.NEXT_REQUEST:
            self.end_idle()
            return
        else:
            if is_content_late(c):
                self.refuse_content(_LATE if not c[].awaits_room else 503)
            if c[].wait != Wait.PEER_READS or not go_on_awaiting_reader(c):
                self.peer_is_gone()
        self.settle()

    def end_idle(self):
        """Ends a connection that waits for its next request, or for the end of
        a handshake."""
        var c = self.state
        if c[].stage == Stage.SHAKING_HANDS:
            self.abort()
            return
        # A request that has just set out must not meet a reset, nor must the
        # rest of one, before its peer has read the answer.
        c[].lingers = (
            worker_of(c)[].stopping or c[].h1.request == SideState.BODY
        )
        self._end()
        self.settle()

    def stop(self):
        """Lets the request in progress, or one on its way, be the last."""
        var c = self.state
        if c[].stage == Stage.SHAKING_HANDS:
            hasten_handshake(c)
        if c[].stage != Stage.OPEN:
            return
        machine(c).close_after_exchange()
        if c[].running and c[].exchange.value()[].stream.is_open:
            stop_stream(c[].exchange.value())
        if c[].wait == Wait.NEXT_REQUEST or c[].proxy_header_due:
            c[].wait = Wait.NOTHING
        self.settle()

    def abort(self):
        """Ends at once, whatever is in progress."""
        self.peer_is_gone()
        self.settle()


@always_inline
def _may_go_on_alone(c: PointerTo[ConnectionState]) -> Bool:
    # Half of a conversation may go on only where its end was announced.
    return worker_of(c)[].config.half_close_allowed and not (
        c[].tls and c[].tls.unsafe_value()[].was_cut
    )


@always_inline
def _wake(fiber: Optional[Fiber]):
    if fiber:
        fiber.unsafe_value().wake()
