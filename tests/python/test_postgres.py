"""Lets `flare.postgres` talk with a PostgreSQL server."""

import os
import re
import signal
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.programs import without_libraries  # noqa: E402
from postgres import cluster as clusters  # noqa: E402
from postgres.case import BACKENDS, PostgresTest, start_cluster  # noqa: E402
from postgres.cutter import Cutter, Starting  # noqa: E402

CASES = (
    "types",
    "statements",
    "sharing",
    "sessions",
    "places",
    "streams",
    "copies",
    "savepoints",
    "repeated",
    "lifetime",
    "closed",
    "listen",
    "transactions",
    "left_open",
    "exhausted",
    "terminated",
    "lost_commit",
    "plans",
    "neighbours",
    "fork",
)
STREAMED_ROWS = 10_000_000
# More than the octets of a conversation in each direction.
ANSWER_OCTETS = 1_600
REQUEST_OCTETS = 1_100
# All that the library would read, and that would change the connection.
HOSTILE = {
    "PGHOST": "192.0.2.1",
    "PGHOSTADDR": "192.0.2.1",
    "PGPORT": "1",
    "PGUSER": "nobody",
    "PGPASSWORD": "wrong",
    "PGPASSFILE": "/etc/passwd",
    "PGDATABASE": "nowhere",
    "PGAPPNAME": "hostile",
    "PGCLIENTENCODING": "LATIN1",
    "PGOPTIONS": "-c default_transaction_read_only=on",
    "PGSSLMODE": "verify-full",
    "PGSSLROOTCERT": "/etc/passwd",
    "PGSSLCERT": "/etc/passwd",
    "PGSSLKEY": "/etc/passwd",
    "PGSSLCRL": "/etc/passwd",
    "PGSSLCRLDIR": "/etc",
    "PGSSLMINPROTOCOLVERSION": "TLSv1.3",
    "PGSSLMAXPROTOCOLVERSION": "TLSv1.2",
    "PGCHANNELBINDING": "require",
    "PGGSSENCMODE": "require",
    "PGTARGETSESSIONATTRS": "standby",
    "PGREQUIREAUTH": "none",
    "PGCONNECT_TIMEOUT": "1",
}


def setUpModule():
    start_cluster().psql(
        "CREATE ROLE limited LOGIN CONNECTION LIMIT 0 PASSWORD 'x'"
    )


class ProgramTest(PostgresTest):
    def start(self, case, url, *numbers, **options):
        return super().start(url, case, *numbers, **options)


