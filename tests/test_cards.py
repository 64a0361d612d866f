"""The methods' cards (docs/methods) say what the code does: names, fields, defaults, costs; and their examples run."""

import json
import re
import shlex
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest

import families
from salience import METHODS
from salience.explainers import gradient, gradient_map
from salience.mixing import shuffle, swap_halves
from salience.mixing.choosing import choose_method
from salience.papers.tables import TABLES
from salience.report.cards import cards_folder, read_card, read_index
from salience.settings import name_and_options, settings_of

SECTIONS = [
    "Idea",
    "Formula",
    "Fields",
    "Cost",
    "Paper and code",
    "What the papers report",
    "What was measured here",
    "Use",
    "Citation",
]
COUNTS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"]
# The tables of the papers, and the rows of methods there.
OF_PAPERS = {
    "dropmix-table3": {
        "dropmix-u": "DropMix-U", "dropmix-c": "DropMix-C", "dropmix-w": "DropMix-W", "dropmix-g": "DropMix-G",
        "dropoutmixup": "Dropout+Mixup",
    },
    "ssmix-table2": {
        "ssmix": "SSMix", "ssmix-nosaliency": "SSMix without saliency", "randomunk": "random [UNK]",
        "ssmix-nospan": "SSMix without saliency and span", "embedmix": "EmbedMix", "tmix": "TMix",
    },
    "attentionmix-tables": {
        "wordmixup": "wordMixup", "mixupencoding": "MixupEncoding", "senmixup": "senMixup",
        "attentionmix": "AttentionMix, chosen head",
    },
}  # fmt: skip

every_method = pytest.mark.parametrize("name", METHODS)


