"""`salience train --target-precision`, and `salience predict` below the thresholds, as a user meets them."""

import csv
import json
import shutil

import numpy as np
import pyarrow.parquet
import pytest
from test_bad_input import refused

from labelled import labelled_rows, write_csv
from salience import Predictor
from salience.scores.calibration import with_temperature
from salience.scores.thresholds import find_thresholds

TEST = labelled_rows(30, seed=1)


@pytest.fixture(scope="module")
def run(abstaining_run):
    return abstaining_run


@pytest.fixture
def strict(run, tmp_path):
    """The run with thresholds that some of the texts exceed."""
    copied = tmp_path / "strict"
    copied.mkdir()
    for file in run.iterdir():
        (copied / file.name).write_bytes(file.read_bytes())
    probabilities = np.load(run / "probabilities.npz")["probabilities"].max(1)
    middle = float(np.median(probabilities))
    content = json.loads((run / "abstention.json").read_text())
    content["thresholds"] = dict.fromkeys(content["thresholds"], middle)
    (copied / "abstention.json").write_text(json.dumps(content))
    return copied, middle


def rows_of(text: str) -> list[dict]:
    return list(csv.DictReader(text.splitlines()))


def test_the_thresholds_are_those_of_the_rows_of_the_estimate(run):
    metrics = json.loads((run / "metrics.json").read_text())
    found, held = metrics["abstention"], json.loads((run / "abstention.json").read_text())
    assert held == {name: found[name] for name in ("target_precision", "certainty", "thresholds")}
    assert (held["target_precision"], held["certainty"]) == (0.7, 0.95)
    with np.load(run / "out_of_fold.npz") as arrays:
        final = with_temperature(arrays["probabilities"], metrics["estimate"]["temperature_scaling"]["temperature"])
        names, labels = arrays["names"].tolist(), arrays["labels"]
    thresholds = find_thresholds(final, labels, 0.7)
    assert [held["thresholds"][name] for name in names] == thresholds.tolist() and (thresholds < 1).any()
    decided = final.max(1) > thresholds[final.argmax(1)]
    assert (found["rows"], found["decided"], found["coverage"]) == (90, decided.sum(), decided.mean())
    assert found["precision"] == (final.argmax(1) == labels)[decided].mean() >= 0.7
    assert found["coverage_interval"][0] <= found["coverage"] <= found["coverage_interval"][1]


def test_a_finished_run_gets_the_thresholds_of_a_training_for_them(run, salience, tmp_path):
    copied = tmp_path / "run"
    shutil.copytree(run, copied)
    (copied / "abstention.json").unlink()
    metrics = json.loads((run / "metrics.json").read_text())
    (copied / "metrics.json").write_text(json.dumps({**metrics, "abstention": None}))
    answer = salience("thresholds", copied, "--target-precision", "0.7", "--save")
    assert answer.code == 0 and "predict abstains to reach a precision of 0.7 (95 % certainty on " in answer.out
    assert json.loads((copied / "metrics.json").read_text()) == metrics
    for name in ("abstention.json", "README.md", "manifest.json", "config.json"):
        assert (copied / name).read_bytes() == (run / name).read_bytes()


def test_predict_decides_the_test_rows_that_the_run_reports(run, place, salience, tmp_path):
    found = json.loads((run / "metrics.json").read_text())["abstention"]["test"]
    rows = rows_of(salience("predict", run, place.test, "--device", "cpu").out)
    decided = [row for row in rows if row["predicted"]]
    assert (found["rows"], found["decided"]) == (30, len(decided))
    right = sum(row["predicted"] == label for row, (_, label) in zip(rows, TEST, strict=True) if row["predicted"])
    assert found["precision"] == pytest.approx(right / len(decided))
    card = (run / "README.md").read_text()
    assert "redict abstains to reach a precision of 0.7 (95 % certainty on 90 rows of the estimate)" in card
    assert f"{len(decided)} of 30 test rows are decided" in card


