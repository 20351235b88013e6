"""Starts servers of other makers, which flare's client and its proxies ask."""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from loopback.programs import find_program
from loopback.subject import FOLDER, ROOT

PROGRAMS = ROOT / "tests" / "programs"
STOP_SECONDS_MAX = 20
BUILD_SECONDS_MAX = 300
_NGINX = """
daemon off;
error_log stderr;
pid {folder}/pid;
events {{}}
http {{
    access_log off;
    client_max_body_size 0;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {servers}
}}
"""


class Peer:
    """Is a server, until `stop`."""

    def __init__(self, *command, **popen):
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, **popen
        )

    def read_port(self):
        """Gives the port that it prints next."""
        return int(self.process.stdout.readline())

    def stop(self):
        """Ends it, and gives its exit code; one that has workers ends them
        first."""
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        return self.process.returncode


def python_peer(name, *arguments):
    """Starts a program of tests/programs in Python."""
    return Peer(sys.executable, PROGRAMS / f"{name}.py", *arguments)


def node_peer(name, *arguments):
    """Starts a program of tests/programs in JavaScript."""
    return Peer(find_program("node"), PROGRAMS / f"{name}.js", *arguments)


def go_peer(name, *arguments):
    """Builds and starts a program of tests/programs in Go; what it logs is
    dropped."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    program = FOLDER / name
    subprocess.run(
        [find_program("go"), "build", "-o", program, PROGRAMS / f"{name}.go"],
        check=True,
        timeout=BUILD_SECONDS_MAX,
    )
    return Peer(program, *arguments, stderr=subprocess.DEVNULL)


class Nginx(Peer):
    """Is nginx with one listener for each name in `listeners`.

    `servers` are its blocks of that name; {folder}, {listeners' names} and
    further `values` are replaced in them. `prepare` is given the folder, to put
    files there.
    """

    def __init__(self, servers, listeners, prepare=None, **values):
        self.folder = tempfile.TemporaryDirectory()
        folder = Path(self.folder.name)
        # Its workers may be of another user.
        folder.chmod(0o755)
        if prepare:
            prepare(folder)
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in listeners]
        self.ports = {
            name: listener.getsockname()[1]
            for name, listener in zip(listeners, sockets)
        }
        servers = servers.format(folder=folder, **self.ports, **values)
        configuration = folder / "nginx.conf"
        configuration.write_text(
            _NGINX.format(folder=folder, servers=servers)
        )
        descriptors = [listener.fileno() for listener in sockets]
        # So it takes over listeners: the ports are its own from the start, and
        # whoever comes early waits in them.
        given = "".join(f"{descriptor};" for descriptor in descriptors)
        super().__init__(
            find_program("nginx"), "-p", folder, "-c", configuration,
            "-e", "stderr",
            env={**os.environ, "NGINX": given},
            pass_fds=descriptors,
            stderr=subprocess.DEVNULL,
        )
        for listener in sockets:
            listener.close()

    def stop(self):
        """Ends it, and removes what it left."""
        super().stop()
        self.folder.cleanup()