def blocks(card: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", card, re.DOTALL)


def section(card: str, title: str) -> str:
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", card, re.DOTALL | re.MULTILINE)[1]


def test_every_method_has_a_card_and_every_card_a_method():
    files = {file.stem for file in cards_folder().iterdir()} - {"README"}
    assert files == METHODS.keys()
    assert sorted(entry.name for entry in read_index()) == sorted(METHODS)


@every_method
def test_a_card_has_all_sections(name):
    card = read_card(name)
    assert card.startswith(f"# {name}\n")
    assert re.findall(r"^## (.*)$", card, re.MULTILINE) == SECTIONS
    assert all(section(card, title).strip() for title in SECTIONS)
    assert [len(blocks(card, language)) for language in ("text", "python", "sh", "bibtex")] == [1, 1, 1, 1]
    assert "published by" in section(card, "What the papers report").lower() or name == "senmixup"  # whose is no paper


@every_method
def test_the_index_says_what_the_card_says(name):
    (entry,) = (entry for entry in read_index() if entry.name == name)
    title, _, first, *_ = read_card(name).splitlines()
    assert title == f"# {name}"
    assert first == entry.line[0].upper() + entry.line[1:] + "."
    method = METHODS[name]()
    assert (entry.guide != "-") == (method.guide is not None)
    level = method(families.batch([5, 2, 9]), guided(method)).level
    names = {"tokens", "words", "embeddings", "sentence"}
    assert entry.level == (level if level in names else entry.level)
    assert (entry.level in names) == (level in names)


def guided(method):
    """Scores for a method that needs some."""
    batch = families.batch([5, 2, 9])
    return None if method.guide is None else method.guide(families.FAMILIES["bert"](), batch)


@every_method
def test_a_card_stands_alone(name):
    """No links and no paths: an installed card is read where nothing else of the repository is."""
    card = read_card(name)
    assert "](" not in card
    assert not re.search(r"\.\./|\b(?:src|docs|bench|shared|papers)/", card)


MEASURED = {"accuracy": 1, "macro_f1": 1, "log_loss": 3, "accuracy_typos": 1, "foreign_auroc": 1}  # decimal places


@every_method
def test_a_card_has_the_runs_with_the_default_recipe(name):
    """Of each set in the order of `MEASURED`, of the draws of the method, and in brackets of those without mixing."""
    table = Path(__file__).parents[1] / "results" / "studies" / "methods.csv"
    runs = pd.read_csv(table).sort_values("seed", kind="stable")
    measured = " ".join(section(read_card(name), "What was measured here").split())
    if name not in set(runs["method"]):
        assert measured.startswith("It was not trained with the default recipe")
        return
    settings = [name, *sorted(method for method in set(runs["method"]) if method.startswith(f"{name}:"))]
    expected = [
        " and ".join(f"{value:.{digits}f}" for value in of_set[of_set["method"] == method][score])
        for own in settings for data in runs[runs["method"] == own]["data"].drop_duplicates()
        for of_set in [runs[runs["data"] == data]]
        for score, digits in MEASURED.items() for method in (own, "plain")
    ]  # fmt: skip
    assert re.findall(r"\d+\.\d+ and \d+\.\d+", measured) == expected


def test_every_method_is_in_a_table_of_a_paper():
    assert sorted(name for rows in OF_PAPERS.values() for name in rows) == sorted(METHODS)


@pytest.mark.parametrize("table", OF_PAPERS)
def test_cards_have_the_differences_of_the_papers_tables(table):
    """The last cell of a row is the mean over the sets, which have a column each."""
    results = Path(__file__).parents[1] / "results" / f"{table}.jsonl"
    printed = TABLES[table]().report([json.loads(line) for line in results.read_text("utf-8").splitlines()])
    rows = [line.strip("| ").split(" | ") for line in printed.partition("Difference from")[2].splitlines()]
    for name, label in OF_PAPERS[table].items():
        measured = " ".join(section(read_card(name), "What was measured here").split())
        (cells,) = (row for row in rows if row[0] == label)
        mean, _, others = map(re.escape, cells[-1].partition("; "))
        (sets,) = re.findall(rf"by {mean} points of accuracy over (\w+) sets \({others}\):", measured)
        assert COUNTS.index(sets) == len(cells) - 2
        assert f"`salience reproduce {table}`" in measured


def declared_rows(method) -> dict[str, tuple[str, str]]:
    """For each field of a method, the cells "values" and "meaning" of its card, from the declaration."""
    return {
        name: (
            declared.kind.words + ", or `None`" * declared.kind.optional,
            declared.help + (f"; `None`: {declared.unset}" if declared.kind.optional else ""),
        )
        for name, declared in settings_of(method).items()
    }


def field_rows(name: str) -> dict[str, list[str]]:
    """The table of a card's fields: from the name of a field to the other cells of its row."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", section(read_card(name), "Fields"), re.MULTILINE)
    return {field: cells.split(" | ") for field, cells in rows}


@every_method
def test_every_field_is_a_setting(name):
    method = METHODS[name]()
    assert list(settings_of(method)) == [field.name for field in fields(method)]
    assert all(declared.help and not declared.help.endswith(".") for declared in settings_of(method).values())


@every_method
def test_the_fields_of_a_card_are_the_declared_ones(name):
    """All of them, the guide and the pairing too; a default is written as one would write it in Python."""
    method, rows = METHODS[name](), field_rows(name)
    known = {"gradient": gradient, "gradient_map": gradient_map, "shuffle": shuffle, "swap_halves": swap_halves}
    assert {field: eval(cells[0].strip("`"), known) for field, cells in rows.items()} == {
        field.name: getattr(method, field.name) for field in fields(method)
    }
    assert {field: (values, meaning) for field, (_, values, _, meaning) in rows.items()} == declared_rows(method)


@every_method
def test_the_example_runs_and_its_loss_can_be_learned_from(name):
    model = families.FAMILIES["bert"](dropout=0.1).train()
    names = {"model": model, "batch": families.batch([5, 2, 9, 4, 0])}
    (example,) = blocks(read_card(name), "python")
    exec(example, names)
    assert names["method"] == METHODS[name]()
    assert names["loss"].isfinite()
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    assert all(found.isfinite().all() for found in gradients)
    assert sum(found.abs().sum() for found in gradients) > 0


@every_method
def test_the_command_lines_are_understood(name):
    (lines,) = blocks(read_card(name), "sh")
    for line in lines.splitlines():
        program, command, data, *options = shlex.split(line)
        assert (program, command, data) == ("salience", "train", "data.csv")
        given = list(zip(options[::2], options[1::2], strict=True))
        assert {option for option, _ in given} <= {"--method", "--set"}
        named, fields = name_and_options(dict(given)["--method"])
        assert named == name and fields
        assert dict(given).get("--set", "clean=0") == "clean=0"
        chosen = choose_method(name, fields)
        assert type(chosen) is type(METHODS[name]())


@every_method
def test_the_cost_of_the_card_is_the_cost_of_the_index(name):
    (entry,) = (entry for entry in read_index() if entry.name == name)
    text = section(read_card(name), "Cost")
    rows = dict(re.findall(r"^\| (?:clean and mixed|mixtures only).*?(clean=[\d.]+).*? \| (.*?) \|", text, re.M))
    assert rows["clean=0.5"].removesuffix(" on average") == entry.cost
    assert rows["clean=0"] == entry.cost_mixed
