"""Tests the resolver against a name server that misbehaves on purpose."""

import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.name_server import (  # noqa: E402
    A,
    AAAA,
    CNAME,
    QR_RD_RA,
    TRUNCATED,
    NameServer,
    address,
    encode_name,
    record,
    zone,
)
from loopback.programs import free_ports  # noqa: E402
from loopback.subject import BACKENDS, build  # noqa: E402

SOURCE = Path(__file__).resolve().parents[1] / "programs" / "lookups.mojo"
SECONDS_MAX = 60


def look_up(backend, *arguments):
    """Runs the program under test; gives the lines that it prints."""
    finished = subprocess.run(
        [build(SOURCE), backend, *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    if finished.returncode != 0:
        raise AssertionError(finished.stdout + finished.stderr)
    return finished.stdout.splitlines()


def plain(query):
    """Answers as a healthy server does."""
    if query.kind == A:
        return [query.answer([address(A, "10.0.0.1"), address(A, "10.0.0.2")])]
    return [query.answer([address(AAAA, "2001:db8::1")])]


def only_v4(query, ttl=300):
    """Answers with one IPv4 address and no IPv6 address."""
    if query.kind == A:
        return [query.answer([address(A, "10.0.0.1", ttl)])]
    return [query.answer(authorities=[zone()])]


def missing(query):
    """Answers that there is no such name."""
    return [query.answer(authorities=[zone()], code=3)]


class ResolverTest(unittest.TestCase):
    def check(self, reply, arguments, wanted):
        """Looks names up on both kernel interfaces; gives the queries."""
        for backend in BACKENDS:
            with self.subTest(backend=backend), NameServer(reply) as server:
                lines = look_up(backend, server.text, *arguments)
                self.assertEqual(lines, wanted)
        return server

    def test_addresses_of_both_families_are_found(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend), NameServer(plain) as server:
                lines = look_up(
                    backend, server.text, "a.test", "4:a.test", "6:a.test"
                )
                self.assertEqual(
                    sorted(lines[0].split()),
                    ["10.0.0.1", "10.0.0.2", "2001:db8::1", "a.test"],
                )
                self.assertEqual(lines[1], "4:a.test 10.0.0.1 10.0.0.2")
                self.assertEqual(lines[2], "6:a.test 2001:db8::1")
                # The cache has answered the second and the third look-up.
                self.assertEqual(len(server.queries), 2)

    def test_many_names_are_looked_up_at_once(self):
        names = ",".join(f"4:n{i}.test" for i in range(200))
        wanted = [f"4:n{i}.test 10.0.0.1" for i in range(200)]
        server = self.check(only_v4, [names], wanted)
        self.assertEqual(len(server.queries), 200)
        # Ids and ports that differ: a handful may meet by chance.
        self.assertGreater(len({query.id for query in server.queries}), 180)
        ports = {query.sender[1] for query in server.queries}
        self.assertGreater(len(ports), 180)
        self.assertGreater(max(ports) - min(ports), 20_000)

    def test_answers_with_another_id_or_question_are_passed_over(self):
        def reply(query):
            other = encode_name("other.test") + query.question[-4:]
            kind = query.question[:-4] + b"\0\x10\0\x01"
            forged = [address(A, "10.6.6.6")]
            return [
                query.answer(forged, id=query.id ^ 1),
                query.answer(forged, question=other),
                query.answer(forged, question=kind),
                query.answer(forged, flags=0x0100),
                b"\0",
                b"",
                *only_v4(query),
            ]

        self.check(reply, ["4:a.test"], ["4:a.test 10.0.0.1"])

    def test_a_server_that_sends_only_foreign_answers_is_given_up(self):
        def reply(query):
            return [query.answer(id=query.id ^ (i + 1)) for i in range(200)]

        self.check(
            reply, ["attempts=1", "4:a.test"],
            ["dns.bad_answer resolve a.test"],
        )

    def test_a_server_that_never_answers_is_given_up_in_time(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                with NameServer(lambda query: []) as server:
                    started = time.monotonic()
                    lines = look_up(
                        backend, server.text, "timeout=200", "attempts=2",
                        "4:a.test",
                    )
                    seconds = time.monotonic() - started
                    self.assertEqual(lines, ["dns.timeout resolve a.test"])
                    self.assertEqual(len(server.queries), 2)
                    self.assertGreaterEqual(seconds, 0.4)
                    self.assertLess(seconds, 5)
                    lines = look_up(
                        backend, server.text, "limit=100", "4:a.test"
                    )
                    self.assertEqual(lines, ["dns.timeout resolve a.test"])

    def test_the_next_server_answers_for_one_that_is_silent(self):
        for backend in BACKENDS:
            with (
                self.subTest(backend=backend),
                NameServer(lambda query: []) as silent,
                NameServer(only_v4) as server,
            ):
                lines = look_up(
                    backend, silent.text, server.text, "timeout=100",
                    "4:a.test",
                )
                self.assertEqual(lines, ["4:a.test 10.0.0.1"])

    def test_the_next_server_answers_where_nobody_listens(self):
        port = free_ports(1)[0]
        for backend in BACKENDS:
            with self.subTest(backend=backend), NameServer(only_v4) as server:
                started = time.monotonic()
                lines = look_up(
                    backend, f"server=127.0.0.1:{port}", server.text,
                    "4:a.test",
                )
                self.assertEqual(lines, ["4:a.test 10.0.0.1"])
                # It is known at once that nobody listens.
                self.assertLess(time.monotonic() - started, 4)

    def test_a_lost_family_does_not_hold_the_other_one_back(self):
        def reply(query):
            return only_v4(query) if query.kind == A else []

        self.check(
            reply, ["timeout=100", "attempts=1", "a.test"], ["a.test 10.0.0.1"]
        )

    def test_failures_of_servers_have_kinds(self):
        for code, text in [
            (2, "dns.server_failure resolve a.test code=2"),
            (5, "dns.refused resolve a.test code=5"),
        ]:
            with self.subTest(code=code):
                server = self.check(
                    lambda query: [query.answer(code=code)],
                    ["attempts=2", "4:a.test"],
                    [text],
                )
                self.assertEqual(len(server.queries), 2)

    def test_answers_that_cannot_be_read_are_no_answers(self):
        loop = record(b"\xc0\x0c", CNAME, 300, b"\xc0\x2a")
        for what, broken in [
            ("a pointer to itself", lambda q: q.answer([loop * 2])),
            ("a cut name", lambda q: q.answer([b"\x3fabc"])),
            ("half an address", lambda q: q.answer(
                [record(b"\xc0\x0c", A, 300, b"\x0a\0\0")])),
            ("fewer records than said", lambda q: q.answer(
                [address(A, "10.0.0.1")], count=9)),
            ("more records than fit", lambda q: q.answer(count=0xFFFF)),
            ("names in a circle", lambda q: q.answer(
                [record(b"\xc0\x0c", CNAME, 300, b"\xc0\x0c")])),
        ]:
            with self.subTest(what=what):
                self.check(
                    lambda query: [broken(query)],
                    ["attempts=1", "4:a.test"],
                    ["dns.bad_answer resolve a.test"],
                )

    def test_a_truncated_answer_is_asked_for_over_tcp(self):
        def reply(query):
            if not query.over_tcp:
                return [query.answer(flags=QR_RD_RA | TRUNCATED)]
            return [query.answer([
                address(A, f"10.0.{i // 250}.{i % 250}") for i in range(1000)
            ])]

        addresses = [f"10.0.{i // 250}.{i % 250}" for i in range(1000)]
        self.check(reply, ["4:big.test"], [f"4:big.test {' '.join(addresses)}"])

    def test_a_truncated_answer_does_not_wait_for_the_other_one(self):
        for lost in (A, AAAA):
            def reply(query):
                if query.kind == lost:
                    return []
                if not query.over_tcp:
                    return [query.answer(flags=QR_RD_RA | TRUNCATED)]
                return plain(query)

            wanted = {
                A: "a.test 2001:db8::1", AAAA: "a.test 10.0.0.1 10.0.0.2"
            }
            with self.subTest(lost=lost):
                self.check(
                    reply, ["timeout=300", "attempts=1", "a.test"],
                    [wanted[lost]],
                )

    def test_an_answer_that_comes_beside_tcp_is_found(self):
        # Over TCP nothing comes, and what came meanwhile is there at the end.
        def reply(query):
            if query.over_tcp:
                query.stream.recv(1)
                return []
            if query.kind == A:
                return only_v4(query)
            return [query.answer(flags=QR_RD_RA | TRUNCATED)]

        self.check(
            reply, ["timeout=300", "attempts=1", "a.test"], ["a.test 10.0.0.1"]
        )

    def test_both_answers_may_be_truncated(self):
        def reply(query):
            if not query.over_tcp:
                return [query.answer(flags=QR_RD_RA | TRUNCATED)]
            return plain(query)

        for backend in BACKENDS:
            with self.subTest(backend=backend), NameServer(reply) as server:
                lines = look_up(backend, server.text, "attempts=1", "a.test")
                self.assertEqual(
                    sorted(lines[0].split()),
                    ["10.0.0.1", "10.0.0.2", "2001:db8::1", "a.test"],
                )
                self.assertEqual(len(server.queries), 4)

    def test_a_truncated_answer_over_tcp_is_none(self):
        self.check(
            lambda query: [query.answer(flags=QR_RD_RA | TRUNCATED)],
            ["attempts=1", "4:a.test"],
            ["dns.bad_answer resolve a.test"],
        )

    def test_a_server_that_never_answers_over_tcp_is_given_up_in_time(self):
        # Nothing, half of the length, and half of the answer.
        for said in (b"", b"\0", b"\1\0" + b"x" * 100):
            with self.subTest(said):
                for backend in BACKENDS:
                    self.check_time_over_tcp(backend, said)

    def check_time_over_tcp(self, backend, said):
        def reply(query):
            if not query.over_tcp:
                return [query.answer(flags=QR_RD_RA | TRUNCATED)]
            query.stream.sendall(said)
            # The client has enough, and ends.
            query.stream.recv(1)
            return []

        with NameServer(reply) as server:
            started = time.monotonic()
            lines = look_up(
                backend, server.text, "timeout=200", "attempts=2", "4:a.test"
            )
            seconds = time.monotonic() - started
        self.assertEqual(lines, ["dns.timeout resolve a.test"])
        self.assertGreaterEqual(seconds, 0.4)
        self.assertLess(seconds, 5)

    def test_a_server_that_hangs_up_over_tcp_has_not_answered(self):
        for said in (b"", b"\0", b"\1\0" + b"x" * 100):
            def reply(query):
                if not query.over_tcp:
                    return [query.answer(flags=QR_RD_RA | TRUNCATED)]
                query.stream.sendall(said)
                return []

            with self.subTest(said):
                self.check(
                    reply, ["attempts=1", "4:a.test"],
                    ["dns.try_again resolve a.test"],
                )

    def test_an_answer_over_tcp_is_judged_like_any_other(self):
        for what, broken in [
            ("another id", lambda q: q.answer(id=q.id ^ 1)),
            ("another question", lambda q: q.answer(
                question=encode_name("b.test") + q.question[-4:])),
            ("no octets", lambda q: b""),
            ("half a header", lambda q: q.octets[:7]),
            ("a cut name", lambda q: q.answer([b"\x3fabc"])),
        ]:
            def reply(query):
                if not query.over_tcp:
                    return [query.answer(flags=QR_RD_RA | TRUNCATED)]
                return [broken(query)]

            with self.subTest(what):
                self.check(
                    reply, ["attempts=1", "4:a.test"],
                    ["dns.bad_answer resolve a.test"],
                )

    def test_a_server_from_before_edns_is_asked_without_it(self):
        def reply(query):
            if query.with_edns:
                return [query.answer(code=1)]
            return only_v4(query)

        server = self.check(
            reply, ["attempts=1", "4:a.test"], ["4:a.test 10.0.0.1"]
        )
        self.assertEqual(len(server.queries), 2)

    def test_a_name_that_does_not_exist_is_remembered(self):
        server = self.check(
            missing,
            ["a.test", "a.test"],
            ["dns.not_found resolve a.test"] * 2,
        )
        self.assertEqual(len(server.queries), 2)

    def test_a_name_without_addresses_is_told_apart(self):
        self.check(
            lambda query: [query.answer(authorities=[zone()])],
            ["a.test"],
            ["dns.no_address resolve a.test"],
        )

    def test_an_answer_without_time_is_asked_for_again(self):
        server = self.check(
            lambda query: only_v4(query, ttl=0),
            ["4:a.test", "4:a.test"],
            ["4:a.test 10.0.0.1"] * 2,
        )
        self.assertEqual(len(server.queries), 2)

    def test_the_cache_is_bounded(self):
        server = self.check(
            only_v4,
            ["cache=2", *[f"4:n{i}.test" for i in (1, 2, 3, 3, 1, 2)]],
            [f"4:n{i}.test 10.0.0.1" for i in (1, 2, 3, 3, 1, 2)],
        )
        self.assertGreaterEqual(len(server.queries), 4)
        self.assertEqual(server.count("n3.test"), 1)

    def test_short_names_are_searched_for(self):
        def reply(query):
            if query.name == "db.two.test":
                return only_v4(query)
            return missing(query)

        settings = ["search=one.test", "search=two.test"]
        server = self.check(
            reply,
            [*settings, "4:db", "4:db.two.test", "4:db."],
            ["4:db 10.0.0.1", "4:db.two.test 10.0.0.1",
             "dns.not_found resolve db."],
        )
        names = [query.name for query in server.queries]
        self.assertEqual(names, ["db.one.test", "db.two.test", "db"])

    def test_a_server_that_fails_ends_the_search(self):
        def reply(query):
            return [query.answer(code=2)]

        server = self.check(
            reply,
            ["search=one.test", "search=two.test", "attempts=1", "4:db"],
            ["dns.server_failure resolve db code=2"],
        )
        self.assertEqual(server.count("db.two.test"), 0)

    def test_a_search_list_leads_to_no_question_about_localhost(self):
        server = self.check(
            plain, ["search=localhost", "db"], ["db 127.0.0.1 ::1"]
        )
        self.assertEqual(len(server.queries), 0)

    def test_hosts_given_by_hand_come_first(self):
        server = self.check(
            plain,
            ["hosts=10.9.9.9 a.test", "4:A.test", "localhost", "192.0.2.1"],
            ["4:A.test 10.9.9.9", "localhost 127.0.0.1 ::1",
             "192.0.2.1 192.0.2.1"],
        )
        self.assertEqual(len(server.queries), 0)

    def test_what_is_no_name_is_not_asked_for(self):
        server = self.check(
            plain,
            ["a@b.test", "127.1"],
            [
                "dns.bad_name resolve: the name has an octet that no host name"
                ' has: "a@b.test"',
                "dns.bad_name resolve: the name ends in a number and is no"
                ' address: "127.1"',
            ],
        )
        self.assertEqual(len(server.queries), 0)


if __name__ == "__main__":
    unittest.main()
