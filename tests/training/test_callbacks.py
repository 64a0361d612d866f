"""Checkpoints, what a resumed run ends with, and weights between those before and after."""

from __future__ import annotations

import errno
import itertools
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sklearn.linear_model import LogisticRegression
from transformers import TrainerCallback

import families
from labelled import FILLER, WORDS, labelled_rows, planned, write_csv
from salience.classify import TextClassifier
from salience.data.encoding import encode_texts
from salience.errors import InputError
from salience.papers.attention_classifiers.building import word_tokenizer
from salience.scores.labels import OneLabel
from salience.training import callbacks as resuming
from salience.training.callbacks import using_files
from salience.training.fit import Listeners, fit
from salience.training.head import regression
from salience.training.prepare import Prepared, prepare, silent
from salience.training.recipe import Recipe
from salience.training.run import checked_files
from salience.training.task import task_of
from word_models import bits, word_classifier

TEXTS, LABELS = zip(*labelled_rows(30), strict=True)
TOKENIZER = word_tokenizer([*WORDS.values(), " ".join(FILLER)])
RECIPE = Recipe(
    "rows.csv", model="lstm", method="plain", steps=24, evaluations=6, batch_size=5, learning_rate=0.01, device="cpu"
)


class Killed(Exception):
    """Stands for a process that is killed."""


class Watch(TrainerCallback):
    """Records what is in the folder of checkpoints after every step, and kills the run at one of them."""

    def __init__(self, folder: Path, at: int | None = None):
        self.folder, self.at = folder, at
        self.seen: dict[int, set[str]] = {}
        self.written: dict[str, int] = {}
        self.weights: dict[int, object] = {}  # after every step

    def on_step_end(self, args, state, control, model, **_):
        self.weights[state.global_step] = bits(model)

    def on_step_begin(self, args, state, control, **_):
        self.look(state.global_step)
        if state.global_step == self.at:
            raise Killed

    def on_train_end(self, args, state, control, **_):
        self.look(state.global_step)

    def look(self, step: int) -> None:
        files = [file for file in self.folder.rglob("*") if file.is_file()]
        self.seen[step] = {file.relative_to(self.folder).parts[0] for file in files}
        self.written |= {str(file): file.stat().st_size for file in files}


def ready(validation: bool = True, **settings) -> Prepared:
    """A fresh model of the same seed, 20 rows to train on, and 10 for validation."""
    labels = [list(WORDS).index(label) for label in LABELS]
    encoded = encode_texts(TOKENIZER, TEXTS, labels=labels)
    torch.manual_seed(0)
    model = word_classifier("lstm", 0, pooling="additive", vocab_size=len(TOKENIZER), dropout=0.3)
    return Prepared(
        planned(replace(RECIPE, **settings)), TextClassifier(model, TOKENIZER, 50), None,
        encoded.take(range(20)), encoded.take(range(20, 30)) if validation else None, None, None,
    )  # fmt: skip


def fitted(folder: Path, validation: bool = True, at: int | None = None, **settings):
    """Trains such a model in this folder; what was recorded, the weights, and the state."""
    watch = Watch(folder, at)
    done = fit(ready(validation, **settings), folder, Listeners(callbacks=[watch]))
    return watch, bits(done.classifier.model), done.state


@pytest.fixture
def seconds(monkeypatch):
    """Every step takes one second of this clock, and so does a checkpoint."""
    clock = itertools.count()
    monkeypatch.setattr(resuming, "now", lambda: float(next(clock)))

    def between(checkpoints: float) -> None:
        monkeypatch.setattr(resuming, "SECONDS", checkpoints)

    return between


def checkpoints(watch: Watch) -> list[int]:
    """The steps after which a checkpoint was written."""
    return sorted({int(name.rpartition("-")[2]) for names in watch.seen.values() for name in names
                   if name.startswith("checkpoint-")})  # fmt: skip


@pytest.mark.parametrize(("step", "seconds", "saved"), [(4, 0, True), (5, 0, False), (4, 60, False)])
def test_a_checkpoint_is_written_when_it_is_due_but_not_after_the_last_step(step, seconds, saved, monkeypatch):
    monkeypatch.setattr(resuming, "SECONDS", seconds)
    points, arguments = resuming.ResumePoints(), SimpleNamespace(device="cpu", world_size=1)
    control = SimpleNamespace(should_save=not saved)
    points.on_train_begin(arguments, None, control)
    points.on_step_end(arguments, SimpleNamespace(global_step=step, max_steps=5), control)
    assert control.should_save == saved


def test_a_short_run_writes_nothing(tmp_path):
    watch, _, _ = fitted(tmp_path)
    assert not watch.written


@pytest.mark.parametrize("validation", [True, False])
def test_a_long_run_writes_a_checkpoint_at_intervals_of_time(validation, seconds, tmp_path):
    seconds(5)
    watch, _, _ = fitted(tmp_path, validation)
    assert checkpoints(watch) == [5, 10, 15, 20]
    for names in watch.seen.values():  # one checkpoint at a time, and the best weights that it needs
        assert len([name for name in names if name.startswith("checkpoint-")]) <= 1
        assert len([name for name in names if name.startswith("best-")]) <= validation


