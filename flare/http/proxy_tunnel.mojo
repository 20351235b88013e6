"""Carries the octets of a WebSocket between a client and the server behind a
proxy.

Two fibers carry one direction each, in constant memory. Octets stay in the
receive window of one connection until the output of the other has room. The
frames pass as they are. Their borders are followed in the direction to the
client only, so that the proxy can add a Close between two frames when it stops.
"""

from std.memory import ArcPointer

from flare.core import PointerTo, heap_create, heap_destroy
from flare.net import NetError
from flare.proto.ws import (
    WsCloseCode,
    WsFrameHead,
    WsFramePlace,
    WsOpcode,
    write_frame_head,
)
from flare.runtime.task import JoinHandle, spawn

from .client.requests import end_upgrade, end_upgrade_sending
from .client.transport.clock import now
from .client.upgrade.upgrade_state import ClientUpgrade
from .exchange import STOPPING
from .upgraded_stream import UpgradedStream

comptime TUNNEL_IDLE_TIMEOUT_MS = 300_000
"""The default of how long both ends of a WebSocket may be silent. Endpoints
that probe each other do so several times a minute.
"""

# As long as an endpoint waits for the answer to its Close.
comptime _CLOSE_MS = 5_000
comptime _CODE_OCTETS = 2


struct _TunnelState(Movable):
    var upgrade: ClientUpgrade
    var upstream: UpgradedStream
    var idle_timeout_ms: Int
    # When an octet last passed, in either direction.
    var passed_ms: Int
    # The place in the octets that the client got.
    var place: WsFramePlace
    # The end of all waits, once the tunnel closes.
    var closes_at_ms: Optional[Int]
    # A Close of the proxy is due, or was sent.
    var is_going_away: Bool
    var has_said_close: Bool
    var failure: Optional[Error]
    var is_over: Bool

    def __init__(out self, upgrade: ClientUpgrade, idle_timeout_ms: Int):
        self.upgrade = upgrade
        self.upstream = UpgradedStream(unsafe_exchange=upgrade[].exchange)
        self.idle_timeout_ms = idle_timeout_ms
        self.passed_ms = now()
        self.place = WsFramePlace()
        self.closes_at_ms = None
        self.is_going_away = False
        self.has_said_close = False
        self.failure = None
        self.is_over = False


struct Tunnel(Movable):
    """Owns the connection to the server behind a proxy."""

    var _state: PointerTo[_TunnelState]

    def __init__(out self, upgrade: ClientUpgrade, *, idle_timeout_ms: Int):
        """Takes ownership of a connection that was upgraded.

        Args:
            upgrade: The connection.
            idle_timeout_ms: How long both ends may be silent.
        """
        self._state = heap_create(_TunnelState(upgrade, idle_timeout_ms))

    def __deinit__(deinit self):
        """Closes the connection."""
        _Carrying(self._state).end()
        heap_destroy(self._state)


def carry_tunnel(tunnel: ArcPointer[Tunnel], client: UpgradedStream) raises:
    """Carries octets both ways until one end has ended.

    The end of the client's stream is passed on, and the server then has five
    seconds for its last octets. If this server stops, or if both ends are
    silent for too long, the client gets a Close 1001.

    Args:
        tunnel: The connection to the server.
        client: The connection to the client.

    Raises:
        The error of a connection that broke. The caller resets the other one.
    """
    var carrying = _Carrying(tunnel[]._state)
    carrying.await_octets_for(carrying.state[].idle_timeout_ms, client)

    def carry_up() raises {var tunnel, var carrying, var client}:
        # The tunnel lives as long as this fiber.
        _ = tunnel
        carrying.carry_up(client)

    var other = spawn[unsafe_borrows=True](carry_up^)
    try:
        carrying.carry_down(client)
    finally:
        carrying.end()
        other.cancel()
        _await(other^)


@no_inline
def _await(var fiber: JoinHandle[NoneType]):
    try:
        _ = fiber^.join()
    except:
        # The tunnel keeps the cause that matters.
        return


