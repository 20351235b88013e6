"""Tests code for processors other than this machine's.

Nothing here runs the code for aarch64: the object is built for it, and its
header and symbols are read. What vectors of another length do is run where they
are no longer than this machine's.
"""

import os
import platform
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOJO = Path(os.environ.get("MOJO", ROOT / ".venv/bin/mojo"))
PROGRAM = """
from flare.core import PointerTo, heap_create
from flare.sys.fiber_switch import (
    StackContext,
    arrive_on_stack,
    emit_switch,
    prepare_stack,
    resume_stack,
    suspend_stack,
)
from flare.sys.signal import SIGTERM, catch_signal, set_signal_descriptor
from flare.sys.thread_cell import thread_word


def _entry(argument: Int) abi("C"):
    var context = PointerTo[StackContext](unsafe_from_address=argument)
    arrive_on_stack(context)
    suspend_stack(context)


def main():
    emit_switch()
    var context = heap_create(StackContext(1 << 20, 1 << 16, 4096))
    prepare_stack(context, _entry)
    resume_stack(context)
    thread_word()[] = 1
    _ = set_signal_descriptor(2)
    print(catch_signal(SIGTERM)[0], thread_word()[])
"""
SCANS = """
from std.testing import TestSuite
import tests.proto.test_h1_field_stops as field_stops


def main() raises:
    TestSuite.discover_tests[field_stops.TESTS]().run()
"""
MACHINE_AARCH64 = 183
SECTION_SYMBOLS = 2
TYPE_FUNCTION = 2
TYPE_THREAD_LOCAL = 6


def symbols(image: bytes) -> dict[str, tuple[int, int, int]]:
    """Lists type, section and size of each symbol of an ELF64 object."""
    table, = struct.unpack_from("<Q", image, 0x28)
    entry_size, count = struct.unpack_from("<HH", image, 0x3A)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", image, table + i * entry_size)
        for i in range(count)
    ]
    found = {}
    for section in sections:
        if section[1] != SECTION_SYMBOLS:
            continue
        names = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], 24):
            name, info, _, index, _, size = struct.unpack_from(
                "<IBBHQQ", image, at
            )
            end = image.index(b"\0", names + name)
            found[image[names + name : end].decode()] = (
                info & 15,
                index,
                size,
            )
    return found


class CrossTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        source = Path(holder.name, "program.mojo")
        target = Path(holder.name, "program.o")
        source.write_text(PROGRAM)
        done = subprocess.run(
            [
                MOJO, "build", "-I", ROOT, "--emit", "object",
                "--target-triple", "aarch64-unknown-linux-gnu",
                "--target-cpu", "generic", "-o", target, source,
            ],
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.image = target.read_bytes()
        cls.symbols = symbols(cls.image)

    def test_the_object_is_for_aarch64(self):
        self.assertEqual(self.image[:5], b"\x7fELF\x02")
        machine, = struct.unpack_from("<H", self.image, 0x12)
        self.assertEqual(machine, MACHINE_AARCH64)

    def test_the_switch_is_defined_and_has_all_its_instructions(self):
        kind, section, size = self.symbols["flare_fiber_switch"]
        self.assertEqual(kind, TYPE_FUNCTION)
        self.assertNotEqual(section, 0, "undefined")
        # 2 adjustments of the stack pointer, 20 pairs, 3 moves of the pointer,
        # the argument and the return: 4 octets each.
        self.assertEqual(size, (2 + 20 + 3 + 2) * 4)

    def test_the_word_of_each_thread_is_thread_local(self):
        kind, section, size = self.symbols["flare_thread_cell"]
        self.assertEqual(kind, TYPE_THREAD_LOCAL)
        self.assertNotEqual(section, 0, "undefined")
        self.assertGreaterEqual(size, 16)

    def test_the_cell_of_the_signal_handler_is_defined(self):
        _, section, size = self.symbols["flare_signal_pipe"]
        self.assertNotEqual(section, 0, "undefined")
        self.assertEqual(size, 8)


@unittest.skipUnless(platform.machine() == "x86_64", "runs code for x86-64")
class VectorTest(unittest.TestCase):
    def test_scans_find_the_same_with_shorter_vectors(self):
        processors = ["x86-64-v2"]
        if "avx512bw" in Path("/proc/cpuinfo").read_text():
            processors.append("x86-64-v3")
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "program.mojo")
            source.write_text(SCANS)
            for processor in processors:
                with self.subTest(processor=processor):
                    program = Path(folder, processor)
                    subprocess.run(
                        [MOJO, "build", "-I", ROOT, "--target-cpu", processor,
                         "-o", program, source],
                        check=True, timeout=300, capture_output=True,
                    )
                    # Its lines would count as tests of this file.
                    done = subprocess.run(
                        [program], capture_output=True, text=True, timeout=60
                    )
                    self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
