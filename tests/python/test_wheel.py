"""Tests that `pip install` makes flare importable without a flag."""

import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

import wheel_backend

ROOT = Path(__file__).resolve().parents[2]
CORE_PROGRAM = """
from flare.core import COLON, find_octet


def main():
    print(find_octet("Host: a".as_bytes(), COLON))
"""
HTTP_PROGRAM = """
from flare.prelude import *


def hello(req: Request) raises -> Response:
    return ok("hello")


def main() raises:
    var router = Router()
    router.get("/", hello)
    print("built")
"""


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = Path(cls.holder.name)

    def test_wheel_holds_the_package_and_records_its_files(self):
        name = wheel_backend.build_wheel(self.folder)
        self.assertRegex(name, r"^mojo_flare-[\d.]+-py3-none-any\.whl$")
        with zipfile.ZipFile(self.folder / name) as archive:
            names = archive.namelist()
            record = archive.read(names[-1]).decode()
            self.assertIsNone(archive.testzip())
        self.assertEqual(names[0], "modular/lib/mojo/flare.mojoc")
        self.assertEqual(
            [line.split(",")[0] for line in record.splitlines()], names
        )

    def test_source_archive_builds_the_wheel(self):
        name = wheel_backend.build_sdist(self.folder)
        with tarfile.open(self.folder / name) as archive:
            archive.extractall(self.folder)
        tree = self.folder / name.removesuffix(".tar.gz")
        program = "import wheel_backend; print(wheel_backend.build_wheel('.'))"
        printed = self.run_program(
            [sys.executable, "-c", program],
            folder=tree,
            PYTHONPATH=str(tree / "tools"),
        )
        self.assertTrue((tree / printed.split()[-1]).exists())

    def test_wheel_wants_the_pinned_compiler(self):
        pins = (ROOT / "tools/requirements.txt").read_text().splitlines()
        compiler = [pin for pin in pins if pin.startswith("mojo==")]
        self.assertEqual(wheel_backend.project()["dependencies"], compiler)
        build = (ROOT / "pyproject.toml").read_text().splitlines()[1]
        self.assertIn(compiler[0].replace("mojo", "mojo-compiler"), build)

    def test_installed_library_is_imported_without_a_flag(self):
        venv = self.folder / "venv"
        self.run_program([sys.executable, "-m", "venv", str(venv)])
        self.run_program(
            [f"{venv}/bin/python3", "-m", "pip", "install", "-q", str(ROOT)]
        )
        programs = [(CORE_PROGRAM, "4\n")]
        if (ROOT / "flare/prelude.mojo").exists():
            programs.append((HTTP_PROGRAM, "built\n"))
        for program, expected in programs:
            with self.subTest(program=program):
                (self.folder / "program.mojo").write_text(program)
                self.run_program([f"{venv}/bin/mojo", "build", "program.mojo"])
                printed = self.run_program([f"{self.folder}/program"])
                self.assertEqual(printed, expected)
        self.ship_with_the_installed_command(venv)

    def ship_with_the_installed_command(self, venv):
        (self.folder / "shipped.mojo").write_text(CORE_PROGRAM)
        printed = self.run_program([f"{venv}/bin/flare-ship", "shipped.mojo"])
        self.assertEqual(printed, "ship/shipped\n")
        shipped = self.folder / "elsewhere"
        (self.folder / printed.strip()).rename(shipped)
        self.assertEqual(self.run_program([f"{shipped}/shipped"]), "4\n")
        self.assertEqual(
            (shipped / "licences" / "flare.txt").read_text(),
            (ROOT / "LICENSE").read_text(),
        )

    def run_program(self, command, folder=None, **variables):
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("PYTHON")
        }
        finished = subprocess.run(
            command,
            cwd=folder or self.folder,
            env={**environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
        )
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished.stdout
