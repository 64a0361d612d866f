"""The order of the training texts: batches of texts of similar length, shuffled in every epoch."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback, TrainingArguments

from salience.data.batching import LengthGrouped
from salience.data.encoding import Encoded


def length_grouped(dataset: Any, args: TrainingArguments) -> LengthGrouped:
    """A sampler of training steps whose texts have similar length.

    Args:
        dataset: a data set of texts, each a dictionary with `input_ids`; its length is known.
        args: give the number of texts in a step and the seed.
    """
    # Counting the tokens of a large data set takes time, and `Encoded` knows their number.
    lengths = dataset.lengths if isinstance(dataset, Encoded) else [len(row["input_ids"]) for row in dataset]
    rows = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
    return LengthGrouped(lengths, rows, args.seed if args.data_seed is None else args.data_seed)


class EpochOfSampler(TrainerCallback):
    """Sets the epoch of a sampler, on which its order depends.

    Not every version of accelerate does so with several processes.
    """

    def __init__(self, sampler: LengthGrouped):
        self.sampler = sampler

    def on_epoch_begin(self, args, state, control, **_):
        """Called by the Trainer."""
        self.sampler.set_epoch(int(state.epoch))
