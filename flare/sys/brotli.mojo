"""Loads the libraries of Brotli at first use, and calls them.

Decoding and encoding are two libraries, so a program that only decodes needs
only one. The state of a library lies on the heap.
"""

from std.ffi import _Global, c_int

from flare.core import Erased, OctetPointer, PointerTo, heap_create
from flare.core import heap_destroy

from .coding_step import CodingStep
from .dynamic_library import LibraryFunctions, OptionalErased, library_names

comptime BROTLI_DECODER_NAMES: List[StaticString] = library_names[
    "libbrotlidec.so.1", "libbrotlidec.1.dylib"
]()
"""The names of the decoding library, in the order in which they are tried."""
comptime BROTLI_ENCODER_NAMES: List[StaticString] = library_names[
    "libbrotlienc.so.1", "libbrotlienc.1.dylib"
]()
"""The names of the encoding library, in the order in which they are tried."""

comptime _DECODER_FUNCTIONS: List[StaticString] = [
    "BrotliDecoderCreateInstance",
    "BrotliDecoderDecompressStream",
    "BrotliDecoderDestroyInstance",
    "BrotliDecoderGetErrorCode",
]
comptime _ENCODER_FUNCTIONS: List[StaticString] = [
    "BrotliEncoderCompressStream",
    "BrotliEncoderCreateInstance",
    "BrotliEncoderDestroyInstance",
    "BrotliEncoderIsFinished",
    "BrotliEncoderSetParameter",
]
comptime _DECODER = _Global["flare_brotli_decoder", _load_decoder]
comptime _ENCODER = _Global["flare_brotli_encoder", _load_encoder]
comptime _QUALITY = c_int(1)
comptime _WINDOW_BITS = c_int(2)
# From here down the codes say that there is no memory.
comptime _CODE_ALLOCATION_FIRST = -21
comptime _CODE_ALLOCATION_LAST = -30

comptime _CreateFunction = def(
    OptionalErased, OptionalErased, OptionalErased
) thin abi("C") -> OptionalErased
comptime _DestroyFunction = def(Erased) thin abi("C") -> None
comptime _AskFunction = def(Erased) thin abi("C") -> c_int


struct BrotliResult:
    """The results of the decoder."""

    comptime FAILED = 0
    """The octets are not compressed so."""
    comptime DONE = 1
    """The end of the compressed octets was read, or written."""
    comptime NEEDS_INPUT = 2
    """All of the input was read."""
    comptime NEEDS_ROOM = 3
    """The output is full."""
    comptime NO_MEMORY = -1
    """There is no memory."""


@fieldwise_init
struct _Places(Movable):
    var input: OctetPointer
    var input_octets: UInt64
    var output: OctetPointer
    var output_octets: UInt64

    def __init__(out self):
        var nowhere = OctetPointer(unsafe_from_address=64)
        self.input = nowhere
        self.input_octets = 0
        self.output = nowhere
        self.output_octets = 0


@fieldwise_init
struct BrotliReader(TrivialRegisterPassable):
    """A handle to the decoder of one content."""

    var _functions: PointerTo[LibraryFunctions[_DECODER_FUNCTIONS]]
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
            The progress, with one of `BrotliResult`.
        """
        var p = self._places
        _place(p, input, output)
        var result = Int(
            self._functions[].function[
                "BrotliDecoderDecompressStream",
                def(
                    Erased,
                    PointerTo[UInt64],
                    PointerTo[OctetPointer],
                    PointerTo[UInt64],
                    PointerTo[OctetPointer],
                    OptionalErased,
                ) thin abi("C") -> c_int,
            ]()(
                self._state,
                _address(p[].input_octets),
                _address(p[].input),
                _address(p[].output_octets),
                _address(p[].output),
                OptionalErased(None),
            )
        )
        if result == BrotliResult.FAILED and self._lacks_memory():
            result = BrotliResult.NO_MEMORY
        return _step(p, result, len(input), len(output))

    def close(self):
        """Frees the state.

        It is not used afterwards.
        """
        self._functions[].function[
            "BrotliDecoderDestroyInstance", _DestroyFunction
        ]()(self._state)
        heap_destroy(self._places)

    def _lacks_memory(self) -> Bool:
        var code = Int(
            self._functions[].function[
                "BrotliDecoderGetErrorCode", _AskFunction
            ]()(self._state)
        )
        return _CODE_ALLOCATION_LAST <= code <= _CODE_ALLOCATION_FIRST


@fieldwise_init
struct BrotliWriter(TrivialRegisterPassable):
    """A handle to the encoder of one content."""

    var _functions: PointerTo[LibraryFunctions[_ENCODER_FUNCTIONS]]
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
            The progress, with `FAILED`, `NEEDS_INPUT` or `DONE`.
        """
        var p = self._places
        _place(p, input, output)
        var result = Int(
            self._functions[].function[
                "BrotliEncoderCompressStream",
                def(
                    Erased,
                    c_int,
                    PointerTo[UInt64],
                    PointerTo[OctetPointer],
                    PointerTo[UInt64],
                    PointerTo[OctetPointer],
                    OptionalErased,
                ) thin abi("C") -> c_int,
            ]()(
                self._state,
                c_int(flush),
                _address(p[].input_octets),
                _address(p[].input),
                _address(p[].output_octets),
                _address(p[].output),
                OptionalErased(None),
            )
        )
        if result != BrotliResult.FAILED:
            var finished = self._functions[].function[
                "BrotliEncoderIsFinished", _AskFunction
            ]()(self._state)
            result = (
                BrotliResult.DONE if finished != 0 else BrotliResult.NEEDS_INPUT
            )
        return _step(p, result, len(input), len(output))

    def close(self):
        """Frees the state.

        It is not used afterwards.
        """
        self._functions[].function[
            "BrotliEncoderDestroyInstance", _DestroyFunction
        ]()(self._state)
        heap_destroy(self._places)


