"""Remembers a request's head for the next one, which often differs in its path
only.

Browsers, curl, Node and hyper send `:path` as a literal that no table takes, and
the other fields by their indices. These mean the same until the table
changes. So if a block agrees with an earlier one in all but this literal, no
other field has to be decoded or checked.
"""

from flare.core import Buffer, equals
from flare.message import FieldLine, Method, RequestTarget

from ..head import Head
from .hpack import HpackDecoder, HpackError
from .priority_field import H2Priority

# Literals that no table takes, with a name of the static table: `:path` has two
# entries there (RFC 7541 section 6.2.2 and appendix A). Section 6.2.3 adds a bit.
comptime _PATH: UInt8 = 4
comptime _INDEX_PATH: UInt8 = 5
comptime _NEVER_INDEXED: UInt8 = 16
# The most octets of a block and of its head. A connection may be idle with them,
# beside thousands of others; the head of a browser takes about 1,000.
comptime _OCTETS_MAX = 1536
comptime _LINES_MAX = 32


@always_inline
def is_path_literal(first: UInt8) -> Bool:
    """Returns whether a representation is a literal `:path` that does not change
    the table.

    Args:
        first: Its first octet.

    Returns:
        False for each other representation.
    """
    var kind = first & ~_NEVER_INDEXED
    return kind == _PATH or kind == _INDEX_PATH


@fieldwise_init
struct BlockFacts(TrivialRegisterPassable):
    """Facts about a block that has been read."""

    var table_version: Int
    """The state of the table that gave its indices their meaning."""
    var path_start: Int
    """The place of the path, a literal that no table takes."""
    var path_end: Int
    """The offset of the octet after the literal."""
    var section_octets: Int
    """The length of its section; in a pattern, without the path."""


struct HeadTemplate(Movable):
    """The parts of a head that later ones of its connection repeat. It allocates no memory before the first of them.
    """

    var _block: Buffer
    """The block without the literal."""
    var _facts: BlockFacts
    """The facts about it before the literal was taken out. The state of the table
    is -1 if there is no block yet."""
    var _has_missed: Bool
    """Whether it did not fit the latest head."""
    var _octets: Buffer
    """The octets of the head without the path."""
    var _lines: List[FieldLine]
    var _known: UInt64
    var _host: Int
    var _start: Int
    var _method: Method
    var _method_octets: Int
    var priority: H2Priority
    """The priority that the heads ask for."""

    @always_inline
    def __init__(out self):
        """Creates a template that fits no block."""
        self._block = Buffer()
        self._facts = BlockFacts(-1, 0, 0, 0)
        self._has_missed = False
        self._octets = Buffer()
        self._lines = []
        self._known = 0
        self._host = 0
        self._start = 0
        self._method = Method.OTHER
        self._method_octets = 0
        self.priority = H2Priority()

    @always_inline
    def fill(
        mut self,
        decoder: HpackDecoder,
        block: Span[mut=False, UInt8, _],
        section_octets_max: Int,
        mut head: Head,
        mut octets: Buffer,
    ) raises HpackError -> Bool:
        """Completes a head if its block differs in the path only.

        Args:
            decoder: The decoder of the connection, before the block.
            block: The block.
            section_octets_max: The limit of the section.
            head: A head that has just begun.
            octets: Its octets, none yet.

        Returns:
            False if the block has to be read line by line, for a path at fault
            too. The head and its octets are as before then.

        Raises:
            HpackError: If the path cannot be decompressed.
        """
        var at = self._facts.path_start
        var own = self._block.span()
        var rest = len(block) - (len(own) - at)
        # The literal has two octets or more.
        if (
            self._facts.table_version != decoder.state[].table.version
            or rest < at + 2
            or not is_path_literal(block.unsafe_get(at))
            or not _has(block, 0, _part(own, 0, at))
            or not _has(block, rest, _part(own, at, len(own)))
        ):
            return False
        var path = decoder.next_value(block, at + 1)
        if (
            path.end != rest
            or self._facts.section_octets + len(path.octets)
            > section_octets_max
        ):
            return False
        try:
            # A target has no octet that a value may not have.
            var target = RequestTarget.parse(path.octets, self._method)
            if target.form == RequestTarget.ABSOLUTE_FORM:
                return False
            head.target = target
        except:
            return False
        octets.append(self._octets.span())
        head.target_start = len(octets)
        head.target_octets = len(path.octets)
        octets.append(path.octets)
        var count = len(self._lines)
        head.lines.resize(unsafe_uninit_length=count)
        for i in range(count):
            head.lines.unsafe_get(i) = self._lines.unsafe_get(i)
        head.known = self._known
        head.host = self._host
        head.start = self._start
        head.method = self._method
        head.method_octets = self._method_octets
        head.keep_alive = True
        decoder.end_block()
        self._has_missed = False
        return True

    @always_inline
    def take(
        mut self,
        block: Span[mut=False, UInt8, _],
        facts: BlockFacts,
        head: Head,
        octets: Span[mut=False, UInt8, _],
        priority: H2Priority,
    ):
        """Takes a head without a fault as the pattern of the next ones, unless it
        is long, or announces content, Expect or another protocol. A pattern that
        may still be of use stays until the second head in a row that it does not
        fit.

        Args:
            block: The block. It has not changed the table.
            facts: The facts about it.
            head: The head.
            octets: Its octets.
            priority: The priority that it asks for.
        """
        if (
            len(block) + len(octets) > _OCTETS_MAX
            or len(head.lines) > _LINES_MAX
            or head.content_length >= 0
            or head.expects_continue
            or head.wants_upgrade
        ):
            return
        # Documents and images of a page take turns: the pattern of the one stays.
        var has_missed = self._has_missed
        self._has_missed = True
        if self._facts.table_version == facts.table_version and not has_missed:
            return
        self._has_missed = False
        self._facts = facts
        self._facts.section_octets -= head.target_octets
        _keep_without(block, facts.path_start, facts.path_end, self._block)
        var end = head.target_start + head.target_octets
        _keep_without(octets, head.target_start, end, self._octets)
        self._lines.clear()
        for line in head.lines:
            self._lines.append(line)
            if Int(line.name_start) >= end:
                ref last = self._lines[len(self._lines) - 1]
                last.name_start -= UInt32(head.target_octets)
                last.value_start -= UInt32(head.target_octets)
        self._start = head.start
        if self._start >= end:
            self._start -= head.target_octets
        self._known = head.known
        self._host = head.host
        self._method = head.method
        self._method_octets = head.method_octets
        self.priority = priority


@always_inline
def _has(
    block: Span[mut=False, UInt8, _], at: Int, part: Span[mut=False, UInt8, _]
) -> Bool:
    return equals(
        block.unsafe_subspan(offset=at, length=len(part)),
        part,
    )


@always_inline
def _part[
    origin: ImmOrigin
](octets: Span[UInt8, origin], start: Int, end: Int) -> Span[UInt8, origin]:
    return octets.unsafe_subspan(offset=start, length=end - start)


@no_inline
def _keep_without(
    octets: Span[mut=False, UInt8, _], start: Int, end: Int, mut into: Buffer
):
    """Copies octets but those of one part. The memory has their length, because
    a connection may be idle with it."""
    if len(octets) > into.capacity():
        into = Buffer(capacity=len(octets))
    into.clear()
    into.append(_part(octets, 0, start))
    into.append(_part(octets, end, len(octets)))
