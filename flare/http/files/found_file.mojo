"""Represents the result of a search for a file."""

from flare.sys.errno import EISDIR

from .root_folder import names_nothing
from .served_file import ServedFile


struct FoundFile(Movable):
    """The result of a search."""

    var file: Optional[ServedFile]
    """The file, if there is one."""
    var problem: Int
    """Otherwise the negated errno: `-EISDIR` for a folder that was asked for
    without `/` at the end, and that has an index file."""
    var was_kept: Bool
    """Whether the file was in the store, and is still the same."""
    var checked_ms: Optional[Int]
    """When a helper thread began to read the file, if one did."""

    def __init__(out self, file: ServedFile, *, was_kept: Bool = False):
        """Creates the result of a search that was successful.

        Args:
            file: The file.
            was_kept: Whether the file was in the store.
        """
        self.file = file
        self.problem = 0
        self.was_kept = was_kept
        self.checked_ms = None

    def __init__(out self, *, problem: Int):
        """Creates the result of a search without success.

        Args:
            problem: The negated errno.
        """
        self.file = None
        self.problem = problem
        self.was_kept = False
        self.checked_ms = None

    def is_folder(self) -> Bool:
        """Returns whether the path leads to a folder that has an index file,
        and lacks the `/` at its end.

        Returns:
            True if the client is to be redirected.
        """
        return self.problem == -EISDIR

    def is_missing(self) -> Bool:
        """Returns whether there is no such file.

        Returns:
            True for 404.
        """
        return names_nothing(self.problem)
