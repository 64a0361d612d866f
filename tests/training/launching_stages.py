"""One small training in two stages. Run as a script it is what torchrun launches."""

from __future__ import annotations

import sys

from accelerate import PartialState

from salience.training.recipe import Recipe
from salience.training.run import train


def trained_in_stages(data: str, output: str):
    """A run without dropout and mixing, which would be drawn in each process; its best checkpoints are kept."""
    options = {"encoder": "lstm", "width": 8, "embedding_dropout": 0.0, "dropout": 0.0}
    return train(
        Recipe(data=data, model="attention:additive", model_options=options, method="plain+plain", steps=16,
               batch_size=8, evaluations=8, learning_rate=0.01, device="cpu"),
        output, note=lambda line: None,
    )  # fmt: skip


if __name__ == "__main__":
    trained_in_stages(*sys.argv[1:])
    PartialState().destroy_process_group()
