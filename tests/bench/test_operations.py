"""The counted operations are those that torch's own counter finds, where there is no padding."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import families
from operations import Operations, products
from salience import EXPLAINERS, Batch
from salience.hooks.hooks import forward

TEXTS, LENGTH = 3, 7


@pytest.fixture
def model():
    model = families.build("bert", classes=4)
    model.set_attn_implementation("eager")  # its products are counted; fused kernels compute some of them twice
    return model.eval()


@pytest.fixture
def batch() -> Batch:
    ids = torch.randint(5, 20, (TEXTS, LENGTH), generator=torch.Generator().manual_seed(0))
    ones = torch.ones_like(ids)
    return Batch(ids, ones, ones, torch.zeros(TEXTS, dtype=torch.long))


def counted(call) -> int:
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def test_predicting(model, batch):
    with torch.no_grad():
        found = counted(lambda: forward(model, batch))
    assert Operations.of(model).useful("predicting", [LENGTH] * TEXTS) == found


def test_training(model, batch):
    model.train()
    found = counted(lambda: forward(model, batch).sum().backward())
    assert Operations.of(model).useful("training", [LENGTH] * TEXTS) == found


def test_explaining(model, batch):
    found = counted(lambda: EXPLAINERS["gradient"](model, batch))
    assert Operations.of(model).useful("explaining", [LENGTH] * TEXTS) == found


def test_padding_is_not_useful(model):
    operations = Operations.of(model)
    assert operations.useful("predicting", [3, 5]) == sum(operations.useful("predicting", [n]) for n in (3, 5))


@pytest.mark.parametrize("work", ["training", "predicting", "explaining"])
def test_the_products_alone_are_those_of_the_layers(model, work):
    shapes = [(TEXTS, LENGTH), (2, 4)]
    compute, told = products(model, work, shapes, torch.float32)
    assert counted(compute) == told
    head = Operations.of(model).by_weights([0])
    passes = {"training": 3, "predicting": 1, "explaining": 2}[work]
    lengths = [length for texts, length in shapes for _ in range(texts)]
    assert Operations.of(model).useful(work, lengths) == told + passes * head * len(lengths)
