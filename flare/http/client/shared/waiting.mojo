"""Waits on a shared connection: one fiber reads for all."""

from flare.net import NetError
from flare.proto.h2.stream_table import NO_SLOT
from flare.runtime.fiber import Fiber, remove_fiber
from flare.runtime.operation import TIMED_OUT
from flare.runtime.wait import waiting_fiber

from ..transport.clock import now
from .receiving import judge_failure, take_octets
from .sending import has_unsent, send_rest, unsent_octets
from .shared_connection import SharedConnection
from ..transport.stream_inbox import Inbox

# A fiber that has to send looks from time to time whether there is something to
# read.
comptime _SENDING_MS = 50
comptime _GLANCE_MS = 1
# No limit, to which a time can be added.
comptime _LONGEST_MS = 1 << 40
# Heads of all streams may be unsent, and answers to frames.
comptime _UNSENT_OCTETS_READ_MAX = 1 << 20
comptime UNSENT_OCTETS_MAX = 64 * 1024
"""How much may wait to be sent before content waits. The content of each
exchange is then part of every send."""


struct Awaited:
    """The events for which a fiber may wait."""

    comptime RESPONSE: UInt8 = 0
    """A part of the response, or its failure."""
    comptime ROOM: UInt8 = 1
    """Room to send content, or the end of the request."""
    comptime STREAM: UInt8 = 2
    """Another stream may begin, or none ever."""
    comptime SENT: UInt8 = 3
    """No octet is unsent, or another fiber is sending."""
    comptime SETTINGS: UInt8 = 4
    """The settings of the server, or its end."""


def await_change(
    c: SharedConnection, inbox: Inbox, awaited: UInt8, most_ms: Int
) raises:
    """Waits for an event.

    Args:
        c: The connection.
        inbox: The exchange of the calling fiber.
        awaited: One of `Awaited`.
        most_ms: The longest wait.

    Raises:
        NetError: `net.timeout` or `net.cancelled`. Failures of the connection
            are events instead.
    """
    if is_there(c, inbox, awaited):
        return
    var fiber = waiting_fiber("read")
    _enter(c, inbox, awaited, fiber)
    var patience_ms = most_ms
    var end_ms = now() + min(most_ms, _LONGEST_MS)
    var failure = Optional[Error](None)
    while not failure:
        if awaited == Awaited.RESPONSE and inbox[].tunnel.patience_ms:
            if inbox[].tunnel.patience_ms.value()[] != patience_ms:
                # The wait begins anew.
                patience_ms = inbox[].tunnel.patience_ms.value()[]
                end_ms = now() + min(patience_ms, _LONGEST_MS)
        try:
            # Octets that have arrived are seen, however late it is.
            _step(c, fiber, max(end_ms - now(), 1))
        except e:
            failure = Error(e)
        if is_there(c, inbox, awaited):
            break
        if not failure and now() >= end_ms:
            failure = Error(NetError.from_errno("wait", TIMED_OUT))
    _leave(c, inbox, awaited)
    _hand_reading_over(c)
    if failure and not is_there(c, inbox, awaited):
        raise failure.take()


def _enter(c: SharedConnection, inbox: Inbox, awaited: UInt8, fiber: Fiber):
    if awaited == Awaited.RESPONSE:
        inbox[].fibers.reader = fiber
    elif awaited == Awaited.STREAM or awaited == Awaited.SETTINGS:
        c.state()[].beginners += 1
    else:
        inbox[].fibers.writer = fiber
        c.state()[].writers += 1


def _leave(c: SharedConnection, inbox: Inbox, awaited: UInt8):
    if awaited == Awaited.RESPONSE:
        inbox[].fibers.reader = None
    elif awaited == Awaited.STREAM or awaited == Awaited.SETTINGS:
        c.state()[].beginners -= 1
    else:
        inbox[].fibers.writer = None
        c.state()[].writers -= 1


def is_there(c: SharedConnection, inbox: Inbox, awaited: UInt8) -> Bool:
    """Returns whether an event is there.

    Args:
        c: The connection.
        inbox: The exchange.
        awaited: One of `Awaited`.

    Returns:
        True if there is nothing to wait for.
    """
    if awaited == Awaited.RESPONSE:
        return inbox[].has_news()
    if awaited == Awaited.STREAM:
        return not c.may_take_more() or c.machine().may_begin()
    if awaited == Awaited.SETTINGS:
        return not c.may_take_more() or c.has_settings()
    if awaited == Awaited.SENT:
        return not has_unsent(c) or c.state()[].sending.is_busy
    var slot = inbox[].slot
    return (
        slot == NO_SLOT
        or Bool(inbox[].failure)
        or not c.machine().may_send(slot)
        or (
            c.machine().sendable_octets(slot) > 0
            and unsent_octets(c) < UNSENT_OCTETS_MAX
        )
    )


def _step(c: SharedConnection, fiber: Fiber, left_ms: Int) raises:
    """Sends, or reads once, or parks while another fiber reads."""
    ref s = c.state()[]
    if has_unsent(c) and not s.sending.is_busy:
        send_rest(c, min(left_ms, _SENDING_MS))
        if not has_unsent(c) or not _may_read(c) or left_ms <= _SENDING_MS:
            return
        # The server may send no more than this end reads, and read no more than
        # it sends.
        return _read_once(c, fiber, _GLANCE_MS, is_glance=True)
    if _may_read(c):
        return _read_once(c, fiber, left_ms)
    s.waiting.append(fiber)
    var result = fiber.wait(left_ms)
    remove_fiber(c.state()[].waiting, fiber)
    if result < 0:
        raise Error(NetError.from_errno("read", result))


def _may_read(c: SharedConnection) -> Bool:
    """Returns whether the calling fiber may read. While much is unsent, none may:
    a server that sends and does not read would cause ever more answers."""
    ref s = c.state()[]
    return (
        not s.reader
        and not s.failure
        and unsent_octets(c) <= _UNSENT_OCTETS_READ_MAX
    )


def _read_once(
    c: SharedConnection, fiber: Fiber, left_ms: Int, *, is_glance: Bool = False
) raises:
    ref s = c.state()[]
    s.reader = fiber
    var count = 0
    var failure = Optional[Error](None)
    var deadline_ms = min(now() + left_ms, fiber.state[].deadline_ms)
    try:
        count = c.connection.fill(min(left_ms, s.liveness.left_ms(now())))
    except e:
        failure = Error(e)
    s.reader = None
    if failure and is_glance and _is_timeout(failure.value()):
        return
    if failure:
        judge_failure(c, failure.value(), fiber, deadline_ms)
    else:
        take_octets(c, count)


def _is_timeout(error: Error) -> Bool:
    var net = NetError.of(error)
    return Bool(net) and net.value().kind == NetError.TIMEOUT


def _hand_reading_over(c: SharedConnection):
    ref s = c.state()[]
    if not s.reader and len(s.waiting) > 0:
        s.waiting[0].wake()
