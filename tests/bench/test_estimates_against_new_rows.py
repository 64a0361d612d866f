"""bench/estimates.py: the estimate of a run beside the scores of its model on other rows."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import estimates
import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.scores.predictions import Predictions
from salience.scores.thresholds import lowest_threshold
from salience.training.recipe import Recipe


def run_of(estimated: float, accuracy: float, interval: list[float]) -> dict:
    return {
        "set": "made-up", "size": 50, "seed": 7, "kind": "folds:2", "estimated": estimated, "accuracy": accuracy,
        "interval": interval, "head_alone": 0.5, "head_alone_of_more": 0.53,
        "calibration_error": 0.2, "scaled_calibration_error": 0.1, "noise_floor": 0.03,
        "log_loss": 0.9, "scaled_log_loss": 0.7, "seconds": 10.0, "estimate_seconds": 9.0,
        "decided": {str(target): {"coverage": 0.0, "precision": None} for target in estimates.TARGETS},
    }  # fmt: skip


def test_the_numbers_of_the_table():
    rows = [run_of(0.70, 0.73, [0.6, 0.8]), run_of(0.79, 0.78, [0.75, 0.83]), run_of(0.5, 0.6, [0.4, 0.55])]
    found = estimates.summary(rows)
    assert found["bias"] == pytest.approx(-4)  # (-3 + 1 - 10) / 3
    assert found["error"] == pytest.approx((110 / 3) ** 0.5)
    assert found["covered"] == pytest.approx(2 / 3) and found["cost"] == pytest.approx(0.9)
    # With three points more: (0 + 4 - 7) / 3, and the root of (0 + 16 + 49) / 3.
    line = "| 50 | folds:2 | 3 | -4.0 | 6.06 | -1.0 | 4.65 | 0.667 | 0.2 | 0.1 |"
    assert estimates.table(rows).splitlines()[-1].startswith(line)


def test_the_noise_floor_is_that_of_labels_which_the_probabilities_give():
    """Certain predictions are never wrong; fair coins are off by the mean deviation of a bin's share."""
    assert estimates.noise_floor(np.eye(3)[[0, 2, 1, 1]]) == 0
    nearly_fair = np.linspace(0.5, 0.501, 1500)  # equal ones would all be in one bin
    floor = estimates.noise_floor(np.stack([nearly_fair, 1 - nearly_fair], 1))
    # 15 bins of 100 coins: the mean of |share - 1/2| is sqrt(2 / pi) * 0.05.
    assert floor == pytest.approx((2 / np.pi) ** 0.5 * 0.05, rel=0.05)


def test_the_table_of_targets():
    """Three runs: one decides nothing, one meets the target, one does not."""
    rows = [run_of(0.7, 0.7, [0.6, 0.8]) for _ in range(3)]
    rows[1]["decided"] = rows[1]["decided"] | {"0.9": {"coverage": 0.5, "precision": 0.9}}
    rows[2]["decided"] = rows[2]["decided"] | {"0.9": {"coverage": 0.75, "precision": 0.85}}
    assert estimates.table_of_targets(rows).splitlines()[2:] == [
        "| 50 | folds:2 | 0.8 | 0 of 3 |  |  |",
        "| 50 | folds:2 | 0.9 | 2 of 3 | 0.62 | 1 of 2 |",
        "| 50 | folds:2 | 0.95 | 0 of 3 |  |  |",
    ]


def test_thresholds_of_an_estimate_decide_new_rows():
    """The estimate is right above a confidence of 0.8 and wrong below; so are the new rows, by counting."""
    confidence = np.linspace(0.5, 1, 201)[:-1]
    right = confidence > 0.8
    probabilities = np.stack([confidence, 1 - confidence], 1)
    made = SimpleNamespace(predictions=Predictions(probabilities, 1 - right.astype(int)), temperature=1.0)
    new = np.array([0.55, 0.7, 0.85, 0.95, 0.99])
    found = estimates.decided(made, 0.9, np.stack([new, 1 - new], 1), np.array([0, 1, 0, 0, 1]), ["no", "yes"])
    threshold = lowest_threshold(confidence, right, 0.9, 0.05)
    assert 0.7 < threshold < 0.85
    assert found == {"coverage": pytest.approx(3 / 5), "precision": pytest.approx(2 / 3)}


def test_a_model_is_trained_once_for_all_kinds(tmp_path):
    data, test = (
        write_csv(tmp_path / "rows.csv", labelled_rows(30)),
        write_csv(tmp_path / "new.csv", labelled_rows(9, 1)),
    )
    model = families.save_tiny_model(tmp_path / "tiny", [*WORDS.values(), " ".join(FILLER)])
    recipe = Recipe(str(data), test=str(test), model=str(model), steps=3, device="cpu", precision="fp32")
    rows = list(estimates.rows_of_run(recipe, ["folds:2", "holdout"]))
    assert [row["kind"] for row in rows] == ["folds:2", "holdout"]
    assert len({row["accuracy"] for row in rows}) == 1
    assert all(row["estimate_seconds"] > 0 and row["seconds"] > 0 for row in rows)


def test_finished_runs_are_not_made_again(tmp_path, monkeypatch, capsys):
    made = []
    monkeypatch.setattr(estimates, "development_set", lambda name, *_: {"data": f"{name}.csv"})

    def rows_of_run(recipe, kinds):
        made.append((recipe.data, recipe.size, recipe.seed))
        return [run_of(0.7, 0.7, [0.6, 0.8])]

    monkeypatch.setattr(estimates, "rows_of_run", rows_of_run)
    asked = [
        "bench",
        "--data-dir",
        "data",
        "--results",
        str(tmp_path / "rows.jsonl"),
        "--sets",
        "trec",
        "--sizes",
        "50",
    ]
    for seeds in (["0"], ["0", "1"]):
        monkeypatch.setattr(sys, "argv", [*asked, "--seeds", *seeds])
        estimates.main()
    assert made == [("trec.csv", 50, 0), ("trec.csv", 50, 1)]
    # The set, size and seed of a row are those that the command names.
    assert [json.loads(line)["seed"] for line in (tmp_path / "rows.jsonl").read_text().splitlines()] == [0, 1]
