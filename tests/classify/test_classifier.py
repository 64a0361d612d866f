"""A trained classifier as one object: what it says is what the pipeline says, and it reads what training read."""

import json

import numpy as np
import pytest
from transformers import pipeline

import families
import salience
from labelled import WORDS, labelled_rows, write_csv
from salience.cli.main import main
from salience.errors import InputError


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inference")
    data = write_csv(folder / "train.csv", labelled_rows(60))
    test = write_csv(folder / "test.csv", labelled_rows(12, seed=1))
    families.save_tiny_model(folder / "tiny", list(WORDS.values()), classes=3)
    arguments = ["train", data, "--test", test, "--model", folder / "tiny", "--steps", "6", "--max-length", "7",
                 "--device", "cpu", "--output", folder / "run"]  # fmt: skip
    assert main([str(argument) for argument in arguments]) == 0
    return folder / "run"


def test_five_lines_of_a_notebook(run):
    classifier = salience.load(run)
    rows = [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    texts = [row["text"] for row in rows]
    assert classifier.max_length == 7
    assert classifier.predict_proba(texts) == pytest.approx(np.array([row["probabilities"] for row in rows]), abs=1e-6)
    assert classifier.predict(texts) == [row["predicted"] for row in rows]
    classify = pipeline("text-classification", model=str(run), truncation=True)
    assert [answer["label"] for answer in classify(texts)] == classifier.predict(texts)
    explanations = salience.explain(classifier, texts, explainers=("gradient", "occlusion"))
    for text, explanation in zip(texts, explanations, strict=True):
        assert explanation.words == text.split()[: len(explanation.words)]
        assert set(explanation.scores) == {"gradient", "occlusion"}


def test_pairs(run):
    classifier = salience.load(run)
    pairs = [("goal match", "song band"), ("soup", "bread")]
    assert classifier.predict_proba(pairs).shape == (2, 3)
    assert [explanation.second for explanation in salience.explain(classifier, pairs)] == [2, 1]


def test_no_texts(run):
    classifier = salience.load(run)
    assert classifier.predict_proba([]).shape == (0, 3)
    assert classifier.predict([]) == [] == salience.explain(classifier, [])


@pytest.mark.parametrize("texts", ["one text", ["a", ("b", "c")], [("a", "b", "c")], [("a", None)]])
def test_what_is_no_text(texts, run):
    classifier = salience.load(run)
    for act in (classifier.predict, lambda texts: salience.explain(classifier, texts)):
        with pytest.raises(InputError, match=r"sequence of texts|no pair of texts"):
            act(texts)


def test_an_unknown_explainer_is_named(run):
    with pytest.raises(InputError, match='Did you mean "gradient"'):
        salience.explain(salience.load(run), ["goal"], explainers=["gradiant"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"explainers": "gradient"}, "not one string"),
        ({"target": "sport"}, 'unknown target "sport"; known: 0, 1, 2, gold, predicted'),
        ({"target": 3}, 'unknown target "3"'),
        ({"target": -1}, 'unknown target "-1"'),
        ({"target": None}, "unknown target"),
        ({"pieces": "mean"}, 'unknown pieces "mean"'),
    ],
)
def test_what_is_asked_of_explanations_is_checked(settings, said, run):
    with pytest.raises(InputError) as refusal:
        salience.explain(salience.load(run), ["goal"], **settings)
    assert said in str(refusal.value)


def test_an_estimator_stands_for_its_classifier(run):
    estimator, texts = salience.SalienceClassifier.load(run), ["a goal", "a song"]
    classifier = estimator.classifier_
    scores = [
        [each.scores["gradient"].tolist() for each in salience.explain(it, texts)] for it in (estimator, classifier)
    ]
    assert scores[0] == scores[1]
    assert salience.suggest(estimator, texts, count=1) == salience.suggest(classifier, texts, count=1)
    found = [salience.evaluate(each, texts, metrics=["aopc"], most=2) for each in (estimator, classifier)]
    assert found[0]["gradient"].metrics["aopc"].mean == found[1]["gradient"].metrics["aopc"].mean


def test_what_cannot_be_loaded(tmp_path):
    with pytest.raises(InputError, match="no model at"):
        salience.load(tmp_path / "none")
    with pytest.raises(InputError, match='unknown --device "tpu"'):
        salience.load(tmp_path, device="tpu")
