"""The objective of the student: the loss on labelled texts, and the weighted loss on texts without labels.

    L = L_labelled + weight / U sum_u w_u H(q_u, p(. | view(x_u)))

for the U texts without labels of a step, with labels q_u and weights w_u of `labelling.py` or `moving.py`. Of texts
that can have several labels, w_u H is the mean over the labels of w_uc times the cross-entropy of no and yes. The
labels are computed on the texts as they are, and the student reads a changed view of them, as in Kihyuk Sohn et al.
(NeurIPS 2020), "FixMatch: Simplifying Semi-Supervised Learning with Consistency and Confidence", arXiv:2001.07685,
section 2.

If texts without labels are mixed with labelled ones too, as in Jiaao Chen, Zichao Yang and Diyi Yang (ACL 2020),
"MixText: Linguistically-Informed Interpolation of Hidden Space for Semi-Supervised Text Classification",
arXiv:2004.12239, section 4.3, the further loss is the mean over all texts of the step. Labelled texts have the weight
1. Any mixing method takes the place of the paper's TMix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.hooks import forward
from salience.mixing.forwarding import forward_mixed
from salience.mixing.method import Method
from salience.training.kept_rows import kept_by_rows
from salience.training.loss import loss_for
from salience.training.objectives import Objective

# A batch (B, T) of texts without labels, their labels q (B, C) and weights w (B,), of several labels (B, C), and the
# share of the step's U texts that they are.
Part = tuple[Batch, Tensor, Tensor, float]


def with_unlabelled(
    objective: Objective, parts: Callable[[nn.Module], Part | None], view: Method | None, weight: float,
    class_weights: tuple[float, ...] | None = None, padding: int | None = None, labelled: int | None = None,
) -> Objective:  # fmt: skip
    """An objective with one more loss, on texts without labels. It is back-propagated last.

    Args:
        objective: on labelled texts.
        parts: gives the texts without labels of a step of the model, or of the next part of it; None if the part has
            none.
        view: a mixing method that changes the texts; None leaves them as they are.
        weight: of the further loss, at least 0.
        class_weights: of the classes (C,), as in the loss on labelled texts.
        padding: the token id of the padding, if the view mixes texts without labels with the labelled ones too; None
            if it mixes the former with each other.
        labelled: number of labelled texts in a step, of which a part of the step has the share by which the Trainer
            weights the losses of the part; None if no step is divided.
    """

    def on_both(model: nn.Module, batch: Batch) -> Iterator[Tensor]:
        yield from objective(model, batch)
        part = parts(model)
        if part is None:
            return
        texts, labels, weights, share = part
        of_labelled = 1.0 if labelled is None else len(batch) / labelled
        if weights.dim() == 2:
            labels = torch.stack([1 - labels, labels], 2)  # no and yes of each label
        # The loss is linear in the labels, so that the weights of texts are factors of their labels.
        labels = labels * weights[..., None]
        if padding is not None:
            labels = torch.cat([known_labels(batch, labels), labels])
            texts = batch.followed_by(texts, padding)
        with kept_by_rows(model):
            logits, targets = viewed(model, texts, labels, view)
            yield weight * share / of_labelled * loss_for(model, class_weights)(logits, targets)

    return on_both


def known_labels(batch: Batch, labels: Tensor) -> Tensor:
    """The labels of labelled texts, in the form of `labels` and of their type: ones and zeros."""
    assert batch.labels is not None
    return F.one_hot(batch.labels, labels.shape[-1]).to(labels.dtype)  # of several labels, no and yes of each


def viewed(model: nn.Module, batch: Batch, labels: Tensor, view: Method | None) -> tuple[Tensor, Tensor]:
    """The logits (B, C) of a changed view of the texts, and the labels of the changed texts, of the shape of `labels`.

    A guide of the view explains the most probable label; of several labels, no or yes of each. Where texts are mixed,
    so are their labels.

    Args:
        labels: (B, C), or of several labels (B, C, 2), no and yes.
    """
    if view is None:
        return forward(model, batch), labels
    labelled = replace(batch, labels=labels.argmax(-1))
    mix = view(labelled, None if view.guide is None else view.guide(model, labelled))
    share = mix.share.to(labels.dtype).view(-1, *[1] * (labels.dim() - 1))
    return forward_mixed(model, labelled, mix), torch.lerp(labels[mix.partner], labels, share)
