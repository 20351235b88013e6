"""Waits on a shared connection: one fiber reads for all."""

from flare.net import NetError
from flare.proto.h2.stream_table import NO_SLOT
from flare.runtime.fiber import Fiber, remove_fiber
from flare.runtime.wait import waiting_fiber

from ..transport.clock import now
from .receiving import judge_failure, take_octets
from .sending import has_unsent, send_rest, unsent_octets
from .shared_connection import SharedConnection
from ..transport.stream_inbox import Inbox

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
    ref s = c.state()[]
    var fiber = waiting_fiber("read")
    if awaited == Awaited.RESPONSE:
        inbox[].reader = fiber
    else:
        inbox[].writer = fiber
        s.writers += 1
    var end_ms = now() + most_ms
    var failure = Optional[Error](None)
    while not failure and not is_there(c, inbox, awaited):
        try:
            _step(c, fiber, max(end_ms - now(), 0))
        except e:
            failure = Error(e)
    if awaited == Awaited.RESPONSE:
        inbox[].reader = None
    else:
        inbox[].writer = None
        s.writers -= 1
    _hand_reading_over(c)
    if failure:
        raise failure.take()


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
        return send_rest(c)
    if not s.is_reading and not s.failure:
        return _read_once(c, fiber, left_ms)
    s.waiting.append(fiber)
    var result = fiber.wait(left_ms)
    remove_fiber(c.state()[].waiting, fiber)
    if result < 0:
        raise Error(NetError.from_errno("read", result))


def _read_once(c: SharedConnection, fiber: Fiber, left_ms: Int) raises:
    ref s = c.state()[]
    s.is_reading = True
    var count = 0
    var failure = Optional[Error](None)
    try:
        count = c.connection.fill(min(left_ms, s.liveness.left_ms(now())))
    except e:
        failure = Error(e)
    s.is_reading = False
    if failure:
        judge_failure(c, failure.value(), fiber.is_cancelled())
    else:
        take_octets(c, count)


def _hand_reading_over(c: SharedConnection):
    ref s = c.state()[]
    if not s.is_reading and len(s.waiting) > 0:
        s.waiting[0].wake()
