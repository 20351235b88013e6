"""Asks the real server what well-behaved clients ask, on both backends."""

import http.client
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.secure_socket import certificates, shared_context  # noqa: E402
from loopback.subject import build, of_http1, on_each_version  # noqa: E402

HELLO = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
BODY_OCTETS = (0, 1, 4095, 4096, 4097, 65535, 65536, 65537, 1 << 20, 10 << 20)


def setUpModule():
    build()


def user(number):
    return b"GET /users/%d HTTP/1.1\r\nHost: a\r\n\r\n" % number


def post(path, body, *fields):
    lines = [b"POST %s HTTP/1.1" % path, b"Host: a", *fields]
    lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def pattern(count):
    # No two blocks are alike, so that lost or repeated ones show.
    return b"".join(b"%07d\n" % i for i in range(count // 8 + 1))[:count]


@on_each_version
class Routes:
    def test_get_is_answered_with_date_type_and_length(self):
        client = self.connect()
        client.send(HELLO)
        answer = client.answer()
        self.assertEqual((answer.status, answer.body), (200, b"hello"))
        self.assertEqual(answer.field("Content-Length"), "5")
        self.assertRegex(answer.field("Date"), r"^\w{3}, \d\d \w{3} \d{4} ")
        self.assertEqual(
            answer.field("Content-Type"), "text/plain; charset=utf-8"
        )
        self.assertIsNone(answer.field("Connection"))

    @of_http1
    def test_curl_gets_an_answer(self):
        curl = shutil.which("curl")
        if not curl:
            self.skipTest("curl is not installed")
        place = self.subject.place
        options = ["-sS", "--max-time", "10"]
        if self.transport == "unix":
            url = "http://a"
            options += ["--unix-socket", str(place)]
        elif self.transport == "tls":
            url = f"https://127.0.0.1:{place}"
            options += ["--cacert", certificates() / "ca.pem"]
        else:
            url = f"http://127.0.0.1:{place}"
        for version, start in (
            ("--http1.1", b"HTTP/1.1 200 OK\r\n"),
            # By ALPN, if the connection has TLS.
            ("--http2-prior-knowledge", b"HTTP/2 200 \r\n"),
        ):
            finished = subprocess.run(
                [curl, *options, version, "-i", f"{url}/users/7"],
                capture_output=True, check=True,
            )
            self.assertTrue(finished.stdout.startswith(start))
            self.assertTrue(finished.stdout.endswith(b"\r\n\r\nuser 7"))
        finished = subprocess.run(
            [curl, *options, "--http1.1", "-H", "Transfer-Encoding: chunked",
             "-H", "Expect: 100-continue", "--data-binary", "@-", f"{url}/echo"],
            input=pattern(300_000), capture_output=True, check=True,
        )
        self.assertEqual(finished.stdout, pattern(300_000))

    @of_http1
    def test_the_standard_client_keeps_one_connection(self):
        before = self.subject.statistics()["connections_accepted"]
        if self.transport == "tls":
            client = http.client.HTTPSConnection(
                "127.0.0.1", self.subject.port, context=shared_context()
            )
        else:
            client = http.client.HTTPConnection("a")
            client.sock = self.connect().socket
        for i in range(20):
            client.request("POST", "/echo", body=b"x" * i)
            self.assertEqual(client.getresponse().read(), b"x" * i)
        client.close()
        after = self.subject.statistics()["connections_accepted"]
        self.assertEqual(after - before, 2)

    def test_a_request_header_reaches_the_handler(self):
        client = self.connect()
        client.send(b"GET /headers HTTP/1.1\r\nHost: a\r\nx-ECHO: \t v 1 \t\r\n\r\n")
        self.assertEqual(client.answer().body, b"v 1")

    def test_the_peer_address_is_that_of_the_client(self):
        client = self.connect()
        client.send(b"GET /peer HTTP/1.1\r\nHost: a\r\n\r\n")
        expected = b"unix:"
        if self.transport != "unix":
            expected = b"127.0.0.1:%d" % client.socket.getsockname()[1]
        self.assertEqual(client.answer().body, expected)

    @of_http1
    def test_absolute_form_is_routed_by_its_path(self):
        client = self.connect()
        client.send(b"GET http://a/users/9 HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertEqual(client.answer().body, b"user 9")

    def test_what_no_route_has_is_refused_and_the_connection_stays(self):
        rows = [
            (b"GET /nowhere", 404, None),
            (b"GET /users", 404, None),
            (b"DELETE /echo", 405, "POST, OPTIONS"),
            (b"DESCRIBE /echo", 405, "POST, OPTIONS"),
            (b"INVENT /echo", 501, None),
            (b"OPTIONS /echo", 204, "POST, OPTIONS"),
            (b"DESCRIBE /users/3", 200, None),
            (b"GET /users/a%2Fb%20c", 200, None),
        ]
        client = self.connect()
        for line, status, allow in rows:
            with self.subTest(line):
                client.send(line + b" HTTP/1.1\r\nHost: a\r\n\r\n" + HELLO)
                answer = client.answer()
                self.assertEqual(answer.status, status)
                self.assertEqual(answer.field("Allow"), allow)
                if line.endswith(b"c"):
                    self.assertEqual(answer.body, b"user a/b c")
                self.assertEqual(client.answer().body, b"hello")

    def test_options_asterisk_asks_about_the_server(self):
        client = self.connect()
        client.send(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n" + HELLO)
        answer = client.answer()
        self.assertEqual(answer.status, 204)
        self.assertIn("DESCRIBE", answer.field("Allow"))
        self.assertEqual(client.answer().body, b"hello")

    def test_head_announces_a_body_and_sends_none(self):
        client = self.connect()
        client.send(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + HELLO)
        answer = client.answer(to_head=True)
        self.assertEqual(answer.field("Content-Length"), "5")
        self.assertEqual(client.answer().body, b"hello")

    def test_head_of_a_large_resource_sends_no_octet_of_it(self):
        client = self.connect()
        client.send(b"HEAD /big/1000000 HTTP/1.1\r\nHost: a\r\n\r\n" + HELLO)
        answer = client.answer(to_head=True)
        self.assertEqual(answer.field("Content-Length"), "1000000")
        self.assertEqual(client.answer().body, b"hello")

    def test_204_and_304_have_no_body(self):
        client = self.connect()
        client.send(
            b"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n"
            b"GET /unchanged HTTP/1.1\r\nHost: a\r\n\r\n" + HELLO
        )
        nothing = client.answer()
        self.assertEqual(nothing.status, 204)
        self.assertIsNone(nothing.field("Content-Length"))
        self.assertEqual(client.answer().status, 304)
        self.assertEqual(client.answer().body, b"hello")


@on_each_version
class Persistence:
    @of_http1
    def test_http_1_0_closes(self):
        client = self.connect()
        client.send(b"GET / HTTP/1.0\r\n\r\n")
        answer = client.answer()
        self.assertTrue(answer.closes())
        self.assertEqual(answer.body, b"hello")
        client.expect_end()

    @of_http1
    def test_http_1_0_with_keep_alive_persists(self):
        client = self.connect()
        for _ in range(3):
            client.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            answer = client.answer()
            self.assertEqual(answer.field("Connection"), "keep-alive")
            self.assertEqual(answer.body, b"hello")

    @of_http1
    def test_connection_close_of_the_client_closes(self):
        client = self.connect()
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        self.assertTrue(client.answer().closes())
        client.expect_end()

    @of_http1
    def test_connection_close_of_the_handler_closes(self):
        client = self.connect()
        client.send(b"GET /close HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertTrue(client.answer().closes())
        client.expect_end()

    @of_http1
    def test_requests_behind_a_closing_one_are_not_answered(self):
        # Their octets lie unread: the close must not reset the answer away.
        client = self.connect()
        client.send(b"GET /close HTTP/1.1\r\nHost: a\r\n\r\n" + HELLO * 200)
        self.assertTrue(client.answer().closes())
        client.expect_end()

    def test_1000_requests_run_over_one_connection(self):
        client = self.connect()
        for i in range(1000):
            client.send(user(i))
            self.assertEqual(client.answer().body, b"user %d" % i)


@on_each_version
class Pipelining:
    @classmethod
    def warm_up(cls):
        # A worker keeps the pipe that sealed content goes through.
        with cls.subject.connect() as client:
            client.send(b"GET /sealed/40000 HTTP/1.1\r\nHost: a\r\n\r\n")
            client.answer()
        super().warm_up()

    @of_http1
    def test_sealed_content_goes_through_a_pipe(self):
        # Inside of TLS there is nothing that could go as it is.
        self.assertEqual(
            self.subject.pipes(), 0 if self.transport == "tls" else 2
        )

    def check(self, requests, bodies, dribble=False):
        client = self.connect()
        octets = b"".join(requests)
        if dribble:
            client.dribble(octets)
        else:
            client.send(octets)
        for body in bodies:
            self.assertEqual(client.answer().body, body)
        client.send(HELLO)
        self.assertEqual(client.answer().body, b"hello")

    def test_requests_in_one_write_are_answered_in_order(self):
        for count in (1, 2, 16, 200, 2000):
            with self.subTest(count=count):
                self.check(
                    [user(i) for i in range(count)],
                    [b"user %d" % i for i in range(count)],
                )

    def test_requests_that_come_octet_by_octet_are_answered_in_order(self):
        requests = [user(1), post(b"/echo", b"abc"), user(2)]
        self.check(requests, [b"user 1", b"abc", b"user 2"], dribble=True)

    def test_parked_handlers_keep_the_order(self):
        requests, bodies = [], []
        for i in range(30):
            kind = i % 5
            if kind == 0:
                requests.append(user(i))
                bodies.append(b"user %d" % i)
            elif kind == 1:
                requests.append(b"GET /sleep0 HTTP/1.1\r\nHost: a\r\n\r\n")
                bodies.append(b"slept")
            elif kind == 2:
                requests.append(b"GET /delay/3 HTTP/1.1\r\nHost: a\r\n\r\n")
                bodies.append(b"waited 3")
            elif kind == 3:
                requests.append(post(b"/echo", b"x" * i))
                bodies.append(b"x" * i)
            else:
                requests.append(b"GET /big/70000 HTTP/1.1\r\nHost: a\r\n\r\n")
                bodies.append(b"x" * 70000)
        self.check(requests, bodies)

    def test_many_large_answers_wait_for_one_slow_reader(self):
        client = self.connect(receive_octets=4096)
        client.send(b"GET /big/200000 HTTP/1.1\r\nHost: a\r\n\r\n" * 40)
        self.expect_answers_still()
        for _ in range(40):
            self.assertEqual(client.answer().body, b"x" * 200000)

    def test_sealed_content_arrives_whole(self):
        client = self.connect()
        sizes = (0, 1, 8192, 8193, 32768, 32769, 70000)
        sizes += (600_000, 800_000, 1 << 20, 9_000_001)
        for count in sizes:
            client.send(b"GET /sealed/%d HTTP/1.1\r\nHost: a\r\n\r\n" % count)
            client.send(HELLO)
        for count in sizes:
            with self.subTest(count=count):
                self.assertEqual(client.answer().body, pattern(count))
                self.assertEqual(client.answer().body, b"hello")

    def test_sealed_content_reaches_a_slow_reader_whole(self):
        client = self.connect(receive_octets=4096)
        for octets, count in ((3_000_000, 3), (20_000, 300)):
            client.send(
                b"GET /sealed/%d HTTP/1.1\r\nHost: a\r\n\r\n" % octets * count
            )
            self.expect_answers_still()
            for _ in range(count):
                self.assertEqual(client.answer().body, pattern(octets))

    @of_http1
    def test_who_leaves_in_sealed_content_harms_nobody(self):
        for octets in (0, 1, 100, 70000):
            for _ in range(10):
                left = octets
                client = self.connect(receive_octets=4096)
                client.send(
                    b"GET /sealed/400000 HTTP/1.1\r\nHost: a\r\n\r\n" * 5
                )
                while left > 0:
                    left -= len(client.socket.recv(left))
                client.reset()
            self.expect_answers_still()

    @of_http1
    def test_read_ahead_stops_while_answers_lie_unread(self):
        client = self.connect(receive_octets=4096)
        client.send(b"GET /big/20000000 HTTP/1.1\r\nHost: a\r\n\r\n")
        client.head()
        client.socket.settimeout(0.2)
        sent = 0
        try:
            while sent < 64 << 20:
                sent += client.socket.send(HELLO * 2000)
        except TimeoutError:
            pass
        self.assertLess(sent, 64 << 20, "the server reads without an end")
        client.reset()

    def test_a_delay_on_one_connection_delays_no_other(self):
        parked = [self.connect() for _ in range(50)]
        for client in parked:
            client.send(b"GET /delay/100 HTTP/1.1\r\nHost: a\r\n\r\n")
        self.expect_answers_still()
        for client in parked:
            self.assertEqual(client.answer().body, b"waited 100")


@on_each_version
class Bodies:
    def test_bodies_of_all_sizes_come_back(self):
        client = self.connect()
        for count in BODY_OCTETS:
            with self.subTest(count=count):
                body = pattern(count)
                client.send(post(b"/echo", body))
                self.assertEqual(client.answer().body, body)

    def test_one_octet_over_the_limit_is_refused_before_it_comes(self):
        client = self.connect()
        client.send(
            b"POST /echo HTTP/1.1\r\nHost: a\r\n"
            b"Content-Length: %d\r\n\r\n" % ((10 << 20) + 1)
        )
        self.assertEqual(client.answer().status, 413)
        client.end()
        client.expect_end()

    def test_a_peer_that_sends_on_can_read_its_413(self):
        client = self.connect()
        client.send(
            b"POST /echo HTTP/1.1\r\nHost: a\r\n"
            b"Content-Length: %d\r\n\r\n" % (20 << 20)
        )
        client.send(b"x" * (2 << 20))
        self.assertEqual(client.answer().status, 413)

    def test_a_chunked_body_over_the_limit_is_refused(self):
        client = self.connect()
        client.send(
            b"POST /upload HTTP/1.1\r\nHost: a\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"
        for _ in range(10):
            client.send(chunk)
        # A frame announces no more than its own octets.
        client.send(b"1\r\nx" if self.speaks_h2 else b"1\r\n")
        self.assertEqual(client.answer().status, 413)

    def test_a_chunked_body_with_trailers_is_decoded(self):
        client = self.connect()
        client.send(
            b"POST /echo HTTP/1.1\r\nHost: a\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\nA;x=\"1\"\r\n0123456789\r\n0\r\n"
            b"X-Echo: trailer\r\n\r\n" + HELLO
        )
        self.assertEqual(client.answer().body, b"abc0123456789")
        self.assertEqual(client.answer().body, b"hello")

    def test_a_chunked_body_may_come_octet_by_octet(self):
        client = self.connect()
        client.dribble(
            b"POST /echo HTTP/1.1\r\nHost: a\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        )
        self.assertEqual(client.answer().body, b"abcde")

    def test_a_chunked_body_of_a_megabyte_comes_back(self):
        body = pattern(1 << 20)
        chunks = [body[i : i + 7001] for i in range(0, len(body), 7001)]
        client = self.connect()
        client.send(
            b"POST /echo HTTP/1.1\r\nHost: a\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
            + b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in chunks)
            + b"0\r\n\r\n"
        )
        self.assertEqual(client.answer().body, body)

    def test_a_body_read_late_is_whole(self):
        body = pattern(1 << 20)
        client = self.connect()
        client.send(post(b"/late-echo/30", body) + HELLO)
        self.assertEqual(client.answer().body, body)
        self.assertEqual(client.answer().body, b"hello")

    @of_http1
    def test_a_bad_chunk_found_late_is_refused(self):
        client = self.connect()
        client.send(
            b"POST /late-echo/30 HTTP/1.1\r\nHost: a\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        client.send(b"11000\r\n" + b"x" * 0x11000 + b"\r\nzz\r\n")
        self.assertEqual(client.answer().status, 400)
        client.end()
        client.expect_end()

    def test_a_body_that_no_handler_reads_is_dropped(self):
        for late in (False, True):
            with self.subTest(late=late):
                client = self.connect()
                body = b"y" * 100_000
                octets = post(b"/users/1", body)
                head, behind = octets[: -len(body)], octets[-len(body) :]
                client.send(head if late else octets)
                if late:
                    self.assertEqual(client.answer().body, b"user 1")
                    client.send(behind)
                client.send(post(b"/echo", b"abc") + HELLO)
                if not late:
                    self.assertEqual(client.answer().body, b"user 1")
                self.assertEqual(client.answer().body, b"abc")
                self.assertEqual(client.answer().body, b"hello")

    @of_http1
    def test_an_unread_chunked_body_is_dropped(self):
        client = self.connect()
        client.send(
            b"POST /users/1 HTTP/1.1\r\nHost: a\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n3\r\nab"
        )
        self.assertEqual(client.answer().body, b"user 1")
        client.send(b"c\r\n0\r\nX-Trailer: 1\r\n\r\n" + post(b"/echo", b"abc"))
        self.assertEqual(client.answer().body, b"abc")

    @of_http1
    def test_too_long_an_unread_body_closes(self):
        client = self.connect()
        head = post(b"/users/1", b"y" * (1 << 20))[: -(1 << 20)]
        client.send(head)
        self.assertEqual(client.answer().body, b"user 1")
        try:
            client.send(b"y" * (1 << 20) + HELLO)
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.assertTrue(client.has_ended())

    @of_http1
    def test_a_bad_chunk_in_an_unread_body_closes(self):
        client = self.connect()
        client.send(
            b"POST /users/1 HTTP/1.1\r\nHost: a\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n3\r\nab"
        )
        self.assertEqual(client.answer().body, b"user 1")
        client.send(b"cX\r\n" + HELLO)
        client.expect_end()

    def test_large_responses_reach_a_slow_reader_whole(self):
        client = self.connect(receive_octets=4096)
        body = pattern(10 << 20)
        client.send(post(b"/echo", body))
        self.expect_answers_still()
        self.assertEqual(client.answer().body, body)


@on_each_version
class Continue:
    HEAD = (
        b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
        b"Expect: 100-continue\r\n\r\n"
    )

    def test_100_comes_before_the_body(self):
        client = self.connect()
        client.send(self.HEAD)
        self.assertEqual(client.answer().status, 100)
        client.send(b"abc" + HELLO)
        self.assertEqual(client.answer().body, b"abc")
        self.assertEqual(client.answer().body, b"hello")

    @of_http1
    def test_a_body_that_does_not_wait_is_answered_without_100(self):
        client = self.connect()
        client.send(self.HEAD + b"abc")
        self.assertEqual(client.answer().body, b"abc")

    def test_too_large_a_body_gets_413_instead(self):
        client = self.connect()
        client.send(self.HEAD.replace(b": 3", b": 10485761"))
        self.assertEqual(client.answer().status, 413)

    @of_http1
    def test_no_100_where_no_handler_wants_the_body(self):
        client = self.connect()
        client.send(self.HEAD.replace(b"/echo", b"/users/1"))
        answer = client.answer()
        self.assertEqual((answer.status, answer.body), (200, b"user 1"))
        # Whether the body follows is the client's choice: only the end of the
        # connection leaves no doubt about what comes next.
        self.assertTrue(answer.closes())
        client.expect_end()

    def test_another_expectation_gets_417(self):
        client = self.connect()
        client.send(self.HEAD.replace(b"100-continue", b"200-ok"))
        self.assertEqual(client.answer().status, 417)

    @of_http1
    def test_http_1_0_gets_no_100(self):
        client = self.connect()
        client.send(self.HEAD.replace(b"HTTP/1.1", b"HTTP/1.0"))
        client.send(b"abc")
        self.assertEqual(client.answer().body, b"abc")


if __name__ == "__main__":
    unittest.main()
