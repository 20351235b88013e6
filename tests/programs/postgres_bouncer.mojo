"""Uses `flare.postgres` through PgBouncer."""

from std.memory import ArcPointer
from std.testing import assert_equal, assert_raises

from flare.postgres import Database, DatabaseOptions, PostgresError
from flare.runtime import deadline_in, sleep, spawn
from flare.runtime.task import JoinHandle

comptime _FIBERS = 32
comptime _ROUNDS = 25


@fieldwise_init
struct _Pair(Copyable, Movable):
    var id: Int
    var name: String


def check_bouncer(url: String, mode: String) raises:
    """Checks statements, blocks and deadlines through PgBouncer.

    Args:
        url: The database.
        mode: The mode of PgBouncer, `session` or `transaction`.
    """
    var db = ArcPointer(Database(url, options_for(mode)))
    check_statements(db)
    check_blocks(db)
    check_deadlines(db)
    assert_equal(db[].statistics().lost, 0)


def ride_bouncer(url: String, mode: String) raises:
    """Rides through a restart of PgBouncer.

    Args:
        url: The database.
        mode: The mode of PgBouncer.
    """
    ride(ArcPointer(Database(url, options_for(mode))))


def options_for(mode: String) -> DatabaseOptions:
    """Returns the options that the guide names.

    Args:
        mode: `session` or `transaction`.

    Returns:
        The options.
    """
    var options = DatabaseOptions(max_connections=8)
    options.startup_options = None
    if mode == "transaction":
        options.pipelining = False
        options.cache_statements = False
    return options^


def check_statements(db: ArcPointer[Database]) raises:
    """Checks that each fiber gets its own answers and errors.

    Args:
        db: The database.
    """
    _ = db[].execute("DROP TABLE IF EXISTS pairs")
    _ = db[].execute("CREATE TABLE pairs (id bigint PRIMARY KEY, name text)")
    var handles = List[JoinHandle[Int]]()
    for k in range(_FIBERS):

        def work() raises {var db, var k} -> Int:
            for n in range(_ROUNDS):
                var id = k * _ROUNDS + n
                var pair = db[].query_one[_Pair](
                    "SELECT $1::bigint AS id, 'name ' || $1 AS name", id
                )
                assert_equal(pair.id, id)
                assert_equal(pair.name, String("name ", id))
                with assert_raises(contains="22012"):
                    _ = db[].query_one[Int]("SELECT $1 / 0::bigint", id)
                _ = db[].execute("INSERT INTO pairs VALUES ($1, 'a')", id)
            return 0

        handles.append(spawn(work))
    while len(handles) > 0:
        _ = handles.pop().join()
    assert_equal(
        db[].query_one[Int]("SELECT count(*) FROM pairs"), _FIBERS * _ROUNDS
    )


def check_blocks(db: ArcPointer[Database]) raises:
    """Checks transactions, savepoints, streams and COPY.

    Args:
        db: The database.
    """
    _ = db[].execute("DELETE FROM pairs")
    with db[].transaction() as tx:
        _ = tx.execute("INSERT INTO pairs VALUES (1, 'a')")
        with assert_raises(contains="23505"):
            with tx.savepoint():
                _ = tx.execute("INSERT INTO pairs VALUES (1, 'b')")
    with assert_raises(contains="mine"):
        with db[].transaction() as tx:
            _ = tx.execute("INSERT INTO pairs VALUES (2, 'a')")
            raise Error("mine")
    with db[].copy_in[_Pair]("pairs") as copy:
        for id in range(10, 20_010):
            copy.add(_Pair(id, "copied"))
    var seen = 0
    with db[].stream[_Pair]("SELECT id, name FROM pairs ORDER BY id") as rows:
        while rows.next():
            seen += 1
    assert_equal(seen, 20_001)


def check_deadlines(db: ArcPointer[Database]) raises:
    """Checks that a cancel request passes the proxy and reaches its statement.

    Args:
        db: The database.
    """
    for _ in range(3):
        with assert_raises(contains="postgres.timeout"):
            with deadline_in(50):
                _ = db[].execute("SELECT pg_sleep(30)")
    # The connections are free again long before the statements would end.
    with deadline_in(3_000):
        while (
            db[].query_one[Int](
                "SELECT count(*) FROM pg_stat_activity WHERE query LIKE"
                " 'SELECT pg_sleep%' AND state = 'active' AND datname ="
                " current_database()"
            )
            > 0
        ):
            sleep(20)


def ride(db: ArcPointer[Database]) raises:
    """Asks while the proxy goes and comes.

    Args:
        db: The database.
    """
    assert_equal(db[].query_one[Int]("SELECT 1::bigint"), 1)
    print("up", flush=True)
    while _answers(db):
        sleep(5)
    print("down", flush=True)
    with deadline_in(10_000):
        while not _answers(db):
            sleep(5)
    print("up", flush=True)


def _answers(db: ArcPointer[Database]) raises -> Bool:
    try:
        return db[].query_one[Int]("SELECT 1::bigint") == 1
    except e:
        if not PostgresError.of(e):
            raise e^
        return False
