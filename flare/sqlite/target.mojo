"""Describes the file of a database, and the state that its threads share."""

from std.atomic import Atomic, Ordering

from flare.core import PointerTo, heap_create, heap_destroy
from flare.sys.libsqlite import Sqlite
from flare.sys.thread import Lock

from .options import DatabaseOptions


struct TargetState(Movable):
    """The state that the threads of a database share. It lies on the heap."""

    var library: Sqlite
    """The library."""
    var path: List[UInt8]
    """The path of the file, with NUL."""
    var options: DatabaseOptions
    """The bounds."""
    var is_memory: Bool
    """Whether the database lies in memory, for one connection."""
    var opening: Lock
    """Held while a connection opens, so that the first one makes the file."""
    var closing: UInt32
    """1 while the database closes; atomic."""
    var open_connections: UInt32
    """How many connections are open; atomic."""
    var busy: UInt32
    """How many threads run a statement or have a transaction; atomic."""
    var open_failed: UInt32
    """Whether the last attempt to open a connection failed; atomic."""
    var commits: UInt64
    """Commits of changes outside of transactions; atomic."""
    var grouped: UInt64
    """Changes that shared a commit; atomic."""

    def __init__(
        out self,
        library: Sqlite,
        path: StringSlice,
        var options: DatabaseOptions,
    ):
        """Creates the state before the first connection.

        Args:
            library: The library.
            path: The path of the file, without NUL.
            options: The bounds.
        """
        self.library = library
        self.path = List[UInt8](path.as_bytes())
        self.path.append(0)
        self.options = options^
        self.is_memory = path == ":memory:"
        self.opening = Lock.create()
        self.closing = 0
        self.open_connections = 0
        self.busy = 0
        self.open_failed = 0
        self.commits = 0
        self.grouped = 0


@fieldwise_init
struct Target(TrivialRegisterPassable):
    """A handle to the state that the threads of a database share."""

    var state: PointerTo[TargetState]
    """The heap state."""

    @staticmethod
    def create(
        library: Sqlite, path: StringSlice, var options: DatabaseOptions
    ) -> Self:
        """Creates the state before the first connection.

        Args:
            library: The library.
            path: The path of the file, without NUL.
            options: The bounds.

        Returns:
            A handle.
        """
        return Self(heap_create(TargetState(library, path, options^)))

    def closing_word(self) -> PointerTo[UInt32]:
        """Returns the word that stops all statements when it is not 0.

        Returns:
            Its address.
        """
        return Pointer(to=self.state[].closing).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    def path_text(self) -> String:
        """Returns the path of the file.

        Returns:
            The path, for errors.
        """
        ref path = self.state[].path
        return String(from_utf8_lossy=Span(path)[: len(path) - 1])

    def count_open(self, difference: Int):
        """Counts an opened or closed connection.

        Args:
            difference: 1 or -1.
        """
        _ = Atomic[UInt32].fetch_add(
            Pointer(to=self.state[].open_connections),
            UInt32(difference & 0xFFFFFFFF),
        )

    def count_busy(self, difference: Int):
        """Counts a thread that begins or ends its work.

        Args:
            difference: 1 or -1.
        """
        _ = Atomic[UInt32].fetch_add(
            Pointer(to=self.state[].busy), UInt32(difference & 0xFFFFFFFF)
        )

    def set_open_failed(self, failed: Bool):
        """Remembers the outcome of the last attempt to open a connection.

        Args:
            failed: Whether it failed.
        """
        Atomic[UInt32].store[ordering=Ordering.RELEASE](
            Pointer(to=self.state[].open_failed), UInt32(Int(failed))
        )

    def count_commit(self, changes: Int):
        """Counts a commit.

        Args:
            changes: How many changes it has made durable.
        """
        _ = Atomic[UInt64].fetch_add(Pointer(to=self.state[].commits), 1)
        if changes > 1:
            _ = Atomic[UInt64].fetch_add(
                Pointer(to=self.state[].grouped), UInt64(changes)
            )

    def destroy(self):
        """Frees the state, which no thread uses any more."""
        self.state[].opening.destroy()
        heap_destroy(self.state)
