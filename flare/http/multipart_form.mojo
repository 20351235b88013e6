"""Builds a form with files, which is sent piece by piece."""

from std.memory import unsafe_memcpy
from std.os import stat

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.io import Reader
from flare.proto.multipart import (
    MultipartWriter,
    PartDescription,
    boundary_of,
)
from flare.runtime import blocking
from flare.sys.random import fill_random

comptime _PIECE_OCTETS = 64 * 1024


@fieldwise_init
struct _Part(Copyable, Movable):
    var description: PartDescription
    var content: List[UInt8]
    # Of a file that is read while it is sent.
    var path: Optional[String]
    var content_octets: Int


struct MultipartForm(Copyable, Movable):
    """A form with fields and files. Of files on disk, it stores the paths
    only.

    To send it, set `content_type` and `content_length`. `reader` returns its
    octets piece by piece, and `octets` returns all of them.
    """

    var _writer: MultipartWriter
    var _parts: List[_Part]
    var _octets: Int

    def __init__(out self) raises:
        """Creates an empty form, with a random boundary that no content
        contains.

        Raises:
            Error: `http.multipart` if the kernel has no random octets.
        """
        var random = List[UInt8](length=16, fill=0)
        if fill_random(Span(random)) != len(random):
            raise Error("http.multipart no random octets")
        self = Self(boundary=boundary_of(Span(random)))

    def __init__(out self, *, boundary: StringSlice) raises:
        """Creates an empty form.

        Args:
            boundary: A text that occurs in no content.

        Raises:
            Error: `http.multipart` if it is not a valid boundary.
        """
        try:
            self._writer = MultipartWriter(boundary)
        except e:
            raise Error("http.multipart ", e.reason)
        self._parts = List[_Part]()
        self._octets = self._writer.end_octets()

    def add_field(mut self, var name: String, value: StringSlice) raises:
        """Adds a field.

        Args:
            name: The field's name, any text.
            value: The field's value.

        Raises:
            Error: Never.
        """
        self._add(
            _Part(
                PartDescription.field(name^),
                List[UInt8](value.as_bytes()),
                None,
                value.byte_length(),
            )
        )

    def add_octets(
        mut self,
        var name: String,
        var octets: List[UInt8],
        *,
        var file_name: String,
        var content_type: String = "application/octet-stream",
    ) raises:
        """Adds a file whose content is in memory.

        Args:
            name: The field's name, any text.
            octets: The content.
            file_name: The file's name, any text.
            content_type: Its media type.

        Raises:
            Error: `http.multipart` if the media type is malformed.
        """
        var count = len(octets)
        self._add(
            _Part(
                PartDescription.file(name^, file_name^, content_type^),
                octets^,
                None,
                count,
            )
        )

    def add_file(
        mut self,
        var name: String,
        var path: String,
        *,
        var file_name: String = String(),
        var content_type: String = "application/octet-stream",
    ) raises:
        """Adds a file on disk, which is read while the form is sent.

        Its length is determined now, on a helper thread.

        Args:
            name: The field's name, any text.
            path: The file's path. Its length must not change until it is sent.
            file_name: The name to send; by default, the part of the path after
                the last slash.
            content_type: Its media type.

        Raises:
            Error: `http.multipart` if the media type is malformed, the
                standard library's error if there is no such file, or the error
                of `blocking` if the caller may not wait.
        """

        def octets_of_file() raises {var path} -> Int:
            return Int(stat(path).st_size)

        var count = blocking(octets_of_file)
        if not file_name:
            var parts = path.split("/")
            file_name = String(parts[len(parts) - 1])
        self._add(
            _Part(
                PartDescription.file(name^, file_name^, content_type^),
                List[UInt8](),
                path^,
                count,
            )
        )

    def content_type(self) -> String:
        """Returns the value of Content-Type.

        Returns:
            `multipart/form-data` with the boundary.
        """
        return self._writer.content_type()

    def content_length(self) -> Int:
        """Returns the length of the whole form.

        Returns:
            The number of octets.
        """
        return self._octets

    def reader(self) -> MultipartFormReader:
        """Returns a reader of the form's octets.

        It copies content that is in memory, so that the form can be sent again.

        Returns:
            A reader of exactly `content_length` octets.
        """
        return MultipartFormReader(self.copy())

    def octets(self) raises -> List[UInt8]:
        """Returns the octets of the whole form.

        Returns:
            The octets.

        Raises:
            The errors of the reader.
        """
        var reader = self.reader()
        var octets = List[UInt8](length=self._octets, fill=0)
        var filled = 0
        while filled < len(octets):
            filled += reader.read(Span(octets)[filled:])
        return octets^

    def _add(mut self, var part: _Part) raises:
        try:
            self._octets += self._writer.part_octets(
                part.description, part.content_octets
            )
        except e:
            raise Error("http.multipart ", e.reason)
        self._parts.append(part^)


