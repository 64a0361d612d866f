"""Frozen lower layers: what is trained, what passes backward, and what a step costs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from launching_frozen import trained_frozen
from safetensors.torch import load_file
from test_resuming import Killed, Watch, ready, seconds  # noqa: F401  `seconds` is a fixture

import families
import word_models
from labelled import labelled_rows, write_csv
from salience import METHODS, mixed, plain
from salience.errors import InputError
from salience.hooks.stages import stages
from salience.training.fit import Listeners, fit
from salience.training.head import freeze_lowest, frozen_layers
from salience.training.passes import passes_per_step
from word_models import bits

LENGTHS = [5, 2, 9, 4]
SEVERAL = [name for name in families.FAMILIES if name != "albert"]


def frozen(family: str, layers: int):
    model = families.MODELS[family]().train()
    freeze_lowest(model, layers)
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
    model, own = frozen(family, layers), families.batch(LENGTHS, family=family)
    forwards, backwards = counted(model, own, plain)
    assert forwards == dict.fromkeys(range(1, families.LAYERS + 1), 1)
    assert backwards == dict.fromkeys(range(layers + 1, families.LAYERS + 1), 1)
    for level, module in stages(model).items():
        trained = level == "sentence" or (isinstance(level, int) and level > layers)
        assert all(weight.requires_grad is trained for weight in module.parameters()), level
        assert all((weight.grad is not None) is trained for weight in module.parameters()), level
    assert frozen_layers(model) == layers
    assert passes_per_step(None, 0.5, model) == pytest.approx((families.LAYERS + 2 * len(backwards)) / 9)


def test_a_pooling_layer_is_above_all_layers():
    model = families.with_mean("bert").train()
    freeze_lowest(model, families.LAYERS)
    assert model.classifier.weight.requires_grad
    forwards, backwards = counted(model, families.batch(LENGTHS), plain)
    assert sum(forwards.values()) == families.LAYERS + 1 and sum(backwards.values()) == 0
    assert passes_per_step(None, 0.5, model) == pytest.approx((families.LAYERS + 1) / 12)


# What a clean pass that a guide reads passes backward through, without the gradients of weights.
@pytest.mark.parametrize(
    ("name", "through"), [("embedmix", 0), ("senmixup", 0), ("mixupencoding", 0), ("ssmix", 2), ("dropmix-g", 2)]
)
def test_the_cost_of_mixing_on_frozen_layers(name, through):
    """A forward pass, one for the gradients of states, and one for those of weights are a third of a pass each."""
    model, method = frozen("bert", 2), METHODS[name]()
    forwards, backwards = counted(model, families.batch(LENGTHS), mixed(method, 0.5))
    below = sum(times for level, times in backwards.items() if level <= 2)
    assert below == through
    above = sum(backwards.values()) - below
    passes = (sum(forwards.values()) + below + 2 * above) / 3 / families.LAYERS
    assert passes_per_step(method, 0.5, model) == pytest.approx(passes)


def test_an_lstm_has_one_layer():
    model, own = word_models.word_classifier("lstm"), word_models.word_batch(LENGTHS)
    freeze_lowest(model, 1)
    next(plain(model, own)).backward()
    assert all(weight.grad is None for weight in model.encoder.parameters())
    assert model.head.weight.grad is not None
    assert passes_per_step(None, 0.5, model) == pytest.approx(1 / 3)


def test_embeddings_alone():
    model = word_models.word_classifier("embeddings")
    freeze_lowest(model, 0)
    assert passes_per_step(None, 0.5, model) == 1 and frozen_layers(model) == 0


def test_a_killed_run_ends_with_the_same_weights(seconds, tmp_path):  # noqa: F811
    def trained(name: str, at: int | None = None) -> dict[str, str]:
        prepared = ready(validation=False)
        freeze_lowest(prepared.model, 0)
        return bits(fit(prepared, tmp_path / name, Listeners(callbacks=[Watch(tmp_path, at)])).classifier.model)

    whole = trained("whole")
    seconds(3)
    with pytest.raises(Killed):
        trained("killed", 17)
    assert trained("killed") == whole
    words = "encoder.embeddings.word_embeddings.weight"
    assert whole[words] == bits(ready().model)[words]


def test_layers_that_cannot_be_frozen():
    with pytest.raises(InputError, match="freeze=4: the encoder has 3 layers"):
        freeze_lowest(families.build("bert"), 4)
    with pytest.raises(InputError, match="one layer at several levels; use freeze=0"):
        freeze_lowest(families.build("albert"), 1)
    with pytest.raises(InputError, match="freeze=1 cannot be used with this model: Linear has no embedding block"):
        freeze_lowest(torch.nn.Linear(2, 2), 1)
    assert passes_per_step(None, 0.5, torch.nn.Linear(2, 2)) == 1


def test_two_processes_end_with_the_same_weights(tmp_path):
    data = str(write_csv(tmp_path / "train.csv", labelled_rows(60)))
    trained_frozen(data, tmp_path / "alone")
    script = Path(__file__).with_name("launching_frozen.py")
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script, data]
    done = subprocess.run([sys.executable, *launch, tmp_path / "both"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    both, expected = (load_file(tmp_path / name / "model.safetensors") for name in ("both", "alone"))
    for name, weight in expected.items():
        assert torch.allclose(weight, both[name], rtol=0, atol=1e-5), name
    assert json.loads((tmp_path / "both" / "metrics.json").read_text())["steps"] == 16
