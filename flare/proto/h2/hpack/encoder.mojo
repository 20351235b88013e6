"""Compresses the lines of heads (RFC 7541 section 6).

A line is inserted into the dynamic table at its second use, so that lines which
occur once push no other line out. A hash of the line leads to the only entry
that may contain it. So a look-up takes one comparison, however large the table
is.
"""

from std.builtin.globals import global_constant
from std.sys.intrinsics import unlikely

from flare.core import (
    Buffer,
    PointerTo,
    equals,
    equals_ignoring_case,
    heap_create,
    heap_destroy,
    lower_octet,
)
from flare.message import FieldName, Method

from .decoder import TABLE_OCTETS
from .dynamic_table import ENTRY_OVERHEAD_OCTETS, DynamicTable
from .integer import append_integer
from .static_table import STATIC_COUNT, static_known, static_name
from .writing import append_size_update, append_string

comptime _PLACES = 64
# A longer value hardly comes twice, and would push many lines out.
comptime _VALUE_OCTETS_MAX = 256
comptime _INDEXED: UInt8 = 0x80
comptime _INSERTED: UInt8 = 0x40
comptime _NEVER: UInt8 = 0x10
comptime _PLAIN: UInt8 = 0
comptime _AUTHORITY_INDEX = 1
comptime _GET_INDEX = 2
comptime _PATH_INDEX = 4
comptime _HTTP_INDEX = 6
comptime _STATUS_INDEX = 8
comptime _LENGTH_INDEX = 28
comptime _NAME_INDEXES = _name_indexes()

# Secrets, which a peer that can choose other lines must not guess (section
# 7.1.3).
comptime _SECRETS = (
    FieldName.bit(FieldName.AUTHORIZATION)
    | FieldName.bit(FieldName.COOKIE)
    | FieldName.bit(FieldName.PROXY_AUTHORIZATION)
    | FieldName.bit(FieldName.SET_COOKIE)
)

# Values that hardly come twice. As entries they would push others out.
comptime _DISTINCT = (
    FieldName.bit(FieldName.AGE)
    | FieldName.bit(FieldName.CONTENT_RANGE)
    | FieldName.bit(FieldName.ETAG)
    | FieldName.bit(FieldName.IF_MATCH)
    | FieldName.bit(FieldName.IF_MODIFIED_SINCE)
    | FieldName.bit(FieldName.IF_NONE_MATCH)
    | FieldName.bit(FieldName.LOCATION)
    | FieldName.bit(FieldName.RANGE)
    | FieldName.bit(FieldName.X_REQUEST_ID)
)


def _name_indexes() -> Array[UInt8, 64]:
    var table = Array[UInt8, 64](fill=0)
    for index in range(STATIC_COUNT, 0, -1):
        table[Int(static_known(index)) & 63] = UInt8(index)
    table[Int(FieldName.UNKNOWN)] = 0
    return table^


@fieldwise_init
struct _Seen(TrivialRegisterPassable):
    var hash: UInt32
    # The number of its insertion, counted from 1; 0 if it was used only once.
    var insertion: UInt32


@fieldwise_init
struct _Name(TrivialRegisterPassable):
    var known: UInt8
    # A line of the static table with this name; 0 if there is none.
    var index: Int

    @always_inline
    def __init__(out self, known: UInt8):
        self = Self(known, _name_index(known))


struct HpackEncoderState(Movable):
    """The state of an encoder."""

    var table: DynamicTable
    """The dynamic table."""
    var seen: List[_Seen]
    """The lines that were used lately, by a part of their hashes."""
    var insertions: UInt32
    """How many lines were ever inserted, modulo 2^32."""
    var date_insertion: UInt32
    """The number of the latest insertion by `append_date`, counted from 1; 0 if
    there was none."""
    var size_told_first: Int
    """The smallest size of the table since the last block; -1 if the peer does
    not have to be told."""

    def __init__(out self):
        """Creates an encoder before its first block."""
        self.table = DynamicTable(TABLE_OCTETS)
        self.seen = []
        self.insertions = 0
        self.date_insertion = 0
        self.size_told_first = -1


