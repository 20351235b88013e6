"""Maps memory: rings shared with the kernel, slabs, and fiber stacks.

Each function returns the kernel's result, or the negated errno.
"""

from std.ffi import c_int, external_call
from std.math import align_up
from std.sys.intrinsics import PrefetchOptions, prefetch

from flare.core import OctetPointer

from .file import result_or_errno

comptime PAGE_OCTETS = 4096
"""The granularity of a mapping."""

comptime HUGE_PAGE_OCTETS = 2 * 1024 * 1024
"""The size that the kernel treats as one page if memory is contiguous."""

comptime LINE_OCTETS = 64
"""The size of a cache line."""

comptime _READ_ONLY = 1
comptime _READ_WRITE = 3
comptime _MADV_DONTNEED = 4
comptime _MADV_HUGEPAGE = 14
comptime _MADV_GUARD_INSTALL = 102


def map_shared(octets: Int, descriptor: Int32, offset: Int) -> Int:
    """Maps memory that a descriptor shares with the kernel.

    Args:
        octets: The length.
        descriptor: The descriptor.
        offset: The start of the range.

    Returns:
        The address, or the negated errno.
    """
    # MAP_SHARED | MAP_POPULATE
    return _map(octets, 0x8001, descriptor, offset)


def map_private(octets: Int) -> Int:
    """Maps zeroed memory of this process alone.

    Args:
        octets: The length.

    Returns:
        The address, or the negated errno.
    """
    # MAP_PRIVATE | MAP_ANONYMOUS
    return _map(octets, 0x22, -1, 0)


def map_private_in_huge_pages(octets: Int) -> Int:
    """Maps zeroed private memory, in huge pages if it fills them and the
    system has them (madvise(2), `MADV_HUGEPAGE`).

    Args:
        octets: The length.

    Returns:
        The address, or the negated errno.
    """
    if octets < HUGE_PAGE_OCTETS:
        return map_private(octets)
    # Only what begins at a multiple of their size becomes one, and mappings
    # may begin at any page.
    var mapped = map_private(octets + HUGE_PAGE_OCTETS)
    if mapped < 0:
        return mapped
    var address = align_up(mapped, HUGE_PAGE_OCTETS)
    var end = align_up(address + octets, PAGE_OCTETS)
    if address > mapped:
        _ = unmap(mapped, address - mapped)
    _ = unmap(end, mapped + octets + HUGE_PAGE_OCTETS - end)
    # If the kernel refuses, the pages are small ones.
    _ = external_call["madvise", c_int](address, octets, c_int(_MADV_HUGEPAGE))
    return address


def map_shared_anonymous(octets: Int) -> Int:
    """Maps zeroed memory that this process shares with those it forks.

    Args:
        octets: The length.

    Returns:
        The address, or the negated errno.
    """
    # MAP_SHARED | MAP_ANONYMOUS
    return _map(octets, 0x21, -1, 0)


def map_shared_sparse(octets: Int) -> Int:
    """Maps zeroed memory that this process shares with those it forks, without
    reserving it: only pages that are written take memory.

    Args:
        octets: The length.

    Returns:
        The address, or the negated errno.
    """
    # MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE
    return _map(octets, 0x4021, -1, 0)


def map_stack(octets: Int, guard_octets: Int) -> Int:
    """Maps a stack whose lowest part ends the process when it is touched.

    Args:
        octets: The length, the guard included; whole pages.
        guard_octets: The length of the guard; whole pages.

    Returns:
        The address of its lowest octet, or the negated errno.
    """
    # MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK
    var base = _map(octets, 0x24022, -1, 0)
    if base < 0:
        return base
    # A guard made by madvise needs no mapping of its own, of which a process
    # may have 65,530; kernels before 6.13 lack it.
    if (
        external_call["madvise", c_int](
            base, guard_octets, c_int(_MADV_GUARD_INSTALL)
        )
        == 0
    ):
        return base
    var protected = result_or_errno(
        Int(external_call["mprotect", c_int](base, guard_octets, c_int(0)))
    )
    if protected < 0:
        _ = unmap(base, octets)
        return protected
    return base


def protect_none(address: Int, octets: Int) -> Int:
    """Makes every access to a range end the process.

    Args:
        address: The first octet, at a page boundary.
        octets: The length; whole pages.

    Returns:
        0, or the negated errno.
    """
    return result_or_errno(
        Int(external_call["mprotect", c_int](address, octets, c_int(0)))
    )


def forbid_writing(address: Int, octets: Int) -> Int:
    """Makes every write to a range end the process; reads continue.

    Args:
        address: The first octet, at a page boundary.
        octets: The length; rounded up to whole pages.

    Returns:
        0, or the negated errno.
    """
    return result_or_errno(
        Int(
            external_call["mprotect", c_int](address, octets, c_int(_READ_ONLY))
        )
    )


def unmap(address: Int, octets: Int) -> Int:
    """Removes a mapping.

    Args:
        address: The result of a mapping function.
        octets: The length it was made with.

    Returns:
        0, or the negated errno.
    """
    return result_or_errno(Int(external_call["munmap", c_int](address, octets)))


def give_pages_back(address: Int, octets: Int) -> Int:
    """Returns the whole pages of a range to the kernel. The range stays
    mapped, and reads as zeros until it is written again.

    Args:
        address: The first octet.
        octets: The length; pages that are only partly in the range stay.

    Returns:
        0, or the negated errno.

    Safety:
        The memory is private, and its content is no longer needed.
    """
    var first = align_up(address, PAGE_OCTETS)
    var end = (address + octets) // PAGE_OCTETS * PAGE_OCTETS
    if end <= first:
        return 0
    return result_or_errno(
        Int(
            external_call["madvise", c_int](
                first, end - first, c_int(_MADV_DONTNEED)
            )
        )
    )


@always_inline
def at_address(address: Int) -> OctetPointer:
    """Returns a pointer to mapped memory.

    Args:
        address: The result of a mapping function.

    Returns:
        A pointer to it.

    Safety:
        The mapping lives as long as the pointer is used.
    """
    return OctetPointer(unsafe_from_address=address)


def _map(octets: Int, flags: Int, descriptor: Int32, offset: Int) -> Int:
    return result_or_errno(
        external_call["mmap", Int](
            Int(0),
            octets,
            c_int(_READ_WRITE),
            c_int(flags),
            descriptor,
            offset,
        )
    )


@always_inline
def prefetch_lines[count: Int](address: Int):
    """Starts to fetch memory into the caches, without waiting.

    Parameters:
        count: The number of cache lines.

    Args:
        address: The first octet; any address will do, mapped or not.
    """
    comptime for line in range(count):
        prefetch[PrefetchOptions().for_read().high_locality().to_data_cache()](
            OctetPointer(unsafe_from_address=address + line * LINE_OCTETS)
        )
