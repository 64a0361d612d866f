"""Which texts come first on the page of corrections, and which words of a text an explanation is about."""

from __future__ import annotations

import numpy as np
import pytest

import families
from salience.audit.doubtful import doubt_of, explained, most_doubtful, places_of, share_on
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


@pytest.mark.parametrize(
    ("probabilities", "given", "scores", "doubt"),
    [
        ([0.5, 0.4, 0.1], None, None, 0.9),  # the margin is 0.1
        ([0.5, 0.4, 0.1], [0], None, 0.9),
        ([0.9, 0.06, 0.04], [1], None, 0.94),  # the given label is improbable
        ([1.0, 0.0, 0.0], [0], [0, -8, 1, 1], (0.8 - 0.25) / 0.75),  # a word has 8 of 10
        ([1.0, 0.0, 0.0], [0], [1, 1, -1, 1], 0.0),
        ([1.0, 0.0, 0.0], [0], [0, 0, 0, 0], 0.0),
    ],
)
def test_a_worked_example(probabilities, given, scores, doubt):
    assert doubt_of(explanation("one two three four", probabilities, scores), given) == pytest.approx(doubt)


@pytest.mark.parametrize(
    ("probabilities", "given", "doubt"),
    [
        ([0.9, 0.1, 0.24], None, 0.8),  # a fifth of the way from the threshold 0.3 to 0
        ([0.9, 0.1, 0.0], [0], 0.2),
        ([0.9, 0.1, 0.0], [0, 2], 1.0),
        ([0.9, 0.1, 0.0], [], 0.9),
    ],
)
def test_a_worked_example_of_several_labels(probabilities, given, doubt):
    thresholds = np.array([0.5, 0.5, 0.3])
    assert doubt_of(explanation("one two", probabilities), given, thresholds) == pytest.approx(doubt)


def test_one_word_alone_is_no_reason():
    assert doubt_of(explanation("one", [1.0, 0.0, 0.0], [3]), [0]) == 0


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


def test_the_most_doubtful_texts_come_first_and_each_once(tmp_path):
    """Against a slow loop, text by text."""
    texts = ["the cup is new", "a song", "bread and salt", "the cup is new ", "a cup of soup", "song song cup"]
    classifier = load(families.save_tiny_model(tmp_path / "tiny", texts, classes=3), device="cpu")
    labels = [0, 1, UNKNOWN, 2, 2, 0]
    parts = [Texts(texts[:2], labels=labels[:2], rows=[1, 2], files=["a"] * 2),
             Texts(texts[2:], labels=labels[2:], rows=[3, 4, 5, 6], files=["a"] * 4)]  # fmt: skip
    expected = {}
    for row, (text, label) in enumerate(zip(texts, labels, strict=True), 1):
        if row != 4:
            (found,) = explained(classifier, Texts([text]))
            expected[row] = doubt_of(found, None if label == UNKNOWN else [label])
    found = most_doubtful(classifier, iter(parts), 10, {})
    order = sorted(expected, key=expected.get, reverse=True)
    assert [each.explanation.row for each in found] == order
    assert [each.doubt for each in found] == pytest.approx([expected[row] for row in order], abs=1e-5)
    assert [each.given for each in sorted(found, key=lambda each: each.explanation.row)] == [[0], [1], None, [2], [0]]
    assert [each.explanation.row for each in most_doubtful(classifier, iter(parts), 2, {})] == order[:2]
    certain = {(texts[order[0] - 1].strip(),): np.array([0.0, 0.0, 1.0])}
    later = {each.explanation.row: each for each in most_doubtful(classifier, iter(parts), 10, certain)}[order[0]]
    assert later.predicted == [2] and later.explanation.target == 2 and later.explanation.probabilities[2] == 1
