"""The attention classifiers of two papers as one family: encoder, pooling, head.

Sun and Lu (ACL 2020) train dot-product and additive attention over embeddings, an affine map or an LSTM; Zhou et al.
(Findings of ACL 2021) additive attention over an LSTM or BERT. Saved and loaded as any model of transformers.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    PreTrainedModel,
)
from transformers import initialization as init
from transformers.modeling_outputs import SequenceClassifierOutput

from salience.models.attention_config import AttentionClassifierConfig
from salience.models.compressor import Compressor, perceptron
from salience.models.poolings import Additive, Dot, pooling
from salience.models.procedure import Procedure
from salience.models.word_encoders import WordEncoder


class AttentionClassifier(PreTrainedModel):
    """Encoder, pooling, head. `attentions` of its output holds the pooling's, (B, H, T), where it has any."""

    config_class = AttentionClassifierConfig
    base_model_prefix = "encoder"  # where texts can meet is looked for in there
    supports_gradient_checkpointing = True
    _supports_sdpa = _supports_flash_attn = _supports_attention_backend = True
    accepts_loss_kwargs = False  # the loss is a mean over the batch, which a Trainer that accumulates must divide

    def __init__(self, config: AttentionClassifierConfig):
        super().__init__(config)
        width, classes = config.hidden_size, config.num_labels
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
        self.dropout = nn.Dropout(config.dropout)
        if config.head == "perceptron":
            self.head = perceptron(width, classes)
        else:  # two classes need one vector: s = R . W
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
        """Logits (B, C) of texts (B, T).

        Args:
            word_mask: (B, T), true for the tokens that the pooling may read; worked out from the special tokens' ids
                where it is not given.
            others: what else the encoder takes, such as `token_type_ids`.
        """
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if word_mask is None:
            word_mask = attention_mask.bool() & ~torch.isin(input_ids, self.special)
        encoded = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **self.known(others))
        pooled, attention = self.pooled(encoded.last_hidden_state, attention_mask, word_mask)
        if self.predicts_compressed and not self.training:
            logits = self.classify_compressed(self.compressor.mean(pooled))
        else:
            logits = self.classify(pooled)
        return SequenceClassifierOutput(
            loss=None if labels is None else F.cross_entropy(logits, labels),
            logits=logits,
            attentions=None if attention is None else (attention,),
        )

    def pooled(self, states: Tensor, attention_mask: Tensor, word_mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """The texts' vectors R (B, D) and the attention (B, H, T) from the encoder's states (B, T, D)."""
        return self.pooling(states, word_mask & attention_mask.bool())

    def classify(self, pooled: Tensor) -> Tensor:
        """Logits (B, C)."""
        return as_logits(self.head(self.dropout(pooled)), self.config.num_labels)

    def classify_compressed(self, compressed: Tensor) -> Tensor:
        """Logits (B, C) of VAT's compressed vectors z (B, Z)."""
        own = self.compressor.classifier
        return as_logits(self.head(compressed), self.config.num_labels) if own is None else own(compressed)

    @property
    def procedure(self) -> Procedure:
        """The training procedure that the model needs: "turns" for variational pooling (VAT), otherwise "standard"."""
        return "standard" if self.compressor is None else "turns"

    @property
    def predicts_compressed(self) -> bool:
        """Whether the model in evaluation mode predicts from VAT's compressed vector."""
        return self.compressor is not None and self.config.inference == "compressor"

    @property
    def special(self) -> Tensor:
        return torch.tensor(self.config.special_token_ids, dtype=torch.long, device=self.device)

    def known(self, others: dict) -> dict:
        """Word encoders take nothing else."""
        return others if self.config.encoder == "transformer" else {}

    def get_input_embeddings(self) -> nn.Embedding:
        return self.encoder.get_input_embeddings()

    def set_input_embeddings(self, table: nn.Embedding) -> None:
        self.encoder.set_input_embeddings(table)

    def _init_weights(self, module: nn.Module) -> None:
        """As the papers and their code do: Sun and Lu's V from N(0, 1), that of VAT and of its iteration 0, which has
        a perceptron, from U(-.1, .1); torch's defaults for linear maps."""
        if isinstance(module, nn.Embedding):
            init.uniform_(module.weight, -0.1, 0.1)
            if module.padding_idx is not None and not getattr(module.weight, "_is_hf_initialized", False):
                init.zeros_(module.weight[module.padding_idx])
        elif isinstance(module, Dot):
            init.normal_(module.query)
        elif isinstance(module, Additive):
            if self.config.pooling == "variational" or self.config.head == "perceptron":
                init.uniform_(module.query, -0.1, 0.1)
            else:
                init.normal_(module.query)
        elif isinstance(module, nn.Linear | nn.LSTM):
            bound = module.weight.shape[1] if isinstance(module, nn.Linear) else module.hidden_size
            for weight in module.parameters(recurse=False):
                init.uniform_(weight, -(bound**-0.5), bound**-0.5)


def as_logits(scores: Tensor, classes: int) -> Tensor:
    """Logits (B, C). With one vector W for two classes they are -s/2 and s/2, so that softmax is sigmoid(s)."""
    return torch.cat([-scores / 2, scores / 2], 1) if scores.shape[1] < classes else scores


def without_pooler(encoder: nn.Module) -> nn.Module:
    """BERT's own pooler is for its [CLS]; here it would be weights that nothing trains."""
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    return encoder


AutoConfig.register(AttentionClassifierConfig.model_type, AttentionClassifierConfig, exist_ok=True)
AutoModelForSequenceClassification.register(AttentionClassifierConfig, AttentionClassifier, exist_ok=True)
