"""Sends values to any number of fibers, on all workers.

Each subscriber has a queue of its own, under the lock of the broadcast. One
letter to a loop wakes all of its subscribers that wait.
"""

from std.atomic import Atomic, Ordering
from std.collections import Deque

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.net import NetError
from flare.sys.thread import Lock

from .fiber import Fiber
from .reactor import Reactor
from .wait import waiting_fiber

comptime _QUEUE_MAX = 1_000_000


@fieldwise_init
struct Overflow(Equatable, TrivialRegisterPassable):
    """The ways to treat a subscriber that reads slower than values are sent."""

    comptime DROP_OLDEST = Self(0)
    """It misses the oldest values; `Feed.missed` counts them."""
    comptime CLOSE = Self(1)
    """Its subscription ends, so that it notices the gap."""

    var _value: UInt8


struct _Seat[T: Copyable & Deinitable](Movable):
    # The lock of the broadcast guards all fields.
    var queue: Deque[Self.T]
    var queue_max: Int
    var overflow: Overflow
    var missed: Int
    var was_too_slow: Bool
    var reactor: Reactor
    # Parked until a value comes; set and reset on its own thread.
    var waiting: Optional[Fiber]

    def __init__(
        out self, queue_max: Int, overflow: Overflow, reactor: Reactor
    ):
        self.queue = Deque[Self.T]()
        self.queue_max = queue_max
        self.overflow = overflow
        self.missed = 0
        self.was_too_slow = False
        self.reactor = reactor
        self.waiting = None


@fieldwise_init
struct _Loop(ImplicitlyCopyable):
    # A loop with subscribers, and whether a letter to it is on its way.
    var reactor: Reactor
    var has_letter: Bool


struct _Hub[T: Copyable & Deinitable](Movable):
    var owners: UInt32
    var lock: Lock
    var is_closed: Bool
    var seats: List[PointerTo[_Seat[Self.T]]]
    var loops: List[_Loop]

    def __init__(out self):
        self.owners = 1
        self.lock = Lock.create()
        self.is_closed = False
        self.seats = List[PointerTo[_Seat[Self.T]]]()
        self.loops = List[_Loop]()


struct Broadcast[T: Copyable & Deinitable](ImplicitlyCopyable):
    """Sends values to all subscribers, which may be on any worker.

    Copies refer to the same broadcast. Any thread may send, and no send waits:
    each subscriber has a bounded queue. Each gets the values in the order in
    which they were sent, from its subscription on.

    Parameters:
        T: The type of the values. Each subscriber gets a copy, which is made
            under a lock: send short values, or an `ArcPointer`.
    """

    var _hub: PointerTo[_Hub[Self.T]]

    def __init__(out self):
        """Creates a broadcast without subscribers."""
        self._hub = heap_create(_Hub[Self.T]())

    def __init__(out self, *, copy: Self):
        """Copies the reference.

        Args:
            copy: The other reference.
        """
        self._hub = copy._hub
        _ = Atomic[UInt32].fetch_add[ordering=Ordering.RELAXED](
            Pointer(to=self._hub[].owners), 1
        )

    def __deinit__(deinit self):
        """Frees the broadcast with its last reference."""
        var hub = self._hub
        var owners = Atomic[UInt32].fetch_add[
            ordering=Ordering.ACQUIRE_RELEASE
        ](Pointer(to=hub[].owners), UInt32.MAX)
        if owners == 1:
            hub[].lock.destroy()
            heap_destroy(hub)

    def send(self, value: Self.T):
        """Sends a value to all subscribers. It never waits, and any thread may
        call it.

        Args:
            value: The value.
        """
        self._hub[].lock.acquire()
        for seat in self._hub[].seats:
            _offer(seat, value)
            self._tell(seat)
        self._hub[].lock.release()

    def close(self):
        """Ends all subscriptions, after the values that are queued. Later
        subscriptions end at once. Any thread may call it.
        """
        self._hub[].lock.acquire()
        self._hub[].is_closed = True
        for seat in self._hub[].seats:
            self._tell(seat)
        self._hub[].lock.release()

    def subscribers(self) -> Int:
        """Returns the number of subscriptions. Any thread may call it.

        Returns:
            The number.
        """
        self._hub[].lock.acquire()
        var count = len(self._hub[].seats)
        self._hub[].lock.release()
        return count

    def subscribe(
        self,
        *,
        queue_max: Int = 64,
        overflow: Overflow = Overflow.DROP_OLDEST,
    ) raises -> Feed[Self.T]:
        """Begins to collect values for the calling thread.

        Args:
            queue_max: The most values that wait for the subscriber, 1 to
                1,000,000.
            overflow: How a full queue takes another value.

        Returns:
            The subscription, which ends with its last use.

        Raises:
            Error: `runtime.bad_broadcast` if `queue_max` is out of its bounds.

            NetError: If the thread has no loop and none can be created.
        """
        if queue_max < 1 or queue_max > _QUEUE_MAX:
            raise Error("runtime.bad_broadcast queue_max: 1 to 1000000")
        var reactor = waiting_fiber("subscribe").reactor()
        var seat = heap_create(_Seat[Self.T](queue_max, overflow, reactor))
        self._hub[].lock.acquire()
        self._hub[].seats.append(seat)
        var is_known = False
        for loop in self._hub[].loops:
            is_known = is_known or loop.reactor == reactor
        if not is_known:
            self._hub[].loops.append(_Loop(reactor, False))
        self._hub[].lock.release()
        return Feed[Self.T](self, seat)

    def _tell(self, seat: PointerTo[_Seat[Self.T]]):
        """Posts a letter to the loop of a subscriber that waits; the lock is
        held. So the loop lives: its subscribers leave before it ends."""
        if not seat[].waiting:
            return
        for i in range(len(self._hub[].loops)):
            ref loop = self._hub[].loops[i]
            if loop.reactor == seat[].reactor and not loop.has_letter:
                loop.has_letter = True
                loop.reactor.post(
                    _on_letter[Self.T],
                    heap_create(
                        _Letter[Self.T](self, loop.reactor)
                    ).unsafe_bitcast[NoneType](),
                )

    def _leave(self, seat: PointerTo[_Seat[Self.T]]):
        self._hub[].lock.acquire()
        var others = 0
        var place = 0
        for i in range(len(self._hub[].seats)):
            var other = self._hub[].seats[i]
            if other == seat:
                place = i
            elif other[].reactor == seat[].reactor:
                others += 1
        _ = self._hub[].seats.pop(place)
        if others == 0:
            for i in range(len(self._hub[].loops)):
                if self._hub[].loops[i].reactor == seat[].reactor:
                    _ = self._hub[].loops.pop(i)
                    break
        self._hub[].lock.release()
        heap_destroy(seat)


