"""Tests that a claim passes, fails or is withheld as its ratios say."""

import unittest

from benchmark.driver.claims import (
    FAIL,
    NOT_MEASURED,
    PASS,
    TOO_FEW,
    UNSTABLE,
    judge,
    judge_figure,
    ratios_of,
    spread_of,
)


class Claims(unittest.TestCase):
    def test_a_median_at_the_bound_passes(self):
        self.assertEqual(judge([1.10] * 11, 1.10).outcome, PASS)

    def test_a_median_just_over_the_bound_fails(self):
        self.assertEqual(judge([1.1001] * 11, 1.10).outcome, FAIL)

    def test_ahead_means_less_not_equal(self):
        self.assertEqual(judge([1.0] * 11, 1.0, True).outcome, FAIL)
        self.assertEqual(judge([0.999] * 11, 1.0, True).outcome, PASS)

    def test_nine_of_eleven_suffice_and_eight_do_not(self):
        verdict = judge([1.05] * 9 + [1.12] * 2, 1.10)
        self.assertEqual((verdict.outcome, verdict.agreeing), (PASS, 9))
        verdict = judge([1.05] * 8 + [1.12] * 3, 1.10)
        self.assertEqual((verdict.outcome, verdict.agreeing), (FAIL, 8))

    def test_more_rounds_need_the_same_share(self):
        # 18 of 22 are 9 of 11.
        self.assertEqual(judge([1.05] * 18 + [1.12] * 4, 1.1).outcome, PASS)
        self.assertEqual(judge([1.05] * 17 + [1.12] * 5, 1.1).outcome, FAIL)

    def test_ten_pairs_are_too_few_for_anything(self):
        self.assertEqual(judge([0.5] * 10, 1.0).outcome, TOO_FEW)
        self.assertEqual(judge([0.5] * 11, 1.0).outcome, PASS)

    def test_no_pair_is_no_measurement(self):
        verdict = judge([], 1.0)
        self.assertEqual((verdict.outcome, verdict.ratio), (NOT_MEASURED, None))

    def test_a_middle_half_wider_than_a_tenth_claims_nothing(self):
        narrow = [0.951] * 4 + [1.0] * 3 + [1.049] * 4
        self.assertEqual(judge(narrow, 1.10).outcome, PASS)
        wide = [0.949] * 4 + [1.0] * 3 + [1.051] * 4
        self.assertEqual(judge(wide, 1.10).outcome, UNSTABLE)
        # Nor does it lose anything.
        self.assertEqual(judge(wide, 0.5).outcome, UNSTABLE)

    def test_a_single_figure_is_judged_at_its_bound(self):
        self.assertEqual(judge_figure(1536.0, 1536.0).outcome, PASS)
        self.assertEqual(judge_figure(1536.1, 1536.0).outcome, FAIL)
        self.assertEqual(judge_figure(None, 1536.0).outcome, NOT_MEASURED)


class Pairs(unittest.TestCase):
    def test_ratios_pair_the_rounds_that_both_have(self):
        ratios = ratios_of([2.0, None, 3.0, 4.0], [1.0, 1.0, None, 8.0])
        self.assertEqual(ratios, [2.0, 0.5])

    def test_a_figure_of_zero_pairs_nothing(self):
        self.assertEqual(ratios_of([1.0], [0.0]), [])

    def test_a_spread_has_the_quartiles_of_its_figures(self):
        spread = spread_of([5.0, 1.0, 4.0, 2.0, 3.0])
        self.assertEqual(
            (spread.low, spread.median, spread.high, spread.count),
            (2.0, 3.0, 4.0, 5),
        )
        self.assertAlmostEqual(spread.share, 2 / 3)

    def test_one_figure_has_no_spread(self):
        self.assertEqual(spread_of([7.0]).share, 0.0)


if __name__ == "__main__":
    unittest.main()
