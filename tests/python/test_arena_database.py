"""States what the arena's server owes the profiles of the benchmark that ask a
database, and those of WebSockets."""

import html
import json
import re
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.arena import Arena, WithArena, build, request  # noqa: E402
from loopback.subject import BACKENDS  # noqa: E402
from loopback.ws_client import BINARY, TEXT, WsClient, frame  # noqa: E402
from postgres import cluster as clusters  # noqa: E402
from benchmark.driver.arena_database import (  # noqa: E402
    ADDED_FORTUNE,
    fortunes,
    item,
    statements,
)

ITEMS = 2_000
DATABASE = "benchmark"
# As long as an answer of the cache is kept.
KEPT_SECONDS = 0.2
ROW = re.compile(r"<tr><td>(\d+)</td><td>(.*?)</td></tr>")

CLUSTER = None


def setUpModule():
    global CLUSTER
    build()
    if clusters.missing():
        return
    CLUSTER = clusters.Cluster()
    CLUSTER.psql(f"CREATE DATABASE {DATABASE}")
    CLUSTER.psql(statements(ITEMS), DATABASE)


def tearDownModule():
    if CLUSTER:
        CLUSTER.close()


class Asks:
    """Asks over one connection, and reads JSON."""

    def ask(self, line, content=None, status=200):
        client = self.connect()
        content = json.dumps(content).encode() if content else None
        client.send(request(line, content=content))
        answer = client.answer()
        self.assertEqual(answer.status, status, answer.body)
        return answer

    def ask_json(self, path):
        answer = self.ask(f"GET {path}")
        self.assertEqual(answer.field("Content-Type"), "application/json")
        return json.loads(answer.body)


class WithDatabase(Asks, WithArena):
    @classmethod
    def setUpClass(cls):
        if CLUSTER is None:
            raise unittest.SkipTest(clusters.missing())
        cls.arena = Arena(
            cls.backend,
            "--database", CLUSTER.url(DATABASE),
            "--database-connections", "8",
        )  # fmt: skip
        cls.addClassCleanup(cls.arena.stop)


class Items:
    """Items by price: async-db, api-4 and api-16."""

    def test_items_are_in_the_range_and_as_many_as_asked_for(self):
        for low, high, limit in (
            (10, 50, 50), (10, 50, 5), (1, 500, 20), (100, 103, 50),
            (500, 500, 35),
        ):
            found = self.ask_json(
                f"/async-db?min={low}&max={high}&limit={limit}"
            )
            rows = found["items"]
            self.assertEqual(found["count"], len(rows))
            inside = [
                i for i in range(1, ITEMS + 1)
                if low <= item(i)["price"] <= high
            ]
            self.assertEqual(len(rows), min(limit, len(inside)))
            for row in rows:
                self.assertEqual(row, item(row["id"]))
                self.assertIn(row["id"], inside)

    def test_missing_and_senseless_parameters_have_defaults(self):
        for query, count in (
            ("", 50), ("?limit=0", 1), ("?limit=-5", 1), ("?limit=51", 50),
            ("?limit=abc", 50), ("?min=&max=x", 50), ("?min=9999", 0),
            ("?min=50&max=10", 0), (f"?min={10**12}", 0),
        ):
            found = self.ask_json(f"/async-db{query}")
            self.assertEqual(found["count"], count, query)
            self.assertEqual(len(found["items"]), count)


class Fortunes:
    """The page of sayings: fortunes."""

    def test_all_are_there_in_order_and_none_is_markup(self):
        answer = self.ask("GET /fortunes")
        self.assertEqual(
            answer.field("Content-Type"), "text/html; charset=utf-8"
        )
        text = answer.body.decode()
        self.assertTrue(text.startswith("<!DOCTYPE html>"))
        self.assertNotIn("<script>", text)
        self.assertIn("&lt;script&gt;", text)
        self.assertTrue(18_432 <= len(answer.body) <= 65_536, len(text))
        rows = [
            (int(number), html.unescape(message))
            for number, message in ROW.findall(text)
        ]
        wanted = sorted(
            [*fortunes(), ADDED_FORTUNE], key=lambda row: row[1].encode()
        )
        self.assertEqual(rows, wanted)


