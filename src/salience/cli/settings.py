"""Settings of a recipe from the command line and from a yaml file: `--config`, `--set NAME=VALUE`, and their page."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from salience.errors import InputError, one_line, quoted, unknown
from salience.runs.retired import RETIRED
from salience.settings import Setting, as_option, assigned, name_and_options, read_yaml, settings_of
from salience.training.recipe import Recipe

SEVERAL = {"seed": "--seeds", "method": "--methods", "size": "--sizes"}  # of compare, in place of the settings


def read_config(file: Path | None, option: str = "--config") -> dict[str, Any]:
    """The settings in a yaml file, by the names of `recipe.yaml`.

    Args:
        option: what names the file, for messages.

    Raises:
        InputError: the file cannot be read, is not yaml, or does not hold names with values.
    """
    if file is None:
        return {}
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{option} {file} is not yaml: {one_line(error)}") from error
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        reason = getattr(error, "strerror", None) or one_line(error)
        raise InputError(f"cannot read {option} {file}: {reason}") from error
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

    Raises:
        InputError: there is no such setting, it is written otherwise, it is given twice, or its value does not fit.
    """
    settings, recipe, procedures = dict(given), settings_of(Recipe), procedure_settings()
    known = {name: each for name, each in (procedures | recipe).items() if each.default != {} and name not in RETIRED}
    for assignment in assignments or []:
        ((name, value),) = assigned("--set", [assignment]).items()
        written = assignment.partition("=")[2]
        name = name.replace("-", "_")
        if name not in known:
            raise no_setting(name, written, str(given.get("method") or "METHOD").partition(":")[0], known)
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


def procedure_settings() -> dict[str, Setting]:
    """The settings of all training procedures."""
    from salience.training.procedures import PROCEDURES

    return {name: each for procedure in PROCEDURES.values() for name, each in settings_of(procedure).items()}


def model_settings() -> dict[str, Setting]:
    """The settings of attention classifiers, but the pooling, which their name says."""
    from salience.papers.attention_classifiers.options import AttentionOptions

    return {name: each for name, each in settings_of(AttentionOptions).items() if name != "pooling"}


def no_setting(name: str, value: str, method: str, known: Collection[str]) -> InputError:
    """The error for what `--set` does not set, with the line that sets it if there is one."""
    from salience.mixing import METHODS

    if name in RETIRED:
        return InputError(f"--set {name} is no longer offered: {RETIRED[name][1]}")
    own = [METHODS[method]] if method in METHODS else METHODS.values()
    fields = {field for each in own for field in settings_of(each())}
    if name in fields and (method in METHODS or name not in model_settings()):
        return InputError(
            f"--set {name}={value}: fields of a method stand behind its name: --method {method}:{name}={value}"
        )
    if name in model_settings():
        return InputError(f"--set {name}={value} is a setting of an attention classifier: --set-model {name}={value}")
    return unknown("setting in --set", name, known)


def instead_of(option: str, value: str, command: str) -> str:
    """What replaces an option that `salience train` or `salience compare` does not have; empty if nothing does.

    Args:
        option: as it was written, such as "--dropout".
        value: what follows it.
    """
    name = option.lstrip("-").replace("-", "_")
    if name in RETIRED:
        return f"{option} is no longer offered: {RETIRED[name][1]}"
    if command not in ("train", "compare"):
        return ""
    if command == "compare" and name in SEVERAL:
        return f"{option} is no option of salience compare: write {SEVERAL[name]} {value}"
    known = {each.name: each for each in (settings_of(Recipe) | procedure_settings()).values() if each.default != {}}
    if name in known and known[name].kind.type is bool:
        value = "true"
    elif name.removeprefix("no_") in known and name.startswith("no_"):
        name, value = name.removeprefix("no_"), "false"
    if name in known:
        return f"{option} is a setting, and no option: write --set {name}={value}"
    if command == "train" and name in model_settings():
        return f"{option} is a setting of the model, and no option: write --set-model {name}={value}"
    return ""


PAGE = """# Settings

What a run depends on is its recipe: the settings below, with the values that each can have. Those that people need
first are options of `salience train` and `salience compare`, too. Every setting can be given as `--set NAME=VALUE`, or
as a line `NAME: VALUE` of the file that `--config` names. The command line goes before the file. A run keeps its
recipe in `recipe.yaml`, which `--config` reads. `SalienceClassifier` has the same names as arguments.

This page is made from the declarations of the settings: `make settings` writes it.

## The recipe

{recipe}

## The training of some models

These are of attention classifiers: `alignment` of all, the others of VAT, which is trained by turns. They are given
with `--set` too, and in a file below `procedure_options`.

{procedures}

## Attention classifiers

`--model attention:dot` and the other [attention classifiers](attention.md) have settings of their own. They are given
as `--set-model NAME=VALUE`, and in a file below `model_options`.

{models}

## Methods

The fields of a mixing method stand behind its name, as in `--method ssmix:window=0.2`, and in a file below
`method_options`. [Its card](methods/README.md) lists them, as `salience methods NAME` does.
"""


def settings_page(options: Collection[str]) -> str:
    """The page of all settings, docs/settings.md.

    Args:
        options: the names of the settings that are options of `salience train`.
    """
    recipe = {name: each for name, each in settings_of(Recipe).items() if each.default != {} and name not in RETIRED}
    sections = {"recipe": recipe, "procedures": procedure_settings(), "models": model_settings()}
    return PAGE.format_map({title: table(settings, options) for title, settings in sections.items()})


def table(settings: Mapping[str, Setting], options: Collection[str]) -> str:
    """A row for each setting, in Markdown."""
    rows = ["| setting | meaning | values | default |", "|---|---|---|---|"]
    for name, each in settings.items():
        shown = f"`{name}`" + (f" (`{as_option(name)}`)" if name in options and name != "data" else "")
        cells = (shown, each.help, each.kind.words, each.shown_default)
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows)
