"""Suspends the calling fiber for a time, and limits its waits."""

from flare.net import NetError

from .current import current_fiber, current_reactor
from .deadline import begin_exemption, end_exemption, set_scope_deadline
from .fiber import NO_DEADLINE, Fiber
from .operation import CANCELLED, NO_FIBER, TIMED_OUT
from .private_loop import begin_private_loop
from .reactor import ReactorConfig


def waiting_fiber(operation: StaticString) raises -> Fiber:
    """Returns the fiber that is about to wait.

    Args:
        operation: The operation that it waits for, for the error.

    Returns:
        The calling fiber, or the main context of a thread without a loop.

    Raises:
        NetError: If the thread runs a loop and the caller is not a fiber, or
            holds a lock that others wait for; or if no loop can be created.
    """
    var fiber = current_fiber()
    if fiber:
        return fiber.value()
    if current_reactor():
        raise Error(NetError.from_errno(operation, NO_FIBER))
    # No loop could be made; another attempt says why, or succeeds.
    var begun = begin_private_loop(ReactorConfig())
    if not begun[1]:
        raise Error(NetError.from_errno(operation, begun[0]))
    return begun[1].value()


def sleep(duration_ms: Int) raises:
    """Parks the calling fiber for a time. The worker serves other requests
    meanwhile.

    Args:
        duration_ms: The time; 0 lets all ready fibers run first.

    Raises:
        NetError: If the fiber is cancelled or its deadline passes first.
    """
    var fiber = waiting_fiber("sleep")
    if duration_ms <= 0:
        if fiber.is_cancelled():
            raise Error(NetError.from_errno("sleep", -fiber.wait(0)))
        fiber.yield_turn()
        return
    if fiber.wait(duration_ms) == CANCELLED:
        raise Error(NetError.from_errno("sleep", -CANCELLED))
    if fiber.state[].deadline_ms <= fiber.reactor().now_ms():
        raise Error(NetError.from_errno("sleep", -TIMED_OUT))


def wait_without_deadline(fiber: Fiber) -> Int:
    """Parks a fiber until it is woken. Deadlines do not apply.

    Args:
        fiber: The calling fiber.

    Returns:
        0, or `CANCELLED`.
    """
    begin_exemption(fiber)
    var result = fiber.wait()
    end_exemption(fiber)
    return result


@fieldwise_init
struct DeadlineScope(ImplicitlyCopyable):
    """Limits all waits in a `with` block; see `deadline_in`."""

    var duration_ms: Int
    """How long the block may wait in total."""
    var outer_ms: Int
    """The deadline of the enclosing blocks."""

    def __enter__(mut self) raises:
        """Sets the deadline, unless an outer one is earlier.

        Raises:
            NetError: If the thread runs a loop and the caller is not a fiber.
        """
        var fiber = waiting_fiber("wait")
        self.outer_ms = fiber.state[].scope_deadline_ms
        set_scope_deadline(
            fiber,
            min(
                self.outer_ms, fiber.reactor().deadline_after(self.duration_ms)
            ),
        )

    def __exit__(mut self):
        """Restores the deadline of the enclosing blocks."""
        var fiber = current_fiber()
        if fiber:
            set_scope_deadline(fiber.value(), self.outer_ms)


def deadline_in(duration_ms: Int) -> DeadlineScope:
    """Limits the total time that the waits in a `with` block may take.

    Args:
        duration_ms: The limit, from the entry into the block. An outer
            deadline that is earlier stays.

    Returns:
        The context manager: `with deadline_in(200): …`.
    """
    return DeadlineScope(duration_ms, NO_DEADLINE)
