"""Keeps a worker running for the jobs that its responses have left."""

from flare.core import PointerTo, write_escaped
from flare.runtime.line_queue import write_line_of_peer
from flare.runtime.line_ring import LineFunction


struct LaterJobs(Movable):
    """The jobs of one worker. Only its thread touches it."""

    var count: Int
    """How many fibers with jobs have not ended. A worker that stops waits for
    them.
    """
    var are_given_up: Bool
    """Whether the worker has waited long enough."""
    var write: LineFunction
    """Logs a line."""

    def __init__(out self, write: LineFunction):
        """Creates a worker's state without jobs.

        Args:
            write: Logs a line.
        """
        self.count = 0
        self.are_given_up = False
        self.write = write

    def keep_worker(self) -> Bool:
        """Returns whether a worker that stops must continue.

        Returns:
            True until all jobs have ended, or the worker has given up.
        """
        return self.count > 0 and not self.are_given_up

    def report(self, problem: StringSlice):
        """Logs the error of a job. A peer may have chosen its text.

        Args:
            problem: The error.
        """
        var line = String("flare: a job after a response raised: ")
        write_escaped(problem.as_bytes(), line)
        write_line_of_peer(self.write, line)


@fieldwise_init
struct LaterJobsPlace(TrivialRegisterPassable):
    """The place of a worker's `LaterJobs`, if there is a worker."""

    var address: Int
    """The address; 0 in a test without a worker."""

    @always_inline
    def jobs(self) -> Optional[PointerTo[LaterJobs]]:
        """Returns the jobs.

        Returns:
            A pointer, valid as long as the worker; `None` without one.
        """
        if self.address == 0:
            return None
        return PointerTo[LaterJobs](unsafe_from_address=self.address)
