"""`salience suggest`: the rows whose labels are worth most, with all columns, ready for a person."""

import csv
import json
from collections import Counter

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from test_bad_input import refused
from transformers import AutoModel, AutoTokenizer

from labelled import WORDS, labelled_rows, write_csv
from salience.classify import load
from salience.cli.suggest import skew
from salience.errors import InputError
from salience.explainers.explain import explain
from salience.suggestions import DEFAULT, STRATEGIES, suggest

TRAINED = [text for text, _ in labelled_rows(60)]
TESTED = [text for text, _ in labelled_rows(30, seed=1)]
NEW = [text for text, _ in labelled_rows(40, seed=5) if text not in {*TRAINED, *TESTED}]
assert len(NEW) > 30


@pytest.fixture
def pool(tmp_path):
    """New texts among those that are to be left out."""
    texts = [TRAINED[0], *NEW, f" {TESTED[0]} ", "", "  ", NEW[3], f"{NEW[4]} "]
    return write_csv(tmp_path / "pool.csv", list(enumerate(texts, 1)), ("id", "text"))


def read(file) -> list[dict]:
    if file.suffix == ".csv":
        with file.open(newline="", encoding="utf-8") as opened:
            return list(csv.DictReader(opened))
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return pyarrow.parquet.read_table(file).to_pylist()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_rows_are_those_of_the_function(strategy, place, salience, tmp_path):
    """From a file with other rows in it; and what the classifier says of each row. The model is of no run."""
    numbered = list(enumerate([" ", *NEW, NEW[3], f"{NEW[4]} "], 1))
    pool = write_csv(tmp_path / "pool.csv", numbered, ("id", "text"))
    output = tmp_path / "next.csv"
    answer = salience(
        "suggest", place.model, pool, "--count", "7", "--strategy", strategy, "--output", output, "--seed", "3"
    )
    assert answer.code == 0, answer.err
    assert "does not say which texts it was trained on" in answer.err
    rows = read(output)
    classifier = load(place.model)
    expected = suggest(classifier, NEW, 7, strategy=strategy, seed=3)
    assert [row["text"] for row in rows] == [NEW[each.place] for each in expected]
    assert [row["id"] for row in rows] == [str(each.place + 2) for each in expected]
    assert [int(row["rank"]) for row in rows] == list(range(1, 8))
    assert [row["predicted"] for row in rows] == classifier.predict([row["text"] for row in rows])
    found = classifier.predict_proba([row["text"] for row in rows]).max(1)
    assert np.allclose([float(row["probability"]) for row in rows], found, atol=1e-5)
    assert list(rows[0]) == ["id", "text", "rank", "predicted", "probability", "label"]
    assert {row["label"] for row in rows} == {""}


def test_what_is_left_out_is_counted(run, pool, salience):
    answer = salience("suggest", run, pool, "--count", "1000")
    assert answer.code == 0, answer.err
    rows = list(csv.DictReader(answer.out.splitlines()))
    assert sorted(row["text"] for row in rows) == sorted(NEW)
    assert f"{len(NEW)} texts to choose from; left out: 2 labelled already, 2 without a text, 2 repeated" in answer.err
    assert f"{len(NEW)} texts suggested by {DEFAULT}" in answer.err
    assert 'fill in "label"' in answer.err


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_columns_keep_their_types(suffix, run, salience, tmp_path):
    pool, output = tmp_path / "pool.parquet", tmp_path / f"next{suffix}"
    table = {"id": list(range(len(NEW))), "text": NEW, "tags": [["a", "b"]] * len(NEW)}
    pyarrow.parquet.write_table(pyarrow.table(table), pool)
    answer = salience("suggest", run, pool, "--count", "3", "--output", output)
    assert answer.code == 0, answer.err
    for rank, row in enumerate(read(output), 1):
        assert NEW[row["id"]] == row["text"] and row["tags"] == ["a", "b"]
        assert row["rank"] == rank and isinstance(row["probability"], float) and row["label"] is None


def test_labels_of_the_pool_are_not_read(run, salience, tmp_path):
    """Nonsense in the column of labels changes nothing, and stays."""
    plain = write_csv(tmp_path / "plain.csv", [(text,) for text in NEW], ("text",))
    marked = write_csv(tmp_path / "marked.csv", [(text, f"x{n}") for n, text in enumerate(NEW)], ("text", "label"))
    found = []
    for pool in (plain, marked):
        answer = salience("suggest", run, pool, "--count", "5")
        assert answer.code == 0, answer.err
        found.append(list(csv.DictReader(answer.out.splitlines())))
    assert f'{pool}: the column "label" is ignored and kept as it is' in answer.err
    assert [row["text"] for row in found[0]] == [row["text"] for row in found[1]]
    assert all(row["label"] == f"x{NEW.index(row['text'])}" for row in found[1])


@pytest.mark.whole
def test_the_filled_file_is_trained_on(run, place, pool, salience, tmp_path):
    """The way of a person: suggest, fill in, train on the rows."""
    output = tmp_path / "next.csv"
    assert salience("suggest", run, pool, "--count", "12", "--output", output).code == 0
    labels = dict(labelled_rows(40, seed=5))
    rows = [row | {"label": labels[row["text"]]} for row in read(output)]
    filled = write_csv(tmp_path / "filled.csv", [row.values() for row in rows], list(rows[0]))
    answer = salience(*place.train("--output", tmp_path / "second", "--estimate", "none", data=filled))
    assert answer.code == 0, answer.err


