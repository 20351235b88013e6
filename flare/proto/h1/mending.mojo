"""Makes the clean form of what peers send and no program should have to see.

What is mended here lies in a copy that the head owns, and every view of the
head shows the copy. So the octets as received reach neither a handler nor a log
nor another server.
"""

from flare.message import RequestTarget

from .error import H1Error
from .head import Head
from .scan import Window

comptime _DIGITS: StaticString = "0123456789ABCDEF"
comptime _PERCENT: UInt8 = 37


def mend_target(target: Window, mut h: Head) raises H1Error:
    """Writes a request target with an escape for each octet over 127, which
    means the same (RFC 3986 section 2.1).

    Args:
        target: The target as received: visible ASCII and octets over 127.
        h: The head; its target is the clean one afterwards.

    Raises:
        H1Error: If the clean target is longer than any target may be.
    """
    var digits = StaticString(_DIGITS).as_bytes()
    h.mended.clear()
    h.mended.reserve(len(target) + 64)
    for octet in target:
        if octet < 128:
            h.mended.append(octet)
            continue
        h.mended.append(_PERCENT)
        h.mended.append(digits[Int(octet >> 4)])
        h.mended.append(digits[Int(octet & 15)])
    if len(h.mended) > RequestTarget.OCTETS_MAX:
        raise H1Error.peer(414, "request target exceeds the limit")
    h.has_mended_target = True
