"""Tests a whole run of the benchmark with small servers and its report."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from benchmark.driver import command, scaling
from benchmark.driver.answers import Connection
from benchmark.driver.claims import (
    DISTURBED,
    FAIL,
    NOT_MEASURED,
    PASS,
    TOO_FEW,
)
from benchmark.driver.generators import Load
from benchmark.driver.measures import Setting
from benchmark.driver.products import Pool
from benchmark.driver.report import markdown, table
from benchmark.driver.results import Result
from benchmark.driver.rounds import Sample, Series
from benchmark.driver.session import Session
from benchmark.driver.targets import Place, Target, target_of
from benchmark.driver.workloads import (
    ABSOLUTE,
    BEFORE,
    BEST_OF_ALL,
    BEST_PEER,
    CPU,
    FLARE,
    LATENCY,
    MEMORY,
    SYSTEM_CALLS,
    WORKLOADS,
    Claim,
    chosen,
)

SERVER = """\
import socketserver, sys
ANSWER = (b"HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\n"
          b"Content-Length: 13\\r\\n\\r\\n" + sys.argv[4].encode())
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline():
            while self.rfile.readline() not in (b"\\r\\n", b""):
                pass
            self.wfile.write(ANSWER)
class Server(socketserver.TCPServer):
    allow_reuse_address = True
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
STRACE = """\
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
print("strace: Process 1 attached", file=sys.stderr, flush=True)
signal.sigwait([signal.SIGINT])
with open(sys.argv[sys.argv.index("-o") + 1], "w") as summary:
    summary.write("100.00 0.000100 1 80 total\\n")
"""
PLAINTEXT = chosen(["plaintext"])[0]


def few_requests(workload, asking):
    """Stands for a load generator: asks 40 times on one connection."""
    with Connection(asking.port) as connection:
        for _ in range(40):
            connection.send(workload.method, workload.path)
            connection.answer()
    return Load(40, 0.1, {}, {"p50": 10.0, "p99": 20.0})


