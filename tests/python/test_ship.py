"""Ships the program of docs/guide/deploy.md, and does what that page says."""

import ctypes
import functools
import json
import os
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import ship  # noqa: E402
from quick import program_options  # noqa: E402
from loopback.client import Client  # noqa: E402
from loopback.peers import Nginx  # noqa: E402
from loopback.programs import find_program  # noqa: E402
from loopback.subject import ROOT, Subject, build  # noqa: E402
from test_loopback_notify import ServiceManager  # noqa: E402
from test_loopback_passed import PLACE  # noqa: E402

PAGE = ROOT / "docs" / "guide" / "deploy.md"
NAME = "hello"
WAIT_SECONDS_MAX = 30
BUILD_SECONDS_MAX = 600
ASK = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
LAST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
IO_URING_SETUP = 425
NUMBERS = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
# Restricts the program that it becomes, as containers and systemd do. The word
# `forbid` or `allow` says what becomes of the system calls whose numbers follow:
# each is loaded and compared; what is not allowed is refused with EPERM.
RESTRICT = """
import ctypes, os, struct, sys
actions = [0x00050001, 0x7fff0000]
if sys.argv[1] == "allow":
    actions.reverse()
steps = [(0x20, 0, 0, 0)]
for number in sys.argv[2].split(","):
    steps += [(0x15, 0, 1, int(number)), (0x06, 0, 0, actions[0])]
steps.append((0x06, 0, 0, actions[1]))
code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *x) for x in steps))
class Filter(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("code", ctypes.c_void_p)]
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
whole = Filter(len(steps), ctypes.addressof(code))
assert libc.prctl(22, 2, ctypes.byref(whole)) == 0
os.execv(sys.argv[3], sys.argv[3:])
"""


SECURE = """
from flare.prelude import *
from flare.tls import TlsIdentity, TlsServerConfig


def hello(req: Request) raises -> Response:
    return ok("hello")


def main() raises:
    var identity = TlsIdentity.files("a.pem", "a.key")
    HttpServer.bind_tls(
        SocketAddr.localhost(8443), TlsServerConfig(identity^)
    ).serve(hello)
"""


