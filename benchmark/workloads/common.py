"""What the workloads share: the server under test, the load, the verdicts.

The server runs on core 0 and everything that asks it on core 1, so that CPU
time is the server's own. Each workload prints its figures, and ends with 1
where a figure misses its bound.
"""

import argparse
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from loopback.client import Client  # noqa: E402
from loopback.secure_socket import certificates  # noqa: E402

# Nothing here sends reports or needs a crash handler.
QUIET = {
    "MODULAR_CRASH_REPORTING_ENABLED": "false",
    "MODULAR_TELEMETRY_ENABLED": "false",
    "ASAN_OPTIONS": "detect_container_overflow=0",
}
BACKENDS = ("io_uring", "epoll")
SERVER_CORE = 0
LOAD_CORE = 1
# Longer than the deadlines by which a server finds out that somebody has left.
SETTLE_SECONDS_MAX = 70.0
STOP_SECONDS_MAX = 20.0
# Counters that are what they were once every client has gone.
HELD = ("connections", "requests_in_flight", "fibers", "receive_buffers",
        "timers")


def need(program, package):
    """Ends the workload where a program is not installed."""
    if not shutil.which(program):
        sys.exit(f"{program} is missing: apt-get install {package}")


def request(path, *fields, method="GET"):
    """Gives the octets of a request without content."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *fields]
    return "\r\n".join([*lines, "", ""]).encode()


def percentile(values, share):
    """Gives the value that `share` of all values do not exceed."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(len(ranked) * share))]


def wait_until(holds, seconds_max):
    """Waits until `holds()` is true; tells whether it became so."""
    deadline = time.monotonic() + seconds_max
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


class Load:
    """Holds what wrk counted."""

    def __init__(self, output):
        self.requests = int(re.search(r"(\d+) requests in", output)[1])
        self.rate = float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1])
        found = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
        self.wrong = int(found[1]) if found else 0
        found = re.search(
            r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", output
        )
        names = ("connect", "read", "write", "timeout")
        counts = map(int, found.groups()) if found else (0, 0, 0, 0)
        self.errors = dict(zip(names, counts))


def start_wrk(port, path, connections, seconds, script=None):
    """Starts wrk on the load core; hand what it gives to `finish_wrk`."""
    command = ["taskset", "-c", str(LOAD_CORE), "wrk", "-t1",
               f"-c{connections}", f"-d{seconds}s"]
    if script:
        command += ["-s", str(script)]
    return subprocess.Popen(
        [*command, f"http://127.0.0.1:{port}{path}"],
        stdout=subprocess.PIPE,
        text=True,
    )


def finish_wrk(process):
    """Waits for wrk and reads what it counted."""
    output, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f"wrk failed: {output}")
    return Load(output)


class Server:
    """Is one process of the server."""

    def __init__(self, program, backend, *options, descriptors_max=None,
                 environment=None, secure=False):
        self.secure = secure
        if secure:
            options = (*options, "--tls", certificates())
        command = ["taskset", "-c", str(SERVER_CORE), str(program),
                   "--backend", backend, *map(str, options)]
        if descriptors_max:
            limit = f'ulimit -n {descriptors_max}; exec "$@"'
            command = ["sh", "-c", limit, "sh", *command]
        self.backend = backend
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env={**os.environ, **QUIET, **(environment or {})},
        )
        line = self.process.stdout.readline()
        if not line:
            self.process.wait(10)
            sys.exit(f"the server did not start: {self.log_text()}")
        self.port = int(line)
        self.asked = 0
        # The first requests make what later ones use again.
        self.statistics()
        self.before = self.statistics()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def connect(self, **options):
        """Opens a connection."""
        return Client(self.port, **{"secure": self.secure, **options})

    def log_text(self):
        """Gives what the server has written to standard error."""
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def cpu_and_wait_us(self):
        """Gives the CPU time, and the time spent waiting for the core."""
        cpu = wait = 0
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        for task in tasks.iterdir():
            run, waited, _ = (task / "schedstat").read_text().split()
            cpu += int(run)
            wait += int(waited)
        return cpu / 1000, wait / 1000

    def cpu_us(self):
        """Gives the CPU time in microseconds."""
        return self.cpu_and_wait_us()[0]

    def memory_kib(self, field="VmRSS"):
        """Gives a line of the process's status, in KiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+) kB", status)[1])

    def descriptors(self):
        """Counts the open descriptors."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def statistics(self):
        """Asks the server for its counters; requests are those of others.

        Those in flight are counted between two turns of the worker's loop, so
        that the one that asks is never among them.
        """
        with self.connect() as client:
            client.send(request("/statistics", "Connection: close"))
            found = counters(client.answer().body)
        self.asked += 1
        found["requests"] -= self.asked
        return found

    def left_over(self):
        """Names the counters that did not go back to what they were."""
        found = {}

        def is_settled():
            now = self.statistics()
            found.clear()
            found.update({
                name: f"{now[name]} ({self.before[name]} before)"
                for name in HELD
                if now[name] > self.before[name]
            })
            return not found

        wait_until(is_settled, SETTLE_SECONDS_MAX)
        return found

    def stop(self):
        """Ends the server in order; gives its exit code and last counters."""
        self.process.terminate()
        try:
            words, _ = self.process.communicate(timeout=STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            return None, {}
        found = counters(words)
        if found:
            found["requests"] -= self.asked
        return self.process.returncode, found


def counters(octets):
    """Reads lines of name=value."""
    pairs = (line.split("=") for line in octets.decode().split())
    return {name: int(value) for name, value in pairs}


class Workload:
    """Parses the options, runs a measurement per backend, and judges."""

    def __init__(self, description, source=HERE / "server.mojo"):
        self.source = source
        self.options = argparse.ArgumentParser(
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.options.add_argument(
            "--backend", choices=(*BACKENDS, "both"), default="both"
        )
        self.options.add_argument(
            "--asan", action="store_true",
            help="build the server with AddressSanitizer",
        )
        self.missed = 0

    def claim(self, text, holds):
        """Prints a figure beside its bound, and remembers a miss."""
        self.missed += not holds
        print(f"  {'PASS' if holds else 'FAIL'}  {text}", flush=True)

    def run(self, measure):
        """Calls `measure(server program, backend, options)`; ends with 1
        where a claim did not hold."""
        given = self.options.parse_args()
        need("taskset", "util-linux")
        os.sched_setaffinity(0, {LOAD_CORE})
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        with tempfile.TemporaryDirectory() as folder:
            program = build(folder, self.source, given.asan)
            for backend in BACKENDS:
                if given.backend in (backend, "both"):
                    print(backend, flush=True)
                    measure(program, backend, given)
        sys.exit(1 if self.missed else 0)


def build(folder, source, asan):
    """Builds a server."""
    program = f"{folder}/server"
    flags = ["--sanitize", "address", "-g1"] if asan else []
    subprocess.run(
        [ROOT / ".venv/bin/mojo", "build", *flags, "-I", ROOT, "-o", program,
         source],
        check=True,
        env={**os.environ, **QUIET},
    )
    return program