class Sessions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # Which loads were asked for, and whether cores stayed awake meanwhile.
        self.loads = []
        self.awake = []
        for name, stand_in in (
            ("measures.load", self.asked),
            ("session.wakeful_cores", self.kept_awake),
        ):
            patch = mock.patch(f"benchmark.driver.{name}", stand_in)
            patch.start()
            self.addCleanup(patch.stop)
        (self.folder / "server.py").write_text(SERVER)
        (self.folder / "products.json").write_text("[\n]\n")

    def asked(self, workload, asking):
        kind = "at a rate" if asking.rate else "as many"
        self.loads.append((kind, bool(self.awake)))
        return few_requests(workload, asking)

    @contextmanager
    def kept_awake(self, is_wanted):
        if is_wanted:
            self.awake.append(True)
        yield is_wanted
        self.awake.clear()

    def target(self, name, *options):
        server = self.folder / "server.py"
        return Target(name, (sys.executable, str(server)), (), options)

    def measure(
        self,
        targets,
        measures=(CPU, LATENCY, MEMORY),
        rounds=2,
        slices=None,
        may_halt=False,
    ):
        products = self.folder / "products.json"
        core = min(os.sched_getaffinity(0))
        place = Place((core,), 1, products, self.folder / "logs")
        setting = Setting(
            place, (core,), 0.1, 0.1, self.folder, True, slices,
            may_halt=may_halt,
        )
        measuring = Session(
            setting, Pool(products), rounds, measures, lambda _: None
        )
        return measuring.measure(PLAINTEXT, targets)

    def test_targets_are_measured_and_wrong_ones_named(self):
        result = self.measure([
            self.target("flare_epoll", "Hello, World!"),
            self.target("limit_epoll", "Hello, World!"),
            self.target("nginx", "Hello, Wurld!"),
            Target("hyper", ("/bin/false",), ()),
        ])
        self.assertEqual(result.targets(), ["flare_epoll", "limit_epoll"])
        self.assertIn("Wurld", result.left_out["nginx"])
        self.assertIn("ended at once", result.left_out["hyper"])
        series = result.series[CPU]["flare_epoll"]
        self.assertEqual((series.count, series.errors), (2, 0))
        self.assertGreater(series.counted("cpu_us")[0], 0)
        self.assertEqual(
            result.series[LATENCY]["limit_epoll"].counted("p99"), [20.0, 20.0]
        )
        self.assertEqual(result.latency_rate, 200.0)
        self.assertGreater(
            result.figure("flare_epoll", "memory_octets"), 1 << 20
        )
        outcomes = {verdict.outcome for _, verdict in result.verdicts()}
        self.assertEqual(outcomes, {DISTURBED, NOT_MEASURED})
        text = markdown([result], {"processor": "a|b"})
        self.assertIn("nginx: left out", text)
        self.assertIn("| flare_epoll |", text)
        self.assertIn("a\\|b", text)
        json.dumps(result.as_data())

    def test_cores_stay_awake_for_latencies_unless_they_may_halt(self):
        for may_halt in (False, True):
            self.loads.clear()
            result = self.measure(
                [self.target("flare_epoll", "Hello, World!")],
                (CPU, LATENCY),
                may_halt=may_halt,
            )
            # The rate is found by asking for as many as are answered, which
            # CPU time is measured by too.
            self.assertIn(("as many", False), self.loads)
            self.assertIn(("at a rate", not may_halt), self.loads)
            self.assertNotIn(("at a rate", may_halt), self.loads)
            self.assertEqual(result.cores_are_awake, not may_halt)
            self.assertEqual(
                result.as_data()["cores_are_awake"], not may_halt
            )
            self.assertIn(result.idle_cores(), markdown([result], {}))

    def test_targets_that_take_turns_are_measured_one_by_one(self):
        def take_turns(stack, workload, askings, seconds, bystanders):
            self.assertEqual(seconds, 0.05)
            return {
                name: mock.Mock(
                    end=lambda a=asking: few_requests(workload, a)
                )
                for name, asking in askings.items()
            }

        with mock.patch("benchmark.driver.measures.take_turns", take_turns):
            result = self.measure(
                [
                    self.target("hyper", "Hello, World!"),
                    self.target("nginx", "Hello, World!"),
                ],
                (CPU,),
                slices=0.05,
            )
        for name in ("hyper", "nginx"):
            series = result.series[CPU][name]
            self.assertEqual((series.count, series.errors), (2, 0))
            self.assertGreater(series.counted("cpu_us")[0], 0)

    def test_system_calls_are_counted_in_each_round(self):
        folder = self.folder / "programs"
        folder.mkdir()
        (folder / "strace").write_text(f"#!{sys.executable}\n{STRACE}")
        (folder / "strace").chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}"
        with mock.patch.dict(os.environ, PATH=path):
            result = self.measure(
                [self.target("flare_epoll", "Hello, World!")],
                (SYSTEM_CALLS,),
                3,
            )
        series = result.series[SYSTEM_CALLS]["flare_epoll"]
        self.assertEqual(series.counted("system_calls"), [2.0] * 3)
        self.assertIn("| 2.000 |", markdown([result], {}))

    def test_without_strace_a_note_says_so(self):
        with mock.patch("shutil.which", return_value=None):
            result = self.measure(
                [self.target("flare_epoll", "Hello, World!")], (SYSTEM_CALLS,)
            )
        self.assertEqual(result.series, {})
        self.assertIn("strace is missing", " ".join(result.notes))

    def test_a_target_that_cannot_be_started_leaves_the_others(self):
        result = self.measure(
            [
                Target("ntex", ("/nowhere",), ()),
                self.target("hyper", "Hello, World!"),
            ],
            (CPU,),
            1,
        )
        self.assertEqual(result.targets(), ["hyper"])
        self.assertEqual(list(result.left_out), ["ntex"])


