"""Reads files, and prepares the fields that their answers have in common."""

from flare.core import Buffer
from flare.message import ETag, HttpDate
from flare.sys.clock import unix_ms
from flare.sys.errno import EAGAIN, EISDIR, ENOENT, ENOMEM
from flare.sys.file import close_descriptor
from flare.sys.folder import FileStatus, read_at, status_of_open

from ..body import SEALED_COPY_OCTETS_MAX
from ..conditions import Validators
from ..content_tag import content_tag
from ..encoding.coding import ContentCoding
from ..sealed_content import SealedContent
from .root_folder import RootFolder
from .rules import FileRules
from .siblings import Siblings
from .served_file import Representation, ServedFile, ServedFileState

# Reading a file that is no longer takes less time than asking a helper thread to
# do it.
comptime _SHORT_OCTETS_MAX = 64 * 1024
# A file that is written just now may change while it is read.
comptime _TRIES = 3
comptime _NS_PER_MS = 1_000_000
comptime _NS_PER_S = 1_000_000_000


@fieldwise_init
struct FileReader(Copyable, Movable):
    """Reads files of one folder."""

    var rules: FileRules
    """The fields of the answers."""
    var largest_cached: Int
    """The length of the largest file whose content is kept."""

    def without_cache(self) -> Self:
        """Returns a reader for files for which the cache has no room.

        Returns:
            One that reads only files short enough to be copied into the output.
            Longer ones are read while they are sent.
        """
        return Self(
            self.rules.copy(), min(self.largest_cached, SEALED_COPY_OCTETS_MAX)
        )

    def takes_long(self, path: Span[UInt8, _], octets: Int) -> Bool:
        """Returns whether `read` is left to a helper thread.

        Args:
            path: The relative path, with a NUL at its end.
            octets: The length of the file.

        Returns:
            True for long content that is read, and if it is compressed too.
        """
        return octets <= self.largest_cached and (
            octets > _SHORT_OCTETS_MAX
            or self.rules.compresses(path[: len(path) - 1], octets)
        )

    def read(
        self,
        root: RootFolder,
        path: Span[UInt8, _],
        mut problem: Int,
        earlier: Optional[ServedFile] = None,
    ) raises -> Optional[ServedFile]:
        """Opens a file and its siblings, and reads those that are not too
        long.

        Args:
            root: The folder.
            path: The relative path, with a NUL at its end.
            problem: Set to the negated errno if there is no file: `-EISDIR`
                for a folder.
            earlier: The file that was kept of this path, so that the same
                content is not compressed again.

        Returns:
            The file, or `None`.

        Raises:
            An error `http.no_memory` if memory runs out.
        """
        var read_ns = unix_ms() * _NS_PER_MS
        var state = ServedFileState(path, read_ns)
        problem = self._add_form(root, path, ContentCoding.IDENTITY, state)
        if problem < 0:
            return None
        if self.rules.precompressed:
            comptime for i in range(Siblings.COUNT):
                comptime coding = Siblings.CODINGS[i]
                self._add_sibling(root, coding, state)
        var may_have_forms = self.rules.compresses(
            path[: len(path) - 1], state.forms[0].octets
        )
        if may_have_forms and state.forms[0].content:
            self.rules.compression.value().add_forms(state, earlier)
        var varies = self.rules.precompressed or may_have_forms
        for i in range(len(state.forms)):
            self._add_fields(
                state.forms[i], state.statuses[0], read_ns, path, varies
            )
        return ServedFile(state^)

    def _add_sibling(
        self,
        root: RootFolder,
        coding: ContentCoding,
        mut state: ServedFileState,
    ) raises:
        var path = sibling_path(Span(state.path), coding)
        var found = len(state.statuses)
        if self._add_form(root, Span(path), coding, state) < 0:
            state.statuses.append(FileStatus())
        elif state.statuses[found].modified_ns < state.statuses[0].modified_ns:
            # After a deployment that forgot it, it is another content.
            _ = state.forms.pop()
        else:
            state.siblings = state.siblings.with_coding(coding)

    def _add_form(
        self,
        root: RootFolder,
        path: Span[UInt8, _],
        coding: ContentCoding,
        mut state: ServedFileState,
    ) raises -> Int:
        var status = FileStatus()
        var opened = root.open(path, status)
        if opened < 0:
            return opened
        var descriptor = Int32(opened)
        try:
            if not status.is_regular():
                return -EISDIR if status.is_folder() else -ENOENT
            var form = Representation(
                coding, len(state.statuses), status.octets
            )
            if status.octets <= self.largest_cached:
                var problem = _read_content(descriptor, status, form)
                if problem < 0:
                    return problem
            else:
                form.validators = Validators(exists=True)
                form.validators.tag = _tag_of_status(status)
            state.forms.append(form^)
            state.statuses.append(status)
            return 0
        finally:
            _ = close_descriptor(descriptor)

    def _add_fields(
        self,
        mut form: Representation,
        status: FileStatus,
        read_ns: Int,
        path: Span[UInt8, _],
        varies: Bool,
    ) raises:
        """Prepares the fields. Type and date are those of the file itself."""
        var name = path[: len(path) - 1]
        # Images and packages set the time to 0 or 1. Such a date never changes
        # (RFC 9110 section 8.8.2.1).
        if status.modified_ns // _NS_PER_S > 1:
            form.validators.modified = HttpDate(
                min(status.modified_ns, read_ns) // _NS_PER_S
            )
        form.validators.add_to(form.headers)
        if form.validators.tag:
            form.brief.set("ETag", form.validators.tag.value().text())
        elif form.validators.modified:
            form.validators.add_to(form.brief)
        if varies:
            form.headers.append_constant["Vary", "Accept-Encoding"]()
            form.brief.append_constant["Vary", "Accept-Encoding"]()
        var cache_control = self.rules.cache_control_of(name)
        if cache_control:
            form.headers.set("Cache-Control", cache_control)
            form.brief.set("Cache-Control", cache_control)
        form.headers.set(
            "Content-Type",
            self.rules.types.of(StringSlice(unsafe_from_utf8=name)),
        )
        form.headers.append_constant["X-Content-Type-Options", "nosniff"]()
        form.headers.append_constant["Accept-Ranges", "bytes"]()
        if form.coding != ContentCoding.IDENTITY:
            form.headers.set("Content-Encoding", form.coding.name())
        if form.octets == 0:
            # To HEAD, an answer without content says no length by itself.
            form.headers.append_constant["Content-Length", "0"]()


