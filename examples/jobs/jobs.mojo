"""Keeps jobs in a table of PostgreSQL, and does each of them once.

A job here is a mail. To do other work, change `Job`, the column `mail` and
`perform`.
"""

from flare.json import FromJson, ToJson, decode, dumps
from flare.postgres import Database, Transaction
from flare.runtime import sleep

comptime ATTEMPTS_MAX = 3
comptime CHANNEL = "jobs"
comptime TABLES: List[StaticString] = [
    # Workers that start at the same time wait here for one another.
    "SELECT pg_advisory_xact_lock(4217)",
    (
        "CREATE TABLE IF NOT EXISTS jobs ("
        "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
        " mail JSONB NOT NULL,"
        " state TEXT NOT NULL DEFAULT 'waiting'"
        " CHECK (state IN ('waiting', 'done', 'failed')),"
        " attempts INTEGER NOT NULL DEFAULT 0,"
        " due TIMESTAMPTZ NOT NULL DEFAULT now(),"
        " problem TEXT"
        ")"
    ),
    "CREATE INDEX IF NOT EXISTS waiting ON jobs (due) WHERE state = 'waiting'",
    (
        "CREATE TABLE IF NOT EXISTS outbox (job BIGINT NOT NULL, text TEXT NOT"
        " NULL)"
    ),
    (
        "CREATE OR REPLACE FUNCTION tell_workers() RETURNS trigger LANGUAGE"
        " plpgsql AS $$ BEGIN PERFORM pg_notify('jobs', ''); RETURN NULL;"
        " END $$"
    ),
    (
        "CREATE OR REPLACE TRIGGER added AFTER INSERT ON jobs"
        " FOR EACH STATEMENT EXECUTE FUNCTION tell_workers()"
    ),
]


@fieldwise_init
struct Mail(Copyable, FromJson, ToJson):
    var to: String
    var text: String


@fieldwise_init
struct Job(Copyable):
    var id: Int
    var mail: String


def create_tables(db: Database) raises:
    """Creates the tables, if they are missing. Each worker may call it."""
    with db.transaction() as tx:
        for statement in materialize[TABLES]():
            _ = tx.execute(statement)


def add(db: Database, mail: Mail) raises -> Int:
    """Adds a job, and returns its number. A program may add it in a
    transaction of its own: then the job exists if the rest was committed.
    """
    comptime sql = "INSERT INTO jobs (mail) VALUES ($1) RETURNING id"
    return db.query_one[Int](sql, dumps(mail))


def do_next(db: Database) raises -> Optional[Int]:
    """Takes a job that is due and that no other worker has, and does it.

    The lock of its row lasts as long as the transaction. If the worker dies or
    loses the database, the job is waiting again. So its effects on this
    database happen once. Effects elsewhere may happen again: pass the number
    of the job along, so that the receiver notices.

    Returns:
        The number of the job; `None` if none is due.
    """
    comptime take = (
        "SELECT id, mail::text AS mail FROM jobs"
        " WHERE state = 'waiting' AND due <= now()"
        " ORDER BY due, id LIMIT 1 FOR UPDATE SKIP LOCKED"
    )
    comptime finish = (
        "UPDATE jobs SET state = 'done', attempts = attempts + 1 WHERE id = $1"
    )
    var number = Optional[Int](None)
    with db.transaction() as tx:
        var job = tx.query_optional[Job](take)
        if not job:
            return None
        number = job.value().id
        ref found = job.value()
        try:
            with tx.savepoint():
                perform(tx, found)
            _ = tx.execute(finish, found.id)
        except e:
            # If the connection is lost, this raises too, and nothing happened.
            give_back(tx, found, e)
    return number


def give_back(tx: Transaction, job: Job, e: Error) raises:
    """Makes a job wait for 1 s, 2 s, 4 s, … or fail for good."""
    _ = tx.execute(
        (
            "UPDATE jobs SET attempts = attempts + 1, problem = $2, state ="
            " CASE WHEN attempts + 1 < $3 THEN 'waiting' ELSE 'failed' END, due"
            " = now() + interval '1 second' * 2 ^ attempts WHERE id = $1"
        ),
        job.id,
        String(e),
        ATTEMPTS_MAX,
    )


def perform(tx: Transaction, job: Job) raises:
    var mail = decode[Mail](job.mail)
    if "@" not in mail.to:
        raise Error("no address: ", mail.to)
    # In place of the talk with a mail server.
    sleep(20)
    _ = tx.execute("INSERT INTO outbox VALUES ($1, $2)", job.id, mail.text)
