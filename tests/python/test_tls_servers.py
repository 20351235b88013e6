"""Lets flare's client speak TLS with servers of other makers, with and without
a certificate of its own."""

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
CLIENT = PROGRAMS / "tls_peer.mojo"
SECONDS_MAX = 20
BUILD_SECONDS_MAX = 300
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
    ssl_protocols TLSv1.2 TLSv1.3;
    server {{
        listen 127.0.0.1:{plain} ssl;
        location / {{ return 200 "hello nobody\\n"; }}
    }}
    server {{
        listen 127.0.0.1:{asking} ssl;
        ssl_client_certificate {certificates}/ca.pem;
        ssl_verify_client on;
        location / {{ return 200 "hello $ssl_client_s_dn\\n"; }}
    }}
}}
"""


def setUpModule():
    build(CLIENT)


def ask(port, *options):
    """Gives what flare's client says of its connection, and the response."""
    finished = subprocess.run(
        [build(CLIENT), "client", certificates(), "localhost", str(port),
         "get", *options],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    said, _, response = finished.stdout.partition("\n")
    return said + finished.stderr, response


class Servers:
    """Asks one server whose `plain` port asks for no certificate, and whose
    `asking` port insists on one."""

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
    def read_ports(cls, process):
        cls.plain = int(process.stdout.readline())
        cls.asking = int(process.stdout.readline())

    def expect_answer(self, said, response, content):
        self.assertRegex(said, r"^end \d+ TLSv1\.3 TLS_\w+ \S+ CN=server$")
        self.assertRegex(response.splitlines()[0], r"^HTTP/1\.[01] 200 ")
        self.assertIn(content, response.rstrip().splitlines()[-1])

    def test_without_a_certificate(self):
        self.expect_answer(*ask(self.plain), "hello nobody")

    def test_a_certificate_that_nobody_asks_for_is_kept(self):
        self.expect_answer(*ask(self.plain, "identity"), "hello nobody")

    def test_with_a_certificate(self):
        self.expect_answer(*ask(self.asking, "identity"), 'client')

    def test_who_shows_none_is_refused(self):
        said, response = ask(self.asking)
        self.assertRegex(said, self.refusal)
        self.assertNotIn("hello", response)


class Nginx(Servers, unittest.TestCase):
    # It agrees on a connection, and says inside of it what it lacks.
    refusal = "^end "

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        cls.plain, cls.asking = (x.getsockname()[1] for x in listeners)
        configuration = Path(folder.name) / "nginx.conf"
        configuration.write_text(
            NGINX.format(folder=folder.name, certificates=certificates(),
                         plain=cls.plain, asking=cls.asking)
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

    def test_who_shows_none_is_refused(self):
        super().test_who_shows_none_is_refused()
        _, response = ask(self.asking)
        self.assertRegex(response, "^HTTP/1.1 400 ")
        self.assertIn("No required SSL certificate was sent", response)


class Go(Servers, unittest.TestCase):
    refusal = "^tls.alert read alert=116"

    @classmethod
    def setUpClass(cls):
        FOLDER.mkdir(parents=True, exist_ok=True)
        server = FOLDER / "https_server"
        subprocess.run(
            [find_program("go"), "build", "-o", server,
             PROGRAMS / "https_server.go"],
            check=True,
            timeout=BUILD_SECONDS_MAX,
        )
        cls.read_ports(
            cls.start(server, certificates(), stderr=subprocess.DEVNULL)
        )


class Node(Servers, unittest.TestCase):
    refusal = "^tls.alert read alert=116"

    @classmethod
    def setUpClass(cls):
        cls.read_ports(
            cls.start(
                find_program("node"), PROGRAMS / "https_server.js",
                certificates(),
            )
        )


if __name__ == "__main__":
    unittest.main()
