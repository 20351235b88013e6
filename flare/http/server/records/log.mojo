"""Defines the destinations of a server's messages and of its request records.
"""

from std.memory import unsafe_memcpy

from flare.http.version import HttpVersion
from flare.message import Method
from flare.runtime.line_queue import write_line
from flare.runtime.line_ring import LineFunction
from flare.sys.file import STANDARD_ERROR, STANDARD_OUTPUT, write_line_to

comptime RECORD_TARGET_OCTETS = 96
"""How many octets of a request target an access record keeps."""


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


struct AccessRecord(Copyable, Movable, Writable):
    """One request that was answered; fixed size."""

    var unix_seconds: Int
    """When the answer was written."""
    var worker: Int
    """The index of the worker."""
    var request_id: Int
    """The number of the request in log lines; 0 if it was refused before its
    head was complete.
    """
    var method: Method
    """The method; `OTHER` for extensions."""
    var status: Int
    """The status of the response."""
    var response_octets: Int
    """The length of the response's content."""
    var duration_ms: Int
    """The time from the complete head to the written answer."""
    var version: HttpVersion
    """The version of HTTP that the client spoke; HTTP/1.1 if the request was
    refused before its head was complete."""
    var target_octets: Int
    """The length of the request target; the record keeps the first 96."""
    var _target: Array[UInt8, RECORD_TARGET_OCTETS]

    def __init__(out self):
        """Creates an empty record."""
        self.unix_seconds = 0
        self.worker = 0
        self.request_id = 0
        self.method = Method.OTHER
        self.status = 0
        self.response_octets = 0
        self.duration_ms = 0
        self.version = HttpVersion.HTTP_1_1
        self.target_octets = 0
        self._target = Array[UInt8, RECORD_TARGET_OCTETS](fill=0)

    def set_target(mut self, target: Span[UInt8, _]):
        """Sets the start of a request target.

        Args:
            target: The target: visible ASCII, as the parser ensures.
        """
        self.target_octets = len(target)
        unsafe_memcpy(
            dest=self._target.unsafe_ptr(),
            src=target.unsafe_ptr(),
            count=min(len(target), RECORD_TARGET_OCTETS),
        )

    def target(self) -> StringSlice[origin_of(self)]:
        """Returns the kept part of the request target.

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
        """Writes one line: time, worker, id, method, target, status, size,
        duration, version.

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
        writer.write(" ", self.duration_ms, "ms ", self.version)


@fieldwise_init
struct AccessLog(ImplicitlyCopyable):
    """Receives a record of each request."""

    var write: def(AccessRecord) thin -> None
    """Writes one record. A server calls it on a separate thread, so a slow
    sink blocks no worker. Up to 1,024 records of a worker may wait; further
    ones are dropped and counted.
    """

    @staticmethod
    def standard_output() -> Self:
        """Returns a log that prints one line for each request.

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
