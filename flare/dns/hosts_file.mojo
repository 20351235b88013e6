"""Parses the file with the fixed addresses of hosts (hosts(5)).

A pure function over octets. Each line has an address and names; `#` starts a
comment. Malformed lines, and lines beyond a limit, are ignored.
"""

from flare.core import lower_octet
from flare.net import IpAddr

from .host_name import check_host_name, length_without_root
from .lines import Fields, Lines

comptime HOSTS_PAIRS_MAX = 65_536
"""The most pairs of a name and an address; further ones are ignored."""
comptime HOST_ADDRESSES_MAX = 64
"""The most addresses of one name; further ones are ignored."""


struct HostsFile(Copyable, Movable):
    """The fixed addresses of a few hosts."""

    # Each pair leads to the next one of its name; 0 ends, as no pair leads to
    # the first.
    var _first: Dict[String, Int]
    var _addresses: List[IpAddr]
    var _next: List[Int]

    def __init__(out self):
        """Creates an empty table."""
        self._first = {}
        self._addresses = []
        self._next = []

    @staticmethod
    def parse(octets: Span[UInt8, _]) -> Self:
        """Parses a file.

        Args:
            octets: The whole content, unchecked.

        Returns:
            The table.
        """
        var file = Self()
        var lines = Lines(0)
        while True:
            var line = lines.next(octets)
            if not line:
                return file^
            var fields = Fields(line.value(), 35)
            var first = fields.next(octets)
            if not first:
                continue
            var address: IpAddr
            try:
                address = IpAddr.parse_octets(
                    octets[first.value().start : first.value().end]
                )
            except:
                continue
            while True:
                var name = fields.next(octets)
                if not name:
                    break
                file._add(
                    octets[name.value().start : name.value().end], address
                )

    def addresses_of(self, name: StringSlice) -> List[IpAddr]:
        """Returns the addresses of a host.

        Args:
            name: The name, in any case, with or without the root's dot.

        Returns:
            The addresses in the order of the file; none for an unknown name.
        """
        var found = List[IpAddr]()
        var at = self._first.get(_key(name.as_bytes()))
        if not at:
            return found^
        var pair = at.value()
        while True:
            found.append(self._addresses[pair])
            pair = self._next[pair]
            if pair == 0:
                return found^

    def _add(mut self, name: Span[UInt8, _], address: IpAddr):
        if len(self._addresses) == HOSTS_PAIRS_MAX:
            return
        try:
            check_host_name(name)
        except:
            return
        var key = _key(name)
        var pair = len(self._addresses)
        var known = self._first.get(key)
        if not known:
            self._first[key^] = pair
        else:
            var last = known.value()
            for _ in range(HOST_ADDRESSES_MAX - 1):
                if self._addresses[last] == address:
                    return
                if self._next[last] == 0:
                    self._next[last] = pair
                    break
                last = self._next[last]
            if self._next[last] != pair:
                return
        self._addresses.append(address)
        self._next.append(0)


def _key(name: Span[UInt8, _]) -> String:
    var lower = List[UInt8](capacity=len(name))
    for octet in name[: length_without_root(name)]:
        lower.append(lower_octet(octet))
    return String(StringSlice(unsafe_from_utf8=Span(lower)))
