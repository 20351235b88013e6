"""Speaks another protocol on the connection of a request."""

from flare.core import Erased
from flare.io import Reader, Writer
from flare.message import Status

from .exchange import (
    Exchange,
    MutOctets,
    OutputRoom,
    UpgradedProtocol,
)
from .stream_task import TaskStream


@fieldwise_init
struct UpgradedStream(Reader, TaskStream, Writer):
    """A connection after a 101 response (RFC 9110 section 7.8).

    Reads first return octets that followed the request. When the function
    returns, its output is sent and the connection ends. One fiber may read
    while another writes.

    When the server stops, `http.stopping` is raised once: by the read or write
    that waits, otherwise by the next one that has to wait. If the function has
    never read, the next write raises it. Reads and writes then work until
    `shutdown_timeout_ms` has passed, so that the function can end its protocol
    properly. If it does not catch the error of a read, the connection closes
    cleanly.
    """

    var _exchange: Exchange
    var _request_id: Int

    def __init__(out self, *, unsafe_exchange: Exchange):
        """Creates a handle to the upgraded connection of an exchange.

        Args:
            unsafe_exchange: The exchange.

        Safety:
            The exchange's memory outlives the stream.
        """
        self._exchange = unsafe_exchange
        self._request_id = unsafe_exchange[].request_id

    @staticmethod
    def begin(exchange: Exchange) raises -> Self:
        """Returns the stream of an exchange whose function is about to run.

        Args:
            exchange: The exchange.

        Returns:
            The stream.

        Raises:
            An error `http.bad_upgrade` if the status was changed.
        """
        if exchange[].stream.status != Status.SWITCHING_PROTOCOLS:
            # A middleware has changed the status, so there is no 101 to write
            # after.
            raise Error("http.bad_upgrade the status is not 101")
        return Self(unsafe_exchange=exchange)

    @no_inline
    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads the octets that are available; waits for the first one.

        Args:
            into: The destination.

        Returns:
            The number of octets, at most the length of `into`; 0 at the end of
            the peer's stream, or if `into` is empty.

        Raises:
            An error `net.timeout read` after the read timeout; `http.stopping`
            once when the server stops; `http.content cut off` if the
            connection broke; `http.stream_over` after the function has
            returned.
        """
        if len(into) == 0:
            self._check()
            return 0
        var octets = self.unsafe_await_octets()
        var taken = min(len(octets), len(into))
        into[:taken].copy_from(octets[:taken])
        self.consume_octets(taken)
        return taken

    def unsafe_await_octets(self, *, more_than: Int = 0) raises -> MutOctets:
        """Returns the received octets that are not consumed yet; waits until
        there are more than a number of them.

        A protocol reads them in place, and can unmask or decode them there.

        Args:
            more_than: The number of octets that do not suffice, at most 4,096:
                the receiver stores only a bounded number. With -1, the method
                does not wait.

        Returns:
            The octets. At the end of the peer's stream, they may be no more
            than `more_than`.

        Raises:
            The errors of `read`.

        Safety:
            The view is used only until the next call of a method of this
            stream, and until the fiber next waits.
        """
        self._check()
        return (
            self._exchange[]
            .host.functions[]
            .upgraded.await_octets(
                self._exchange.unsafe_bitcast[NoneType](), more_than
            )
        )

    def unsafe_received(self) raises -> MutOctets:
        """Returns the received octets that are not consumed yet, without a
        wait.

        Returns:
            The octets; none if there are none yet, or after the peer's end.

        Raises:
            An error `http.stream_over` after the function has returned.

        Safety:
            As for `unsafe_await_octets`.
        """
        return self.unsafe_await_octets(more_than=-1)

    def consume_octets(self, count: Int) raises:
        """Drops octets from the front of the unconsumed ones.

        Args:
            count: The number, at most as many as `unsafe_await_octets` last
                returned.

        Raises:
            An error `http.not_received` if the number is negative, or larger;
            `http.stream_over` after the function has returned.
        """
        self._check()
        (
            self._exchange[]
            .host.functions[]
            .upgraded.consume_octets(
                self._exchange.unsafe_bitcast[NoneType](), count
            )
        )

    @no_inline
    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Writes as many octets as there is room for; waits for room for the
        first one.

        Args:
            octets: The octets.

        Returns:
            The number of octets taken, at least 1 unless `octets` is empty.

        Raises:
            An error `http.content cut off` if the peer left or does not read;
            `http.stopping` once when the server stops; `http.stream_over`
            after the function has returned.
        """
        self._check()
        if len(octets) == 0:
            return 0
        var room = self.unsafe_await_room(len(octets))
        room.output[].append(octets[: room.octets])
        self.announce_output()
        return room.octets

    def unsafe_await_room(self, count: Int) raises -> OutputRoom:
        """Returns the output and how much it takes; waits for room for the
        first octet.

        A protocol writes its frames there, without a copy before.

        Args:
            count: How many octets are to be appended, at least 1.

        Returns:
            The output, and how many of the octets it takes.

        Raises:
            The errors of `write`.

        Safety:
            The output is used only until the next call of a method of this
            stream but `announce_output`, and until the fiber next waits. Octets
            are only appended: no more than there is room for.
        """
        self._check()
        return (
            self._exchange[]
            .host.functions[]
            .upgraded.await_room(
                self._exchange.unsafe_bitcast[NoneType](), count
            )
        )

    def unsafe_room(self, count: Int = 0) raises -> OutputRoom:
        """Returns the output and how much it takes, without a wait.

        Args:
            count: How many octets are to be appended.

        Returns:
            The output. Its `octets` are 0 if there is no room for all of them,
            unless the output is empty. The framing of a short message fits even
            then.

        Raises:
            An error `http.content cut off` if the peer left;
            `http.stream_over` after the function has returned.

        Safety:
            As for `unsafe_await_room`.
        """
        return self.unsafe_await_room(-count)

    def unsent_octets(self) raises -> Int:
        """Returns how many octets wait until the kernel takes them.

        Returns:
            The number, with the framing of TLS for those that are encrypted.

        Raises:
            An error `http.stream_over` after the function has returned.
        """
        self._check()
        return (
            self._exchange[]
            .host.functions[]
            .upgraded.unsent_octets(self._exchange.unsafe_bitcast[NoneType]())
        )

    def announce_output(self) raises:
        """Makes the connection send the octets appended to its output.

        Raises:
            An error `http.stream_over` after the function has returned.
        """
        self._check()
        (
            self._exchange[]
            .host.functions[]
            .upgraded.announce_output(self._exchange.unsafe_bitcast[NoneType]())
        )

    def is_held_back(self) raises -> Bool:
        """Returns whether the peer's octets are not received for now, because
        enough of them are unread or the server's memory is at its bound.

        Returns:
            True if the peer may have sent octets that no reader can see yet.

        Raises:
            An error `http.stream_over` after the function has returned.
        """
        self._check()
        return (
            self._exchange[]
            .host.functions[]
            .upgraded.is_held_back(self._exchange.unsafe_bitcast[NoneType]())
        )

    def unsafe_abort(self) raises:
        """Ends the connection at once, as if its peer had left: the handler's
        waits raise `net.cancelled`.

        Raises:
            An error `http.stream_over` after the function has returned.

        Safety:
            Called by a timer of the connection's loop, never on a fiber.
        """
        self._check()
        (
            self._exchange[]
            .host.functions[]
            .upgraded.abort(self._exchange.unsafe_bitcast[NoneType]())
        )

    def is_open(self) -> Bool:
        """Returns whether the function of the stream is running.

        Returns:
            False once any other method would raise `http.stream_over`.
        """
        return (
            self._exchange[].request_id == self._request_id
            and self._exchange[].stream.is_open
            and Bool(self._exchange[].carrier)
        )

    def unsafe_protocol(self) -> Optional[Erased]:
        """Returns the state that the protocol has stored.

        Returns:
            The state given to `unsafe_set_protocol`; `None` before, and after
            the function has returned.

        Safety:
            Only the code of the protocol knows the type of the state.
        """
        ref upgrade = self._exchange[].stream.upgrade
        if not self.is_open() or not upgrade.protocol:
            return None
        return upgrade.protocol.unsafe_value().state

    def unsafe_set_protocol(self, protocol: Optional[UpgradedProtocol]) raises:
        """Stores the state and the functions of the protocol beside the stream,
        so that every copy of this handle, and the connection, find them.

        Args:
            protocol: The protocol; `None` before its state is freed.

        Raises:
            An error `http.stream_over` after the function has returned.

        Safety:
            The state lives until the call with `None`.
        """
        self._check()
        self._exchange[].stream.upgrade.protocol = protocol

    def end_in_order(self, *, peer_has_ended: Bool = False) raises:
        """Declares that the protocol has told its peer of the end. If the
        function then raises, the error is logged, and the connection ends
        without a reset.

        Args:
            peer_has_ended: Whether the peer may send no more octets, because it
                has told of its end too. Then the connection closes as soon as
                the output is sent. Otherwise it first waits for the peer to
                close: octets that arrive later would cause a reset, which could
                destroy the last output before the peer reads it.

        Raises:
            An error `http.stream_over` after the function has returned.
        """
        self._check()
        ref upgrade = self._exchange[].stream.upgrade
        upgrade.has_said_end = True
        upgrade.has_heard_end = peer_has_ended

    def note_lost_peer(self) raises:
        """Declares that the connection ended before the protocol did. If the
        function then returns, the access log says that the client left.

        Raises:
            An error `http.stream_over` after the function has returned.
        """
        self._check()
        self._exchange[].stream.upgrade.has_lost_peer = True

    def is_stopping(self) raises -> Bool:
        """Returns whether the server is stopping.

        Returns:
            True from the start of the shutdown.

        Raises:
            An error `http.stream_over` after the function has returned.
        """
        self._check()
        return self._exchange[].stream.stop.is_stopping

    def set_read_timeout_ms(self, timeout_ms: Optional[Int]) raises:
        """Sets the longest wait of a `read`; the server's `idle_timeout_ms` by
        default. A read that waits already begins its wait anew.

        Args:
            timeout_ms: The longest wait; `None` for no limit, if the protocol
                itself probes its peer.

        Raises:
            An error `http.stream_over` after the function has returned.
        """
        self._check()
        ref upgrade = self._exchange[].stream.upgrade
        upgrade.read_timeout_ms = timeout_ms.or_else(Int.MAX)
        if self._exchange[].waiter:
            self._exchange[].waiter.unsafe_value().end_wait()

    def _check(self) raises:
        # The block may serve another request by now.
        if not self.is_open():
            raise Error("http.stream_over the connection has ended")
