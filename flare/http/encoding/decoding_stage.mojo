"""Decodes one content coding, with any library.

A stage consumes octets as they arrive, and produces content as there is room.
It lies on the heap, because the libraries keep addresses of their memory.

- gzip: consecutive members are one content (RFC 1952 section 2.2).
- deflate: the zlib format. If the first two octets are no zlib header, the raw
  format, because servers send that too.
- zstd: consecutive frames are one content, skippable frames included (RFC 8878
  section 3.1).

Any other octets after the end are an error, even if other recipients ignore
them: request smuggling exploits octets that recipients treat differently.
"""

from flare.core import (
    OctetPointer,
    PointerTo,
    allocate_octets,
    free_octets,
    heap_create,
    heap_destroy,
)
from flare.sys.brotli import BrotliReader, BrotliResult, brotli_decoder
from flare.sys.coding_step import CodingStep
from flare.sys.zlib import ZlibResult, ZlibStream, ZlibWindow, zlib
from flare.sys.zstd import ZstdReader, ZstdResult, zstd

from .coding import ContentCoding
from .error import EncodingError

comptime ZSTD_WINDOW_BITS_MAX = 23
"""The largest window that content may ask for: 8 MiB (RFC 9659)."""


comptime _HELD_OCTETS_MAX = 18


struct _Phase:
    # The first octets of a member decide what it is; they are held until then.
    comptime FRONT = 0
    comptime WITHIN = 1
    comptime DONE = 2


struct _StageState(Movable):
    var coding: ContentCoding
    var phase: Int
    var held: OctetPointer
    var held_count: Int
    var held_taken: Int
    var members: Int
    # All output was produced: there is no more without further input.
    var is_drained: Bool
    var zlib: Optional[ZlibStream]
    var brotli: Optional[BrotliReader]
    var zstd: Optional[ZstdReader]

    def __init__(out self, coding: ContentCoding):
        self.coding = coding
        self.phase = _Phase.FRONT
        self.held = allocate_octets(_HELD_OCTETS_MAX)
        self.held_count = 0
        self.held_taken = 0
        self.members = 0
        self.is_drained = True
        self.zlib = None
        self.brotli = None
        self.zstd = None

    def __deinit__(deinit self):
        free_octets(self.held, _HELD_OCTETS_MAX)
        if self.zlib:
            self.zlib.unsafe_value().close()
        if self.brotli:
            self.brotli.unsafe_value().close()
        if self.zstd:
            self.zstd.unsafe_value().close()

    def failure(self, kind: Int) -> EncodingError:
        return EncodingError(kind, "decode", self.coding.name(), 0)

    def open(mut self) raises EncodingError:
        if self.coding == ContentCoding.BROTLI:
            var library = brotli_decoder()
            if not library:
                raise self.failure(EncodingError.NO_LIBRARY)
            self.brotli = library.value().open_reader()
            if not self.brotli:
                raise self.failure(EncodingError.NO_MEMORY)
        elif self.coding == ContentCoding.ZSTD:
            var library = zstd()
            if not library:
                raise self.failure(EncodingError.NO_LIBRARY)
            self.zstd = library.value().open_reader(ZSTD_WINDOW_BITS_MAX)
            if not self.zstd:
                raise self.failure(EncodingError.NO_MEMORY)
        elif not zlib():
            # The first octets determine the kind of stream.
            raise self.failure(EncodingError.NO_LIBRARY)

    def front_octets(self) -> Int:
        if self.coding == ContentCoding.BROTLI:
            return 0
        if self.coding != ContentCoding.ZSTD:
            return 2
        # A frame header is passed to the library in one piece. The library
        # looks for a whole frame at the start of each call. If an earlier call
        # had passed the header, it could find a false one in the content.
        if self.held_count < 5:
            return 5
        if self.held[] & 0xF0 == 0x50:
            return 8
        # RFC 8878 section 3.1.1.1.
        var descriptor = Int(self._held(4))
        var is_single = descriptor & 0x20 != 0
        var size_octets = 1 << (descriptor >> 6)
        if size_octets == 1 and not is_single:
            size_octets = 0
        return (
            5
            + (0 if is_single else 1)
            + ((1 << (descriptor & 3)) >> 1)
            + size_octets
        )

    def front_fits(self) -> Bool:
        var first = self.held[]
        var count = self.held_count
        if self.coding == ContentCoding.GZIP:
            return first == 0x1F and (count < 2 or self._held(1) == 0x8B)
        if self.coding == ContentCoding.DEFLATE:
            return True
        if first & 0xF0 == 0x50:
            # Any of sixteen numbers begins a frame that is skipped.
            return (
                (count < 2 or self._held(1) == 0x2A)
                and (count < 3 or self._held(2) == 0x4D)
                and (count < 4 or self._held(3) == 0x18)
            )
        return (
            first == 0x28
            and (count < 2 or self._held(1) == 0xB5)
            and (count < 3 or self._held(2) == 0x2F)
            and (count < 4 or self._held(3) == 0xFD)
        )

    def begin_member(mut self) raises EncodingError:
        self.phase = _Phase.WITHIN
        self.held_taken = 0
        self.is_drained = True
        if self.coding == ContentCoding.BROTLI or (
            self.coding == ContentCoding.ZSTD
        ):
            return
        if self.zlib:
            self.zlib.value().reset()
            return
        var window = ZlibWindow.GZIP
        if self.coding == ContentCoding.DEFLATE:
            window = (
                ZlibWindow.ZLIB if self._has_zlib_header() else ZlibWindow.RAW
            )
        self.zlib = zlib().value().open_inflater(window)
        if not self.zlib:
            raise self.failure(EncodingError.NO_MEMORY)

    def end_member(mut self):
        self.members += 1
        self.held_count = 0
        self.held_taken = 0
        var goes_on = (
            self.coding == ContentCoding.GZIP
            or self.coding == ContentCoding.ZSTD
        )
        self.phase = _Phase.FRONT if goes_on else _Phase.DONE

    def _has_zlib_header(self) -> Bool:
        # RFC 1950 section 2.2: method 8, a window of 32 KiB at most, no
        # dictionary, and a checksum of both octets.
        var first = Int(self.held[])
        var second = Int(self._held(1))
        return (
            first & 15 == 8
            and first >> 4 <= 7
            and second & 0x20 == 0
            and (first * 256 + second) % 31 == 0
        )

    def _held(self, index: Int) -> UInt8:
        return self.held[unsafe_offset=index]


