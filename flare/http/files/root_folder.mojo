"""Opens files beneath a folder, and nothing outside of it."""

from flare.core import find_octet
from flare.sys.errno import EAGAIN, ELOOP, ENOENT, ENOSYS, ENOTDIR
from flare.sys.file import close_descriptor
from flare.sys.folder import (
    FileStatus,
    open_beneath,
    open_file_in,
    open_folder,
    open_folder_in,
    status_beneath,
    status_of_open,
    status_of_path,
)

# A rename elsewhere in the folder can disturb the kernel's check.
comptime _TRIES = 3
comptime _SLASH: UInt8 = 47


struct RootFolder(Movable):
    """A folder whose files are served.

    It has a descriptor of its own. The path may lead to another folder later,
    for example if a symbolic link is replaced: `replacement` opens that one.
    """

    var has_openat2: Bool
    """Whether the kernel checks whole paths. Otherwise each component is opened
    by itself, and symbolic links are refused."""
    var _path: List[UInt8]
    var _descriptor: Int32
    var _status: FileStatus

    def __init__(out self, path: StringSlice):
        """Creates a folder that is not open yet.

        Args:
            path: The path, without NUL.
        """
        self._path = List[UInt8](capacity=path.byte_length() + 1)
        self._path.extend(path.as_bytes())
        self._path.append(0)
        self._descriptor = -1
        self._status = FileStatus()
        self.has_openat2 = True

    def __deinit__(deinit self):
        """Closes the folder."""
        if self._descriptor >= 0:
            _ = close_descriptor(self._descriptor)

    def path(self) -> StringSlice[origin_of(self._path)]:
        """Returns the path of the folder.

        Returns:
            The path as it was given.
        """
        return StringSlice(
            unsafe_from_utf8=Span(self._path)[: len(self._path) - 1]
        )

    def replacement(self, mut problem: Int) -> Optional[Self]:
        """Opens the folder to which the path leads now, if it is another one or
        none is open.

        Args:
            problem: Set to 0, or to the negated errno if it cannot be opened.

        Returns:
            The folder; `None` if it is the same, or cannot be opened.
        """
        var status = FileStatus()
        problem = status_of_path(Span(self._path), status)
        if problem < 0 or (
            self._descriptor >= 0
            and status.inode == self._status.inode
            and status.device == self._status.device
        ):
            return None
        var opened = open_folder(Span(self._path))
        if opened < 0:
            problem = opened
            return None
        var folder = Self(self.path())
        folder.has_openat2 = self.has_openat2
        folder._descriptor = Int32(opened)
        problem = status_of_open(folder._descriptor, folder._status)
        if problem < 0:
            return None
        return folder^

    def probe(mut self) -> Int:
        """Finds out whether the kernel checks whole paths. Only a kernel that
        does not know the call counts as one that does not.

        Returns:
            0, or the negated errno if the folder cannot be read.
        """
        var dot: List[UInt8] = [UInt8(ord(".")), 0]
        var result = open_beneath(self._descriptor, Span(dot))
        self.has_openat2 = result != -ENOSYS
        if not self.has_openat2:
            result = open_file_in(self._descriptor, Span(dot))
        if result < 0:
            return result
        _ = close_descriptor(Int32(result))
        return 0

    def status(self, path: Span[UInt8, _], mut status: FileStatus) -> Int:
        """Reads the status of a file, to compare it with that of an open one.

        Args:
            path: The relative path, with a NUL at its end.
            status: Set to the status.

        Returns:
            0, or the negated errno.
        """
        return status_beneath(self._descriptor, path, status)

    def open(self, path: Span[UInt8, _], mut status: FileStatus) -> Int:
        """Opens a file or folder to read it.

        Args:
            path: The relative path, with a NUL at its end.
            status: Set to the status of the open file.

        Returns:
            The descriptor, or the negated errno.
        """
        var result = -EAGAIN
        if self.has_openat2:
            for _ in range(_TRIES):
                result = open_beneath(self._descriptor, path)
                if result != -EAGAIN:
                    break
        else:
            result = self._walk(path)
        if result < 0:
            return result
        var problem = status_of_open(Int32(result), status)
        if problem < 0:
            _ = close_descriptor(Int32(result))
            return problem
        return result

    def _walk(self, path: Span[UInt8, _]) -> Int:
        var folder = self._descriptor
        var rest = path
        var name = List[UInt8](capacity=256)
        while True:
            var end = find_octet(rest, _SLASH)
            name.clear()
            name.extend(rest[:end])
            if end == len(rest):
                break
            name.append(0)
            rest = rest[end + 1 :]
            var result = open_folder_in(folder, Span(name))
            self._close(folder)
            if result < 0:
                return result
            folder = Int32(result)
        # The NUL of the path ends the last name.
        var result = open_file_in(folder, Span(name))
        self._close(folder)
        return result

    def _close(self, folder: Int32):
        if folder != self._descriptor:
            _ = close_descriptor(folder)


def names_nothing(problem: Int) -> Bool:
    """Returns whether an error of `RootFolder.open` means that there is no such
    file beneath the folder.

    Args:
        problem: The negated errno.

    Returns:
        False if the file may exist, but cannot be opened.
    """
    return (
        problem == -ENOENT
        or problem == -ENOTDIR
        or problem == -ELOOP
        or problem == -_EXDEV
        or problem == -_ENAMETOOLONG
        or problem == -_ENXIO
        or problem == -_EINVAL
    )


comptime _ENXIO = 6
comptime _EXDEV = 18
comptime _EINVAL = 22
comptime _ENAMETOOLONG = 36
