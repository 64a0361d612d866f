"""What a training step minimises: losses of logits and labels, and objectives, which are generators of losses.

Cross-entropy has one definition for hard and soft labels, with class weights and label smoothing; `loss_for` chooses
by the model between that of one label a text and that of several. An objective yields its losses one by one, so that
each is back-propagated before the next one is computed: that of mixtures reads what the clean pass has left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from salience.batch import Batch
from salience.explainers.explainer import CleanPassGuide
from salience.hooks.hooks import forward, reading
from salience.hooks.shared_layers import resuming, splitting, trunk_level
from salience.hooks.stages import unwrapped
from salience.mixing.forwarding import forward_mixed
from salience.mixing.method import Method
from salience.mixing.mix import Mix
from salience.models.precision import exactly
from salience.models.problem import labels_of_model


@dataclass(frozen=True)
class CrossEntropy:
    """The mean over texts of -sum_c z~_c log p_c, where z~ = (1 - smoothing) z + smoothing mean(z) and z_c = w_c y_c.

    So the smoothed loss of a text is multiplied by the weight of its label. Were the smoothed label weighted, the part
    of a rare class in the label of every text could be the largest one. The sum over texts is divided by their number,
    unlike that of `F.cross_entropy` for hard labels: so the loss is linear in the label, and does not depend on how a
    batch is divided into smaller ones.

    Label smoothing: Szegedy et al. (2016), arXiv:1512.00567, section 7.

    Args:
        weights: one weight a class (C,), relative to a mean of 1 over the training data; None for equal weights.
        smoothing: part of every label that is spread evenly over all classes.
    """

    weights: tuple[float, ...] | None = None
    smoothing: float = 0.0

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss of logits (B, C) for labels (B,) long or label distributions (B, C)."""
        classes = logits.shape[1]
        if labels.dim() == 1:
            labels = F.one_hot(labels, classes)
        logits = precise(logits)
        labels = labels.to(logits.dtype)
        if self.weights is not None:
            labels = labels * logits.new_tensor(self.weights)
        if self.smoothing:
            labels = torch.lerp(labels, labels.mean(1, keepdim=True).expand_as(labels), self.smoothing)
        return -(labels * F.log_softmax(logits, 1)).sum(1).mean()


@dataclass(frozen=True)
class BinaryCrossEntropy:
    """The mean over texts and labels of -yes_c ln p_c - no_c ln (1 - p_c), where yes_c = w_c y_c and no_c = 1 - y_c.

    For multi-label texts; p_c is the sigmoid of the logit of c. It is the loss of transformers for
    `problem_type="multi_label_classification"`. With smoothing, both yes_c and no_c have that part of their mean in
    place of their own. Like `CrossEntropy`, it is linear in the label.

    Args:
        weights: one weight a label (C,), of the texts that have it; None for weights of 1.
        smoothing: part of every label that is spread evenly over yes and no.
    """

    weights: tuple[float, ...] | None = None
    smoothing: float = 0.0

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss, a scalar, of logits (B, C) for labels (B, C), 0 and 1 or soft."""
        logits = precise(logits)
        labels = labels.to(logits.dtype)
        no, yes = 1 - labels, labels
        if self.weights is not None:
            yes = yes * logits.new_tensor(self.weights)
        if self.smoothing:
            mean = (no + yes) / 2
            no, yes = torch.lerp(no, mean, self.smoothing), torch.lerp(yes, mean, self.smoothing)
        return -(no * F.logsigmoid(-logits) + yes * F.logsigmoid(logits)).mean()


def precise(logits: Tensor) -> Tensor:
    """Logits in float32 at least: in a shorter format, the shares of mixed labels would no longer sum to 1."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


Loss = CrossEntropy | BinaryCrossEntropy  # of logits and labels


def loss_for(model: nn.Module, weights: tuple[float, ...] | None = None, smoothing: float = 0.0) -> Loss:
    """The loss that trains a classifier, by the `problem_type` of its configuration."""
    kind = BinaryCrossEntropy if labels_of_model(model).several else CrossEntropy
    return kind(weights, smoothing)


