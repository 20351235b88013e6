"""Holds content that is sent over and over and never changes."""

from std.builtin.builtin_slice import ContiguousSlice
from std.memory import ArcPointer

from flare.sys.sealed_pages import SealedPages


struct SealedContent(ImplicitlyCopyable, Sized):
    """Refers to octets that are made once and sent without being copied.

    For what many answers carry: an asset, a rendered page, a catalogue. Over
    32 KiB of it go from its own pages to the network, without TLS: a copy of
    that length costs more than all the rest of an answer. What is shorter is
    sent as any other content. Copies of this refer to the same octets, on any
    thread; the last one gives them back, and an answer that is still under way
    stays whole.

    Its octets are copied when it is made, into whole pages of a mapping of
    their own, of which a process may have some tens of thousands (Linux,
    `vm.max_map_count`): make one for each content, not one for each answer.
    From 1 MiB on it lies in huge pages, where the system has them, and costs
    less to send: make one of many contents, and answer with parts of it.
    """

    var _pages: ArcPointer[SealedPages]
    var _start: Int
    var _octet_count: Int

    def __init__(out self, octets: Span[UInt8, _]) raises:
        """Copies octets and seals the copy.

        Args:
            octets: The octets.

        Raises:
            An error `http.no_memory … errno=N` if there is none for them.
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
            An error `http.no_memory … errno=N` if there is none for it.
        """
        self = Self(text.as_bytes())

    def __len__(self) -> Int:
        """Counts the octets.

        Returns:
            The count.
        """
        return self._octet_count

    def __getitem__(self, slice: ContiguousSlice) -> Self:
        """Takes a part.

        Args:
            slice: Which octets, as of a `Span`; without a step.

        Returns:
            What refers to these octets, and keeps all in memory.
        """
        var start, end = slice.indices(len(self))
        var part = self
        part._start += start
        part._octet_count = max(end - start, 0)
        return part^

    def octets(self) -> Span[UInt8, origin_of(self)]:
        """Views the octets.

        Returns:
            A view that lives as long as this.
        """
        return rebind[Span[UInt8, origin_of(self)]](
            self._pages[].octets()[self._start : self._start + len(self)]
        )
