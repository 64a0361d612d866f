"""Passes without what need not be computed equal whole ones, forwards and backwards, in every family that has them."""

import pytest
import torch
from transformers import TrainingArguments

import families
from salience import MixTrainer, SenMixup, SSMix, TMix
from salience.data.batching import Collator
from salience.hooks.hooks import forward, reading
from salience.hooks.packing import ATTENTION, packing
from salience.hooks.stages import stages
from salience.models.precision import computing

POOLING = ["bert, mean", "roberta, mean"]
PACKED = [name for name in families.MODELS if families.MODELS[name]().base_model.config.model_type in ATTENTION]
LENGTHS = [9, 2, 5, 1]


def logits_and_gradients(model, batch):
    model.zero_grad()
    with reading(model, "embeddings") as read:
        logits = forward(model, batch)
    (logits * torch.linspace(-1, 1, logits.numel(), dtype=logits.dtype).reshape(logits.shape)).sum().backward()
    weights = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    return {"logits": logits.detach(), "embeddings": read.gradient} | weights


@pytest.mark.parametrize("family", PACKED)
def test_logits_and_all_gradients_are_those_of_padded_texts(family):
    model = families.MODELS[family]().double()
    batch = families.batch(LENGTHS, family=family)
    assert not batch.attention_mask.bool().all()
    expected = logits_and_gradients(model, batch)
    with packing(model):
        found = logits_and_gradients(model, batch)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(logits_and_gradients(model, batch), expected)  # no hook is left


@pytest.mark.parametrize("lengths", [LENGTHS, [5, 5], [2, 1]])
@pytest.mark.parametrize("family", POOLING)
def test_a_pooling_layer_computes_two_tokens_of_a_text(family, lengths):
    model = families.MODELS[family]().double()
    batch = families.batch(lengths, family=family)
    expected, computed = logits_and_gradients(model, batch), []
    stages(model)["pooling"].register_forward_hook(lambda _, given, result: computed.append(given[0].shape))
    with computing(model, "fp32"):
        found = logits_and_gradients(model, batch)
        with computing(model, "fp32"):
            again = logits_and_gradients(model, batch)
        with packing(model):
            packed = logits_and_gradients(model, batch)
    assert {shape[:2] for shape in computed} == {(len(batch), 2)}
    for result in (found, again, packed):
        torch.testing.assert_close(result, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("method", "packs"), [(None, True), (SenMixup(), True), (TMix(), False), (SSMix(), False)])
def test_training_computes_no_padding_unless_a_method_reads_states_of_layers(method, packs, tmp_path):
    model = families.MODELS["bert, mean"]().float()
    batch = families.batch(LENGTHS)
    rows = [
        {"input_ids": ids[:length].tolist(), "segment": segment[:length].tolist(), "labels": number % 3}
        for number, (ids, segment, length) in enumerate(
            zip(batch.input_ids, batch.segment, batch.attention_mask.sum(1).tolist(), strict=True)
        )
    ]
    arguments = TrainingArguments(
        output_dir=str(tmp_path), max_steps=1, per_device_train_batch_size=4, use_cpu=True, save_strategy="no",
        report_to="none", disable_tqdm=True,
    )  # fmt: skip
    trainer = MixTrainer(model, method, args=arguments, train_dataset=rows, data_collator=Collator())
    computed = []
    layer = families.layer_modules(model)[0]
    layer.intermediate.dense.register_forward_pre_hook(lambda _, given: computed.append(given[0].shape[:-1].numel()))
    trainer.train()
    assert computed[0] == (batch.attention_mask.sum() if packs else batch.attention_mask.numel())
