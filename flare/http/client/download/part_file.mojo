"""Keeps the octets of a file that have arrived, until the file is whole.

`NAME.part` has the octets. `NAME.part.tag` is the record of their origin
(`part_record`): without one, they are not continued. The part is locked
while it is written, and takes the name of the file by one rename.

A helper thread does all work with the disk, except that `close` removes a
useless part. It uses copies, because the fiber parks meanwhile.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime.blocking import blocking
from flare.sys.clock import unix_seconds
from flare.sys.errno import EEXIST, EINVAL, EISDIR, ENOENT
from flare.sys.file import close_descriptor
from flare.sys.file_writing import (
    lock_file,
    open_to_write,
    rename_file,
    set_length,
    sync_file,
    write_at,
)
from flare.sys.folder import (
    FileStatus,
    read_at,
    status_of_open,
    status_of_path,
)
from flare.sys.socket_file import (
    FileIdentity,
    identify_file,
    identify_open_file,
    remove_file,
)

from ...client_error import Phase
from .file_error import FileError, file_failure
from .part_record import RECORD_OCTETS_MAX, record_of, validator_in

# Masked by the umask, as for any file that a program creates.
comptime _MODE = 0o666
# A URL may contain secrets.
comptime _RECORD_MODE = 0o600
# Each attempt that fails means that another download has ended meanwhile.
comptime _ATTEMPTS_MAX = 100


struct PartFileState(Movable):
    """The state of an open and locked part."""

    var octets: Int
    """How many octets it has."""
    var validator: String
    """The validator of the whole; empty if it is unknown."""
    var path: String
    """The path of the whole file."""
    var url: String
    """The URL that is asked now."""
    var descriptor: Int32
    """The part."""
    var has_begun: Bool
    """Whether octets of this download are in it."""
    var is_renamed: Bool
    """Whether it has become the file."""

    def __init__(out self, *, path: String, url: String, descriptor: Int32):
        """Creates the state of an empty part.

        Args:
            path: The path of the whole file.
            url: The URL that is asked now.
            descriptor: The part, open and locked.
        """
        self.octets = 0
        self.validator = String()
        self.path = path
        self.url = url
        self.descriptor = descriptor
        self.has_begun = False
        self.is_renamed = False


@fieldwise_init
struct PartFile(TrivialRegisterPassable):
    """An open and locked part of a file."""

    var state: PointerTo[PartFileState]
    """The heap state."""

    @staticmethod
    def open(path: StringSlice, var url: String) raises -> Self:
        """Opens the part of a file, or creates it.

        Args:
            path: The path of the whole file.
            url: The URL that is asked now.

        Returns:
            The part; call `close` at its end.

        Raises:
            ClientError: `client.file prepare`.
        """
        var own_path = String(path)

        def open_part() raises {var own_path^, var url^} -> PartFile:
            return _opened(own_path, url)

        return blocking(open_part^)

    def close(self):
        """Closes the part, which must not be used afterwards. It stays on the
        disk if a later download can continue it.
        """
        ref s = self.state[]
        var is_useless = s.octets == 0 or (s.has_begun and not s.validator)
        if is_useless and not s.is_renamed:
            _ = remove_file(_part_of(s.path))
            _ = remove_file(_record_of(s.path))
        _ = close_descriptor(s.descriptor)
        heap_destroy(self.state)

    def can_continue(self) -> Bool:
        """Returns whether a request can ask for the rest.

        Returns:
            False if the whole must be asked for.
        """
        return self.state[].octets > 0 and Bool(self.state[].validator)

    def begin(self, var validator: String) raises:
        """Drops the octets, and records the origin of the next ones.

        Args:
            validator: The validator of the response; empty if it has none.

        Raises:
            ClientError: `client.file content`.
        """
        var descriptor = self.state[].descriptor
        var path = self.state[].path
        var record = List[UInt8]()
        if validator:
            record = record_of(validator, self.state[].url)
        if len(record) == 0:
            validator = String()

        def start() raises {var descriptor, var path^, var record^}:
            _begin(descriptor, path, record)

        blocking(start^)
        self.state[].octets = 0
        self.state[].validator = validator^
        self.state[].has_begun = True

    def append(self, octets: Span[UInt8, MutUntrackedOrigin]) raises:
        """Writes octets after the others.

        Args:
            octets: The octets, on the heap.

        Raises:
            ClientError: `client.file content`.
        """
        var descriptor = self.state[].descriptor
        var offset = self.state[].octets

        def write() raises {var descriptor, var octets, var offset} -> Int:
            return write_at(descriptor, octets, offset)

        self.state[].has_begun = True
        var problem = blocking(write)
        if problem < 0:
            raise file_failure(
                Phase.CONTENT,
                FileError.WRITE,
                problem,
                _part_of(self.state[].path),
            )
        self.state[].octets += len(octets)

    def forget_validator(self):
        """Makes the octets useless for a later download."""
        self.state[].validator = String()
        self.state[].has_begun = True

    def finish(self) raises:
        """Writes the part to the disk, and gives it the name of the file.

        Raises:
            ClientError: `client.file content`.
        """
        var descriptor = self.state[].descriptor
        var path = self.state[].path

        def rename() raises {var descriptor, var path^}:
            _finish(descriptor, path)

        blocking(rename^)
        self.state[].is_renamed = True


def _opened(path: String, url: String) raises -> PartFile:
    _check_target(path)
    var part_path = _part_of(path)
    for _ in range(_ATTEMPTS_MAX):
        var opened = open_to_write(part_path, _MODE)
        if opened < 0:
            raise _cannot_prepare(FileError.OPEN, opened, part_path)
        var descriptor = Int32(opened)
        var problem = lock_file(descriptor)
        if problem < 0:
            _ = close_descriptor(descriptor)
            raise _cannot_prepare(FileError.LOCK, problem, part_path)
        if not _is_at(descriptor, part_path):
            # The download that had the lock has renamed or removed the part.
            _ = close_descriptor(descriptor)
            continue
        var status = FileStatus()
        problem = status_of_open(descriptor, status)
        if problem == 0 and not status.is_regular():
            problem = -EINVAL
        if problem < 0:
            _ = close_descriptor(descriptor)
            raise _cannot_prepare(FileError.OPEN, problem, part_path)
        var part = PartFileState(path=path, url=url, descriptor=descriptor)
        part.octets = status.octets
        part.validator = _recorded(path, url)
        return PartFile(heap_create(part^))
    raise _cannot_prepare(FileError.LOCK, EEXIST, part_path)


def _check_target(path: String) raises:
    # A rename would replace a device as well.
    if not path or path.find("\0") >= 0:
        raise _cannot_prepare(FileError.OPEN, EINVAL if path else ENOENT, path)
    var status = FileStatus()
    var name = String(path, "\0")
    if status_of_path(name.as_bytes(), status) == 0 and not status.is_regular():
        raise _cannot_prepare(
            FileError.OPEN, EISDIR if status.is_folder() else EINVAL, path
        )


def _recorded(path: String, url: String) -> String:
    var opened = open_to_write(_record_of(path), _RECORD_MODE, creates=False)
    if opened < 0:
        return String()
    var octets = List[UInt8](length=RECORD_OCTETS_MAX + 1, fill=0)
    var count = read_at(Int32(opened), Span(octets), 0)
    _ = close_descriptor(Int32(opened))
    if count <= 0 or count > RECORD_OCTETS_MAX:
        return String()
    return validator_in(Span(octets)[:count], url, unix_seconds())


def _begin(descriptor: Int32, path: String, record: List[UInt8]) raises:
    var part_path = _part_of(path)
    var record_path = _record_of(path)
    # Octets without a record are part of nothing. A record of other octets
    # would be a lie: it goes first.
    var problem = remove_file(record_path)
    if problem < 0 and problem != -ENOENT:
        raise file_failure(
            Phase.CONTENT, FileError.REMOVE, problem, record_path
        )
    problem = set_length(descriptor, 0)
    if problem < 0:
        raise file_failure(
            Phase.CONTENT, FileError.TRUNCATE, problem, part_path
        )
    if len(record) == 0:
        return
    var opened = open_to_write(record_path, _RECORD_MODE, must_create=True)
    if opened < 0:
        raise file_failure(Phase.CONTENT, FileError.OPEN, opened, record_path)
    problem = write_at(Int32(opened), Span(record), 0)
    _ = close_descriptor(Int32(opened))
    if problem < 0:
        raise file_failure(Phase.CONTENT, FileError.WRITE, problem, record_path)


def _finish(descriptor: Int32, path: String) raises:
    var part_path = _part_of(path)
    var problem = sync_file(descriptor)
    if problem < 0:
        raise file_failure(Phase.CONTENT, FileError.SYNC, problem, part_path)
    # Another program may have put another file there.
    problem = -ENOENT
    if _is_at(descriptor, part_path):
        problem = rename_file(part_path, path)
    if problem < 0:
        raise file_failure(Phase.CONTENT, FileError.RENAME, problem, path)
    _ = remove_file(_record_of(path))


def _is_at(descriptor: Int32, path: String) -> Bool:
    var named, open = FileIdentity(), FileIdentity()
    var mode = 0
    return (
        identify_file(path, named) == 0
        and identify_open_file(descriptor, open, mode) == 0
        and named == open
    )


@no_inline
def _cannot_prepare(
    operation: StaticString, problem: Int, path: String
) -> Error:
    return file_failure(Phase.PREPARE, operation, problem, path)


def _part_of(path: String) -> String:
    return String(path, ".part")


def _record_of(path: String) -> String:
    return String(path, ".part.tag")
