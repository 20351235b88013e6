"""Makes folders for tests. Each test removes its folder at its end."""

from std.os import listdir, makedirs, remove, rmdir
from std.os.path import isdir, islink
from std.tempfile import mkdtemp

from flare.sys.file_writing import rename_file


struct Folder(Movable):
    """A folder below the temporary one."""

    var path: String
    """Its path."""

    def __init__(out self) raises:
        """Makes an empty folder."""
        self.path = mkdtemp(prefix="flare_files_")

    def remove(self) raises:
        """Removes the folder with all that is in it."""
        _remove_all(self.path)

    def write(self, name: StringSlice, content: StringSlice) raises:
        """Writes a file, in folders that are made if they do not exist.

        Args:
            name: The path below the folder.
            content: The content.
        """
        var path = self.of(name)
        var slash = path.rfind("/")
        makedirs(String(path[byte=:slash]), exist_ok=True)
        with open(path, "w") as file:
            file.write(content)

    def rename(self, name: StringSlice, new_name: StringSlice) raises:
        """Gives a file another name.

        Args:
            name: The path below the folder.
            new_name: The new one.
        """
        if rename_file(self.of(name), self.of(new_name)) != 0:
            raise Error("cannot rename ", name)

    def of(self, name: StringSlice) -> String:
        """Returns the whole path of a file.

        Args:
            name: The path below the folder.

        Returns:
            The path.
        """
        return String(self.path, "/", name)


def _remove_all(path: String) raises:
    for name in listdir(path):
        var child = String(path, "/", name)
        if isdir(child) and not islink(child):
            _remove_all(child)
        else:
            remove(child)
    rmdir(path)