struct Feed[T: Copyable & Deinitable](Movable):
    """Receives the values of a `Broadcast`, on the thread that has subscribed.

    It ends with its last use.

    Parameters:
        T: The type of the values.
    """

    # It keeps the broadcast alive.
    var _broadcast: Broadcast[Self.T]
    var _seat: PointerTo[_Seat[Self.T]]

    def __init__(
        out self,
        broadcast: Broadcast[Self.T],
        seat: PointerTo[_Seat[Self.T]],
    ):
        """Creates a subscription; `Broadcast.subscribe` does.

        Args:
            broadcast: The broadcast.
            seat: The place of the subscriber.
        """
        self._broadcast = broadcast
        self._seat = seat

    def __deinit__(deinit self):
        """Ends the subscription."""
        self._broadcast._leave(self._seat)

    def next(self) raises -> Optional[Self.T]:
        """Parks until a value comes. The deadlines of the fiber apply.

        Returns:
            The next value; `None` after `close`.

        Raises:
            Error: `runtime.too_slow` once values were lost with
                `Overflow.CLOSE`, `runtime.wrong_thread` on another thread, and
                `runtime.busy` if another fiber waits for a value.

            NetError: If the fiber is cancelled, or its deadline passes first.
        """
        return _receive(self._broadcast._hub, self._seat)

    def missed(self) -> Int:
        """Returns how many values were dropped because the queue was full.

        Returns:
            The number since the subscription.
        """
        ref lock = self._broadcast._hub[].lock
        lock.acquire()
        var count = self._seat[].missed
        lock.release()
        return count


struct _Letter[T: Copyable & Deinitable](Movable):
    # The broadcast lives as long as a letter is on its way.
    var broadcast: Broadcast[Self.T]
    var reactor: Reactor

    def __init__(out self, broadcast: Broadcast[Self.T], reactor: Reactor):
        self.broadcast = broadcast
        self.reactor = reactor


def _on_letter[T: Copyable & Deinitable](argument: Erased):
    var letter = argument.unsafe_bitcast[_Letter[T]]()
    var hub = letter[].broadcast._hub
    var waiting = List[Fiber]()
    hub[].lock.acquire()
    for i in range(len(hub[].loops)):
        if hub[].loops[i].reactor == letter[].reactor:
            hub[].loops[i].has_letter = False
    for seat in hub[].seats:
        if seat[].reactor == letter[].reactor and seat[].waiting:
            waiting.append(seat[].waiting.value())
    hub[].lock.release()
    # They run in this turn, one after the other: none of them can end before
    # it was woken.
    for fiber in waiting:
        fiber.wake()
    heap_destroy(letter)


def _offer[T: Copyable & Deinitable](seat: PointerTo[_Seat[T]], value: T):
    if seat[].was_too_slow:
        return
    if len(seat[].queue) >= seat[].queue_max:
        seat[].missed += 1
        if seat[].overflow == Overflow.CLOSE:
            seat[].was_too_slow = True
            seat[].queue = Deque[T]()
            return
        _ = _take_first(seat)
    seat[].queue.append(value.copy())


def _receive[
    T: Copyable & Deinitable
](hub: PointerTo[_Hub[T]], seat: PointerTo[_Seat[T]]) raises -> Optional[T]:
    var fiber = waiting_fiber("wait")
    if fiber.reactor() != seat[].reactor:
        raise Error("runtime.wrong_thread")
    while True:
        hub[].lock.acquire()
        if seat[].waiting:
            hub[].lock.release()
            raise Error("runtime.busy another fiber waits for a value")
        var value = _take_first(seat)
        if value:
            hub[].lock.release()
            return value^
        var was_too_slow = seat[].was_too_slow
        var is_closed = hub[].is_closed
        # A letter is read on this thread, so not before the fiber is parked. One
        # that is cancelled is not: it may be lost in its wait, with its loop.
        if not fiber.is_cancelled():
            seat[].waiting = fiber
        hub[].lock.release()
        var result = 0
        if not was_too_slow and not is_closed:
            result = fiber.wait()
        hub[].lock.acquire()
        seat[].waiting = None
        hub[].lock.release()
        if was_too_slow:
            raise Error("runtime.too_slow values of a broadcast were lost")
        if is_closed:
            return None
        if result < 0:
            raise Error(NetError.from_errno("wait", result))


def _take_first[
    T: Copyable & Deinitable
](seat: PointerTo[_Seat[T]]) -> Optional[T]:
    try:
        return seat[].queue.popleft()
    except:
        # The queue is empty.
        return None