@fieldwise_init
struct HpackEncoder(TrivialRegisterPassable):
    """A handle to the encoder of one connection, which writes field blocks."""

    var state: PointerTo[HpackEncoderState]
    """The state."""

    @staticmethod
    def create() -> Self:
        """Creates an encoder on the heap.

        Returns:
            A handle; call `destroy` at its end.
        """
        return Self(heap_create(HpackEncoderState()))

    def destroy(self):
        """Frees the encoder."""
        heap_destroy(self.state)

    def limit(self, octets: Int):
        """Limits the table to the size that the peer's settings allow.

        Args:
            octets: The size that the peer allows. No more than the default is
                used.
        """
        var size = min(octets, TABLE_OCTETS)
        if size == self.state[].table.size_max:
            return
        if (
            self.state[].size_told_first < 0
            or size < self.state[].size_told_first
        ):
            self.state[].size_told_first = size
        self.state[].table.limit(size)

    @always_inline
    def begin_block(self, into: PointerTo[Buffer]):
        """Begins a block. The peer learns of a change of the table's size.

        Args:
            into: The destination.
        """
        if self.state[].size_told_first >= 0:
            self._tell_size(into)

    @always_inline
    def append_status(self, status: Int, into: PointerTo[Buffer]):
        """Writes the status of a response.

        Args:
            status: The status; three digits.
            into: The destination.
        """
        var index = _status_index(status)
        if index > 0:
            append_integer(_INDEXED, 7, index, into)
            return
        append_integer(_PLAIN, 4, _STATUS_INDEX, into)
        into[].append_octet(3)
        into[].append_decimal(status)

    def append_length(self, octets: Int, into: PointerTo[Buffer]):
        """Writes Content-Length.

        Args:
            octets: The length.
            into: The destination.
        """
        # The name's index in two octets, the length, and up to 19 digits. The
        # digits need no more room, so the octets stay where they are.
        var target = into[].reserve(3 + 20)
        target[] = 15
        target[unsafe_offset=1] = UInt8(_LENGTH_INDEX - 15)
        into[].advance(3)
        var before = len(into[])
        into[].append_decimal(octets)
        target[unsafe_offset=2] = UInt8(len(into[]) - before)

    @no_inline
    def append_date(self, value: Span[UInt8, _], into: PointerTo[Buffer]):
        """Writes Date, which is the same line for a second.

        Args:
            value: The date.
            into: The destination.
        """
        ref s = self.state[]
        var name = "date".as_bytes()
        var index = Int(s.insertions - s.date_insertion) + 1
        if s.date_insertion != 0 and index <= s.table.count:
            if self._is_entry(index, name, value, FieldName.DATE):
                return append_integer(_INDEXED, 7, STATIC_COUNT + index, into)
        var insertions = s.insertions
        self.append_line(name, value, FieldName.DATE, into)
        if s.insertions != insertions:
            s.date_insertion = s.insertions

    def append_method(
        self,
        text: Span[UInt8, _],
        method: Method,
        into: PointerTo[Buffer],
    ):
        """Writes the method of a request.

        Args:
            text: Its name.
            method: The method.
            into: The destination.
        """
        if method == Method.GET:
            into[].append_octet(_INDEXED | UInt8(_GET_INDEX))
        elif method == Method.POST:
            into[].append_octet(_INDEXED | UInt8(_GET_INDEX + 1))
        else:
            self._append_named(_GET_INDEX, text, into)

    def append_scheme(self, is_secure: Bool, into: PointerTo[Buffer]):
        """Writes the scheme of a request.

        Args:
            is_secure: Whether it is https.
            into: The destination.
        """
        into[].append_octet(
            _INDEXED | UInt8(_HTTP_INDEX + (1 if is_secure else 0))
        )

    def append_authority(self, value: Span[UInt8, _], into: PointerTo[Buffer]):
        """Writes the authority of a request.

        Args:
            value: The host, perhaps with a port.
            into: The destination.
        """
        self._append_named(_AUTHORITY_INDEX, value, into)

    def append_path(self, path: Span[UInt8, _], into: PointerTo[Buffer]):
        """Writes the path of a request, which hardly comes twice.

        Args:
            path: The path and the query.
            into: The destination.
        """
        if equals(path, "/".as_bytes()):
            into[].append_octet(_INDEXED | UInt8(_PATH_INDEX))
        else:
            append_integer(_PLAIN, 4, _PATH_INDEX, into)
            append_string(path, into)

    def append_line(
        self,
        name: Span[UInt8, _],
        value: Span[UInt8, _],
        known: UInt8,
        into: PointerTo[Buffer],
    ):
        """Writes a field line.

        Args:
            name: The name, in any case.
            value: The value.
            known: The number of the name.
            into: The destination.
        """
        var own = FieldName.bit(known)
        if (_SECRETS | _DISTINCT) & own != 0:
            var pattern = _NEVER if _SECRETS & own != 0 else _PLAIN
            return _append(pattern, _Name(known), name, value, into)
        self._append_useful(_Name(known), name, value, into)

    def _append_named(
        self, index: Int, value: Span[UInt8, _], into: PointerTo[Buffer]
    ):
        self._append_useful(
            _Name(FieldName.UNKNOWN, index),
            static_name(index).as_bytes(),
            value,
            into,
        )

    @always_inline
    def _append_useful(
        self,
        id: _Name,
        name: Span[UInt8, _],
        value: Span[UInt8, _],
        into: PointerTo[Buffer],
    ):
        var known = id.known
        var size = len(name) + len(value) + ENTRY_OVERHEAD_OCTETS
        if len(value) > _VALUE_OCTETS_MAX or size > self.state[].table.size_max:
            return _append(_PLAIN, id, name, value, into)
        ref s = self.state[]
        if unlikely(len(s.seen) == 0):
            s.seen = List[_Seen](length=_PLACES, fill=_Seen(0, 0))
        var hash = _hash_of(name, value, known)
        ref seen = s.seen.unsafe_get(Int(hash >> 26))
        if seen.hash != hash:
            seen = _Seen(hash, 0)
            return _append(_PLAIN, id, name, value, into)
        var index = Int(s.insertions - seen.insertion) + 1
        if seen.insertion != 0 and index <= s.table.count:
            if self._is_entry(index, name, value, known):
                return append_integer(_INDEXED, 7, STATIC_COUNT + index, into)
        _append(_INSERTED, id, name, value, into)
        self._insert(name, value, known)
        seen.insertion = s.insertions

    @no_inline
    def _insert(
        self, name: Span[UInt8, _], value: Span[UInt8, _], known: UInt8
    ):
        var lower = Buffer()
        _append_lower(name, lower)
        _ = self.state[].table.insert(lower.span(), value, known)
        self.state[].insertions += 1

    @always_inline
    def _is_entry(
        self,
        index: Int,
        name: Span[UInt8, _],
        value: Span[UInt8, _],
        known: UInt8,
    ) -> Bool:
        ref table = self.state[].table
        var entry = table.entry(index)
        return (
            entry.known == known
            and equals(table.unsafe_value(entry), value)
            and (
                known != FieldName.UNKNOWN
                or equals_ignoring_case(table.unsafe_name(entry), name)
            )
        )

    @no_inline
    def _tell_size(self, into: PointerTo[Buffer]):
        if self.state[].size_told_first < self.state[].table.size_max:
            append_size_update(self.state[].size_told_first, into)
        append_size_update(self.state[].table.size_max, into)
        self.state[].size_told_first = -1


