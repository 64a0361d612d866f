"""The made-up texts of appendix D: what is in them, Data I and Data II, skewed classes."""

from collections import Counter

import numpy as np
import pytest

from salience.audit.words import NEUTRAL, NONE, association, categories, counts
from salience.papers.uaftc.synthetic import synthetic

NEUTRAL_TYPES, POSITIVE_TYPES, NEGATIVE_TYPES = range(1000), range(1000, 1050), range(1050, 1100)
TYPES = 1100


@pytest.fixture(scope="module")
def first():
    """Data I."""
    return synthetic()


def of_positives(ids: np.ndarray) -> np.ndarray:
    """Whether each text's last two words are positive ones; they are never one of each."""
    positive, negative = (np.isin(ids[:, 10:], kind).all(1) for kind in (POSITIVE_TYPES, NEGATIVE_TYPES))
    assert (positive ^ negative).all()
    return positive


def test_sizes(first):
    assert first.ids.shape == (12000, 12)
    assert first.labels.shape == (12000,)
    assert np.issubdtype(first.ids.dtype, np.integer)
    assert Counter(first.labels.tolist()) == {1: 6000, 0: 6000}


def test_every_text_is_ten_neutral_words_and_two_of_its_class(first):
    assert np.isin(first.ids[:, :10], NEUTRAL_TYPES).all()
    assert np.array_equal(of_positives(first.ids), first.labels == 1)


def test_the_words_of_a_text_are_distinct(first):
    assert all(len(set(words)) == 12 for words in first.ids.tolist())


def test_every_word_is_as_likely_as_its_like(first):
    """120 occurrences of a neutral word are expected and 240 of another: none is 6 standard deviations off."""
    found = np.bincount(first.ids.flatten(), minlength=TYPES)
    assert found.sum() == 12 * 12000
    for kind, expected in ((NEUTRAL_TYPES, 120), (POSITIVE_TYPES, 240), (NEGATIVE_TYPES, 240)):
        assert found[kind.start : kind.stop].mean() == expected
        assert np.abs(found[kind.start : kind.stop] - expected).max() < 6 * expected**0.5


def test_words_stand_in_no_order(first):
    """A place prefers no word: the mean of 12000 draws from 0 to 999 is within 5 standard errors of 499.5."""
    assert np.abs(first.ids[:, :10].mean(0) - 499.5).max() < 5 * 1000 / 12**0.5 / 12000**0.5
    ahead = (first.ids[:, 10] < first.ids[:, 11]).mean()
    assert abs(ahead - 0.5) < 5 * 0.5 / 12000**0.5


def test_texts_differ(first):
    assert len(set(map(tuple, first.ids.tolist()))) == 12000


def test_a_class_is_known_by_its_words(first):
    """The categories of section 5.1 find all 100 and take no neutral word for one."""
    counted = counts(first.ids, first.labels, TYPES, classes=2)
    found = categories(counted)
    assert (found[1000:1050] == 1).all()
    assert (found[1050:] == 0).all()
    assert np.isin(found[:1000], [NEUTRAL, NONE]).all()
    assert (found == NEUTRAL).sum() > 100
    assert (association(counted)[1000:] == np.repeat([1, -1], 50)).all()


# ------------------------------------------------------------------------------------------------------------ seeds


def test_a_seed_gives_the_same_texts_again(first):
    again = synthetic(seed=2)  # the default is the notebook's
    assert np.array_equal(first.ids, again.ids)
    assert np.array_equal(first.labels, again.labels)


def test_another_seed_gives_other_texts():
    one, other = synthetic(200, 200, seed=2), synthetic(200, 200, seed=3)
    assert (one.ids != other.ids).any(1).all()
    assert np.array_equal(one.labels, other.labels)


def test_the_callers_random_state_is_neither_read_nor_moved():
    np.random.seed(5)
    before = np.random.get_state()[1].copy()
    one = synthetic(20, 20)
    assert np.array_equal(np.random.get_state()[1], before)
    np.random.seed(6)
    assert np.array_equal(synthetic(20, 20).ids, one.ids)


# ---------------------------------------------------------------------------------------------------------- Data II


def test_from_clean_on_a_classs_words_are_the_other_classs():
    for clean in [0, 1, 100, 149]:
        data = synthetic(150, 150, clean)
        positive = of_positives(data.ids)
        for label in (0, 1):
            own = positive[data.labels == label] == bool(label)
            assert own[:clean].all()
            assert not own[clean:].any()
        assert Counter(data.labels.tolist()) == {1: 150, 0: 150}
        assert all(len(set(words)) == 12 for words in data.ids.tolist())


def test_with_all_clean_it_is_data_one():
    first = synthetic(150, 150)
    for clean in [150, 151, 10**9]:
        data = synthetic(150, 150, clean)
        assert np.array_equal(data.ids, first.ids)
        assert np.array_equal(data.labels, first.labels)


def test_data_two_differs_from_data_one_in_those_words_only(first):
    """Neutral words and labels stay, so that the two can be compared."""
    second = synthetic(clean=4000)
    assert np.array_equal(second.ids[:, :10], first.ids[:, :10])
    assert np.array_equal(second.labels, first.labels)
    changed = (second.ids != first.ids).any(1)
    assert changed.sum() == 2 * 2000


# ---------------------------------------------------------------------------------------------------- skewed classes


def test_skewed_classes():
    """1:1, 1:2, 1:5, 2:1 and 5:1, as in the appendix."""
    for positive, negative in [(60, 60), (60, 120), (60, 300), (120, 60), (300, 60)]:
        data = synthetic(positive, negative)
        assert data.ids.shape == (positive + negative, 12)
        assert Counter(data.labels.tolist()) == {1: positive, 0: negative}
        assert np.array_equal(of_positives(data.ids), data.labels == 1)


def test_clean_counts_the_texts_of_each_class():
    """The smaller class has no text that late, the larger one 150 of them."""
    data = synthetic(positive=50, negative=250, clean=100)
    positive = of_positives(data.ids)
    assert positive[data.labels == 1].all()
    assert positive[data.labels == 0].sum() == 150


def test_one_class_alone():
    for positive, negative in [(5, 0), (0, 5)]:
        data = synthetic(positive, negative)
        assert data.ids.shape == (5, 12)
        assert set(data.labels.tolist()) == {int(positive > 0)}
