"""Writes the representations of field lines (RFC 7541 section 6).

The functions insert no line into a table, so they suit any line at any time.
"""

from flare.core import Buffer, PointerTo

from .huffman import append_huffman, huffman_octets
from .integer import append_integer

# Shorter strings gain too little for the time.
comptime _HUFFMAN_OCTETS_MIN = 32


def append_indexed(index: Int, into: PointerTo[Buffer]):
    """Writes a line that a table has (section 6.1).

    Args:
        index: The index of the line, from 1.
        into: The destination.
    """
    append_integer(0x80, 7, index, into)


def append_literal(
    name_index: Int,
    value: Span[UInt8, _],
    into: PointerTo[Buffer],
    *,
    never_indexed: Bool = False,
):
    """Writes a line whose name a table has, without inserting it (sections 6.2.2
    and 6.2.3).

    Args:
        name_index: The index of a line with the name, from 1.
        value: The value.
        into: The destination.
        never_indexed: Whether no intermediary may index it, because it is a
            secret.
    """
    append_integer(_pattern(never_indexed), 4, name_index, into)
    append_string(value, into)


def append_named_literal(
    name: Span[UInt8, _],
    value: Span[UInt8, _],
    into: PointerTo[Buffer],
    *,
    never_indexed: Bool = False,
):
    """Writes a line with its name, without inserting it (sections 6.2.2 and
    6.2.3).

    Args:
        name: The name, in lower case.
        value: The value.
        into: The destination.
        never_indexed: Whether no intermediary may index it, because it is a
            secret.
    """
    into[].append_octet(_pattern(never_indexed))
    append_string(name, into)
    append_string(value, into)


def append_size_update(size_max: Int, into: PointerTo[Buffer]):
    """Writes a change of the table's size (section 6.3); only at the front of a
    block.

    Args:
        size_max: The largest sum of sizes from now on.
        into: The destination.
    """
    append_integer(0x20, 5, size_max, into)


def _pattern(never_indexed: Bool) -> UInt8:
    return 0x10 if never_indexed else 0


def append_string(text: Span[UInt8, _], into: PointerTo[Buffer]):
    """Writes a string (section 5.2), by the Huffman code if that is worth it.

    Args:
        text: The octets.
        into: The destination.
    """
    if len(text) >= _HUFFMAN_OCTETS_MIN:
        var coded_octets = huffman_octets(text)
        if coded_octets < len(text):
            append_integer(0x80, 7, coded_octets, into)
            append_huffman(text, coded_octets, into)
            return
    append_integer(0, 7, len(text), into)
    into[].append(text)
