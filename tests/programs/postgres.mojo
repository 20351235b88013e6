"""Runs one case of the tests of `flare.postgres` against a server.

Usage: postgres (io_uring | epoll) URL CASE [NUMBER]. It ends with an error if
the case fails; some cases print what they have met.
"""

from std.memory import ArcPointer
from std.sys import argv
from std.testing import assert_equal, assert_raises, assert_true

from flare.postgres import (
    Database,
    DatabaseOptions,
    IsolationLevel,
    PostgresError,
    Transaction,
)
from flare.runtime import deadline_in, sleep, spawn
from flare.runtime.backend import BackendKind
from flare.runtime.private_loop import begin_private_loop, end_private_loop
from flare.runtime.reactor import ReactorConfig
from flare.runtime.task import JoinHandle
from flare.sys.clock import monotonic_ms
from flare.sys.libpq import libpq
from postgres_blocks import (
    check_closed,
    check_copies,
    check_lifetime,
    check_repeated,
    check_savepoints,
)
from postgres_bouncer import check_bouncer, ride_bouncer
from postgres_faults import (
    ask_through_cuts,
    check_health,
    check_lost_commit,
    check_terminated,
    error_of,
    load,
    one,
    print_session,
    ride,
    try_to_connect,
)
from postgres_listening import check_listening
from postgres_neighbours import check_fork, check_neighbours
from postgres_sessions import check_sessions
from postgres_storm import check_storm
from postgres_streams import check_streams, read_long_stream
from postgres_traps import (
    check_broken_pipe,
    hold_transaction,
    print_libraries,
    print_stack,
)
from postgres_types import (
    check_errors,
    check_parameters,
    check_types,
)


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


def run(url: String, name: String, number: Int) raises:
    if name == "types":
        check_values(url)
    elif name == "statements":
        check_statements(url)
    elif name == "sharing":
        check_sharing(url)
    elif name == "places":
        check_places(url)
    elif name == "cancels":
        check_cancels(url, number)
    elif name == "sessions":
        check_sessions(url)
    elif name == "streams":
        check_streams(url)
    elif name == "listen":
        check_listening(url)
    elif name == "long_stream":
        read_long_stream(url, number)
    elif name == "transactions":
        check_transactions(url)
    elif name == "left_open":
        check_left_open(url)
    elif name == "exhausted":
        check_exhausted(url)
    elif name == "terminated":
        check_terminated(url)
    elif name == "lost_commit":
        check_lost_commit(url)
    elif name == "health":
        check_health(url)
    elif name == "copies":
        check_copies(url)
    elif name == "repeated":
        check_repeated(url)
    elif name == "savepoints":
        check_savepoints(url)
    elif name == "closed":
        check_closed(url)
    elif name == "lifetime":
        check_lifetime(url)
    elif name == "library":
        print(libpq().value().version())
    elif name == "plans":
        check_plans(url)
    elif name == "connect":
        try_to_connect(url)
    elif name == "cut":
        ask_through_cuts(url, number)
    elif name == "ride":
        ride(url, number)
    elif name == "load":
        load(url, number)
    else:
        run_fault(url, name, number)


def run_fault(url: String, name: String, number: Int) raises:
    if name == "neighbours":
        check_neighbours(url)
    elif name == "fork":
        check_fork(url)
    elif name == "broken_pipe":
        check_broken_pipe(url)
    elif name == "stack":
        print_stack(url)
    elif name == "libraries":
        print_libraries(url)
    elif name == "hold":
        hold_transaction(url)
    elif name == "storm":
        check_storm(url, number)
    elif name.startswith("bouncer_"):
        check_bouncer(url, String(name.removeprefix("bouncer_")))
    elif name.startswith("ride_bouncer_"):
        ride_bouncer(url, String(name.removeprefix("ride_bouncer_")))
    elif name == "session":
        print_session(url)
    else:
        raise Error("no such case: ", name)


def check_values(url: String) raises:
    var db = Database(url)
    check_types(db)
    check_parameters(db)
    check_errors(db)


