"""Asks a server that fails, for `postgres.mojo`."""

from std.memory import ArcPointer
from std.testing import assert_equal, assert_raises, assert_true

from flare.postgres import Database, DatabaseOptions, PostgresError
from flare.runtime import sleep, spawn
from flare.runtime.task import JoinHandle
from flare.sys.clock import monotonic_ms

comptime _CUTS_AT_A_TIME = 16


def try_to_connect(url: String) raises:
    var options = DatabaseOptions()
    options.acquire_timeout_ms = 1_500
    options.connect_timeout_ms = 1_000
    var begun_ms = monotonic_ms()
    try:
        var db = Database(url, options)
        print("version", db.query_one[String]("SHOW server_version_num"))
    except e:
        print(monotonic_ms() - begun_ms, e)


def ask_through_cuts(url: String, count: Int) raises:
    # Most of a run is a pause before the next connection.
    var handles = List[JoinHandle[Int]]()
    for k in range(_CUTS_AT_A_TIME):

        def work() raises {var url, var count, var k} -> Int:
            var lost = 0
            for run in range(k, count, _CUTS_AT_A_TIME):
                lost += _lost_by_cut(url, run)
            return lost

        handles.append(spawn(work))
    var lost = 0
    while len(handles) > 0:
        lost += handles.pop().join()
    print(lost)


def _lost_by_cut(url: String, run: Int) raises -> Int:
    # The proxy reads the number in the name, and ends the first connection with
    # it at that octet.
    var options = DatabaseOptions()
    options.max_connections = 1
    options.acquire_timeout_ms = 5_000
    options.application_name = String("cut-", run, "-")
    var lost = 0
    var db = ArcPointer(Database(url, options))
    var handles = List[JoinHandle[PostgresError]]()
    for i in range(3):

        def insert() raises {var db, var run, var i} -> PostgresError:
            return one(
                db[],
                "INSERT INTO cuts VALUES ($1 / 10, $1 % 10) RETURNING 1",
                run * 10 + i,
            )

        handles.append(spawn(insert))
    for i in range(3):
        var error = handles.pop(0).join()
        # The pool is whole again, and nothing was done twice.
        var found = count_of(db[], run, i)
        if error.kind == PostgresError.CONNECTION_LOST:
            lost += 1
            var most = 1 if error.sent else 0
            assert_true(found <= most, String("lost and done ", found))
        else:
            assert_equal(error.kind, -1, String("at ", run))
            assert_equal(found, 1, String("at ", run))
    return lost


def count_of(db: Database, run: Int, i: Int) raises -> Int:
    while True:
        try:
            return db.query_one[Int](
                "SELECT count(*) FROM cuts WHERE run = $1 AND n = $2", run, i
            )
        except e:
            # The cut may come here, once.
            if error_of(e).kind != PostgresError.CONNECTION_LOST:
                raise e^


def ride(url: String, seconds: Int) raises:
    # Eight fibers ask all the time; the server may come and go meanwhile.
    var options = DatabaseOptions()
    options.max_connections = 4
    options.query_timeout_ms = 1_000
    options.acquire_timeout_ms = 1_000
    var db = ArcPointer(Database(url, options))
    var end_ms = monotonic_ms() + seconds * 1_000
    var longest_ms = ArcPointer(0)
    var last_ok_ms = ArcPointer(0)
    var handles = List[JoinHandle[Int]]()
    for i in range(8):

        def ask() raises {
            var db, var i, var end_ms, var longest_ms, var last_ok_ms
        } -> Int:
            var failures = 0
            while monotonic_ms() < end_ms:
                var begun_ms = monotonic_ms()
                try:
                    assert_equal(db[].query_one[Int]("SELECT $1", i), i)
                    last_ok_ms[] = monotonic_ms()
                except:
                    failures += 1
                    sleep(5)
                longest_ms[] = max(longest_ms[], monotonic_ms() - begun_ms)
            return failures

        handles.append(spawn(ask))
    var failures = 0
    while len(handles) > 0:
        failures += handles.pop().join()
    var counts = db[].statistics()
    print(failures, longest_ms[], monotonic_ms() - last_ok_ms[])
    print(counts.statements, counts.connects, counts.open_connections)


