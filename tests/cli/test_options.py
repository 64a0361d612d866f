"""Options, their help, and what replaces an option that a setting is no more."""

import subprocess
import sys

import pytest
import typer
from test_bad_input import COMMANDS, refused

import commands_page
from labelled import labelled_rows, write_csv
from salience.cli.main import app
from salience.cli.settings import (
    instead_of,
    merged,
    model_settings,
    procedure_settings,
    recipe_settings,
    with_assigned,
)
from salience.errors import InputError
from salience.settings import as_option
from settings_page import FILE, OPTIONS, settings_page


def parameters(command: str) -> dict:
    """The parameters of a command by name, as typer makes them."""
    found = typer.main.get_command(app)
    for word in command.split():
        found = found.commands[word]
    return {parameter.name: parameter for parameter in found.params if parameter.name != "help"}


def test_help_has_a_line_an_option_and_fits_a_terminal(salience, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for command in COMMANDS:
        lines = salience(*command.split(), "--help").out.splitlines()
        assert max(map(len, lines)) <= 80, command
        if command == "analyse":
            continue
        assert len(lines) <= (42 if command in ("train", "compare") else 30), command
        listed = {line.split()[0] for line in lines[1:] if line.strip()}
        for name, parameter in parameters(command).items():
            if getattr(parameter, "hidden", False):  # those are in docs/reference/settings.md alone
                assert f"(`{parameter.opts[0]}`)" in FILE.read_text() and parameter.opts[0] not in listed
                continue
            is_option = parameter.param_type_name == "option"
            assert (parameter.opts[0] if is_option else parameter.metavar or name.upper()) in listed, (command, name)
            assert parameter.help.rstrip().endswith((".", "]")), (command, name)
        assert not [line for line in lines[4:] if line.startswith(" " * 8)], command  # no line is broken


def test_help_of_train_names_its_groups_and_some_thirty_options(salience):
    shown = salience("train", "--help").out
    assert [line[:-1] for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")] == [
        "Data", "Scores", "Model", "Training", "Output"]  # fmt: skip
    assert 25 <= shown.count("\n  --") <= 32


def test_arguments_have_the_names_of_the_help(salience):
    usage = "salience predict [OPTIONS] MODEL DATA"
    assert salience("predict", "--help").out.startswith(f"Usage: {usage}\n")
    assert salience("audit", "--help").out.startswith("Usage: salience audit [OPTIONS] DATA\n")
    refused(salience("predict", "m"), f"Missing argument 'DATA': write {usage}")


def test_help_imports_no_torch():
    script = (
        "import sys\nfrom salience.cli.main import main\n"
        f"codes = [main([*command.split(), '--help']) for command in {['', *COMMANDS]!r}]\n"
        "heavy = {'torch', 'transformers', 'datasets', 'numpy', 'sklearn', 'pandas', 'rich'} & set(sys.modules)\n"
        "assert not any(codes) and not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: salience") == len(COMMANDS) + 1


def test_a_wrong_name_of_a_file_or_column_is_told_before_the_long_imports(tmp_path):
    data = write_csv(tmp_path / "data.csv", labelled_rows(4))
    commands = [["train", str(data), "--text", "txt"], ["compare", "datta.csv"], ["predict", str(tmp_path), "d.csv"]]
    script = (
        f"import sys\nfrom salience.cli.main import main\ncodes = [main(command) for command in {commands!r}]\n"
        "assert codes == [2, 2, 2] and not {'torch', 'transformers', 'datasets'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert [line.rsplit(": ", 1)[0] for line in done.stderr.splitlines()] == [
        f'salience: {data}', "salience: datta.csv", "salience: d.csv"]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "m", "d", "--max-length", "0"], "--max-length is 0: give a whole number from 1 to 1,000,000"),
        (["explain", "m", "--text", "x", "--device", "gpu"], 'unknown --device "gpu"; known: auto, cpu, cuda'),
        (["explain", "m", "d", "--most", "-1"], "'--most': Input should be greater than or equal to 1"),
        (["faithfulness", "m", "d", "--seed", "-1"], "--seed is -1: give a whole number from 0 to"),
        (["demo", "m", "--max-length", "-5"], "--max-length is -5"),
        (["analyse", "attention", "d", "--bad-rows", "drop"], 'unknown --bad-rows "drop"; known: error, skip'),
        (["train", "d", "--steps", "0"], "--steps must be at least 1, not 0"),
        (["train", "d", "--set", "dropout=1"], "--set dropout is 1: give a number from 0 to below 1"),
        (["compare", "d", "--set", "head_start=x"], 'unknown --set head_start "x"; known: logistic, random'),
    ],
)
def test_a_value_that_does_not_fit_is_refused_before_anything_is_read(salience, arguments, message):
    refused(salience(*arguments), message)


# ------------------------------------------------------------------------------------------------------ NAME=VALUE


