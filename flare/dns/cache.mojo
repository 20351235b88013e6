"""Keeps what servers have answered, for as long as they said."""

from .finding import Finding


@fieldwise_init
struct _Entry(Copyable, Movable):
    var name: String
    var finding: Finding
    var end_ms: Int


struct DnsCache(Movable, Sized):
    """Keeps answers, bounded in number and in time.

    Plain data: no call waits. A look-up compares with each entry, which is
    nothing beside a server's answer.
    """

    var _entries: List[_Entry]
    var _entries_max: Int

    def __init__(out self, entries_max: Int):
        """Keeps nothing.

        Args:
            entries_max: How many answers it keeps; at least 1.
        """
        self._entries = []
        self._entries_max = entries_max

    def __len__(self) -> Int:
        """Counts the entries, those that have ended included.

        Returns:
            The count.
        """
        return len(self._entries)

    def find(
        self, name: StringSlice, type: UInt16, now_ms: Int
    ) -> Optional[Finding]:
        """Finds an answer that still holds.

        Args:
            name: The whole name in small letters.
            type: The type of record.
            now_ms: The present moment.

        Returns:
            The answer, or none.
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
        """Keeps an answer; the one that would end first makes room.

        Args:
            name: The whole name in small letters.
            finding: The answer.
            end_ms: When it ends.
            now_ms: The present moment.
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
        """Forgets everything."""
        self._entries.clear()
