"""Tests how the benchmark keeps idle cores awake."""

import errno
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from benchmark.driver import wakeful
from benchmark.driver.results import Result
from benchmark.driver.report import markdown
from benchmark.driver.rounds import Sample, Series
from benchmark.driver.wakeful import wakeful_cores
from benchmark.driver.workloads import LATENCY, chosen


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


class Wakeful(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.request = Path(folder.name) / "request"
        self.shallowest = Path(folder.name) / "shallowest"
        self.request.touch()
        self.shallowest.write_text("POLL\n")
        for name in ("request", "shallowest"):
            patch = mock.patch.object(
                wakeful, name.upper(), getattr(self, name)
            )
            patch.start()
            self.addCleanup(patch.stop)
        self.before = descriptors()

    def held(self):
        links = (
            os.readlink(f"/proc/self/fd/{name}")
            for name in descriptors()
            if os.path.exists(f"/proc/self/fd/{name}")
        )
        return str(self.request) in links

    def test_the_request_for_no_wait_is_held_while_the_block_runs(self):
        with wakeful_cores() as are_awake:
            self.assertTrue(are_awake)
            self.assertTrue(self.held())
            self.assertEqual(self.request.read_bytes(), bytes(4))
        self.assertFalse(self.held())
        self.assertEqual(descriptors(), self.before)

    def test_an_exception_passes_and_ends_it(self):
        with self.assertRaises(ZeroDivisionError):
            with wakeful_cores():
                raise ZeroDivisionError
        self.assertFalse(self.held())

    def test_who_does_not_want_it_changes_nothing(self):
        with wakeful_cores(False) as are_awake:
            self.assertFalse(are_awake)
            self.assertFalse(self.held())

    def test_without_privileges_cores_halt(self):
        refused = PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        with mock.patch("os.open", side_effect=refused):
            with wakeful_cores() as are_awake:
                self.assertFalse(are_awake)

    def test_a_refused_request_is_closed(self):
        full = OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        with mock.patch("os.write", side_effect=full):
            with wakeful_cores() as are_awake:
                self.assertFalse(are_awake)
        self.assertEqual(descriptors(), self.before)

    def test_where_no_state_polls_cores_halt(self):
        for change in (lambda: self.shallowest.write_text("WFI\n"),
                       self.shallowest.unlink):
            change()
            with wakeful_cores() as are_awake:
                self.assertFalse(are_awake)

    def test_the_report_says_what_idle_cores_did(self):
        samples = Series([Sample({"p50": 9.0})])
        result = Result(
            chosen(["simple"])[0], series={LATENCY: {"nginx": samples}}
        )
        result.latency_rate = 1000.0
        self.assertIn("that halt when they are idle", markdown([result], {}))
        result.cores_are_awake = True
        self.assertIn("on cores that stay awake", markdown([result], {}))


if __name__ == "__main__":
    unittest.main()
