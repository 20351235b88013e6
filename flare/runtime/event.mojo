"""Provides a flag that any thread sets and for which fibers wait.

The flag is one atomic word. An eventfd beside it wakes the loops of waiting
fibers. Its counter is above zero while the flag is set, or will be in a
moment. A fiber that drains the counter checks the flag afterwards, and raises
the counter again if needed. So no wake is lost between `set` and `clear`.
"""

from std.atomic import Atomic, Ordering

from flare.core import PointerTo, heap_create, heap_destroy
from flare.net import NetError
from flare.sys.file import (
    close_descriptor,
    duplicate_descriptor,
    open_event_descriptor,
    read_descriptor,
    write_descriptor,
)

from .backend import BackendKind
from .deadline import begin_exemption, end_exemption
from .fiber import Fiber
from .operation import POLL_IN, OperationKind
from .wait import waiting_fiber


struct _EventState(Movable):
    # How often it was set since it was cleared.
    var sets: UInt64
    var owners: UInt32
    var descriptor: Int32
    # 1 as the kernel adds it; never written to.
    var one: UInt64

    def __init__(out self, descriptor: Int32):
        self.sets = 0
        self.owners = 1
        self.descriptor = descriptor
        self.one = 1


struct Event(ImplicitlyCopyable):
    """A flag for which fibers of any thread wait.

    Copies refer to the same flag; the last one frees it.
    """

    var _state: PointerTo[_EventState]

    def __init__(out self) raises:
        """Creates a flag that is not set.

        Raises:
            NetError: If no descriptor is left.
        """
        var opened = open_event_descriptor()
        if opened < 0:
            raise Error(NetError.from_errno("open", opened))
        self._state = heap_create(_EventState(Int32(opened)))

    def __init__(out self, *, copy: Self):
        """Copies the handle; both refer to the same flag.

        Args:
            copy: The other name.
        """
        self._state = copy._state
        _ = Atomic[UInt32].fetch_add[ordering=Ordering.RELAXED](
            Pointer(to=self._state[].owners), 1
        )

    def __deinit__(deinit self):
        """Frees the flag if this was the last copy."""
        var state = self._state
        var owners = Atomic[UInt32].fetch_add[
            ordering=Ordering.ACQUIRE_RELEASE
        ](Pointer(to=state[].owners), UInt32.MAX)
        if owners == 1:
            _ = close_descriptor(state[].descriptor)
            heap_destroy(state)

    def set(self):
        """Sets the flag and wakes all waiting fibers.

        Callable on any thread, and in a signal handler: it needs one atomic
        addition and at most one `write`.
        """
        if Atomic[UInt64].fetch_add(Pointer(to=self._state[].sets), 1) == 0:
            _raise_counter(self._state)

    def clear(self):
        """Clears the flag, so that later waits park again. Callable on any
        thread.
        """
        Atomic[UInt64].store(Pointer(to=self._state[].sets), 0)
        _drain_counter(self._state)

    def is_set(self) -> Bool:
        """Returns whether the flag is set. Callable on any thread.

        Returns:
            True between `set` and `clear`.
        """
        return _is_set(self._state)

    def wait(self) raises:
        """Parks until the flag is set. Deadlines do not apply.

        Several fibers, on one thread or on several, may wait at once.

        Raises:
            NetError: If the fiber is cancelled, if no descriptor is left, or if
                the thread runs a loop and the caller is not a fiber.
        """
        if _is_set(self._state):
            return
        var fiber = waiting_fiber("wait")
        var descriptor = self._state[].descriptor
        # A readiness kernel knows one waiter per descriptor, so each brings one.
        var own = fiber.reactor().backend_kind() == BackendKind.EPOLL
        if own:
            var duplicate = duplicate_descriptor(descriptor)
            if duplicate < 0:
                raise Error(NetError.from_errno("wait", duplicate))
            descriptor = Int32(duplicate)
        begin_exemption(fiber)
        var result = 0
        while result >= 0 and not _is_set(self._state):
            result = _poll(fiber, descriptor)
            if result >= 0 and not _is_set(self._state):
                _drain_counter(self._state)
        end_exemption(fiber)
        if own:
            _ = close_descriptor(descriptor)
        if result < 0:
            raise Error(NetError.from_errno("wait", result))


def _poll(fiber: Fiber, descriptor: Int32) -> Int:
    ref operation = fiber.state[].operation
    operation.kind = OperationKind.POLL
    operation.descriptor = descriptor
    operation.length = POLL_IN
    operation.multishot = False
    return fiber.perform()


def _is_set(state: PointerTo[_EventState]) -> Bool:
    return Atomic[UInt64].load(Pointer(to=state[].sets)) != 0


def _raise_counter(state: PointerTo[_EventState]):
    _ = write_descriptor(
        state[].descriptor,
        Span(
            unsafe_ptr=Pointer(to=state[].one).unsafe_bitcast[UInt8](),
            length=8,
        ),
    )


def _drain_counter(state: PointerTo[_EventState]):
    var counter = List[UInt8](length=8, fill=0)
    _ = read_descriptor(state[].descriptor, Span(counter))
    if _is_set(state):
        _raise_counter(state)
