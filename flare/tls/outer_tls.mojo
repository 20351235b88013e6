"""Carries a TLS connection inside of another one, as through a proxy that
speaks TLS itself.
"""

from flare.core import Buffer, OctetPointer, PointerTo

from .machine import TlsMachine, TlsStep


struct OuterTls(Movable):
    """The outer of two connections: its machine and its octets."""

    var machine: TlsMachine
    """The end of TLS that the transport carries."""
    var received: Buffer
    """Octets of the transport that are not decrypted."""
    var unsent: Buffer
    """Octets of the inner connection that are not encrypted."""

    def __init__(out self, var machine: TlsMachine, var received: Buffer):
        """Creates the outer connection after its handshake.

        Args:
            machine: Its machine.
            received: Octets of the transport that are not decrypted.
        """
        self.machine = machine^
        self.received = received^
        self.unsent = Buffer()


@always_inline
def decrypt_outer(
    outer: PointerTo[OuterTls], into: OctetPointer, room: Int
) raises -> TlsStep:
    """Decrypts received octets of the transport.

    Args:
        outer: The outer connection.
        into: The destination.
        room: Its length.

    Returns:
        `DATA`, `END`, or `NEED_OCTETS` if more of the transport is needed.

    Raises:
        The text of a TlsError.
    """
    var step: TlsStep
    try:
        step = outer[].machine.read(
            outer[].received.span(), Span(unsafe_ptr=into, length=room)
        )
    except e:
        raise Error(String(e))
    outer[].received.consume(step.consumed)
    if len(outer[].received) == 0:
        # An idle connection holds no memory.
        outer[].received = Buffer()
    return step


@always_inline
def encrypt_outer(
    outer: PointerTo[OuterTls],
    inner: PointerTo[TlsMachine],
    output: PointerTo[Buffer],
) raises:
    """Encrypts the output of the inner connection once more.

    Args:
        outer: The outer connection.
        inner: The machine of the inner connection.
        output: Empty; gets octets for the transport. Many octets take several
            calls.

    Raises:
        The text of a TlsError.
    """
    if len(outer[].unsent) == 0:
        outer[].unsent.clear()
        inner[].exchange_output(
            Pointer(to=outer[].unsent).unsafe_origin_cast[MutUntrackedOrigin]()
        )
    while len(outer[].unsent) > 0:
        var taken: Int
        try:
            taken = outer[].machine.write(outer[].unsent.span())
        except e:
            raise Error(String(e))
        if taken == 0:
            break
        outer[].unsent.consume(taken)
    outer[].machine.exchange_output(output)
