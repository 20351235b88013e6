"""Defines the connection of a WebSocket, the same at both ends."""

from std.sys.intrinsics import likely

from flare.http.upgraded_stream import UpgradedStream
from flare.json import ToJson, dumps
from flare.proto.ws import WsCloseCode, WsFrameHead, WsOpcode

from .deflating import compresses, write_compressed
from .error import WsError
from .frame import WsFrame
from .hub import WsOverflow
from .message import WsMessage
from .message_writer import WsMessageWriter
from .pinging import ping
from .receiving import await_peer_close, receive_frame, receive_message
from .sending import (
    append_ping,
    await_room,
    begin_sending,
    buffered_octets,
    end_sending,
    write_close,
    write_frame,
    write_pong,
    write_short,
)
from .sender import WsSender
from .socket_state import machine_of, open_socket, socket_of
from .subscriber import (
    hub_of,
    publish,
    subscribe,
    topic_of_sender,
    unsubscribe,
)


@fieldwise_init
struct WsConnection(TrivialRegisterPassable):
    """A handle to an open WebSocket.

    One fiber receives; any fiber of the same worker sends. Pings are answered.
    A silent peer gets one, and is given up if it stays silent. If the handler
    waits for something else then, that wait raises `net.cancelled`.

    At the end of the connection, every call raises `ws.closed`, whose code tells
    why (`WsError.of`). A handler that ends with this error has ended normally.

    When the server stops, it sends a Close with 1001. Calls then raise
    `ws.closed code=1001`.
    """

    var _stream: UpgradedStream

    def recv_message(self) raises -> WsMessage:
        """Receives the next message; waits for it.

        Returns:
            The message, which owns its octets.

        Raises:
            An error `ws.closed` at the end of the connection. If the peer was
            at fault, `ws.protocol`, `ws.too_large` or `ws.timeout`; the
            connection is closed then. `ws.busy` if another fiber receives.
        """
        var message = WsMessage()
        self.recv_into(message)
        return message^

    def recv_into(self, mut message: WsMessage) raises:
        """Receives the next message into the memory of an earlier one.

        Args:
            message: The message, which is replaced.

        Raises:
            The errors of `recv_message`.
        """
        var block = message.unsafe_block()
        receive_message(self._stream, block)
        message.is_text = block[].is_text
        message.is_binary = not message.is_text

    def __iter__(self) -> Self:
        """Returns the messages of the connection.

        Returns:
            An iterator that ends with the connection, whatever the cause:
            `close_code()` tells it.
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

    def recv(self) raises -> WsFrame:
        """Receives the next data frame, or the Close of the peer.

        Returns:
            A frame of text or binary data, or a continuation; or a Close, after
            which every call raises `ws.closed`. Pings are answered and not
            returned. A compressed message is one frame, however its sender has
            divided it.

        Raises:
            The errors of `recv_message`.
        """
        var message = WsMessage()
        try:
            var end = receive_frame(self._stream, message.unsafe_block())
            return WsFrame(
                end.opcode, List[UInt8](message.octets()), fin=end.fin
            )
        except e:
            var s = socket_of(self._stream)
            if (
                s[].closing.is_reported
                or not machine_of(s).has_received_close()
            ):
                raise e
            s[].closing.is_reported = True
            return WsFrame.close(s[].closing.code, s[].closing.reason)

    def send_frame(self, frame: WsFrame) raises:
        """Sends one frame; waits for room.

        Args:
            frame: The frame. A message in several frames must be finished
                before another one begins.

        Raises:
            An error `ws.bad_call` if the frame is not allowed now; `ws.closed`
            if the connection is closed.
        """
        if frame.opcode == WsOpcode.CLOSE:
            var payload = Span(frame.payload)
            var code = WsCloseCode.NO_STATUS
            if len(payload) >= 2:
                code = UInt16(payload[0]) << 8 | UInt16(payload[1])
                payload = payload[2:]
            self.close(code, StringSlice(unsafe_from_utf8=payload))
        elif frame.opcode == WsOpcode.PONG:
            write_pong(self._stream, Span(frame.payload))
        elif frame.opcode == WsOpcode.PING:
            self._send_ping(Span(frame.payload))
        else:
            self._send(
                WsFrameHead(frame.opcode, len(frame.payload), fin=frame.fin),
                Span(frame.payload),
            )

    def send_text(self, text: StringSlice, *, compress: Bool = True) raises:
        """Sends a text message; waits for room.

        Args:
            text: The text.
            compress: Whether the message may be compressed, if both ends agreed
                on it and it has at least 256 octets. Pass False for a secret
                beside text that others choose: the length reveals it.

        Raises:
            An error `ws.closed` if the connection is closed.
        """
        self._send(WsOpcode.TEXT, text.as_bytes(), compress)

    def send_binary(
        self, octets: Span[UInt8, _], *, compress: Bool = True
    ) raises:
        """Sends a binary message; waits for room.

        Args:
            octets: The octets.
            compress: Whether the message may be compressed; see `send_text`.

        Raises:
            An error `ws.closed` if the connection is closed.
        """
        self._send(WsOpcode.BINARY, octets, compress)

    def send_json[T: ToJson](self, value: T, *, compress: Bool = True) raises:
        """Sends a value as JSON, in a text message.

        Parameters:
            T: The type of the value.

        Args:
            value: The value.
            compress: Whether the message may be compressed; see `send_text`.

        Raises:
            An error `ws.closed` if the connection is closed.
        """
        self._send(WsOpcode.TEXT, dumps(value).as_bytes(), compress)

    def send(self, message: WsMessage, *, compress: Bool = True) raises:
        """Sends a message, which may have been received.

        Args:
            message: The message.
            compress: Whether the message may be compressed; see `send_text`.

        Raises:
            An error `ws.closed` if the connection is closed.
        """
        self._send(
            WsOpcode.TEXT if message.is_text else WsOpcode.BINARY,
            message.octets(),
            compress,
        )

    def message_writer(self, *, is_text: Bool = False) -> WsMessageWriter:
        """Returns a writer for a message whose length is not known.

        Args:
            is_text: Whether the message is text, which must be UTF-8.

        Returns:
            The writer, for a `with` block.
        """
        return WsMessageWriter(
            self._stream, WsOpcode.TEXT if is_text else WsOpcode.BINARY
        )

    def ping(self) raises -> Int:
        """Sends a ping, and waits for its pong. If another fiber does not
        receive, unread messages that lie before the pong hide it.

        Returns:
            The round trip in microseconds.

        Raises:
            An error `ws.timeout` if no pong arrives within `pong_timeout_ms`;
            the connection stays open. `ws.busy` if another fiber awaits a pong;
            `ws.closed` if the connection is closed. `net.timeout` at the
            fiber's own deadline, `net.cancelled` if it is cancelled.
        """
        return ping(self._stream)

    def sender(self) raises -> WsSender:
        """Returns a handle with which any thread sends to this connection.

        Returns:
            The handle, which may outlive the connection.

        Raises:
            An error `ws.closed` if the connection has ended. `ws.bad_call` at a
            client, or if there are 64 subscriptions; a sender is one.
        """
        return WsSender(hub_of(self._stream), topic_of_sender(self._stream))

    def close(
        self, code: UInt16 = WsCloseCode.NORMAL, reason: StringSlice = ""
    ) raises:
        """Sends a Close, and waits for that of the peer. A handler that returns
        does the same with code 1000. If the connection is closed or lost, the
        call has no effect.

        Args:
            code: The code, one of `WsCloseCode`, or 3000 to 4999 for a code of
                the program.
            reason: The reason, at most 123 octets.

        Raises:
            An error `ws.bad_call` if code or reason are not valid.
        """
        if not self.is_open():
            return
        try:
            write_close(self._stream, code, reason)
            socket_of(self._stream)[].closing.is_known = True
        except e:
            var error = WsError.of(e)
            if error and error.value().is_closed():
                return
            raise e
        _ = await_peer_close(self._stream)

    def subscribe(
        self, topic: StringSlice, overflow: UInt8 = WsOverflow.CLOSE
    ) raises:
        """Subscribes to a topic, until the connection ends.

        Args:
            topic: The name of the topic, at most 255 octets.
            overflow: The way to treat a peer that reads slower than the topic
                sends, one of `WsOverflow`.

        Raises:
            An error `ws.bad_call` if the name is too long, for the 65th
            subscription, and at a client; `ws.closed` if the connection has
            ended.
        """
        subscribe(self._stream, topic, overflow)

    def unsubscribe(self, topic: StringSlice) raises:
        """Ends a subscription, if there is one.

        Args:
            topic: The name of the topic.

        Raises:
            An error `ws.closed` if the connection has ended.
        """
        unsubscribe(self._stream, topic)

    def publish(
        self,
        topic: StringSlice,
        text: StringSlice,
        *,
        including_self: Bool = False,
    ) raises:
        """Sends a text message to the subscribers of a topic, on all workers.
        It never waits: a slow subscriber is treated as its `overflow` says.

        Args:
            topic: The name of the topic.
            text: The text, at most 256 KiB.
            including_self: Whether this connection gets it too, if it has
                subscribed.

        Raises:
            The errors of `WsHub.publish`; `ws.closed` if the connection has
            ended.
        """
        publish(
            self._stream, topic, WsOpcode.TEXT, text.as_bytes(), including_self
        )

    def publish_binary(
        self,
        topic: StringSlice,
        octets: Span[UInt8, _],
        *,
        including_self: Bool = False,
    ) raises:
        """Sends a binary message to the subscribers of a topic.

        Args:
            topic: The name of the topic.
            octets: The octets, at most 256 KiB.
            including_self: As for `publish`.

        Raises:
            The errors of `publish`.
        """
        publish(self._stream, topic, WsOpcode.BINARY, octets, including_self)

    def skipped(self) -> Int:
        """Returns how many messages of topics this connection did not get.

        Returns:
            The number, for subscriptions that skip or take the latest message.
        """
        var s = open_socket(self._stream)
        return s.value()[].broadcast.skipped if s else 0

    def buffered_octets(self) -> Int:
        """Returns how many octets wait until the kernel takes them: those of
        frames, of control frames, and of messages of topics. A program that
        must not wait looks here before it sends: from 64 KiB on, `send` waits.

        Returns:
            The number; 0 if the connection has ended.
        """
        return buffered_octets(self._stream)

    def is_open(self) -> Bool:
        """Returns whether messages may still be sent.

        Returns:
            False after a Close of either end, and after the connection was
            lost.
        """
        var s = open_socket(self._stream)
        return Bool(s) and s.value()[].closing.code == 0

    def close_code(self) -> Optional[UInt16]:
        """Returns why the connection is closed.

        Returns:
            The code of the first Close, 1005 for one without a code, 1006 if
            the connection was lost; `None` while it is open.
        """
        var s = open_socket(self._stream)
        if not s:
            return WsCloseCode.ABNORMAL
        var code = s.value()[].closing.code
        return code if code != 0 else Optional[UInt16](None)

    def close_reason(self) -> String:
        """Returns the reason of the peer's Close.

        Returns:
            The text of the peer, which may contain anything; empty without one.
        """
        var s = open_socket(self._stream)
        return s.value()[].closing.reason.copy() if s else String()

    def protocol(self) -> String:
        """Returns the agreed subprotocol.

        Returns:
            The name; empty if there is none.
        """
        var s = open_socket(self._stream)
        return s.value()[].protocol.copy() if s else String()

    def _send_ping(self, payload: Span[UInt8, _]) raises:
        _ = begin_sending(self._stream)
        try:
            var room = await_room(self._stream, 128)
            append_ping(socket_of(self._stream), payload, room.output)
            self._stream.announce_output()
        except e:
            end_sending(self._stream)
            raise e
        end_sending(self._stream)

    def _send(
        self, opcode: UInt8, octets: Span[UInt8, _], compress: Bool
    ) raises:
        if likely(write_short(self._stream, opcode, octets)):
            return
        if not compress or not compresses(self._stream, len(octets)):
            self._send(WsFrameHead(opcode, len(octets)), octets)
            return
        _ = begin_sending(self._stream)
        try:
            write_compressed(self._stream, opcode, octets)
        except e:
            end_sending(self._stream)
            raise e
        end_sending(self._stream)

    def _send(self, head: WsFrameHead, octets: Span[UInt8, _]) raises:
        _ = begin_sending(self._stream)
        try:
            write_frame(self._stream, head, octets)
        except e:
            end_sending(self._stream)
            raise e
        end_sending(self._stream)
