"""One small training run, for every way of launching it. Run as a script it is what torchrun and accelerate launch."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from accelerate import debug_launcher
from transformers import TrainingArguments

sys.path.insert(0, str(Path(__file__).parents[1]))

import families
from salience import (
    AttentionMix,
    DropMix,
    EmbedMix,
    MixTrainer,
    MixupEncoding,
    SenMixup,
    SSMix,
    TMix,
    WordMixup,
)
from salience.data.encoding import Encoded
from salience.mixing import neighbours
from salience.processes import leave_group

METHODS = {
    "plain": None,
    # Pairs that do not depend on how a batch is cut, and no randomness that would be drawn once a piece.
    "ssmix": SSMix(window=0.3, pair=neighbours),
    "embedmix": EmbedMix(ratio=0.7, pair=neighbours),
    "wordmixup": WordMixup(ratio=0.7, pair=neighbours),
    "tmix": TMix(levels=(2,), ratio=0.7, pair=neighbours),
    "mixupencoding": MixupEncoding(ratio=0.7, pair=neighbours),
    "senmixup": SenMixup(ratio=0.7, pair=neighbours),
    "attentionmix": AttentionMix(layer=1, pair=neighbours),
    "attentionmix inside": AttentionMix(layer=0, head=1, level=2, pair=neighbours),
    "dropmix-c": DropMix(None, 1, ratio=0.4, pair=neighbours),
    "dropmix-g": DropMix(2, 1, ratio=0.4, pair=neighbours),
}


def rows(count: int, family: str = "bert") -> Encoded:
    """Random texts of 1 to 12 words."""
    random = np.random.default_rng(0)
    batch = families.batch([int(length) for length in random.integers(1, 13, count)], family=family)
    kept = batch.attention_mask.bool()
    return Encoded(
        batch.input_ids[kept].numpy(), batch.segment[kept].numpy(), kept.sum(1).numpy(), batch.labels.tolist()
    )


def trained_weights(
    method: str = "plain", pieces: int = 1, processes: int = 1, family: str = "bert", count: int = 21,
    group_by_length: bool = True, **arguments,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """The weights after a few steps of 8 texts, each computed in `pieces` by each of `processes`."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = MixTrainer(
            model=families.MODELS[family](seed=3).float(),
            method=METHODS[method],
            group_by_length=group_by_length,
            class_weights=(0.5, 1.0, 1.5),
            train_dataset=rows(count, family),
            args=TrainingArguments(
                folder,
                max_steps=5,
                per_device_train_batch_size=8 // pieces // processes,
                gradient_accumulation_steps=pieces,
                learning_rate=0.05,
                max_grad_norm=0.5,
                optim="sgd",  # Adam would blow rounding errors of tiny gradients up to whole steps
                label_smoothing_factor=0.1,
                use_cpu=True,
                report_to="none",
                disable_tqdm=True,
                save_strategy="no",
                logging_strategy="no",
                **arguments,
            ),
        )
        trainer.train()
        return {name: weight.detach().clone() for name, weight in trainer.model.state_dict().items()}


def save_from_first(target: str, method: str, processes: int) -> None:
    weights = trained_weights(method, processes=processes)
    if int(os.environ.get("RANK", 0)) == 0:
        torch.save(weights, target)


if __name__ == "__main__":
    launcher, target, method, processes = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    if launcher == "debug_launcher":  # accelerate's way of starting several processes on a CPU
        debug_launcher(save_from_first, (target, method, processes), processes)
    else:
        save_from_first(target, method, processes)
        leave_group()
