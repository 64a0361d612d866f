"""Small trainings without dropout and mixing, which each process would draw. torchrun launches one by its name."""

from __future__ import annotations

import sys
from pathlib import Path

from salience.processes import leave_group
from salience.scores import held_out
from salience.training.recipe import Recipe
from salience.training.run import train


def trained(data: str, output: str, **settings):
    """A run of a classifier over words."""
    options = {"encoder": "lstm", "width": 8, "embedding_dropout": 0.0, "dropout": 0.0}
    usual = {"model": "attention:additive", "model_options": options, "learning_rate": 0.01}
    recipe = Recipe(data, **{**usual, **settings}, method="plain", batch_size=8, validation_share=0, device="cpu")
    return train(recipe, output, note=lambda line: None)


def trained_with_estimate(data: str, output: str):
    return trained(data, output, steps=8, estimate="folds:2")


def trained_frozen(data: str, output: str):
    return trained(data, output, steps=16, estimate="none", trained_layers=1)


def trained_with_share(data: str, output: str, model: str, number: str):
    """A run whose estimate chooses the share of the trained weights with this number.

    The rate is that of the runs above. That of so narrow an encoder is six times as high, and Adam turns rounding into
    differences in proportion to the rate where gradients are nearly 0.
    """
    chosen, held_out.chosen_share = held_out.chosen_share, lambda probabilities, labels, groups=None: int(number)
    encoder = {"model": model, "model_options": {}, "dropout": 0.0, "contrastive": 0.0}
    try:
        return trained(data, output, **encoder, steps=4, estimate="folds:2", calibrate=False)
    finally:
        held_out.chosen_share = chosen


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
    leave_group()
    if (threads := Path("/proc/self/task")).is_dir():  # Linux
        left = [name for task in threads.iterdir() if "gloo" in (name := (task / "comm").read_text())]
        assert not left, left
