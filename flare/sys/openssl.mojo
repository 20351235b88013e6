"""Loads OpenSSL 3 when it is first used, and reads its errors.

It is told to read no configuration before any other function is called.
"""

from std.ffi import _Global, c_int
from std.sys.info import CompilationTarget

from flare.core import PointerTo

from .dynamic_library import LibraryFunctions, OptionalErased

comptime InOctets = Pointer[UInt8, ImmUnsafeAnyOrigin]
"""Octets that C reads during a call; they may lie in a local."""

comptime OutOctets = Pointer[UInt8, MutUnsafeAnyOrigin]
"""Octets that C writes during a call; they may lie in a local."""

comptime LIBRARY_SSL = 20
"""The part of the library that errors of TLS itself come from."""

comptime LIBRARY_NAMES: List[StaticString] = _library_names()
"""The names of the library, in the order in which they are tried."""

comptime _NAMES: List[StaticString] = [
    "ASN1_INTEGER_set_uint64",
    "BIO_clear_flags",
    "BIO_free",
    "BIO_get_data",
    "BIO_meth_free",
    "BIO_meth_new",
    "BIO_meth_set_ctrl",
    "BIO_meth_set_read",
    "BIO_meth_set_write",
    "BIO_new",
    "BIO_new_mem_buf",
    "BIO_read",
    "BIO_s_mem",
    "BIO_set_data",
    "BIO_set_flags",
    "BIO_set_init",
    "CRYPTO_malloc",
    "ERR_clear_error",
    "ERR_get_error",
    "ERR_peek_last_error",
    "EVP_PKEY_CTX_free",
    "EVP_PKEY_CTX_new_id",
    "EVP_PKEY_CTX_set_group_name",
    "EVP_PKEY_free",
    "EVP_PKEY_generate",
    "EVP_PKEY_keygen_init",
    "EVP_sha256",
    "OPENSSL_init_ssl",
    "PEM_read_bio_PrivateKey",
    "PEM_read_bio_X509",
    "PEM_write_bio_PrivateKey",
    "PEM_write_bio_X509",
    "SSL_CIPHER_standard_name",
    "SSL_CTX_add_client_CA",
    "SSL_CTX_callback_ctrl",
    "SSL_CTX_check_private_key",
    "SSL_CTX_ctrl",
    "SSL_CTX_free",
    "SSL_CTX_get_cert_store",
    "SSL_CTX_load_verify_file",
    "SSL_CTX_new",
    "SSL_CTX_sess_set_new_cb",
    "SSL_CTX_set_alpn_protos",
    "SSL_CTX_set_alpn_select_cb",
    "SSL_CTX_set_cipher_list",
    "SSL_CTX_set_ciphersuites",
    "SSL_CTX_set_keylog_callback",
    "SSL_CTX_set_options",
    "SSL_CTX_set_security_level",
    "SSL_CTX_set_session_id_context",
    "SSL_CTX_set_verify",
    "SSL_CTX_use_PrivateKey",
    "SSL_CTX_use_certificate",
    "SSL_SESSION_free",
    "SSL_ctrl",
    "SSL_do_handshake",
    "SSL_free",
    "SSL_get0_alpn_selected",
    "SSL_get0_param",
    "SSL_get1_peer_certificate",
    "SSL_get_current_cipher",
    "SSL_get_error",
    "SSL_get_rbio",
    "SSL_get_servername",
    "SSL_get_verify_result",
    "SSL_get_version",
    "SSL_has_pending",
    "SSL_new",
    "SSL_read",
    "SSL_session_reused",
    "SSL_set_SSL_CTX",
    "SSL_set_accept_state",
    "SSL_set_bio",
    "SSL_set_connect_state",
    "SSL_set_session",
    "SSL_shutdown",
    "SSL_write",
    "TLS_client_method",
    "TLS_server_method",
    "X509V3_EXT_conf_nid",
    "X509_EXTENSION_free",
    "X509_NAME_add_entry_by_txt",
    "X509_NAME_print_ex",
    "X509_STORE_add_cert",
    "X509_STORE_set_flags",
    "X509_VERIFY_PARAM_set1_host",
    "X509_VERIFY_PARAM_set1_ip_asc",
    "X509_VERIFY_PARAM_set_hostflags",
    "X509_add_ext",
    "X509_check_host",
    "X509_free",
    "X509_get_serialNumber",
    "X509_get_subject_name",
    "X509_getm_notAfter",
    "X509_getm_notBefore",
    "X509_gmtime_adj",
    "X509_new",
    "X509_set_issuer_name",
    "X509_set_pubkey",
    "X509_set_version",
    "X509_sign",
]

