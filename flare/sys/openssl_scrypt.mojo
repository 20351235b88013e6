"""Derives keys from passwords by scrypt of OpenSSL (RFC 7914)."""

from std.ffi import _Global, c_int

from .dynamic_library import LibraryFunctions, library_names
from .openssl import InOctets, OutOctets, openssl

comptime _LIBRARY_NAMES = library_names["libcrypto.so.3", "libcrypto.3.dylib"]()
comptime _NAMES: List[StaticString] = ["EVP_PBE_scrypt"]
comptime _LIBRARY = _Global[
    StorageType=LibraryFunctions[_NAMES],
    "flare_openssl_scrypt",
    _load_for_the_process,
]


@fieldwise_init
struct ScryptCost(Equatable, TrivialRegisterPassable):
    """The parameters of scrypt (RFC 7914 section 2)."""

    var cost_log2: Int
    """The binary logarithm of the cost N."""
    var block_size: Int
    """The block size r."""
    var parallelization: Int
    """The parallelization p."""

    def memory_octets(self) -> Int:
        """Returns how much memory a derivation takes, apart from small parts.

        Returns:
            The number of octets.
        """
        return 128 * self.block_size << self.cost_log2


def derive_by_scrypt(
    password: Span[UInt8, _],
    salt: Span[UInt8, _],
    cost: ScryptCost,
    into: Span[mut=True, UInt8, _],
) -> Bool:
    """Derives a key. It computes for as long as the cost says, and does not
    wait.

    Args:
        password: The password.
        salt: The salt.
        cost: The cost.
        into: Room for the key.

    Returns:
        False if there is no OpenSSL 3, no memory, or if the cost is out of its
        bounds.
    """
    # It is told first to read no configuration.
    var library = openssl()
    if not library:
        return False
    try:
        var functions = _LIBRARY.get_or_create_ptr()
        if not functions[].is_loaded:
            return False
        # Room for the parts beside the large one.
        var memory_max = UInt64(2 * cost.memory_octets() + (1 << 20))
        var is_done = (
            functions[].function[
                "EVP_PBE_scrypt",
                def(
                    InOctets,
                    UInt,
                    InOctets,
                    UInt,
                    UInt64,
                    UInt64,
                    UInt64,
                    UInt64,
                    OutOctets,
                    UInt,
                ) thin abi("C") -> c_int,
            ]()(
                _in(password),
                UInt(len(password)),
                _in(salt),
                UInt(len(salt)),
                UInt64(1) << UInt64(cost.cost_log2),
                UInt64(cost.block_size),
                UInt64(cost.parallelization),
                memory_max,
                into.unsafe_ptr().unsafe_origin_cast[MutUnsafeAnyOrigin](),
                UInt(len(into)),
            )
            == 1
        )
        if not is_done:
            # A connection of the thread must not take them for its own.
            library.value().clear_errors()
        return is_done
    except:
        return False


def _load_for_the_process() -> LibraryFunctions[_NAMES]:
    return LibraryFunctions[_NAMES].first_of[_LIBRARY_NAMES]()


@always_inline
def _in(octets: Span[UInt8, _]) -> InOctets:
    return (
        octets.unsafe_ptr()
        .unsafe_mut_cast[False]()
        .unsafe_origin_cast[ImmUnsafeAnyOrigin]()
    )
