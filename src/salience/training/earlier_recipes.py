"""Recipes that earlier versions wrote, under the names of this version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Settings that every recipe held before they belonged to the training procedure, and their defaults then.
EARLIER = {"iterations": 3, "beta": 0.1, "alignment": 0.0, "alignment_form": "absolute"}

# Settings that recipes of earlier versions lack, with the values by which those versions trained. Settings whose
# default is None need no entry.
LACKING = {
    "long": "head", "plain_share": 0.0, "steps_factor": 1.0, "pooling": "cls", "head_rate": 1.0,
    "head_start": "random", "head_strength": 1.0, "trained_share": 1.0,
    "calibrate": False, "contrastive": 0.0, "contrastive_temperature": 0.3,
    "selection": "later",
    "unlabelled_labels": "fixed", "unlabelled_view": "randomunk:window=0.15", "unlabelled_partners": "unlabelled",
    "unlabelled_ratio": 2, "unlabelled_weight": 1.0,
}  # fmt: skip


def from_earlier(settings: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Settings that an earlier version wrote under today's names, and the names that were changed.

    Values that are the default of that version are left out: every recipe held them, whatever its model. A recipe with
    checksums was written by a run, not by a person: what it lacks is added.
    """
    if "checksums" in settings:
        settings = {**LACKING, **settings}
    renamed = [name for name in EARLIER if name in settings]
    if not renamed:
        return dict(settings), []
    moved = {name: settings[name] for name in renamed if settings[name] != EARLIER[name]}
    kept = {name: value for name, value in settings.items() if name not in EARLIER}
    return kept | {"procedure_options": moved | (kept.get("procedure_options") or {})}, renamed
