"""Sends messages to a WebSocket from any thread."""

from flare.proto.ws import WsOpcode

from .hub import WsHub


@fieldwise_init
struct WsSender(ImplicitlyCopyable):
    """Sends to one WebSocket, from any thread, without a wait.

    It may outlive the WebSocket: messages are dropped then. If the peer reads
    slower than messages come, the connection is closed with 1013, as by
    `WsOverflow.CLOSE`.
    """

    var _hub: WsHub
    var _topic: String

    def __init__(out self, *, copy: Self):
        """Copies the reference.

        Args:
            copy: The other reference.
        """
        self._hub = copy._hub
        self._topic = copy._topic.copy()

    def send_text(self, text: StringSlice) raises:
        """Sends a text message.

        Args:
            text: The text, at most 256 KiB.

        Raises:
            The errors of `WsHub.publish`.
        """
        self._hub.unsafe_publish_to_sender(
            self._topic, WsOpcode.TEXT, text.as_bytes()
        )

    def send_binary(self, octets: Span[UInt8, _]) raises:
        """Sends a binary message.

        Args:
            octets: The octets, at most 256 KiB.

        Raises:
            The errors of `WsHub.publish`.
        """
        self._hub.unsafe_publish_to_sender(self._topic, WsOpcode.BINARY, octets)