cross_entropy = CrossEntropy()


@contextmanager
def kept_by_rows(model: nn.Module) -> Iterator[None]:
    """Inside the `with`, the gradient of the word-embedding table takes memory only for the words that have one.

    The gradients of the first loss of a step are kept while the graph of the second is built. Half of those of a small
    encoder belong to the table, and nearly all of its rows are 0. They are removed here, and added when the backward
    pass of the second loss has written its own; the sum is the same to the last bit. A gradient that is averaged over
    processes stays as it is, because its sum is exchanged.
    """
    table = None if unwrapped(model) is not model else getattr(model, "get_input_embeddings", lambda: None)()
    weight: Tensor | None = getattr(table, "weight", None)
    if weight is None or weight.grad is None or weight.grad.is_sparse:
        yield
        return
    largest = torch.linalg.vector_norm(weight.grad, torch.inf, 1)  # unlike `any`, it takes no memory for every number
    rows = largest.nonzero()[:, 0]
    values = weight.grad[rows]
    shape = weight.grad.shape
    weight.grad = None
    kept = [values]  # until they are added

    def add(weight: Tensor) -> None:
        if kept:
            assert weight.grad is not None  # it has just been written
            weight.grad.index_add_(0, rows, kept.pop())

    hook = weight.register_post_accumulate_grad_hook(add)
    try:
        yield
    finally:
        hook.remove()
        if kept:  # the second loss does not depend on the table, or there was an error
            weight.grad = values.new_zeros(shape).index_add_(0, rows, kept.pop())


Objective = Callable[[nn.Module, Batch], Iterator[Tensor]]


def plain(model: nn.Module, batch: Batch, loss: Loss = cross_entropy) -> Iterator[Tensor]:
    """Training on the unmixed texts: one loss, a scalar."""
    yield loss(forward(model, batch), labels_of(batch))


def mixed(
    method: Method, clean: float = 0.5, loss: Loss = cross_entropy, shared_trunk: bool = True,
    beside: Contrastive | None = None,
) -> Objective:  # fmt: skip
    """Training on the unmixed texts and on their mixtures by `method`, with weights `clean` and 1 - `clean`.

    The default 0.5 is SSMix's recipe (arXiv:2106.08062, section 3.4): the mean over both halves of a batch and both
    directions of mixing. With 0, training uses mixtures only, as in AttentionMix and DropMix.

    A guide that is a `CleanPassGuide` gets its scores from the backward pass of the clean loss, at no cost. Other
    guides, and all guides if `clean` is 0, are called with the model first.

    Args:
        method: a mixing method; what depends on the data must be resolved.
        clean: weight of the loss on the unmixed texts, at least 0 and below 1.
        loss: maps logits (B, C) and labels, (B,) long, or (B, C), to a scalar.
        shared_trunk: where texts meet at a layer, compute the layers below it once for both losses. Their dropout
            masks are then the same for both. False runs two full passes.
        beside: a loss on the vectors of the unmixed texts. Both other losses are multiplied by the rest of its weight.
            A `CleanPassGuide` reads the gradient of it, too.

    Raises:
        ValueError: `clean` is not in [0, 1), or is 0 with a loss on the vectors of unmixed texts.
    """
    if not 0 <= clean < 1:
        raise ValueError(f"clean must be at least 0 and below 1, not {clean}; `plain` trains without mixing")
    if beside is not None and clean == 0:
        raise ValueError("a loss on the vectors of unmixed texts needs clean above 0")
    rest = 1.0 if beside is None else 1 - beside.weight

    def on_clean(model: nn.Module, batch: Batch) -> Tensor:
        if beside is None:
            return clean * loss(forward(model, batch), labels_of(batch))
        return beside.with_loss(model, batch, loss, clean * rest)

    def on_mixed(model: nn.Module, batch: Batch, mix: Mix) -> Tensor:
        logits = forward_mixed(model, batch, mix)
        return (1 - clean) * rest * loss(logits, mix.targets(labels_of(batch), logits.shape[1]))

    def objective(model: nn.Module, batch: Batch) -> Iterator[Tensor]:
        guide = method.guide
        if clean > 0 and isinstance(guide, CleanPassGuide):
            with reading(model, guide.level) as seen, unsynchronised(model):
                yield on_clean(model, batch)
            mix = method(batch, guide.from_clean_pass(seen, batch))
            del seen  # and with it the embeddings of the first pass
            with kept_by_rows(model):
                yield on_mixed(model, batch, mix)
            return

        mix = method(batch, None if guide is None else guide(model, batch))
        level = trunk_level(model, mix.level) if clean > 0 and shared_trunk else None
        if level is not None:  # the layers up to `level` run once for both losses
            with splitting(model, level) as trunk, unsynchronised(model):
                yield on_clean(model, batch)
            with resuming(model, trunk):
                loss_on_mixed = on_mixed(model, batch, mix)
            yield loss_on_mixed
            return

        if clean > 0:
            with unsynchronised(model):
                yield on_clean(model, batch)
        with kept_by_rows(model):
            yield on_mixed(model, batch, mix)

    return objective


