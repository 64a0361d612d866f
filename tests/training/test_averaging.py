"""Averages of the weights: against slow loops over recorded weights, and in runs that are killed and resumed."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from launching_techniques import trained_with_techniques
from safetensors.torch import load_file
from test_resuming import TOKENIZER, Killed, checkpoints, fitted, ready, seconds  # noqa: F401  `seconds` is a fixture
from transformers import TrainerCallback

import families
from labelled import labelled_rows, write_csv
from salience.errors import InputError
from salience.training import scoring
from salience.training.averaging import ema_decay, first_step
from salience.training.fitting import Listeners, fit
from salience.training.recipe import Recipe
from word_models import bits

KINDS = ["tail", "ema"]


class Recorded(TrainerCallback):
    """The weights after every step, as training goes on with them, and those that evaluations see."""

    def __init__(self):
        self.after, self.evaluated = {}, {}

    def on_step_end(self, args, state, control, model, **_):
        self.after[state.global_step] = copied(model)

    def on_evaluate(self, args, state, control, model, **_):
        self.evaluated[state.global_step] = copied(model)


def copied(model) -> dict[str, torch.Tensor]:
    return {name: weight.detach().double() for name, weight in model.state_dict().items()}


def mean_of_the_last_half(after: dict[int, dict], until: int, steps: int) -> dict[str, torch.Tensor]:
    kept = [weights for step, weights in after.items() if steps / 2 < step <= until]
    return {name: sum(weights[name] for weights in kept) / len(kept) for name in kept[0]}


def moving_average(after: dict[int, dict], until: int, steps: int) -> dict[str, torch.Tensor]:
    decay, average = 1 - 10 / steps, after[1]
    for step in range(2, until + 1):
        average = {name: decay * average[name] + (1 - decay) * after[step][name] for name in average}
    return average


SLOW = {"tail": mean_of_the_last_half, "ema": moving_average}


def assert_close(found: dict, expected: dict) -> None:
    assert found.keys() == expected.keys()
    for name, weight in expected.items():
        assert torch.allclose(found[name], weight, rtol=0, atol=1e-6), name


def recorded(folder, validation=False, **settings):
    watch = Recorded()
    done = fit(ready(validation, **settings), folder, Listeners(callbacks=[watch]))
    return watch, done


@pytest.mark.parametrize("steps", [24, 25])
@pytest.mark.parametrize("kind", KINDS)
def test_the_model_ends_with_the_average(kind, steps, tmp_path):
    watch, done = recorded(tmp_path, average=kind, steps=steps)
    found = copied(done.classifier.model)
    assert_close(found, SLOW[kind](watch.after, steps, steps))
    assert (found["head.weight"] - watch.after[steps]["head.weight"]).abs().max() > 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_a_transformer_in_bf16_ends_with_the_average_too(kind, tmp_path):
    prepared = ready(False, average=kind, precision="bf16", learning_rate=1e-3)
    model = families.build("bert", dropout=0.1, vocabulary=len(TOKENIZER)).float()
    watch = Recorded()
    prepared = replace(prepared, classifier=replace(prepared.classifier, model=model))
    done = fit(prepared, tmp_path, Listeners(callbacks=[watch]))
    assert_close(copied(done.classifier.model), SLOW[kind](watch.after, 24, 24))


@pytest.mark.parametrize("kind", KINDS)
def test_training_goes_on_from_the_weights_that_are_not_averaged(kind, tmp_path):
    for validation in (True, False):
        plain, averaged = (
            recorded(tmp_path / f"{name}-{validation}", validation, average=name)[0] for name in ("none", kind)
        )
        assert [bits_of(weights) for weights in averaged.after.values()] == [
            bits_of(weights) for weights in plain.after.values()
        ]


def bits_of(weights: dict) -> dict:
    return bits({name: weight.float() for name, weight in weights.items()})


@pytest.mark.parametrize("kind", KINDS)
def test_evaluations_see_the_average_and_the_best_is_kept(kind, tmp_path, monkeypatch):
    """Evaluations after steps 4, 8, ... 24; the one after 16 is the best. The mean begins after step 12."""
    scores = iter([0.1, 0.2, 0.1, 0.9, 0.3, 0.2])
    monkeypatch.setattr(scoring, "OF_ONE", replace(scoring.OF_ONE, selection=lambda *_: next(scores)))
    watch, done = recorded(tmp_path, True, average=kind)
    assert done.state.best_global_step == 16
    for step, weights in watch.evaluated.items():
        begun = kind == "ema" or step > 12
        assert_close(weights, SLOW[kind](watch.after, step, 24) if begun else watch.after[step])
    assert bits_of(copied(done.classifier.model)) == bits_of(watch.evaluated[16])


@pytest.mark.parametrize("validation", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [3, 9, 13, 17, 23])
def test_a_killed_run_ends_with_the_same_average(at, kind, validation, seconds, tmp_path):  # noqa: F811
    _, whole, state = fitted(tmp_path / "whole", validation, average=kind)
    seconds(3)
    with pytest.raises(Killed):
        fitted(tmp_path / "killed", validation, at, average=kind)
    _, resumed, resumed_state = fitted(tmp_path / "killed", validation, average=kind)
    assert resumed == whole
    assert (resumed_state.best_global_step, resumed_state.best_metric) == (state.best_global_step, state.best_metric)


def test_one_average_lies_beside_a_checkpoint(seconds, tmp_path):  # noqa: F811
    seconds(4)
    watch, _, _ = fitted(tmp_path, validation=False, average="tail")
    assert checkpoints(watch) == [4, 8, 12, 16, 20]
    averages = {step: [name for name in names if name.startswith("average-")] for step, names in watch.seen.items()}
    assert all(len(names) == (step >= 16) for step, names in averages.items())  # none before the mean begins


def test_a_checkpoint_without_its_average_is_not_resumed(seconds, tmp_path):  # noqa: F811
    seconds(3)
    with pytest.raises(Killed):
        fitted(tmp_path, validation=False, at=17, average="ema")
    (file,) = tmp_path.glob("average-*")
    file.unlink()
    with pytest.raises(InputError, match=rf"lacks {file.name}.*--overwrite"):
        fitted(tmp_path, validation=False, average="ema")


def test_where_the_averages_begin_and_how_far_they_reach():
    assert [first_step("tail", steps) for steps in (1, 2, 3, 10)] == [1, 2, 2, 6]
    assert first_step("ema", 10) == 1
    assert [ema_decay(steps) for steps in (1, 10, 20, 1000)] == pytest.approx([0, 0, 0.5, 0.99])


def test_two_processes_have_the_same_average(tmp_path):
    data = str(write_csv(tmp_path / "train.csv", labelled_rows(60)))
    trained_with_techniques(data, tmp_path / "alone")
    script = Path(__file__).with_name("launching_techniques.py")
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script, data]
    done = subprocess.run([sys.executable, *launch, tmp_path / "both"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    both, expected = (load_file(tmp_path / name / "model.safetensors") for name in ("both", "alone"))
    for name, weight in expected.items():
        assert torch.allclose(weight, both[name], rtol=0, atol=1e-5), name
    assert json.loads((tmp_path / "both" / "metrics.json").read_text())["steps"] == 16


def test_an_unknown_average_is_refused():
    with pytest.raises(InputError, match='unknown --average "swa"; known: ema, none, tail'):
        Recipe("x", average="swa")