def check_statements(url: String) raises:
    var db = Database(url)
    _ = db.execute("CREATE TEMP TABLE t (id int PRIMARY KEY, v text)")
    assert_equal(
        db.execute(
            "INSERT INTO t SELECT g, 'v' || g FROM generate_series(1, $1) g", 10
        ).rows,
        10,
    )
    assert_equal(
        db.execute("UPDATE t SET v = $1 WHERE id > $2", "w", 7).rows, 3
    )
    assert_equal(db.execute("DELETE FROM t WHERE id = $1", 11).rows, 0)
    assert_equal(len(db.query[Int]("SELECT id FROM t ORDER BY id")), 10)
    assert_equal(db.query_one[String]("SELECT v FROM t WHERE id = $1", 2), "v2")
    assert_true(not db.query_optional[Int]("SELECT id FROM t WHERE id = 99"))
    expect(PostgresError.NO_ROWS, one(db, "SELECT id FROM t WHERE id = 99"))
    expect(PostgresError.TOO_MANY_ROWS, one(db, "SELECT id FROM t"))
    expect(PostgresError.BAD_PARAMETER, one(db, "SELECT 1\0"))
    # An empty statement has no rows, and several are refused by the server.
    assert_equal(db.execute("").rows, 0)
    assert_equal(one(db, "SELECT 1; SELECT 2").sqlstate, "42601")
    # COPY would stop the pipeline.
    expect(PostgresError.BAD_PARAMETER, one(db, "COPY t TO STDOUT"))
    assert_equal(db.query_one[Int]("SELECT 5"), 5)
    expect(PostgresError.BAD_PARAMETER, one(db, "COPY pg_class FROM STDIN"))
    assert_equal(db.query_one[Int]("SELECT 6"), 6)
    # So would a transaction.
    expect(PostgresError.BAD_PARAMETER, one(db, "BEGIN"))
    expect(PostgresError.BAD_PARAMETER, one(db, "/* */ BEGIN"))
    assert_equal(db.query_one[Int]("SELECT 7"), 7)
    # A notice is dropped, not printed.
    _ = db.execute("DO $$ BEGIN RAISE WARNING 'noise'; END $$")
    # More statements than the cache holds.
    for i in range(600):
        assert_equal(db.query_one[Int](String("SELECT ", i, " + $1"), 1), i + 1)
    for i in range(600):
        assert_equal(db.query_one[Int](String("SELECT ", i, " + $1"), 1), i + 1)
    var prepared = db.query_one[Int](
        "SELECT count(*) FROM pg_prepared_statements"
    )
    assert_true(250 <= prepared <= 256, String(prepared))
    # The same text with other types is another statement.
    assert_equal(
        db.query_one[String]("SELECT pg_typeof($1)::text", 1), "bigint"
    )
    assert_equal(
        db.query_one[String]("SELECT pg_typeof($1)::text", True), "boolean"
    )


def check_sharing(url: String) raises:
    # Sixteen statements of 50 ms each on one connection: in order, and one
    # error stays with its statement.
    var options = DatabaseOptions()
    options.max_connections = 1
    options.slow_after_ms = 60_000
    var db = ArcPointer(Database(url, options))
    assert_equal(db[].query_one[Int]("SELECT 1"), 1)
    var handles = List[JoinHandle[String]]()
    for i in range(16):

        def ask() raises {var db, var i} -> String:
            if i % 4 == 3:
                return String(one(db[], String("SELECT ", i, " / 0")).sqlstate)
            return String(
                db[].query_one[Int]("SELECT $1 FROM pg_sleep(0.02)", i)
            )

        handles.append(spawn(ask))
    for i in range(16):
        var text = handles.pop(0).join()
        assert_equal(text, "22012" if i % 4 == 3 else String(i))
    # Large answers and large parameters at once: nobody waits for the other.
    var big = String("x") * 3_000_000
    var large = List[JoinHandle[Int]]()
    for _ in range(8):

        def exchange() raises {var db, var big} -> Int:
            return (
                db[]
                .query_one[String]("SELECT repeat('y', 3000000) || $1", big)
                .byte_length()
            )

        large.append(spawn(exchange))
    while len(large) > 0:
        assert_equal(large.pop().join(), 6_000_000)


