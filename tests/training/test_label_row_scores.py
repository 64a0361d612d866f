"""Scores of rows with several labels: against scikit-learn row by row, and their spread against a bootstrap."""

import numpy as np
import pytest
from sklearn import metrics as sk

from salience.scores.label_metrics import label_class_scores, label_row_scores, label_scores, ranking_precisions
from salience.scores.scoring import OF_ONE, OF_SEVERAL

GENERATOR = np.random.default_rng(1)


def made_up(rows: int, skill: float, labels: np.ndarray) -> np.ndarray:
    logits = GENERATOR.normal(size=(rows, labels.shape[1])) + skill * (2 * labels - 1)
    return (1 / (1 + np.exp(-logits))).astype(np.float32)


LABELS = (GENERATOR.random((400, 4)) < [0.5, 0.3, 0.2, 0.1]).astype(int)
LABELS[0], LABELS[1] = 0, 1  # no label, and all
BETTER, WORSE = made_up(400, 1.2, LABELS), made_up(400, 0.8, LABELS)
TIED = np.round(WORSE, 1)


@pytest.mark.parametrize("probabilities", [BETTER, TIED], ids=["different", "tied"])
def test_ranking_precision_of_each_row_is_that_of_scikit_learn(probabilities):
    expected = [
        sk.label_ranking_average_precision_score(LABELS[row : row + 1], probabilities[row : row + 1])
        for row in range(len(LABELS))
    ]
    assert ranking_precisions(probabilities, LABELS) == pytest.approx(expected)


@pytest.mark.parametrize("probabilities", [BETTER, TIED], ids=["different", "tied"])
def test_the_mean_over_rows_is_the_score(probabilities):
    whole, by_row = label_scores(probabilities, LABELS), label_row_scores(probabilities, LABELS)
    assert by_row.keys() == whole.keys()
    assert {name: values.mean() for name, values in by_row.items()} == pytest.approx(whole, abs=1e-6)


def test_scores_without_any_label_or_prediction_are_zero():
    rows = label_row_scores(np.full((5, 3), 0.1), np.zeros((5, 3), int))
    assert not rows["micro_f1"].any() and not rows["macro_f1"].any() and rows["subset_accuracy"].all()
    one_absent = LABELS[2:].copy()
    one_absent[:, 3] = 0
    probabilities = np.where(np.arange(4) == 3, 0.2, BETTER[2:])
    assert np.isfinite(label_row_scores(probabilities, one_absent)["macro_f1"]).all()


@pytest.mark.parametrize("score", ["micro_f1", "macro_f1"])
def test_the_spread_of_linearised_rows_is_that_of_a_paired_bootstrap(score):
    """The variance of the difference between two methods over rows that are drawn again, each time scored anew."""
    average = score.removesuffix("_f1")
    difference = label_row_scores(BETTER, LABELS)[score] - label_row_scores(WORSE, LABELS)[score]
    replicates, generator = [], np.random.default_rng(0)
    for _ in range(1000):
        drawn = generator.integers(len(LABELS), size=len(LABELS))
        one, other = (
            sk.f1_score(LABELS[drawn], each[drawn] >= 0.5, average=average, zero_division=0)
            for each in (BETTER, WORSE)
        )
        replicates.append(one - other)
    assert difference.std() / np.sqrt(len(LABELS)) == pytest.approx(np.std(replicates), rel=0.1)
    assert difference.mean() == pytest.approx(np.mean(replicates), abs=0.1 * np.std(replicates))


def test_f1_of_each_label_is_that_of_scikit_learn():
    found = label_class_scores(BETTER, LABELS)
    assert found["f1"] == pytest.approx(sk.f1_score(LABELS, BETTER >= 0.5, average=None))
    assert found["support"].tolist() == LABELS.sum(0).tolist()


@pytest.mark.parametrize("scoring", [OF_ONE, OF_SEVERAL], ids=["one label", "several"])
def test_the_main_score_is_a_mean_over_rows_whose_difference_is_computed(scoring):
    labels, probabilities = LABELS, BETTER
    if scoring is OF_ONE:
        labels, probabilities = LABELS.argmax(1), BETTER / BETTER.sum(1, keepdims=True)
    assert scoring.main in scoring.row_scores(probabilities, labels) and scoring.main in scoring.compared
    assert set(scoring.beside) < scoring.compared.keys()
    assert scoring.compared.keys() <= scoring.detailed(probabilities, labels).keys()
