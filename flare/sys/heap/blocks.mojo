"""Allocates long blocks from libc, whose memory can return to the kernel.

Mojo's allocator keeps the pages of freed blocks of up to 256 KiB, and has no
function to return them. The functions of libc return free pages on request.
"""

from std.ffi import c_int, external_call
from std.os import abort

comptime Block = Pointer[UInt8, MutUntrackedOrigin]
"""The address of a block."""


@always_inline
def allocate_block(octets: Int) -> Block:
    """Allocates a block; ends the process if there is no memory, as
    Mojo's allocator does.

    Args:
        octets: Its length; at least 1.

    Returns:
        Its address, a multiple of 16.
    """
    var block = _realloc(None, octets)
    if not block:
        abort("flare: no memory")
    return block.unsafe_value()


@always_inline
def free_block(block: Block):
    """Frees a block.

    Args:
        block: The result of `allocate_block`.

    Safety:
        The caller never uses the block again.
    """
    _ = _realloc(block, 0)


@always_inline
def _realloc(block: Optional[Block], octets: Int) -> Optional[Block]:
    # With a null block, glibc's `realloc` allocates; with length 0, it frees.
    # The standard library declares `free` with attributes that `external_call`
    # cannot repeat, and a program has only one declaration.
    return external_call["realloc", Optional[Block]](block, octets)


def give_free_memory_back():
    """Returns the pages of free blocks to the kernel (malloc_trim(3)).

    It includes blocks that C libraries have freed. The call visits every free
    block of the process.
    """
    _ = external_call["malloc_trim", c_int](Int(0))