def check_places(url: String) raises:
    # A statement that sleeps in the head, the middle or the tail of a pipeline:
    # only its own fiber fails, and all others in time.
    for place in range(5):
        var options = DatabaseOptions()
        options.max_connections = 1
        options.slow_after_ms = 60_000
        options.query_timeout_ms = 60_000
        var db = ArcPointer(Database(url, options))
        assert_equal(db[].query_one[Int]("SELECT 1"), 1)
        var handles = List[JoinHandle[String]]()
        for i in range(5):

            def ask() raises {var db, var i, var place} -> String:
                if i == place:
                    with deadline_in(100):
                        return one(db[], "SELECT 1 FROM pg_sleep(30)").name()
                return String(db[].query_one[Int]("SELECT $1", i))

            handles.append(spawn(ask))
        var begun_ms = monotonic_ms()
        for i in range(5):
            var text = handles.pop(0).join()
            assert_equal(text, "timeout" if i == place else String(i))
        assert_true(monotonic_ms() - begun_ms < 3_000, "the others in time")
        assert_equal(db[].query_one[Int]("SELECT 2"), 2)
        var counts = db[].statistics()
        assert_equal(counts.timeouts, 1)
        assert_equal(counts.lost, 0)
        assert_equal(counts.connects, 1, "the connection was kept")


def check_cancels(url: String, count: Int) raises:
    # Statements that end at about the time at which they are cancelled, with
    # neighbours behind them: no neighbour fails, although cancels reach some.
    var options = DatabaseOptions()
    options.max_connections = 1
    options.slow_after_ms = 60_000
    options.query_timeout_ms = 60_000
    var databases = List[ArcPointer[Database]]()
    var handles = List[JoinHandle[Int]]()
    for k in range(16):
        var db = ArcPointer(Database(url, options))
        databases.append(db)

        def work() raises {var db, var k, var count} -> Int:
            for i in range(count):

                def expire() raises {var db, var k, var i} -> Int:
                    with deadline_in(10):
                        return db[].query_one[Int](
                            "SELECT 1 FROM pg_sleep($1)",
                            0.049 + Float64((i * 7 + k) % 40) / 10_000,
                        )

                var expiring = spawn(expire)
                sleep(0)
                for n in range(2):
                    assert_equal(
                        db[].query_one[Int](
                            "SELECT $1 FROM pg_sleep(0.002)", n
                        ),
                        n,
                    )
                expect(PostgresError.TIMEOUT, joined(expiring^))
            return 0

        handles.append(spawn(work))
    while len(handles) > 0:
        _ = handles.pop().join()
    var timeouts = 0
    var lost = 0
    var errors = 0
    var repeated = 0
    for db in databases:
        var counts = db[].statistics()
        timeouts += counts.timeouts
        lost += counts.lost
        errors += counts.errors
        repeated += counts.repeated
    print(timeouts, lost, errors, repeated)


def joined(var handle: JoinHandle[Int]) -> PostgresError:
    try:
        _ = handle^.join()
    except e:
        return error_of(e)
    return PostgresError(-1)


