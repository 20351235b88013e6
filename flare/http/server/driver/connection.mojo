"""Drives one connection of a server: the only driver there is.

Octets arrive by `operations.mojo`. `process` lets the protocol turn them into
requests (`receiving/`), and starts the handler of each on a fiber. The
handler's response goes out through `sending/`. All responses that are ready
leave in one send.

A connection ends in stages (`Stage`). Its slot is free again only when no
operation is in flight and no fiber uses it.
"""

from flare.core import PointerTo
from flare.http.exchange import Exchange

from ..exchange.departures import connection_lost, half_closed, stop_streams
from ..exchange.of_connection import held_by_exchanges
from ..exchange.request_content import arm_content_timer, is_content_late
from ..receiving.protocol_input import (
    advance,
    end_idle,
    end_window_wait,
    go_away,
    is_upgraded,
    receive_wish,
    refuse_content,
    refuse_late_head,
)
from ..sending.protocol_output import add_queued_content, release_unused_output
from ..transport.buffered import recount
from ..transport.connection_state import (
    Attention,
    ConnectionState,
    Stage,
    Wait,
    connection_of,
)
from ..transport.deadline import (
    choose_deadline,
    choose_last_deadline,
    hasten_handshake,
    is_late,
)
from ..transport.ending import end_sending
from ..transport.outbox import flush, has_output
from ..transport.read_ahead import (
    adjust_receive,
    receive_operation,
    submit_receive,
)
from ..transport.worker_state import worker_of
from .closing import close

comptime _LATE = 408
comptime _NO_ROOM = 503


@fieldwise_init
struct Connection(TrivialRegisterPassable):
    """A handle to a connection of a worker."""

    var state: PointerTo[ConnectionState]
    """The heap state."""

    def process(self):
        """Processes the received octets as far as possible; called by the
        loop.
        """
        if self.state[].attention == Attention.PROCESSING:
            return
        self.state[].attention = Attention.PROCESSING
        while advance(self.state):
            pass
        self.state[].attention = Attention.NONE
        if self.state[].stage <= Stage.LAST_SEND:
            add_queued_content(self.state)
            flush(self.state)
            release_unused_output(self.state)
        self.settle()

    def settle(self):
        """Sets the next wait and deadline of the connection, or ends it."""
        var c = self.state
        recount(c, held_by_exchanges(c))
        if c[].ending.peer_ended:
            _note_half_close(c)
        if c[].stage == Stage.OPEN:
            adjust_receive(c, receive_wish(c))
            choose_deadline(c)
        else:
            self._settle_end()

    @no_inline
    def _settle_end(self):
        """Continues the end of the connection, or its handshake."""
        var c = self.state
        if c[].stage == Stage.LAST_SEND and not has_output(c):
            if c[].tls:
                # That nothing more follows is sent too.
                flush(c)
            if not has_output(c):
                end_sending(c)
        if c[].stage == Stage.LAST_SEND:
            choose_last_deadline(c)
        if (
            c[].stage in (Stage.LINGERING, Stage.SHAKING_HANDS)
            and not c[].window.is_starved
            and not c[].ending.peer_ended
            and receive_operation(c).is_idle()
        ):
            submit_receive(c)
        if c[].stage == Stage.CLOSING:
            close(c)

    def expire(self):
        """Ends a wait whose deadline has passed."""
        var c = self.state
        if not is_late(c):
            return
        if c[].deadline.wait == Wait.HEAD:
            refuse_late_head(c)
            flush(c)
        elif c[].deadline.wait == Wait.WINDOW:
            end_window_wait(c)
            self.process()
            return
        elif c[].deadline.wait == Wait.NEXT_REQUEST:
            self.end_idle()
            return
        else:
            connection_lost(c)
        self.settle()

    def end_idle(self):
        """Ends a connection that waits for its next request, or for the end of
        a handshake."""
        var c = self.state
        if c[].stage == Stage.SHAKING_HANDS:
            self.abort()
            return
        end_idle(c)
        flush(c)
        self.settle()

    def stop(self):
        """Closes the connection after the request in progress, or after the
        next one to arrive.
        """
        var c = self.state
        if c[].stage == Stage.SHAKING_HANDS:
            hasten_handshake(c)
        if c[].stage != Stage.OPEN:
            return
        go_away(c)
        stop_streams(c)
        if c[].deadline.wait == Wait.NEXT_REQUEST or c[].proxy.is_header_due:
            c[].deadline.wait = Wait.NOTHING
        # A protocol may have told its peer of the end.
        flush(c)
        self.settle()

    def abort(self):
        """Ends the connection at once, with its requests and responses in
        progress.
        """
        connection_lost(self.state)
        self.settle()


def end_content_wait(x: Exchange):
    """Answers a request whose content is late; called when its timer fires.

    Args:
        x: The request.
    """
    if not x[].awaits_content():
        return
    if not is_content_late(x):
        arm_content_timer(x)
        return
    var c = connection_of(x)
    refuse_content(x, _LATE if not c[].share.awaits_room else _NO_ROOM)
    Connection(c).settle()


@no_inline
def _note_half_close(c: PointerTo[ConnectionState]):
    if c[].running > 0 and not _may_go_on_alone(c):
        half_closed(c)


def _may_go_on_alone(c: PointerTo[ConnectionState]) -> Bool:
    if is_upgraded(c):
        return True
    # A half-closed conversation may continue only if the end was announced.
    return worker_of(c)[].config.half_close_allowed and not (
        c[].tls and c[].tls.unsafe_value()[].was_cut
    )
