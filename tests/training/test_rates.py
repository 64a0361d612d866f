"""Learning rates with a pooling layer: steps of AdamW against those of a linear head on the mean itself."""

import copy

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import TrainingArguments

import families
from salience import MixTrainer
from salience.hooks.hooks import forward
from salience.models.mean_pooling import NARROW, with_mean_pooling
from salience.training.trainer import rate_factors, set_rates


class OnTheMean(torch.nn.Module):
    """The same encoder with a linear head on the mean of the states."""

    def __init__(self, plain, head):
        super().__init__()
        self.bert, self.classifier = plain.bert, copy.deepcopy(head)
        with torch.no_grad():
            self.classifier.weight.mul_(NARROW)

    def forward(self, batch):
        states = self.bert(batch.input_ids, batch.attention_mask, batch.token_type_ids).last_hidden_state
        mask = batch.attention_mask[..., None]
        return self.classifier((states * mask).sum(1) / mask.sum(1))


def adamw(model):
    """Grouped as the Trainer does it: no decay of biases."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    return torch.optim.AdamW(
        [
            {"params": [weight for weight in weights if weight.ndim > 1], "weight_decay": 5.0},
            {"params": [weight for weight in weights if weight.ndim == 1], "weight_decay": 0.0},
        ],
        lr=1e-3,
    )


def test_steps_are_those_on_the_mean_itself():
    """After five steps with a large weight decay. Without the rates, the head would have moved 1/64 as far.

    Adam's first steps are the signs of the gradient, so that small errors turn the steps of a few weights around. The
    encoders are not trained: theirs would be turned around too, and change what the heads read.
    """
    torch.manual_seed(0)
    plain = families.build("bert", width=64, spread=0.1).double()
    model = with_mean_pooling(copy.deepcopy(plain)).double()
    other = OnTheMean(plain, model.classifier)
    own = families.batch([5, 1, 12, 7, 3])
    for weight in (*model.bert.parameters(), *other.bert.parameters()):
        weight.requires_grad_(False)
    before = other.classifier.weight.detach().clone()
    optimizer, of_other = adamw(model), adamw(other)
    set_rates(optimizer, model)
    for _ in range(5):
        for logits, its in ((lambda: forward(model, own), optimizer), (lambda: other(own), of_other)):
            its.zero_grad()
            cross_entropy(logits(), own.labels).backward()
            its.step()
    read = model.bert.encoder.layer[-1].output.LayerNorm.weight != 0  # two units are replaced by their offsets
    moved = (other.classifier.weight - before)[:, read]
    found = (model.classifier.weight * NARROW - before)[:, read]
    assert moved.abs().mean() > 2e-3
    assert ((found - moved).abs() < 0.05 * moved.abs().mean()).double().mean() > 0.9


def groups_of(trainer):
    trainer.create_optimizer()
    names = {id(weight): name for name, weight in trainer.model.named_parameters()}
    return [
        ({names[id(weight)] for weight in group["params"]}, group["lr"], group["weight_decay"])
        for group in trainer.optimizer.param_groups
    ]


def trainer_of(model, tmp_path, **options):
    arguments = TrainingArguments(
        output_dir=str(tmp_path), learning_rate=1e-3, weight_decay=0.1, use_cpu=True, report_to="none"
    )
    rows = [{"input_ids": [2, 5, 3], "attention_mask": [1, 1, 1], "segment": [0, 1, 0], "labels": 0}]
    return MixTrainer(model=model, args=arguments, train_dataset=rows, **options)


def test_the_groups_of_the_trainer(tmp_path):
    model = families.with_mean("bert")
    decayed, others, of_head = groups_of(trainer_of(model, tmp_path))
    assert of_head == ({"classifier.weight"}, 1e-3 / NARROW, 0.1 * NARROW)
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert decayed[0] | others[0] | of_head[0] == trained
    assert decayed[1:] == (1e-3, 0.1) and others[1:] == (1e-3, 0.0)
    assert not any(name.startswith("bert.encoder.layer.3.") for name in trained)


def test_other_models_keep_their_groups(tmp_path):
    model = families.build("bert")
    assert [group[1:] for group in groups_of(trainer_of(model, tmp_path))] == [(1e-3, 0.1), (1e-3, 0.0)]


@pytest.mark.parametrize("pooled", [False, True], ids=["cls", "pooling layer"])
def test_the_head_has_a_rate_of_its_own(tmp_path, pooled):
    model = families.with_mean("bert") if pooled else families.build("bert")
    trainer = trainer_of(model, tmp_path, head_rate=10.0)
    found = groups_of(trainer)
    rates = {name: rate for names, rate, _ in found for name in names}
    assert sum(len(names) for names, *_ in found) == len(rates)
    assert len(rates) == sum(weight.requires_grad for weight in model.parameters())
    for name, rate in rates.items():
        expected = 1 if name.startswith(("bert.embeddings.", "bert.encoder.layer.")) else 10
        if pooled and name == "classifier.weight":
            expected /= NARROW
        assert rate == pytest.approx(1e-3 * expected), name


def test_a_faster_head_takes_larger_first_steps(tmp_path):
    """Adam's first step is the learning rate, whatever the gradient."""
    model = families.build("bert")
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0, eps=1e-12)
    set_rates(optimizer, model, 10.0)
    own = families.batch([5, 1, 12, 7, 3])
    cross_entropy(forward(model, own), own.labels).backward()
    optimizer.step()
    moved = {name: (weight - before[name]).abs().max().item() for name, weight in model.named_parameters()}
    assert moved["classifier.weight"] == pytest.approx(1e-2, rel=1e-3)
    assert moved["bert.encoder.layer.0.output.dense.weight"] == pytest.approx(1e-3, rel=1e-3)


@pytest.mark.parametrize(
    ("family", "part"),
    [
        ("deberta-v2", "encoder.rel_embeddings"), ("deberta-v2", "encoder.LayerNorm"),
        ("mpnet", "encoder.relative_attention_bias"), ("albert", "encoder.embedding_hidden_mapping_in"),
    ],
)  # fmt: skip
def test_parts_below_the_layers_have_the_rate_of_the_encoder(family, part):
    model = families.build(family)
    factors = rate_factors(model, 10.0)
    own = [factors[id(weight)] for weight in model.base_model.get_submodule(part).parameters()]
    assert own and set(own) == {factors[id(model.get_input_embeddings().weight)]} == {(1.0, 1.0)}
    assert factors[id(list(model.parameters())[-1])][0] == 10.0
