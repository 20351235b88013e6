"""Tests how tools/planted.py reads and plants faults, and plants some."""

import sys
import tempfile
import unittest
from pathlib import Path

from planted import (
    FaultError,
    few_faults,
    group,
    parse_fault,
    plant,
    sample_of,
    sources_of,
    unplantable,
)
from run_tests import ROOT, run

FAULT = """file flare/net/a.mojo
why the bound is one too high
<<<<<<<
    if n > 255:
        raise
=======
    if n > 256:
        raise
>>>>>>>
"""


class PlantedTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = Path(holder.name) / "root"
        self.copy = Path(holder.name) / "copy"
        self.copy.mkdir()
        self.write("flare/net/a.mojo", "def f():\n    if n > 255:\n        raise\n")
        self.write("flare/net/b.mojo", "b")
        self.write("flare/core/c.mojo", "c")
        self.write("fuzz/planted/a/x.fault", FAULT)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def fault(self, text=FAULT):
        self.write("fuzz/planted/a/x.fault", text)
        return parse_fault(self.root / "fuzz/planted/a/x.fault")

    def test_fault_names_its_harness_and_its_texts(self):
        fault = self.fault()
        self.assertEqual(fault.harness, "fuzz_a")
        self.assertEqual(fault.file, "flare/net/a.mojo")
        self.assertEqual(fault.why, "the bound is one too high")
        self.assertEqual(fault.old, "    if n > 255:\n        raise")
        self.assertEqual(fault.new, "    if n > 256:\n        raise")

    def test_new_text_may_be_empty(self):
        text = FAULT.replace("    if n > 256:\n        raise\n", "")
        self.assertEqual(self.fault(text).new, "")

    def test_other_forms_are_refused(self):
        for text in ("", FAULT.replace("why", "because"), FAULT + "more\n"):
            with self.assertRaises(FaultError):
                self.fault(text)

    def test_planting_changes_the_copy_and_not_the_tree(self):
        plant([self.fault()], self.root, self.copy)
        planted = (self.copy / "flare/net/a.mojo").read_text()
        self.assertEqual(planted, "def f():\n    if n > 256:\n        raise\n")
        self.assertIn("> 255", (self.root / "flare/net/a.mojo").read_text())
        self.assertEqual((self.copy / "flare/net/b.mojo").read_text(), "b")
        self.assertEqual((self.copy / "flare/core/c.mojo").read_text(), "c")

    def test_several_faults_lie_in_one_copy(self):
        self.write("flare/net/b.mojo", "def g():\n    if n > 255:\n        raise\n")
        other = self.fault(FAULT.replace("net/a", "net/b"))
        plant([self.fault(), other], self.root, self.copy)
        for name in ("a", "b"):
            planted = (self.copy / f"flare/net/{name}.mojo").read_text()
            self.assertIn("> 256", planted)
        self.assertEqual((self.copy / "flare/core/c.mojo").read_text(), "c")

    def test_faults_lie_together_where_no_harness_imports_that_of_another(self):
        self.write("flare/net/__init__.mojo", "from .a import f, g\n")
        self.write("fuzz/fuzz_a.mojo", "from flare.net import f\n")
        self.write("fuzz/fuzz_b.mojo", "from fuzz.model import M\n")
        self.write("fuzz/fuzz_c.mojo", "from flare.core.c import h\n")
        self.write("fuzz/fuzz_d.mojo", '@export("f")\ndef f(): ...\n')
        self.write("fuzz/model.mojo", "from flare.net.b import g\n")
        self.write("flare/net/b.mojo", "from .a import f\n")
        faults = [
            parse_fault(self.path_of("a", "flare/net/a.mojo")),
            parse_fault(self.path_of("b", "flare/net/b.mojo")),
            parse_fault(self.path_of("c", "flare/core/c.mojo")),
            parse_fault(self.path_of("a", "flare/net/a.mojo", "y")),
            parse_fault(self.path_of("d", "flare/core/d.mojo")),
        ]
        groups = group(faults, sources_of(self.root), self.root)
        names = [[fault.path.parent.name for fault in one] for one in groups]
        # The harness of b imports the fault of a, though by a second module.
        # That of d must be built alone.
        self.assertEqual(names, [["b", "c"], ["a"], ["a"], ["d"]])

    def path_of(self, harness, file, name="x"):
        path = f"fuzz/planted/{harness}/{name}.fault"
        self.write(path, FAULT.replace("flare/net/a.mojo", file))
        return self.root / path

    def test_old_text_must_occur_exactly_once(self):
        rows = ["nothing", "    if n > 255:\n        raise\n" * 2]
        for row in rows:
            self.write("flare/net/a.mojo", row)
            with self.assertRaisesRegex(FaultError, "occurs [02] times"):
                plant([self.fault()], self.root, self.copy)

    def test_faults_that_no_longer_fit_are_listed(self):
        path = self.root / "fuzz/planted/a/x.fault"
        self.assertEqual(unplantable([path], self.root), [])
        self.write("flare/net/a.mojo", "other")
        listed = unplantable([path], self.root)
        self.assertEqual(len(listed), 1)
        self.assertIn("fuzz/planted/a/x.fault", listed[0])

    def test_a_sample_has_a_fault_of_one_harness_and_changes(self):
        for harness in "bcdefgh":
            self.write(f"fuzz/planted/{harness}/x.fault", FAULT)
        for name in ("y", "z"):
            self.write(f"fuzz/planted/a/{name}.fault", FAULT)
        paths = sorted((self.root / "fuzz/planted").glob("*/*.fault"))
        chosen = set()
        for i in range(200):
            self.write("flare/net/a.mojo", f"version {i}")
            sample = sample_of(paths, self.root)
            self.assertEqual(sample, sample_of(paths, self.root))
            folders = "".join(path.parent.name for path in sample)
            self.assertIn(folders, tuple("abcdefgh"))
            chosen.update(sample)
        self.assertEqual(chosen, set(paths))

    def test_harness_needs_three_faults(self):
        self.write("fuzz/fuzz_a.mojo", "")
        for name in ("y", "z"):
            self.assertEqual(len(few_faults(self.root)), 1)
            self.write(f"fuzz/planted/a/{name}.fault", FAULT)
        self.assertEqual(few_faults(self.root), [])

    def test_faults_need_a_harness(self):
        problems = few_faults(self.root)
        self.assertEqual(problems, ["fuzz/planted/a: it has no harness"])


class TreeTest(unittest.TestCase):
    def test_every_fault_can_be_planted(self):
        paths = sorted((ROOT / "fuzz/planted").glob("*/*.fault"))
        self.assertEqual(few_faults(ROOT), [])
        self.assertEqual(unplantable(paths, ROOT), [])

    def test_a_sample_of_the_harnesses_finds_its_faults(self):
        tool = str(ROOT / "tools/planted.py")
        finished = run([sys.executable, tool, "--sample"], 800)
        self.assertEqual(finished.code, 0, finished.output)
