"""Gives each test a folder of its own, and reads errors."""

from std.os import listdir, remove, rmdir
from std.tempfile import mkdtemp

from flare.sqlite import Database, SqliteError

from tests.asserting import assert_equal


struct Scratch(Movable):
    """A folder that a test removes at its end."""

    var folder: String

    def __init__(out self) raises:
        self.folder = mkdtemp(prefix="flare_sqlite_")

    def path(self, name: StringSlice = "a.db") -> String:
        return String(self.folder, "/", name)

    def remove(self) raises:
        for name in listdir(self.folder):
            remove(String(self.folder, "/", name))
        rmdir(self.folder)


def error_of(db: Database, sql: StringSlice) raises -> SqliteError:
    """Returns the error of a statement of one column."""
    try:
        _ = db.query_one[Int](sql)
    except e:
        return sqlite_error(e)
    raise Error("no error: ", sql)


def sqlite_error(e: Error) raises -> SqliteError:
    var error = SqliteError.of(e)
    if not error:
        raise Error("another error: ", e)
    return error.take()


def expect(kind: Int, error: SqliteError) raises:
    assert_equal(error.kind, kind, String(error))
