"""Lets flare's client ask servers of other makers for all that it can ask for,
plainly and inside of TLS."""

import os
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.programs import find_program  # noqa: E402
from loopback.secure_socket import certificates  # noqa: E402
from loopback.subject import FOLDER, ROOT, build  # noqa: E402

PROGRAMS = ROOT / "tests" / "programs"
CLIENT = PROGRAMS / "fetcher.mojo"
SECONDS_MAX = 20
BUILD_SECONDS_MAX = 300
CHUNKS = b"".join(bytes([ord("a") + i % 16]) * 1000 for i in range(64))
CODED = b"coded" * 20_000
# What a server says of the last request on a connection is its own business:
# it costs the client the second of the two.
EXPECTED = f"""\
get 200 hello
head 200 0
nothing 204 0
missing 404
moved 200 hello 1
chunked 200 {len(CHUNKS)} {sum(CHUNKS)}
streamed 200 {len(CHUNKS)} {sum(CHUNKS)}
coded 200 {len(CODED)} {sum(CODED)} gzip
last 200 bye
after 200 hello
known 200 300000 True
chunks 200 chunked True
asking 200 300000 True
json 200 1
connections 2
"""
NGINX = """
daemon off;
error_log stderr;
pid {folder}/pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    ssl_certificate {certificates}/server.pem;
    ssl_certificate_key {certificates}/server.key;
    server {{
        listen 127.0.0.1:{plain};
        listen 127.0.0.1:{secure} ssl;
        absolute_redirect off;
        client_max_body_size 0;
        root {folder};
        gzip on;
        location /text {{ return 200 "hello"; }}
        location /nothing {{ return 204; }}
        location /missing {{ return 404; }}
        location /moved {{ return 302 /text; }}
        location /last {{ keepalive_timeout 0; return 200 "bye"; }}
        location /coded {{ default_type text/html; }}
        location / {{
            proxy_pass http://127.0.0.1:{behind};
            proxy_http_version 1.1;
            proxy_request_buffering off;
            proxy_buffering off;
            gzip off;
        }}
    }}
}}
"""


def setUpModule():
    build(CLIENT)


class Origin:
    """Asks one server, which prints its ports where it is not told them."""

    @classmethod
    def start(cls, *command, **popen):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                   **popen)

        def stop():
            # One that has workers ends them first.
            process.terminate()
            try:
                process.wait(SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()

        cls.addClassCleanup(stop)
        return process

    @classmethod
    def start_and_read_ports(cls, *command):
        process = cls.start(*command, certificates())
        cls.plain = int(process.stdout.readline())
        cls.secure = int(process.stdout.readline())

    def fetch(self, *arguments):
        finished = subprocess.run(
            [build(CLIENT), *arguments],
            capture_output=True, text=True, timeout=SECONDS_MAX,
        )
        self.assertEqual(finished.stdout + finished.stderr, EXPECTED)

    def test_plainly(self):
        self.fetch(f"http://127.0.0.1:{self.plain}")

    def test_inside_of_tls(self):
        self.fetch(f"https://localhost:{self.secure}", certificates())


class Python(Origin, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.start_and_read_ports(
            sys.executable, PROGRAMS / "origin_server.py"
        )


class Node(Origin, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.start_and_read_ports(
            find_program("node"), PROGRAMS / "origin_server.js"
        )


class Go(Origin, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        FOLDER.mkdir(parents=True, exist_ok=True)
        server = FOLDER / "origin_server"
        subprocess.run(
            [find_program("go"), "build", "-o", server,
             PROGRAMS / "origin_server.go"],
            check=True, timeout=BUILD_SECONDS_MAX,
        )
        cls.start_and_read_ports(server)


class Nginx(Origin, unittest.TestCase):
    """It passes on what it cannot do itself."""

    @classmethod
    def setUpClass(cls):
        cls.start_and_read_ports(
            sys.executable, PROGRAMS / "origin_server.py"
        )
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        # Its workers may be of another user.
        Path(folder.name).chmod(0o755)
        (Path(folder.name) / "coded").write_bytes(CODED)
        listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        behind = cls.plain
        cls.plain, cls.secure = (x.getsockname()[1] for x in listeners)
        configuration = Path(folder.name) / "nginx.conf"
        configuration.write_text(
            NGINX.format(folder=folder.name, certificates=certificates(),
                         plain=cls.plain, secure=cls.secure, behind=behind)
        )
        descriptors = [listener.fileno() for listener in listeners]
        # So it takes over listeners: the ports are its own from the start.
        given = "".join(f"{descriptor};" for descriptor in descriptors)
        cls.start(
            find_program("nginx"), "-p", folder.name, "-c", configuration,
            "-e", "stderr",
            env={**os.environ, "NGINX": given},
            pass_fds=descriptors,
            stderr=subprocess.DEVNULL,
        )
        for listener in listeners:
            listener.close()


if __name__ == "__main__":
    unittest.main()
