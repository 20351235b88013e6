"""Tests that the benchmark knows the arena's servers, and what they must
answer."""

import gzip
import re
import unittest
from unittest import mock

from benchmark.driver import arena, command
from benchmark.driver.answers import Answer
from benchmark.driver.generators import SCRIPTS, Asking, command_of
from benchmark.driver.targets import ROOT, Place, target_of
from benchmark.driver.workloads import TARGETS, chosen

ARENA = chosen(["arena"])


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
        for workload in ARENA:
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

    def test_a_server_reads_the_data_in_the_place_of_the_products(self):
        target = target_of("hyper").in_arena()
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
            ("arena_limited", "-n 10 127.0.0.1 80 /baseline11?a=13&b=42"),
        ):
            found = " ".join(command_of(chosen([name])[0], asking))
            self.assertTrue(found.endswith(words), found)


if __name__ == "__main__":
    unittest.main()
