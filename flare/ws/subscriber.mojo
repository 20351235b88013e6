"""Subscribes a WebSocket to topics, and gives it their messages.

A message is appended to the output of the connection as it is. If there is no
room, or another message is being written, it is held.
"""

from flare.core import PointerTo
from flare.http.server.records.statistics import count
from flare.http.upgraded_stream import UpgradedStream
from flare.proto.ws import WsCloseCode
from flare.runtime.current import current_reactor

from .error import WsError
from .held import drop_held, may_append
from .hub import ALIVE_OCTETS_MAX, SENDER_PREFIX, WsHub, WsOverflow, check_topic
from .hub_worker import HubWorker, Subscription
from .publication import Publication
from .sending import write_close
from .socket_state import Socket, WsSocketState, socket_of

comptime _SUBSCRIPTIONS_MAX = 64
comptime _FEW_OCTETS = 16 * 1024
comptime _REASON: StaticString = "slow"


def worker_of_hub(hub: WsHub) raises -> HubWorker:
    """Returns the worker of the calling thread.

    Args:
        hub: The hub.

    Returns:
        The worker.

    Raises:
        An error `ws.bad_call` if the thread runs no loop.
    """
    var reactor = current_reactor()
    if not reactor:
        raise Error(WsError(WsError.BAD_CALL, "the thread runs no loop"))
    return hub.unsafe_worker(reactor.value(), _offer)


def subscribe(
    stream: UpgradedStream, topic: StringSlice, overflow: UInt8
) raises:
    """Subscribes to a topic, or changes how a subscription overflows.

    Args:
        stream: The stream of the WebSocket.
        topic: The name of the topic.
        overflow: One of `WsOverflow`.

    Raises:
        An error `ws.bad_call` if the name is too long, or there are 64
        subscriptions; `ws.closed` if the connection is closed.
    """
    check_topic(topic)
    _subscribe(socket_of(stream), topic, overflow)


def topic_of_sender(stream: UpgradedStream) raises -> String:
    """Subscribes to a topic of one's own, for a `WsSender`.

    Args:
        stream: The stream of the WebSocket.

    Returns:
        The name of the topic.

    Raises:
        The errors of `subscribe`.
    """
    var s = socket_of(stream)
    if s[].broadcast.number == 0:
        s[].broadcast.number = s[].broadcast.hub.next_number()
    var topic = String(SENDER_PREFIX, s[].broadcast.number)
    _subscribe(s, topic, WsOverflow.CLOSE)
    return topic^


def hub_of(stream: UpgradedStream) raises -> WsHub:
    """Returns the hub of a WebSocket.

    Args:
        stream: The stream of the WebSocket.

    Returns:
        The hub.

    Raises:
        An error `ws.closed` after the function of the WebSocket has returned.
    """
    return socket_of(stream)[].broadcast.hub


def _subscribe(s: Socket, topic: StringSlice, overflow: UInt8) raises:
    ref own = s[].broadcast
    if not own.worker:
        raise Error(WsError(WsError.BAD_CALL, "only a server has topics"))
    var worker = own.worker.value()
    for subscription in own.subscriptions:
        if subscription[].topic[].name == topic:
            subscription[].overflow = overflow
            return
    if len(own.subscriptions) == _SUBSCRIPTIONS_MAX:
        raise Error(WsError(WsError.BAD_CALL, "too many subscriptions"))
    own.subscriptions.append(
        worker.join(topic, s.unsafe_bitcast[NoneType](), overflow)
    )
    own.hub.unsafe_count_subscription(worker, 1)


def unsubscribe(stream: UpgradedStream, topic: StringSlice) raises:
    """Ends a subscription, if there is one.

    Args:
        stream: The stream of the WebSocket.
        topic: The name of the topic.

    Raises:
        An error `ws.closed` after the function of the WebSocket has returned.
    """
    var s = socket_of(stream)
    ref own = s[].broadcast
    for i in range(len(own.subscriptions)):
        if own.subscriptions[i][].topic[].name == topic:
            _leave(s, own.subscriptions.pop(i))
            return


def leave_all(s: Socket):
    """Ends all subscriptions of a WebSocket.

    Args:
        s: The state.
    """
    while len(s[].broadcast.subscriptions) > 0:
        _leave(s, s[].broadcast.subscriptions.pop())
    drop_held(s)


def publish(
    stream: UpgradedStream,
    topic: StringSlice,
    opcode: UInt8,
    octets: Span[UInt8, _],
    including_self: Bool,
) raises:
    """Sends a message to the subscribers of a topic.

    Args:
        stream: The stream of the WebSocket.
        topic: The name of the topic.
        opcode: `WsOpcode.TEXT` or `WsOpcode.BINARY`.
        octets: The payload.
        including_self: Whether the WebSocket gets it too.

    Raises:
        The errors of `WsHub.publish`.
    """
    var s = socket_of(stream)
    ref own = s[].broadcast
    if own.number == 0 and not including_self:
        own.number = own.hub.next_number()
    var hub = own.hub
    hub.unsafe_publish(
        topic, opcode, octets, 0 if including_self else own.number
    )


def _leave(s: Socket, subscription: PointerTo[Subscription]):
    ref own = s[].broadcast
    own.worker.value().leave(subscription)
    own.hub.unsafe_count_subscription(own.worker.value(), -1)


def _offer(subscription: PointerTo[Subscription], message: Publication):
    var s = subscription[].socket.unsafe_bitcast[WsSocketState]()
    ref own = s[].broadcast
    if s[].closing.code != 0:
        return
    if message.sender() != 0 and message.sender() == own.number:
        return
    count(own.worker.value().statistics()[].published)
    try:
        if len(own.held) == 0 and may_append(s):
            var octets = message.octets()
            var room = s[].stream.unsafe_room(len(octets))
            if room.octets > 0 and (
                subscription[].overflow != WsOverflow.LATEST
                or len(room.output[]) == 0
            ):
                room.output[].append(octets)
                s[].stream.announce_output()
                return
        _hold(s, subscription[].overflow, message)
    except:
        # The connection was lost: the fiber that receives next finds that.
        return


def _hold(s: Socket, overflow: UInt8, message: Publication) raises:
    ref own = s[].broadcast
    var place = Optional[Int](None)
    var change = message.cost()
    if overflow == WsOverflow.LATEST:
        for i in range(len(own.held)):
            if own.held[i].topic() == message.topic():
                place = i
                change -= own.held[i].cost()
    if change > 0:
        # The latest messages of its topics are more than it may hold.
        var is_over = own.held_octets + change > s[].limits.held_octets_max
        if is_over and overflow != WsOverflow.SKIP:
            write_close(s[].stream, WsCloseCode.TRY_AGAIN_LATER, _REASON)
            return
        if is_over or not _hub_has_room(s, own.held_octets + change):
            if overflow == WsOverflow.CLOSE:
                write_close(s[].stream, WsCloseCode.TRY_AGAIN_LATER, _REASON)
            else:
                _note_skipped(s)
            return
    own.held_octets += change
    if place:
        own.held[place.value()] = message
        _note_skipped(s)
    else:
        own.held.append(message)


def _hub_has_room(s: Socket, held: Int) -> Bool:
    # Those who hold much give way first: the others did not fill the hub.
    var alive = s[].broadcast.hub.unsafe_alive_octets()
    return alive <= ALIVE_OCTETS_MAX or (
        held <= _FEW_OCTETS and alive <= 2 * ALIVE_OCTETS_MAX
    )


def _note_skipped(s: Socket):
    s[].broadcast.skipped += 1
    count(s[].broadcast.worker.value().statistics()[].skipped)
