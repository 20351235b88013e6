"""Carries the octets of a WebSocket between a client and the server behind a
proxy.

Two fibers carry one direction each, in constant memory. Octets stay in the
receive window of one connection until the output of the other has room. The
frames pass as they are. Their borders are followed in the direction to the
client only, so that the proxy can add a Close between two frames when it stops.
"""

from std.memory import ArcPointer

from flare.core import Erased, PointerTo, heap_create, heap_destroy
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
from .exchange import STOPPING, UpgradedProtocol
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
    # Of the connection to the client, once it is upgraded.
    var client: Optional[UpgradedStream]
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
        self.client = None
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
    carrying.begin(client)

    def carry_up() raises {var tunnel, var carrying, var client}:
        # The tunnel lives as long as this fiber.
        _ = tunnel
        carrying.carry_up(client)

    var other = spawn[unsafe_borrows=True](carry_up^)
    try:
        carrying.carry_down(client)
    finally:
        carrying.end()
        carrying.forget(client)
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

    def begin(self, client: UpgradedStream) raises:
        self.state[].client = client
        self.await_octets_for(self.state[].idle_timeout_ms)
        client.unsafe_set_protocol(
            UpgradedProtocol(
                self.state.unsafe_bitcast[NoneType](),
                _ignore,
                _ignore,
                _on_stop,
                _ignore,
            )
        )

    @no_inline
    def forget(self, client: UpgradedStream):
        try:
            client.unsafe_set_protocol(None)
        except:
            # The connection to the client has ended.
            return

    def end(self):
        # Wakes a fiber that waits for the server.
        if not self.state[].is_over:
            self.state[].is_over = True
            end_upgrade(self.state[].upgrade)

    def fail(self, cause: Error):
        if not self.state[].is_over:
            self.state[].failure = Error(cause)
            self.end()

    def await_octets_for(self, timeout_ms: Int) raises:
        self.state[].client.value().set_read_timeout_ms(timeout_ms)
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
                if not self.goes_on(e):
                    raise self.cause_of(e)

    def carry_up(self, client: UpgradedStream):
        var upstream = self.state[].upstream
        while not self.is_late():
            try:
                var count = len(client.unsafe_await_octets())
                if self.state[].is_over:
                    return
                if count == 0:
                    # The server reads the end, and answers it with its own.
                    end_upgrade_sending(self.state[].upgrade)
                    if not self.state[].is_over:
                        self.close_soon()
                    return
                self.pass_up(client, upstream)
            except e:
                if not self.goes_on(e):
                    self.fail(e)
                    return
        self.end()

    def pass_up(self, client: UpgradedStream, upstream: UpgradedStream) raises:
        var room = upstream.unsafe_await_room(len(client.unsafe_received()))
        # The wait may have moved them.
        var octets = client.unsafe_received()
        var count = min(len(octets), room.octets)
        room.output[].append(octets[:count])
        client.consume_octets(count)
        upstream.announce_output()
        # Raises if they could not be sent.
        _ = upstream.unsafe_room()
        self.state[].passed_ms = now()

    def pass_down(
        self, upstream: UpgradedStream, client: UpgradedStream
    ) raises:
        var octets = upstream.unsafe_received()
        if not self.state[].has_said_close:
            var room = client.unsafe_await_room(len(octets))
            # The wait may have moved them, and the proxy may have said its
            # Close.
            octets = upstream.unsafe_received()
            if not self.state[].has_said_close:
                octets = octets[: min(len(octets), room.octets)]
                octets = octets[: self.octets_to_pass(octets)]
                room.output[].append(octets)
                client.announce_output()
                self.state[].passed_ms = now()
        # After the Close, the client expects nothing more.
        upstream.consume_octets(len(octets))
        if self.state[].is_going_away:
            self.say_close()

    def octets_to_pass(self, octets: Span[UInt8, _]) -> Int:
        ref s = self.state[]
        if s.is_going_away:
            return s.place.advance(octets)
        s.place.advance_over(octets)
        return len(octets)

    def go_away(self) raises:
        # It does not wait: the loop calls it too.
        self.state[].is_going_away = True
        self.say_close()

    def say_close(self) raises:
        # Within a frame, the Close follows the frame.
        ref s = self.state[]
        if s.has_said_close or not s.place.is_between_frames():
            return
        if not s.place.has_closed():
            var output = s.client.value().unsafe_room().output
            write_frame_head(WsFrameHead(WsOpcode.CLOSE, _CODE_OCTETS), output)
            output[].append_octet(UInt8(WsCloseCode.GOING_AWAY >> 8))
            output[].append_octet(UInt8(WsCloseCode.GOING_AWAY & 255))
            s.has_said_close = True
            s.client.value().announce_output()
        self.close_soon()

    def close_soon(self) raises:
        ref s = self.state[]
        if not s.closes_at_ms:
            s.closes_at_ms = now() + _CLOSE_MS
            self.await_octets_for(_CLOSE_MS)

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
    def goes_on(self, error: Error) -> Bool:
        """Returns whether an error is only a reason to look at the time."""
        if self.state[].is_over:
            return False
        try:
            if String(error).startswith(STOPPING):
                self.go_away()
                return True
            var net = NetError.of(error)
            if not net or net.value().kind != NetError.TIMEOUT:
                return False
            if net.value().operation != "read":
                return False
            self.look_at_time()
            return True
        except:
            return False

    def look_at_time(self) raises:
        ref s = self.state[]
        if not s.closes_at_ms and now() - s.passed_ms >= s.idle_timeout_ms:
            # Within a frame, no Close can be said.
            self.go_away()
            self.close_soon()
            return
        # The other direction may be alive.
        var left_ms = s.passed_ms + s.idle_timeout_ms - now()
        if s.closes_at_ms:
            left_ms = s.closes_at_ms.value() - now()
        self.await_octets_for(max(left_ms, 1))


def _on_stop(state: Erased):
    var carrying = _Carrying(state.unsafe_bitcast[_TunnelState]())
    try:
        carrying.go_away()
    except:
        # A fiber that waits for the client gets the same error.
        return


def _ignore(state: Erased):
    pass
