"""Lays the messages of `requests/` out in memory as sockets deliver them.

A message that always lies at one address is a best case: of its alignment, and
of what the branch predictor and the caches learn. So it is laid out sixteen
times, each time at another offset from a cache line.
"""

from std.pathlib import Path

comptime COPIES = 16
"""How often a message is laid out; a power of two."""
comptime _LINE = 64
comptime _STEP = 11
# Odd, so that the offsets within a cache line differ.

comptime REQUESTS: List[StaticString] = [
    "browser",
    "wrk",
    "curl",
    "api",
    "cookie",
]
"""The names of the requests."""


struct Messages(Movable):
    """Holds the copies of one or more messages."""

    var memory: List[UInt8]
    """What they lie in."""
    var starts: List[Int]
    """Where each begins."""
    var lengths: List[Int]
    """How long each is."""

    def __init__(out self, directory: StringSlice, names: List[String]) raises:
        """Reads messages and lays them out, one after the other and again.

        Args:
            directory: Where `NAME.http` lies.
            names: A power of two of names.

        Raises:
            Error: If a file is missing.
        """
        self.memory = []
        self.starts = []
        self.lengths = []
        var files = List[List[UInt8]]()
        for name in names:
            files.append(
                Path(String(directory, "/", name, ".http")).read_bytes()
            )
        var origins = List[Int]()
        var total = _LINE
        for copy in range(COPIES):
            for file in files:
                origins.append(total + copy * _STEP % _LINE)
                total += (len(file) + 2 * _LINE - 1) // _LINE * _LINE + _LINE
        self.memory.resize(total + _LINE, 0)
        # List memory begins anywhere.
        var shift = -Int(self.memory.unsafe_ptr()) & (_LINE - 1)
        for i in range(len(origins)):
            ref file = files[i % len(files)]
            var start = origins[i] + shift
            for k in range(len(file)):
                self.memory[start + k] = file[k]
            self.starts.append(start)
            self.lengths.append(len(file))

    @always_inline
    def at(self, i: Int) -> Span[UInt8, origin_of(self.memory)]:
        """Gives one of the copies.

        Args:
            i: Any number from 0.

        Returns:
            The octets of one message.
        """
        var k = i & (len(self.starts) - 1)
        return Span[UInt8, origin_of(self.memory)](
            unsafe_ptr=self.memory.unsafe_ptr().unsafe_offset(
                self.starts.unsafe_get(k)
            ),
            length=self.lengths.unsafe_get(k),
        )

    def octets(self) -> Int:
        """Gives the length of a message, on average.

        Returns:
            The octets.
        """
        var sum = 0
        for n in self.lengths:
            sum += n
        return sum // len(self.lengths)
