"""The scores of several labels against scikit-learn, called independently, and against slow loops."""

import numpy as np
import pytest
from sklearn import metrics as sk

from salience.scores.labels import ONE_LABEL, SEVERAL_LABELS, labels_in, labels_of
from salience.scores.metrics import each_label, ranking_precisions

GENERATOR = np.random.default_rng(0)
LABELS = (GENERATOR.random((80, 4)) < [0.5, 0.3, 0.1, 0.02]).astype(int)
LABELS[:, 3] = 0  # a label without rows
PROBABILITIES = np.clip(0.6 * LABELS + GENERATOR.random((80, 4)) * 0.6, 0, 1).astype(np.float32)


def test_scores_of_every_evaluation_are_those_of_scikit_learn():
    predicted = (PROBABILITIES >= 0.5).astype(int)
    assert SEVERAL_LABELS.scores(PROBABILITIES, LABELS) == pytest.approx({
        "micro_f1": sk.f1_score(LABELS, predicted, average="micro"),
        "macro_f1": sk.f1_score(LABELS, predicted, average="macro", zero_division=0),
        "subset_accuracy": sk.accuracy_score(LABELS, predicted),
        "ranking_precision": sk.label_ranking_average_precision_score(LABELS, PROBABILITIES),
        "log_loss": np.mean([sk.log_loss(LABELS[:, c], PROBABILITIES[:, c], labels=[0, 1]) for c in range(4)]),
    })  # fmt: skip


def test_mean_average_precision_leaves_out_labels_without_rows():
    found = SEVERAL_LABELS.detailed(PROBABILITIES, LABELS)
    assert found["mean_average_precision"] == pytest.approx(
        sk.average_precision_score(LABELS[:, :3], PROBABILITIES[:, :3], average="macro")
    )
    assert "micro_f1_at_thresholds" not in found
    assert SEVERAL_LABELS.detailed(PROBABILITIES, np.zeros_like(LABELS))["mean_average_precision"] is None


def test_the_calibration_error_by_a_loop_over_bins():
    flat, ones = PROBABILITIES.ravel(), LABELS.ravel()
    total = 0.0
    for place in range(15):
        inside = (flat > place / 15) & (flat <= (place + 1) / 15) | ((place == 0) & (flat == 0))
        if inside.any():
            total += inside.mean() * abs(ones[inside].mean() - flat[inside].mean())
    assert SEVERAL_LABELS.calibration_error(PROBABILITIES, LABELS) == pytest.approx(total, abs=1e-6)
    certain = LABELS.astype(float)
    assert (
        SEVERAL_LABELS.calibration_error(certain, LABELS)
        == 0
        == SEVERAL_LABELS.calibration_error(certain, LABELS, equal_mass=True)
    )


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
    assert SEVERAL_LABELS.selection(PROBABILITIES, LABELS, 0.0) == pytest.approx(ranking)
    right = ranking * 80
    error = np.sqrt((right + 1) * (80 - right + 1) / 82**3)
    assert SEVERAL_LABELS.selection(PROBABILITIES, LABELS, 0.5) == pytest.approx(ranking + error)


MORE = np.random.default_rng(1)


def made_up(rows: int, skill: float, labels: np.ndarray) -> np.ndarray:
    logits = MORE.normal(size=(rows, labels.shape[1])) + skill * (2 * labels - 1)
    return (1 / (1 + np.exp(-logits))).astype(np.float32)


MANY = (MORE.random((400, 4)) < [0.5, 0.3, 0.2, 0.1]).astype(int)
MANY[0], MANY[1] = 0, 1  # no label, and all
BETTER, WORSE = made_up(400, 1.2, MANY), made_up(400, 0.8, MANY)
TIED = np.round(WORSE, 1)


@pytest.mark.parametrize("probabilities", [BETTER, TIED], ids=["different", "tied"])
def test_ranking_precision_of_each_row_is_that_of_scikit_learn(probabilities):
    expected = [
        sk.label_ranking_average_precision_score(MANY[row : row + 1], probabilities[row : row + 1])
        for row in range(len(MANY))
    ]
    assert ranking_precisions(probabilities, MANY) == pytest.approx(expected)


@pytest.mark.parametrize("probabilities", [BETTER, TIED], ids=["different", "tied"])
def test_the_mean_over_rows_is_the_score(probabilities):
    whole, by_row = SEVERAL_LABELS.scores(probabilities, MANY), SEVERAL_LABELS.row_scores(probabilities, MANY)
    assert by_row.keys() == whole.keys()
    assert {name: values.mean() for name, values in by_row.items()} == pytest.approx(whole, abs=1e-6)


def test_scores_without_any_label_or_prediction_are_zero():
    rows = SEVERAL_LABELS.row_scores(np.full((5, 3), 0.1), np.zeros((5, 3), int))
    assert not rows["micro_f1"].any() and not rows["macro_f1"].any() and rows["subset_accuracy"].all()
    one_absent = MANY[2:].copy()
    one_absent[:, 3] = 0
    probabilities = np.where(np.arange(4) == 3, 0.2, BETTER[2:])
    assert np.isfinite(SEVERAL_LABELS.row_scores(probabilities, one_absent)["macro_f1"]).all()


def test_the_spread_of_linearised_rows_is_that_of_a_paired_bootstrap():
    """The variance of the difference between two methods over rows that are drawn again, each time scored anew."""
    replicates, generator = [], np.random.default_rng(0)
    for _ in range(1000):
        drawn = generator.integers(len(MANY), size=len(MANY))
        right, both = (
            np.array([count(MANY[drawn], each[drawn] >= 0.5).sum(0) for each in (BETTER, WORSE)])
            for count in (np.multiply, np.add)
        )
        replicates.append([2 * right.sum(1) / both.sum(1), (2 * right / both).mean(1)])
    spread = np.diff(replicates)[..., 0]
    for score, values in zip(("micro_f1", "macro_f1"), -spread.T, strict=True):
        difference = SEVERAL_LABELS.row_scores(BETTER, MANY)[score] - SEVERAL_LABELS.row_scores(WORSE, MANY)[score]
        assert difference.std() / np.sqrt(len(MANY)) == pytest.approx(np.std(values), rel=0.1)
        assert difference.mean() == pytest.approx(np.mean(values), abs=0.1 * np.std(values))


def test_f1_of_each_label_is_that_of_scikit_learn():
    found = SEVERAL_LABELS.class_scores(BETTER, MANY)
    assert found["f1"] == pytest.approx(sk.f1_score(MANY, BETTER >= 0.5, average=None))
    assert found["support"].tolist() == MANY.sum(0).tolist()


def test_the_main_score_is_a_mean_over_rows_whose_difference_is_computed():
    for kind, labels, probabilities in (
        (SEVERAL_LABELS, MANY, BETTER), (ONE_LABEL, MANY.argmax(1), BETTER / BETTER.sum(1, keepdims=True)),
    ):  # fmt: skip
        found = kind.detailed(probabilities, labels)
        assert kind.main in kind.row_scores(probabilities, labels) and kind.main in kind.compared
        assert set(kind.beside) < kind.compared.keys() <= found.keys()
        assert labels_of(labels) is kind is labels_in(found)
        assert kind.support(labels, 4).tolist() == kind.class_scores(probabilities, labels)["support"].tolist()
