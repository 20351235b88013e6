"""Runs operations on a reactor and records their completions."""


from flare.core import OctetPointer, PointerTo, heap_create, heap_destroy
from flare.runtime.operation import (
    Operation,
    OperationKind,
    OperationState,
)
from flare.runtime.reactor import Reactor, ReactorConfig

from .claims import assert_equal, assert_true
from .world import ReactorWorld

comptime _TURNS_MAX = 3_000


struct WatchState(Movable):
    """An operation and its completions. Only `Watch` uses it."""

    var operation: OperationState
    """The operation."""
    var reactor: Reactor
    """The reactor that performs it."""
    var results: List[Int]
    """The result of each completion."""
    var finals: Int
    """How many completions were final."""
    var early_finals: Int
    """How many of them could have gone on. They do."""
    var octets: List[UInt8]
    """Octets received in buffers of the backend's choice."""
    var memory: List[UInt8]
    """The memory that `READ` fills and `SEND` sends."""
    var kept: List[OctetPointer]
    """Buffers that are not given back yet."""
    var keeps_buffers: Bool
    """Whether received buffers stay in `kept`."""
    var resubmissions: Int
    """How often it is still submitted again as soon as it is final."""
    var follower: Optional[PointerTo[WatchState]]
    """The operation that the next completion submits at once."""
    var was_followed_inside: Bool
    """Whether the follower completed during its submission."""

    def __init__(out self, reactor: Reactor, kind: OperationKind):
        """Creates an operation that is not submitted.

        Args:
            reactor: The reactor that performs it.
            kind: The kind of operation.
        """
        self.operation = OperationState(kind)
        self.reactor = reactor
        self.results = []
        self.finals = 0
        self.early_finals = 0
        self.octets = []
        self.memory = []
        self.kept = []
        self.keeps_buffers = False
        self.resubmissions = 0
        self.follower = None
        self.was_followed_inside = False


@fieldwise_init
struct Watch(TrivialRegisterPassable):
    """An operation whose completions are recorded."""

    var state: PointerTo[WatchState]
    """The heap state."""

    def operation(self) -> Operation:
        """Returns the operation.

        Returns:
            The operation.
        """
        return Operation(
            Pointer(to=self.state[].operation).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )

    def submit(self):
        """Queues the operation."""
        self._name_memory()
        self.state[].reactor.submit(self.operation())

    def submit_at_once(self):
        """Passes the operation to the backend."""
        self._name_memory()
        self.state[].reactor.submit_at_once(self.operation())

    def _name_memory(self):
        if len(self.state[].memory) > 0:
            self.state[].operation.address = (
                self.state[]
                .memory.unsafe_ptr()
                .unsafe_origin_cast[MutUntrackedOrigin]()
            )
            self.state[].operation.length = len(self.state[].memory)

    def cancel(self):
        """Cancels the operation."""
        self.state[].reactor.cancel(self.operation())

    def is_idle(self) -> Bool:
        """Returns whether the final completion has arrived.

        Returns:
            True before the submission, too.
        """
        return self.operation().is_idle()

    def count(self) -> Int:
        """Returns the number of completions.

        Returns:
            The number, final ones included.
        """
        return len(self.state[].results)

    def last(self) -> Int:
        """Returns the result of the last completion.

        Returns:
            The result, or -1 if there was none.
        """
        var count = self.count()
        return self.state[].results[count - 1] if count > 0 else -1

    def text(self) -> String:
        """Returns the octets received in buffers.

        Returns:
            The octets as text.
        """
        return String(StringSlice(unsafe_from_utf8=Span(self.state[].octets)))


