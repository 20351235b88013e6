"""Connects to WebSockets."""

from flare.core import heap_destroy
from flare.http.client.client import HttpClient
from flare.http.client.requests import await_upgrade_end, end_upgrade
from flare.http.client.upgrade.upgrade_state import ClientUpgrade
from flare.http.upgraded_stream import UpgradedStream
from flare.json import ToJson
from flare.proto.ws import WsCloseCode
from flare.tls import TlsConfig

from .client_config import WsClientConfig
from .client_handshake import AcceptedUpgrade, request_websocket
from .client_socket import begin_client_socket, client_deflate
from .connection import WsConnection
from .frame import WsFrame
from .message import WsMessage
from .message_deflate import AgreedDeflate
from .message_writer import WsMessageWriter
from .socket_state import Socket, fresh_now_ms


struct WsClient(Movable):
    """Owns the client's end of a WebSocket; closed when destroyed.

    It has the methods of `WsConnection`, and `connection()` returns one for
    code that serves both ends. Pings are answered, and sent, while a fiber
    receives: a program that only sends calls `recv_message` on another fiber.

    Only `close` ends the connection in order. A client that is just destroyed
    closes without waiting, and the server gets no Close:

    ```mojo
    with WsClient.connect("ws://localhost:8080/chat") as ws:
        ws.send_text("hello")
        print(ws.recv_message().as_text())
    ```

    The `with` block closes with 1000, or with 1011 if it raises an error.
    """

    var _upgrade: ClientUpgrade
    var _stream: UpgradedStream
    var _socket: Socket
    # Its memory is used until the socket is gone.
    var _deflate: AgreedDeflate

    def __init__(
        out self, var accepted: AcceptedUpgrade, config: WsClientConfig
    ) raises:
        """Creates the client's end after a handshake.

        Args:
            accepted: The connection.
            config: The choices of the client.

        Raises:
            Error: Never, after a handshake that has just succeeded.
        """
        self._upgrade = accepted.upgrade
        self._stream = UpgradedStream(
            unsafe_exchange=accepted.upgrade[].exchange
        )
        self._deflate = client_deflate(accepted.agreement, config)
        self._socket = begin_client_socket(
            self._stream, accepted.agreement, config, self._deflate.handle()
        )

    def __deinit__(deinit self):
        """Closes the connection without waiting. Fibers that wait on it get an
        error.
        """
        end_upgrade(self._upgrade)
        # They find that the WebSocket is over.
        self._socket[].sending.wake_all()
        self._socket[].closing.wake_all()
        heap_destroy(self._socket)

    @staticmethod
    def connect(
        url: StringSlice, config: WsClientConfig = WsClientConfig()
    ) raises -> Self:
        """Connects to a WebSocket.

        Args:
            url: The URL, such as `wss://example.com/chat`.
            config: The limits and choices.

        Returns:
            The client's end, after the handshake.

        Raises:
            An error `ws.handshake status=403` and the like if the server
            refuses, with up to 4 KiB of its response. `net.refused connect`,
            `tls.expired handshake` and others if there is no connection.
        """
        return Self.over(HttpClient(config=config.http.copy()), url, config)

    @staticmethod
    def connect(url: StringSlice, tls: TlsConfig) raises -> Self:
        """Connects to a WebSocket, with a configuration of TLS.

        Args:
            url: The URL.
            tls: The configuration of TLS.

        Returns:
            The client's end, after the handshake.

        Raises:
            The errors of the other `connect`.
        """
        return Self.connect(url, WsClientConfig(tls=tls.copy()))

    @staticmethod
    def over(
        client: HttpClient,
        url: StringSlice,
        config: WsClientConfig = WsClientConfig(),
    ) raises -> Self:
        """Connects to a WebSocket with the base URL, credentials, cookies,
        proxies and TLS sessions of an HTTP client.

        Args:
            client: The client, which need not live as long as the WebSocket.
            url: The URL; or a reference that is joined to the base URL.
            config: The limits and choices; its `http` is not used.

        Returns:
            The client's end, after the handshake.

        Raises:
            The errors of `connect`.
        """
        return Self(request_websocket(client, url, config), config)

    def __enter__(self) -> WsConnection:
        """Returns the connection for the block.

        Returns:
            The connection, which is closed at the end of the block.
        """
        return self.connection()

    def __exit__(self) raises:
        """Closes with 1000.

        Raises:
            The errors of `close`.
        """
        self.close()

    def __exit__[E: Deinitable](self, error: E) -> Bool:
        """Closes with 1011, because the block has raised an error.

        Parameters:
            E: The type of the error.

        Args:
            error: The error.

        Returns:
            False: the error is raised again.
        """
        try:
            self.close(WsCloseCode.INTERNAL_ERROR)
        except:
            # The error of the block tells more.
            return False
        return False

    def connection(self) -> WsConnection:
        """Returns a handle for code that serves both ends.

        Returns:
            The handle, which works as long as this client lives.
        """
        return WsConnection(self._stream)

    def recv_message(self) raises -> WsMessage:
        """Receives the next message; waits for it.

        Returns:
            The message, which owns its octets.

        Raises:
            The errors of `WsConnection.recv_message`.
        """
        return self.connection().recv_message()

    def recv_into(self, mut message: WsMessage) raises:
        """Receives the next message into the memory of an earlier one.

        Args:
            message: The message, which is replaced.

        Raises:
            The errors of `WsConnection.recv_message`.
        """
        self.connection().recv_into(message)

    def __iter__(ref self) -> WsClientMessages[origin_of(self)]:
        """Returns the messages of the connection.

        Returns:
            An iterator that ends with the connection: `close_code()` tells the
            cause. It keeps a client that is a variable alive.
        """
        return WsClientMessages(Pointer(to=self), self.connection())

    def recv(self) raises -> WsFrame:
        """Receives the next data frame, or the Close of the server.

        Returns:
            The frame, as from `WsConnection.recv`.

        Raises:
            The errors of `WsConnection.recv_message`.
        """
        return self.connection().recv()

    def send_frame(self, frame: WsFrame) raises:
        """Sends one frame; waits for room.

        Args:
            frame: The frame.

        Raises:
            The errors of `WsConnection.send_frame`.
        """
        self.connection().send_frame(frame)

    def send_text(self, text: StringSlice, *, compress: Bool = True) raises:
        """Sends a text message; waits for room.

        Args:
            text: The text.
            compress: Whether the message may be compressed.

        Raises:
            An error `ws.closed` if the connection is closed.
        """
        self.connection().send_text(text, compress=compress)

    def send_binary(
        self, octets: Span[UInt8, _], *, compress: Bool = True
    ) raises:
        """Sends a binary message; waits for room.

        Args:
            octets: The octets.
            compress: Whether the message may be compressed.

        Raises:
            An error `ws.closed` if the connection is closed.
        """
        self.connection().send_binary(octets, compress=compress)

    def send_json[T: ToJson](self, value: T, *, compress: Bool = True) raises:
        """Sends a value as JSON, in a text message.

        Parameters:
            T: The type of the value.

        Args:
            value: The value.
            compress: Whether the message may be compressed.

        Raises:
            An error `ws.closed` if the connection is closed.
        """
        self.connection().send_json(value, compress=compress)

    def send(self, message: WsMessage, *, compress: Bool = True) raises:
        """Sends a message, which may have been received.

        Args:
            message: The message.
            compress: Whether the message may be compressed.

        Raises:
            An error `ws.closed` if the connection is closed.
        """
        self.connection().send(message, compress=compress)

    def message_writer(self, *, is_text: Bool = False) -> WsMessageWriter:
        """Returns a writer for a message whose length is not known.

        Args:
            is_text: Whether the message is text, which must be UTF-8.

        Returns:
            The writer, for a `with` block.
        """
        return self.connection().message_writer(is_text=is_text)

    def ping(self) raises -> Int:
        """Sends a ping, and waits for its pong.

        Returns:
            The round trip in microseconds.

        Raises:
            The errors of `WsConnection.ping`.
        """
        return self.connection().ping()

    def close(
        self, code: UInt16 = WsCloseCode.NORMAL, reason: StringSlice = ""
    ) raises:
        """Sends a Close, waits for that of the server and for the end of the
        connection, and drops data that arrives before. Further calls have no
        effect.

        All this takes `close_timeout_ms` at most. A fiber that receives
        meanwhile may get the server's Close.

        Args:
            code: The code, one of `WsCloseCode`, or 3000 to 4999 for a code of
                the program.
            reason: The reason, at most 123 octets.

        Raises:
            An error `ws.bad_call` if code or reason are not valid.
        """
        self.connection().close(code, reason)
        # The server closes first, so that its port does not have to wait (RFC
        # 6455 section 7.1.1).
        var left_ms = self._socket[].closing.due_ms - fresh_now_ms()
        await_upgrade_end(self._upgrade, max(left_ms, 0))

    def buffered_octets(self) -> Int:
        """Returns how many octets wait until the kernel takes them.

        Returns:
            The number, as from `WsConnection.buffered_octets`.
        """
        return self.connection().buffered_octets()

    def is_open(self) -> Bool:
        """Returns whether messages may still be sent.

        Returns:
            False after a Close of either end, and after the connection was
            lost.
        """
        return self.connection().is_open()

    def close_code(self) -> Optional[UInt16]:
        """Returns why the connection is closed.

        Returns:
            The code of the first Close, 1005 for one without a code, 1006 if
            the connection was lost; `None` while it is open.
        """
        return self.connection().close_code()

    def close_reason(self) -> String:
        """Returns the reason of the server's Close.

        Returns:
            The text of the server, which may contain anything; empty without
            one.
        """
        return self.connection().close_reason()

    def protocol(self) -> String:
        """Returns the agreed subprotocol.

        Returns:
            The name; empty if there is none.
        """
        return self.connection().protocol()


@fieldwise_init
struct WsClientMessages[origin: Origin](Movable):
    """The messages that a client receives.

    Parameters:
        origin: The origin of the client.
    """

    # Without it, the client would be destroyed before its first message if the
    # loop is its last use.
    var _client: Pointer[WsClient, Self.origin]
    var _connection: WsConnection

    def __iter__(var self) -> Self:
        """Returns the iterator.

        Returns:
            The iterator.
        """
        return self^

    def __next__(mut self) raises StopIteration -> WsMessage:
        """Receives the next message.

        Returns:
            The message.

        Raises:
            StopIteration: At the end of the connection.
        """
        return self._connection.__next__()
