"""Ends requests and connections, and releases their resources."""

from flare.core import PointerTo

from .connection_state import ConnectionState, Stage, Wait
from .deadline import set_deadline
from .read_ahead import receive_operation, submit_receive
from .worker_state import worker_of

# How long a closed connection waits for octets of a peer that may have sent
# more before it knew of the end.
comptime _SILENCE_MS = 100


def end_sending(c: PointerTo[ConnectionState]):
    """Half-closes after all output is sent, and keeps receiving if the
    connection lingers.

    Args:
        c: The connection.
    """
    if (
        c[].ending.resets
        or c[].ending.peer_ended
        or not (c[].ending.lingers or c[].ending.may_send_more)
    ):
        c[].stage = Stage.CLOSING
        return
    # Closing with octets unread would reset the connection, and the reset
    # would take the answer with it before the peer has read it.
    c[].stage = Stage.LINGERING
    worker_of(c)[].reactor.end_sending(c[].descriptor)
    var timeout_ms = worker_of(c)[].config.linger_timeout_ms
    if not c[].ending.lingers:
        timeout_ms = min(timeout_ms, _SILENCE_MS)
    set_deadline(c, Wait.PEER_ENDS, timeout_ms)
    if receive_operation(c).is_idle():
        submit_receive(c)
