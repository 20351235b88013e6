"""Tests that `pip install` makes flare importable without a flag, and brings the
driver library, which programs call."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

import wheel_backend
from quick import make_driver
from ship import Elf

ROOT = Path(__file__).resolve().parents[2]
SERVER_PROGRAM = """
from flare.prelude import *


def hello(req: Request) raises -> Response:
    return ok(String("hello ", req.param("name")))


def main() raises:
    var router = Router()
    router.get("/hello/:name", hello)
    var server = HttpServer.bind(SocketAddr.localhost(0))
    print(server.local_address().port, flush=True)
    server.serve(router^, num_workers=2)
"""
CLIENT_PROGRAM = """
from std.sys import argv

from flare.prelude import *


def main() raises:
    print(get(String("http://127.0.0.1:", argv()[1], "/hello/you")).text())
    try:
        _ = get("http://127.0.0.1:1/")
    except e:
        print(ClientError.of(e).value().kind == ClientError.REFUSED)
"""
SAID = "hello you\nTrue\n"
ROUTER_PROGRAM = """
from flare.prelude import *


def main():
    _ = Router()
"""
FIBER_PROGRAM = """
from flare.runtime import sleep, spawn


def main() raises:
    def late() raises {} -> Int:
        sleep(1)
        return 7

    var task = spawn(late)
    print(task^.join())
"""
CALLS_PROGRAM = """
from flare.sys.driver import CALLS_DRIVER


def main():
    print(CALLS_DRIVER)
