"""Tests that the benchmark knows the arena's servers, and what they must
answer."""

import gzip
import html
import json
import re
import unittest
from dataclasses import replace
from unittest import mock

from benchmark.driver import arena, arena_database, command
from benchmark.driver.answers import Answer
from benchmark.driver.generators import SCRIPTS, Asking, command_of
from benchmark.driver.targets import ROOT, Place, target_of
from benchmark.driver.workloads import (
    ARENA,
    GO_PEERS,
    PRODUCTS,
    STORED,
    TARGETS,
    chosen,
)

PROFILES = [
    workload for workload in chosen(["arena"]) if not workload.is_websocket
]


def answer(asked, **changes):
    """Gives the right answer, but for what is changed."""
    fields = {
        "Date": "d",
        "Content-Type": asked.content_type,
        "Content-Length": "1",
        **changes.pop("fields", {}),
    }
    return Answer(
        changes.get("status", "HTTP/1.1 200 OK"),
        tuple((name, value) for name, value in fields.items() if value),
        changes.get("content", asked.content),
    )


class Answers(unittest.TestCase):
    def asked(self, profile):
        return arena.asked_of(profile, arena.data(), 3)[0]

    def test_every_profile_of_a_workload_has_its_answers(self):
        for workload in PROFILES:
            asked = arena.asked_of(
                workload.profile, arena.data(), workload.content_octets
            )
            for one in asked:
                self.assertTrue(one.content)
                self.assertIn(b"Host: localhost:8080\r\n", one.octets)
        with self.assertRaises(ValueError):
            arena.asked_of("none", arena.data())

    def test_the_right_answers_pass(self):
        sums, pages = self.asked("baseline"), self.asked("json")
        charset = {"Content-Type": "text/plain; charset=utf-8"}
        for asked, found in (
            (sums, answer(sums)),
            (sums, answer(sums, fields=charset)),
            (pages, answer(pages, fields={"Vary": "accept-encoding"})),
        ):
            self.assertIsNone(arena.problem_of(found, asked))

    def test_a_content_is_compressed_where_it_must_be_and_only_there(self):
        plain, coded = self.asked("json"), self.asked("json_compressed")
        in_gzip = {"Content-Encoding": "gzip"}
        octets = gzip.compress(coded.content)
        self.assertIsNone(arena.problem_of(
            answer(coded, fields=in_gzip, content=octets), coded
        ))
        for asked, fields, content in (
            (coded, {}, coded.content),
            (coded, in_gzip, gzip.compress(b"{}")),
            (plain, in_gzip, gzip.compress(plain.content)),
        ):
            found = answer(asked, fields=fields, content=content)
            self.assertIsNotNone(arena.problem_of(found, asked))

    def test_each_difference_is_found(self):
        asked = self.asked("baseline")
        for changes in (
            {"content": b"56"},
            {"status": "HTTP/1.1 404 Not Found"},
            {"status": "HTTP/1.0 200 OK"},
            {"fields": {"Content-Type": "application/json"}},
            {"fields": {"Content-Type": ""}},
            {"fields": {"X-More": "y"}},
        ):
            found = answer(asked, **changes)
            self.assertIsNotNone(arena.problem_of(found, asked), changes)

    def test_answers_from_the_database_are_compared_by_what_they_say(self):
        def found(*numbers, **changes):
            items = [
                {**arena_database.item(number), **changes}
                for number in numbers
            ]
            return json.dumps({"items": items, "count": len(items)}).encode()

        asked = arena_database.asked_of("async_db", arena.data())[0]
        inside = [
            number for number in range(1, 500)
            if 10 <= arena_database.item(number)["price"] <= 50
        ]
        outside = next(n for n in range(1, 500) if n not in inside)
        for content, is_right in (
            (found(*inside[:5]), True),
            (found(*reversed(inside[3:8])), True),
            (found(*inside[:4]), False),
            (found(*inside[:4], inside[0]), False),
            (found(*inside[:4], outside), False),
            (found(*inside[:5], tags=[]), False),
        ):
            problem = arena.problem_of(answer(asked, content=content), asked)
            self.assertEqual(problem is None, is_right, content)

    def test_every_saying_is_looked_for(self):
        asked = arena_database.asked_of("fortunes", arena.data())[0]
        rows = sorted(
            [*arena_database.fortunes(), arena_database.ADDED_FORTUNE],
            key=lambda row: row[1].encode(),
        )

        def page(rows):
            cells = "".join(
                f"<tr><td>{number}</td><td>{html.escape(words)}</td></tr>"
                for number, words in rows
            )
            return f"<!DOCTYPE html><table>{cells}</table>".encode()

        for content, is_right in (
            (page(rows), True),
            (page(rows[:-1]), False),
            (page(rows[::-1]), False),
            (html.unescape(page(rows).decode()).encode(), False),
        ):
            problem = arena.problem_of(answer(asked, content=content), asked)
            self.assertEqual(problem is None, is_right)

    def test_what_the_cache_says_is_compared(self):
        asked = next(
            one for one in arena_database.asked_of("crud", arena.data())
            if one.cached == "HIT"
        )
        content = json.dumps(arena_database.item(42)).encode()
        for cached, is_right in (("HIT", True), ("MISS", False), ("", False)):
            one = answer(asked, fields={"X-Cache": cached}, content=content)
            problem = arena.problem_of(one, asked)
            self.assertEqual(problem is None, is_right, cached)

    def test_the_data_set_is_as_long_as_that_of_the_benchmark(self):
        octets = (arena.data() / "dataset.json").read_bytes()
        self.assertEqual(len(octets), arena.DATASET_OCTETS)

    def test_wrk_asks_for_the_pages_that_are_compared(self):
        script = (SCRIPTS / "arena.lua").read_text()
        pairs = re.findall(r"\{ (\d+), (\d+) \}", script)
        self.assertEqual(
            [(int(count), int(factor)) for count, factor in pairs],
            [*arena.PAGES, *arena.PAGES_COMPRESSED],
        )
        self.assertIn(f'string.rep("x", {arena.ECHO_OCTETS})', script)
        low, high = arena_database.PRICES
        self.assertIn(f"min={low}&max={high}&limit=", script)
        limits = ", ".join(map(str, arena_database.LIMITS))
        self.assertIn(f"ipairs {{ {limits} }}", script)


