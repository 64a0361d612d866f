"""A text classifier that was exported to ONNX."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from salience.data.batching import like_length
from salience.data.encoding import Encoded
from salience.data.long_texts import merged
from salience.errors import InputError
from salience.inference.classifier import TextClassifier
from salience.inference.onnx_model import FILE, TOKENS, OnnxModel
from salience.models.loading import load_configuration, load_tokenizer


@dataclass(frozen=True)
class OnnxClassifier(TextClassifier):
    """A `TextClassifier` whose model is a file of ONNX. It predicts; what needs gradients or hidden states refuses it.

    Args:
        model: the exported model.
        tokenizer: its fast tokenizer.
        max_length: number of tokens read of a text, special tokens included.
    """

    model: OnnxModel

    def logits(self, encoded: Encoded) -> np.ndarray:
        """The logits (N, C) in float32 for encoded texts."""
        logits = np.empty((len(encoded), len(self.labels)), np.float32)
        for rows, batch in like_length(self.model, encoded, tokens={"cpu": TOKENS * self.model.threads}):
            logits[rows] = self.model.logits(batch)
        return logits

    def probabilities(self, encoded: Encoded) -> np.ndarray:
        """The probabilities of the labels (N, C) in float32 for N encoded texts, of which some may be windows."""
        found = self.problem.probabilities(torch.from_numpy(self.logits(encoded))).numpy()
        return found if encoded.owners is None else merged(found, encoded.owners, self.multi_label)


def is_exported(folder: str | Path) -> bool:
    """Whether a folder holds a model in ONNX, and no weights that torch reads."""
    path = Path(folder).expanduser()
    return (path / FILE).is_file() and not (path / "model.safetensors").exists()


def load_exported(
    folder: str | Path, max_length: int | None = None, device: str = "auto", precision: str = "auto"
) -> OnnxClassifier:
    """Loads a classifier that `salience export` has written.

    Args:
        folder: a folder with `model.onnx`, `config.json` and a tokenizer.
        max_length: number of tokens read of a text, at most the number that the folder was exported with; None is
            that number.
        device: "auto" or "cpu".
        precision: "auto" or "fp32": the file says itself how it is computed.

    Raises:
        InputError: the optional packages are not installed, the folder is damaged, or device or precision are others.
    """
    if device not in ("auto", "cpu"):
        raise InputError(f"--device {device}: {folder} was exported to ONNX and is computed on the CPU")
    if precision not in ("auto", "fp32"):
        raise InputError(
            f"--precision {precision}: {folder} was exported, and is computed as its file says; leave --precision out"
        )
    path = Path(folder).expanduser()
    tokenizer = load_tokenizer(str(path))
    model = OnnxModel(path, load_configuration(str(path)))
    longest = tokenizer.model_max_length
    return OnnxClassifier(model, tokenizer, longest if max_length is None else min(longest, max_length))
