"""Keeps the deadlines of a fiber: that of its run, and that of its blocks.

They are apart because time may be added to a run, while what the program has
said around a block stays as it is. A wait looks at the earlier one only.
"""

from .fiber import NO_DEADLINE, Fiber


def set_run_deadline(fiber: Fiber, deadline_ms: Int):
    """Bounds the waits of a whole run.

    Args:
        fiber: The fiber.
        deadline_ms: The deadline.
    """
    fiber.state[].run_deadline_ms = deadline_ms
    end_exemption(fiber)


def set_scope_deadline(fiber: Fiber, deadline_ms: Int):
    """Bounds the waits of the blocks that a fiber is in.

    Args:
        fiber: The fiber.
        deadline_ms: The deadline.
    """
    fiber.state[].scope_deadline_ms = deadline_ms
    end_exemption(fiber)


def begin_exemption(fiber: Fiber):
    """Lets the waits that follow last for ever.

    Args:
        fiber: The fiber.
    """
    fiber.state[].deadline_ms = NO_DEADLINE


def end_exemption(fiber: Fiber):
    """Lets the deadlines count.

    Args:
        fiber: The fiber.
    """
    fiber.state[].deadline_ms = min(
        fiber.state[].run_deadline_ms, fiber.state[].scope_deadline_ms
    )
