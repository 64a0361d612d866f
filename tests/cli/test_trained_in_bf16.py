"""A model that was trained in bf16 computes in the precision that it is asked for, as a model from a folder does."""

import pytest
import torch
from torch import nn

from salience.models.precision import computing, exactly
from salience.training.recipe import Recipe
from salience.training.run import train


def precision_of(model: nn.Module) -> torch.dtype:
    """The number format of the first linear layer's output."""
    seen: list[torch.dtype] = []
    layer = next(module for module in model.modules() if isinstance(module, nn.Linear))
    hook = layer.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    model(torch.ones(1, 4, dtype=torch.long))
    hook.remove()
    return seen[0]


@pytest.fixture
def trained(place, tmp_path):
    recipe = Recipe(str(place.data), model=str(place.model), method="ssmix", steps=2, precision="bf16", device="cpu")
    return train(recipe, tmp_path / "run", note=lambda line: None).classifier


def test_the_model_has_no_precision_of_its_own(trained):
    assert precision_of(trained.model) == torch.float32
    with trained.computing():
        assert precision_of(trained.model) == torch.bfloat16
        with exactly():
            assert precision_of(trained.model) == torch.float32
    with computing(trained.model, "fp32"):
        assert precision_of(trained.model) == torch.float32
    assert trained.model.config._attn_implementation == "sdpa"
