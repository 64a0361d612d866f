"""Learning rates with a pooling layer: steps of AdamW against those of a linear head on the mean itself."""

import copy

import torch
from torch.nn.functional import cross_entropy
from transformers import TrainingArguments

import families
from salience import MixTrainer
from salience.hooks.hooks import forward
from salience.models.mean_pooling import NARROW, with_mean_pooling
from salience.training.pooling_rates import set_pooling_rates


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
    """After five steps with a large weight decay. Without the rates, the head would have moved 1/64 as far."""
    plain = families.build("bert", width=64, spread=0.1).double()
    model = with_mean_pooling(copy.deepcopy(plain)).double()
    other = OnTheMean(plain, model.classifier)
    own = families.batch([5, 1, 12, 7, 3])
    before = other.classifier.weight.clone()
    optimizer, of_other = adamw(model), adamw(other)
    set_pooling_rates(optimizer, model)
    for _ in range(5):
        for logits, its in ((lambda: forward(model, own), optimizer), (lambda: other(own), of_other)):
            its.zero_grad()
            cross_entropy(logits(), own.labels).backward()
            its.step()
    read = model.bert.encoder.layer[-1].output.LayerNorm.weight != 0  # two units are replaced by their offsets
    moved = (other.classifier.weight - before)[:, read]
    found = (model.classifier.weight * NARROW - before)[:, read]
    assert moved.abs().mean() > 2e-3
    assert (found - moved).norm() < 0.1 * moved.norm()  # Adam makes much of differences of small gradients


def groups_of(trainer):
    trainer.create_optimizer()
    names = {id(weight): name for name, weight in trainer.model.named_parameters()}
    return [
        ({names[id(weight)] for weight in group["params"]}, group["lr"], group["weight_decay"])
        for group in trainer.optimizer.param_groups
    ]


def trainer_of(model, tmp_path):
    arguments = TrainingArguments(
        output_dir=str(tmp_path), learning_rate=1e-3, weight_decay=0.1, use_cpu=True, report_to="none"
    )
    rows = [{"input_ids": [2, 5, 3], "attention_mask": [1, 1, 1], "segment": [0, 1, 0], "labels": 0}]
    return MixTrainer(model=model, args=arguments, train_dataset=rows)


def test_the_groups_of_the_trainer(tmp_path):
    model = families.with_mean("bert", trained=True)
    decayed, others, of_head, *of_layer = groups_of(trainer_of(model, tmp_path))
    assert of_head == ({"classifier.weight"}, 1e-3 / NARROW, 0.1 * NARROW)
    prefix = "bert.encoder.layer.3.attention.self."
    in_layer = {name for group in of_layer for name in group[0]}
    assert in_layer == {f"{prefix}{part}.{kind}" for part in ("query", "key", "value") for kind in ("weight", "bias")}
    assert {group[1] for group in of_layer} == {1e-3} and {group[2] for group in of_layer} == {0.0, 0.1}
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert decayed[0] | others[0] | of_head[0] | in_layer == trained
    assert not (decayed[0] | others[0]) & (of_head[0] | in_layer)


def test_other_models_keep_their_groups(tmp_path):
    model = families.build("bert")
    assert [group[1:] for group in groups_of(trainer_of(model, tmp_path))] == [(1e-3, 0.1), (1e-3, 0.0)]
