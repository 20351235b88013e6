"""Decides which pages may open a WebSocket.

A browser lets any page open a WebSocket to any server, with the cookies of its
user. Only Origin shows which page asks (RFC 6455 section 10.2).
"""

from flare.core import equals_ignoring_case, equals_lower, find_octet
from flare.message import FieldSection

comptime _COLON: UInt8 = 58


struct WsOrigins(Copyable, Movable):
    """The origins that a server accepts. Clients that are no browsers send
    none, and are accepted.
    """

    comptime _SAME_HOST: UInt8 = 0
    comptime _LISTED: UInt8 = 1
    comptime _ANY: UInt8 = 2

    var _kind: UInt8
    var _listed: List[String]

    def __init__(out self):
        """Creates the default: pages of the host that the request is for."""
        self._kind = Self._SAME_HOST
        self._listed = []

    @staticmethod
    def listed(var origins: List[String]) -> Self:
        """Returns a list of origins.

        Args:
            origins: The origins, such as `https://example.com`, with a port if
                it is not the default one.

        Returns:
            The list. The host of the request is accepted only if listed.
        """
        var made = Self()
        made._kind = Self._LISTED
        made._listed = origins^
        return made^

    @staticmethod
    def any() -> Self:
        """Returns all origins: the server has another defence, or needs none.

        Returns:
            The origins.
        """
        var made = Self()
        made._kind = Self._ANY
        return made^

    def accept(self, fields: FieldSection, authority: StringSlice) -> Bool:
        """Returns whether the page that sent a request is accepted.

        Args:
            fields: The fields of the request.
            authority: Host and port of the request.

        Returns:
            False if the server must answer 403.
        """
        if self._kind == Self._ANY:
            return True
        var lines = 0
        for value in fields.values("Origin"):
            lines += 1
            if lines > 1 or not self._accepts(
                value.as_bytes(), authority.as_bytes()
            ):
                return False
        return True

    def _accepts(
        self, origin: Span[UInt8, _], authority: Span[UInt8, _]
    ) -> Bool:
        if self._kind == Self._SAME_HOST:
            return _is_of_host(origin, authority)
        for listed in self._listed:
            if equals_ignoring_case(origin, listed.as_bytes()):
                return True
        return False


def _is_of_host(origin: Span[UInt8, _], authority: Span[UInt8, _]) -> Bool:
    # The scheme is not compared: a proxy may have decrypted the request.
    var end = find_octet(origin, _COLON)
    if end + 3 > len(origin) or origin[end + 1] != 47 or origin[end + 2] != 47:
        return False
    var port: StaticString
    if equals_lower(origin[:end], "https".as_bytes()):
        port = ":443"
    elif equals_lower(origin[:end], "http".as_bytes()):
        port = ":80"
    else:
        return False
    var host = _without(origin[end + 3 :], port)
    return len(host) > 0 and equals_ignoring_case(
        host, _without(authority, port)
    )


def _without[
    origin: Origin
](authority: Span[UInt8, origin], port: StaticString) -> Span[UInt8, origin]:
    var end = len(authority) - port.byte_length()
    if end >= 0 and equals_ignoring_case(authority[end:], port.as_bytes()):
        return authority[:end]
    return authority
