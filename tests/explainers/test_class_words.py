"""The words that speak for a class, against means that are computed by hand."""

import numpy as np
import pytest

from salience.explainers.class_words import ClassWord, plain_word, words_by_class
from salience.explainers.explanation import Explanation


def explained(target: int, words: str, scores: list[float]) -> Explanation:
    return Explanation(
        words.split(), None, ["a", "b"], np.array([0.5, 0.5]), target, None, {"signed": np.array(scores)}
    )


def test_scores_are_summed_within_a_text_and_averaged_over_texts():
    texts = [
        explained(0, "Good, good film", [1.0, 2.0, -1.0]),
        explained(0, "good film !", [0.0, 4.0, 9.0]),
        explained(0, "bad film", [-1.0, np.nan]),
        explained(1, "good film bad", [5.0, 1.0, 8.0]),
        explained(1, "bad", [2.0]),
    ]
    assert words_by_class(texts, "signed", most=5, least=2) == {
        0: [ClassWord("good", 1.5, 2), ClassWord("film", 1.0, 3)],
        1: [ClassWord("bad", 5.0, 2)],
    }
    assert words_by_class(texts, "signed", most=1, least=1)[0] == [ClassWord("good", 1.5, 2)]
    assert words_by_class(texts, "signed", most=5, least=4) == {0: [], 1: []}


@pytest.mark.parametrize(
    ("word", "plain"),
    [("(Good,", "good"), ("isn't!", "isn't"), ("...", ""), ("<b>x</b>", "b>x</b"), ("$5", "5"), ("की", "की")],
)
def test_a_word_without_punctuation_around_it(word, plain):
    assert plain_word(word) == plain
