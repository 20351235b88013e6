"""Receives the encrypted octets of a TLS stream."""

from flare.core import OctetPointer, PointerTo

from .machine import TlsStep
from .outer_tls import decrypt_outer
from .stream_sending import TlsSending
from .stream_state import TlsStreamState

comptime SMALL_READ_OCTETS = 4 * 1024
"""How much memory a read lends to the kernel while it may have to wait."""
# A read that follows a full one lends enough for a whole record.
comptime _LARGE_READ_OCTETS = 17 * 1024


def receive_more(state: PointerTo[TlsStreamState]) raises:
    """Waits for octets for the machine, or for the end of the transport.

    Args:
        state: The stream.

    Raises:
        The error of the transport, or the text of a TlsError.
    """
    var room = SMALL_READ_OCTETS
    if state[].last_read_was_full:
        room = _LARGE_READ_OCTETS
    var target = state[].received.reserve(room)
    var count: Int
    if state[].outer:
        count = _receive_inside(state, target, room)
    else:
        count = state[].tcp.read(target, room)
    state[].received.advance(count)
    state[].last_read_was_full = count == room
    if count == 0:
        try:
            state[].machine.receive_end()
        except e:
            raise Error(String(e))


@no_inline
def _receive_inside(
    state: PointerTo[TlsStreamState], into: OctetPointer, room: Int
) raises -> Int:
    var outer = Pointer(to=state[].outer.unsafe_value()).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    while True:
        var step = decrypt_outer(outer, into, room)
        if step.kind == TlsStep.END:
            return 0
        # Answers to requests for new keys.
        if outer[].machine.pending() > 0:
            TlsSending(state).flush_or_break()
        if step.kind == TlsStep.DATA:
            return step.count
        var target = outer[].received.reserve(_LARGE_READ_OCTETS)
        var count = state[].tcp.read(target, _LARGE_READ_OCTETS)
        outer[].received.advance(count)
        if count == 0:
            try:
                outer[].machine.receive_end()
            except e:
                raise Error(String(e))
