"""Besieges a server with routes and reverse proxies, round after round.

    python3 -m siege.run [--minutes M] [--only PATTERN] [--seed N] ...

Four servers stand on each kernel interface: one with routes, one with the same
routes inside of TLS, a proxy in front of the first one, and a proxy in front of
an origin that answers as no server should. A line follows each attack. Ends with 1 if a server died, stalled, kept memory or
descriptors, or span.
"""

import argparse
import asyncio
import re
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from loopback.subject import BACKENDS, ROOT, build  # noqa: E402
from loopback.secure_socket import certificates  # noqa: E402
from siege.attacks import ATTACKS  # noqa: E402
from siege.clients import Hostile, Siege, waves  # noqa: E402
from siege.judge import Besieged, Report, besiege, settle  # noqa: E402
from siege.messages import get, post  # noqa: E402
from siege.origins import HostileOrigin  # noqa: E402
from siege.probe import is_answered  # noqa: E402
from siege.room_attacks import ROOM_ATTACKS  # noqa: E402
from siege.secure_attacks import SECURE_ATTACKS  # noqa: E402

PROGRAM = ROOT / "tests" / "programs" / "besieged.mojo"
# An attack that leaves the machine no rest slows the attackers too.
SLOWEST_SECONDS_MAX = 5.0
SETTLE_SECONDS_MAX = 60.0
# What a server may hold more than before, once all attackers have left.
KEPT_MEBIBYTES_MAX = 8
# What the pool of a client keeps of one origin at most.
POOLED_MAX = 256


def origin_attacks(origin):
    """Returns the attacks in which the origin of a proxy is the enemy."""

    def attack(path, content):
        async def act(connection, number):
            if content:
                await connection.send(post(path, b"c" * 300_000))
            else:
                await connection.send(get(path))
            while await connection.read():
                pass

        async def run(siege):
            await waves(siege, 20, act, resets=siege.chance.random() < 0.5)

        return run

    return {
        f"{path}{' with content' if content else ''}": attack(path, content)
        for path in origin.answers
        for content in (False, True)
    }


class Stand:
    """Holds the four servers of one kernel interface."""

    def __init__(self, program, backend, origin):
        self.backend = backend

        def proxy(port, **options):
            return Besieged(
                program,
                backend,
                f"http://127.0.0.1:{port}",
                pooled_max=POOLED_MAX,
                **options,
            )

        server = Besieged(program, backend, takes_uploads=True)
        self.servers = {
            "server": (server, ATTACKS | ROOM_ATTACKS),
            "secure": (
                Besieged(
                    program,
                    backend,
                    "tls",
                    certificates(),
                    takes_uploads=True,
                ),
                SECURE_ATTACKS,
            ),
            "proxy": (proxy(server.port, takes_uploads=True), ATTACKS | ROOM_ATTACKS),
            "betrayed": (proxy(origin.port), origin_attacks(origin)),
        }

    async def warm_up(self):
        """Lets the servers load their libraries, and meet each kind of request
        once."""
        for server, _ in self.servers.values():
            if server.is_secure:
                is_answered(server.port, True)
                continue
            for path in ("/", "/download/100", "/whole/100000", "/fail"):
                for coding in ("gzip", "br", "zstd", "identity"):
                    await self._ask(server, path, coding)
        for server, _ in self.servers.values():
            server.note_idle()

    async def _ask(self, server, path, coding):
        connection = await Hostile.open(server.port)
        try:
            await connection.send(
                get(path, f"Accept-Encoding: {coding}", "Connection: close")
            )
            await connection.drain()
        finally:
            connection.close()

    async def attack(self, kind, given, seed):
        """Lets all attacks hit one server; yields a report after each."""
        server, attacks = self.servers[kind]
        for name, act in attacks.items():
            whole = f"{self.backend} {kind} {name}"
            if not re.search(given.only, whole) or not server.is_alive():
                continue
            siege = Siege(server.port, given.seconds, seed)
            report = await besiege(server, whole, act(siege), given.slowest)
            if not given.settles_once and server.is_alive():
                await settle(server, report, given)
            yield report
        if given.settles_once and server.is_alive():
            report = Report(f"{self.backend} {kind} at rest")
            await settle(server, report, given)
            yield report

    def stop(self):
        """Ends the servers, proxies first; returns reports of bad ends."""
        reports = []
        for kind, (server, _) in reversed(self.servers.items()):
            was_alive = server.is_alive()
            code = server.stop()
            if was_alive and code != 0:
                reports.append(
                    Report(
                        f"{self.backend} {kind} stop",
                        problems=[f"exit code {code}"],
                    )
                )
        return reports


async def run(program, given, say=print):
    """Besieges until the time is over, each server and attack at least once;
    returns the reports."""
    deadline = time.monotonic() + 60 * given.minutes
    origin = HostileOrigin()
    await origin.start()
    reports = []
    stands = []
    try:
        for backend in given.backends:
            stands.append(Stand(program, backend, origin))
            await stands[-1].warm_up()
        seed = given.seed
        while True:
            for stand in stands:
                for kind in stand.servers:
                    async for report in stand.attack(kind, given, seed):
                        reports.append(report)
                        say(report)
            seed += 1
            if time.monotonic() > deadline:
                return reports
    finally:
        for stand in stands:
            reports += stand.stop()
        await origin.stop()


def parse(arguments):
    """Reads the command line, and allows many descriptors."""
    parser = argparse.ArgumentParser(
        prog="siege.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--seconds", type=float, default=3.0,
                        help="of one attack")
    parser.add_argument("--only", default="", help="a regular expression")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slowest", type=float, default=SLOWEST_SECONDS_MAX,
                        help="seconds that an answer may take meanwhile")
    parser.add_argument("--settle", type=float, default=SETTLE_SECONDS_MAX,
                        help="seconds until a server must be as before")
    parser.add_argument("--kept", type=int, default=KEPT_MEBIBYTES_MAX,
                        help="mebibytes that it may hold more then")
    parser.add_argument("--settles-once", action="store_true",
                        help="look at rest after a round, not each attack")
    parser.add_argument("--backends", nargs="+", default=list(BACKENDS))
    parser.add_argument("--program", type=Path)
    given = parser.parse_args(arguments)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return given


def main(arguments):
    """Runs the command."""
    given = parse(arguments)
    reports = asyncio.run(
        run(
            given.program or build(PROGRAM),
            given,
            lambda report: print(report, flush=True),
        )
    )
    bad = [report for report in reports if report.problems]
    print(f"{len(reports)} attacks, {len(bad)} with problems")
    for report in bad:
        print("  ", report)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
