"""Loads the library of Zstandard at first use, and calls it.

The state of the library lies on the heap.
"""

from std.ffi import _Global, c_int

from flare.core import Erased, OctetPointer, PointerTo, heap_create
from flare.core import heap_destroy

from .coding_step import CodingStep
from .dynamic_library import LibraryFunctions, OptionalErased, library_names

comptime ZSTD_NAMES: List[StaticString] = library_names[
    "libzstd.so.1", "libzstd.1.dylib"
]()
"""The names of the library, in the order in which they are tried."""

comptime _FUNCTIONS: List[StaticString] = [
    "ZSTD_CCtx_reset",
    "ZSTD_CCtx_setParameter",
    "ZSTD_DCtx_setParameter",
    "ZSTD_compressStream2",
    "ZSTD_createCCtx",
    "ZSTD_createDCtx",
    "ZSTD_decompressStream",
    "ZSTD_freeCCtx",
    "ZSTD_freeDCtx",
    "ZSTD_getErrorCode",
    "ZSTD_isError",
]
comptime _LIBRARY = _Global["flare_zstd", _load_for_the_process]
comptime _LEVEL = c_int(100)
comptime _WINDOW_BITS = c_int(101)
comptime _WINDOW_BITS_MAX = c_int(100)
comptime _SESSION_ONLY = c_int(1)
comptime _CODE_MEMORY = 64

comptime _CreateFunction = def() thin abi("C") -> OptionalErased
comptime _FreeFunction = def(Erased) thin abi("C") -> UInt64
comptime _SetFunction = def(Erased, c_int, c_int) thin abi("C") -> UInt64
comptime _ResetFunction = def(Erased, c_int) thin abi("C") -> UInt64


struct ZstdResult:
    """The results of the library that are not a hint about lengths."""

    comptime DONE = 0
    """A frame was read to its end; or all that was asked for is written."""
    comptime FAILED = -1
    """The octets are not compressed so."""
    comptime NO_MEMORY = -2
    """There is no memory."""


@fieldwise_init
struct _Place(Movable):
    # The layout of C's ZSTD_inBuffer and ZSTD_outBuffer.
    var octets: OctetPointer
    var count: UInt64
    var position: UInt64

    def __init__(out self):
        self.octets = OctetPointer(unsafe_from_address=64)
        self.count = 0
        self.position = 0


struct _Places(Movable):
    var input: _Place
    var output: _Place

    def __init__(out self):
        self.input = _Place()
        self.output = _Place()


@fieldwise_init
struct Zstd(TrivialRegisterPassable):
    """A handle to the loaded library."""

    var functions: PointerTo[LibraryFunctions[_FUNCTIONS]]
    """Its functions."""

    def open_reader(self, window_bits_max: Int) -> Optional[ZstdReader]:
        """Starts to decompress.

        Args:
            window_bits_max: The largest window, and so the memory, that the
                octets may ask for.

        Returns:
            A state, which the caller closes; none without memory.
        """
        var state = self.functions[].function[
            "ZSTD_createDCtx", _CreateFunction
        ]()()
        if not state:
            return None
        _ = self.functions[].function["ZSTD_DCtx_setParameter", _SetFunction]()(
            state.value(), _WINDOW_BITS_MAX, c_int(window_bits_max)
        )
        return ZstdReader(self, state.value(), heap_create(_Places()))

    def open_writer(self, level: Int, window_bits: Int) -> Optional[ZstdWriter]:
        """Starts to compress.

        Args:
            level: From 1, the fastest, to 19, the densest.
            window_bits: How far back it looks: 10 to 23.

        Returns:
            A state, which the caller closes; none without memory.
        """
        var state = self.functions[].function[
            "ZSTD_createCCtx", _CreateFunction
        ]()()
        if not state:
            return None
        var set_parameter = self.functions[].function[
            "ZSTD_CCtx_setParameter", _SetFunction
        ]()
        _ = set_parameter(state.value(), _LEVEL, c_int(level))
        _ = set_parameter(state.value(), _WINDOW_BITS, c_int(window_bits))
        return ZstdWriter(self, state.value(), heap_create(_Places()))

    def _meaning(self, result: UInt64) -> Int:
        var is_error = self.functions[].function[
            "ZSTD_isError", def(UInt64) thin abi("C") -> c_int
        ]()(result)
        if is_error == 0:
            return Int(result)
        var code = self.functions[].function[
            "ZSTD_getErrorCode", def(UInt64) thin abi("C") -> c_int
        ]()(result)
        if Int(code) == _CODE_MEMORY:
            return ZstdResult.NO_MEMORY
        return ZstdResult.FAILED


