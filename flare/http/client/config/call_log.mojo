"""Records the calls of a client."""

from flare.runtime.line_queue import write_line
from flare.sys.file import STANDARD_ERROR, write_line_to

from ...client_error import ClientError
from ...timings import ExchangeTimings


@fieldwise_init
struct CallRecord(Copyable, Movable, Writable):
    """One call that has ended, including its redirects and retries.

    Every call with a valid URL has a record, even if it failed.
    """

    var method: String
    """The method of the last request; a redirect may have changed it."""
    var url: String
    """The URL of the last request. Its query may contain secrets."""
    var status: Int
    """The status of the last response; 0 without one."""
    var failure: Optional[ClientError]
    """The failure of the call, if any. A stream that was dropped before its
    end has not failed.
    """
    var attempts: Int
    """How many requests were started."""
    var redirects: Int
    """How many redirects were followed."""
    var timings: ExchangeTimings
    """How long each phase took."""

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
    """Called when a call has ended, on the fiber that made the call or dropped
    the stream. It should be quick: it delays that fiber, and if it blocks the
    thread, the whole worker.
    """

    @staticmethod
    def standard_error() -> Self:
        """Returns a log that writes one line for each call to standard error.
        In a server, the lines go through the server's own log, which never
        blocks (`LogSink`).

        Returns:
            The log.
        """
        return Self(_print_record)


def _print_record(record: CallRecord):
    write_line(_write_standard_error, String(record))


def _write_standard_error(line: StringSlice[ImmUntrackedOrigin]):
    write_line_to(STANDARD_ERROR, line)
