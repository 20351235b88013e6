"""Connects to an address, or to the first of several that answers.

Attempts at several addresses overlap (RFC 8305). The next one starts when one
has failed or the latest has taken a while; the first success cancels the
others. Each attempt is a fiber. Their shared state is reference-counted, and
learns when the caller stops waiting.
"""

from std.memory import ArcPointer

from flare.net import NetError, SocketAddr
from flare.net.error import checked
from flare.runtime.fiber import NO_DEADLINE, Fiber
from flare.runtime.operation import CANCELLED, TIMED_OUT
from flare.runtime.socket import FiberSocket
from flare.runtime.task import JoinHandle, spawn
from flare.runtime.wait import waiting_fiber
from flare.sys.socket import set_socket_option
from flare.sys.socket_address import AF_INET, AF_INET6
from flare.sys.socket_constants import IPPROTO_TCP, TCP_NODELAY

comptime ATTEMPT_DELAY_MS = 250
"""How long an attempt runs before the next one starts (RFC 8305 section 5)."""

comptime ATTEMPTS_MAX = 16
"""The most addresses that are tried; further ones are ignored."""


def connect_to(address: SocketAddr, timeout_ms: Int) raises -> FiberSocket:
    """Connects to one address.

    Args:
        address: The peer.
        timeout_ms: The longest wait, or `NO_DEADLINE`.

    Returns:
        A connected socket with TCP_NODELAY set.

    Raises:
        NetError: `net.refused connect`, `net.timeout connect` and others.
    """
    var opened = checked(
        "connect",
        waiting_fiber("connect")
        .reactor()
        .open_socket(AF_INET if address.ip.is_v4() else AF_INET6),
        address,
    )
    var socket = FiberSocket.create(Int32(opened), address)
    _ = set_socket_option(Int32(opened), IPPROTO_TCP, TCP_NODELAY, 1)
    try:
        socket.connect(address, timeout_ms)
    except e:
        socket.destroy()
        raise e^
    return socket


def connect_to_first(
    addresses: List[SocketAddr], timeout_ms: Int
) raises -> FiberSocket:
    """Connects to the first of several addresses that answers.

    Args:
        addresses: At least one, in the order in which to try them.
        timeout_ms: The longest wait for all of them, or `NO_DEADLINE`.

    Returns:
        A connected socket.

    Raises:
        NetError: The error of the first address, `net.timeout connect` or
            `net.cancelled connect`.
    """
    if len(addresses) == 1:
        return connect_to(addresses[0], timeout_ms)
    var fiber = waiting_fiber("connect")
    var race = ArcPointer(_Race(fiber))
    var attempts = List[JoinHandle[NoneType]]()
    var ended: Int
    try:
        ended = _run(race, addresses, timeout_ms, attempts)
    except e:
        race[].is_over = True
        raise e^
    race[].is_over = True
    if race[].winner:
        return race[].winner.take()
    if ended == CANCELLED:
        raise NetError.from_errno("connect", CANCELLED, addresses[0])
    if race[].first_error:
        raise race[].first_error.take()
    raise NetError.from_errno("connect", TIMED_OUT, addresses[0])


struct _Race(Movable):
    var waiter: Fiber
    var winner: Optional[FiberSocket]
    # The error of the address that stands for the host.
    var first_error: Optional[Error]
    var failed: Int
    # The caller no longer waits; its fiber may wait for something else.
    var is_over: Bool

    def __init__(out self, waiter: Fiber):
        self.waiter = waiter
        self.winner = None
        self.first_error = None
        self.failed = 0
        self.is_over = False

    def __deinit__(deinit self):
        if self.winner:
            self.winner.value().destroy()


def _run(
    race: ArcPointer[_Race],
    addresses: List[SocketAddr],
    timeout_ms: Int,
    mut attempts: List[JoinHandle[NoneType]],
) raises -> Int:
    # 0 when there is a winner or all have failed; or why the wait has ended.
    var fiber = race[].waiter
    var reactor = fiber.reactor()
    var deadline_ms = min(
        fiber.state[].deadline_ms, reactor.deadline_after(timeout_ms)
    )
    var now_ms = reactor.now_ms()
    var count = min(len(addresses), ATTEMPTS_MAX)
    var next_ms = now_ms
    var failed = 0
    while not race[].winner and race[].failed < count:
        now_ms = reactor.refresh_now_ms()
        if now_ms >= deadline_ms:
            fiber.yield_turn()
            return TIMED_OUT
        if race[].failed > failed:
            # One that is still silent is no reason to hold back the next one.
            failed = race[].failed
            next_ms = now_ms
        if len(attempts) < count and now_ms >= next_ms:
            var left_ms = NO_DEADLINE
            if deadline_ms != NO_DEADLINE:
                left_ms = deadline_ms - now_ms
            attempts.append(
                _begin(race, addresses[len(attempts)], left_ms, len(attempts))
            )
            next_ms = now_ms + ATTEMPT_DELAY_MS
        var wait_ms = NO_DEADLINE
        if len(attempts) < count:
            wait_ms = max(next_ms - now_ms, 1)
        if deadline_ms != NO_DEADLINE:
            wait_ms = min(wait_ms, deadline_ms - now_ms)
        if fiber.wait(wait_ms) == CANCELLED and not race[].winner:
            return CANCELLED
    return 0


def _begin(
    race: ArcPointer[_Race], address: SocketAddr, timeout_ms: Int, index: Int
) raises -> JoinHandle[NoneType]:
    def attempt() raises {var race, var address, var timeout_ms, var index}:
        _attempt(race, address, timeout_ms, index)

    return spawn(attempt^)


def _attempt(
    race: ArcPointer[_Race], address: SocketAddr, timeout_ms: Int, index: Int
):
    var connected = Optional[FiberSocket](None)
    try:
        connected = connect_to(address, timeout_ms)
    except e:
        race[].failed += 1
        if index == 0:
            race[].first_error = e^
    if connected and (race[].is_over or race[].winner):
        connected.value().destroy()
    elif connected:
        race[].winner = connected
    if not race[].is_over:
        race[].waiter.wake()
