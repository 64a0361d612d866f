"""`salience train --label-descriptions`: trained on beside the rows, and never counted or predicted as rows."""

import csv
import json

import numpy as np
import pytest
import yaml
from test_bad_input import refused
from test_resume import weights

from labelled import WORDS, write_csv
from salience.classify import TextClassifier
from salience.files import sha256_of
from salience.training.prepare import prepare
from salience.training.recipe import Recipe
from salience.training.task import task_of


@pytest.fixture(scope="module")
def described(place):
    file = place.folder / "labels.yaml"
    file.write_text("".join(f"{label}: [all about {label}, {words}]\n" for label, words in WORDS.items()))
    return file


def arguments(place, described, output, *options):
    return place.train("--label-descriptions", described, "--output", output, "--method", "plain", *options)


def test_they_are_the_last_training_texts(place, described):
    recipe = Recipe(
        str(place.data), model=str(place.model), validation_share=0.0, steps=3, label_descriptions=str(described)
    )
    with_them = prepare(recipe, task_of(recipe, print))
    without = prepare(plain := Recipe(**recipe.as_mapping() | {"label_descriptions": None}), task_of(plain, print))
    numbers = [labels for labels in range(len(WORDS)) for _ in range(2)]
    assert (len(with_them.training), len(without.training)) == (60 + len(numbers), 60)
    assert sorted(with_them.training.labels[60:].tolist()) == numbers
    for row in range(60):
        assert np.array_equal(with_them.training[row]["input_ids"], without.training[row]["input_ids"])
    assert with_them.plan.steps == without.plan.steps


@pytest.mark.whole
def test_of_several_labels_each_description_has_its_label_alone(place, described, several_files, salience, tmp_path):
    data = str(several_files[0])
    recipe = Recipe(data, model=str(place.model), steps=3, label_descriptions=str(described))
    prepared, labels = prepare(recipe, task_of(recipe, print)), sorted(WORDS)
    found = [{labels[place] for place in np.flatnonzero(row)} for row in prepared.training.labels]
    assert found[60:] == [{label} for label in WORDS for _ in range(2)]
    with several_files[0].open() as file:
        assert found[:60] == [set(json.loads(row["label"])) for row in csv.DictReader(file)]
    options = ("--estimate", "folds:2", "--label-descriptions")
    for name, option in (("with", (*options, described)), ("without", options[:2])):
        answer = salience(*place.train(*option, "--output", tmp_path / name, data=data))
        assert answer.code == 0, answer.err
    assert len((tmp_path / "with" / "out_of_fold.jsonl").read_text().splitlines()) == 60
    assert weights(tmp_path / "with") != weights(tmp_path / "without")


@pytest.mark.whole
def test_a_run_says_so_and_is_repeated_by_its_recipe(place, described, salience, tmp_path):
    answer = salience(*arguments(place, described, tmp_path / "one", "--test", place.test))
    assert answer.code == 0, answer.err
    assert f"label descriptions: {2 * len(WORDS)} texts to train on, too" in answer.out + answer.err
    metrics = json.loads((tmp_path / "one" / "metrics.json").read_text())
    assert metrics["rows"]["training"] + metrics["rows"].get("validation", 0) == 60
    recipe = yaml.safe_load((tmp_path / "one" / "recipe.yaml").read_text())
    assert recipe["checksums"][str(described)] == sha256_of(described)
    again = salience("train", "--config", tmp_path / "one" / "recipe.yaml", "--output", tmp_path / "two")
    assert again.code == 0, again.err
    assert weights(tmp_path / "one") == weights(tmp_path / "two")
    without = salience(*place.train("--output", tmp_path / "three", "--method", "plain", "--test", place.test))
    assert without.code == 0 and weights(tmp_path / "three") != weights(tmp_path / "one")


