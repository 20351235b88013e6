"""Runs the suite that tools/setup_autobahn.sh lays out, and judges its verdicts.

The suite plays one role, and flare the other. `test_server` is for flare as the
server; the judge knows no roles.
"""

import json
import shutil
import subprocess
from pathlib import Path

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
    if (FOLDER / "wstest").exists():
        return ""
    reason = FOLDER / "why_not.txt"
    if reason.exists():
        return f"no Autobahn test suite: {reason.read_text().strip()}"
    return "no Autobahn test suite: run `make setup-peers`"


def test_server(url, name, excluded, seconds_max):
    """Lets the suite be the client of a server, and gives what is wrong.

    The reports are in `REPORTS`, in a folder called `name`."""
    folder = REPORTS / name
    shutil.rmtree(folder, ignore_errors=True)
    specification = {
        "outdir": str(folder),
        "servers": [{"agent": AGENT, "url": url}],
        "cases": ["*"],
        "exclude-cases": list(excluded),
        "exclude-agent-cases": {},
    }
    _run("fuzzingclient", specification, folder, seconds_max)
    index = folder / "index.json"
    if not index.exists():
        raise SuiteError(f"it judged nothing: see {folder}/log.txt")
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


def _run(mode, specification, folder, seconds_max):
    if why_not():
        raise SuiteError(why_not())
    folder.mkdir(parents=True)
    written = folder / "specification.json"
    written.write_text(json.dumps(specification))
    with open(folder / "log.txt", "wb") as log:
        # It prints the cases that it runs, and leaves some files where it is.
        process = subprocess.Popen(
            [FOLDER / "wstest", "-m", mode, "-s", written],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
        try:
            code = process.wait(seconds_max)
        except subprocess.TimeoutExpired:
            raise SuiteError(
                f"it did not end in {seconds_max} s: see {log.name}"
            ) from None
        finally:
            process.kill()
            process.wait()
    if code != 0:
        raise SuiteError(f"it ended with {code}: see {log.name}")
