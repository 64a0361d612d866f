"""One training, however it is launched: in pieces, by several processes, in half precision."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from launching import METHODS, rows, trained_weights
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, TrainingArguments
from transformers.modeling_layers import GradientCheckpointingLayer

import families
from salience import DropMix, MixTrainer, SSMix

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


@pytest.mark.parametrize("family", families.MODELS)
def test_pieces_of_a_batch_train_like_the_whole(family):
    """The stock Trainer's loss grows with the number of pieces for every one of these families."""
    whole = trained_weights(family=family)
    assert moved(whole, family) > 1e-3
    assert_same(whole, trained_weights(family=family, pieces=4))


@pytest.mark.parametrize("method", [name for name in METHODS if name != "plain"])
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


@pytest.mark.parametrize("method", METHODS)
def test_bf16_trains_like_fp32_within_its_precision(method, monkeypatch):
    """With DropMix's units given: by gradients in half precision others are chosen near the budget's end."""
    if isinstance(METHODS[method], DropMix):
        monkeypatch.setitem(METHODS, method, replace(METHODS[method], guide=by_token))
    exact, half = trained_weights(method), trained_weights(method, bf16=True)
    assert not all(torch.equal(weight, half[name]) for name, weight in exact.items())
    assert_same(exact, half, tolerance=0.05 * moved(exact) + 1e-3)


@pytest.mark.parametrize("method", ["ssmix", "tmix", "attentionmix inside", "dropmix-g"])
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
