"""Tells a program what became of the calls of a client."""

from flare.runtime.line_queue import write_line
from flare.sys.file import STANDARD_ERROR, write_line_to

from ...timings import ExchangeTimings
from ..client_error import ClientError


@fieldwise_init
struct CallRecord(Copyable, Movable, Writable):
    """Describes one call that has ended, redirections and repetitions included.

    Each call that found an origin has a record, even if it failed. A call that
    is refused before, such as one whose URL is wrong, has none.
    """

    var method: String
    """The method of the last request; a redirection may have changed it."""
    var url: String
    """What the last request asked for. Its query may hold secrets."""
    var status: Int
    """The status of the last response; 0 where none came."""
    var failure: Optional[ClientError]
    """What the call failed with; none where it did not. A stream that was
    dropped before its end has not failed."""
    var attempts: Int
    """How many requests were begun."""
    var redirects: Int
    """How many redirections were followed."""
    var timings: ExchangeTimings
    """How long the phases took."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes one line without its end, such as
        `GET http://localhost:8080/ 200, attempts 1, redirects 0, 512 us`.

        Args:
            writer: The destination.
        """
        writer.write(self.method, " ", self.url, " ")
        if self.failure:
            writer.write(self.failure.value())
        else:
            writer.write(self.status)
        writer.write(
            ", attempts ",
            self.attempts,
            ", redirects ",
            self.redirects,
            ", ",
            self.timings.total_us(),
            " us",
        )


@fieldwise_init
struct CallLog(ImplicitlyCopyable):
    """Receives a record of each call of a client."""

    var write: def(CallRecord) thin -> None
    """Called when a call has ended, on the fiber that asked, or that dropped
    the stream. It should be quick: it holds up that fiber, and what it does
    without a wait of flare's, the whole worker."""

    @staticmethod
    def standard_error() -> Self:
        """Writes one line for each call to standard error. In a server the
        lines take the way of its own, which never waits (`LogSink`).

        Returns:
            The log.
        """
        return Self(_print_record)


def _print_record(record: CallRecord):
    write_line(_write_standard_error, String(record))


def _write_standard_error(line: StringSlice[ImmUntrackedOrigin]):
    write_line_to(STANDARD_ERROR, line)
