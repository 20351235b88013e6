# Run: DATABASE_URL=postgres://app:secret@localhost/test mojo run -I . examples/accounts/test_accounts.mojo
"""Tests the accounts. They empty the tables of the database."""

from std.os import getenv
from std.testing import TestSuite, assert_equal, assert_true

from accounts import create_tables, open_database, service
from flare.http import HeaderMap
from flare.testing import TestClient


def test_an_account_is_opened_and_shown() raises:
    empty_tables()
    var client = TestClient(service(database()))
    var ann = '{"name":"ann","balance":100}'
    assert_equal(client.get("/accounts/ann").status, 404)
    assert_equal(client.post("/accounts", ann, json()).status, 201)
    assert_equal(client.get("/accounts/ann").text(), ann)
    assert_equal(client.get("/accounts").text(), String("[", ann, "]"))
    assert_equal(client.get("/accounts?after=ann").text(), "[]")


def test_an_account_is_opened_once() raises:
    empty_tables()
    var client = TestClient(service(database()))
    var ann = '{"name":"ann","balance":100}'
    assert_equal(client.post("/accounts", ann, json()).status, 201)
    var again = client.post("/accounts", ann, json())
    assert_equal(again.status, 409)
    assert_true("taken" in again.text())
    var poor = '{"name":"bob","balance":-1}'
    assert_equal(client.post("/accounts", poor, json()).status, 422)


def test_a_transfer_moves_all_or_nothing() raises:
    # The request, the status, and both balances after it.
    var rows: List[Tuple[String, Int, Int, Int]] = [
        (transfer("1", "ann", "bob", 30), 201, 70, 30),
        (transfer("1", "ann", "bob", 30), 409, 70, 30),
        (transfer("2", "bob", "ann", 30), 201, 100, 0),
        (transfer("3", "ann", "bob", 101), 422, 100, 0),
        (transfer("3", "ann", "bob", 0), 422, 100, 0),
        (transfer("3", "ann", "bob", -1), 422, 100, 0),
        (transfer("3", "ann", "eve", 1), 404, 100, 0),
        (transfer("3", "ann", "bob", 100), 201, 0, 100),
    ]
    empty_tables()
    var client = TestClient(service(database()))
    _ = client.post("/accounts", '{"name":"ann","balance":100}', json())
    _ = client.post("/accounts", '{"name":"bob","balance":0}', json())
    for sent, status, ann, bob in rows:
        assert_equal(client.post("/transfers", sent, json()).status, status)
        assert_equal(
            client.get("/accounts").text(),
            String(
                '[{"name":"ann","balance":',
                ann,
                '},{"name":"bob","balance":',
                bob,
                "}]",
            ),
        )


def test_of_many_transfers_the_possible_ones_are_committed() raises:
    empty_tables()
    var client = TestClient(service(database()))
    _ = client.post("/accounts", '{"name":"ann","balance":100}', json())
    _ = client.post("/accounts", '{"name":"bob","balance":0}', json())
    var sent = String(
        "[",
        transfer("1", "ann", "bob", 60),
        ",",
        transfer("2", "ann", "bob", 60),
        ",",
        transfer("3", "ann", "bob", 40),
        "]",
    )
    assert_equal(
        client.post("/transfers/many", sent, json()).text(),
        (
            '[{"reference":"1","status":201},{"reference":"2","status":422},'
            '{"reference":"3","status":201}]'
        ),
    )
    assert_equal(
        client.get("/accounts/bob").text(), '{"name":"bob","balance":100}'
    )


def database() -> String:
    return getenv("DATABASE_URL")


def empty_tables() raises:
    var db = open_database(0, database())
    create_tables(db)
    _ = db.execute("DELETE FROM transfers")
    _ = db.execute("DELETE FROM accounts")


def json() raises -> HeaderMap:
    var headers = HeaderMap()
    headers.set("Content-Type", "application/json")
    return headers^


def transfer(
    reference: String, source: String, target: String, amount: Int
) -> String:
    return String(
        t'{{"reference":"{reference}","source":"{source}",'
        t'"target":"{target}","amount":{amount}}}'
    )


def main() raises:
    TestSuite.discover_tests[__functions_in_module()]().run()
