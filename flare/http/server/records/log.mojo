"""Says where a server's own messages and the records of requests go."""

from flare.message import Method
from flare.runtime.line_queue import write_line
from flare.runtime.line_ring import LineFunction
from flare.sys.file import STANDARD_ERROR, STANDARD_OUTPUT, write_line_to

comptime RECORD_TARGET_OCTETS = 96
"""How much of a request target an access record keeps."""


@fieldwise_init
struct LogSink(ImplicitlyCopyable):
    """Receives one line of text at a time."""

    var write: LineFunction
    """Writes one line. A server calls it on a thread of its own, so that a slow
    sink blocks no worker: 64 KiB of a worker's lines may wait, and further ones
    are dropped and counted (`WorkerStatistics.log_lines_dropped`). Elsewhere
    the thread that has the line calls it."""

    def line(self, text: StringSlice):
        """Logs a line; it never waits on the thread of a worker.

        Args:
            text: The line, without its end; cut at 4,096 octets in a server.
                The sink copies what it keeps.
        """
        write_line(self.write, text)

    @staticmethod
    def standard_error() -> Self:
        """Writes lines to standard error.

        Returns:
            The sink.
        """
        return Self(_write_standard_error)

    @staticmethod
    def nowhere() -> Self:
        """Drops all lines.

        Returns:
            The sink.
        """
        return Self(_drop)


struct AccessRecord(Copyable, Movable, Writable):
    """Describes one request that was answered; its size is fixed."""

    var unix_seconds: Int
    """When the answer was written."""
    var worker: Int
    """The index of the worker."""
    var request_id: Int
    """The number that the request's log lines carry; 0 if it was refused before
    its head was whole."""
    var method: Method
    """The method; `OTHER` for extensions."""
    var status: Int
    """The status of the response."""
    var response_octets: Int
    """The length of the response's content."""
    var duration_ms: Int
    """From the whole head to the written answer."""
    var target_octets: Int
    """The length of the request target; the record keeps the first 96."""
    var _target: Array[UInt8, RECORD_TARGET_OCTETS]

    def __init__(out self):
        """Describes nothing yet."""
        self.unix_seconds = 0
        self.worker = 0
        self.request_id = 0
        self.method = Method.OTHER
        self.status = 0
        self.response_octets = 0
        self.duration_ms = 0
        self.target_octets = 0
        self._target = Array[UInt8, RECORD_TARGET_OCTETS](fill=0)

    def set_target(mut self, target: Span[UInt8, _]):
        """Keeps the beginning of a request target.

        Args:
            target: The target: visible ASCII, as the parser lets nothing else
                pass.
        """
        self.target_octets = len(target)
        for i in range(min(len(target), RECORD_TARGET_OCTETS)):
            self._target[i] = target[i]

    def target(self) -> StringSlice[origin_of(self)]:
        """Views what was kept of the request target.

        Returns:
            At most 96 octets of visible ASCII.
        """
        return StringSlice(
            unsafe_from_utf8=Span[UInt8, origin_of(self)](
                unsafe_ptr=self._target.unsafe_ptr().unsafe_origin_cast[
                    origin_of(self)
                ](),
                length=min(self.target_octets, RECORD_TARGET_OCTETS),
            )
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes one line: time, worker, id, method, target, status, size.

        Args:
            writer: The destination.
        """
        writer.write(self.unix_seconds, " worker=", self.worker)
        writer.write(" id=", self.request_id, " ", self.method, " ")
        # A refused request has no target, and a line always has all its parts.
        if self.target_octets == 0:
            writer.write("-")
        writer.write(self.target())
        if self.target_octets > RECORD_TARGET_OCTETS:
            writer.write("...")
        writer.write(" ", self.status, " ", self.response_octets)
        writer.write(" ", self.duration_ms, "ms")


@fieldwise_init
struct AccessLog(ImplicitlyCopyable):
    """Receives a record of each request."""

    var write: def(AccessRecord) thin -> None
    """Called on a thread of its own, so that a slow sink blocks no worker:
    records that find 1,024 others of their worker waiting are dropped and
    counted."""

    @staticmethod
    def standard_output() -> Self:
        """Prints one line for each request.

        Returns:
            The log.
        """
        return Self(_print_record)


def _write_standard_error(line: StringSlice[ImmUntrackedOrigin]):
    write_line_to(STANDARD_ERROR, line)


def _drop(line: StringSlice[ImmUntrackedOrigin]):
    pass


def _print_record(record: AccessRecord):
    write_line_to(STANDARD_OUTPUT, String(record))
