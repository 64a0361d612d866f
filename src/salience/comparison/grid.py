"""The grid of a comparison: methods x seeds, on every data set, with every model and every number of training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from salience.errors import InputError, quoted, unknown
from salience.settings import settings_of
from salience.training.recipe import Recipe, without_retired
from salience.training.references import is_reference

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
