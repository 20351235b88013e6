"""A reader that decodes, and a writer that encodes."""

from flare.core import OctetBlock, PointerTo, heap_create, heap_destroy
from flare.io import Reader, Writer
from flare.sys.coding_step import CodingFlush

from .coding import ContentCoding
from .content_decoder import ContentDecoder
from .content_encoder import ContentEncoder

comptime _READ_OCTETS = 16 * 1024
comptime _WRITE_OCTETS_MAX = 64 * 1024
comptime _KEPT_OCTETS_MAX = 128 * 1024


struct _ReaderState[R: Reader & Movable & Deinitable](Movable):
    var reader: Self.R
    var decoder: ContentDecoder
    var octets: OctetBlock
    var start: Int
    var end: Int
    var has_ended: Bool

    def __init__(out self, var reader: Self.R, var decoder: ContentDecoder):
        self.reader = reader^
        self.decoder = decoder^
        self.octets = OctetBlock(length=_READ_OCTETS)
        self.start = 0
        self.end = 0
        self.has_ended = False


struct DecodingReader[R: Reader & Movable & Deinitable](Movable, Reader):
    """Reads the content from a reader of coded octets.

    Parameters:
        R: The type of the reader.
    """

    var _state: PointerTo[_ReaderState[Self.R]]

    def __init__(out self, var reader: Self.R, var decoder: ContentDecoder):
        """Creates a reader that decodes from another reader.

        Args:
            reader: The reader of the coded octets.
            decoder: The decoder.
        """
        self._state = heap_create(_ReaderState(reader^, decoder^))

    def __deinit__(deinit self):
        """Frees the codec, and destroys the inner reader or writer."""
        heap_destroy(self._state)

    @no_inline
    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads and decodes content.

        Args:
            into: The destination.

        Returns:
            The number of octets; 0 at the end, or if `into` is empty.

        Raises:
            EncodingError: If the octets are malformed, incomplete, continue
                after the end, or exceed a limit; and the errors of the reader.
        """
        if len(into) == 0:
            return 0
        var s = self._state
        while True:
            var progress = s[].decoder.decode(
                s[].octets.span()[s[].start : s[].end], into
            )
            s[].start += progress.consumed
            if progress.produced > 0:
                return progress.produced
            if s[].has_ended:
                s[].decoder.end()
                return 0
            s[].start = 0
            s[].end = 0
            var count = s[].reader.read(s[].octets.span())
            s[].end = count
            s[].has_ended = count == 0


struct _WriterState[W: Writer & Movable & Deinitable](Movable):
    var writer: Self.W
    var encoder: ContentEncoder
    var coded: List[UInt8]
    var is_writing: Bool

    def __init__(out self, var writer: Self.W, var encoder: ContentEncoder):
        self.writer = writer^
        self.encoder = encoder^
        self.coded = List[UInt8]()
        self.is_writing = False


struct EncodingWriter[W: Writer & Movable & Deinitable](Movable, Writer):
    """Encodes octets and writes them to another writer.

    The encoder may hold octets back. `flush` sends them. Call `close` to end
    the content: otherwise it is truncated. One fiber may write at a time.

    Parameters:
        W: The type of the writer.
    """

    var _state: PointerTo[_WriterState[Self.W]]

    def __init__(
        out self,
        var writer: Self.W,
        coding: ContentCoding = ContentCoding.GZIP,
        level: Optional[Int] = None,
    ) raises:
        """Creates a writer that encodes into another writer.

        Args:
            writer: The writer of the coded octets.
            coding: The coding, not `IDENTITY`.
            level: The compression level (`EncodingLevel`); by default that of
                the coding.

        Raises:
            EncodingError: As `ContentEncoder` does.
        """
        var encoder = ContentEncoder(coding, level)
        self._state = heap_create(_WriterState(writer^, encoder^))

    def __deinit__(deinit self):
        """Frees the codec, and destroys the inner reader or writer."""
        heap_destroy(self._state)

    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Encodes octets.

        Args:
            octets: The next octets of the content.

        Returns:
            The number of octets taken, at most 64 KiB; at least 1 unless
            `octets` is empty.

        Raises:
            EncodingError: If the library fails, or the content has ended; and
                the errors of the writer.
        """
        var taken = min(len(octets), _WRITE_OCTETS_MAX)
        if taken > 0:
            self._write(octets[:taken], CodingFlush.NONE)
        return taken

    def flush(self) raises:
        """Sends all octets written so far, so that the recipient can decode
        them.

        Raises:
            EncodingError: If the library fails, or the content has ended; and
                the errors of the writer.
        """
        self._write(Span[UInt8, ImmUntrackedOrigin](), CodingFlush.SYNC)

    def close(self) raises:
        """Ends the content. Further calls have no effect.

        Raises:
            EncodingError: If the library fails; and the errors of the writer.
        """
        self._write(Span[UInt8, ImmUntrackedOrigin](), CodingFlush.FINISH)

    def writer(self) -> ref[self] Self.W:
        """Returns the writer of the coded octets.

        Returns:
            The writer, which lives as long as this one.
        """
        return (
            Pointer(to=self._state[].writer)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[origin_of(self)]()[]
        )

    @no_inline
    def _write(self, octets: Span[UInt8, _], flush: Int) raises:
        var s = self._state
        if s[].is_writing:
            raise Error("io.busy write_all another fiber writes")
        s[].is_writing = True
        try:
            s[].encoder.append(octets, s[].coded, flush)
            s[].writer.write_all(Span(s[].coded))
        finally:
            s[].is_writing = False
            if s[].coded.capacity() > _KEPT_OCTETS_MAX:
                s[].coded = List[UInt8]()
            else:
                s[].coded.clear()
