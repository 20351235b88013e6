"""Says which fields of a message go on with it (RFC 9110 section 7.6.1)."""

from flare.core import equals_ignoring_case, find_octet
from flare.message import FieldSection, HeaderMap
from flare.proto.h1.grammar import trim_blanks

comptime _COMMA: UInt8 = 44

comptime _OF_ONE_CONNECTION: List[StaticString] = [
    "Connection",
    "Keep-Alive",
    "Proxy-Connection",
    "Proxy-Authenticate",
    "Proxy-Authentication-Info",
    "Proxy-Authorization",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
    "Content-Length",
    "Expect",
    "Host",
]


def forwarded_fields(section: FieldSection) raises -> HeaderMap:
    """Copies the fields that an intermediary sends on.

    Left behind is what concerns one connection: what Connection names, the
    fields of that kind that older senders do not name, and what proves who asks
    a proxy; and so are Host, Expect, Trailer and the fields that say how long
    the content is, because whoever sends the message on decides them anew.

    Args:
        section: The header section of a request or a response.

    Returns:
        The fields in order.

    Raises:
        Error: `message.headers_too_large` if they exceed a header map.
    """
    var fields = HeaderMap()
    for line in section:
        if not _stays(section, line.name):
            fields.append(line.name, line.value)
    return fields^


def _stays(section: FieldSection, name: StringSlice) -> Bool:
    comptime for i in range(len(_OF_ONE_CONNECTION)):
        comptime kept = _OF_ONE_CONNECTION[i]
        if equals_ignoring_case(name.as_bytes(), kept.as_bytes()):
            return True
    for value in section.values("Connection"):
        var octets = value.as_bytes()
        var start = 0
        while start < len(octets):
            var end = find_octet(octets, _COMMA, start)
            if equals_ignoring_case(
                trim_blanks(octets[start:end]), name.as_bytes()
            ):
                return True
            start = end + 1
    return False
