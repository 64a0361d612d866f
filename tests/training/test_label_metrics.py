"""The scores of several labels against scikit-learn, called independently, and against slow loops."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn import metrics as sk

from salience.scores.intervals import f1_intervals, label_scores_of_rows
from salience.scores.label_metrics import (
    detailed_label_scores,
    each_label,
    label_calibration_error,
    label_scores,
    label_selection,
)
from salience.scores.scoring import OF_ONE, OF_SEVERAL, label_scores_with_intervals, scoring_of

GENERATOR = np.random.default_rng(0)
LABELS = (GENERATOR.random((80, 4)) < [0.5, 0.3, 0.1, 0.02]).astype(int)
LABELS[:, 3] = 0  # a label without rows
PROBABILITIES = np.clip(0.6 * LABELS + GENERATOR.random((80, 4)) * 0.6, 0, 1).astype(np.float32)


def test_scores_of_every_evaluation_are_those_of_scikit_learn():
    predicted = (PROBABILITIES >= 0.5).astype(int)
    assert label_scores(PROBABILITIES, LABELS) == pytest.approx({
        "micro_f1": sk.f1_score(LABELS, predicted, average="micro"),
        "macro_f1": sk.f1_score(LABELS, predicted, average="macro", zero_division=0),
        "subset_accuracy": sk.accuracy_score(LABELS, predicted),
        "ranking_precision": sk.label_ranking_average_precision_score(LABELS, PROBABILITIES),
        "log_loss": np.mean([sk.log_loss(LABELS[:, c], PROBABILITIES[:, c], labels=[0, 1]) for c in range(4)]),
    })  # fmt: skip


def test_mean_average_precision_leaves_out_labels_without_rows():
    found = detailed_label_scores(PROBABILITIES, LABELS)
    assert found["mean_average_precision"] == pytest.approx(
        sk.average_precision_score(LABELS[:, :3], PROBABILITIES[:, :3], average="macro")
    )
    assert "micro_f1_at_thresholds" not in found
    assert detailed_label_scores(PROBABILITIES, np.zeros_like(LABELS))["mean_average_precision"] is None


def test_the_calibration_error_by_a_loop_over_bins():
    flat, ones = PROBABILITIES.ravel(), LABELS.ravel()
    total = 0.0
    for place in range(15):
        inside = (flat > place / 15) & (flat <= (place + 1) / 15) | ((place == 0) & (flat == 0))
        if inside.any():
            total += inside.mean() * abs(ones[inside].mean() - flat[inside].mean())
    assert label_calibration_error(PROBABILITIES, LABELS) == pytest.approx(total, abs=1e-6)
    certain = LABELS.astype(float)
    assert label_calibration_error(certain, LABELS) == 0 == label_calibration_error(certain, LABELS, equal_mass=True)


def test_each_label_by_scikit_learn():
    decided = PROBABILITIES >= [0.4, 0.5, 0.6, 0.7]
    found = each_label(PROBABILITIES, LABELS, decided, list("abcd"), np.array([0.4, 0.5, 0.6, 0.7]))
    for number, name in enumerate("abc"):
        own, theirs = found[name], decided[:, number].astype(int)
        precision, recall, f1, _ = sk.precision_recall_fscore_support(LABELS[:, number], theirs, average="binary")
        assert [own["precision"], own["recall"], own["f1"]] == pytest.approx([precision, recall, f1])
        average = sk.average_precision_score(LABELS[:, number], PROBABILITIES[:, number])
        assert own["average_precision"] == pytest.approx(average)
        assert (own["rows"], own["predicted"]) == (LABELS[:, number].sum(), theirs.sum())
    assert found["d"]["recall"] is None and found["d"]["average_precision"] is None
    assert [found[name]["threshold"] for name in "abcd"] == [0.4, 0.5, 0.6, 0.7]


def test_a_later_checkpoint_is_selected_if_it_is_not_clearly_worse():
    ranking = sk.label_ranking_average_precision_score(LABELS, PROBABILITIES)
    assert label_selection(PROBABILITIES, LABELS, 0.0) == pytest.approx(ranking)
    right = ranking * 80
    error = np.sqrt((right + 1) * (80 - right + 1) / 82**3)
    assert label_selection(PROBABILITIES, LABELS, 0.5) == pytest.approx(ranking + error)


@pytest.mark.parametrize("by_group", [False, True])
def test_intervals_are_those_of_a_bootstrap_by_loops(by_group):
    predicted = (PROBABILITIES >= 0.5).astype(int)
    groups = np.arange(80) // 4 if by_group else None
    found = f1_intervals(LABELS, predicted, groups, seed=3)
    draw, micro, macro = np.random.default_rng(9), [], []
    for _ in range(1500):
        if by_group:
            rows = np.concatenate([np.flatnonzero(groups == each) for each in draw.integers(20, size=20)])
        else:
            rows = draw.integers(80, size=80)
        right = (LABELS[rows] & predicted[rows]).sum(0)
        both = LABELS[rows].sum(0) + predicted[rows].sum(0)
        micro.append(2 * right.sum() / both.sum())
        macro.append(np.mean([2 * r / b if b else 0 for r, b in zip(right, both, strict=True)]))
    assert found["micro_f1"] == pytest.approx(np.quantile(micro, [0.025, 0.975]), abs=0.02)
    assert found["macro_f1"] == pytest.approx(np.quantile(macro, [0.025, 0.975]), abs=0.02)


@pytest.mark.parametrize("by_group", [False, True])
def test_intervals_of_rows_are_those_of_a_bootstrap_by_loops(by_group):
    groups = np.arange(80) // 4 if by_group else None
    decided = PROBABILITIES >= 0.4
    found = label_scores_of_rows(PROBABILITIES, LABELS, decided, groups, seed=3)
    draw, ranking, calibration = np.random.default_rng(3), [], []
    for _ in range(1000):
        chosen = draw.integers(20 if by_group else 80, size=20 if by_group else 80)
        rows = np.concatenate([np.flatnonzero(groups == each) for each in chosen]) if by_group else chosen
        ranking.append(sk.label_ranking_average_precision_score(LABELS[rows], PROBABILITIES[rows]))
        calibration.append(label_calibration_error(PROBABILITIES[rows], LABELS[rows]))
    assert found["ranking_precision"].interval == pytest.approx(np.quantile(ranking, [0.025, 0.975]))
    (low, high), own = np.quantile(calibration, [0.025, 0.975]), label_calibration_error(PROBABILITIES, LABELS)
    assert found["calibration_error"] == (own, pytest.approx([max(2 * own - high, 0), 2 * own - low]))
    assert found["macro_f1"].value == pytest.approx(sk.f1_score(LABELS, decided, average="macro"))
    right = int((decided == LABELS).all(1).sum())
    assert found["subset_accuracy"].value == right / 80
    if not by_group:
        wilson = binomtest(right, 80).proportion_ci(method="wilson")
        assert found["subset_accuracy"].interval == pytest.approx((wilson.low, wilson.high))


def test_without_variation_there_is_no_interval():
    assert f1_intervals(LABELS, LABELS, None) == {"micro_f1": None, "macro_f1": None}
    assert label_scores_with_intervals(LABELS.astype(np.float32), LABELS, None, 0)["micro_f1_at_thresholds"] == 1


def test_the_scoring_follows_from_the_labels():
    assert scoring_of(LABELS) is OF_SEVERAL and scoring_of(LABELS[:, 0]) is OF_ONE
