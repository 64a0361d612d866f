"""AttentionMix's formulas (Lewy and Mańdziuk, 2023) as slow, plain loops. Nothing here uses the library: it is what
the library is held against. The paper speaks of one sentence of n tokens; padding and partners of other lengths are
methods.md's AM2 to AM5."""

from __future__ import annotations

import copy
import math

import torch
from torch import Tensor, nn

from families import WITH_TOKEN_TYPES

NOWHERE = math.nan  # the ratio at a place where neither text has a token: there is nothing to mix


# ----------------------------------------------------------------------------------------------- the model's attention


@torch.no_grad()
def eager_attention(model: nn.Module, batch, family: str) -> list[list[Tensor]]:
    """What the model itself gives when asked: for each text the layers' weights (H, n, n), n its true length.

    Each text passes alone and unpadded, as a sentence in the paper: eager ModernBERT makes NaN of padding in float64.
    """
    own = copy.deepcopy(model).eval()
    own.set_attn_implementation("eager")
    own.config._attn_implementation = "eager"  # where Falcon looks it up, which does not let it be set
    found = []
    for row, length in enumerate(batch.attention_mask.sum(1).tolist()):
        alone = [part[row : row + 1, :length] for part in (batch.input_ids, batch.attention_mask, batch.segment)]
        read = {"token_type_ids": token_types(alone[2], alone[1])} if family in WITH_TOKEN_TYPES else {}
        result = own(input_ids=alone[0], attention_mask=alone[1], output_attentions=True, **read)
        found.append([weights[0] for weights in result.attentions])
    return found


def token_types(segment: Tensor, mask: Tensor) -> Tensor:
    """1 from the second text of a pair on, its separator included."""
    return (segment == 2).cumsum(1).clamp(max=1) * mask


# ----------------------------------------------------------------------------------------------- the paper's section 4


def head_relevance(weights: list[list[float]]) -> list[float]:
    """Eq. 5: B_j = sum over i of alpha_ij / n. Row i is what token i gives, so j is what all tokens give to it."""
    length = len(weights)
    return [math.fsum(weights[i][j] for i in range(length)) / length for j in range(length)]


def layer_relevance(heads: list[list[list[float]]]) -> list[float]:
    """Eq. 6: the mean of its heads' relevance."""
    relevances = [head_relevance(weights) for weights in heads]
    return [math.fsum(relevance[j] for relevance in relevances) / len(heads) for j in range(len(relevances[0]))]


def relevances(layers: list[Tensor], columns: int, head: int | None = None) -> Tensor:
    """For every text's weights (H, n, n) of one layer its relevances, followed by zeros, (B, columns)."""
    rows = []
    for weights in layers:
        heads = weights.tolist()
        row = layer_relevance(heads) if head is None else head_relevance(heads[head])
        rows.append(row + [0.0] * (columns - len(row)))
    return torch.tensor(rows, dtype=torch.float64)


def mixing_ratio(own: float, other: float) -> float:
    """Eq. 7 for one token: B_1 / (B_1 + B_2). Nobody attends to either: no reason to prefer one."""
    return own / (own + other) if own + other > 0 else 0.5


def attentionmix_reference(
    batch, scores: Tensor, partner: Tensor, specials: bool = True, denominator: str = "both"
) -> tuple[Tensor, Tensor]:
    """Eq. 7 and 9: how much of each token of one's own remains (B, T), and how much of one's own label (B,)."""
    keep, shares = [], []
    for row, other in enumerate(partner.tolist()):
        ratios, counted = [], []
        for place in range(batch.input_ids.shape[1]):
            own_token, other_token = (bool(batch.attention_mask[one, place]) for one in (row, other))
            own_word, other_word = (bool(batch.segment[one, place] > 0) for one in (row, other))
            if specials:  # [CLS] and [SEP] are tokens like all others
                own_word, other_word = own_token, other_token
            if own_word and other_word:
                ratios.append(mixing_ratio(float(scores[row, place]), float(scores[other, place])))
            elif own_token:
                ratios.append(1.0)
            elif other_token:
                ratios.append(0.0)
            else:
                ratios.append(NOWHERE)
            if own_word or (other_word and denominator == "both"):
                counted.append(ratios[-1])
        keep.append(ratios)
        shares.append(math.fsum(counted) / len(counted) if counted else 1.0)
    return torch.tensor(keep, dtype=torch.float64), torch.tensor(shares, dtype=torch.float64)


def mixture(own: Tensor, keep: Tensor, partner: Tensor) -> Tensor:
    """Eq. 8: what stands in each place (B, T, D); NaN where neither text has a token."""
    mixed = torch.full_like(own, NOWHERE)
    for row, other in enumerate(partner.tolist()):
        for place, ratio in enumerate(keep[row].tolist()):
            if not math.isnan(ratio):
                mixed[row, place] = ratio * own[row, place] + (1 - ratio) * own[other, place]
    return mixed
