"""Who is mixed with whom."""

import pytest
import torch

from families import crossed, distinct_batch
from salience.mixing.method import neighbours, shuffle, swap_halves


@pytest.mark.parametrize(
    ("size", "partner"),
    [(1, [0]), (2, [1, 0]), (3, [1, 2, 0]), (4, [2, 3, 0, 1]), (5, [2, 3, 4, 0, 1]), (6, [3, 4, 5, 0, 1, 2])],
)
def test_swapping_halves_pairs_back_and_forth(size, partner):
    assert swap_halves(distinct_batch([2] * size)).tolist() == partner


@crossed("size", [1, 2, 3, 4, 7, 16], "pair", [swap_halves, shuffle, neighbours])
def test_a_pairing_is_a_permutation(pair, size):
    partner = pair(distinct_batch([2] * size))
    assert partner.dtype == torch.long
    assert sorted(partner.tolist()) == list(range(size))


def test_shuffling_follows_the_seed_and_only_the_seed():
    batch = distinct_batch([2] * 50)
    draws = []
    for seed in (1, 1, 2):
        torch.default_generator.manual_seed(seed)
        draws.append(shuffle(batch).tolist())
    assert draws[0] == draws[1] != draws[2]


def test_shuffling_reaches_every_permutation():
    """Self-pairs too: of 3 texts there are 6 orders, each about 200 times in 1,200 draws (within five deviations)."""
    batch = distinct_batch([2] * 3)
    draws = [tuple(shuffle(batch).tolist()) for _ in range(1200)]
    counts = {order: draws.count(order) for order in set(draws)}
    assert len(counts) == 6
    assert all(abs(count - 200) < 65 for count in counts.values())


def test_neighbours_are_the_same_however_the_batch_is_cut():
    whole = neighbours(distinct_batch([2] * 8)).tolist()
    piece = neighbours(distinct_batch([2] * 4)).tolist()
    assert whole == piece + [4 + place for place in piece]
    assert all(whole[place] != place for place in range(8))
