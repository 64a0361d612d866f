"""Which texts come first on the page of corrections, and which words of a text an explanation is about."""

from __future__ import annotations

import numpy as np
import pytest

import families
from salience.audit.doubtful import (
    by_turns,
    close_labels,
    explained,
    improbable_labels,
    most_doubtful,
    places_of,
    share_on,
)
from salience.audit.words import NAME
from salience.classify import load
from salience.data.marks import Mark
from salience.data.texts import UNKNOWN, Texts
from salience.data.words import spaced_spans
from salience.explainers.explanation import Explanation


def explanation(words, probabilities, scores=None, second=None) -> Explanation:
    words = words.split()
    scores = np.ones(len(words)) if scores is None else np.array(scores, float)
    return Explanation(words, second, ["a", "b", "c"], np.array(probabilities), 0, None, {NAME: scores})


def places(order) -> list[int]:
    return [place for place, _ in order]


def test_the_label_that_is_least_probable_comes_first():
    """Of one label that of the file; of several, also one that is predicted and not given."""
    found = np.array([[0.5, 0.4, 0.1], [0.9, 0.06, 0.04], [0.1, 0.2, 0.7], [0.3, 0.7, 0.0]])
    decided = found == found.max(1, keepdims=True)
    right = np.eye(3, dtype=bool)[[1, 1, 2, 0]]
    known = np.array([True, True, True, True])
    assert places(improbable_labels(found, decided, right, known)) == [1, 3, 0]  # 0.06, 0.3, 0.4; row 2 is as given
    assert places(improbable_labels(found, decided, right, known & (right[:, 1] | ~right[:, 0]))) == [1, 0]
    several, decided = np.array([[0.9, 0.2], [0.6, 0.8], [0.1, 0.4]]), np.array([[1, 0], [1, 1], [0, 0]], bool)
    right = np.array([[1, 1], [1, 0], [0, 0]], bool)  # 0.2 is given; 0.8 is not
    assert places(improbable_labels(several, decided, right, known[:3])) in ([0, 1], [1, 0])
    right = np.array([[1, 1], [1, 0], [1, 0]], bool)
    assert places(improbable_labels(several, decided, right, known[:3]))[0] == 2


def test_labels_that_are_close_come_first():
    found = np.array([[0.9, 0.06, 0.04], [0.5, 0.4, 0.1], [0.4, 0.3, 0.3]])
    assert places(close_labels(found, None)) == [1, 2, 0]
    several = np.array([[0.9, 0.1, 0.0], [0.9, 0.1, 0.24], [0.7, 0.0, 0.0]])  # 0.24 is a fifth of the way to 0
    assert places(close_labels(several, np.array([0.5, 0.5, 0.3]))) == [1, 2, 0]


def test_the_orders_take_turns_as_long_as_there_are_any():
    assert list(by_turns("ab", "", iter("123"))) == ["a", "1", "b", "2", "3"]


@pytest.mark.parametrize(
    ("read", "starts"), [("a b a c a", [0, 2, 4, 6, 8]), ("a b a", [0, 2, 4]), ("a b c a", [0, 2, 6, 8])]
)
def test_the_words_that_are_read_are_the_first_and_the_last_ones(read, starts):
    text = "a b a c a"
    found = places_of(explanation(read, [1.0, 0.0, 0.0]), [text], [spaced_spans(text)])
    assert found == [(0, (start, start + 1)) for start in starts]


def test_the_share_on_marked_words_of_a_pair():
    found = explanation("it rains it is dry", [1.0, 0.0, 0.0], [1, -2, 3, 0, 4], second=2)
    texts = ["it rains", "it is dry"]
    places = places_of(found, texts, list(map(spaced_spans, texts)))
    assert share_on(found, places, [Mark(3, 8), Mark(6, 9, second=True)]) == pytest.approx(0.6)
    assert share_on(found, places, [Mark(0, 1)]) == pytest.approx(0.1) and share_on(found, places, []) is None


def test_three_kinds_of_texts_take_turns_and_each_text_comes_once(tmp_path):
    sentences = ["the cup is new", "a song", "bread and salt", "a cup of soup", "song song cup", "so it is"]
    classifier = load(families.save_tiny_model(tmp_path / "tiny", sentences, classes=3), device="cpu")
    planted = [f"{sentences[row % 6]} {row} live" for row in range(8)]
    texts = Texts([*sentences, *planted, "a song "], labels=[0, 1, UNKNOWN, 2, 2, 0] + [1] * 8 + [1],
                  rows=list(range(1, 16)), files=["a"] * 15)  # fmt: skip
    certain = {(text,): np.array([0.1, 0.9, 0.0]) for text in planted} | {("so it is",): np.array([0.0, 0.0, 1.0])}
    found = most_doubtful(classifier, texts, 20, certain)
    assert sorted(each.explanations[0].row for each in found) == list(range(1, 15))  # "a song " repeats row 2
    first, second = found[:2]
    assert (first.explanations[0].row, first.reason) == (6, "its label is improbable")
    assert (first.given, first.predicted) == ([0], [2])
    assert first.explanations[0].target == 2 and first.explanations[0].probabilities[2] == 1
    assert (second.explanations[0].row, second.reason) == (7, '"live" gives LABEL_1 away')
    assert next(each.given for each in found if each.explanations[0].row == 3) is None
    shown = {each.explanations[0].row: each for each in found}
    (alone,) = explained(classifier, Texts(["bread and salt"]))
    np.testing.assert_allclose(shown[3].explanations[0].scores[NAME], alone.scores[NAME], atol=1e-5)
    assert [each.explanations[0].row for each in most_doubtful(classifier, texts, 2, certain)] == [6, 7]