@fieldwise_init
struct DecodingStage(TrivialRegisterPassable):
    """The decoder of one coding."""

    var _state: PointerTo[_StageState]

    @staticmethod
    def open(coding: ContentCoding) raises EncodingError -> Self:
        """Starts to decode.

        Args:
            coding: The coding, not `IDENTITY`.

        Returns:
            The stage, which the caller closes.

        Raises:
            EncodingError: If a library is missing, or memory runs out.
        """
        var stage = Self(heap_create(_StageState(coding)))
        try:
            stage._state[].open()
        except e:
            stage.close()
            raise e
        return stage

    def close(self):
        """Frees the stage. Do not use it afterwards."""
        heap_destroy(self._state)

    @no_inline
    def step(
        self, input: Span[UInt8, _], output: Span[mut=True, UInt8, _]
    ) raises EncodingError -> CodingStep:
        """Decodes until the input is consumed or the output is full.

        Args:
            input: Coded octets.
            output: The destination of the content.

        Returns:
            The numbers consumed and produced.

        Raises:
            EncodingError: If the octets are malformed, or continue after the
                end.
        """
        var s = self._state
        var consumed = 0
        var produced = 0
        while True:
            if s[].phase == _Phase.DONE:
                if consumed < len(input):
                    raise s[].failure(EncodingError.TRAILING_OCTETS)
                return CodingStep(0, consumed, produced)
            if s[].phase == _Phase.FRONT:
                consumed += self._take_front(input[consumed:])
                if s[].held_count < s[].front_octets():
                    return CodingStep(0, consumed, produced)
                s[].begin_member()
            if s[].held_taken < s[].held_count:
                var held = Span(
                    unsafe_ptr=s[].held.unsafe_offset(s[].held_taken),
                    length=s[].held_count - s[].held_taken,
                )
                var step = self._run(held, output[produced:])
                s[].held_taken += step.consumed
                produced += step.produced
                if s[].phase == _Phase.WITHIN and step.consumed == 0:
                    return CodingStep(0, consumed, produced)
                continue
            var step = self._run(input[consumed:], output[produced:])
            consumed += step.consumed
            produced += step.produced
            if s[].phase == _Phase.WITHIN and (
                consumed == len(input)
                or produced == len(output)
                or step.consumed + step.produced == 0
            ):
                return CodingStep(0, consumed, produced)

    def has_ended(self) -> Bool:
        """Returns whether the coded octets may end here.

        Returns:
            True after a whole content.
        """
        var s = self._state
        return s[].phase == _Phase.DONE or (
            s[].phase == _Phase.FRONT
            and s[].members > 0
            and s[].held_count == 0
        )

    def failure(self, kind: Int, limit: Int = 0) -> EncodingError:
        """Returns an error of this coding.

        Args:
            kind: One of the constants of `EncodingError`.
            limit: The limit that was exceeded.

        Returns:
            The error.
        """
        var error = self._state[].failure(kind)
        error.limit = limit
        return error

    def _take_front(self, input: Span[UInt8, _]) raises EncodingError -> Int:
        var s = self._state
        var taken = 0
        while taken < len(input) and s[].held_count < s[].front_octets():
            s[].held[unsafe_offset=s[].held_count] = input[taken]
            s[].held_count += 1
            taken += 1
            if not s[].front_fits():
                raise s[].failure(
                    EncodingError.TRAILING_OCTETS if s[].members
                    > 0 else EncodingError.BAD_DATA
                )
        return taken

    def _run(
        self, input: Span[UInt8, _], output: Span[mut=True, UInt8, _]
    ) raises EncodingError -> CodingStep:
        var s = self._state
        # Asked without need again and again, Zstandard takes that for a fault.
        if len(input) == 0 and s[].is_drained:
            return CodingStep(0, 0, 0)
        var step: CodingStep
        var is_end: Bool
        var lacks_memory: Bool
        var is_bad: Bool
        if s[].brotli:
            step = s[].brotli.unsafe_value().run(input, output)
            is_end = step.result == BrotliResult.DONE
            is_bad = step.result == BrotliResult.FAILED
            lacks_memory = step.result == BrotliResult.NO_MEMORY
        elif s[].zstd:
            step = s[].zstd.unsafe_value().run(input, output)
            is_end = step.result == ZstdResult.DONE
            is_bad = step.result == ZstdResult.FAILED
            lacks_memory = step.result == ZstdResult.NO_MEMORY
        else:
            step = s[].zlib.value().run(input, output)
            is_end = step.result == ZlibResult.STREAM_END
            lacks_memory = step.result == ZlibResult.MEMORY_ERROR
            is_bad = not is_end and (
                step.result != ZlibResult.OK
                and step.result != ZlibResult.BUFFER_ERROR
            )
        if lacks_memory:
            raise s[].failure(EncodingError.NO_MEMORY)
        if is_bad:
            raise s[].failure(EncodingError.BAD_DATA)
        s[].is_drained = step.produced < len(output)
        if is_end:
            s[].end_member()
        return step
