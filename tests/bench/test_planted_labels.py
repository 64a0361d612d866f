"""Wrong labels: how many, in which classes, and that more of them include fewer."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from development import with_wrong_labels

LABELS = st.lists(st.integers(0, 4), min_size=1, max_size=60).map(lambda labels: np.array([*labels, 4]))
SHARES = st.floats(0, 1)


@given(LABELS, SHARES, SHARES, st.integers(0, 100))
def test_what_holds_of_all_wrong_labels(labels, one, other, seed):
    low, high = sorted((one, other))
    before = labels.copy()
    some, more = (with_wrong_labels(labels, share, seed, 5) for share in (low, high))
    assert (labels == before).all()
    for share, found in ((low, some), (high, more)):
        assert (found != labels).sum() == round(share * len(labels))
        assert found.min() >= 0
        assert found.max() <= 4
    assert (more[some != labels] == some[some != labels]).all()
    assert (with_wrong_labels(labels, low, seed, 5) == some).all()


@given(LABELS, SHARES, st.integers(0, 100))
def test_every_class_gives_its_share(labels, share, seed):
    """The numbers of wrong rows are t n, rounded up or down, with one t for all classes."""
    wrong = Counter(labels[with_wrong_labels(labels, share, seed, 5) != labels].tolist())
    lowest = max((wrong[number] - 1) / rows for number, rows in Counter(labels.tolist()).items())
    highest = min((wrong[number] + 1) / rows for number, rows in Counter(labels.tolist()).items())
    assert lowest < highest


@pytest.mark.parametrize("seed", range(5))
def test_classes_of_one_size_give_as_many_rows(seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(6), 50))
    wrong = labels[with_wrong_labels(labels, 0.2, seed, 6) != labels]
    assert Counter(wrong.tolist()) == dict.fromkeys(range(6), 10)


def test_single_rows_are_wrong_as_often_as_others():
    """60 classes of one row beside one of 60, at 0.3: 18 +- 4 of them."""
    labels = np.concatenate([np.arange(60), np.full(60, 60)])
    counts = [(with_wrong_labels(labels, 0.3, seed, 61) != labels)[:60].sum() for seed in range(50)]
    assert np.mean(counts) == pytest.approx(18, abs=2)


def test_wrong_labels_are_uniform_over_the_other_classes():
    """40,000 rows of class 1 of 5: 10,000 each of the four others, with a standard deviation of 87."""
    found = np.bincount(with_wrong_labels(np.ones(40_000, int), 1.0, 0, classes=5), minlength=5)
    assert found[1] == 0
    assert np.abs(found[[0, 2, 3, 4]] - 10_000).max() < 4 * 87
