"""Comparison of methods: trained with the same settings and seeds, evaluated on the same test rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm
from transformers import TrainerCallback

from salience.assignments import name_and_options
from salience.comparison.kept_runs import COMPARISON, SCORES, check_comparison, is_kept, read_run
from salience.comparison.statistics import Difference, difference
from salience.errors import InputError, listed
from salience.files import whole_file
from salience.mixing.choosing import choose_method, written_method
from salience.outputs import locked, resolved
from salience.training.folder import RunFolder
from salience.training.preparing import check_recipe, silent
from salience.training.recipe import Recipe
from salience.training.run import prepare_files, train

IN_PERCENT = {"accuracy": 100, "macro_f1": 100}


@dataclass(frozen=True)
class Comparison:
    """The scores of every method for every seed, and their differences from the first method, the baseline.

    Accuracy and macro-F1 are in percent, and so are their differences.

    Attributes:
        seeds: the seeds (S,).
        rows: number of test rows.
        scores: method to score to values (S,).
        differences: method to score to difference from the baseline, paired by seed. The baseline has none.
        by_rows: method to half the width of the 95 % interval over test rows of its difference in accuracy: how much
            the difference might change on other test rows of this number.
    """

    seeds: list[int]
    rows: int
    scores: dict[str, dict[str, list[float]]]
    differences: dict[str, dict[str, Difference]]
    by_rows: dict[str, float]

    @property
    def baseline(self) -> str:
        """The first method."""
        return next(iter(self.scores))

    def verdict(self, method: str) -> str:
        """One line on whether the accuracy differs from the baseline's by more than seeds and test rows explain."""
        accuracy = self.differences[method]["accuracy"]
        if accuracy.low is None:
            return f"{method}: the same difference to {self.baseline} with every seed, so no interval can be computed"
        if not (accuracy.beyond_chance and abs(accuracy.mean) > self.by_rows[method]):
            return f"{method}: no difference to {self.baseline} beyond chance"
        return f"{method}: {'better' if accuracy.mean > 0 else 'worse'} than {self.baseline} beyond chance"


def compare(
    base: Recipe,
    methods: Sequence[Any],
    seeds: Sequence[int],
    output: Path,
    note: Callable[[str], None] = print,
    callbacks: Sequence[TrainerCallback] = (),
) -> Comparison:
    """Trains every method with every seed and compares them with the first one.

    The seed decides everything random: the validation part, the new head, batches and mixtures. Each run writes its
    metrics, predictions and recipe to `output/METHOD-SEED`. Finished runs are not repeated, and an interrupted run is
    resumed.

    Args:
        base: all settings but the method and the seed. Its `method_options` are used if its method is compared
            without options.
        methods: at least two names with their options, as "ssmix:window=0.2", or objects, as `SSMix(window=0.2)`.
        seeds: at least two.
        output: the folder of all runs.
        note: called with a line of text for every run.
        callbacks: callbacks of the Trainer, added to its defaults in every run.

    Raises:
        InputError: fewer than two methods or seeds, no test rows, or an output that contains runs with other settings.
    """
    recipes = recipes_of(base, methods)
    if len(set(seeds)) < max(2, len(seeds)):
        raise InputError(
            "--seeds: name at least two different seeds, as in --seeds 0,1,2: a single run gives no interval"
        )
    if base.test is None and Path(base.data).exists():
        raise InputError(f"{base.data}: a comparison needs test rows: name a file with --test")
    for recipe in recipes.values():
        check_recipe(recipe)
    check_comparison(output)
    with locked(resolved(output)):
        # Settings that are left open are filled in once, because those of finished runs are compared with them.
        first = next(iter(recipes.values()))
        resolved_recipe = prepare_files(replace(first, seed=seeds[0]))[0].recipe
        runs: dict[tuple[str, int], dict] = {}
        for seed in seeds:  # the outer loop: an interrupted comparison has all methods for its first seeds
            for method, recipe in recipes.items():
                folder = output / f"{method.replace(':', '-')}-{seed}"
                wanted = replace(
                    resolved_recipe, method=recipe.method, method_options=recipe.method_options, seed=seed
                )
                if is_kept(wanted, folder):
                    RunFolder(folder).discard_work()  # in case the process was killed just after the run was moved
                else:
                    # Models are not kept: ten of them take gigabytes, and each can be trained again by its recipe.
                    train(
                        replace(recipe, seed=seed, checksums=resolved_recipe.checksums), folder, resume=True,
                        note=silent if runs else note, callbacks=callbacks, keep_model=False,
                    )  # fmt: skip
                runs[method, seed] = read_run(folder)
                note(f"{method}, seed {seed}: accuracy {runs[method, seed]['metrics']['test']['accuracy']:.3f}")
        comparison = comparison_of(runs, list(recipes), list(seeds))
        with whole_file(output / COMPARISON) as unfinished:
            unfinished.write_text(json.dumps(asdict(comparison), indent=2) + "\n", encoding="utf-8")
    return comparison


def recipes_of(base: Recipe, methods: Sequence[Any]) -> dict[str, Recipe]:
    """The recipe of every method, by its name in tables, such as "ssmix:window=0.2".

    Raises:
        InputError: fewer than two methods, the same one twice, or options of the base that no method takes.
    """
    recipes: dict[str, Recipe] = {}
    for method in methods:
        name, options = name_and_options(method, "--methods") if isinstance(method, str) else written_method(method)
        if not options and name == base.method:
            options = base.method_options
        recipe = replace(base, method=name, method_options=options)
        choose_method(name, options)
        recipes[table_name(recipe)] = recipe
    if len(methods) < 2 or len(recipes) < len(methods):
        raise InputError(
            f"--methods {','.join(map(str, methods))}: name at least two different methods, as in "
            "--methods plain,ssmix"
        )
    if base.method_options and all(recipe.method != base.method for recipe in recipes.values()):
        raise InputError(
            f"the options {listed(base.method_options)} belong to the method {base.method}, which is not compared: "
            f"write them behind a method, as in --methods plain,{base.method}:field=value"
        )
    return recipes


def table_name(recipe: Recipe) -> str:
    """The name of a method in tables, with its options: ssmix:window=0.2."""
    options = ",".join(f"{name}={as_yaml(value)}" for name, value in recipe.method_options.items())
    return recipe.method + (f":{options}" if options else "")


def as_yaml(value: object) -> str:
    """A value in YAML, without spaces: true, null, [2,32]."""
    return json.dumps(value, separators=(",", ":")).strip('"')


def comparison_of(runs: dict[tuple[str, int], dict], methods: list[str], seeds: list[int]) -> Comparison:
    """The comparison of all runs. The values of each method are paired with those of the first one by seed.

    Args:
        runs: (method, seed) to its results, as `read_run` gives them.
        methods: the methods, the baseline first.
        seeds: the seeds.
    """
    scores = {
        method: {
            score: [IN_PERCENT.get(score, 1) * runs[method, seed]["metrics"]["test"][score] for seed in seeds]
            for score in SCORES
        }
        for method in methods
    }
    baseline, compared = methods[0], methods[1:]
    right = {method: np.mean([runs[method, seed]["right"] for seed in seeds], axis=0) for method in methods}
    rows = len(right[baseline])
    widths = norm.ppf(1 - 0.025 / len(compared))  # half the width of an interval, in standard errors
    return Comparison(
        seeds,
        rows,
        scores,
        {
            method: {
                score: difference(scores[method][score], scores[baseline][score], len(compared)) for score in SCORES
            }
            for method in compared
        },
        {method: 100 * float(widths * (right[method] - right[baseline]).std() / rows**0.5) for method in compared},
    )