def test_a_checkpoint_with_thresholds_is_a_plain_one(run):
    from transformers import pipeline

    answers = pipeline("text-classification", model=str(run), device="cpu")([text for text, _ in TEST])
    assert all(answer["label"] in ("food", "music", "sport") for answer in answers)
    assert "threshold" not in (run / "config.json").read_text()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_undecided_rows_keep_their_best_guess(suffix, strict, place, salience, tmp_path):
    folder, middle = strict
    answer = salience("predict", folder, place.test, "--device", "cpu", "--output", tmp_path / f"out.{suffix}")
    if suffix == "csv":
        rows = rows_of((tmp_path / "out.csv").read_text())
    elif suffix == "jsonl":
        rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    else:
        rows = pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert list(rows[0])[:5] == ["text", "label", "predicted", "most_probable", "probability"]
    undecided = [row for row in rows if not row["predicted"]]
    assert 0 < len(undecided) < 30 and all(row["predicted"] in (None, "") for row in undecided)
    for row in rows:
        assert bool(row["predicted"]) == (float(row["probability"]) > middle)
        assert row["predicted"] in (None, "", row["most_probable"]) and row["most_probable"]
    line = f"{len(undecided)} of 30 rows are undecided, their probability is not above the threshold of its label"
    assert line in answer.err and 'their most probable label is in "most_probable"' in answer.err


def test_all_rows_are_decided_on_request(strict, place, salience):
    folder, _ = strict
    usual = rows_of(salience("predict", folder, place.test, "--device", "cpu").out)
    found = salience("predict", folder, place.test, "--device", "cpu", "--no-abstain")
    rows = rows_of(found.out)
    assert "most_probable" not in rows[0] and "undecided" not in found.err
    assert [row["predicted"] for row in rows] == [row["most_probable"] for row in usual]


def test_a_threshold_of_ones_own(run, place, salience):
    for model in (run, place.model):  # a model without thresholds too
        rows = rows_of(salience("predict", model, place.test, "--device", "cpu", "--threshold", "0.6").out)
        assert [bool(row["predicted"]) for row in rows] == [float(row["probability"]) > 0.6 for row in rows]
    answer = salience("predict", run, place.test, "--device", "cpu", "--threshold", "0.9999999")
    assert "30 of 30 rows are undecided, their probability is not above 1;" in answer.err


def test_rows_without_a_text_are_not_undecided(strict, salience, tmp_path):
    data = write_csv(tmp_path / "data.csv", [("", "1"), ("the old goal", "2")], ("text", "n"))
    answer = salience("predict", strict[0], data, "--device", "cpu", "--threshold", "0.999999")
    assert "1 of 2 rows have no text" in answer.err and "1 of 2 rows are undecided" in answer.err
    assert [row["most_probable"] == "" for row in rows_of(answer.out)] == [True, False]


def test_the_predictor_says_what_the_command_writes(strict, place, salience):
    rows = rows_of(salience("predict", strict[0], place.test, "--device", "cpu", "--sets", "0.9").out)
    found = Predictor(str(strict[0]), device="cpu", sets=0.9)({"text": [text for text, _ in TEST]})
    for name in ("predicted", "most_probable", "label_set"):
        assert ["" if value is None else value for value in found[name]] == [row[name] for row in rows]


def test_sets_hold_the_most_probable_label_and_grow_with_the_level(run, place, salience, tmp_path):
    sizes = []
    for level in ("0.5", "0.95"):
        rows = rows_of(salience("predict", run, place.test, "--sets", level, "--no-abstain").out)
        sets = [json.loads(row["label_set"]) for row in rows]
        assert all(found[0] == row["predicted"] for found, row in zip(sets, rows, strict=True))
        sizes.append(sum(map(len, sets)))
    assert 30 <= sizes[0] < sizes[1]
    assert salience("predict", run, place.test, "--sets", "0.95", "--output", tmp_path / "o.jsonl").code == 0
    lines = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert [line["label_set"] for line in lines] == sets


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threshold", "1"], "--threshold 1: give a probability from 0 to below 1"),
        (["--threshold", "nan"], "--threshold nan: give a probability"),
        (["--threshold", "0.5", "--no-abstain"], "leave out one of them"),
        (["--sets", "90"], "--sets 90: give the share"),
        (["--sets", "0.999"], "--sets 0.999 needs at least 999 rows of an estimate, and there are 90"),
    ],
)
def test_options_that_do_not_fit(options, message, run, place, salience, tmp_path):
    refused(salience("predict", run, place.test, "--output", tmp_path / "out.csv", *options), message)
    assert not list(tmp_path.iterdir())


