"""Converses with a WebSocket handler without a socket of the kernel.

The server is the real one, on a simulated network. It runs only during the
calls below, on the calling thread.
"""

from flare.json import ToJson, dumps
from flare.proto.ws import WsCloseCode
from flare.ws import WsError, WsFrame, WsMessage

from .simulated_server import SharedServer
from .web_socket_end import WebSocketEnd, WebSocketRequest


struct TestWebSocket(ImplicitlyCopyable):
    """The client's end of a WebSocket in a test.

    Each send runs the server until its handlers wait for octets or for time. A
    receive also lets time pass, which takes no real time. Pings are answered
    while the test receives.

    Copies stand for the same connection. It stays open until `close`, `reset`
    or the end of a `with` block. A destroyed WebSocket does not close it: the
    server ends after the client and all WebSockets are destroyed.

    ```mojo
    with client.websocket("/chat") as ws:
        ws.send_text("hello")
        assert_equal(ws.recv_text(), "hello")
    ```

    The `with` block closes with 1000, or with 1011 if it raises an error.
    """

    # The end lives as long as the server.
    var _shared: SharedServer
    var _end: WebSocketEnd

    def __init__(
        out self, shared: SharedServer, request: WebSocketRequest
    ) raises:
        """Creates the client's end, after the handshake.

        Args:
            shared: The server.
            request: The handshake.

        Raises:
            The errors of `TestClient.websocket`.
        """
        self._shared = shared
        self._end = WebSocketEnd.open(shared.server, request)

    def __enter__(self) -> Self:
        """Returns the WebSocket for the block.

        Returns:
            The same WebSocket.
        """
        return self

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

    def send_text(self, text: StringSlice, *, compress: Bool = True) raises:
        """Sends a text message.

        Args:
            text: The text.
            compress: Whether the message may be compressed, if both ends agreed
                on it.

        Raises:
            An error `ws.closed` if the end of the connection was received.
        """
        self._end.connection().send_text(text, compress=compress)
        self._end.settle()

    def send_binary(
        self, octets: Span[UInt8, _], *, compress: Bool = True
    ) raises:
        """Sends a binary message.

        Args:
            octets: The octets.
            compress: Whether the message may be compressed; see `send_text`.

        Raises:
            An error `ws.closed` if the end of the connection was received.
        """
        self._end.connection().send_binary(octets, compress=compress)
        self._end.settle()

    def send_json[T: ToJson](self, value: T, *, compress: Bool = True) raises:
        """Sends a value as JSON, in a text message.

        Parameters:
            T: The type of the value.

        Args:
            value: The value.
            compress: Whether the message may be compressed; see `send_text`.

        Raises:
            An error `ws.closed` if the end of the connection was received.
        """
        self.send_text(dumps(value), compress=compress)

    def send_frame(self, frame: WsFrame) raises:
        """Sends one frame: a part of a message, or a control frame.

        Args:
            frame: The frame. A Close waits for that of the server.

        Raises:
            An error `ws.bad_call` if the frame is not allowed now; `ws.closed`
            if the end of the connection was received.
        """
        self._end.connection().send_frame(frame)
        self._end.settle()

    def send_octets(self, octets: Span[UInt8, _]):
        """Sends octets as they are, for tests with malformed frames.

        Args:
            octets: The octets. `WsFrame.encode(mask=…)` forms legal ones.
        """
        self._end.send_octets(octets)

    def recv_message(self) raises -> WsMessage:
        """Receives the next message. Time passes until it arrives.

        Returns:
            The message.

        Raises:
            An error `ws.closed` at the end of the connection, with its code.
            `ws.timeout` if it is not there within `timeout_ms`, however many
            pings arrive; the connection stays open. If the handler is at
            fault, `ws.protocol`.
        """
        return self._end.connection().recv_message()

    def recv_text(self) raises -> String:
        """Receives the next message, which is text.

        Returns:
            The text.

        Raises:
            The errors of `recv_message`; `ws.bad_call` for a binary message.
        """
        return String(self.recv_message().as_text())

    def recv(self) raises -> WsFrame:
        """Receives the next data frame, or the Close of the server.

        Returns:
            The frame. Pings are answered and not returned.

        Raises:
            The errors of `recv_message`.
        """
        return self._end.connection().recv()

    def recv_close(self) raises -> UInt16:
        """Receives the Close of the server. Time passes until it arrives.

        Returns:
            Its code, 1005 for a Close without one; 1006 if the connection was
            lost instead.

        Raises:
            An error `ws.bad_call` if a message arrives first; `ws.timeout` if
            it is not there within `timeout_ms`.
        """
        try:
            _ = self.recv_message()
        except e:
            var code = self.close_code()
            if not code:
                raise e
            return code.value()
        raise Error(
            WsError(WsError.BAD_CALL, "a message arrives before the Close")
        )

    def has_message(self) -> Bool:
        """Returns whether a message has arrived, without time passing.

        Returns:
            True if a message has arrived, or its first part.
        """
        return self._end.has_message()

    def __iter__(self) -> Self:
        """Returns the messages of the connection.

        Returns:
            An iterator that ends with the connection, or when a receive fails:
            `close_code()` tells the cause.
        """
        return self

    def __next__(mut self) raises StopIteration -> WsMessage:
        """Receives the next message.

        Returns:
            The message.

        Raises:
            StopIteration: At the end of the connection.
        """
        try:
            return self.recv_message()
        except:
            raise StopIteration()

    def close(
        self, code: UInt16 = WsCloseCode.NORMAL, reason: StringSlice = ""
    ) raises:
        """Sends a Close, waits for that of the server, and drops messages that
        arrive before. Then it closes the connection. If the server has sent its
        Close, only that.

        Args:
            code: The code, one of `WsCloseCode`, or 3000 to 4999 for a code of
                the program.
            reason: The reason, at most 123 octets.

        Raises:
            An error `ws.bad_call` if code or reason are not valid.
        """
        self._end.connection().close(code, reason)
        self._end.close()

    def reset(self):
        """Breaks the connection without a Close, as if the client's machine
        had failed. The handler sees 1006.
        """
        self._end.reset()

    def advance(self, duration_ms: Int):
        """Advances the clock, and runs the server's due work. Meanwhile the
        client receives no octet, and answers no ping: after a minute, the server
        gives it up.

        Args:
            duration_ms: The time.
        """
        self._shared.server.advance(duration_ms)

    def is_open(self) -> Bool:
        """Returns whether messages may still be sent.

        Returns:
            False after the test has sent or received a Close, or has found that
            the connection was lost.
        """
        return self._end.connection().is_open()

    def close_code(self) -> Optional[UInt16]:
        """Returns why the connection is closed.

        Returns:
            The code of the first Close, 1005 for one without a code, 1006 if
            the connection was lost; `None` while it is open. A Close of the
            server counts after the test has received it.
        """
        return self._end.connection().close_code()

    def close_reason(self) -> String:
        """Returns the reason of the server's Close.

        Returns:
            The text; empty without one.
        """
        return self._end.connection().close_reason()

    def protocol(self) -> String:
        """Returns the agreed subprotocol.

        Returns:
            The name; empty if there is none.
        """
        return self._end.connection().protocol()
