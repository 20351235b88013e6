"""Puts the TLS machine between a connection and its socket.

Received octets are decrypted at once, into buffers of the pool. The window of
the HTTP machine contains plaintext, and no more of it than arrived in records.
Output collects as plaintext, and is encrypted when a send begins, as much as
one send carries.
"""

from flare.core import Buffer, PointerTo, heap_destroy
from flare.runtime.reactor import LARGE_BUFFER_OCTETS
from flare.tls import TlsError, TlsMachine, TlsStep

from .buffered import drop_large
from .connection_state import ConnectionState, Stage
from .window import extend_window, room_behind_window
from .worker_state import worker_of

comptime RECORD_OCTETS_MAX = 16 * 1024 + 512
"""The largest record on the wire, including its header and its authentication
(RFC 8446 section 5.2).
"""
# The overhead of encryption for one send: a header, a tag and the type or the
# nonce for each of five records; and a close_notify.
comptime _ADDED_OCTETS_MAX = 256


@fieldwise_init
struct Decryption(Equatable, TrivialRegisterPassable):
    """The result of decrypting received octets."""

    comptime GOES_ON = Self(0)
    """More may follow."""
    comptime ENDED = Self(1)
    """The peer has said that it sends no more."""
    comptime FAILED = Self(2)
    """The connection cannot continue; an alert may wait to be sent."""

    var value: UInt8
    """The number of the kind."""


def decrypt(
    c: PointerTo[ConnectionState], octets: Span[UInt8, _], *, is_large: Bool
) -> Decryption:
    """Continues the handshake, or appends plaintext to the window.

    Args:
        c: The connection, which has a TLS transport.
        octets: The received octets; all are consumed.
        is_large: Whether they are in one of the large buffers.

    Returns:
        Whether more may follow.
    """
    var t = c[].tls.unsafe_value()
    if not t[].machine:
        try:
            t[].machine = TlsMachine.server(t[].context)
        except:
            return Decryption.FAILED
    ref machine = t[].machine.value()
    # Any received record may be answered: a handshake, a request for new keys.
    if machine.output_capacity() == 0:
        machine.lend_output(worker_of(c)[].take_output())
    var result: Decryption
    try:
        var consumed = _shake_hands(machine, octets)
        result = _read(c, machine, octets[consumed:], is_large)
    except:
        # The machine keeps its previous state.
        result = Decryption.FAILED
    _give_empty_output_back(c, machine)
    return result


def encrypt(c: PointerTo[ConnectionState]):
    """Fills `sending` from the collected output, as much as one send carries.

    If no further output follows, it adds a close_notify.

    Args:
        c: The connection; `sending` is empty, and no send is in flight.
    """
    var t = c[].tls.unsafe_value()
    if not t[].machine:
        return
    ref machine = t[].machine.value()
    if machine.failure():
        # Only the alert may still go out.
        c[].outbox.output.clear()
        drop_large(c)
    var wanted = len(c[].outbox.output) + _large_octets_left(c)
    if wanted == 0 and machine.pending() == 0 and not _says_end(c, machine):
        return
    t[].sends_its_own = wanted == 0
    _make_room(c, machine, wanted)
    if machine.is_open() and not machine.failure():
        try:
            _write(c, machine)
        except:
            c[].outbox.output.clear()
            drop_large(c)
        if _says_end(c, machine):
            machine.close()
    # The memory that `sending` may hold is counted as lent, as is that of the
    # machine.
    machine.exchange_output(_sending_of(c))
    _give_empty_output_back(c, machine)


def free_transport(c: PointerTo[ConnectionState]):
    """Frees the TLS transport of a connection that ends or speaks plain HTTP.

    Args:
        c: The connection, which has a TLS transport.
    """
    var t = c[].tls.unsafe_value()
    if t[].machine and t[].machine.value().output_capacity() > 0:
        worker_of(c)[].give_output(t[].machine.value().take_output())
    c[].tls = None
    heap_destroy(t)


def _shake_hands(
    machine: TlsMachine, octets: Span[UInt8, _]
) raises TlsError -> Int:
    """Goes on with a handshake that is not complete.

    Returns:
        How many octets it has consumed.
    """
    var consumed = 0
    while not machine.is_open():
        var step = machine.handshake(octets[consumed:])
        consumed += step.consumed
        # The machine's own output is sent after all received octets are used
        # up.
        if consumed == len(octets) or step.consumed == 0:
            break
    return consumed


def _read(
    c: PointerTo[ConnectionState],
    machine: TlsMachine,
    octets: Span[UInt8, _],
    is_large: Bool,
) raises TlsError -> Decryption:
    if not machine.is_open():
        return Decryption.GOES_ON
    var pool = worker_of(c)[].reactor.buffers()
    var consumed = 0
    while True:
        var room = room_behind_window(c, pool, is_large)
        var step: TlsStep
        try:
            step = machine.read(octets[consumed:], room)
        except e:
            extend_window(c, pool, 0)
            raise e
        consumed += step.consumed
        extend_window(c, pool, step.count)
        if step.kind == TlsStep.END:
            return Decryption.ENDED
        if step.kind != TlsStep.DATA:
            return Decryption.GOES_ON
        if consumed == len(octets) and not machine.has_unread():
            # To ask for more costs as much as a short record.
            return Decryption.GOES_ON


def _make_room(c: PointerTo[ConnectionState], machine: TlsMachine, wanted: Int):
    """Lends the machine memory for one send."""
    if machine.output_capacity() > 0:
        # The machine's own output comes first.
        machine.exchange_output(_sending_of(c))
    elif c[].outbox.sending.capacity() == 0:
        c[].outbox.sending = worker_of(c)[].take_output()
    worker_of(c)[].make_room(
        c[].outbox.sending,
        min(wanted + _ADDED_OCTETS_MAX, LARGE_BUFFER_OCTETS)
        - len(c[].outbox.sending),
    )
    machine.exchange_output(_sending_of(c))


def _write(c: PointerTo[ConnectionState], machine: TlsMachine) raises TlsError:
    var room = LARGE_BUFFER_OCTETS - _ADDED_OCTETS_MAX - machine.pending()
    if len(c[].outbox.output) > 0 and room > 0:
        var taken = machine.write(
            c[].outbox.output.span()[: min(room, len(c[].outbox.output))]
        )
        c[].outbox.output.consume(taken)
        room -= taken
    if len(c[].outbox.output) > 0 or not c[].outbox.large or room <= 0:
        return
    var octets = c[].outbox.large.value().octets()[c[].outbox.large_sent :]
    c[].outbox.large_sent += machine.write(octets[: min(room, len(octets))])
    if _large_octets_left(c) == 0:
        drop_large(c)


def _says_end(c: PointerTo[ConnectionState], machine: TlsMachine) -> Bool:
    return (
        c[].stage == Stage.LAST_SEND
        and not c[].ending.resets
        and len(c[].outbox.output) == 0
        and not c[].outbox.large
        and machine.is_open()
        and not machine.is_closed()
        and not machine.failure()
    )


def _large_octets_left(c: PointerTo[ConnectionState]) -> Int:
    if not c[].outbox.large:
        return 0
    return len(c[].outbox.large.value()) - c[].outbox.large_sent


def _give_empty_output_back(c: PointerTo[ConnectionState], machine: TlsMachine):
    if machine.pending() == 0 and machine.output_capacity() > 0:
        worker_of(c)[].give_output(machine.take_output())


@always_inline
def _sending_of(c: PointerTo[ConnectionState]) -> PointerTo[Buffer]:
    return Pointer(to=c[].outbox.sending).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
