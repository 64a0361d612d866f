"""`salience test`: the scores of a finished run on further rows, as if they had been its test rows."""

import csv
import json
import shutil

import pytest
from test_bad_input import refused

from labelled import WORDS, labelled_rows, write_csv
from salience.classify import load
from salience.errors import InputError
from salience.training.scored import scored_on


def metrics_in(folder):
    return json.loads((folder / "metrics.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", ["one label", "several labels"])
def test_the_scores_are_those_of_test_rows(kind, run, place, several_run, several_files):
    folder, rows = (run, place.test) if kind == "one label" else (several_run, several_files[1])
    classifier, trained = load(folder, device="cpu", precision="fp32"), metrics_in(folder)
    found = scored_on(str(folder), classifier, str(rows), {})
    assert {"test", "baselines", "temperature_scaling", "judged_on"} <= found.metrics.keys()
    for name, values in found.metrics.items():
        if name != "rows":
            assert json.loads(json.dumps(values)) == trained[name], name
    assert found.metrics["rows"]["test"] == trained["rows"]["test"]
    assert found.facts == json.loads((folder / "data_facts.json").read_text(encoding="utf-8"))


def test_what_is_printed_and_the_page(run, place, salience, tmp_path):
    page, trained = tmp_path / "scores.html", metrics_in(run)["test"]
    answer = salience("test", run, place.test, "--output", page, "--device", "cpu")
    assert answer.code == 0, answer.err
    low, high = trained["accuracy_interval"]
    assert f"on these rows: accuracy {trained['accuracy']:.3f} [{low:.3f}, {high:.3f}]" in answer.out
    assert "estimated on 60 labelled rows by 2-fold cross-validation" in answer.out and "TF-IDF" in answer.out
    text = page.read_text(encoding="utf-8")
    assert f"run on {place.test.name}" in text and "The most confident errors" in text
    refused(salience("test", run, place.test, "--output", page), "scores.html", "--overwrite")


def test_labels_that_the_model_does_not_know(run, place, salience, tmp_path):
    with place.test.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    more = write_csv(tmp_path / "more.csv", [("a tram", "travel"), *rows, ("a bus", "travel"), ("dew", "a,b")], header)
    answer = salience("test", run, more, "--device", "cpu")
    assert answer.code == 0, answer.err
    told = 'more.csv: 3 rows of 33 with labels that the model does not know, "travel" (2), "a,b" (1): the scores are'
    assert told in answer.err
    only = salience("test", run, place.test, "--device", "cpu")
    assert answer.out == only.out  # without a trace of those rows
    refused(salience("test", run, write_csv(tmp_path / "none.csv", [("a", "b")])), "1 row of 1 with labels", '"b" (1)')
    refused(salience("test", run, write_csv(tmp_path / "lists.csv", [("a", '["music"]')])), "the rows have lists")


def test_training_rows_among_them_are_told(run, place, salience):
    answer = salience("test", run, place.data, "--device", "cpu")
    assert answer.code == 0, answer.err
    assert "Scores are too high: 60 of the 60 test rows are in the training rows too" in answer.err


def test_where_the_training_rows_are_not_there_any_more(run, place, tmp_path):
    folder = shutil.copytree(run, tmp_path / "run")
    recipe = (folder / "recipe.yaml").read_text(encoding="utf-8")
    (folder / "recipe.yaml").write_text(recipe.replace(str(place.data), str(tmp_path / "gone.csv")), encoding="utf-8")
    found = scored_on(str(folder), load(folder, device="cpu", precision="fp32"), str(place.test), {})
    assert found.metrics["test"] == scored_on(str(run), load(run, device="cpu"), str(place.test), {}).metrics["test"]
    assert found.metrics["baselines"] == {} and "in_training" not in found.facts["parts"]["test"]


def test_a_model_that_is_no_run(place, salience, tmp_path):
    rows = write_csv(tmp_path / "rows.csv", [(text, "LABEL_0") for text, _ in labelled_rows(9)])
    answer = salience("test", place.model, rows, "--output", tmp_path / "scores.html", "--device", "cpu")
    assert answer.code == 0, answer.err
    assert "on these rows: accuracy" in answer.out and "estimated" not in answer.out


def test_nothing_is_scored_without_labels(run, tmp_path):
    rows = write_csv(tmp_path / "rows.csv", [(text,) for text in WORDS.values()], ("text",))
    with pytest.raises(InputError, match="label"):
        scored_on(str(run), load(run, device="cpu"), str(rows), {})
