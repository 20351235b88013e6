"""Decides which pages may open a WebSocket.

A browser lets any page open a WebSocket to any server, with the cookies of its
user. Only Origin shows which page asks (RFC 6455 section 10.2).
"""

from flare.core import equals_ignoring_case
from flare.message import FieldSection, is_page_of_host


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
            if lines > 1 or not self._accepts(value.as_bytes(), authority):
                return False
        return True

    def _accepts(self, origin: Span[UInt8, _], authority: StringSlice) -> Bool:
        if self._kind == Self._SAME_HOST:
            return is_page_of_host(origin, authority)
        for listed in self._listed:
            if equals_ignoring_case(origin, listed.as_bytes()):
                return True
        return False
