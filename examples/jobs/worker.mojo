# Run: DATABASE_URL=postgres://app:secret@localhost/shop mojo run -I . examples/jobs/worker.mojo
"""Does jobs until SIGTERM or SIGINT. Any number of workers may run."""

from std.os import getenv
from std.sys import stderr

from flare.postgres import Database, PostgresError
from flare.runtime import StopSignals, sleep
from jobs import CHANNEL, create_tables, do_next

# The longest delay of a signal, and of a job that is tried again.
comptime PAUSE_MS = 500


def work(db: Database, signals: StopSignals) raises:
    """Does jobs until a signal arrives. Raises if the database is lost."""
    create_tables(db)
    with db.listen(CHANNEL) as notifications:
        while not signals.is_stopping():
            # Only the table is asked: a notification may be lost, not a job.
            var done = do_next(db)
            while done and not signals.is_stopping():
                print("job", done.value(), flush=True)
                done = do_next(db)
            _ = notifications.next(timeout_ms=PAUSE_MS)


def main() raises:
    var db = Database(getenv("DATABASE_URL"))
    var signals = StopSignals()
    print("waiting for jobs", flush=True)
    while not signals.is_stopping():
        try:
            work(db, signals)
        except e:
            var error = PostgresError.of(e)
            if not error or not error.value().is_transient():
                raise e^
            # The database restarts, for example. The jobs are still there.
            print(e, file=stderr, flush=True)
            sleep(PAUSE_MS)
    print("stopped", flush=True)
