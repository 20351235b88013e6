"""Sends the encrypted octets of a TLS stream.

Readers send too: they answer requests for new keys. One fiber sends at a time,
and continues until the output is empty.
"""

from flare.core import Buffer, PointerTo
from flare.net import NetError
from flare.runtime.wait import waiting_fiber
from flare.sys.socket import send_octets
from flare.sys.socket_constants import MSG_DONTWAIT

from .error import TlsError
from .outer_tls import encrypt_outer
from .stream_state import TlsStreamState


@fieldwise_init
struct TlsSending(TrivialRegisterPassable):
    """A handle to the output of one stream."""

    var state: PointerTo[TlsStreamState]
    """The stream."""

    def has_unsent(self) -> Bool:
        """Returns whether encrypted octets wait to be sent.

        Returns:
            True if there are some.
        """
        ref s = self.state[]
        if len(s.sending) > 0 or s.machine.pending() > 0:
            return True
        return Bool(s.outer) and (
            len(s.outer.unsafe_value().unsent) > 0
            or s.outer.unsafe_value().machine.pending() > 0
        )

    def await_turn(self) raises:
        """Waits while another fiber sends.

        Raises:
            Error: `tls.closed write` if the stream is broken; `net.cancelled
                write` and others.
        """
        while self.state[].is_flushing:
            var fiber = waiting_fiber("write")
            self.state[].waiters.flush = fiber
            var result = fiber.wait()
            self.state[].waiters.flush = None
            if result < 0:
                raise NetError.from_errno("write", result)
        if self.state[].is_broken:
            raise Error(String(TlsError(TlsError.CLOSED, "write")))

    def flush_or_break(self) raises:
        """Sends all output. After an error, no further octet may be sent,
        because the caller does not know which were.

        Raises:
            The error of the transport.
        """
        try:
            self.flush()
        except e:
            self.state[].is_broken = True
            raise e^

    @no_inline
    def flush(self) raises:
        """Sends all output, unless another fiber is doing so. If it raises an
        error, the rest stays, and a later call continues.

        Raises:
            The error of the transport.
        """
        if self.state[].is_flushing:
            return
        self.state[].is_flushing = True
        var failure = Optional[Error](None)
        while self.has_unsent() and not failure:
            try:
                self._fill()
                var count = self.state[].tcp.write(self.state[].sending.span())
                self.state[].sending.consume(count)
            except e:
                failure = e^
        self.state[].is_flushing = False
        if self.state[].waiters.flush:
            self.state[].waiters.flush.value().wake()
        if failure:
            raise failure.take()
        self._release_memory()

    def flush_at_once(self, descriptor: Int32):
        """Sends as much as the kernel takes, without waiting.

        Args:
            descriptor: The socket, which is not a simulated one.
        """
        if self.state[].is_flushing or self.state[].is_broken:
            return
        while self.has_unsent():
            try:
                self._fill()
            except:
                self.state[].is_broken = True
                return
            var count = send_octets(
                descriptor, self.state[].sending.span(), MSG_DONTWAIT
            )
            if count <= 0:
                # A failure shows at the next wait.
                return
            self.state[].sending.consume(count)
        self._release_memory()

    def _fill(self) raises:
        ref s = self.state[]
        if len(s.sending) > 0:
            return
        s.sending.clear()
        var output = Pointer(to=s.sending).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
        if not s.outer:
            s.machine.exchange_output(output)
            return
        encrypt_outer(
            Pointer(to=s.outer.unsafe_value()).unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
            Pointer(to=s.machine).unsafe_origin_cast[MutUntrackedOrigin](),
            output,
        )

    def _release_memory(self):
        # An idle connection holds none.
        self.state[].sending = Buffer()
        self.state[].machine.release_output()
        if self.state[].outer:
            self.state[].outer.unsafe_value().machine.release_output()
