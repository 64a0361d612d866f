"""Wrong labels: how many, in which classes, and that more of them include fewer."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.data.label_noise import with_flipped_labels, with_wrong_labels, with_wrong_training_labels
from salience.data.task import Task
from salience.data.texts import Texts

LABELS = st.lists(st.integers(0, 4), min_size=1, max_size=60).map(lambda labels: np.array([*labels, 4]))
SHARES = st.floats(0, 1)


@given(LABELS, SHARES, SHARES, st.integers(0, 100))
def test_what_holds_of_all_wrong_labels(labels, one, other, seed):
    low, high = sorted((one, other))
    before = labels.copy()
    some, more = (with_wrong_labels(labels, share, seed) for share in (low, high))
    assert (labels == before).all()
    for share, found in ((low, some), (high, more)):
        assert (found != labels).sum() == round(share * len(labels))
        assert found.min() >= 0
        assert found.max() <= 4
    assert (more[some != labels] == some[some != labels]).all()
    assert (with_wrong_labels(labels, low, seed) == some).all()


@given(LABELS, SHARES, st.integers(0, 100))
def test_every_class_gives_its_share(labels, share, seed):
    """The numbers of wrong rows are t n, rounded up or down, with one t for all classes."""
    wrong = Counter(labels[with_wrong_labels(labels, share, seed) != labels].tolist())
    lowest = max((wrong[number] - 1) / rows for number, rows in Counter(labels.tolist()).items())
    highest = min((wrong[number] + 1) / rows for number, rows in Counter(labels.tolist()).items())
    assert lowest < highest


@pytest.mark.parametrize("seed", range(5))
def test_classes_of_one_size_give_as_many_rows(seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(6), 50))
    wrong = labels[with_wrong_labels(labels, 0.2, seed) != labels]
    assert Counter(wrong.tolist()) == dict.fromkeys(range(6), 10)


def test_single_rows_are_wrong_as_often_as_others():
    """60 classes of one row beside one of 60, at 0.3: 18 +- 4 of them."""
    labels = np.concatenate([np.arange(60), np.full(60, 60)])
    counts = [(with_wrong_labels(labels, 0.3, seed) != labels)[:60].sum() for seed in range(50)]
    assert np.mean(counts) == pytest.approx(18, abs=2)


def test_wrong_labels_are_uniform_over_the_other_classes():
    """40,000 rows of class 1 of 5: 10,000 each of the four others, with a standard deviation of 87."""
    found = np.bincount(with_wrong_labels(np.ones(40_000, int), 1.0, 0, classes=5), minlength=5)
    assert found[1] == 0
    assert np.abs(found[[0, 2, 3, 4]] - 10_000).max() < 4 * 87


def test_the_seed_draws_rows_and_labels():
    labels = np.repeat([0, 1, 2], 20)
    found = {tuple(with_wrong_labels(labels, 0.4, seed)) for seed in range(10)}
    assert len(found) == 10


def test_test_rows_are_never_touched():
    texts = Texts([f"text {number}" for number in range(60)], labels=np.repeat([0, 1, 2], 20), rows=list(range(60)))
    task = Task(["a", "b", "c"], texts, texts, texts)
    noisy = with_wrong_training_labels(task, 0.5, 0)
    assert noisy.test is task.test
    assert (noisy.training.labels != texts.labels).sum() == 30
    assert (noisy.validation.labels != texts.labels).sum() == 30
    assert noisy.training.texts == texts.texts
    assert noisy.training.rows == texts.rows
    assert texts.labels.tolist() == np.repeat([0, 1, 2], 20).tolist()
    # Even the same rows do not get the same wrong labels in both parts.
    assert (noisy.training.labels != noisy.validation.labels).any()
    alone = with_wrong_training_labels(Task(["a", "b", "c"], texts), 0.5, 0)
    assert (alone.training.labels == noisy.training.labels).all()
    assert len(alone.validation) == 0


SEVERAL = (np.random.default_rng(0).random((200, 3)) < [0.5, 0.1, 0.0]).astype(int)


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_of_several_labels_a_share_of_the_decisions_about_each_is_flipped(share):
    found = with_flipped_labels(SEVERAL, share, 0)
    wrong = found != SEVERAL
    assert wrong.sum(0).tolist() == [round(share * 200)] * 3
    for label in (0, 1):  # of the rows with the label as of those without it
        for value in (0, 1):
            rows = SEVERAL[:, label] == value
            assert abs(wrong[rows, label].sum() - share * rows.sum()) <= 1
    assert (found[~wrong] == SEVERAL[~wrong]).all() and set(np.unique(found)) <= {0, 1}


def test_the_labels_of_a_row_are_flipped_independently_and_more_noise_includes_less():
    """At 0.3, two labels of a row are both wrong in 9 % of 2,000 rows, with a standard deviation of 13 rows."""
    labels = np.zeros((2000, 2), int)
    some, more = (with_flipped_labels(labels, share, 3) for share in (0.3, 0.5))
    assert abs(some.all(1).sum() - 180) < 4 * 13
    assert (more[some == 1] == 1).all()
    assert (with_flipped_labels(labels, 0.3, 3) == some).all() and (with_flipped_labels(labels, 0.3, 4) != some).any()


def test_test_rows_of_several_labels_are_never_touched():
    texts = Texts([f"text {number}" for number in range(200)], labels=SEVERAL, rows=list(range(200)))
    noisy = with_wrong_training_labels(Task(["a", "b", "c"], texts, texts, texts), 0.1, 0)
    assert noisy.test is texts and SEVERAL[:, 2].sum() == 0
    assert (noisy.training.labels != SEVERAL).sum() == (noisy.validation.labels != SEVERAL).sum() == 60
    assert (noisy.training.labels != noisy.validation.labels).any()


def test_complaints(complaint):
    for share in (-0.1, 1.1, float("nan")):
        assert complaint(with_wrong_labels, np.array([0, 1]), share, 0) == (
            f"the share of wrong labels is {share:g}; give a number from 0 to 1"
        )
    assert complaint(with_wrong_labels, np.array([0, 0]), 0.5, 0) == (
        "wrong labels need at least two classes: give `classes`, or more data"
    )
    assert complaint(with_wrong_labels, np.array([0, -1, 1]), 0.5, 0) == (
        "wrong labels need labels from 0 to 1; leave out rows without a label"
    )
    assert with_wrong_labels(np.zeros(0, int), 0.5, 0).tolist() == []
