"""Keeps sessions in the memory of the process."""

from flare.http import Request, Shared
from flare.sys.clock import unix_seconds

from .keeping import SESSION_DATA_OCTETS_MAX, SessionStore
from .record import SessionRecord

# How many places an insertion looks at for sessions whose time is over.
comptime _SWEPT = 16
# How many recently used sessions an insertion passes over when it is full.
comptime _PASSED_MAX = 64
# The memory of a session beside its data: key, places in two tables.
comptime _ENTRY_OCTETS = 256


struct MemorySessions(SessionStore):
    """Keeps sessions in the memory of the process, for all of its workers.

    It is for programs of one process: a restart ends all sessions, and with
    `supervise=True` each worker has sessions of its own. When it is full, it
    first forgets sessions that no request has used lately. So a client that
    begins many sessions displaces its own.
    """

    var _table: Shared[_Table]

    def __init__(
        out self,
        *,
        sessions_max: Int = 100_000,
        octets_max: Int = 64 << 20,
    ) raises:
        """Creates a store.

        Args:
            sessions_max: The most sessions: 1 to 10,000,000.
            octets_max: The most memory for them, in octets, at least 128 KiB;
                64 MiB by default.

        Raises:
            Error: `session.bad_store` with the bound that is broken.
        """
        if sessions_max < 1 or sessions_max > 10_000_000:
            raise Error("session.bad_store sessions_max: 1 to 10000000")
        if octets_max < 2 * SESSION_DATA_OCTETS_MAX:
            raise Error("session.bad_store octets_max: 131072 or more")
        self._table = Shared(_Table(sessions_max, octets_max))

    def count(self) raises -> Int:
        """Returns the number of sessions.

        Returns:
            The number, including those that have ended and were not deleted
            yet.

        Raises:
            Never.
        """

        def read(mut table: _Table) raises {} -> Int:
            return len(table.places)

        return self._table.update(read)

    def load(self, req: Request, key: String) raises -> Optional[SessionRecord]:
        """Returns the record under a key.

        Args:
            req: Not used.
            key: The key.

        Returns:
            A copy; `None` without one.

        Raises:
            Never.
        """

        def find(
            mut table: _Table,
        ) raises {imm key} -> Optional[SessionRecord]:
            return table.find(key)

        return self._table.update(find)

    def insert(self, req: Request, key: String, record: SessionRecord) raises:
        """Adds a record, and deletes up to 16 whose time is over.

        Args:
            req: Not used.
            key: A new key.
            record: The record to keep.

        Raises:
            Never.
        """
        var now_seconds = unix_seconds()

        def insert(
            mut table: _Table,
        ) raises {imm key, imm record, imm now_seconds}:
            table.sweep(now_seconds)
            table.insert(key, record, was_used=False)

        self._table.update(insert)

    def update(
        self,
        req: Request,
        key: String,
        new_key: String,
        record: SessionRecord,
    ) raises -> Bool:
        """Replaces a record, and perhaps its key.

        Args:
            req: Not used.
            key: The key.
            new_key: The new key, or the same one.
            record: The record to keep.

        Returns:
            False if there is no such record.

        Raises:
            Never.
        """

        def replace(
            mut table: _Table,
        ) raises {imm key, imm new_key, imm record} -> Bool:
            if not table.remove(key):
                return False
            table.insert(new_key, record, was_used=True)
            return True

        return self._table.update(replace)

    def touch(self, req: Request, key: String, expires_at: Int) raises:
        """Sets the end of a record, if there is one.

        Args:
            req: Not used.
            key: The key.
            expires_at: The end, in seconds since 1970.

        Raises:
            Never.
        """

        def touch(mut table: _Table) raises {imm key, imm expires_at}:
            table.touch(key, expires_at)

        self._table.update(touch)

    def remove(self, req: Request, key: String) raises:
        """Deletes a record, if there is one.

        Args:
            req: Not used.
            key: The key.

        Raises:
            Never.
        """

        def remove(mut table: _Table) raises {imm key}:
            _ = table.remove(key)

        self._table.update(remove)


@fieldwise_init
struct _Place(Copyable, Movable):
    var key: String
    var record: SessionRecord
    var was_used: Bool


struct _Table(Movable):
    var entries: List[_Place]
    # By key: the indices of the entries.
    var places: Dict[String, Int]
    # The next entry that may have ended, and the next that may be evicted.
    var sweep_hand: Int
    var hand: Int
    var octets: Int
    var sessions_max: Int
    var octets_max: Int

    def __init__(out self, sessions_max: Int, octets_max: Int):
        self.entries = List[_Place]()
        self.places = {}
        self.sweep_hand = 0
        self.hand = 0
        self.octets = 0
        self.sessions_max = sessions_max
        self.octets_max = octets_max

    def find(mut self, key: String) -> Optional[SessionRecord]:
        var place = self.places.get(key)
        if not place:
            return None
        self.entries[place.value()].was_used = True
        return self.entries[place.value()].record.copy()

    def touch(mut self, key: String, expires_at: Int):
        var place = self.places.get(key)
        if place:
            self.entries[place.value()].record.expires_at = expires_at

    def remove(mut self, key: String) -> Bool:
        var place = self.places.get(key)
        if not place:
            return False
        self._vacate(place.value())
        return True

    def insert(mut self, key: String, record: SessionRecord, *, was_used: Bool):
        var octets = _octets_of(record)
        while len(self.entries) > 0 and (
            len(self.entries) >= self.sessions_max
            or self.octets + octets > self.octets_max
        ):
            self._evict()
        self.octets += octets
        self.places[key] = len(self.entries)
        self.entries.append(_Place(key, record.copy(), was_used))

    def sweep(mut self, now_seconds: Int):
        for _ in range(min(_SWEPT, len(self.entries))):
            if self.sweep_hand >= len(self.entries):
                self.sweep_hand = 0
                if len(self.entries) == 0:
                    return
            # Another entry takes the place of one that has ended.
            if self.entries[self.sweep_hand].record.expires_at <= now_seconds:
                self._vacate(self.sweep_hand)
            else:
                self.sweep_hand += 1

    def _evict(mut self):
        # A session that was read since the hand came by stays (second chance),
        # but the search for another one has a bound.
        var passed = 0
        while True:
            var place = self._next()
            if self.entries[place].was_used and passed < _PASSED_MAX:
                self.entries[place].was_used = False
                passed += 1
                continue
            return self._vacate(place)

    def _next(mut self) -> Int:
        self.hand += 1
        if self.hand >= len(self.entries):
            self.hand = 0
        return self.hand

    def _vacate(mut self, place: Int):
        try:
            _ = self.places.pop(self.entries[place].key)
        except:
            debug_assert(False, "a session without a place")
        self.octets -= _octets_of(self.entries[place].record)
        # The last one moves into the gap.
        var last = self.entries.pop()
        if place < len(self.entries):
            self.places[last.key] = place
            self.entries[place] = last^


def _octets_of(record: SessionRecord) -> Int:
    return _ENTRY_OCTETS + record.data.byte_length()
