"""Encodes content as it is written, with any library."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.sys.brotli import BrotliResult, BrotliWriter, brotli_encoder
from flare.sys.coding_step import CodingFlush, CodingStep
from flare.sys.zlib import ZlibResult, ZlibStream, ZlibWindow, zlib
from flare.sys.zstd import ZstdResult, ZstdWriter, zstd

from .coding import ContentCoding
from .content_decoder import CodingProgress
from .error import EncodingError

# Most memory of an encoder is its window. Half a MiB is enough for content
# that is compressed while it is sent.
comptime _WINDOW_BITS = 19
comptime _GROWTH_OCTETS = 4096


struct EncodingLevel:
    """The default and the largest compression level of each coding.

    A higher level makes the content smaller and takes more work. The defaults
    cost about as much time as sending does.
    """

    comptime GZIP = 6
    """From 1 to 9; also for `deflate`."""
    comptime BROTLI = 4
    """From 0 to 11; levels over 9 take a hundred times as long."""
    comptime BROTLI_SHORT = 3
    """The default for contents of up to `SHORT_OCTETS_MAX`: two thirds of the
    work of `BROTLI` for hardly more octets."""
    comptime SHORT_OCTETS_MAX = 16 * 1024
    """The longest content that counts as short."""
    comptime ZSTD = 3
    """From 1 to 19."""

    @staticmethod
    def default_of(coding: ContentCoding) -> Int:
        """Returns the default level of a coding.

        Args:
            coding: The coding.

        Returns:
            The level; 0 for `IDENTITY`.
        """
        if coding == ContentCoding.BROTLI:
            return Self.BROTLI
        if coding == ContentCoding.ZSTD:
            return Self.ZSTD
        return 0 if coding == ContentCoding.IDENTITY else Self.GZIP

    @staticmethod
    def allows(coding: ContentCoding, level: Int) -> Bool:
        """Returns whether a coding has a level.

        Args:
            coding: The coding.
            level: The level.

        Returns:
            True if the level is valid for the coding.
        """
        if coding == ContentCoding.BROTLI:
            return 0 <= level <= 11
        if coding == ContentCoding.ZSTD:
            return 1 <= level <= 19
        return coding == ContentCoding.IDENTITY or 1 <= level <= 9


struct _EncoderState(Movable):
    var coding: ContentCoding
    var level: Int
    var has_ended: Bool
    var zlib: Optional[ZlibStream]
    var brotli: Optional[BrotliWriter]
    var zstd: Optional[ZstdWriter]

    def __init__(out self, coding: ContentCoding, level: Int):
        self.coding = coding
        self.level = level
        self.has_ended = False
        self.zlib = None
        self.brotli = None
        self.zstd = None

    def __deinit__(deinit self):
        if self.zlib:
            self.zlib.unsafe_value().close()
        if self.brotli:
            self.brotli.unsafe_value().close()
        if self.zstd:
            self.zstd.unsafe_value().close()

    def open(mut self) raises EncodingError:
        var is_missing: Bool
        if self.coding == ContentCoding.BROTLI:
            var library = brotli_encoder()
            is_missing = not library
            if library:
                self.brotli = library.value().open_writer(
                    self.level, _WINDOW_BITS
                )
        elif self.coding == ContentCoding.ZSTD:
            var library = zstd()
            is_missing = not library
            if library:
                self.zstd = library.value().open_writer(
                    self.level, _WINDOW_BITS
                )
        else:
            var library = zlib()
            is_missing = not library
            if library:
                self.zlib = library.value().open_deflater(
                    ZlibWindow.GZIP if self.coding
                    == ContentCoding.GZIP else ZlibWindow.ZLIB,
                    self.level,
                )
        if is_missing:
            raise self.failure(EncodingError.NO_LIBRARY)
        if not self.zlib and not self.brotli and not self.zstd:
            raise self.failure(EncodingError.NO_MEMORY)

    def failure(self, kind: Int) -> EncodingError:
        return EncodingError(kind, "encode", self.coding.name(), 0)


struct ContentEncoder(Movable):
    """Encodes content with one coding, in pieces of any size.

    It uses about 300 KiB for gzip and deflate, and 1 to 4 MiB for Brotli and
    Zstandard, until its content ends.
    """

    var _state: PointerTo[_EncoderState]

    def __init__(
        out self, coding: ContentCoding, level: Optional[Int] = None
    ) raises:
        """Creates an encoder.

        Args:
            coding: The coding, not `IDENTITY`.
            level: The compression level (`EncodingLevel`); by default that of
                the coding.

        Raises:
            EncodingError: If there is no such coding or level, if a library is
                missing, or if memory runs out.
        """
        var chosen = EncodingLevel.default_of(coding)
        if level:
            chosen = level.value()
        if coding == ContentCoding.IDENTITY or not EncodingLevel.allows(
            coding, chosen
        ):
            raise Error(
                EncodingError(
                    EncodingError.BAD_CONFIG, "configure", coding.name(), 0
                )
            )
        var state = _EncoderState(coding, chosen)
        try:
            state.open()
        except e:
            raise Error(e)
        self._state = heap_create(state^)

    def __deinit__(deinit self):
        """Frees the encoder."""
        heap_destroy(self._state)

    def coding(self) -> ContentCoding:
        """Returns the coding.

        Returns:
            The coding.
        """
        return self._state[].coding

    def level(self) -> Int:
        """Returns the compression level (`EncodingLevel`).

        Returns:
            The level.
        """
        return self._state[].level

    @no_inline
    def encode(
        self,
        input: Span[UInt8, _],
        into: Span[mut=True, UInt8, _],
        flush: Int = CodingFlush.NONE,
    ) raises -> CodingProgress:
        """Encodes until the input is consumed or the output is full.

        Args:
            input: The next octets of the content; pass those not consumed
                again.
            into: The destination of the coded octets; not empty.
            flush: One of the constants of `CodingFlush`, for the whole input.

        Returns:
            The numbers consumed and produced. If all input was consumed and
            there is room left, the call, with its flush, is complete.

        Raises:
            EncodingError: If the library fails, or the content has ended.
        """
        var s = self._state
        if s[].has_ended:
            if len(input) == 0 and flush == CodingFlush.FINISH:
                return CodingProgress(0, 0)
            raise Error(s[].failure(EncodingError.ENDED))
        var consumed = 0
        var produced = 0
        while True:
            var step: CodingStep
            try:
                step = self._run(input[consumed:], into[produced:], flush)
            except e:
                raise Error(e)
            consumed += step.consumed
            produced += step.produced
            if s[].has_ended or produced == len(into):
                return CodingProgress(consumed, produced)
            # With room left the library has nothing to add until the end.
            if consumed == len(input) and flush != CodingFlush.FINISH:
                return CodingProgress(consumed, produced)
            if step.consumed + step.produced == 0:
                raise Error(s[].failure(EncodingError.OTHER))

    def append(
        self,
        input: Span[UInt8, _],
        mut into: List[UInt8],
        flush: Int = CodingFlush.NONE,
    ) raises:
        """Encodes a whole piece of the content.

        Args:
            input: The next octets of the content.
            into: The list to append the coded octets to.
            flush: One of the constants of `CodingFlush`.

        Raises:
            EncodingError: If the library fails, or the content has ended.
        """
        var rest = input
        while True:
            var start = len(into)
            var room = max(_GROWTH_OCTETS, len(rest) // 4)
            into.resize(unsafe_uninit_length=start + room)
            var progress: CodingProgress
            try:
                progress = self.encode(rest, Span(into)[start:], flush)
            except e:
                into.resize(unsafe_uninit_length=start)
                raise e^
            into.resize(unsafe_uninit_length=start + progress.produced)
            rest = rest[progress.consumed :]
            if progress.produced < room:
                return

    def reset(self) raises:
        """Drops the content, so that another one can be encoded.

        Raises:
            EncodingError: If memory runs out.
        """
        var s = self._state
        s[].has_ended = False
        if s[].zlib:
            s[].zlib.unsafe_value().reset()
        elif s[].zstd:
            s[].zstd.unsafe_value().reset()
        else:
            if s[].brotli:
                s[].brotli.unsafe_value().close()
                s[].brotli = None
            try:
                s[].open()
            except e:
                s[].has_ended = True
                raise Error(e)

    def _run(
        self,
        input: Span[UInt8, _],
        into: Span[mut=True, UInt8, _],
        flush: Int,
    ) raises EncodingError -> CodingStep:
        var s = self._state
        var step: CodingStep
        var is_end: Bool
        var lacks_memory = False
        var is_bad: Bool
        if s[].brotli:
            step = s[].brotli.unsafe_value().run(input, into, flush)
            is_end = step.result == BrotliResult.DONE
            is_bad = step.result == BrotliResult.FAILED
        elif s[].zstd:
            step = s[].zstd.unsafe_value().run(input, into, flush)
            is_end = (
                step.result == ZstdResult.DONE and flush == CodingFlush.FINISH
            )
            is_bad = step.result == ZstdResult.FAILED
            lacks_memory = step.result == ZstdResult.NO_MEMORY
        else:
            step = s[].zlib.value().run(input, into, flush)
            is_end = step.result == ZlibResult.STREAM_END
            is_bad = not is_end and (
                step.result != ZlibResult.OK
                and step.result != ZlibResult.BUFFER_ERROR
            )
        if lacks_memory:
            raise s[].failure(EncodingError.NO_MEMORY)
        if is_bad:
            raise s[].failure(EncodingError.OTHER)
        s[].has_ended = is_end
        return step