class CaseTest(ProgramTest):
    def test_each_case_on_each_kernel_interface(self):
        for backend in BACKENDS:
            for case in CASES:
                with self.subTest(backend=backend, case=case):
                    # No notice of the server reaches the output.
                    self.assertEqual(
                        self.run_case(case, self.url(), backend=backend), ""
                    )

    def test_a_long_stream_takes_no_memory(self):
        for backend in BACKENDS:
            output = self.run_case(
                "long_stream", self.url(), STREAMED_ROWS, backend=backend
            )
            found = re.fullmatch(
                rf"rows {STREAMED_ROWS} ms \d+ kib (\d+)\n", output
            )
            self.assertLess(int(found[1]), 16 * 1024)

    def test_each_case_inside_of_tls(self):
        trust = f"?sslmode=verify-full&sslrootcert={self.cluster.certificate}"
        for case in ("types", "sharing", "places", "terminated"):
            with self.subTest(case=case):
                self.assertEqual(self.run_case(case, self.url(trust)), "")

    def test_no_signal_ends_a_program_that_writes_to_a_dead_connection(self):
        trust = f"?sslmode=verify-full&sslrootcert={self.cluster.certificate}"
        for query in ("?sslmode=disable", trust):
            with self.subTest(query=query):
                self.assertEqual(
                    self.run_case("broken_pipe", self.url(query)), ""
                )

    def test_a_stack_is_long_enough_for_the_library(self):
        trust = f"?sslmode=verify-full&sslrootcert={self.cluster.certificate}"
        kib = int(self.run_case("stack", self.url(trust)))
        self.assertGreater(kib, 4)
        self.assertLess(kib, 96)

    def test_one_libssl_serves_both(self):
        trust = f"?sslmode=verify-full&sslrootcert={self.cluster.certificate}"
        output = self.run_case("libraries", self.url(trust))
        self.assertEqual(len(output.splitlines()), 1, output)

    def test_a_program_that_is_killed_in_a_transaction_leaves_nothing(self):
        process = self.start("hold", self.url())
        self.assertEqual(process.stdout.readline(), "open\n")
        held = (
            "SELECT count(*) FROM pg_stat_activity WHERE application_name ="
            " 'held' AND state = 'idle in transaction'"
        )
        self.assertEqual(self.cluster.ask(held, self.database), "1")
        process.kill()
        process.communicate()
        end = time.monotonic() + 10
        while self.cluster.ask(held, self.database) != "0":
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        count = self.cluster.ask("SELECT count(*) FROM held", self.database)
        self.assertEqual(count, "0")

    def test_a_unix_socket(self):
        url = (
            f"postgres://{clusters.USER}:{clusters.URL_PASSWORD}@/"
            f"{self.database}?host={self.cluster.folder}&port={self.cluster.port}"
        )
        for case in ("types", "places"):
            self.assertEqual(self.run_case(case, url), "")

    def test_a_cancel_reaches_no_neighbour(self):
        runs = 10 * 16
        for backend in BACKENDS:
            output = self.run_case("cancels", self.url(), 10, backend=backend)
            timeouts, lost, errors, repeated = map(int, output.split())
            self.assertEqual((timeouts, lost, errors), (runs, 0, 0))
            self.assertGreater(repeated, 0, "no cancel was late")


class ConnectTest(ProgramTest):
    def session(self, query="", environment=None, **place):
        return self.run_case(
            "session",
            self.url(query, **place),
            env={**os.environ, **(environment or {})},
        )

    def test_no_variable_of_the_library_changes_a_connection(self):
        configuration = self.cluster.folder / "openssl.cnf"
        configuration.write_text("openssl_conf = nowhere\n[broken\n")
        hostile = {**HOSTILE, "OPENSSL_CONF": str(configuration)}
        expected = f"flare UTF8 app {self.database} f\n"
        self.assertEqual(self.session(), expected)
        self.assertEqual(self.session(environment=hostile), expected)
        trust = f"?sslmode=verify-full&sslrootcert={self.cluster.certificate}"
        expected = f"flare UTF8 app {self.database} t\n"
        self.assertEqual(self.session(trust, hostile), expected)
        del hostile["PGREQUIREAUTH"]
        self.run_case(
            "statements", self.url(), env={**os.environ, **hostile}
        )

    def test_the_url_names_application_and_settings(self):
        self.assertEqual(
            self.session(
                "?application_name=shop%20a&sslmode=require"
                "&options=-c%20search_path=x"
            ),
            f"shop a UTF8 app {self.database} t\n",
        )

    def test_a_certificate_that_does_not_fit_is_refused(self):
        # By an address, which it does not name; and by the system's list.
        trust = f"?sslmode=verify-full&sslrootcert={self.cluster.certificate}"
        for url in (
            self.url(trust, host="127.0.0.1"),
            self.url("?sslmode=verify-full"),
        ):
            output = self.run_case("connect", url)
            self.assertIn("postgres.acquire_timeout", output)
            self.assertRegex(output, "certificate")

    def test_what_will_not_change_fails_at_once(self):
        rows = (
            (self.url(user="app:wrong"), "28P01"),
            (self.url(user="nobody:x"), "28P01"),
            (self.url().replace(self.database, "nowhere"), "3D000"),
        )
        for url, code in rows:
            output = self.run_case("connect", url)
            milliseconds, _, error = output.partition(" ")
            self.assertIn(f"postgres.connect {code} message=", error)
            self.assertLess(int(milliseconds), 1_000)
            self.assertNotIn("wrong", error)

    def test_without_a_password_the_error_says_so(self):
        right = {"PGPASSWORD": clusters.PASSWORD}
        output = self.run_case(
            "connect", self.url(user="app"), env={**os.environ, **right}
        )
        self.assertIn("postgres.connect 28P01", output)
        self.assertIn("the URL has none", output)

    def test_what_may_change_is_tried_until_the_time_is_over(self):
        rows = (
            (self.url(user="limited:x"), " 53300", "too many connections"),
            (self.url(port=1), "", "refused"),
        )
        for url, code, cause in rows:
            output = self.run_case("connect", url)
            milliseconds, _, error = output.partition(" ")
            self.assertIn(f"postgres.acquire_timeout{code} message=", error)
            self.assertIn(cause, error)
            self.assertGreaterEqual(int(milliseconds), 1_500)
            self.assertLess(int(milliseconds), 5_000)

    def test_a_server_that_is_starting_up_is_waited_for(self):
        for refusals, expected in (
            (3, r"\Aversion \d+\n\Z"),
            (1_000, r"\A\d+ postgres.acquire_timeout 57P03 message="),
        ):
            proxy = Starting(self.cluster.port, refusals)
            self.addCleanup(proxy.close)
            output = self.run_case("connect", self.url(port=proxy.port))
            self.assertRegex(output, expected)

    def test_without_the_library_the_error_names_it(self):
        environment = without_libraries(self, ["libpq.so.5"])
        output = self.run_case("connect", self.url(), env=environment)
        self.assertIn("postgres.no_library", output)
        self.assertIn("libpq5", output)


