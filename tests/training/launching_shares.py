"""One small training whose estimate chooses a share of the trained weights. Run as a script torchrun launches it."""

from __future__ import annotations

import sys

from accelerate import PartialState

from salience.scores import held_out
from salience.training.recipe import Recipe
from salience.training.run import train


def trained_with_share(data: str, model: str, output: str):
    """A run without dropout and mixing, which would be drawn in each process, of half of the trained weights."""
    chosen, held_out.chosen_share = held_out.chosen_share, lambda probabilities, labels, groups=None: 0
    try:
        recipe = Recipe(
            data, model=model, method="plain", dropout=0.0, contrastive=0.0, steps=4, batch_size=8,
            estimate="folds:2", calibrate=False, device="cpu",
        )  # fmt: skip
        return train(recipe, output, note=lambda line: None)
    finally:
        held_out.chosen_share = chosen


if __name__ == "__main__":
    trained_with_share(*sys.argv[1:])
    PartialState().destroy_process_group()