@fieldwise_init
struct BrotliDecoderLibrary(TrivialRegisterPassable):
    """A handle to the decoding library."""

    var functions: PointerTo[LibraryFunctions[_DECODER_FUNCTIONS]]
    """Its functions."""

    def open_reader(self) -> Optional[BrotliReader]:
        """Starts to decompress.

        Returns:
            A state, which the caller closes; none without memory.
        """
        var state = self.functions[].function[
            "BrotliDecoderCreateInstance", _CreateFunction
        ]()(
            OptionalErased(None),
            OptionalErased(None),
            OptionalErased(None),
        )
        if not state:
            return None
        return BrotliReader(
            self.functions, state.value(), heap_create(_Places())
        )


@fieldwise_init
struct BrotliEncoderLibrary(TrivialRegisterPassable):
    """A handle to the encoding library."""

    var functions: PointerTo[LibraryFunctions[_ENCODER_FUNCTIONS]]
    """Its functions."""

    def open_writer(
        self, quality: Int, window_bits: Int
    ) -> Optional[BrotliWriter]:
        """Starts to compress.

        Args:
            quality: From 0, the fastest, to 11, the densest.
            window_bits: How far back it looks: 10 to 24.

        Returns:
            A state, which the caller closes; none without memory.
        """
        var state = self.functions[].function[
            "BrotliEncoderCreateInstance", _CreateFunction
        ]()(
            OptionalErased(None),
            OptionalErased(None),
            OptionalErased(None),
        )
        if not state:
            return None
        comptime SetFunction = def(Erased, c_int, UInt32) thin abi("C") -> c_int
        var set_parameter = self.functions[].function[
            "BrotliEncoderSetParameter", SetFunction
        ]()
        _ = set_parameter(state.value(), _QUALITY, UInt32(quality))
        _ = set_parameter(state.value(), _WINDOW_BITS, UInt32(window_bits))
        return BrotliWriter(
            self.functions, state.value(), heap_create(_Places())
        )


def brotli_decoder() -> Optional[BrotliDecoderLibrary]:
    """Returns the library that decompresses, and loads it the first time.

    Returns:
        The library, or none if the machine has none.
    """
    try:
        var functions = _DECODER.get_or_create_ptr()
        if not functions[].is_loaded:
            return None
        return BrotliDecoderLibrary(
            functions.unsafe_origin_cast[MutUntrackedOrigin]()
        )
    except:
        return None


def brotli_encoder() -> Optional[BrotliEncoderLibrary]:
    """Returns the library that compresses, and loads it the first time.

    Returns:
        The library, or none if the machine has none.
    """
    try:
        var functions = _ENCODER.get_or_create_ptr()
        if not functions[].is_loaded:
            return None
        return BrotliEncoderLibrary(
            functions.unsafe_origin_cast[MutUntrackedOrigin]()
        )
    except:
        return None


def _load_decoder() -> LibraryFunctions[_DECODER_FUNCTIONS]:
    return LibraryFunctions[_DECODER_FUNCTIONS].first_of[BROTLI_DECODER_NAMES]()


def _load_encoder() -> LibraryFunctions[_ENCODER_FUNCTIONS]:
    return LibraryFunctions[_ENCODER_FUNCTIONS].first_of[BROTLI_ENCODER_NAMES]()


@always_inline
def _address[T: AnyType](ref place: T) -> PointerTo[T]:
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
    places[].input = (
        input.unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )
    places[].input_octets = UInt64(len(input))
    places[].output = output.unsafe_ptr().unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    places[].output_octets = UInt64(len(output))


@always_inline
def _step(
    places: PointerTo[_Places],
    result: Int,
    input_octets: Int,
    output_octets: Int,
) -> CodingStep:
    return CodingStep(
        result,
        input_octets - Int(places[].input_octets),
        output_octets - Int(places[].output_octets),
    )
