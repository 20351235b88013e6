"""Defines pointers to heap memory that outlives every scope.

State that a completion, a fiber switch, a callback or another thread may touch
lives there. Handles that copy one pointer give access to it.
"""

from std.memory import Layout, ThinAllocation, alloc, dealloc
from std.sys import size_of

from flare.sys.heap import allocate_block, free_block

comptime PointerTo[T: AnyType] = Pointer[T, MutUntrackedOrigin]
"""A pointer whose target's lifetime the compiler does not follow.

Parameters:
    T: The type pointed to.
"""

comptime OctetPointer = PointerTo[UInt8]
"""A pointer to raw octets."""

comptime Erased = PointerTo[NoneType]
"""A pointer whose target's type only its owner knows."""

# Shorter ones are fast with Mojo's allocator, and fill no whole pages.
comptime _BLOCK_OCTETS_MIN = 4 * 1024


@always_inline
def heap_create[T: Movable](var value: T) -> PointerTo[T]:
    """Moves a value to the heap.

    Parameters:
        T: The type of the value.

    Args:
        value: The value to move.

    Returns:
        Its address, valid until `heap_destroy`.
    """
    var target = alloc(Layout[T].single()).unsafe_leak()
    target.unsafe_write(value^)
    return target


@always_inline
def exchange_values[T: Movable](a: PointerTo[T], b: PointerTo[T]):
    """Exchanges two values as octets. `swap` moves them field by field, which
    takes longer if many fields are small.

    Parameters:
        T: The type of the values; its length is a multiple of 8.

    Args:
        a: One value.
        b: The other value.

    Safety:
        No value contains its own address.
    """
    comptime WORDS = size_of[T]() // 8
    comptime assert size_of[T]() % 8 == 0, "the length is no multiple of 8"
    comptime VECTOR = 4
    var p = a.unsafe_bitcast[UInt64]()
    var q = b.unsafe_bitcast[UInt64]()
    comptime for i in range(0, WORDS - WORDS % VECTOR, VECTOR):
        var x = p.unsafe_offset(i).unsafe_load[width=VECTOR, alignment=8]()
        var y = q.unsafe_offset(i).unsafe_load[width=VECTOR, alignment=8]()
        p.unsafe_offset(i).unsafe_store[alignment=8](y)
        q.unsafe_offset(i).unsafe_store[alignment=8](x)
    comptime for i in range(WORDS - WORDS % VECTOR, WORDS):
        var x = p[unsafe_offset=i]
        p[unsafe_offset=i] = q[unsafe_offset=i]
        q[unsafe_offset=i] = x


def heap_destroy[T: Deinitable](target: PointerTo[T]):
    """Destroys a value that `heap_create` made, and frees its memory.

    Parameters:
        T: The type of the value.

    Args:
        target: The address that `heap_create` returned.

    Safety:
        `heap_create` returned `target`, and the caller does not use it
        afterwards.
    """
    target.unsafe_deinit_pointee()
    dealloc(
        ThinAllocation(unsafe_owned_ptr=target).unsafe_with_layout(
            Layout[T].single()
        )
    )


def allocate_octets(count: Int) -> OctetPointer:
    """Allocates uninitialised octets.

    Args:
        count: The number of octets; at least 1.

    Returns:
        Their address, valid until `free_octets`.
    """
    if count >= _BLOCK_OCTETS_MIN:
        return allocate_block(count)
    return alloc(Layout[UInt8](count=count)).unsafe_leak()


def free_octets(target: OctetPointer, count: Int):
    """Frees memory that `allocate_octets` returned.

    Args:
        target: The address.
        count: The count it was allocated with.

    Safety:
        `allocate_octets(count)` returned `target`, and the caller does not use
        it afterwards.
    """
    if count >= _BLOCK_OCTETS_MIN:
        free_block(target)
        return
    dealloc(
        ThinAllocation(unsafe_owned_ptr=target).unsafe_with_layout(
            Layout[UInt8](count=count)
        )
    )
