"""Checks what libpq does to the process that it lives in."""

from std.memory import ArcPointer
from std.testing import assert_true

from flare.postgres import Database, DatabaseOptions, PostgresError
from flare.runtime import sleep, spawn
from flare.runtime.task import JoinHandle
from postgres_faults import error_of

comptime _ROUNDS = 20
comptime _LONG_OCTETS = 4 * 1024 * 1024
comptime _PAGE_OCTETS = 4096


def check_broken_pipe(url: String) raises:
    """Checks that no signal ends the process when the library writes to a
    connection that the server has ended.

    Args:
        url: The database.
    """
    var db = ArcPointer(Database(url, DatabaseOptions(max_connections=1)))
    var other = Database(url)
    var text = String("x") * _LONG_OCTETS
    var lost = 0
    for round in range(_ROUNDS):
        var backend = _backend_of(db[])

        def send() raises {var db, var text} -> Int:
            try:
                _ = db[].query_one[Int]("SELECT length($1)", text)
            except e:
                return error_of(e).kind
            return -1

        var handle = spawn(send)
        sleep(round % 4)
        _ = other.execute("SELECT pg_terminate_backend($1::int)", backend)
        var kind = handle^.join()
        if kind == PostgresError.CONNECTION_LOST:
            lost += 1
        else:
            assert_true(kind == -1, String(kind))
    assert_true(lost > _ROUNDS // 4, String(lost, " were lost"))


def _backend_of(db: Database) raises -> Int:
    # If the statement of the round before was faster than the end of its
    # connection, that end comes here.
    while True:
        try:
            return db.query_one[Int]("SELECT pg_backend_pid()")
        except e:
            if error_of(e).kind != PostgresError.CONNECTION_LOST:
                raise e^


def print_stack(url: String) raises:
    """Prints how many KiB of a fiber's stack calls of the library have used.

    Args:
        url: The database.
    """
    var db = ArcPointer(Database(url, DatabaseOptions(max_connections=4)))
    var handles = List[JoinHandle[Int]]()
    for _ in range(8):

        def ask() raises {var db} -> Int:
            for n in range(20):
                _ = db[].query[String](
                    "SELECT repeat('x', 1000) FROM generate_series(1, 500)"
                )
                try:
                    _ = db[].execute("SELECT nothing FROM nowhere", n)
                except:
                    pass
            return 0

        handles.append(spawn(ask))
    while len(handles) > 0:
        _ = handles.pop().join()
    var most = 0
    for connection in db[]._pool.state[].connections:
        ref stack = connection.state[].fiber.value().state[].context
        most = max(most, _touched_pages(stack.base, stack.octets))
    print(most * _PAGE_OCTETS // 1024)


def _touched_pages(address: Int, octets: Int) raises -> Int:
    var pages = 0
    with open("/proc/self/pagemap", "r") as file:
        _ = file.seek(address // _PAGE_OCTETS * 8)
        var entries = file.read_bytes(octets // _PAGE_OCTETS * 8)
        for i in range(7, len(entries), 8):
            # The highest bit: the page is in memory.
            pages += Int(entries[i] >> 7)
    return pages


def print_libraries(url: String) raises:
    """Prints the path of each copy of libssl that the process has.

    Args:
        url: The database.
    """
    var db = Database(url)
    _ = db.query_one[Int]("SELECT 1")
    var seen = List[String]()
    for line in open("/proc/self/maps", "r").read().split("\n"):
        var start = line.find("/")
        if start < 0 or line.find("libssl") < 0:
            continue
        var path = String(line[byte=start:])
        if path not in seen:
            print(path)
            seen.append(path)


def hold_transaction(url: String) raises:
    """Changes a row in a transaction, and stays in it.

    Args:
        url: The database.
    """
    var db = Database(url, DatabaseOptions(application_name="held"))
    _ = db.execute("CREATE TABLE held (a int)")
    with db.transaction() as tx:
        _ = tx.execute("INSERT INTO held VALUES (1)")
        print("open", flush=True)
        sleep(60_000)
