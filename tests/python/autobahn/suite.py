"""Runs the suite that tools/setup_autobahn.sh lays out, and judges its verdicts.

The suite plays one role, and flare the other: `test_server`, or `test_client`.
"""

import contextlib
import json
import shutil
import subprocess
from pathlib import Path

from loopback.programs import await_port, free_ports, why_no_suite

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / ".venv" / "autobahn"
REPORTS = ROOT / "build" / "autobahn"
AGENT = "flare"
# Compressed messages of a server without permessage-deflate: the suite has no
# verdict on them.
COMPRESSION = ("12.*", "13.*")
# Messages of up to 16 MiB, and 216 kinds of compressed ones.
SLOW = ("9.*", *COMPRESSION)
# How many cases each selection has. A run that judged fewer found nothing.
CASES = {(): 517, COMPRESSION: 301, SLOW: 247}


class SuiteError(Exception):
    """Says why the suite could not judge."""


def why_not():
    """Gives why the suite is not here; an empty text if it is."""
    return why_no_suite("Autobahn test suite", FOLDER, "wstest")


def test_server(url, name, excluded, seconds_max):
    """Lets the suite be the client of a server, and gives what is wrong.

    The reports are in `REPORTS`, in a folder called `name`."""
    specification = {"servers": [{"agent": AGENT, "url": url}]}
    with _suite("fuzzingclient", specification, name, excluded) as suite:
        try:
            code = suite.wait(seconds_max)
        except subprocess.TimeoutExpired:
            raise SuiteError(f"it did not end in {seconds_max} s") from None
    if code != 0:
        raise SuiteError(f"it ended with {code}: see {REPORTS / name}/log.txt")
    return _judged(name, excluded)


def test_client(command, name, excluded, seconds_max):
    """Lets the suite be the server of a client, and gives what is wrong.

    The command of the client gets the URL. It runs all cases that there are,
    and asks for the reports."""
    port = free_ports(1)[0]
    url = f"ws://127.0.0.1:{port}"
    specification = {"url": url, "options": {"failByDrop": False}}
    with _suite("fuzzingserver", specification, name, excluded) as suite:
        await_port(port, suite)
        finished = subprocess.run(
            command(url), capture_output=True, text=True, timeout=seconds_max
        )
    failures = []
    if finished.returncode != 0:
        failures.append(f"the client: {finished.stdout}{finished.stderr}")
    try:
        return failures + _judged(name, excluded)
    except SuiteError as error:
        # It says why nothing was judged.
        return [*failures, str(error)]


def _judged(name, excluded):
    index = REPORTS / name / "index.json"
    if not index.exists():
        raise SuiteError(f"it judged nothing: see {REPORTS / name}/log.txt")
    return problems_of(json.loads(index.read_text()), CASES[tuple(excluded)])


def problems_of(index, count):
    """Gives a line for each case of an index that is not as it must be."""
    cases = index.get(AGENT, {})
    found = [
        f"case {name}: {part} is {verdict[part]}"
        for name, verdict in sorted(cases.items())
        for part in ("behavior", "behaviorClose")
        if verdict[part] not in _accepted(name)
    ]
    if len(cases) != count:
        found.append(f"{len(cases)} cases were judged, not {count}")
    return found


def _accepted(case):
    # What to do after these is nobody's rule: the suite only reports it. One
    # continues a message after the Close, the others close with codes that no
    # endpoint may know.
    if case == "7.1.6" or case.startswith("7.13."):
        return ("OK", "INFORMATIONAL")
    return ("OK",)


@contextlib.contextmanager
def _suite(mode, specification, name, excluded):
    """Runs the suite within the block."""
    if why_not():
        raise SuiteError(why_not())
    folder = REPORTS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    written = folder / "specification.json"
    written.write_text(json.dumps({
        **specification,
        "outdir": str(folder),
        "cases": ["*"],
        "exclude-cases": list(excluded),
        "exclude-agent-cases": {},
    }))
    # Of its server, it would show the reports at a port of its own.
    options = ["--webport", "0"] if mode == "fuzzingserver" else []
    with open(folder / "log.txt", "wb") as log:
        # It prints the cases that it runs, and leaves some files where it is.
        process = subprocess.Popen(
            [FOLDER / "wstest", "-m", mode, *options, "-s", written],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
