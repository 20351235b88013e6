"""Starts the server of `make serve`, examples/demo.mojo."""

import contextlib
import os
import re
import subprocess
import threading

from loopback.subject import ROOT, build

SOURCE = ROOT / "examples" / "demo.mojo"
STOP_SECONDS_MAX = 20.0


class Demo:
    """Is one process of the demo server; by default at a port of the kernel's
    choice. Another program may take its options too."""

    def __init__(
        self, backend, *options, port=0, environment=None, source=SOURCE, **popen
    ):
        command = [build(source), "--backend", backend, "--port", port, *options]
        self.process = subprocess.Popen(
            map(str, command),
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
            **popen,
        )
        line = self.process.stderr.readline()
        if "listening on" not in line:
            # What it says last is why.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_SECONDS_MAX)
            self.kill()
            line += self.process.stderr.read()
            raise RuntimeError(f"the server did not start: {line}")
        # With TLS, the last port is that of TLS.
        ports = [int(x) for x in re.findall(r":(\d+)", line.split(",")[0])]
        self.plain_port, self.port = ports[0], ports[-1]
        self.host = f"127.0.0.1:{self.port}"
        self.log = []
        # A full pipe would stop it.
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()

    def _read_log(self):
        self.log.extend(self.process.stderr)

    def stop(self):
        """Ends it as a supervisor would; gives its exit code."""
        self.process.terminate()
        try:
            return self.process.wait(STOP_SECONDS_MAX)
        finally:
            self.kill()

    def kill(self):
        """Ends it at once."""
        self.process.kill()
        self.process.wait()
