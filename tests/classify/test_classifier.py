"""A trained classifier as one object: what it says is what the pipeline says, and it reads what training read."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from pandas import DataFrame
from tokenizers import processors
from transformers import pipeline

import families
import salience
from labelled import WORDS, labelled_rows, write_csv
from salience.cli.main import main
from salience.data.batching import Collator
from salience.errors import InputError
from salience.hooks.hooks import forward


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
    classifier = replace(salience.load(run), pairs=None)  # as of a model that is no run
    pairs = [("goal match", "song band"), ("soup", "bread")]
    assert classifier.predict_proba(pairs).shape == (2, 3)
    assert [explanation.second for explanation in salience.explain(classifier, pairs)] == [2, 1]


def types_in_a_template(*, cls: int, second: int, named: bool):
    """A tokenizer with these token types of [CLS] and of a second text, which it may or may not give a model."""
    tokenizer = families.tiny_tokenizer(list(WORDS.values()))
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=f"[CLS]:{cls} $A [SEP]", pair=f"[CLS]:{cls} $A [SEP] $B:{second} [SEP]:{second}",
        special_tokens=[(name, families.specials()[name]) for name in ("[CLS]", "[SEP]")],
    )  # fmt: skip
    if not named:
        tokenizer.model_input_names = ["input_ids", "attention_mask"]
    return tokenizer


@pytest.mark.parametrize(
    "types", [
        {"cls": 0, "second": 1, "named": True},  # BERT's
        {"cls": 0, "second": 1, "named": False},  # BigBird's
        {"cls": 0, "second": 0, "named": False},  # XLM-RoBERTa's, of a multilingual MiniLM
        {"cls": 2, "second": 1, "named": True},  # as of Funnel
    ],
)  # fmt: skip
def test_token_types_are_those_of_the_tokenizer(types, tmp_path):
    """Prediction, explanation and training read what the pipeline reads, of a model with three token types."""
    tokenizer = types_in_a_template(**types)
    model = families.build("bert", vocabulary=len(tokenizer), type_vocab_size=3)
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path)
    texts, seconds = ["goal match", "song band on soup", "bread"], ["song", "soup bread", "a cup of goal match"]
    classifier, classify = salience.load(tmp_path), pipeline("text-classification", str(tmp_path), top_k=None)
    for columns in ({"text": texts}, {"text": texts, "text_pair": seconds}):
        read = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        answers = [{each["label"]: each["score"] for each in answer} for answer in classify(read)]
        expected = np.array([[answer[label] for label in classifier.labels] for answer in answers])
        pairs = texts if len(columns) == 1 else list(zip(*columns.values(), strict=True))
        assert classifier.predict_proba(pairs) == pytest.approx(expected, abs=1e-6)
        explained = salience.explain(classifier, pairs, explainers=["occlusion"])
        assert np.array([each.probabilities for each in explained]) == pytest.approx(expected, abs=1e-6)
        collated = Collator.of(tokenizer)(list(classifier.encode(pairs)))
        elsewhere = Collator.of(tokenizer)([dict(tokenizer(*pair)) for pair in zip(*columns.values(), strict=True)])
        for rows in (collated, elsewhere):
            with torch.no_grad():
                logits = forward(model, salience.Batch(**rows))
            assert logits.softmax(1).numpy() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("pairs", [False, True])
def test_no_texts(pairs, run):
    classifier = replace(salience.load(run), pairs=pairs)
    for nothing in ([], DataFrame({"text": []}), DataFrame(columns=["text", "text_pair"])):
        assert classifier.predict_proba(nothing).shape == (0, 3)
        assert classifier.predict(nothing) == [] == salience.suggest(classifier, nothing)
        explanations = salience.explain(classifier, nothing)
        assert explanations == [] and explanations._repr_html_() is None  # a notebook shows its repr then


def test_a_table_is_read_as_an_estimator_reads_it(run):
    texts, labels = [text for text, _ in labelled_rows(6)], [label for _, label in labelled_rows(6)]
    table, estimator = DataFrame({"text": texts, "label": labels}), salience.SalienceClassifier.load(run)
    column, classifier = table[["text"]], estimator.classifier_
    assert classifier.predict(column) == estimator.predict(column).tolist() == classifier.predict(texts)
    found, expected = (salience.explain(classifier, given) for given in (column, texts))
    assert [each.words for each in found] == [each.words for each in expected]
    found = salience.suggest(classifier, column, count=2, labelled=column[:3])
    assert found == salience.suggest(classifier, texts, count=2, labelled=texts[:3])
    refusals = [refused(act, table) for act in (classifier.predict, estimator.predict, classifier.predict_proba)]
    refusals.append(refused(lambda given: salience.explain(classifier, given), table))
    assert len(set(refusals)) == 1 and "trained on single texts, and these are pairs of texts" in refusals[0]


def refused(act, given) -> str:
    with pytest.raises(InputError) as refusal:
        act(given)
    return str(refusal.value)


@pytest.mark.parametrize("texts", ["one text", ["a", ("b", "c")], [("a", "b", "c")], [("a", None)]])
def test_what_is_no_text(texts, run):
    classifier = salience.load(run)
    for act in (classifier.predict, lambda texts: salience.explain(classifier, texts)):
        with pytest.raises(InputError, match=r"sequence of texts|not a text|is missing"):
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


READERS_OF_PADDING = ["FNet", "ConvBert"]


@pytest.mark.parametrize("family", [
    pytest.param(family, marks=[] if family in ("bert", "deberta-v2", *READERS_OF_PADDING) else [pytest.mark.whole])
    for family in (*families.MODELS, *READERS_OF_PADDING)
])  # fmt: skip
def test_a_text_says_the_same_alone_and_in_any_company(family, tmp_path):
    """Which encoders read padding is found by trying them, when they are loaded."""
    random = np.random.default_rng(0)
    words = ["good", "bad", "fine", "dull", "new", "old"]
    texts = [" ".join(random.choice(words, length)) for length in (1, 30, 4, 12, 12, 2, 40, 7)]
    if family in READERS_OF_PADDING:
        families.save_other(tmp_path, words, family, spread=0.5)
    else:
        families.save_tiny_model(tmp_path, words, family)
    classifier = salience.load(tmp_path, device="cpu", precision="fp32")
    assert getattr(classifier.model.config, "reads_padding", False) == (family in READERS_OF_PADDING)
    alone = np.concatenate([classifier.predict_proba([text]) for text in texts])
    for order in (range(8), [6, 0, 3, 1], [7, 7, 2]):
        together = classifier.predict_proba([texts[place] for place in order])
        assert np.allclose(together, alone[list(order)], atol=1e-5)
    names = ["gradient", "occlusion"]
    for found, text in zip(salience.explain(classifier, texts, names), texts, strict=True):
        (own,) = salience.explain(classifier, [text], names)
        assert all(np.allclose(found.scores[name], own.scores[name], atol=1e-4) for name in names)


def test_it_is_shown_in_two_lines(tmp_path):
    families.save_tiny_model(tmp_path, ["a"], classes=3)
    classifier = salience.load(tmp_path, device="cpu", max_length=9)
    classifier.model.config.id2label = {0: "of\ntwo lines", 1: "long " * 20, 2: "c"}
    assert repr(classifier).splitlines() == [
        f"TextClassifier: one of of two lines, {'long ' * 8}, c",
        "BertForSequenceClassification on cpu, reads 9 tokens of texts",
    ]
