"""Passes work from other threads to a reactor, and wakes it."""

from std.atomic import Atomic, Ordering

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.sys.file import (
    close_descriptor,
    open_event_descriptor,
    read_descriptor,
    write_descriptor,
)
from flare.sys.thread import Lock

from .operation import POLL_IN, Operation, OperationKind, OperationState
from .reactor import Reactor


@fieldwise_init
struct _Letter(TrivialRegisterPassable):
    var function: def(Erased) thin -> None
    var argument: Erased


struct MailboxState(Movable):
    """The letters of a mailbox. Only `Mailbox` uses it."""

    var lock: Lock
    """Guards `letters`."""
    var letters: List[_Letter]
    """The letters that were posted and not delivered yet."""
    var waiting: UInt32
    """1 while there are letters; atomic, so that each turn reads it without
    the lock.
    """
    var descriptor: Int32
    """The eventfd that wakes the reactor, or -1."""
    var operation: OperationState
    """The reactor's watch on the descriptor."""
    var counter: List[UInt8]
    """The memory into which the eventfd's counter is read."""
    var reactor: Optional[Reactor]
    """The owner of the mailbox; `None` while the reactor is being freed."""

    def __init__(out self):
        """Creates an empty mailbox."""
        self.lock = Lock.create()
        self.letters = List[_Letter](capacity=16)
        self.waiting = 0
        self.descriptor = -1
        self.operation = OperationState(OperationKind.POLL)
        self.counter = List[UInt8](length=8, fill=0)
        self.reactor = None


@fieldwise_init
struct Mailbox(TrivialRegisterPassable):
    """Collects work from other threads for one reactor."""

    var state: PointerTo[MailboxState]
    """The heap state."""

    @staticmethod
    def create() -> Self:
        """Creates an empty mailbox.

        Returns:
            A handle.
        """
        return Self(heap_create(MailboxState()))

    def listen(self, reactor: Reactor) -> Int:
        """Makes letters wake a reactor that waits for the kernel.

        Args:
            reactor: The reactor; this runs one turn without waiting.

        Returns:
            0, or a negated errno if letters cannot wake the reactor.
        """
        var opened = open_event_descriptor()
        if opened < 0:
            return opened
        self.state[].descriptor = Int32(opened)
        self.state[].reactor = reactor
        ref operation = self.state[].operation
        operation.descriptor = Int32(opened)
        operation.length = POLL_IN
        operation.multishot = True
        operation.owner = self.state.unsafe_bitcast[NoneType]()
        operation.complete = _on_wake
        reactor.submit(self.operation())
        # The kernel's refusals are known only after it was asked.
        reactor.turn(0)
        return self.operation().result() if self.operation().is_idle() else 0

    def close(self, reactor: Reactor):
        """Delivers the remaining letters, stops watching and frees the
        mailbox.

        Args:
            reactor: The reactor that `listen` was given.
        """
        self.deliver()
        self.state[].reactor = None
        reactor.cancel(self.operation())
        for i in range(1000):
            if self.operation().is_idle():
                break
            # A readiness kernel cancels at once, and then nothing else comes.
            reactor.turn(0 if i == 0 else 10)
        if self.state[].descriptor >= 0:
            _ = close_descriptor(self.state[].descriptor)
        self.state[].lock.destroy()
        heap_destroy(self.state)

    def operation(self) -> Operation:
        """Returns the operation that watches the descriptor.

        Returns:
            The operation.
        """
        return Operation(
            Pointer(to=self.state[].operation).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )

    def post(self, function: def(Erased) thin -> None, argument: Erased):
        """Adds a letter and wakes the reactor. Callable on any thread.

        Args:
            function: Called in one of the next turns.
            argument: Its argument.
        """
        self.state[].lock.acquire()
        self.state[].letters.append(_Letter(function, argument))
        Atomic[UInt32].store[ordering=Ordering.RELEASE](
            Pointer(to=self.state[].waiting), 1
        )
        self.state[].lock.release()
        self.wake()

    def wake(self):
        """Ends the reactor's present wait. Callable on any thread."""
        if self.state[].descriptor >= 0:
            var one = List[UInt8](length=8, fill=0)
            one[0] = 1
            _ = write_descriptor(self.state[].descriptor, Span(one))

    @always_inline
    def has_mail(self) -> Bool:
        """Returns whether letters are waiting.

        Returns:
            True if `deliver` would deliver a letter.
        """
        return (
            Atomic[UInt32].load[ordering=Ordering.ACQUIRE](
                Pointer(to=self.state[].waiting)
            )
            != 0
        )

    def deliver(self):
        """Delivers the letters, in order. Call it on the reactor's thread."""
        self.state[].lock.acquire()
        var letters = List[_Letter]()
        swap(letters, self.state[].letters)
        Atomic[UInt32].store[ordering=Ordering.RELEASE](
            Pointer(to=self.state[].waiting), 0
        )
        self.state[].lock.release()
        for letter in letters:
            letter.function(letter.argument)


def _on_wake(operation: Operation):
    var mailbox = Mailbox(
        operation.state[].owner.value().unsafe_bitcast[MailboxState]()
    )
    _ = read_descriptor(
        mailbox.state[].descriptor, Span(mailbox.state[].counter)
    )
    if operation.is_idle() and operation.result() >= 0:
        var reactor = mailbox.state[].reactor
        if reactor:
            reactor.value().submit(operation)
