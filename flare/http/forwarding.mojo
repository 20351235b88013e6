"""Selects the fields of a message that an intermediary forwards (RFC 9110
section 7.6.1).
"""

from flare.core import equals_ignoring_case, find_octet
from flare.message import FieldSection, HeaderMap
from flare.message.list_grammar import trim_blanks

from .field_guard import names_alike

comptime CONNECTION_OPTIONS_MAX = 32
"""The most options that the Connection fields of one message may list. Usual
messages have three at most; each option is compared with every field.
"""

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
    "HTTP2-Settings",
    "Content-Length",
    "Expect",
    "Host",
]


def forwarded_fields(section: FieldSection) raises -> HeaderMap:
    """Returns the fields that an intermediary forwards.

    It omits the fields of one connection: those that Connection lists, and
    those of that kind that older senders do not list. It also omits proxy
    credentials, Host, Expect, Trailer, and fields about the length of the
    content: the sender of the next message sets them. Names that differ from
    these only in octets other than letters and digits are omitted too.
    Programs that see fields as variables cannot tell them apart.

    Args:
        section: The header section of a request or a response.

    Returns:
        The fields, in order.

    Raises:
        Error: `http.bad_connection` if Connection lists more than 32 options
            (`CONNECTION_OPTIONS_MAX`), and `message.headers_too_large` if the
            fields exceed a header map.
    """
    var connection = ConnectionFields(section)
    var fields = HeaderMap()
    for line in section:
        if not connection.has(line.name):
            fields.append(line.name, line.value)
    return fields^


struct ConnectionFields[origin: ImmOrigin](Movable):
    """The set of a message's fields that concern one connection only.

    Parameters:
        origin: The origin of the message's octets.
    """

    var _options: List[Span[UInt8, Self.origin]]

    def __init__(out self, section: FieldSection[Self.origin]) raises:
        """Creates the set from the Connection fields of a message.

        Args:
            section: The header section.

        Raises:
            Error: `http.bad_connection` if they list more than
                `CONNECTION_OPTIONS_MAX` options.
        """
        self._options = []
        for value in section.values("Connection"):
            var octets = value.as_bytes()
            var start = 0
            while start < len(octets):
                var end = find_octet(octets, _COMMA, start)
                var option = trim_blanks(octets[start:end])
                start = end + 1
                if len(option) == 0:
                    continue
                if len(self._options) == CONNECTION_OPTIONS_MAX:
                    raise Error("http.bad_connection too many options")
                self._options.append(option)

    def has(self, name: StringSlice) -> Bool:
        """Returns whether a field is not forwarded.

        Args:
            name: The field's name.

        Returns:
            True if the field concerns the connection, or the sender of the next
            message sets it.
        """
        var octets = name.as_bytes()
        comptime for i in range(len(_OF_ONE_CONNECTION)):
            comptime kept = _OF_ONE_CONNECTION[i]
            if len(octets) == kept.byte_length() and names_alike(
                octets, kept.as_bytes()
            ):
                return True
        for option in self._options:
            if equals_ignoring_case(octets, option):
                return True
        return False
