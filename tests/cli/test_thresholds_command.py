"""`salience thresholds`: from which probability on a label is predicted, and what then decides by it."""

import csv
import json
import re
import shutil

import numpy as np
import pytest
from test_bad_input import refused

from labelled import labelled_rows
from salience import Predictor, SalienceClassifier
from salience.classify import load
from salience.report.run_page import thresholds_of
from salience.runs.results import read_out_of_fold, read_run
from salience.scores.calibration import with_label_temperature, with_temperature
from salience.scores.thresholds import Curve

TEXTS = [text for text, _ in labelled_rows(30, seed=1)]


@pytest.fixture(scope="module")
def run(abstaining_run):
    return abstaining_run


@pytest.fixture
def copied(run, tmp_path):
    return shutil.copytree(run, tmp_path / "run")


def json_in(folder, name="metrics.json"):
    return json.loads((folder / name).read_text(encoding="utf-8"))


def rows_of(text: str) -> list[dict]:
    return list(csv.DictReader(text.splitlines()))


def expected(probabilities: list[float], labels: list[str], label: str, threshold: float) -> str:
    """The label from its threshold on, or else the most probable of the others."""
    by_name = dict(zip(labels, probabilities, strict=True))
    own = by_name.pop(label)
    return label if own >= threshold else max(by_name, key=by_name.__getitem__)


def test_the_table_is_of_the_rows_of_the_estimate(run, salience):
    estimate = json_in(run)["estimate"]
    with np.load(run / "out_of_fold.npz") as arrays:
        temperature = estimate["temperature_scaling"]["temperature"] if estimate["calibrated"] else 1
        probabilities = with_temperature(arrays["probabilities"], temperature)[:, 1].astype(float)
        has_label, name = arrays["labels"] == 1, str(arrays["names"][1])
    answer = salience("thresholds", run, "--label", name)
    assert answer.code == 0, answer.err
    assert f'"{name}": {has_label.sum()} of 90 rows of the estimate have it' in answer.out
    rows = [line.split() for line in answer.out.splitlines() if line.startswith((" ", "0")) and "[" in line]
    assert len(rows) > 4 and rows[-1][4] == "1.000"  # the last threshold finds all
    for cells in rows:
        decided = probabilities >= float(cells[0])
        assert cells[1] == f"{has_label[decided].mean():.3f}"
        assert cells[4] == f"{decided[has_label].mean():.3f}" and cells[7] == f"{decided.mean():.3f}"
    assert "each for its own row" in answer.out and max(map(len, answer.out.splitlines()[:-1])) <= 80
    assert all(f'"{name}": ' in salience("thresholds", run).out for name in ("food", "music", "sport"))


@pytest.mark.parametrize(
    "choice", [["--recall", "0.95"], pytest.param(["--cost", "fp=1,fn=20"], marks=pytest.mark.whole)]
)
def test_what_is_saved_decides_everywhere(choice, copied, place, salience):
    """predict, the loaded classifier, the scores of `test`, and a predictor: all as predict with the threshold."""
    before = (copied / "recipe.yaml").read_bytes(), (copied / "predictions.jsonl").read_bytes()
    answer = salience("thresholds", copied, "--label", "sport", *choice)
    option = answer.out.partition("--threshold ")[2].partition(";")[0]
    asked = rows_of(salience("predict", copied, place.test, "--device", "cpu", "--threshold", option).out)
    assert salience("thresholds", copied, "--label", "sport", *choice, "--save").code == 0
    threshold = json_in(copied, "config.json")["predicted_from"]["sport"]
    assert option == f"sport={threshold}" and threshold < 0.5
    rows = rows_of(salience("predict", copied, place.test, "--device", "cpu").out)
    assert rows == asked
    assert f"now {threshold:.4g}  " in salience("thresholds", copied, "--label", "sport").out
    assert "now " not in salience("thresholds", copied, "--label", "music").out
    classifier = load(copied, device="cpu")
    usual = classifier.predict_proba(TEXTS)
    decided = [expected(row, classifier.labels, "sport", threshold) for row in usual.tolist()]
    assert decided != [classifier.labels[number] for number in usual.argmax(1)]
    assert [row["predicted"] for row in rows] == decided == classifier.predict(TEXTS)
    assert [float(row["probability"]) for row in rows] == [
        float(row[f"probability_{row['predicted']}"]) for row in rows
    ]
    assert Predictor(str(copied), device="cpu")({"text": TEXTS})["predicted"].tolist() == decided
    most_probable = rows_of(salience("predict", copied, place.test, "--device", "cpu", "--no-abstain").out)
    assert [row["predicted"] for row in most_probable] == [classifier.labels[number] for number in usual.argmax(1)]
    accuracy = np.mean([label == right for label, (_, right) in zip(decided, labelled_rows(30, seed=1), strict=True)])
    answer = salience("test", copied, place.test, "--device", "cpu", "--output", copied.parent / "scores.html")
    assert f"on these rows: accuracy {accuracy:.3f} [" in answer.out
    found = json_in(copied)["label_threshold"]["test"]
    of_sport = [right == "sport" for label, (_, right) in zip(decided, labelled_rows(30, seed=1), strict=True)
                if label == "sport"]  # fmt: skip
    assert (found["predicted"], found["precision"]) == (len(of_sport), pytest.approx(np.mean(of_sport)))
    line = f'"sport" is predicted from {threshold} on; on the 30 test rows: precision {found["precision"]:.3f}'
    assert line in answer.out and line in " ".join((copied / "README.md").read_text().replace("\\", "").split())
    page = (copied.parent / "scores.html").read_text(encoding="utf-8")
    assert f"<td>{found['precision']:.3f}</td>" in page and "thresholds of the labels" in page
    assert before == ((copied / "recipe.yaml").read_bytes(), (copied / "predictions.jsonl").read_bytes())


