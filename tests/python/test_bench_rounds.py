"""Tests that rounds alternate, count only undisturbed, and pair."""

import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

from benchmark.driver import bystanders, measures, processes
from benchmark.driver.generators import (
    Asking,
    Load,
    LoadFailed,
    command_of,
    load,
    parse_lean,
    parse_resuming,
    parse_wrk,
    sum_of,
)
from benchmark.driver.measures import (
    NotMeasured,
    Setting,
    calls_in,
    instructions_in,
    problem_of,
)
from benchmark.driver.processes import Reading, Times
from benchmark.driver.rounds import (
    ATTEMPTS_MAX,
    Sample,
    alternate,
    middle_of,
    one_by_one,
)
from benchmark.driver.workloads import WORKLOADS, chosen

WRK = """\
Running 1s test @ http://127.0.0.1:8090/plaintext
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.02ms    3.90ms  35.88ms   91.09%
  Latency Distribution
     50%  650.00us
     99%    1.61ms
  17524 requests in 1.10s, 1.99MB read
Requests/sec:  15930.90
"""
WRONG = """\
  Socket errors: connect 1, read 2, write 0, timeout 3
  Non-2xx or 3xx responses: 7
"""
LEAN = """\
{"requests": 100, "seconds": 2.0, "rate": 50.0, "octets": 1, "cpu_us": 1.5,
 "errors": {"connect": 0, "broken": 4, "status": 0},
 "latency_us": {"count": 100, "p50": 4.5, "p99": 7, "p99.9": 8, "max": 9}}
"""
RESUMING = """\


Now timing with session id reuse.
starting
rrr*rrr

7 connections in 0.02s; 350.00 connections/user sec, bytes read 0
7 connections in 3 real seconds, 0 bytes read per connection
"""
STRACE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000300           3       100           sendto
 40.00    0.000200           1       120         7 recvfrom
