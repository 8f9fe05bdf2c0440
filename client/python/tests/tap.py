"""Runs files of tests and prints TAP: tap.py FILE..."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any


class TapResult(unittest.TestResult):
    def _line(self, word: str, test: unittest.TestCase, why: str = "") -> None:
        print(f"{word} {self.testsRun} - {test.id()}", flush=True)
        for line in why.splitlines():
            print("#   " + line, flush=True)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._line("ok", test)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self._line("not ok", test, self.failures[-1][1])

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self._line("not ok", test, self.errors[-1][1])

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._line("not ok", subtest, "".join(why for _, why in (self.failures + self.errors)[-1:]))


def main() -> None:
    loader, suite = unittest.TestLoader(), unittest.TestSuite()
    for name in sys.argv[1:]:
        sys.path.insert(0, str(Path(name).parent))
        suite.addTests(loader.loadTestsFromName(Path(name).stem))
    print(f"1..{suite.countTestCases()}")
    result = TapResult()
    suite.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)


main()