def penalised(objective: Objective, penalty: Callable[[nn.Module], Tensor]) -> Objective:
    """An objective with one more loss: `penalty` of the model, a scalar such as a norm of its weights."""

    def with_penalty(model: nn.Module, batch: Batch) -> Iterator[Tensor]:
        yield from objective(model, batch)
        yield penalty(unwrapped(model))

    return with_penalty


def labels_of(batch: Batch) -> Tensor:
    if batch.labels is None:
        raise ValueError("the batch has no labels, which training needs")
    return batch.labels


def unsynchronised(model: nn.Module) -> AbstractContextManager:
    """Inside the `with`, gradients are not averaged over processes; that is done once a step, after the last loss."""
    # DistributedDataParallel and the wrappers of accelerate have it; a model in a single process does not.
    return model.no_sync() if hasattr(model, "no_sync") else nullcontext()  # type: ignore[operator]


@dataclass(frozen=True)
class Contrastive:
    """Supervised contrastive learning beside the cross-entropy: texts of a class are to have similar vectors.

    An objective of training on unmixed texts, and a loss beside that of training on mixtures. Gunel et al. (ICLR
    2021), arXiv:2011.01403, Eq. 3, with lambda as `weight`, at least 0 and below 1, and tau as `temperature`.
    """

    weight: float
    temperature: float

    def __call__(self, model: nn.Module, batch: Batch, loss: Loss = cross_entropy) -> Iterator[Tensor]:
        yield self.with_loss(model, batch, loss, 1 - self.weight)

    def with_loss(self, model: nn.Module, batch: Batch, loss: Loss, weight: float) -> Tensor:
        """The sum of the classification loss, by its weight, and of the loss on the vectors that the head reads."""
        labels = labels_of(batch)
        with reading(model, "sentence") as read:
            logits = forward(model, batch)
        return weight * loss(logits, labels) + self.weight * contrastive_loss(read.value, labels, self.temperature)


def contrastive_loss(vectors: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """L_SCL of Eq. 3, of vectors (B, D) in fp32 at least, divided by the number of texts; 0 for a single text."""
    with exactly():
        directions = F.normalize(vectors.to(torch.promote_types(vectors.dtype, torch.float32)), dim=1)
        itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
        same = (labels[:, None] == labels) & ~itself
        similarity = directions @ directions.T / temperature
        lowest = torch.finfo(similarity.dtype).min  # not -inf, whose product with 0 is no number
        log_share = similarity.masked_fill(itself, lowest).log_softmax(1)
        return -((log_share * same).sum(1) / same.sum(1).clamp(min=1)).mean()


Unmixed = Callable[..., Iterator[Tensor]]  # an objective of training on unmixed texts, called as `plain`
