"""Loads zlib when it is first used, and compresses and decompresses with it.

The stream that zlib works on lies on the heap, because zlib keeps its address.
"""

from std.ffi import _Global, c_int
from std.sys.info import size_of

from flare.core import OctetPointer, PointerTo, heap_create, heap_destroy

from .coding_step import CodingFlush, CodingStep
from .dynamic_library import LibraryFunctions, OptionalErased, library_names

comptime ZLIB_NAMES: List[StaticString] = library_names[
    "libz.so.1", "libz.1.dylib"
]()
"""The names of the library, in the order in which they are tried."""

comptime _NAMES: List[StaticString] = [
    "deflate",
    "deflateEnd",
    "deflateInit2_",
    "deflateReset",
    "inflate",
    "inflateEnd",
    "inflateInit2_",
    "inflateReset",
    "inflateResetKeep",
]
comptime _LIBRARY = _Global["flare_zlib", _load_for_the_process]
# One call counts its octets in 32 bits.
comptime _CALL_OCTETS_MAX = 1 << 30
comptime _DEFLATED = 8
comptime _DEFAULT_STRATEGY = 0
comptime _NO_FLUSH = c_int(0)
comptime _SYNC_FLUSH = c_int(2)
comptime _FINISH = c_int(4)
# In `data_type`, after a block and before the next one.
comptime _BETWEEN_BLOCKS = c_int(128)
# Only the major version is compared.
comptime _VERSION: StaticString = "1\0"

comptime _Text = Pointer[UInt8, ImmUnsafeAnyOrigin]
comptime _EndFunction = def(PointerTo[_CStream]) thin abi("C") -> c_int
comptime _RunFunction = def(PointerTo[_CStream], c_int) thin abi("C") -> c_int


struct ZlibResult:
    """The results of zlib."""

    comptime OK = 0
    """There is progress."""
    comptime STREAM_END = 1
    """The end of the compressed octets was read, or written."""
    comptime NEED_DICTIONARY = 2
    """The octets were made with a dictionary that only their maker has."""
    comptime MEMORY_ERROR = -4
    """There is no memory."""
    comptime BUFFER_ERROR = -5
    """There was nothing to read, or no room."""


struct ZlibWindow:
    """The formats of deflate data, as zlib's window bits."""

    comptime GZIP = 15 + 16
    """RFC 1952."""
    comptime ZLIB = 15
    """RFC 1950."""
    comptime RAW = -15
    """RFC 1951, without a wrapping."""

    @staticmethod
    def raw(bits: Int) -> Int:
        """Returns the raw format with a smaller window.

        Args:
            bits: The base-2 logarithm of the window, from 8 to decompress, and
                from 9 to compress, to 15.

        Returns:
            The window bits.
        """
        debug_assert(8 <= bits <= 15, "a window of ", bits)
        return -bits


struct _CStream(Movable):
    # The layout of C's z_stream.
    var next_in: OctetPointer
    var available_in: UInt32
    var total_in: UInt64
    var next_out: OctetPointer
    var available_out: UInt32
    var total_out: UInt64
    var message: OptionalErased
    var state: OptionalErased
    var allocate: OptionalErased
    var free: OptionalErased
    var opaque: OptionalErased
    var data_type: c_int
    var check: UInt64
    var reserved: UInt64

    def __init__(out self):
        var nowhere = OctetPointer(unsafe_from_address=64)
        self.next_in = nowhere
        self.available_in = 0
        self.total_in = 0
        self.next_out = nowhere
        self.available_out = 0
        self.total_out = 0
        self.message = None
        self.state = None
        self.allocate = None
        self.free = None
        self.opaque = None
        self.data_type = 0
        self.check = 0
        self.reserved = 0


