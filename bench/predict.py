"""Rows a second of `salience predict`'s engine against `transformers.pipeline("text-classification")`.

Both read the same texts with the same model, packaged MiniLM with a fresh head on the mean of the tokens, as
`salience train` makes it, and tokenise within the measured time. The texts are IMDB's: single sentences, and whole
reviews in the share `--reviews`, cut to 256 tokens, in shuffled order. They are cut into `--repetitions` equal parts,
7 or more; on each part the two run one after the other. Labels must be the same and probabilities within 1e-5, else
the script exits with 1. Goal: at least 3 times the pipeline's rows a second. The more whole reviews, the less there is
to gain: even without any padding, half of them leaves 2.2 times fewer tokens, a quarter 3.6 times.

    python bench/predict.py --data-dir DATA --reviews 0.5
    python bench/predict.py --data-dir DATA --sweep-tokens --texts 300    which size of a batch is fastest here

DATA holds imdb/train.jsonl.gz with rows of `text` and `label`.
"""

from __future__ import annotations

import random
import re
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from transformers import pipeline

from salience.classify.classifier import predict_probabilities
from salience.data import batching
from salience.data.encoding import encode_texts
from salience.data.reading import stream
from salience.models.loading import load_classifier, load_trained
from salience.models.mean_pooling import with_mean_pooling
from side_by_side import CLOCKS, Comparison, alternate, parser, prepare, save

LABELS = ("first", "second", "third")
LONGEST = 256  # tokens read of a text
BATCH_SIZE = 32  # the pipeline's
TOLERANCE = 1e-5  # of a probability
BUDGETS = {"cpu": (512, 1024, 2048, 4096, 8192), "cuda": (8192, 16384, 32768, 65536, 131072, 262144)}


def mixed_lengths(data_dir: Path, count: int, reviews: float, seed: int) -> list[str]:
    """`count` texts, `reviews` of them whole reviews and the others single sentences, in shuffled order."""
    chooser = random.Random(seed)
    whole = [row["text"] for row in stream(data_dir / "imdb" / "train.jsonl.gz")]
    chooser.shuffle(whole)
    wanted = round(count * reviews)
    sentences = [sentence for review in whole[wanted:] for sentence in sentences_of(review)]
    texts = whole[:wanted] + chooser.sample(sentences, count - wanted)
    chooser.shuffle(texts)
    return texts


def sentences_of(review: str) -> list[str]:
    parts = re.split(r"(?<=[.!?])\s+|(?:<br />\s*)+", review)
    return [part.strip() for part in parts if re.search(r"\w", part)]


