"""Encrypts and authenticates octets with AES-256-GCM of OpenSSL."""

from std.ffi import _Global, c_int

from flare.core import Erased, PointerTo

from .dynamic_library import LibraryFunctions, OptionalErased, library_names
from .openssl import InOctets, OutOctets, openssl

comptime KEY_OCTETS = 32
"""The length of a key."""
comptime NONCE_OCTETS = 12
"""The length of a nonce (NIST SP 800-38D section 8.2)."""
comptime TAG_OCTETS = 16
"""The length of the tag, which follows the encrypted octets."""

comptime _LIBRARY_NAMES = library_names["libcrypto.so.3", "libcrypto.3.dylib"]()
comptime _NAMES: List[StaticString] = [
    "EVP_CIPHER_CTX_ctrl",
    "EVP_CIPHER_CTX_free",
    "EVP_CIPHER_CTX_new",
    "EVP_CIPHER_fetch",
    "EVP_CipherFinal_ex",
    "EVP_CipherInit_ex",
    "EVP_CipherUpdate",
]
comptime _GET_TAG = 16
comptime _SET_TAG = 17

comptime _LIBRARY = _Global[
    StorageType=CipherState, "flare_openssl_cipher", _load_for_the_process
]
comptime _OutOptional = Optional[OutOctets]
comptime _InOptional = Optional[InOctets]
comptime _OutCount = Pointer[c_int, MutUnsafeAnyOrigin]


struct CipherState(Movable):
    """The functions of the library and its cipher; it lives as long as the
    process."""

    var functions: LibraryFunctions[_NAMES]
    """The functions."""
    var cipher: OptionalErased
    """AES-256-GCM; `None` if the library lacks it or is not there."""

    def __init__(out self, var functions: LibraryFunctions[_NAMES]):
        """Creates the state of a library, and finds its cipher.

        Args:
            functions: The functions of the library.
        """
        self.cipher = None
        if functions.is_loaded:
            # Once for the process: a search by name takes a lock.
            var name = String("AES-256-GCM")
            self.cipher = functions.function[
                "EVP_CIPHER_fetch",
                def(
                    OptionalErased, InOctets, OptionalErased
                ) thin abi("C") -> OptionalErased,
            ]()(
                OptionalErased(None),
                name.as_c_string_span()
                .ptr()
                .unsafe_bitcast[UInt8]()
                .unsafe_origin_cast[ImmUnsafeAnyOrigin](),
                OptionalErased(None),
            )
            _ = name^
        self.functions = functions^


