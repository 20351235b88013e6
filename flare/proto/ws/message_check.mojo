"""Checks the content of a message while it arrives: its size, and its text.

Messages that arrive as they are and messages that are inflated pass the same
check, so that neither path can lack it.
"""

from .text import WsText
from .violation import WsProtocolError, WsRule


struct WsMessageCheck(ImplicitlyCopyable):
    """The size and the text position of a message in progress."""

    var octets: UInt64
    """The octets of the message so far."""
    var octets_max: UInt64
    """The most octets of a message."""
    var is_text: Bool
    """Whether the message is text."""
    var _text: WsText

    def __init__(out self, octets_max: Int):
        """Creates a check before the first message.

        Args:
            octets_max: The most octets of a message; not negative.
        """
        debug_assert(octets_max >= 0, "octets_max of ", octets_max)
        self.octets = 0
        self.octets_max = UInt64(octets_max)
        self.is_text = False
        self._text = WsText()

    @always_inline
    def begin(mut self, *, is_text: Bool):
        """Begins a message.

        Args:
            is_text: Whether the message is text, to be checked for UTF-8.
        """
        self.octets = 0
        self.is_text = is_text
        self._text = WsText()

    @always_inline
    def announce(self, count: UInt64) raises WsProtocolError:
        """Checks the size of the message before its next octets arrive.

        Args:
            count: How many octets follow; any number.

        Raises:
            WsProtocolError: If the message would exceed the limit.
        """
        # A sum could wrap around; this difference cannot.
        if count > self.octets_max - self.octets:
            raise WsProtocolError.peer(WsRule.MESSAGE_SIZE)

    @always_inline
    def take(mut self, octets: Span[UInt8, _]) raises WsProtocolError:
        """Checks the next octets of the message.

        Args:
            octets: The octets, unmasked and inflated.

        Raises:
            WsProtocolError: If the message exceeds the limit, or the text is
                not UTF-8.
        """
        self.announce(UInt64(len(octets)))
        self.octets += UInt64(len(octets))
        if self.is_text and not self._text.accept(octets):
            raise WsProtocolError.peer(WsRule.TEXT)

    @always_inline
    def end(self) raises WsProtocolError:
        """Checks the end of the message.

        Raises:
            WsProtocolError: If the text ends within a character.
        """
        if self.is_text and not self._text.is_whole():
            raise WsProtocolError.peer(WsRule.TEXT)
