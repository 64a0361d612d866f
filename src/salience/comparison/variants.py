"""What a comparison compares: recipes by their names in tables. They differ in the method, or in any settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from salience.assignments import name_and_options
from salience.comparison.grid import OF_DATA, OF_ESTIMATE, is_folder_name
from salience.errors import InputError, listed, quoted, unknown
from salience.mixing.choosing import choose_method, written_method
from salience.training.recipe import Recipe, without_retired
from salience.training.references import REFERENCES

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
