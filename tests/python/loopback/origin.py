"""Stands behind the reverse proxy: takes contents in, and gives them out, with
checksums of both; and nginx for files."""

import hashlib
import http.server
import socket
import subprocess
import threading
from pathlib import Path

from loopback.peers import STOP_SECONDS_MAX, Nginx
from loopback.programs import find_program

PIECE = 1 << 20
STEP = 4093
_NGINX = """
    server {{
        listen 127.0.0.1:{port};
        location /file {{ alias {folder}/file; }}
        location / {{
            proxy_pass http://127.0.0.1:{behind};
            proxy_http_version 1.1;
            proxy_request_buffering off;
            proxy_buffering off;
        }}
    }}
"""


def pieces(octets):
    """Gives a content piece by piece, of which none equals another soon."""
    block = bytes((i * i >> 7) & 0xFF for i in range(1 << 16))
    block = (block * (PIECE // len(block) + 2))[: PIECE + STEP]
    number = 0
    while octets > 0:
        start = number % STEP
        yield block[start : start + min(PIECE, octets)]
        number += 1
        octets -= PIECE


def digest_of(octets):
    """Gives the checksum of a content of that length."""
    digest = hashlib.sha256()
    for piece in pieces(octets):
        digest.update(piece)
    return digest.hexdigest()


class Answering(http.server.BaseHTTPRequestHandler):
    """Answers with the checksum of what it is sent, or sends what is asked."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        digest = hashlib.sha256()
        for piece in self.content():
            digest.update(piece)
        self.answer(digest.hexdigest().encode())

    def do_OPTIONS(self):
        self.answer(str(self.headers).encode())

    def do_GET(self):
        if self.path == "/old":
            self.protocol_version = "HTTP/1.0"
        if self.path in ("/head", "/old"):
            return self.answer(str(self.headers).encode())
        if self.path == "/odd":
            self.send_response(999)
            return self.end_headers()
        if not self.path.startswith(("/chunked/", "/octets/")):
            return self.send_error(404)
        octets = int(self.path.split("/")[2])
        self.send_response(200)
        if self.path.startswith("/chunked/"):
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(octets))
        self.end_headers()
        for piece in pieces(octets):
            if self.path.startswith("/chunked/"):
                piece = b"%x\r\n%s\r\n" % (len(piece), piece)
            self.wfile.write(piece)
        if self.path.startswith("/chunked/"):
            self.wfile.write(b"0\r\n\r\n")

    def answer(self, content):
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "X-Hop")
        self.send_header("X-Hop", "1")
        self.send_header("X-Kept", "2")
        self.end_headers()
        self.wfile.write(content)

    def content(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            left = int(self.headers["Content-Length"])
            while left > 0:
                piece = self.rfile.read(min(left, PIECE))
                if not piece:
                    raise ConnectionError("cut off")
                left -= len(piece)
                yield piece
            return
        while count := int(self.rfile.readline(), 16):
            piece = self.rfile.read(count)
            if len(piece) != count or self.rfile.readline() != b"\r\n":
                raise ConnectionError("cut off")
            yield piece
        self.rfile.readline()

    def log_message(self, *_):
        pass


def serve_contents():
    """Starts the server; gives it, to be shut down."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    # Who goes away in the midst of a content is no news.
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def nginx_before(server, octets):
    """Starts nginx in front of that server; it serves a file of that length.
    """
    def write(folder):
        with open(folder / "file", "wb") as file:
            for piece in pieces(octets):
                file.write(piece)

    return Nginx(_NGINX, ("port",), write, behind=server.server_address[1])


class Proxy:
    """Is the example, or another such program, in front of a server."""

    def __init__(self, program, upstream, *options):
        self.process = subprocess.Popen(
            [program, upstream, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if options else None,
            text=True,
        )
        line = self.process.stdout.readline()
        self.url = f"http://{line.removeprefix('listening at ').strip()}"
        self.port = int(self.url.rsplit(":", 1)[1])

    def tell(self, octets):
        """Sends octets on a connection; gives what comes until its end, and
        whether it broke off."""
        with socket.create_connection(("127.0.0.1", self.port), 20) as asking:
            asking.sendall(octets)
            said = bytearray()
            try:
                while piece := asking.recv(1 << 16):
                    said += piece
            except ConnectionResetError:
                return bytes(said), True
        return bytes(said), False

    def cpu_seconds(self):
        """Gives the processor time that its threads have taken."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def peak_mebibytes(self):
        """Gives the most memory that it has held at a time."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(li for li in status.splitlines() if li[:6] == "VmHWM:")
        return int(line.split()[1]) / 1024

    def stop(self):
        """Ends it as a supervisor would; gives its exit code."""
        self.process.terminate()
        self.process.stdout.close()
        return self.process.wait(STOP_SECONDS_MAX)


def upload(url, octets, *options):
    """Lets curl send a content; gives what the server says."""
    sender = subprocess.Popen(
        [find_program("curl"), "-sS", "--fail", "--max-time", "500", "-X",
         "POST", "-H", "Expect:", "-T", "-", *options, url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    for piece in pieces(octets):
        sender.stdin.write(piece)
    said, _ = sender.communicate()
    return said.decode()


def download(url, *options):
    """Lets curl fetch a content; gives its checksum and its length."""
    receiver = subprocess.Popen(
        [find_program("curl"), "-sS", "--fail", "--max-time", "500", *options,
         url],
        stdout=subprocess.PIPE,
    )
    digest = hashlib.sha256()
    total = 0
    while piece := receiver.stdout.read(PIECE):
        digest.update(piece)
        total += len(piece)
    receiver.stdout.close()
    if receiver.wait() != 0:
        return "", total
    return digest.hexdigest(), total
