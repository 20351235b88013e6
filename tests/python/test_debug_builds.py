"""Builds a server for a debugger and a profiler, and finds its handler."""

import functools
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.programs import find_program  # noqa: E402
from loopback.subject import FOLDER, ROOT  # noqa: E402
from quick import program_options  # noqa: E402
from tested_programs import BUILD_SECONDS_MAX, MOJO  # noqa: E402

SOURCE = ROOT / "tests" / "programs" / "debugged.mojo"
GUIDE = ROOT / "docs" / "guide" / "debugging.md"
# A debugger reads all symbols first, beside tests that build.
WAIT_SECONDS_MAX = 240


@functools.lru_cache
def build(*options):
    """Builds the server with options of the compiler; gives its path."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    program = FOLDER / ("debugged" + "".join(options))
    finished = subprocess.run(
        [MOJO, "build", *options, *program_options(), "-o", program, SOURCE],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=BUILD_SECONDS_MAX,
    )
    if finished.returncode != 0:
        raise AssertionError(finished.stdout.decode(errors="replace"))
    return program


def line_of(text):
    """Gives the number of the line of the source that holds a text."""
    lines = SOURCE.read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


def ask(port, target="/?name=flare"):
    """Gives all that the server says to one request."""
    request = f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with socket.create_connection(
        ("127.0.0.1", port), WAIT_SECONDS_MAX
    ) as stream:
        stream.sendall(request.encode())
        received = b""
        while piece := stream.recv(65536):
            received += piece
    return received


class DebugBuilds(unittest.TestCase):
    def run_program(self, *command, **popen):
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **popen
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def expect_answer(self, program):
        server = self.run_program(program)
        answer = ask(int(server.stdout.readline()))
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 OK\r\n"), answer)
        self.assertTrue(answer.endswith(b"\r\n\r\nhello flare"), answer)
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(WAIT_SECONDS_MAX), 0)

    def expect_stop_in_handler(self, program):
        number = line_of("return ok(String(")
        debugger = self.run_program(
            find_program("gdb"), "-q", "-nx", "-batch",
            "-ex", "set breakpoint pending off",
            "-ex", f"break {SOURCE.name}:{number}",
            "-ex", "run", "-ex", "backtrace",
            "-ex", "detach",
            str(program),
        )  # fmt: skip
        said = b""
        while not (port := re.search(rb"^(\d+)$", said, re.MULTILINE)):
            line = debugger.stdout.readline()
            self.assertTrue(line, said)
            said += line
        # The handler goes on when the debugger has detached.
        answer = ask(int(port[1]))
        self.assertTrue(answer.endswith(b"hello flare"), answer)
        while not (process := re.search(rb"process (\d+)\) detached", said)):
            line = debugger.stdout.readline()
            self.assertTrue(line, said)
            said += line
        os.kill(int(process[1]), signal.SIGKILL)
        text = said.decode(errors="replace")
        self.assertRegex(text, r"hit Breakpoint 1, debugged::hello\(")
        self.assertRegex(text, r"debugged\.mojo:%d\n%d\s+return" % (number, number))
        # The stack of the fiber can be read, from the handler to the server.
        self.assertRegex(text, r"#\d+ .*run_handler")

    def test_a_build_without_optimization_serves(self):
        self.expect_answer(build("-O0"))

    def test_an_optimized_build_with_symbols_stops_in_a_handler(self):
        program = build("-g")
        self.expect_answer(program)
        self.expect_stop_in_handler(program)

    def test_a_build_with_little_optimization_stops_in_a_handler(self):
        program = build("-O1", "-g")
        self.expect_answer(program)
        self.expect_stop_in_handler(program)

    def test_the_debugger_of_mojo_shows_the_variables_of_a_handler(self):
        number = line_of("return ok(String(")
        program = build("-O1", "-g")
        command = [str(MOJO), "debug", str(program)]
        # It shows what it does only where it speaks to a terminal.
        process, terminal = pty.fork()
        if process == 0:
            os.execv(command[0], command)
        self.addCleanup(os.close, terminal)
        self.addCleanup(os.waitpid, process, 0)
        self.addCleanup(os.kill, process, signal.SIGKILL)
        self.await_text(terminal, r"\(lldb\) ")
        for line, expected in (
            (f"breakpoint set -f {SOURCE.name} -l {number}", r"Breakpoint 1:"),
            ("run", r"listening on 127\.0\.0\.1:(\d+)"),
        ):
            os.write(terminal, f"{line}\n".encode())
            found = self.await_text(terminal, expected)
        with socket.create_connection(("127.0.0.1", int(found[1]))) as stream:
            stream.sendall(b"GET /?name=flare HTTP/1.1\r\nHost: a\r\n\r\n")
            # What is written before the prompt may be lost.
            self.await_text(terminal, r"stop reason = breakpoint[\s\S]*\(lldb\) ")
            os.write(terminal, b"frame variable\n")
            self.await_text(terminal, r'\(String\) name = "flare"')
            os.write(terminal, b"bt\n")
            self.await_text(terminal, r"run_handler[^$]*fiber_queue::_entry")
            os.write(terminal, b"kill\n")
            self.await_text(terminal, r"Process \d+ exited")

    def await_text(self, terminal, pattern):
        """Reads what a program on a terminal says until it matches."""
        said = b""
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while not (found := re.search(pattern, said.decode(errors="replace"))):
            left = deadline - time.monotonic()
            ready = select.select([terminal], [], [], max(left, 0))[0]
            self.assertTrue(ready, said)
            said += os.read(terminal, 65536)
        return found

    def test_a_profile_leads_from_the_handler_to_the_server(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = f"{folder.name}/profile"
        profiler = self.run_program(
            find_program("perf"), "record", "-q", "-F", "499",
            "--call-graph", "dwarf,16384", "-o", file, build("-g"),
            start_new_session=True,
        )  # fmt: skip
        port = int(profiler.stdout.readline())
        for _ in range(5):
            answer = ask(port, "/?name=flare&steps=20000000")
            self.assertTrue(answer.endswith(b"hello flare"), answer)
        # As Ctrl-C does, for both.
        os.killpg(profiler.pid, signal.SIGINT)
        self.assertIn(profiler.wait(WAIT_SECONDS_MAX), (0, -signal.SIGINT))
        # The command of the page, up to the program that draws.
        command = re.search(r"perf script.*?(?=\|\s+inferno)", GUIDE.read_text(), re.S)
        text = subprocess.check_output(
            command[0].replace("hello.perf", file),
            shell=True,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=WAIT_SECONDS_MAX,
        )
        stacks = [x for x in text.split("\n\n") if "::compute" in x]
        self.assertGreater(len(stacks), 20, text[:2000])
        names = [re.findall(r"^\s+[0-9a-f]+ (.*)\+0x", x, re.M) for x in stacks]
        way = (
            "debugged::compute debugged::hello flare::http::endpoint::_serve_handler"
            " flare::http::server::exchange::respond::run_handler"
            " flare::runtime::fiber_queue::_entry"
        )
        whole = [x for x in names if way in " ".join(x)]
        self.assertGreater(len(whole), len(stacks) // 2, stacks[0])


if __name__ == "__main__":
    unittest.main()
