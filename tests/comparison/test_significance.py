"""p-values against published ones, scipy's permutation test, and signs drawn in a loop; Holm against statsmodels."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, norm, permutation_test, ttest_1samp

from salience.comparison.paired_difference import adjusted, paired_difference
from salience.comparison.significance import holm, sign_flip_p

# Of the 2^15 signs of Darwin's 15 pairs, 863 have a sum of 314 or more: R. A. Fisher (1935), The Design of
# Experiments, section 21.
DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48.0]
# The p-values of Benjamini and Hochberg (1995), section 4.1, and what statsmodels 0.15.0 makes of them:
# statsmodels.stats.multitest.multipletests(P_VALUES, method="holm")
P_VALUES = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0
]  # fmt: skip
HOLM = [0.0015, 0.0056, 0.0247, 0.1140, 0.2211, 0.2780, 0.2780, 0.2780, 0.3213] + 6 * [1.0]


def test_darwins_maize():
    assert sign_flip_p([DARWIN]) == 2 * 863 / 2**15


def test_the_exact_p_value_is_scipys():
    values = np.random.default_rng(0).normal(0.4, 1, 9)
    theirs = permutation_test((values,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip_p([values]) == pytest.approx(theirs.pvalue)


def test_the_drawn_p_value_is_near_scipys_and_near_the_t_tests():
    values = np.random.default_rng(0).normal(0.4, 1, 30)
    theirs = permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=99_999, random_state=np.random.default_rng(1)
    )
    assert sign_flip_p([values]) == pytest.approx(theirs.pvalue, abs=0.01)
    assert sign_flip_p([values]) == pytest.approx(ttest_1samp(values, 0).pvalue, abs=0.015)


def test_a_drawn_p_value_is_never_zero():
    assert sign_flip_p([np.full(40, 2.0)], count=999) == 1 / 1000
    assert sign_flip_p([np.full(5, 2.0)]) == 2 / 2**5  # all tried: the least one of 5 pairs
    assert sign_flip_p([np.full(16, 2.0)]) == 2 / 2**16 and sign_flip_p([np.full(17, 2.0)]) == 1 / 10_000


@pytest.mark.parametrize("over_sets", [True, False])
def test_pairs_by_all_signs(over_sets):
    """Sets with 2 and 3 draws: the mean over sets, with the sign of each draw or of each set."""
    sets = [np.array([[1.0, 2.0], [0.5, 0.0]]), np.array([[0.0, 3.0], [1.0, 1.0], [-2.0, 1.0]])]

    def mean(signs) -> float:
        signs = np.array(signs if not over_sets else [signs[0]] * 2 + [signs[1]] * 3)
        return np.mean([(signs[:2] @ sets[0]).mean() / 2, (signs[2:] @ sets[1]).mean() / 3])

    number = 2 if over_sets else 5
    means = np.array([mean(signs) for signs in product([1, -1], repeat=number)])
    assert sign_flip_p(sets, over_sets, over_rows=False) == np.mean(np.abs(means) >= abs(means[0]) - 1e-12)


def test_the_rows_part_by_drawing_it():
    """Signs of 6 draws in a loop, with a normal error of the standard error of 500 rows added."""
    generator = np.random.default_rng(0)
    rows = generator.normal(0, 20, 500)
    values = 1.5 + generator.normal(0, 1, (6, 1)) + (rows - rows.mean())  # nothing but draws and rows
    means, error = values.mean(1), rows.std(ddof=1) / 500**0.5
    drawn = generator.choice([-1, 1], (100_000, 6)) @ means / 6 + generator.normal(0, error, 100_000)
    expected = np.mean(np.abs(drawn) >= abs(means.mean()))
    assert sign_flip_p([values]) == pytest.approx(expected, abs=0.006)
    assert sign_flip_p([values], over_rows=False) < expected / 2


def test_a_claim_on_other_rows_is_never_surer():
    """Five draws have 1/16 at least; an error of the rows added to them would give 1/32."""
    values = 5 + np.random.default_rng(0).normal(0, 1, (5, 300))
    assert sign_flip_p([values]) == sign_flip_p([values], over_rows=False) == 1 / 16


def test_draws_that_are_all_alike():
    """The mean of 8 flipped draws has k of 8 signs alike, and the rows' normal error."""
    rows = np.random.default_rng(0).normal(0.1, 1, 900)
    mean, error, alike = abs(rows.mean()), rows.std(ddof=1) / 30, np.arange(9)
    flipped = mean * (2 * alike / 8 - 1)
    outside = norm.sf((mean - flipped) / error) + norm.cdf((-mean - flipped) / error)
    expected = (binom.pmf(alike, 8, 0.5) * outside).sum()
    assert expected > 2 / 2**8
    assert sign_flip_p([np.tile(rows, (8, 1))]) == pytest.approx(expected, abs=1e-3)


def test_holm_is_statsmodels():
    assert holm(P_VALUES) == pytest.approx(HOLM)
    order = np.random.default_rng(0).permutation(15)
    assert holm(np.array(P_VALUES)[order]) == pytest.approx(np.array(HOLM)[order])
    assert holm([]).tolist() == []


def test_holm_by_hand():
    """0.005 * 4; 0.01 * 3; 0.03 * 2; and 0.04, which is raised to the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_a_comparison_and_its_family():
    baseline = np.zeros(15)
    family = [paired_difference([factor * np.array(DARWIN)], [baseline], comparisons=2) for factor in (1, -3)]
    assert family[1].mean == pytest.approx(-3 * 314 / 15) and family[1].p == family[1].adjusted_p == 2 * 863 / 2**15
    assert [each.adjusted_p for each in adjusted(family)] == [4 * 863 / 2**15] * 2
    assert not family[0].beyond_chance  # it is for one comparison
    assert str(family[0]).startswith("+20.93 [-") and family[0].needed.draws > 15
