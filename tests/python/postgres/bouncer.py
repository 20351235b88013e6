"""Starts PgBouncer before a server, for tests."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from .cluster import PASSWORD, SECONDS_MAX, USER

# In session mode, each connection of a client occupies one of the server.
POOL_SIZES = {"session": 16, "transaction": 4}
PROGRAM = shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin")


class Bouncer:
    """Runs PgBouncer in a folder of its own."""

    def __init__(self, cluster, mode):
        self.folder = Path(tempfile.mkdtemp(prefix="flare-pgbouncer-"))
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        users = self.folder / "users"
        users.write_text(f'"{USER}" "{PASSWORD}"\n')
        self.configuration = self.folder / "pgbouncer.ini"
        self.configuration.write_text(
            "[databases]\n"
            f"* = host=127.0.0.1 port={cluster.port}\n"
            "[pgbouncer]\n"
            "listen_addr = 127.0.0.1\n"
            f"listen_port = {self.port}\n"
            "unix_socket_dir =\n"
            "auth_type = scram-sha-256\n"
            f"auth_file = {users}\n"
            f"pool_mode = {mode}\n"
            f"default_pool_size = {POOL_SIZES[mode]}\n"
            "max_client_conn = 100\n"
        )
        # It refuses to run as root.
        self.switch = cluster.switch
        if self.switch:
            for path in (self.folder, users, self.configuration):
                shutil.chown(path, "postgres")
        self.process = None
        self.start()

    def start(self):
        """Starts it, and waits until it accepts connections."""
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.switch, PROGRAM, self.configuration],
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + SECONDS_MAX
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError((self.folder / "log").read_text())

    def stop(self):
        """Stops it at once."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(SECONDS_MAX)

    def close(self):
        """Stops it and removes its folder."""
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder)