def check_transactions(url: String) raises:
    var options = DatabaseOptions()
    options.max_connections = 2
    var db = Database(url, options)
    _ = db.execute("DROP TABLE IF EXISTS accounts")
    _ = db.execute("CREATE TABLE accounts (id int PRIMARY KEY, n int)")
    with db.transaction() as tx:
        _ = tx.execute("INSERT INTO accounts VALUES ($1, $2)", 1, 10)
        assert_equal(tx.query_one[Int]("SELECT n FROM accounts"), 10)
        assert_equal(db.query_one[Int]("SELECT count(*) FROM accounts"), 0)
    assert_equal(db.query_one[Int]("SELECT count(*) FROM accounts"), 1)
    with assert_raises(contains="stop"):
        with db.transaction() as tx:
            _ = tx.execute("DELETE FROM accounts")
            raise Error("stop")
    with assert_raises(contains="typed"):
        with db.transaction() as tx:
            _ = tx.execute("DELETE FROM accounts")
            raise _Typed()
    assert_equal(db.query_one[Int]("SELECT count(*) FROM accounts"), 1)
    assert_equal(_returned_from(db), 7)
    assert_equal(db.query_one[Int]("SELECT n FROM accounts"), 11)
    # A statement that failed, and whose error was caught: nothing is kept.
    with assert_raises(contains="postgres.rolled_back"):
        with db.transaction() as tx:
            _ = tx.execute("DELETE FROM accounts")
            try:
                _ = tx.execute("INSERT INTO accounts VALUES (1, 'x')")
            except e:
                assert_equal(PostgresError.of(e).value().sqlstate, "22P02")
    _fail_behind_its_deadline(db)
    _use_last(url)
    # Savepoints undo their own changes.
    with db.transaction() as tx:
        try:
            with tx.savepoint():
                _ = tx.execute("DELETE FROM accounts")
                _ = tx.execute("INSERT INTO nowhere VALUES (1)")
        except e:
            assert_equal(PostgresError.of(e).value().sqlstate, "42P01")
        with tx.savepoint():
            _ = tx.execute("INSERT INTO accounts VALUES (2, 20)")
            with assert_raises(contains="inner"):
                with tx.savepoint():
                    _ = tx.execute("DELETE FROM accounts")
                    raise Error("inner")
    assert_equal(db.query_one[Int]("SELECT sum(n)::int8 FROM accounts"), 31)
    with db.transaction(
        isolation=IsolationLevel.SERIALIZABLE, read_only=True
    ) as tx:
        assert_equal(
            tx.query_one[String]("SHOW transaction_isolation"), "serializable"
        )
        expect(PostgresError.BAD_PARAMETER, tx_error(tx, "COMMIT"))
        with assert_raises(contains="25006"):
            with tx.savepoint():
                _ = tx.execute("DELETE FROM accounts")
    # A handle that outlives its block.
    var kept = List[Transaction]()
    with db.transaction() as tx:
        kept.append(tx)
    expect(PostgresError.CLOSED, tx_error(kept[0], "SELECT 1"))
    # The answer to a ROLLBACK may still be on its way.
    for _ in range(200):
        if db.statistics().busy_connections > 0:
            sleep(10)
    assert_equal(db.statistics().busy_connections, 0)


