"""What attention classifiers save: VAT's compressor phase, dropout, two scalars a word, an LSTM over rows.

compressor: an epoch of VAT's compressor phase against an epoch of training everything, on the same rows. The encoder
runs over the rows once a phase, so a phase of `--epochs` is timed and divided by them; the encoder's pass is told
apart.

scalars: probabilities of all rows from two scalars a word type against the model itself (dot attention over
embeddings), tokenised beforehand.

lstm: forward and backward pass of our LSTM over padded rows against torch's over packed sequences, 100 texts of 25,
100 and 400 words and a quarter fewer.

dropout: a training step of dot attention over embeddings with our dropout against one with torch's.

    python bench/attention.py compressor --data-dir DATA --threads 1 --clock processor
    python bench/attention.py dropout --data-dir DATA --data imdb --threads 1 --clock processor
    python bench/attention.py scalars --data-dir DATA --threads 1 --clock processor
    python bench/attention.py lstm --threads 1 --clock processor
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch.nn.utils.rnn import pack_padded_sequence
from transformers import set_seed

from development import read
from salience.batch import Batch
from salience.classify.classifier import predict_probabilities
from salience.data.batching import Collator, LengthGrouped
from salience.data.encoding import Encoded, encode_texts
from salience.papers.attention_classifiers.building import build_attention_classifier
from salience.papers.attention_classifiers.classifier import TypeScalars
from salience.papers.attention_classifiers.layers import LSTM, Dropout
from salience.papers.attention_classifiers.options import PRESETS, AttentionOptions
from salience.papers.vat.turns import compress, encode_features
from salience.training.objective import plain
from side_by_side import CLOCKS, Comparison, alternate, parser, prepare, save

ENCODERS = ("lstm", "bert")
BATCH_SIZE, LONGEST, GOAL = 32, 256, 0.2


def built(options: Namespace, kind: AttentionOptions) -> tuple[torch.nn.Module, object, Encoded]:
    """A fresh model over the words of SST-2, and the rows that are measured."""
    rows = read(options.data_dir / options.data / "train.jsonl.gz")
    names = sorted({row["label"] for row in rows})
    set_seed(options.seed)
    texts = [row["text"] for row in rows]
    model, tokenizer = build_attention_classifier(kind, names, texts, lambda line: None, split=False)
    chosen = np.random.default_rng(options.seed).permutation(len(rows))[: options.rows]
    labels = [names.index(rows[row]["label"]) for row in chosen]
    encoded = encode_texts(tokenizer, [texts[row] for row in chosen], labels=labels, max_length=LONGEST)
    return model.to(options.device), tokenizer, encoded


def compressor(options: Namespace) -> Comparison:
    """Seconds of an epoch of training everything, of the compressor's phase, and of the encoder's pass alone."""
    model, tokenizer, encoded = built(options, PRESETS[f"{options.encoder}-vat"])
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    collate, sampler = Collator.of(tokenizer), LengthGrouped(encoded.lengths, BATCH_SIZE, options.seed)
    steps = len(encoded) // BATCH_SIZE

    def everything(number: int) -> None:
        sampler.set_epoch(number)
        model.train()
        for rows in np.array(list(sampler)).reshape(-1, BATCH_SIZE):
            batch = Batch(**collate([encoded[row] for row in rows])).to(options.device)
            optimizer.zero_grad()
            for loss in plain(model, batch):
                loss.backward()
            optimizer.step()

    def phase(number: int) -> None:
        with TemporaryDirectory() as folder:
            features = encode_features(model, encoded, Path(folder))
            compress(model, features, options.epochs * steps, BATCH_SIZE, beta=0.1)

    def encoder(number: int) -> None:
        with TemporaryDirectory() as folder:
            encode_features(model, encoded, Path(folder))

    contestants = {"training, an epoch": everything, f"phase of {options.epochs} epochs": phase, "its pass": encoder}
    encoder(0)  # warm
    return alternate(contestants, options.repetitions, options.clock)


def scalars(options: Namespace) -> tuple[Comparison, float]:
    """Seconds of both, and the largest difference of two probabilities."""
    model, _, encoded = built(options, AttentionOptions("embeddings", "dot", scale=10.0))
    model.eval()
    found: dict[str, np.ndarray] = {}
    fits = TypeScalars.fits

    def judged(name: str, allowed: Callable) -> Callable[[int], None]:
        def judge(number: int) -> None:
            TypeScalars.fits = staticmethod(allowed)
            found[name] = predict_probabilities(model, encoded, "fp32")
            TypeScalars.fits = fits

        return judge

    contestants = {"scalars": judged("scalars", fits), "model": judged("model", lambda own: False)}
    seconds = alternate(contestants, options.repetitions, options.clock)
    return seconds, float(np.abs(found["scalars"] - found["model"]).max())


def dropout(options: Namespace) -> Comparison:
    """Seconds of steps on the first batches of `--rows` texts, with the one dropout and with the other."""
    model, tokenizer, encoded = built(options, AttentionOptions("embeddings", "dot", scale=10.0))
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    collate, order = Collator.of(tokenizer), list(LengthGrouped(encoded.lengths, BATCH_SIZE, options.seed))
    batches = [
        Batch(**collate([encoded[row] for row in rows])) for rows in np.array(order).reshape(-1, BATCH_SIZE)[:10]
    ]
    fast = Dropout.forward

    def steps(forward: Callable) -> None:
        Dropout.forward = forward
        for batch in batches:
            optimizer.zero_grad()
            for loss in plain(model, batch):
                loss.backward()
            optimizer.step()
        Dropout.forward = fast

    steps(fast)  # warm
    contestants = {"ours": lambda _: steps(fast), "torch's": lambda _: steps(torch.nn.Dropout.forward)}
    return alternate(contestants, options.repetitions, options.clock).per(len(batches))


def lstm(options: Namespace, words: int, count: int = 100, width: int = 100) -> Comparison:
    """Seconds of both, forward and backward, on texts of `words` words and a quarter fewer."""
    torch.manual_seed(options.seed)
    rows, packed = LSTM(width, width, bidirectional=False), torch.nn.LSTM(width, width, batch_first=True)
    states = torch.randn(count, words, width, requires_grad=True)
    lengths = torch.linspace(words, 0.75 * words, count).long()
    mask = (torch.arange(words) < lengths[:, None]).long()

    def over_rows(number: int) -> None:
        rows(states, mask).sum().backward()

    def over_packed(number: int) -> None:
        packed(pack_padded_sequence(states, lengths, batch_first=True))[0].data.sum().backward()

    over_rows(0)  # warm
    return alternate({"over rows": over_rows, "packed": over_packed}, options.repetitions, options.clock)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("what", choices=["compressor", "dropout", "scalars", "lstm"])
    arguments.add_argument("--data-dir", type=Path, help="folder that holds sst2/train.jsonl.gz")
    arguments.add_argument("--data", default="sst2", help="folder in it")
    arguments.add_argument("--encoder", choices=ENCODERS, default="lstm")
    arguments.add_argument("--rows", type=int, default=1024)
    arguments.add_argument("--epochs", type=int, default=5, help="of the compressor's phase")
    arguments.add_argument("--repetitions", type=int, default=7)
    arguments.add_argument("--clock", choices=CLOCKS, default="wall")
    options = arguments.parse_args()
    machine = prepare(options)
    if options.what == "lstm":
        found = {words: lstm(options, words) for words in (25, 100, 400)}
        for words, seconds in found.items():
            seconds.show(f"100 texts of {words} words and a quarter fewer, {options.clock} clock")
        save(options, machine, {words: seconds.as_json() for words, seconds in found.items()})
        return
    if options.data_dir is None:
        arguments.error("--data-dir is needed")
    if options.what == "scalars":
        seconds, difference = scalars(options)
        seconds.show(f"{options.rows} texts, {options.clock} clock")
        print(f"largest difference of a probability: {difference:.1e}")
        save(options, machine, {"scalars": seconds.as_json(), "difference": difference})
        return
    if options.what == "dropout":
        seconds = dropout(options)
        seconds.show(f"{options.data}, a step, {options.clock} clock")
        save(options, machine, {"dropout": seconds.as_json()})
        return
    seconds = compressor(options)
    seconds.show(f"{options.encoder}, {options.rows} texts, {options.clock} clock")
    ratio = seconds.ratios()[f"phase of {options.epochs} epochs"]["paired"].median / options.epochs
    print(f"an epoch of the phase / an epoch of training: {ratio:.3f} (goal: at most {GOAL})")
    save(options, machine, {"compressor": seconds.as_json(), "an_epoch_of_it": ratio})


if __name__ == "__main__":
    main()