class Scaling(unittest.TestCase):
    def settings(self, server_cores, load_cores):
        place = Place(server_cores, 1, Path("p"), Path("l"))
        return scaling.settings_of(
            Setting(place, load_cores, 1.0, 1.0, Path("f"))
        )

    def test_two_workers_have_two_cores_where_there_are_three(self):
        one, two, is_shared = self.settings((0, 1), (2,))
        self.assertEqual((one.place.cores, one.place.workers), ((0,), 1))
        self.assertEqual((two.place.cores, two.place.workers), ((0, 1), 2))
        self.assertFalse(is_shared or two.is_disturbed)

    def test_of_two_cores_both_numbers_of_workers_share_alike(self):
        one, two, is_shared = self.settings((0,), (1,))
        self.assertEqual((one.place.cores, two.place.cores), ((0,), (0, 1)))
        self.assertTrue(is_shared)
        for setting in (one, two):
            self.assertTrue(setting.is_disturbed)
            self.assertEqual(setting.load_cores, (0, 1))
            self.assertTrue(setting.asking(80).is_spread)


class Verdicts(unittest.TestCase):
    def result(self, figure="cpu_us", measure=CPU, **figures):
        series = {
            name: Series([Sample({figure: value}) for value in values])
            for name, values in figures.items()
        }
        return Result(PLAINTEXT, series={measure: series})

    def outcome(self, result, *claim, **options):
        words, verdict = result.verdict(Claim(*claim, **options))
        return verdict.outcome, words

    def test_claims_are_judged_by_the_paired_ratio(self):
        result = self.result(
            flare_io_uring=[1.1] * 11, limit_io_uring=[1.0] * 11
        )
        name = ("flare_io_uring", 1.2, "limit_io_uring")
        self.assertEqual(self.outcome(result, *name)[0], PASS)
        name = ("flare_io_uring", 1.05, "limit_io_uring")
        self.assertEqual(self.outcome(result, *name)[0], FAIL)
        name = ("flare_io_uring", 1.05, "nginx")
        self.assertEqual(self.outcome(result, *name)[0], NOT_MEASURED)

    def test_few_rounds_claim_nothing(self):
        result = self.result(flare_epoll=[1.0] * 10, nginx=[2.0] * 10)
        self.assertEqual(
            self.outcome(result, "flare_epoll", 1.0, "nginx")[0], TOO_FEW
        )

    def test_the_best_is_found_among_those_who_may_be_it(self):
        result = self.result(
            flare_io_uring=[2.0] * 11,
            flare_epoll=[1.0] * 11,
            limit_epoll=[1.5] * 11,
            nginx=[3.0] * 11,
            hyper=[2.5] * 11,
        )
        outcome, words = self.outcome(
            result, "flare_io_uring", 1.0, BEST_OF_ALL
        )
        self.assertEqual(outcome, FAIL)
        self.assertIn("limit_epoll", words)
        outcome, words = self.outcome(result, "flare_io_uring", 1.0, BEST_PEER)
        self.assertEqual(outcome, PASS)
        self.assertIn("hyper", words)

    def test_system_calls_are_judged_by_paired_rounds(self):
        claim = ("flare_epoll", 1.1, "limit_epoll")
        for ours, expected in ((2.2, PASS), (2.21, FAIL)):
            result = self.result(
                "system_calls",
                SYSTEM_CALLS,
                flare_epoll=[ours] * 11,
                limit_epoll=[2.0] * 11,
            )
            outcome, _ = self.outcome(result, *claim, figure="system_calls")
            self.assertEqual(outcome, expected)

    def test_a_single_figure_is_judged_by_itself(self):
        result = Result(PLAINTEXT)
        claim = ("flare_epoll", 1536.0, ABSOLUTE)
        for octets, expected in ((1536.0, PASS), (1537.0, FAIL)):
            result.single["memory_octets"] = {"flare_epoll": octets}
            outcome, _ = self.outcome(result, *claim, figure="memory_octets")
            self.assertEqual(outcome, expected)

    def test_p99_is_claimed_of_runs_and_of_windows(self):
        for workload in chosen(["read", "simple", "compute", "list"]):
            figures = {
                claim.figure
                for claim in workload.claims
                if claim.reference == BEST_PEER
            }
            if LATENCY in workload.measures:
                self.assertEqual(figures, {"p99", "window_p99"})

    def test_latencies_alone_have_a_chart(self):
        result = self.result("p50", LATENCY, flare_epoll=[30.0] * 11)
        self.assertIn("![plaintext](plaintext.svg)", markdown([result], {}))
        calls = self.result("system_calls", SYSTEM_CALLS, flare_epoll=[2.0])
        self.assertNotIn("![", markdown([calls], {}))

    def test_every_claim_of_a_workload_can_be_said(self):
        for workload in WORKLOADS:
            for words, verdict in Result(workload).verdicts():
                self.assertTrue(words)
                self.assertEqual(verdict.outcome, NOT_MEASURED)


