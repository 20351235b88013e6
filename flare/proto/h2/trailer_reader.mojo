"""Turns the field block after content into trailers (RFC 9113 section 8.1)."""

from flare.core import Buffer
from flare.message import FieldLine

from .field_check import LineKind, is_of_connection
from .head_limits import H2HeadFault, H2HeadLimits
from .hpack import HpackDecoder, HpackError, HpackField
from .wire_line import append_field_line

# `: ` and CR LF.
comptime _AROUND_OCTETS = 4


struct TrailerReader(Movable):
    """Assembles one trailer section after another, in the form of HTTP/1.1."""

    var lines: List[FieldLine]
    """The lines of the latest section."""
    var octets: Buffer
    """The octets to which they refer."""
    var _limits: H2HeadLimits

    def __init__(out self, limits: H2HeadLimits):
        """Creates a reader.

        Args:
            limits: The limits.
        """
        self.lines = []
        self.octets = Buffer()
        self._limits = limits

    def read(
        mut self, decoder: HpackDecoder, block: Span[mut=False, UInt8, _]
    ) raises HpackError -> H2HeadFault:
        """Reads a whole block.

        Args:
            decoder: The decoder of the connection.
            block: The block.

        Returns:
            The first fault, if there is one.

        Raises:
            HpackError: If the block cannot be decompressed.
        """
        self.lines.clear()
        self.octets.clear()
        decoder.begin_block()
        var fault = H2HeadFault.NONE
        var at = 0
        while True:
            var field = decoder.next(block, at)
            if not field:
                return fault
            at = field.end
            # After a fault, the rest matters to the table only.
            if not fault:
                fault = self._take(field)

    def _take(mut self, field: HpackField) -> H2HeadFault:
        var octets = len(field.name) + len(field.value) + _AROUND_OCTETS
        # An answer is no longer possible at all times, so no status is given.
        if (
            len(self.octets) + octets > self._limits.section_octets_max
            or len(self.lines) >= self._limits.lines_max
        ):
            return H2HeadFault.malformed("the trailer section is too long")
        # A pseudo-header field is none either.
        if field.kind & LineKind.VALID_NAME == 0:
            return H2HeadFault.malformed("the name of a trailer is not valid")
        if field.kind & LineKind.VALID_VALUE == 0:
            return H2HeadFault.malformed("the value of a trailer is not valid")
        if is_of_connection(field.known):
            return H2HeadFault.malformed("a field of a connection of HTTP/1.1")
        append_field_line(field.name, field.value, self.lines, self.octets)
        return H2HeadFault.NONE


def decode_for_table(
    decoder: HpackDecoder, block: Span[mut=False, UInt8, _]
) raises HpackError:
    """Reads a block whose lines do not matter, so that the table stays right.

    Args:
        decoder: The decoder of the connection.
        block: The block.

    Raises:
        HpackError: If the block cannot be decompressed.
    """
    decoder.begin_block()
    var at = 0
    while True:
        var field = decoder.next(block, at)
        if not field:
            return
        at = field.end