def test_every_setting_of_a_recipe_can_be_set():
    for name, setting in recipe_settings().items():
        value = {"estimate": "none", "class_weights": "auto", "data": "x.csv"}.get(name, setting.default)
        if value is None:
            value = (setting.kind.choices or ({int: 1, float: 0.5, bool: True, str: "1"}[setting.kind.type],))[0]
        written = str(value).lower() if isinstance(value, bool) else value
        assert with_assigned({}, [f"{name}={written}"]) == {name: value}
        assert with_assigned({}, [f"{name.replace('_', '-')}={written}"]) == {name: value}
    assert with_assigned({}, ["trained_share=null", "learning_rate=1e-4"]) == {
        "trained_share": None, "learning_rate": 1e-4}  # fmt: skip
    assert with_assigned({}, ["beta=0.2", "iterations=1"]) == {"procedure_options": {"beta": 0.2, "iterations": 1}}
    assert with_assigned({"steps": 3}, ["size=9", "size=8"]) == {"steps": 3, "size": 8}


@pytest.mark.parametrize(
    ("given", "assignment", "said"),
    [
        ({}, "dropuot=0.1", 'unknown setting in --set "dropuot"'),
        ({}, "dropuot=0.1", 'Did you mean "dropout"?'),
        ({}, "window=0.2", "--method METHOD:window=0.2"),
        ({"method": "ssmix:alpha=1"}, "window=0.2", "--method ssmix:window=0.2"),
        ({}, "width=200", "--set-model width=200"),  # of attention classifiers, and a field of a method
        ({"method": "dropmix-u"}, "width=200", "--method dropmix-u:width=200"),
        ({}, "method_options={}", 'unknown setting in --set "method_options"'),
        ({}, "r_drop=1", "r_drop is no longer offered"),
        ({"steps": 3}, "steps=4", "--steps is given too"),
        ({}, "steps", "write it as field=value"),
        ({}, "steps=[", "is not yaml"),
        ({}, "calibrate=1", "--set calibrate is 1: give true or false"),
    ],
)
def test_what_cannot_be_set_is_refused_with_what_to_write(given, assignment, said):
    with pytest.raises(InputError) as caught:
        with_assigned(given, [assignment])
    assert said in str(caught.value)


def test_an_option_that_is_no_more_is_refused_with_the_line_that_replaces_it(salience):
    """Every setting of a recipe, a procedure or a model that is no option of train."""
    recipe = recipe_settings()
    for name in {**recipe, **procedure_settings()}.keys() - OPTIONS.keys():
        value = "true" if name == "calibrate" else "7"
        assert instead_of(as_option(name), value, "train").endswith(f": write --set {name}={value}")
    for name in model_settings().keys() - OPTIONS.keys() - recipe.keys():
        assert instead_of(as_option(name), "7", "train").endswith(f": write --set-model {name}=7")
    refused(salience("train", "x.csv", "--dropout", "0.1", "--steps", "3"), "write --set dropout=0.1")
    refused(salience("train", "x.csv", "--scale=10"), "write --set-model scale=10")
    refused(salience("train", "x.csv", "--no-calibrate", "--steps", "3"), "write --set calibrate=false")
    refused(salience("compare", "x.csv", "--pooling", "mean"), "write --set pooling=mean")
    refused(salience("compare", "x.csv", "--seed", "3"), "write --seeds 3")
    refused(salience("train", "x.csv", "--r-drop", "1"), "--r-drop is no longer offered", "contrastive")
    refused(salience("predict", "m", "x.csv", "--dropout", "1"), "No such option: --dropout")


def test_settings_of_a_config_are_kept_under_those_of_the_command_line():
    file = {"model": "lstm-att", "model_options": {"width": 8, "scale": 2}, "method": "ssmix",
            "method_options": {"window": 0.2}}  # fmt: skip
    assert merged(file, {"model_options": {"scale": 5}})["model_options"] == {"width": 8, "scale": 5}
    assert merged(file, {"method": "ssmix:window=0.3"})["method_options"] == {"window": 0.3}
    assert merged(file | {"method": "ssmix:window=0.2"}, {"method": "ssmix:alpha=1"})["method_options"] == {
        "window": 0.2, "alpha": 1}  # fmt: skip
    assert merged(file, {"model": "lstm-att"}) == file == merged(file, {})
    assert "model_options" not in merged(file, {"model": "minilm"})  # they were of the other model
    changed = merged(file, {"method": "tmix:alpha=1"})
    assert (changed["method"], changed["method_options"]) == ("tmix", {"alpha": 1})
    assert "method_options" not in merged(file, {"method": "tmix"})


def test_the_pages_of_settings_and_commands_are_those_of_the_declarations():
    """`make settings` writes them."""
    assert FILE.read_text(encoding="utf-8") == settings_page()
    assert commands_page.FILE.read_text(encoding="utf-8") == commands_page.commands_page()
