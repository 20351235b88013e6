"""Runs the function of a WebSocket on the fiber of its request."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.exchange import Exchange
from flare.http.request import Request
from flare.http.stream_function import ExchangeTask
from flare.http.upgraded_stream import UpgradedStream
from flare.proto.ws import WsCloseCode, WsRole

from .between_reads import protocol_of
from .connection import WsConnection
from .error import WsError
from .message_deflate import AgreedDeflate
from .hub import WsHub
from .options import WsLimits
from .receiving import await_peer_close
from .sending import write_close
from .socket_state import (
    Socket,
    WsAgreement,
    WsBroadcast,
    WsSocketState,
    end_watch,
    machine_of,
    socket_of,
)
from .statistics import count_closed, count_opened
from .subscriber import leave_all, worker_of_hub
from .watching import begin_watch


struct WsTask[F: def(Request, WsConnection) raises -> None](ExchangeTask):
    """Owns the function of a WebSocket until it is over.

    Parameters:
        F: The type of the function.
    """

    var function: Self.F
    """The function."""
    var limits: WsLimits
    """The limits of the connection."""
    var protocol: String
    """The agreed subprotocol; empty if there is none."""
    var deflate: AgreedDeflate
    """How messages are compressed, if both ends agreed on it."""
    var hub: WsHub
    """The topics and statistics of the server."""

    def __init__(
        out self,
        var function: Self.F,
        limits: WsLimits,
        var protocol: String,
        hub: WsHub,
        var deflate: AgreedDeflate,
    ):
        """Takes ownership of a function.

        Args:
            function: The function.
            limits: The limits of the connection.
            protocol: The agreed subprotocol, or an empty text.
            hub: The topics and statistics of the server.
            deflate: How messages are compressed.
        """
        self.function = function^
        self.limits = limits
        self.protocol = protocol^
        self.deflate = deflate^
        self.hub = hub

    @staticmethod
    def run(task: PointerTo[Self], exchange: Exchange) raises capturing:
        """Calls the function, and closes the connection after it.

        Args:
            task: The function.
            exchange: The exchange.

        Raises:
            The error of the function, unless it says that the connection is
            closed. `ws.bad_call` if no server runs the request.
        """
        if not exchange[].fiber:
            raise _serverless_error()
        var stream = UpgradedStream.begin(exchange)
        var s = Self._open(task, stream)
        var failure = Optional[Error](None)
        try:
            task[].function(
                Request(unsafe_exchange=exchange), WsConnection(stream)
            )
        except e:
            failure = _failure_of(e)
        Self._close(task, stream, s, Bool(failure))
        if failure:
            raise failure.take()

    # Neither of these is part of the frame that lies under the function while
    # it waits.
    @staticmethod
    @no_inline
    def _open(task: PointerTo[Self], stream: UpgradedStream) raises -> Socket:
        var worker = worker_of_hub(task[].hub)
        count_opened(worker.statistics())
        var s = heap_create(
            WsSocketState(
                WsRole.SERVER,
                stream,
                task[].limits,
                WsAgreement(task[].protocol.copy(), task[].deflate.handle()),
                WsBroadcast(task[].hub, worker),
            )
        )
        stream.unsafe_set_protocol(protocol_of(s))
        begin_watch(s)
        return s

    @staticmethod
    @no_inline
    def _close(
        task: PointerTo[Self],
        stream: UpgradedStream,
        s: Socket,
        has_failed: Bool,
    ) raises:
        _ = _say_end(
            stream,
            WsCloseCode.INTERNAL_ERROR if has_failed else WsCloseCode.NORMAL,
        )
        if stream.is_open():
            if s[].closing.code == WsCloseCode.ABNORMAL:
                stream.note_lost_peer()
            stream.unsafe_set_protocol(None)
        end_watch(s)
        # They find that the WebSocket is over.
        s[].sending.wake_all()
        s[].closing.wake_all()
        leave_all(s)
        var worker = worker_of_hub(task[].hub)
        count_closed(worker.statistics(), s[].closing.code)
        heap_destroy(s)

    @staticmethod
    def held_octets(task: PointerTo[Self]) -> Int:
        """Returns how much memory the task retains until it ends.

        Args:
            task: The task.

        Returns:
            The memory that was reserved for compression.
        """
        return task[].deflate.reserved_octets()


@no_inline
def _serverless_error() -> Error:
    # The peer could not answer, and the fiber of a ping would wait for that.
    return Error(
        WsError(
            WsError.BAD_CALL,
            "a WebSocket needs a server; TestClient.websocket has one",
        )
    )


@no_inline
def _failure_of(error: Error) -> Optional[Error]:
    """Returns an error that the function is to blame for."""
    var own = WsError.of(error)
    if own and (
        own.value().kind != WsError.BUSY
        and own.value().kind != WsError.BAD_CALL
    ):
        return None
    return Error(error)


@no_inline
def _say_end(stream: UpgradedStream, code: UInt16) -> Bool:
    """Closes the connection, and returns whether the peer was told so."""
    try:
        if not machine_of(socket_of(stream)).has_failed():
            write_close(stream, code, "")
            # After a violation, the rest of the peer's octets has no meaning.
            _ = await_peer_close(stream)
        var machine = machine_of(socket_of(stream))
        var is_told = machine.has_sent_close()
        if is_told:
            # After its Close, the peer sends nothing (RFC 6455 section 5.5.1).
            stream.end_in_order(peer_has_ended=machine.has_received_close())
        return is_told
    except:
        return False
