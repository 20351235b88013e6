"""Writes the lines of an access log, and tells when they begin to be lost."""

from flare.sys.file import (
    STANDARD_ERROR,
    STANDARD_OUTPUT,
    close_descriptor,
    has_position,
    write_line_to,
    write_whole,
)

# A write(2) of so many octets is never mixed with those of other processes that
# write to the same pipe (PIPE_BUF).
comptime _PIPE_OCTETS = 4096
comptime _FILE_OCTETS = 64 * 1024
comptime _LINE_END: UInt8 = 0x0A


struct AccessOutlet(Movable):
    """The destination of lines. Only the writing thread uses it."""

    var write_octets_max: Int
    """At most so many octets of whole lines are written at once."""
    var _descriptor: Int32
    # Whether the last octet that was written is inside of a line.
    var _is_cut: Bool
    # How many lines were lost since the last write that succeeded.
    var _lost: Int

    def __init__(out self, descriptor: Int32):
        """Creates the destination.

        Args:
            descriptor: The file or pipe.
        """
        self._descriptor = descriptor
        self.write_octets_max = _PIPE_OCTETS
        if has_position(descriptor):
            self.write_octets_max = _FILE_OCTETS
        self._is_cut = False
        self._lost = 0

    def close(self):
        """Closes the file, unless it is the standard output."""
        if self._descriptor != STANDARD_OUTPUT:
            _ = close_descriptor(self._descriptor)

    def write(mut self, lines: Span[UInt8, _]):
        """Writes lines. Those for which there is no room are lost.

        Args:
            lines: Whole lines with their ends.
        """
        if self._is_cut:
            # The rest of the line is lost, but no other line continues it.
            var end: Array[UInt8, 1] = [_LINE_END]
            self._is_cut = write_whole(self._descriptor, Span(end)) < 1
        var written = 0
        if not self._is_cut:
            written = write_whole(self._descriptor, lines)
        if written == len(lines):
            if self._lost > 0:
                self._tell("lines are written again; lost: ", self._lost)
                self._lost = 0
            return
        if written > 0:
            self._is_cut = lines[written - 1] != _LINE_END
        var is_first = self._lost == 0
        for octet in lines[written:]:
            self._lost += Int(octet == _LINE_END)
        if is_first:
            self._tell("it cannot be written, lines are lost: ", self._lost)

    def _tell(self, text: StaticString, count: Int):
        write_line_to(
            STANDARD_ERROR, String("flare: access log: ", text, count)
        )