def test_the_last_step_writes_none(seconds, tmp_path):
    seconds(0)
    watch, _, state = fitted(tmp_path)
    assert checkpoints(watch) == list(range(1, 24)) and state.global_step == 24


def test_what_is_written_beside_a_checkpoint_is_the_best_model_once(seconds, tmp_path):
    seconds(3)
    watch, _, _ = fitted(tmp_path)
    model = sum(weight.numel() * weight.element_size() for weight in weights_of(tmp_path))
    best = {name: size for name, size in watch.written.items() if "best-" in name}
    optimizers = [size for name, size in watch.written.items() if name.endswith("optimizer.pt")]
    assert len(optimizers) == len(checkpoints(watch))
    assert 0 < len(best) <= len(checkpoints(watch)) and max(best.values()) < 1.1 * model + 10_000


def weights_of(folder: Path) -> list[torch.Tensor]:
    (file,) = folder.glob("best-*")
    return list(load_file(file).values())


KILLS = [(at, validation) for at in (2, 3, 8, 9, 17, 23) for validation in (True, False)]
QUICK = [(9, False), (17, True)]


@pytest.mark.parametrize(
    ("at", "validation"), [pytest.param(*each, marks=[] if each in QUICK else pytest.mark.whole) for each in KILLS]
)
def test_a_killed_run_ends_as_one_without_any_checkpoint(at, validation, seconds, tmp_path):
    _, whole, state = fitted(tmp_path / "whole", validation)
    seconds(3)
    with pytest.raises(Killed):
        fitted(tmp_path / "killed", validation, at)
    _, resumed, resumed_state = fitted(tmp_path / "killed", validation)
    assert resumed == whole
    assert (resumed_state.best_global_step, resumed_state.best_metric) == (state.best_global_step, state.best_metric)


def test_a_killed_run_with_another_loss_ends_with_the_same_weights(seconds, tmp_path):
    _, whole, _ = fitted(tmp_path / "whole", False, contrastive=0.5)
    _, plain, _ = fitted(tmp_path / "plain", False)
    seconds(3)
    with pytest.raises(Killed):
        fitted(tmp_path / "killed", False, 17, contrastive=0.5)
    assert fitted(tmp_path / "killed", False, contrastive=0.5)[1] == whole != plain


def test_the_model_ends_with_the_weights_of_the_best_evaluation(tmp_path, monkeypatch):
    """On a training that gets worse after its second of six evaluations."""
    scores = iter([0.1, 0.9, 0.2, 0.3, 0.1, 0.0])
    monkeypatch.setattr(OneLabel, "selection", lambda *_: next(scores))
    watch, weights, state = fitted(tmp_path)
    assert (state.best_global_step, state.global_step) == (8, 24)
    assert weights == watch.weights[state.best_global_step] != watch.weights[state.global_step]


def test_a_run_that_stops_early_writes_no_checkpoint_there(seconds, tmp_path):
    seconds(0)
    watch, weights, state = fitted(tmp_path, learning_rate=0.5, warmup=1.0, patience=1)
    assert state.global_step < 24 and state.global_step not in checkpoints(watch)
    _, again, resumed = fitted(tmp_path, learning_rate=0.5, warmup=1.0, patience=1)  # killed after its last step
    assert again == weights and resumed.global_step == state.global_step


# The texts are those of torch 2.13, safetensors 0.8 and tokenizers 0.23.
RAISED = {
    "torch, disk full": (
        RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 64 vs 0"), errno.ENOSPC
    ),
    "torch, disk full, small file": (RuntimeError("basic_ios::clear: iostream error"), errno.ENOSPC),
    "torch, denied": (
        RuntimeError("[enforce fail at inline_container.cc:747] . open file failed with strerror: Permission denied"),
        errno.EACCES,
    ),
    "safetensors, denied": (
        RuntimeError("Error while serializing: I/O error: Permission denied (os error 13)"), errno.EACCES
    ),
    "safetensors, disk full": (
        RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)"), errno.ENOSPC
    ),
    "safetensors, denied to read": (
        RuntimeError("unable to open file <model.safetensors> in read-only mode: Permission denied (13)"), errno.EACCES
    ),
    "tokenizers, denied": (Exception("Permission denied (os error 13)"), errno.EACCES),
    "the system itself": (OSError(errno.ENOSPC, "No space left on device", "file"), errno.ENOSPC),
}  # fmt: skip


@pytest.mark.parametrize("case", RAISED)
def test_a_write_that_failed(case):
    raised, number = RAISED[case]
    with pytest.raises(OSError, match=r"No space left|Permission denied") as told, using_files("folder"):
        raise raised
    assert told.value.errno == number
    assert told.value.filename == ("file" if isinstance(raised, OSError) else "folder")