@fieldwise_init
struct _Carrying(TrivialRegisterPassable):
    var state: PointerTo[_TunnelState]

    def end(self):
        # Wakes a fiber that waits for the server.
        if not self.state[].is_over:
            self.state[].is_over = True
            end_upgrade(self.state[].upgrade)

    def fail(self, cause: Error):
        if not self.state[].is_over:
            self.state[].failure = Error(cause)
            self.end()

    def await_octets_for(self, timeout_ms: Int, client: UpgradedStream) raises:
        client.set_read_timeout_ms(timeout_ms)
        self.state[].upstream.set_read_timeout_ms(timeout_ms)

    def carry_down(self, client: UpgradedStream) raises:
        var upstream = self.state[].upstream
        while not self.is_late():
            try:
                if len(upstream.unsafe_await_octets()) == 0:
                    return
                self.pass_down(upstream, client)
            except e:
                if self.has_ended_well():
                    return
                if not self.goes_on(e, client):
                    raise self.cause_of(e)

    def carry_up(self, client: UpgradedStream):
        var upstream = self.state[].upstream
        while not self.is_late():
            try:
                var count = len(client.unsafe_await_octets())
                if self.state[].is_over:
                    return
                if count == 0:
                    self.end_up(upstream)
                    return
                _move(client, upstream)
                self.state[].passed_ms = now()
            except e:
                if not self.goes_on(e, client):
                    self.fail(e)
                    return
        self.end()

    def end_up(self, upstream: UpgradedStream) raises:
        # The server reads the end, and answers it with its own.
        end_upgrade_sending(self.state[].upgrade)
        if self.state[].is_over:
            return
        self.state[].closes_at_ms = now() + _CLOSE_MS
        upstream.set_read_timeout_ms(_CLOSE_MS)

    def pass_down(
        self, upstream: UpgradedStream, client: UpgradedStream
    ) raises:
        var room = client.unsafe_await_room(len(upstream.unsafe_received()))
        # The wait may have moved them, and another fiber may have spoken.
        var octets = upstream.unsafe_received()
        _ = self.says_close(client)
        if self.state[].has_said_close:
            # The client expects nothing more.
            upstream.consume_octets(len(octets))
            return
        var count = min(len(octets), room.octets)
        if self.state[].is_going_away:
            count = self.state[].place.advance(octets[:count])
        else:
            self.state[].place.advance_over(octets[:count])
        room.output[].append(octets[:count])
        upstream.consume_octets(count)
        client.announce_output()
        self.state[].passed_ms = now()

    def says_close(self, client: UpgradedStream) raises -> Bool:
        ref s = self.state[]
        if (
            not s.is_going_away
            or s.has_said_close
            or s.place.has_closed()
            or not s.place.is_between_frames()
        ):
            return False
        var output = client.unsafe_room().output
        write_frame_head(WsFrameHead(WsOpcode.CLOSE, _CODE_OCTETS), output)
        output[].append_octet(UInt8(WsCloseCode.GOING_AWAY >> 8))
        output[].append_octet(UInt8(WsCloseCode.GOING_AWAY & 255))
        s.has_said_close = True
        client.announce_output()
        return True

    def is_late(self) -> Bool:
        ref s = self.state[]
        return Bool(s.closes_at_ms) and now() >= s.closes_at_ms.value()

    def has_ended_well(self) -> Bool:
        return self.state[].is_over and not self.state[].failure

    @no_inline
    def cause_of(self, error: Error) -> Error:
        if self.state[].failure:
            return Error(self.state[].failure.value())
        return Error(error)

    @no_inline
    def goes_on(self, error: Error, client: UpgradedStream) -> Bool:
        """Returns whether an error is only a reason to look at the time."""
        if self.state[].is_over:
            return False
        try:
            if String(error).startswith(STOPPING):
                self.go_away(client)
                return True
            var net = NetError.of(error)
            if not net or net.value().kind != NetError.TIMEOUT:
                return False
            if net.value().operation != "read":
                return False
            self.look_at_time(client)
            return True
        except:
            return False

    def look_at_time(self, client: UpgradedStream) raises:
        ref s = self.state[]
        var left_ms: Int
        if s.closes_at_ms:
            left_ms = s.closes_at_ms.value() - now()
        else:
            # The other direction may be alive.
            left_ms = s.passed_ms + s.idle_timeout_ms - now()
            if left_ms <= 0:
                self.go_away(client)
                return
        self.await_octets_for(max(left_ms, 1), client)

    def go_away(self, client: UpgradedStream) raises:
        ref s = self.state[]
        s.is_going_away = True
        if not s.closes_at_ms:
            s.closes_at_ms = now() + _CLOSE_MS
        _ = self.says_close(client)
        self.await_octets_for(_CLOSE_MS, client)


def _move(source: UpgradedStream, target: UpgradedStream) raises:
    var room = target.unsafe_await_room(len(source.unsafe_received()))
    # The wait may have moved them.
    var octets = source.unsafe_received()
    var count = min(len(octets), room.octets)
    room.output[].append(octets[:count])
    source.consume_octets(count)
    target.announce_output()
