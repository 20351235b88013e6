"""Downloads files from servers that are honest, broken, slow and hostile.

The server is a script: one answer for each request. After each download, the
tests look at what was asked and at what lies in the folder."""

import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.peers import PROGRAMS, Nginx  # noqa: E402
from loopback.subject import BACKENDS, build  # noqa: E402

DOWNLOADER = PROGRAMS / "downloader.mojo"
RENAME_AT_LOCK = Path(__file__).resolve().parent / "rename_at_lock.c"
SECONDS_MAX = 20
CONTENT = bytes((i * i >> 6) & 0xFF for i in range(300_000))
OTHER = bytes(reversed(CONTENT))
SIZE = len(CONTENT)
CUT = 100_000
TAG = 'ETag: "v1"'
# `ClientError` numbers its kinds.
FILE = 21


def setUpModule():
    build(DOWNLOADER)


def head(status, *fields):
    return "\r\n".join([f"HTTP/1.1 {status} X", *fields, "", ""]).encode()


def whole(content=CONTENT, *fields):
    return head(200, f"Content-Length: {len(content)}", *fields) + content


def rest(start=CUT, *fields, content=CONTENT, end=SIZE, size=SIZE):
    return (
        head(
            206,
            f"Content-Range: bytes {start}-{end - 1}/{size}",
            f"Content-Length: {end - start}",
            *fields,
        )
        + content[start:end]
    )


def cut(*fields):
    """Gives the begin of an answer; the connection ends after it."""
    return Cut(whole(CONTENT, *fields)[: CUT - SIZE])


class Cut(bytes):
    """Is an answer after which the connection is closed."""


class Held(bytes):
    """Is an answer after which the server waits until it is released."""