"""
DRIVER = re.compile(rb"libflare_driver_([0-9a-f]{24})\.so")


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = Path(cls.holder.name)
        cls.wheel = cls.build_from_source_archive()
        cls.bin = cls.folder / "venv" / "bin"
        cls.run_program([sys.executable, "-m", "venv", str(cls.bin.parent)])
        cls.run_program(
            [f"{cls.bin}/python3", "-m", "pip", "install", "-q", str(cls.wheel)]
        )
        for name, text in (
            ("calls", CALLS_PROGRAM),
            ("client", CLIENT_PROGRAM),
            ("fiber", FIBER_PROGRAM),
            ("router", ROUTER_PROGRAM),
            ("server", SERVER_PROGRAM),
        ):
            (cls.folder / f"{name}.mojo").write_text(text)

    @classmethod
    def build_from_source_archive(cls):
        """Builds the wheel as an installer does; gives its path."""
        name = wheel_backend.build_sdist(cls.folder)
        with tarfile.open(cls.folder / name) as archive:
            archive.extractall(cls.folder)
        tree = cls.folder / name.removesuffix(".tar.gz")
        # The packages and the library of these sources have been made by then.
        cls.made = [x.name for x in make_driver().glob("libflare_driver_*.so")]
        for folder in ("quick", "package"):
            shutil.copytree(ROOT / "build" / folder, tree / "build" / folder)
        program = "import wheel_backend; print(wheel_backend.build_wheel('.'))"
        printed = cls.run_program(
            [sys.executable, "-c", program],
            folder=tree,
            PYTHONPATH=str(tree / "tools"),
        )
        return tree / printed.split()[-1]

    def test_wheel_holds_the_library_and_records_its_files(self):
        self.assertRegex(
            self.wheel.name,
            r"^mojo_flare-[\d.]+-py3-none-manylinux_2_35_x86_64\.whl$",
        )
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
            record = archive.read(names[-1]).decode()
            self.assertIsNone(archive.testzip())
        self.assertEqual(names[0], "modular/lib/mojo/flare.mojoc")
        self.assertRegex(names[1], rf"^modular/lib/{DRIVER.pattern.decode()}$")
        self.assertIn(Path(names[1]).name, self.made)
        self.assertEqual(
            [line.split(",")[0] for line in record.splitlines()], names
        )

    def test_wheel_wants_the_pinned_compiler(self):
        pins = (ROOT / "tools/requirements.txt").read_text().splitlines()
        compiler = [pin for pin in pins if pin.startswith("mojo==")]
        self.assertEqual(wheel_backend.project()["dependencies"], compiler)
        build = (ROOT / "pyproject.toml").read_text().splitlines()[1]
        self.assertIn(compiler[0].replace("mojo", "mojo-compiler"), build)

    def test_programs_need_no_option_and_call_the_library(self):
        # The library was built for an older processor than this one.
        port = self.serve(self.build("server"))
        client = self.build("client")
        self.assertEqual(self.run_program([client, port]), SAID)
        for program in ("server", "client"):
            octets = (self.folder / program).read_bytes()
            self.assertRegex(octets, DRIVER)
        self.ship_with_the_installed_command(port)

    def test_programs_that_run_without_a_linker_call_the_library(self):
        mojo = [f"{self.bin}/mojo", "run"]
        port = self.serve(*mojo, "server.mojo")
        said = self.run_program([*mojo, "client.mojo", port])
        self.assertEqual(said, SAID)
        self.server.terminate()
        self.assertEqual(self.server.wait(10), 0)

    def test_programs_without_optimisation_call_the_library(self):
        # The calling convention is that of the library.
        port = self.serve(self.build("server", "-O0"))
        said = self.run_program([self.build("client", "-g"), port])
        self.assertEqual(said, SAID)

    def refusal(self, *command):
        """Runs a program that must fail; gives its status and its words."""
        finished = subprocess.run(
            command, capture_output=True, text=True, timeout=60
        )
        self.assertNotEqual(finished.returncode, 0)
        return finished.returncode, finished.stdout + finished.stderr

    def test_a_library_that_is_missing_is_told(self):
        client = self.build("client", "-D", "FLARE_DRIVER=0")
        told = "libflare_driver_0.so is not among the program's libraries"
        self.assertIn(
            f"client.no_driver prepare: {told}", self.refusal(client, "1")[1]
        )
        # A router cannot raise.
        router = self.build("router", "-D", "FLARE_DRIVER=0")
        status, said = self.refusal(router)
        self.assertEqual(status, 127)
        self.assertIn(f"flare: {told}", said)

    def test_a_sanitizer_needs_a_whole_program(self):
        # Its own dlopen does not look where the program's libraries lie.
        client = self.build("client", "--sanitize", "address")
        self.assertIn("flare-whole instead of mojo", self.refusal(client, "1")[1])
        program = str(self.folder / "fiber")
        self.run_program(
            [f"{self.bin}/flare-whole", "build", "--sanitize", "address",
             "-D", "ASAN", "-o", program, "fiber.mojo"]
        )  # fmt: skip
        said = self.run_program(
            [program], ASAN_OPTIONS="detect_container_overflow=0"
        )
        self.assertEqual(said, "7\n")

    def test_all_assertions_need_a_whole_program(self):
        # It uses no table of the library.
        with self.assertRaises(AssertionError) as caught:
            self.build("fiber", "-D", "ASSERT=all")
        self.assertIn(
            "no checks for -D ASSERT=all: run flare-whole", str(caught.exception)
        )

    def test_a_program_is_built_whole_if_asked_for(self):
        program = str(self.folder / "calls")
        for command, options, said in (
            ("flare-whole", [], "False\n"),
            ("flare-whole", ["-D", "ASSERT=all"], "False\n"),
            ("mojo", ["-D", "ASSERT=none"], "True\n"),
        ):
            with self.subTest(command=command, options=options):
                self.run_program(
                    [f"{self.bin}/{command}", "build", *options,
                     "-o", program, "calls.mojo"]
                )  # fmt: skip
                self.assertEqual(self.run_program([program]), said)

    def test_the_package_that_calls_has_no_other_code(self):
        with self.assertRaises(AssertionError) as caught:
            self.build("client", "-D", "FLARE_DRIVER=whole")
        self.assertIn("run flare-whole instead of mojo", str(caught.exception))

    def ship_with_the_installed_command(self, port):
        printed = self.run_program([f"{self.bin}/flare-ship", "client.mojo"])
        self.assertEqual(printed, "ship/client\n")
        shipped = self.folder / "elsewhere"
        (self.folder / printed.strip()).rename(shipped)
        # Only the folder has the library: the program looks nowhere else.
        self.assertNotIn(b"site-packages", (shipped / "client").read_bytes())
        self.assertEqual(
            self.run_program([f"{shipped}/client", port], folder="/"), SAID
        )
        self.assertEqual(
            (shipped / "licences" / "flare.txt").read_text(),
            (ROOT / "LICENSE").read_text(),
        )
        library = next(shipped.glob("libflare_driver_*.so"))
        self.assertEqual(Elf(library).search_path(), ["$ORIGIN"])
        readme = (shipped / "README.txt").read_text()
        for name in ("TLS", "gzip and deflate", "Brotli", "Zstandard"):
            self.assertIn(f"\n{name}: ", readme)

    def build(self, name, *options):
        """Builds a program with the installed compiler; gives its path."""
        program = str(self.folder / name)
        self.run_program(
            [f"{self.bin}/mojo", "build", *options, "-o", program,
             f"{name}.mojo"]
        )  # fmt: skip
        return program

    def serve(self, *command):
        """Starts `self.server`; gives its port."""
        process = self.server = subprocess.Popen(
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process.stdout.readline().strip()

    @classmethod
    def run_program(cls, command, folder=None, **variables):
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("PYTHON")
        }
        finished = subprocess.run(
            command,
            cwd=folder or cls.folder,
            env={**environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
        )
        if finished.returncode != 0:
            raise AssertionError(finished.stdout + finished.stderr)
        return finished.stdout


if __name__ == "__main__":
    unittest.main()