@no_inline
def _append(
    pattern: UInt8,
    id: _Name,
    name: Span[UInt8, _],
    value: Span[UInt8, _],
    into: PointerTo[Buffer],
):
    append_integer(pattern, 6 if pattern == _INSERTED else 4, id.index, into)
    if id.index == 0:
        append_integer(0, 7, len(name), into)
        _append_lower(name, into[])
    append_string(value, into)


def _append_lower(name: Span[UInt8, _], mut into: Buffer):
    var target = into.reserve(len(name))
    for i in range(len(name)):
        target[unsafe_offset=i] = lower_octet(name.unsafe_get(i))
    into.advance(len(name))


@always_inline
def _name_index(known: UInt8) -> Int:
    return Int(global_constant[_NAME_INDEXES]().unsafe_get(Int(known) & 63))


@always_inline
def _hash_of(
    name: Span[UInt8, _], value: Span[UInt8, _], known: UInt8
) -> UInt32:
    """Mixes the ends of both strings. Lines that it confuses are written whole.
    """
    comptime FACTOR: UInt64 = 0x9E3779B97F4A7C15
    var mixed = UInt64(len(value)) << 8 | UInt64(known)
    if known == FieldName.UNKNOWN:
        mixed ^= _ends_of(name) * FACTOR
    mixed = (mixed ^ _ends_of(value)) * FACTOR
    return UInt32(mixed >> 32) | 1


@always_inline
def _ends_of(text: Span[UInt8, _]) -> UInt64:
    var count = len(text)
    var p = text.unsafe_ptr()
    if count >= 8:
        var first = p.unsafe_bitcast[UInt64]().unsafe_load[alignment=1]()
        var last = (
            p.unsafe_offset(count - 8)
            .unsafe_bitcast[UInt64]()
            .unsafe_load[alignment=1]()
        )
        return first ^ (last << 17 | last >> 47)
    var ends: UInt64 = 0
    for i in range(count):
        ends = ends << 8 | UInt64(text.unsafe_get(i))
    return ends


def _status_index(status: Int) -> Int:
    if status == 200:
        return 8
    if status == 204:
        return 9
    if status == 206:
        return 10
    if status == 304:
        return 11
    if status == 400:
        return 12
    if status == 404:
        return 13
    return 14 if status == 500 else 0