def block(language, number=0):
    """Gives a block of code of the page."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    return found[number]


@functools.lru_cache
def ship_program(text, name):
    """Ships a program once; gives its folder."""
    holder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(holder.cleanup)
    source = Path(holder.name) / f"{name}.mojo"
    source.write_text(text)
    into = Path(holder.name) / "ship"
    finished = run_ship(source, "--into", into, "--", *program_options())
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == f"{into}/{name}\n", finished.stdout
    return into / name


def run_ship(*arguments):
    return subprocess.run(
        [sys.executable, ROOT / "tools" / "ship.py", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS_MAX,
    )


def make_root(folder, root):
    """Makes a root that holds what a folder needs from the system, and /proc."""
    for name in libraries_of_the_system(folder / NAME):
        target = Path(f"{root}{name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, target)
    (root / "proc").mkdir()


def libraries_of_the_system(program):
    """Gives the paths of the libraries that the loader takes from the system."""
    printed = subprocess.check_output(["ldd", program], text=True)
    found = re.findall(r"(?:=> |^\t)(/\S+) \(", printed, re.M)
    beside = str(program.resolve().parent)
    return [x for x in found if not x.startswith(f"{beside}/")]


def in_root(root, *command):
    """Gives a command that runs in a root, as no administrator could too."""
    script = 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"'
    return [
        "unshare", "--map-root-user", "--mount", "sh", "-c", script,
        str(root), *command,
    ]


class Case(unittest.TestCase):
    def folder(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        return Path(holder.name)

    def listen(self, path=None):
        if path:
            opened = socket.socket(socket.AF_UNIX)
            opened.bind(path)
            opened.listen(100)
        else:
            opened = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(opened.close)
        return opened

    def run_passed(self, opened, *command, **variables):
        """Starts a command that gets a listening socket, as systemd does."""
        program = shutil.which(command[0])
        place = [sys.executable, "-c", PLACE, str(opened.fileno()), program]
        process = subprocess.Popen(
            [*place, *command[1:]],
            env={"PATH": os.environ["PATH"], "LISTEN_FDS": "1", **variables},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[opened.fileno()],
            cwd="/",
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def expect_service(self, process, opened, stop=signal.SIGTERM):
        """Asks a service, stops it, and gives its first line."""
        with Client(opened.getsockname()[1]) as client:
            client.send(ASK)
            self.assertEqual(client.answer().body, b"hello\n")
        process.send_signal(stop)
        self.assertEqual(process.wait(WAIT_SECONDS_MAX), 0)
        return process.stderr.readline().decode()

    def setUp(self):
        self.shipped = ship_program(block("mojo"), NAME)


class Folder(Case):
    def test_it_holds_the_program_and_what_it_needs(self):
        names = {x.name for x in self.shipped.iterdir()}
        # The program of the page calls the driver library, as with a wheel.
        driver = {x for x in names if x.startswith("libflare_driver_")}
        self.assertEqual(len(driver), 1, names)
        self.assertEqual(
            sorted(names - driver),
            [
                "Dockerfile", "README.txt", NAME, f"{NAME}.service",
                f"{NAME}.socket", "libAsyncRTRuntimeGlobals.so",
                "libKGENCompilerRTShared.so", "libMSupportGlobals.so",
                "licences",
            ],
        )  # fmt: skip
        self.assertEqual(
            (self.shipped / "licences" / "flare.txt").read_text(),
            (ROOT / "LICENSE").read_text(),
        )
        self.assertIn(
            "libraries in this folder",
            (self.shipped / "licences" / "mojo.txt").read_text(),
        )

    def test_libraries_are_found_beside_the_program_alone(self):
        for file in self.shipped.iterdir():
            if file.name == NAME or file.suffix == ".so":
                for folder in ship.Elf(file).search_path():
                    self.assertTrue(folder.startswith("$ORIGIN"), folder)
        self.assertNotIn(
            b"site-packages/modular/lib", (self.shipped / NAME).read_bytes()
        )

    def test_the_readme_names_the_libraries_of_the_system(self):
        text = (self.shipped / "README.txt").read_text()
        line = re.search("^From the system: (.*)$", text, re.M)[1]
        self.assertEqual(
            sorted(line.split(", ")),
            sorted(
                Path(x).name
                for x in libraries_of_the_system(self.shipped / NAME)
            ),
        )
        self.assertRegex(text, r"(?m)^libc: +GNU libc 2\.\d+ or newer$")
        # The driver library can load them, this program does not.
        for name in ("TLS", "Brotli"):
            self.assertNotIn(name, text)

    def test_what_the_program_can_load_is_named_too(self):
        shipped = ship_program(SECURE, "secure")
        text = (shipped / "README.txt").read_text()
        self.assertRegex(text, r"(?m)^TLS: libssl\.so\.3, .*libssl3\)$")
        self.assertNotIn("Brotli", text)
        self.assertIn(" libssl3", (shipped / "Dockerfile").read_text())

    def test_each_library_that_flare_loads_is_known(self):
        sources = [
            path.read_bytes() for path in (ROOT / "flare").rglob("*.mojo")
        ]
        for said, use, _, package in ship.LOADED:
            self.assertTrue(any(said in x for x in sources), use)
            self.assertEqual([x[3] for x in ship.loaded(b"-" + said)], [package])
        self.assertEqual(ship.loaded(b"nothing"), [])
        self.assertEqual(
            [x[1] for x in ship.loaded(ship.HAS_CLIENT)], list(ship.OF_CLIENT)
        )
        # A library that is loaded by name has a row.
        names = {x for _, _, x, _ in ship.LOADED for x in x.split(", ")}
        loaded = {
            name
            for source in sources
            for name in re.findall(r'library_names\[\s*"([^"]+)"', source.decode())
        }
        self.assertEqual(loaded - names, set())

    def test_it_runs_in_a_root_that_holds_nothing_else(self):
        root = self.folder()
        make_root(self.shipped, root)
        shutil.copytree(self.shipped, root / "srv" / "any where")
        opened = self.listen()
        process = self.run_passed(
            opened, *in_root(root, f"/srv/any where/{NAME}")
        )
        line = self.expect_service(process, opened)
        port = opened.getsockname()[1]
        self.assertRegex(
            line, rf"^flare: listening on 127\.0\.0\.1:{port}, 2 workers on"
        )

    def test_a_program_without_a_server_gets_a_plain_unit(self):
        folder = ship_program("def main():\n    print(6 * 7)\n", "plain")
        printed = subprocess.check_output([folder / "plain"], cwd="/", env={})
        self.assertEqual(printed, b"42\n")
        self.assertFalse((folder / "plain.socket").exists())
        unit = (folder / "plain.service").read_text()
        self.assertIn("\nType=exec\n", unit)
        self.assertNotIn("Watchdog", unit)
        self.assertNotIn("dlopen", (folder / "README.txt").read_text())

    def test_a_folder_of_another_maker_is_not_replaced(self):
        folder = self.folder()
        (folder / NAME).mkdir()
        source = folder / f"{NAME}.mojo"
        source.write_text("def main():\n    pass\n")
        finished = run_ship(source, "--into", folder)
        self.assertEqual(finished.returncode, 1)
        self.assertIn("is none of flare-ship's", finished.stderr)
        finished = run_ship(source.rename(folder / "a b.mojo"))
        self.assertIn("a service cannot be called 'a b'", finished.stderr)
        finished = run_ship(folder / "missing.mojo")
        self.assertIn("is no file", finished.stderr)

    def test_a_program_that_does_not_compile_leaves_no_folder(self):
        folder = self.folder()
        (folder / "bad.mojo").write_text("def main():\n    nonsense()\n")
        finished = run_ship(folder / "bad.mojo", "--into", folder / "ship")
        self.assertEqual(finished.returncode, 1)
        self.assertIn("use of unknown declaration", finished.stderr)
        self.assertEqual(list((folder / "ship").iterdir()), [])


class Services(Case):
    def units(self):
        """Gives the folder of units that lead to the shipped program."""
        folder = self.folder()
        for kind in ("service", "socket"):
            text = (self.shipped / f"{NAME}.{kind}").read_text()
            text = text.replace(f"/opt/{NAME}/{NAME}", str(self.shipped / NAME))
            (folder / f"{NAME}.{kind}").write_text(text)
        return folder

    def test_systemd_takes_the_units(self):
        folder = self.units()
        finished = subprocess.run(
            [
                find_program("systemd-analyze"), "verify", "--man=no",
                folder / f"{NAME}.socket", folder / f"{NAME}.service",
            ],
            env={**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=WAIT_SECONDS_MAX,
        )  # fmt: skip
        said = [x for x in finished.stdout.splitlines() if NAME in x]
        self.assertEqual(said, [])
        self.assertEqual(finished.returncode, 0, finished.stdout)

    def test_the_unit_asks_for_what_the_program_does(self):
        unit = (self.shipped / f"{NAME}.service").read_text().splitlines()
        for line in (
            "Type=notify", "WatchdogSec=30", f"Requires={NAME}.socket",
            "LimitNOFILE=524288", "DynamicUser=yes",
        ):
            self.assertIn(line, unit)
        stop = next(x for x in unit if x.startswith("TimeoutStopSec="))
        self.assertGreater(int(stop.partition("=")[2]), 10)

    def test_the_system_calls_of_the_unit_are_enough(self):
        unit = (self.shipped / f"{NAME}.service").read_text()
        wanted = re.search("^SystemCallFilter=(.*)$", unit, re.M)[1].split()
        numbers = dict(
            re.findall(r"^#define __NR_(\w+) (\d+)$", NUMBERS.read_text(), re.M)
        )
        allowed = sorted(
            {int(numbers[x]) for x in system_calls(wanted) if x in numbers}
        )
        self.assertGreater(len(allowed), 200)
        self.assertNotIn(int(numbers["reboot"]), allowed)
        opened = self.listen()
        process = self.run_passed(
            opened, sys.executable, "-c", RESTRICT,
            "allow", ",".join(map(str, allowed)), self.shipped / NAME,
        )  # fmt: skip
        line = self.expect_service(process, opened)
        self.assertRegex(line, ", 2 workers on io_uring$")

    def test_a_socket_of_systemd_starts_the_program(self):
        path = f"{self.folder()}/hello.sock"
        process = subprocess.Popen(
            [
                find_program("systemd-socket-activate"), "-l", path,
                self.shipped / NAME,
            ],
            stderr=subprocess.PIPE,
        )  # fmt: skip
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        while b"Listening on" not in (line := process.stderr.readline()):
            self.assertTrue(line)
        with Client(path) as client:
            client.send(ASK)
            self.assertEqual(client.answer().body, b"hello\n")
        process.terminate()
        self.assertEqual(process.wait(WAIT_SECONDS_MAX), 0)

    def test_a_unit_of_type_notify_hears_of_the_start_and_the_end(self):
        manager = ServiceManager(f"{self.folder()}/notify")
        self.addCleanup(manager.close)
        opened = self.listen()
        process = self.run_passed(
            opened, self.shipped / NAME,
            NOTIFY_SOCKET=manager.name, WATCHDOG_USEC="30000000",
        )  # fmt: skip
        self.assertEqual(manager.take(), (process.pid, "READY=1"))
        self.assertEqual(manager.take(), (process.pid, "WATCHDOG=1"))
        self.expect_service(process, opened)
        text = [x for _, x in manager.left()]
        self.assertEqual([x for x in text if "STOPPING=1" in x], text)
        self.assertEqual(len(text), 1)

    def test_a_restart_refuses_no_client(self):
        opened = self.listen()
        port = opened.getsockname()[1]
        ending = threading.Event()
        answers, problems = [], []

        def ask_again_and_again():
            while not ending.is_set():
                try:
                    with Client(port) as client:
                        client.send(LAST)
                        answers.append(client.answer().body)
                except (OSError, EOFError, AssertionError) as problem:
                    problems.append(repr(problem))
                    return

        process = self.run_passed(opened, self.shipped / NAME)
        threads = [
            threading.Thread(target=ask_again_and_again) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        try:
            for _ in range(3):
                self.await_answers(answers, problems, len(answers) + 50)
                process.terminate()
                self.assertEqual(process.wait(WAIT_SECONDS_MAX), 0)
                process = self.run_passed(opened, self.shipped / NAME)
            self.await_answers(answers, problems, len(answers) + 50)
        finally:
            ending.set()
            for thread in threads:
                thread.join(WAIT_SECONDS_MAX)
        self.assertEqual(problems, [])
        self.assertEqual(set(answers), {b"hello\n"})

    def await_answers(self, answers, problems, count):
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while len(answers) < count and not problems:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.001)


class Containers(Case):
    def test_the_dockerfile_makes_an_image_that_serves(self):
        root = self.folder()
        entry = None
        for word, rest in self.instructions():
            if word == "FROM":
                self.assertEqual(rest, "debian:12-slim")
                make_root(self.shipped, root)
            elif word == "RUN":
                self.assertIn("apt-get install -y --no-install", rest)
                self.assertIn("libstdc++6", rest)
            elif word == "COPY":
                *files, target = shlex.split(rest)
                Path(f"{root}{target}").mkdir(parents=True)
                for name in files:
                    shutil.copy(self.shipped / name, f"{root}{target}")
            elif word == "ENTRYPOINT":
                entry = json.loads(rest)
            else:
                self.assertIn(word, ("USER", "STOPSIGNAL"))
        opened = self.listen()
        process = self.run_passed(opened, *in_root(root, *entry))
        stop = dict(self.instructions())["STOPSIGNAL"]
        self.expect_service(process, opened, getattr(signal, stop))

    def instructions(self):
        text = (self.shipped / "Dockerfile").read_text().replace("\\\n", " ")
        lines = [x for x in text.splitlines() if x and x[0] != "#"]
        return [tuple(x.split(maxsplit=1)) for x in lines]

    def test_a_container_that_forbids_io_uring_gets_epoll(self):
        opened = self.listen()
        process = self.run_passed(
            opened, sys.executable, "-c", RESTRICT,
            "forbid", str(IO_URING_SETUP), self.shipped / NAME,
        )  # fmt: skip
        self.assertRegex(
            self.expect_service(process, opened),
            r", 2 workers on epoll \(io_uring: EPERM\)$",
        )

    def test_a_service_without_locked_memory_gets_epoll(self):
        # Older kernels do not count the memory of a ring.
        backend = r"epoll \(io_uring: \w+\)"
        if not is_a_ring_refused():
            backend = "io_uring"
        opened = self.listen()
        process = self.run_passed(
            opened, "sh", "-c", 'ulimit -l 0 && exec unshare -r "$0"',
            self.shipped / NAME,
        )  # fmt: skip
        self.assertRegex(
            self.expect_service(process, opened), f", 2 workers on {backend}$"
        )

    def test_the_soft_limit_of_descriptors_is_raised_to_the_hard_one(self):
        opened = self.listen()
        process = self.run_passed(
            opened, "sh", "-c", 'ulimit -Sn 64; ulimit -Hn 999; exec "$0"',
            self.shipped / NAME,
        )  # fmt: skip
        with Client(opened.getsockname()[1]) as client:
            client.send(ASK)
            self.assertEqual(client.answer().status, 200)
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        self.assertRegex(limits, r"Max open files +999 +999 ")
        self.expect_service(process, opened)


def system_calls(names):
    """Gives the names of system calls, also of those in groups of systemd."""
    found = set()
    for name in names:
        if name.startswith("@"):
            printed = subprocess.check_output(
                [find_program("systemd-analyze"), "syscall-filter", name],
                text=True,
            )
            # The first line is the name of the group itself.
            lines = [x.strip() for x in printed.splitlines()[1:]]
            found |= system_calls([x for x in lines if x and x[0] != "#"])
        else:
            found.add(name)
    return found


def is_a_ring_refused():
    """Tells whether a process that may lock no memory gets no large ring."""
    program = (
        "import ctypes, sys;"
        f"sys.exit(ctypes.CDLL(None).syscall({IO_URING_SETUP}, 4096,"
        " ctypes.create_string_buffer(120)) < 0)"
    )
    finished = subprocess.run(
        ["sh", "-c", 'ulimit -l 0 && exec unshare -r "$@"', "sh",
         sys.executable, "-c", program],
        timeout=WAIT_SECONDS_MAX,
    )  # fmt: skip
    return finished.returncode == 1


class Proxies(Case):
    def test_nginx_before_the_server_keeps_its_connections(self):
        path = f"{self.folder()}/hello.sock"
        opened = self.listen(path)
        self.run_passed(opened, self.shipped / NAME)
        os.chmod(path, 0o666)
        os.chmod(Path(path).parent, 0o755)
        servers = block("nginx").replace("/run/hello/hello.sock", path)
        self.assertEqual(servers.count("listen 80;"), 1)
        servers = servers.replace("{", "{{").replace("}", "}}")
        nginx = Nginx(
            servers.replace("listen 80;", "listen 127.0.0.1:{port};"), ("port",)
        )
        self.addCleanup(nginx.stop)
        with Client(nginx.ports["port"]) as client:
            for _ in range(5):
                client.send(ASK)
                answer = client.answer()
                self.assertEqual((answer.status, answer.body), (200, b"hello\n"))

    def test_haproxy_names_the_client(self):
        server = Subject("epoll", "--proxies", "127.0.0.1/32")
        self.addCleanup(server.stop)
        opened = self.listen()
        text = block("haproxy")
        for here, there in (
            ("bind :80", f"bind fd@{opened.fileno()}"),
            ("127.0.0.1:8080", f"127.0.0.1:{server.port}"),
        ):
            self.assertEqual(text.count(here), 1)
            text = text.replace(here, there)
        timeouts = "".join(
            f"    timeout {x} 20s\n" for x in ("client", "connect", "server")
        )
        file = self.folder() / "haproxy.cfg"
        file.write_text(f"defaults\n{timeouts}\n{text}")
        proxy = subprocess.Popen(
            [find_program("haproxy"), "-db", "-f", file],
            pass_fds=[opened.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(proxy.wait)
        self.addCleanup(proxy.kill)
        with Client(opened.getsockname()[1]) as client:
            own = client.socket.getsockname()[1]
            for _ in range(2):
                client.send(b"GET /peer HTTP/1.1\r\nHost: a\r\n\r\n")
                self.assertEqual(
                    client.answer().body, f"127.0.0.1:{own}".encode()
                )


def setUpModule():
    build()


if __name__ == "__main__":
    unittest.main()
