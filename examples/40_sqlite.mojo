# Run: mojo run -I . examples/40_sqlite.mojo
# Prints: 409 there is a Cod
# Prints: [{"id":1,"name":"Cod","stock":2}]
"""Serves a shop from a database: a list, an insert, and an order."""

from flare.http import conflict
from flare.prelude import *
from flare.sqlite import Database, SqliteError
from flare.testing import TestClient


@fieldwise_init
struct Dish(Copyable, FromJson, ToJson):
    var id: Int
    var name: String
    var stock: Int


def open_database(worker: Int) raises -> Database:
    var db = Database(":memory:")
    _ = db.execute(
        "CREATE TABLE dishes (id INTEGER PRIMARY KEY, name UNIQUE, stock INT)"
    )
    _ = db.execute("CREATE TABLE orders (dish INT REFERENCES dishes (id))")
    return db^


def dishes(db: State[Database]) raises -> Json[List[Dish]]:
    return Json(db[].query[Dish]("SELECT id, name, stock FROM dishes"))


def add(db: State[Database], name: Path[String]) raises -> Response:
    comptime sql = "INSERT INTO dishes (name, stock) VALUES ($1, 3) RETURNING *"
    try:
        return created_json(dumps(db[].query_one[Dish](sql, name.value)))
    except e:
        var error = SqliteError.of(e)
        if error and error.value().is_unique_violation():
            return conflict(String("there is a ", name.value))
        raise e^


def order(db: State[Database], id: Path[Int]) raises -> Response:
    comptime sql = "UPDATE dishes SET stock = stock - 1 WHERE id = $1"
    with db[].transaction() as tx:
        _ = tx.execute(sql, id.value)
        _ = tx.execute("INSERT INTO orders VALUES ($1)", id.value)
    return ok("ordered")


def main() raises:
    var router = Router[Database]()
    router.get("/dishes", dishes)
    router.post("/dishes/:name", add)
    router.post("/orders/:id", order)
    var client = TestClient(App.per_worker[open_database](router^))
    for target in ["/dishes/Cod", "/dishes/Cod", "/orders/1"]:
        var answer = client.post(target, "")
        print(answer.status, answer.text())
    print(client.get("/dishes").text())
