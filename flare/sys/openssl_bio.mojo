"""Connects OpenSSL to octets in memory of flare.

A BIO is OpenSSL's transport. flare's own BIO reads from a window in its
owner's memory and appends to a buffer, without a copy in between. Its
callbacks run inside calls of the library, so all their state lies on the heap.
"""

from std.ffi import c_int, c_long
from std.memory import unsafe_memcpy

from flare.core import Buffer, Erased, OctetPointer, PointerTo

from .openssl import InOctets, OpenSsl, OptionalErased, openssl

comptime _TYPE_SOURCE_SINK = 0x400
comptime _CTRL_FLUSH = 11
comptime _FLAGS_RETRY_READ = 0x09
comptime _FLAGS_RETRY_ANY = 0x0F

comptime _ReadFunction = def(Erased, OctetPointer, c_int) thin abi("C") -> c_int
comptime _WriteFunction = def(Erased, OctetPointer, c_int) thin abi(
    "C"
) -> c_int
comptime _ControlFunction = def(Erased, c_int, c_long, OptionalErased) thin abi(
    "C"
) -> c_long


struct BioState(Movable):
    """The octets that pass through one BIO. The owner keeps it on the heap."""

    comptime KEYS_OCTETS_MAX = 16 * 1024
    """The secrets that are kept of one connection."""

    var library: OpenSsl
    """The library."""
    var window: OptionalErased
    """The received octets that may be read now."""
    var window_octets: Int
    """Their number."""
    var consumed: Int
    """How many of them were read."""
    var output: Buffer
    """The octets to send."""
    var output_octets_max: Int
    """Over this the connection fails: a peer can make answers grow."""
    var is_over_limit: Bool
    """Whether the limit was passed."""
    var session: OptionalErased
    """The session that the peer offered last, for resuming."""
    var keys: Buffer
    """The secrets, one line each, if the context keeps them."""

    def __init__(out self, library: OpenSsl, output_octets_max: Int):
        """Creates the state of a connection before its first octet.

        Args:
            library: The library.
            output_octets_max: The limit of unsent octets.
        """
        self.library = library
        self.window = None
        self.window_octets = 0
        self.consumed = 0
        self.output = Buffer()
        self.output_octets_max = output_octets_max
        self.is_over_limit = False
        self.session = None
        self.keys = Buffer()

    def __deinit__(deinit self):
        """Releases the session."""
        if self.session:
            free_session(self.library, self.session.value())


def free_session(library: OpenSsl, session: Erased):
    """Releases a session.

    Args:
        library: The library.
        session: An SSL_SESSION.
    """
    library.function["SSL_SESSION_free", def(Erased) thin abi("C") -> None]()(
        session
    )


def open_bio(transport: Erased, state: PointerTo[BioState]) -> OptionalErased:
    """Creates a BIO.

    Args:
        transport: The result of `make_transport`; it must outlive the BIO.
        state: The state of the BIO; it must outlive the BIO.

    Returns:
        The BIO; null if memory runs out.
    """
    var library = state[].library
    var bio = library.function[
        "BIO_new", def(Erased) thin abi("C") -> OptionalErased
    ]()(transport)
    if not bio:
        return None
    library.function[
        "BIO_set_data", def(Erased, Erased) thin abi("C") -> None
    ]()(bio.value(), state.unsafe_bitcast[NoneType]())
    library.function[
        "BIO_set_init", def(Erased, c_int) thin abi("C") -> None
    ]()(bio.value(), c_int(1))
    return bio


def bio_state(library: OpenSsl, bio: Erased) -> PointerTo[BioState]:
    """Returns the state of a BIO of flare.

    Args:
        library: The library.
        bio: The result of `open_bio`.

    Returns:
        The state.
    """
    return library.function[
        "BIO_get_data", def(Erased) thin abi("C") -> Erased
    ]()(bio).unsafe_bitcast[BioState]()


def make_transport(library: OpenSsl) -> OptionalErased:
    """Creates the method of all BIOs of flare: their callbacks.

    Args:
        library: The library.

    Returns:
        A BIO_METHOD, which the caller frees with `free_transport` when no BIO
        uses it any more; none without memory.
    """
    var name = String("flare\0")
    var method = library.function[
        "BIO_meth_new", def(c_int, InOctets) thin abi("C") -> OptionalErased
    ]()(
        # A kind of its own would be one of 127 that a process has.
        c_int(_TYPE_SOURCE_SINK),
        name.unsafe_ptr()
        .unsafe_mut_cast[False]()
        .unsafe_origin_cast[ImmUnsafeAnyOrigin](),
    )
    _ = name^
    if not method:
        return None
    _ = library.function[
        "BIO_meth_set_read", def(Erased, _ReadFunction) thin abi("C") -> c_int
    ]()(method.value(), _read)
    _ = library.function[
        "BIO_meth_set_write", def(Erased, _WriteFunction) thin abi("C") -> c_int
    ]()(method.value(), _write)
    _ = library.function[
        "BIO_meth_set_ctrl",
        def(Erased, _ControlFunction) thin abi("C") -> c_int,
    ]()(method.value(), _control)
    return method


def free_transport(library: OpenSsl, transport: Erased):
    """Frees the method that `make_transport` returned.

    Args:
        library: The library.
        transport: A BIO_METHOD that no BIO uses.
    """
    library.function["BIO_meth_free", def(Erased) thin abi("C") -> None]()(
        transport
    )


def _library() -> OpenSsl:
    # A callback runs inside a call of the library, so there is one.
    return openssl().unsafe_value()


def _read(bio: Erased, into: OctetPointer, count: c_int) abi("C") -> c_int:
    var library = _library()
    var state = bio_state(library, bio)
    var left = state[].window_octets - state[].consumed
    if left <= 0 or not state[].window:
        # OpenSSL then needs more octets. The owner learns the end of the
        # stream, and knows whether it was announced.
        library.function[
            "BIO_set_flags", def(Erased, c_int) thin abi("C") -> None
        ]()(bio, c_int(_FLAGS_RETRY_READ))
        return -1
    library.function[
        "BIO_clear_flags", def(Erased, c_int) thin abi("C") -> None
    ]()(bio, c_int(_FLAGS_RETRY_ANY))
    var taken = min(left, Int(count))
    unsafe_memcpy(
        dest=into,
        src=state[]
        .window.unsafe_value()
        .unsafe_bitcast[UInt8]()
        .unsafe_offset(state[].consumed),
        count=taken,
    )
    state[].consumed += taken
    return c_int(taken)


def _write(bio: Erased, octets: OctetPointer, count: c_int) abi("C") -> c_int:
    var library = _library()
    var state = bio_state(library, bio)
    library.function[
        "BIO_clear_flags", def(Erased, c_int) thin abi("C") -> None
    ]()(bio, c_int(_FLAGS_RETRY_ANY))
    # To ask for a later retry would oblige the owner to write the same octets
    # again. So if this much output waits, the connection is ended.
    if len(state[].output) + Int(count) > state[].output_octets_max:
        state[].is_over_limit = True
        return -1
    state[].output.append(Span(unsafe_ptr=octets, length=Int(count)))
    return count


def _control(
    bio: Erased, command: c_int, number: c_long, argument: OptionalErased
) abi("C") -> c_long:
    return 1 if Int(command) == _CTRL_FLUSH else 0
