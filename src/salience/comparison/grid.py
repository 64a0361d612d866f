"""The grid of a comparison: methods x seeds, on every data set, with every model and every number of training rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from salience.errors import InputError, listed, quoted, unknown
from salience.mixing.choosing import choose_method, written_method
from salience.runs.retired import without_retired
from salience.settings import name_and_options, settings_of
from salience.training.recipe import Recipe
from salience.training.references import REFERENCES, is_reference

OF_DATA = (
    "data",
    "validation",
    "test",
    "label_descriptions",
    "text",
    "text_pair",
    "label",
    "label_separator",
    "encoding",
    "bad_rows",
)  # settings of a data set
# Settings of an estimate, which the runs of a comparison do not make.
OF_ESTIMATE = ("estimate", "group", "calibrate", "target_precision")
OF_METHOD = ("method", "method_options")  # settings of a method


@dataclass(frozen=True)
class Condition:
    """What the runs that are compared with each other have in common.

    Args:
        data: the name of the data set.
        model: the name of the model.
        size: number of labelled rows that each seed draws; None for all.
    """

    data: str
    model: str
    size: int | None = None

    @property
    def rows(self) -> str:
        """The size in words."""
        return "all rows" if self.size is None else f"{self.size:,} rows"


Run = tuple[Condition, str, int]  # condition, method, seed


@dataclass(frozen=True)
class Grid:
    """Which runs a comparison consists of.

    Args:
        recipes: name of a method in tables to its recipe, the baseline first. Their data, model and size are used
            where the axes below are left empty.
        seeds: the seeds. Each draws other rows if there is a size; otherwise all train on all rows, but for those that
            a seed holds out for validation.
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
    def base(self) -> Recipe:
        """The recipe of the baseline."""
        return self.recipes[self.baseline]

    @property
    def references(self) -> list[str]:
        """The reference rows: methods beside those that are compared. The baseline is none."""
        _, *others = self.recipes
        return [method for method in others if is_reference(self.recipes[method])]

    def conditions(self) -> dict[Condition, dict[str, Any]]:
        """Every condition, with the settings that make it. All sizes of a data set follow each other."""
        data_sets = self.data_sets or {name_of(self.base.data): {}}
        found = {}
        for data, model, size in product(data_sets, self.models or [self.base.model], self.sizes or [self.base.size]):
            settings = {**data_sets[data], "size": size}
            if self.models:  # else a variant may have a model of its own
                settings["model"] = model
            if model != self.base.model:  # the options of a model belong to the model that the recipes name
                settings |= {"model_options": {}, "procedure_options": {}}
            found[Condition(data, model, size)] = settings
        return found

    def largest(self) -> set[Condition]:
        """The conditions with the largest number of training rows, one of each data set and model."""
        found: dict[tuple[str, str], Condition] = {}
        for each in self.conditions():
            before = found.setdefault((each.data, each.model), each)
            if before.size is not None and (each.size is None or each.size > before.size):
                found[each.data, each.model] = each
        return set(found.values())

    def recipe(self, condition: Condition, method: str, seed: int) -> Recipe:
        """The recipe of a run, with its open values left open."""
        return replace(self.recipes[method], **self.conditions()[condition], seed=seed)

    def title(self, condition: Condition) -> str:
        """What distinguishes a condition from the others, in words; empty if there is only one."""
        return ", ".join(
            part
            for axis, part in (
                (self.data_sets, condition.data), (self.models, condition.model), (self.sizes, condition.rows)
            )
            if len(axis) > 1
        )  # fmt: skip

    def folder(self, condition: Condition) -> Path:
        """Where the runs of a condition are, below the folder of the comparison."""
        size = "all" if condition.size is None else str(condition.size)
        axes = ((self.data_sets, condition.data), (self.models, Path(condition.model).name), (self.sizes, size))
        return Path(*(part for axis, part in axes if len(axis) > 1))


def with_method_of(recipe: Recipe, other: Recipe) -> Recipe:
    """A recipe with the method of another one, and its other settings unchanged."""
    return replace(recipe, **{name: getattr(other, name) for name in OF_METHOD})


def name_of(source: str) -> str:
    """The name of a data set: the last part of its path, without suffixes."""
    return Path(source).name.split(".")[0] or "data"


def mixed_data_sets(one: str, other: str) -> InputError:
    """The error for data sets of which some have one label for each text, and others several."""
    return InputError(
        f"the texts of one of the data sets {one} and {other} have one label each, and those of the other several, "
        "whose scores are others: compare them one by one"
    )


def is_folder_name(name: str) -> bool:
    """Whether a name can be that of a folder."""
    return bool(name) and name not in (".", "..") and not set(name) & {"/", "\\", "\0"}


