"""One training, however it is launched; learning rates of the head; the mean loss of resumed runs."""

from __future__ import annotations

import copy
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from launching import METHODS, rows, trained_weights
from safetensors.torch import load_file, save_file
from torch.nn.functional import cross_entropy
from transformers import (
    AutoModelForSequenceClassification,
    DataCollatorWithPadding,
    TrainerCallback,
    TrainingArguments,
)
from transformers.modeling_layers import GradientCheckpointingLayer

import families
from salience import DropMix, MixTrainer, SSMix
from salience.hooks.attention import SHORT
from salience.hooks.hooks import forward
from salience.models.mean_pooling import NARROW, with_mean_pooling
from salience.training.trainer import MeanLoss, rate_factors, set_rates

SCRIPT = Path(__file__).with_name("launching.py")


def assert_same(one: dict, other: dict, tolerance: float = 1e-6) -> None:
    assert one.keys() == other.keys()
    for name, weight in one.items():
        assert torch.allclose(weight, other[name], atol=tolerance), f"{name}: {(weight - other[name]).abs().max()}"


def moved(weights: dict, family: str = "bert") -> float:
    start = families.MODELS[family](seed=3).float().state_dict()
    return max(
        (weight - start[name]).abs().max().item() for name, weight in weights.items() if weight.is_floating_point()
    )


@pytest.mark.parametrize("family", families.some(families.MODELS, "bert", "roberta, mean", "distilbert"))
def test_pieces_of_a_batch_train_like_the_whole(family):
    """The stock Trainer's loss grows with the number of pieces for every one of these families."""
    whole = trained_weights(family=family)
    assert moved(whole, family) > 1e-3
    assert_same(whole, trained_weights(family=family, pieces=4))


@pytest.mark.parametrize("method", families.some(list(METHODS)[1:], "ssmix", "senmixup", "dropmix-g"))
def test_mixing_in_pieces_is_mixing_the_whole(method):
    whole = trained_weights(method)
    assert_same(whole, trained_weights(method, pieces=2))
    plain = trained_weights()
    assert any(not torch.equal(weight, plain[name]) for name, weight in whole.items())


def test_a_last_batch_that_is_not_full_counts_by_its_texts():
    """21 texts in batches of 8, in the Trainer's own random order: 8, 8, and 5 in pieces of 4 and 1."""
    torch.default_generator.manual_seed(0)
    whole = trained_weights(group_by_length=False)
    torch.default_generator.manual_seed(0)
    assert_same(whole, trained_weights(pieces=2, group_by_length=False))


HOOKS_ARE_RECOMPUTED = "__call__" in vars(GradientCheckpointingLayer)

LAUNCHERS = {  # name: (how Python is started, processes)
    "torchrun": (["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"], 2),
    "accelerate launch": (["-m", "accelerate.commands.launch", "--cpu", "--num_processes", "1", "--num_machines", "1",
                           "--mixed_precision", "no", "--dynamo_backend", "no"], 1),
    "debug_launcher": ([], 2),
}  # fmt: skip


# A guide from the clean pass, one of its own, and a trunk that is back-propagated after the last loss.
LAUNCHES = [(method, launcher) for method in ("plain", "ssmix") for launcher in LAUNCHERS]
LAUNCHES += [(method, "debug_launcher") for method in ("tmix", "attentionmix inside", "dropmix-g")]


