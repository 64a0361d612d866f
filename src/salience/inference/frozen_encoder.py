"""Texts as vectors of a frozen encoder: the mean of its last hidden states, as sentence-transformers computes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from salience.data.batching import like_length
from salience.data.encoding import Encoded, encode_texts
from salience.data.texts import Texts, TextsLike
from salience.hooks.hooks import evaluating, inputs_of
from salience.hooks.stages import encoder_of
from salience.inference.classifier import choose_device
from salience.models.loading import load_encoder, longest_text
from salience.models.precision import check_precision, computing


@dataclass(frozen=True)
class FrozenEncoder:
    """An encoder that gives texts vectors and is not trained.

    Args:
        model: an encoder, or a classifier, of which only the encoder is used.
        tokenizer: its fast tokenizer.
        max_length: number of tokens read of a text, special tokens included; the rest of a longer text is cut off.
        precision: "fp32", "bf16" or "auto", see `salience.models.precision.resolve_precision`.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    max_length: int
    precision: str = "auto"

    def vectors(self, texts: TextsLike) -> np.ndarray:
        """The mean vectors (N, D) of N texts or pairs of texts, scaled to length 1, in float32.

        Raises:
            InputError: `texts` is one string, or mixes single texts with pairs.
        """
        given = Texts.of(texts)
        encoded = encode_texts(self.tokenizer, given.texts, given.second, max_length=self.max_length)
        vectors = mean_vectors(self.model, encoded, self.precision)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)


def load_frozen(
    name: str = "minilm", max_length: int | None = None, device: str = "auto", precision: str = "auto"
) -> FrozenEncoder:
    """Loads a pretrained encoder that gives texts vectors.

    Args:
        name: "minilm", a folder, or a name on the hub.
        max_length: number of tokens read of a text; None reads as many as the tokenizer says, at most 512.
        device: "auto", "cpu" or "cuda".
        precision: "auto", "fp32" or "bf16".

    Raises:
        InputError: there is no such model, device or precision, or the model has no safetensors weights.
    """
    check_precision(precision)
    chosen = choose_device(device)
    model, tokenizer = load_encoder(name)
    return FrozenEncoder(model.to(chosen).eval(), tokenizer, longest_text(model, tokenizer, max_length), precision)


@torch.inference_mode()
def mean_vectors(model: PreTrainedModel, encoded: Encoded, precision: str = "auto") -> np.ndarray:
    """The mean over each text's tokens of the encoder's last hidden states.

    Special tokens count and padding does not, as in the mean pooling of sentence-transformers (Reimers and Gurevych,
    2019, arXiv:1908.10084, Sec. 3). The mean is computed in float32. The model's mode is restored afterwards.

    Args:
        model: an encoder, or a classifier, of which only the encoder is used.
        encoded: N encoded texts.
        precision: "fp32", "bf16" or "auto"; see `salience.models.precision.resolve_precision`.

    Returns:
        Vectors (N, D) in float32, in the order of the texts.
    """
    encoder = encoder_of(model)
    vectors = np.zeros((len(encoded), encoder.config.hidden_size), np.float32)
    with evaluating(model), computing(model, precision):
        for rows, batch in like_length(model, encoded):
            states = encoder(**inputs_of(encoder, batch)).last_hidden_state.float()
            mask = batch.attention_mask[..., None].float()
            vectors[rows] = ((states * mask).sum(1) / mask.sum(1).clamp(min=1)).cpu().numpy()
    return vectors
