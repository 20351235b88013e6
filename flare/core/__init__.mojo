"""Octets, buffers and heap memory, which all other packages use."""

from .buffer import Buffer, MemoryLender
from .civil_date import CivilDate
from .octet_block import OctetBlock
from .octet_count import OctetCount
from .octet_mask import copy_short_xored, copy_xored, turned_key, xor_octets
from .octets import (
    COLON,
    CR,
    LF,
    SPACE,
    TAB,
    TOKEN_OCTETS,
    OctetSet,
    copy_octets,
    equals,
    equals_ignoring_case,
    equals_lower,
    find_member,
    find_octet,
    is_token,
    lower_octet,
    write_escaped,
    write_hexadecimal,
)
from .pointer import (
    Erased,
    OctetPointer,
    PointerTo,
    allocate_octets,
    free_octets,
    exchange_values,
    heap_create,
    heap_destroy,
)
from .recycler import BlockKind, Recycler, RecyclerState
from .slab import Slab, SlotHandle
from .text_list import index_of_text, text_at