------ ----------- ----------- --------- --------- ----------------
100.00    0.000500           2       220         7 total
"""


class Alternating(unittest.TestCase):
    def run_rounds(self, rounds, measure):
        return alternate(
            ("a", "b"), rounds, one_by_one(measure), lambda *_: None
        )

    def test_every_other_round_goes_the_other_way(self):
        asked = []

        def measure(name):
            asked.append(name)
            return Sample({"cpu_us": 1.0})

        self.run_rounds(3, measure)
        self.assertEqual("".join(asked), "abbaab")

    def test_a_disturbed_target_is_asked_again_in_its_round(self):
        asked = []

        def measure(name):
            asked.append(name)
            is_first = asked.count("a") == 1 and name == "a"
            return Sample({"cpu_us": 1.0}, problem="busy" if is_first else "")

        series = self.run_rounds(1, measure)
        self.assertEqual("".join(asked), "aba")
        self.assertEqual(series["a"].problems, ["busy"])
        self.assertEqual(series["a"].count, 1)

    def test_a_gap_keeps_the_rounds_of_others_in_place(self):
        asked = {"a": 0, "b": 0}

        def measure(name):
            asked[name] += 1
            lost = name == "a" and asked["a"] <= ATTEMPTS_MAX
            return Sample(
                {"cpu_us": float(asked[name])}, problem="busy" if lost else ""
            )

        series = self.run_rounds(2, measure)
        # The round that one lost is made up for.
        self.assertEqual(series["a"].figures("cpu_us"), [None, 4.0, 5.0])
        self.assertEqual(series["b"].figures("cpu_us"), [1.0, 2.0, 3.0])

    def test_a_target_that_never_counts_ends_the_rounds(self):
        def measure(name):
            return Sample({}, problem="busy" if name == "a" else "")

        series = self.run_rounds(2, measure)
        self.assertEqual(series["a"].samples, [None] * 4)
        self.assertEqual(series["b"].count, 4)


class Turns(unittest.TestCase):
    def test_targets_take_turns_at_a_rate(self):
        asked = []

        def sample(setting, running, workload, rate, is_restless):
            asked.append((running, setting.seconds, rate, is_restless))
            return Sample({"p50": float(len(asked))}, errors=1)

        setting = Setting(None, (0,), 1.4, 0.1, Path())
        with mock.patch.object(measures, "cpu_sample", sample):
            found = measures.at_rate(
                setting, {"a": "A", "b": "B"}, None, 50.0
            )(("a", "b"))
        self.assertEqual("".join(one[0] for one in asked), "ABBAAB")
        self.assertEqual({one[2:] for one in asked}, {(50.0, True)})
        self.assertAlmostEqual(sum(one[1] for one in asked), 2 * 1.4)
        self.assertEqual(found["a"], Sample({"p50": 4.0}, errors=3))
        self.assertEqual(found["b"], Sample({"p50": 3.0}, errors=3))

    def test_a_slow_moment_does_not_decide_what_a_target_can_answer(self):
        seconds = []
        rates = {1: [50.0, 100.0, 102.0, 40.0, 101.0, 103.0, 60.0], 2: []}

        def load(workload, asking):
            seconds.append(asking.seconds)
            if not rates[asking.port]:
                raise LoadFailed("broken")
            return Load(int(rates[asking.port].pop(0)), 1.0)

        setting = Setting(None, (0,), 2.0, 0.1, Path())
        runs = {"a": mock.Mock(port=1), "b": mock.Mock(port=2)}
        with mock.patch.object(measures, "load", load):
            found, failures = measures.capacities(
                setting, runs, chosen(["plaintext"])[0]
            )
        self.assertEqual(found, {"a": 100.0})
        self.assertEqual([*failures], ["b"])
        # Who has failed is not asked again.
        self.assertEqual(seconds, [0.5] * 8)

    def test_a_turn_that_does_not_count_is_left_out(self):
        busy = Sample({}, problem="busy")
        whole = Sample({"p50": 2.0, "p99": 9.0})
        other = Sample({"p50": 4.0})
        self.assertEqual(
            middle_of([busy, whole, other]), Sample({"p50": 3.0})
        )
        self.assertEqual(middle_of([busy, whole]), whole)
        self.assertEqual(middle_of([whole, busy, busy]), busy)


class Counting(unittest.TestCase):
    def test_waiting_of_two_hundredths_does_not_count(self):
        load = Load(1000, 1.0)
        for waited, is_right in ((0, True), (1_999, True), (2_000, False)):
            with self.subTest(waited):
                times = Times(100_000, waited, others=50_000)
                self.assertEqual(problem_of(load, times) == "", is_right)

    def test_threads_that_wait_for_each_other_are_not_disturbed(self):
        load = Load(1000, 1.0)
        for others, is_right in ((1_999, True), (2_000, False)):
            with self.subTest(others):
                times = Times(100_000, 50_000, others=others)
                self.assertEqual(problem_of(load, times) == "", is_right)

    def test_what_the_kernel_does_for_the_server_is_not_waiting_but_cost(self):
        load = Load(1000, 1.0)
        for softirq, is_right in ((8_000, False), (8_001, True)):
            times = Times(100_000, 10_000, softirq, 50_000)
            with self.subTest(softirq):
                self.assertEqual(problem_of(load, times) == "", is_right)
        figures = measures.figures_of(load, Times(90_000, 9_000, 10_000))
        self.assertEqual(figures["cpu_us"], 0.1)
        self.assertEqual(figures["softirq"], 0.1)
        self.assertEqual(figures["waited"], 0)

    def test_a_disturbed_run_counts_what_waited_but_not_what_failed(self):
        times = Times(100, 100, others=100)
        self.assertEqual(problem_of(Load(1000, 1.0), times, True), "")
        self.assertNotEqual(problem_of(Load(0, 1.0), times, True), "")

    def test_more_than_one_error_in_a_thousand_spoils_a_round(self):
        times = Times(100, 0)
        self.assertEqual(problem_of(Load(1000, 1.0, {"read": 1}), times), "")
        self.assertNotEqual(problem_of(Load(999, 1.0, {"read": 1}), times), "")

    def test_a_thread_that_ended_spoils_a_round(self):
        self.assertNotEqual(problem_of(Load(1000, 1.0), None), "")

    def test_cpu_per_request_is_of_all_threads(self):
        figures = measures.figures_of(
            Load(100, 2.0), Times(450_000, 9_000, others=10_000)
        )
        self.assertEqual(figures["cpu_us"], 4.5)
        self.assertEqual(figures["rate"], 50.0)
        self.assertEqual(figures["waited"], 0.02)


class Readings(unittest.TestCase):
    def test_who_else_ran_on_the_core_is_counted(self):
        rows = [
            # process, thread, name, core, run before and after
            (5, 5, "server", 0, 100, 900),
            (5, 6, "server", 0, 100, 900),
            (7, 7, "ksoftirqd/0", 0, 50, 53),
            (8, 8, "ksoftirqd/1", 1, 600, 700),
            (9, 9, "kworker/0:1", 0, 7000, 7010),
            (10, 10, "ksoftirqd/0-x", 0, 80, 90),
            (11, 12, "a) S 1 (b", 0, 1, 101),
            (11, 13, "a) S 1 (b", 1, 1, 901),
            (14, 14, "began meanwhile", 0, None, 1000),
        ]
        with tempfile.TemporaryDirectory() as folder:

            def write(place):
                for row in rows:
                    process, thread, name, core, run = (*row[:4], row[place])
                    path = Path(folder, str(process), "task", str(thread))
                    if run is None:
                        continue
                    path.mkdir(parents=True, exist_ok=True)
                    fields = " ".join(["S", *["0"] * 35, str(core), "0"])
                    (path / "stat").write_text(f"{thread} ({name}) {fields}\n")
                    (path / "schedstat").write_text(f"{run} 3 4\n")

            with mock.patch.object(processes, "PROC", Path(folder)):
                write(4)
                # One that ends while it is looked at.
                Path(folder, "77").mkdir()
                Path(folder, "uptime").write_text("1 2")
                seen = bystanders.Bystanders(5, {0, 2})
                with seen:
                    write(5)
                self.assertEqual(seen.ran, bystanders.Ran(3, 1120))
                with seen:
                    pass
                self.assertEqual(seen.ran, bystanders.Ran(3, 1120))

    def test_new_threads_count_from_their_start(self):
        before = Reading({(1, 1): (10, 1)})
        after = Reading({(1, 1): (15, 2), (1, 2): (7, 3)})
        self.assertEqual(before.until(after), Times(12, 4))

    def test_a_thread_that_ended_leaves_nothing_to_tell(self):
        before = Reading({(1, 1): (10, 1), (1, 2): (7, 3)})
        self.assertIsNone(before.until(Reading({(1, 1): (15, 2)})))

    def test_a_child_that_works_counts_and_ends_with_its_parent(self):
        busy = "while True: pass"
        parent = subprocess.Popen(
            [sys.executable, "-c",
             "import subprocess, sys\n"
             f"subprocess.run([sys.executable, '-c', {busy!r}])"]
        )
        try:
            deadline = time.monotonic() + 30
            while len(processes.tree(parent.pid)) < 2:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            child = processes.tree(parent.pid)[1]
            before = processes.read(parent.pid)
            used = 0
            while used < 50_000_000:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
                times = before.until(processes.read(parent.pid))
                used = times.run if times else 0
            self.assertGreater(processes.memory_octets(parent.pid), 1 << 20)
        finally:
            processes.stop(parent)
        self.assertFalse(processes.is_running(child))


class Generators(unittest.TestCase):
    def test_wrk_is_read(self):
        load = parse_wrk(WRK)
        self.assertEqual((load.requests, load.error_count), (17524, 0))
        self.assertAlmostEqual(load.rate, 17524 / 1.1)
        self.assertEqual(load.latency_us, {"p50": 650.0, "p99": 1610.0})

    def test_errors_of_wrk_are_counted(self):
        self.assertEqual(parse_wrk(WRK + WRONG).error_count, 13)

    def test_the_lean_client_is_read(self):
        load = parse_lean(LEAN)
        self.assertEqual((load.requests, load.rate), (100, 50.0))
        self.assertEqual(load.errors, {"broken": 4})
        self.assertEqual(load.latency_us["p99.9"], 8.0)
        self.assertNotIn("count", load.latency_us)

    def test_handshakes_that_were_not_resumed_are_errors(self):
        load = parse_resuming(RESUMING)
        self.assertEqual((load.requests, load.seconds), (7, 3.0))
        self.assertEqual(load.errors, {"full": 1})

    def test_generators_that_ask_together_are_added_up(self):
        load = sum_of(
            [Load(7, 3.0, {"full": 1}), Load(5, 2.0), Load(1, 1, {"full": 2})]
        )
        self.assertEqual((load.requests, load.seconds), (13, 3.0))
        self.assertEqual(load.errors, {"full": 3})

    def test_what_is_no_result_is_refused(self):
        for parse in (parse_wrk, parse_lean, parse_resuming):
            for output in ("", "{}", "[1]", "unable to connect"):
                with self.subTest(parse.__name__, output=output):
                    with self.assertRaises(LoadFailed):
                        parse(output)

    def test_commands_say_what_the_workload_says(self):
        asking = Asking(80, (1, 3), 2.0, None)
        rated = Asking(80, (1,), 2.0, None, rate=500.0)
        restless = replace(rated, is_restless=True)
        for name, asked, words in (
            ("plaintext", asking, "-c 1,3 wrk -t1 -c64 -d2s"),
            ("plaintext_c256", asking, "wrk -t8 -c256"),
            ("pipelined", asking, "pipelined.lua"),
            ("mixed_keepalive", asking, "mixed_keepalive.lua"),
            ("plaintext", rated, "lean -c 64 -d 2 -R 500 127.0.0.1 80 /"),
            ("pipelined", rated, "lean -c 64 -d 2 -R 500 127.0.0.1"),
            ("read", restless, "-R 500 --random --spin 10000 --lengths-vary"),
            ("list_lean", asking, "lean -c 64 -d 2 --lengths-vary 127.0"),
            ("churn", asking, "lean -c 64 -d 2 -n 1 127.0.0.1"),
            ("limited", asking, "-n 10"),
            ("read", rated, "--lengths-vary"),
            ("https_plaintext", asking, "-c64 -d2s --latency https://"),
            ("https_full", asking, "-H Connection: close https://127."),
            ("https_resumed", asking, "s_time -reuse -tls1_2"),
            ("download_1m", asking, "lean -c 16 -d 2 127.0.0.1 80 /download/"),
        ):
            with self.subTest(name):
                workload = next(w for w in WORKLOADS if w.name == name)
                command = " ".join(command_of(workload, asked))
                self.assertIn(words, command)

    def test_a_spread_load_has_a_generator_on_each_core(self):
        asking = Asking(80, (0, 1), 2.0, None, rate=500.0, is_spread=True)
        run = mock.Mock(side_effect=lambda *_: Load(100, 2.0, {}))
        with mock.patch("benchmark.driver.generators._run", run):
            found = load(chosen(["two_workers"])[0], asking)
        commands = sorted(" ".join(call[0][0]) for call in run.call_args_list)
        self.assertEqual(len(commands), 2)
        for core, command in enumerate(commands):
            self.assertIn(f"taskset -c {core} ", command)
            self.assertIn("lean -c 32 -d 2 -R 250 ", command)
        self.assertEqual(found.requests, 200)


class Counters(unittest.TestCase):
    def test_the_sum_of_strace_is_read(self):
        self.assertEqual(calls_in(STRACE), 220)
        self.assertEqual(calls_in(STRACE.replace(" 7 ", "   ")), 220)
        with self.assertRaises(NotMeasured):
            calls_in("")

    def test_the_sum_of_callgrind_is_read(self):
        self.assertEqual(instructions_in("events: Ir\nsummary: 42\n"), 42)
        self.assertEqual(instructions_in("fn=1\ntotals: 43\n"), 43)
        self.assertEqual(instructions_in(""), 0)


class Choosing(unittest.TestCase):
    def test_a_group_stands_for_all_its_workloads(self):
        found = [w.name for w in chosen(["upload", "churn"])]
        self.assertEqual(
            found,
            ["churn", "upload_4k", "upload_64k", "upload_1m", "upload_16m"],
        )

    def test_names_are_unique_and_unknown_ones_refused(self):
        names = [w.name for w in WORKLOADS]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(chosen(None), list(WORKLOADS))
        with self.assertRaises(ValueError):
            chosen(["plain"])


if __name__ == "__main__":
    unittest.main()
