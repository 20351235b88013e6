"""Allocates long blocks from libc, whose memory goes back to the kernel.

Mojo's allocator keeps the pages of freed blocks of up to 256 KiB, and exports no
function that would give them back. What libc keeps is given back when asked.
"""

from std.ffi import c_int, external_call
from std.os import abort


@always_inline
def allocate_block(octets: Int) -> Int:
    """Allocates a block (malloc(3)); ends the process if there is no memory, as
    Mojo's allocator does.

    Args:
        octets: Its length; at least 1.

    Returns:
        Its address, a multiple of 16.
    """
    var address = external_call["malloc", Int](octets)
    if address == 0:
        abort("flare: no memory")
    return address


@always_inline
def free_block(address: Int):
    """Frees a block.

    Args:
        address: What `allocate_block` returned.

    Safety:
        Nobody uses the block any more.
    """
    external_call["free", NoneType](address)


def give_free_memory_back():
    """Gives the pages of free blocks back to the kernel, of those that C
    libraries had too (malloc_trim(3)); looks at all that are free."""
    _ = external_call["malloc_trim", c_int](Int(0))
