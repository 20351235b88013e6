"""Runs one Python test file and prints a line per test as Mojo tests do."""

from __future__ import annotations

import importlib.util
import sys
import time
import unittest
from pathlib import Path


class LineResult(unittest.TestResult):
    """Prints one line per test, and the traceback after a failure."""

    _started = time.monotonic()
    _reported = False

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._started = time.monotonic()
        self._reported = False

    def _line(self, outcome: str, test: unittest.TestCase) -> None:
        # What stands for a failing setUpClass is named `setUpClass (a.B)`.
        name = test.id().split(" ")[0].split(".")[-1]
        seconds = time.monotonic() - self._started
        print(f"    {outcome} [ {seconds:.3f} ] {name}", flush=True)
        self._reported = True

    def addSuccess(self, test: unittest.TestCase) -> None:
        if not self._reported:
            self._line("PASS", test)

    def addFailure(self, test, error) -> None:
        super().addFailure(test, error)
        self._line("FAIL", test)
        print(self.failures[-1][1], flush=True)

    def addError(self, test, error) -> None:
        super().addError(test, error)
        self._line("FAIL", test)
        print(self.errors[-1][1], flush=True)

    def addSubTest(self, test, subtest, error) -> None:
        super().addSubTest(test, subtest, error)
        if error is not None:
            if not self._reported:
                self._line("FAIL", test)
            print(subtest, error[1], sep="\n", flush=True)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self._line("SKIP", test)
        print(f"      {reason}", flush=True)


def main() -> int:
    path = Path(sys.argv[1])
    root = Path(__file__).resolve().parent.parent
    sys.path[:0] = [str(root), str(root / "tools")]
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    result = LineResult()
    suite.run(result)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
