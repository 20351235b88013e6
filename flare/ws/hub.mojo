"""Defines the hub of the WebSockets of a server: topics and statistics."""

from std.atomic import Atomic, Ordering

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.proto.ws import WsOpcode
from flare.runtime.current import current_reactor
from flare.runtime.reactor import Reactor
from flare.sys.thread import Lock

from .error import WsError
from .hub_worker import HubWorker, HubWorkerState, Subscription
from .publication import Publication
from .statistics import WsStatistics, add_statistics

comptime TOPIC_OCTETS_MAX = 255
"""The longest name of a topic."""
comptime PUBLICATION_OCTETS_MAX = 256 * 1024
"""The longest message of a topic."""
comptime ALIVE_OCTETS_MAX = 64 * 1024 * 1024
"""Beyond so many octets of messages, a slow subscriber may hold only 16 KiB, and
beyond twice as many none.
"""
comptime INBOX_OCTETS_MAX = 64 * 1024 * 1024
"""The most octets of messages that a worker may not have seen."""
comptime SENDER_PREFIX: StaticString = "\0"
"""The first octet of the topics of single WebSockets."""


struct WsOverflow:
    """The ways to treat a subscriber that reads slower than a topic sends."""

    comptime CLOSE: UInt8 = 0
    """The WebSocket is closed with 1013."""
    comptime SKIP: UInt8 = 1
    """It misses messages; `WsConnection.skipped` counts them."""
    comptime LATEST: UInt8 = 2
    """It gets the newest message of the topic only."""


struct _HubState(Movable):
    var owners: UInt32
    var lock: Lock
    var workers: List[HubWorker]
    var last_number: UInt64
    var alive: Int64

    def __init__(out self):
        self.owners = 1
        self.alive = 0
        self.lock = Lock.create()
        self.workers = List[HubWorker]()
        self.last_number = 0


