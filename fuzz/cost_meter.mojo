"""Measures what a piece of work costs: processor time, and heap at its peak.

The program exports `KGEN_CompilerRT_AlignedAlloc` and `…Free`, which replace
those of Mojo's runtime, and lets them call `take_block` and `give_block`. Only
the module with `main` can export them.
"""

from std.atomic import Atomic, Ordering
from std.ffi import external_call
from std.sys import inlined_assembly

comptime HeapBlock = Pointer[NoneType, MutUntrackedOrigin]
"""The address of a block."""
comptime _Counter = Pointer[Int64, MutUntrackedOrigin]
comptime _THREAD_CLOCK = Int32(3)
comptime _TRIM_THRESHOLD = Int32(-1)
comptime _MMAP_THRESHOLD = Int32(-3)
# The most that libc takes for these.
comptime _KEPT_OCTETS = Int32(32 << 20)


def keep_memory():
    """Lets libc keep what was given back: to take pages from the kernel anew
    costs more than most of what is measured."""
    _ = external_call["mallopt", Int32](_MMAP_THRESHOLD, _KEPT_OCTETS)
    _ = external_call["mallopt", Int32](_TRIM_THRESHOLD, _KEPT_OCTETS)


def processor_ns() -> Int:
    """Returns the processor time that this thread has used.

    Returns:
        Nanoseconds.
    """
    var time = SIMD[DType.int64, 2](0)
    _ = external_call["clock_gettime", Int32](_THREAD_CLOCK, Pointer(to=time))
    return Int(time[0]) * 1_000_000_000 + Int(time[1])


def begin_peak():
    """Forgets the peak: from here on it is counted anew."""
    var held = Atomic[Int64].load[ordering=Ordering.RELAXED](_counter(0))
    Atomic[Int64].store[ordering=Ordering.RELAXED](_counter(1), held)
    Atomic[Int64].store[ordering=Ordering.RELAXED](_counter(2), held)


def peak_octets() -> Int:
    """Returns how much more heap was held at the peak than at `begin_peak`.

    Returns:
        Octets, those that libc rounds blocks up by included.
    """
    return Int(
        Atomic[Int64].load[ordering=Ordering.RELAXED](_counter(1))
        - Atomic[Int64].load[ordering=Ordering.RELAXED](_counter(2))
    )


def take_block(alignment: Int, size: Int) -> HeapBlock:
    """Takes a block of heap from libc and counts it.

    Args:
        alignment: What divides its address.
        size: The octets that are needed.

    Returns:
        The block.
    """
    var block: HeapBlock
    if alignment <= 16:
        block = external_call["malloc", HeapBlock](size)
    else:
        block = external_call["aligned_alloc", HeapBlock](
            alignment, (size + alignment - 1) & ~(alignment - 1)
        )
    _count(external_call["malloc_usable_size", Int](block))
    return block


def give_block(block: HeapBlock):
    """Gives a block back and counts it.

    Args:
        block: What `take_block` returned.
    """
    _count(-external_call["malloc_usable_size", Int](block))
    external_call["free", NoneType](block)


@no_inline
def _counters() -> Int:
    # What is held, its peak, and what was held at the beginning.
    return inlined_assembly[
        (
            '.pushsection .bss.flare_cost,"aw",@nobits\n.p2align 6\n'
            ".weak flare_cost\nflare_cost: .zero 64\n.popsection\n"
            "leaq flare_cost(%rip), $0"
        ),
        Int,
        constraints="=r",
        has_side_effect=False,
    ]()


@always_inline
def _counter(index: Int) -> _Counter:
    return _Counter(unsafe_from_address=_counters() + 8 * index)


def _count(octets: Int):
    var held = Atomic[Int64].fetch_add[ordering=Ordering.RELAXED](
        _counter(0), Int64(octets)
    ) + Int64(octets)
    if held > Atomic[Int64].load[ordering=Ordering.RELAXED](_counter(1)):
        Atomic[Int64].store[ordering=Ordering.RELAXED](_counter(1), held)
