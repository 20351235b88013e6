"""Bounds the time that a handler may wait."""

from flare.http.builders import service_unavailable
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.runtime.deadline import set_run_deadline
from flare.runtime.fiber import NO_DEADLINE, Fiber
from flare.runtime.wait import waiting_fiber

comptime DURATION_MS_MAX = 2_147_483_647
"""The longest time: 24 days, as for the timeouts of a server."""


struct Timeout[H: Handler](Handler):
    """Answers 503 if a handler waits longer than a time.

    It replaces `handler_timeout_ms` for one handler, by a shorter or a longer
    time. After that time, each wait of the handler raises `net.timeout`. If the
    handler lets an error escape then, the answer is 503 with Retry-After.
    Otherwise its own response is sent.

    - Time spent waiting for the client's content does not count, and neither
      do `join`, `Event.wait` and `blocking`. A handler that computes without a
      wait is not interrupted.
    - The function of a stream has no such limit: it runs after the handler.
    - Of two that contain each other, the inner one counts.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var _duration_ms: Int

    def __init__(out self, var inner: Self.H, duration_ms: Int) raises:
        """Creates middleware that bounds the waits of a handler.

        Args:
            inner: The inner handler.
            duration_ms: The time, from the call of the handler, in
                milliseconds: 1 to 2,147,483,647.

        Raises:
            Error: `http.bad_limit time` if it is out of bounds.
        """
        check_duration(duration_ms)
        self.inner = inner^
        self._duration_ms = duration_ms

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response, or 503.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            The error of the inner handler, if its time was not over.
        """
        return serve_within(self.inner, req, self._duration_ms)


def check_duration(duration_ms: Int) raises:
    """Checks a time.

    Args:
        duration_ms: The time, in milliseconds.

    Raises:
        Error: `http.bad_limit time` if it is out of bounds.
    """
    if duration_ms < 1 or duration_ms > DURATION_MS_MAX:
        raise Error("http.bad_limit time: 1 to 2147483647 ms")


def serve_within[
    H: Handler
](handler: H, req: Request, duration_ms: Int) raises -> Response:
    """Calls a handler whose waits must end within a time.

    Parameters:
        H: The type of the handler.

    Args:
        handler: The handler.
        req: The request.
        duration_ms: The time, in milliseconds.

    Returns:
        The handler's response, or 503.

    Raises:
        The error of the handler, if its time was not over.
    """
    var fiber = waiting_fiber("wait")
    var outer_ms = fiber.state[].run_deadline_ms
    var own_ms = fiber.reactor().deadline_after(duration_ms)
    set_run_deadline(fiber, own_ms)
    try:
        var response = handler.serve(req)
        _ = _restore(fiber, outer_ms, own_ms)
        return response^
    except e:
        if _restore(fiber, outer_ms, own_ms):
            return service_unavailable()
        raise e^


@no_inline
def _restore(fiber: Fiber, outer_ms: Int, own_ms: Int) -> Bool:
    """Restores the outer deadline; returns whether the own one has passed."""
    # Waits for the client's content have moved the own one.
    var end_ms = fiber.state[].run_deadline_ms
    var restored_ms = outer_ms
    if outer_ms != NO_DEADLINE:
        restored_ms += end_ms - own_ms
    set_run_deadline(fiber, restored_ms)
    return fiber.reactor().now_ms() >= end_ms
