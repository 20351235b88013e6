"""Defines readers and writers of octets.

A reader or writer that waits is a handle to state elsewhere. Its methods take
`self`, so no copy is written back after the calling fiber was parked.
"""

from flare.core import OctetBlock

from .error import IoError


trait Reader:
    """A type from which octets are read in order."""

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads the octets that are available; waits for the first one.

        Args:
            into: The destination.

        Returns:
            The number of octets, at most the length of `into`; 0 at the end,
            or if `into` is empty.

        Raises:
            Error: The error of the underlying stream.
        """
        ...


trait Writer:
    """A type to which octets are written in order."""

    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Writes as many octets as there is room for; waits for room for the
        first one.

        Args:
            octets: The octets.

        Returns:
            The number of octets taken, at least 1 unless `octets` is empty.

        Raises:
            Error: The error of the underlying stream.
        """
        ...

    def write_all(self, octets: Span[UInt8, _]) raises:
        """Writes all octets.

        Args:
            octets: The octets.

        Raises:
            Error: As `write` does, or `io.stalled write_all` if `write` takes
                none. A part of the octets may then be written.
        """
        var written = 0
        while written < len(octets):
            var count = self.write(octets[written : len(octets)])
            if count <= 0:
                raise IoError(IoError.STALLED, "write_all", 0)
            written += count


def copy[R: Reader, W: Writer](reader: R, writer: W, limit: Int) raises -> Int:
    """Copies from a reader to a writer until the reader ends.

    Parameters:
        R: The type of the reader.
        W: The type of the writer.

    Args:
        reader: The reader, read to its end.
        writer: The writer.
        limit: The maximum number of octets. If there are more, the call writes
            the first `limit`, then raises the error.

    Returns:
        The number of octets copied.

    Raises:
        Error: As the reader and the writer do, or `io.too_large copy` if the
            reader has not ended after `limit` octets.
    """
    comptime CHUNK_OCTETS = 64 * 1024
    var chunk = OctetBlock(length=min(CHUNK_OCTETS, max(limit, 1)))
    var copied = 0
    while True:
        # At the limit one more octet tells the end from too much.
        var room = min(len(chunk), max(limit - copied, 1))
        var count = reader.read(chunk.span()[0:room])
        if count == 0:
            return copied
        if count > limit - copied:
            raise IoError(IoError.TOO_LARGE, "copy", limit)
        writer.write_all(chunk.span()[0:count])
        copied += count
