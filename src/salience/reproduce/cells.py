"""A run of a table that has one for every set and seed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    set: str
    seed: int


def cells(sets: list[str], seeds: list[int]) -> list[Cell]:
    """Every run, seed by seed: a table that is stopped has compared all sets."""
    return [Cell(name, seed) for seed in seeds for name in sets]
