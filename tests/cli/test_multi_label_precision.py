"""`salience train --target-precision` on texts with several labels, as a user meets it."""

import json
import shutil

import numpy as np
import pytest

from labelled import rows_of_several, write_csv
from salience.cli.main import main
from salience.report.run_page import decision_thresholds
from salience.runs.results import read_run
from salience.scores.calibration import with_label_temperature
from salience.scores.thresholds import precision_thresholds

pytestmark = pytest.mark.whole
OPTIONS = ["--method", "plain", "--learning-rate", "0.02", "--steps", "60", "--estimate", "folds:2", "--set",
           "calibrate=true"]  # fmt: skip


@pytest.fixture(scope="module")
def run(place, tmp_path_factory):
    """A run whose estimate reaches the target for some labels at least."""
    folder = tmp_path_factory.mktemp("precise")
    data = write_csv(folder / "train.csv", rows_of_several(150, 0))
    test = write_csv(folder / "test.csv", rows_of_several(24, 1))
    options = [*OPTIONS, "--test", test, "--target-precision", "0.8", "--output", folder / "run"]
    assert main(place.train(*options, data=data)) == 0
    return folder / "run"


def test_the_thresholds_are_those_of_the_rows_of_the_estimate(run):
    metrics, config = (json.loads((run / name).read_text()) for name in ("metrics.json", "config.json"))
    estimate = metrics["estimate"]
    with np.load(run / "out_of_fold.npz") as arrays:
        final = with_label_temperature(arrays["probabilities"], estimate["temperature_scaling"]["temperature"])
        labels, decided, names = arrays["labels"], arrays["decided"], arrays["names"].tolist()
    thresholds = precision_thresholds(final, labels, 0.8)
    assert [config["label_thresholds"][name] for name in names] == thresholds.tolist() and (thresholds < 1).any()
    assert (decided == ((final >= thresholds) & (thresholds < 1))).all()
    right = 2 * (decided & (labels == 1)).sum() / (decided.sum() + labels.sum())
    assert estimate["micro_f1_at_thresholds"] == pytest.approx(right)
    assert [estimate["label_precision"]["labels"][name]["predicted"] for name in names] == decided.sum(0).tolist()
    assert not (run / "abstention.json").exists()


def test_a_finished_run_gets_the_thresholds_of_a_training_for_them(run, salience, tmp_path):
    """From a run without: its thresholds are 0.5, and nothing in the folder is decided by others."""
    copied = tmp_path / "run"
    shutil.copytree(run, copied)
    metrics, config = (json.loads((run / name).read_text()) for name in ("metrics.json", "config.json"))
    before = {each: value for each, value in metrics["estimate"].items() if each != "label_precision"}
    (copied / "metrics.json").write_text(json.dumps({**metrics, "estimate": before, "labels": {}}))
    (copied / "config.json").write_text(json.dumps(config | {"label_thresholds": None}))
    for name in ("out_of_fold.npz", "probabilities.npz"):
        with np.load(run / name) as arrays:
            np.savez(copied / name, **{**arrays, "decided": arrays["probabilities"] >= 0.5})
    answer = salience("thresholds", copied, "--target-precision", "0.8", "--save")
    assert answer.code == 0 and "labels reach it (95 % certainty" in answer.out
    assert json.loads((copied / "metrics.json").read_text()) == metrics
    assert json.loads((copied / "config.json").read_text()) == config
    for name in ("README.md", "predictions.jsonl", "out_of_fold.jsonl", "out_of_fold.npz", "probabilities.npz"):
        assert (copied / name).read_bytes() == (run / name).read_bytes(), name


def test_predict_gives_the_labels_that_reach_their_threshold(run, salience):
    thresholds = json.loads((run / "config.json").read_text())["label_thresholds"]
    answer = salience("predict", run, run.parent / "test.csv", "--device", "cpu", "--output", run.parent / "out.jsonl")
    assert answer.code == 0, answer.err
    for line in map(json.loads, (run.parent / "out.jsonl").read_text().splitlines()):
        assert line["predicted"] == [
            name for name, value in line["probabilities"].items() if value >= thresholds[name]
        ]
    per_label = json.loads((run / "metrics.json").read_text())["labels"]
    assert {name: each["threshold"] for name, each in per_label.items()} == thresholds


def test_the_card_and_the_report_say_which_labels_reach_it(run):
    line = "labels reach it (95 % certainty on 150 rows of the estimate"
    assert line in (run / "README.md").read_text() and line in (run / "report.html").read_text()


@pytest.mark.whole
def test_a_label_out_of_reach_is_said_and_never_predicted(place, salience, tmp_path):
    """The labels of the texts are drawn by chance; most texts have one, which reaches the target all the same."""
    random = np.random.default_rng(0)
    rows = [
        (text, json.dumps([name for name, share in (("usual", 0.97), ("chance", 0.3)) if random.random() < share]))
        for text, _ in rows_of_several(200, 0)
    ]
    data = write_csv(tmp_path / "chance.csv", rows)
    options = [*OPTIONS, "--target-precision", "0.7", "--output", tmp_path / "run"]
    answer = salience(*place.train(*options, data=data))
    assert answer.code == 0, answer.err
    finished = read_run(tmp_path / "run")
    assert finished.judge == "estimate"
    thresholds = decision_thresholds(finished, finished.predictions)
    decided = (finished.predictions.probabilities >= thresholds) & (thresholds < 1)
    assert (decided == finished.predictions.decided).all() and (thresholds == 1).any(0).tolist() == [True, False]
    assert "1 of 2 labels reach it" in answer.out and 'out of reach: "chance" (not even 0.5)' in answer.out
    answer = salience("predict", tmp_path / "run", data, "--output", tmp_path / "out.jsonl")
    predicted = [json.loads(line)["predicted"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert all(each in ([], ["usual"]) for each in predicted) and ["usual"] in predicted


def test_too_few_rows_are_refused_before_training(place, several_files, salience, tmp_path):
    options = ["--estimate", "folds:2", "--target-precision", "0.95", "--output", tmp_path / "run"]
    answer = salience(*place.train(*options, data=several_files[0]))
    assert answer.code == 2 and "0.95 needs at least 80 rows of a label in the estimate, and the most" in answer.err
    assert not (tmp_path / "run").exists()