# Neither a configuration file nor the variable that names one affects a
# program. And the library is not torn down at exit while other threads run.
comptime _INIT_NO_LOAD_CONFIG: UInt64 = 0x80
comptime _INIT_NO_ATEXIT: UInt64 = 0x80000

comptime _LIBRARY = _Global[
    StorageType=OpenSslState, "flare_openssl", _load_for_the_process
]


struct OpenSslState(Movable):
    """The state of the loaded library; it lives as long as the process."""

    var functions: LibraryFunctions[_NAMES]
    """Its functions."""
    var is_loaded: Bool
    """Whether the library and all of its functions were found, and it took
    its orders."""

    def __init__(out self, var functions: LibraryFunctions[_NAMES]):
        """Creates the state of a library, and prepares it for use.

        Args:
            functions: Its functions.
        """
        self.is_loaded = False
        if functions.is_loaded:
            self.is_loaded = _initialise(functions)
        self.functions = functions^

    def __init__(out self, name: StringSlice):
        """Loads a library.

        Args:
            name: Its file name, or its path.
        """
        self = Self(LibraryFunctions[_NAMES](name))


@fieldwise_init
struct OpenSsl(TrivialRegisterPassable):
    """A handle to the loaded library."""

    var state: PointerTo[OpenSslState]
    """The state of the library."""

    @always_inline
    def function[name: StaticString, F: TrivialRegisterPassable](self) -> F:
        """Returns a function of the library.

        Parameters:
            name: Its name in C.
            F: Its type in C, as `def(…) thin abi("C") -> R`.

        Returns:
            The function.
        """
        return self.state[].functions.function[name, F]()

    def clear_errors(self):
        """Clears the error queue of the calling thread."""
        # It is nearly always empty. To clear it frees each of its places.
        if (
            self.function[
                "ERR_peek_last_error", def() thin abi("C") -> UInt64
            ]()()
            != 0
        ):
            self.function["ERR_clear_error", def() thin abi("C") -> None]()()

    def take_error(self) -> Tuple[Int, Int]:
        """Returns and removes the errors of the calling thread.

        Returns:
            The library part and the reason of the first TLS error, otherwise of
            the first error; zeros without an error.
        """
        var part = 0
        var reason = 0
        while True:
            var code = self.function[
                "ERR_get_error", def() thin abi("C") -> UInt64
            ]()()
            if code == 0:
                return (part, reason)
            var found = Int(code >> 23) & 0xFF
            if part == 0 or (found == LIBRARY_SSL and part != LIBRARY_SSL):
                part = found
                reason = Int(code & 0x7FFFFF)


def openssl() -> Optional[OpenSsl]:
    """Returns the library of the process, and loads it the first time.

    Returns:
        The library, or none if the machine has none.
    """
    try:
        var state = _LIBRARY.get_or_create_ptr()
        if not state[].is_loaded:
            return None
        return OpenSsl(state.unsafe_origin_cast[MutUntrackedOrigin]())
    except:
        return None


def _library_names() -> List[StaticString]:
    comptime if CompilationTarget.is_macos():
        # The loader of macOS looks into none of the package managers' folders.
        return [
            "libssl.3.dylib",
            "/opt/homebrew/opt/openssl@3/lib/libssl.3.dylib",
            "/usr/local/opt/openssl@3/lib/libssl.3.dylib",
            "/opt/local/lib/libssl.3.dylib",
        ]
    else:
        return ["libssl.so.3"]


def _load_for_the_process() -> OpenSslState:
    return OpenSslState(LibraryFunctions[_NAMES].first_of[LIBRARY_NAMES]())


def _initialise(functions: LibraryFunctions[_NAMES]) -> Bool:
    return (
        functions.function[
            "OPENSSL_init_ssl",
            def(UInt64, OptionalErased) thin abi("C") -> c_int,
        ]()(_INIT_NO_LOAD_CONFIG | _INIT_NO_ATEXIT, OptionalErased(None))
        == 1
    )
