"""The worked numbers of the metrics, and what must hold of them whatever the scores."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau
from scripted import EMPTY, by_table, texts_of

from salience.data.encoding import Words
from salience.data.marks import Mark
from salience.data.texts import Texts
from salience.data.words import word_spans
from salience.faithfulness.accuracy import (
    accuracy_drop,
    mean_accuracy_drop,
    post_hoc_accuracy,
    right_alone,
    right_without,
)
from salience.faithfulness.aopc import aopc
from salience.faithfulness.comprehensiveness import comprehensiveness, sufficiency
from salience.faithfulness.decision_flip import decision_flip
from salience.faithfulness.detection import detection, detection_by_class, marked_words
from salience.faithfulness.erasure import Erasure, Reading
from salience.faithfulness.leave_one_out import loo_tau
from salience.faithfulness.results import interval


def sure_of(predictions, classes=2) -> np.ndarray:
    """Probabilities (K + 1, N, C) of a judge that is wholly sure of what it predicts."""
    return np.eye(classes)[np.asarray(predictions)]


def test_the_accuracy_that_is_lost_in_points():
    erasure = by_table(sure_of([[1, 0, 1, 0], [0, 0, 1, 0]]), labels=[1, 0, 1, 1])
    assert accuracy_drop(erasure, 1).tolist() == [100, 0, 0, 0]
    assert right_without(erasure).mean(1).tolist() == [0.75, 0.5]


def test_the_mean_over_k_counts_k_0():
    """Accuracies .75, .5 and .25 for K = 0, 1, 2."""
    erasure = by_table(sure_of([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]), labels=[1, 1, 1, 1])
    assert mean_accuracy_drop(erasure).mean() == pytest.approx(25)


def test_aopc_is_the_mean_drop_of_the_probability():
    """p = .9, .6, .3 of the class that was predicted: (0 + .3 + .6) / 3."""
    assert aopc(by_table([[[0.1, 0.9]], [[0.4, 0.6]], [[0.7, 0.3]]])).tolist() == pytest.approx([30])


def test_nothing_is_lost_from_a_judge_that_never_changes():
    erasure = by_table(sure_of([[1, 0, 1]] * 4), sure_of([[1, 0, 1]] * 4), labels=[1, 1, 0])
    for drop in (accuracy_drop(erasure, 3), mean_accuracy_drop(erasure), aopc(erasure), comprehensiveness(erasure),
                 sufficiency(erasure)):  # fmt: skip
        assert (drop == 0).all()
    assert decision_flip(erasure).tolist() == [4, 4, 4]  # one more than the words that were removed


def test_flips_are_counted_to_the_first_one():
    erasure = by_table(sure_of([[1, 0, 1], [1, 1, 1], [0, 0, 1]]))
    assert decision_flip(erasure).tolist() == [2, 1, 3]


def test_post_hoc_accuracy_is_that_on_the_top_words():
    answers = sure_of([[1, 1], [0, 1], [1, 1]])
    erasure = by_table(answers, answers, labels=[1, 1])
    assert [post_hoc_accuracy(erasure, count).mean() for count in (1, 2)] == [50, 100]
    assert right_alone(erasure).mean(1).tolist() == [1, 0.5, 1]


def test_comprehensiveness_and_sufficiency_of_five_words():
    """The bins take 1, 1, 1, 1 and 3 of five words; p = .9 of the whole, .7 and .2 without, .5 and .8 alone."""
    without = [[[1 - p, p]] for p in (0.9, 0.7, 0.4, 0.2)]
    alone = [[[1 - p, p]] for p in (0.9, 0.5, 0.6, 0.8)]
    erasure = by_table(without, alone, words=5)
    assert comprehensiveness(erasure).tolist() == pytest.approx([(4 * 0.2 + 0.7) / 5])
    assert sufficiency(erasure).tolist() == pytest.approx([(4 * 0.4 + 0.1) / 5])


def test_detection_is_a_mean_of_texts():
    """Marked {1, 3} with the first word found right, and {0} with the first wrong."""
    scores = [np.array([0.0, 9, 1, 2]), np.array([0.0, 0, 5])]
    precision, recall, f1 = detection(scores, [[1, 3], [0]], 1).T
    assert (precision.mean(), recall.mean()) == (0.5, 0.25)
    assert f1.mean() == pytest.approx(1 / 3)


def test_detection_knows_nothing_of_texts_in_which_nothing_is_marked_and_counts_no_word_twice():
    first, second = detection([np.array([3.0, 1]), np.array([1.0])], [[0, 0], []], 5)
    assert first.tolist() == pytest.approx([0.5, 1.0, 2 / 3])
    assert np.isnan(second).all()


def test_detection_by_class_looks_at_the_words_of_the_texts_own_label():
    gold, a, b = ["a", "b", "b"], Mark(0, 1, "a"), Mark(4, 5, "b")
    marks = [[a, Mark(2, 3, "b")], [Mark(0, 3, "b"), Mark(2, 3, "b")], [a, b._replace(name="a")]]
    texts = Texts(["x y z"] * 3, marks=marks)
    assert (marked := marked_words(texts, gold, Words.of(texts, word_spans), word_spans)) == [[0], [0, 1], []]
    scores = [np.array([3.0, 2, 1])] * 3
    assert detection_by_class(scores, marked, gold, ["a", "b", "c"], 2) == {
        "a": {"P@1": 100, "R@1": 100, "F1@1": 100, "P@2": 50, "R@2": 100, "F1@2": pytest.approx(200 / 3)},
        "b": {"P@1": 100, "R@1": 50, "F1@1": pytest.approx(200 / 3), "P@2": 100, "R@2": 100, "F1@2": 100},
    }


def test_words_with_a_character_of_a_mark_are_marked_in_both_texts_of_a_pair():
    """Read are two words of each text: those behind them, which were marked too, have numbers that no score has."""
    marks = [[Mark(0, 1), Mark(4, 6), Mark(1, 2, second=True), Mark(7, 8, "b", second=True)]]
    texts = Texts(["so dull, slow"], ["It is dry"], marks=marks)
    whole, read = Words.of(texts, word_spans), [["so", "dull,", "It", "is"]]
    assert marked_words(texts, ["a"], whole, word_spans) == [[0, 1, 3]]
    assert marked_words(texts, ["b"], whole, word_spans) == [[0, 1, 3, 5]]
    cut = replace(whole, counts=np.array([4]), names=read, second=[2])
    assert marked_words(texts, ["b"], cut, word_spans) == [[0, 1, 2, 7]]
    assert marked_words(replace(texts, marks=[[Mark(9, 13)]]), ["b"], cut, word_spans) == [[4]]


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=8), min_size=1, max_size=6), st.integers(1, 5), st.data()
)
def test_detection_against_a_loop(scores, count, data):
    marked = [data.draw(st.sets(st.integers(0, len(words) - 1))) for words in scores]
    expected = []
    for words, gold in zip(scores, marked, strict=True):
        order = sorted(range(len(words)), key=lambda place: (-words[place], place))[:count]
        right = sum(place in gold for place in order)
        precision, recall = right / min(count, len(words)), right / len(gold) if gold else 0
        f1 = 2 * precision * recall / (precision + recall) if right else 0
        expected.append((precision, recall, f1) if gold else [np.nan] * 3)
    found = detection([np.array(words) for words in scores], [sorted(gold) for gold in marked], count)
    assert found == pytest.approx(np.array(expected), nan_ok=True)


def test_agreement_is_scipys_tau_and_unknown_without_an_order():
    """The judge is left with e^-1, e^-2, ... where the first, second, ... word is gone."""
    scores = [np.array([0.1, 0.5, 0.2, 0.9]), np.ones(4), np.array([1.0]), np.array([0.3, 0.4, 0.1, 0.2])]

    def judge(encoded):
        lost = []
        for number in range(len(encoded)):
            ids = set((encoded[number]["input_ids"] % 1000).tolist())
            lost.append(min(set(range(4)) - ids, default=-1) + 1)
        likely = np.exp(-np.array(lost, float))
        return np.stack([likely, np.zeros(len(likely))], 1)

    reading = Reading(texts_of([4, 4, 1, 4]), judge, EMPTY, [0, 1, 2])
    found = loo_tau(Erasure(reading, scores))
    assert found[0] == pytest.approx(kendalltau(scores[0], [1, 2, 3, 4]).statistic)
    assert np.isnan(found[1:]).all()  # equal scores, one word, and a text that is not among those


def test_the_interval_holds_the_mean_and_shrinks_with_more_texts():
    few, many = np.tile([0.0, 1.0], 20), np.tile([0.0, 1.0], 2000)
    low, high = interval(few)
    assert low < 0.5 < high
    assert interval(many)[1] - interval(many)[0] < 0.2 * (high - low)
    # 1.96 standard errors, by theory
    assert high - low == pytest.approx(2 * 1.96 * 0.5 / len(few) ** 0.5, rel=0.15)


@pytest.mark.parametrize("at_once", [1, 500, 10**6])
def test_the_interval_is_that_of_means_drawn_one_by_one(at_once, monkeypatch):
    monkeypatch.setattr("salience.faithfulness.results.DRAWN_AT_ONCE", at_once)
    values = np.random.default_rng(1).normal(size=37)
    random = np.random.default_rng(0)
    means = [np.mean([values[place] for place in random.integers(37, size=37)]) for _ in range(2000)]
    assert interval(values) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), rel=1e-12)


def test_an_interval_of_equal_values_is_a_point_and_unknown_values_are_left_out():
    assert interval(np.array([0.25, np.nan, 0.25, np.inf])) == (0.25, 0.25)
    assert np.isnan(interval(np.array([np.nan]))).all()
