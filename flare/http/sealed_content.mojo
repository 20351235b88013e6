"""Stores content that is sent many times and never changes."""

from std.builtin.builtin_slice import ContiguousSlice
from std.memory import ArcPointer

from flare.core import OctetCount
from flare.sys.sealed_pages import SealedPages


struct SealedContent(ImplicitlyCopyable, Sized):
    """Immutable octets that are sent many times without being copied.

    Use it for content that many answers share, such as an asset or a rendered
    page. Without TLS, the kernel sends content over 32 KiB from its own pages,
    because copying it would cost more than the rest of the answer. Up to 8 KiB
    are copied after the head, like any content. Copies refer to the same octets, on any
    thread. The last one frees them, after all answers that use them were sent.

    Creating one copies the octets once; more than 32 KiB into whole pages of a
    dedicated mapping. A process may have tens of thousands of mappings (Linux,
    `vm.max_map_count`), so create one for each content, not one for each
    answer. From 768 KiB on, the mapping uses huge pages if the system has them,
    which makes sending cheaper. Create one for many contents, and answer with
    parts of it.
    """

    var _pages: ArcPointer[SealedPages]
    var _start: Int
    var _octet_count: Int

    def __init__(out self, octets: Span[UInt8, _]) raises:
        """Copies octets and seals the copy.

        Args:
            octets: The octets.

        Raises:
            An error `http.no_memory … errno=N` if memory runs out.
        """
        var pages = SealedPages()
        var problem = pages.seal(octets)
        if problem < 0:
            raise Error("http.no_memory for sealed content errno=", -problem)
        self._pages = ArcPointer(pages^)
        self._start = 0
        self._octet_count = len(octets)

    def __init__(out self, text: StringSlice) raises:
        """Copies a text and seals the copy.

        Args:
            text: The text.

        Raises:
            An error `http.no_memory … errno=N` if memory runs out.
        """
        self = Self(text.as_bytes())

    def __len__(self) -> Int:
        """Returns the number of octets.

        Returns:
            The number.
        """
        return self._octet_count

    def held_octets(self) -> Int:
        """Returns how much memory the content takes, or, for a part, all of
        which it is a part.

        Returns:
            The number of octets; more than the length if huge pages have room
            left.
        """
        return self._pages[].held_octets()

    def count_in(self, counter: OctetCount):
        """Counts the memory of the content, until the last copy and the last
        answer with it have ended. No other thread may use it yet.

        Args:
            counter: The counter; only the first one of a content counts.
        """
        self._pages[].count_in(counter)

    def __getitem__(self, slice: ContiguousSlice) -> Self:
        """Returns a part of the content.

        Args:
            slice: The range, as for a `Span`; without a step.

        Returns:
            A reference to the part, which keeps the whole content in memory.
        """
        var start, end = slice.indices(len(self))
        var part = self
        part._start += start
        part._octet_count = max(end - start, 0)
        return part^

    def octets(self) -> Span[UInt8, origin_of(self)]:
        """Returns a view of the octets.

        Returns:
            A view that lives as long as the content.
        """
        return rebind[Span[UInt8, origin_of(self)]](
            self._pages[].octets()[self._start : self._start + len(self)]
        )
