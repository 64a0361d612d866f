"""Attention classifiers: an encoder, a pooling and a head, as in two papers.

Xiaobing Sun and Wei Lu (ACL 2020), "Understanding Attention for Text Classification", doi
10.18653/v1/2020.acl-main.312; Zhou et al. (Findings of ACL-IJCNLP 2021), "Attending via both Fine-tuning and
Compressing", whose compressor (VAT) is a variational information bottleneck on the pooled vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, PreTrainedConfig, PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import SequenceClassifierOutput

from salience.batch import Batch
from salience.hooks.attention import Reached
from salience.hooks.hooks import evaluating, forward, rewriting_arguments
from salience.models.architectures import NO_ALIGNMENT, Architecture
from salience.papers.attention_classifiers.layers import (
    Additive,
    Attention,
    Dot,
    Dropout,
    WordEncoder,
    attend,
    pooling,
)
from salience.papers.attention_classifiers.options import HEADS, INFERENCES, POOLINGS, WORD_ENCODERS

ENCODERS = (*WORD_ENCODERS, "transformer")
SMALLEST = 1e-6  # lower bound of a standard deviation


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


def perceptron(inputs: int, outputs: int) -> nn.Sequential:
    """A perceptron with one hidden layer of tanh units, which is as wide as the input."""
    return nn.Sequential(nn.Linear(inputs, inputs), nn.Tanh(), nn.Linear(inputs, outputs))


class Compressor(nn.Module):
    """Compresses the pooled vector R (B, D) into z = u + sigma * epsilon (B, Z), epsilon ~ N(0, I), and classifies z.

    Zhou et al. (2021, section 3.3, Eq. 9). u and sigma are computed from R by a perceptron with one hidden layer each,
    and z is classified by another one. The paper leaves open how sigma, a standard deviation here, is kept positive;
    here it is the softplus of a perceptron's output.

    Args:
        width: D, the width of R.
        latent: Z, the width of z.
        classes: C, the number of classes; None builds no classifier, and z is classified by the learner's head.
    """

    def __init__(self, width: int, latent: int, classes: int | None):
        super().__init__()
        self.latent = latent
        self.mean = perceptron(width, latent)
        self.deviation = perceptron(width, latent)
        self.classifier = None if classes is None else perceptron(latent, classes)

    def forward(self, pooled: Tensor) -> tuple[Tensor, Tensor]:
        """One sample of z for each text (B, Z), and its KL divergence from the prior N(0, I) in nats (B,)."""
        mean, deviation = self.mean(pooled), F.softplus(self.deviation(pooled)) + SMALLEST
        return sample(mean, deviation), divergence(mean, deviation)


def sample(mean: Tensor, deviation: Tensor) -> Tensor:
    """One sample of N(mean, diag(deviation^2)), reparametrised; all three have the shape (B, Z)."""
    return mean + deviation * torch.randn_like(mean)


def divergence(mean: Tensor, deviation: Tensor) -> Tensor:
    """KL(N(mean, diag(deviation^2)) || N(0, I)) in nats (B,), for `mean` and `deviation` (B, Z).

    It is 1/2 sum (u^2 + sigma^2 - 1 - ln sigma^2), the KL term of Zhou et al. (2021, Eq. 8).
    """
    square = deviation.square()
    return 0.5 * (mean.square() + square - 1 - square.log()).sum(-1)


class AttentionClassifier(Architecture, PreTrainedModel):
    """A classifier that consists of an encoder, a pooling and a head.

    `attentions` of its output is a tuple with the attention weights of the pooling (B, H, T), or None for the pooling
    "max", which has no weights.
    """

    config: AttentionClassifierConfig
    config_class = AttentionClassifierConfig
    base_model_prefix = "encoder"  # hooks find the levels of mixing inside this module
    reads_word_mask = True  # see `salience.hooks.hooks.inputs_of`
    supports_gradient_checkpointing = True
    _supports_sdpa = _supports_flash_attn = _supports_attention_backend = True
    accepts_loss_kwargs = False  # the loss is a batch mean, so a Trainer must divide it when it accumulates gradients
    by_turns = "salience.papers.vat.turns:fit_by_turns"

    def __init__(self, config: AttentionClassifierConfig):
        super().__init__(config)
        width, classes = config.hidden_size, config.num_labels
        self.encoder: PreTrainedModel | WordEncoder
        if config.encoder == "transformer":
            self.encoder = without_pooler(AutoModel.from_config(config.encoder_config, trust_remote_code=False))
        else:
            self.encoder = WordEncoder(config)
        self.pooling = pooling(config.pooling, width, config.pooling_heads, config.scale)
        self.compressor = (
            Compressor(width, config.latent_size or width, None if config.shared_head else classes)
            if config.pooling == "variational"
            else None
        )
        self.dropout = Dropout(config.dropout)
        self.head: nn.Sequential | nn.Linear
        if config.head == "perceptron":
            self.head = perceptron(width, classes)
        else:  # one vector W serves two classes: s = R . W
            self.head = nn.Linear(width, 1 if classes == 2 else classes, bias=False)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        word_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **others,
    ) -> SequenceClassifierOutput:
        """Logits (B, C) of texts (B, T), and the mean cross-entropy if there are labels.

        Args:
            input_ids: token ids (B, T).
            attention_mask: (B, T), 1 where there is a token; None stands for texts without padding.
            word_mask: (B, T), true for the tokens that the pooling may read; None stands for all tokens but the
                special ones.
            labels: class indices (B,).
            others: further arguments of a transformer encoder, such as `token_type_ids`; word encoders ignore them.
        """
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if word_mask is None:
            special = torch.tensor(self.config.special_token_ids, dtype=torch.long, device=self.device)
            word_mask = attention_mask.bool() & (input_ids[..., None] != special).all(-1)
        arguments = others if self.config.encoder == "transformer" else {}
        encoded = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **arguments)
        pooled, attention = self.pooling(encoded.last_hidden_state, word_mask & attention_mask.bool())
        if self.compressor is not None and self.predicts_compressed and not self.training:
            logits = self.classify_compressed(self.compressor.mean(pooled))
        else:
            logits = self.classify(pooled)
        return SequenceClassifierOutput(
            loss=None if labels is None else F.cross_entropy(logits, labels),
            logits=logits,
            attentions=None if attention is None else (attention,),
        )

    def classify(self, pooled: Tensor) -> Tensor:
        """Logits (B, C) of pooled vectors (B, D)."""
        return as_logits(self.head(self.dropout(pooled)), self.config.num_labels)

    def classify_compressed(self, compressed: Tensor) -> Tensor:
        """Logits (B, C) of VAT's compressed vectors z (B, Z).

        Raises:
            ValueError: the model has no compressor.
        """
        if self.compressor is None:
            raise ValueError(f"{self.config.pooling} pooling has no compressor; only variational pooling has one")
        if self.compressor.classifier is None:
            return as_logits(self.head(compressed), self.config.num_labels)
        return self.compressor.classifier(compressed)

    # What the other rooms ask of a model, see `Architecture`.

    @property
    def reads_words(self) -> bool:
        return self.config.encoder != "transformer"

    @property
    def procedure(self) -> Literal["standard", "turns"]:
        return "standard" if self.compressor is None else "turns"

    @property
    def predicts_compressed(self) -> bool:
        return self.compressor is not None and self.config.inference == "compressor"

    @property
    def predicting_head(self) -> nn.Module:
        own = self.compressor.classifier if self.compressor is not None and self.predicts_compressed else None
        return self.head if own is None else own

    def alignment(self, form: str = "absolute") -> Tensor:
        """|V^T W| or (V^T W)^2, summed over classes: a scalar with a gradient (Sun and Lu, 2020, section 5.3).

        V is the context vector of the attention and W the class vectors of the head. If V^T W is not 0, the polarity
        of a word changes because the word is attended to (term A of the gradient), and its attention changes because
        it has a polarity (term D). |V^T W| is added to the loss, as in the authors' code, or its square; the paper
        does not say which.

        Raises:
            ValueError: V^T W is not defined for the model; see `coupling`.
        """
        return (Tensor.abs if form == "absolute" else Tensor.square)(self.coupling()).sum()

    def coupling(self) -> Tensor:
        """V^T W for every class vector: (C,), or (1,) for two classes.

        With additive attention (without its tanh), the score of a state h is V^T M_a h; with an affine encoder,
        h = M e for an embedding e. V and W are then mapped to the space of the embeddings: V^T M_a W, V^T M M^T W,
        and V^T M_a M M^T W for both.

        Raises:
            ValueError: the model does not have dot or additive attention of one head and a linear head.
        """
        pooling = self.pooling
        if not isinstance(pooling, Dot | Additive) or pooling.heads != 1 or self.config.head != "linear":
            raise ValueError(NO_ALIGNMENT)
        attention, polarity = pooling.query[0], cast(Tensor, self.head.weight).T  # V (D,), W (D, C or 1)
        if isinstance(pooling, Additive):
            attention = pooling.key.weight.T @ attention
        if self.config.encoder == "affine":
            weight = cast(nn.Linear, self.encoder.layers[0].dense).weight
            attention, polarity = weight.T @ attention, weight.T @ polarity
        return attention @ polarity

    def fast_logits(self, tokens: int) -> Callable[[Batch], Tensor] | None:
        # The scalars cost one pass over the vocabulary: worthwhile if the texts have more tokens than that.
        return TypeScalars(self).logits if tokens > self.config.vocab_size and TypeScalars.fits(self) else None

    def pooling_attention(self, batch: Batch) -> Tensor:
        if self.config.pooling == "first":
            raise ValueError("first pooling reads the first token only, which is not a word")
        with torch.no_grad(), evaluating(self):
            _, attention = self.pooling(*pooled_states(self, batch))
        if attention is None:
            raise ValueError(f"{self.config.pooling} pooling has no attention to show")
        return attention.mean(1)

    # What transformers asks of a model.

    def get_input_embeddings(self) -> nn.Embedding:
        return cast(nn.Embedding, self.encoder.get_input_embeddings())

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.encoder.set_input_embeddings(value)

    def _init_weights(self, module: nn.Module) -> None:
        # As in the papers and their code. The attention vector V is drawn from N(0, 1) by Sun and Lu, and from
        # U(-0.1, 0.1) by Zhou et al., whose models are those with a compressor or a perceptron. Linear maps and LSTMs
        # have torch's defaults.
        if isinstance(module, nn.Embedding):
            init.uniform_(module.weight, -0.1, 0.1)
            if module.padding_idx is not None and not getattr(module.weight, "_is_hf_initialized", False):
                init.zeros_(module.weight[module.padding_idx])
        elif isinstance(module, Attention):
            of_zhou = self.config.pooling == "variational" or self.config.head == "perceptron"
            if isinstance(module, Additive) and of_zhou:
                init.uniform_(module.query, -0.1, 0.1)
            else:
                init.normal_(module.query)
        elif isinstance(module, nn.Linear | nn.LSTM):
            bound = module.weight.shape[1] if isinstance(module, nn.Linear) else module.hidden_size
            for weight in module.parameters(recurse=False):
                init.uniform_(weight, -(bound**-0.5), bound**-0.5)


def as_logits(scores: Tensor, classes: int) -> Tensor:
    """Logits (B, C) of a head's scores (B, C), or (B, 1) for two classes.

    A single score s of two classes becomes the logits (-s/2, s/2), whose softmax is the sigmoid of s.
    """
    return torch.cat([-scores / 2, scores / 2], 1) if scores.shape[1] < classes else scores


def without_pooler(encoder: Any) -> Any:
    """An encoder of transformers without its pooler layer, whose weights an attention classifier would never train."""
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    return encoder


AutoConfig.register(AttentionClassifierConfig.model_type, AttentionClassifierConfig, exist_ok=True)
AutoModelForSequenceClassification.register(AttentionClassifierConfig, AttentionClassifier, exist_ok=True)


def pooled_states(model: AttentionClassifier, batch: Batch) -> tuple[Tensor, Tensor]:
    """The arguments of the model's pooling, in a forward pass that ends there.

    Returns:
        The encoder's states (B, T, D), and the mask of the tokens that the pooling may read (B, T).
    """
    arguments: dict[str, Tensor] = {}

    def keep(given: dict) -> dict:
        arguments.update(given)
        raise Reached

    with suppress(Reached), rewriting_arguments(model.pooling, keep):
        forward(model, batch)
    return arguments["states"], arguments["mask"]


class TypeScalars:
    """The attention score and the polarity scores of every word type, which determine the logits of any text.

    If a token's state depends on its type alone, the score of a text is s = sum_j alpha_j s_j, where alpha is the
    softmax of the attention scores of its tokens and s_j the polarity of token j (Sun and Lu, 2020, section 3). The D
    numbers of a state are then needed once for each type instead of once for each token.

    Args:
        model: a model for which `fits` is true.

    Attributes:
        scores: attention scores (V,), divided by the scale.
        polarity: polarity scores (V, K), with K = 1 for two classes and K = C otherwise.
        classes: C, the number of classes.
    """

    @torch.no_grad()
    def __init__(self, model: AttentionClassifier):
        if not isinstance(model.pooling, Attention):
            raise ValueError(f"{model.config.pooling} pooling has no attention scores")
        with evaluating(model):
            types = torch.arange(model.config.vocab_size, device=model.device)[:, None]
            states = model.encoder(types).last_hidden_state  # (V, 1, D)
            self.scores = model.pooling.scores(states)[:, 0, 0]
            self.polarity = model.head(states[:, 0])
        self.classes = model.config.num_labels

    @staticmethod
    def fits(model: AttentionClassifier) -> bool:
        """Whether the states of a model depend on word types alone, and its logits on two scalars of each type."""
        return (
            model.config.encoder in ("embeddings", "affine")
            and model.config.head == "linear"
            and isinstance(model.pooling, Attention)
            and model.pooling.heads == 1
            and not model.predicts_compressed
        )

    def logits(self, batch: Batch) -> Tensor:
        """The logits (B, C) of the model in evaluation mode, computed without its encoder."""
        words = (batch.segment > 0) & batch.attention_mask.bool()
        attention = attend(self.scores[batch.input_ids], words)
        scores = torch.einsum("bt,btk->bk", attention, self.polarity[batch.input_ids])
        return as_logits(scores, self.classes)
