"""Runs the whole Autobahn test suite in both roles: `make autobahn`.

    python3 -m autobahn.run [--only PATTERN] [--quick]

The demo server gets all 517 cases at /ws/deflate, and at /ws the 301 that need no
compression. The client (tests/programs/ws_peer.mojo) gets all 517 with each
kind of compression, and 301 without. All of it on each kernel interface. Then
both get their cases over HTTP/2, with nghttpx in between. The reports are in
build/autobahn. Ends with 1 if a verdict is not OK.
"""

import argparse
import contextlib
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from autobahn.bridge import bridge  # noqa: E402
from autobahn.suite import (  # noqa: E402
    CASES,
    COMPRESSION,
    REPORTS,
    SLOW,
    SuiteError,
    test_client,
    test_server,
    why_not,
)
from loopback.demo import Demo  # noqa: E402
from loopback.peers import PROGRAMS  # noqa: E402
from loopback.subject import BACKENDS, build  # noqa: E402

RUN_SECONDS_MAX = 3600
# What each route is asked: those that compress, everything.
ROUTES = {"/ws": COMPRESSION, "/ws/deflate": (), "/ws/deflate/shared": ()}
CLIENT = PROGRAMS / "ws_peer.mojo"
# The same for a client, by its compression.
OFFERS = {"off": COMPRESSION, "dedicated": (), "shared": ()}


def judge(
    backend, path, excluded, seconds_max=RUN_SECONDS_MAX, over_h2=False
):
    """Runs cases against a server of their own; gives what is wrong."""
    server = Demo(backend)
    name = f"{backend}{'-h2' * over_h2}{path.replace('/', '-')}"
    port = contextlib.nullcontext(server.port)
    if over_h2:
        port = bridge(server.port, "h2")
    try:
        with port as port:
            found = test_server(
                f"ws://127.0.0.1:{port}{path}", name, excluded, seconds_max
            )
        code = server.stop()
    finally:
        server.kill()
    if code != 0:
        found.append(f"the server ended with {code}")
    return found


def judge_client(
    backend, compression, excluded, seconds_max=RUN_SECONDS_MAX, over_h2=False
):
    """Runs cases with a client; gives what is wrong."""
    program = build(CLIENT)
    name = f"{backend}-client{'-h2' * over_h2}-{compression}"
    with contextlib.ExitStack() as stack:

        def command(url):
            if not over_h2:
                return [program, "suite", backend, compression, url]
            port = stack.enter_context(
                bridge(int(url.rsplit(":", 1)[1]), "http/1.1")
            )
            url = f"ws://127.0.0.1:{port}"
            return [program, "streams", backend, compression, url]

        return test_client(command, name, excluded, seconds_max)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="runs that match a pattern")
    parser.add_argument(
        "--quick", action="store_true", help="without the cases 9, 12 and 13"
    )
    return parser.parse_args()


def main():
    options = parse()
    if why_not():
        print(why_not())
        return 1
    wrong = count = 0
    runs = [(judge, *route, False) for route in ROUTES.items()]
    runs += [(judge_client, *offer, False) for offer in OFFERS.items()]
    runs.append((judge, "/ws/deflate", (), True))
    runs.append((judge_client, "dedicated", (), True))
    for backend in BACKENDS:
        for role, subject, excluded, over_h2 in runs:
            title = f"{backend} {subject}"
            if role == judge_client:
                title = f"{backend} client {subject}"
            if over_h2:
                title += " over HTTP/2"
            if not re.search(options.only, title):
                continue
            excluded = SLOW if options.quick else excluded
            print(f"{title}: {CASES[excluded]} cases", flush=True)
            started = time.monotonic()
            try:
                found = role(backend, subject, excluded, over_h2=over_h2)
            except SuiteError as error:
                found = [str(error)]
            for line in found:
                print(f"    {line}")
            verdict = f"{len(found)} findings" if found else "all as they must be"
            print(f"    {verdict}, {time.monotonic() - started:.0f} s", flush=True)
            wrong += len(found)
            count += 1
    print(f"reports: {REPORTS}")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
