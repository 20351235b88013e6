"""Sets the deadlines of a fiber: that of its run, and that of its `with`
blocks.

They are separate because time can be added to a run without changing the
deadline of a block. A wait uses the earlier one.
"""

from .fiber import NO_DEADLINE, Fiber


def set_run_deadline(fiber: Fiber, deadline_ms: Int):
    """Sets the deadline of a fiber's whole run.

    Args:
        fiber: The fiber.
        deadline_ms: The deadline.
    """
    fiber.state[].run_deadline_ms = deadline_ms
    end_exemption(fiber)


def set_scope_deadline(fiber: Fiber, deadline_ms: Int):
    """Sets the deadline of the blocks that a fiber is in.

    Args:
        fiber: The fiber.
        deadline_ms: The deadline.
    """
    fiber.state[].scope_deadline_ms = deadline_ms
    end_exemption(fiber)


def begin_exemption(fiber: Fiber):
    """Suspends the deadlines for the following waits.

    Args:
        fiber: The fiber.
    """
    fiber.state[].deadline_ms = NO_DEADLINE


def end_exemption(fiber: Fiber):
    """Makes the deadlines apply again.

    Args:
        fiber: The fiber.
    """
    fiber.state[].deadline_ms = min(
        fiber.state[].run_deadline_ms, fiber.state[].scope_deadline_ms
    )
