"""The share of the trained weights that the rows of an estimate choose."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import yaml
from launching_shares import trained_with_share
from safetensors.torch import load_file
from scipy.special import expit
from sklearn.metrics import log_loss

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.runs.results import estimate_sentences
from salience.scores.calibration import (
    half_of_rows,
    label_temperature_of,
    temperature_of,
    with_label_temperature,
    with_temperature,
)
from salience.training import estimate as estimating
from salience.training.estimate import SHARES, chosen_share, cross_chosen, standard_error
from salience.training.recipe import Recipe
from salience.training.run import train


def noisy(labels, classes, noise, seed):
    """Probabilities that are right as often as the noise of their logits admits."""
    logits = 3 * np.eye(classes)[labels] + noise * np.random.default_rng(seed).normal(size=(len(labels), classes))
    exponents = np.exp(logits)
    return exponents / exponents.sum(1, keepdims=True)


@pytest.fixture
def labels():
    return np.random.default_rng(0).integers(0, 4, 200)


def test_the_share_with_the_lowest_log_loss_is_chosen(labels):
    probabilities = np.stack([noisy(labels, 4, noise, seed) for seed, noise in enumerate((1.0, 2.0, 3.0))])
    losses = [log_loss(labels, with_temperature(each, temperature_of(each, labels))) for each in probabilities]
    assert chosen_share(probabilities, labels) == np.argmin(losses) == 0
    assert chosen_share(probabilities[[2, 0, 1]], labels) == 1


def test_of_several_labels_the_share_with_the_lowest_log_loss_of_decisions_is_chosen():
    labels = np.random.default_rng(0).integers(0, 2, (200, 5))
    probabilities = np.stack([
        expit((2 * labels - 1) * 2 + noise * np.random.default_rng(seed).normal(size=labels.shape))
        for seed, noise in enumerate((3.0, 1.0, 2.0))
    ])  # fmt: skip
    losses = [
        log_loss(labels.ravel(), with_label_temperature(each, label_temperature_of(each, labels)).ravel())
        for each in probabilities
    ]
    assert chosen_share(probabilities, labels) == np.argmin(losses) == 1
    np.testing.assert_array_equal(cross_chosen(probabilities, labels, 1), probabilities[1])


def test_the_trained_weights_are_kept_unless_a_share_is_clearly_better(labels):
    """A share that is as good but for chance is better by a standard error in about 16 % of the cases."""
    trained = noisy(labels, 4, 2.0, 0)
    assert chosen_share(np.stack([trained, trained, trained]), labels) == 2
    pairs = [np.stack([noisy(labels, 4, 2.0, seed), noisy(labels, 4, 2.0, seed + 100)]) for seed in range(100)]
    assert 0.05 < np.mean([chosen_share(pair, labels) == 0 for pair in pairs]) < 0.3


def test_the_standard_error_over_groups_is_that_of_a_bootstrap_over_groups():
    generator = np.random.default_rng(0)
    groups = generator.integers(0, 300, 1500)
    values = generator.normal(size=300)[groups] + generator.normal(size=1500)
    members = [np.flatnonzero(groups == number) for number in range(300)]
    draws = [values[np.concatenate([members[n] for n in generator.integers(0, 300, 300)])].mean() for _ in range(2000)]
    assert standard_error(values, groups) == pytest.approx(np.std(draws), rel=0.05)
    assert standard_error(values) == pytest.approx(values.std(ddof=1) / 1500**0.5)
    assert standard_error(values) < standard_error(values, groups) / 1.5


def test_rows_that_are_repeated_in_their_group_choose_what_they_choose_alone(labels):
    """As many copies of a row make a chance difference certain, unless the copies count as one."""
    pairs = [np.stack([noisy(labels, 4, 2.0, seed), noisy(labels, 4, 2.0, seed + 100)]) for seed in range(20)]
    alone = [chosen_share(pair, labels) for pair in pairs]
    copies = np.repeat(np.arange(200), 25)
    assert [chosen_share(pair[:, copies], labels[copies], copies) for pair in pairs] == alone
    assert [chosen_share(pair[:, copies], labels[copies]) for pair in pairs] != alone


def test_a_single_group_chooses_nothing(labels):
    pair = np.stack([noisy(labels, 4, 1.0, 0), noisy(labels, 4, 3.0, 1)])
    assert chosen_share(pair, labels, np.zeros(200)) == 1


def test_a_single_row_chooses_nothing():
    assert chosen_share(np.array([[[0.9, 0.1]], [[0.1, 0.9]]]), np.array([0])) == 1


def test_no_row_is_scored_by_a_share_that_it_has_chosen(labels):
    """Changing the rows of one half changes the shares of the other half alone."""
    good, bad = noisy(labels, 4, 1.0, 1), noisy(labels, 4, 4.0, 2)
    groups = np.arange(200) % 20
    first = half_of_rows(groups, 0)
    found = cross_chosen(np.stack([good, bad]), labels, 0, groups)
    np.testing.assert_array_equal(found, good)  # both halves say so
    mixed = np.stack([np.where(first[:, None], bad, good), np.where(first[:, None], good, bad)])
    found = cross_chosen(mixed, labels, 1, groups)
    # For the first half the trained weights are better, and so the rows of the other half are predicted with them.
    np.testing.assert_array_equal(found.argmax(1), bad.argmax(1))
    np.testing.assert_array_equal(found[~first], bad[~first])


def test_another_share_is_brought_to_the_confidence_of_the_kept_one(labels):
    """Shares that differ by their temperatures alone: the rows fit one temperature, that of the kept share."""
    groups = np.arange(200) % 20
    first = half_of_rows(groups, 0)
    base = np.where(first[:, None], noisy(labels, 4, 3.0, 1), noisy(labels, 4, 3.0, 2))
    other = noisy(labels, 4, 1.0, 3)
    # Either half is predicted better by another share, and so each is predicted with the share that is worse for it.
    shares = np.stack([
        with_temperature(np.where(first[:, None], base, other), 3.0), np.where(first[:, None], other, base)
    ])  # fmt: skip
    temperatures = [temperature_of(each, labels) for each in shares]
    for kept in (0, 1):
        found = with_temperature(cross_chosen(shares, labels, kept, groups), temperatures[kept])
        expected = [with_temperature(each, number) for each, number in zip(shares, temperatures, strict=True)]
        np.testing.assert_allclose(found, np.where(first[:, None], *expected), rtol=1e-6)


def test_the_trained_weights_are_the_last_of_the_shares():
    assert SHARES[-1] == 1 and sorted(SHARES) == list(SHARES)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Rows, and an encoder that sentence-transformers uses with a mean."""
    folder = tmp_path_factory.mktemp("place")
    model = families.save_tiny_model(folder / "mean", [*WORDS.values(), " ".join(FILLER)])
    (model / "1_Pooling").mkdir()
    (model / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    return SimpleNamespace(data=str(write_csv(folder / "rows.csv", labelled_rows(24))), model=str(model))


def run_of(place, output, **settings):
    recipe = Recipe(place.data, model=place.model, device="cpu", steps=3, calibrate=False, **settings)
    return train(recipe, output, note=lambda line: None)


def weights_of(run):
    return {name: weight.detach().clone() for name, weight in run.classifier.model.named_parameters()}


def test_the_model_of_a_run_has_the_share_that_its_estimate_chooses(place, tmp_path, monkeypatch):
    monkeypatch.setattr(estimating, "chosen_share", lambda probabilities, labels, groups=None: 0)
    chosen = run_of(place, tmp_path / "chosen", estimate="folds:2")
    assert chosen.metrics["estimate"]["trained_share"] == SHARES[0] == 0.5
    said = "the saved weights are 50% of the way from those before training to the trained ones"
    assert any(line.startswith(said) for line in estimate_sentences(chosen.metrics))
    named = run_of(place, tmp_path / "named", estimate="none", trained_share=0.5)
    for name, weight in weights_of(named).items():
        assert torch.allclose(weights_of(chosen)[name], weight, atol=1e-7), name


def test_a_recipe_leaves_the_choice_to_the_run_that_repeats_it(place, tmp_path, monkeypatch):
    monkeypatch.setattr(estimating, "chosen_share", lambda probabilities, labels, groups=None: 1)
    first = run_of(place, tmp_path / "first", estimate="folds:2")
    again = train(
        Recipe.from_mapping(yaml.safe_load((tmp_path / "first" / "recipe.yaml").read_text())),
        tmp_path / "again",
        note=lambda line: None,
    )
    assert again.metrics["estimate"]["trained_share"] == first.metrics["estimate"]["trained_share"] == 0.75
    for name, weight in weights_of(first).items():
        assert torch.equal(weights_of(again)[name], weight), name
    with (
        np.load(tmp_path / "first" / "out_of_fold.npz") as one,
        np.load(tmp_path / "again" / "out_of_fold.npz") as two,
    ):
        np.testing.assert_array_equal(one["probabilities"], two["probabilities"])


def test_the_rows_are_predicted_with_every_share(place, tmp_path, monkeypatch):
    """The last of them are the predictions of the trained weights, which an estimate of that share has too."""
    seen = []
    monkeypatch.setattr(
        estimating, "chosen_share", lambda probabilities, labels, groups=None: seen.append(probabilities) or 2
    )
    open_ = run_of(place, tmp_path / "open", estimate="folds:2")
    named = run_of(place, tmp_path / "named", estimate="folds:2", trained_share=1.0)
    assert seen[0].shape == (len(SHARES), 24, 3) and open_.metrics["estimate"]["trained_share"] == 1
    assert "trained_share" not in named.metrics["estimate"]
    assert not any("saved weights" in line for line in estimate_sentences(open_.metrics))
    with np.load(tmp_path / "named" / "out_of_fold.npz") as arrays:
        np.testing.assert_allclose(seen[0][-1], arrays["probabilities"], atol=1e-6)
    assert not np.allclose(seen[0][0], seen[0][-1])
    for name, weight in weights_of(named).items():
        assert torch.equal(weights_of(open_)[name], weight), name


def test_two_processes_choose_as_one_does(place, tmp_path):
    alone = trained_with_share(place.data, place.model, str(tmp_path / "alone"))
    script = Path(__file__).with_name("launching_shares.py")
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script, place.data, place.model]
    done = subprocess.run([sys.executable, *launch, tmp_path / "both"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads((tmp_path / "both" / "metrics.json").read_text())["estimate"]["trained_share"] == 0.5
    both = load_file(tmp_path / "both" / "model.safetensors")
    for name, weight in load_file(alone.folder / "model.safetensors").items():
        if not name.endswith("key.bias"):  # attention does not depend on it: its gradient is rounding
            assert torch.allclose(both[name], weight, atol=1e-5), name


@pytest.mark.parametrize("settings", [{"head_start": "random"}, {"validation_share": 0.25}])
def test_other_runs_choose_nothing(place, tmp_path, settings):
    run = run_of(place, tmp_path / "run", estimate="folds:2", **settings)
    assert run.recipe.trained_share == 1 and "trained_share" not in run.metrics["estimate"]
