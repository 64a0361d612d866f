"""Which words a class uses: gamma and the categories (section 5.1), gold d of methods.md 3.10, and slow loops."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience.audit.words import NEUTRAL, NONE, association, categories, category_names, counts

NEGATIVE, POSITIVE = 0, 1


def category(*counted: int) -> int:
    """Of one type with these counts, class by class."""
    return int(categories(np.array([counted]))[0])


def binary(negative: int, positive: int) -> int:
    """The rule in gamma's own words, with fractions (UA1: 1 belongs to the interval that the paper prints open)."""
    if negative + positive == 0:
        return NONE  # gamma is 0 / 0
    gamma = Fraction(positive - negative, positive + negative)
    if gamma > Fraction(1, 2) and positive > 5:
        return POSITIVE
    if gamma < Fraction(-1, 2) and negative > 5:
        return NEGATIVE
    if abs(gamma) < Fraction(1, 10) and abs(positive - negative) < 5:
        return NEUTRAL
    return NONE


def multiclass(counted: list[int]) -> int:
    """UA3, with fractions: a share of more than 3/4 and more than 5 times; or nearly the same everywhere."""
    total = sum(counted)
    if total == 0:
        return NONE
    shares = [Fraction(count, total) for count in counted]
    for kind, share in enumerate(shares):
        if share > Fraction(3, 4) and counted[kind] > 5:
            return kind
    if max(shares) - min(shares) < Fraction(1, 10) and max(counted) - min(counted) < 5:
        return NEUTRAL
    return NONE


# --------------------------------------------------------------------------------------------------- worked examples


@pytest.mark.parametrize(
    ("positive", "negative", "gamma", "expected"),
    [
        (8, 2, 0.6, POSITIVE),
        (6, 0, 1.0, POSITIVE),  # the paper's open interval leaves 1 out, its counts do not
        (5, 0, 1.0, NONE),  # not more than 5 times
        (1, 1, 0.0, NEUTRAL),  # and need not be frequent
        (60, 54, 0.0526, NONE),  # apart by 6
    ],
)
def test_gold_d(positive, negative, gamma, expected):
    counted = np.array([[negative, positive]])
    assert association(counted)[0] == pytest.approx(gamma, abs=5e-5)
    assert categories(counted)[0] == expected


@pytest.mark.parametrize(
    ("counted", "expected"), [((8, 1, 1), 0), ((7, 2, 1), NONE), ((4, 3, 3), NONE), ((1, 8, 1), 1), ((1, 1, 8), 2)]
)
def test_gold_d_of_three_classes(counted, expected):
    assert category(*counted) == expected


@pytest.mark.parametrize(
    ("counted", "expected"),
    [
        ((3, 9), NONE),  # gamma is 1/2
        ((9, 3), NONE),
        ((3, 10), POSITIVE),
        ((10, 3), NEGATIVE),
        ((0, 5), NONE),
        ((1, 5), NONE),  # gamma 2/3, but 5 times
        ((0, 6), POSITIVE),
        ((1, 6), POSITIVE),
        ((2, 6), NONE),
        ((9, 11), NONE),  # gamma is 1/10
        ((18, 22), NONE),
        ((19, 21), NEUTRAL),
        ((20, 24), NEUTRAL),  # apart by 4
        ((100, 104), NEUTRAL),
        ((104, 100), NEUTRAL),
        ((100, 105), NONE),  # apart by 5
        ((0, 0), NONE),
        ((0, 1), NONE),
        ((1, 2), NONE),
        ((2, 2, 2), NEUTRAL),
        ((1, 0, 0), NONE),
        ((14, 13, 12), NEUTRAL),  # 2 of 39
        ((11, 10, 9), NEUTRAL),  # 2 of 30
        ((9, 6, 5), NONE),
        ((15, 15, 12, 13), NEUTRAL),  # 3 of 55
        ((13, 12, 11, 14), NEUTRAL),  # 3 of 50
        ((6, 7, 7), NEUTRAL),  # 1 of 20
        ((3, 4, 3), NONE),  # 1 of 10
        ((100, 104, 100), NEUTRAL),
        ((100, 105, 100), NONE),
        ((0, 6, 2), NONE),  # just 3/4
        ((0, 1, 6, 0), 2),
        ((5, 0, 1), NONE),
    ],
)
def test_at_the_borders(counted, expected):
    assert category(*counted) == expected


# ------------------------------------------------------------------------------------------------------- slow loops


def test_two_classes_against_gammas_own_words_for_all_small_counts():
    """1600 pairs: every border that floating point could miss is among them."""
    pairs = [(negative, positive) for negative in range(40) for positive in range(40)]
    assert categories(np.array(pairs)).tolist() == [binary(*pair) for pair in pairs]


counted_pairs = st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))
close_pairs = st.integers(0, 10**6).flatmap(lambda one: st.tuples(st.just(one), st.integers(max(one - 6, 0), one + 6)))
at_three_quarters = st.tuples(st.integers(0, 10**5), st.integers(-1, 1), st.booleans()).map(
    lambda drawn: tuple(sorted((drawn[0], max(3 * drawn[0] + drawn[1], 0)), reverse=drawn[2]))
)


