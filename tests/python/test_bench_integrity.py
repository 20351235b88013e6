"""Tests that the benchmark leaves out who answers something else."""

import dataclasses
import json
import socketserver
import ssl
import tempfile
import threading
import unittest
from pathlib import Path

from benchmark.driver.answers import Answer
from benchmark.driver.integrity import gate, problem_of
from benchmark.driver.integrity import Expected, asked_of, expected_of
from benchmark.driver.products import Pool, draw, statistics_of
from benchmark.driver.targets import certificates
from benchmark.driver.workloads import WORKLOADS

ANSWER = (
    "HTTP/1.1 200 OK\r\nServer: s\r\nDate: d\r\n"
    "Content-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
)
(PLAINTEXT, PIPELINED, UPLOAD, DOWNLOAD, READ, LIST, COMPUTE, SECURE,
 KNOWN_FILE, COMPRESSED_FILE) = (
    next(w for w in WORKLOADS if w.name == name)
    for name in ("plaintext", "pipelined", "upload_4k", "download_4k", "read",
                 "list", "compute", "https_plaintext", "files_304", "files_br")
)


def a_pool():
    """Writes fifty small products and reads them as the driver does."""
    products = [
        {"brand": "AB"[i % 2], "price": 1 + i / 4} for i in range(50)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "products.json"
        path.write_text(
            "[\n" + ",\n".join(map(json.dumps, products)) + "\n]\n"
        )
        return Pool(path)


class Canned(socketserver.ThreadingTCPServer):
    """Answers each request head with the next of its answers."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, *answers, context=None):
        self.answers = answers
        self.context = context
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(
            target=self.serve_forever, args=(0.01,), daemon=True
        ).start()

    def get_request(self):
        accepted, address = super().get_request()
        if self.context:
            accepted = self.context.wrap_socket(accepted, server_side=True)
        return accepted, address

    def __exit__(self, *exception):
        self.shutdown()
        super().__exit__(*exception)


class _Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for answer in self.server.answers:
            length = 0
            while True:
                line = self.rfile.readline()
                if not line:
                    return
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
                if line == b"\r\n":
                    break
            self.rfile.read(length)
            self.wfile.write(answer.encode("latin-1"))


def verdict(workload, *answers, context=None):
    """Lets a server with these answers go through the gate."""
    with Canned(*answers, context=context) as server:
        return gate(server.server_address[1], workload, a_pool())


class Gate(unittest.TestCase):
    def test_the_right_answer_passes(self):
        self.assertIsNone(verdict(PLAINTEXT, *[ANSWER] * 3))

    def test_a_file_that_the_client_has_is_304_without_content(self):
        right = "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n"
        self.assertIsNone(verdict(KNOWN_FILE, *[right] * 3))
        self.assertIn("200 OK", verdict(KNOWN_FILE, *[ANSWER] * 3))

    def test_a_compressed_file_is_the_sibling(self):
        head = (
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
            "Content-Encoding: br\r\nContent-Length: 20000\r\n\r\n"
        )
        right = head + "x" * 20_000
        self.assertIsNone(verdict(COMPRESSED_FILE, *[right] * 3))
        plain = right.replace("Content-Encoding: br\r\n", "")
        self.assertIn("the head has", verdict(COMPRESSED_FILE, *[plain] * 3))

    def test_answers_to_pipelined_requests_pass(self):
        self.assertIsNone(verdict(PIPELINED, *[ANSWER] * 3))

    def test_case_of_names_and_of_the_reason_is_free(self):
        answer = ANSWER.replace("Content", "content").replace("OK", "Ok")
        self.assertIsNone(verdict(PLAINTEXT, *[answer] * 3))

    def test_fields_of_the_servers_own_are_free(self):
        answer = ANSWER.replace(
            "Date: d", "Connection: keep-alive\r\nKeep-Alive: timeout=5"
        )
        self.assertIsNone(verdict(PLAINTEXT, *[answer] * 3))

    def test_each_difference_is_found(self):
        for name, old, new in (
            ("content", "World", "Wurld"),
            ("a field more", "Date: d", "X: y"),
            ("type", "text/plain", "text/plain; charset=utf-8"),
            ("no type", "Content-Type: text/plain\r\n", ""),
            ("status", "200 OK", "201 Created"),
            ("version", "HTTP/1.1", "HTTP/1.0"),
            ("length twice", "Server: s", "Content-Length: 13"),
        ):
            with self.subTest(name):
                answer = ANSWER.replace(old, new)
                self.assertNotEqual(answer, ANSWER)
                self.assertIsNotNone(verdict(PLAINTEXT, *[answer] * 3))

    def test_a_later_answer_counts_too(self):
        wrong = ANSWER.replace("World", "Wurld")
        self.assertIn("answer 3", verdict(PLAINTEXT, ANSWER, ANSWER, wrong))

    def test_a_server_that_closes_is_left_out(self):
        self.assertIn("closed", verdict(PLAINTEXT, ANSWER))

    def test_inside_of_tls_all_use_one_suite(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(
            certificates() / "server.pem", certificates() / "server.key"
        )
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        found = verdict(SECURE, *[ANSWER] * 3, context=context)
        self.assertIn("the cipher suite is ECDHE-ECDSA-AES", found)

    def test_the_length_of_an_upload_must_come_back(self):
        right = ANSWER.replace("13", "4").replace("Hello, World!", "4096")
        self.assertIsNone(verdict(UPLOAD, *[right] * 3))
        wrong = right.replace("4096", "4095")
        self.assertIsNotNone(verdict(UPLOAD, *[wrong] * 3))

    def test_a_download_may_be_chunked_and_a_text_may_not(self):
        head = ANSWER.partition("\r\n\r\n")[0].replace(
            "Content-Length: 13", "Transfer-Encoding: chunked"
        )
        text = head + "\r\n\r\nd\r\nHello, World!\r\n0\r\n\r\n"
        self.assertIsNotNone(verdict(PLAINTEXT, *[text] * 3))
        download = (
            head.replace("text/plain", "application/octet-stream")
            + "\r\n\r\n800\r\n" + "x" * 2048
            + "\r\n800;a=b\r\n" + "x" * 2048 + "\r\n0\r\n\r\n"
        )
        self.assertIsNone(verdict(DOWNLOAD, *[download] * 3))
        short = download.replace("800;a=b", "7ff").replace("xx\r\n0", "x\r\n0")
        self.assertIsNotNone(verdict(DOWNLOAD, *[short] * 3))


class Expectations(unittest.TestCase):
    def answers(self, contents):
        return [
            Answer(
                "HTTP/1.1 200 OK",
                (
                    ("Content-Type", "application/json"),
                    ("Content-Length", str(len(content))),
                ),
                content,
            )
            for content in contents
        ]

    def test_a_cycle_may_begin_anywhere_and_wraps(self):
        expected = Expected("application/json", (b"a", b"b", b"c"), True)
        for contents, is_right in (
            ((b"b", b"c", b"a"), True),
            ((b"b", b"a", b"c"), False),
            ((b"b", b"b", b"b"), False),
            ((b"d", b"a", b"b"), False),
        ):
            with self.subTest(contents):
                problem = problem_of(self.answers(contents), expected)
                self.assertEqual(problem is None, is_right)

    def test_lists_hold_25_products_each(self):
        contents = expected_of(LIST, a_pool()).contents
        self.assertEqual([len(json.loads(c)) for c in contents], [25, 25])
        self.assertEqual(len(expected_of(READ, a_pool()).contents), 50)

    def test_computations_go_on_from_one_to_the_next(self):
        first, second, _ = expected_of(COMPUTE, a_pool()).contents
        self.assertNotEqual(first, second)
        self.assertEqual(json.loads(first)["count"], 100)

    def test_every_workload_has_an_expected_answer(self):
        pool = a_pool()
        for workload in WORKLOADS:
            with self.subTest(workload.name):
                if workload.is_websocket:
                    continue
                if workload.profile:
                    self.assertTrue(asked_of(workload))
                else:
                    self.assertTrue(expected_of(workload, pool).contents)

    def test_an_unknown_route_has_none(self):
        with self.assertRaises(ValueError):
            expected_of(dataclasses.replace(READ, path="/none"), a_pool())


class Statistics(unittest.TestCase):
    def test_statistics_of_known_prices(self):
        picks = [
            {"price": price, "brand": brand}
            for price, brand in ((1.0, "B"), (2.0, "A"), (3.0, "A"),
                                 (4.0, "B"), (11.0, "C"))
        ]
        self.assertEqual(
            json.loads(statistics_of(picks)),
            {
                "count": 5,
                "mean_cents": 420,
                "standard_deviation_cents": 354,
                "histogram": [1, 1, 1, 1, 0, 0, 0, 0, 0, 1],
                "top_brands": [
                    {"brand": "A", "count": 2},
                    {"brand": "B", "count": 2},
                    {"brand": "C", "count": 1},
                ],
            },
        )

    def test_equal_prices_fall_into_the_first_bin(self):
        found = json.loads(statistics_of([{"price": 2.0, "brand": "A"}] * 3))
        self.assertEqual(found["histogram"], [3] + [0] * 9)
        self.assertEqual(found["standard_deviation_cents"], 0)

    def test_the_generator_is_xorshift64_star(self):
        # By hand: 1 ^ 1 << 25 = 0x2000001, and what 27 leaves of it is 0.
        state, number = draw(1)
        self.assertEqual(state, 0x2000001)
        self.assertEqual(number, 0x2000001 * 0x2545F4914F6CDD1D % (1 << 64))


if __name__ == "__main__":
    unittest.main()
