"""Receives the notifications of channels, also after the connection was lost."""

from std.memory import ArcPointer

from flare.core import PointerTo, heap_create, heap_destroy
from flare.net import NetError
from flare.runtime.fiber import NO_DEADLINE, Fiber
from flare.runtime.operation import CANCELLED
from flare.runtime.wait import deadline_in, sleep, waiting_fiber
from flare.sql.text import has_nul
from flare.sys.pg_parameters import PgParameters

from .connection import DatabaseConnection
from .error import PostgresError
from .notification import Notification, NotificationQueue
from .pool import DatabasePool
from .statement import run_unchecked

# The server cuts longer names (NAMEDATALEN).
comptime _CHANNEL_OCTETS_MAX = 63
# Between two attempts to listen that the server lets in and then fails.
comptime _PAUSE_MS = 100


struct ListeningState(Movable):
    """The state of a listener. Only `Notifications` uses it."""

    var pool: DatabasePool
    """The pool."""
    var connection: Optional[DatabaseConnection]
    """The connection; `None` while there is none."""
    var channels: List[String]
    """The channels."""
    var queue: PointerTo[NotificationQueue]
    """The notifications that were not taken."""
    var is_ended: Bool
    """Whether the block has ended."""

    def __init__(out self, pool: DatabasePool, var channels: List[String]):
        """Creates the state before the first connection.

        Args:
            pool: The pool.
            channels: The channels.
        """
        self.pool = pool
        self.connection = None
        self.channels = channels^
        self.queue = heap_create(NotificationQueue())
        self.is_ended = False

    def __deinit__(deinit self):
        """Frees the queue."""
        heap_destroy(self.queue)


struct Notifications(Copyable, Movable):
    """The notifications of channels. After the block, `next` raises
    `postgres.closed`.
    """

    var _state: ArcPointer[ListeningState]

    def __init__(out self, *, unsafe_state: ArcPointer[ListeningState]):
        """Creates a reference.

        Args:
            unsafe_state: The state.

        Safety:
            The state is that of a `ListenScope`.
        """
        self._state = unsafe_state

    def next(self) raises -> Notification:
        """Parks until a notification arrives. If the connection is lost, it
        listens again on another one, however long that takes.

        Returns:
            The notification, or the word about a gap.

        Raises:
            PostgresError: `postgres.connect` if the server refuses the user or
                the database, `postgres.timeout` at the deadline of the fiber,
                `postgres.closed`.

            NetError: `net.cancelled wait`.
        """
        while True:
            var found = self._await(NO_DEADLINE)
            if found:
                return found.take()

    def next(self, *, timeout_ms: Int) raises -> Optional[Notification]:
        """Parks until a notification arrives or a time has passed. If the
        connection is lost, it listens again on another one.

        Args:
            timeout_ms: The longest wait; 0 takes one that has arrived. If the
                connection was lost and another one is free, it listens there
                before it returns; `query_timeout_ms` bounds that.

        Returns:
            The notification, or the word about a gap; `None` if the time has
            passed.

        Raises:
            PostgresError: As the other `next`.

            NetError: `net.cancelled wait`.
        """
        var reactor = waiting_fiber("wait").reactor()
        return self._await(reactor.deadline_after(timeout_ms))

    def _await(self, until_ms: Int) raises -> Optional[Notification]:
        var fiber = waiting_fiber("wait")
        var queue = self._state[].queue
        while True:
            self._check()
            if not self._state[].connection:
                if not self._is_connected_again(fiber, until_ms):
                    return None
            var found = queue[].take()
            if found:
                return found^
            if queue[].is_lost:
                self._leave()
                continue
            queue[].fiber = fiber
            var result = fiber.wait(_rest_ms(fiber, until_ms))
            queue[].fiber = None
            if result == CANCELLED:
                raise Error(NetError.from_errno("wait", CANCELLED))
            if result < 0:
                self._check()
                if _has_time(fiber):
                    return queue[].take()
                raise self._state[].pool.timeout_error(sent=False)

    def _is_connected_again(self, fiber: Fiber, until_ms: Int) raises -> Bool:
        while True:
            try:
                self._connect(fiber, until_ms)
                self._state[].queue[].clear()
                self._state[].queue[].has_gap = True
                return True
            except e:
                self._leave()
                var error = PostgresError.of(e)
                if not error:
                    raise e^
                if error.value().kind == PostgresError.TIMEOUT:
                    if _rest_ms(fiber, until_ms) <= 0 and _has_time(fiber):
                        return False
                    raise e^
                if not (
                    error.value().kind == PostgresError.ACQUIRE_TIMEOUT
                    or error.value().kind == PostgresError.CONNECTION_LOST
                ):
                    raise e^
            try:
                with deadline_in(_rest_ms(fiber, until_ms)):
                    sleep(_PAUSE_MS)
            except e:
                if fiber.is_cancelled():
                    raise e^
                self._check()
                if _has_time(fiber):
                    return False
                raise self._state[].pool.timeout_error(sent=False)

    def _connect(self, fiber: Fiber, until_ms: Int) raises:
        self._check()
        ref s = self._state[]
        var connection: DatabaseConnection
        # The block may end, and the database too, while this fiber waits.
        s.pool.state[].users += 1
        try:
            # The statements below may take longer: if they were cut off, a
            # program with short timeouts would close each connection, and
            # listen never.
            with deadline_in(_rest_ms(fiber, until_ms)):
                connection = s.pool.acquire(fiber)
        except e:
            s.pool.release()
            raise e^
        if s.is_ended:
            connection.give_back()
            connection.release()
            s.pool.release()
            self._check()
        s.connection = connection
        s.queue[].is_lost = False
        connection.state[].owner.listening = s.queue
        for channel in s.channels:
            self._check()
            _ = run_unchecked(
                s.pool,
                connection,
                String('LISTEN "', channel.replace('"', '""'), '"'),
                PgParameters(),
            )

    def _check(self) raises:
        if self._state[].is_ended:
            raise Error(String(PostgresError(PostgresError.CLOSED)))

    def _leave(self):
        ref s = self._state[]
        var connection = s.connection
        s.connection = None
        if not connection:
            return
        connection.value().state[].owner.listening = None
        connection.value().state[].flags.is_owned = False
        if connection.value().is_open():
            # The server forgets the channels with the connection.
            connection.value().close("its listener has ended")
        connection.value().release()
        s.pool.release()

    def _end(self):
        self._leave()
        self._state[].is_ended = True
        # A fiber that waits learns of it.
        self._state[].queue[].end()


