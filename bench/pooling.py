"""Seconds of training steps and predictions with mean pooling, against the same model with a head on [CLS].

    python bench/pooling.py --data-dir DATA --threads 1 --clock processor --precision bf16

The steps are those of `bench/steps.py`, on batches of TREC: plain training of both models, and a step of the default
recipe, which has mixtures of sentence vectors and a contrastive loss. A prediction is a forward pass of such a batch.
The layer that computes the mean has two tokens of a text, as it has in trainings and predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from salience import SenMixup, mixed, plain
from salience.hooks.hooks import forward
from salience.hooks.packing import pooling_two
from salience.models.mean_pooling import with_mean_pooling
from salience.training.objective import Contrastive
from salience.training.recipe import CONTRAST
from side_by_side import CLOCKS, alternate, parser, prepare, save
from steps import Bench, load_bench


def main() -> None:
    """Prints the ratios."""
    arguments = parser(__doc__)
    arguments.add_argument("--data-dir", type=Path, required=True, help="folder that holds trec/")
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument("--batches", type=int, default=4)
    arguments.add_argument("--batch-size", type=int, default=16)
    arguments.add_argument("--precision", choices=["fp32", "bf16"], default="fp32", help="bf16: autocast")
    arguments.add_argument("--clock", choices=CLOCKS, default="wall")
    arguments.set_defaults(model="minilm", compile=None, optimizer=True, length=None)
    options = arguments.parse_args()
    machine = prepare(options)
    cls, pooled = (load_bench("trec", options) for _ in range(2))
    mean = Bench(with_mean_pooling(pooled.model), pooled.batches, options)
    default = mixed(SenMixup(alpha=1.0), beside=Contrastive(CONTRAST, 0.1))
    results = {}
    for title, contestants in {
        "a training step": {
            "[CLS], plain": cls.taking(plain), "mean, plain": mean.taking(plain), "mean, default": mean.taking(default)
        },
        "a prediction": {"[CLS]": predicting(cls), "mean": predicting(mean)},
    }.items():  # fmt: skip
        for bench in (cls, mean):
            bench.model.train(title == "a training step")
        with pooling_two(mean.model):
            alternate(contestants, options.batches)  # warm
            timed = alternate(contestants, options.rounds * options.batches, options.clock).in_blocks(options.batches)
        timed.show(title)
        results[title] = timed.as_json()
    save(options, machine, results)


def predicting(bench: Bench) -> Callable[[int], None]:
    """A function of a number that predicts that batch."""

    def predict(number: int) -> None:
        with torch.inference_mode(), bench.precision():
            forward(bench.model, bench.batches[number % len(bench.batches)])

    return predict


if __name__ == "__main__":
    main()