class Servers(unittest.TestCase):
    def servers(self, *workloads):
        with mock.patch("os.sched_getaffinity", return_value={0, 1}):
            given = command.parse(["--workloads", *workloads])
        return command.servers_of(given)

    def test_the_arena_has_servers_of_its_own(self):
        found = {target.name: target for target in self.servers("arena")}
        self.assertEqual(
            list(found),
            ["flare_io_uring", "flare_epoll", "fasthttp", "hyper",
             "actix_web"],
        )
        for target in found.values():
            self.assertIn("arena", target.start[0])
            self.assertEqual(target.data, arena.data())
            for script in ("start", "start_https"):
                path = (ROOT / target.start[0]).with_name(script)
                self.assertTrue(path.exists(), path)
        self.assertEqual(
            found["hyper"].build[1:], ("arena_hyper",)
        )
        self.assertEqual(
            found["flare_epoll"].for_valgrind().build[1:], ("x86-64-v3",)
        )

    def test_each_workload_asks_its_own_servers(self):
        self.assertEqual(
            [target.name for target in self.servers("plaintext")],
            list(TARGETS),
        )
        both = self.servers("plaintext", "arena_json")
        self.assertEqual(len(both), len(TARGETS) + 5)
        self.assertEqual(
            {target.kind for target in both}, {PRODUCTS, ARENA}
        )

    def test_stored_products_have_servers_in_mojo_and_go(self):
        found = self.servers("stored_read")
        self.assertEqual(
            [target.name for target in found],
            ["flare_io_uring", "flare_epoll", *GO_PEERS],
        )
        self.assertEqual({target.kind for target in found}, {STORED})

    def test_the_database_stands_behind_the_other_arguments(self):
        url = "postgres://a@b/c"
        for name, kind, words in (
            ("flare_epoll", PRODUCTS, ["epoll"]),
            ("flare_epoll", ARENA, ["epoll", url]),
            ("flare_epoll", STORED, ["epoll", url]),
            ("hyper", ARENA, [url]),
            ("net_http", STORED, [url]),
        ):
            target = replace(target_of(name).of_kind(kind), database=url)
            self.assertEqual(target.arguments(), words)
        traced = target_of("flare_epoll").of_kind(ARENA).for_valgrind()
        self.assertEqual(traced.arguments(), ["epoll", "", "x86-64-v3"])
        traced = target_of("flare_epoll").for_valgrind()
        self.assertEqual(traced.arguments(), ["epoll", "x86-64-v3"])

    def test_a_server_reads_the_data_in_the_place_of_the_products(self):
        target = target_of("hyper").of_kind(ARENA)
        place = Place((0,), 2, "products", mock.MagicMock())
        with mock.patch("subprocess.Popen") as popen, mock.patch(
            "benchmark.driver.targets.Running._await_answers"
        ), mock.patch("builtins.open"):
            running = target.run(place)
        self.assertEqual(
            popen.call_args[0][0][3:],
            [*target.start, str(running.port), "2", str(arena.data())],
        )


class Generators(unittest.TestCase):
    def test_wrk_is_told_the_profile(self):
        asking = Asking(80, (0,), 2.0, None)
        for name, words in (
            ("arena_baseline", "arena.lua http://127.0.0.1:80/baseline11 -- "
             "baseline"),
            ("arena_json_tls", "arena.lua https://127.0.0.1:80/json -- json"),
            ("arena_pipelined", "pipelined.lua http://127.0.0.1:80/pipeline"),
            ("arena_async_db", "arena.lua http://127.0.0.1:80/async-db --"
             " async_db"),
            ("catalogue_mixed", "paths.lua http://127.0.0.1:80/read -- /read"
             " /list /read /list /read"),
            ("arena_echo_ws", "--websocket 127.0.0.1 80 /ws"),
            ("arena_limited", "-n 10 127.0.0.1 80 /baseline11?a=13&b=42"),
        ):
            found = " ".join(command_of(chosen([name])[0], asking))
            self.assertTrue(found.endswith(words), found)


if __name__ == "__main__":
    unittest.main()