def test_sets_need_an_estimate(place, salience):
    refused(salience("predict", place.model, place.test, "--sets", "0.9"), "has no out_of_fold.npz")


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"{}", b'{"thresholds": []}', b'{"thresholds": {}}', b"\xff", b"[" * 100_000,
        b'{"thresholds": {"food": 0.5, "music": 0.5, "sport": 0.5, "x\\u001b[2J": 0.5}}',
        b'{"thresholds": {"food": 0.5, "music": 0.5, "sport": "0.5"}}',
        b'{"thresholds": {"food": 0.5, "music": 0.5, "sport": NaN}}',
        b'{"thresholds": {"food": 0.5, "music": true, "sport": 0.5}}',
        b'{"thresholds": {"food": 0.5, "music": 1.5, "sport": 0.5}}',
        b'{"thresholds": {"food": 0.5, "music": 0.5, "sport": 0.5}, "target_precision": "x"}',
        b'{"thresholds": {"food": 0.5, "music": 0.5, "sport": ' + b"9" * 5000 + b"}}",
    ],
    ids=range(14),
)  # fmt: skip
def test_a_damaged_file_of_thresholds_is_one_line(content, strict, place, salience):
    (strict[0] / "abstention.json").write_bytes(content)
    refused(salience("predict", strict[0], place.test), "abstention.json is damaged", "predict with --no-abstain")
    assert salience("predict", strict[0], place.test, "--no-abstain").code == 0


# ------------------------------------------------------------------------------------------------------ out of reach


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--estimate", "folds:2", "--target-precision", "0.97"], "0.97 needs at least 99 rows in the estimate, and "
         "there are 60: give 0.95 or less, or add rows"),
        (["--estimate", "holdout", "--target-precision", "0.9"], "0.9 needs at least 29 rows in the estimate, and "
         "there are 12: give 0.77 or less, or add rows"),
        (["--estimate", "none", "--target-precision", "0.9"],
         "--target-precision 0.9 has no effect without an estimate: add --estimate "
         "folds:2"),
        (["--target-precision", "1"], "--target-precision is 1.0: give a number from 0.5 to 0.999"),
    ],
)  # fmt: skip
def test_what_no_estimate_can_show_is_refused_before_training(options, message, place, salience, tmp_path):
    refused(salience(*place.train(*options, "--output", tmp_path / "run")), message)
    assert not list(tmp_path.iterdir())


def test_of_a_group_one_row_counts(place, salience, tmp_path):
    rows = [(*row, number % 20) for number, row in enumerate(labelled_rows(60))]
    data = write_csv(tmp_path / "authors.csv", rows, ("text", "label", "author"))
    options = ["--group", "author", "--estimate", "folds:2", "--target-precision", "0.9"]
    message = "needs at least 29 groups in the estimate, and there are 20: give 0.86 or less"
    refused(salience(*place.train(*options, "--output", tmp_path / "run", data=data)), message)


def test_what_the_estimate_does_not_show_is_said_and_nothing_is_decided(place, salience, tmp_path):
    """Labels that are drawn by chance."""
    labels = np.random.default_rng(0).choice(["one", "two", "three"], 60)
    rows = [(text, label) for (text, _), label in zip(labelled_rows(60), labels, strict=True)]
    data = write_csv(tmp_path / "chance.csv", rows)
    options = ["--estimate", "folds:2", "--set", "validation_share=0", "--target-precision", "0.9", "--output"]
    answer = salience(*place.train(*options, tmp_path / "run", data=data))
    assert answer.code == 0, answer.err
    line = "a precision of 0.9 is out of reach: 60 rows of the estimate show not even 0.5 with 95 % certainty"
    assert line in answer.out and "precision of 0.9 is out of reach" in (tmp_path / "run" / "README.md").read_text()
    found = json.loads((tmp_path / "run" / "metrics.json").read_text())["abstention"]
    assert found["reachable"] is None and set(found["thresholds"].values()) == {1.0} and found["precision"] is None
    answer = salience("predict", tmp_path / "run", data)
    assert "60 of 60 rows are undecided" in answer.err
    assert not any(row["predicted"] for row in rows_of(answer.out))
