"""Remembers which statements a connection has prepared."""

from std.collections import Dict

from flare.sys.pg_parameters import PgParameters, CStringTable

comptime STATEMENTS_MAX = 256
"""The most statements that stay prepared on one connection. Each takes memory
of the server."""


@fieldwise_init
struct _Cached(Copyable, Movable):
    var number: Int
    var used: Int


struct StatementCache(Movable, Sized):
    """The prepared statements of one connection, by text and types."""

    var _by_key: Dict[String, _Cached]
    var _uses: Int
    var _created: Int

    def __init__(out self):
        """Creates an empty cache."""
        self._by_key = Dict[String, _Cached]()
        self._uses = 0
        self._created = 0

    def __len__(self) -> Int:
        """Returns the number of prepared statements.

        Returns:
            The number.
        """
        return len(self._by_key)

    def find(
        mut self, sql: CStringTable, parameters: PgParameters
    ) -> Optional[Int]:
        """Returns the number of a prepared statement, which counts as used.

        Args:
            sql: The statement.
            parameters: Its parameters.

        Returns:
            The number; `None` if it is not prepared.
        """
        self._uses += 1
        var key = _key_of(sql, parameters)
        var found = self._by_key.get(key)
        if not found:
            return None
        var number = found.value().number
        self._by_key[key^] = _Cached(number, self._uses)
        return number

    def add(mut self, sql: CStringTable, parameters: PgParameters) -> Int:
        """Adds a statement that will be prepared.

        Args:
            sql: The statement.
            parameters: Its parameters.

        Returns:
            Its number.
        """
        self._created += 1
        self._uses += 1
        self._by_key[_key_of(sql, parameters)] = _Cached(
            self._created, self._uses
        )
        return self._created

    def remove(mut self, sql: CStringTable, parameters: PgParameters):
        """Forgets a statement.

        Args:
            sql: The statement; it may be absent.
            parameters: Its parameters.
        """
        try:
            _ = self._by_key.pop(_key_of(sql, parameters))
        except:
            # It was absent.
            return

    def evict(mut self) -> Optional[Int]:
        """Forgets the statement that was not used for the longest time, if the
        cache is full.

        Returns:
            Its number, which is to be deallocated; `None` while there is room.
        """
        if len(self._by_key) < STATEMENTS_MAX:
            return None
        var oldest = Int.MAX
        var oldest_key = String()
        var number = 0
        for entry in self._by_key.items():
            if entry.value.used < oldest:
                oldest = entry.value.used
                oldest_key = entry.key
                number = entry.value.number
        try:
            _ = self._by_key.pop(oldest_key)
        except:
            return None
        return number


def statement_name(number: Int) -> String:
    """Returns the name of a prepared statement.

    Args:
        number: Its number.

    Returns:
        A name that no other statement of the connection has.
    """
    return String("flare_", number)


def _key_of(sql: CStringTable, parameters: PgParameters) -> String:
    # The text ends with NUL, so the types cannot be taken for a part of it.
    var octets = List[UInt8](
        capacity=len(sql.octets) + 4 * len(parameters.types)
    )
    octets.extend(Span(sql.octets))
    for id in parameters.types:
        for shift in range(0, 32, 8):
            # Seven bits each keep the key UTF-8.
            octets.append(UInt8((Int(id) >> shift) & 127))
            octets.append(UInt8((Int(id) >> shift) >> 7 & 1))
    return String(unsafe_from_utf8=Span(octets))
