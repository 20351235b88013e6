"""Stores octets that cannot change; long ones in pages of their own."""

from std.math import align_up

from flare.core import (
    OctetCount,
    OctetPointer,
    allocate_octets,
    free_octets,
)

from .memory import (
    HUGE_PAGE_OCTETS,
    at_address,
    forbid_writing,
    map_private_in_huge_pages,
    unmap,
)

comptime ON_HEAP_OCTETS_MAX = 32 * 1024
"""Up to so many octets lie on the heap, and are copied when they are sent. Pages
of their own would waste memory, and a process may have tens of thousands of
mappings only.
"""

# The last huge page is worth its memory if it contains as much.
comptime _IN_HUGE_PAGE_OCTETS_MIN = 768 * 1024


struct SealedPages(Movable, Sized):
    """The owner of octets that are never written again. More than 32 KiB lie in
    pages that contain only these.

    When the pages are unmapped, the kernel keeps those that it is still
    sending: only this process's view of them ends.
    """

    var _address: Int
    var _octet_count: Int
    var _counter: Optional[OctetCount]

    def __init__(out self):
        """Creates an empty range."""
        self._address = 0
        self._octet_count = 0
        self._counter = None

    def __deinit__(deinit self):
        """Unmaps the pages."""
        if self._counter:
            self._counter.value().add(-self.held_octets())
        if self._address == 0:
            return
        if self._octet_count <= ON_HEAP_OCTETS_MAX:
            free_octets(
                OctetPointer(unsafe_from_address=self._address),
                self._octet_count,
            )
        else:
            _ = unmap(self._address, _mapped_octets(self._octet_count))

    def seal(mut self, octets: Span[UInt8, _]) -> Int:
        """Copies octets, and seals the pages of long ones.

        Args:
            octets: The octets; there must be none before.

        Returns:
            0, or the negated errno; there are then no octets.
        """
        debug_assert(self._address == 0, "sealed twice")
        if len(octets) == 0:
            return 0
        if len(octets) <= ON_HEAP_OCTETS_MAX:
            self._address = Int(allocate_octets(len(octets)))
            self._octet_count = len(octets)
            Span(
                unsafe_ptr=at_address(self._address), length=len(octets)
            ).copy_from(octets)
            return 0
        var mapped_octets = _mapped_octets(len(octets))
        var address = map_private_in_huge_pages(mapped_octets)
        if address < 0:
            return address
        Span(unsafe_ptr=at_address(address), length=len(octets)).copy_from(
            octets
        )
        var problem = forbid_writing(address, mapped_octets)
        if problem < 0:
            _ = unmap(address, mapped_octets)
            return problem
        self._address = address
        self._octet_count = len(octets)
        return 0

    def __len__(self) -> Int:
        """Returns the number of octets.

        Returns:
            The count.
        """
        return self._octet_count

    def count_in(mut self, counter: OctetCount):
        """Counts the memory until it is freed; only the first counter counts.

        Args:
            counter: The counter.
        """
        if not self._counter:
            self._counter = counter
            counter.add(self.held_octets())

    def held_octets(self) -> Int:
        """Returns how much memory the octets take.

        Returns:
            The number of octets; more than `len` if huge pages have room left.
        """
        if self._octet_count <= ON_HEAP_OCTETS_MAX:
            return self._octet_count
        return _mapped_octets(self._octet_count)

    def octets(self) -> Span[UInt8, origin_of(self)]:
        """Returns a view of the octets.

        Returns:
            A view that lives as long as the pages.
        """
        if self._address == 0:
            return Span[UInt8, origin_of(self)]()
        return rebind[Span[UInt8, origin_of(self)]](
            Span(unsafe_ptr=at_address(self._address), length=len(self))
        )


def _mapped_octets(octet_count: Int) -> Int:
    # To refer to part of a huge page costs the kernel less than to as many small
    # ones. With a megabyte, that is a fifth of the whole answer.
    if octet_count % HUGE_PAGE_OCTETS < _IN_HUGE_PAGE_OCTETS_MIN:
        return octet_count
    return align_up(octet_count, HUGE_PAGE_OCTETS)