@fieldwise_init
struct Cipher(TrivialRegisterPassable):
    """A handle to AES-256-GCM."""

    var state: PointerTo[CipherState]
    """The library and the cipher."""

    def encrypt(
        self,
        key: Span[UInt8, _],
        nonce: Span[UInt8, _],
        associated: Span[UInt8, _],
        octets: Span[UInt8, _],
        into: Span[mut=True, UInt8, _],
    ) -> Bool:
        """Encrypts octets.

        Args:
            key: `KEY_OCTETS` octets.
            nonce: `NONCE_OCTETS` octets, never used before with the key.
            associated: Octets that decryption must be given too.
            octets: The octets; at most 2 GiB.
            into: Room for them and for the tag.

        Returns:
            False if the library failed.
        """
        var context = self._begin(key, nonce, associated, True)
        if not context:
            return False
        var count = len(octets)
        var is_done = self._update(
            context.value(), _out(into), _in(octets), count
        ) and self._control(
            context.value(), _GET_TAG, _out(into[count : count + TAG_OCTETS])
        )
        self._free(context.value())
        return is_done

    def decrypt(
        self,
        key: Span[UInt8, _],
        nonce: Span[UInt8, _],
        associated: Span[UInt8, _],
        octets: Span[UInt8, _],
        into: Span[mut=True, UInt8, _],
    ) -> Bool:
        """Decrypts octets and checks their tag.

        Args:
            key: The key of the encryption.
            nonce: Its nonce.
            associated: Its associated octets.
            octets: The encrypted octets and the tag, at least `TAG_OCTETS`.
            into: Room for the octets without the tag. Use them only if this
                returns True.

        Returns:
            True if the octets and the associated ones are those of the
            encryption.
        """
        var context = self._begin(key, nonce, associated, False)
        if not context:
            return False
        var count = len(octets) - TAG_OCTETS
        # The library copies the tag that it is to compare.
        var tag = List[UInt8](octets[count:])
        var is_right = self._control(
            context.value(), _SET_TAG, _out(Span(tag))
        ) and self._update(
            context.value(), _out(into), _in(octets[:count]), count
        )
        self._free(context.value())
        if not is_right:
            _clear_errors()
        return is_right

    def _begin(
        self,
        key: Span[UInt8, _],
        nonce: Span[UInt8, _],
        associated: Span[UInt8, _],
        encrypts: Bool,
    ) -> OptionalErased:
        debug_assert(len(key) == KEY_OCTETS, "a key of ", len(key))
        debug_assert(len(nonce) == NONCE_OCTETS, "a nonce of ", len(nonce))
        var context = self.state[].functions.function[
            "EVP_CIPHER_CTX_new", def() thin abi("C") -> OptionalErased
        ]()()
        if not context:
            return None
        var is_ready = (
            self.state[].functions.function[
                "EVP_CipherInit_ex",
                def(
                    Erased,
                    OptionalErased,
                    OptionalErased,
                    InOctets,
                    InOctets,
                    c_int,
                ) thin abi("C") -> c_int,
            ]()(
                context.value(),
                self.state[].cipher,
                OptionalErased(None),
                _in(key),
                _in(nonce),
                c_int(1 if encrypts else 0),
            )
            == 1
        )
        if is_ready and self._step(
            context.value(),
            _OutOptional(None),
            _in(associated),
            len(associated),
        ):
            return context
        self._free(context.value())
        _clear_errors()
        return None

    def _update(
        self, context: Erased, into: OutOctets, octets: InOctets, count: Int
    ) -> Bool:
        if not self._step(context, _OutOptional(into), octets, count):
            return False
        # It writes nothing more in this mode, and fails if the tag is wrong.
        var written: c_int = 0
        return (
            self.state[].functions.function[
                "EVP_CipherFinal_ex",
                def(Erased, OutOctets, _OutCount) thin abi("C") -> c_int,
            ]()(context, into, _out_count(written))
            == 1
        )

    def _step(
        self,
        context: Erased,
        into: _OutOptional,
        octets: InOctets,
        count: Int,
    ) -> Bool:
        # A step without octets would read as the end of the associated ones.
        if count == 0:
            return True
        var written: c_int = 0
        return (
            self.state[].functions.function[
                "EVP_CipherUpdate",
                def(
                    Erased, _OutOptional, _OutCount, InOctets, c_int
                ) thin abi("C") -> c_int,
            ]()(context, into, _out_count(written), octets, c_int(count))
            == 1
        )

    def _control(
        self, context: Erased, command: Int, octets: OutOctets
    ) -> Bool:
        return (
            self.state[].functions.function[
                "EVP_CIPHER_CTX_ctrl",
                def(Erased, c_int, c_int, OutOctets) thin abi("C") -> c_int,
            ]()(context, c_int(command), c_int(TAG_OCTETS), octets)
            == 1
        )

    def _free(self, context: Erased):
        self.state[].functions.function[
            "EVP_CIPHER_CTX_free", def(Erased) thin abi("C") -> None
        ]()(context)


def cipher() -> Optional[Cipher]:
    """Returns the cipher of the process, and loads OpenSSL the first time.

    Returns:
        The cipher, or none if the machine has no OpenSSL 3.
    """
    # It is told first to read no configuration.
    if not openssl():
        return None
    try:
        var state = _LIBRARY.get_or_create_ptr()
        if not state[].cipher:
            return None
        return Cipher(state.unsafe_origin_cast[MutUntrackedOrigin]())
    except:
        return None


def _load_for_the_process() -> CipherState:
    return CipherState(LibraryFunctions[_NAMES].first_of[_LIBRARY_NAMES]())


@no_inline
def _clear_errors():
    # A connection of the thread must not take them for its own.
    var library = openssl()
    if library:
        library.value().clear_errors()


@always_inline
def _in(octets: Span[UInt8, _]) -> InOctets:
    return (
        octets.unsafe_ptr()
        .unsafe_mut_cast[False]()
        .unsafe_origin_cast[ImmUnsafeAnyOrigin]()
    )


@always_inline
def _out(octets: Span[mut=True, UInt8, _]) -> OutOctets:
    return octets.unsafe_ptr().unsafe_origin_cast[MutUnsafeAnyOrigin]()


@always_inline
def _out_count(mut count: c_int) -> _OutCount:
    return Pointer(to=count).unsafe_origin_cast[MutUnsafeAnyOrigin]()
