"""A head that begins as a logistic regression: against scikit-learn, autograd, and texts one by one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.classify import TextClassifier
from salience.classify.frozen_encoder import sentence_vectors
from salience.data.encoding import Encoded
from salience.errors import InputError
from salience.scores.labels import SEVERAL_LABELS
from salience.training import head as head_start
from salience.training.head import begin_as_regression, can_begin, last_map, regression, regressions
from salience.training.recipe import Recipe
from salience.training.run import prepare_files, train
from word_models import bits, word_classifier

LABELS = np.random.default_rng(0).integers(0, 3, 40)
VECTORS = np.random.default_rng(1).normal(size=(40, 5)) * 7 + np.eye(3, 5)[LABELS] * 4
FAMILIES = ["bert", "roberta", "distilbert", "electra", "bert, mean", "roberta, mean", "modernbert-mean"]
LENGTHS = [5, 1, 9, 3, 12, 7, 2, 9]


def loss_of(weights: torch.Tensor, biases: torch.Tensor, of_classes: torch.Tensor) -> torch.Tensor:
    """The penalised loss of a regression on vectors of a mean length of 1."""
    vectors = torch.tensor(VECTORS / np.linalg.norm(VECTORS, axis=1).mean())
    losses = torch.nn.functional.cross_entropy(vectors @ weights.T + biases, torch.tensor(LABELS), reduction="none")
    return (losses * of_classes[LABELS]).sum() + weights.square().sum() / 2


@pytest.mark.parametrize("of_classes", [None, [0.5, 1.0, 2.0]])
def test_the_penalised_loss_has_no_gradient(of_classes):
    length = np.linalg.norm(VECTORS, axis=1).mean()
    weights, biases = regression(VECTORS, LABELS, 3, of_classes)
    found = [torch.tensor(weights * length).requires_grad_(), torch.tensor(biases).requires_grad_()]
    loss_of(*found, torch.tensor(of_classes or [1.0] * 3, dtype=torch.float64)).backward()
    assert max(each.grad.abs().max().item() for each in found) < 1e-2
    start = [torch.zeros_like(each).requires_grad_() for each in found]
    loss_of(*start, torch.ones(3, dtype=torch.float64)).backward()
    assert max(each.grad.abs().max().item() for each in start) > 1


def test_two_classes_have_the_probabilities_of_the_regression():
    labels = (LABELS > 0).astype(int)
    length = np.linalg.norm(VECTORS, axis=1).mean()
    weights, biases = regression(VECTORS, labels, 2)
    expected = LogisticRegression().fit(VECTORS / length, labels).predict_proba(VECTORS / length)
    np.testing.assert_allclose(softmax(VECTORS @ weights.T + biases, axis=1), expected, atol=1e-6)


def test_a_class_without_a_row_is_never_preferred():
    weights, biases = regression(VECTORS, np.where(LABELS == 1, 3, LABELS), 4)
    assert not weights[1].any() and biases[1] == biases.min()
    alone, _ = regression(VECTORS, LABELS, 3)
    np.testing.assert_allclose(weights[[0, 3, 2]], alone, atol=1e-3)


def encoded(own) -> Encoded:
    """A batch's texts without their padding, with labels."""
    real = own.attention_mask.bool()
    labels = np.arange(len(own)) % 3
    return Encoded(own.input_ids[real].numpy(), own.segment[real].numpy(), real.sum(1).numpy(), labels)


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_each_text_gets_the_probabilities_of_the_regression(family):
    """Texts one by one, and vectors that a hook of the test reads; the encoder stays as it is."""
    model = families.MODELS[family](classes=3).eval()
    own = families.batch(LENGTHS, family=family)
    before, texts, read = bits(model.base_model), encoded(own), []
    begin_as_regression(TextClassifier(model, None, 50, "fp32"), texts)
    assert bits(model.base_model) == before and not model.training
    handle = last_map(model).register_forward_pre_hook(lambda module, arguments: read.append(arguments[0].detach()))
    rows = [ids[mask.bool()] for ids, mask in zip(own.input_ids, own.attention_mask, strict=True)]
    logits = [model(input_ids=row[None], attention_mask=torch.ones_like(row)[None]).logits[0] for row in rows]
    handle.remove()
    vectors = torch.cat(read).double().numpy()
    length = np.linalg.norm(vectors, axis=1).mean()
    fitted = LogisticRegression().fit(vectors / length, texts.labels)
    expected = fitted.predict_proba(vectors / length)
    np.testing.assert_allclose(torch.stack(logits).softmax(1).numpy(), expected, atol=2e-3)


