"""Draws the masking keys of a client's frames."""

from flare.proto.ws import WsRole
from flare.sys.random import fill_random

from .error import WsError
from .socket_state import Socket

comptime _KEYS = 64
comptime _KEY_OCTETS = 4


def next_mask(s: Socket) raises -> Optional[UInt32]:
    """Returns the masking key of the next frame (RFC 6455 section 5.3).

    A key must be unpredictable for the program that chooses the payload. One
    call of the kernel serves 64 frames.

    Args:
        s: The state.

    Returns:
        The key; `None` at a server, which masks no frame.

    Raises:
        An error `ws.bad_call` if the kernel has no random octets.
    """
    if s[].machine.role == WsRole.SERVER:
        return None
    ref keys = s[].sending.keys
    if len(keys) == 0:
        var octets = Array[UInt8, _KEYS * _KEY_OCTETS](fill=0)
        if fill_random(Span(octets)) != _KEYS * _KEY_OCTETS:
            raise Error(
                WsError(WsError.BAD_CALL, "the kernel has no random octets")
            )
        for i in range(_KEYS):
            var key = UInt32(0)
            for j in range(_KEY_OCTETS):
                key = key << 8 | UInt32(octets[i * _KEY_OCTETS + j])
            keys.append(key)
    return keys.pop()