@pytest.mark.whole
@pytest.mark.parametrize(("method", "launcher"), LAUNCHES)
def test_launched_training_is_the_same_training(launcher, method, tmp_path):
    start, processes = LAUNCHERS[launcher]
    target = tmp_path / "weights.pt"
    command = [sys.executable, *start, str(SCRIPT), launcher, str(target), method, str(processes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert_same(trained_weights(method), torch.load(target, weights_only=True))


def by_token(model, batch, target=None) -> torch.Tensor:
    """Scores (B, T, D) that no rounding brings into another order."""
    generator = torch.Generator().manual_seed(0)
    return torch.rand(model.config.vocab_size, model.config.hidden_size, generator=generator)[batch.input_ids]


@pytest.mark.parametrize("method", families.some(METHODS, "plain", "tmix", "dropmix-c"))
def test_bf16_trains_like_fp32_within_its_precision(method, monkeypatch):
    """With DropMix's units given: by gradients in half precision others are chosen near the budget's end."""
    if isinstance(METHODS[method], DropMix):
        monkeypatch.setitem(METHODS, method, replace(METHODS[method], guide=by_token))
    exact, half = trained_weights(method), trained_weights(method, bf16=True)
    assert not all(torch.equal(weight, half[name]) for name, weight in exact.items())
    assert_same(exact, half, tolerance=0.05 * moved(exact) + 1e-3)


def test_every_training_of_a_model_has_its_own_precision(tmp_path):
    """As in two stages, of which the second mixes. After the training, the model computes in fp32."""
    model, own, found = families.MODELS["bert"](), families.batch([5, 2]), []
    layer = model.bert.encoder.layer[0].output.dense
    layer.register_forward_hook(lambda module, inputs, output: found.append((module.training, output.dtype)))
    for half in (True, True, False, True):
        MixTrainer(
            model=model, train_dataset=rows(2), args=TrainingArguments(
                str(tmp_path), max_steps=1, per_device_train_batch_size=2, use_cpu=True, bf16=half, report_to="none",
                save_strategy="no", disable_tqdm=True,
            )
        ).train()  # fmt: skip
    forward(model.eval(), own)
    assert [dtype for training, dtype in found if training] == [torch.bfloat16] * 2 + [torch.float32, torch.bfloat16]
    assert found[-1] == (False, torch.float32)


@pytest.mark.parametrize("method", families.some(["ssmix", "tmix", "attentionmix inside", "dropmix-g"], "ssmix"))
def test_activation_checkpointing_changes_nothing(method):
    if HOOKS_ARE_RECOMPUTED and method != "ssmix":
        pytest.skip("this version of transformers refuses it by name, which the contract test holds")
    assert_same(trained_weights(method), trained_weights(method, gradient_checkpointing=True))


def test_every_step_is_a_full_batch_and_every_epoch_another_order():
    trainer = MixTrainer(
        model=families.MODELS["bert"](),
        train_dataset=rows(21),
        args=TrainingArguments("unused", per_device_train_batch_size=8, use_cpu=True, report_to="none"),
    )
    sampler = trainer._get_train_sampler()
    first = list(sampler)
    sampler.set_epoch(1)
    assert len(first) == len(set(first)) == 16
    assert first != list(sampler)


def test_evaluation_is_the_plain_model(tmp_path):
    model = families.MODELS["bert"]()
    found = {}
    for method in (None, SSMix()):
        trainer = MixTrainer(
            model=model,
            method=method,
            eval_dataset=rows(9),
            class_weights=(1.0, 2.0, 3.0),
            args=TrainingArguments(str(tmp_path), use_cpu=True, report_to="none", disable_tqdm=True),
        )
        found[method] = trainer.evaluate()["eval_loss"]
    batch = trainer.batch(trainer.data_collator([rows(9)[index] for index in range(9)]))
    logits = model(batch.input_ids, attention_mask=batch.attention_mask).logits
    expected = torch.nn.functional.cross_entropy(logits, batch.labels).item()
    assert list(found.values()) == [pytest.approx(expected, rel=1e-5)] * 2


def test_several_gpus_in_one_process_are_refused_by_name(tmp_path, monkeypatch):
    arguments = TrainingArguments(str(tmp_path), use_cpu=True, report_to="none")
    arguments._n_gpu = 2
    with pytest.raises(ValueError, match="DataParallel"):
        MixTrainer(model=families.MODELS["bert"](), args=arguments)


def test_rows_tokenised_elsewhere_train_too(tmp_path):
    """A data set in the usual form, padded and without segments: these are worked out from the special tokens."""
    from datasets import Dataset

    texts = ["a good film", "a bad film", "good", "bad bad film"]
    tokenizer = families.tiny_tokenizer(texts)
    encoded = tokenizer(texts, padding="max_length", max_length=12)
    dataset = Dataset.from_dict({**encoded, "label": [0, 1, 0, 1], "text": texts})
    trainer = MixTrainer(
        model=families.build("bert", classes=2, vocabulary=len(tokenizer)).float(),
        method=SSMix(),
        train_dataset=dataset,
        processing_class=tokenizer,
        args=TrainingArguments(
            str(tmp_path), max_steps=2, per_device_train_batch_size=2, use_cpu=True, report_to="none",
            disable_tqdm=True, save_strategy="no",
        ),
    )  # fmt: skip
    batch = trainer.batch(trainer.data_collator([dataset[index] for index in range(4)]))
    assert batch.segment.tolist() == [[0, 1, 1, 1, 0], [0, 1, 1, 1, 0], [0, 1, 0, 0, 0], [0, 1, 1, 1, 0]]
    assert trainer.train().global_step == 2
    by_transformers = DataCollatorWithPadding(tokenizer)([dict(row) for row in dataset.remove_columns("text")])
    for name, values in vars(trainer.batch(by_transformers)).items():
        assert torch.equal(values, getattr(batch, name)), name


def test_the_best_weights_come_back_whatever_names_they_were_loaded_under(tmp_path):
    """The first BERTs, `bert-base-uncased` among them, call the two weights of a LayerNorm gamma and beta."""
    families.MODELS["bert"](seed=3).float().save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    old = {
        name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): weights[name] for name in weights
    }
    assert len(old.keys() - weights.keys()) == 2 * (1 + 2 * families.LAYERS)
    save_file(old, tmp_path / "model.safetensors", metadata={"format": "pt"})
    trainer = MixTrainer(
        model=AutoModelForSequenceClassification.from_pretrained(tmp_path),
        train_dataset=rows(16),
        eval_dataset=rows(8),
        compute_metrics=lambda _: {"steps": trainer.state.global_step},
        args=TrainingArguments(
            str(tmp_path), max_steps=4, per_device_train_batch_size=8, learning_rate=0.05, use_cpu=True,
            report_to="none", disable_tqdm=True, eval_strategy="steps", eval_steps=2, save_steps=2,
            load_best_model_at_end=True, metric_for_best_model="steps", greater_is_better=False,
        ),
    )  # fmt: skip
    trainer.train()
    first, last = (
        AutoModelForSequenceClassification.from_pretrained(tmp_path / f"checkpoint-{steps}").state_dict()
        for steps in (2, 4)
    )
    for name, weight in trainer.model.state_dict().items():
        assert torch.equal(weight, first[name]), name
        assert weight.numel() < 3 or not torch.equal(weight, last[name]), name


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


STEPS, EVERY = 8, 3  # a last log after two steps


class Recorded(MixTrainer):
    """Records the loss of every part of a step."""

    def training_step(self, *args, **options):
        loss = super().training_step(*args, **options)
        self.losses = [*getattr(self, "losses", []), loss.item()]
        return loss


def trained(folder, resume: bool = False, save: int = 1000, stop: int = STEPS, pieces: int = 1) -> Recorded:
    """A training of 8 steps, which ends after `stop` of them as if it were killed."""
    trainer = Recorded(
        model=families.MODELS["bert"](seed=3).float(), train_dataset=rows(32),
        args=TrainingArguments(
            str(folder), max_steps=STEPS, per_device_train_batch_size=8 // pieces, learning_rate=0.05, use_cpu=True,
            gradient_accumulation_steps=pieces, report_to="none", disable_tqdm=True, logging_steps=EVERY,
            save_steps=save, restore_callback_states_from_checkpoint=True,
        ),
    )  # fmt: skip
    if stop < STEPS:
        step_of = trainer.training_step

        def killed(*args, **options):
            if trainer.state.global_step == stop:
                raise KeyboardInterrupt
            return step_of(*args, **options)

        trainer.training_step = killed
    trainer.train(resume_from_checkpoint=resume or None)
    return trainer


@pytest.mark.whole
@pytest.mark.parametrize("half", [False, True])
def test_a_resumed_training_on_long_texts_ends_with_the_same_bits(half, tmp_path):
    """Its attention draws the dropout itself."""
    draw = torch.Generator().manual_seed(0)
    texts = [torch.randint(5, 90, (SHORT + 10 + row % 7,), generator=draw).tolist() for row in range(16)]
    long = [{"input_ids": ids, "labels": row % 3} for row, ids in enumerate(texts)]

    def weights_after(steps: int, folder: str, resume: bool = False) -> list[torch.Tensor]:
        model = families.build("bert", dropout=0.1, positions=SHORT + 20)
        arguments = TrainingArguments(
            str(tmp_path / folder), max_steps=6, save_steps=3, per_device_train_batch_size=4, use_cpu=True, bf16=half,
            report_to="none", disable_tqdm=True, learning_rate=0.01,
        )  # fmt: skip
        trainer = MixTrainer(model, args=arguments, train_dataset=long)
        trainer.add_callback(StopAt(steps))
        trainer.train(resume_from_checkpoint=resume or None)
        return list(model.parameters())

    undisturbed, part = weights_after(6, "whole"), weights_after(3, "part")
    assert not all(map(torch.equal, undisturbed, part))
    assert all(map(torch.equal, undisturbed, weights_after(6, "part", resume=True)))


class StopAt(TrainerCallback):
    def __init__(self, step: int):
        self.step = step

    def on_step_end(self, args, state, control, **_):
        control.should_training_stop |= state.global_step == self.step


def logged(trainer: MixTrainer) -> dict[int, float]:
    return {log["step"]: log["loss"] for log in trainer.state.log_history if "loss" in log}


@pytest.mark.parametrize("pieces", [1, 2])
def test_each_log_is_the_mean_since_the_one_before(tmp_path, pieces):
    trainer = trained(tmp_path, pieces=pieces)
    losses = torch.tensor(trainer.losses).view(STEPS, pieces).sum(1)
    found = logged(trainer)
    assert list(found) == [3, 6]
    assert found[3] == pytest.approx(losses[:3].mean().item(), rel=1e-6)
    assert found[6] == pytest.approx(losses[3:6].mean().item(), rel=1e-6)


@pytest.mark.parametrize("checkpoint", families.some([2, 3, 5], 5))
def test_a_resumed_run_logs_what_an_undisturbed_one_logs(tmp_path, checkpoint):
    """The Trainer itself would log the mean of step 6 alone, if it is resumed after step 5."""
    whole = logged(trained(tmp_path / "whole"))
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "killed", save=checkpoint, stop=checkpoint)
    assert logged(trained(tmp_path / "killed", resume=True)) == whole


