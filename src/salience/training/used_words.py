"""Training the rows of a word-embedding table that training texts use, and no others.

The table of MiniLM has half of its weights, and 100 texts use 2 % of its rows. The gradient of the others is 0. Still
each step would clear it, add it to the norm of all gradients, and update averages that stay 0.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import TrainerCallback

from salience.data.encoding import Encoded

SHARE = 0.5  # of the rows: tables of which training texts use more are trained as a whole


class UsedWords(TrainerCallback):
    """The rows of an embedding table that some texts use, as a parameter that is trained in place of the table.

    They are copied to the table after each step, so that evaluations, checkpoints and everything else read the table.
    Weight decay does not reach the other rows.
    """

    def __init__(self, table: nn.Embedding, texts: Encoded, padding: int):
        also = [padding] if table.padding_idx is None else [padding, table.padding_idx]
        rows = np.unique(np.concatenate([texts.ids, also]).astype(np.int64))
        self.table, self.rows = table, torch.from_numpy(rows).to(table.weight.device)
        self.places = torch.full((table.num_embeddings,), -1, device=table.weight.device)
        self.places[self.rows] = torch.arange(len(rows), device=table.weight.device)
        self.padding = None if table.padding_idx is None else int(self.places[table.padding_idx])

    @property
    def pays(self) -> bool:
        """Whether it saves time."""
        return self.table.weight.requires_grad and len(self.rows) <= SHARE * self.table.num_embeddings

    def forward(self, ids: Tensor) -> Tensor:
        """The embeddings of texts in a training step; the table's own elsewhere."""
        if not (self.table.training and torch.is_grad_enabled()):
            return nn.Embedding.forward(self.table, ids)
        return F.embedding(self.places[ids], self.used, self.padding)

    def begin(self) -> None:
        self.table.weight.requires_grad_(False)
        self.used = nn.Parameter(self.table.weight[self.rows])
        self.table.register_parameter("used", self.used)
        self.table.forward = self.forward  # type: ignore[assignment]
        self.hook = self.table.register_state_dict_post_hook(without_used)

    def end(self) -> None:
        if hasattr(self.table, "used"):
            self.hook.remove()
            del self.table.used, self.table.forward
            self.table.weight.requires_grad_(True)

    @torch.no_grad()
    def on_step_end(self, args, state, control, **_):
        self.table.weight.index_copy_(0, self.rows, self.used)

    def on_train_end(self, args, state, control, **_):
        self.end()


def without_used(table: nn.Module, weights: dict[str, Tensor], prefix: str, metadata: dict) -> None:
    del weights[prefix + "used"]
