"""`salience faithfulness` of a classifier of several labels: one value for each text and label."""

import csv
import json

import pytest

import salience as library
from labelled import WORDS, write_csv

SHORT = ["--explainer", "occlusion", "--most", "2", "--at", "1", "--device", "cpu"]
NAMES = ["aopc", "decision-flip", "comprehensiveness", "sufficiency", "loo-tau"]


@pytest.fixture(scope="module")
def texts(several_files) -> list[str]:
    return [row["text"] for row in csv.DictReader(several_files[1].open())]


@pytest.mark.parametrize(
    "target", ["gold", *(pytest.param(each, marks=pytest.mark.whole) for each in ("predicted", "food"))]
)
def test_the_files_hold_what_evaluate_gives(target, several_run, several_files, texts, salience, tmp_path):
    out = tmp_path / "out"
    options = [*SHORT, "--target", target, "--output", out]
    answer = salience("faithfulness", several_run, several_files[1], *options)
    assert answer.code == 0, answer.err
    classifier = library.load(several_run, device="cpu")
    gold = [json.loads(row["label"]) for row in csv.DictReader(several_files[1].open())]
    number = classifier.labels.index(target) if target in WORDS else target
    expected = library.evaluate(classifier, texts, gold, explainers=["occlusion"], target=number, most=2)
    assert sorted(file.name for file in out.iterdir()) == ["faithfulness.json", "index.html", "values.jsonl"]
    found = json.loads((out / "faithfulness.json").read_text())
    for row, own in zip(found["rows"], expected.rows, strict=True):
        assert list(row["metrics"]) == NAMES and row["without"] == row["alone"] == []
        for name in NAMES:
            assert row["metrics"][name] == pytest.approx(list(own.metrics[name]), abs=1e-5)
    lines = [json.loads(line) for line in (out / "values.jsonl").read_text().splitlines()]
    wanted = {"predicted": classifier.predict(texts), "gold": gold}.get(target, [["food"]] * len(texts))
    pairs = [(row, label) for row, labels in enumerate(wanted, 1) for label in sorted(labels)]
    assert [(line["row"], line["label"]) for line in lines if line["explainer"] == "occlusion"] == pairs
    for line, values in zip(lines, expected.to_value_rows(), strict=True):
        for name in NAMES:
            value = float("nan") if line[name] is None else line[name]
            assert value == pytest.approx(values[name], abs=1e-4, nan_ok=True)
    said = " ".join(answer.out.split())
    which = {"predicted": "predicted by run", "gold": "right"}.get(target, "the label food")
    assert (
        f"{len(pairs)} labels of {len({row for row, _ in pairs})} texts of test.csv, {which}, each explained" in said
    )


def test_texts_without_labels_are_enough_for_predicted_labels(several_run, texts, salience, tmp_path):
    bare = write_csv(tmp_path / "bare.csv", [(text,) for text in texts], ("text",))
    assert salience("faithfulness", several_run, bare, *SHORT, "--metrics", "aopc").code == 0
    answer = salience("faithfulness", several_run, bare, *SHORT, "--metrics", "aopc", "--target", "gold")
    assert answer.code == 2 and "no row has a label that the model knows" in answer.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--metrics", "aopc,accuracy-drop@2"], "metric accuracy-drop@2 is not available for multi-label texts"),
        (["--target", "fod"], 'unknown --target "fod"; known: food, gold, music, predicted, sport'),
    ],
)
def test_refusals(options, said, several_run, several_files, salience, tmp_path):
    answer = salience("faithfulness", several_run, several_files[1], *SHORT, *options, "--output", tmp_path / "out")
    assert answer.code == 2 and said in answer.err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_a_target_is_of_several_labels(run, place, salience):
    answer = salience("faithfulness", run, place.test, *SHORT, "--target", "gold")
    assert (
        answer.code == 2
        and "with one label a text, metrics are about the predicted class" in answer.err.splitlines()[-1]
    )
