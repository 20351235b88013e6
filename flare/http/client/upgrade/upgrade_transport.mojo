"""Receives and sends octets of an upgrade: those of its connection, or of its
stream of HTTP/2 (RFC 8441).
"""

from flare.core import Buffer, PointerTo
from flare.http.exchange import CUT_OFF, MutOctets
from flare.net import NetError
from flare.runtime.operation import TIMED_OUT

from ..call.call import exchange_of
from ..exchange.exchange_state import ClientExchangeState
from ..exchange.h2_exchange import H2Exchange
from ..shared.sending import announce
from ..shared.shared_connection import SharedConnection
from ..shared.waiting import UNSENT_OCTETS_MAX, Awaited, await_change
from ..transport.client_connection import ClientConnection
from ..transport.stream_inbox import Inbox
from .upgrade_state import ClientUpgrade


@always_inline
def _connection(u: ClientUpgrade) -> ClientConnection:
    return u[].connection.unsafe_value()


@always_inline
def _exchange(u: ClientUpgrade) -> PointerTo[ClientExchangeState]:
    return exchange_of(u[].call.unsafe_value().call).state


@always_inline
def _inbox(u: ClientUpgrade) -> Inbox:
    return Pointer(to=_exchange(u)[].inbox).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()


@always_inline
def _shared(u: ClientUpgrade) -> SharedConnection:
    return SharedConnection(_exchange(u)[].connection.unsafe_value())


def unread_octets(u: ClientUpgrade) -> MutOctets:
    """Returns the octets that have arrived and were not dropped.

    Args:
        u: The upgrade.

    Returns:
        The octets, contiguous; valid until more arrive.
    """
    var received: PointerTo[Buffer]
    if u[].call:
        received = Pointer(to=_inbox(u)[].content).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
    else:
        received = Pointer(
            to=_connection(u).state[].received
        ).unsafe_origin_cast[MutUntrackedOrigin]()
    if len(received[]) == 0:
        return MutOctets()
    return MutOctets(
        unsafe_ptr=received[].unsafe_front(), length=len(received[])
    )


def drop_octets(u: ClientUpgrade, count: Int):
    """Drops octets from the front of the unread ones.

    Args:
        u: The upgrade.
        count: The number; no more than there are.
    """
    if not u[].call:
        return _connection(u).consume(count)
    if count > 0:
        H2Exchange(_exchange(u)).take_content(count)


def receive_octets(
    u: ClientUpgrade, timeout_ms: Int, patience_ms: Optional[PointerTo[Int]]
) raises:
    """Waits for further octets, or for the end of the server's.

    Args:
        u: The upgrade.
        timeout_ms: The longest wait.
        patience_ms: The same, if it may change during the wait.

    Raises:
        The error of the wait, or of the transport.
    """
    if not u[].call:
        u[].has_ended = _connection(u).fill(timeout_ms) == 0
        return
    var inbox = _inbox(u)
    var seen = len(inbox[].content)
    inbox[].tunnel.seen_octets = seen
    inbox[].tunnel.patience_ms = patience_ms
    try:
        await_change(_shared(u), inbox, Awaited.RESPONSE, timeout_ms)
    except e:
        var net = NetError.of(e)
        if net and net.value().kind == NetError.TIMEOUT:
            raise Error(NetError.from_errno("read", TIMED_OUT))
        raise e^
    finally:
        inbox[].tunnel.patience_ms = None
        inbox[].tunnel.seen_octets = 0
    u[].has_ended = inbox[].has_ended
    # The failure follows the octets.
    if inbox[].failure and len(inbox[].content) == seen:
        raise Error(CUT_OFF, ": ", inbox[].failure.value())


def check_transport(u: ClientUpgrade) raises:
    """Raises the failure that has ended the stream of an upgrade.

    Args:
        u: The upgrade.

    Raises:
        An error `http.content cut off`.
    """
    if u[].call and _inbox(u)[].failure:
        raise Error(CUT_OFF, ": ", _inbox(u)[].failure.value())


def output_of_upgrade(u: ClientUpgrade) -> PointerTo[Buffer]:
    """Returns the output, which collects octets to be sent.

    Args:
        u: The upgrade.

    Returns:
        The output.
    """
    if not u[].call:
        return _connection(u).output()
    return Pointer(to=u[].sending.output).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()


def send_octets(
    u: ClientUpgrade, octets: Span[UInt8, ImmUntrackedOrigin]
) raises -> Int:
    """Sends octets; waits for room for the first one.

    Args:
        u: The upgrade.
        octets: The octets.

    Returns:
        How many of them need not be sent again.

    Raises:
        The error of the wait, or of the transport.
    """
    var write_ms = u[].sending.write_ms
    if not u[].call:
        return _connection(u).write(octets, write_ms)
    var c = _shared(u)
    var inbox = _inbox(u)
    await_change(c, inbox, Awaited.ROOM, write_ms)
    if inbox[].failure:
        raise Error(inbox[].failure.value())
    if not c.machine().may_send(inbox[].slot):
        raise Error(CUT_OFF, ": the stream has ended")
    var count = min(len(octets), UNSENT_OCTETS_MAX)
    var sent = c.machine().send_within_windows(
        inbox[].slot, octets[:count], False, c.output()
    )
    announce(c)
    return sent


def flush_octets(u: ClientUpgrade) raises:
    """Waits until the kernel has all octets of a shared connection.

    Args:
        u: The upgrade.

    Raises:
        The error of the wait, unless it took too long: the octets of this
        upgrade may have left long ago, before those of others.
    """
    if not u[].call:
        return
    try:
        await_change(_shared(u), _inbox(u), Awaited.SENT, u[].sending.write_ms)
    except e:
        var net = NetError.of(e)
        if not net or net.value().kind != NetError.TIMEOUT:
            raise e^


def end_output(u: ClientUpgrade) raises:
    """Ends the direction to the server.

    Args:
        u: The upgrade, whose output is sent.

    Raises:
        The error of the transport.
    """
    if not u[].call:
        return _connection(u).end_sending(u[].sending.write_ms)
    var c = _shared(u)
    if not c.state()[].failure:
        c.machine().send_end(_inbox(u)[].slot, c.output())
        announce(c)
        flush_octets(u)


def close_transport(u: ClientUpgrade):
    """Ends both directions at once. Fibers that wait get an error.

    Args:
        u: The upgrade.
    """
    if u[].call:
        exchange_of(u[].call.unsafe_value().call).close()
    else:
        _connection(u).close()
