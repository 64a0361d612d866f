"""Options are made from declared settings: of `train` all but a short list, elsewhere those that settings share."""

from collections.abc import Mapping

import pytest
import typer
from test_bad_input import COMMANDS, refused

from salience.cli.main import app
from salience.cli.options import AS_IN_TRAINING, help_of, options_of
from salience.papers.attention_classifiers.options import AttentionOptions
from salience.settings import as_option, settings_of
from salience.training.procedures import PROCEDURES
from salience.training.recipe import Recipe

ALONE = {
    "report_to",
    "set_model",
    "set_",
    "config",
    "output",
    "overwrite",
    "resume",
    "debug",
}  # options that are no settings
SHARED = ["text_pair", "label", "encoding", "bad_rows", "max_length", "seed", "device"]


def parameters(command: str) -> dict:
    """The parameters of a command by name, as typer makes them."""
    found = typer.main.get_command(app)
    for word in command.split():
        found = found.commands[word]
    return {parameter.name: parameter for parameter in found.params if parameter.name != "help"}


def test_every_option_of_train_is_a_declared_setting():
    declared = settings_of(AttentionOptions) | settings_of(Recipe)  # both have `pooling`
    for procedure in PROCEDURES.values():
        declared |= settings_of(procedure)
    options = {name: option for name, option in parameters("train").items() if name != "data"}
    assert options.keys() >= ALONE
    for name in options.keys() - ALONE:
        assert options[name].help == help_of(declared[name])
        assert options[name].opts == [as_option(name)]
        assert options[name].default is None  # what is not given is taken from --config, or is the setting's default
    single = {name for name, setting in settings_of(Recipe).items() if setting.default != {}}
    assert single - {"data"} <= options.keys()
    assert all(set(settings_of(procedure)) <= options.keys() for procedure in PROCEDURES.values())


@pytest.mark.parametrize("command", COMMANDS)
def test_shared_settings_have_one_help(command):
    options = parameters(command)
    known = settings_of(Recipe)
    for name in SHARED:
        if name in options:
            meaning = help_of(known[name]).partition("  [default")[0]
            assert options[name].help.startswith(meaning)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_help_that_ends_with_a_full_stop_or_its_default(command):
    for option in parameters(command).values():
        assert option.help[0].isupper() or option.help.startswith(("spaCy", "t-SNE", "K/N")), option.name
        assert option.help.rstrip().endswith((".", "]")), option.name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "m", "d", "--max-length", "0"], "--max-length is 0: give a whole number from 1 to 1,000,000"),
        (["explain", "m", "--text", "x", "--device", "gpu"], 'unknown --device "gpu"; known: auto, cpu, cuda'),
        (["faithfulness", "m", "d", "--seed", "-1"], "--seed is -1: give a whole number from 0 to"),
        (["demo", "m", "--max-length", "-5"], "--max-length is -5"),
        (["analyse", "attention", "d", "--epochs", "0"], "--epochs is 0: give a whole number from 1 to"),
        (["analyse", "attention", "d", "--bad-rows", "drop"], 'unknown --bad-rows "drop"; known: error, skip'),
        (["train", "d", "--scale", "0"], "--scale is 0.0: give a number above 0"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_before_anything_is_read(salience, arguments, message):
    refused(salience(*arguments), message)


def called(**options) -> dict:
    """What a command with options of the recipe receives, for these values of its options."""

    @options_of(Recipe, names=["text", "encoding", "max_length"], unset=AS_IN_TRAINING, **options)
    def command(settings: Mapping) -> Mapping:
        return settings

    return command(text=None, encoding="utf-16", max_length=None)


def test_defaults_are_filled_in():
    assert called() == {"text": None, "encoding": "utf-16", "max_length": None}
    assert called(defaults={"max_length": 400}) == {"text": None, "encoding": "utf-16", "max_length": 400}
    assert called(only_given=True) == {"encoding": "utf-16"}