class Commands(unittest.TestCase):
    def test_servers_and_load_never_share_a_core(self):
        problem = command.core_problem
        self.assertIsNone(problem((0,), (1,), {0, 1}))
        self.assertIsNotNone(problem((0, 1), (1,), {0, 1}))
        self.assertIsNotNone(problem((0,), (2,), {0, 1}))

    def test_a_quick_run_takes_few_workloads_and_a_full_one_all(self):
        with mock.patch("os.sched_getaffinity", return_value={0, 1}):
            quick = command.parse([])
            full = command.parse(["--full"])
        self.assertEqual(
            [w.name for w in quick.workloads],
            ["plaintext", "pipelined", "read", "simple"],
        )
        self.assertEqual(full.workloads, list(WORKLOADS))
        self.assertNotIn(LATENCY, quick.measures)
        self.assertIn(LATENCY, full.measures)

    def test_another_checkout_is_measured_beside_this_one(self):
        with mock.patch("os.sched_getaffinity", return_value={0, 1}):
            given = command.parse(["--before", "/elsewhere"])
        self.assertEqual(given.targets, [*FLARE, *BEFORE])
        for workload in given.workloads:
            self.assertEqual(
                [str(claim) for claim in workload.claims],
                [
                    "cpu_us: flare_io_uring ≤ 1.02 × before_io_uring",
                    "cpu_us: flare_epoll ≤ 1.02 × before_epoll",
                ],
            )
        built = {
            name: target_of(name, given.before).build[0]
            for name in given.targets
        }
        self.assertEqual(
            built["before_epoll"], "/elsewhere/benchmark/flare/build"
        )
        self.assertNotEqual(built["flare_epoll"], built["before_epoll"])

    def test_what_is_asked_for_reaches_those_who_measure(self):
        place = Place((0,), 1, Path("p"), Path("l"))
        with mock.patch("os.sched_getaffinity", return_value={0, 1}):
            for options, may_halt, is_disturbed in (
                ([], False, False),
                (["--may-halt"], True, False),
                (["--disturbed"], False, True),
            ):
                setting = command.setting_of(
                    command.parse(options), place, Path("f")
                )
                self.assertEqual(setting.may_halt, may_halt)
                self.assertEqual(setting.is_disturbed, is_disturbed)
                self.assertEqual(setting.seconds, 1.0)

    def test_the_program_explains_itself(self):
        program = Path(command.__file__).parents[1] / "bench"
        finished = subprocess.run(
            [sys.executable, program, "--workloads", "none"],
            capture_output=True, text=True, timeout=60,
        )
        self.assertEqual(finished.returncode, 2)
        self.assertIn("no workload none", finished.stderr)


class Tables(unittest.TestCase):
    def test_cells_cannot_break_a_table(self):
        text = table(["a"], [["x|y\nz"]])
        self.assertEqual(text, "| a |\n|---|\n| x\\|y z |")


if __name__ == "__main__":
    unittest.main()
