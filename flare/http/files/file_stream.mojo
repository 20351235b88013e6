"""Sends files that are too long for the memory, piece by piece."""

from flare.core import PointerTo
from flare.runtime.blocking import blocking
from flare.runtime.operation import FileRange
from flare.sys.errno import EAGAIN
from flare.sys.file import close_descriptor
from flare.sys.folder import read_at, read_at_once

from ..exchange import Exchange
from ..response_stream import ResponseStream, carry_file
from ..stream_function import ExchangeTask
from .file_counters import FileCounters

comptime _PIECE_OCTETS = 64 * 1024
# How much the carrier sends by itself before it is looked whether the next
# octets are in memory.
comptime _SENT_OCTETS = 2 * 1024 * 1024


struct OpenFile(Movable):
    """An open file. It is closed when it is destroyed, however its answer ends.
    """

    var descriptor: Int32
    """The descriptor."""
    var _counters: FileCounters

    def __init__(out self, descriptor: Int32, counters: FileCounters):
        """Takes ownership of a descriptor.

        Args:
            descriptor: The descriptor.
            counters: The counters of the worker.
        """
        self.descriptor = descriptor
        self._counters = FileCounters(shared_with=counters)
        self._counters.add_open_files(1)

    def __deinit__(deinit self):
        """Closes the file."""
        self._counters.add_open_files(-1)
        _ = close_descriptor(self.descriptor)


struct FilePart(Copyable, Movable):
    """A range of a file, and the octets to send before it."""

    var head: List[UInt8]
    """The octets before it, such as the head of a part of several."""
    var start: Int
    """The place of its first octet."""
    var octets: Int
    """Its length."""

    def __init__(out self, var head: List[UInt8], start: Int, octets: Int):
        """Creates a part.

        Args:
            head: The octets before it.
            start: The place of its first octet.
            octets: Its length.
        """
        self.head = head^
        self.start = start
        self.octets = octets


struct FileTask(ExchangeTask):
    """Writes parts of a file as the content of a response."""

    var _file: OpenFile
    var _parts: List[FilePart]
    var _piece: List[UInt8]
    var _is_carried: Bool

    def __init__(out self, var file: OpenFile, var parts: List[FilePart]):
        """Creates a task.

        Args:
            file: The file.
            parts: The ranges to send. The last one may have no octets of the
                file.
        """
        self._file = file^
        self._parts = parts^
        self._piece = List[UInt8]()
        self._is_carried = True

    @staticmethod
    def run(task: PointerTo[Self], exchange: Exchange) raises:
        """Writes the parts at the pace of the client.

        Args:
            task: The task.
            exchange: The exchange.

        Raises:
            An error `http.file` if the file has become shorter or cannot be
            read: the connection is reset, so that the client notices.
        """
        var stream = ResponseStream.begin(exchange)
        for i in range(len(task[]._parts)):
            if len(task[]._parts[i].head) > 0:
                stream.write_all(Span(task[]._parts[i].head))
            _write_range(task, exchange, stream, i)

    @staticmethod
    def held_octets(task: PointerTo[Self]) -> Int:
        """Returns how much memory the task retains until it ends.

        Args:
            task: The task.

        Returns:
            The number of octets.
        """
        return _PIECE_OCTETS


def _write_range(
    task: PointerTo[FileTask],
    exchange: Exchange,
    stream: ResponseStream,
    part: Int,
) raises:
    var offset = task[]._parts[part].start
    var end = offset + task[]._parts[part].octets
    while offset < end:
        if task[]._is_carried:
            var range = FileRange(
                task[]._file.descriptor,
                offset,
                min(end - offset, _SENT_OCTETS),
            )
            _bring_to_memory(task, range)
            var sent = carry_file(exchange, range)
            offset += sent
            # If the kernel cannot send them, reading them shows the reason.
            task[]._is_carried = sent > 0
            continue
        var count = _read(task, offset, min(end - offset, _PIECE_OCTETS))
        if count < 0:
            raise Error("http.file cannot be read errno=", -count)
        if count == 0:
            raise Error("http.file has become shorter")
        stream.write_all(Span(task[]._piece)[:count])
        offset += count


def _bring_to_memory(task: PointerTo[FileTask], range: FileRange) raises:
    """Reads octets of a file in a helper thread, unless they are in the page
    cache. Sending them then waits for no disk.

    Octets in the middle may have been evicted by themselves, but that is rare:
    the kernel reads ahead.
    """
    var first = Array[UInt8, 1](fill=0)
    var last = range.start + range.octets - 1
    if (
        read_at_once(range.descriptor, Span(first), range.start) != -EAGAIN
        and read_at_once(range.descriptor, Span(first), last) != -EAGAIN
    ):
        return
    _make_piece(task)
    # The closure touches only the task, which lies on the heap.

    def read() raises {var task, var range} -> Int:
        var offset = range.start
        while offset < range.start + range.octets:
            var count = read_at(range.descriptor, Span(task[]._piece), offset)
            if count <= 0:
                break
            offset += count
        return offset

    _ = blocking(read)


def _make_piece(task: PointerTo[FileTask]):
    if len(task[]._piece) == 0:
        task[]._piece = List[UInt8](length=_PIECE_OCTETS, fill=0)


def _read(task: PointerTo[FileTask], offset: Int, count: Int) raises -> Int:
    _make_piece(task)
    # Octets in the page cache are copied at once. Another thread waits for a
    # disk.
    var result = read_at_once(
        task[]._file.descriptor, Span(task[]._piece)[:count], offset
    )
    if result != -EAGAIN:
        return result
    # The closure touches only the task, which lies on the heap.

    def read() raises {var task, var offset, var count} -> Int:
        return read_at(
            task[]._file.descriptor, Span(task[]._piece)[:count], offset
        )

    return blocking(read)
