"""Tests that a protocol of the client stays in one module.

What a program asks for must not depend on the protocol that carries it. So
calls, streams and the pool use the verbs of `ClientExchange`. Only `h1_exchange`
knows the HTTP/1.1 machine, and only `shared` that of HTTP/2.
"""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from tidy_source import Source  # noqa: E402

CLIENT = ROOT / "flare" / "http" / "client"
MACHINE = re.compile(r"(?<!self)\.h1\b|\bH1Machine\b|\bSideState\b|\bBodyKind\b")
H2_MACHINE = re.compile(r"\bH2Machine\b|\bH2State\b")
STATE = re.compile(r"\bH1State\b")
CONNECTION = re.compile(r"\bClientConnection\b")


def modules_with(pattern):
    """Lists the modules of the client whose code has a pattern."""
    return {
        file.relative_to(CLIENT).as_posix()
        for file in CLIENT.rglob("*.mojo")
        if pattern.search(
            re.sub(r"^from .*", "", Source(file.name, file.read_text()).code,
                   flags=re.MULTILINE)
        )
    }


class DoorTest(unittest.TestCase):
    """Looks for modules that go round the exchange."""

    def test_one_module_of_the_client_reaches_the_machine(self):
        self.assertEqual(modules_with(MACHINE), {"exchange/h1_exchange.mojo", "exchange/h2_exchange.mojo"})

    def test_the_machine_of_http_2_stays_with_shared_connections(self):
        self.assertEqual(
            modules_with(H2_MACHINE),
            {"shared/shared_connection.mojo", "transport/shared_state.mojo"},
        )

    def test_the_connection_keeps_the_state_of_the_machine(self):
        self.assertEqual(
            modules_with(STATE), {"transport/client_connection.mojo"}
        )

    def test_calls_and_streams_know_no_connection(self):
        rooms = {path.split("/")[0] for path in modules_with(CONNECTION)}
        # After a 101, the pool gives a connection away to an upgrade.
        self.assertEqual(rooms, {"transport", "exchange", "pool", "shared", "upgrade"})


if __name__ == "__main__":
    unittest.main()
