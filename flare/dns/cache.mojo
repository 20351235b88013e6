"""Caches the answers of name servers, for as long as these allow."""

from .finding import Finding


@fieldwise_init
struct _Entry(Copyable, Movable):
    var name: String
    var finding: Finding
    var end_ms: Int


struct DnsCache(Movable, Sized):
    """A cache of answers, bounded in number and in time.

    No call waits. A look-up compares every entry, which is fast beside a query.
    """

    var _entries: List[_Entry]
    var _entries_max: Int

    def __init__(out self, entries_max: Int):
        """Creates an empty cache.

        Args:
            entries_max: The most answers it stores; at least 1.
        """
        self._entries = []
        self._entries_max = entries_max

    def __len__(self) -> Int:
        """Returns the number of entries, including expired ones.

        Returns:
            The number.
        """
        return len(self._entries)

    def find(
        self, name: StringSlice, type: UInt16, now_ms: Int
    ) -> Optional[Finding]:
        """Returns an answer that is still valid.

        Args:
            name: The whole name in lower case.
            type: The type of record.
            now_ms: The current time.

        Returns:
            The answer, or `None`.
        """
        for i in range(len(self._entries)):
            ref entry = self._entries[i]
            if entry.finding.type == type and entry.name == name:
                if entry.end_ms <= now_ms:
                    return None
                return entry.finding.copy()
        return None

    def keep(
        mut self, name: StringSlice, finding: Finding, end_ms: Int, now_ms: Int
    ):
        """Stores an answer. If the cache is full, it replaces the one that
        expires first.

        Args:
            name: The whole name in lower case.
            finding: The answer.
            end_ms: When the answer expires.
            now_ms: The current time.
        """
        if end_ms <= now_ms:
            return
        var place = -1
        var soonest = 0
        for i in range(len(self._entries)):
            ref entry = self._entries[i]
            if entry.finding.type == finding.type and entry.name == name:
                place = i
                break
            if entry.end_ms < self._entries[soonest].end_ms:
                soonest = i
        var entry = _Entry(String(name), finding.copy(), end_ms)
        if place >= 0:
            self._entries[place] = entry^
        elif len(self._entries) < self._entries_max:
            self._entries.append(entry^)
        else:
            self._entries[soonest] = entry^

    def clear(mut self):
        """Removes all entries."""
        self._entries.clear()
