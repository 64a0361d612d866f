"""The studies of bench/: their variants are recipes, and their sets are training rows, divided without overlap."""

import csv
import gzip
import json
from dataclasses import replace
from itertools import product

import pytest

import development
import study
from development import development_set
from salience.comparison.grid import setting_variants
from salience.training.recipe import Recipe
from studies import STUDIES


@pytest.mark.parametrize("name", STUDIES)
def test_the_variants_of_a_study_are_recipes(name):
    declared = STUDIES[name]
    recipes = setting_variants(Recipe("rows.csv", **declared.settings), declared.variants)
    assert len({str(recipe) for recipe in recipes.values()}) == len(declared.variants) >= 2
    assert set(declared.sets) <= set(development.SETS)


def rows_of(file) -> list[dict]:
    with open(file, newline="") as opened:
        return list(csv.DictReader(opened))


@pytest.fixture
def data_dir(tmp_path, monkeypatch):
    """A data directory with one set: 30 texts, each of which stands there twice."""
    monkeypatch.setattr(development, "SETS", {"made-up": "folder"})
    words = {"good": "positive", "bad": "negative"}
    rows = [
        {"text": f"a {word} film {number % 30}", "label": label}
        for number in range(60)
        for word, label in words.items()
    ]
    (tmp_path / "folder").mkdir()
    with gzip.open(tmp_path / "folder" / "train.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return tmp_path


def test_a_development_set_divides_the_training_rows(data_dir, tmp_path):
    files = development_set("made-up", data_dir, tmp_path / "one")
    texts = {role: [row["text"] for row in rows_of(file)] for role, file in files.items()}
    assert len(texts["test"]) == len(texts["data"]) == 30
    assert len({*texts["test"], *texts["data"]}) == 60
    again = development_set("made-up", data_dir, tmp_path / "two")
    assert {role: rows_of(file) for role, file in again.items()} == {
        role: rows_of(file) for role, file in files.items()
    }


def test_wrong_labels_are_of_the_rows_to_train_on_alone(data_dir, tmp_path):
    right, noisy = (development_set("made-up", data_dir, tmp_path / str(share), share) for share in (0.0, 0.2))
    assert rows_of(right["test"]) == rows_of(noisy["test"])
    pairs = list(zip(rows_of(right["data"]), rows_of(noisy["data"]), strict=True))
    assert all(one["text"] == other["text"] for one, other in pairs)
    assert sum(one["label"] != other["label"] for one, other in pairs) == 6
    assert {row["label"] for _, row in pairs} == {"positive", "negative"}


def test_a_set_of_joined_texts_has_the_labels_of_their_parts(data_dir, tmp_path, monkeypatch):
    monkeypatch.setattr(development, "JOINED", ("made-up",))
    files = development_set("made-up", data_dir, tmp_path / "one")
    for file in files.values():
        rows = rows_of(file)
        assert len(rows) == 20 and sum(row["text"].count("film") for row in rows) == 30
        for row in rows:
            told = {"positive" if "good" in part else "negative" for part in row["text"].split("film")[:-1]}
            assert json.loads(row["label"]) == sorted(told)


def test_a_study_is_run_and_its_table_written(data_dir, tmp_path, monkeypatch, capsys):
    """The packaged model, two steps and no more than that."""
    monkeypatch.setattr(study, "SETS", development.SETS)
    arguments = ["study.py", "recipe", "--data-dir", data_dir, "--output", tmp_path / "runs", "--results",
                 tmp_path / "results", "--sets", "made-up", "--sizes", "8", "--seeds", "0", "1", "--variants",
                 "mean, half the steps", "mean"]  # fmt: skip
    monkeypatch.setattr("sys.argv", [str(argument) for argument in arguments])
    for name, factor in (("mean", 0.2), ("mean, half the steps", 0.1)):
        monkeypatch.setitem(STUDIES["recipe"].variants, name, {"method": "plain", "steps_factor": factor})
    study.main()
    assert "Which recipe is best with few labels?" in capsys.readouterr().out
    rows = [row for row in rows_of(tmp_path / "results" / "recipe.csv") if float(row["text_passes"] or 0)]
    assert [(row["method"], row["seed"]) for row in rows] == list(product(["mean, half the steps", "mean"], "01"))
    assert float(rows[2]["text_passes"]) > float(rows[0]["text_passes"])  # steps of their own are no equal budget


def test_a_study_measures_what_it_names(data_dir, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "SETS", development.SETS)
    arguments = ["study.py", "methods", "--data-dir", data_dir, "--output", tmp_path / "runs", "--results",
                 tmp_path / "results", "--sets", "made-up", "--sizes", "8", "--seeds", "0", "1", "--variants",
                 "plain", "embedmix", "--references", "tf-idf"]  # fmt: skip
    monkeypatch.setattr("sys.argv", [str(argument) for argument in arguments])
    monkeypatch.setitem(STUDIES, "methods", replace(STUDIES["methods"], settings={"steps": 2}, foreign="made-up"))
    study.main()
    rows = rows_of(tmp_path / "results" / "methods.csv")
    assert {row["method"] for row in rows} == {"plain", "embedmix", "tf-idf"}
    # The foreign texts are the test rows themselves: they cannot be told from them.
    trained = [row for row in rows if row["method"] != "tf-idf"]  # a reference has no model that is measured
    assert [float(row["foreign_auroc"]) for row in trained] == pytest.approx([50] * 4)
    assert all(0 <= float(row["accuracy_typos"]) <= 100 for row in trained)


def test_a_set_of_some_classes_has_the_first_ones_of_its_folder(data_dir, monkeypatch):
    monkeypatch.setattr(development, "CLASSES", {"made-up": 1})
    rows = development.training_rows("made-up", data_dir)
    assert {row["label"] for row in rows} == {"negative"} and len(rows) == 60