def sibling_path(path: Span[UInt8, _], coding: ContentCoding) -> List[UInt8]:
    """Returns the path of a compressed sibling.

    Args:
        path: The path of the file, with a NUL at its end.
        coding: The coding of the sibling.

    Returns:
        The path, with a NUL at its end.
    """
    var sibling = List[UInt8](capacity=len(path) + 4)
    sibling.extend(path[: len(path) - 1])
    sibling.extend(Siblings.suffix(coding).as_bytes())
    sibling.append(0)
    return sibling^


def _read_content(
    descriptor: Int32, mut status: FileStatus, mut form: Representation
) raises -> Int:
    for _ in range(_TRIES):
        var octets = List[UInt8](length=status.octets, fill=0)
        var count = 0
        while count < len(octets):
            var result = read_at(descriptor, Span(octets)[count:], count)
            if result < 0:
                return result
            if result == 0:
                break
            count += result
        var after = FileStatus()
        var problem = status_of_open(descriptor, after)
        if problem < 0:
            return problem
        if count == len(octets) and after == status:
            form.octets = count
            try:
                form.content = SealedContent(Span(octets))
            except:
                return -ENOMEM
            form.validators = Validators(content_tag(Span(octets)))
            return 0
        status = after
    return -EAGAIN


def _tag_of_status(status: FileStatus) -> Optional[ETag]:
    # A time that no change moves tells nothing. A change in place may restore the
    # time of modification, and no program sets that of the status.
    if status.modified_ns // _NS_PER_S <= 1:
        return None
    var text = Buffer()
    text.append_octet(UInt8(ord('"')))
    text.append_hexadecimal(status.octets)
    text.append_octet(UInt8(ord("-")))
    text.append_hexadecimal(status.modified_ns)
    text.append_octet(UInt8(ord("-")))
    text.append_hexadecimal(status.changed_ns)
    text.append_octet(UInt8(ord("-")))
    text.append_hexadecimal(Int(status.inode & UInt64(Int.MAX)))
    text.append_octet(UInt8(ord('"')))
    return ETag(unsafe_wire=text.span())
