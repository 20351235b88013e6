"""Sends the frames of all exchanges of a shared connection.

One fiber sends at a time. If its wait ends early, no octet is lost: another fiber
sends the rest.
"""

from flare.core import Buffer
from flare.net import NetError
from flare.runtime.current import current_reactor
from flare.runtime.socket import is_simulated
from flare.runtime.wait import deadline_in

from ...client_error import ClientError, Phase
from ..transport.clock import now
from .shared_connection import SharedConnection

comptime _KEPT_OCTETS_MAX = 64 * 1024


def unsent_octets(c: SharedConnection) -> Int:
    """Returns how many octets wait to be sent, without those inside of TLS.

    Args:
        c: The connection.

    Returns:
        The number.
    """
    return len(c.output()[]) + len(c.state()[].sending.octets)


def has_unsent(c: SharedConnection) -> Bool:
    """Returns whether octets wait to be sent.

    Args:
        c: The connection.

    Returns:
        False also if the connection has failed.
    """
    if c.state()[].failure:
        return False
    ref transport = c.connection.state[].transport
    return unsent_octets(c) > 0 or (
        Bool(transport.tls) and transport.tls.value().has_unsent()
    )


def announce(c: SharedConnection):
    """Sends as much as the kernel takes without waiting. A fiber that waits on
    the connection sends the rest.

    Args:
        c: The connection.
    """
    ref s = c.state()[]
    if s.sending.is_busy or s.failure:
        return
    if not c.connection.state[].transport.tls:
        _send_plain_at_once(c)
    elif not is_simulated():
        _send_tls_at_once(c)
    if has_unsent(c):
        hand_sending_over(c)


def hand_sending_over(c: SharedConnection):
    """Makes another fiber send the rest.

    Args:
        c: The connection.
    """
    ref s = c.state()[]
    if s.reader:
        # It sends before it reads again.
        c.connection.interrupt_read()
    elif len(s.waiting) > 0:
        s.waiting[0].wake()


def send_rest(c: SharedConnection, most_ms: Int) raises:
    """Sends all octets, unless another fiber is doing so. Meanwhile, another
    fiber reads: the server may be waiting for that.

    Args:
        c: The connection. It fails if no octet was taken for too long.
        most_ms: The longest wait. The rest stays, for the next call.

    Raises:
        The error, if the calling fiber must not wait any longer.
    """
    ref s = c.state()[]
    if s.sending.is_busy or not has_unsent(c):
        return
    if s.sending.stuck_since_ms == 0:
        s.sending.stuck_since_ms = max(now(), 1)
    s.sending.is_busy = True
    if not s.reader and len(s.waiting) > 0:
        s.waiting[0].wake()
    var end_ms = now() + most_ms
    var interruption = Optional[Error](None)
    while has_unsent(c) and not interruption:
        try:
            _send_once(c, max(end_ms - now(), 0))
            s.sending.stuck_since_ms = max(now(), 1)
        except e:
            var kind = (
                NetError.of(e).or_else(NetError(NetError.OTHER, "write")).kind
            )
            var is_late = kind == NetError.TIMEOUT
            if is_late and _is_stuck(c):
                c.fail(ClientError.because(Phase.SEND, e))
            elif kind == NetError.CANCELLED or (is_late and now() < end_ms):
                interruption = Error(e)
            elif not is_late:
                c.fail(ClientError.because(Phase.SEND, e))
        wake_writers(c)
        if now() >= end_ms:
            break
    s.sending.is_busy = False
    if not has_unsent(c):
        s.sending.stuck_since_ms = 0
        if s.sending.octets.capacity() > _KEPT_OCTETS_MAX:
            s.sending.octets = Buffer()
    if interruption:
        hand_sending_over(c)
        raise interruption.take()


def _is_stuck(c: SharedConnection) -> Bool:
    ref sending = c.state()[].sending
    return now() - sending.stuck_since_ms >= sending.write_ms


def wake_writers(c: SharedConnection):
    """Wakes the fibers that wait to send.

    Args:
        c: The connection.
    """
    ref s = c.state()[]
    if s.writers == 0:
        return
    for found in s.inboxes:
        if not found or not found.value()[].fibers.writer:
            continue
        var writer = found.value()[].fibers.writer.value()
        if s.reader and s.reader.value() == writer:
            # It reads until something arrives, unless it is told.
            c.connection.interrupt_read()
        else:
            writer.wake()


def _send_once(c: SharedConnection, most_ms: Int) raises:
    ref s = c.state()[]
    var output = c.output()
    if c.connection.state[].transport.tls:
        with deadline_in(most_ms):
            ref tls = c.connection.state[].transport.tls.value()
            output[].consume(tls.encrypt(output[].span()))
            tls.flush()
        return
    if len(s.sending.octets) == 0:
        s.sending.octets.clear()
        swap(s.sending.octets, output[])
    var octets = s.sending.octets.span()
    var count = c.connection.write(
        Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[
                ImmUntrackedOrigin
            ](),
            length=len(octets),
        ),
        most_ms,
    )
    c.state()[].sending.octets.consume(count)


def _send_tls_at_once(c: SharedConnection):
    ref tls = c.connection.state[].transport.tls.value()
    var output = c.output()
    try:
        while len(output[]) > 0:
            var count = tls.encrypt(output[].span())
            output[].consume(count)
            tls.flush_at_once()
            if count == 0:
                return
        tls.flush_at_once()
    except e:
        c.fail(e)


@always_inline
def _send_plain_at_once(c: SharedConnection):
    ref s = c.state()[]
    var output = c.output()
    while unsent_octets(c) > 0:
        if len(s.sending.octets) == 0:
            s.sending.octets.clear()
            swap(s.sending.octets, output[])
        var count = (
            current_reactor()
            .value()
            .send_at_once(
                c.connection.state[].transport.socket.value().descriptor(),
                s.sending.octets.span(),
            )
        )
        if count <= 0:
            # A failure shows at the next wait.
            return
        s.sending.octets.consume(count)
