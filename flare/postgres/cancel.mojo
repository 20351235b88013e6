"""Asks the server to cancel the statement that a connection runs."""

from flare.core import PointerTo
from flare.runtime.blocking import blocking
from flare.runtime.readiness import wait_readable, wait_writable
from flare.runtime.wait import deadline_in
from flare.sys.libpq_cancel import PgCancel, PgCancelRequest
from flare.sys.libpq_connection import PgConnection, PgPolling

comptime CANCELLED_END_MS = 1_000
"""How long a cancel request and the end of its statement may take together."""


def send_cancel(
    pg: PgConnection, handle: PgCancel, threads: PointerTo[Int]
) raises:
    """Sends a cancel request, and parks until the server has read it.

    Args:
        pg: The connection, which is open.
        handle: Its handle, for a library before version 17. The request then
            occupies a helper thread, until the kernel gives up if the network
            is broken.
        threads: Counts the helper threads that are occupied so.

    Raises:
        An error if the request could not be sent in time.
    """
    if not pg.library[].cancel.is_loaded:

        def run() raises {var handle} -> Bool:
            return handle.run()

        threads[] += 1
        try:
            _ = blocking(run)
        except e:
            threads[] -= 1
            raise e^
        threads[] -= 1
        return
    var request = PgCancelRequest.start(pg.library, pg.connection)
    if not request:
        raise Error("it could not be begun")
    try:
        with deadline_in(CANCELLED_END_MS):
            _finish(request.value())
    except e:
        request.value().finish()
        raise e^
    request.value().finish()


def _finish(request: PgCancelRequest) raises:
    var waits_for = PgPolling.WRITING
    while waits_for == PgPolling.WRITING or waits_for == PgPolling.READING:
        if waits_for == PgPolling.WRITING:
            wait_writable(request.descriptor(), None)
        else:
            wait_readable(request.descriptor(), None)

        # With TLS, it reads files and computes.
        def step() raises {var request} -> Int:
            return request.poll()

        waits_for = blocking(step)
    if waits_for == PgPolling.FAILED:
        raise Error("the server has refused it, or left")
