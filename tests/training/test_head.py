"""The head: how it begins, its temperature, descriptions of labels, and what is frozen below it."""

from __future__ import annotations

import json
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from launching_runs import trained_frozen
from safetensors.torch import load_file
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from test_callbacks import Killed, Watch, ready, seconds  # noqa: F401  `seconds` is a fixture
from torch import nn

import families
import salience
import word_models
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience import METHODS, mixed, plain
from salience.classify import TextClassifier, kept_states
from salience.classify.frozen_encoder import load_frozen, sentence_vectors
from salience.classify.kept_states import KeptStates
from salience.data.encoding import Encoded
from salience.data.texts import Texts
from salience.errors import InputError
from salience.hooks.hooks import evaluating, forward
from salience.hooks.stages import stages
from salience.mixing import AttentionMix
from salience.mixing.method import lowest_level
from salience.scores.calibration import half_of_rows, temperature_of
from salience.scores.labels import ONE_LABEL, SEVERAL_LABELS
from salience.training import head as head_start
from salience.training.fit import Listeners, build_trainer, fit, run_trainer
from salience.training.head import (
    SCALE,
    can_begin,
    choose_calibration,
    described_classifier,
    divide_logits,
    divisible,
    frozen_layers,
    last_map,
    regression,
    regression_of,
    regression_towards,
    regressions,
    set_regression,
    train_top,
)
from salience.training.passes import passes_per_step
from salience.training.prepare import prepare, silent
from salience.training.recipe import Recipe
from salience.training.run import checked_files, train
from salience.training.task import task_of
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


def test_two_rows_a_class_are_no_reason_to_warn(recwarn):
    regression(np.random.default_rng(0).normal(size=(6, 4)), np.array([0, 0, 1, 1, 2, 3]), 4)
    assert not len(recwarn)


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
    set_regression(TextClassifier(model, None, 50, "fp32"), texts)
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
    set_regression(classifier, texts)
    vectors = sentence_vectors(model, texts)
    weights, biases = regressions(vectors, texts.labels)
    np.testing.assert_allclose(classifier.probabilities(texts), expit(vectors @ weights.T + biases), atol=1e-5)


def test_texts_of_one_class_leave_the_head():
    model = families.build("bert")
    texts = encoded(families.batch(LENGTHS))
    before = bits(model)
    texts.labels[:] = 1
    set_regression(TextClassifier(model, None, 50, "fp32"), texts)
    assert bits(model) == before


def test_some_of_many_texts_are_read(monkeypatch):
    """The regression of the drawn texts alone; the same ones in every call."""
    texts, heads = encoded(families.batch(LENGTHS)), []
    drawn = np.sort(np.random.default_rng(0).permutation(len(texts))[:6])
    for part, most in ((texts.take(drawn), 100), (texts, 6), (texts, 6), (texts, 100)):
        monkeypatch.setattr(head_start, "MOST", most)
        model = families.build("bert")
        set_regression(TextClassifier(model, None, 50, "fp32"), part)
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
        recipe = recipe_of(place, head_start=start)
        prepared = prepare(recipe, task_of(recipe, silent))
        states.append((prepared.model, torch.random.get_rng_state()))
    (one, first), (other, second) = states
    assert bits(one.base_model) == bits(other.base_model) and torch.equal(first, second)
    assert not torch.equal(last_map(one).weight, last_map(other).weight)


def test_each_regression_costs_a_forward_pass_of_each_text(place, tmp_path):
    passes = [
        train(recipe_of(place, **settings), tmp_path / str(number), note=lambda line: None).metrics["text_passes"]
        for number, settings in enumerate(
            ({"head_start": "random"}, {}, {"head_end": "logistic"}, {"head_start": "random", "head_end": "logistic"})
        )
    ]
    assert passes == pytest.approx([12, 12 + 24 / 3, 12 + 2 * 24 / 3, 12 + 24 / 3])