def check_left_open(url: String) raises:
    # A fiber that is cancelled in each wait of a transaction.
    var options = DatabaseOptions()
    options.max_connections = 1
    var db = ArcPointer(Database(url, options))
    _ = db[].execute("DROP TABLE IF EXISTS left_open")
    _ = db[].execute("CREATE TABLE left_open (id int)")
    for turns in range(40):

        def work() raises {var db} -> Int:
            with db[].transaction() as tx:
                _ = tx.execute("INSERT INTO left_open VALUES (1)")
                _ = tx.query_one[Int]("SELECT 1 FROM pg_sleep(0.01)")
                raise Error("never committed")
            return 0

        var handle = spawn(work)
        for _ in range(turns // 2):
            sleep(0)
        if turns % 4 == 0:
            sleep(turns // 4)
        handle.cancel()
        try:
            _ = handle^.join()
        except:
            pass
        assert_equal(db[].query_one[Int]("SELECT count(*) FROM left_open"), 0)
    # A deadline that passes in a transaction.
    with assert_raises(contains="postgres.timeout"):
        with db[].transaction() as tx:
            _ = tx.execute("INSERT INTO left_open VALUES (1)")
            with deadline_in(50):
                _ = tx.query_one[Int]("SELECT 1 FROM pg_sleep(20)")
    var begun_ms = monotonic_ms()
    assert_equal(db[].query_one[Int]("SELECT count(*) FROM left_open"), 0)
    assert_true(monotonic_ms() - begun_ms < 2_000)
    var idle = Database(url).query_one[Int](
        "SELECT count(*) FROM pg_stat_activity WHERE datname ="
        " current_database() AND state LIKE 'idle in transaction%'"
    )
    assert_equal(idle, 0)


def check_exhausted(url: String) raises:
    var options = DatabaseOptions()
    options.max_connections = 1
    options.acquire_timeout_ms = 200
    var db = ArcPointer(Database(url, options))
    var order = ArcPointer(List[Int]())
    var handles = List[JoinHandle[Int]]()
    with db[].transaction() as tx:
        expect(PostgresError.ACQUIRE_TIMEOUT, one(db[], "SELECT 1"))
        expect(PostgresError.ACQUIRE_TIMEOUT, transaction_error(db[]))
        for i in range(6):

            def ask() raises {var db, var order, var i} -> Int:
                if i % 2 == 0:
                    with db[].transaction() as inner:
                        _ = inner.query_one[Int]("SELECT 1")
                        order[].append(i)
                else:
                    _ = db[].query_one[Int]("SELECT 1")
                    order[].append(i)
                return i

            handles.append(spawn(ask))
        sleep(20)
        assert_equal(db[].statistics().waiting, 6)
        _ = tx.query_one[Int]("SELECT 1")
    while len(handles) > 0:
        _ = handles.pop().join()
    assert_equal(order[], [0, 1, 2, 3, 4, 5])
    assert_equal(db[].statistics().acquire_timeouts, 2)


def check_plans(url: String) raises:
    # A table that changes under a prepared statement.
    var options = DatabaseOptions()
    options.max_connections = 1
    var db = Database(url, options)
    _ = db.execute("DROP TABLE IF EXISTS plans")
    _ = db.execute("CREATE TABLE plans (a int)")
    _ = db.execute("INSERT INTO plans VALUES (1)")
    for i in range(3):
        assert_equal(len(db.query[Int]("SELECT a FROM plans")), 1)
        var type = "bigint" if i % 2 == 0 else "int"
        _ = db.execute(String("ALTER TABLE plans ALTER a TYPE ", type))
    assert_equal(len(db.query[Int]("SELECT a FROM plans")), 1)
    # The server has forgotten all.
    _ = db.execute("DEALLOCATE ALL")
    assert_equal(len(db.query[Int]("SELECT a FROM plans")), 1)
    assert_equal(db.statistics().connects, 1)
    # A statement that cannot be prepared is not kept as prepared.
    for _ in range(3):
        assert_equal(one(db, "SELECT b FROM plans").sqlstate, "42703")
    _ = db.execute("ALTER TABLE plans ADD b int")
    assert_equal(len(db.query[Optional[Int]]("SELECT b FROM plans")), 1)
    # Without the cache, nothing stays prepared.
    options.cache_statements = False
    var uncached = Database(url, options)
    for _ in range(3):
        assert_equal(
            uncached.query_one[Int](
                "SELECT count(*) FROM pg_prepared_statements WHERE $1", True
            ),
            0,
        )


def expect(kind: Int, error: PostgresError) raises:
    assert_equal(error.kind, kind, String(error))


@fieldwise_init
struct _Typed(Writable):
    def write_to(self, mut writer: Some[Writer]):
        writer.write("typed")


def _fail_behind_its_deadline(db: Database) raises:
    # The statement fails while COMMIT waits behind it.
    with assert_raises(contains="postgres.rolled_back"):
        with db.transaction() as tx:
            _ = tx.execute("DELETE FROM accounts")
            try:
                with deadline_in(100):
                    _ = tx.execute("SELECT 1 / length(pg_sleep(0.5)::text)")
            except e:
                expect(PostgresError.TIMEOUT, PostgresError.of(e).value())
    assert_equal(db.query_one[Int]("SELECT count(*) FROM accounts"), 1)


def _use_last(url: String) raises:
    # The block is the last use of the database, and keeps it open.
    var db = Database(url)
    with db.transaction() as tx:
        assert_equal(tx.query_one[Int]("SELECT 7"), 7)


def _returned_from(db: Database) raises -> Int:
    with db.transaction() as tx:
        _ = tx.execute("UPDATE accounts SET n = n + 1")
        return 7
    return 0


def tx_error(tx: Transaction, sql: String) -> PostgresError:
    try:
        _ = tx.execute(sql)
    except e:
        return error_of(e)
    return PostgresError(-1)


def transaction_error(db: Database) -> PostgresError:
    try:
        with db.transaction() as tx:
            _ = tx.execute("SELECT 1")
    except e:
        return error_of(e)
    return PostgresError(-1)