struct WsHub(ImplicitlyCopyable):
    """The topics and the statistics of the WebSockets of a server.

    Each `WsOptions` has one. Give several routes the same hub, so that their
    topics are the same. Any thread may publish.
    """

    var _state: PointerTo[_HubState]

    def __init__(out self):
        """Creates a hub without WebSockets."""
        self._state = heap_create(_HubState())

    def __init__(out self, *, copy: Self):
        """Copies the reference.

        Args:
            copy: The other reference.
        """
        self._state = copy._state
        _ = Atomic[UInt32].fetch_add[ordering=Ordering.RELAXED](
            Pointer(to=self._state[].owners), 1
        )

    def __deinit__(deinit self):
        """Frees the hub with its last reference."""
        var state = self._state
        var owners = Atomic[UInt32].fetch_add[
            ordering=Ordering.ACQUIRE_RELEASE
        ](Pointer(to=state[].owners), UInt32.MAX)
        if owners != 1:
            return
        for worker in state[].workers:
            worker.free()
        state[].lock.destroy()
        heap_destroy(state)

    def publish(self, topic: StringSlice, text: StringSlice) raises:
        """Sends a text message to all subscribers of a topic. It never waits.

        Args:
            topic: The name of the topic, at most 255 octets.
            text: The text, at most 256 KiB.

        Raises:
            An error `ws.bad_call` if name or text are too long; `ws.busy` if a
            worker has 64 MiB of messages to deliver.
        """
        self.unsafe_publish(topic, WsOpcode.TEXT, text.as_bytes(), 0)

    def publish_binary(self, topic: StringSlice, octets: Span[UInt8, _]) raises:
        """Sends a binary message to all subscribers of a topic. It never waits.

        Args:
            topic: The name of the topic, at most 255 octets.
            octets: The octets, at most 256 KiB.

        Raises:
            The errors of `publish`.
        """
        self.unsafe_publish(topic, WsOpcode.BINARY, octets, 0)

    def statistics(self) -> WsStatistics:
        """Returns the counters of all workers. Callable on any thread.

        Returns:
            The sums.
        """
        var sum = WsStatistics()
        self._state[].lock.acquire()
        for worker in self._state[].workers:
            add_statistics(sum, worker.statistics())
        self._state[].lock.release()
        return sum

    def unsafe_publish_to_sender(
        self, topic: StringSlice, opcode: UInt8, octets: Span[UInt8, _]
    ) raises:
        """Sends a message to the one subscriber of the topic of a `WsSender`.

        Args:
            topic: The name of the topic.
            opcode: `WsOpcode.TEXT` or `WsOpcode.BINARY`.
            octets: The payload.

        Raises:
            The errors of `publish`.

        Safety:
            A text is UTF-8.
        """
        self._publish(topic, opcode, octets, 0)

    def unsafe_publish(
        self,
        topic: StringSlice,
        opcode: UInt8,
        octets: Span[UInt8, _],
        sender: UInt64,
    ) raises:
        """Sends a message to the subscribers of a topic.

        Args:
            topic: The name of the topic.
            opcode: `WsOpcode.TEXT` or `WsOpcode.BINARY`.
            octets: The payload.
            sender: The subscriber that does not get it, or 0.

        Raises:
            The errors of `publish`.

        Safety:
            A text is UTF-8.
        """
        check_topic(topic)
        self._publish(topic, opcode, octets, sender)

    def _publish(
        self,
        topic: StringSlice,
        opcode: UInt8,
        octets: Span[UInt8, _],
        sender: UInt64,
    ) raises:
        if len(octets) > PUBLICATION_OCTETS_MAX:
            raise Error(WsError(WsError.BAD_CALL, "the message is too long"))
        var own = self._put(
            Publication(topic, opcode, octets, sender, self._alive())
        )
        if own and not own.value().deliver(self._state[].lock):
            self._state[].lock.acquire()
            self._tell(own.value())
            self._state[].lock.release()

    def unsafe_worker(
        self,
        reactor: Reactor,
        offer: def(PointerTo[Subscription], Publication) thin -> None,
    ) -> HubWorker:
        """Returns the subscribers of a worker.

        Args:
            reactor: The loop of the calling thread.
            offer: Gives a message to a subscriber.

        Returns:
            A handle that lives as long as the hub.

        Safety:
            The hub outlives the use of the handle.
        """
        self._state[].lock.acquire()
        var found = Optional[HubWorker](None)
        for worker in self._state[].workers:
            if worker.state[].reactor == reactor:
                found = worker
        if not found:
            found = HubWorker(heap_create(HubWorkerState(reactor, offer)))
            self._state[].workers.append(found.value())
        self._state[].lock.release()
        return found.value()

    def unsafe_count_subscription(self, worker: HubWorker, change: Int):
        """Counts a subscription of a worker, so that messages are posted to it.

        Args:
            worker: The worker of the calling thread.
            change: 1 or -1.

        Safety:
            The loop of the worker lives while one is counted.
        """
        self._state[].lock.acquire()
        worker.state[].subscriptions += change
        self._state[].lock.release()

    def unsafe_alive_octets(self) -> Int:
        """Returns the memory of all messages that are on their way or held.

        Returns:
            The octets, each message counted once.

        Safety:
            The number changes at any time.
        """
        return Int(Atomic[Int64].load[ordering=Ordering.RELAXED](self._alive()))

    def next_number(self) -> UInt64:
        """Returns a number that no other WebSocket of the hub has.

        Returns:
            The number, at least 1.
        """
        self._state[].lock.acquire()
        self._state[].last_number += 1
        var number = self._state[].last_number
        self._state[].lock.release()
        return number

    def _alive(self) -> PointerTo[Int64]:
        return Pointer(to=self._state[].alive).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    def _put(self, publication: Publication) raises -> Optional[HubWorker]:
        """Puts a message into the inboxes, and returns the worker of this
        thread if it has no letter that will deliver it.
        """
        var here = current_reactor()
        var own = Optional[HubWorker](None)
        self._state[].lock.acquire()
        for worker in self._state[].workers:
            if worker.state[].inbox.octets > INBOX_OCTETS_MAX:
                self._state[].lock.release()
                raise Error(
                    WsError(WsError.BUSY, "too many messages are on their way")
                )
        for worker in self._state[].workers:
            ref w = worker.state[]
            if w.subscriptions == 0:
                continue
            w.inbox.messages.append(publication)
            w.inbox.octets += publication.cost()
            if here and here.unsafe_value() == w.reactor:
                if not w.inbox.has_letter:
                    own = worker
            else:
                self._tell(worker)
        self._state[].lock.release()
        return own

    def _tell(self, worker: HubWorker):
        """Posts a letter to the loop of a worker; the lock is held."""
        ref inbox = worker.state[].inbox
        if not inbox.has_letter:
            inbox.has_letter = True
            worker.state[].reactor.post(
                _on_letter,
                heap_create(_Letter(self, worker)).unsafe_bitcast[NoneType](),
            )


def check_topic(name: StringSlice) raises:
    """Checks the name of a topic.

    Args:
        name: The name.

    Raises:
        An error `ws.bad_call` if it is too long, or begins with a NUL.
    """
    if name.startswith(SENDER_PREFIX):
        raise Error(WsError(WsError.BAD_CALL, "a topic begins with a NUL"))
    if name.byte_length() > TOPIC_OCTETS_MAX:
        raise Error(
            WsError(WsError.BAD_CALL, "the name of a topic is too long")
        )


struct _Letter(Movable):
    # The hub lives as long as a letter is on its way.
    var hub: WsHub
    var worker: HubWorker

    def __init__(out self, hub: WsHub, worker: HubWorker):
        self.hub = hub
        self.worker = worker


def _on_letter(argument: Erased):
    var letter = argument.unsafe_bitcast[_Letter]()
    var lock = letter[].hub._state[].lock
    if letter[].worker.deliver(lock):
        heap_destroy(letter)
        return
    # The rest follows in the next turn.
    letter[].worker.state[].reactor.post(_on_letter, argument)
