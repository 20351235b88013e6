"""Defines the destination of a server's records of requests.

A server knows only the functions of `AccessFunctions`. So the code for records,
lines and their thread is part of a program only if it creates an `AccessLog`.
"""

from flare.core import Erased
from flare.core.text_buffer import TextBuffer
from flare.http.exchange import Exchange
from flare.sys.file import STANDARD_OUTPUT, write_line_to

from .access_facts import AccessEvent
from .access_format import AccessFormat, AccessOptions, append_line
from .access_queue import begin_queue, end_queue, put_in_ring, ring_of
from .access_record import AccessRecord, RECORD_TARGET_OCTETS_MAX

comptime TARGET_OCTETS_MAX = 2048
"""How many octets of a request target a record keeps by default: nearly all
targets are shorter.
"""
comptime _PLAIN_TARGET_OCTETS = 96


@fieldwise_init
struct AccessFunctions(TrivialRegisterPassable):
    """The functions that a server with an access log calls."""

    var begin: def(AccessOptions, Int) thin -> Int
    """Starts the writing thread for a number of workers. Returns the address of
    the queue, the first argument of `ring` and `end`, or a negated errno."""
    var ring: def(Erased, Int) thin -> Erased
    """Returns the ring of a worker."""
    var put: def(Erased, Exchange, AccessEvent) thin -> Bool
    """Puts a record into a ring. Returns False if there is no room."""
    var end: def(Erased) thin -> None
    """Writes the remaining records and ends the thread."""


@fieldwise_init
struct AccessFeed(TrivialRegisterPassable):
    """Takes the records of one worker."""

    var ring: Erased
    """The ring of the worker."""
    var put: def(Erased, Exchange, AccessEvent) thin -> Bool
    """Puts a record into the ring. Returns False if there is no room."""
    var wants_identifier: Bool
    """Whether records show X-Request-Id."""


@fieldwise_init
struct RunningAccessLog(TrivialRegisterPassable):
    """The access log of a server that runs."""

    var functions: AccessFunctions
    """The functions."""
    var queue: Erased
    """The queue."""
    var wants_identifier: Bool
    """Whether records show X-Request-Id."""

    def feed(self, worker: Int) -> AccessFeed:
        """Returns the feed for the records of a worker.

        Args:
            worker: The worker's number.

        Returns:
            The feed.
        """
        return AccessFeed(
            self.functions.ring(self.queue, worker),
            self.functions.put,
            self.wants_identifier,
        )

    def end(self):
        """Writes the remaining records. All workers must have ended."""
        self.functions.end(self.queue)


struct AccessLog(ImplicitlyCopyable):
    """Receives a record of each request, or prints it as a line."""

    var write: def(AccessRecord) thin -> None
    """Writes one record. A server calls it on a separate thread, so a slow
    sink blocks no worker. Up to 512 KiB of a worker's records may wait; further
    ones are dropped and counted. If the log has a format, the server writes
    lines itself, many at once.
    """
    var options: AccessOptions
    """The contents and the form of the records."""
    # A function, because a configuration may be a value of compile time.
    var _functions: def() thin -> AccessFunctions

    def __init__(out self, write: def(AccessRecord) thin -> None):
        """Creates a log that passes each record to a function.

        Args:
            write: Receives one record; on a thread of its own. It must copy the
                record, or the texts, that it keeps.
        """
        self = Self(AccessFormat.FUNCTION, write, "", TARGET_OCTETS_MAX)

    def __init__(
        out self,
        format: AccessFormat,
        write: def(AccessRecord) thin -> None,
        var file: String,
        target_octets_max: Int,
    ):
        """Creates a log of a format.

        Args:
            format: The format.
            write: Writes one record.
            file: The path of the file; empty for standard output.
            target_octets_max: The most octets of a target to keep.
        """
        self.write = write
        self.options = AccessOptions(format, write, file^, target_octets_max)
        self._functions = _functions

    @staticmethod
    def standard_output() -> Self:
        """Returns a log that prints one line for each request.

        A line has time, worker, request number, method, the first 96 octets of
        the target, status, size, duration and version.

        Returns:
            The log.
        """
        return Self(
            AccessFormat.PLAIN,
            _print[AccessFormat.PLAIN],
            "",
            _PLAIN_TARGET_OCTETS,
        )

    @staticmethod
    def json_lines(
        *, var file: String = "", target_octets_max: Int = TARGET_OCTETS_MAX
    ) -> Self:
        """Returns a log that writes a JSON object for each request.

        Args:
            file: The path of the file to append to, which is created if it does
                not exist; empty for standard output, the default.
            target_octets_max: The most octets of a request target to keep, 1 to
                8,192; 2,048 by default.

        Returns:
            The log.
        """
        return Self(
            AccessFormat.JSON,
            _print[AccessFormat.JSON],
            file^,
            target_octets_max,
        )

    @staticmethod
    def common(
        *, var file: String = "", target_octets_max: Int = TARGET_OCTETS_MAX
    ) -> Self:
        """Returns a log that writes a line in Common Log Format for each
        request.

        Args:
            file: The path of the file to append to, which is created if it does
                not exist; empty for standard output, the default.
            target_octets_max: The most octets of a request target to keep, 1 to
                8,192; 2,048 by default.

        Returns:
            The log.
        """
        return Self(
            AccessFormat.COMMON,
            _print[AccessFormat.COMMON],
            file^,
            target_octets_max,
        )

    @staticmethod
    def combined(
        *, var file: String = "", target_octets_max: Int = TARGET_OCTETS_MAX
    ) -> Self:
        """Returns a log that writes a line in Combined Log Format for each
        request, as Apache and nginx do.

        Args:
            file: The path of the file to append to, which is created if it does
                not exist; empty for standard output, the default.
            target_octets_max: The most octets of a request target to keep, 1 to
                8,192; 2,048 by default.

        Returns:
            The log.
        """
        return Self(
            AccessFormat.COMBINED,
            _print[AccessFormat.COMBINED],
            file^,
            target_octets_max,
        )

    @always_inline
    def functions(self) -> AccessFunctions:
        """Returns the functions that a server calls.

        Returns:
            The functions.
        """
        return self._functions()

    @always_inline
    def has_valid_target_limit(self) -> Bool:
        """Returns whether the limit on targets is one that a record can keep.

        Returns:
            True from 1 to 8,192.
        """
        return 1 <= self.options.target_octets_max <= RECORD_TARGET_OCTETS_MAX


def _functions() -> AccessFunctions:
    return AccessFunctions(begin_queue, ring_of, put_in_ring, end_queue)


def _print[format: AccessFormat](record: AccessRecord):
    var line = TextBuffer()
    append_line(line, record, format)
    write_line_to(STANDARD_OUTPUT, StringSlice(unsafe_from_utf8=line.span()))