def test_several_labels_have_a_regression_each():
    """Against scikit-learn's one-against-rest; labels that no row has, or every row, have their log odds."""
    labels = np.stack([LABELS == 0, LABELS > 0, np.zeros(40, bool), np.ones(40, bool)], axis=1).astype(int)
    length = np.linalg.norm(VECTORS, axis=1).mean()
    weights, biases = regressions(VECTORS, labels, strength=0.3)
    fitted = OneVsRestClassifier(LogisticRegression(C=0.3)).fit(VECTORS / length, labels[:, :2])
    np.testing.assert_allclose(
        expit(VECTORS @ weights.T + biases)[:, :2], fitted.predict_proba(VECTORS / length), atol=1e-6
    )
    assert not weights[2:].any() and biases[2:] == pytest.approx([np.log(0.5 / 40.5), np.log(40.5 / 0.5)])


def test_texts_with_a_label_have_its_weight_in_the_regression():
    labels = np.stack([LABELS == 0, LABELS > 1], axis=1).astype(int)
    length = np.linalg.norm(VECTORS, axis=1).mean()
    weights, biases = regressions(VECTORS, labels, [3.0, 0.5])
    for number, weight in enumerate([3.0, 0.5]):
        fitted = LogisticRegression(class_weight={0: 1.0, 1: weight}).fit(VECTORS / length, labels[:, number])
        found = VECTORS @ weights[number] + biases[number]
        np.testing.assert_allclose(found, fitted.decision_function(VECTORS / length), atol=1e-3)


@torch.no_grad()
def test_each_label_of_a_text_begins_with_the_probability_of_its_regression():
    model = families.MODELS["bert, mean"](classes=3).eval()
    model.config.problem_type = SEVERAL_LABELS.problem_type
    own = families.batch(LENGTHS, family="bert, mean")
    texts = encoded(own)
    texts.labels = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 0, 0]])
    classifier = TextClassifier(model, None, 50, "fp32")
    begin_as_regression(classifier, texts)
    vectors = sentence_vectors(model, texts)
    weights, biases = regressions(vectors, texts.labels)
    np.testing.assert_allclose(classifier.probabilities(texts), expit(vectors @ weights.T + biases), atol=1e-5)


def test_texts_of_one_class_leave_the_head():
    model = families.build("bert")
    texts = encoded(families.batch(LENGTHS))
    before = bits(model)
    texts.labels[:] = 1
    begin_as_regression(TextClassifier(model, None, 50, "fp32"), texts)
    assert bits(model) == before


def test_some_of_many_texts_are_read(monkeypatch):
    """The regression of the drawn texts alone; the same ones in every call."""
    texts, heads = encoded(families.batch(LENGTHS)), []
    drawn = np.sort(np.random.default_rng(0).permutation(len(texts))[:6])
    for part, most in ((texts.take(drawn), 100), (texts, 6), (texts, 6), (texts, 100)):
        monkeypatch.setattr(head_start, "MOST", most)
        model = families.build("bert")
        begin_as_regression(TextClassifier(model, None, 50, "fp32"), part)
        heads.append(last_map(model).weight.detach().clone())
    torch.testing.assert_close(heads[0], heads[1])
    assert torch.equal(heads[1], heads[2]) and not torch.allclose(heads[1], heads[3])


def test_an_attention_classifier_cannot_begin_so():
    assert not can_begin(word_classifier("lstm"))
    assert can_begin(families.build("bert"))


# ----------------------------------------------------------------------------------------------------- in a run


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    data = write_csv(folder / "rows.csv", labelled_rows(24))
    model = families.save_tiny_model(folder / "tiny", [*WORDS.values(), " ".join(FILLER)], dropout=0.1)
    return {"data": str(data), "model": str(model)}


def recipe_of(place, **settings) -> Recipe:
    usual = {"steps": 2, "batch_size": 6, "device": "cpu", "estimate": "none", "head_start": "logistic"}
    return Recipe(**place | usual | settings)


def test_only_the_head_of_a_run_begins_in_another_way(place):
    """Everything that is drawn afterwards is the same."""
    states = []
    for start in ("random", "logistic"):
        prepared, _ = prepare_files(recipe_of(place, head_start=start))
        states.append((prepared.model, torch.random.get_rng_state()))
    (one, first), (other, second) = states
    assert bits(one.base_model) == bits(other.base_model) and torch.equal(first, second)
    assert not torch.equal(last_map(one).weight, last_map(other).weight)


def test_it_costs_a_forward_pass_of_each_text(place, tmp_path):
    runs = [
        train(recipe_of(place, head_start=start), tmp_path / start, note=lambda line: None)
        for start in ("random", "logistic")
    ]
    random, logistic = (run.metrics["text_passes"] for run in runs)
    assert (random, logistic) == (12, pytest.approx(12 + 24 / 3))


def test_a_model_over_words_is_refused(place):
    with pytest.raises(InputError, match="head_start=logistic is not available for AttentionClassifier"):
        prepare_files(recipe_of(place, model="lstm-base"))
