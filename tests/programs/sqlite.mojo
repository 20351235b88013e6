"""Runs one case of the tests of `flare.sqlite`.

Usage: sqlite (io_uring | epoll) PATH CASE [NUMBER]. It ends with an error if the
case fails.
"""

from std.memory import ArcPointer
from std.sys import argv
from std.testing import assert_equal, assert_true

from flare.runtime import deadline_in, sleep, spawn
from flare.runtime.backend import BackendKind
from flare.runtime.private_loop import begin_private_loop, end_private_loop
from flare.runtime.reactor import ReactorConfig
from flare.runtime.task import JoinHandle
from flare.sqlite import Database, DatabaseOptions, SqliteError, Synchronous
from flare.sys.process import exit_process, fork_process, wait_for_end


def main() raises:
    var kind = BackendKind.IO_URING
    if argv()[1] == "epoll":
        kind = BackendKind.EPOLL
    var begun = begin_private_loop(ReactorConfig(backend=kind))
    if begun[0] != 0:
        raise Error("no loop: ", begun[0])
    var number = Int(argv()[4]) if len(argv()) > 4 else 1
    run(String(argv()[2]), String(argv()[3]), number)
    end_private_loop()


def run(path: String, name: String, number: Int) raises:
    if name == "acknowledge":
        acknowledge(path, number)
    elif name == "hold":
        hold(path, number)
    elif name == "write":
        write(path, number)
    elif name == "fork":
        fork(path)
    elif name == "fill":
        fill(path)
    elif name == "soak":
        soak(path, number)
    elif name == "try":
        try_one(path)
    elif name == "retry":
        retry(path)
    else:
        raise Error("no such case: ", name)


def acknowledge(path: String, first: Int) raises:
    """Writes until it is killed, and prints what was acknowledged."""
    var options = DatabaseOptions(transaction_timeout_ms=60_000)
    var db = ArcPointer(Database(path, options))
    _ = db[].execute("CREATE TABLE IF NOT EXISTS singles (id INTEGER)")
    _ = db[].execute("CREATE TABLE IF NOT EXISTS halves (id INTEGER)")
    var handles = List[JoinHandle[Int]]()
    for fiber in range(20):

        def writes() raises {var db, var first, var fiber} -> Int:
            var id = first + fiber
            while True:
                if fiber % 10 == 0:
                    with db[].transaction() as tx:
                        _ = tx.execute("INSERT INTO halves VALUES ($1)", id)
                        sleep(1)
                        _ = tx.execute("INSERT INTO halves VALUES ($1)", id)
                    print("halves", id, flush=True)
                else:
                    _ = db[].execute("INSERT INTO singles VALUES ($1)", id)
                    print("singles", id, flush=True)
                id += 20

        handles.append(spawn(writes))
    while len(handles) > 0:
        _ = handles.pop().join()


def hold(path: String, duration_ms: Int) raises:
    """Holds the lock for writing for a time."""
    var options = DatabaseOptions(transaction_timeout_ms=60_000)
    var db = Database(path, options)
    _ = db.execute("CREATE TABLE IF NOT EXISTS singles (id INTEGER)")
    with db.transaction() as tx:
        _ = tx.execute("INSERT INTO singles VALUES (-1)")
        print("held", flush=True)
        sleep(duration_ms)


def write(path: String, count: Int) raises:
    """Writes rows from several fibers, among other processes."""
    var options = DatabaseOptions(
        busy_timeout_ms=20_000,
        query_timeout_ms=30_000,
        acquire_timeout_ms=30_000,
        synchronous=Synchronous.FULL,
    )
    var db = ArcPointer(Database(path, options))
    _ = db[].execute("CREATE TABLE IF NOT EXISTS singles (id INTEGER)")
    var handles = List[JoinHandle[Int]]()
    for _ in range(4):

        def writes() raises {var db, var count} -> Int:
            for i in range(count):
                _ = db[].execute("INSERT INTO singles VALUES ($1)", i)
                assert_true(
                    db[].query_one[Int]("SELECT count(*) FROM singles") > 0
                )
            return 0

        handles.append(spawn(writes))
    while len(handles) > 0:
        _ = handles.pop().join()


def fork(path: String) raises:
    """Uses a database before and after a fork."""
    var used = Database(path)
    _ = used.execute("CREATE TABLE singles (id INTEGER)")
    var unused = Database(path)
    var child = fork_process()
    if child == 0:
        var code = 1
        try:
            assert_equal(kind_of(used), SqliteError.CLOSED)
            used.close()
            # It would wait on the loop of its parent, so this is all.
            code = 0
        except e:
            print(e)
        exit_process(code)
    assert_equal(wait_for_end(child).exit_code(), 0)
    assert_equal(used.execute("INSERT INTO singles VALUES (1)").rows, 1)
    assert_equal(unused.query_one[Int]("SELECT count(*) FROM singles"), 1)


