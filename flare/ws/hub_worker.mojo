"""Delivers the messages of topics to the subscribers of one worker.

Other threads put messages into the inbox, under the lock of the hub. All else
belongs to the thread of the worker. Messages are delivered in the order of
their arrival, to a bounded number of subscribers per turn.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime.reactor import Reactor
from flare.sys.thread import Lock

from .publication import Publication
from .statistics import WsStatistics

comptime _PER_TURN_MAX = 256


struct Subscription(Movable):
    """A subscriber of a topic."""

    var socket: Erased
    """The state of its WebSocket."""
    var overflow: UInt8
    """The way to treat it while it is slow, one of `WsOverflow`."""
    var has_left: Bool
    """Whether it has left while a message was being delivered."""
    var index: Int
    """Its place in the list of the topic."""
    var topic: PointerTo[Topic]
    """The topic."""

    def __init__(
        out self, socket: Erased, overflow: UInt8, topic: PointerTo[Topic]
    ):
        """Creates the last place of a topic.

        Args:
            socket: The state of the WebSocket.
            overflow: One of `WsOverflow`.
            topic: The topic.
        """
        self.socket = socket
        self.overflow = overflow
        self.has_left = False
        self.index = len(topic[].members)
        self.topic = topic


struct Topic(Movable):
    """The subscribers of one name, on one worker."""

    var name: String
    """The name."""
    var members: List[PointerTo[Subscription]]
    """The subscribers, in no order."""
    var is_delivering: Bool
    """Whether a message is on its way, so that no place may change."""
    var left: Int
    """How many have left meanwhile."""

    def __init__(out self, var name: String):
        """Creates a topic without subscribers.

        Args:
            name: The name.
        """
        self.name = name^
        self.members = List[PointerTo[Subscription]]()
        self.is_delivering = False
        self.left = 0


struct HubInbox(Movable):
    """The messages that a worker has not seen. The lock of the hub guards it.
    """

    var messages: List[Publication]
    """The messages."""
    var octets: Int
    """Their memory."""
    var has_letter: Bool
    """Whether the loop was told of them."""

    def __init__(out self):
        """Creates an empty inbox."""
        self.messages = List[Publication]()
        self.octets = 0
        self.has_letter = False


struct HubWorkerState(Movable):
    """The subscribers of one worker. Only `HubWorker` uses it."""

    var reactor: Reactor
    """The loop of the worker."""
    var offer: def(PointerTo[Subscription], Publication) thin -> None
    """Gives a message to a subscriber, without a wait."""
    var subscriptions: Int
    """How many there are; the loop lives while there is one. The lock of the
    hub guards it.
    """
    var inbox: HubInbox
    """The messages that the worker has not seen."""
    var topics: Dict[String, PointerTo[Topic]]
    """The topics that have subscribers here."""
    var queue: List[Publication]
    """The messages that are not delivered yet, the first one at the end."""
    var topic: Optional[PointerTo[Topic]]
    """Its topic, once its delivery has begun."""
    var next: Int
    """The next subscriber that gets it."""
    var end: Int
    """The number of subscribers when its delivery began."""
    var statistics: WsStatistics
    """The counters of the worker."""

    def __init__(
        out self,
        reactor: Reactor,
        offer: def(PointerTo[Subscription], Publication) thin -> None,
    ):
        """Creates the state of a worker without subscribers.

        Args:
            reactor: The loop of the worker.
            offer: Gives a message to a subscriber.
        """
        self.reactor = reactor
        self.offer = offer
        self.subscriptions = 0
        self.inbox = HubInbox()
        self.topics = Dict[String, PointerTo[Topic]]()
        self.queue = List[Publication]()
        self.topic = None
        self.next = 0
        self.end = 0
        self.statistics = WsStatistics()


@fieldwise_init
struct HubWorker(TrivialRegisterPassable):
    """A handle to the subscribers of one worker."""

    var state: PointerTo[HubWorkerState]
    """The heap state."""

    def statistics(self) -> PointerTo[WsStatistics]:
        """Returns the counters of the worker.

        Returns:
            The counters, which its thread changes.
        """
        return Pointer(to=self.state[].statistics).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    def join(
        self, name: StringSlice, socket: Erased, overflow: UInt8
    ) -> PointerTo[Subscription]:
        """Adds a subscriber.

        Args:
            name: The name of the topic.
            socket: The state of the WebSocket.
            overflow: One of `WsOverflow`.

        Returns:
            The subscription, for `leave`.
        """
        var key = String(name)
        var found = self.state[].topics.get(key)
        if not found:
            found = heap_create(Topic(key.copy()))
            self.state[].topics[key^] = found.value()
        var topic = found.value()
        var subscription = heap_create(Subscription(socket, overflow, topic))
        topic[].members.append(subscription)
        return subscription

    def leave(self, subscription: PointerTo[Subscription]):
        """Removes a subscriber.

        Args:
            subscription: The subscription, which is freed.
        """
        var topic = subscription[].topic
        if topic[].is_delivering:
            subscription[].has_left = True
            topic[].left += 1
            return
        self._remove(topic, subscription)

    def deliver(self, lock: Lock) -> Bool:
        """Delivers messages to a bounded number of subscribers.

        Args:
            lock: The lock of the hub.

        Returns:
            True if no message is left, and the next one needs a letter.
        """
        ref s = self.state[]
        var left = _PER_TURN_MAX
        while left > 0:
            if not s.topic and not self._begin(lock):
                return True
            if not s.topic:
                continue
            var topic = s.topic.unsafe_value()
            while s.next < s.end and left > 0:
                var subscription = topic[].members[s.next]
                s.next += 1
                # If all have left, the loop may be about to end.
                if not subscription[].has_left:
                    left -= 1
                    s.offer(subscription, s.queue[len(s.queue) - 1])
            if s.next == s.end:
                self._finish(topic)
        return False

    def free(self):
        """Frees the state. There are no subscribers."""
        heap_destroy(self.state)

    def _begin(self, lock: Lock) -> Bool:
        """Begins the delivery of the next message, if there is one."""
        ref s = self.state[]
        if len(s.queue) == 0:
            lock.acquire()
            swap(s.queue, s.inbox.messages)
            s.inbox.octets = 0
            if len(s.queue) == 0:
                s.inbox.has_letter = False
            lock.release()
            if len(s.queue) == 0:
                return False
            s.queue.reverse()
        s.topic = s.topics.get(String(s.queue[len(s.queue) - 1].topic()))
        if not s.topic:
            _ = s.queue.pop()
            return True
        s.topic.value()[].is_delivering = True
        s.next = 0
        s.end = len(s.topic.value()[].members)
        return True

    def _finish(self, topic: PointerTo[Topic]):
        ref s = self.state[]
        s.topic = None
        _ = s.queue.pop()
        topic[].is_delivering = False
        if topic[].left == 0:
            return
        topic[].left = 0
        for i in reversed(range(len(topic[].members))):
            var subscription = topic[].members[i]
            if subscription[].has_left:
                self._remove(topic, subscription)

    def _remove(
        self, topic: PointerTo[Topic], subscription: PointerTo[Subscription]
    ):
        # The last one takes the place.
        var last = topic[].members.pop()
        if last != subscription:
            last[].index = subscription[].index
            topic[].members[last[].index] = last
        heap_destroy(subscription)
        if len(topic[].members) == 0:
            _ = self.state[].topics.pop(topic[].name, topic)
            heap_destroy(topic)
