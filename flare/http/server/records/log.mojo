"""Defines the destination of a server's messages."""

from flare.runtime.line_queue import write_line
from flare.runtime.line_ring import LineFunction
from flare.sys.file import STANDARD_ERROR, write_line_to


@fieldwise_init
struct LogSink(ImplicitlyCopyable):
    """Receives one line of text at a time."""

    var write: LineFunction
    """Writes one line. A server calls it on a separate thread, so a slow sink
    blocks no worker. Up to 64 KiB of a worker's lines may wait; further ones
    are dropped and counted (`WorkerStatistics.log_lines_dropped`). Outside a
    server, the logging thread calls it.
    """

    def line(self, text: StringSlice):
        """Logs a line. It never waits on the thread of a worker.

        Args:
            text: The line, without its end; a server cuts it off at 4,096
                octets. The sink must copy the octets that it keeps.
        """
        write_line(self.write, text)

    @staticmethod
    def standard_error() -> Self:
        """Returns a sink that writes to standard error.

        Returns:
            The sink.
        """
        return Self(_write_standard_error)

    @staticmethod
    def nowhere() -> Self:
        """Returns a sink that drops all lines.

        Returns:
            The sink.
        """
        return Self(_drop)


def _write_standard_error(line: StringSlice[ImmUntrackedOrigin]):
    write_line_to(STANDARD_ERROR, line)


def _drop(line: StringSlice[ImmUntrackedOrigin]):
    pass