def test_a_step_that_fp16_skips_counts_as_no_loss(tmp_path):
    losses = MeanLoss()
    accelerator = trained(tmp_path).accelerator
    for loss in (1.0, math.inf, 2.0, math.nan):
        losses.add(torch.tensor(loss))
        losses.on_step_end(None, None, None)
    assert losses.take(accelerator) == 0.75
    assert losses.take(accelerator) == 0


def test_the_loss_of_a_batch_is_that_of_the_plain_model(tmp_path):
    """Users call it, as of any Trainer; neither mixtures nor weights of classes have a part in it."""
    model = families.build("bert", dropout=0.0).eval()
    batch = families.batch([3, 5, 2])
    trainer = MixTrainer(model, SSMix(), args=TrainingArguments(str(tmp_path), report_to="none"),
                         class_weights=[1.0, 2.0, 3.0], train_dataset=[], processing_class=None)  # fmt: skip
    loss, outputs = trainer.compute_loss(model, dict(vars(batch)), return_outputs=True)
    torch.testing.assert_close(outputs["logits"], model(batch.input_ids, batch.attention_mask).logits)
    torch.testing.assert_close(loss, cross_entropy(outputs["logits"], batch.labels))


@pytest.mark.parametrize(("kind", "reads"), [("FNet", True), ("ConvBert", True), ("GPT2", False)])
def test_a_bare_model_is_tried_with_padding(kind, reads, tmp_path):
    """Whoever calls the Trainer need not have loaded the model by this library, which tries it then."""
    model = families.other(kind)
    MixTrainer(model=model, args=TrainingArguments(tmp_path, report_to=[], use_cpu=True), train_dataset=rows(8))
    assert getattr(model.config, "reads_padding", False) == reads


