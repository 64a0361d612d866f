"""One small training by turns. Run as a script it is what torchrun launches."""

from __future__ import annotations

import sys

from salience.processes import leave_group
from salience.training.recipe import Recipe
from salience.training.run import train


def trained_by_turns(data: str, output: str):
    """A run that draws nothing but samples of the compressor, and keeps its last iteration."""
    options = {"width": 8, "embedding_dropout": 0.0, "dropout": 0.0}
    return train(
        Recipe(data=data, model="lstm-vat", model_options=options, method="plain", steps=4, batch_size=8,
               procedure_options={"iterations": 2}, learning_rate=0.01, validation_share=0, device="cpu"),
        output, note=lambda line: None,
    )  # fmt: skip


if __name__ == "__main__":
    trained_by_turns(*sys.argv[1:])
    leave_group()
