"""`salience reproduce`: tiny versions of the papers' tables, run, resumed and printed beside published numbers."""

import gzip
import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from test_bad_input import refused

import families
from salience.papers.attention_classifiers.options import WordRecipe
from salience.papers.mixing_tables import MixingTable
from salience.papers.tables import TABLES
from salience.papers.uaftc import figures as uaftc_figures
from salience.papers.uaftc import synthetic as uaftc_synthetic
from salience.papers.uaftc import table2 as uaftc_table2
from salience.papers.uaftc.synthetic import synthetic
from salience.papers.vat import tables as vat

LABELS = ("negative", "positive")
RESULTS = Path(__file__).parents[2] / "results"
COSTS = {"text_passes": 1.0, "seconds": 1.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """SST-2, tiny: words of a class, words of either, and some as often in one as in the other."""
    folder, draw = tmp_path_factory.mktemp("sets"), np.random.default_rng(0)
    (folder / "sst2").mkdir()
    for part, number in (("train", 70), ("dev", 20), ("test", 20)):
        with gzip.open(folder / "sst2" / f"{part}.jsonl.gz", "wt") as file:
            for row in range(number):
                words = [
                    *draw.choice(["film", "plot", "actor", "scene"], 3),
                    ("awful", "lovely")[row % 2],
                    "the",
                    "of",
                ]
                file.write(json.dumps({"text": " ".join(words), "label": LABELS[row % 2]}) + "\n")
    return folder


def changed(monkeypatch, name, **fields) -> None:
    """Replaces fields of a table until the test ends."""
    table = replace(TABLES[name](), **fields)
    monkeypatch.setitem(TABLES, name, lambda: table)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few runs, few epochs, narrow models."""
    recipe = partial(WordRecipe, epochs=3, batch_size=10, learning_rate=0.1)
    for table in (uaftc_table2, uaftc_figures):
        monkeypatch.setattr(table, "WordRecipe", recipe)
    monkeypatch.setattr(uaftc_table2, "SCALES", (0.001, 10))
    published = {"sst2": ["55.3 79.8", "82.2 81.7"], "imdb-short": ["55.5 87.7", "89.2 87.8"]}
    monkeypatch.setattr(uaftc_table2, "PUBLISHED", published)
    changed(monkeypatch, "uaftc-table2", published=published)
    monkeypatch.setattr(uaftc_table2, "MODELS", {name: uaftc_table2.MODELS[name] for name in ("DP", "DP-L")})
    monkeypatch.setattr(uaftc_synthetic, "synthetic", lambda *numbers, **_: synthetic(40, 40))
    changed(monkeypatch, "uaftc-synthetic", run=partial(uaftc_synthetic.run, epochs=10))
    monkeypatch.setitem(vat.SETUPS, "lstm", replace(vat.SETUPS["lstm"], epochs=1, iterations=1, most=5))
    monkeypatch.setattr(vat, "ENCODERS", ("lstm-random",))
    monkeypatch.setattr(vat, "OF_ONE_DIRECTION", ())
    narrow = {name: replace(vat.PRESETS[name], width=8) for name in ("lstm-base", "lstm-vat")}
    monkeypatch.setattr(vat, "PRESETS", narrow)


@pytest.fixture
def reproduce(salience, folder, tmp_path, monkeypatch):
    """Runs a table in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return lambda table, *options: salience("reproduce", table, "--data-dir", folder, *options)


def rows(file) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_table_is_run_and_printed(reproduce, tmp_path):
    answer = reproduce("uaftc-table2", "--sets", "sst2")
    assert answer.code == 0, answer.err
    stored = rows(tmp_path / "results" / "uaftc-table2.jsonl")
    assert [(row["model"], row["scale"]) for row in stored] == [
        ("DP", 0.001), ("DP", 10), ("DP-L", 0.001), ("DP-L", 10)
    ]  # fmt: skip
    assert all(row["published"] < 1 and row["epochs"] == 3 and "torch" in row["versions"] for row in stored)
    ours = [f"{100 * row['accuracy']:.1f}" for row in stored]
    assert f"set sst2, model DP-L, scale 0.001, seed 0: {ours[2]}" in answer.out
    assert f"| 0.001 | {ours[0]} (55.3) | {ours[2]} (79.8) |" in answer.out
    assert f"| 10 | {ours[1]} (82.2) | {ours[3]} (81.7) |" in answer.out


def test_a_kept_table_is_drawn(reproduce, tmp_path, monkeypatch):
    changed(monkeypatch, "uaftc-table2", run=lambda cell, data_dir: {"accuracy": 0.5, "published": 0.5})
    monkeypatch.setattr("salience.papers.table.SOURCES", {})  # no set is read
    answer = reproduce("uaftc-table2", "--sets", "sst2,imdb-short", "--pictures", tmp_path / "pictures")
    assert answer.code == 0, answer.err
    assert "scales-sst2, scales-imdb-short, each as png and svg" in answer.out
    assert {file.name for file in (tmp_path / "pictures").iterdir()} == {
        f"scales-{name}.{kind}" for name in ("sst2", "imdb-short") for kind in ("png", "svg")
    }


def test_seeds_begin_at_0(reproduce):
    refused(reproduce("vat", "--seeds", "0,-1"), "--seeds 0,-1: seeds begin at 0")


def test_pictures_that_cannot_be_drawn_are_refused_before_anything_is_run(reproduce, tmp_path, monkeypatch):
    for name in ("dropmix-table5", "uaftc-table2"):
        changed(monkeypatch, name, run=None)
    refused(reproduce("dropmix-table5", "--sets", "sst2", "--pictures", tmp_path / "none"),
            "--pictures: dropmix-table5 does not take it; these tables do: uaftc-table2")  # fmt: skip
    assert not (tmp_path / "none").exists()
    (tmp_path / "a file").write_text("")
    for place in ("a file", "a file/below"):
        refused(reproduce("uaftc-table2", "--sets", "sst2", "--pictures", tmp_path / place),
                "a file", "where a folder is needed: choose another place")  # fmt: skip


def test_numbers_of_rows(reproduce, tmp_path, monkeypatch):
    monkeypatch.setattr(MixingTable, "run", lambda self, cell, data_dir: {"accuracy": 0.5, "text_passes": cell.rows})
    file = tmp_path / "table.jsonl"
    answer = reproduce("ssmix-table2", "--sets", "sst2", "--rows", "30,20", "--results", file)
    assert answer.code == 0, answer.err
    assert {row["rows"] for row in rows(file)} == {20, 30}
    assert "Difference from no mixup in points, 20 training rows" in answer.out
    assert "500 training rows" not in answer.out


@pytest.mark.whole
def test_another_encoder(reproduce, tmp_path, monkeypatch):
    monkeypatch.setattr(MixingTable, "run", lambda self, cell, data_dir: {"accuracy": 0.5, "text_passes": cell.rows})
    other, file = families.save_tiny_model(tmp_path / "other", ["a text"]), tmp_path / "table.jsonl"
    answer = reproduce("ssmix-table2", "--sets", "sst2", "--model", other, "--results", file)
    assert answer.code == 0, answer.err
    assert {row["model"] for row in rows(file)} == {str(other)} and f"Encoder: {other}" in answer.out
    again = reproduce("ssmix-table2", "--sets", "sst2", "--results", file)
    assert again.code == 0 and {row["model"] for row in rows(file)} == {str(other), "minilm"}
    refused(reproduce("ssmix-table2", "--sets", "sst2", "--model", tmp_path / "none"), "none")
    refused(reproduce("vat", "--model", other), "--model: vat does not take it; these tables do: ")


@pytest.fixture
def results(tmp_path):
    """A folder with the runs of SSMix's table that the repository has."""
    (tmp_path / "results").mkdir()
    shutil.copy(RESULTS / "ssmix-table2.jsonl", tmp_path / "results")
    return tmp_path / "results"


def test_claims_are_printed_from_the_runs_of_the_tables(salience, results, monkeypatch):
    """Without data nothing is run, and no file is written."""
    monkeypatch.chdir(results.parent)
    answer = salience("reproduce", "claims", "--sets", "rte,mrpc", "--rows", "200", "--seeds", "0,1,2,3")
    assert answer.code == 0, answer.err
    assert "| SSMix is better than EmbedMix | Table 2 | -0.02 | -0.17 [" in answer.out
    # A draw of a set has 15 trainings: 7 of DropMix, of which none is there, and 8 of which three draws of four are.
    assert answer.out.splitlines()[-1] == "results/claims.jsonl lacks 72 of 120 runs"
    assert [file.name for file in results.iterdir()] == ["ssmix-table2.jsonl"]
    refused(salience("reproduce", "claims", "--part", "1/2"),
            "--part has no effect without --data-dir, as claims then runs nothing")  # fmt: skip


def test_claims_are_run_in_the_order_of_what_they_decide(reproduce, results, monkeypatch):
    monkeypatch.setattr(MixingTable, "run", lambda self, cell, data_dir: {"accuracy": 0.5, **COSTS})
    monkeypatch.setattr("salience.papers.table.SOURCES", {})  # no set is read
    table = TABLES["claims"]().resized([200])
    before = table.results(results / "claims.jsonl").rows()
    asked = ("claims", "--sets", "sst2,mr", "--rows", "200", "--seeds", "0,3,4")
    answer = reproduce(*asked)
    assert answer.code == 0, answer.err
    known = {(row["set"], row["method"], row["rows"], row["seed"]) for row in before}
    expected = [
        cell for cell in table.ordered(table.plan(["sst2", "mr"], [0, 3, 4]), before)
        if (cell.set, cell.method, cell.rows, cell.seed) not in known
    ]  # fmt: skip
    made = [(row["set"], row["method"], row["seed"]) for row in rows(results / "claims.jsonl")]
    assert made == [(cell.set, cell.method, cell.seed) for cell in expected]
    assert ("sst2", "plain", 0) not in made and made[0] == ("sst2", "SSMix: TMix", 3)
    again = reproduce(*asked)
    assert again.code == 0 and len(rows(results / "claims.jsonl")) == len(made)
    (results / "claims.jsonl").unlink()
    for part in ("1/2", "2/2"):  # whose order follows what has run, and which are the same parts nevertheless
        assert reproduce(*asked, "--part", part).code == 0
    in_parts = [(row["set"], row["method"], row["seed"]) for row in rows(results / "claims.jsonl")]
    assert sorted(in_parts) == sorted(made) and in_parts[0] in made[:2]


def test_a_method_is_compared_with_plain_training(reproduce, results, monkeypatch):
    monkeypatch.setattr(MixingTable, "run", lambda self, cell, data_dir: {"accuracy": 0.9, **COSTS})
    monkeypatch.setattr("salience.papers.table.SOURCES", {})
    answer = reproduce("claims", "--method", "tmix:alpha=0.3", "--sets", "sst2", "--rows", "200", "--seeds", "0,1")
    assert answer.code == 0, answer.err
    assert [row["method"] for row in rows(results / "claims.jsonl")] == ["tmix:alpha=0.3"] * 2  # plain has run
    assert "| tmix:alpha=0.3 is better than training without mixing | not in the paper |" in answer.out
    refused(reproduce("claims", "--method", "tmixx"), 'unknown method "tmixx"')
    refused(reproduce("vat", "--method", "tmix"), "--method: vat does not take it; these tables do: claims")


def test_it_goes_on_where_it_was(reproduce, tmp_path, monkeypatch):
    """After a kill in the middle of the last line; what is kept is not run again."""
    file = tmp_path / "mine" / "table.jsonl"
    assert reproduce("uaftc-table2", "--sets", "sst2", "--results", file).code == 0
    whole = file.read_text()
    file.write_text(whole[: whole.rindex("\n", 0, -1) + 30])
    ran, run = [], TABLES["uaftc-table2"]().run

    def watched(cell, data_dir):
        ran.append(cell)
        return run(cell, data_dir)

    changed(monkeypatch, "uaftc-table2", run=watched)
    answer = reproduce("uaftc-table2", "--sets", "sst2", "--results", file)
    assert answer.code == 0, answer.err
    assert [(cell.model, cell.scale) for cell in ran] == [("DP-L", 10)]
    again, before = rows(file), [json.loads(line) for line in whole.splitlines()]
    assert [row["accuracy"] for row in again] == [row["accuracy"] for row in before]  # the same seed is the same run
    assert answer.out.count("\nset sst2") + answer.out.startswith("set sst2") == 1


def test_parts_and_seeds(reproduce, tmp_path, monkeypatch):
    changed(monkeypatch, "uaftc-table2", run=lambda cell, data_dir: {"accuracy": 0.5, "published": 0.5})
    for part in ("1/2", "2/2"):
        answer = reproduce("uaftc-table2", "--sets", "sst2", "--seeds", "0,1", "--part", part, "--results",
                           f"{part[0]}.jsonl")  # fmt: skip
        assert answer.code == 0, answer.err
    parts = [
        {(row["model"], row["scale"], row["seed"]) for row in rows(tmp_path / f"{part}.jsonl")} for part in (1, 2)
    ]
    assert len(parts[0]) == len(parts[1]) == 4 and not parts[0] & parts[1]
    assert not (tmp_path / "results").exists()


def test_a_task_of_a_slurm_array_makes_its_part(reproduce, tmp_path, monkeypatch):
    changed(monkeypatch, "uaftc-table2", run=lambda cell, data_dir: {"accuracy": 0.5, "published": 0.5})
    for name, value in {"MIN": "0", "MAX": "1", "COUNT": "2", "STEP": "1"}.items():
        monkeypatch.setenv(f"SLURM_ARRAY_TASK_{name}", value)
    for task in ("0", "1"):
        monkeypatch.setenv("SLURM_ARRAY_TASK_ID", task)
        answer = reproduce("uaftc-table2", "--sets", "sst2", "--seeds", "0,1", "--results", f"{task}.jsonl")
        assert answer.code == 0 and f"part {int(task) + 1} of 2: task {task} of a Slurm array" in answer.out
    parts = [
        {(row["model"], row["scale"], row["seed"]) for row in rows(tmp_path / f"{task}.jsonl")} for task in (0, 1)
    ]
    assert len(parts[0]) == len(parts[1]) and not parts[0] & parts[1]


def test_vat(reproduce, tmp_path):
    answer = reproduce("vat", "--sets", "sst2", "--seeds", "0,1")
    assert answer.code == 0, answer.err
    stored = rows(tmp_path / "results" / "vat.jsonl")
    assert [(row["encoder"], row["seed"]) for row in stored] == [("lstm-random", 0), ("lstm-random", 1)]
    assert "| sst2 | lstm-random | 2 |" in answer.out and "| 85.5 84.7 86.2 |" in answer.out
    assert all(row["accuracy"] == row["test"][row["chosen"]] for row in stored)


def test_figures(reproduce):
    answer = reproduce("uaftc-figures", "--sets", "sst2,sst2-additive")
    assert answer.code == 0, answer.err
    assert "| sst2 | 1 | neutral | " in answer.out and "| sst2-additive | 1 | neutral | " in answer.out
    assert "| imdb |" not in answer.out


def test_made_up_texts_need_no_data(salience, tmp_path):
    file = tmp_path / "table.jsonl"
    answer = salience("reproduce", "uaftc-synthetic", "--sets", "data-1", "--results", file)
    assert answer.code == 0, answer.err
    assert "| data-1 | 1 |" in answer.out
    assert [row["epoch"] for row in rows(file)[0]["trajectory"]] == [0, 10]


# ----------------------------------------------------------------------------------------------------- what is refused

BAD = {  # the table, the options, and what the line says
    "an unknown table": ("uaftc-tabel2", [], ['unknown table "uaftc-tabel2"', 'Did you mean "uaftc-table2"?']),
    "an unknown set": ("vat", ["--sets", "sst2,sst3"], ['unknown data set of vat: "sst3"', "Did you mean"]),
    "a set that is not there": ("vat", ["--sets", "ag_news"], ["no data set at", "ag_news/train.jsonl.gz"]),
    "no seed": ("vat", ["--seeds", "one"], ["'one' are no numbers; write --seeds 0,1,2"]),
    "no rows": ("ssmix-table2", ["--rows", "few"], ["'few' are no numbers; write --rows 200,500"]),
    "a training set of nothing": ("ssmix-table2", ["--rows", "0"], ["--rows 0: a training set has at least one row"]),
    "rows of another table": ("vat", ["--rows", "20"], ["--rows: vat does not take it", "ssmix-table2"]),
    "no part": ("vat", ["--part", "half"], ["--part half: write K/N"]),
    "half a part": ("vat", ["--part", "1"], ["--part 1/2"]),
    "a part of nothing": ("vat", ["--part", "1/0"], ["--part 1/2"]),
    "a part beyond the last": ("vat", ["--part", "3/2"], ["--part 1/2"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options_are_one_line(case, reproduce, tmp_path):
    table, options, parts = BAD[case]
    refused(reproduce(table, *options), *parts)
    assert not list(tmp_path.rglob("*.jsonl"))


def test_without_a_hub_a_folder_is_named(salience, tmp_path, monkeypatch):
    def fail(*names, **settings):
        raise ConnectionError("no way there")

    monkeypatch.setattr("datasets.load_dataset", fail)
    answer = salience("reproduce", "vat", "--sets", "trec", "--results", tmp_path / "table.jsonl")
    refused(answer, "SetFit/TREC-QC", "no way there; --data-dir names a folder with trec/train.jsonl.gz in it")
    assert not list(tmp_path.iterdir())


def test_rows_of_another_layout(salience, tmp_path):
    """Labels as numbers, as they often are."""
    (tmp_path / "sst2").mkdir()
    for part in ("train", "test"):
        with gzip.open(tmp_path / "sst2" / f"{part}.jsonl.gz", "wt") as file:
            file.write('{"text": "a lovely film", "label": 1}\n' * 3)
    answer = salience("reproduce", "vat", "--sets", "sst2", "--data-dir", tmp_path, "--results", tmp_path / "t.jsonl")
    refused(answer, "sst2/train.jsonl.gz", "positive")


def test_every_table_is_listed(salience):
    answer = salience("reproduce", "--list-tables")
    assert answer.code == 0 and {*TABLES} <= {*answer.out.split()}
