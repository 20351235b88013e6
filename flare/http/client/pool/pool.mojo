"""Lends connections to exchanges, and lets requests wait in order for one.

An origin has a bounded number of connections. Requests that find none wait in
a queue. A connection that becomes free is handed to the first of them, so that
no request overtakes another. A connection of HTTP/2 is lent to as many exchanges
as it has room for (`sharing`).
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.net import NetError
from flare.runtime.operation import CANCELLED, TIMED_OUT
from flare.runtime.wait import waiting_fiber

from ...client_error import ClientError, Phase, raised
from ..config.client_config import PoolLimits
from ..exchange.client_exchange import ClientExchange
from ..shared.receiving import refresh
from ..shared.shared_connection import SharedConnection
from ..transport.client_connection import ClientConnection
from ..transport.clock import Clock, now
from .origin import Origin, OriginProtocol, OriginState, queue_of
from .sharing import (
    end_connection,
    has_upgradable,
    is_worth_waiting,
    offer_shared,
    shared_with_room,
    stop_sharing,
    use_shared,
)
from .wait_queue import WaiterState

comptime _SWEEP_EVERY_MS = 1_000
# How long a request waits for room on a shared connection before it opens
# another one.
comptime _PATIENCE_MS = 100


struct PoolState(Movable):
    """The connections of one client. Only `Pool` uses it."""

    var limits: PoolLimits
    """The limits of the pool."""
    var origins: List[Origin]
    """The known origins."""
    var idle: Int
    """Connections kept for later, of all origins."""
    var swept_ms: Int
    """When connections that idle too long were last looked for."""
    var is_over: Bool
    """Whether the client has ended, so that no connection is kept."""

    def __init__(out self, limits: PoolLimits):
        """Creates an empty pool.

        Args:
            limits: The limits of the pool.
        """
        self.limits = limits
        self.origins = List[Origin]()
        self.idle = 0
        self.swept_ms = 0
        self.is_over = False


@fieldwise_init
struct Pool(TrivialRegisterPassable):
    """A handle to the pool of a client."""

    var state: PointerTo[PoolState]
    """The state."""

    def find(
        self,
        is_secure: Bool,
        authority: StringSlice,
        has_tunnel: Bool,
        may_share: Bool,
    ) -> Optional[Origin]:
        """Returns an origin that the pool already has.

        Args:
            is_secure: Whether the scheme is https.
            authority: Host and port in normal form.
            has_tunnel: Whether its route must be `Route.TUNNEL`.
            may_share: Whether HTTP/2 must be offered to it.

        Returns:
            The origin, or none.
        """
        for origin in self.state[].origins:
            if origin[].is_at(is_secure, authority, has_tunnel, may_share):
                return origin
        return None

    def add(self, var origin: OriginState) raises -> Origin:
        """Adds an origin.

        Args:
            origin: The origin.

        Returns:
            Its name.

        Raises:
            ClientError: `client.queue_full queue` if too many are in use.
        """
        if len(self.state[].origins) >= self.state[].limits.origins_max:
            self._forget_one()
        var added = heap_create(origin^)
        self.state[].origins.append(added)
        return added

    def may_upgrade_shared(self, authority: StringSlice) -> Bool:
        """Returns whether a shared connection to a secure origin exists whose
        server accepts an extended CONNECT (RFC 8441). Whether a new one would
        is not known before its settings.

        Args:
            authority: Host and port in normal form.

        Returns:
            False if an upgrade needs a connection of its own.
        """
        var origin = self.find(True, authority, False, True)
        return Bool(origin) and has_upgradable(origin.value())

    def lend(
        self,
        origin: Origin,
        exchange: ClientExchange,
        can_repeat: Bool = False,
        wants_new: Bool = False,
    ) raises -> Bool:
        """Lends a connection to an exchange, or the permission to open one.
        Waits while neither is free.

        Args:
            origin: The origin of the request.
            exchange: The exchange; its clock bounds the wait.
            can_repeat: Whether the request is short, and is repeated if the
                connection has ended.
            wants_new: Whether the caller needs the permission to open a
                connection, not a kept one.

        Returns:
            True if the exchange has a connection; False if the caller may open
            one for it.

        Raises:
            ClientError: `client.timeout queue`, `client.cancelled queue` or
                `client.queue_full queue`.
        """
        origin[].used_ms = now()
        var has_one = self._lend(origin, exchange, can_repeat, wants_new)
        if not has_one:
            origin[].connections.openings += 1
        return has_one

    def opened(self, origin: Origin, exchange: ClientExchange):
        """Records that the connection which an exchange was permitted to open is
        open. Requests that have waited for it share it, or open others.

        Args:
            origin: The origin of the request.
            exchange: The exchange, which has the connection.
        """
        ref connections = origin[].connections
        connections.openings -= 1
        if not origin[].may_share:
            return
        var connection = exchange.state[].connection.value()
        if connection.state[].shared:
            if not origin[].has_left_http2():
                connections.protocol = OriginProtocol.HTTP2
            use_shared(origin, connection)
            offer_shared(origin, connection)
        else:
            connections.protocol = OriginProtocol.HTTP1
            self._let_waiters_open(origin)
        self._wake_first(origin)

    def opening_failed(self, origin: Origin):
        """Records that a permitted connection could not be opened.

        Args:
            origin: The origin.
        """
        origin[].connections.openings -= 1
        self.give_room_up(origin)
        if origin[].connections.protocol == OriginProtocol.UNKNOWN:
            # They need not fail one after another.
            self._let_waiters_open(origin)
        self._wake_first(origin)

    def release(self, origin: Origin, exchange: ClientExchange):
        """Takes back the connection of an exchange that is over.

        Args:
            origin: The origin of the request.
            exchange: The exchange; it has no connection afterwards.
        """
        if not exchange.can_carry_another() or exchange.is_shared():
            self.discard(origin, exchange)
            return
        self._keep(origin, exchange.state[].connection.take())

    def discard(self, origin: Origin, exchange: ClientExchange):
        """Closes the connection of an exchange that has failed or was
        abandoned. On a shared connection, it ends the stream only.

        Args:
            origin: The origin of the request.
            exchange: The exchange; it has no connection afterwards.
        """
        if not exchange.is_shared():
            self._close(origin, exchange.state[].connection.take())
            return
        exchange.leave()
        self._return_shared(origin, exchange.state[].connection.take())

    def detach(
        self, origin: Origin, exchange: ClientExchange
    ) -> ClientConnection:
        """Takes the connection of an exchange out of the pool: it no longer
        counts.

        Args:
            origin: The origin of the request.
            exchange: The exchange; it has no connection afterwards.

        Returns:
            The connection, which the caller destroys.
        """
        self.give_room_up(origin)
        return exchange.state[].connection.take()

    def give_room_up(self, origin: Origin):
        """Passes the permission to open a connection to another request.

        Args:
            origin: The origin.
        """
        var waiter = queue_of(origin).take_first()
        if waiter:
            waiter.value()[].may_open = True
            waiter.value()[].fiber.wake()
        else:
            origin[].connections.open -= 1

    def close_idle(self):
        """Closes the idle connections."""
        for origin in self.state[].origins:
            while len(origin[].connections.idle) > 0:
                self._drop_idle(origin)

    def destroy(self):
        """Closes all connections and frees the pool, after the last exchange.
        """
        self.close_idle()
        for origin in self.state[].origins:
            heap_destroy(origin)
        self.state[].origins.clear()

    def _lend(
        self,
        origin: Origin,
        exchange: ClientExchange,
        can_repeat: Bool,
        wants_new: Bool,
    ) raises -> Bool:
        if queue_of(origin).is_empty():
            var kept = shared_with_room(origin)
            if not kept and not wants_new:
                kept = self._take_idle(origin, can_repeat)
            if kept:
                use_shared(origin, kept.value())
                exchange.state[].connection = kept
                return True
            if (
                wants_new
                and len(origin[].connections.idle) > 0
                and not self._may_open(origin)
            ):
                self._drop_idle(origin)
            if self._may_open(origin) and not is_worth_waiting(origin):
                origin[].connections.open += 1
                return False
        var handed = self._wait(origin, exchange.state[].clock)
        if (
            handed
            and not handed.value().state[].shared
            and (wants_new or not _is_fit(handed.value(), can_repeat))
        ):
            # Its room stays with the caller.
            handed.value().destroy()
            return False
        exchange.state[].connection = handed
        return Bool(handed)

    @always_inline
    def _may_open(self, origin: Origin) -> Bool:
        return (
            origin[].connections.open
            < self.state[].limits.connections_per_origin_max
        )

    def _let_waiters_open(self, origin: Origin):
        while self._may_open(origin) and not queue_of(origin).is_empty():
            origin[].connections.open += 1
            self.give_room_up(origin)

    def _return_shared(self, origin: Origin, connection: ClientConnection):
        var c = SharedConnection(connection)
        c.state()[].users -= 1
        if c.state()[].needs_http1:
            origin[].connections.protocol = OriginProtocol.LEFT
        if c.state()[].users == 0:
            stop_sharing(origin, connection)
        if (
            c.may_take_more()
            and not self.state[].is_over
            and now() - connection.state[].made_ms
            < self.state[].limits.age_max_ms
        ):
            offer_shared(origin, connection)
            if c.state()[].users == 0:
                self._keep(origin, connection)
        else:
            stop_sharing(origin, connection)
            if c.state()[].users == 0:
                self._close(origin, connection)
        self._wake_first(origin)

    def _keep(self, origin: Origin, connection: ClientConnection):
        var now_ms = now()
        if (
            self.state[].is_over
            or now_ms - connection.state[].made_ms
            >= self.state[].limits.age_max_ms
        ):
            self._close(origin, connection)
            return
        connection.rest(now_ms)
        var waiter = queue_of(origin).take_first()
        if waiter:
            waiter.value()[].connection = connection
            waiter.value()[].fiber.wake()
            return
        if self.state[].limits.idle_connections_max == 0:
            self._close(origin, connection)
            return
        origin[].connections.idle.append(connection)
        self.state[].idle += 1
        if now_ms - self.state[].swept_ms >= _SWEEP_EVERY_MS:
            self._sweep(now_ms)
        if self.state[].idle > self.state[].limits.idle_connections_max:
            self._drop_oldest()

    def _close(self, origin: Origin, connection: ClientConnection):
        self.give_room_up(origin)
        end_connection(connection)

    def _take_idle(
        self, origin: Origin, can_repeat: Bool
    ) -> Optional[ClientConnection]:
        while len(origin[].connections.idle) > 0:
            var connection = origin[].connections.idle.pop()
            self.state[].idle -= 1
            var now_ms = origin[].used_ms
            ref c = connection.state[]
            if (
                now_ms - c.idle_since_ms < self.state[].limits.idle_timeout_ms
                and now_ms - c.made_ms < self.state[].limits.age_max_ms
                and _is_fit(connection, can_repeat)
            ):
                return connection
            origin[].connections.open -= 1
            end_connection(connection)
        return None

    def _wait(
        self, origin: Origin, clock: Clock
    ) raises -> Optional[ClientConnection]:
        var queue = queue_of(origin)
        if queue.state[].length >= self.state[].limits.waiting_per_origin_max:
            raise raised(
                ClientError.QUEUE_FULL, Phase.QUEUE, "too many wait already"
            )
        var fiber = waiting_fiber("wait")
        var waiter = queue.join(fiber)
        var result = 0
        var patient_since_ms = -1
        while not waiter[].connection and not waiter[].may_open and result == 0:
            if not self._should_open_soon(origin, waiter):
                result = fiber.wait(clock.left(_MS_MAX))
                continue
            if patient_since_ms < 0:
                patient_since_ms = now()
            var left_ms = patient_since_ms + _PATIENCE_MS - now()
            if left_ms <= 0:
                queue.leave(waiter)
                origin[].connections.open += 1
                return None
            result = fiber.wait(clock.left(left_ms))
            if result == TIMED_OUT and clock.left(1) > 0:
                result = 0
        var connection = waiter[].connection
        var may_open = waiter[].may_open
        if connection or may_open:
            heap_destroy(waiter)
            if result == CANCELLED:
                if connection and connection.value().state[].shared:
                    self._return_shared(origin, connection.value())
                elif connection:
                    self._keep(origin, connection.value())
                else:
                    self.give_room_up(origin)
                raise Error(
                    ClientError.because(
                        Phase.QUEUE, Error(NetError.from_errno("wait", result))
                    )
                )
            return connection
        queue.leave(waiter)
        self._wake_first(origin)
        raise Error(
            ClientError.because(
                Phase.QUEUE, Error(NetError.from_errno("wait", result))
            )
        )

    def _should_open_soon(
        self, origin: Origin, waiter: PointerTo[WaiterState]
    ) -> Bool:
        """Returns whether a request that waits opens a connection after a while:
        the first one, if none is being opened."""
        var first = queue_of(origin).state[].first
        return (
            origin[].may_share
            and Bool(first)
            and first.value() == waiter
            and origin[].connections.openings == 0
            and self._may_open(origin)
        )

    def _wake_first(self, origin: Origin):
        # It may have become the first one, or no connection is opened any more.
        var first = queue_of(origin).state[].first
        if origin[].may_share and first:
            first.value()[].fiber.wake()

    def _sweep(self, now_ms: Int):
        self.state[].swept_ms = now_ms
        for origin in self.state[].origins:
            while (
                len(origin[].connections.idle) > 0
                and now_ms - origin[].connections.idle[0].state[].idle_since_ms
                >= self.state[].limits.idle_timeout_ms
            ):
                self._drop_idle(origin)

    def _drop_oldest(self):
        var oldest = Optional[Origin](None)
        for origin in self.state[].origins:
            if len(origin[].connections.idle) == 0:
                continue
            if (
                not oldest
                or origin[].connections.idle[0].state[].idle_since_ms
                < oldest.value()[].connections.idle[0].state[].idle_since_ms
            ):
                oldest = origin
        if oldest:
            self._drop_idle(oldest.value())

    def _drop_idle(self, origin: Origin):
        # The call never parks, so that code that iterates over the pool finds
        # it unchanged.
        end_connection(origin[].connections.idle.pop(0))
        self.state[].idle -= 1
        self.give_room_up(origin)

    def _forget_one(self) raises:
        var found = -1
        for i in range(len(self.state[].origins)):
            var origin = self.state[].origins[i]
            if origin[].users > 0:
                continue
            if (
                found < 0
                or origin[].used_ms < self.state[].origins[found][].used_ms
            ):
                found = i
        if found < 0:
            raise raised(
                ClientError.QUEUE_FULL, Phase.QUEUE, "too many origins in use"
            )
        var origin = self.state[].origins.pop(found)
        while len(origin[].connections.idle) > 0:
            self._drop_idle(origin)
        heap_destroy(origin)


@always_inline
def _is_fit(connection: ClientConnection, can_repeat: Bool) -> Bool:
    if connection.state[].shared:
        return refresh(SharedConnection(connection))
    # If both are one step, unexpected octets show beside the send.
    return (
        can_repeat and connection.can_send_and_fill()
    ) or connection.is_silent()


comptime _MS_MAX = 1 << 40
