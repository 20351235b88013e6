"""Measures `flare.sqlite`: point reads, and commits that reach the disk.

The file lies in `build/benchmark/`, so the figures of commits are those of its
file system.
"""

from std.memory import ArcPointer
from std.os import makedirs, remove
from std.os.path import exists
from std.time import perf_counter_ns

from measure import BATCHES, Case, measure

from flare.runtime import JoinHandle, spawn
from flare.sqlite import Database, DatabaseOptions, Synchronous

comptime ROWS = 100_000
comptime FIBERS = 64
comptime READS = 2_000
comptime COMMITS = 50
comptime FOLDER: StaticString = "build/benchmark"


@fieldwise_init
struct Item(Copyable, Movable):
    var id: Int
    var name: String
    var price: Float64


def fill(path: String) raises:
    """Creates the table of the reads and that of the writes.

    Args:
        path: The path of the file.

    Raises:
        Error: If it cannot be written.
    """
    var db = Database(path)
    _ = db.execute(
        "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price REAL)"
    )
    _ = db.execute(
        (
            "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n"
            " WHERE i < $1) INSERT INTO items SELECT i, 'item ' || i, i / 4.0"
            " FROM n"
        ),
        ROWS,
    )
    _ = db.execute("CREATE TABLE log (id INTEGER PRIMARY KEY, line TEXT)")


def read(db: Database, i: Int) raises -> Int:
    """Reads one row.

    Args:
        db: The database.
        i: Which one.

    Returns:
        The id.

    Raises:
        Error: If it is not there.
    """
    return db.query_one[Item](
        "SELECT id, name, price FROM items WHERE id = $1",
        i * 7_919 % ROWS + 1,
    ).id


def read_inline(path: String) raises:
    """Prints the line of reads on the calling thread.

    Args:
        path: The path of the file.

    Raises:
        Error: If a read fails.
    """
    var db = Database(path, DatabaseOptions(inline_reads=True))

    def one(i: Int) raises {imm db} -> Int:
        return read(db, i)

    measure("sqlite/point read, inline", one)


def read_by_readers(path: String, fibers: Int) raises:
    """Prints the line of reads on the threads of the database.

    Args:
        path: The path of the file.
        fibers: How many read at the same time.

    Raises:
        Error: If a read fails.
    """
    var db = ArcPointer(Database(path))
    var result = Case(String("sqlite/point read, ", fibers, " fibers"))
    for _ in range(BATCHES):
        var began = perf_counter_ns()
        var handles = List[JoinHandle[Int]]()
        for fiber in range(fibers):

            def several() raises {var db, var fiber, var fibers} -> Int:
                var sum = 0
                for i in range(READS // fibers):
                    sum += read(db[], i * fibers + fiber)
                return sum

            handles.append(spawn(several))
        while len(handles) > 0:
            _ = handles.pop().join()
        result.add(Int(perf_counter_ns() - began), READS // fibers * fibers)
    result.report()


def write(path: String, fibers: Int) raises:
    """Prints the line of commits that wait for the disk.

    Args:
        path: The path of the file.
        fibers: How many write at the same time.

    Raises:
        Error: If a write fails.
    """
    var options = DatabaseOptions(synchronous=Synchronous.FULL)
    var db = ArcPointer(Database(path, options))
    var result = Case(String("sqlite/write, FULL, ", fibers, " fibers"))
    for _ in range(BATCHES):
        var began = perf_counter_ns()
        var handles = List[JoinHandle[Int]]()
        for _ in range(fibers):

            def several() raises {var db} -> Int:
                for i in range(COMMITS):
                    _ = db[].execute(
                        "INSERT INTO log (line) VALUES ($1)", String("line", i)
                    )
                return 0

            handles.append(spawn(several))
        while len(handles) > 0:
            _ = handles.pop().join()
        result.add(Int(perf_counter_ns() - began), COMMITS * fibers)
    result.report()


def main() raises:
    """Runs the measurements.

    Raises:
        Error: If one of them cannot run.
    """
    var folder = String(FOLDER)
    makedirs(folder, exist_ok=True)
    var path = String(folder, "/bench.sqlite")
    for end in ["", "-wal", "-shm"]:
        if exists(path + end):
            remove(path + end)
    fill(path)
    read_inline(path)
    read_by_readers(path, 1)
    read_by_readers(path, FIBERS)
    write(path, 1)
    write(path, FIBERS)
