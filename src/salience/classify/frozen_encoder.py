"""Texts as vectors: a frozen encoder's pooled last hidden states, and what the head of a classifier reads."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from salience.batch import Batch
from salience.classify.classifier import choose_device
from salience.data.batching import in_order, like_length
from salience.data.encoding import Encoded, encode_texts
from salience.data.texts import Texts, TextsLike
from salience.hooks.hooks import evaluating, forward, inputs_of, observing, reading
from salience.hooks.stages import encoder_of
from salience.models.loading import load_encoder, longest_text, model_source, sentence_pooling
from salience.models.precision import check_precision, computing
from salience.models.problem import labels_of_model, to_probabilities
from salience.models.sentence_modules import pooled


@dataclass(frozen=True)
class FrozenEncoder:
    """An encoder that gives texts vectors and is not trained. It reads at most `max_length` tokens of a text.

    Its `pooling` is "mean" or "first", see `pooled_vectors`.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    max_length: int
    precision: str = "auto"
    pooling: str = "mean"

    def vectors(self, texts: TextsLike) -> np.ndarray:
        """The vectors (N, D) of N texts or pairs of texts, scaled to length 1, in float32."""
        given = Texts.of(texts)
        encoded = encode_texts(self.tokenizer, given.texts, given.second, max_length=self.max_length)
        return of_length_one(pooled_vectors(self.model, encoded, self.precision, self.pooling))


def of_length_one(vectors: np.ndarray) -> np.ndarray:
    """Vectors (N, D) with a length of 1, but for those of 0."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)


def load_frozen(
    name: str = "minilm", max_length: int | None = None, device: str = "auto", precision: str = "auto"
) -> FrozenEncoder:
    """Loads a pretrained encoder by a name as that of `salience.load`; it reads at most 512 tokens by itself.

    Its pooling is the one that it was trained for, or the mean if nothing says which.
    """
    check_precision(precision)
    chosen = choose_device(device)
    model, tokenizer = load_encoder(name)
    longest, pooling = longest_text(model, tokenizer, max_length), sentence_pooling(name) or "mean"
    return FrozenEncoder(model.to(chosen).eval(), tokenizer, longest, precision, pooling)


@torch.inference_mode()
def pooled_vectors(
    model: PreTrainedModel, encoded: Encoded, precision: str = "auto", pooling: str = "mean"
) -> np.ndarray:
    """A vector (N, D) float32 of each text, from the last hidden states of an encoder, or of that of a classifier.

    `pooling` is "mean", or "first" for the first token. Special tokens count in the mean and padding does not, as in
    sentence-transformers (Reimers and Gurevych, 2019, arXiv:1908.10084, Sec. 3). Vectors are computed in float32. The
    model's mode is restored afterwards.
    """
    encoder = encoder_of(model)
    vectors = np.zeros((len(encoded), encoder.config.hidden_size), np.float32)
    with evaluating(model), computing(model, precision):
        for rows, batch in like_length(model, encoded, name="encoding"):
            states = encoder(**inputs_of(encoder, batch)).last_hidden_state.float()
            vectors[rows] = pooled(states, batch.attention_mask, pooling).cpu().numpy()
    return vectors


LIMIT = 256 * 2**20  # bytes of vectors that are kept: 170,000 texts of MiniLM
_kept: OrderedDict[tuple, tuple[np.ndarray, float]] = OrderedDict()  # the key to the vectors and their seconds


@dataclass
class KeptEncoder:
    """An encoder as `load_frozen` loads it, which computes vectors once in a process for the same texts.

    It is loaded only for texts whose vectors are not kept. Those that were not wanted for the longest time are
    forgotten where all need more than `LIMIT` bytes. `saved` is the seconds that computing the kept ones once took.
    """

    name: str = "minilm"
    max_length: int | None = None
    device: str = "auto"
    precision: str = "auto"
    saved: float = 0.0
    loaded: FrozenEncoder | None = None

    def vectors(self, texts: TextsLike) -> np.ndarray:
        """As `FrozenEncoder.vectors`, and raises as `load_frozen` too; the result is not to be written to."""
        given = Texts.of(texts)
        digest = sha256(repr((given.texts, given.second)).encode()).digest()
        key = (stamp(self.name), self.max_length, self.device, self.precision, digest)
        if key in _kept:
            _kept.move_to_end(key)
            vectors, seconds = _kept[key]
            self.saved += seconds
            return vectors
        started = time.perf_counter()
        if self.loaded is None:
            self.loaded = load_frozen(self.name, self.max_length, self.device, self.precision)
        vectors = self.loaded.vectors(given)
        vectors.setflags(write=False)
        _kept[key] = vectors, time.perf_counter() - started
        while sum(each.nbytes for each, _ in _kept.values()) > LIMIT:
            _kept.popitem(last=False)
        return vectors


def stamp(name: str) -> tuple:
    """What changes if the files of a model change: its place, and name, size and time of every file in a folder."""
    source = Path(model_source(name))
    files = sorted(file for file in source.iterdir() if file.is_file()) if source.is_dir() else []
    return (str(source), *((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files))


def sentence_vectors(model: PreTrainedModel, texts: Encoded) -> np.ndarray:
    """The vectors (N, D) float32 of N texts at the level "sentence", which the last map of the head reads."""
    return probabilities_and_vectors(model, texts, "fp32")[1]


@torch.no_grad()
def probabilities_and_vectors(
    model: PreTrainedModel, texts: Encoded, precision: str = "auto"
) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities (N, C) and the `sentence_vectors` (N, D) of N texts, both in float32, from one pass."""
    kind, probabilities, vectors = labels_of_model(model), [], []
    with evaluating(model), computing(model, precision):
        for rows, batch in like_length(model, texts):
            logits, read = logits_and_vectors(model, batch)
            probabilities.append((rows, to_probabilities(kind, logits.float()).cpu().numpy()))
            vectors.append((rows, read.float().cpu().numpy()))
    return in_order(probabilities), in_order(vectors)


@torch.no_grad()
def logits_and_vectors(model: PreTrainedModel, batch: Batch) -> tuple[Tensor, Tensor]:
    """The logits (B, C) of a batch, and the vectors (B, D) whose images under the last map of the head they are.

    Decoders map every token, and choose one of the results or take their mean. The gradient of the logits with respect
    to the results is the weight that each token has.
    """
    of_tokens: list[Tensor] = []

    def begin(result: Tensor) -> Tensor | None:
        if result.dim() == 2:
            return None
        torch.set_grad_enabled(True)  # from here to the logits
        of_tokens.append(result.detach().requires_grad_())
        return of_tokens[0]

    with torch.no_grad(), reading(model, "sentence") as sentence, observing(model, "sentence", begin):
        logits = forward(model, batch)
        if not of_tokens:
            return logits, sentence.value
        (weights,) = torch.autograd.grad(logits.sum(), of_tokens)  # (B, T, C), the same for all classes
    return logits.detach(), torch.einsum("bt,btd->bd", weights[..., 0].float(), sentence.value.float())