@pytest.mark.parametrize("share", [0.75, pytest.param(1.0, marks=pytest.mark.whole)])
def test_the_kept_head_is_the_regression_on_the_trained_encoder(place, tmp_path, share):
    """Against scikit-learn, on the vectors of the run with the trained head; shares begin at the regression before."""
    settings = {"pooling": "mean", "trained_share": share}
    recipe = recipe_of(place, **settings)
    begun = last_map(prepare(recipe, task_of(recipe, silent)).model).weight.detach().double().numpy()
    trained, kept = (
        train(recipe_of(place, head_end=end, **settings | own), tmp_path / f"{end}-{number}", note=lambda line: None)
        for number, (end, own) in enumerate([("trained", {"trained_share": 1.0}), ("logistic", {})])
    )
    texts = trained.task.training
    vectors = sentence_vectors(trained.classifier.model, trained.classifier.encode(texts)).astype(float)
    length = np.linalg.norm(vectors, axis=1).mean()
    fitted = LogisticRegression(max_iter=1000).fit(vectors / length, texts.known_labels)
    expected = np.concatenate([-fitted.coef_, fitted.coef_]) / 2 if len(fitted.coef_) == 1 else fitted.coef_
    expected = begun + share * (expected / length - begun)
    np.testing.assert_allclose(last_map(kept.classifier.model).weight.detach().numpy(), expected, rtol=0.02, atol=0.02)
    encoders = [run.classifier.model.base_model for run in (trained, kept)]
    assert (bits(encoders[0]) == bits(encoders[1])) == (share == 1)


def test_a_head_that_cannot_be_a_regression_is_refused(place):
    with pytest.raises(InputError, match="head_end=logistic is not available for AttentionClassifier: use head_end="):
        checked_files(recipe_of(place, model="lstm-base", head_start="random", head_end="logistic"))


def test_a_model_over_words_is_refused(place):
    with pytest.raises(InputError, match="head_start=logistic is not available for AttentionClassifier"):
        checked_files(recipe_of(place, model="lstm-base"))


BATCH = families.batch([3, 5, 1])


def logits_of(model, batch=BATCH) -> torch.Tensor:
    with torch.no_grad(), evaluating(model):
        return forward(model, batch)


@pytest.mark.parametrize("temperature", [2.0, 0.05, 1.7])
@pytest.mark.parametrize("family", families.FAMILIES)
def test_the_logits_times_the_temperature_are_those_before(family, temperature):
    model, batch = families.FAMILIES[family](), families.batch([3, 5, 1], family=family)
    before, weights = logits_of(model, batch), deepcopy(model.state_dict())
    assert divisible(model, batch)
    assert all(torch.equal(weight, weights[name]) for name, weight in model.state_dict().items())
    divide_logits(model, temperature)
    after = logits_of(model, batch)
    assert torch.allclose(after * temperature, before, rtol=1e-5, atol=1e-6)
    if temperature == 2:  # only exponents change
        assert torch.equal(after * 2, before)
    assert torch.equal(after.argmax(1), before.argmax(1))


@pytest.mark.parametrize(
    "settings",
    [{}, {"classes": 2}, {"head": "perceptron"}, {"pooling": "variational"},
     {"pooling": "variational", "inference": "compressor"},
     {"pooling": "variational", "inference": "compressor", "shared_head": True}],
    ids=str,
)  # fmt: skip
def test_attention_classifiers_have_several_heads(settings):
    model = word_classifier("lstm", 0, **{"pooling": "additive", "vocab_size": 200} | settings)
    before = logits_of(model)
    assert divisible(model, BATCH)
    divide_logits(model, 1.7)
    assert torch.allclose(logits_of(model) * 1.7, before, rtol=1e-5, atol=1e-6)