def test_rows_of_a_part_of_the_training_file_can_be_suggested(place, salience, tmp_path):
    """Trained on 20 rows of a file, whose other rows are the pool."""
    run = tmp_path / "part"
    assert salience(*place.train("--set", "size=20", "--output", run, "--estimate", "none")).code == 0
    answer = salience("suggest", run, place.data, "--count", "1000")
    assert answer.code == 0, answer.err
    assert "left out: 20 labelled already" in answer.err


def test_a_run_whose_data_are_gone(run, place, pool, salience, tmp_path):
    """Nothing can be left out then, and a note says so."""
    data = write_csv(tmp_path / "gone.csv", labelled_rows(60))
    other = tmp_path / "run"
    assert salience(*place.train("--output", other, "--estimate", "none", data=data)).code == 0
    data.unlink()
    answer = salience("suggest", other, pool, "--count", "2")
    assert answer.code == 0 and "cannot be read, so they may be among the suggestions" in answer.err


def test_the_list_of_strategies(salience):
    answer = salience("suggest", "--list-strategies")
    assert answer.code == 0
    assert [line.split()[0] for line in answer.out.splitlines() if not line.startswith(" ")] == list(STRATEGIES)


def test_what_is_refused(run, place, pool, salience, tmp_path):
    cases = {
        ("--strategy", "margni"): "unknown strategy",
        ("--count", "0"): "--count is 0: give the number of texts to suggest, at least 1",
        ("--window", "0"): "--window must be at least 1, not 0",
        ("--output", tmp_path / "next.txt"): "suffix",
        ("--output", pool): "exists",
        ("--output", pool, "--overwrite"): "is what is read, and is not replaced: choose another --output",
        ("--safe-csv", "--output", tmp_path / "next.jsonl"): "--safe-csv is about csv files",
        ("--text", "words"): 'no column "words"',
    }
    for options, message in cases.items():
        refused(salience("suggest", run, pool, *options), message)
    taken = write_csv(tmp_path / "taken.csv", [(text, 1) for text in NEW], ("text", "rank"))
    refused(salience("suggest", run, taken), '"rank" would be the name of two columns', "--prefix")
    assert salience("suggest", run, taken, "--prefix", "new_").code == 0
    answer = salience("suggest", run, place.data)
    assert answer.code == 2 and "no text is left to label (60 labelled already)" in answer.err


def test_an_encoder_chooses_where_nothing_is_labelled(place, pool, salience, tmp_path):
    """By its vectors alone: no label is predicted, and none of a strategy that reads probabilities."""
    encoder, output = tmp_path / "encoder", tmp_path / "next.csv"
    AutoModel.from_pretrained(place.model).save_pretrained(encoder)
    AutoTokenizer.from_pretrained(place.model).save_pretrained(encoder)
    answer = salience("suggest", encoder, pool, "--count", "6", "--output", output)
    assert answer.code == 0, answer.err
    assert "predicted" not in answer.err and "trained on" not in answer.err
    rows = read(output)
    assert list(rows[0]) == ["id", "text", "rank", "label"]
    texts = [TRAINED[0], *NEW, TESTED[0]]
    expected = suggest(str(encoder), texts, 6)
    assert [row["text"].strip() for row in rows] == [texts[each.place] for each in expected]
    assert {(each.label, each.probability) for each in expected} == {((), None)}
    assert suggest(str(place.model), texts, 6) == suggest(load(place.model), texts, 6)
    with pytest.raises(InputError, match=r"is the name of a model: load it first, as salience.load\("):
        explain(str(place.model), texts)
    for strategy in ("margin", "balanced"):
        refused(salience("suggest", encoder, pool, "--strategy", strategy), "an encoder gives no probabilities")


def test_a_classifier_from_descriptions_chooses_as_many_of_each_label(place, pool, salience, tmp_path):
    labels, folder, output = tmp_path / "labels.yaml", tmp_path / "described", tmp_path / "next.csv"
    labels.write_text("".join(f"{label}: [{words!r}]\n" for label, words in WORDS.items()), encoding="utf-8")
    assert salience("describe", labels, "--model", place.model, "--output", folder, "--device", "cpu").code == 0
    answer = salience("suggest", folder, pool, "--count", "6", "--output", output)
    assert answer.code == 0 and "suggested by balanced" in answer.err and "trained on" not in answer.err
    available = Counter(load(folder).predict([TRAINED[0], *NEW, TESTED[0]]))
    chosen = Counter(row["predicted"] for row in read(output))
    left = {label: available[label] - number for label, number in chosen.items()}
    assert chosen.total() == 6 and len(chosen) == len(available)
    assert max(chosen.values()) - min(number for label, number in chosen.items() if left[label]) <= 1


def test_a_skewed_choice_is_said():
    assert skew({"a": 4, "b": 3, "c": 3}, ["a", "b", "c"], 10) == ""
    assert skew({"a": 5}, ["a", "b", "c"], 5) == ""  # too few to say
    most, none = "8 of 10 texts have the same predicted label", 'none has "d"'
    assert skew({"a": 8, "b": 1, "c": 1}, [*"abcd"], 10).startswith(f"skewed: {most}; {none};")
    assert skew({"a": 7, "b": 2, "c": 1}, [*"abcd"], 10).startswith(f"skewed: {none};")
    assert skew({"a": 8, "b": 1, "c": 0, "d": 1}, [*"abcd"], 10).startswith(f"skewed: {most};")