def save_classifier(folder: str, texts: list[str], seed: int) -> None:
    """MiniLM with a fresh head on the mean, scaled and centred on `texts` so that every label occurs."""
    torch.manual_seed(seed)
    model, tokenizer = load_classifier("minilm", LABELS)
    model = with_mean_pooling(model).eval()
    inputs = tokenizer(texts, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
    with torch.no_grad():
        logits = model(**inputs).logits
        scale = 1 / logits.std(0)
        model.classifier.weight.mul_(scale[:, None])
        model.classifier.bias.sub_(logits.mean(0)).mul_(scale)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def compare(options: Namespace, folder: str, texts: list[str]) -> tuple[Comparison, float, int]:
    """The seconds of both, the largest difference of two probabilities, and how many labels differ."""
    model, tokenizer = load_trained(folder)
    model.to(options.device)
    classify = pipeline("text-classification", model=folder, device=options.device, top_k=None)
    parts = [texts[start :: options.repetitions] for start in range(options.repetitions)]
    ours, theirs = [None] * options.repetitions, [None] * options.repetitions

    def salience(number: int) -> None:
        encoded = encode_texts(tokenizer, parts[number], max_length=LONGEST)
        ours[number] = predict_probabilities(model, encoded, options.precision)

    def transformers(number: int) -> None:
        theirs[number] = classify(parts[number], batch_size=BATCH_SIZE, truncation=True, max_length=LONGEST)

    classify(texts[:BATCH_SIZE], batch_size=BATCH_SIZE, truncation=True, max_length=LONGEST)  # both are warm
    predict_probabilities(model, encode_texts(tokenizer, texts[:BATCH_SIZE], max_length=LONGEST))
    seconds = alternate({"salience": salience, "pipeline": transformers}, options.repetitions, options.clock)
    answers = [{score["label"]: score["score"] for score in row} for part in theirs for row in part]
    expected = np.array([[answer[label] for label in LABELS] for answer in answers])
    found = np.concatenate(ours)
    print("rows of each label:", np.bincount(expected.argmax(1), minlength=len(LABELS)).tolist())
    return seconds, float(abs(found - expected).max()), int((found.argmax(1) != expected.argmax(1)).sum())


def sweep(options: Namespace, folder: str, texts: list[str]) -> Comparison:
    """Seconds of the forward passes alone, for several numbers of padded tokens in a batch."""
    model, tokenizer = load_trained(folder)
    model.to(options.device)
    encoded = encode_texts(tokenizer, texts, max_length=LONGEST)
    kind = torch.device(options.device).type
    default = batching.TOKENS[kind]

    def with_budget(tokens: int) -> None:
        batching.TOKENS[kind] = tokens
        predict_probabilities(model, encoded, options.precision)

    with_budget(default)  # warm
    budgets = sorted(BUDGETS[kind], key=lambda tokens: tokens != default)  # the others are compared with the default
    contestants = {f"{tokens} tokens": lambda _, tokens=tokens: with_budget(tokens) for tokens in budgets}
    return alternate(contestants, options.repetitions, options.clock)


def prediction_parser(description: str, texts: int) -> ArgumentParser:
    """The options of a comparison on reviews and sentences, of so many texts by default."""
    arguments = parser(description)
    arguments.add_argument("--data-dir", type=Path, required=True, help="folder that holds imdb/train.jsonl.gz")
    arguments.add_argument("--texts", type=int, default=texts)
    arguments.add_argument("--reviews", type=float, default=0.5, help="share of whole reviews among the texts")
    arguments.add_argument("--repetitions", type=int, default=10, help="equal parts of the texts")
    arguments.add_argument("--clock", choices=CLOCKS, default="wall")
    return arguments


def chosen(options: Namespace) -> tuple[list[str], str]:
    """The texts that the options ask for, and a title that says so."""
    texts = mixed_lengths(options.data_dir, options.texts, options.reviews, options.seed)
    title = f"{len(texts)} texts, {options.reviews:.0%} whole reviews, {options.clock} clock"
    return texts, title


def main() -> int:
    arguments = prediction_parser(__doc__, texts=5000)
    arguments.add_argument("--precision", default="fp32", help="of salience; the pipeline computes in fp32")
    arguments.add_argument("--sweep-tokens", action="store_true", help="try several sizes of a batch instead")
    options = arguments.parse_args()
    machine = prepare(options)
    texts, title = chosen(options)
    with TemporaryDirectory() as folder:
        save_classifier(folder, texts[:BATCH_SIZE], options.seed)
        if options.sweep_tokens:
            seconds = sweep(options, folder, texts)
            seconds.show(title)
            save(options, machine, {"sweep": seconds.as_json()})
            return 0
        seconds, difference, others = compare(options, folder, texts)
    seconds.show(title)
    print("goal: pipeline / salience at least 3")
    rows_a_second = {name: len(texts) / sum(values) for name, values in seconds.seconds.items()}
    print("rows a second over all texts:", ", ".join(f"{name} {rate:.1f}" for name, rate in rows_a_second.items()))
    print(f"labels that differ: {others}; largest difference of a probability: {difference:.1e} (allowed {TOLERANCE})")
    save(options, machine, {"prediction": seconds.as_json(), "rows_a_second": rows_a_second, "difference": difference,
                            "labels_differing": others})  # fmt: skip
    return 0 if difference <= TOLERANCE and not others else 1


if __name__ == "__main__":
    sys.exit(main())
