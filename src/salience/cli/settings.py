"""Settings of a recipe from the command line and from a yaml file: `--config`, `--set NAME=VALUE`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from salience.errors import InputError, one_line, quoted, unknown
from salience.runs.retired import RETIRED
from salience.settings import Setting, as_option, assigned, check_settings, name_and_options, read_yaml, settings_of
from salience.training.recipe import DataSettings, Recipe

SEVERAL = {"seed": "--seeds", "method": "--methods", "size": "--sizes"}  # of compare, in place of the settings


def read_config(file: Path | None, option: str = "--config") -> dict[str, Any]:
    """The settings in a yaml file, which `option` names, by the names of `recipe.yaml`; none without a file."""
    if file is None:
        return {}
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{option} {file} is not yaml: {one_line(error)}") from error
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        raise InputError(f"cannot read {option} {file}: {getattr(error, 'strerror', None) or error}") from error
    settings = read_yaml(text, f"{option} {file}")
    if not isinstance(settings, dict):
        raise InputError(f"{option} {file}: settings are lines of the form name: value")
    for name in settings:
        if not isinstance(name, str):
            raise InputError(f"{option} {file}: {quoted(name)} is no name of a setting: names are texts")
    return settings


def merged(file: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a file, replaced by those given on the command line.

    If the command line names another model or method, the options that the file has for it are dropped.
    """
    old, new = ({**settings} for settings in (file, given))
    for settings in (old, new):  # ssmix:window=0.2
        if isinstance(method := settings.get("method"), str) and ":" in method:
            settings["method"], options = name_and_options(method)
            behind = settings.get("method_options")
            settings["method_options"] = {**(behind if isinstance(behind, dict) else {}), **options}
    settings = old | new
    for owner, name in (("model", "model_options"), ("method", "method_options"), ("model", "procedure_options")):
        same = new.get(owner, old.get(owner)) == old.get(owner)
        if same and isinstance(old.get(name), dict) and name in new:
            settings[name] = old[name] | new[name]
        elif not same and name not in new:
            settings.pop(name, None)
    return settings


def with_assigned(given: Mapping[str, Any], assignments: Sequence[str] | None) -> dict[str, Any]:
    """The given settings with those of `--set NAME=VALUE`, each checked by its declaration.

    Those of the training procedure go to `procedure_options`.
    """
    settings, recipe = dict(given), recipe_settings()
    known = procedure_settings() | recipe
    for assignment in assignments or []:
        ((name, value),) = assigned("--set", [assignment]).items()
        written = assignment.partition("=")[2]
        name = name.replace("-", "_")
        if name not in known:
            method = str(given.get("method") or "METHOD").partition(":")[0]
            instead = instead_of(f"--set {name}", written, "train", method)
            raise InputError(instead) if instead else unknown("setting in --set", name, known)
        if name in given:
            raise InputError(f"--set {assignment}: {as_option(name)} is given too; leave out one of them")
        if known[name].kind.type is str and value is not None:  # a column may be named 1, or yes
            value = written
        value = known[name].checked(value, lambda name: f"--set {name}")
        if name in recipe:
            settings[name] = value
        else:
            settings["procedure_options"] = settings.get("procedure_options", {}) | {name: value}
    return settings


def recipe_settings() -> dict[str, Setting]:
    """The settings of a recipe that have one value each."""
    return {name: each for name, each in settings_of(Recipe).items() if each.default != {} and name not in RETIRED}


def procedure_settings() -> dict[str, Setting]:
    """The settings of all training procedures."""
    from salience.training.procedures import PROCEDURES

    return {name: each for procedure in PROCEDURES.values() for name, each in settings_of(procedure).items()}


def model_settings() -> dict[str, Setting]:
    """The settings of attention classifiers, but the pooling, which their name says."""
    from salience.papers.attention_classifiers.options import AttentionOptions

    return {name: each for name, each in settings_of(AttentionOptions).items() if name != "pooling"}


# What other programs call an option or an argument: of all commands, and of those that train.
MEANT = {"-o": "write --output", "--data": "a file stands behind the command, without a name"}
MEANT_IN_TRAINING = {
    "--lr": "write --learning-rate", "--epochs": "write --steps, the number of batches, or --effort",
}  # fmt: skip


def instead_of(option: str, value: str, command: str, method: str = "METHOD") -> str:
    """What replaces an option, and the value behind it, that train or compare does not have; empty if nothing does.

    Args:
        option: as it is written: --dropout, or --set dropout.
        method: of the run, whose fields are known.
    """
    if (meant := (MEANT | (MEANT_IN_TRAINING if command in ("train", "compare") else {})).get(option)) is not None:
        return f"{option} is no option of salience {command}: {meant}"
    name = option.removeprefix("--set ").lstrip("-").replace("-", "_")
    if name in RETIRED:
        return f"{option} is no longer offered: {RETIRED[name][1]}"
    if command not in ("train", "compare"):
        return ""
    if command == "compare" and name in SEVERAL:
        return f"{option} is no option of salience compare: write {SEVERAL[name]} {value}"
    known = recipe_settings() | procedure_settings()
    if name in known and known[name].kind.type is bool:
        value = "true"
    elif name.startswith("no_") and name.removeprefix("no_") in known:
        name, value = name.removeprefix("no_"), "false"
    if name in known:
        return f"{option} is a setting, and no option: write --set {name}={value}"

    from salience.mixing import METHODS

    of_model = name in model_settings()
    own = [METHODS[method]] if method in METHODS else [] if of_model else METHODS.values()
    if any(name in settings_of(each()) for each in own):
        return f"{option} is a field of a method, which stands behind its name: write --method {method}:{name}={value}"
    if of_model and command == "train":
        return f"{option} is a setting of an attention classifier: write --set-model {name}={value}"
    return ""


def check_files(settings: Mapping[str, Any], source: str) -> None:
    """Says that a setting, file or column is not there, before the imports of many seconds that a training needs."""
    from salience.data.reading import is_on_hub
    from salience.data.task import columns_of

    settings = Recipe.known(settings, source)
    data = DataSettings(**{each.name: settings[each.name] for each in fields(DataSettings) if each.name in settings})
    check_settings(data)
    if data.teacher is None:
        columns_of([each for each in data.sources if not is_on_hub(each)], data.encoding, **data.columns)