def test_a_saved_choice_takes_the_place_of_the_other_one(copied, place, salience):
    metrics = json_in(copied)
    assert salience("thresholds", copied, "--target-precision", "0.5", "--save").code == 0
    held = json_in(copied, "abstention.json")
    assert held["target_precision"] == 0.5 and json_in(copied)["abstention"]["test"]["rows"] == 30
    assert "abstention.json" in json_in(copied, "manifest.json")["files"]
    assert "most_probable" in rows_of(salience("predict", copied, place.test).out)[0]
    assert salience("thresholds", copied, "--label", "food", "--recall", "0.9", "--save").code == 0
    assert not (copied / "abstention.json").exists() and "abstention" not in json_in(copied)
    assert "most_probable" not in rows_of(salience("predict", copied, place.test).out)[0]
    assert salience("thresholds", copied, "--target-precision", "0.5", "--save").code == 0
    assert "predicted_from" not in json_in(copied, "config.json")
    assert json_in(copied, "abstention.json") == held
    assert {**json_in(copied), "abstention": None} == {**metrics, "abstention": None}


def test_the_page_of_the_run_has_a_curve_of_each_label(copied, salience):
    assert salience("thresholds", copied, "--label", "sport", "--recall", "0.9", "--save").code == 0
    about, grid, *lines = thresholds_of(read_run(copied))
    assert "by 90 out-of-fold predictions" in about and "each for its own threshold" in about
    assert [figure.caption for figure in grid.blocks] == ["food", "music", "sport"]
    assert any(line.startswith('"sport" is predicted from') for line in lines)
    (copied / "out_of_fold.npz").unlink()
    assert thresholds_of(read_run(copied)) == []


# ------------------------------------------------------------------------------------------------ --threshold LABEL=


def test_a_threshold_of_one_label_below_one_half(run, place, salience, tmp_path):
    answer = salience("predict", run, place.test, "--device", "cpu", "--threshold", "music=0.3", "--sets", "0.9")
    labels = load(run, device="cpu").labels
    for row in rows_of(answer.out):
        probabilities = [float(row[f"probability_{label}"]) for label in labels]
        assert row["predicted"] == expected(probabilities, labels, "music", 0.3)
        assert row["predicted"] in json.loads(row["label_set"])
    refused(salience("predict", run, place.test, "--threshold", "musik=0.3"), 'unknown label in --threshold "musik"',
            'Did you mean "music"?')  # fmt: skip
    for wrong in ("music=1", "music=", "music=nan", "high", "=", "music=-0.1"):
        refused(salience("predict", run, place.test, "--threshold", wrong), f"--threshold {wrong}: give a probability")


def test_of_several_labels_the_others_keep_their_thresholds(several_run, several_files, salience, tmp_path):
    classifier = load(several_run, device="cpu")
    name = classifier.labels[0]
    out = tmp_path / "out.jsonl"
    answer = salience("predict", several_run, several_files[1], "--threshold", f"{name}=0.9", "--output", out)
    assert answer.code == 0, answer.err
    thresholds = dict(zip(classifier.labels, classifier.thresholds, strict=True)) | {name: 0.9}
    for row in map(json.loads, out.read_text().splitlines()):
        assert row["predicted"] == [each for each, value in row["probabilities"].items() if value >= thresholds[each]]


