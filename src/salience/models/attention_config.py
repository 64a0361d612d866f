"""The configuration of an attention classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transformers import AutoConfig, PreTrainedConfig

from salience.models.attention_options import HEADS, INFERENCES, POOLINGS, WORD_ENCODERS

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
