"""Keeps the cookies of a client in a file, which curl, wget and Python read
too.

A helper thread does all work with the disk.
"""

from flare.runtime.blocking import blocking
from flare.sys.errno import EFBIG, EINVAL, EIO, EISDIR, ENOENT
from flare.sys.file import close_descriptor
from flare.sys.file_writing import (
    open_to_write,
    rename_file,
    sync_file,
    write_at,
)
from flare.sys.folder import (
    FileStatus,
    open_to_read,
    read_at,
    status_of_open,
)
from flare.sys.random import fill_random
from flare.sys.socket_file import remove_file

from ..client_error import Phase
from ..cookie_jar import CookieJar
from .download.file_error import FileError, file_failure

comptime COOKIE_FILE_OCTETS_MAX = 16 << 20
"""The longest file of cookies that is read: 3,000 of the longest cookies."""

# A cookie is often all that a server asks for.
comptime _MODE = 0o600
comptime _SUFFIX_OCTETS = 8


def load_cookies(
    path: StringSlice, var jar: CookieJar = CookieJar()
) raises -> CookieJar:
    """Reads cookies from a `cookies.txt`, for `ClientConfig(cookies=…)`.

    Args:
        path: The path of the file.
        jar: The jar that gets the cookies; an empty one by default.

    Returns:
        The jar. It has no further cookies if there is no such file, so that a
        program can begin without one. Cookies that no server could have set
        are ignored.

    Raises:
        Error: `client.file prepare`, or `message.bad_cookie` with the number of
            the line, if the file has another form.
    """
    var own_path = String(path)

    def read() raises {var own_path^} -> List[UInt8]:
        return _octets_of(own_path)

    var octets = blocking(read^)
    _ = jar.read_text(Span(octets))
    return jar^


def save_cookies(jar: CookieJar, path: StringSlice) raises:
    """Writes the cookies of a jar to a `cookies.txt`.

    The file appears whole or not at all, and only its owner may read it. It
    also has the cookies that end with the session: a program decides when its
    session ends.

    Args:
        jar: The jar.
        path: The path of the file.

    Raises:
        Error: `client.file prepare`.
    """
    var own_path = String(path)
    var text = jar.to_text()

    def write() raises {var own_path^, var text^}:
        _write(own_path, text.as_bytes())

    blocking(write^)


def _octets_of(path: String) raises -> List[UInt8]:
    var octets = List[UInt8]()
    if not path or path.find("\0") >= 0:
        raise _failure(FileError.OPEN, EINVAL, path)
    var name = String(path, "\0")
    var opened = open_to_read(name.as_bytes())
    if opened == -ENOENT:
        return octets^
    if opened < 0:
        raise _failure(FileError.OPEN, opened, path)
    var descriptor = Int32(opened)
    var problem = _read_all(descriptor, octets)
    _ = close_descriptor(descriptor)
    if problem < 0:
        raise _failure(FileError.READ, problem, path)
    return octets^


def _read_all(descriptor: Int32, mut octets: List[UInt8]) -> Int:
    var status = FileStatus()
    var problem = status_of_open(descriptor, status)
    if problem < 0:
        return problem
    if not status.is_regular():
        return -EISDIR if status.is_folder() else -EINVAL
    if status.octets > COOKIE_FILE_OCTETS_MAX:
        return -EFBIG
    octets.resize(status.octets, 0)
    var count = 0
    while count < len(octets):
        var got = read_at(descriptor, Span(octets)[count:], count)
        if got <= 0:
            # Another program has cut it meanwhile.
            return got if got < 0 else -EIO
        count += got
    return 0


def _write(path: String, octets: Span[UInt8, _]) raises:
    if not path or path.find("\0") >= 0:
        raise _failure(FileError.OPEN, EINVAL, path)
    # Another program may save at the same time.
    var suffix = List[UInt8](length=_SUFFIX_OCTETS, fill=0)
    _ = fill_random(Span(suffix))
    var new_path = String(path, ".")
    for octet in suffix:
        new_path.write(Int(octet))
    var opened = open_to_write(new_path, _MODE, must_create=True)
    if opened < 0:
        raise _failure(FileError.OPEN, opened, new_path)
    var descriptor = Int32(opened)
    var operation = FileError.WRITE
    var problem = write_at(descriptor, octets, 0)
    if problem == 0:
        operation = FileError.SYNC
        problem = sync_file(descriptor)
    _ = close_descriptor(descriptor)
    if problem == 0:
        operation = FileError.RENAME
        problem = rename_file(new_path, path)
    if problem < 0:
        _ = remove_file(new_path)
        raise _failure(operation, problem, path)


def _failure(operation: StaticString, problem: Int, path: String) -> Error:
    return file_failure(Phase.PREPARE, operation, problem, path)
