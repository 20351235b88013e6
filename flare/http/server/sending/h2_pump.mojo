"""Moves queued content of responses into the output, as the client allows.

The client opens windows for a stream and for the connection. A client that
keeps a window closed does not read. So it has as long as one that does not read
from its socket, for each stream.
"""

from flare.core import Buffer, PointerTo
from flare.proto.h2.stream_table import NO_SLOT
from flare.runtime.reactor import LARGE_BUFFER_OCTETS

from ..transport.upgraded import tell_room
from ..transport.connection_state import ConnectionState, Stage
from ..transport.outbox import make_room, output_of
from ..transport.worker_state import worker_of
from .h2_responses import (
    count_gathered,
    drop_unsent,
    forget_h2,
    h2_machine,
    side_of,
)

# Content is added until the output is so long, because more urgent content may
# come. The rest of the pool's buffer is for heads of further responses.
comptime _PUMPED_OCTETS = LARGE_BUFFER_OCTETS - 12 * 1024
# A shorter rest is not worth a frame.
comptime _FRAME_OCTETS_MIN = 1024


@always_inline
def pump(c: PointerTo[ConnectionState]):
    """Moves queued content into the output, the most urgent first, as far as
    the windows of the client and the output have room.

    Args:
        c: The connection of HTTP/2.
    """
    if c[].h2.unsafe_value()[].has_unsent() and c[].stage == Stage.OPEN:
        _pump(c)


@no_inline
def _pump(c: PointerTo[ConnectionState]):
    var machine = h2_machine(c)
    while True:
        var room = _PUMPED_OCTETS - len(c[].outbox.output)
        if room < _FRAME_OCTETS_MIN:
            break
        var turn = machine.next_turn(room)
        if turn.slot == NO_SLOT:
            break
        var output = output_of(c)
        make_room(c, turn.octets)
        ref unsent = side_of(c, turn.slot).unsent.unsafe_value()[]
        if unsent.awaits_window:
            _end_wait(c, turn.slot, turn.octets)
        var left: Int
        if len(unsent.body) > 0:
            var octets = unsent.body.octets()[unsent.sent :]
            left = len(octets) - turn.octets
            machine.send_data(
                turn.slot, octets[: turn.octets], left == 0, output
            )
            unsent.sent += turn.octets
        else:
            left = len(unsent.gathered) - turn.octets
            var ends = (
                left == 0 and unsent.is_last and len(unsent.trailers) == 0
            )
            machine.send_data(
                turn.slot,
                unsent.gathered.span()[: turn.octets],
                ends,
                output,
            )
            unsent.gathered.consume(turn.octets)
            count_gathered(c, turn.slot)
        _go_on(c, turn.slot, left)
    note_stalls(c)


def _go_on(c: PointerTo[ConnectionState], slot: Int, left: Int):
    """Continues after a frame: the handler writes more, or the stream ends."""
    ref side = side_of(c, slot)
    if side.exchange:
        tell_room(side.exchange.unsafe_value())
    if left > 0:
        return
    ref unsent = side.unsent.unsafe_value()[]
    if not unsent.is_last:
        if len(unsent.gathered) == 0:
            # A stream may be silent for long.
            unsent.gathered = Buffer()
        return
    if len(unsent.trailers) > 0:
        h2_machine(c).send_trailers(slot, unsent.trailers, output_of(c))
    drop_unsent(c, slot)
    if not side.exchange:
        forget_h2(c, slot)


def note_stalls(c: PointerTo[ConnectionState]):
    """Notes which contents wait for a window of the client, and how long they
    may.

    Args:
        c: The connection of HTTP/2.
    """
    ref h2 = c[].h2.unsafe_value()[]
    var machine = h2_machine(c)
    h2.stalled_at_ms = 0
    for slot in range(len(h2.streams)):
        var found = h2.streams[slot].unsent
        if not found:
            continue
        ref unsent = found.unsafe_value()[]
        if not machine.awaits_window(slot):
            # It waits for its turn.
            if unsent.awaits_window:
                _end_wait(c, slot, 0)
            continue
        if not unsent.awaits_window:
            unsent.awaits_window = True
            unsent.budget.began_ms = worker_of(c)[].reactor.now_ms()
        var at_ms = unsent.budget.deadline_ms()
        if h2.stalled_at_ms == 0 or at_ms < h2.stalled_at_ms:
            h2.stalled_at_ms = at_ms


def _end_wait(c: PointerTo[ConnectionState], slot: Int, octets: Int):
    ref w = worker_of(c)[]
    ref unsent = side_of(c, slot).unsent.unsafe_value()[]
    unsent.awaits_window = False
    unsent.budget.credit(
        octets,
        w.reactor.now_ms() - unsent.budget.began_ms,
        w.config.write_octets_per_second_min,
        w.config.write_timeout_ms,
    )
