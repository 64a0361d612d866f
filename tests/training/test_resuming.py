"""When checkpoints are written, what lies on the disk beside them, and what a resumed run selects."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import TrainerCallback

from labelled import FILLER, WORDS, labelled_rows, planned
from salience.classify import TextClassifier
from salience.data.encoding import encode_texts
from salience.papers.attention_classifiers.building import word_tokenizer
from salience.scores.labels import OneLabel
from salience.training import callbacks as resuming
from salience.training.fit import Listeners, fit
from salience.training.prepare import Prepared
from salience.training.recipe import Recipe
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


@pytest.mark.parametrize("validation", [True, False])
@pytest.mark.parametrize("at", [2, 3, 8, 9, 17, 23])
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
