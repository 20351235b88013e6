"""Lets grpc-go call a handler of gRPC: messages, trailers, statuses, deadlines."""

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.programs import why_no_suite  # noqa: E402
from loopback.secure_socket import ROOT, certificates  # noqa: E402
from loopback.subject import (  # noqa: E402
    H2_TRANSPORTS,
    build,
    on_each_backend,
)

SOURCE = ROOT / "tests" / "programs" / "grpc_server.mojo"
FOLDER = ROOT / ".venv" / "grpc"
SECONDS_MAX = 60
SAID = """\
say hello [yes] <nil>
long 1000000 <nil>
Missing NotFound
Late DeadlineExceeded
Unknown Unimplemented
at once 100
"""


def setUpModule():
    build(SOURCE)


@unittest.skipIf(
    why_no_suite("client of gRPC", FOLDER, "client"),
    why_no_suite("client of gRPC", FOLDER, "client"),
)
class Calls:
    def test_calls_get_messages_trailers_and_statuses(self):
        options = ["--backend", self.backend]
        authority = []
        if self.transport == "tls":
            options += ["--tls", certificates()]
            authority = [certificates() / "ca.pem"]
        server = subprocess.Popen(
            [build(SOURCE), *options], stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        port = int(server.stdout.readline())
        finished = subprocess.run(
            [FOLDER / "client", f"localhost:{port}", *authority],
            capture_output=True, text=True, timeout=SECONDS_MAX,
        )
        self.assertEqual(finished.stdout, SAID, finished.stderr)


on_each_backend(Calls, unittest.TestCase, H2_TRANSPORTS)


if __name__ == "__main__":
    unittest.main()
