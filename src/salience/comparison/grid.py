"""The grid of a comparison: recipes x seeds, on every data set, with every model and every number of training rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any, TypeVar

from salience.errors import InputError, listed, quoted, unknown
from salience.mixing.choosing import choose_method, written_method
from salience.runs.retired import without_retired
from salience.settings import name_and_options, with_options
from salience.training.prepare import check_machine
from salience.training.recipe import REFERENCES, Recipe
from salience.training.references import is_reference

AnyRecipe = TypeVar("AnyRecipe", bound=Recipe)
PATIENCE = 60  # seconds to wait for another command that writes the same file
OF_METHOD = ("method", "method_options")  # settings of a method
# Settings of an estimate, which the runs of a comparison do not make.
OF_ESTIMATE = ("estimate", "group", "calibrate", "target_precision")
# Settings of a data set.
OF_DATA = (
    "data", "validation", "test", "label_descriptions", "text", "text_pair", "label", "label_separator",
    "empty_label", "encoding", "bad_rows", "marks", "ignore", "ignore_words",
)  # fmt: skip
# Of these, settings that a variant can have for itself, or do without.
OF_VARIANT = ("label_descriptions", "marks", "ignore", "ignore_words")
# Settings that are axes of the grid, or the same for all runs: no variant has its own.
SHARED = (*(name for name in OF_DATA if name not in OF_VARIANT), "size", "seed", "device", "checksums")
# Settings that belong to another one. A variant that changes that one begins without the base's.
OWNERS: dict[str, dict[str, Any]] = {
    "method": {"method_options": {}},
    "model": {"model_options": {}, "procedure_options": {}},
}


@dataclass(frozen=True)
class Condition:
    """What the runs that are compared with each other have in common: the names of data set and model, and a size.

    The size is the number of labelled rows that each seed samples; None for all.
    """

    data: str
    model: str
    size: int | None = None


Key = tuple[Condition, str, int]  # of a run: condition, method, seed


@dataclass(frozen=True)
class Grid:
    """Which runs a comparison consists of.

    Args:
        recipes: name of a method in tables to its recipe, the baseline first. Their data, model and size are used
            where the axes below are left empty.
        seeds: the seeds. With a size, each trains on its own sample of the rows; otherwise all train on all rows, but
            for those that a seed holds out for validation.
        sizes: numbers of labelled rows; None stands for all.
        models: names of models.
        data_sets: name of a data set to those of its settings that differ from the recipes': `OF_DATA`.
    """

    recipes: Mapping[str, Recipe]
    seeds: Sequence[int]
    sizes: Sequence[int | None] = ()
    models: Sequence[str] = ()
    data_sets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def baseline(self) -> str:
        """The first method."""
        return next(iter(self.recipes))

    @property
    def references(self) -> list[str]:
        """The reference rows: methods beside those that are compared. The baseline is none."""
        return [name for name in list(self.recipes)[1:] if is_reference(self.recipes[name])]

    @property
    def methods(self) -> list[str]:
        """All but the references, the baseline first."""
        references = self.references
        return [name for name in self.recipes if name not in references]

    def conditions(self) -> dict[Condition, dict[str, Any]]:
        """Every condition, with the settings that make it. All sizes of a data set follow each other."""
        base = self.recipes[self.baseline]
        data_sets = self.data_sets or {name_of(base.sources): {}}
        found = {}
        for data, model, size in product(data_sets, self.models or [base.model], self.sizes or [base.size]):
            settings = {**data_sets[data], "size": size}
            if self.models:  # else a variant may have a model of its own
                settings["model"] = model
            if model != base.model:  # the options of a model belong to the model that the recipes name
                settings |= OWNERS["model"]
            found[Condition(data, model, size)] = settings
        return found

    def largest(self) -> set[Condition]:
        """The conditions with the largest number of training rows, one of each data set and model."""
        ascending = sorted(self.conditions(), key=lambda each: math.inf if each.size is None else each.size)
        return set({(each.data, each.model): each for each in ascending}.values())

    def recipe(self, condition: Condition, method: str, seed: int) -> Recipe:
        """The recipe of a run, with its open values left open."""
        return replace(self.recipes[method], **self.conditions()[condition], seed=seed)

    def title(self, condition: Condition) -> str:
        """What distinguishes a condition from the others, in words; empty if there is only one."""
        rows = "all rows" if condition.size is None else f"{condition.size:,} rows"
        axes = (self.data_sets, condition.data), (self.models, condition.model), (self.sizes, rows)
        return ", ".join(part for axis, part in axes if len(axis) > 1)

    def folder(self, condition: Condition) -> Path:
        """Where the runs of a condition are, below the folder of the comparison."""
        size = "all" if condition.size is None else str(condition.size)
        axes = (self.data_sets, condition.data), (self.models, Path(condition.model).name), (self.sizes, size)
        return Path(*(part for axis, part in axes if len(axis) > 1))


def grid_of(
    base: Recipe, methods: Sequence[Any] | Mapping[str, Mapping[str, Any]], seeds: Sequence[int],
    sizes: Sequence[int | None], models: Sequence[str], data_sets: Mapping[str, Mapping[str, Any]],
    references: Sequence[str],
) -> Grid:  # fmt: skip
    """The grid that `salience.comparison.comparing.compare` is asked for, checked but for data and models."""
    if isinstance(methods, Mapping):
        recipes = setting_variants(base, methods, own_models=not models)
    else:
        recipes = method_variants(base, methods)
    for name, recipe in recipes.items():
        for setting in OF_ESTIMATE:
            if (value := getattr(recipe, setting)) not in (None, "none", False):
                raise InputError(
                    f"{name}: {setting}={value} has no effect in a comparison, which measures on test rows: leave it "
                    "out"
                )
    recipes = {name: replace(recipe, estimate=None) for name, recipe in recipes.items()}
    baseline = next(iter(recipes.values()))
    added = (name for name in references if name not in recipes)
    recipes |= {name: replace(baseline, method=name, method_options={}) for name in added}
    if len(set(seeds)) < max(2, len(seeds)):
        raise InputError(
            "--seeds: name at least two different seeds, as in --seeds 0,1,2: a single run gives no interval"
        )
    if len({Path(model).name for model in models}) < len(models):
        raise InputError(
            f"--models {','.join(models)}: two have the same name, which is that of a folder: give the folder of "
            "one of them another name, or compare them one by one"
        )
    for one, other in combinations(recipes, 2):
        if folder_name(one, 0) == folder_name(other, 0):
            raise InputError(f"{quoted(one)} and {quoted(other)} have the same folder of runs: rename one of them")
    grid = Grid(recipes, list(seeds), list(sizes), list(models), dict(data_sets))
    for condition, method in product(grid.conditions(), recipes):
        recipe = grid.recipe(condition, method, seeds[0])
        if recipe.test is None and Path(recipe.sources[0]).exists():
            raise InputError(f"{recipe.named_data}: a comparison needs test rows: name a file with --test")
        check_machine(recipe)
    return grid


def method_variants(base: Recipe, methods: Sequence[Any]) -> dict[str, Recipe]:
    """The recipe of every method, by its name in tables, such as "ssmix:window=0.2"."""
    recipes: dict[str, Recipe] = {}
    for method in methods:
        name, options = name_and_options(method, "--methods") if isinstance(method, str) else written_method(method)
        if not options and name == base.method:
            options = base.method_options
        if name not in REFERENCES:
            choose_method(name, options)
        recipes[with_options(name or "default", options)] = replace(base, method=name, method_options=options)
    if len(methods) < 2 or len(recipes) < len(methods):
        raise InputError(
            f"--methods {','.join(map(str, methods))}: name at least two different methods, as in "
            "--methods plain,senmixup:alpha=1"
        )
    if base.method_options and all(recipe.method != base.method for recipe in recipes.values()):
        raise InputError(
            f"the options {listed(base.method_options)} belong to the method {base.method}, which is not compared: "
            f"write them behind a method, as in --methods plain,{base.method}:field=value"
        )
    return recipes


def setting_variants(
    base: Recipe, variants: Mapping[str, Any], source: str = "variants", own_models: bool = True
) -> dict[str, Recipe]:
    """The recipe of every variant, by its name: the base, with the settings that the variant changes.

    If a variant names another method or model, the base's options for it are not taken over.

    Args:
        variants: name to settings, such as {"usual": {}, "longer": {"steps": 400}}; the first is the baseline.
        source: where they stand, for messages.
        own_models: whether a variant may name a model; it may not if models are an axis of the grid.
    """
    recipes: dict[str, Recipe] = {}
    settable = [option.name for option in fields(Recipe) if option.name not in SHARED]
    for name, changed in variants.items():
        check_folder_name(name, source)
        if name in REFERENCES:
            raise InputError(f"{source}: {quoted(name)} is the name of a reference; choose another name")
        if not isinstance(changed, Mapping):
            raise InputError(f"{source}: {name} needs settings, as in {name}: {{learning_rate: 1e-4}}")
        changed = without_retired(changed, f"{source}, {name}")
        for setting in changed:
            if setting in SHARED:
                raise InputError(f"{source}, {name}: {setting} is the same for all variants; it is an option instead")
            if setting not in settable:
                raise unknown(f"setting of a variant in {source}, {name}:", setting, settable)
        if "model" in changed and not own_models:
            raise InputError(f"{source}, {name}: name models either here or with --models, not both")
        dropped = {option: usual for owner in OWNERS if owner in changed for option, usual in OWNERS[owner].items()}
        recipes[name] = replace(base, **dropped | dict(changed))
        choose_method(recipes[name].method, recipes[name].method_options)
    if len(recipes) < 2:
        raise InputError(f"{source}: name at least two variants, in lines of the form NAME: {{setting: value}}")
    return recipes


def data_sets_of(settings: Mapping[str, Any], source: str) -> dict[str, dict[str, Any]]:
    """The data sets of a yaml file: a name for each, and its settings."""
    found: dict[str, dict[str, Any]] = {}
    for name, chosen in settings.items():
        check_folder_name(name, source)
        if not isinstance(chosen, dict) or not {"data", "test"} <= chosen.keys():
            raise InputError(f"{source}: {name} needs settings of its own, at least `data: FILE` and `test: FILE`")
        found[name] = without_retired(chosen, f"{source}, {name}")
        for setting in found[name]:
            if setting not in OF_DATA:
                raise unknown(f"setting of a data set in {source}, {name}:", setting, OF_DATA)
    if not settings:
        raise InputError(f"{source}: no data sets; write lines of the form NAME: {{data: FILE, test: FILE}}")
    return found


def sizes_of(text: str) -> list[int | None]:
    """`50,100,all` as numbers of rows; None stands for all."""
    parts = [part.strip() for part in text.split(",")]
    if len(set(parts)) < len(parts):
        raise InputError(f"--sizes {text}: name each size once")
    if not all(part == "all" or (part.isdecimal() and int(part)) for part in parts):
        raise InputError(f"--sizes {text}: write numbers of rows, or all, as in --sizes 50,100,all")
    return [None if part == "all" else int(part) for part in parts]


def with_method_of(recipe: AnyRecipe, other: Recipe) -> AnyRecipe:
    """A recipe with the method of another one."""
    return replace(recipe, **{name: getattr(other, name) for name in OF_METHOD})


def name_of(sources: Sequence[str]) -> str:
    """The name of a data set: the last parts of its paths, without suffixes, of at most three."""
    return "+".join(Path(source).name.split(".")[0] or "data" for source in sources[:3])


def folder_name(method: str, seed: int) -> str:
    """The name of the folder of a run: of its method, without a character that some file systems refuse."""
    return f"{method.replace(':', '-')}-{seed}"


def check_folder_name(name: str, source: str) -> None:
    if name in ("", ".", "..") or set(name) & {"/", "\\", "\0"}:
        raise InputError(f"{source}: {quoted(name)} cannot be the name of a folder; choose another name")
