"""The settings of attention classifiers, by option and by name: `attention:dot`, and the presets of two papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from salience.errors import InputError, nearest, quoted, unknown
from salience.models.poolings import ATTENDING, POOLINGS
from salience.settings import BOOL, COUNT, POSITIVE, SHARE, TEXT, check_fields

WORD_ENCODERS = ("embeddings", "affine", "lstm")
PREFIX = "attention:"


@dataclass(frozen=True)
class AttentionOptions:
    """The settings of an attention classifier. None stands for a default that depends on the encoder.

    Attributes:
        encoder: "embeddings", "affine" or "lstm", or a transformer encoder: "minilm", a folder, or a name on the hub.
        pooling: a name in `POOLINGS`.
        scale: lambda, the number above 0 by which attention scores are divided before the softmax.
        pooling_heads: number of attention heads.
        head: "linear" or "perceptron".
        embeddings: initial word embeddings of a word encoder: a file of word vectors, or "minilm" for the mean of a
            word's word-piece embeddings. None stands for random ones.
        width: width of random word embeddings, of the affine map and of the LSTM; None stands for 100.
        bidirectional: whether an LSTM reads each text in both directions.
        minimum_frequency: number of occurrences in the training texts from which on a word encoder knows a word.
        embedding_dropout: dropout probability of a word encoder's embeddings; None stands for 0.5.
        dropout: dropout probability of the pooled vector; None stands for 0.5 with a word encoder and for 0.1 with a
            transformer.
        latent_size: width of VAT's compressed vector; None stands for the encoder's width.
        shared_head: whether VAT's compressor uses the learner's head instead of its own classifier.
        inference: the part of VAT that predicts, "learner" or "compressor".

    Raises:
        InputError: a value of the wrong type or outside its range, an unknown pooling or encoder, or a setting that
            has no effect with this encoder or pooling.
    """

    encoder: str = "minilm"
    pooling: str = "additive"
    scale: float = 1.0
    pooling_heads: int = 1
    head: str = "linear"
    embeddings: str | None = None
    width: int | None = None
    bidirectional: bool = False
    minimum_frequency: int = 1
    embedding_dropout: float | None = None
    dropout: float | None = None
    latent_size: int | None = None
    shared_head: bool = False
    inference: str = "learner"

    def __post_init__(self):
        try:
            check_fields(self, KINDS)
        except ValueError as error:
            raise InputError(str(error)) from error
        if self.pooling not in POOLINGS:
            raise unknown("pooling", self.pooling, POOLINGS)
        if self.pooling not in ATTENDING and (idle := self._changed(OF_ATTENTION)):
            raise InputError(f"{idle} would have no effect: {self.pooling} pooling has no attention scores")
        if self.pooling != "variational" and (idle := self._changed(OF_COMPRESSOR)):
            raise InputError(f"{idle} would have no effect: only variational pooling (VAT) has a compressor")
        if self.encoder in WORD_ENCODERS:
            return
        if idle := self._changed(OF_WORDS):
            raise InputError(
                f"{idle} would have no effect: {self.encoder!r} is a transformer, and only the word encoders "
                f"{', '.join(WORD_ENCODERS)} have this setting"
            )
        if (near := nearest(self.encoder, WORD_ENCODERS)) and not Path(self.encoder).is_dir():
            raise InputError(f"unknown encoder {quoted(self.encoder)}.{near}")

    def _changed(self, names: Sequence[str]) -> str:
        """Those of the named fields that differ from their default, separated by commas."""
        return ", ".join(
            field.name for field in fields(self) if field.name in names and getattr(self, field.name) != field.default
        )


KINDS = {
    "encoder": TEXT, "pooling": TEXT, "head": TEXT, "embeddings": TEXT.or_none(),
    "scale": POSITIVE, "pooling_heads": COUNT, "width": COUNT.or_none(), "minimum_frequency": COUNT,
    "latent_size": COUNT.or_none(), "embedding_dropout": SHARE.or_none(), "dropout": SHARE.or_none(),
    "bidirectional": BOOL, "shared_head": BOOL, "inference": TEXT,
}  # fmt: skip
OF_WORDS = ("embeddings", "width", "bidirectional", "minimum_frequency", "embedding_dropout")
OF_ATTENTION, OF_COMPRESSOR = ("scale", "pooling_heads"), ("latent_size", "shared_head", "inference")


# The rows of Zhou et al. (2021, Table 2). "bert" stands for the default model, or for the one that `encoder` names.
PRESETS = {
    "lstm-base": AttentionOptions("lstm", "max", head="perceptron"),
    "lstm-att": AttentionOptions("lstm", "additive", head="perceptron"),
    "lstm-vat": AttentionOptions("lstm", "variational", head="perceptron"),
    "bert-base": AttentionOptions("minilm", "first", head="perceptron"),
    "bert-att": AttentionOptions("minilm", "additive", head="perceptron"),
    "bert-vat": AttentionOptions("minilm", "variational", head="perceptron"),
}


def attention_options(model: str, options: Mapping[str, Any]) -> AttentionOptions | None:
    """The settings of the attention classifier that a model name and its options stand for.

    Args:
        model: a name in `PRESETS`, "attention:POOLING", or the name of another model.
        options: field of `AttentionOptions` to value, for the fields that differ from the preset.

    Returns:
        The settings, or None for a model that is no attention classifier.

    Raises:
        InputError: an unknown pooling or option, or options for a model that has none.
    """
    if model in PRESETS:
        preset = PRESETS[model]
    elif model.startswith(PREFIX):
        name = model.removeprefix(PREFIX)
        if name not in POOLINGS:
            raise unknown(f"--model {PREFIX}", name, POOLINGS)
        preset = AttentionOptions(pooling=name)
    elif options:
        raise InputError(
            f"--model {model} takes no {', '.join(options)}: these options are for {PREFIX}dot and the other "
            f"{PREFIX}POOLING models, and for the presets {', '.join(PRESETS)}"
        )
    else:
        return None
    names = [field.name for field in fields(AttentionOptions) if field.name != "pooling"]
    if "pooling" in options:
        raise InputError(
            f"--model {model} says how to pool already: leave out pooling, or choose another one with "
            f"--model {PREFIX}POOLING"
        )
    for name in options:
        if name not in names:
            raise unknown(f"option of --model {model}:", name, names)
    return replace(preset, **options)
