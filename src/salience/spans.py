"""Which part of a text: best spans, random spans and places, for a whole batch without a loop."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def part_length(length: Tensor, part: float | Tensor) -> Tensor:
    """How many tokens `part` of a text of `length` tokens is, rounded down: (B,) long.

    The guard keeps a product that is a whole number in exact arithmetic from losing one in floating point
    (int(100 * 0.29) is 28).
    """
    return (length.double() * part + 1e-9).long()


def best_span(scores: Tensor, among: Tensor, width: Tensor) -> Tensor:
    """Where the contiguous span of the highest mean score starts: (B,) long.

    Args:
        scores: (B, T), any float.
        among: (B, T) bool, the places a span may cover; they are contiguous in each row.
        width: (B,) long, the span's length; at most the number of allowed places of its row.

    The first of equal spans wins. A row without an allowed place gives 0, which a span of length 0 never reads.
    """
    # Windows are summed one by one, in float64: with differences of running sums, equal windows would differ in the
    # last bit and ties would not go to the first. (B, T, W) is small, W being a tenth of a text.
    widest = max(int(width.max()), 1)
    offset = torch.arange(widest, device=scores.device)
    used = (offset < width[:, None])[:, None]  # (B, 1, W)
    value = (windows(torch.where(among, scores, 0).double(), widest) * used).sum(2)  # (B, T)
    inside = (windows(among, widest) | ~used).all(2)
    return value.masked_fill(~inside, -torch.inf).argmax(1)


def windows(values: Tensor, width: int) -> Tensor:
    """What stands at t, t + 1, ..., t + width - 1, zeros past the end: (B, T) -> (B, T, width)."""
    return torch.nn.functional.pad(values, (0, width - 1)).unfold(1, width, 1)


def first_place(among: Tensor) -> Tensor:
    """The first allowed place of each row: (B, T) bool -> (B,) long; 0 where there is none."""
    return among.byte().argmax(1)


# Chance is drawn on the CPU, so that a seed means the same on every device, and for places that may be chosen, not for
# all T: more padding draws nothing more.


def random_span(among: Tensor, width: Tensor) -> Tensor:
    """Where a span of `width` (B,) allowed places starts, every start as likely as another: (B,) long."""
    starts = (among.sum(1) - width + 1).clamp(min=1)
    drawn = torch.rand(len(among), dtype=torch.float64).to(among.device)
    return first_place(among) + (drawn * starts).long()


def random_places(among: Tensor, count: Tensor) -> Tensor:
    """`count` (B,) of each row's allowed places, every choice as likely as another: (B, T) bool."""
    most = max(int(among.sum(1).max()), 1)
    drawn = torch.rand(len(among), most, dtype=torch.float64).to(among.device)
    order = (among.cumsum(1) - 1).clamp(min=0)
    lot = drawn.gather(1, order).masked_fill(~among, torch.inf)
    return (lot.argsort(1).argsort(1) < count[:, None]) & among


def best_patch(scores: Tensor, among: Tensor, budget: Tensor, height: int | None, width: int | None) -> Tensor:
    """The union of the windows with the largest sums of squares that covers no more than `budget` units.

    Args:
        scores: (B, T, D), any float.
        among: (B, T) bool, the rows a window may cover: the first ones of each text.
        budget: (B,) long, units of the (T, D) plane.
        height, width: a window's rows and columns; None for the whole axis. A window taller than its text is cut to
            it; one as wide as the plane also to the rows that the budget pays for, or it would hardly ever fit.

    Returns:
        (B, T, D) bool. Windows of equal score enter together or not at all.

    No window is visited: each unit is worth the best window that covers it, the union of the k best windows is the
    units worth at least the k-th best, and so the threshold is the (budget + 1)-th largest worth.
    """
    rows, columns = among.sum(1), scores.shape[2]
    if height is not None and height > 64:  # far above the batch's texts it would only cost memory
        height = min(height, max(scores.shape[1], 64))
    tall, wide, units = height or 1, width or 1, torch.ones_like(budget)  # units that an entry of `energy` stands for
    energy = scores.square().masked_fill(~among[..., None], 0)
    if height is None:
        energy, units = energy.sum(1, keepdim=True), units * rows
    fits = torch.full_like(rows, tall).minimum(rows)
    if width is None:
        energy, units = energy.sum(2, keepdim=True), units * columns
        fits = fits.minimum((budget // columns).clamp(min=1))

    offset = torch.arange(tall, device=scores.device)
    seen = torch.nn.functional.pad(energy, (0, 0, 0, tall - 1)).unfold(1, tall, 1)  # (B, T, D, height), a view
    if width is None:  # heights differ from text to text
        seen = seen.where((offset < fits[:, None])[:, None, None], 0)
    window = seen.sum(3).unfold(2, wide, 1).sum(3)  # (B, T, D - width + 1) by where the window starts
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
    """Each row's values (B, N), the largest first. On a CPU numpy sorts them ten times as fast as torch."""
    if values.device.type != "cpu":
        return values.sort(1, descending=True).values
    return torch.from_numpy(np.sort(values.numpy(), axis=1)).flip(1)
