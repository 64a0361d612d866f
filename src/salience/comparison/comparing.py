"""Methods side by side on one file of labelled texts: trained alike over several seeds, judged on the same rows."""

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
from salience.comparison.kept_runs import COMPARISON, SCORES, check_comparison, kept, read
from salience.comparison.statistics import Difference, difference
from salience.errors import InputError, listed
from salience.files import locked, resolved, whole_file
from salience.mixing.choosing import choose_method, written_method
from salience.training.folder import RunFolder
from salience.training.preparing import check_recipe, silent
from salience.training.recipe import Recipe
from salience.training.run import prepare_files, train

IN_PERCENT = {"accuracy": 100, "macro_f1": 100}


@dataclass(frozen=True)
class Comparison:
    """The scores of every method, a value a seed, and what is said of their differences to the first method.

    `rows` are the test rows; `by_rows` is how far, either way, a difference of accuracies would move on other test
    rows of that number (half of its 95 % interval over rows). Accuracies and macro-F1 are in percent here.
    """

    seeds: list[int]
    rows: int
    scores: dict[str, dict[str, list[float]]]  # method -> score -> (S,)
    differences: dict[str, dict[str, Difference]]  # method -> score
    by_rows: dict[str, float]  # method

    @property
    def baseline(self) -> str:
        return next(iter(self.scores))

    def verdict(self, method: str) -> str:
        """Whether accuracy is another than the baseline's beyond what seeds and rows explain by chance."""
        found = self.differences[method]["accuracy"]
        if found.low is None:
            return f"{method}: at every seed the same difference to {self.baseline}, so that chance cannot be told"
        if not (found.beyond_chance and abs(found.mean) > self.by_rows[method]):
            return f"{method}: no difference to {self.baseline} beyond chance"
        return f"{method}: {'better' if found.mean > 0 else 'worse'} than {self.baseline} beyond chance"


def compare(
    base: Recipe,
    methods: Sequence[Any],
    seeds: Sequence[int],
    output: Path,
    note: Callable[[str], None] = print,
    callbacks: Sequence[TrainerCallback] = (),
) -> Comparison:
    """Trains every method with every seed and compares them with the first one.

    A seed is that of everything drawn: the validation part, the fresh head, batches, mixtures. Each run leaves its
    scores, predictions and recipe in `output/METHOD-SEED`. Runs that are there are not run again, and one that was
    killed goes on.

    Args:
        base: all settings but the method and the seed. Its `method_options` hold for its own method, if that is
            compared without options.
        methods: names with their options, as "ssmix:window=0.2", or objects, as `SSMix(window=0.2)`.
        seeds: at least two.
        output: the folder of all runs.
        note: told what is run and what it came to, a line each.
        callbacks: added to those of every Trainer.

    Raises:
        InputError: fewer than two methods or seeds, no test rows, or an output that holds runs of other settings.
    """
    recipes = recipes_of(base, methods)
    if len(set(seeds)) < max(2, len(seeds)):
        raise InputError("--seeds: one run is no measurement; name at least two, each once, as in --seeds 0,1,2")
    if base.test is None and Path(base.data).exists():
        raise InputError(f"{base.data}: comparing takes rows that choose nothing; name a file of them with --test")
    for recipe in recipes.values():
        check_recipe(recipe)
    check_comparison(output)
    with locked(resolved(output)):
        # What is left open is filled in once: kept runs are compared with the settings that these runs would have.
        first = next(iter(recipes.values()))
        resolved_recipe = prepare_files(replace(first, seed=seeds[0]))[0].recipe
        runs: dict[tuple[str, int], dict] = {}
        for seed in seeds:  # a comparison that is stopped has run all methods with its first seeds
            for method, recipe in recipes.items():
                own: dict[str, Any] = {"method": recipe.method, "method_options": recipe.method_options, "seed": seed}
                folder = output / f"{method.replace(':', '-')}-{seed}"
                if kept(replace(resolved_recipe, **own), folder):
                    RunFolder(folder).discard_work()  # of a process that was killed when the run was done already
                else:
                    # Ten models take gigabytes, and any of them comes out of its recipe again.
                    train(
                        replace(recipe, seed=seed, checksums=resolved_recipe.checksums), folder, resume=True,
                        note=silent if runs else note, callbacks=callbacks, keep_model=False,
                    )  # fmt: skip
                runs[method, seed] = read(folder)
                note(f"{method}, seed {seed}: accuracy {runs[method, seed]['metrics']['test']['accuracy']:.3f}")
        comparison = compared(runs, list(recipes), list(seeds))
        with whole_file(output / COMPARISON) as unfinished:
            unfinished.write_text(json.dumps(asdict(comparison), indent=2) + "\n", encoding="utf-8")
    return comparison


def recipes_of(base: Recipe, methods: Sequence[Any]) -> dict[str, Recipe]:
    """The recipe of every method, by what the method is called in tables, such as "ssmix:window=0.2".

    Raises:
        InputError: fewer than two methods, the same one twice, or options of the base that no method takes.
    """
    recipes: dict[str, Recipe] = {}
    for given in methods:
        name, options = name_and_options(given, "--methods") if isinstance(given, str) else written_method(given)
        if not options and name == base.method:
            options = base.method_options
        recipe = replace(base, method=name, method_options=options)
        choose_method(name, options)
        recipes[called(recipe)] = recipe
    if len(methods) < 2 or len(recipes) < len(methods):
        raise InputError(
            f"--methods {','.join(map(str, methods))}: name at least two, each once, as in --methods plain,ssmix"
        )
    if base.method_options and all(recipe.method != base.method for recipe in recipes.values()):
        raise InputError(
            f"the options {listed(base.method_options)} belong to the method {base.method}, which is not compared: "
            f"write them behind a method, as in --methods plain,{base.method}:field=value"
        )
    return recipes


def called(recipe: Recipe) -> str:
    """The method with its options in one text: ssmix:window=0.2"""
    options = ",".join(f"{name}={shown_value(value)}" for name, value in recipe.method_options.items())
    return recipe.method + (f":{options}" if options else "")


def shown_value(value: object) -> str:
    """A value as yaml reads it, without spaces: true, null, [2,32]."""
    return json.dumps(value, separators=(",", ":")).strip('"')


def compared(found: dict[tuple[str, int], dict], methods: list[str], seeds: list[int]) -> Comparison:
    """What the runs say together, each method's values paired with the first method's, seed by seed."""
    scores = {
        method: {
            score: [IN_PERCENT.get(score, 1) * found[method, seed]["metrics"]["test"][score] for seed in seeds]
            for score in SCORES
        }
        for method in methods
    }
    baseline, others = methods[0], methods[1:]
    right = {method: np.mean([found[method, seed]["right"] for seed in seeds], axis=0) for method in methods}
    rows = len(right[baseline])
    widths = norm.ppf(1 - 0.025 / len(others))  # standard errors in half of an interval
    return Comparison(
        seeds,
        rows,
        scores,
        {
            method: {
                score: difference(scores[method][score], scores[baseline][score], len(others)) for score in SCORES
            }
            for method in others
        },
        {method: 100 * float(widths * (right[method] - right[baseline]).std() / rows**0.5) for method in others},
    )
