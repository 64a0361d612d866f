"""What an attention classifier is built from, as a configuration of transformers."""

from __future__ import annotations

from collections.abc import Sequence

from transformers import AutoConfig, PreTrainedConfig

from salience.models.poolings import POOLINGS

ENCODERS = ("embeddings", "affine", "lstm", "transformer")
HEADS = ("linear", "perceptron")
INFERENCES = ("learner", "compressor")


class AttentionClassifierConfig(PreTrainedConfig):
    """What an `AttentionClassifier` is built from.

    Args:
        encoder: "embeddings", "affine", "lstm", or "transformer", whose own configuration is `encoder_config`.
        pooling: "first", "max", "mean", "dot", "additive" or "variational".
        scale: lambda, by which scores are divided before the softmax.
        pooling_heads: each attends by itself and averages its own part of the width.
        head: "linear" without a bias (Sun and Lu), or a "perceptron" with one hidden layer (Zhou et al.).
        special_token_ids: tokens that are no words; no pooling but "first" reads them.
        latent_size: the width of VAT's compressed vector; None is the encoder's.
        shared_head: VAT's compressor classifies by the learner's head, not by one of its own; the paper does not say.
        inference: by which of VAT's two a text is classified in evaluation mode, "learner" or "compressor", which
            takes the mean of the compressed vector; the paper does not say.
    """

    model_type = "salience-attention"

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
        pad_token_id: int = 0,
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
            hidden_size, vocab_size = encoder_config.hidden_size, encoder_config.vocab_size
        elif encoder == "embeddings":
            hidden_size = embedding_size
        if not scale > 0:
            raise ValueError(f"scale must be above 0, not {scale}")
        if pooling_heads < 1 or hidden_size % pooling_heads:
            raise ValueError(f"the width {hidden_size} must be divisible by pooling_heads {pooling_heads}")
        if bidirectional and hidden_size % 2:
            raise ValueError(f"two directions share the width, and {hidden_size} is odd")
        if shared_head and latent_size not in (None, hidden_size):
            raise ValueError(f"a shared head reads vectors of the width {hidden_size}: leave latent_size out")
        self.encoder, self.encoder_config = encoder, encoder_config
        self.pooling, self.scale, self.pooling_heads, self.head = pooling, scale, pooling_heads, head
        self.vocab_size, self.embedding_size, self.hidden_size = vocab_size, embedding_size, hidden_size
        self.bidirectional = bidirectional
        self.embedding_dropout, self.dropout = embedding_dropout, dropout
        self.latent_size, self.shared_head, self.inference = latent_size, shared_head, inference
        self.special_token_ids = list(special_token_ids)
        super().__init__(pad_token_id=pad_token_id, **others)