def test_other_errors_stay_what_they_are():
    with pytest.raises(RuntimeError, match="the model is at fault"), using_files("folder"):
        raise RuntimeError("the model is at fault")


@pytest.fixture(scope="module")
def mean_place(tmp_path_factory):
    """Rows, and an encoder that sentence-transformers uses with a mean."""
    folder = tmp_path_factory.mktemp("mean_place")
    model = families.save_tiny_model(folder / "mean", [*WORDS.values(), " ".join(FILLER)])
    (model / "1_Pooling").mkdir()
    (model / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    return SimpleNamespace(data=str(write_csv(folder / "rows.csv", labelled_rows(24))), model=str(model))


def mean_recipe(mean_place, **settings) -> Recipe:
    return Recipe(mean_place.data, model=mean_place.model, device="cpu", estimate="none", **{"steps": 4, **settings})


def trained_weights(recipe, folder):
    """The weights before and after a training, by name."""
    prepared = prepare(recipe, task_of(recipe, silent))
    before = {name: weight.detach().clone() for name, weight in prepared.model.named_parameters()}
    model = fit(prepared, folder).classifier.model
    return before, {name: weight.detach().clone() for name, weight in model.named_parameters()}


def test_the_weights_are_between_those_before_and_after(mean_place, tmp_path):
    before, after = trained_weights(mean_recipe(mean_place, trained_share=1.0), tmp_path / "all")
    same, kept = trained_weights(mean_recipe(mean_place, trained_share=0.75), tmp_path / "part")
    moved = 0
    for name, weight in kept.items():
        assert torch.equal(before[name], same[name])
        assert torch.allclose(weight, 0.25 * before[name] + 0.75 * after[name], atol=1e-7), name
        moved += not torch.equal(before[name], after[name])
    assert moved > 10


def test_none_of_the_trained_weights_is_the_regression(mean_place, tmp_path):
    before, kept = trained_weights(mean_recipe(mean_place, trained_share=0.0), tmp_path)
    assert all(torch.equal(before[name], weight) for name, weight in kept.items())


@pytest.mark.parametrize("at", [pytest.param(3, marks=pytest.mark.whole), 17])
def test_a_killed_run_ends_with_the_same_weights(at, seconds, tmp_path):
    """The weights before the training are those of the fresh model, not those of the checkpoint."""
    _, whole, _ = fitted(tmp_path / "whole", validation=False, trained_share=0.5)
    seconds(3)
    with pytest.raises(Killed):
        fitted(tmp_path / "killed", False, at, trained_share=0.5)
    _, resumed, _ = fitted(tmp_path / "killed", validation=False, trained_share=0.5)
    assert resumed == whole


def test_the_strength_is_that_of_scikit_learn(mean_place):
    generator = np.random.default_rng(0)
    vectors, labels = generator.normal(size=(40, 3)), np.arange(40) % 4
    length = np.linalg.norm(vectors, axis=1).mean()
    for strength in (1.0, 10.0):
        weights, biases = regression(vectors, labels, 4, strength=strength)
        fitted = LogisticRegression(C=strength, max_iter=1000).fit(vectors / length, labels)
        np.testing.assert_allclose(vectors @ weights.T + biases, fitted.decision_function(vectors / length))


def test_what_does_not_fit_is_refused(mean_place):
    with pytest.raises(InputError, match=r"trained_share .* validation rows"):
        checked_files(mean_recipe(mean_place, trained_share=0.5, validation_share=0.25))


def test_a_regression_that_is_saved_fits_more_closely_where_classes_are_many(mean_place):
    for settings, strength in (({}, 1), ({"head_strength": 3.0}, 3)):
        recipe = Recipe(mean_place.data, model=mean_place.model, device="cpu", trained_layers=0, **settings)
        assert checked_files(recipe)[0].plan.head_strength == strength
    head = {"pooling": "mean", "head_start": "logistic", "max_length": 64, "precision": "fp32"}
    for settings, several, strength in (
        ({"trained_layers": 0}, False, 38.5), ({"trained_layers": 0}, True, 1), ({}, False, 38.5), ({}, True, 1),
        ({"effort": "best"}, False, 38.5), ({"head_end": "trained"}, False, 1),
    ):  # fmt: skip
        assert Recipe("", **settings).resolved(400, 77, 384, several=several, **head).head_strength == strength
    assert [Recipe("").strength_saved(classes, several=False) for classes in (2, 5, 6)] == [1, 1, 3]


@pytest.mark.parametrize("settings", [{"head_start": "random"}, {"pooling": "cls"}])
def test_a_strength_without_a_regression_is_refused(mean_place, settings):
    with pytest.raises(InputError, match="head_strength has no effect without --set head_start=logistic"):
        checked_files(mean_recipe(mean_place, head_strength=10.0, **settings))


def test_a_strength_does_not_need_a_start_where_the_start_is_a_regression(mean_place):
    recipe = mean_recipe(mean_place, head_strength=10.0)
    assert checked_files(recipe)[0].plan.head_start == "logistic"
