"""Sends the real server JSON that is deep or of many parts."""

import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import BACKENDS, ROOT, Subject, build  # noqa: E402

SOURCE = ROOT / "tests" / "programs" / "json_bodies.mojo"
BODY_OCTETS_MAX = 10 << 20
PROGRAM = None


def setUpModule():
    global PROGRAM
    PROGRAM = build(SOURCE)


def nested(levels):
    return b"[" * levels + b"]" * levels


def fill(opening, element, closing):
    """Makes the largest body that the server takes by default."""
    count = (BODY_OCTETS_MAX - len(opening) - len(closing)) // len(element)
    return opening + (element * count)[:-1] + closing, count


class JsonTest(unittest.TestCase):
    def start(self, backend):
        subject = Subject(backend, command=[PROGRAM, backend])
        self.addCleanup(subject.stop)
        return subject

    def ask(self, subject, path, body):
        head = (
            f"POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}"
            "\r\n\r\n"
        )
        with subject.connect() as client:
            client.socket.settimeout(60)
            client.send(head.encode() + body)
            answer = client.answer()
        self.assertIsNone(subject.process.poll(), "the server ended")
        return answer

    def field_kib(self, subject, field):
        with open(f"/proc/{subject.process.pid}/status") as status:
            return int(re.search(rf"{field}:\s+(\d+) kB", status.read())[1])

    def cpu_seconds(self, subject):
        with open(f"/proc/{subject.process.pid}/schedstat") as schedule:
            return int(schedule.read().split()[0]) / 1e9

    def test_depth_ends_no_server(self):
        for backend in BACKENDS:
            subject = self.start(backend)
            body = b'{"data":' + nested(140) + b"}"
            self.assertEqual(len(body), 289)
            for levels in (1, 140, 255):
                inner = nested(levels)
                body = b'{"data":' + inner + b"}"
                for path in ("/part", "/shown", "/indented"):
                    with self.subTest(backend, path=path, levels=levels):
                        answer = self.ask(subject, path, body)
                        self.assertEqual(answer.status, 200)
                        self.assertEqual(b"".join(answer.body.split()), inner)
            answer = self.ask(subject, "/part", b'{"data":' + nested(256))
            self.assertEqual(answer.status, 400)

    def test_a_struct_that_holds_itself_ends_no_server(self):
        for backend in BACKENDS:
            subject = self.start(backend)
            statuses = set()
            for levels in (1, 8, 16, 54, 127):
                body = (
                    b'{"id":1,"branches":[' * levels + b"]}" * levels
                )
                with self.subTest(backend, levels=levels):
                    answer = self.ask(subject, "/mirrored", body)
                    statuses.add(answer.status)
                    if answer.status == 200:
                        self.assertEqual(answer.body, body)
                    else:
                        self.assertEqual(answer.status, 400)
                        self.assertIn(b"nested too deep", answer.body)
            self.assertIn(200, statuses)
            self.assertIn(400, statuses)

    def test_many_values_take_what_one_takes(self):
        lists = [
            fill(b'{"items":[', element, b"]}")
            for element in (b"1,", b"[],", b"[1],", b'{"a":"b"},')
        ]
        for backend in BACKENDS:
            for body, count in lists:
                with self.subTest(backend, element=body[10:18]):
                    taken = {}
                    for path in ("/counted", "/listed"):
                        subject = self.start(backend)
                        before = self.field_kib(subject, "VmRSS")
                        began = self.cpu_seconds(subject)
                        answer = self.ask(subject, path, body)
                        self.assertEqual(answer.body, b"%d" % count)
                        taken[path] = (
                            self.field_kib(subject, "VmHWM") - before,
                            self.cpu_seconds(subject) - began,
                        )
                        subject.stop()
                    one, many = taken["/counted"], taken["/listed"]
                    self.assertLess(many[0], 2 * one[0] + 32_768)
                    self.assertLess(many[1], 3 * one[1] + 0.2)

    def test_many_members_take_no_document_each(self):
        body = json.dumps({"items": {f"{i:x}": [] for i in range(500_000)}})
        for backend in BACKENDS:
            subject = self.start(backend)
            before = self.field_kib(subject, "VmRSS")
            answer = self.ask(subject, "/named", body.encode())
            self.assertEqual(answer.body, b"500000")
            self.assertLess(
                self.field_kib(subject, "VmHWM") - before,
                32 * len(body) // 1024,
            )

    def test_indenting_what_lies_deep_is_bounded(self):
        body, count = fill(b'{"data":' + b"[" * 120, b"1,", b"]" * 120 + b"}")
        for backend in BACKENDS:
            subject = self.start(backend)
            answer = self.ask(subject, "/indented", body)
            self.assertEqual(answer.status, 200)
            self.assertLess(len(answer.body), 14 * len(body))
            self.assertEqual(answer.body.count(b"1"), count)


if __name__ == "__main__":
    unittest.main()