class Crud:
    """Items that change: crud."""

    def read(self, number, cached):
        answer = self.ask(f"GET /crud/items/{number:05}")
        self.assertEqual(answer.field("X-Cache"), cached)
        return json.loads(answer.body)

    def test_an_item_is_kept_for_a_moment(self):
        self.assertEqual(self.read(7, "MISS"), item(7))
        self.assertEqual(self.read(7, "HIT"), item(7))
        time.sleep(KEPT_SECONDS + 0.1)
        self.assertEqual(self.read(7, "MISS"), item(7))

    def test_a_change_is_seen_at_once(self):
        changed = {
            "name": "New </b> \"é\"", "category": "office", "price": 12,
            "quantity": 3,
        }
        self.read(42, "MISS")
        self.read(42, "HIT")
        self.ask("PUT /crud/items/00042", changed)
        self.assertEqual(self.read(42, "MISS"), {**item(42), **changed})
        self.ask(f"PUT /crud/items/{ITEMS + 5}", changed, 404)

    def test_items_are_created_once_and_then_changed(self):
        number = 100_001 + BACKENDS.index(self.backend)
        self.ask(f"GET /crud/items/{number}", status=404)
        new = {
            "id": number, "name": "a", "category": "none", "price": 1,
            "quantity": 2,
        }
        for name in ("a", "b"):
            new["name"] = name
            self.ask("POST /crud/items", new, 201)
            found = self.read(number, "MISS")
            self.assertEqual({key: found[key] for key in new}, new)
            self.assertEqual(found["tags"], [])

    def test_pages_of_a_category(self):
        wanted = [
            item(i) for i in range(1, ITEMS + 1)
            if item(i)["category"] == "toys"
        ]
        found = self.ask_json("/crud/items?category=toys&page=02&limit=10")
        self.assertEqual(found["items"], wanted[10:20])
        self.assertEqual(found["total"], 10)
        self.assertEqual((found["page"], found["limit"]), (2, 10))
        found = self.ask_json("/crud/items")
        self.assertEqual(len(found["items"]), 20)
        self.assertEqual(found["items"][0]["category"], "electronics")
        found = self.ask_json("/crud/items?category=none-such")
        self.assertEqual(found["items"], [])

    def test_faults_of_clients_are_answered(self):
        self.ask("GET /crud/items/x", status=404)
        self.ask("PUT /crud/items/x", {"name": "a"}, 404)
        self.ask("PUT /crud/items/1", {"name": "a"}, 422)
        self.ask("POST /crud/items", {"id": 1 << 40}, 422)
        self.ask("POST /crud/items", status=422)


class Sockets(Asks):
    """Messages that come back: echo-ws and its kin."""

    def echo(self, client, first, payload):
        client.send(frame(first, payload))
        found, content = client.frame()
        self.assertEqual((found, content), (first, payload))

    def test_messages_come_back(self):
        client = WsClient(self.arena.port, "/ws")
        self.addCleanup(client.close)
        self.echo(client, TEXT, b"hello")
        self.echo(client, BINARY, bytes(range(256)))
        messages = [b"message %d" % i for i in range(16)]
        client.send(b"".join(frame(TEXT, text) for text in messages))
        for text in messages:
            self.assertEqual(client.frame(), (TEXT, text))

    def test_a_plain_request_is_refused_and_the_server_lives(self):
        self.ask("GET /ws", status=426)
        self.ask("GET /pipeline")


class WithoutDatabase(Asks):
    def test_there_are_no_items(self):
        self.assertEqual(
            self.ask_json("/async-db?min=10&max=50&limit=5"),
            {"items": [], "count": 0},
        )
        self.ask("GET /fortunes", status=503)


class DatabaseDown(Asks, WithArena):
    """Names a database that does not answer."""

    @classmethod
    def setUpClass(cls):
        if clusters.missing():
            raise unittest.SkipTest(clusters.missing())
        # Port 9 has no listener.
        cls.arena = Arena(
            cls.backend, "--database", "postgres://app@127.0.0.1:9/none"
        )
        cls.addClassCleanup(cls.arena.stop)

    def test_there_are_no_items(self):
        self.assertEqual(self.ask_json("/async-db"), {"items": [], "count": 0})


for _backend in BACKENDS:
    for _cases, _base in (
        (Items, WithDatabase), (Fortunes, WithDatabase),
        (Crud, WithDatabase), (Sockets, WithArena),
        (WithoutDatabase, WithArena),
    ):
        _name = f"{_cases.__name__}_on_{_backend}"
        globals()[_name] = type(
            _name, (_cases, _base), {"backend": _backend}
        )


if __name__ == "__main__":
    unittest.main()
