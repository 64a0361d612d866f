"""The share of the machine's own matrix-product rate that training, predicting and explaining reach.

The rate is measured at the model's shapes: the products of its layers with its own weights, at the shapes of the
batches that the work takes, and nothing else. The work's own rate counts useful operations alone, those of real tokens
(`operations.py`). Products and work are measured in turn; a round's share is the ratio of its two rates. The model is
the packaged MiniLM.

- training: steps of `MixTrainer` without a method, with AdamW, clipping, and everything else that a step does.
- predicting: `TextClassifier.probabilities` of encoded texts; and of texts, with tokenisation.
- explaining: the gradient explainer on encoded texts (`explain_tokens`); and by `salience.explain`, with tokenisation,
  words and the values that it gives back.

    python bench/limit.py --data-dir DATA --threads 1 --clock processor
    python bench/limit.py --data-dir DATA --threads 1 --clock processor --precision bf16
    python bench/limit.py --data-dir DATA --threads 1 --clock processor --works training \
        --data imdb --batch-size 16 --longest 64

DATA holds mr/train.jsonl.gz and trec/train.jsonl.gz with rows of `text` and `label`.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from transformers import PrinterCallback, TrainingArguments, set_seed

import salience
from development import read
from operations import Operations, products
from salience import EXPLAINERS, MixTrainer, TextClassifier
from salience.data.batching import DIFFERENTIATED, TOKENS, Collator, length_batches
from salience.data.encoding import Encoded, encode_texts
from salience.explainers.explain import explain_tokens
from salience.models.loading import load_classifier
from salience.processes import keep_freed_memory
from salience.training.recipe import default_rates
from side_by_side import CLOCKS, Comparison, Spread, alternate, parser, prepare, save

GOALS = {"training": 0.75, "predicting": 0.80, "explaining": 0.80}


@dataclass(frozen=True)
class Work:
    """Something to measure against the products of its batches.

    Args:
        name: for the table.
        kind: a key of `operations.PASSES`.
        call: does it once; called with the number of the round.
        batches: the number of tokens of every text, batch by batch.
    """

    name: str
    kind: str
    call: Callable[[int], object]
    batches: list[list[int]]

    @property
    def lengths(self) -> list[int]:
        """The number of tokens of every text."""
        return [length for batch in self.batches for length in batch]

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """Texts and padded length (B, T) of every batch."""
        return [(len(batch), max(batch)) for batch in self.batches]


class Recording:
    """A collator that records the lengths of the texts of every batch."""

    def __init__(self, collate: Collator):
        self.collate = collate
        self.batches: list[list[int]] = []

    def __call__(self, rows):
        fields = self.collate(rows)
        self.batches.append(fields["attention_mask"].sum(1).tolist())
        return fields


def load(name: str, options: Namespace) -> tuple[TextClassifier, list[str], Encoded]:
    """A fresh classifier, and the texts of a set in shuffled order: as they are, and encoded with their labels."""
    rows = read(options.data_dir / name / "train.jsonl.gz")
    chosen = [rows[row] for row in np.random.default_rng(options.seed).permutation(len(rows))]
    texts, names = [row["text"] for row in chosen], sorted({row["label"] for row in rows})
    set_seed(options.seed)  # of the head
    classifier = TextClassifier(*load_classifier("minilm", names), options.longest)
    labels = [names.index(row["label"]) for row in chosen]
    return classifier, texts, encode_texts(classifier.tokenizer, texts, labels=labels, max_length=options.longest)


def works(classifier: TextClassifier, texts: list[str], encoded: Encoded, folder: Path, options: Namespace):
    """What is measured. Training draws its batches from all texts; the other work takes the first `--texts`."""
    steps, train = training(classifier, encoded, folder, options)
    texts, encoded = texts[: options.texts], encoded.take(range(options.texts))
    lengths = encoded.lengths
    classifier = replace(classifier, precision=options.precision)

    def like_length(budget: dict[str, int]) -> list[list[int]]:
        return [lengths[rows].tolist() for rows in length_batches(lengths, budget["cpu"])]

    def explained() -> None:
        with classifier.computing():
            explain_tokens(classifier.model, encoded, gradient)

    gradient = EXPLAINERS["gradient"]
    return [
        Work("training", "training", train, steps),
        Work("predicting, encoded", "predicting", lambda _: classifier.probabilities(encoded),
             like_length(TOKENS)),
        Work("predicting, texts", "predicting", lambda _: classifier.predict_proba(texts),
             like_length(TOKENS)),
        Work("explaining, encoded", "explaining",
             lambda _: explained(),
             like_length(DIFFERENTIATED)),
        Work("explaining, texts", "explaining",
             lambda _: salience.explain(classifier, texts, ["gradient"]),
             like_length(DIFFERENTIATED)),
    ]  # fmt: skip


def training(classifier: TextClassifier, encoded: Encoded, folder: Path, options: Namespace):
    """The lengths in every batch of a training of `--steps` steps, and a function that trains as long."""
    recording = Recording(Collator.of(classifier.tokenizer))

    def train(number: int, collate: Callable = recording.collate) -> None:
        arguments = TrainingArguments(
            output_dir=str(folder), max_steps=options.steps, per_device_train_batch_size=options.batch_size,
            use_cpu=True, seed=options.seed, learning_rate=default_rates(classifier.model.config.hidden_size)[0],
            save_strategy="no", report_to="none", logging_steps=options.steps, disable_tqdm=True,
            dataloader_pin_memory=False, bf16=options.precision == "bf16",
        )  # fmt: skip
        trainer = MixTrainer(
            model=classifier.model, args=arguments, train_dataset=encoded, data_collator=collate,
            processing_class=classifier.tokenizer,
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        trainer.train()

    train(0, recording)
    return recording.batches[: options.steps], train


def measure(name: str, options: Namespace) -> dict:
    """Prints and returns the seconds, rates and shares of every work on one set."""
    classifier, texts, encoded = load(name, options)
    precision = torch.bfloat16 if options.precision == "bf16" else torch.float32
    with TemporaryDirectory() as folder:
        chosen = [
            work for work in works(classifier, texts, encoded, Path(folder), options) if work.kind in options.works
        ]
        alone = {work.kind: products(classifier.model, work.kind, work.shapes, precision) for work in chosen}
        contestants: dict[str, Callable] = {}
        for work in chosen:
            contestants[f"{work.kind}: products"] = lambda _, compute=alone[work.kind][0]: compute()
            contestants[work.name] = work.call
        contestants["tokenising"] = lambda _: classifier.encode(texts[: options.texts])
        alternate(contestants, 1)  # warm
        seconds = alternate(contestants, options.repetitions, options.clock)
    print(f"\n{name}: {options.texts} texts, {options.steps} steps of {options.batch_size}, {options.precision}")
    counted = Operations.of(classifier.model)
    lines = [line(work, counted, alone[work.kind][1], seconds) for work in chosen]
    tokenising = Spread.of(seconds.seconds["tokenising"])
    print(f"tokenising {tokenising} seconds")
    return {"lines": lines, "tokenising": asdict(tokenising), "seconds": seconds.as_json()}


def line(work: Work, counted: Operations, operations: int, seconds: Comparison) -> dict:
    """Prints and returns the rates of a work and of its products, in GFLOP/s, and the share.

    Args:
        operations: of the products alone.
    """
    own = [counted.useful(work.kind, work.lengths) / value / 1e9 for value in seconds.seconds[work.name]]
    most = [operations / value / 1e9 for value in seconds.seconds[f"{work.kind}: products"]]
    share = Spread.of([rate / limit for rate, limit in zip(own, most, strict=True)])
    real = sum(work.lengths) / sum(texts * length for texts, length in work.shapes)
    rate, limit, goal = Spread.of(own), Spread.of(most), GOALS[work.kind]
    print(
        f"{work.name:20} {rate.median:6.1f} of {limit.median:6.1f} GFLOP/s; share {share}, goal {goal}; "
        f"{real:.1%} of the tokens are real"
    )
    return {
        "work": work.name, "gflops": asdict(rate), "products": asdict(limit), "share": asdict(share), "goal": goal,
        "real_tokens": real,
    }  # fmt: skip


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--data-dir", type=Path, required=True, help="folder that holds mr/ and trec/")
    arguments.add_argument("--data", nargs="+", default=["mr", "trec"])
    arguments.add_argument("--works", nargs="+", choices=GOALS, default=list(GOALS))
    arguments.add_argument("--texts", type=int, default=1000)
    arguments.add_argument("--steps", type=int, default=24, help="of training, in a round")
    arguments.add_argument("--batch-size", type=int, default=32, help="of training")
    arguments.add_argument("--longest", type=int, default=256, help="tokens that are read of a text")
    arguments.add_argument("--repetitions", type=int, default=7)
    arguments.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    arguments.add_argument("--clock", choices=CLOCKS, default="wall")
    options = arguments.parse_args()
    machine = prepare(options)
    keep_freed_memory()  # as the command line does
    results = {name: measure(name, options) for name in options.data}
    save(options, machine, {"limit": results})


if __name__ == "__main__":
    main()
