"""Tests that tools/planted_rules.py tells a rule with a test from one without."""

import dataclasses
import unittest

from planted import parse_fault
from planted_rules import FOLDER, problems, try_fault

SIBLINGS = FOLDER / "files" / "20_first_coding_wins.fault"


class PlantedRulesTest(unittest.TestCase):
    def test_each_class_of_mistakes_with_files_has_a_rule(self):
        numbers = {path.name[:2] for path in FOLDER.glob("files/*.fault")}
        self.assertEqual(numbers, {f"{i:02}" for i in range(1, 21)})

    def test_each_rule_fits_its_source_and_names_a_test(self):
        self.assertEqual(problems(sorted(FOLDER.glob("*/*.fault"))), [])

    def test_a_rule_with_a_test_is_found(self):
        self.assertEqual(
            try_fault(parse_fault(SIBLINGS)),
            (True, "test_the_sibling_of_the_greatest_weight_is_chosen"),
        )

    def test_a_rule_without_a_test_is_missed(self):
        fault = parse_fault(SIBLINGS)
        harmless = dataclasses.replace(fault, new=fault.old + "  # the best")
        is_found, what = try_fault(harmless)
        self.assertFalse(is_found)
        self.assertIn("passes", what)

    def test_a_fault_that_does_not_compile_is_none(self):
        fault = parse_fault(SIBLINGS)
        is_found, what = try_fault(dataclasses.replace(fault, new="(" + fault.new))
        self.assertFalse(is_found)
        self.assertIn("does not compile", what)

    def test_a_test_that_is_not_there_finds_nothing(self):
        fault = parse_fault(SIBLINGS)
        gone = dataclasses.replace(fault, test="tests/files/test_siblings.mojo:test_x")
        self.assertEqual(
            try_fault(gone)[1],
            "there is no test tests/files/test_siblings.mojo:test_x",
        )


if __name__ == "__main__":
    unittest.main()