def sizes_of(text: str) -> list[int | None]:
    """`50,100,all` as numbers of rows; None stands for all.

    Raises:
        InputError: a part is neither a whole number above 0 nor "all", or stands there twice.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(set(parts)) < len(parts):
        raise InputError(f"--sizes {text}: a size stands there twice")
    kind = settings_of(Recipe)["size"].kind
    sizes = []
    for part in parts:
        size = int(part) if part.isdecimal() else None
        if part != "all" and (size is None or not kind.fits(size)):
            raise InputError(f"--sizes {text}: write numbers of rows, or all, as in --sizes 50,100,all")
        sizes.append(size)
    return sizes


def data_sets_of(settings: Mapping[str, Any], source: str) -> dict[str, dict[str, Any]]:
    """The data sets of a yaml file: a name for each, and its settings.

    Args:
        settings: such as {"reviews": {"data": "reviews.csv", "test": "held_out.csv"}}.
        source: the file, for messages.

    Raises:
        InputError: a data set has no data or no test rows, a setting that does not belong to a data set, or a name
            that cannot be that of a folder.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, chosen in settings.items():
        if not is_folder_name(name):
            raise InputError(f"{source}: {quoted(name)} cannot be the name of a folder; choose another name")
        if not isinstance(chosen, dict) or not {"data", "test"} <= chosen.keys():
            raise InputError(f"{source}: {name} needs settings of its own, at least `data: FILE` and `test: FILE`")
        found[name] = without_retired(chosen, f"{source}, {name}")
        for setting in found[name]:
            if setting not in OF_DATA:
                raise unknown(f"setting of a data set in {source}, {name}:", setting, OF_DATA)
    if not settings:
        raise InputError(f"{source}: no data sets; write lines of the form NAME: {{data: FILE, test: FILE}}")
    return found


# What a comparison compares: recipes by their names in tables. They differ in the method, or in any settings.

# Settings that are axes of the grid, or the same for all runs: no variant has its own. Descriptions of labels are of a
# data set, and a variant can do without them.
SHARED = (*(name for name in OF_DATA if name != "label_descriptions"), "size", "seed", "device", "checksums")
# Settings that belong to another one. A variant that changes that one begins with these values instead of the base's.
OWNERS: dict[str, dict[str, Any]] = {
    "method": {"method_options": {}},
    "model": {"model_options": {}, "procedure_options": {}},
}


def method_variants(base: Recipe, methods: Sequence[Any]) -> dict[str, Recipe]:
    """The recipe of every method, by its name in tables, such as "ssmix:window=0.2".

    Args:
        base: all settings but the method. Its `method_options` are used if its method is named without options.
        methods: names with their options, or objects, as `SSMix(window=0.2)`.

    Raises:
        InputError: fewer than two methods, the same one twice, or options of the base that no method takes.
    """
    recipes: dict[str, Recipe] = {}
    for method in methods:
        name, options = name_and_options(method, "--methods") if isinstance(method, str) else written_method(method)
        if not options and name == base.method:
            options = base.method_options
        recipe = replace(base, method=name, method_options=options)
        if name not in REFERENCES:
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


def setting_variants(
    base: Recipe, variants: Mapping[str, Any], source: str = "variants", own_models: bool = True
) -> dict[str, Recipe]:
    """The recipe of every variant, by its name: the base, with the settings that the variant changes.

    If a variant names another method or model, the base's options for it are not taken over.

    Args:
        base: all settings.
        variants: name to settings, such as {"usual": {}, "longer": {"steps": 400}}; the first is the baseline.
        source: where they stand, for messages.
        own_models: whether a variant may name a model; it may not if models are an axis of the grid.

    Raises:
        InputError: fewer than two variants, a name that cannot be that of a folder or is a reference's, a setting
            that is unknown or the same for all runs, or a value that does not fit.
    """
    recipes: dict[str, Recipe] = {}
    settable = [option.name for option in fields(Recipe) if option.name not in SHARED]
    for name, changed in variants.items():
        if not is_folder_name(name) or name in REFERENCES:
            raise InputError(f"{source}: {quoted(name)} cannot be the name of a variant; choose another name")
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
        dropped = {
            option: usual for owner, options in OWNERS.items() if owner in changed for option, usual in options.items()
        }
        recipes[name] = replace(base, **dropped | dict(changed))
        choose_method(recipes[name].method, recipes[name].method_options)
    if len(recipes) < 2:
        raise InputError(f"{source}: name at least two variants, in lines of the form NAME: {{setting: value}}")
    return recipes


def reference_variants(base: Recipe, references: Sequence[str]) -> dict[str, Recipe]:
    """The recipes of reference rows, by their names."""
    return {name: replace(base, method=name, method_options={}) for name in references}


def check_no_estimate(recipes: Mapping[str, Recipe]) -> None:
    """Checks that no recipe asks for an estimate: the test rows of a comparison measure its models.

    Raises:
        InputError: one asks for it, or names groups for it.
    """
    for name, recipe in recipes.items():
        for setting in OF_ESTIMATE:
            value = getattr(recipe, setting)
            if value not in (None, "none", False):
                raise InputError(
                    f"{name}: {setting}={value} has no effect in a comparison, whose models are measured on test "
                    f"rows: leave out {setting}"
                )


def table_name(recipe: Recipe) -> str:
    """The name of a method in tables, with its options: ssmix:window=0.2."""
    options = ",".join(f"{name}={as_yaml(value)}" for name, value in recipe.method_options.items())
    return (recipe.method or "default") + (f":{options}" if options else "")


def as_yaml(value: object) -> str:
    """A value in YAML, without spaces: true, null, [2,32]."""
    return json.dumps(value, separators=(",", ":")).strip('"')
