"""Chooses the protocol of an exchange: that which its connection speaks."""

from flare.core import PointerTo
from flare.message import HeaderMap
from flare.proto.h1 import BodyLength

from ...client_error import ClientError
from .exchange_state import ClientExchangeState
from .h1_exchange import H1Exchange
from .h2_exchange import H2Exchange


@fieldwise_init
struct ProtocolExchange(TrivialRegisterPassable):
    """A handle to an exchange in the protocol of its connection. The functions
    are those of `H1Exchange` and `H2Exchange`."""

    var state: PointerTo[ClientExchangeState]
    """The exchange."""

    @always_inline
    def is_shared(self) -> Bool:
        """Returns whether other exchanges may use the connection too.

        Returns:
            True in HTTP/2.
        """
        return Bool(self.state[].connection.unsafe_value().state[].shared)

    def has_lost_connection(self) -> Bool:
        """Returns whether a failure of the exchange is one of its connection.

        Returns:
            False if the connection carries other exchanges on.
        """
        return not self.is_shared() or self._h2().has_lost_connection()

    @always_inline
    def _h1(self) -> H1Exchange:
        return H1Exchange(self.state)

    @always_inline
    def _h2(self) -> H2Exchange:
        return H2Exchange(self.state)

    @always_inline
    def begin(self, content_octets_max: Int):
        """Starts an exchange.

        Args:
            content_octets_max: The longest content to accept.
        """
        if self.is_shared():
            return self._h2().begin(content_octets_max)
        self._h1().begin(content_octets_max)

    @always_inline
    def limit_content(self, octets_max: Int):
        """Limits the content of the response.

        Args:
            octets_max: The longest content to accept.
        """
        if self.is_shared():
            return self._h2().limit_content(octets_max)
        self._h1().limit_content(octets_max)

    @always_inline
    def write_head(
        self,
        method: StringSlice,
        target: StringSlice,
        fields: HeaderMap,
        length: BodyLength,
    ) raises:
        """Writes the head of the request, without sending it.

        Args:
            method: A token.
            target: The request target.
            fields: The fields, with one Host.
            length: The length of the content.

        Raises:
            ClientError: As the function of the protocol does.
        """
        if self.is_shared():
            return self._h2().write_head(method, target, fields, length)
        self._h1().write_head(method, target, fields, length)

    @always_inline
    def write(self, octets: Span[UInt8, _]) raises:
        """Sends octets of the content.

        Args:
            octets: The octets.

        Raises:
            ClientError: As the function of the protocol does.
        """
        if self.is_shared():
            return self._h2().write(octets)
        self._h1().write(octets)

    @always_inline
    def end(self, trailers: HeaderMap) raises:
        """Ends the content, and sends all octets.

        Args:
            trailers: The trailer section.

        Raises:
            ClientError: As the function of the protocol does.
        """
        if self.is_shared():
            return self._h2().end(trailers)
        self._h1().end(trailers)

    @always_inline
    def flush(self) raises:
        """Sends the head.

        Raises:
            ClientError: As the function of the protocol does.
        """
        if self.is_shared():
            return self._h2().flush()
        self._h1().flush()

    @always_inline
    def receive(self, most_ms: Int) raises:
        """Waits for octets.

        Args:
            most_ms: The longest wait.

        Raises:
            ClientError: As the function of the protocol does.
        """
        if self.is_shared():
            return self._h2().receive(most_ms)
        self._h1().receive(most_ms)

    @always_inline
    def octets(self) -> Span[UInt8, ImmUntrackedOrigin]:
        """Returns the unconsumed head, otherwise the unread content.

        Returns:
            A view that receiving and consuming invalidates.
        """
        if self.is_shared():
            return self._h2().octets()
        return self._h1().octets()

    @always_inline
    def consume_head(self):
        """Drops the head of the response after the caller has read it."""
        if self.is_shared():
            return self._h2().consume_head()
        self._h1().consume_head()

    @always_inline
    def take_content(self, count: Int):
        """Drops content after the caller has read it.

        Args:
            count: The number of octets, at most `content_octets`.
        """
        if self.is_shared():
            return self._h2().take_content(count)
        self._h1().take_content(count)

    @always_inline
    def has_content(self) -> Bool:
        """Returns whether the response has content.

        Returns:
            False if the head announces no content, or an empty one.
        """
        if self.is_shared():
            return self._h2().has_content()
        return self._h1().has_content()

    @always_inline
    def announced_octets(self) -> Int:
        """Returns the announced length of the response's content.

        Returns:
            The length; -1 if only the end shows it.
        """
        if self.is_shared():
            return self._h2().announced_octets()
        return self._h1().announced_octets()

    def send(self, content: Span[UInt8, _], *, may_wait: Bool) raises:
        """Sends the head and a whole content.

        Args:
            content: The octets.
            may_wait: Whether the request may go out with the first receive.

        Raises:
            ClientError: If neither the request could be sent nor a response can
                be read.
        """
        if self.is_shared():
            return self._h2().send(content)
        self._h1().send(content, may_wait=may_wait)

    def stop_sending(self, failure: ClientError):
        """Records that the rest of the request is not sent, while a response
        may still be read.

        Args:
            failure: The error of sending.
        """
        # A stream that has not ended is cancelled when it is left.
        if not self.is_shared():
            self._h1().stop_sending(failure)

    def go_on_without_sending(self, cause: Error) raises:
        """Prepares to read a response that arrived before the whole request was
        sent.

        Args:
            cause: The error of sending.

        Raises:
            ClientError: The error for `cause`, if there is no response.
        """
        if self.is_shared():
            # Only the failure of the stream or of the connection gets here.
            raise Error(cause)
        self._h1().go_on_without_sending(cause)

    def send_due(self, first_octet_ms: Int) raises:
        """Sends a request that has waited for the first receive, as only one of
        HTTP/1.1 does.

        Args:
            first_octet_ms: The longest wait for the response.

        Raises:
            ClientError: If neither the request could be sent nor a response can
                be read.
        """
        self._h1().send_due(first_octet_ms)

    @always_inline
    def next(self, phase: StaticString) raises -> UInt8:
        """Returns the next event, without waiting.

        Args:
            phase: The phase, for the error.

        Returns:
            A kind of `HttpEvent`; after `NEED_OCTETS`, call `receive`.

        Raises:
            ClientError: If the peer violates the protocol or a limit.
        """
        if self.is_shared():
            return self._h2().next()
        return self._h1().next(phase)

    @always_inline
    def direct_octets(self) -> Int:
        """Returns how many of the next octets are content without framing.

        Returns:
            The most octets that `receive_content` may receive; 0 if they need to
            be looked at first, as always in HTTP/2.
        """
        if self.is_shared():
            return 0
        return self._h1().direct_octets()

    def receive_content(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Receives content directly into memory.

        Args:
            into: The destination; at most `direct_octets` long.

        Returns:
            The number of octets; 0 at the end of the connection.

        Raises:
            ClientError: If the content exceeds its limit; and the errors of
                the transport.
        """
        return self._h1().receive_content(into)

    def can_carry_another(self) -> Bool:
        """Returns whether the connection may carry another exchange after this
        one.

        Returns:
            True between two exchanges.
        """
        return self.is_shared() or self._h1().can_carry_another()

    def leave(self):
        """Ends the stream of a shared connection."""
        self._h2().leave()

    def close(self):
        """Ends the exchange: a fiber that waits on it gets an error."""
        if self.is_shared():
            return self._h2().close()
        self.state[].connection.unsafe_value().close()
