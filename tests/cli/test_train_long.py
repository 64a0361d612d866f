"""`salience train --long`: how a run reads long texts is kept in it, for every command."""

import json
from pathlib import Path

import pytest

import salience as package
from labelled import labelled_rows, write_csv


@pytest.fixture(scope="module")
def rows(place) -> Path:
    """60 rows of which each third has 60 words and more."""
    made = [
        (" ".join([text] * (1 if number % 3 else 30)), label) for number, (text, label) in enumerate(labelled_rows(60))
    ]
    return write_csv(place.folder / "long.csv", made)


def arguments(place, rows, output, long: str, *options) -> list[str]:
    return place.train(
        "--long", long, "--max-length", "16", "--method", "plain", "--output", output, *options, data=rows
    )


@pytest.mark.whole
def test_windows_are_trained_on_and_predicted(place, rows, salience, reported, tmp_path):
    answer = salience(*arguments(place, rows, tmp_path / "run", "windows", "--test", rows))
    assert answer.code == 0, answer.err
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["rows"]["test"] == 60 and metrics["rows"]["training"] + metrics["rows"].get("validation", 0) == 60
    facts = json.loads((tmp_path / "run" / "data_facts.json").read_text())["parts"]["test"]
    assert facts["rows"] == 60 and facts["cut"] == 0 and facts["tokens"]["longest"] > 60
    lines = [json.loads(line) for line in (tmp_path / "run" / "predictions.jsonl").read_text().splitlines()]
    classifier = package.load(tmp_path / "run")
    assert classifier.long == "windows"
    found = classifier.predict_proba([line["text"] for line in lines])
    assert [line["probabilities"] for line in lines] == [pytest.approx(row.tolist(), abs=1e-4) for row in found]
    output = tmp_path / "labels.csv"
    assert salience("predict", tmp_path / "run", rows, "--output", output).code == 0
    assert len(output.read_text().splitlines()) == 61
    page = tmp_path / "page.jsonl"
    assert salience("explain", tmp_path / "run", rows, "--output", page).code == 0
    first = json.loads(page.read_text().splitlines()[0])
    assert len(first["words"]) == len(first["scores"]["gradient"]) > 60 and not first["cut"]
    assert "Words" in (tmp_path / "run" / "report.html").read_text()
    answer = salience("faithfulness", tmp_path / "run", rows, "--rows", "6", "--output", tmp_path / "tested")
    assert answer.code == 0, answer.err
    tested = json.loads((tmp_path / "tested" / "faithfulness.json").read_text())["rows"]
    assert [row["explainer"] for row in tested][-1] == "random" and len(tested) > 1


def test_an_estimate_predicts_texts_and_not_windows(place, rows, salience, tmp_path):
    options = ("--set", "validation_share=0", "--estimate", "folds:2")
    answer = salience(*arguments(place, rows, tmp_path / "run", "windows", *options))
    assert answer.code == 0, answer.err
    estimate = json.loads((tmp_path / "run" / "metrics.json").read_text())["estimate"]
    assert estimate["rows"] == 60 and estimate["training_rows"] == [30, 30]


def test_both_ends_are_read(place, rows, salience, tmp_path):
    answer = salience(*arguments(place, rows, tmp_path / "run", "head-tail", "--test", rows))
    assert answer.code == 0, answer.err
    assert package.load(tmp_path / "run").long == "head-tail"
    facts = json.loads((tmp_path / "run" / "data_facts.json").read_text())["parts"]["test"]
    assert facts["cut"] == 20


@pytest.mark.whole
@pytest.mark.parametrize("long", ["windows", "head-tail"])
def test_pairs_are_trained_on_predicted_and_explained(long, place, salience, tmp_path):
    made = [[" ".join([text] * 30), " ".join(text.split()[:2]), label] for text, label in labelled_rows(30)]
    file = write_csv(tmp_path / "pairs.csv", made, ["text", "text_pair", "label"])
    run, page = tmp_path / "run", tmp_path / "page.jsonl"
    options = ("--text", "text", "--text-pair", "text_pair", "--estimate", "none", "--test", file)
    answer = salience(*arguments(place, file, run, long, *options))
    assert answer.code == 0, answer.err
    lines = [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    found = package.load(run).predict_proba([(text, second) for text, second, _ in made])
    assert [line["probabilities"] for line in lines] == [pytest.approx(row.tolist(), abs=1e-4) for row in found]
    assert salience("explain", run, file, "--output", page).code == 0
    first = json.loads(page.read_text().splitlines()[0])
    words, second = made[0][0].split(), made[0][1].split()
    if long == "windows":
        assert first["words"] == words + second and not first["cut"]
    else:
        assert first["words"][-len(second) :] == second and first["cut"]
