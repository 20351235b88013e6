"""Answers the callbacks of OpenSSL during a handshake.

The library calls these functions inside a call of flare. Their state lies on
the heap, and they raise no errors.
"""

from std.ffi import c_int, c_long, c_uint
from std.memory import unsafe_memcpy

from flare.core import Erased, OctetPointer, PointerTo, equals

from .openssl import OpenSsl, OptionalErased, openssl
from .openssl_bio import BioState, bio_state, free_session
from .openssl_certificate import Certificate

comptime _CTRL_SET_STATUS_RESPONSE = 71
comptime _ALERT_FATAL = 2
comptime _NO_ACKNOWLEDGEMENT = 3

comptime ProtocolsFunction = def(
    Erased,
    PointerTo[OctetPointer],
    OctetPointer,
    OctetPointer,
    c_uint,
    Erased,
) thin abi("C") -> c_int
"""Chooses an application protocol."""

comptime ServerNameFunction = def(Erased, PointerTo[c_int], Erased) thin abi(
    "C"
) -> c_int
"""Chooses a context by name."""

comptime StatusFunction = def(Erased, Erased) thin abi("C") -> c_int
"""Provides the status of a certificate."""

comptime SessionFunction = def(Erased, Erased) thin abi("C") -> c_int
"""Receives a session."""

comptime KeyFunction = def(Erased, OctetPointer) thin abi("C") -> None
"""Receives a line of secrets."""


struct ProtocolPreference(Movable):
    """The application protocols of a server, the preferred first."""

    var library: OpenSsl
    """The library."""
    var names: List[UInt8]
    """For each name an octet with its length, then the name (RFC 7301)."""

    def __init__(out self, library: OpenSsl, var names: List[UInt8]):
        """Creates a preference.

        Args:
            library: The library.
            names: The names in wire form.
        """
        self.library = library
        self.names = names^


struct ServerNameChoice(Movable):
    """Chooses a context by the name that a client asks for."""

    var library: OpenSsl
    """The library."""
    var contexts: List[Erased]
    """Each SSL_CTX of a server, the default one first."""
    var certificates: List[Certificate]
    """The certificate of each."""

    def __init__(out self, library: OpenSsl):
        """Creates an empty choice.

        Args:
            library: The library.
        """
        self.library = library
        self.contexts = List[Erased]()
        self.certificates = List[Certificate]()


struct StapledStatus(Movable):
    """The OCSP response that a server sends with its certificate."""

    var library: OpenSsl
    """The library."""
    var response: List[UInt8]
    """The response in DER (RFC 6960)."""

    def __init__(out self, library: OpenSsl, var response: List[UInt8]):
        """Creates the state with a response.

        Args:
            library: The library.
            response: The response in DER.
        """
        self.library = library
        self.response = response^


def _state_of(library: OpenSsl, connection: Erased) -> PointerTo[BioState]:
    return bio_state(
        library,
        library.function["SSL_get_rbio", def(Erased) thin abi("C") -> Erased]()(
            connection
        ),
    )


def choose_protocol(
    connection: Erased,
    chosen: PointerTo[OctetPointer],
    chosen_octets: OctetPointer,
    offered: OctetPointer,
    offered_octets: c_uint,
    argument: Erased,
) abi("C") -> c_int:
    """Chooses the first protocol of the server that a client offers.

    Args:
        connection: The SSL.
        chosen: Set to the name.
        chosen_octets: Set to its length.
        offered: The client's protocols.
        offered_octets: The length of the list.
        argument: A `ProtocolPreference`.

    Returns:
        0, or 2 for the alert no_application_protocol.
    """
    ref ours = argument.unsafe_bitcast[ProtocolPreference]()[].names
    var theirs = Span(unsafe_ptr=offered, length=Int(offered_octets))
    var i = 0
    while i < len(ours):
        var wanted = Span(ours)[i : i + 1 + Int(ours[i])]
        i += len(wanted)
        var k = 0
        while k < len(theirs) and k + 1 + Int(theirs[k]) <= len(theirs):
            var name = theirs[k : k + 1 + Int(theirs[k])]
            if equals(name, wanted):
                chosen[] = offered.unsafe_offset(k + 1)
                chosen_octets[] = theirs[k]
                return 0
            k += len(name)
    # RFC 7301 section 3.2: no_application_protocol.
    return _ALERT_FATAL


def on_server_name(
    connection: Erased, alert: PointerTo[c_int], argument: Erased
) abi("C") -> c_int:
    """Chooses the context whose certificate is for the name asked for.

    Args:
        connection: The SSL.
        alert: The alert to send; not used.
        argument: A `ServerNameChoice`.

    Returns:
        0, or 3 if no name was asked for.
    """
    var choice = argument.unsafe_bitcast[ServerNameChoice]()
    var library = choice[].library
    var name = library.function[
        "SSL_get_servername",
        def(Erased, c_int) thin abi("C") -> Optional[OctetPointer],
    ]()(connection, c_int(0))
    if not name:
        return _NO_ACKNOWLEDGEMENT
    var octets = 0
    while name.value()[unsafe_offset=octets] != 0:
        octets += 1
    if octets == 0:
        return _NO_ACKNOWLEDGEMENT
    for i in range(len(choice[].certificates)):
        if choice[].certificates[i].is_for_name(name.value(), octets):
            _ = library.function[
                "SSL_set_SSL_CTX",
                def(Erased, Erased) thin abi("C") -> OptionalErased,
            ]()(connection, choice[].contexts[i])
            break
    return 0


def on_status(connection: Erased, argument: Erased) abi("C") -> c_int:
    """Sends the OCSP response of the server's certificate.

    Args:
        connection: The SSL.
        argument: A `StapledStatus`.

    Returns:
        0, or 3 for no answer.
    """
    var status = argument.unsafe_bitcast[StapledStatus]()
    var library = status[].library
    var octets = len(status[].response)
    # The library frees what it is given.
    var copy = library.function[
        "CRYPTO_malloc",
        def(Int, OptionalErased, c_int) thin abi("C") -> OptionalErased,
    ]()(octets, OptionalErased(None), c_int(0))
    if not copy:
        return _NO_ACKNOWLEDGEMENT
    unsafe_memcpy(
        dest=copy.value().unsafe_bitcast[UInt8](),
        src=status[].response.unsafe_ptr(),
        count=octets,
    )
    _ = library.function[
        "SSL_ctrl",
        def(Erased, c_int, c_long, OptionalErased) thin abi("C") -> c_long,
    ]()(connection, c_int(_CTRL_SET_STATUS_RESPONSE), c_long(octets), copy)
    return 0


def on_session(connection: Erased, session: Erased) abi("C") -> c_int:
    """Stores the session that a server offers.

    Args:
        connection: The SSL.
        session: The SSL_SESSION.

    Returns:
        1 because it was taken over.
    """
    var found = openssl()
    if not found:
        return 0
    var library = found.value()
    var state = _state_of(library, connection)
    if state[].session:
        free_session(library, state[].session.value())
    state[].session = session
    return 1


def on_key(connection: Erased, line: OctetPointer) abi("C"):
    """Stores a line of secrets.

    Args:
        connection: The SSL.
        line: The line, ended by NUL.
    """
    var found = openssl()
    if not found:
        return
    var state = _state_of(found.value(), connection)
    var octets = 0
    while line[unsafe_offset=octets] != 0:
        octets += 1
    if len(state[].keys) + octets < BioState.KEYS_OCTETS_MAX:
        state[].keys.append(Span(unsafe_ptr=line, length=octets))
        state[].keys.append_octet(10)
