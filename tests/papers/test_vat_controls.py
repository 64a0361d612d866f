"""VAT against its controls: which trainings are made, what the validation rows choose, and what is printed."""

from dataclasses import replace

import numpy as np
import pytest
from made import PLAIN, lines_of, rows, write

from salience.papers.attention_classifiers import building as attention_models
from salience.papers.vat import controls
from salience.papers.vat.controls import METHODS, TABLE, TRAININGS, WITHOUT_0, Cell, Iterations, chosen, judged


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A set in the place of SST-2, short trainings, and word vectors from a file in the place of GloVe's."""
    own = [row for row in rows(150, seed=1) if row["label"] in ("negative", "positive")]
    for part, chosen_rows in (("train", own[:40]), ("dev", own[40:50]), ("test", own[50:])):
        write(tmp_path / "sst2", part, [{"text": row["text"], "label": row["label"]} for row in chosen_rows])
    file = tmp_path / "vectors.txt"
    file.write_text(f"{PLAIN[0]} 1 2 3 4\n{PLAIN[1]} -1 2 -3 4\n")
    monkeypatch.setattr(
        attention_models, "glove_vectors", lambda known: attention_models.read_word_vectors(file, known)
    )
    monkeypatch.setattr(controls, "EPOCHS", 2)
    monkeypatch.setattr(controls, "BATCH", 8)
    return tmp_path


LONG = ("turns without compressor", "VAT")


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=pytest.mark.whole) if name in LONG else name for name in TRAININGS]
)
def test_each_training_reports_its_iterations(method, folder):
    row = TABLE.row(Cell("sst2", method, "glove", 0), folder)
    turns = TRAININGS[method].turns
    assert [each["beta"] for each in row["trainings"]] == [own.get("beta") for own in turns]
    for each, own in zip(row["trainings"], turns, strict=True):
        assert len(each["test"]) == len(each["validation"]) == own.get("iterations", 0) + 1
        assert all(0 <= value <= 1 for value in each["test"])
    assert row["accuracy"] in [value for each in row["trainings"] for value in each["test"]]
    assert row["training_rows"] == 40


@pytest.mark.whole
def test_the_control_begins_as_vat(folder):
    """Both begin with the same iteration 0, so that only the turns tell them apart. It is what ATT is judged by."""
    found = [TABLE.row(Cell("sst2", method, "glove", 3), folder) for method in ("turns without compressor", "VAT")]
    first = {(each["test"][0], each["validation"][0]) for row in found for each in row["trainings"]}
    assert len(first) == 1
    own = [each["accuracy"] for row in found for each in judged(row) if each["method"] == "ATT"]
    assert own == [found[0]["trainings"][0]["test"][0]]


def test_the_control_has_as_many_turns_to_choose_from_as_vat():
    turns = {name: sum(own["iterations"] for own in TRAININGS[name].turns) for name in TRAININGS if name != "base"}
    assert turns["turns without compressor"] == turns["VAT"] == 9
    assert TRAININGS["turns without compressor"].turns[0]["compressor"] == "none"


@pytest.mark.whole
def test_later_checkpoints_are_those_of_att(folder, monkeypatch):
    """With its rule of selection, the training is iteration 0 of the turns."""
    name = "ATT, later checkpoints"
    monkeypatch.setitem(TRAININGS, name, replace(TRAININGS[name], selection="accuracy"))
    (own,), (turns, *_) = (
        TABLE.row(Cell("sst2", method, "glove", 3), folder)["trainings"] for method in (name, "VAT")
    )
    assert (own["test"], own["validation"]) == (turns["test"][:1], turns["validation"][:1])


def test_the_validation_rows_choose_training_and_iteration():
    trainings = [Iterations(0.1, [0.7, 0.9, 0.8], [0.1, 0.2, 0.3]), Iterations(1.0, [0.95, 0.6, 0.9], [0.4, 0.5, 0.6])]
    assert chosen(trainings) == 0.4
    assert chosen(trainings, earliest=1) == 0.2  # of equals the first
    assert chosen(trainings, earliest=2) == 0.6
    assert chosen([Iterations(None, [None], [0.25])]) == 0.25


def test_methods_of_the_table_are_those_that_are_judged():
    found = []
    for method, training in TRAININGS.items():
        length = training.turns[0].get("iterations", 0) + 1
        iterations = [vars(Iterations(None, [0.5] * length, [0.5] * length))]
        row = {
            "set": "trec",
            "method": method,
            "vectors": "glove",
            "seed": 0,
            "accuracy": 0.5,
            "trainings": iterations,
        }
        found += [each["method"] for each in judged(row)]
    assert sorted(found) == sorted(METHODS)


def test_every_cell_once():
    cells = TABLE.plan(("trec", "mr"), (0, 1))
    assert len(cells) == 2 * 2 * (2 * len(TRAININGS) + 1)
    assert [cell.method for cell in cells if cell.vectors == "minilm"] == ["base"] * 4


def test_the_printed_numbers_are_counted_again():
    def row(method, seed, *accuracies):
        trainings = [vars(Iterations(None if len(accuracies) == 1 else 0.01, [*accuracies], [*accuracies]))]
        return {
            "set": "trec", "method": method, "vectors": "glove", "seed": seed, "accuracy": max(accuracies),
            "trainings": trainings,
        }  # fmt: skip

    made = [row("turns without compressor", seed, 0.8 + 0.01 * seed, 0.83) for seed in range(3)]
    made += [row("VAT", seed, 0.8 + 0.01 * seed, 0.85, 0.9 + 0.001 * seed, 0.84) for seed in range(3)]
    text = controls.report(made)
    gains = 100 * (np.array([0.9, 0.901, 0.902]) - np.array([0.8, 0.81, 0.82]))
    (claim,) = lines_of(text, "VAT is better than ATT")
    assert claim[1] == "+1.80" and claim[2].startswith(f"{gains.mean():+.2f}") and claim[4] == "gain"
    assert lines_of(text, "ATT")[0][1].startswith("81.00 ± 1.00")
    assert lines_of(text, "turns without compressor" + WITHOUT_0)[0][1].startswith("83.00 ± 0.00")
    assert lines_of(text, "trec", "glove", "VAT", "0.01") == [
        ["trec", "glove", "VAT", "0.01", "81.00 (81.00)", "85.00 (85.00)", "90.10 (90.10)", "84.00 (84.00)"]
    ]
    (shorter,) = lines_of(text, "trec", "glove", "turns without compressor")
    assert shorter[4:] == ["81.00 (81.00)", "83.00 (83.00)", "", ""]
    assert not lines_of(text, "ATT is better than base")
