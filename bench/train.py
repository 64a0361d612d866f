"""Two measurements of training, on real MR and TREC rows with MiniLM.

`plain`: seconds per 1,000 rows of `MixTrainer(method=None)` against the stock `transformers.Trainer` with its own
order of rows and collator; the same first weights, arguments, batch size and number of rows. One longer run of each
shows whether they learn alike: the training loss and the accuracy on rows held out. Goal: at least 1.3 times faster.

`ssmix`: seconds of a training step of SSMix against EmbedMix, both with half of the loss on the texts as they are,
on the same collated batches, alternating from batch to batch. Goal: at most 1.05 times EmbedMix's.

    python bench/train.py plain --data-dir DATA
    python bench/train.py ssmix --data-dir DATA

DATA holds mr/train.jsonl.gz and trec/train.jsonl.gz with rows of `text` and `label`.
"""

from __future__ import annotations

from argparse import Namespace
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from datasets import Dataset
from transformers import PrinterCallback, Trainer, TrainingArguments, set_seed

from salience import Batch, EmbedMix, MixTrainer, SSMix, mixed
from salience.classify.classifier import predict_probabilities
from salience.data.batching import Collator, LengthGrouped
from salience.data.encoding import Encoded, encode_texts
from salience.data.reading import stream
from salience.models.loading import load_classifier
from salience.training.recipe import default_rates
from side_by_side import CLOCKS, alternate, parser, prepare, save

BATCH_SIZE = 32
HELD_OUT = 500  # rows for the accuracy


def load(name: str, options: Namespace):
    """A fresh classifier, its tokenizer, and the encoded rows: for training, and for the accuracy."""
    rows = list(stream(options.data_dir / name / "train.jsonl.gz"))
    np.random.default_rng(options.seed).shuffle(rows)
    names = sorted({row["label"] for row in rows})
    set_seed(options.seed)  # of the head
    model, tokenizer = load_classifier("minilm", names)
    labels = [names.index(row["label"]) for row in rows]
    encoded = encode_texts(tokenizer, [row["text"] for row in rows], labels=labels, max_length=256)
    parts = encoded.take(range(HELD_OUT, len(rows))), encoded.take(range(HELD_OUT))
    return model.to(options.device), tokenizer, *parts


def plain(name: str, options: Namespace) -> dict:
    model, tokenizer, training, held_out = load(name, options)
    begin = deepcopy(model.state_dict())
    kinds = {"salience": (MixTrainer, training), "stock": (Trainer, as_columns(training))}

    def trained(kind: str, steps: int, number: int, folder: str) -> Trainer:
        model.load_state_dict(begin)
        arguments = TrainingArguments(
            output_dir=folder, max_steps=steps, per_device_train_batch_size=BATCH_SIZE, seed=options.seed + number,
            learning_rate=default_rates(model.config.hidden_size)[0], save_strategy="no", report_to="none",
            logging_steps=max(steps // options.stretches, 1), disable_tqdm=True, use_cpu=options.device == "cpu",
        )  # fmt: skip
        trainer_class, data = kinds[kind]
        trainer = trainer_class(model=model, args=arguments, train_dataset=data, processing_class=tokenizer)
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        return trainer

    with TemporaryDirectory() as folder:
        for kind in kinds:
            trained(kind, 2, 0, folder)  # warm
        contestants = {kind: lambda number, kind=kind: trained(kind, options.steps, number, folder) for kind in kinds}
        seconds = alternate(contestants, options.repetitions, options.clock).per(options.steps * BATCH_SIZE / 1000)
        seconds.show(f"{name}: {options.steps} steps of {BATCH_SIZE}, {options.clock} clock", "s / 1000 rows")
        print("goal: stock / salience at least 1.3")
        learnt = {}
        for kind in kinds if options.curve_steps else ():
            history = trained(kind, options.curve_steps, 0, folder).state.log_history
            losses = [entry["loss"] for entry in history if "loss" in entry]
            right = predict_probabilities(model, held_out).argmax(1) == np.array(held_out.labels)
            learnt[kind] = {"mean": history[-1]["train_loss"], "losses": losses, "accuracy": float(right.mean())}
    for kind, found in learnt.items():
        losses = " ".join(f"{loss:.3f}" for loss in found["losses"])
        scores = f"mean {found['mean']:.4f}; accuracy {found['accuracy']:.3f}"
        print(f"{kind:9}{options.curve_steps} steps: loss {losses}, {scores}")
    return seconds.as_json() | {"learnt": learnt}


def as_columns(encoded: Encoded) -> Dataset:
    """The same rows in the form that the stock Trainer's users have them in."""
    rows = [encoded[row]["input_ids"].tolist() for row in range(len(encoded))]
    masks = [[1] * len(row) for row in rows]
    return Dataset.from_dict({"input_ids": rows, "attention_mask": masks, "labels": encoded.labels})


def ssmix(name: str, options: Namespace) -> dict:
    model, tokenizer, training, _ = load(name, options)
    order = np.array(list(LengthGrouped(training.lengths, BATCH_SIZE, options.seed))).reshape(-1, BATCH_SIZE)
    collate = Collator.of(tokenizer)
    collated = [collate([training[row] for row in rows]) for rows in order[: options.batches]]
    batches = [Batch(**{key: value.to(options.device) for key, value in batch.items()}) for batch in collated]
    methods = {"EmbedMix": EmbedMix(), "SSMix": SSMix()}
    steps = {label: training_step(deepcopy(model), method, batches) for label, method in methods.items()}
    set_seed(options.seed)
    alternate(steps, 2)  # warm
    seconds = alternate(steps, options.repetitions * options.batches, options.clock).in_blocks(options.batches)
    seconds.show(f"{name}: steps on {options.batches} batches of {BATCH_SIZE}, {options.clock} clock", "s / step")
    print("goal: SSMix / EmbedMix at most 1.05")
    return seconds.as_json()


def training_step(model, method, batches: list[Batch]):
    """A function of a number that takes one step on that batch."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), default_rates(model.config.hidden_size)[0], fused=True)
    objective = mixed(method, clean=0.5)

    def step(number: int) -> None:
        optimizer.zero_grad()
        for loss in objective(model, batches[number % len(batches)]):
            loss.backward()
        optimizer.step()

    return step


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("measurement", choices=["plain", "ssmix"])
    arguments.add_argument("--data-dir", type=Path, required=True, help="folder that holds mr/ and trec/")
    arguments.add_argument("--data", nargs="+", default=["mr", "trec"])
    arguments.add_argument("--repetitions", type=int, default=7)
    arguments.add_argument("--steps", type=int, default=40, help="plain: steps of one repetition")
    arguments.add_argument("--curve-steps", type=int, default=240, help="plain: steps of the longer run; 0 for none")
    arguments.add_argument("--stretches", type=int, default=8, help="plain: points of the loss curve")
    arguments.add_argument("--batches", type=int, default=8, help="ssmix: batches of one repetition")
    arguments.add_argument("--clock", choices=CLOCKS, default="wall")
    options = arguments.parse_args()
    machine = prepare(options)
    measure = {"plain": plain, "ssmix": ssmix}[options.measurement]
    results = {name: measure(name, options) for name in options.data}
    save(options, machine, {options.measurement: results})


if __name__ == "__main__":
    main()
