"""Every link of the documents leads somewhere, every command is understood, and every name in their Python exists."""

import ast
import shlex
from importlib import import_module
from pathlib import Path

import pytest
import typer

from documents import PAGES, ROOT, anchors_of, blocks_of, commands_of, links_of, slug
from salience.cli.main import app, main
from salience.errors import InputError
from salience.training.prepare import check_machine

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
BLOCKS = [block for page in PAGES for block in blocks_of(page)]
PROGRAM = typer.main.get_command(app)
ADDED = "docs/contributing.md"  # adds modules to the package; its own test does so, and runs them


def fault_of_link(page: Path, address: str) -> str | None:
    """What is wrong with a link; None if nothing is, or if it leaves the repository."""
    if "://" in address or address.startswith("mailto:"):
        return None
    name, _, anchor = address.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists():
        return f"{address}: there is no such file"
    if anchor and anchor not in anchors_of(target):
        return f"{address}: there is no such heading"
    return None


def arguments_of(command: str) -> list[str]:
    """The arguments of a command line behind the word salience, without a comment."""
    return shlex.split(command, comments=True)[1:]


def parse(arguments: list[str]) -> None:
    """Parses a command line, and runs nothing.

    Raises:
        UsageError: the command line is not understood; of typer's click, whichever that is.
    """
    command, context, rest = PROGRAM, None, arguments
    name: str | None = "salience"
    while hasattr(command, "commands"):
        context = command.make_context(name, list(rest), parent=context)
        rest = [*context._protected_args, *context.args]
        if not rest:
            return
        name, command, rest = command.resolve_command(context, rest)
    command.make_context(name, list(rest), parent=context)


def names_of(tree: ast.AST) -> list[tuple[str, str | None]]:
    """Modules of salience that a program imports, and the names that it takes from them."""
    found: list[tuple[str, str | None]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names if alias.name.split(".")[0] == "salience"]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "salience":
            found += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "salience":
            found.append(("salience", node.attr))
    return found


@every_page
def test_every_link_leads_somewhere(page):
    assert not [fault for address in links_of(page) if (fault := fault_of_link(page, address))]


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A `b`: c\n\n[x](other.md) [y](#no) [z](#a-b-c) ![p](p.png) [w](https://a.org)\n")
    assert links_of(page) == ["other.md", "#no", "#a-b-c", "p.png", "https://a.org"]
    faults = [fault_of_link(page, address) for address in links_of(page)]
    assert [fault is not None for fault in faults] == [True, True, False, True, False]


def test_anchors_are_those_of_github():
    """As github.com shows them."""
    assert slug("What the head reads: --pooling") == "what-the-head-reads---pooling"
    assert slug("Who should use what?") == "who-should-use-what"
    assert slug("A & B") == "a--b"


COMMANDS = [(str(block), command) for block in BLOCKS for command in commands_of(block)]


@pytest.mark.parametrize(("place", "command"), COMMANDS, ids=[f"{place} {each}" for place, each in COMMANDS])
def test_every_command_is_understood(place, command):
    parse(arguments_of(command))


TRAINED = [
    (place, command)
    for place, command in COMMANDS
    if arguments_of(command)[:1] == ["train"] and "--config" not in command and not place.startswith(ADDED)
]


@pytest.mark.parametrize(("place", "command"), TRAINED, ids=[f"{place} {each}" for place, each in TRAINED])
def test_every_training_has_settings_that_fit_together(place, command, monkeypatch, capsys):
    def checked(recipe, *_, **__):
        check_machine(recipe)
        raise InputError("the settings fit together")

    monkeypatch.setattr("salience.cli.train.check_files", lambda *_: None)  # the files of the documents are not here
    monkeypatch.setattr("salience.training.run.train", checked)
    main(arguments_of(command))
    assert capsys.readouterr().err.strip() == "salience: the settings fit together"


WRONG = ["salience trane a.csv", "salience train a.csv --no-such-option", "salience predict",
         "salience train --steps x", "salience analyse nothing"]  # fmt: skip


@pytest.mark.parametrize("command", WRONG)
def test_a_wrong_command_is_found(command):
    with pytest.raises(Exception, match=r".") as raised:
        parse(arguments_of(command))
    assert hasattr(raised.value, "format_message")


PROGRAMS = [block for block in BLOCKS if block.language == "python" and block.page != ADDED]


def missing(program: str) -> list[str]:
    """The names of salience that a program uses and that do not exist."""
    lacking = []
    for module, name in names_of(ast.parse(program)):
        try:
            defined = name is None or hasattr(import_module(module), name)
            import_module(module if defined else f"{module}.{name}")
        except ModuleNotFoundError:
            lacking.append(module if name is None else f"{module}.{name}")
    return lacking


@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_the_names_in_python_exist(block):
    assert not missing(block.text)


def test_a_wrong_name_is_found():
    program = (
        "import salience.none\nfrom salience import Mix, Nothing\nfrom salience.mixing import method\nsalience.no()"
    )
    assert sorted(missing(program)) == ["salience.Nothing", "salience.no", "salience.none"]
