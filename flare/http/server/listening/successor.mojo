"""Starts the program that takes over from a server, and waits for it."""

from flare.net.error import checked
from flare.sys.clock import monotonic_ms
from flare.sys.errno import EINTR, errno_name
from flare.sys.file import close_descriptor
from flare.sys.passed_descriptors import (
    EXEC_FAILED,
    start_program,
)
from flare.sys.process import (
    SIGKILL,
    PollEntry,
    send_signal,
    wait_for_end,
    wait_readable,
)
from flare.sys.socket import open_socket_pair, receive_octets
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import MSG_DONTWAIT, SOCK_STREAM

from .taken_listeners import READY_NAME

comptime _FAILED: StaticString = "http.successor "


def check_command(command: List[String]) raises:
    """Checks a command.

    Args:
        command: The path and the arguments.

    Raises:
        An error `http.bad_command`.
    """
    if len(command) == 0 or command[0].byte_length() == 0:
        raise Error("http.bad_command without a path")
    for part in command:
        for octet in part.as_bytes():
            if octet == 0:
                raise Error("http.bad_command with a NUL")


struct SuccessorChannel(Movable):
    """The channel by which a new program reports that it serves."""

    var _reader: Int32
    var _writer: Int32

    def __init__(out self, reader: Int32, writer: Int32):
        """Creates the channel from its two ends.

        Args:
            reader: The end from which this process reads.
            writer: The end for the program.
        """
        self._reader = reader
        self._writer = writer

    def __deinit__(deinit self):
        """Closes both ends."""
        _ = close_descriptor(self._reader)
        if self._writer >= 0:
            _ = close_descriptor(self._writer)

    @staticmethod
    def open() raises -> Self:
        """Opens the channel.

        Returns:
            The channel.

        Raises:
            NetError: `net.no_descriptors open`.
        """
        var reader = Int32(-1)
        var writer = Int32(-1)
        _ = checked(
            "open", open_socket_pair(AF_UNIX, SOCK_STREAM, reader, writer)
        )
        return Self(reader, writer)

    def start(
        mut self,
        command: List[String],
        descriptors: List[Int32],
        names: StringSlice,
        variables: List[String],
    ) -> Int:
        """Starts the program.

        Args:
            command: Its path and its arguments.
            descriptors: The sockets for the program.
            names: Their names, separated by colons.
            variables: Additions to its environment, as `NAME=value`.

        Returns:
            The id of its process, or the negated errno.
        """
        var passed = descriptors.copy()
        passed.append(self._writer)
        var process = start_program(
            command,
            passed,
            String(names, ":", READY_NAME),
            variables,
            report=self._writer,
        )
        # From here on the end of the program shows.
        _ = close_descriptor(self._writer)
        self._writer = -1
        return process

    def await_ready(self, process: Int, timeout_ms: Int) raises:
        """Waits until the program serves; ends it if it does not.

        Args:
            process: The result of `start`.
            timeout_ms: The longest wait.

        Raises:
            NetError: `net.… start` if there is no process.

            An error `http.successor` with the reason.
        """
        _ = checked("start", process)
        var octets = Array[UInt8, 2](fill=0)
        var deadline_ms = monotonic_ms() + timeout_ms
        var entries = List[PollEntry]()
        entries.append(PollEntry(self._reader))
        while True:
            var left_ms = deadline_ms - monotonic_ms()
            var ready = wait_readable(entries, max(left_ms, 0))
            if ready > 0:
                break
            if ready == 0 or (ready != -EINTR and ready < 0):
                self.give_up(process)
                raise Error(
                    _FAILED,
                    process,
                    " does not serve after ",
                    timeout_ms,
                    " ms",
                )
        var count = receive_octets(self._reader, Span(octets), MSG_DONTWAIT)
        if count > 0 and octets[0] != EXEC_FAILED:
            return
        self.give_up(process)
        if count > 1:
            raise Error(
                _FAILED, "cannot be run (", errno_name(Int(octets[1])), ")"
            )
        raise Error(_FAILED, process, " ended before it served")

    def give_up(self, process: Int):
        """Ends the program.

        Args:
            process: The result of `start`.
        """
        _ = send_signal(process, SIGKILL)
        _ = wait_for_end(process)
