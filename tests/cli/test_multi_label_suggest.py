"""`salience suggest` for texts with several labels: lists of predicted labels, columns that a person can fill in."""

import csv
import json

import pytest

import salience as library
from labelled import WORDS, rows_of_several, write_csv

TRAINED = {text for text, _ in [*rows_of_several(60, 0), *rows_of_several(24, 1)]}
NEW = [text for text, _ in rows_of_several(40, 7) if text not in TRAINED]
NAMES = sorted(WORDS)


@pytest.fixture
def pool(tmp_path):
    return write_csv(tmp_path / "pool.csv", [(text,) for text in NEW], ["text"])


def test_the_rows_are_those_of_the_function(several_run, pool, salience, tmp_path):
    """In csv the predicted labels are JSON, in jsonl a list; the rows and labels are the same."""
    classifier = library.load(several_run, device="cpu")
    trained_on = [text for text, _ in rows_of_several(60, 0)]
    expected = library.suggest(classifier, NEW, 6, trained_on, seed=2)
    assert [each.probability for each in expected] == [None] * 6
    assert [list(each.label) for each in expected] == classifier.predict([NEW[each.place] for each in expected])
    asked = ["suggest", several_run, pool, "--count", "6", "--seed", "2", "--device", "cpu", "--output"]
    found = {}
    for suffix in ("csv", "jsonl"):
        answer = salience(*asked, tmp_path / f"next.{suffix}")
        assert answer.code == 0, answer.err
        assert "probabilities" not in answer.err
        assert f'next: fill in "label", such as {json.dumps(NAMES[:2])}, and add these rows' in answer.err
        lines = (tmp_path / f"next.{suffix}").read_text(encoding="utf-8").splitlines()
        found[suffix] = list(csv.DictReader(lines)) if suffix == "csv" else [json.loads(line) for line in lines]
    assert list(found["csv"][0]) == list(found["jsonl"][0]) == ["text", "rank", "predicted", "label"]
    for one, other, suggestion in zip(found["csv"], found["jsonl"], expected, strict=True):
        assert one["text"] == other["text"] == NEW[suggestion.place]
        assert json.loads(one["predicted"]) == other["predicted"] == list(suggestion.label)
    shown = salience(*asked[:-1]).err
    for label in NAMES:
        number = sum(label in each.label for each in expected)
        assert (f'"{label}" {number}' in shown) == (number > 0)


@pytest.mark.whole
@pytest.mark.parametrize("kind", ["separator", "columns"])
def test_the_filled_file_is_trained_on(kind, several_files, pool, place, salience, tmp_path):
    """The way of a person, with labels that a separator divides, and with a column of 0 and 1 for each."""
    with several_files[0].open(newline="", encoding="utf-8") as opened:
        rows = [(row["text"], json.loads(row["label"])) for row in csv.DictReader(opened)]
    if kind == "separator":
        rows = [(text, labels) for text, labels in rows if labels]  # an empty cell is a missing value
        header, options, how = ["text", "label"], ["--label-separator", "|"], f'"label", such as {NAMES[0]}|{NAMES[1]}'
        written = [(text, "|".join(labels)) for text, labels in rows]
    else:
        header, options = ["text", *NAMES], ["--label", ",".join(NAMES)]
        how = f"{', '.join(json.dumps(name) for name in NAMES)} with 0 and 1"
        written = [(text, *(int(name in labels) for name in NAMES)) for text, labels in rows]
    data, output = write_csv(tmp_path / "data.csv", written, header), tmp_path / "next.csv"
    train = [*options, "--estimate", "none", "--steps", "2", "--output"]
    assert salience(*place.train(*train, tmp_path / "first", data=data)).code == 0
    answer = salience("suggest", tmp_path / "first", pool, "--count", "9", "--output", output)
    assert answer.code == 0 and how in answer.err, answer.err
    with output.open(newline="", encoding="utf-8") as opened:
        chosen = list(csv.DictReader(opened))
    assert all(row[name] == "" for row in chosen for name in header[1:])
    labels = {text: json.loads(several) for text, several in rows_of_several(40, 7)}
    filled = [
        (row["text"], "|".join(labels[row["text"]] or NAMES)) if kind == "separator"
        else (row["text"], *(int(name in labels[row["text"]]) for name in NAMES))
        for row in chosen
    ]  # fmt: skip
    together = write_csv(tmp_path / "together.csv", [*written, *filled], header)
    answer = salience(*place.train(*train, tmp_path / "second", data=together))
    assert answer.code == 0, answer.err


def test_columns_of_labels_in_the_pool_are_kept(several_run, salience, tmp_path):
    pool = write_csv(tmp_path / "marked.csv", [(text, f"x{n}") for n, text in enumerate(NEW)], ("text", "label"))
    answer = salience("suggest", several_run, pool, "--count", "4")
    assert answer.code == 0, answer.err
    assert f'{pool}: the column "label" is ignored and kept as it is' in answer.err
    for row in csv.DictReader(answer.out.splitlines()):
        assert row["label"] == f"x{NEW.index(row['text'])}"
