"""Uses the fieldbook of the examples as its team would, and as others would."""

import base64
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.programs import (  # noqa: E402
    await_port,
    free_ports,
    has_no_browser_package,
)
from loopback.subject import ROOT, build  # noqa: E402
from page_browser import PageBrowser  # noqa: E402

FOLDER = ROOT / "examples" / "fieldbook"
SOURCE = FOLDER / "fieldbook.mojo"
SECONDS_MAX = 30
PASSWORD = "correct horse battery"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)
PICTURE_OCTETS_MAX = 5 << 20
TAB = 9


def setUpModule():
    build(SOURCE)


class Answer:
    """Is a response that was read to its end."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.octets = response.read()
        self.text = self.octets.decode(errors="replace")
        set_cookie = response.headers["Set-Cookie"]
        self.cookie = set_cookie and set_cookie.partition(";")[0]

    @property
    def json(self):
        return json.loads(self.text)


class Fieldbook:
    """Is one process of the program; its data may outlive it."""

    def __init__(self, test, data):
        self.data = data
        self.command = [str(build(SOURCE)), "--data", data]
        (self.port,) = free_ports(1)
        self.log = tempfile.NamedTemporaryFile()
        test.addCleanup(self.log.close)
        self.process = subprocess.Popen(
            [
                *self.command, "--listen", f"127.0.0.1:{self.port}",
                "--static", FOLDER / "static",
            ],
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        await_port(self.port, self.process)

    def connect(self):
        return http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=SECONDS_MAX
        )

    def ask(self, method, path, content=None, cookie=None, **headers):
        if isinstance(content, dict):
            content = json.dumps(content)
            headers.setdefault("Content_Type", "application/json")
        if cookie:
            headers["Cookie"] = cookie
        names = {x.replace("_", "-"): y for x, y in headers.items()}
        connection = self.connect()
        try:
            connection.request(method, path, content, names)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def post_form(self, path, cookie=None, **fields):
        kind = "application/x-www-form-urlencoded"
        return self.ask(
            "POST", path, urlencode(fields), cookie, Content_Type=kind
        )

    def sign_in(self, name, password=PASSWORD, cookie=None):
        return self.post_form("/sign-in", cookie, name=name, password=password)

    def write(self, cookie, place="Hut", text="A kestrel."):
        return self.ask(
            "POST", "/api/notes", {"place": place, "text": text}, cookie
        )

    def put_picture(self, cookie, id, content, name="a.png", kind="image/png"):
        content = (
            b"--x\r\nContent-Disposition: form-data; name=\"picture\";"
            b' filename="%s"\r\nContent-Type: %s\r\n\r\n%s\r\n--x--\r\n'
            % (name.encode(), kind.encode(), content)
        )
        return self.ask(
            "PUT", f"/api/notes/{id}/picture", content, cookie,
            Content_Type="multipart/form-data; boundary=x",
        )  # fmt: skip

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS_MAX)


class Watcher(threading.Thread):
    """Is a browser that waits for events."""

    def __init__(self, fieldbook, cookie):
        super().__init__(daemon=True)
        self.events = []
        self._changed = threading.Condition()
        self._connection = fieldbook.connect()
        self._connection.request("GET", "/api/changes", None, {"Cookie": cookie})
        self._response = self._connection.getresponse()
        self.status = self._response.status
        self.start()

    def run(self):
        event = {}
        for line in self._response:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                event[name] = value
            elif event:
                with self._changed:
                    self.events.append((event.get("event"), event.get("data")))
                    self._changed.notify_all()
                event = {}
        self._connection.close()

    def wait_for(self, count):
        with self._changed:
            found = self._changed.wait_for(
                lambda: len(self.events) >= count, SECONDS_MAX
            )
            assert found, self.events
            return self.events[count - 1]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = folder.name
        self.add_person("ann")
        self.add_person("bob")
        self.fieldbook = self.start()

    def add_person(self, name, password=PASSWORD):
        done = subprocess.run(
            [build(SOURCE), "--data", self.data, "--add-person", name],
            input=password + "\n", text=True, timeout=SECONDS_MAX,
            capture_output=True,
        )  # fmt: skip
        return done.returncode

    def start(self):
        return Fieldbook(self, self.data)

    def tearDown(self):
        if self.fieldbook.process.poll() is None:
            self.assertEqual(self.fieldbook.stop(), 0)

    def signed_in(self, name="ann"):
        answer = self.fieldbook.sign_in(name)
        self.assertEqual(answer.status, 303, answer.text)
        return answer.cookie


class SignIn(Case):
    def test_a_person_signs_in_and_out(self):
        book = self.fieldbook
        page = book.ask("GET", "/")
        self.assertIn("action='/sign-in'", page.text)
        # A page that only reads begins no session.
        self.assertIsNone(page.cookie)
        answer = book.sign_in("ann")
        self.assertEqual(answer.status, 303)
        for attribute in ("__Host-session=", "; Secure", "; HttpOnly",
                          "; SameSite=Lax", "; Path=/"):  # fmt: skip
            self.assertIn(attribute, answer.headers["Set-Cookie"])
        page = book.ask("GET", "/", cookie=answer.cookie)
        self.assertIn("<span id='person'>ann</span>", page.text)
        self.assertEqual(page.headers["Cache-Control"], "no-store")
        left = book.post_form("/sign-out", answer.cookie)
        self.assertEqual(left.status, 303)
        self.assertEqual(
            book.ask("GET", "/api/notes", cookie=answer.cookie).status, 401
        )

    def test_a_wrong_password_shows_nothing(self):
        book = self.fieldbook
        wrong = book.sign_in("ann", "wrong")
        unknown = book.sign_in("eve", "wrong")
        for answer in (wrong, unknown):
            self.assertEqual(answer.status, 403)
            self.assertIsNone(answer.cookie)
        self.assertEqual(
            wrong.text.replace("value='ann'", ""),
            unknown.text.replace("value='eve'", ""),
        )
        for fields in ({}, {"name": "ann"}, {"name": "a\0b", "password": "x"},
                       {"name": "x" * 50, "password": "x"}):  # fmt: skip
            answer = book.post_form("/sign-in", **fields)
            self.assertIn(answer.status, (400, 403), fields)

    def test_an_unknown_name_takes_as_long_as_a_wrong_password(self):
        times = {"ann": [], "eve": []}
        for _ in range(6):
            for name, found in times.items():
                started = time.monotonic()
                self.fieldbook.sign_in(name, "wrong")
                found.append(time.monotonic() - started)
        known, unknown = (min(x) for x in times.values())
        self.assertGreater(unknown, known * 0.6)
        self.assertLess(unknown, known * 1.7)

    def test_guessing_is_limited(self):
        found = [self.fieldbook.sign_in("ann", "wrong").status
                 for _ in range(12)]  # fmt: skip
        self.assertEqual(found, [403] * 10 + [429] * 2)
        # Not even the right password is tried. Others are not affected.
        self.assertEqual(self.fieldbook.sign_in("ann").status, 429)
        self.assertEqual(self.fieldbook.sign_in("bob").status, 303)

    def test_the_id_of_a_session_changes_with_the_sign_in(self):
        book = self.fieldbook
        first = self.signed_in("bob")
        second = book.sign_in("ann", cookie=first)
        self.assertEqual(second.status, 303)
        self.assertNotIn(second.cookie, (None, first))
        self.assertEqual(book.ask("GET", "/api/notes", cookie=first).status, 401)
        # An id that someone else has chosen leads nowhere.
        chosen = "__Host-session=" + "A" * 32
        given = book.sign_in("ann", cookie=chosen)
        self.assertNotEqual(given.cookie, chosen)
        self.assertEqual(
            book.ask("GET", "/api/notes", cookie=chosen).status, 401
        )

    def test_short_passwords_and_odd_names_are_refused(self):
        for name, password in (("eve", "short"), ("", PASSWORD),
                               ("x" * 41, PASSWORD)):  # fmt: skip
            self.assertNotEqual(self.add_person(name, password), 0)
        self.assertEqual(self.add_person("ann", "another password"), 0)
        self.assertEqual(self.fieldbook.sign_in("ann").status, 403)
        self.assertEqual(
            self.fieldbook.sign_in("ann", "another password").status, 303
        )

    def test_pages_of_other_sites_change_nothing(self):
        book = self.fieldbook
        cookie = self.signed_in()
        note = {"place": "a", "text": "b"}
        for headers in ({"Sec_Fetch_Site": "cross-site"},
                        {"Origin": "http://other.test"}):  # fmt: skip
            answer = book.ask("POST", "/api/notes", note, cookie, **headers)
            self.assertEqual(answer.status, 403)
            self.assertEqual(
                book.ask("POST", "/sign-out", None, cookie, **headers).status,
                403,
            )
        self.assertEqual(
            book.ask("GET", "/api/notes", cookie=cookie).json["notes"], []
        )


class Notes(Case):
    def test_a_note_is_written_read_changed_and_deleted(self):
        book, cookie = self.fieldbook, self.signed_in()
        written = book.write(cookie, "Höhle", "Fledermäuse <b>")
        self.assertEqual(written.status, 201)
        note = written.json
        path = written.headers["Location"]
        self.assertEqual(path, f"/api/notes/{note['id']}")
        self.assertEqual(note["author"], "ann")
        self.assertIsNone(note["picture"])
        self.assertRegex(note["written_at"], r"^\d{4}-\d\d-\d\dT[\d:]{8}Z$")
        self.assertEqual(book.ask("GET", path, cookie=cookie).json, note)
        draft = {"place": "Cave", "text": "Bats"}
        changed = book.ask("PUT", path, draft, cookie)
        self.assertEqual(changed.json, {**note, **draft})
        self.assertEqual(book.ask("DELETE", path, None, cookie).status, 204)
        for method, content in (("GET", None), ("PUT", draft),
                                ("DELETE", None)):  # fmt: skip
            answer = book.ask(method, path, content, cookie)
            self.assertEqual(answer.status, 404)
            self.assertEqual(answer.json["detail"], "there is no such note")

    def test_the_list_is_paged(self):
        book, cookie = self.fieldbook, self.signed_in()
        ids = [book.write(cookie).json["id"] for _ in range(5)]
        found, path = [], "/api/notes?limit=2"
        for count in (2, 2, 1):
            page = book.ask("GET", path, cookie=cookie).json
            self.assertEqual(len(page["notes"]), count)
            found += [note["id"] for note in page["notes"]]
            path = f"/api/notes?limit=2&before={page['next']}"
        self.assertIsNone(page["next"])
        self.assertEqual(found, ids[::-1])
        for query in ("limit=0", "limit=101", "limit=x", "before=x",
                      "before=99999999999999999999"):  # fmt: skip
            answer = book.ask("GET", f"/api/notes?{query}", cookie=cookie)
            self.assertIn(answer.status, (400, 422), query)

    def test_all_problems_are_reported_at_once(self):
        book, cookie = self.fieldbook, self.signed_in()
        rows = [
            ({"place": " ", "text": "x" * 2001}, {"/place", "/text"}),
            ({"place": "a\0b", "text": ""}, {"/place", "/text"}),
            ({"place": 7}, {"/place", "/text"}),
            ({"place": "x" * 81, "text": "ok"}, {"/place"}),
        ]
        for draft, pointers in rows:
            answer = book.ask("POST", "/api/notes", draft, cookie)
            self.assertEqual(answer.status, 422, draft)
            self.assertEqual(
                answer.headers["Content-Type"], "application/problem+json"
            )
            found = {x["pointer"] for x in answer.json["errors"]}
            self.assertEqual(found, pointers)
        rows = [("{", "application/json", 400), ("{}", "text/plain", 415)]
        for content, kind, status in rows:
            answer = book.ask(
                "POST", "/api/notes", content, cookie, Content_Type=kind
            )
            self.assertEqual(answer.status, status)
        self.assertEqual(
            book.ask("GET", "/api/notes", cookie=cookie).json["notes"], []
        )

    def test_strangers_get_nothing(self):
        book, cookie = self.fieldbook, self.signed_in()
        note = book.write(cookie).json
        path = f"/api/notes/{note['id']}"
        draft = {"place": "a", "text": "b"}
        for method, target, content in (
            ("GET", "/api/notes", None), ("GET", path, None),
            ("POST", "/api/notes", draft), ("POST", "/api/notes", {}),
            ("PUT", path, draft), ("DELETE", path, None),
            ("GET", "/api/changes", None), ("GET", "/pictures/a.png", None),
        ):  # fmt: skip
            answer = book.ask(method, target, content)
            self.assertEqual(answer.status, 401, (method, target))
            self.assertEqual(answer.json["detail"], "sign in first")
        self.assertEqual(book.put_picture(None, note["id"], PNG).status, 401)

    def test_only_the_author_changes_a_note(self):
        book = self.fieldbook
        ann, bob = self.signed_in("ann"), self.signed_in("bob")
        note = book.write(ann).json
        path = f"/api/notes/{note['id']}"
        self.assertEqual(book.ask("GET", path, cookie=bob).json, note)
        draft = {"place": "mine", "text": "now"}
        refused = [
            book.ask("PUT", path, draft, bob),
            book.ask("DELETE", path, None, bob),
            book.put_picture(bob, note["id"], PNG),
        ]
        for answer in refused:
            self.assertEqual(answer.status, 403)
        self.assertEqual(book.ask("GET", path, cookie=bob).json, note)


class Pictures(Case):
    def setUp(self):
        super().setUp()
        self.cookie = self.signed_in()
        self.note = self.fieldbook.write(self.cookie).json["id"]

    def picture(self):
        path = f"/api/notes/{self.note}"
        return self.fieldbook.ask("GET", path, cookie=self.cookie).json["picture"]

    def stored(self):
        return sorted(x.name for x in Path(self.data, "pictures").iterdir())

    def test_a_picture_is_stored_served_replaced_and_deleted(self):
        book = self.fieldbook
        rows = [
            (PNG, "image/png"),
            (b"\xff\xd8\xff\xe0" + bytes(40), "image/jpeg"),
            (b"RIFF\x24\0\0\0WEBPVP8 " + bytes(40), "image/webp"),
        ]
        for content, kind in rows:
            answer = book.put_picture(self.cookie, self.note, content)
            self.assertEqual(answer.status, 204, answer.text)
            name = self.picture()
            # The former one is gone.
            self.assertEqual(self.stored(), [name])
            path = f"/pictures/{name}"
            served = book.ask("GET", path, cookie=self.cookie)
            self.assertEqual(served.octets, content)
            self.assertEqual(served.headers["Content-Type"], kind)
            self.assertEqual(
                served.headers["X-Content-Type-Options"], "nosniff"
            )
            self.assertIn("private", served.headers["Cache-Control"])
        self.assertEqual(
            book.ask("DELETE", f"/api/notes/{self.note}", None, self.cookie)
            .status, 204,
        )  # fmt: skip
        self.assertEqual(self.stored(), [])

    def test_other_types_are_refused(self):
        for content in (b"<svg xmlns='a'><script>x</script></svg>", b"",
                        b"GIF89a", b"\x89PNG", b"%PDF-1.7"):  # fmt: skip
            answer = self.fieldbook.put_picture(self.cookie, self.note, content)
            self.assertEqual(answer.status, 415, content)
        book = self.fieldbook
        path = f"/api/notes/{self.note}/picture"
        for kind, status in (("image/png", 415),
                             ("multipart/form-data", 400),
                             ("multipart/form-data; boundary=y", 400)):  # fmt: skip
            answer = book.ask("PUT", path, PNG, self.cookie, Content_Type=kind)
            self.assertEqual(answer.status, status, kind)
        self.assertEqual(self.stored(), [])

    def test_too_large_pictures_are_refused(self):
        book = self.fieldbook
        largest = PNG + bytes(PICTURE_OCTETS_MAX - len(PNG))
        self.assertEqual(
            book.put_picture(self.cookie, self.note, largest).status, 204
        )
        for more in (1, 10_000, 5 << 20):
            answer = book.put_picture(
                self.cookie, self.note, largest + bytes(more)
            )
            self.assertEqual(answer.status, 413, more)
        self.assertEqual(len(self.stored()), 1)

    def test_of_pictures_sent_at_once_one_stays(self):
        threads = [
            threading.Thread(
                target=self.fieldbook.put_picture,
                args=(self.cookie, self.note, PNG),
            )
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS_MAX)
        self.assertEqual(self.stored(), [self.picture()])

    def test_no_name_leads_elsewhere(self):
        book = self.fieldbook
        for name in ("../../evil.png", "/etc/passwd", "..\\..\\a.png", "",
                     "a.png/../../b", "%2e%2e%2fa.html"):  # fmt: skip
            answer = book.put_picture(self.cookie, self.note, PNG, name)
            self.assertEqual(answer.status, 204, name)
            self.assertRegex(self.picture(), r"^[0-9a-f]{32}\.png$")
        self.assertEqual(len(self.stored()), 1)
        for path in ("/pictures/..%2ffieldbook.db", "/pictures/%2e%2e",
                     "/pictures/../fieldbook.db", "/static/../fieldbook.mojo",
                     "/static/..%2ffieldbook.mojo", "/pictures/nothing.png",
                     "/pictures/%00"):  # fmt: skip
            answer = book.ask("GET", path, cookie=self.cookie)
            self.assertIn(answer.status, (400, 404), path)


class Live(Case):
    def test_pages_on_both_workers_see_each_change(self):
        book = self.fieldbook
        ann, bob = self.signed_in("ann"), self.signed_in("bob")
        watchers = [Watcher(book, bob) for _ in range(8)]
        for watcher in watchers:
            self.assertEqual(watcher.status, 200)
            self.assertEqual(watcher.wait_for(1), ("ready", "now"))
        note = book.write(ann, "Hill", "two\nlines").json
        draft = {"place": "Hill", "text": "one line"}
        path = f"/api/notes/{note['id']}"
        book.ask("PUT", path, draft, ann)
        book.put_picture(ann, note["id"], PNG)
        book.ask("DELETE", path, None, ann)
        for watcher in watchers:
            watcher.wait_for(5)
            kinds = [kind for kind, _ in watcher.events]
            self.assertEqual(
                kinds, ["ready", "written", "changed", "changed", "deleted"]
            )
            self.assertEqual(json.loads(watcher.events[1][1]), note)
            self.assertIn("png", json.loads(watcher.events[3][1])["picture"])
            self.assertEqual(watcher.events[4][1], str(note["id"]))
        # Connections of a program are spread over its workers.
        self.assertEqual(self.workers_that_have_answered(), {0, 1})
        # A stop ends the streams at once, and cleanly.
        started = time.monotonic()
        self.assertEqual(book.stop(), 0)
        self.assertLess(time.monotonic() - started, 5)
        for watcher in watchers:
            watcher.join(SECONDS_MAX)
            self.assertFalse(watcher.is_alive())

    def workers_that_have_answered(self):
        end = time.monotonic() + SECONDS_MAX
        found = set()
        while len(found) < 2 and time.monotonic() < end:
            self.fieldbook.ask("GET", "/-/live")
            text = Path(self.fieldbook.log.name).read_text()
            found = {int(x) for x in re.findall(r'"worker":(\d+)', text)}
            time.sleep(0.05)
        return found


class Operations(Case):
    def test_a_restart_keeps_notes_pictures_and_sessions(self):
        cookie = self.signed_in()
        id = self.fieldbook.write(cookie).json["id"]
        self.fieldbook.put_picture(cookie, id, PNG)
        (name,) = (x.name for x in Path(self.data, "pictures").iterdir())
        self.assertEqual(self.fieldbook.stop(), 0)
        self.fieldbook = self.start()
        note = self.fieldbook.ask("GET", f"/api/notes/{id}", cookie=cookie)
        self.assertEqual(note.json["picture"], name)
        picture = self.fieldbook.ask("GET", f"/pictures/{name}", cookie=cookie)
        self.assertEqual(picture.octets, PNG)
        # A killed process loses nothing that it has answered.
        id = self.fieldbook.write(cookie).json["id"]
        self.fieldbook.process.kill()
        self.fieldbook.process.wait(SECONDS_MAX)
        self.fieldbook = self.start()
        self.assertEqual(
            self.fieldbook.ask("GET", f"/api/notes/{id}", cookie=cookie).status,
            200,
        )

    def test_metrics_count(self):
        book = self.fieldbook
        cookie = self.signed_in()
        book.sign_in("ann", "wrong")
        watcher = Watcher(book, cookie)
        watcher.wait_for(1)
        for _ in range(3):
            book.write(cookie)
        watcher.wait_for(4)
        text = book.ask("GET", "/-/metrics").text
        for line in (
            'sign_ins_total{result="ok"} 1', 'sign_ins_total{result="wrong"} 1',
            "notes_total 3", "watchers 1",
        ):  # fmt: skip
            self.assertIn(line + "\n", text)
        self.assertIn('http_route="/api/notes"', text)
        # A proxy on this machine asks for clients elsewhere.
        for path in ("/-/metrics", "/-/flare"):
            self.assertEqual(book.ask("GET", path).status, 200)
            answer = book.ask("GET", path, X_Forwarded_For="192.0.2.7")
            self.assertEqual(answer.status, 403)

    def test_the_access_log_has_a_line_of_json_for_each_request(self):
        cookie = self.signed_in()
        self.fieldbook.write(cookie)
        self.assertEqual(self.fieldbook.stop(), 0)
        lines = Path(self.fieldbook.log.name).read_text().splitlines()
        records = [json.loads(x) for x in lines if x.startswith("{")]
        # Two workers may have answered: the lines of each are in order.
        self.assertEqual(
            sorted((x["method"], x["route"], x["status"]) for x in records),
            [("POST", "/api/notes", 201), ("POST", "/sign-in", 303)],
        )
        self.assertNotIn(PASSWORD, "\n".join(lines))
        self.assertNotIn(cookie.partition("=")[2], "\n".join(lines))

    def test_health_changes_while_the_program_stops(self):
        book, cookie = self.fieldbook, self.signed_in()
        self.assertEqual(book.ask("GET", "/-/ready").status, 200)
        id = book.write(cookie).json["id"]
        # Connections that are open before the stop, on whichever worker.
        probes = [book.connect() for _ in range(6)]
        for probe in probes:
            probe.request("GET", "/-/ready")
            self.assertEqual(probe.getresponse().read().strip(), b"ok")
        # An upload that has begun keeps the program from ending.
        upload = socket.create_connection(("127.0.0.1", book.port), SECONDS_MAX)
        self.addCleanup(upload.close)
        head = (
            f"PUT /api/notes/{id}/picture HTTP/1.1\r\nHost: a\r\n"
            f"Cookie: {cookie}\r\nContent-Length: 1000\r\n"
            "Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
        )
        upload.sendall(head.encode())
        time.sleep(0.3)
        book.process.send_signal(signal.SIGTERM)
        # Each asks again and again, until the stop reaches its connection.
        statuses = set()
        end = time.monotonic() + 5
        while probes and 503 not in statuses and time.monotonic() < end:
            for probe in list(probes):
                try:
                    probe.request("GET", "/-/ready")
                    answer = probe.getresponse()
                    answer.read()
                    statuses.add(answer.status)
                except (OSError, http.client.HTTPException):
                    probes.remove(probe)
                    probe.close()
        for probe in probes:
            probe.close()
        self.assertIn(503, statuses)
        self.assertIsNone(book.process.poll())
        upload.close()
        self.assertEqual(book.process.wait(SECONDS_MAX), 0)

    def test_each_answer_is_secured(self):
        cookie = self.signed_in()
        for path in ("/", "/nothing", "/static/fieldbook.js", "/api/notes",
                     "/-/ready"):  # fmt: skip
            for given in (None, cookie):
                headers = self.fieldbook.ask("GET", path, cookie=given).headers
                policy = headers["Content-Security-Policy"]
                self.assertIn("default-src 'none'", policy, path)
                self.assertNotIn("unsafe", policy)
                self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
                self.assertEqual(headers["X-Frame-Options"], "DENY")


@unittest.skipIf(
    has_no_browser_package(), "this system has no package of the browser"
)
class InBrowser(Case):
    def open(self, name, scheme="light", width=360):
        browser = PageBrowser()
        self.addCleanup(browser.close)
        browser.prefer(scheme)
        browser.resize(width, 740)
        self.site = f"http://localhost:{self.fieldbook.port}"
        browser.open(self.site + "/")
        for field, text in (("name", name), ("password", PASSWORD)):
            browser.value(f"document.querySelector('[name={field}]').focus()")
            browser.type(text)
        browser.type("\r")
        browser.wait_for("document.querySelector('#link').textContent === 'live'")
        return browser

    def send_picture(self, browser):
        """Writes a note with a file, as the form does."""
        file = Path(self.data, "shown.png")
        file.write_bytes(base64.b64decode(PIXEL))
        found = browser.call(
            "Runtime.evaluate",
            expression="document.querySelector('[name=picture]')",
        )
        browser.call(
            "DOM.setFileInputFiles", files=[str(file)],
            objectId=found["result"]["objectId"],
        )  # fmt: skip
        browser.value(
            "form.place.value = 'Fen'; form.text.value = 'A bittern';"
            " form.requestSubmit()"
        )

    def test_two_people_see_the_notes_of_each_other(self):
        ann = self.open("ann")
        bob = self.open("bob", "dark", 1200)
        ann.value("document.querySelector('[name=place]').focus()")
        # With the keyboard alone.
        ann.type("Bog <i>")
        ann.press("Tab", TAB)
        ann.type("Two cranes")
        for _ in range(2):
            ann.press("Tab", TAB)
        ann.type("\r")
        for browser in (ann, bob):
            browser.wait_for(
                "document.querySelector('#notes h3').textContent === 'Bog <i>'"
            )
            self.assertIn("ann, ", browser.value(
                "document.querySelector('#notes .by').textContent"
            ))  # fmt: skip
        # Only the author may delete it.
        is_hidden = "document.querySelector('#notes .delete').hidden"
        self.assertFalse(ann.value(is_hidden))
        self.assertTrue(bob.value(is_hidden))
        for browser in (ann, bob):
            self.assertLessEqual(
                browser.value("document.documentElement.scrollWidth"),
                browser.value("innerWidth"),
            )
        self.send_picture(ann)
        bob.wait_for("document.querySelector('#notes img').naturalWidth === 1")
        ann.value("document.querySelector('#notes .delete').click()")
        bob.wait_for("document.querySelectorAll('#notes li').length === 1")
        for browser in (ann, bob):
            self.assertEqual(browser.complaints, [])
            self.assertEqual(browser.value("violations"), [])
            self.assertEqual(browser.trap.asked, [])
            for url in browser.requests:
                self.assertTrue(url.startswith(self.site + "/"), url)
        colors = {
            browser.value("getComputedStyle(document.body).backgroundColor")
            for browser in (ann, bob)
        }
        self.assertEqual(len(colors), 2)


if __name__ == "__main__":
    unittest.main()
