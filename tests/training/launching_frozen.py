"""One small training with frozen embeddings. Run as a script it is what torchrun launches."""

from __future__ import annotations

import sys

from accelerate import PartialState

from salience.training.recipe import Recipe
from salience.training.run import train


def trained_frozen(data: str, output: str):
    """A run of all rows without dropout, which would be drawn in each process."""
    options = {"encoder": "lstm", "width": 8, "embedding_dropout": 0.0, "dropout": 0.0}
    return train(
        Recipe(data=data, model="attention:additive", model_options=options, method="plain", steps=16, batch_size=8,
               validation_share=0.0, estimate="none", freeze=0, learning_rate=0.01, device="cpu"),
        output, note=lambda line: None,
    )  # fmt: skip


if __name__ == "__main__":
    trained_frozen(*sys.argv[1:])
    PartialState().destroy_process_group()
