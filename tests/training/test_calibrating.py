"""A temperature folded into a model: the logits of its checkpoint, and the cross-fitted errors."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from torch import nn

import families
import salience
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.errors import InputError
from salience.hooks.hooks import evaluating, forward
from salience.scores.calibration import half_of_rows, temperature_of
from salience.scores.labels import ONE_LABEL
from salience.training.head import choose_calibration, divide_logits, divisible
from salience.training.recipe import Recipe
from salience.training.run import train
from word_models import word_classifier

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
        "not calibrated: the logits of BertForSequenceClassification are not those of its last linear map, so no "
        "temperature can be folded into it"
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


def test_every_reader_of_the_checkpoint_has_the_calibrated_logits(recipe, tmp_path):
    said, probabilities = [], {}
    for calibrate in (False, True):
        run = train(replace(recipe, calibrate=calibrate), tmp_path / str(calibrate), note=said.append)
        probabilities[calibrate] = salience.load(run.folder, device="cpu").predict_proba(["the match", "a song"])
        assert np.array_equal(run.probabilities, np.load(run.folder / "probabilities.npz")["probabilities"])
    estimate = run.metrics["estimate"]
    temperature = estimate["temperature_scaling"]["temperature"]
    assert estimate["calibrated"] and temperature != 1
    before, after = (np.log(probabilities[calibrate].astype(float)) for calibrate in (False, True))
    differences = [each - each[:, :1] for each in (before, after)]  # logits, up to a number for each row
    assert np.allclose(differences[1] * temperature, differences[0], atol=1e-4)
    card = (tmp_path / "True" / "README.md").read_text()
    assert f"Calibrated by the temperature {temperature:.3g}: calibration error" in card
    assert "Calibrated by" not in (tmp_path / "False" / "README.md").read_text()
    with pytest.raises(InputError, match=r"^--set calibrate has no effect .*: add --estimate folds:2"):
        train(replace(recipe, calibrate=True, estimate="none"), tmp_path / "none", note=said.append)
