"""Serves accounts and transfers as JSON, over PostgreSQL.

On SQLite, one line changes, the one that imports the database:

    from flare.sqlite import Database, SqliteError as DatabaseError, Transaction
"""

from flare.http import CatchErrors, service_unavailable
from flare.postgres import Database, PostgresError as DatabaseError, Transaction
from flare.prelude import *


@fieldwise_init
struct Account(Copyable, FromJson, ToJson):
    var name: String
    var balance: Int


@fieldwise_init
struct Transfer(Copyable, FromJson, ToJson):
    var reference: String
    """The client chooses it. A transfer that is sent twice happens once."""
    var source: String
    var target: String
    var amount: Int


@fieldwise_init
struct Outcome(Copyable, ToJson):
    var reference: String
    var status: Int


@fieldwise_init
struct Problem(Copyable, ToJson):
    var error: String


def open_database(worker: Int, location: String) raises -> Database:
    return Database(location)


def create_tables(db: Database) raises:
    _ = db.execute(
        "CREATE TABLE IF NOT EXISTS accounts (name TEXT PRIMARY KEY,"
        " balance BIGINT NOT NULL CHECK (balance BETWEEN 0 AND"
        " 1000000000000000))"
    )
    _ = db.execute(
        "CREATE TABLE IF NOT EXISTS transfers (reference TEXT PRIMARY KEY,"
        " source TEXT NOT NULL REFERENCES accounts (name),"
        " target TEXT NOT NULL REFERENCES accounts (name),"
        " amount BIGINT NOT NULL CHECK (amount BETWEEN 1 AND"
        " 1000000000000000))"
    )


def list_accounts(
    db: State[Database], after: Query["after", String]
) raises -> Json[List[Account]]:
    comptime sql = (
        "SELECT * FROM accounts WHERE name > $1 ORDER BY name LIMIT 100"
    )
    return Json(db[].query[Account](sql, after.value.or_else("")))


def show_account(
    db: State[Database], name: Path[String]
) raises -> Json[Account]:
    comptime sql = "SELECT * FROM accounts WHERE name = $1"
    return Json(db[].query_one[Account](sql, name.value))


def open_account(
    db: State[Database], wanted: Json[Account]
) raises -> Json[Account]:
    comptime sql = "INSERT INTO accounts VALUES ($1, $2)"
    _ = db[].execute(sql, wanted.value.name, wanted.value.balance)
    return Json(wanted.value.copy(), status=201)


def transfer(
    db: State[Database], wanted: Json[Transfer]
) raises -> Json[Transfer]:
    with db[].transaction() as tx:
        move(tx, wanted.value)
    return Json(wanted.value.copy(), status=201)


def transfer_many(
    db: State[Database], wanted: Json[List[Transfer]]
) raises -> Json[List[Outcome]]:
    """Commits the transfers that are possible, all at once."""
    var outcomes = List[Outcome]()
    with db[].transaction() as tx:
        for item in wanted.value:
            var status = 201
            try:
                with tx.savepoint():
                    move(tx, item)
            except e:
                status = refusal(e).status
            outcomes.append(Outcome(item.reference, status))
    return Json(outcomes^)


def move(tx: Transaction, wanted: Transfer) raises:
    _ = tx.execute(
        "INSERT INTO transfers VALUES ($1, $2, $3, $4)",
        wanted.reference,
        wanted.source,
        wanted.target,
        wanted.amount,
    )
    comptime sql = "UPDATE accounts SET balance = balance + $2 WHERE name = $1"
    # In the order of the names: two transfers never wait for each other.
    if wanted.source < wanted.target:
        _ = tx.execute(sql, wanted.source, -wanted.amount)
        _ = tx.execute(sql, wanted.target, wanted.amount)
    else:
        _ = tx.execute(sql, wanted.target, wanted.amount)
        _ = tx.execute(sql, wanted.source, -wanted.amount)


def refusal(e: Error) raises -> Response:
    """Returns the answer to an error that is the client's. Raises others."""
    var error = DatabaseError.of(e)
    if not error:
        raise e.copy()
    ref found = error.value()
    if found.kind == DatabaseError.NO_ROWS or found.is_foreign_key_violation():
        return problem(404, "no such account")
    if found.is_unique_violation():
        return problem(409, "the name or the reference is taken")
    if found.is_check_violation():
        return problem(422, "an amount is too small, or too large")
    if found.is_serialization_failure():
        return service_unavailable()
    raise e.copy()


def problem(status: Int, text: String) raises -> Response:
    return Json(Problem(text), status=status).into_response()


def refuse(req: Request, e: Error) raises -> Response:
    return refusal(e)


def service(
    location: String,
) raises -> CatchErrors[App[Database, Router[Database]]]:
    var router = Router[Database]()
    router.get("/accounts", list_accounts)
    router.get("/accounts/:name", show_account)
    router.post("/accounts", open_account)
    router.post("/transfers", transfer)
    router.post("/transfers/many", transfer_many)
    var app = App.per_worker[open_database](location, router^)
    return CatchErrors(app^, refuse)