struct Scene[W: ReactorWorld](Movable):
    """The owner of a world and of the operations that a test runs in it.

    Parameters:
        W: The type of the world.
    """

    var world: Self.W
    """The reactor and its sockets."""
    var watches: List[Watch]
    """All operations."""
    var _in_flight: Int
    var _lent: Int

    def __init__(
        out self,
        config: ReactorConfig = ReactorConfig(
            receive_buffers_max=4096, fibers_max=64
        ),
    ) raises:
        """Creates a scene in a new world.

        Args:
            config: The bounds of its reactor.

        Raises:
            Error: If the machine cannot create such a reactor.
        """
        self.world = Self.W.open(config)
        self.watches = []
        self.world.reactor().turn(0)
        self._in_flight = self.world.reactor().state[].in_flight
        self._lent = self.world.reactor().buffers().lent()

    def watch(mut self, kind: OperationKind, descriptor: Int32) -> Watch:
        """Creates an operation.

        Args:
            kind: The kind of operation.
            descriptor: The socket.

        Returns:
            The operation, before its submission.
        """
        var watch = Watch(heap_create(WatchState(self.world.reactor(), kind)))
        watch.state[].operation.descriptor = descriptor
        watch.state[].operation.owner = watch.state.unsafe_bitcast[NoneType]()
        watch.state[].operation.complete = _on_complete
        self.watches.append(watch)
        return watch

    def receive(mut self, descriptor: Int32, *, multishot: Bool) -> Watch:
        """Submits a receive.

        Args:
            descriptor: The socket.
            multishot: Whether the operation continues after a completion.

        Returns:
            The operation.
        """
        var watch = self.watch(OperationKind.RECEIVE, descriptor)
        watch.state[].operation.multishot = multishot
        watch.submit()
        return watch

    def read(mut self, descriptor: Int32, octets: Int) -> Watch:
        """Submits a read.

        Args:
            descriptor: The socket.
            octets: The room for received octets.

        Returns:
            The operation.
        """
        var watch = self.watch(OperationKind.READ, descriptor)
        watch.state[].memory = List[UInt8](length=octets, fill=0)
        watch.submit()
        return watch

    def send(mut self, descriptor: Int32, text: StringSlice) -> Watch:
        """Submits a send.

        Args:
            descriptor: The socket.
            text: The text to send; at least one octet.

        Returns:
            The operation.
        """
        var watch = self.watch(OperationKind.SEND, descriptor)
        watch.state[].memory = List[UInt8](text.as_bytes())
        watch.submit()
        return watch

    def deliver(mut self, descriptor: Int32, text: StringSlice) raises:
        """Sends a whole text.

        Args:
            descriptor: The socket.
            text: The text; short enough for the socket to hold.

        Raises:
            Error: If the text cannot be sent.
        """
        var sent = 0
        while sent < text.byte_length():
            var watch = self.send(descriptor, text[byte=sent:])
            self.finish(watch)
            assert_true(watch.last() > 0, String("sent ", watch.last()))
            sent += watch.last()

    def finish(self, watch: Watch) raises:
        """Turns until an operation is final.

        Args:
            watch: The operation.

        Raises:
            Error: If the operation does not become final.
        """
        for _ in range(_TURNS_MAX):
            if watch.is_idle():
                return
            self.world.reactor().turn(1)
        raise Error("an operation never completed")

    def expect(self, watch: Watch, octets: Int) raises:
        """Turns until an operation has received octets in buffers.

        Args:
            watch: The operation.
            octets: The number of octets.

        Raises:
            Error: If the octets do not arrive.
        """
        for _ in range(_TURNS_MAX):
            if len(watch.state[].octets) >= octets:
                return
            self.world.reactor().turn(1)
        raise Error("only ", len(watch.state[].octets), " octets came")

    def expect_count(self, watch: Watch, count: Int) raises:
        """Turns until an operation has completed a number of times.

        Args:
            watch: The operation.
            count: The number of completions.

        Raises:
            Error: If the operation does not complete that often.
        """
        for _ in range(_TURNS_MAX):
            if watch.count() >= count:
                return
            self.world.reactor().turn(1)
        raise Error("only ", watch.count(), " completions came")

    def turns(self, count: Int):
        """Turns without waiting.

        Args:
            count: The number of turns.
        """
        for _ in range(count):
            self.world.reactor().turn(0)

    def close(self, descriptor: Int32):
        """Closes a descriptor through the reactor.

        Args:
            descriptor: The descriptor.
        """
        self.world.reactor().close(descriptor)

    def end(deinit self) raises:
        """Frees the scene, and checks that no operation is left.

        Raises:
            Error: If an operation, a buffer or a timer is left, or an
                operation had more final completions than submissions.
        """
        self.world.reactor().turn(0)
        var reactor = self.world.reactor()
        assert_equal(reactor.state[].in_flight, self._in_flight, "in flight")
        assert_equal(reactor.buffers().lent(), self._lent, "buffers")
        assert_equal(reactor.timers().armed_count(), 0, "timers")
        for watch in self.watches:
            assert_equal(
                watch.state[].finals,
                Int(watch.state[].operation.sequence),
                "final completions",
            )
            heap_destroy(watch.state)
        self.world.close()


def _on_complete(operation: Operation):
    var watch = Watch(
        operation.state[].owner.value().unsafe_bitcast[WatchState]()
    )
    ref state = watch.state[]
    state.results.append(operation.result())
    var buffer = operation.state[].buffer
    if buffer:
        state.octets.extend(
            Span(unsafe_ptr=buffer.value(), length=operation.result())
        )
        if state.keeps_buffers:
            state.kept.append(buffer.value())
        else:
            state.reactor.buffers().give(buffer.value())
    if state.follower:
        var follower = Watch(state.follower.value())
        state.follower = None
        follower.submit_at_once()
        state.was_followed_inside = follower.count() > 0
    if operation.is_idle():
        state.finals += 1
        if (
            operation.state[].multishot
            and operation.result()
            >= (0 if operation.state[].kind == OperationKind.ACCEPT else 1)
            and not operation.state[].cancel_requested
        ):
            state.early_finals += 1
            watch.submit()
            return
        if state.resubmissions > 0:
            state.resubmissions -= 1
            watch.submit()
