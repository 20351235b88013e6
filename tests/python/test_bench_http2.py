"""Tests how the benchmark asks over HTTP/2, and what it takes for right."""

import os
import pathlib
import tempfile
import unittest

from benchmark.driver.generators import (
    SUITE,
    Asking,
    Load,
    LoadFailed,
    command_of,
    parse,
)
from benchmark.driver.http2 import URLS
from benchmark.driver.integrity import expected_of
from benchmark.driver.products import SITE, file_content, write_files
from benchmark.driver.targets import target_of
from benchmark.driver.workloads import BEST_PEER, HTTP2_PEERS, chosen

COUNTED = """\
finished in 2.00s, 250000.00 req/s, 12.00MB/s
requests: 500100 total, 500100 started, 500000 done, {good} succeeded, \
{failed} failed, 0 errored, 0 timeout
status codes: {right} 2xx, 0 3xx, 0 4xx, 0 5xx
"""


class Commands(unittest.TestCase):
    def test_each_request_has_another_target(self):
        command, lines = _asked(chosen(["h2_m32"])[0])
        self.assertEqual(len(set(lines)), URLS)
        self.assertEqual(lines[7], "https://127.0.0.1:8443/plaintext?id=7")
        self.assertEqual(command[:4], ["taskset", "-c", "1", "h2load"])
        self.assertIn("-m32", command)
        self.assertIn("-c8", command)
        self.assertIn("--duration=2", command)
        self.assertIn(f"--tls13-ciphers={SUITE}", command)

    def test_a_site_is_asked_for_file_by_file(self):
        workload = chosen(["h2_static"])[0]
        command, lines = _asked(workload)
        self.assertEqual(
            lines,
            [f"https://127.0.0.1:8443/files/site/{n}" for n, _ in SITE],
        )
        self.assertIn("--header=" + workload.fields[0], command)

    def test_siblings_of_a_site_are_right_answers(self):
        expected = expected_of(chosen(["h2_static"])[0], None)
        for octets, is_right in (
            (3_001, True), (4_001, True), (12_001, True), (12_000, False),
        ):
            found = file_content(octets) in expected.contents
            self.assertEqual(found, is_right, octets)

    def test_the_files_of_a_site_have_siblings(self):
        with tempfile.TemporaryDirectory() as folder:
            write_files(pathlib.Path(folder) / "files")
            site = pathlib.Path(folder) / "files" / "site"
            names = sorted(path.name for path in site.iterdir())
        self.assertEqual(len(names), 3 * len(SITE))
        self.assertIn("app.js.br", names)
        self.assertIn("app.js.gz", names)


class Servers(unittest.TestCase):
    def test_each_peer_speaks_both_forms(self):
        for name in HTTP2_PEERS:
            target = target_of(name)
            secured = target.secured(pathlib.Path("certificates"))
            plain = target.with_prior_knowledge()
            for found in (secured, plain):
                script = pathlib.Path(found.start[0])
                self.assertTrue(os.access(script, os.X_OK), script)
            # h2o looks at the first octets of each connection.
            own = "start" if name == "h2o" else "start_h2c"
            self.assertEqual(pathlib.Path(plain.start[0]).name, own)

    def test_a_claim_names_each_peer(self):
        for workload in chosen(["h2"]):
            if workload.paths:
                continue
            references = {claim.reference for claim in workload.claims}
            self.assertEqual(references, {*HTTP2_PEERS, BEST_PEER})


class Outputs(unittest.TestCase):
    command = ["taskset", "-c", "1", "h2load"]

    def test_right_answers_count(self):
        output = COUNTED.format(good=500_000, failed=0, right=500_000)
        self.assertEqual(
            parse(self.command, 0, output, ""), Load(500_000, 2.0)
        )

    def test_wrong_answers_are_errors(self):
        output = COUNTED.format(good=500_000, failed=3, right=499_990)
        self.assertEqual(
            parse(self.command, 0, output, ""),
            Load(499_990, 2.0, {"failed": 3, "status": 10}),
        )

    def test_a_fixed_rate_shows_latencies(self):
        workload = chosen(["h2_m32"])[0]
        with tempfile.TemporaryDirectory() as folder:
            asking = Asking(
                80, (1,), 2.0, pathlib.Path(folder), rate=80_000.0
            )
            command = command_of(workload, asking)
            self.assertIn("--rps=10000.00", command)
            log = pathlib.Path(command[-2].partition("=")[2])
            # 2,500 answers take 1 to 2,500 us.
            log.write_text("".join(f"7\t200\t{i}\n" for i in range(1, 2501)))
            output = COUNTED.format(good=2_500, failed=0, right=2_500)
            latencies = parse(command, 0, output, "").latency_us
        self.assertEqual(latencies["p50"], 1251)
        self.assertEqual(latencies["p99"], 2476)
        # Of the p99 of two thousands, 991 and 1,991.
        self.assertEqual(latencies["window_p99"], 1991)

    def test_other_output_is_a_failure(self):
        for output in ("", "finished in 1s", COUNTED[:60]):
            with self.assertRaises(LoadFailed):
                parse(self.command, 0, output, "")


def _asked(workload):
    """Gives the command that asks for a workload, and its targets."""
    with tempfile.TemporaryDirectory() as folder:
        asking = Asking(8443, (1,), 2.0, pathlib.Path(folder))
        command = command_of(workload, asking)
        urls = command[-1].partition("=")[2]
        return command, pathlib.Path(urls).read_text().splitlines()


if __name__ == "__main__":
    unittest.main()
