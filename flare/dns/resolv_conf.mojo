"""Parses the file that lists the name servers (resolv.conf(5)).

A pure function over octets. Unknown lines are ignored, and values are limited
to their bounds. The last one of `domain` and `search` applies. Of the options,
`ndots`, `timeout` and `attempts` are read.
"""

from flare.core import equals
from flare.net import IpAddr

from .host_name import check_host_name
from .lines import Fields, Lines

comptime SERVERS_MAX = 3
"""The most servers; further ones are ignored (resolv.conf(5), MAXNS)."""
comptime SEARCH_MAX = 32
"""The most search domains; further ones are ignored."""
comptime NDOTS_MAX = 15
"""The bound of `ndots`."""
comptime TIMEOUT_SECONDS_MAX = 30
"""The bound of `timeout`."""
comptime ATTEMPTS_MAX = 5
"""The bound of `attempts`."""

comptime _HASH: UInt8 = 35
comptime _SEMICOLON: UInt8 = 59
comptime _NO_COMMENT: UInt8 = 10


struct ResolvConf(Copyable, Movable):
    """The settings of a resolv.conf file."""

    var servers: List[IpAddr]
    """The servers, in order; if empty, the one on this machine."""
    var search: List[String]
    """The domains that are appended to short names, in this order."""
    var ndots: Int
    """A name with at least this many dots is first looked up as it is."""
    var timeout_seconds: Int
    """How long to wait for one server."""
    var attempts: Int
    """How often to ask each server."""

    def __init__(out self):
        """Creates the settings that apply without a file."""
        self.servers = []
        self.search = []
        self.ndots = 1
        self.timeout_seconds = 5
        self.attempts = 2

    @staticmethod
    def parse(octets: Span[UInt8, _]) -> Self:
        """Parses a file.

        Args:
            octets: The whole content, unchecked.

        Returns:
            The settings.
        """
        var conf = Self()
        var lines = Lines(0)
        while True:
            var line = lines.next(octets)
            if not line:
                return conf^
            # A comment is a whole line here, unlike in the file of hosts.
            var fields = Fields(line.value(), _NO_COMMENT)
            var first = fields.next(octets)
            if not first:
                continue
            var keyword = octets[first.value().start : first.value().end]
            if keyword[0] == _HASH or keyword[0] == _SEMICOLON:
                continue
            if equals(keyword, "nameserver".as_bytes()):
                conf._read_server(octets, fields)
            elif equals(keyword, "search".as_bytes()):
                conf._read_search(octets, fields, SEARCH_MAX)
            elif equals(keyword, "domain".as_bytes()):
                conf._read_search(octets, fields, 1)
            elif equals(keyword, "options".as_bytes()):
                conf._read_options(octets, fields)

    def _read_server(mut self, octets: Span[UInt8, _], var fields: Fields):
        var field = fields.next(octets)
        if not field or len(self.servers) == SERVERS_MAX:
            return
        try:
            self.servers.append(
                IpAddr.parse_octets(
                    octets[field.value().start : field.value().end]
                )
            )
        except:
            # Of a server that cannot be reached nothing can be asked.
            return

    def _read_search(
        mut self, octets: Span[UInt8, _], var fields: Fields, count_max: Int
    ):
        self.search.clear()
        while len(self.search) < count_max:
            var field = fields.next(octets)
            if not field:
                return
            var domain = octets[field.value().start : field.value().end]
            try:
                check_host_name(domain)
            except:
                continue
            self.search.append(String(StringSlice(unsafe_from_utf8=domain)))

    def _read_options(mut self, octets: Span[UInt8, _], var fields: Fields):
        while True:
            var field = fields.next(octets)
            if not field:
                return
            var option = octets[field.value().start : field.value().end]
            var ndots = _value_of(option, "ndots:")
            if ndots:
                self.ndots = min(ndots.value(), NDOTS_MAX)
            var timeout = _value_of(option, "timeout:")
            if timeout:
                self.timeout_seconds = max(
                    min(timeout.value(), TIMEOUT_SECONDS_MAX), 1
                )
            var attempts = _value_of(option, "attempts:")
            if attempts:
                self.attempts = max(min(attempts.value(), ATTEMPTS_MAX), 1)


def _value_of(option: Span[UInt8, _], name: StaticString) -> Optional[Int]:
    var start = name.byte_length()
    var digits = len(option) - start
    if digits < 1 or not equals(option[:start], name.as_bytes()):
        return None
    var number = 0
    for octet in option[start:]:
        if octet - 48 > 9:
            return None
        # Any number of so many digits is over every bound.
        if number < 100_000_000:
            number = number * 10 + Int(octet - 48)
    return number
