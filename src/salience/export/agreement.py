"""How far an exported classifier agrees with the original: on given texts, and on made-up ones.

The original reads texts by its own tokenizer, and the export by that of the program that serves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from salience.batch import Batch
from salience.classify import TextClassifier
from salience.classify.classifier import OnnxClassifier
from salience.classify.onnx_model import OnnxModel
from salience.data.batching import Collator, padded
from salience.data.encoding import Encoded, chunks
from salience.data.texts import Texts
from salience.errors import InputError
from salience.hooks.hooks import evaluating, forward
from salience.scores.labels import Labels
from salience.work import tracked

ENOUGH = 0.99  # share of texts with the same label, or set of labels
# The largest difference of a logit between a model and its export in float32, relative to the range of the logits.
TOLERANCE = 1e-4
# Words of the texts of each made-up batch: one text and many, of equal and of different lengths, up to texts longer
# than any sliding window or relative position is wide.
SINGLE = [(1,), (7,), (64,), (2, 3), (9, 9, 9), (40, 1, 12, 5, 26), (3,) * 17, (130, 4), (510, 510)]
PAIRS = [((1,), (1,)), ((5, 12), (30, 2)), ((80, 3, 20), (60, 1, 20))]


@dataclass(frozen=True)
class Agreement:
    """What an exported classifier predicts, beside the original."""

    texts: int  # number of texts
    changed: int  # of how many the answer, a label or a set of labels, is another one
    largest: float  # largest difference of a probability
    accuracy: tuple[float, float] | None  # of the original and of the export; None if no label is known
    kind: Labels

    @property
    def share(self) -> float:
        """The share of texts with the same answer."""
        return 1 - self.changed / self.texts

    @property
    def is_enough(self) -> bool:
        """Whether the answers to at least 99 % of the texts are the same. Probabilities that are NaN never are."""
        return self.share >= ENOUGH and self.largest <= 1

    def __str__(self) -> str:
        line = (
            f"{self.changed:,} of {self.texts:,} {self.kind.answers} changed ({self.share:.2%} agree), largest "
            f"difference of a probability {self.largest:.2g}"
        )
        if self.accuracy is None:
            return line
        return line + ", {} {:.4f} instead of {:.4f}".format(self.kind.accuracy, *self.accuracy[::-1])

    def as_json(self) -> dict[str, Any]:
        values: dict[str, Any] = {
            "texts": self.texts, f"{self.kind.answers} changed": self.changed,
            "largest difference of a probability": self.largest,
        }  # fmt: skip
        if self.accuracy is not None:
            values[self.kind.accuracy] = dict(zip(("original", "export"), self.accuracy, strict=True))
        return values


def server_tokenizer(folder: Path, max_length: int) -> Tokenizer:
    """The tokenizer of an export, as its programs load it; see `templates/serve.py`."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(max_length)
    tokenizer.no_padding()
    return tokenizer


def as_served(tokenizer: Tokenizer, texts: Texts) -> Encoded:
    """Texts or pairs as the programs of an export read them: with all token types that the tokenizer knows."""
    given: list[Any] = texts.texts if texts.second is None else list(zip(texts.texts, texts.second, strict=True))
    ids, types, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int8)], []
    for part in chunks(texts.columns):
        for row in tokenizer.encode_batch(given[part]):
            ids.append(np.array(row.ids, np.int32))
            types.append(np.array(row.type_ids, np.int8))
            lengths.append(len(row))
    segments = np.zeros(sum(lengths), np.int8)  # a network reads none
    return Encoded(np.concatenate(ids), segments, np.array(lengths, np.int64), types=np.concatenate(types))


def agreement(original: TextClassifier, exported: OnnxClassifier, texts: Texts) -> Agreement:
    """Predicts N texts, one or more, with both classifiers. The original computes in float32."""
    encoded, kind, known = original.read(texts), original.kind, texts.labelled
    # Parts of long texts, which no server reads, are made by salience.
    served = original.long == "head"
    read = as_served(server_tokenizer(exported.model.folder, exported.max_length), texts) if served else encoded
    probabilities = [original.probabilities(encoded), exported.probabilities(read)]
    before, after = (original.decisions(each) for each in probabilities)
    accuracy = None
    if known.any():
        right = kind.right(texts.known_labels, before.shape[1])
        accuracy = float((before == right).all(1)[known].mean()), float((after == right).all(1)[known].mean())
    largest = float(abs(probabilities[0] - probabilities[1]).max())
    return Agreement(len(texts), int((before != after).any(1).sum()), largest, accuracy, kind)


def made_up_sets(classifier: TextClassifier) -> list[Texts]:
    """Texts of random tokens, those of a batch together: single texts and pairs, with and without padding."""
    single = [made_up_texts(classifier, lengths) for lengths in SINGLE]
    return single + [made_up_texts(classifier, first, second) for first, second in PAIRS]


def made_up_texts(classifier: TextClassifier, first: Sequence[int], second: Sequence[int] | None = None) -> Texts:
    """Texts of random tokens by the number of words of each text, and of each second text of pairs."""
    random = np.random.default_rng(0)
    tokenizer = classifier.tokenizer
    vocabulary = sorted(set(range(len(tokenizer))) - set(tokenizer.all_special_ids))

    def made_up(lengths: Sequence[int]) -> list[str]:
        tokens = (random.choice(vocabulary, words) for words in lengths)
        return [" ".join(tokenizer.decode([token]).strip() for token in text) for text in tokens]

    return Texts(made_up(first), None if second is None else made_up(second))


def as_batch(classifier: TextClassifier, texts: Texts) -> Batch:
    """The texts as one batch."""
    return Batch(**Collator.of(classifier.tokenizer)(list(classifier.encode_heads(texts))))


def check_parity(classifier: TextClassifier, exported: OnnxModel, tokenizer: Tokenizer) -> float:
    """The largest difference of a logit between an export in float32 and the original, relative to their range.

    `tokenizer` is that of the export's programs.
    """
    kind = classifier.model.config.model_type
    expected, found = [], []
    with torch.inference_mode(), evaluating(classifier.model):
        sets = made_up_sets(classifier)
        for texts in tracked(sets, len(sets), "comparing with the original", "batches"):
            expected.append(forward(classifier.model, as_batch(classifier, texts)).numpy())
            served = as_served(tokenizer, texts)
            batch = padded(served, np.arange(len(served)), classifier.tokenizer.pad_token_id or 0)
            try:
                found.append(exported.logits(batch))
            except Exception as error:  # onnxruntime has an error class of its own for each of its codes
                shape = "{} texts of {} tokens".format(*batch.input_ids.shape)
                raise InputError(
                    f"models of the type {kind} cannot be exported to ONNX: the file fails on {shape}, because a "
                    "length was fixed when the model was traced"
                ) from error
    logits = np.concatenate(expected)
    difference = float(abs(np.concatenate(found) - logits).max() / np.ptp(logits))
    if not difference <= TOLERANCE:
        raise InputError(
            f"models of the type {kind} cannot be exported to ONNX: the file's logits differ from the model's by "
            f"{difference:.1e} of their range (at most {TOLERANCE} is accepted)"
        )
    return difference
