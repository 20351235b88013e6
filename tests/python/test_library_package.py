"""Tests that a package of the library is used while it is what lies there."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from library_package import compiler, digest, include_options, precompile

ROOT = Path(__file__).resolve().parents[2]
MOJO = Path(os.environ.get("MOJO", ROOT / ".venv/bin/mojo"))
PROGRAM = "from flare import word\n\n\ndef main():\n    print(word())\n"
LIBRARY = '"""Is a library."""\n\n\ndef word() -> String:\n    return "{}"\n'


class LibraryPackage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "flare").mkdir()
        (self.root / "examples").mkdir()
        self.write("first")
        (self.root / "examples/program.mojo").write_text(PROGRAM)

    def write(self, word):
        source = self.root / "flare/__init__.mojo"
        source.write_text(LIBRARY.format(word))

    def said(self):
        program = self.root / "program"
        subprocess.run(
            [MOJO, "build", *include_options(self.root), "-o", program,
             self.root / "examples/program.mojo"],
            check=True, timeout=300, capture_output=True,
        )
        return subprocess.run(
            [program], check=True, timeout=60, capture_output=True, text=True
        ).stdout.strip()

    def test_what_lies_there_is_what_programs_get(self):
        self.assertEqual(include_options(self.root), ["-I", str(self.root)])
        self.assertEqual(precompile(self.root, compiler(MOJO)), "")
        package = str(self.root / "build/package")
        self.assertIn(package, include_options(self.root))
        self.assertEqual(self.said(), "first")
        self.write("second")
        self.assertNotIn(package, include_options(self.root))
        self.assertEqual(self.said(), "second")
        self.assertEqual(precompile(self.root, compiler(MOJO)), "")
        self.assertIn(package, include_options(self.root))
        self.assertEqual(self.said(), "second")

    def test_the_package_comes_first(self):
        precompile(self.root, compiler(MOJO))
        stamp = self.root / "build/package/stamp"
        self.write("second")
        # A stamp that lies shows that the package is what is imported.
        stamp.write_text(digest(self.root))
        self.assertEqual(self.said(), "first")

    def test_what_does_not_compile_is_told(self):
        precompile(self.root, compiler(MOJO))
        (self.root / "flare/__init__.mojo").write_text("def word(\n")
        self.assertIn("error", precompile(self.root, compiler(MOJO)))
        self.assertEqual(include_options(self.root), ["-I", str(self.root)])


if __name__ == "__main__":
    unittest.main()