def load(url: String, count: Int) raises:
    # 64 fibers over four connections; prints microseconds of a statement.
    var options = DatabaseOptions()
    options.max_connections = 4
    options.slow_after_ms = 60_000
    options.acquire_timeout_ms = 60_000
    var db = ArcPointer(Database(url, options))
    var begun_ms = monotonic_ms()
    var handles = List[JoinHandle[Int]]()
    for _ in range(64):

        def ask() raises {var db, var count} -> Int:
            for i in range(count // 64):
                assert_equal(db[].query_one[Int]("SELECT $1", i), i)
            return 0

        handles.append(spawn(ask))
    while len(handles) > 0:
        _ = handles.pop().join()
    print((monotonic_ms() - begun_ms) * 1000 // count)


def print_session(url: String) raises:
    var db = Database(url)
    print(
        db.query_one[String](
            "SELECT concat_ws(' ', application_name, client_encoding,"
            " usename, datname, ssl) FROM pg_stat_activity JOIN pg_stat_ssl"
            " USING (pid), (SELECT current_setting('client_encoding') AS"
            " client_encoding) AS e WHERE pid = pg_backend_pid()"
        )
    )


def one(db: Database, sql: String) -> PostgresError:
    try:
        _ = db.query_one[Int](sql)
    except e:
        return error_of(e)
    return PostgresError(-1)


def one(db: Database, sql: String, number: Int) -> PostgresError:
    try:
        _ = db.query_one[Int](sql, number)
    except e:
        return error_of(e)
    return PostgresError(-1)


def error_of(e: Error) -> PostgresError:
    var error = PostgresError.of(e)
    if error:
        return error.take()
    return PostgresError(-2, String(e))


def check_health(url: String) raises:
    # Without statements, a server that is back is noticed too.
    var db = Database(url)
    assert_equal(db.query_one[Int]("SELECT 1"), 1)
    assert_true(db.is_healthy())
    print("up", flush=True)
    while db.is_healthy():
        sleep(20)
        _ = one(db, "SELECT 1")
    print("down", flush=True)
    while not db.is_healthy():
        sleep(20)
    print("up", flush=True)


def check_terminated(url: String) raises:
    var options = DatabaseOptions()
    options.max_connections = 1
    options.slow_after_ms = 60_000
    var db = ArcPointer(Database(url, options))
    var killer = Database(url)
    # Idle: the next statement finds another connection.
    for _ in range(20):
        var pid = db[].query_one[Int]("SELECT pg_backend_pid()")
        terminate(killer, pid)
        assert_true(db[].query_one[Int]("SELECT pg_backend_pid()") != pid)
    # Busy, with neighbours: each gets exactly one answer.
    var pid = db[].query_one[Int]("SELECT pg_backend_pid()")
    var handles = List[JoinHandle[String]]()
    for _ in range(5):

        def ask() raises {var db} -> String:
            var error = one(db[], "SELECT 1 FROM pg_sleep(10)")
            assert_true(error.sent)
            return error.name()

        handles.append(spawn(ask))
    sleep(50)
    terminate(killer, pid)
    while len(handles) > 0:
        assert_equal(handles.pop().join(), "connection_lost")
    # In a transaction, and before COMMIT.
    with assert_raises(contains="postgres.connection_lost"):
        with db[].transaction() as tx:
            pid = tx.query_one[Int]("SELECT pg_backend_pid()")
            terminate(killer, pid)
            _ = tx.query_one[Int]("SELECT 1")
    with assert_raises(contains="postgres.connection_lost"):
        with db[].transaction() as tx:
            pid = tx.query_one[Int]("SELECT pg_backend_pid()")
            terminate(killer, pid)
    assert_equal(db[].query_one[Int]("SELECT 1"), 1)


def check_lost_commit(url: String) raises:
    # A constraint is checked slowly during COMMIT.
    var killer = ArcPointer(Database(url))
    _ = killer[].execute("DROP TABLE IF EXISTS slow_commit")
    _ = killer[].execute("CREATE TABLE slow_commit (id int)")
    _ = killer[].execute(
        "CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_sleep(5); RETURN NULL; END $$"
    )
    _ = killer[].execute(
        "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slow_commit DEFERRABLE"
        " INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()"
    )
    var db = Database(url)
    var killing = List[JoinHandle[Int]]()
    with assert_raises(contains="postgres.commit_unknown"):
        with db.transaction() as tx:
            var pid = tx.query_one[Int]("SELECT pg_backend_pid()")
            _ = tx.execute("INSERT INTO slow_commit VALUES (1)")

            def kill() raises {var killer, var pid} -> Int:
                sleep(300)
                terminate(killer[], pid)
                return 0

            # Without its handle, the fiber would be cancelled.
            killing.append(spawn(kill))
    assert_equal(killing.pop().join(), 0)
    assert_equal(db.query_one[Int]("SELECT count(*) FROM slow_commit"), 0)


def terminate(killer: Database, pid: Int) raises:
    # The server waits for the end; then its news are on the way.
    assert_true(
        killer.query_one[Bool](
            "SELECT pg_terminate_backend($1, 4000)", Int32(pid)
        )
    )
    sleep(50)