@fieldwise_init
struct Zlib(TrivialRegisterPassable):
    """A handle to the loaded library."""

    var functions: PointerTo[LibraryFunctions[_NAMES]]
    """Its functions."""

    def open_inflater(self, window: Int) -> Optional[ZlibStream]:
        """Starts to decompress.

        Args:
            window: One of the values of `ZlibWindow`.

        Returns:
            A stream, which the caller closes; none without memory.
        """
        var stream = heap_create(_CStream())
        var result = self.functions[].function[
            "inflateInit2_",
            def(
                PointerTo[_CStream],
                c_int,
                _Text,
                c_int,
            ) thin abi("C") -> c_int,
        ]()(
            stream,
            c_int(window),
            _version(),
            c_int(size_of[_CStream]()),
        )
        return self._opened(stream, result, is_inflater=True)

    def open_deflater(
        self, window: Int, level: Int, *, memory_level: Int = 8
    ) -> Optional[ZlibStream]:
        """Starts to compress.

        A stream takes 2^(bits + 2) octets for a window of 2^bits, 2^(9 +
        `memory_level`) more, and about 6 KiB.

        Args:
            window: One of the values of `ZlibWindow`.
            level: From 1, the fastest, to 9, the densest.
            memory_level: From 1 to 9; zlib's own default is 8.

        Returns:
            A stream, which the caller closes; none without memory.
        """
        var stream = heap_create(_CStream())
        var result = self.functions[].function[
            "deflateInit2_",
            def(
                PointerTo[_CStream],
                c_int,
                c_int,
                c_int,
                c_int,
                c_int,
                _Text,
                c_int,
            ) thin abi("C") -> c_int,
        ]()(
            stream,
            c_int(level),
            c_int(_DEFLATED),
            c_int(window),
            c_int(memory_level),
            c_int(_DEFAULT_STRATEGY),
            _version(),
            c_int(size_of[_CStream]()),
        )
        return self._opened(stream, result, is_inflater=False)

    def _opened(
        self, stream: PointerTo[_CStream], result: c_int, *, is_inflater: Bool
    ) -> Optional[ZlibStream]:
        if Int(result) != ZlibResult.OK:
            heap_destroy(stream)
            return None
        return ZlibStream(self, stream, is_inflater)


@fieldwise_init
struct ZlibStream(TrivialRegisterPassable):
    """A handle to the decoder or encoder of one content."""

    var _library: Zlib
    var _stream: PointerTo[_CStream]
    var _is_inflater: Bool

    @no_inline
    def run(
        self,
        input: Span[UInt8, _],
        output: Span[mut=True, UInt8, _],
        flush: Int = CodingFlush.NONE,
    ) -> CodingStep:
        """Decodes or encodes as far as the input and the room allow.

        Args:
            input: The octets; of more than a GiB, only the first are used.
            output: The destination.
            flush: One of the constants of `CodingFlush`; none to decompress.

        Returns:
            The progress, with one of `ZlibResult`, or a negative result.
        """
        ref s = self._stream[]
        var input_octets = min(len(input), _CALL_OCTETS_MAX)
        var output_octets = min(len(output), _CALL_OCTETS_MAX)
        s.next_in = (
            input.unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )
        s.available_in = UInt32(input_octets)
        s.next_out = output.unsafe_ptr().unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
        s.available_out = UInt32(output_octets)
        var how = _NO_FLUSH
        # The rest follows in the next call.
        if input_octets == len(input) and flush != CodingFlush.NONE:
            how = _FINISH if flush == CodingFlush.FINISH else _SYNC_FLUSH
        var functions = self._library.functions
        var result: c_int
        if self._is_inflater:
            result = functions[].function["inflate", _RunFunction]()(
                self._stream, how
            )
        else:
            result = functions[].function["deflate", _RunFunction]()(
                self._stream, how
            )
        return CodingStep(
            Int(result),
            input_octets - Int(self._stream[].available_in),
            output_octets - Int(self._stream[].available_out),
        )

    def reset(self):
        """Resets the stream for new data."""
        var functions = self._library.functions
        if self._is_inflater:
            _ = functions[].function["inflateReset", _EndFunction]()(
                self._stream
            )
        else:
            _ = functions[].function["deflateReset", _EndFunction]()(
                self._stream
            )

    def continue_after_end(self):
        """Makes a decoder that has read the end of its data ready for more,
        which may refer back to octets before the end.
        """
        _ = self._library.functions[].function[
            "inflateResetKeep", _EndFunction
        ]()(self._stream)

    def is_between_blocks(self) -> Bool:
        """Returns whether a decoder has read a whole block, and nothing after
        it.

        Returns:
            False within a block, before the first one, and after the end.
        """
        return self._stream[].data_type & _BETWEEN_BLOCKS != 0

    def close(self):
        """Frees the stream.

        It is not used afterwards.
        """
        var functions = self._library.functions
        if self._is_inflater:
            _ = functions[].function["inflateEnd", _EndFunction]()(self._stream)
        else:
            _ = functions[].function["deflateEnd", _EndFunction]()(self._stream)
        heap_destroy(self._stream)


def zlib() -> Optional[Zlib]:
    """Returns the library of the process, and loads it the first time.

    Returns:
        The library, or none if the machine has none.
    """
    try:
        var functions = _LIBRARY.get_or_create_ptr()
        if not functions[].is_loaded:
            return None
        return Zlib(functions.unsafe_origin_cast[MutUntrackedOrigin]())
    except:
        return None


def _load_for_the_process() -> LibraryFunctions[_NAMES]:
    return LibraryFunctions[_NAMES].first_of[ZLIB_NAMES]()


def _version() -> _Text:
    return _VERSION.unsafe_ptr().unsafe_origin_cast[ImmUnsafeAnyOrigin]()
