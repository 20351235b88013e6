"""Sends statements of all kinds while connections are killed."""

from std.memory import ArcPointer
from std.testing import assert_equal, assert_true

from flare.postgres import Database, DatabaseOptions, PostgresError
from flare.runtime import deadline_in, sleep, spawn
from flare.runtime.current import current_reactor
from flare.runtime.task import JoinHandle
from flare.sys.clock import monotonic_ms

comptime _FIBERS = 48
comptime _CONNECTIONS = 8
comptime _KILL_EVERY_MS = 30
comptime _NAME: StaticString = "storm"


@fieldwise_init
struct _Pair(Copyable, Movable):
    var id: Int
    var name: String


def check_storm(url: String, count: Int) raises:
    """Runs the storm, and checks each outcome and what is left.

    Args:
        url: The database.
        count: How many statements are to be answered.
    """
    var watch = Database(url, DatabaseOptions(application_name="watch"))
    _ = watch.execute("CREATE TABLE pairs (id bigint, half int)")
    _ = watch.execute("CREATE TABLE ones (id bigint PRIMARY KEY)")
    _ = watch.execute("INSERT INTO ones VALUES (0)")
    var fibers_before = _fibers()
    _blow(url, count, watch)
    # The connections of the storm end, and with them their locks.
    var end_ms = monotonic_ms() + 5_000
    while _of_storm(watch) > 0 or _fibers() > fibers_before:
        assert_true(
            monotonic_ms() < end_ms,
            String("left: ", _of_storm(watch), " ", _fibers(), " fibers"),
        )
        sleep(20)
    assert_equal(
        watch.query_one[Int]("SELECT count(*) FROM pg_prepared_xacts"), 0
    )
    # A transaction has happened as a whole, or not at all.
    assert_equal(
        watch.query_one[Int](
            "SELECT count(*) FROM (SELECT id FROM pairs GROUP BY id HAVING"
            " count(*) <> 2 OR count(DISTINCT half) <> 2) AS broken"
        ),
        0,
    )


def _blow(url: String, count: Int, watch: Database) raises:
    var db = ArcPointer(
        Database(
            url,
            DatabaseOptions(
                max_connections=_CONNECTIONS, application_name=String(_NAME)
            ),
        )
    )
    var outcomes = ArcPointer(List[Int](length=32, fill=0))
    var handles = List[JoinHandle[Int]]()
    for k in range(_FIBERS):

        def work() raises {var db, var k, var count, var outcomes} -> Int:
            var n = 0
            while db[].statistics().statements < count:
                var outcome = -1
                try:
                    _do_one(db, k + n, k * 1_000_000 + n)
                except e:
                    outcome = _kind_of(e)
                outcomes[][outcome + 1] += 1
                n += 1
            return n

        handles.append(spawn(work))
    while db[].statistics().statements < count:
        sleep(_KILL_EVERY_MS)
        _ = watch.execute(
            (
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE"
                " application_name = $1 ORDER BY random() LIMIT 1"
            ),
            _NAME,
        )
    while len(handles) > 0:
        _ = handles.pop().join()
    var counts = db[].statistics()
    assert_true(counts.lost > 0, "no statement was lost")
    assert_true(counts.timeouts > 0, "no deadline passed")
    assert_equal(counts.waiting, 0)
    for kind in [
        -1,
        PostgresError.SERVER,
        PostgresError.CONNECTION_LOST,
        PostgresError.DECODE,
        PostgresError.TIMEOUT,
        PostgresError.NO_ROWS,
        PostgresError.BAD_PARAMETER,
    ]:
        assert_true(outcomes[][kind + 1] > 0, String("none of kind ", kind))
    print(counts.statements, counts.errors, counts.lost, counts.connects)


def _do_one(db: ArcPointer[Database], kind: Int, id: Int) raises:
    # Of the rest, most waits on others; so each is one of many.
    var choice = kind % 61
    if choice == 0:
        _ = db[].execute("INSERT INTO ones VALUES (0)")
    elif choice == 1:
        _ = db[].query[Int]("SELECT nothing FROM nowhere")
    elif choice == 2:
        with deadline_in(2):
            _ = db[].execute("SELECT pg_sleep(0.02)")
    elif choice == 3:
        _put_pair(db, id, fails=False)
    elif choice == 4:
        _put_pair(db, id, fails=True)
    elif choice == 5:
        _break_a_stream(db)
    elif choice == 6:
        _ = db[].query_one[Int]("SELECT NULL::bigint")
    elif choice == 7:
        _ = db[].query_one[Int]("SELECT id FROM ones WHERE id = -1")
    elif choice == 8:
        _cancel_one(db)
    elif choice == 9:
        var text = db[].query_one[String]("SELECT repeat('x', 100000)")
        assert_equal(text.byte_length(), 100_000)
    elif choice == 10:
        _ = db[].execute("COMMIT")
    elif choice == 11:
        with db[].transaction() as tx:
            with deadline_in(3):
                _ = tx.execute("SELECT pg_sleep(0.05)")
    elif choice == 12:
        var ids: List[Int] = [id, 2]
        var found = db[].query_one[List[Int]]("SELECT $1::bigint[]", ids)
        assert_equal(found[0], id)
    else:
        var pair = db[].query_one[_Pair](
            "SELECT $1::bigint AS id, 'name ' || $1 AS name", id
        )
        assert_equal(pair.id, id)
        assert_equal(pair.name, String("name ", id))


def _put_pair(db: ArcPointer[Database], id: Int, *, fails: Bool) raises:
    with db[].transaction() as tx:
        _ = tx.execute("INSERT INTO pairs VALUES ($1, 1)", id)
        try:
            with tx.savepoint():
                _ = tx.execute("INSERT INTO pairs VALUES ($1, 3)", id)
                _ = tx.execute("INSERT INTO ones VALUES (0)")
        except e:
            if PostgresError.of(e).value().sqlstate != "23505":
                raise e^
        if fails:
            _ = tx.query_one[Int]("SELECT id FROM ones WHERE id = -1")
        _ = tx.execute("INSERT INTO pairs VALUES ($1, 2)", id)


def _break_a_stream(db: ArcPointer[Database]) raises:
    with db[].stream[Int]("SELECT generate_series(1, 1000)::bigint") as rows:
        assert_equal(rows.next().value(), 1)


def _cancel_one(db: ArcPointer[Database]) raises:
    def wait() raises {var db} -> Int:
        # If the database is closed before its cancel request is due, the server
        # notices that at the end of the statement.
        _ = db[].execute("SELECT pg_sleep(2)")
        return 0

    var handle = spawn(wait)
    sleep(1)
    handle.cancel()


def _kind_of(error: Error) raises -> Int:
    var found = PostgresError.of(error)
    if not found:
        raise error.copy()
    var kind = found.value().kind
    if kind == PostgresError.CLOSED or kind == PostgresError.BAD_OPTIONS:
        raise error.copy()
    if kind == PostgresError.SERVER:
        var code = found.value().sqlstate
        if code not in ["23505", "42P01", "25P02"]:
            raise error.copy()
    return kind


def _of_storm(watch: Database) raises -> Int:
    return watch.query_one[Int](
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1",
        _NAME,
    )


def _fibers() -> Int:
    ref queue = current_reactor().value().state[].fibers.state[]
    return len(queue.all) - queue.idle_count - queue.cold_count