def test_a_model_whose_logits_are_something_else_is_refused():
    model = families.FAMILIES["bert"]()
    head = model.classifier

    class Squared(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = head

        def forward(self, pooled):
            return self.inner(pooled) ** 3

    model.classifier = Squared()
    weights = deepcopy(model.state_dict())
    with pytest.raises(InputError, match=r"^--set calibrate=true: the logits of .* leave it out$"):
        choose_calibration(True, model, BATCH, pytest.fail)
    said: list[str] = []
    assert not choose_calibration(None, model, BATCH, said.append)
    assert said == [
        "not calibrated: the logits of BertForSequenceClassification are not those of its last linear map, which "
        "would hold the temperature"
    ]
    assert not choose_calibration(False, model, BATCH, pytest.fail)
    assert all(torch.equal(weight, weights[name]) for name, weight in model.state_dict().items())


def test_a_model_is_calibrated_unless_that_is_declined():
    model = families.FAMILIES["bert"]()
    assert [choose_calibration(asked, model, BATCH, pytest.fail) for asked in (None, True, False)] == [
        True,
        True,
        False,
    ]


def overconfident(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that would be right if their logits were divided by 3."""
    random = np.random.default_rng(0)
    logits = random.normal(size=(rows, 3))
    labels = np.array([random.choice(3, p=row) for row in softmax(logits, axis=1)])
    return softmax(3 * logits, axis=1).astype(np.float32), labels


def test_the_temperature_minimises_the_log_loss():
    probabilities, labels = overconfident(3000)

    def loss(temperature):
        return -log_softmax(np.log(probabilities.astype(float)) / temperature, axis=1)[np.arange(3000), labels].mean()

    found = temperature_of(probabilities, labels)
    assert found == pytest.approx(minimize_scalar(loss, bounds=(0.1, 10), method="bounded").x, rel=1e-3)
    assert found == pytest.approx(3, rel=0.1)


def test_each_half_is_scaled_by_the_temperature_of_the_other():
    probabilities, labels = overconfident(400)
    first = half_of_rows(400, 5)
    assert first.sum() == 200
    scaled = np.empty((400, 3))
    for row in range(400):
        fitted_on = ~first if first[row] else first
        temperature = temperature_of(probabilities[fitted_on], labels[fitted_on])
        powers = probabilities[row].astype(float) ** (1 / temperature)
        scaled[row] = powers / powers.sum()
    found = ONE_LABEL.cross_fitted(probabilities, labels, seed=5)
    assert found["calibration_error_scaled"] == pytest.approx(ONE_LABEL.calibration_error(scaled, labels), abs=1e-6)
    assert found["calibration_error"] == ONE_LABEL.calibration_error(probabilities, labels)
    assert found["calibration_error_scaled"] < found["calibration_error"] / 2
    assert found["temperature"] == temperature_of(probabilities, labels)


def test_a_group_is_in_one_half():
    groups = np.repeat(np.arange(50), 4)
    first = half_of_rows(groups, 0)
    assert first.reshape(50, 4).all(1).sum() == first.reshape(50, 4).any(1).sum() == 25


def test_rows_that_say_nothing_of_confidence():
    probabilities, labels = np.array([[0.9, 0.1], [0.3, 0.7]], np.float32), np.array([0, 1])
    found = ONE_LABEL.cross_fitted(probabilities, labels)
    assert found["temperature"] == 1 and found["calibration_error_scaled"] == found["calibration_error"]
    alone = ONE_LABEL.cross_fitted(probabilities, np.array([0, 0]), np.array([4, 4]))
    assert alone["calibration_error_scaled"] is None and alone["temperature"] > 1


@pytest.fixture(scope="module")
def recipe(tmp_path_factory) -> Recipe:
    folder = tmp_path_factory.mktemp("place")
    return Recipe(
        str(write_csv(folder / "rows.csv", labelled_rows(30))),
        test=str(write_csv(folder / "test.csv", labelled_rows(9, seed=1))),
        model=str(families.save_tiny_model(folder / "tiny", [*WORDS.values(), " ".join(FILLER)])), method="plain",
        steps=8, batch_size=8, learning_rate=0.01, device="cpu", validation_share=0, estimate="folds:2",
    )  # fmt: skip


@pytest.mark.whole
def test_every_reader_of_the_checkpoint_has_the_calibrated_logits(recipe, tmp_path):
    said, probabilities = [], {}
    for calibrate in (False, True):
        run = train(replace(recipe, calibrate=calibrate), tmp_path / str(calibrate), note=said.append)
        probabilities[calibrate] = salience.load(run.folder, device="cpu").predict_proba(["the match", "a song"])
        again = run.classifier.probabilities(run.classifier.read(run.task.test))
        assert np.array_equal(again, run.predictions.probabilities)
    estimate = run.metrics["estimate"]
    temperature = estimate["temperature_scaling"]["temperature"]
    assert estimate["calibrated"] and temperature != 1
    before, after = (np.log(probabilities[calibrate].astype(float)) for calibrate in (False, True))
    differences = [each - each[:, :1] for each in (before, after)]  # logits, up to a number for each row
    assert np.allclose(differences[1] * temperature, differences[0], atol=1e-4)
    card = (tmp_path / "True" / "README.md").read_text()
    assert f"Calibration failed (temperature {temperature:.3g}): do not rely on the probabilities" in card
    assert "Calibrat" not in (tmp_path / "False" / "README.md").read_text().replace("Calibration error", "")
    with pytest.raises(InputError, match=r"^--set calibrate has no effect .*: add --estimate folds:2"):
        train(replace(recipe, calibrate=True, estimate="none"), tmp_path / "none", note=said.append)


NAMED = ["sport", "music", "food"]
DESCRIPTIONS = Texts(["a match and a cup", "a song", "the band", "a soup"], labels=np.array([0, 1, 1, 2]))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    return str(families.save_tiny_model(folder, [*WORDS.values(), " ".join(FILLER)], classes=3))


def cosines(texts, encoder) -> np.ndarray:
    """The cosine of each text with the mean of the unit vectors of each label's descriptions, from the formula."""
    frozen = load_frozen(encoder, device="cpu", precision="fp32")
    vectors, described = frozen.vectors(texts), frozen.vectors(DESCRIPTIONS.texts)
    found = np.empty((len(texts), 3))
    for row, vector in enumerate(vectors):
        for label in range(3):
            mean = np.mean([described[i] for i in range(4) if DESCRIPTIONS.labels[i] == label], axis=0)
            found[row, label] = vector @ mean / np.linalg.norm(mean)
    return found


def test_the_label_is_that_of_the_nearest_description(encoder):
    texts = [text for text, _ in labelled_rows(40, seed=5)]
    expected = cosines(texts, encoder)
    ordered = np.sort(expected, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 0.01  # the pooling layer of the checkpoint is the mean up to about 1 %
    classifier = described_classifier(encoder, DESCRIPTIONS, NAMED, device="cpu")
    probabilities = classifier.predict_proba(texts)
    assert clear.sum() > 10
    assert (probabilities.argmax(1) == expected.argmax(1))[clear].all()
    assert len(set(expected[clear].argmax(1))) > 1
    logits = np.log(probabilities)
    spread = logits - logits.mean(1, keepdims=True)
    exact = SCALE * (expected - expected.mean(1, keepdims=True))
    assert np.corrcoef(spread.ravel(), exact.ravel())[0, 1] > 0.97


@pytest.mark.parametrize(
    ("texts", "numbers", "labels", "message"),
    [
        (["a cup"], [0], ["sport", "music"], '1 label without a description: "music"'),
        (["a cup"], [0], ["sport"], "a classifier needs two labels"),
    ],
)
def test_what_cannot_be_described(encoder, texts, numbers, labels, message):
    with pytest.raises(InputError, match=message):
        described_classifier(encoder, Texts(texts, labels=np.array(numbers)), labels, device="cpu")


def test_a_model_with_a_pooling_of_its_own(tmp_path):
    folder = families.save_tiny_model(tmp_path, list(WORDS.values()), "attention", classes=3)
    with pytest.raises(InputError, match="pooling=mean: AttentionClassifier has a pooling of its own"):
        described_classifier(str(folder), DESCRIPTIONS, NAMED, device="cpu")


FOUR = [5, 2, 9, 4]
SEVERAL = [name for name in families.FAMILIES if name != "albert"]


def frozen(family: str, layers: int):
    model = families.MODELS[family]().train()
    train_top(model, families.LAYERS - layers)
    return model


def counted(model, own, objective) -> tuple[dict[str | int, int], dict[str | int, int]]:
    """How often each layer is passed forward, and backward, in a step."""
    forwards, backwards = {}, {}

    def watch(level):
        def after(module, arguments, result):
            value = result[0] if isinstance(result, tuple) else result
            forwards[level] = forwards.get(level, 0) + 1
            if value.requires_grad:
                value.register_hook(lambda _: backwards.update({level: backwards.get(level, 0) + 1}))

        return after

    layers = {level: module for level, module in stages(model).items() if isinstance(level, int) or level == "pooling"}
    handles = [module.register_forward_hook(watch(level)) for level, module in layers.items()]
    for loss in objective(model, own):
        loss.backward()
    for handle in handles:
        handle.remove()
    return forwards, backwards


@pytest.mark.parametrize("layers", [0, 2, 3])
@pytest.mark.parametrize("family", SEVERAL)
def test_only_what_lies_above_is_trained_and_passed_backward(family, layers):
    model, own = frozen(family, layers), families.batch(FOUR, family=family)
    forwards, backwards = counted(model, own, plain)
    assert forwards == dict.fromkeys(range(1, families.LAYERS + 1), 1)
    assert backwards == dict.fromkeys(range(layers + 1, families.LAYERS + 1), 1)
    for level, module in stages(model).items():
        trained = level == "sentence" or (isinstance(level, int) and level > layers)
        assert all(weight.requires_grad is trained for weight in module.parameters()), level
        assert all((weight.grad is not None) is trained for weight in module.parameters()), level
    assert frozen_layers(model) == layers
    assert passes_per_step(None, 0.5, model) == pytest.approx(len(backwards) / families.LAYERS)


def test_a_pooling_layer_is_above_all_layers():
    model = families.with_mean("bert").train()
    train_top(model, 0)
    assert model.classifier.weight.requires_grad
    forwards, backwards = counted(model, families.batch(FOUR), plain)
    assert sum(forwards.values()) == families.LAYERS + 1 and sum(backwards.values()) == 0
    assert passes_per_step(None, 0.5, model) == 0


@pytest.mark.parametrize(
    "method",
    [METHODS["senmixup"](), METHODS["mixupencoding"](), AttentionMix(level=2, layer=2, head=1)],
    ids=["senmixup", "mixupencoding", "attentionmix"],
)
def test_the_cost_of_mixing_on_kept_states(method):
    """A forward pass, one for the gradients of states, and one for those of weights are a third of a pass each."""
    model, own = frozen("bert", 2), families.batch(FOUR)
    assert lowest_level(method, model) in (None, 2, 3)
    with KeptStates(model, 2).beginning(model, own):
        forwards, backwards = counted(model, own, mixed(method, 0.5))
    passes = (forwards[3] + 2 * backwards[3]) / 3 / families.LAYERS
    assert passes_per_step(method, 0.5, model) == pytest.approx(passes)


@pytest.mark.parametrize(
    ("method", "lowest"),
    [
        (None, None), ("senmixup", None), ("mixupencoding", 3), ("tmix", 2), ("embedmix", 0), ("wordmixup", 0),
        ("ssmix", 0), ("ssmix-nosaliency", 0), ("randomunk", 0), ("dropmix-g", 0), ("attentionmix", 0),
        (AttentionMix(level=3, layer=1, head=0), 1), (AttentionMix(level=1, layer=-1, head=0), 1),
    ],
)  # fmt: skip
def test_what_a_method_needs_is_not_left_out_of_training(method, lowest):
    model = families.build("bert")
    method = METHODS[method]() if isinstance(method, str) else method
    assert lowest_level(method, model) == lowest
    for trained in (1, 2, 3):
        level = train_top(deepcopy(model), trained, lowest_level(method, model))
        assert level == (None if lowest is not None and lowest < 3 - trained else 3 - trained)


def test_an_lstm_has_one_layer():
    model, own = word_models.word_classifier("lstm"), word_models.word_batch(FOUR)
    train_top(model, 0)
    next(plain(model, own)).backward()
    assert all(weight.grad is None for weight in model.encoder.parameters())
    assert model.head.weight.grad is not None
    assert passes_per_step(None, 0.5, model) == 0


def test_embeddings_alone():
    model = word_models.word_classifier("embeddings")
    train_top(model, 0)
    assert passes_per_step(None, 0.5, model) == 1 and frozen_layers(model) == 0


def test_a_killed_run_ends_with_the_same_weights(seconds, tmp_path):  # noqa: F811
    def trained(name: str, at: int | None = None) -> dict[str, str]:
        prepared = ready(validation=False)
        train_top(prepared.model, 1)
        return bits(fit(prepared, tmp_path / name, Listeners(callbacks=[Watch(tmp_path, at)])).classifier.model)

    whole = trained("whole")
    seconds(3)
    with pytest.raises(Killed):
        trained("killed", 17)
    assert trained("killed") == whole
    words = "encoder.embeddings.word_embeddings.weight"
    assert whole[words] == bits(ready().model)[words]


@pytest.mark.parametrize("validation", [True, pytest.param(False, marks=pytest.mark.whole)])
def test_training_on_kept_states_is_training_above_them(validation, tmp_path):
    """Against a Trainer that computes the lower layers in every step; the model has no dropout in them."""
    words = [*WORDS.values(), " ".join(FILLER)]
    model = families.save_tiny_model(tmp_path / "tiny", words, classes=2)
    held_out = {"validation": str(write_csv(tmp_path / "validation.csv", labelled_rows(12, seed=1)))}
    recipe = Recipe(
        data=str(write_csv(tmp_path / "rows.csv", labelled_rows(40))), model=str(model), method="senmixup", steps=8,
        batch_size=8, trained_layers=1, learning_rate=0.003, device="cpu", **held_out if validation else {},
    )  # fmt: skip

    def weights(name: str, memory: float = 2.0, kept: bool = True) -> dict[str, torch.Tensor]:
        kept_states._shelves.clear()
        prepared = prepare(replace(recipe, kept_memory=memory), task_of(recipe, silent))
        trainer = build_trainer(prepared, tmp_path / name)
        assert trainer.kept is not None and trainer.kept.level == frozen_layers(prepared.model)
        trainer.kept = trainer.kept if kept else None
        run_trainer(trainer)
        assert (kept_states.kept_bytes() > 0) == (kept and memory > 0)
        # The loss does not depend on the biases of keys; Adam takes the rounding of their gradients for gradients.
        return {name: each for name, each in prepared.model.state_dict().items() if not name.endswith("key.bias")}

    found, again, whole = weights("kept"), weights("again", memory=0), weights("whole", kept=False)
    assert all(torch.equal(weight, again[name]) for name, weight in found.items())
    torch.testing.assert_close(found, whole, atol=1e-4, rtol=1e-3)
    before = load_file(model / "model.safetensors")
    assert any(not torch.equal(before[name], weight) for name, weight in whole.items() if name in before)


def test_all_layers_are_trained_where_a_method_needs_them(tmp_path):
    words, notes = [*WORDS.values(), " ".join(FILLER)], []
    recipe = Recipe(
        data=str(write_csv(tmp_path / "rows.csv", labelled_rows(40))), method="ssmix", steps=2, trained_layers=1,
        model=str(families.save_tiny_model(tmp_path / "tiny", words, classes=2)), device="cpu",
    )  # fmt: skip
    prepared = checked_files(recipe, notes.append)[0]
    assert prepared.plan.trained_layers == "all" and all(each.requires_grad for each in prepared.model.parameters())
    assert any("all layers are trained: ssmix" in note for note in notes)


def test_layers_that_cannot_be_trained_alone():
    with pytest.raises(InputError, match="--trained-layers 4: the encoder has 3 layers"):
        train_top(families.build("bert"), 4)
    with pytest.raises(InputError, match="one layer at several levels; use --trained-layers all"):
        train_top(families.build("albert"), 1)
    with pytest.raises(InputError, match="--trained-layers 1 cannot be used with this model: Linear has no embedding"):
        train_top(torch.nn.Linear(2, 2), 1)
    assert passes_per_step(None, 0.5, torch.nn.Linear(2, 2)) == 1


def test_a_method_that_needs_lower_layers_trains_them(tmp_path):
    words = [*WORDS.values(), " ".join(FILLER)]
    recipe = Recipe(
        data=str(write_csv(tmp_path / "rows.csv", labelled_rows(40))), steps=2, device="cpu", trained_layers=1,
        model=str(families.save_tiny_model(tmp_path / "tiny", words, classes=2)),
    )  # fmt: skip

    def trained(asked: Recipe) -> tuple[int | str, str]:
        notes = []
        prepared = checked_files(asked, notes.append)[0]
        return prepared.plan.trained_layers, " ".join(notes)

    layers, told = trained(recipe)
    assert layers == 1 and "are trained" not in told
    layers, told = trained(replace(recipe, method="ssmix"))
    assert layers == "all" and "all layers are trained: ssmix" in told


@pytest.mark.whole
def test_two_processes_end_with_the_same_weights(tmp_path):
    data = str(write_csv(tmp_path / "train.csv", labelled_rows(60)))
    trained_frozen(data, tmp_path / "alone")
    script = Path(__file__).with_name("launching_runs.py")
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script, "trained_frozen", data]
    done = subprocess.run([sys.executable, *launch, tmp_path / "both"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    both, expected = (load_file(tmp_path / name / "model.safetensors") for name in ("both", "alone"))
    for name, weight in expected.items():
        assert torch.allclose(weight, both[name], rtol=0, atol=1e-5), name
    assert json.loads((tmp_path / "both" / "metrics.json").read_text())["steps"] == 16


def described_rows(seed, rows=30, classes=4, width=6):
    """Vectors around a direction for each label, the last of them the descriptions, and their labels."""
    random = np.random.default_rng(seed)
    labels = np.concatenate([random.integers(classes, size=rows), np.arange(classes)])
    return random.normal(size=(rows + classes, width)) + 2 * np.eye(classes, width)[labels], labels


@pytest.mark.parametrize("seed", range(3))
def test_a_regression_towards_a_centre_minimises_its_loss(seed):
    """By the gradient of torch: nothing is left of it."""
    vectors, labels = described_rows(seed)
    random = np.random.default_rng(seed)
    centre, of_rows, strength = random.normal(size=(4, 6)), random.random(len(labels)), 0.3
    weights, biases = (torch.tensor(part, requires_grad=True) for part in
                       regression_towards(centre, vectors, labels, of_rows, strength))  # fmt: skip
    losses = torch.nn.functional.cross_entropy(
        torch.tensor(vectors) @ weights.T + biases, torch.tensor(labels), reduction="none"
    )
    loss = (torch.tensor(of_rows) * losses).sum() + ((weights - torch.tensor(centre)) ** 2).sum() / (2 * strength)
    loss.backward()
    assert weights.grad.abs().max() < 0.01 and biases.grad.abs().max() < 0.01
    around_0 = regression_towards(np.zeros((4, 6)), vectors, labels, of_rows, 1 / len(labels))
    by_scikit = LogisticRegression(C=1 / len(labels), tol=1e-8, max_iter=1000).fit(vectors, labels, of_rows)
    assert around_0[0] == pytest.approx(by_scikit.coef_, abs=1e-3)


def test_rows_choose_how_much_a_regression_leans_on_descriptions():
    """Few rows of ten classes are no match for descriptions that say which is which; wrong descriptions are left."""
    random = np.random.default_rng(0)
    classes, width = 10, 40
    centres = 3 * np.eye(classes, width)
    labels = np.arange(3 * classes) % classes
    rows, new = (centres[each] + random.normal(size=(len(each), width)) for each in (labels, np.tile(labels, 20)))

    def accuracy(descriptions):
        vectors, numbers = np.concatenate([rows, descriptions]), np.concatenate([labels, np.arange(classes)])
        found = regression_of(vectors, numbers, classes, described=classes)
        return float(((new @ found[0].T + found[1]).argmax(1) == np.tile(labels, 20)).mean())

    alone = regression_of(rows, labels, classes)
    of_rows = float(((new @ alone[0].T + alone[1]).argmax(1) == np.tile(labels, 20)).mean())
    assert accuracy(centres) > of_rows + 0.03
    some = np.concatenate([rows, centres[:4]]), np.concatenate([labels, np.arange(4)])  # of six labels there is none
    weights, biases = regression_of(*some, classes, described=4)
    assert float(((new @ weights.T + biases).argmax(1) == np.tile(labels, 20)).mean()) > of_rows - 0.02
    unseen = regression_of(some[0], np.where(some[1] == 9, 8, some[1]), classes, described=4)
    assert np.isfinite(unseen[0]).all() and unseen[1][9] == np.delete(unseen[1], 9).min()
    assert accuracy(centres[::-1]) > of_rows - 0.1