@settings(max_examples=60)
@given(st.lists(counted_pairs | close_pairs | at_three_quarters, min_size=1, max_size=20))
def test_two_classes_against_gammas_own_words(pairs):
    assert categories(np.array(pairs)).tolist() == [binary(*pair) for pair in pairs]
    assert [multiclass(list(pair)) for pair in pairs] == [binary(*pair) for pair in pairs]  # UA3 is the same rule


few, many = st.integers(0, 12), st.integers(0, 10**9)
rows = st.integers(2, 6).flatmap(
    lambda classes: st.lists(
        st.lists(few, min_size=classes, max_size=classes)
        | st.lists(many, min_size=classes, max_size=classes)
        | st.tuples(many, st.lists(few, min_size=classes, max_size=classes)).map(
            lambda drawn: [drawn[0] + count for count in drawn[1]]
        )
        | st.tuples(st.lists(few, min_size=classes, max_size=classes), st.integers(0, classes - 1), st.integers(-1, 1))
        .map(lambda drawn: near_three_quarters(*drawn)),
        min_size=1,
        max_size=10,
    )
)  # fmt: skip


def near_three_quarters(counted: list[int], kind: int, off: int) -> list[int]:
    """One class's count becomes three times the others' together, or one more or less."""
    rest = sum(counted) - counted[kind]
    return [max(3 * rest + off, 0) if at == kind else count for at, count in enumerate(counted)]


@settings(max_examples=60)
@given(rows)
def test_several_classes_against_the_loop(counted):
    assert categories(np.array(counted)).tolist() == [multiclass(row) for row in counted]


@settings(max_examples=100)
@given(st.lists(counted_pairs, min_size=1, max_size=20))
def test_gamma_against_fractions(pairs):
    """0 for a word that is in no text, -1 and 1 for one that only one class uses."""
    found = association(np.array(pairs))
    for (negative, positive), gamma in zip(pairs, found.tolist(), strict=True):
        total = negative + positive
        assert gamma == pytest.approx(float(Fraction(positive - negative, total)) if total else 0.0, rel=1e-15)
        assert -1 <= gamma <= 1
    assert association(np.array([[0, 0], [3, 0], [0, 3]])).tolist() == [0, -1, 1]


# ------------------------------------------------------------------------------------------------------- invariants


@settings(max_examples=100)
@given(rows, st.randoms(use_true_random=False))
def test_classes_in_another_order_are_the_same_classes(counted, random):
    counted = np.array(counted)
    order = list(range(counted.shape[1]))
    random.shuffle(order)
    for before, after in zip(categories(counted).tolist(), categories(counted[:, order]).tolist(), strict=True):
        assert before == (order[after] if after >= 0 else after)


def test_huge_counts_stay_whole():
    """10 times a count is still an integer; as floating-point numbers the first two would look alike."""
    large = 10**17
    assert category(large, 3 * large) == NONE
    assert category(large, 3 * large + 1) == POSITIVE
    assert category(large + 4, large) == NEUTRAL
    assert category(large + 5, large) == NONE


# ----------------------------------------------------------------------------------------------------------- counts

corpora = st.integers(1, 4).flatmap(
    lambda classes: st.tuples(
        st.just(classes),
        st.lists(st.tuples(st.lists(st.integers(0, 8), max_size=12), st.integers(0, classes - 1)), max_size=8),
    )
)


@settings(max_examples=100)
@given(corpora)
def test_counts_against_a_counter(corpus):
    """Words that stand in a text twice count twice; texts may be empty."""
    classes, labelled = corpus
    counters = [Counter() for _ in range(classes)]
    for words, label in labelled:
        counters[label].update(words)
    texts = [np.array(words, dtype=np.int64) for words, _ in labelled]
    found = counts(texts, [label for _, label in labelled], vocabulary=9, classes=classes)
    assert found.shape == (9, classes)
    assert found.tolist() == [[counter[word] for counter in counters] for word in range(9)]


def test_counts_of_rows_and_of_labels_in_an_array():
    """As made-up texts come."""
    found = counts(np.array([[0, 1, 1], [2, 1, 0]], dtype=np.int32), np.array([1, 0]), vocabulary=4, classes=2)
    assert found.tolist() == [[1, 1], [1, 2], [1, 0], [0, 0]]


def test_a_text_without_a_label_is_an_error():
    with pytest.raises(ValueError, match="zip"):
        counts([np.array([1]), np.array([2])], [0], vocabulary=3, classes=2)


def test_from_texts_to_categories():
    """A word of each kind: of a class, of both evenly, of neither."""
    texts = [np.array([0, 0, 1, 2, 3])] * 3 + [np.array([1, 3, 3, 3])] * 3
    counted = counts(texts, [1, 1, 1, 0, 0, 0], vocabulary=5, classes=2)
    assert counted.tolist() == [[0, 6], [3, 3], [0, 3], [9, 3], [0, 0]]
    assert categories(counted).tolist() == [POSITIVE, NEUTRAL, NONE, NONE, NONE]
    assert association(counted).tolist() == [1, 0, 1, -0.5, 0]


def test_every_category_has_a_name():
    assert category_names(["bad", "good"]) == {0: "bad", 1: "good", NEUTRAL: "neutral", NONE: "other"}
    assert category_names(["a", "b", "c"])[2] == "c"
