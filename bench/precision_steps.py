"""The time of a training step in bf16 as a part of that in fp32, measured alternately.

    python bench/precision_steps.py --data-dir DATA --threads 1 --clock processor

Steps of `MixTrainer` without a method, with everything that a step does; MiniLM, 32 texts a step. DATA holds
mr/train.jsonl.gz and trec/train.jsonl.gz with rows of `text` and `label`.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

from limit import load, training
from side_by_side import CLOCKS, alternate, parser, prepare, save

PRECISIONS = ("fp32", "bf16")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--data-dir", type=Path, required=True)
    arguments.add_argument("--steps", type=int, default=24)
    arguments.add_argument("--repetitions", type=int, default=7)
    arguments.add_argument("--clock", choices=CLOCKS, default="processor")
    options = arguments.parse_args()
    machine, found = prepare(options), {}
    for name in ("mr", "trec"):
        classifier, _, encoded = load(name, options)
        with TemporaryDirectory() as folder:
            contestants = {
                precision: training(
                    classifier, encoded, Path(folder), Namespace(**vars(options), precision=precision)
                )[1]
                for precision in PRECISIONS
            }
            alternate(contestants, 1)  # warm
            seconds = alternate(contestants, options.repetitions, options.clock)
        seconds.show(f"{options.steps} steps on {name}")
        found[name] = seconds.as_json()
    save(options, machine, found)


if __name__ == "__main__":
    main()
