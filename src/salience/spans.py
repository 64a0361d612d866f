"""Parts of texts: spans and windows of the highest scores, and random spans and positions, for whole batches."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def part_length(length: Tensor, part: float | Tensor) -> Tensor:
    """The number of tokens in a part, from 0 to 1, of texts of `length` (B,) tokens, rounded down: (B,) long."""
    # 1e-9 keeps floating point from losing 1 where the exact product is a whole number: int(100 * 0.29) is 28.
    return (length.double() * part + 1e-9).long()


def best_span(scores: Tensor, among: Tensor, width: Tensor) -> Tensor:
    """The start of the contiguous span of `width` (B,) tokens with the highest mean score: (B,) long.

    It covers positions `among` (B, T) bool, contiguous in each row, of which there are `width` at least. Of spans with
    equal scores, the first one is chosen. A row without allowed positions gives 0.
    """
    # Every window is summed by itself, in float64. With differences of cumulative sums, equal windows would differ in
    # the last bit, and ties would not go to the first. (B, T, W) is small because W is about a tenth of a text.
    widest = max(int(width.max()), 1)
    offset = torch.arange(widest, device=scores.device)
    used = (offset < width[:, None])[:, None]  # (B, 1, W)
    value = (windows(torch.where(among, scores, 0).double(), widest) * used).sum(2)  # (B, T)
    inside = (windows(among, widest) | ~used).all(2)
    return value.masked_fill(~inside, -torch.inf).argmax(1)


def windows(values: Tensor, width: int) -> Tensor:
    """The values at t, t + 1, ..., t + width - 1 for every t, padded with zeros: (B, T) -> (B, T, width)."""
    return torch.nn.functional.pad(values, (0, width - 1)).unfold(1, width, 1)


def first_place(among: Tensor) -> Tensor:
    """The first allowed position of each row: (B, T) bool -> (B,) long; 0 if there is none."""
    return among.byte().argmax(1)


# Random numbers are drawn on the CPU, so that a seed gives the same on every device, and only for positions that may
# be chosen, so that padding does not change what is drawn.


def random_span(among: Tensor, width: Tensor) -> Tensor:
    """The start of a random span of `width` (B,) allowed positions, uniform over all starts: (B,) long."""
    starts = (among.sum(1) - width + 1).clamp(min=1)
    drawn = torch.rand(len(among), dtype=torch.float64).to(among.device)
    return first_place(among) + (drawn * starts).long()


def random_places(among: Tensor, count: Tensor) -> Tensor:
    """A random choice of `count` (B,) allowed positions of each row, uniform over all choices: (B, T) bool."""
    most = max(int(among.sum(1).max()), 1)
    drawn = torch.rand(len(among), most, dtype=torch.float64).to(among.device)
    order = (among.cumsum(1) - 1).clamp(min=0)
    draw = drawn.gather(1, order).masked_fill(~among, torch.inf)
    return (draw.argsort(1).argsort(1) < count[:, None]) & among


def best_patch(scores: Tensor, among: Tensor, budget: Tensor, height: int | None, width: int | None) -> Tensor:
    """The union of the windows with the largest sums of squared scores that covers at most `budget` units.

    Args:
        scores: (B, T, D), any float.
        among: (B, T) bool, the positions that a window may cover: the first ones of each text.
        budget: (B,) long, number of units of the (T, D) plane.
        height: number of positions in a window; None for all. A window that is longer than its text is cut to it.
        width: number of dimensions in a window; None for all. Windows over all dimensions are also cut to the
            positions that the budget allows, because they would hardly ever fit otherwise.

    Returns:
        (B, T, D) bool. Windows of equal score are taken together or not at all.

    There is no loop over windows. The worth of a unit is the score of the best window that covers it. The union of the
    k best windows consists of the units whose worth is at least the k-th best score, so the threshold is the
    (budget + 1)-th largest worth.
    """
    rows, columns = among.sum(1), scores.shape[2]
    if height is not None and height > 64:  # heights far above the length of the texts only cost memory
        height = min(height, max(scores.shape[1], 64))
    tall, wide, units = height or 1, width or 1, torch.ones_like(budget)  # units for each entry of `energy`
    energy = scores.square().masked_fill(~among[..., None], 0)
    if height is None:
        energy, units = energy.sum(1, keepdim=True), units * rows
    fits = torch.full_like(rows, tall).minimum(rows)
    if width is None:
        energy, units = energy.sum(2, keepdim=True), units * columns
        fits = fits.minimum((budget // columns).clamp(min=1))

    offset = torch.arange(tall, device=scores.device)
    seen = torch.nn.functional.pad(energy, (0, 0, 0, tall - 1)).unfold(1, tall, 1)  # (B, T, D, height), a view
    if width is None:  # the height differs between texts
        seen = seen.where((offset < fits[:, None])[:, None, None], 0)
    window = seen.sum(3).unfold(2, wide, 1).sum(3)  # (B, T, D - width + 1), by the start of the window
    if height is not None:
        start = torch.arange(window.shape[1], device=scores.device)
        window = window.masked_fill((start > (rows - fits)[:, None])[..., None], -torch.inf)

    around = torch.nn.functional.pad(window, (wide - 1, wide - 1, tall - 1, 0), value=-torch.inf).unfold(1, tall, 1)
    if width is None:
        around = around.where((offset.flip(0) < fits[:, None])[:, None, None], -torch.inf)
    worth = around.amax(3).unfold(2, wide, 1).amax(3)  # (B, T or 1, D or 1)
    if height is not None:
        worth = worth.masked_fill(~among[..., None], -torch.inf)

    ranked = descending(torch.nn.functional.pad(worth.flatten(1), (0, 1), value=-torch.inf))
    first_out = (budget // units.clamp(min=1)).clamp(max=ranked.shape[1] - 1)
    threshold = ranked.gather(1, first_out[:, None])[..., None]
    return (worth > threshold) & among[..., None].expand_as(scores)


def descending(values: Tensor) -> Tensor:
    """Values (B, N) with each row in descending order. On a CPU, numpy sorts ten times as fast as torch."""
    if values.device.type != "cpu":
        return values.sort(1, descending=True).values
    return torch.from_numpy(np.sort(values.numpy(), axis=1)).flip(1)
