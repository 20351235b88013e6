"""Tests that the documents show programs that compile and link to files."""

import re
import tempfile
import unittest
from pathlib import Path

from run_tests import MOJO, ROOT, run

BLOCK = re.compile(r"^```mojo\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# In code, `name[T](argument)` is no link.
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def documents():
    """Lists every document of the tree."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


class DocumentTest(unittest.TestCase):
    def test_programs_compile_as_they_stand(self):
        with tempfile.TemporaryDirectory() as folder:
            package = Path(folder) / "shown"
            package.mkdir()
            (package / "__init__.mojo").write_text('"""Shown."""\n')
            count = 0
            for document in documents():
                text = document.read_text()
                for match in BLOCK.finditer(text):
                    line = text.count("\n", 0, match.start()) + 1
                    name = document.stem.lower().replace("-", "_")
                    module = package / f"{name}_line_{line}.mojo"
                    # A package may not hold a `main`.
                    program = match.group(1).replace("def main(", "def run(")
                    module.write_text(program)
                    count += 1
            command = [MOJO, "precompile", "-I", ROOT, package]
            command += ["-o", Path(folder) / "shown.mojoc"]
            finished = run([str(part) for part in command], 300)
        self.assertGreater(count, 0)
        self.assertEqual(finished.code, 0, finished.output)

    def test_security_names_every_field_that_a_reverse_proxy_drops(self):
        source = (ROOT / "flare" / "http" / "field_guard.mojo").read_text()
        listed = source.partition("FIELDS_DROPPED:")[2].partition("\n]\n")[0]
        names = re.findall(r'^    "(.+)",$', listed, re.MULTILINE)
        self.assertGreater(len(names), 40)
        text = (ROOT / "docs" / "security.md").read_text()
        self.assertEqual([x for x in names if f"`{x}`" not in text], [])

    def test_links_lead_to_files(self):
        for document in documents():
            text = CODE.sub("", document.read_text())
            for target in LINK.findall(text):
                with self.subTest(document=document.name, target=target):
                    self.assertTrue((document.parent / target).exists())
