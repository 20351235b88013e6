"""Tests that halted load generators take turns."""

import json
import os
import sys
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

from benchmark.driver.bystanders import Bystanders
from benchmark.driver.generators import Asking, LoadFailed
from benchmark.driver.slices import HaltedLoad, take_turns
from benchmark.driver.workloads import chosen

# Notes when it ran; prints what the lean client prints when it is interrupted.
GENERATOR = """
import json, signal, sys, time
is_over = False
def end(*_):
    global is_over
    is_over = True
signal.signal(signal.SIGINT, end)
moments = []
while not is_over:
    moments.append(time.monotonic())
    time.sleep(0.001)
with open(sys.argv[1], "w") as file:
    json.dump(moments, file)
print(json.dumps({"requests": len(moments), "seconds": 600, "errors": {},
                  "latency_us": {}}))
"""
PLAINTEXT = chosen(["plaintext_lean"])[0]
SLICE_SECONDS = 0.1


class Slices(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program = GENERATOR
        patch = mock.patch(
            "benchmark.driver.generators.command_of", self.command
        )
        patch.start()
        self.addCleanup(patch.stop)

    def command(self, _, asking):
        moments = self.folder / str(asking.port)
        return ["/usr/bin/env", "-u", "NOTHING", sys.executable, "-c",
                self.program, str(moments)]

    def asking(self, port):
        return Asking(port, (0,), 0.4, self.folder)

    def test_one_asks_at_a_time_and_each_for_its_time(self):
        askings = {"a": self.asking(1), "b": self.asking(2)}
        seen = {name: Bystanders(os.getpid(), set()) for name in askings}
        with ExitStack() as stack:
            loads = take_turns(
                stack, PLAINTEXT, askings, SLICE_SECONDS, seen
            )
            counted = {name: load.end() for name, load in loads.items()}
        moments = []
        for name, port in (("a", 1), ("b", 2)):
            found = json.loads((self.folder / str(port)).read_text())
            self.assertEqual(counted[name].requests, len(found))
            self.assertGreater(len(found), 20)
            moments += [(moment, name) for moment in found]
            self.assertGreater(counted[name].seconds, 0.45)
            self.assertLess(counted[name].seconds, 5)
        names = "".join(name for _, name in sorted(moments))
        runs = [name for i, name in enumerate(names) if names[i - 1] != name]
        # Connecting, four slices, the end: generators that ran at the same
        # time would change places hundreds of times.
        self.assertIn(len(runs), range(4, 10))

    def test_a_generator_that_failed_is_no_load(self):
        self.program = "import sys; sys.exit('cannot connect')"
        with HaltedLoad(PLAINTEXT, self.asking(1)) as load:
            load.process.wait(30)
            with self.assertRaisesRegex(LoadFailed, "cannot connect"):
                load.end()

    def test_a_generator_that_nobody_ended_ends_with_its_block(self):
        with HaltedLoad(PLAINTEXT, self.asking(1)) as load:
            self.assertIsNone(load.process.poll())
        self.assertIsNotNone(load.process.returncode)


if __name__ == "__main__":
    unittest.main()
