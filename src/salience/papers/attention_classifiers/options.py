"""The settings of attention classifiers, by option and by name: `attention:dot`, and the presets of two papers.

They are declared apart from the modules, which need torch: the command line shows these settings without importing it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from salience.errors import InputError, nearest, quoted, unknown
from salience.settings import (
    BOOL,
    COUNT,
    POSITIVE,
    SHARE,
    TEXT,
    as_option,
    between,
    check_settings,
    one_of,
    same_setting,
    setting,
    whole_between,
)
from salience.training.procedures import Standard

ATTENDING = ("dot", "additive", "variational")  # poolings with attention scores
POOLINGS = ("first", "max", "mean", *ATTENDING)
WORD_ENCODERS = ("embeddings", "affine", "lstm")
HEADS = ("linear", "perceptron")
INFERENCES = ("learner", "compressor")
PREFIX = "attention:"
OF_WORDS = ("embeddings", "embedding_scale", "width", "bidirectional", "minimum_frequency", "embedding_dropout")
OF_ATTENTION, OF_COMPRESSOR = ("scale", "pooling_heads"), ("latent_size", "shared_head", "inference")


@dataclass(frozen=True)
class AttentionOptions:
    """The settings of an attention classifier (Sun and Lu, ACL 2020; Zhou et al., Findings of ACL 2021).

    Raises:
        InputError: a value that does not fit its setting, a misspelt encoder, or a setting that has no effect with
            this encoder or pooling.
    """

    encoder: str = setting(
        "minilm", TEXT, "encoder of an attention classifier: embeddings, affine, lstm, or a transformer (minilm, a "
        "folder, or a name on the hub)",
    )  # fmt: skip
    pooling: str = setting("additive", one_of(*POOLINGS), "how token states become one vector")
    scale: float = setting(
        1.0, POSITIVE, "divisor of the attention scores of an attention classifier, before the softmax"
    )
    pooling_heads: int = setting(1, COUNT, "number of attention heads of the pooling")
    head: str = setting("linear", one_of(*HEADS), "classifier on the pooled vector")
    embeddings: str | None = setting(
        None,
        TEXT,
        "initial word embeddings of a word encoder: glove, minilm, or a file in GloVe's text format",
        "random",
    )
    embedding_scale: float = setting(1.0, POSITIVE, "factor of the initial word embeddings that are read")
    width: int | None = setting(None, COUNT, "width of random word embeddings, the affine map and the LSTM", "100")
    bidirectional: bool = setting(False, BOOL, "whether an LSTM reads each text in both directions")
    minimum_frequency: int = setting(
        1, COUNT, "number of occurrences in the training texts from which on a word encoder knows a word"
    )
    embedding_dropout: float | None = setting(
        None, SHARE, "dropout probability of the embeddings of a word encoder", "0.5"
    )
    dropout: float | None = setting(
        None, SHARE, "dropout probability of the pooled vector", "0.5 with a word encoder, 0.1 with a transformer"
    )
    latent_size: int | None = setting(None, COUNT, "width of VAT's compressed vector", "the encoder's width")
    shared_head: bool = setting(False, BOOL, "whether VAT's compressor uses the learner's head instead of its own")
    inference: str = setting("learner", one_of(*INFERENCES), "part of VAT that predicts")

    def __post_init__(self):
        check_settings(self)
        if self.pooling not in ATTENDING and (idle := self._changed(OF_ATTENTION)):
            raise InputError(f"{idle} would have no effect: {self.pooling} pooling has no attention scores")
        if self.pooling != "variational" and (idle := self._changed(OF_COMPRESSOR)):
            raise InputError(f"{idle} would have no effect: only variational pooling (VAT) has a compressor")
        if self.encoder in WORD_ENCODERS:
            if self.embeddings is None and self.embedding_scale != 1:
                raise InputError("embedding_scale would have no effect on random embeddings: set embeddings too")
            return
        if idle := self._changed(OF_WORDS):
            raise InputError(
                f"{idle} would have no effect: {self.encoder!r} is a transformer, and only the word encoders "
                f"{', '.join(WORD_ENCODERS)} have this setting"
            )
        if (near := nearest(self.encoder, WORD_ENCODERS)) and not Path(self.encoder).is_dir():
            raise InputError(f"unknown encoder {quoted(self.encoder)}.{near}")

    @property
    def builder(self) -> str:
        """The function that builds the classifier. It is named, because its module needs torch."""
        return "salience.papers.attention_classifiers.building:build_attention_classifier"

    @property
    def pretrained(self) -> str | None:
        """The name of the pretrained encoder; None for word encoders, which are trained from scratch."""
        return None if self.encoder in WORD_ENCODERS else self.encoder

    @property
    def procedure(self) -> str:
        """The procedure that trains the classifier: "turns" for VAT, otherwise "standard"."""
        return "turns" if self.pooling == "variational" else "standard"

    @property
    def one_label(self) -> str:
        """Why a text can have one label only, as a clause for messages."""
        model = "VAT" if self.pooling == "variational" else "an attention classifier with polarities (UAFTC)"
        return f"{model} is built for classes that exclude each other"

    def _changed(self, names: Sequence[str]) -> str:
        return ", ".join(
            field.name for field in fields(self) if field.name in names and getattr(self, field.name) != field.default
        )


# The rows of Zhou et al. (2021, Table 2). "bert" stands for the default model, or for the one that `encoder` names.
PRESETS = {
    "lstm-base": AttentionOptions("lstm", "max", head="perceptron"),
    "lstm-att": AttentionOptions("lstm", "additive", head="perceptron"),
    "lstm-vat": AttentionOptions("lstm", "variational", head="perceptron"),
    "bert-base": AttentionOptions("minilm", "first", head="perceptron"),
    "bert-att": AttentionOptions("minilm", "additive", head="perceptron"),
    "bert-vat": AttentionOptions("minilm", "variational", head="perceptron"),
}


def attention_options(model: str, options: Mapping[str, Any]) -> AttentionOptions:
    """The settings of the attention classifier that a model name and its options stand for.

    Args:
        model: a name in `PRESETS`, or "attention:POOLING".
        options: field of `AttentionOptions` to value, for the fields that differ from the preset.

    Raises:
        InputError: an unknown pooling or option.
    """
    if model in PRESETS:
        preset = PRESETS[model]
    else:
        name = model.removeprefix(PREFIX)
        if name not in POOLINGS:
            raise unknown(f"--model {PREFIX}", name, POOLINGS)
        preset = AttentionOptions(pooling=name)
    if "pooling" in options:
        raise InputError(
            f"--model {model} says how to pool already: leave out pooling, or choose another one with "
            f"--model {PREFIX}POOLING"
        )
    names = [field.name for field in fields(AttentionOptions) if field.name != "pooling"]
    for name in options:
        if name not in names:
            raise unknown(f"option of --model {model}:", name, names)
    return replace(preset, **options)


@dataclass(frozen=True)
class WordRecipe:
    """Settings of the training of word models by Sun and Lu (`salience.papers.uaftc.analysis.fit_words`).

    The paper leaves most of them open; the defaults are those of the authors' notebook for SST.

    Raises:
        InputError: a value does not fit its setting.
    """

    epochs: int = setting(40, whole_between(1, 10**6), "number of training epochs")
    batch_size: int = setting(100, whole_between(1, 10**6), "number of texts in a training step")
    learning_rate: float = setting(0.02, between(0, 10), "learning rate of Adagrad at the first step")
    decay: float = setting(0.001, between(0, 10**6), "decay of the learning rate over steps")
    weight_decay: float = setting(0.0, between(0, 10**6), "L2 penalty on all weights but the word embeddings")
    alignment: float = same_setting(Standard, "alignment")
    alignment_form: str = same_setting(Standard, "alignment_form")

    def __post_init__(self):
        check_settings(self, as_option)
        Standard(self.alignment, self.alignment_form)  # checks that they go together
