"""Sets of labels: against a slow loop, how often they hold the label among simulated texts, and damaged files."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from salience.classify.predictor import AddedColumns, lowest_in_set, lowest_of_run
from salience.errors import InputError
from salience.scores.labels import ONE_LABEL, SEVERAL_LABELS

LABELS = ["a", "b", "c"]


def slow_set(calibration: np.ndarray, labels: np.ndarray, new: list[float], level: float) -> set[int]:
    """Labels whose score is among those of the rows often enough: the p-value of the label, by a loop.

    A label y is in the set if (1 + the number of rows with a score of at most its own) / (N + 1) > 1 - level.
    """
    scores = [calibration[row, label] for row, label in enumerate(labels)]
    found = set()
    for label, probability in enumerate(new):
        p_value = (1 + sum(score <= probability for score in scores)) / (len(scores) + 1)
        if p_value > 1 - level + 1e-12:
            found.add(label)
    return found


@pytest.mark.parametrize("rows", [19, 20, 29, 30, 57])
def test_against_p_values(rows):
    random = np.random.default_rng(rows)
    probabilities, labels = random.dirichlet(np.ones(3), rows), random.integers(0, 3, rows)
    for level in (0.5, 0.8, 0.9, 0.95):
        added = AddedColumns(ONE_LABEL, LABELS, "", False, None, lowest_in_set(probabilities, labels, level))
        for new in random.dirichlet(np.ones(3), 50).tolist():
            found = added.named(new)["label_set"]
            numbers = slow_set(probabilities, labels, new, level) | {int(np.argmax(new))}
            assert {LABELS.index(label) for label in found} == numbers
            assert found == sorted(found, key=lambda label: -new[LABELS.index(label)])


@pytest.mark.parametrize(("level", "rows"), [(0.9, 29), (0.8, 44), (0.5, 3)])
def test_how_often_a_set_holds_the_label(level, rows):
    """Exactly k / (N + 1) of the time where scores have no ties, without the rule that no set is empty."""
    random = np.random.default_rng(0)
    held, times = 0, 6000
    for _ in range(times):
        probabilities = random.dirichlet(np.ones(3), rows + 1)
        labels = (random.random((rows + 1, 1)) > probabilities.cumsum(1)).sum(1)
        held += probabilities[-1, labels[-1]] >= lowest_in_set(probabilities[:-1], labels[:-1], level)
    expected = math.ceil((rows + 1) * level) / (rows + 1)
    assert level <= expected
    assert held / times == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / times))


def test_too_few_rows_for_a_level():
    probabilities, labels = np.tile([0.7, 0.2, 0.1], (19, 1)), np.zeros(19, int)
    assert lowest_in_set(probabilities, labels, 0.95) == 0.7
    with pytest.raises(InputError, match=r"--sets 0.95 needs at least 19 rows of an estimate, and there are 18"):
        lowest_in_set(probabilities[1:], labels[1:], 0.95)


def write_run(folder, calibrated=False, temperature=2.0, **changed):
    random = np.random.default_rng(0)
    arrays = {"probabilities": random.dirichlet(np.ones(3), 40).astype(np.float32),
              "labels": random.integers(0, 3, 40), "names": np.array(LABELS)}  # fmt: skip
    arrays |= changed
    np.savez(folder / "out_of_fold.npz", **{name: value for name, value in arrays.items() if value is not None})
    estimate = {"temperature_scaling": {"temperature": temperature}, "calibrated": calibrated}
    (folder / "metrics.json").write_text(json.dumps({"estimate": estimate}))
    return arrays["probabilities"], arrays["labels"]


def test_the_temperature_of_the_model_counts(tmp_path):
    probabilities, labels = write_run(tmp_path)
    assert lowest_of_run(tmp_path, LABELS, 0.9) == pytest.approx(lowest_in_set(probabilities, labels, 0.9))
    write_run(tmp_path, calibrated=True)
    roots = np.sqrt(probabilities)  # T = 2
    expected = lowest_in_set(roots / roots.sum(1, keepdims=True), labels, 0.9)
    assert lowest_of_run(tmp_path, LABELS, 0.9) == pytest.approx(expected, abs=1e-6)


def test_of_a_group_one_row_counts(tmp_path):
    write_run(tmp_path, group=np.arange(40) // 4)
    assert 0 < lowest_of_run(tmp_path, LABELS, 0.9) < 1  # ten groups are enough
    with pytest.raises(InputError, match="at least 19 rows of an estimate, and there are 10"):
        lowest_of_run(tmp_path, LABELS, 0.95)


def test_a_run_without_an_estimate(tmp_path):
    with pytest.raises(InputError, match=r"has no out_of_fold.npz: train it with --estimate folds:5"):
        lowest_of_run(tmp_path, LABELS, 0.9)
    for level in (0, 1, -1, 90, math.nan):
        with pytest.raises(InputError, match="give the share"):
            lowest_of_run(tmp_path, LABELS, level)


@pytest.mark.parametrize(
    "changed",
    [
        {"probabilities": np.full((40, 3), np.nan, np.float32)}, {"probabilities": np.ones((40, 2), np.float32)},
        {"probabilities": np.ones((40, 3), int)}, {"labels": np.full(40, 3)}, {"labels": np.full(40, -1)},
        {"labels": np.full(40, 0.5)}, {"names": np.array(["a", "b", "x"])}, {"names": np.array([["a"]], object)},
        {"labels": None}, {"group": np.arange(3)}, {"temperature": "hot", "calibrated": True},
        {"temperature": math.nan, "calibrated": True}, {"temperature": -1.0, "calibrated": True},
    ],
    ids=str,
)  # fmt: skip
def test_a_damaged_file_is_one_line(changed, tmp_path):
    write_run(tmp_path, **changed)
    with pytest.raises(InputError, match="damaged") as error:
        lowest_of_run(tmp_path, LABELS, 0.9)
    assert "\n" not in str(error.value) and len(str(error.value)) < 600


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY", b"text\n\xff"])
def test_a_file_that_is_no_archive(content, tmp_path):
    write_run(tmp_path)
    (tmp_path / "out_of_fold.npz").write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        lowest_of_run(tmp_path, LABELS, 0.9)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"estimate": 3}', "[" * 100_000])
def test_metrics_that_say_nothing(content, tmp_path):
    write_run(tmp_path)
    (tmp_path / "metrics.json").write_text(content)
    with pytest.raises(InputError, match="damaged"):
        lowest_of_run(tmp_path, LABELS, 0.9)


def test_a_label_whose_threshold_is_1_is_never_predicted():
    """A sigmoid is 1 in floating point from a logit of 17 on."""
    added = AddedColumns(SEVERAL_LABELS, ["joy", "fear"], "", True, [1.0, 0.999])
    assert added.named([1.0, 1.0]) == {"predicted": '["fear"]', "probability_joy": 1, "probability_fear": 1}
    assert added.named(None) == dict.fromkeys(added.names) and added.texts == ["predicted"]
