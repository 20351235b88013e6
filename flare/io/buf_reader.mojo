"""Reads lines, delimited runs and counted runs of octets through a buffer.

Every call has a limit. So the peer controls neither how much memory a line
takes nor how far its end is searched for.
"""

from std.memory import unsafe_memcpy

from flare.core import (
    CR,
    LF,
    Buffer,
    PointerTo,
    find_octet,
    heap_create,
    heap_destroy,
)

from .error import IoError
from .stream import Reader

comptime BUFFER_OCTETS_DEFAULT = 8192
"""The default size of a buffer."""
comptime LINE_OCTETS_MAX_DEFAULT = 64 * 1024
"""The default limit for a line or a delimited run."""


struct _BufReaderState[R: Reader & Movable & Deinitable](Movable):
    var reader: Self.R
    var buffer: Buffer
    var capacity: Int
    # A fiber waits for the reader, which appends to the buffered octets.
    var is_read: Bool

    def __init__(out self, var reader: Self.R, capacity: Int):
        self.reader = reader^
        self.buffer = Buffer(capacity=capacity)
        self.capacity = capacity
        self.is_read = False


struct BufReader[R: Reader & Movable & Deinitable](Movable, Reader):
    """A reader with a buffer: it reads from another reader in large pieces.

    One fiber reads at a time. While it waits for the other reader, a call that
    would have to wait too raises `io.in_use fill`.

    Parameters:
        R: The type of the other reader.
    """

    var _state: PointerTo[_BufReaderState[Self.R]]

    def __init__(
        out self,
        var reader: Self.R,
        *,
        buffer_octets: Int = BUFFER_OCTETS_DEFAULT,
    ):
        """Takes ownership of a reader, and reads nothing yet.

        Args:
            reader: The reader.
            buffer_octets: The size of the buffer; at least 1.
        """
        self._state = heap_create(
            _BufReaderState(reader^, max(buffer_octets, 1))
        )

    def __deinit__(deinit self):
        """Frees the buffer and destroys the other reader."""
        heap_destroy(self._state)

    def inner(self) -> ref[origin_of(self)] Self.R:
        """Returns the other reader, to write to it or to set its options.

        Returns:
            The reader. Octets read from it directly bypass the buffer.
        """
        return (
            Pointer(to=self._state[].reader)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[origin_of(self)]()[]
        )

    def buffered(self) -> Span[UInt8, origin_of(self)]:
        """Returns a view of the octets that are buffered.

        Returns:
            A view, valid until the next call that reads or consumes.
        """
        var view = self._state[].buffer.span()
        return Span[UInt8, origin_of(self)](
            unsafe_ptr=view.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[origin_of(self)](),
            length=len(view),
        )

    def consume(self, count: Int):
        """Drops octets from the front of `buffered`.

        Args:
            count: The number of octets; if it exceeds the length, all are
                dropped.
        """
        ref buffer = self._state[].buffer
        buffer.consume(min(max(count, 0), len(buffer)))

    def fill(self) raises -> Int:
        """Reads once, and adds the octets to the buffer.

        Returns:
            The number of octets; 0 at the end of the stream.

        Raises:
            Error: As the reader does; `io.too_large fill` if the buffer is
                full; `io.in_use fill` if another fiber waits for the reader.
        """
        var room = self._state[].capacity - len(self._state[].buffer)
        if room == 0:
            raise IoError(IoError.TOO_LARGE, "fill", self._state[].capacity)
        if self._state[].is_read:
            raise IoError(IoError.IN_USE, "fill", 0)
        var target = self._state[].buffer.reserve(room)
        var count: Int
        self._state[].is_read = True
        try:
            count = self._state[].reader.read(
                Span(unsafe_ptr=target, length=room)
            )
        finally:
            self._state[].is_read = False
        self._state[].buffer.advance(count)
        return count

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Returns buffered octets; if there are none, reads once.

        Args:
            into: The destination.

        Returns:
            The number of octets; 0 at the end of the stream, or if `into` is
            empty.

        Raises:
            Error: As the reader does.
        """
        if len(into) == 0:
            return 0
        if len(self._state[].buffer) == 0:
            if (
                len(into) >= self._state[].capacity
                and not self._state[].is_read
            ):
                return self._read_past(into)
            if self.fill() == 0:
                return 0
        var count = min(len(into), len(self._state[].buffer))
        unsafe_memcpy(
            dest=into.unsafe_ptr(),
            src=self._state[].buffer.unsafe_front(),
            count=count,
        )
        self._state[].buffer.consume(count)
        return count

    def read_until(
        self, delimiter: UInt8, limit: Int = LINE_OCTETS_MAX_DEFAULT
    ) raises -> Optional[List[UInt8]]:
        """Reads up to the next delimiter, and drops the delimiter.

        Args:
            delimiter: The octet that ends the run.
            limit: The most octets before it.

        Returns:
            The octets before the delimiter; `None` at the end of the stream.

        Raises:
            Error: As the reader does; `io.line_too_long read_until` if more
                than `limit` octets arrived without a delimiter;
                `io.unexpected_end read_until` if the stream ends inside the
                run. The octets read by then are lost.
        """
        var run = List[UInt8]()
        if self._gather(delimiter, limit, run):
            return run^
        if len(run) > limit:
            raise IoError(IoError.LINE_TOO_LONG, "read_until", limit)
        if len(run) > 0:
            raise IoError(IoError.UNEXPECTED_END, "read_until", 0)
        return None

    def read_line(
        self, limit: Int = LINE_OCTETS_MAX_DEFAULT
    ) raises -> Optional[String]:
        """Reads a line, and drops its end, LF or CR LF.

        Args:
            limit: The most octets of the line, without its end.

        Returns:
            The line; `None` at the end of the stream. The last line may lack
            its end.

        Raises:
            Error: As the reader does; `io.line_too_long read_line`, which
                loses the octets read of the line; `io.not_utf8 read_line`,
                after which the next line can be read.
        """
        var line = List[UInt8]()
        # One more octet for the CR that belongs to the end of the line.
        var ended = self._gather(LF, min(limit, Int.MAX - 1) + 1, line)
        if not ended and len(line) == 0:
            return None
        if ended and len(line) > 0 and line[len(line) - 1] == CR:
            _ = line.pop()
        if len(line) > limit:
            raise IoError(IoError.LINE_TOO_LONG, "read_line", limit)
        try:
            return String(StringSlice(from_utf8=Span(line)))
        except:
            raise IoError(IoError.NOT_UTF8, "read_line", 0)

    def read_exactly(self, count: Int) raises -> List[UInt8]:
        """Reads a number of octets.

        Memory grows as octets arrive, so a large count that a peer announced
        costs no memory in advance.

        Args:
            count: The number of octets; 0 or less reads none.

        Returns:
            The octets, `count` of them.

        Raises:
            Error: As the reader does, or `io.unexpected_end read_exactly` with
                the number of missing octets.
        """
        var run = List[UInt8]()
        while len(run) < count:
            if len(self._state[].buffer) == 0 and self.fill() == 0:
                raise IoError(
                    IoError.UNEXPECTED_END, "read_exactly", count - len(run)
                )
            self._take(min(count - len(run), len(self._state[].buffer)), run)
        return run^

    def _read_past(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        self._state[].is_read = True
        try:
            return self._state[].reader.read(into)
        finally:
            self._state[].is_read = False

    def _gather(
        self, delimiter: UInt8, limit: Int, mut run: List[UInt8]
    ) raises -> Bool:
        while True:
            var octets = self._state[].buffer.span()
            var room = max(limit - len(run), 0)
            var found = find_octet(octets, delimiter)
            if found < len(octets) and found <= room:
                self._take(found, run)
                self._state[].buffer.consume(1)
                return True
            if len(octets) > room:
                self._take(room + 1, run)
                return False
            self._take(len(octets), run)
            if self.fill() == 0:
                return False

    def _take(self, count: Int, mut run: List[UInt8]):
        run.extend(self._state[].buffer.span()[0:count])
        self._state[].buffer.consume(count)