def fill(path: String) raises:
    """Writes until the disk is full, then removes rows and goes on."""
    var db = Database(path)
    _ = db.execute("CREATE TABLE singles (id INTEGER, octets BLOB)")
    var rows = 0
    var octets = List[UInt8](length=2_000, fill=7)
    while True:
        try:
            _ = db.execute("INSERT INTO singles VALUES ($1, $2)", rows, octets)
            rows += 1
        except e:
            var error = SqliteError.of(e)
            if not error or not error.value().is_full():
                raise e^
            break
    assert_true(rows > 10)
    assert_equal(db.query_one[Int]("SELECT count(*) FROM singles"), rows)
    print(rows)


def soak(path: String, count: Int) raises:
    """Runs statements with faults, and prints the growth of the memory between
    a third and the end."""
    var options = DatabaseOptions(reader_threads=1, waiting_max=64)
    var db = ArcPointer(Database(path, options))
    _ = db[].execute("CREATE TABLE singles (id INTEGER PRIMARY KEY, v TEXT)")
    var before = 0
    for round in range(3):
        if round == 1:
            before = resident_kib()
        var handles = List[JoinHandle[Int]]()
        for fiber in range(100):

            def works() raises {var db, var count, var fiber} -> Int:
                var failures = 0
                for i in range(count // 300):
                    try:
                        with deadline_in(1 if i % 7 == 0 else 10_000):
                            fault(db[], fiber * 7 + i)
                    except:
                        failures += 1
                return failures

            handles.append(spawn(works))
        var failures = 0
        while len(handles) > 0:
            var handle = handles.pop()
            if len(handles) % 10 == 3:
                handle.cancel()
            try:
                failures += handle^.join()
            except e:
                assert_true("net.cancelled" in String(e), String(e))
        assert_true(failures > 0)
    var counts = db[].statistics()
    assert_equal(counts.waiting, 0)
    print(resident_kib() - before, counts.statements, counts.errors)


def fault(db: Database, i: Int) raises:
    """Runs one of several statements, of which some fail."""
    if i % 11 == 0:
        _ = db.execute("INSERT INTO singles VALUES (1, 'taken')")
    elif i % 11 == 1:
        _ = db.query_one[Int]("SELECT v FROM singles")
    elif i % 11 == 2:
        with db.transaction() as tx:
            _ = tx.execute("DELETE FROM singles WHERE id = $1", i)
            sleep(0)
            raise Error("of the program")
    elif i % 11 == 3:
        _ = db.query[Int]("SELECT nobody")
    elif i % 11 == 4:
        with db.transaction(read_only=True) as tx:
            _ = tx.query[Int]("SELECT count(*) FROM singles")
    elif i % 11 < 8:
        _ = db.execute(
            "INSERT OR REPLACE INTO singles VALUES ($1, $2)",
            i % 1_000,
            String("a text that lies on the heap ", i),
        )
    else:
        _ = db.query[String]("SELECT v FROM singles WHERE id = $1", i % 1_000)


def resident_kib() raises -> Int:
    """Returns the memory of the process."""
    with open("/proc/self/status", "r") as file:
        for line in file.read().split("\n"):
            if line.startswith("VmRSS:"):
                return Int(line.split()[1])
    raise Error("no line of the memory")


def try_one(path: String) raises:
    """Reads and writes once, and prints the outcomes."""
    try:
        var db = Database(path)
        print(db.query_one[Int]("SELECT count(*) FROM singles"))
        print(db.execute("INSERT INTO singles VALUES (0)").rows)
    except e:
        print(e)


def retry(path: String) raises:
    """Prints the first three errors, then writes as soon as that works."""
    var db = Database(path, DatabaseOptions(busy_timeout_ms=20))
    for i in range(1_000):
        try:
            print(db.execute("INSERT INTO singles VALUES (0)").rows)
            with db.transaction(read_only=True) as tx:
                print(tx.query_one[Int]("SELECT count(*) FROM singles"))
            return
        except e:
            if i < 3:
                print(e, flush=True)
            sleep(10)
    raise Error("it is still locked")


def kind_of(db: Database) raises -> Int:
    """Returns the kind of the error of a statement."""
    try:
        _ = db.execute("SELECT 1")
    except e:
        var error = SqliteError.of(e)
        if error:
            return error.value().kind
        raise e^
    raise Error("no error")