def test_models_of_an_estimate_see_them_too_and_never_predict_them(place, salience, tmp_path, monkeypatch):
    seen = []
    read = TextClassifier.read

    def watched(classifier, texts):
        seen.append(len(texts))
        return read(classifier, texts)

    monkeypatch.setattr(TextClassifier, "read", watched)
    options = ("--set", "validation_share=0", "--estimate", "folds:2")
    answer = salience(*arguments(place, "names", tmp_path / "run", *options))
    assert answer.code == 0, answer.err
    assert sorted(seen) == [30] * 2 + [30 + len(WORDS)] * 2 + [60 + len(WORDS)]
    estimate = json.loads((tmp_path / "run" / "metrics.json").read_text())["estimate"]
    assert estimate["rows"] == 60
    assert len((tmp_path / "run" / "out_of_fold.jsonl").read_text().splitlines()) == 60


@pytest.mark.whole
def test_with_few_rows_of_a_label_a_line_says_that_descriptions_can_help(place, described, salience, tmp_path):
    with place.data.open() as file:
        rows = list(csv.reader(file))
    few = write_csv(tmp_path / "few.csv", rows[1:31], rows[0])  # 30 rows of three labels
    more = write_csv(tmp_path / "more.csv", rows[1:35], rows[0])
    options = ("--estimate", "none", "--method", "plain", "--output")
    told = salience(*place.train(*options, tmp_path / "few", data=few)).out
    assert (
        "few labels (10 rows of each on average): a sentence on what each label means can help (--label-desc" in told
    )
    for name, arguments in {
        "more": place.train(*options, tmp_path / "more", data=more),
        "described": place.train("--label-descriptions", described, *options, tmp_path / "described", data=few),
    }.items():
        answer = salience(*arguments)
        assert answer.code == 0 and f"saved: {tmp_path / name}" in answer.out
        assert "of each on average" not in answer.out


def test_a_description_is_enough_for_a_label_to_exist(place, salience, tmp_path):
    file, test = (
        tmp_path / "labels.yaml",
        write_csv(tmp_path / "test.csv", [("the tram", "travel"), ("goal", "sport")]),
    )
    file.write_text("travel: [the train, the tram, the bus]\n")
    options = ("--test", test, "--estimate", "folds:2", "--set", "head_end=logistic", "--set", "class_weights=auto")
    answer = salience(*arguments(place, file, tmp_path / "run", *options))
    assert answer.code == 0, answer.err
    assert 'train.csv: no training row has the label "travel"' in answer.out
    estimated = json.loads((tmp_path / "run" / "metrics.json").read_text())["estimate"]
    assert estimated["rows"] == 60
    with (tmp_path / "run" / "predictions.jsonl").open() as rows:
        found = [json.loads(row) for row in rows]
    assert [row["label"] for row in found] == ["travel", "sport"] and len(found[0]["probabilities"]) == 1 + len(WORDS)


def test_rows_of_one_label_and_a_described_one(place, salience, tmp_path):
    file, data = (
        tmp_path / "labels.yaml",
        write_csv(tmp_path / "rows.csv", [("the goal", "sport"), ("a team", "sport")]),
    )
    file.write_text("travel: [the train, the tram, the bus]\n")
    answer = salience(*place.train("--label-descriptions", file, "--output", tmp_path / "run", data=data))
    assert answer.code == 0, answer.err
    file.write_text("sport: the game\n")
    answer = salience(*place.train("--label-descriptions", file, "--output", tmp_path / "other", data=data))
    refused(answer, 'the only label is "sport"; a classifier needs at least two')


def test_pairs_are_refused(place, salience, tmp_path):
    file = write_csv(tmp_path / "pairs.csv", [["a", "b", "x"], ["c", "d", "y"]] * 10, ["text", "text_pair", "label"])
    answer = salience(
        "train", file, "--model", place.model, "--label-descriptions", "names", "--output", tmp_path / "r"
    )
    refused(answer, "--label-descriptions are single texts, but the rows are pairs")