class FaultTest(ProgramTest):
    def cut(self, cuts_answers, octets):
        self.cluster.psql("CREATE TABLE cuts (run int8, n int8)", self.database)
        cutter = Cutter(self.cluster.port, cuts_answers)
        self.addCleanup(cutter.close)
        process = self.start("cut", self.url(port=cutter.port), octets)
        output = self.finish(process)
        self.assertGreater(int(output), 50, "statements were lost")
        self.assertGreater(cutter.cuts, octets // 2)
        self.assertLess(cutter.cuts, octets, "the conversation is shorter")

    def test_answers_are_cut_at_every_octet(self):
        self.cut(True, ANSWER_OCTETS)

    def test_requests_are_cut_at_every_octet(self):
        self.cut(False, REQUEST_OCTETS)

    def test_a_server_that_is_stopped_and_started_again(self):
        for backend in BACKENDS:
            process = self.start("ride", self.url(), 6, backend=backend)
            time.sleep(1)
            self.cluster.stop(signal.SIGQUIT)
            time.sleep(1)
            self.cluster.start()
            first, second = self.finish(process).splitlines()
            failures, longest_ms, since_ok_ms = map(int, first.split())
            self.assertGreater(failures, 0)
            # No statement waits longer than its limits.
            self.assertLess(longest_ms, 3_000)
            self.assertLess(since_ok_ms, 500)
            self.assertGreater(int(second.split()[1]), 4, "connected again")

    def test_a_server_that_is_back_is_healthy_without_traffic(self):
        process = self.start("health", self.url())
        self.assertEqual(process.stdout.readline(), "up\n")
        self.cluster.stop(signal.SIGQUIT)
        self.assertEqual(process.stdout.readline(), "down\n")
        self.cluster.start()
        self.assertEqual(self.finish(process), "up\n")

    def test_a_server_that_stands_still(self):
        process = self.start("ride", self.url(), 6)
        time.sleep(1)
        stopped = self.cluster.processes()
        for process_id in stopped:
            os.kill(process_id, signal.SIGSTOP)
        try:
            time.sleep(2.5)
        finally:
            for process_id in stopped:
                os.kill(process_id, signal.SIGCONT)
        first, _ = self.finish(process).splitlines()
        failures, longest_ms, since_ok_ms = map(int, first.split())
        self.assertGreater(failures, 0)
        self.assertLess(longest_ms, 3_000)
        self.assertLess(since_ok_ms, 500)


if __name__ == "__main__":
    unittest.main()
