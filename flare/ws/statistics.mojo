"""Counts the activity of WebSockets."""

from flare.core import PointerTo
from flare.http.server.records.statistics import add_counter, count
from flare.proto.ws import WsCloseCode

comptime _CODES = 16


struct WsStatistics(ImplicitlyCopyable):
    """The counters of the WebSockets of a hub."""

    var sockets: Int64
    """How many are open."""
    var opened: Int64
    """How many were opened."""
    var messages_received: Int64
    """How many messages the handlers have received."""
    var octets_received: Int64
    """The octets of these messages."""
    var messages_sent: Int64
    """How many messages were sent, without those of topics."""
    var octets_sent: Int64
    """The octets of these messages."""
    var pings_lost: Int64
    """How many sockets were closed because their peer answered no ping."""
    var published: Int64
    """How many messages were due to a subscriber of their topic, skipped ones
    included.
    """
    var skipped: Int64
    """How many messages of topics a slow subscriber did not get."""
    var closes: Array[Int64, _CODES + 1]
    """How many sockets ended with each code from 1000 to 1015; the last is for
    all other codes.
    """

    def __init__(out self):
        """Creates counters at zero."""
        self.sockets = 0
        self.opened = 0
        self.messages_received = 0
        self.octets_received = 0
        self.messages_sent = 0
        self.octets_sent = 0
        self.pings_lost = 0
        self.published = 0
        self.skipped = 0
        self.closes = Array[Int64, _CODES + 1](fill=0)

    def __init__(out self, *, copy: Self):
        """Copies all counters.

        Args:
            copy: The counters to copy.
        """
        self.sockets = copy.sockets
        self.opened = copy.opened
        self.messages_received = copy.messages_received
        self.octets_received = copy.octets_received
        self.messages_sent = copy.messages_sent
        self.octets_sent = copy.octets_sent
        self.pings_lost = copy.pings_lost
        self.published = copy.published
        self.skipped = copy.skipped
        self.closes = copy.closes.copy()

    def closed_with(self, code: UInt16) -> Int:
        """Returns how many sockets ended with a code.

        Args:
            code: The code, from 1000 to 1015.

        Returns:
            The number; for any other code, the sum of all others.
        """
        return Int(self.closes[_index_of(code)])


@always_inline
def count_received(s: PointerTo[WsStatistics], octets: Int, is_end: Bool):
    """Counts a received message, or one of its frames.

    Args:
        s: The counters of the calling thread.
        octets: The length of the payload.
        is_end: Whether it ends a message.
    """
    if is_end:
        count(s[].messages_received)
    count(s[].octets_received, octets)


@always_inline
def count_sent(s: PointerTo[WsStatistics], octets: Int, is_end: Bool):
    """Counts a frame that was sent.

    Args:
        s: The counters of the calling thread.
        octets: The length of its payload.
        is_end: Whether it ends a message.
    """
    if is_end:
        count(s[].messages_sent)
    count(s[].octets_sent, octets)


def count_opened(s: PointerTo[WsStatistics]):
    """Counts a WebSocket that was opened.

    Args:
        s: The counters of the calling thread.
    """
    count(s[].sockets)
    count(s[].opened)


def count_closed(s: PointerTo[WsStatistics], code: UInt16):
    """Counts a WebSocket that has ended.

    Args:
        s: The counters of the calling thread.
        code: Its close code.
    """
    count(s[].sockets, -1)
    count(s[].closes[_index_of(code)])


def add_statistics(mut sum: WsStatistics, s: PointerTo[WsStatistics]):
    """Adds the counters of another thread.

    Args:
        sum: The counters to add to.
        s: The counters of the thread, which may be counting.
    """
    add_counter(sum.sockets, s[].sockets)
    add_counter(sum.opened, s[].opened)
    add_counter(sum.messages_received, s[].messages_received)
    add_counter(sum.octets_received, s[].octets_received)
    add_counter(sum.messages_sent, s[].messages_sent)
    add_counter(sum.octets_sent, s[].octets_sent)
    add_counter(sum.pings_lost, s[].pings_lost)
    add_counter(sum.published, s[].published)
    add_counter(sum.skipped, s[].skipped)
    for i in range(_CODES + 1):
        add_counter(sum.closes[i], s[].closes[i])


def _index_of(code: UInt16) -> Int:
    return min(Int(code - WsCloseCode.NORMAL), _CODES)
