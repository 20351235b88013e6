"""Says where a server's own messages and the records of requests go."""

from std.sys import stderr


@fieldwise_init
struct LogSink(ImplicitlyCopyable):
    """Receives one line of text at a time."""

    var write: def(StringSlice[ImmUntrackedOrigin]) thin -> None
    """Called on a worker's thread for what happens rarely: the start, the end,
    errors of handlers. It should be quick."""

    def line(self, text: StringSlice):
        """Hands a line over.

        Args:
            text: The line, without its end; the sink copies what it keeps.
        """
        self.write(rebind[StringSlice[ImmUntrackedOrigin]](text))

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


@fieldwise_init
struct AccessRecord(TrivialRegisterPassable):
    """Describes one request that was answered."""

    var unix_seconds: Int
    """When the answer was complete."""
    var request_id: Int
    """The number that the request's log lines carry."""
    var worker: Int
    """The index of the worker."""
    var status: Int
    """The status of the response."""
    var response_octets: Int
    """The length of the response's content."""
    var duration_ms: Int
    """From the whole head to the whole answer."""


@fieldwise_init
struct AccessLog(ImplicitlyCopyable):
    """Receives a record of each request."""

    var write: def(AccessRecord) thin -> None
    """Called on a thread of its own, so that a slow sink blocks no worker."""


def _write_standard_error(line: StringSlice[ImmUntrackedOrigin]):
    print(line, file=stderr)


def _drop(line: StringSlice[ImmUntrackedOrigin]):
    pass
