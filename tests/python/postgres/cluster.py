"""Starts a PostgreSQL server of its own, for tests."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

USER = "app"
PASSWORD = "s3cr%t"
URL_PASSWORD = "s3cr%25t"
SECONDS_MAX = 60
VERSIONS = ("15", "16", "17", "18", "14")


def tools():
    """Gives the folder of the server's programs, or None."""
    for version in VERSIONS:
        folder = Path("/usr/lib/postgresql") / version / "bin"
        if (folder / "initdb").exists():
            return folder
    return None


def missing():
    """Says what is not installed, or gives None."""
    if tools() is None:
        return "PostgreSQL is not installed: make setup-peers brings it"
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "setpriv is not installed"
    return None


def start(add_cleanup):
    """Starts a server for tests, or skips them; `add_cleanup` is that of their
    class or module."""
    problem = missing()
    if problem:
        raise unittest.SkipTest(problem)
    cluster = Cluster()
    add_cleanup(cluster.close)
    return cluster


class Cluster:
    """Runs a server in a folder of its own, with SCRAM and TLS."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="flare-postgres-"))
        self.data = self.folder / "data"
        self.process = None
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        password = self.folder / "password"
        password.write_text(PASSWORD)
        # The server refuses to run as root.
        self.switch = []
        if os.geteuid() == 0:
            self.switch = ["setpriv", "--reuid", "postgres", "--clear-groups"]
            shutil.chown(self.folder, "postgres")
        self._run(
            tools() / "initdb", "-D", self.data, "-U", USER, "-N",
            "-A", "scram-sha-256", "--pwfile", password,
            "--locale=C", "--encoding=UTF8",
        )  # fmt: skip
        self._make_certificate()
        self.start()

    def _run(self, *command, **options):
        subprocess.run(
            [*self.switch, *map(str, command)],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            **options,
        )

    def _make_certificate(self):
        self.certificate = self.data / "server.crt"
        self._run(
            "openssl", "req", "-new", "-x509", "-nodes", "-days", "2",
            "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost",
            "-out", self.certificate, "-keyout", self.data / "server.key",
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        # Readable for the tests, which run as another user.
        copy = self.folder / "trust.pem"
        shutil.copy(self.certificate, copy)
        self.certificate = copy

    def start(self):
        """Starts the server, and waits until it accepts connections."""
        settings = {
            "fsync": "off",
            "full_page_writes": "off",
            "synchronous_commit": "off",
            "listen_addresses": "127.0.0.1",
            "ssl": "on",
            "logging_collector": "off",
        }
        command = [tools() / "postgres", "-D", self.data, "-p", self.port]
        command += ["-k", self.folder]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.switch, *map(str, command)],
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )
        end = time.monotonic() + SECONDS_MAX
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            if self.psql("SELECT 1", check=False).returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())

    def stop(self, how=signal.SIGQUIT):
        """Stops the server, at once by default."""
        self.process.send_signal(how)
        self.process.wait(SECONDS_MAX)

    def close(self):
        """Stops the server and removes its folder."""
        if self.process and self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder)

    def processes(self):
        """Gives the ids of the server and its children."""
        children = Path(
            f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        )
        return [self.process.pid, *map(int, children.read_text().split())]

    def psql(self, statement, database="postgres", check=True):
        """Runs a statement."""
        return subprocess.run(
            [
                tools() / "psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1",
                "-p", str(self.port), "-U", USER, "-d", database,
                "-v", "ON_ERROR_STOP=1", "-c", statement,
            ],
            check=check,
            env={
                "PGPASSWORD": PASSWORD,
                "PGOPTIONS": "-c client_min_messages=warning",
                "PATH": os.environ["PATH"],
            },
            stdout=subprocess.PIPE,
            stderr=None if check else subprocess.DEVNULL,
            text=True,
        )  # fmt: skip

    def ask(self, statement, database="postgres"):
        """Runs a query, and gives its rows as text."""
        return self.psql(statement, database).stdout.strip()

    def url(
        self, database, query="", host="localhost", port=None, user=None
    ):
        """Gives the URL of a database."""
        who = user or f"{USER}:{URL_PASSWORD}"
        return f"postgres://{who}@{host}:{port or self.port}/{database}{query}"
