"""A trained classifier as one object: a model, its tokenizer, and how much of a text it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from salience.data.encoding import Encoded, encode_texts
from salience.errors import InputError, unknown
from salience.inference.probabilities import predict_probabilities
from salience.models.loading import load_trained, longest_text

Pair = tuple[str, str]


@dataclass(frozen=True)
class TextClassifier:
    """Texts in, labels and probabilities out.

    Args:
        model: a sequence classifier of Hugging Face.
        tokenizer: its fast tokenizer.
        max_length: tokens read of a text, special ones included; the rest of a longer text is cut off.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    max_length: int

    @property
    def labels(self) -> list[str]:
        """The C labels, in the order of the columns of `predict_proba`."""
        return [self.model.config.id2label[number] for number in range(self.model.config.num_labels)]

    @property
    def empty_token(self) -> int:
        """The token that stands for a text of which nothing is left: the unknown one, or padding without that."""
        unknown_token = self.tokenizer.unk_token_id
        return self.tokenizer.pad_token_id if unknown_token is None else unknown_token

    def encode(self, texts: Sequence[str] | Sequence[Pair], labels: Sequence[int] | None = None) -> Encoded:
        """N texts, or N pairs of texts, as token ids, cut at `max_length`.

        Raises:
            InputError: `texts` is one string, or mixes single texts with pairs.
        """
        first, second = as_columns(texts)
        return encode_texts(self.tokenizer, first, second, labels, self.max_length)

    def probabilities(self, encoded: Encoded, precision: str = "fp32") -> np.ndarray:
        """As `predict_proba`, of texts that are encoded already."""
        return predict_probabilities(self.model, encoded, precision)

    def predict_proba(self, texts: Sequence[str] | Sequence[Pair], precision: str = "auto") -> np.ndarray:
        """The probabilities of the labels (N, C) in float32, in the order of the texts.

        Args:
            texts: N texts, or N pairs of texts.
            precision: "fp32", "bf16", or "auto": bf16 where a GPU has it.

        Raises:
            InputError: as `encode`.
        """
        return self.probabilities(self.encode(texts), precision)

    def predict(self, texts: Sequence[str] | Sequence[Pair]) -> list[str]:
        """The most probable label of each text."""
        labels = self.labels
        return [labels[number] for number in self.predict_proba(texts).argmax(1)]


def load(folder: str | Path, max_length: int | None = None, device: str = "auto") -> TextClassifier:
    """A trained classifier from a run folder of `salience train`, or from any other that can classify texts.

    Args:
        folder: a folder, or a name on the Hugging Face hub.
        max_length: tokens read of a text; None reads as many as in training.
        device: "auto", "cpu" or "cuda".

    Raises:
        InputError: there is no such model or device, or the model was never trained to classify.
    """
    chosen = choose_device(device)
    model, tokenizer = load_trained(folder)
    return TextClassifier(model.to(chosen).eval(), tokenizer, longest_text(model, tokenizer, max_length))


def choose_device(device: str) -> torch.device:
    """The device for "auto", "cpu" or "cuda".

    Raises:
        InputError: it is another word, or there is no such device.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise unknown("--device", device, ["auto", "cpu", "cuda"])
    available = torch.cuda.is_available()
    if device == "cuda" and not available:
        raise InputError("--device cuda: this machine has no CUDA device that torch sees; use --device cpu or auto")
    return torch.device("cuda" if available and device != "cpu" else "cpu")


def as_columns(texts: Sequence[str] | Sequence[Pair]) -> tuple[list[str], list[str] | None]:
    """First texts, and second texts where there are pairs.

    Raises:
        InputError: `texts` is one string, or mixes single texts with pairs.
    """
    if isinstance(texts, str):
        raise InputError("give a sequence of texts, not one string: for example [text]")
    rows = list(texts)
    if all(isinstance(row, str) for row in rows):
        return rows, None
    for index, row in enumerate(rows):
        if isinstance(row, str) or len(row) != 2 or not all(isinstance(part, str) for part in row):
            raise InputError(f"texts[{index}] is no pair of texts: give single texts only, or pairs only")
    return [first for first, _ in rows], [second for _, second in rows]
