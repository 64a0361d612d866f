"""docs/reference/settings.md, made from the declarations. `python tests/settings_page.py` writes it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from documents import ROOT
from salience.cli.settings import model_settings, procedure_settings, recipe_settings
from salience.cli.train import train
from salience.settings import Setting, as_option

FILE = ROOT / "docs" / "reference" / "settings.md"
OPTIONS = inspect.signature(train).parameters
PAGE = """# Settings

What a run depends on is its recipe: the settings below, with the values that each can have. Those that people need
first are options of `salience train` and `salience compare`, too. Every setting can be given as `--set NAME=VALUE`, or
as a line `NAME: VALUE` of the file that `--config` names. The command line goes before the file. A run keeps its
recipe in `recipe.yaml`, which `--config` reads. Some of them are arguments of `SalienceClassifier`.

This page is made from the declarations of the settings: `make settings` writes it.

## The recipe

{recipe}

## The training of some models

These are of attention classifiers: `alignment` of all, the others of VAT, which is trained by turns. They are given
with `--set` too, and in a file below `procedure_options`.

{procedures}

## Attention classifiers

`--model attention:dot` and the other [attention classifiers](../guides/attention.md) have settings of their own. They
are given as `--set-model NAME=VALUE`, and in a file below `model_options`.

{models}

## Methods

The fields of a mixing method stand behind its name, as in `--method ssmix:window=0.2`, and in a file below
`method_options`. [Its card](../methods/README.md) lists them, as `salience methods NAME` does.
"""


def settings_page() -> str:
    """The page of all settings."""
    sections = {"recipe": recipe_settings(), "procedures": procedure_settings(), "models": model_settings()}
    return PAGE.format_map({title: table(settings) for title, settings in sections.items()})


def table(settings: Mapping[str, Setting]) -> str:
    """A row for each setting, in Markdown."""
    rows = ["| setting | meaning | values | default |", "|---|---|---|---|"]
    for name, each in settings.items():
        shown = f"`{name}`" + (f" (`{as_option(name)}`)" if name in OPTIONS and name != "data" else "")
        cells = (shown, each.help, each.kind.words, each.shown_default)
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    FILE.write_text(settings_page(), encoding="utf-8")
