"""Serves a folder with tests/programs/files.mojo, and asks for its files."""

import http.client
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

from loopback.demo import Demo
from loopback.h2_client import H2Client
from loopback.peers import PROGRAMS
from loopback.secure_socket import certificates, client_context
from loopback.subject import BACKENDS

SOURCE = PROGRAMS / "files.mojo"
FILE_FAULTS = Path(__file__).resolve().parents[1] / "file_faults.c"
SECONDS_MAX = 60
# Is sent from the disk.
LONG = 8 << 20


class FileCase(unittest.TestCase):
    """Has a folder that is served, and one beside it."""

    speaks_h2 = False

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="flare_files_"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.outside = Path(tempfile.mkdtemp(prefix="flare_outside_"))
        self.addCleanup(shutil.rmtree, self.outside)

    def write(self, name, octets):
        """Writes a file of the folder; gives its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(octets)
        return path

    def start(self, backend, secure=False, **settings):
        """Starts a server of the folder."""
        tls = ("--tls", certificates()) if secure else ()
        server = Demo(
            backend, "--files", self.folder, *tls, source=SOURCE, **settings
        )
        server.secure = secure
        self.addCleanup(server.kill)
        return server

    def servers(self, secure=(False,), **settings):
        """Starts a server of each kind, one after the other."""
        for backend in BACKENDS:
            for with_tls in secure:
                with self.subTest(backend, secure=with_tls):
                    yield self.start(backend, with_tls, **settings)

    def servers_with_faults(self, **faults):
        """Starts servers whose calls on files fail (file_faults.c)."""
        library = self.outside / "faults.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-o", library, FILE_FAULTS, "-ldl"],
            check=True,
        )
        faults = {name: str(value) for name, value in faults.items()}
        return self.servers(environment={"LD_PRELOAD": str(library), **faults})

    def connect(self, server):
        """Connects a client."""
        if self.speaks_h2:
            place = SimpleNamespace(place=server.port, secure=server.secure)
            client = H2Client(place)
        elif server.secure:
            client = http.client.HTTPSConnection(
                "localhost",
                server.port,
                timeout=SECONDS_MAX,
                context=client_context(),
            )
        else:
            client = http.client.HTTPConnection(server.host, timeout=SECONDS_MAX)
        self.addCleanup(client.close)
        return client

    def ask(self, client, path, method="GET", **fields):
        """Asks for a file; gives status, header fields and content."""
        if self.speaks_h2:
            return self._ask_over_h2(client, path, method, fields)
        client.putrequest(method, f"/files/{path}", skip_accept_encoding=True)
        for name, value in fields.items():
            client.putheader(name.replace("_", "-"), value)
        client.endheaders()
        answer = client.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()

    def _ask_over_h2(self, client, path, method, fields):
        lines = [(n.lower().replace("_", "-"), v) for n, v in fields.items()]
        answer = client.ask(method, f"/files/{path}", lines)
        if answer.reset is not None:
            raise ConnectionResetError(f"reset with {answer.reset}")
        found = http.client.HTTPMessage()
        for name, value in answer.fields:
            found[name] = value
        return answer.status, found, bytes(answer.body)

    def ask_once(self, server, path, method="GET", **fields):
        """Asks for a file on a connection of its own."""
        client = self.connect(server)
        try:
            return self.ask(client, path, method, **fields)
        finally:
            client.close()