@pytest.mark.parametrize("kind", ["FNet", "ConvBert"])
def test_a_text_trains_a_model_that_reads_padding_as_it_does_alone(kind, tmp_path):
    """The gradient of a step is the mean over texts that are computed without padding; evaluation has none either."""
    model, own = families.other(kind), replace(families.batch([5, 2, 9, 2]), token_type_ids=None)
    model.config.reads_padding = True
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    reference, expected = copy.deepcopy(model), []
    for row in range(len(own)):
        expected.append(forward(reference, families.alone(own, row)))
        (cross_entropy(expected[-1], own.labels[row : row + 1]) / len(own)).backward()
    arguments = TrainingArguments(tmp_path, report_to=[], use_cpu=True)
    trainer = MixTrainer(model=model, args=arguments, train_dataset=rows(8))
    inputs = {name: part for name, part in vars(own).items() if part is not None}
    trainer.create_optimizer_and_scheduler(1)
    trainer.training_step(model, inputs)
    for weight, other in zip(model.parameters(), reference.parameters(), strict=True):
        assert (weight.grad is None) == (other.grad is None)
        assert weight.grad is None or torch.allclose(weight.grad, other.grad, atol=1e-5)
    model.eval()
    _, logits, _ = trainer.prediction_step(model, inputs, prediction_loss_only=False)
    assert torch.allclose(logits, torch.cat(expected), atol=1e-5)
