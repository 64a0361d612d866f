"""The bench of training steps on a tiny model: what it compares, and that a step that fails is told and left out."""

from argparse import Namespace

import pytest
import torch

import families
import steps
from salience import METHODS

OPTIONS = Namespace(
    device="cpu", precision="fp32", compile=None, optimizer=True, memory=True, clock="wall", seed=0, repetitions=2,
    batch_size=4, length=12, batches=2, methods=list(METHODS), data_dir=None,
)  # fmt: skip


@pytest.fixture
def bench(monkeypatch) -> steps.Bench:
    model = families.build("bert", classes=6, dropout=0.1, vocabulary=2000)
    monkeypatch.setattr(steps, "load_model", lambda name, labels: (model, None))
    return steps.load_bench(None, Namespace(**vars(OPTIONS), model="minilm"))


def test_every_method_is_compared_with_plain_training_and_every_goal_is_asked(bench):
    found, kept = {}, []
    steps.measure(bench, found, lambda: kept.append(len(found["seconds"])))
    assert not found["errors"]
    against_plain = {line["step"].partition(",")[0] for line in found["seconds"] if line["against"] == "plain"}
    assert against_plain == {"plain", *METHODS}  # plain itself with its gradients accumulated
    goals = [line["goal"] for line in found["seconds"] if line["goal"] is not None]
    assert goals == [1.05, 1.05, 1.35, 1.70, 1.70, 1.35, 1.05]
    assert all(line["met"] is (None if line["goal"] is None else line["ratio"] <= line["goal"])
               for line in found["seconds"])  # fmt: skip
    assert all(line["peak in all"]["bytes"] > line["peak of the step"]["bytes"] > 0 for line in found["memory"])
    assert kept == [1, 3, 6, 7, 8, 22, 22]  # what there is, is saved after every comparison


def test_a_step_takes_the_optimizer_along_unless_told_not_to(bench):
    weight = bench.model.classifier.weight
    before = weight.detach().clone()
    bench.options.optimizer = False
    bench.taking(steps.plain)(0)
    assert torch.equal(weight, before) and weight.grad is not None
    bench.options.optimizer = True
    bench.taking(steps.plain)(0)
    assert not torch.equal(weight, before)


def test_a_step_that_fails_is_told_and_the_others_are_measured(bench, monkeypatch, capsys):
    def fails(*_):
        raise torch.OutOfMemoryError("no room")

    broken = steps.Step("broken", "ssmix", (fails,), 0.5)
    fails.guide = None
    monkeypatch.setattr(
        steps, "COMPARISONS", [(steps.PLAIN, {broken: 1.0, steps.EMBEDMIX: None}), (broken, {steps.TMIX: 1})]
    )
    found = {}
    steps.measure(bench, found, lambda: None)
    assert found["errors"] == {"broken": "OutOfMemoryError: no room"}
    assert [line["step"] for line in found["seconds"]] == ["embedmix, clean 0.5"]
    assert "| broken | | not measured: OutOfMemoryError: no room |" in capsys.readouterr().out


def test_random_texts_are_texts_of_the_length_asked_for():
    batch, _ = steps.random_batches(2000, OPTIONS)
    real = batch.attention_mask.bool()
    assert batch.input_ids.shape == (4, 12) and real[0].all() and (real.sum(1) >= 6).all()
    assert ((batch.segment == 1) == (real & (batch.input_ids >= steps.FIRST_WORD))).all()
    assert (batch.input_ids[:, 0] == steps.FIRST).all()
    assert (batch.input_ids.gather(1, real.sum(1, keepdim=True) - 1) == steps.SEPARATOR).all()


def test_chosen_methods_alone_are_measured_with_what_they_are_compared_with():
    accumulated = (steps.PLAIN, {steps.ACCUMULATED: None})
    assert steps.wanted(["tmix"]) == [(steps.PLAIN, {steps.TMIX: 1.35}), accumulated]