struct ListenScope[origin: ImmOrigin](Movable):
    """Begins to listen and ends it; see `Database.listen`.

    Parameters:
        origin: The origin of the database, which stays open meanwhile.
    """

    var _pool: Pointer[DatabasePool, Self.origin]
    var _channels: List[String]
    var _notifications: Optional[Notifications]

    def __init__(
        out self,
        pool: Pointer[DatabasePool, Self.origin],
        var channels: List[String],
    ):
        """Creates a listener that has not begun.

        Args:
            pool: The pool.
            channels: The channels.
        """
        self._pool = pool
        self._channels = channels^
        self._notifications = None

    def __deinit__(deinit self):
        """Ends a listener whose block was not left."""
        if self._notifications:
            self._notifications.value()._end()

    def __enter__(mut self) raises -> Notifications:
        """Waits for a connection and listens.

        Returns:
            The notifications from now on.

        Raises:
            PostgresError: `postgres.bad_parameter` for a channel without a name
                or with a longer one than 63 octets, and others as a command.
        """
        for channel in self._channels:
            var octets = channel.byte_length()
            if not 1 <= octets <= _CHANNEL_OCTETS_MAX or has_nul(channel):
                raise Error(
                    String(
                        PostgresError(
                            PostgresError.BAD_PARAMETER,
                            "a channel has 1 to 63 octets, and no NUL",
                        )
                    )
                )
        var notifications = Notifications(
            unsafe_state=ArcPointer(
                ListeningState(self._pool[], self._channels.copy())
            )
        )
        self._notifications = notifications.copy()
        try:
            notifications._connect(waiting_fiber("wait"), NO_DEADLINE)
        except e:
            notifications._end()
            raise e^
        return notifications^

    def __exit__(mut self):
        """Ends the listener."""
        self._notifications.value()._end()

    def __exit__[E: Deinitable](mut self, e: E) -> Bool:
        """Ends the listener.

        Parameters:
            E: The type of the error.

        Args:
            e: The error that leaves the block.

        Returns:
            False, so that the error leaves the block.
        """
        self._notifications.value()._end()
        return False


def _rest_ms(fiber: Fiber, until_ms: Int) -> Int:
    if until_ms == NO_DEADLINE:
        return NO_DEADLINE
    return until_ms - fiber.reactor().refresh_now_ms()


def _has_time(fiber: Fiber) -> Bool:
    return fiber.state[].deadline_ms > fiber.reactor().refresh_now_ms()
