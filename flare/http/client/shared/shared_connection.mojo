"""Shares one connection of HTTP/2 among exchanges.

No fiber belongs to the connection. Of the fibers that wait for something on it,
one reads and fills the inboxes of all; when it leaves, the next one reads
(`waiting`). A fiber that has octets to send does so unless another one is sending
(`sending`). So the same code serves a script, whose only context waits, and a
server. While no fiber waits, received octets stay with the kernel.
"""

from flare.core import Buffer, PointerTo, heap_create
from flare.proto.h2.h2_error import H2Code
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.h2.h2_machine import H2Machine
from flare.proto.h2.h2_state import H2Phase
from flare.proto.h2.stream_table import NO_SLOT

from ...client_error import ClientError, Phase, raised
from ..transport.client_connection import ClientConnection
from ..transport.clock import now
from ..transport.liveness import Liveness
from ..transport.shared_state import SharedState
from ..transport.stream_inbox import Inbox

# As long as the server has not told its limit.
comptime _ASSUMED_STREAMS = 100


@fieldwise_init
struct SharedConnection(TrivialRegisterPassable):
    """A handle to a connection that speaks HTTP/2."""

    var connection: ClientConnection
    """The connection, whose `shared` is set."""

    @staticmethod
    def begin(
        connection: ClientConnection,
        limits: H2Limits,
        write_ms: Int,
        liveness: Liveness,
    ):
        """Makes a new connection speak HTTP/2.

        Args:
            connection: The connection, before its first octet.
            limits: The limits on the server.
            write_ms: The longest wait for room to send.
            liveness: The watch over a silent server.
        """
        connection.state[].shared = heap_create(
            SharedState(limits, write_ms, liveness)
        )
        var c = Self(connection)
        c.machine().begin(connection.output())

    @always_inline
    def state(self) -> PointerTo[SharedState]:
        """Returns the state.

        Returns:
            The state, as long as the connection exists.
        """
        return self.connection.state[].shared.unsafe_value()

    @always_inline
    def machine(self) -> H2Machine:
        """Returns the machine.

        Returns:
            The machine of this connection.
        """
        return H2Machine(
            Pointer(to=self.state()[].machine).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )

    def output(self) -> PointerTo[Buffer]:
        """Returns the destination of frames.

        Returns:
            The buffer.
        """
        return self.connection.output()

    def may_take_more(self) -> Bool:
        """Returns whether the connection takes new streams.

        Returns:
            False once it has failed, or the server has announced its end.
        """
        ref s = self.state()[]
        return not s.failure and not s.goaway.has_come

    def has_settings(self) -> Bool:
        """Returns whether the settings of the server have arrived.

        Returns:
            False at first.
        """
        return self.state()[].machine.input.phase == H2Phase.OPEN

    def may_upgrade(self) -> Bool:
        """Returns whether the server is known to accept an extended CONNECT.

        Returns:
            False also before its settings.
        """
        return (
            self.may_take_more()
            and self.state()[].machine.peer.has_connect_protocol
        )

    def room(self) -> Int:
        """Returns how many more exchanges may use the connection.

        Returns:
            The number; 0 at the limit of either end. An unused connection has
            room for one, so that its user notices when the server has room.
        """
        ref s = self.state()[]
        if not self.may_take_more():
            return 0
        var most = min(s.machine.peer.streams_max, s.machine.limits.streams_max)
        if not self.has_settings():
            most = min(most, _ASSUMED_STREAMS)
        return max(
            most - s.users - s.liveness.cancelled(), 1 if s.users == 0 else 0
        )

    def attach(self, inbox: Inbox, slot: Int):
        """Connects a new stream to the inbox of its exchange.

        Args:
            inbox: The inbox.
            slot: The slot of the stream.
        """
        ref s = self.state()[]
        while len(s.inboxes) <= slot:
            s.inboxes.append(None)
        s.inboxes[slot] = inbox
        inbox[].slot = slot

    def detach(self, inbox: Inbox):
        """Ends the stream of an exchange that is over. If it has not ended, the
        server learns that it is cancelled.

        Args:
            inbox: The inbox, which is then unused.
        """
        ref s = self.state()[]
        var slot = inbox[].slot
        if slot != NO_SLOT:
            if not self.machine().has_ended(slot) and not s.failure:
                s.liveness.cancelled_since += 1
            self.machine().forget(slot, self.output())
            s.inboxes[slot] = None
            if s.liveness.cancelled_since > 0 and not s.liveness.is_answer_due:
                self.ask()
            self.wake_beginners()
        inbox[].clear()

    def wake_beginners(self):
        """Wakes the fibers that wait to begin a stream, if one may begin now.
        """
        ref s = self.state()[]
        if s.beginners == 0 or not self.machine().may_begin():
            return
        for fiber in s.waiting:
            fiber.wake()
        if s.reader:
            # The fiber that reads may be one of them.
            self.connection.interrupt_read()

    def ask(self):
        """Asks the server for an answer (PING)."""
        self.state()[].liveness.note_asked(now())
        self.machine().ping(0, self.output())

    def fail(self, cause: Error):
        """Ends the connection, and all exchanges on it.

        Args:
            cause: The error.
        """
        ref s = self.state()[]
        if s.failure:
            return
        s.failure = Error(cause)
        for found in s.inboxes:
            if not found:
                continue
            var inbox = found.value()
            if not inbox[].has_ended and not inbox[].failure:
                inbox[].failure = Error(cause)
            inbox[].wake()
        for fiber in s.waiting:
            fiber.wake()
        self.connection.close()

    def say_goodbye(self):
        """Announces to the server that the connection is closed."""
        if not self.state()[].failure:
            self.machine().go_away(0, H2Code.NO_ERROR, self.output())


def not_processed(detail: StaticString) -> Error:
    """Returns the error of a request that the server has not processed.

    Args:
        detail: The reason.

    Returns:
        The error.
    """
    return raised(ClientError.NOT_PROCESSED, Phase.HEAD, detail)
