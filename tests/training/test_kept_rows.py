"""The gradient that is kept by its rows ends as the dense one, whatever happens in between."""

import pytest
import torch

import families
from salience import METHODS, SSMix, mixed
from salience.training import objective as objectives
from salience.training.objective import kept_by_rows


@pytest.fixture
def model():
    return families.build("bert", classes=3, dropout=0.1, vocabulary=5000)


def gradients(model, objective, seed: int = 0, passes: int = 1) -> dict[str, torch.Tensor]:
    model.zero_grad()
    torch.manual_seed(seed)
    for _ in range(passes):
        for loss in objective(model, families.batch([5, 9, 3, 7])):
            loss.backward()
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


@pytest.mark.parametrize("passes", [1, 2])  # two: gradients are accumulated over two batches
@pytest.mark.parametrize("name", ["ssmix", "embedmix", "dropmix-c", "senmixup"])
def test_gradients_are_the_same_to_the_last_bit(name, passes, model, monkeypatch):
    objective = mixed(METHODS[name](), 0.5)
    found = gradients(model.train(), objective, passes=passes)
    assert not model.get_input_embeddings().weight._post_accumulate_grad_hooks
    monkeypatch.setattr(objectives, "kept_by_rows", lambda model: torch.enable_grad())  # does nothing
    expected = gradients(model, objective, passes=passes)
    assert found.keys() == expected.keys() and all(torch.equal(found[name], expected[name]) for name in found)


def test_rows_are_given_back_where_there_is_no_second_pass(model):
    weight = model.get_input_embeddings().weight
    weight.grad = torch.zeros_like(weight)
    weight.grad[[3, 70]] = 2.5
    before = weight.grad.clone()
    with pytest.raises(KeyError), kept_by_rows(model):
        assert weight.grad is None
        raise KeyError
    assert torch.equal(weight.grad, before)


def test_a_first_loss_alone_leaves_its_gradient(model):
    """A caller that stops in the middle of a step."""
    losses = mixed(SSMix(), 0.5)(model.train(), families.batch([5, 9, 3, 7]))
    next(losses).backward()
    before = model.get_input_embeddings().weight.grad.clone()
    next(losses)
    losses.close()
    assert torch.equal(model.get_input_embeddings().weight.grad, before)
    assert not model.get_input_embeddings().weight._post_accumulate_grad_hooks
