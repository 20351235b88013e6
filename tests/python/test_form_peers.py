"""Asks Python, curl and Node what they make of cookies and forms."""

import email.parser
import email.policy
import email.utils
import http.cookiejar
import http.cookies
import http.server
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse
import urllib.request
from email.message import Message
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import build  # noqa: E402

SOURCE = Path(__file__).resolve().parents[1] / "programs" / "forms.mojo"
SECONDS_MAX = 60
TEXTS = [
    "", "a", "a b", "a+b", "100 %", "%41", "é", "漢字", "a&b=c", "x;y",
    "*-._~", "'\"", "<>", "\r\n", "\x00\x7f", "🔥",
]
NODE = """
const http = require('http');
const form = new FormData();
form.append('plain', 'a value');
form.append('say "x"', 'line\\nend');
form.append('f', new File(['octets\\r\\n--x'], 'é "q".txt', {type: 'text/x'}));
form.append('empty', new File([''], ''));
fetch(process.argv[2], {method: 'POST', body: form}).then(r => r.text());
"""


def digits(value):
    octets = value if isinstance(value, bytes) else value.encode()
    return octets.hex() or "-"


def texts(line):
    return [
        "" if word == "-" else bytes.fromhex(word).decode()
        for word in line.split()
    ]


class FormPeersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = build(SOURCE)

    def ask(self, *lines):
        """Gives the line of output of each line of input."""
        finished = subprocess.run(
            [self.program],
            input="".join(
                " ".join([command, *map(digits, words)]) + "\n"
                for command, *words in lines
            ),
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
        )
        self.assertEqual(finished.returncode, 0, finished.stderr)
        answers = finished.stdout.split("\n")[:-1]
        self.assertEqual(len(answers), len(lines))
        return answers

    def received(self, command):
        """Runs a client against a server; gives its type and content."""
        caught = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                if self.headers.get("Transfer-Encoding") == "chunked":
                    body = b""
                    while size := int(self.rfile.readline(), 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    length = int(self.headers["Content-Length"])
                    body = self.rfile.read(length)
                caught.append((self.headers["Content-Type"], body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            url = f"http://127.0.0.1:{server.server_port}/"
            finished = subprocess.run(
                [*command, url], capture_output=True, timeout=SECONDS_MAX
            )
            server.shutdown()
            thread.join()
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return caught[0]

    def test_forms_of_python_are_read_and_ours_by_python(self):
        draw = random.Random(7)
        pairs = [
            [(draw.choice(TEXTS), draw.choice(TEXTS)) for _ in range(4)]
            for _ in range(200)
        ]
        coded = self.ask(
            *[("write-form", *[t for p in row for t in p]) for row in pairs]
        )
        read = self.ask(
            *[("form", urllib.parse.urlencode(row)) for row in pairs]
        )
        for row, ours, theirs in zip(pairs, coded, read):
            again = urllib.parse.parse_qsl(
                ours, keep_blank_values=True, strict_parsing=True
            )
            self.assertEqual(again, row)
            flat = [text for pair in row for text in pair]
            self.assertEqual(texts(theirs), flat)

    @unittest.skipUnless(shutil.which("curl"), "curl is not there")
    def test_forms_of_curl_are_read(self):
        kind, body = self.received(
            ["curl", "-s", "--data-urlencode", "a b=c&d +%é", "-d", "x=y"]
        )
        self.assertEqual(kind, "application/x-www-form-urlencoded")
        # curl does not escape names.
        self.assertEqual(
            texts(self.ask(("form", body))[0]), ["a b", "c&d +%é", "x", "y"]
        )

    @unittest.skipUnless(shutil.which("curl"), "curl is not there")
    def test_parts_of_curl_are_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, 'a "b".txt')
            path.write_bytes(bytes(range(256)) + b"\r\n--\r\n")
            kind, body = self.received(
                ["curl", "-s", "-F", "plain=a value",
                 "-F", f"g=@{folder}/a \"b\".txt;type=a/b"]
            )
            content = path.read_bytes()
        boundary = kind.split("boundary=")[1]
        found = self.ask(("multipart", boundary, body))[0].split()
        self.assertEqual(
            found,
            [digits("plain"), "-", digits("text/plain"), digits("a value"),
             digits("g"), digits('a "b".txt'), digits("a/b"), digits(content)],
        )

    @unittest.skipUnless(shutil.which("node"), "node is not there")
    def test_parts_of_node_are_read(self):
        with tempfile.NamedTemporaryFile("w", suffix=".js") as script:
            script.write(NODE)
            script.flush()
            kind, body = self.received(["node", script.name])
        boundary = kind.split("boundary=")[1]
        found = self.ask(("multipart", boundary, body))[0].split()
        self.assertEqual(
            found,
            [digits("plain"), "-", digits("text/plain"), digits("a value"),
             digits('say "x"'), "-", digits("text/plain"),
             digits("line\r\nend"),
             digits("f"), digits('é "q".txt'), digits("text/x"),
             digits("octets\r\n--x"),
             digits("empty"), "-", digits("application/octet-stream"), "-"],
        )

    def test_our_parts_are_read_by_python(self):
        names = ["a", "é", "a b", "c;d", "e=f", "漢字"]
        parts = [
            (name, file, f"content {name}\r\n".encode())
            for name, file in zip(names, ["", "x.txt", "é.txt", "", "; y", ""])
        ]
        line = self.ask(
            ("write-multipart", "b", *[text for p in parts for text in p])
        )[0]
        head = b'Content-Type: multipart/form-data; boundary="b"\r\n\r\n'
        parser = email.parser.BytesParser(policy=email.policy.HTTP)
        message = parser.parsebytes(head + bytes.fromhex(line))
        self.assertEqual(message.defects, [])
        found = list(message.iter_parts())
        self.assertEqual(len(found), len(parts))
        for part, (name, file, content) in zip(found, parts):
            raw = dict(part.raw_items())["Content-Disposition"].encode(
                "utf-8", "surrogateescape"
            ).decode()
            wanted = f'form-data; name="{name}"'
            if file:
                wanted += f'; filename="{file}"'
            self.assertEqual(raw, wanted)
            self.assertEqual(part.get_payload(decode=True), content)

    def test_cookie_fields_are_read_as_python_reads_them(self):
        rows = ["a=1", "a=1; b=2", 'a="x y"; b=', "a=1;b=2;c=3", "a=b=c"]
        for row, line in zip(rows, self.ask(*[("cookies", r) for r in rows])):
            read = http.cookies.SimpleCookie(row)
            flat = []
            for name, morsel in read.items():
                flat += [name, morsel.coded_value]
            self.assertEqual(texts(line), flat, row)

    def test_set_cookie_fields_of_python_are_read(self):
        morsel = http.cookies.SimpleCookie()
        morsel["id"] = "4f"
        morsel["id"].update({
            "path": "/x", "domain": "a.test", "max-age": 60, "secure": True,
            "httponly": True, "samesite": "Lax",
            "expires": "Sun, 06 Nov 1994 08:49:37 GMT",
        })
        text = morsel["id"].OutputString()
        ours = self.ask(("again", text))[0]
        self.assertEqual(
            sorted(ours.lower().split("; ")), sorted(text.lower().split("; "))
        )

    def test_dates_are_those_of_python(self):
        draw = random.Random(3)
        rows = []
        for _ in range(300):
            seconds = draw.randrange(0, 4_000_000_000)
            iso = http.cookiejar.time2netscape(seconds)
            rows.append((iso, seconds))
            rows.append((email.utils.formatdate(seconds, usegmt=True), seconds))
        answers = self.ask(*[("date", text) for text, _ in rows])
        for (text, seconds), answer in zip(rows, answers):
            self.assertEqual(int(answer), seconds, text)

    def test_a_jar_of_python_sends_the_same(self):
        draw = random.Random(11)
        hosts = ["a.test", "b.a.test", "ba.test", "c.b.a.test", "d.test"]
        paths = ["/", "/p", "/p/q", "/pq", "/p/q/r"]
        policy = http.cookiejar.DefaultCookiePolicy(
            strict_ns_domain=(
                http.cookiejar.DefaultCookiePolicy.DomainStrictNonDomain
            )
        )
        for _ in range(40):
            jar = http.cookiejar.CookieJar(policy)
            lines, wanted = [("clear",)], []
            for _ in range(12):
                scheme = draw.choice(["http", "https"])
                host = draw.choice(hosts)
                url = f"{scheme}://{host}{draw.choice(paths)}"
                request = urllib.request.Request(url)
                if draw.random() < 0.5:
                    jar.add_cookie_header(request)
                    lines.append(("header", url))
                    wanted.append(request.get_header("Cookie", ""))
                    continue
                text = f"{draw.choice('xyz')}={draw.randrange(9)}"
                text += draw.choice(["", "; Path=/", "; Path=/p"])
                domain = draw.choice(["", "a.test", "d.test"])
                if domain:
                    text += f"; Domain={domain}"
                # Python's jar lets foreigners end a cookie.
                if f".{host}".endswith(f".{domain}") or not domain:
                    text += draw.choice(["", "; Max-Age=60", "; Max-Age=0"])
                response = Message()
                response["Set-Cookie"] = text
                jar.extract_cookies(_Response(response), request)
                lines.append(("set", url, text))
                wanted.append(None)
            for line, answer, want in zip(
                lines[1:], self.ask(*lines)[1:], wanted
            ):
                if want is not None:
                    self.assertEqual(
                        sorted(answer.split("; ")), sorted(want.split("; ")),
                        lines,
                    )


class _Response:
    def __init__(self, headers):
        self.headers = headers

    def info(self):
        return self.headers


if __name__ == "__main__":
    unittest.main()
