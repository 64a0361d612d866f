"""How near the guides of mixing methods in bf16 come to those in fp32: their scores, and what the methods choose.

`precision_agreement.py` uses it; it has no command of its own. The scores are those of training: of the clean loss's
backward pass for gradients, of a pass in evaluation mode for attention. Both precisions see the same weights, batches,
dropout masks and draws.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import nullcontext, suppress

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import Tensor, nn

from salience.batch import Batch
from salience.hooks.attention import differentiating
from salience.mixing import METHODS
from salience.mixing.method import Method
from salience.mixing.mix import Mix
from salience.models.precision import computing
from salience.spans import best_span, part_length, windows
from salience.training.objective import mixed

METHODS_COMPARED = ("ssmix", "attentionmix", "dropmix-u", "dropmix-c", "dropmix-w", "dropmix-g")
CONTESTANTS = {"bf16": ("bf16", 0), "fp32, another dropout": ("fp32", 1)}  # name -> precision, seed


class Seen(Exception):
    """Ends a training step once its mixture is known."""


class Watched(Method):
    """A method that keeps the scores that it is given and the mixture that it makes of them."""

    def __init__(self, method: Method):
        self.method, self.guide = method, method.guide

    def __call__(self, batch: Batch, scores: Tensor) -> Mix:
        torch.manual_seed(0)  # partners and parts are those of the other precision
        self.scores, self.mix = scores, self.method(batch, scores)
        raise Seen


def mixture(name: str, model: nn.Module, batch: Batch, precision: str, seed: int) -> tuple[Tensor, Mix]:
    """The guide's scores and the mixture of a training step, half of whose loss is on the clean texts."""
    watched = Watched(METHODS[name]())
    torch.manual_seed(seed)
    model.zero_grad()
    same_noise = differentiating(model) if model.training else nullcontext()  # of dropout, in both formats
    with same_noise, computing(model, precision), suppress(Seen):
        for loss in mixed(watched)(model, batch):
            loss.backward()
    model.zero_grad()
    return watched.scores, watched.mix


def agreement(model: nn.Module, batches: Iterable[Batch], dropout: bool) -> dict[str, dict[str, dict[str, float]]]:
    """Contestant and method -> measure -> the value, a mean over texts where nothing else is said."""
    model.train(dropout)
    found: dict = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for batch in batches:
        for name in METHODS_COMPARED:
            exact = mixture(name, model, batch, "fp32", 0)
            for contestant, (precision, seed) in CONTESTANTS.items():
                if seed and not dropout:
                    continue
                other = mixture(name, model, batch, precision, seed)
                for measure, values in compared(name, batch, exact, other).items():
                    found[contestant][name][measure].extend(np.atleast_1d(np.asarray(values, float)).tolist())
    return {
        contestant: {name: summary(measures) for name, measures in methods.items()}
        for contestant, methods in found.items()
    }


def summary(measures: dict[str, list[float]]) -> dict[str, float]:
    """Means; of errors and correlations the median and the worst too."""
    values = {}
    for measure, each in measures.items():
        values[measure] = float(np.nanmean(each))
        if measure.startswith(("rank", "error", "change", "lost")):
            worst = np.nanmin if measure.startswith("rank") else np.nanmax
            values |= {f"{measure}, median": float(np.nanmedian(each)), f"{measure}, worst": float(worst(each))}
    return values


def compared(name: str, batch: Batch, exact: tuple[Tensor, Mix], other: tuple[Tensor, Mix]) -> dict[str, object]:
    """What two computations of the scores and the mixture of a batch have in common."""
    scores, mix = exact
    scores_2, mix_2 = other
    assert torch.equal(mix.partner, mix_2.partner)
    words = batch.segment > 0
    found: dict[str, object] = scores_alike(scores, scores_2, words)
    if name == "ssmix":
        return found | spans_alike(batch, scores, scores_2, mix)
    found["change of the label's share"] = (mix.share - mix_2.share).abs().numpy()
    if name == "attentionmix":
        found["change of a token's weight, largest of a text"] = (mix.keep - mix_2.keep).abs().amax((1, 2)).numpy()
        return found
    taken, taken_2 = ~mix.keep, ~mix_2.keep
    both, either = (taken & taken_2).sum((1, 2)), (taken | taken_2).sum((1, 2))
    some = either > 0
    found["units in both, of those in either"] = (both / either)[some].numpy()
    worth, worth_2 = ((scores.square() * part).sum((1, 2)) for part in (taken, taken_2))
    found["lost of the units' score"] = (1 - worth_2 / worth)[(taken.sum((1, 2)) > 0) & some].numpy()
    return found


def scores_alike(scores: Tensor, scores_2: Tensor, words: Tensor) -> dict[str, object]:
    """The rank correlation over a text's words, units alike, and the error relative to the largest score."""
    ranks, first, errors = [], [], []
    for one, two, inside in zip(scores, scores_2, words, strict=True):
        if inside.sum() > 3:
            one, two = one[inside], two[inside]
            scale = one.norm() / two.norm()  # a text's scores count up to one positive factor
            ranks.append(spearmanr(one.flatten(), two.flatten()).statistic)
            first.append(float(one.argmax() == two.argmax()))
            errors.append(float((one - scale * two).abs().max() / one.abs().max()))
    return {"rank correlation": ranks, "same first": first, "error / largest score": errors}


def spans_alike(batch: Batch, scores: Tensor, scores_2: Tensor, mix: Mix) -> dict[str, object]:
    """Both spans of SSMix: whether they are the same, the tokens in common, and the fp32 score that is lost."""
    own, partner = batch.segment == 1, mix.partner
    theirs = own[partner]
    width = part_length(own.sum(1), 0.1).clamp(min=1).minimum(own.sum(1)).minimum(theirs.sum(1))
    found: dict[str, object] = {}
    for end, sign, rows in (("least", -1, slice(None)), ("most", 1, partner)):
        among, exact = own[rows], scores[rows]
        start, start_2 = best_span(sign * exact, among, width), best_span(sign * scores_2[rows], among, width)
        used = torch.arange(int(width.max())) < width[:, None]
        sums = (windows(exact.double(), used.shape[1]) * used[:, None]).sum(2)
        best, taken = (sums.gather(1, place[:, None])[:, 0] for place in (start, start_2))
        overlap = (width - (start - start_2).abs()).clamp(min=0) / width
        found |= {
            f"same {end} salient span": (start == start_2).float().numpy(),
            f"tokens in common, {end} salient span": overlap.numpy(),
            f"lost of the score, {end} salient span": (sign * (1 - taken / best)).numpy(),
        }
    return found