struct _FormReaderState(Movable):
    var form: MultipartForm
    # The octets to return before the next part begins.
    var pending: Buffer
    var next_part: Int
    var file: Optional[FileHandle]
    var file_octets_left: Int
    var is_over: Bool
    var is_filled: Bool

    def __init__(out self, var form: MultipartForm):
        self.form = form^
        self.pending = Buffer()
        self.next_part = 0
        self.file = None
        self.file_octets_left = 0
        self.is_over = False
        self.is_filled = False

    def needs_file(self) -> Bool:
        """Returns whether `fill` may have to wait for a disk."""
        if self.file:
            return True
        return self.next_part < len(self.form._parts) and Bool(
            self.form._parts[self.next_part].path
        )

    def fill(mut self) raises:
        """Makes the next octets available. Runs on a helper thread if it opens
        or reads files.
        """
        if self.file:
            return self._read_file()
        if self.next_part == len(self.form._parts):
            self.form._writer.write_end(self.pending)
            self.is_over = True
            return
        ref part = self.form._parts[self.next_part]
        if part.path:
            # If a file cannot be opened, the next read tries again.
            self.file = open(part.path.value(), "r")
            self.file_octets_left = part.content_octets
        self.next_part += 1
        try:
            self.form._writer.write_head(part.description, self.pending)
        except e:
            raise Error("http.multipart ", e.reason)
        if part.path:
            return
        self.pending.append(Span(part.content))
        self.form._writer.write_part_end(self.pending)

    def _read_file(mut self) raises:
        if self.file_octets_left == 0:
            self.file = None
            self.form._writer.write_part_end(self.pending)
            return
        var piece = self.file.value().read_bytes(
            min(_PIECE_OCTETS, self.file_octets_left)
        )
        if len(piece) == 0:
            raise Error("http.multipart a file became shorter")
        self.file_octets_left -= len(piece)
        self.pending.append(Span(piece))


struct MultipartFormReader(Movable, Reader):
    """Reads the octets of a form. Files are opened and read on a helper
    thread.
    """

    var _state: PointerTo[_FormReaderState]

    def __init__(out self, var form: MultipartForm):
        """Creates a reader at the first octet of a form.

        Args:
            form: The form.
        """
        self._state = heap_create(_FormReaderState(form^))

    def __deinit__(deinit self):
        """Closes the file that is being read."""
        heap_destroy(self._state)

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads the next octets.

        Args:
            into: The destination.

        Returns:
            The number of octets; 0 at the end.

        Raises:
            Error: `http.multipart` if a file has become shorter, and the
                library's error if it cannot be read.
        """
        var s = self._state
        if len(into) == 0:
            return 0
        while len(s[].pending) == 0 and not s[].is_over:
            if s[].is_filled:
                raise Error("http.multipart is read by another fiber")
            if not s[].needs_file():
                s[].fill()
                continue

            # This runs on another thread: it touches only the state on the
            # heap.
            def fill() raises {var s}:
                s[].fill()

            s[].is_filled = True
            try:
                blocking(fill)
            finally:
                s[].is_filled = False
        var count = min(len(into), len(s[].pending))
        if count > 0:
            unsafe_memcpy(
                dest=into.unsafe_ptr(),
                src=s[].pending.span().unsafe_ptr(),
                count=count,
            )
            s[].pending.consume(count)
        return count