@fieldwise_init
struct ZstdReader(TrivialRegisterPassable):
    """A handle to the decoder of one content."""

    var _library: Zstd
    var _state: Erased
    var _places: PointerTo[_Places]

    @no_inline
    def run(
        self, input: Span[UInt8, _], output: Span[mut=True, UInt8, _]
    ) -> CodingStep:
        """Decodes as far as the input and the room allow.

        Args:
            input: The encoded octets.
            output: The destination.

        Returns:
            The progress, with one of `ZstdResult`, or over 0 while the frame
            continues.
        """
        _place(self._places, input, output)
        var result = self._library.functions[].function[
            "ZSTD_decompressStream",
            def(
                Erased, PointerTo[_Place], PointerTo[_Place]
            ) thin abi("C") -> UInt64,
        ]()(
            self._state,
            _address(self._places[].output),
            _address(self._places[].input),
        )
        return _step(self._places, self._library._meaning(result))

    def close(self):
        """Frees the state.

        It is not used afterwards.
        """
        _ = self._library.functions[].function[
            "ZSTD_freeDCtx", _FreeFunction
        ]()(self._state)
        heap_destroy(self._places)


@fieldwise_init
struct ZstdWriter(TrivialRegisterPassable):
    """A handle to the encoder of one content."""

    var _library: Zstd
    var _state: Erased
    var _places: PointerTo[_Places]

    @no_inline
    def run(
        self,
        input: Span[UInt8, _],
        output: Span[mut=True, UInt8, _],
        flush: Int,
    ) -> CodingStep:
        """Encodes as far as the input and the room allow.

        Args:
            input: The octets to encode.
            output: The destination.
            flush: One of the constants of `CodingFlush`. If the output is
                full, pass the same again.

        Returns:
            The progress, with one of `ZstdResult`, or over 0 while there is
            more to write.
        """
        _place(self._places, input, output)
        var result = self._library.functions[].function[
            "ZSTD_compressStream2",
            def(
                Erased, PointerTo[_Place], PointerTo[_Place], c_int
            ) thin abi("C") -> UInt64,
        ]()(
            self._state,
            _address(self._places[].output),
            _address(self._places[].input),
            c_int(flush),
        )
        return _step(self._places, self._library._meaning(result))

    def reset(self):
        """Resets the stream for new data."""
        _ = self._library.functions[].function[
            "ZSTD_CCtx_reset", _ResetFunction
        ]()(self._state, _SESSION_ONLY)

    def close(self):
        """Frees the state.

        It is not used afterwards.
        """
        _ = self._library.functions[].function[
            "ZSTD_freeCCtx", _FreeFunction
        ]()(self._state)
        heap_destroy(self._places)


def zstd() -> Optional[Zstd]:
    """Returns the library of the process, and loads it the first time.

    Returns:
        The library, or none if the machine has none.
    """
    try:
        var functions = _LIBRARY.get_or_create_ptr()
        if not functions[].is_loaded:
            return None
        return Zstd(functions.unsafe_origin_cast[MutUntrackedOrigin]())
    except:
        return None


def _load_for_the_process() -> LibraryFunctions[_FUNCTIONS]:
    return LibraryFunctions[_FUNCTIONS].first_of[ZSTD_NAMES]()


@always_inline
def _address(ref place: _Place) -> PointerTo[_Place]:
    return (
        Pointer(to=place)
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )


@always_inline
def _place(
    places: PointerTo[_Places],
    input: Span[UInt8, _],
    output: Span[mut=True, UInt8, _],
):
    ref from_octets = places[].input
    from_octets.octets = (
        input.unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )
    from_octets.count = UInt64(len(input))
    from_octets.position = 0
    ref to_octets = places[].output
    to_octets.octets = output.unsafe_ptr().unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    to_octets.count = UInt64(len(output))
    to_octets.position = 0


@always_inline
def _step(places: PointerTo[_Places], result: Int) -> CodingStep:
    return CodingStep(
        result,
        Int(places[].input.position),
        Int(places[].output.position),
    )
