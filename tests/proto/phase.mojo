"""Names the phase of a connection, for fixtures and fuzzing."""

from flare.proto.h1 import H1Machine, Role
from flare.proto.h1.state import SideState
from flare.proto.head import BodyKind


def phase_of(machine: H1Machine) -> StaticString:
    """Returns the name of a connection's phase.

    Args:
        machine: The machine of the connection.

    Returns:
        `IDLE` before the first octet of an exchange, `HEAD` and `BODY` while
        the peer's head or body is read, `AWAIT_RESPONSE` before the response
        head, `SENDING` while only the own message is due, `CLOSED` or
        `UPGRADED`.
    """
    ref s = machine.state[]
    if s.request == SideState.UPGRADED:
        return "UPGRADED"
    if machine.wants_close():
        return "CLOSED"
    var received = s.request
    var sent = s.response
    if s.role == Role.CLIENT:
        received = s.response
        sent = s.request
    if s.scanned != 0 and received != SideState.BODY:
        return "HEAD"
    if received == SideState.BODY and s.receive_body != BodyKind.NONE:
        return "BODY"
    if received == SideState.AWAITED or sent == SideState.AWAITED:
        return "AWAIT_RESPONSE"
    return "IDLE" if sent == SideState.IDLE else "SENDING"
