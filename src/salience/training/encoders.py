"""Which encoder suits some labelled texts: cross-validated regressions on the vectors of each, before any training."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from salience.data.task import Task
from salience.errors import InputError
from salience.models.architectures import own_settings
from salience.models.loading import EMBEDDED
from salience.models.sentence_modules import MODULES
from salience.training.estimate import choose_folds, heads_alone
from salience.training.passes import FORWARD, passes_per_step
from salience.training.prepare import checked, silent
from salience.training.recipe import Recipe

FOLDS = "folds:5"


@dataclass(frozen=True)
class RankedEncoder:
    """An encoder, and what it gives and costs on some labelled texts.

    Attributes:
        pooling: what its head reads, as of the setting of this name.
        scores: of the regressions, with intervals, as in an estimate.
        parameters: the number of its weights.
        texts_per_second: how many texts it reads in a second, here and now.
        training_seconds: about how long the usual training on these rows takes here, without its estimate.
    """

    name: str
    pooling: str
    scores: dict[str, Any]
    parameters: int
    texts_per_second: float
    training_seconds: float


def rank_encoders(
    recipe: Recipe, task: Task, names: Sequence[str], note: Callable[[str], None] = silent
) -> list[RankedEncoder]:
    """The encoders, the best first, by regressions on their vectors: their accuracy, or micro-F1 of several labels.

    The folds are the same for all. Differences of a few rows are chance: the intervals say how much is.

    Args:
        recipe: whose model is replaced by each of the names; its estimate, if it names one, says how many folds.

    Raises:
        InputError: an encoder cannot be loaded, its head cannot be a regression, or the rows cannot be divided.
    """
    if len(set(names)) < len(names) or not names:
        raise InputError(f"--models {','.join(names)}: name each encoder once")
    if own := [name for name in names if own_settings(name, {}) is not None]:
        raise InputError(
            f"--models {own[0]}: this is a classifier with a pooling of its own, and here encoders are ranked"
        )
    strength = recipe.head_strength or recipe.strength_saved(len(task.labels), task.multi_label)
    asked = replace(recipe, head_start="logistic", head_strength=strength, estimate=recipe.estimate or FOLDS)
    found = []
    for name in names:
        note(f"{name}: vectors of {len(task.training):,} texts")
        prepared = checked(replace(asked, model=name), task)
        folds, plan, model = choose_folds(prepared.plan, task, silent), prepared.plan, prepared.model
        assert folds is not None  # it was asked for
        begun = time.perf_counter()
        (heads,) = heads_alone(prepared, task, [folds])
        seconds = time.perf_counter() - begun
        passes = plan.steps * plan.batch_size * passes_per_step(prepared.method, plan.clean, model)
        scores = prepared.classifier.kind.with_intervals(heads.probabilities, folds.rows.known_labels, None, plan.seed)
        found.append(RankedEncoder(
            name, plan.pooling, scores, sum(weight.numel() for weight in model.base_model.parameters()),
            len(task.training) / seconds, passes / FORWARD * seconds / len(task.training),
        ))  # fmt: skip
    score = next(iter(prepared.classifier.kind.estimated))  # the one that has an interval
    return sorted(found, key=lambda each: -each.scores[score])


def encoders_here() -> list[str]:
    """The encoders that can be loaded without a connection: packaged ones, and those of sentence-transformers in the
    hub's cache."""
    from huggingface_hub import CacheNotFound, scan_cache_dir

    try:
        cached = scan_cache_dir().repos
    except CacheNotFound:
        cached = frozenset()
    return list(EMBEDDED) + sorted(
        repository.repo_id for repository in cached
        if repository.repo_type == "model"
        and any(Path(file.file_name).name == MODULES for revision in repository.revisions for file in revision.files)
    )  # fmt: skip