def test_the_threshold_of_one_of_several_labels_is_saved(several_run, several_files, salience, tmp_path):
    """The rows that the folder keeps, and their scores, are then those of the new thresholds."""
    copied = shutil.copytree(several_run, tmp_path / "run")
    classifier = load(several_run, device="cpu")
    name, thresholds = classifier.labels[1], classifier.thresholds
    with np.load(copied / "out_of_fold.npz") as arrays:
        temperature = json_in(copied)["estimate"]["temperature_scaling"]["temperature"]
        final = with_label_temperature(arrays["probabilities"], temperature)
        has_label = arrays["labels"][:, 1] == 1
        curve = Curve.of(final[:, 1], has_label)
    assert json_in(copied)["estimate"]["calibrated"]
    assert salience("thresholds", copied, "--label", name, "--recall", "0.8", "--save").code == 0
    thresholds[1] = curve.threshold(curve.for_recall(0.8))
    assert load(copied, device="cpu").thresholds.tolist() == thresholds.tolist()
    for file, probabilities in (("out_of_fold", final), ("probabilities", None)):
        with np.load(copied / f"{file}.npz") as arrays, np.load(several_run / f"{file}.npz") as before:
            scaled = arrays["probabilities"] if probabilities is None else probabilities
            assert (arrays["decided"] == (scaled >= thresholds)).all()
            assert all((arrays[each] == before[each]).all() for each in before if each != "decided")
    lines, before = (
        [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
        for folder in (copied, several_run)
    )
    assert [row | {"predicted": 0} for row in lines] == [row | {"predicted": 0} for row in before]
    metrics = json_in(copied)
    decided = final[:, 1] >= thresholds[1]
    last = next(
        line for line in salience("thresholds", copied, "--label", name).out.splitlines() if line.startswith("now ")
    )
    assert last.split()[1:3] == [f"{thresholds[1]:.4g}", f"{has_label[decided].mean():.3f}"]
    assert [each["threshold"] for each in metrics["labels"].values()] == thresholds.tolist()
    of_label = metrics["label_threshold"]["test"]
    assert (
        metrics["labels"][name]["predicted"] == of_label["predicted"] == sum(name in row["predicted"] for row in lines)
    )
    answer = salience("test", copied, several_files[1], "--device", "cpu")
    value = metrics["test"]["micro_f1_at_thresholds"]
    assert f"on these rows: micro-F1 {value:.3f} [" in answer.out


def test_a_saved_estimator_is_no_run(place, salience, tmp_path):
    model = SalienceClassifier(model=str(place.model), device="cpu", steps=2).fit(
        TEXTS, [c for _, c in labelled_rows(30)]
    )
    model.save(tmp_path / "saved")
    refused(salience("thresholds", tmp_path / "saved"), "is no run: name a folder that `salience train` has written")


# ------------------------------------------------------------------------------------------------ what does not fit


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--label", "musik"], 'unknown --label "musik"; known: food, music, sport. Did you mean "music"?'),
        (["--precision", "0.9"], "--precision is about one label: name it with --label"),
        (["--label", "music", "--target-precision", "0.9"], "--target-precision is about all labels: no --label"),
        (["--label", "music", "--precision", "0.9", "--recall", "0.9"], "--precision and --recall each choose"),
        (["--label", "music", "--save"], "--save keeps a choice in the run: add --precision, --recall"),
        (["--label", "music", "--precision", "1"], "--precision 1: give a share"),
        (["--label", "music", "--recall", "nan"], "--recall nan: give a share"),
        (["--label", "music", "--cost", "fp=1"], '--cost "fp=1": give what a wrong prediction'),
        (["--label", "music", "--cost", "fp=1,fn=x"], "as fp=1,fn=20"),
        (["--label", "music", "--cost", "fp=1,fn=-2"], "as fp=1,fn=20"),
        (["--label", "music", "--cost", "fp=0,fn=0"], "as fp=1,fn=20"),
        (["--label", "music", "--precision", "0.99", "--save"], 'a precision of 0.99 is out of reach for "music": '),
        (["--target-precision", "0.99", "--save"], "a precision of 0.99 is out of reach"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line_and_changes_nothing(options, message, run, salience):
    before = {file: file.read_bytes() for file in run.iterdir() if file.is_file()}
    refused(salience("thresholds", run, *options), message)
    assert before == {file: file.read_bytes() for file in run.iterdir() if file.is_file()}


def test_a_precision_out_of_reach_names_the_highest_that_is_not(run, salience):
    asked = ("thresholds", run, "--label", "music", "--precision")
    answer = salience(*asked, "0.99", "--save")
    told = re.search(r": 90 rows of the estimate show at most (0\.\d+) with 95 % certainty; (.*)\n$", answer.err)
    assert answer.code == 2 and told[2] == "add labelled rows that have it; nothing is saved"
    assert "out of reach" not in salience(*asked, told[1]).out
    assert f"at most {told[1]} with" in salience(*asked, f"{float(told[1]) + 0.01:.2f}").out


def test_a_run_without_out_of_fold_rows(place, salience, tmp_path):
    assert salience(*place.train("--test", place.test, "--output", tmp_path / "run")).code == 0
    answer = salience("thresholds", tmp_path / "run", "--label", "music")
    refused(answer, "needs the out-of-fold predictions of a run", "train it with --estimate folds:5")
    refused(salience("thresholds", place.model), "is no run")


def test_a_damaged_threshold_is_one_line(copied, place, salience):
    config = json_in(copied, "config.json")
    for damaged in ({"musik": 0.3}, {"music": 1}, {"music": 0.3, "food": 0.3}, {"music": "0.3"}, "music", {}):
        (copied / "config.json").write_text(json.dumps(config | {"predicted_from": damaged}))
        refused(salience("predict", copied, place.test), "predicted_from must have a number from 0 to below 1")
        assert salience("predict", copied, place.test, "--no-abstain").code == 0


def test_a_group_counts_once(copied):
    with np.load(copied / "out_of_fold.npz") as arrays:
        content = dict(arrays)
    np.savez(copied / "out_of_fold.npz", **content, group=np.arange(90) // 3)
    probabilities, labels = read_out_of_fold(copied, "").independent(0)
    assert probabilities.shape == (30, 3) and len(labels) == 30
