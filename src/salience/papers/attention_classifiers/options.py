"""The settings of attention classifiers, by option and by name: `attention:dot`, and the presets of two papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from torch import nn
from transformers import AutoConfig, PreTrainedConfig

from salience.errors import InputError, nearest, quoted, unknown
from salience.hooks.stages import unwrapped
from salience.settings import BOOL, COUNT, POSITIVE, SHARE, TEXT, check_settings, one_of, setting

# Declared apart from the modules, which need torch: the command line shows these settings without importing it.
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

    def _changed(self, names: Sequence[str]) -> str:
        """Those of the named fields that differ from their default, separated by commas."""
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


# The configuration of an attention classifier.

ENCODERS = (*WORD_ENCODERS, "transformer")


class AttentionClassifierConfig(PreTrainedConfig):
    """The configuration of an `AttentionClassifier`, saved as `config.json`.

    Args:
        encoder: "embeddings", "affine", "lstm" or "transformer".
        encoder_config: the configuration of a transformer encoder, which is required for one.
        pooling: "first", "max", "mean", "dot", "additive" or "variational".
        scale: lambda, the number above 0 by which attention scores are divided before the softmax.
        pooling_heads: number of attention heads. Each head pools its own part of the width, which must be divisible
            by the number of heads.
        head: "linear", without a bias (Sun and Lu, 2020), or "perceptron", with one hidden layer (Zhou et al., 2021).
        vocab_size: number of token ids V. A transformer encoder's configuration replaces it.
        embedding_size: width of the word embeddings.
        hidden_size: width of the encoder's states. Replaced by `embedding_size` for the encoder "embeddings" and by
            the encoder's width for a transformer.
        bidirectional: whether an LSTM reads each text in both directions; each direction gives half of the width.
        embedding_dropout: dropout probability of the word embeddings.
        dropout: dropout probability of the pooled vector.
        latent_size: width of VAT's compressed vector; None stands for `hidden_size`.
        shared_head: whether VAT's compressor uses the learner's head instead of its own classifier. The paper does
            not say which.
        inference: the part of VAT that predicts in evaluation mode, "learner" or "compressor". The compressor predicts
            from the mean of the compressed vector. The paper does not say which.
        special_token_ids: ids of special tokens, which no pooling but "first" reads.
        pad_token_id: id of the padding token; None if there is none.
        others: further fields of a transformers configuration, such as `id2label`.

    Raises:
        ValueError: an unknown name, or values that do not go together.
    """

    model_type = "salience-attention"

    if TYPE_CHECKING:  # transformers allows None, but a classifier always has labels
        num_labels: int

    def __init__(
        self,
        encoder: str = "embeddings",
        encoder_config: dict | PreTrainedConfig | None = None,
        pooling: str = "dot",
        scale: float = 1.0,
        pooling_heads: int = 1,
        head: str = "linear",
        vocab_size: int = 2,
        embedding_size: int = 100,
        hidden_size: int = 100,
        bidirectional: bool = False,
        embedding_dropout: float = 0.5,
        dropout: float = 0.5,
        latent_size: int | None = None,
        shared_head: bool = False,
        inference: str = "learner",
        special_token_ids: Sequence[int] = (),
        pad_token_id: int | None = 0,
        **others,
    ):
        for name, value, allowed in (("encoder", encoder, ENCODERS), ("pooling", pooling, POOLINGS),
                                     ("head", head, HEADS), ("inference", inference, INFERENCES)):  # fmt: skip
            if value not in allowed:
                raise ValueError(f"{name} is one of {', '.join(allowed)}, not {value!r}")
        if isinstance(encoder_config, dict):
            encoder_config = AutoConfig.for_model(**encoder_config)
        if encoder == "transformer":
            if encoder_config is None:
                raise ValueError("a transformer encoder needs encoder_config")
            assert not isinstance(encoder_config, dict)  # made an object above
            hidden_size, vocab_size = encoder_config.hidden_size, encoder_config.vocab_size
        elif encoder == "embeddings":
            hidden_size = embedding_size
        if not scale > 0:
            raise ValueError(f"scale must be above 0, not {scale}")
        if pooling_heads < 1 or hidden_size % pooling_heads:
            raise ValueError(f"the width {hidden_size} must be divisible by pooling_heads {pooling_heads}")
        if bidirectional and hidden_size % 2:
            raise ValueError(f"a bidirectional encoder needs an even width, not {hidden_size}")
        if shared_head and latent_size not in (None, hidden_size):
            raise ValueError(f"a shared head reads vectors of the width {hidden_size}: leave out latent_size")
        self.encoder, self.encoder_config = encoder, encoder_config
        self.pooling, self.scale, self.pooling_heads, self.head = pooling, scale, pooling_heads, head
        self.vocab_size, self.embedding_size, self.hidden_size = vocab_size, embedding_size, hidden_size
        self.bidirectional = bidirectional
        self.embedding_dropout, self.dropout = embedding_dropout, dropout
        self.latent_size, self.shared_head, self.inference = latent_size, shared_head, inference
        self.special_token_ids = list(special_token_ids)
        others["pad_token_id"] = pad_token_id
        super().__init__(**others)


# The training procedure that a model needs.

Procedure = Literal["standard", "turns"]


@runtime_checkable
class NamesProcedure(Protocol):
    """A model that names the training procedure it needs, as `AttentionClassifier` does.

    "standard" trains all weights together. "turns" alternates between a learner and a compressor (VAT); a model that
    names it is an `AttentionClassifier` whose `compressor` is not None.
    """

    @property
    def procedure(self) -> Procedure:
        """The name of the procedure."""


def required_procedure(model: nn.Module) -> Procedure:
    """The training procedure that a model needs: "standard" for every model that does not name another one.

    Args:
        model: any classifier, also one that is wrapped for parallel training, compiled or extended with adapters.
    """
    model = unwrapped(model)
    return model.procedure if isinstance(model, NamesProcedure) else "standard"
