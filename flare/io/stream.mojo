"""Names what can be read from and what can be written to.

A reader or writer that waits is a handle to state elsewhere, so its methods
take `self`: nothing is copied while the calling fiber is parked.
"""

from flare.core import OctetBlock

from .error import IoError


trait Reader:
    """Gives octets in order until its end."""

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads what is there, and waits only while nothing is.

        Args:
            into: Where to put the octets.

        Returns:
            How many came, at most the length of `into`; 0 at the end, or if
            `into` is empty.

        Raises:
            Error: What the reader stands on raises.
        """
        ...


trait Writer:
    """Takes octets in order."""

    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Writes what there is room for, and waits only while there is none.

        Args:
            octets: What to write.

        Returns:
            How many were taken, at least 1 unless `octets` is empty.

        Raises:
            Error: What the writer stands on raises.
        """
        ...

    def write_all(self, octets: Span[UInt8, _]) raises:
        """Writes everything.

        Args:
            octets: What to write.

        Raises:
            Error: What `write` raises, or `io.stalled write_all` if it takes
                nothing. Some of the octets may be written by then.
        """
        var written = 0
        while written < len(octets):
            var count = self.write(octets[written : len(octets)])
            if count <= 0:
                raise IoError(IoError.STALLED, "write_all", 0)
            written += count


def copy[R: Reader, W: Writer](reader: R, writer: W, limit: Int) raises -> Int:
    """Writes everything that a reader gives.

    Parameters:
        R: The type of the reader.
        W: The type of the writer.

    Args:
        reader: What to read to its end.
        writer: What to write to.
        limit: The most octets there may be; all of them are written before the
            reader is asked for more.

    Returns:
        How many octets were copied.

    Raises:
        Error: What the two raise, or `io.too_large copy` if the reader has not
            ended after `limit` octets.
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