class Origin:
    """Answers one request after the other as a script says. An answer may be a
    function of the connection and the request."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        self.released = threading.Event()
        self.then = b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/file"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(
                    target=self.converse, args=(connection,), daemon=True
                ).start()
        except OSError:
            pass

    def converse(self, connection):
        try:
            with connection, connection.makefile("rb") as stream:
                while request := self.request(stream):
                    self.requests.append(request)
                    answer = self.answers.pop(0)
                    if callable(answer):
                        answer(connection, request)
                        continue
                    connection.sendall(answer)
                    if isinstance(answer, Held):
                        self.released.wait(SECONDS_MAX)
                        connection.sendall(self.then)
                        return
                    if isinstance(answer, Cut):
                        return
        except OSError:
            pass

    def request(self, stream):
        lines = []
        while (line := stream.readline().decode().strip()) or not lines:
            if not line:
                return None
            lines.append(line)
        fields = dict(line.split(": ", 1) for line in lines[1:])
        fields["path"] = lines[0].split()[1]
        return {name.lower(): value for name, value in fields.items()}

    def close(self):
        self.released.set()
        self.listener.close()


class Result:
    """Holds what the program has printed."""

    def __init__(self, text):
        self.text = text
        lines = [line.split(" ") for line in text.splitlines()]
        self.progress = [
            (int(line[1]), int(line[2]))
            for line in lines
            if line[0] == "progress"
        ]
        self.lines = {line[0]: line[1:] for line in lines}
        self.done = tuple(map(int, self.lines.get("done", [])[:2]))
        self.failure = " ".join(self.lines.get("failed", []))


class Case:
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "out"
        self.part = self.folder / "out.part"
        self.record = self.folder / "out.part.tag"

    def serve(self, *answers):
        origin = Origin(*answers)
        self.addCleanup(origin.close)
        return origin

    def command(self, url, path, settings):
        return [
            build(DOWNLOADER),
            self.backend,
            url,
            path or self.path,
            *(f"{name}={value}" for name, value in settings.items()),
        ]

    def run_on(self, url, path=None, popen=None, **settings):
        finished = subprocess.run(
            self.command(url, path, settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS_MAX,
            **(popen or {}),
        )
        text = finished.stdout.decode()
        self.assertEqual(finished.returncode, 0, text)
        return Result(text)

    def download(self, *answers, **settings):
        """Downloads from a script, all of whose answers must be used."""
        self.origin = self.serve(*answers)
        # The record of a part has the URL: its port stays.
        result = self.run_on(self.origin.url, **settings)
        self.assertEqual(self.origin.answers, [], result.text)
        return result

    def again(self, *answers, **settings):
        """Downloads the same URL again."""
        self.origin.requests.clear()
        self.origin.answers.extend(answers)
        result = self.run_on(self.origin.url, **settings)
        self.assertEqual(self.origin.answers, [], result.text)
        return result

    def start(self, url, **settings):
        process = subprocess.Popen(
            self.command(url, None, settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def await_part(self, octets):
        ending = time.monotonic() + SECONDS_MAX
        while not self.part.exists() or self.part.stat().st_size < octets:
            self.assertLess(time.monotonic(), ending)
            time.sleep(0.01)

    def finish(self, process):
        text, _ = process.communicate(timeout=SECONDS_MAX)
        return Result(text.decode())

    def assert_whole(self, result, kept=0, content=CONTENT):
        self.assertEqual(result.done, (len(content), kept), result.text)
        self.assertEqual(self.path.read_bytes(), content)
        self.assertEqual(os.listdir(self.folder), ["out"])

    def assert_part(self, octets=CUT, content=CONTENT):
        self.assertEqual(self.part.read_bytes(), content[:octets])
        self.assertFalse(self.path.exists())

    def assert_nothing(self):
        self.assertEqual(os.listdir(self.folder), [])

    def assert_asked_for_whole(self):
        self.assertNotIn("range", self.origin.requests[-1])
        self.assertNotIn("if-range", self.origin.requests[-1])

    def leave_part(self, *fields):
        result = self.download(cut(*(fields or (TAG,))))
        self.assertEqual(result.done, ())
        self.assert_part()


class DownloadTest:
    class Tests(Case, unittest.TestCase):
        def test_a_file_appears_whole_and_alone(self):
            result = self.download(whole(CONTENT, TAG))
            self.assert_whole(result)
            request = self.origin.requests[0]
            self.assertEqual(request["accept-encoding"], "identity")
            self.assert_asked_for_whole()
            self.assertEqual(result.progress[0], (0, SIZE))
            self.assertEqual(result.progress[-1], (SIZE, SIZE))
            self.assertEqual(result.progress, sorted(set(result.progress)))
            umask = os.umask(0)
            os.umask(umask)
            self.assertEqual(self.path.stat().st_mode & 0o777, 0o666 & ~umask)
            self.assert_whole(self.again(whole(b"")), content=b"")

        def test_a_download_that_was_cut_off_continues(self):
            result = self.download(cut(TAG))
            self.assertIn("client.closed content", result.failure)
            self.assertEqual(result.lines["client"][1], "True")
            self.assert_part()
            self.assertEqual(self.record.stat().st_mode & 0o777, 0o600)
            result = self.again(rest(CUT, TAG))
            self.assert_whole(result, kept=CUT)
            self.assertEqual(self.origin.requests[0]["range"], f"bytes={CUT}-")
            self.assertEqual(self.origin.requests[0]["if-range"], '"v1"')
            self.assertEqual(result.progress[0], (CUT, SIZE))

        def test_a_download_whose_program_was_killed_continues(self):
            self.origin = self.serve(Held(cut(TAG)))
            process = self.start(self.origin.url)
            self.await_part(CUT)
            process.kill()
            process.wait()
            self.assert_part()
            self.assert_whole(self.again(rest(CUT, TAG)), kept=CUT)

        def test_a_kill_at_any_octet_mixes_no_versions(self):
            step = SIZE // 12

            def answering(content, sent):
                def answer(connection, request):
                    tag = f'"{content[0]}"'
                    start = 0
                    if request.get("if-range") == tag:
                        start = int(request["range"][6:-1])
                    answer = rest(start, f"ETag: {tag}", content=content)
                    if start == 0:
                        answer = whole(content, f"ETag: {tag}")
                    elif start == SIZE:
                        # The kill came before the rename.
                        size = f"Content-Range: bytes */{SIZE}"
                        answer = head(416, size, "Content-Length: 0")
                    sent.release()
                    for at in range(0, len(answer), step):
                        connection.sendall(answer[at : at + step])
                        sent.release()
                    # The kill may wait for more octets than were left.
                    sent.release(SIZE // step)

                return answer

            self.origin = self.serve()
            for kill in range(16):
                # Each version meets a part of the one before it.
                content = bytes([kill // 4]) * SIZE
                # An answer that still runs after the kill counts for itself.
                sent = threading.Semaphore(0)
                self.origin.answers = [answering(content, sent)]
                process = self.start(self.origin.url)
                for _ in range(kill % 8 + 1):
                    self.assertTrue(sent.acquire(timeout=SECONDS_MAX))
                process.kill()
                process.wait()
                self.path.unlink(missing_ok=True)
            self.origin.answers = [answering(content, sent)]
            result = self.run_on(self.origin.url)
            self.assert_whole(result, kept=result.done[1], content=content)

        def test_content_that_has_changed_begins_anew(self):
            self.leave_part()
            result = self.again(whole(OTHER, 'ETag: "v2"'))
            self.assert_whole(result, content=OTHER)
            self.assertIn("range", self.origin.requests[0])

        def test_a_part_that_does_not_fit_is_not_joined(self):
            size = f"Content-Length: {SIZE - CUT}"
            fields = f"Content-Range: bytes {CUT}-{SIZE - 1}/{SIZE}"
            tail = CONTENT[CUT:]
            rows = {
                "another tag": rest(CUT, 'ETag: "v2"'),
                "a weak tag": rest(CUT, 'ETag: W/"v1"'),
                "no tag": rest(CUT),
                "a later octet": rest(CUT + 1, TAG),
                "an earlier octet": rest(0, TAG),
                "no range": head(206, size, TAG) + tail,
                "two ranges": head(206, size, TAG, fields, fields) + tail,
                "several parts": head(
                    206,
                    size,
                    TAG,
                    "Content-Type: multipart/byteranges; boundary=x",
                ) + tail,
                "a coding": rest(CUT, TAG, "Content-Encoding: gzip"),
            } | {
                value: head(206, size, TAG, f"Content-Range: {value}") + tail
                for value in (
                    f"bytes {CUT}-{SIZE - 1}/*",
                    f"bytes */{SIZE}",
                    f"bytes {CUT}-{SIZE}/{SIZE}",
                    f"bytes {CUT}-{CUT - 1}/{SIZE}",
                    f"bytes -{CUT}/{SIZE}",
                    f"octets {CUT}-{SIZE - 1}/{SIZE}",
                    f"bytes={CUT}-{SIZE - 1}/{SIZE}",
                    f"bytes {CUT}-{SIZE - 1}",
                    f"bytes {CUT}-{SIZE - 1}/{'9' * 30}",
                )
            }
            for name, answer in rows.items():
                with self.subTest(name):
                    self.leave_part()
                    result = self.again(Cut(answer), whole(OTHER, 'ETag: "w"'))
                    self.assert_whole(result, content=OTHER)
                    self.assert_asked_for_whole()
                    self.path.unlink()

        def test_a_range_that_ends_early_is_continued(self):
            self.leave_part()
            result = self.again(rest(CUT, TAG, end=2 * CUT))
            self.assertIn("client.closed content", result.failure)
            self.assert_part(2 * CUT)
            self.assert_whole(self.again(rest(2 * CUT, TAG)), kept=2 * CUT)

        def test_a_part_that_is_whole_already_is_renamed(self):
            def leave_whole():
                # As a kill between the last octet and the rename leaves it.
                self.leave_part()
                self.part.write_bytes(CONTENT)

            end = f"Content-Range: bytes */{SIZE}"
            empty = "Content-Length: 0"
            for fields in ((), (TAG,)):
                leave_whole()
                result = self.again(head(416, end, empty, *fields))
                self.assert_whole(result, kept=SIZE)
                self.assertEqual(
                    self.origin.requests[0]["range"], f"bytes={SIZE}-"
                )
                self.path.unlink()
            for fields in (
                (end, 'ETag: "v2"'),
                (f"Content-Range: bytes */{SIZE - 1}",),
                (f"Content-Range: bytes */{SIZE + 1}",),
                (),
            ):
                with self.subTest(fields):
                    leave_whole()
                    result = self.again(head(416, empty, *fields), whole(OTHER))
                    self.assert_whole(result, content=OTHER)
                    self.assert_asked_for_whole()
                    self.path.unlink()

        def test_more_octets_than_announced_leave_no_part(self):
            self.leave_part()
            fields = (
                f"Content-Range: bytes {CUT}-{SIZE - 1}/{SIZE}",
                "Transfer-Encoding: chunked",
                TAG,
            )
            tail = CONTENT[CUT:] + b"more"
            chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(tail), tail)
            result = self.again(head(206, *fields) + chunk)
            self.assertIn("client.protocol content", result.failure)
            self.assert_nothing()
            # Octets after the content of a 200 are none of it.
            self.assert_whole(self.again(Cut(whole(CONTENT, TAG) + b"more")))

        def test_content_without_a_strong_validator_leaves_no_part(self):
            now = "Date: Sun, 06 Nov 1994 08:49:37 GMT"
            for fields in (
                (),
                ('ETag: W/"v1"',),
                ("ETag: v1",),
                ("ETag: \"v1\"", "ETag: \"v2\""),
                (now, "Last-Modified: Sun, 06 Nov 1994 08:48:38 GMT"),
                ("Last-Modified: Sun, 06 Nov 1994 08:48:37 GMT",),
                (
                    now,
                    "Last-Modified: Sat, 05 Nov 1994 08:48:37 GMT",
                    'ETag: W/"v1"',
                ),
            ):
                with self.subTest(fields):
                    result = self.download(cut(*fields))
                    self.assertIn("client.closed", result.failure)
                    self.assert_nothing()

        def test_an_old_date_is_a_validator(self):
            fields = (
                "Date: Sun, 06 Nov 1994 08:49:37 GMT",
                "Last-Modified: Sun, 06 Nov 1994 08:48:37 GMT",
            )
            for answers, kept in (
                ([rest(CUT)], CUT),
                ([rest(CUT, fields[1])], CUT),
                ([rest(CUT, fields[0].replace("Date", "Last-Modified"))], 0),
                ([rest(CUT, TAG)], 0),
            ):
                self.leave_part(*fields)
                if not kept:
                    answers.append(whole())
                self.assert_whole(self.again(*answers), kept=kept)
                self.assertEqual(
                    self.origin.requests[0]["if-range"],
                    "Sun, 06 Nov 1994 08:48:37 GMT",
                )
                self.path.unlink()

        def test_content_without_a_length_is_whole_at_its_end(self):
            chunks = [
                b"%x\r\n%s\r\n" % (len(piece), piece)
                for piece in (CONTENT[:CUT], CONTENT[CUT:])
            ]
            start = head(200, "Transfer-Encoding: chunked", TAG)
            result = self.download(Cut(start + chunks[0]))
            self.assertIn("client.closed content", result.failure)
            self.assertEqual(result.progress[-1], (CUT, -1))
            self.assert_part()
            self.assert_whole(self.again(rest(CUT, TAG)), kept=CUT)
            end = b"0\r\n\r\n"
            self.assert_whole(self.again(start + b"".join(chunks) + end))

        def test_another_status_changes_no_file(self):
            self.path.write_bytes(b"old")
            for status in (201, 204, 206, 304, 403, 404, 416, 500):
                fields = ["Content-Length: 0"] if status not in (204, 304) else []
                result = self.download(head(status, *fields))
                self.assertIn(f"answer status={status}", result.failure)
                self.assertEqual(os.listdir(self.folder), ["out"])
            self.assertEqual(self.path.read_bytes(), b"old")
            # With a part, it stays for another attempt.
            self.path.unlink()
            self.leave_part()
            result = self.again(head(503, "Content-Length: 0"))
            self.assertIn("answer status=503", result.failure)
            self.assert_part()
            self.assert_whole(self.again(rest(CUT, TAG)), kept=CUT)

        def test_a_download_continues_through_a_redirect(self):
            def moved():
                return head(302, "Location: /new", "Content-Length: 0")

            result = self.download(moved(), cut(TAG))
            self.assert_part()
            result = self.again(moved(), rest(CUT, TAG))
            self.assert_whole(result, kept=CUT)
            self.assertTrue(result.lines["done"][2].endswith("/new"))
            self.assertEqual(self.origin.requests[1]["path"], "/new")
            self.assertEqual(self.origin.requests[1]["if-range"], '"v1"')

        def test_a_coding_that_was_not_asked_for_is_refused(self):
            coded = whole(CONTENT, TAG, "Content-Encoding: gzip")
            result = self.download(coded)
            self.assertIn("client.encoding head", result.failure)
            self.assert_nothing()
            self.assert_whole(self.download(coded, coding="gzip"))
            self.assertEqual(
                self.origin.requests[0]["accept-encoding"], "gzip"
            )

        def test_the_limit_of_octets_is_inclusive(self):
            self.assert_whole(self.download(whole(), octets_max=SIZE))
            self.path.unlink()
            result = self.download(whole(CONTENT, TAG), octets_max=SIZE - 1)
            self.assertIn("client.too_large", result.failure)
            self.assert_nothing()
            chunk = b"%x\r\n%s\r\n" % (SIZE, CONTENT)
            endless = head(200, "Transfer-Encoding: chunked", TAG) + chunk
            result = self.download(Cut(endless), octets_max=SIZE - 1)
            self.assertIn("client.too_large content", result.failure)
            self.assert_nothing()
            self.leave_part()
            result = self.again(rest(CUT, TAG), octets_max=SIZE - 1)
            self.assertIn("client.too_large", result.failure)
            self.assertIn("bad_config", self.download(octets_max=0).failure)

        def test_a_second_download_of_the_same_file_is_refused(self):
            self.origin = self.serve(Held(cut(TAG)))
            self.origin.then = CONTENT[CUT:]
            first = self.start(self.origin.url)
            self.await_part(CUT)
            second = self.run_on(self.origin.url)
            self.assertIn("client.file prepare", second.failure)
            self.assertEqual(
                second.lines["file"], ["lock", "11", str(self.part)]
            )
            self.origin.released.set()
            self.assert_whole(self.finish(first))
            self.assertEqual(len(self.origin.requests), 1)

        def test_a_part_that_was_renamed_before_the_lock_is_opened_again(self):
            self.part.write_bytes(CONTENT)
            library = self.folder / "rename_at_lock.so"
            subprocess.run(
                ["cc", "-shared", "-fPIC", "-o", library, RENAME_AT_LOCK],
                check=True,
            )
            environment = {
                **os.environ,
                "LD_PRELOAD": library,
                "RENAMED": self.part,
                "RENAMED_TO": self.path,
            }
            result = self.download(whole(OTHER), popen={"env": environment})
            library.unlink()
            self.assert_whole(result, content=OTHER)

        def test_a_full_disk_leaves_a_part(self):
            limit = 2 * CUT

            def bound():
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

            self.path.write_bytes(b"old")
            result = self.download(
                whole(CONTENT, TAG),
                popen={"preexec_fn": bound, "restore_signals": False},
            )
            self.assertIn("client.file content", result.failure)
            self.assertEqual(
                result.lines["file"], ["write", "27", str(self.part)]
            )
            self.assertEqual(result.lines["client"], [str(FILE), "False"])
            self.assertEqual(self.path.read_bytes(), b"old")
            self.assertEqual(self.part.read_bytes(), CONTENT[:limit])
            self.assert_whole(self.again(rest(limit, TAG)), kept=limit)

        def test_a_path_that_cannot_be_written_is_refused_before_the_request(
            self,
        ):
            (self.folder / "folder").mkdir()
            (self.folder / "b.part").symlink_to(self.folder / "victim")
            os.mkfifo(self.folder / "c.part")
            (self.folder / "d.part").mkdir()
            before = sorted(os.listdir(self.folder))
            for path, errnos in (
                (self.folder / "missing" / "a", (2,)),
                (self.folder / "folder", (21,)),
                ("/dev/null", (22,)),
                (self.folder / "b", (40,)),
                (self.folder / "c", (22,)),
                (self.folder / "d", (21,)),
                (self.folder / ("e" * 300), (36,)),
                # No privilege makes files here.
                ("/sys/flare", (1, 13, 30)),
            ):
                with self.subTest(path):
                    result = self.download(path=path)
                    self.assertIn("client.file prepare", result.failure)
                    self.assertEqual(result.lines["file"][0], "open")
                    self.assertIn(int(result.lines["file"][1]), errnos)
            self.assertEqual(sorted(os.listdir(self.folder)), before)

        def test_a_file_or_a_link_at_the_path_is_replaced(self):
            victim = self.folder / "victim"
            victim.write_bytes(b"victim")
            self.path.symlink_to(victim)
            result = self.download(whole(CONTENT, TAG))
            self.assertEqual(result.done, (SIZE, 0))
            self.assertFalse(self.path.is_symlink())
            self.assertEqual(self.path.read_bytes(), CONTENT)
            self.assertEqual(victim.read_bytes(), b"victim")

        def test_another_file_in_place_of_the_part_is_not_renamed(self):
            self.origin = self.serve(Held(cut(TAG)))
            self.origin.then = CONTENT[CUT:]
            process = self.start(self.origin.url)
            self.await_part(CUT)
            other = self.folder / "other"
            other.write_bytes(b"other")
            other.rename(self.part)
            self.origin.released.set()
            result = self.finish(process)
            self.assertEqual(result.lines["file"][0], "rename")
            self.assertFalse(self.path.exists())
            self.assertEqual(self.part.read_bytes(), b"other")

        def test_a_part_without_its_own_record_begins_anew(self):
            self.leave_part()
            record = self.record.read_bytes()
            self.assertEqual(record, f'"v1"\n{self.origin.url}\n'.encode())
            for altered in (
                b"",
                record[:-1],
                record[:3],
                record + b"\n",
                record.replace(b"/file", b"/other"),
                b"W/" + record,
                b"v" + record,
                b'"a\rX: b"' + record[4:],
                b'"\xff\x00"' + record[4:],
                b"\n" + record.split(b"\n", 1)[1],
                record * 1000,
            ):
                with self.subTest(altered):
                    self.part.write_bytes(OTHER[:CUT])
                    self.record.write_bytes(altered)
                    self.assert_whole(self.again(whole(CONTENT, TAG)))
                    self.assert_asked_for_whole()

        def test_the_program_may_stop_and_continue(self):
            result = self.download(Held(cut(TAG)), stop=1)
            self.assertEqual(result.failure, "stopped by the program")
            kept = self.part.stat().st_size
            self.assertGreater(kept, 0)
            self.assert_part(kept)
            self.assert_whole(self.again(rest(kept, TAG)), kept=kept)

        def test_a_server_that_stalls_is_given_up(self):
            result = self.download(Held(cut(TAG)), read_ms=1000)
            self.assertIn("client.timeout content", result.failure)
            self.assert_part()
            result = self.again(Held(rest(CUT, TAG)[:-1]), deadline=2000)
            self.assertIn("client.timeout content", result.failure)
            self.assert_part(SIZE - 1)
            self.assert_whole(self.again(rest(SIZE - 1, TAG)), kept=SIZE - 1)

        def test_other_fibers_run_during_a_download(self):
            result = self.download(whole(CONTENT, TAG), fiber=1)
            self.assert_whole(result)
            self.assertEqual(result.lines["turns"], ["True"])

        def test_a_range_of_the_program_is_refused(self):
            result = self.download(range="bytes=0-9")
            self.assertIn("client.bad_request prepare", result.failure)
            self.assert_nothing()

        def test_nginx_continues_a_file(self):
            def prepare(folder):
                (folder / "file").write_bytes(CONTENT)

            nginx = Nginx(
                "server {{ listen 127.0.0.1:{plain}; root {folder}; }}",
                ["plain"],
                prepare,
            )
            self.addCleanup(nginx.stop)
            url = f"http://127.0.0.1:{nginx.ports['plain']}/file"
            result = self.run_on(url, stop=1)
            kept = self.part.stat().st_size
            if kept == SIZE:
                self.part.write_bytes(CONTENT[:-1])
                kept -= 1
            self.assert_whole(self.run_on(url), kept=kept)


class UringTest(DownloadTest.Tests):
    backend = "io_uring"


class EpollTest(DownloadTest.Tests):
    backend = "epoll"


assert {UringTest.backend, EpollTest.backend} == set(BACKENDS)


if __name__ == "__main__":
    unittest.main()
