"""Rows in several files: they train one model, and the folder of the run, and all that reads it, know every file."""

import json

import pytest
import yaml
from test_bad_input import refused

from labelled import labelled_rows, write_csv
from salience.data.task import read_parts
from salience.suggestions.files import texts_of_run


@pytest.fixture
def files(tmp_path):
    """Half of the rows each; the second file has the columns in another order, and one more."""
    rows = labelled_rows(60)
    return [
        write_csv(tmp_path / "a.csv", rows[:30]),
        write_csv(tmp_path / "b.csv", [(label, text, "x") for text, label in rows[30:]], ("label", "text", "source")),
    ]


def test_a_run_knows_all_of_its_files(files, place, salience, reported, tmp_path):
    one, other = files
    output = tmp_path / "run"
    command = [*place.train("--estimate", "folds:2", "--output", output, data=one), other]
    answer = salience(*command)
    assert answer.code == 0, answer.err
    assert 'b.csv: further columns are left out: "source"' in answer.out + answer.err
    recipe = yaml.safe_load((output / "recipe.yaml").read_text())
    assert recipe["data"] == [str(one), str(other)] and {*recipe["checksums"]} == {str(one), str(other)}
    rows = [json.loads(line) for line in (output / "out_of_fold.jsonl").read_text().splitlines()]
    assert sorted((row["file"], row["row"]) for row in rows) == [
        (str(file), n) for file in files for n in range(1, 31)
    ]
    assert {row["text"] for row in rows} == {text for text, _ in labelled_rows(60)}
    assert "60 rows of `a.csv`, `b.csv`" in (output / "README.md").read_text()
    assert ">a.csv, b.csv: 60 rows, 3 classes<" in (output / "report.html").read_text()
    known, _, note = texts_of_run(output)
    assert note is None and known == {(text,) for text, _ in labelled_rows(60)}
    tested = salience("test", output, place.data, "--device", "cpu")  # which reads the training rows again
    assert "60 of the 60 test rows are in the training rows too" in tested.err, tested.err
    again = salience("train", "--config", output / "recipe.yaml", "--output", tmp_path / "again")
    assert again.code == 0, again.err
    other.write_text(other.read_text().replace(",x", ",y"))
    refused(salience("train", "--config", output / "recipe.yaml", "--output", tmp_path / "more"), "b.csv has changed")
    refused(salience(*command), "run exists: choose another --output")
    refused(salience("audit", one, "--run", output, "--output", tmp_path / "audit"), "was not made from")


@pytest.mark.whole
def test_a_comparison_knows_all_of_its_files(files, place, salience, tmp_path):
    options = ["--test", place.test, "--methods", "plain,ssmix", "--seeds", "0,1", "--model", place.model, "--steps",
               "2", "--references", "none", "--device", "cpu", "--output", tmp_path / "compared"]  # fmt: skip
    answer = salience("compare", *files, *options)
    assert answer.code == 0, answer.err
    recipe = yaml.safe_load((tmp_path / "compared" / "plain-0" / "recipe.yaml").read_text())
    assert recipe["data"] == [*map(str, files)]
    files[1].write_text(files[1].read_text().replace(",x", ",y"))
    refused(salience("compare", *files, *options), "b.csv changed after")


def test_files_that_do_not_go_together_are_named(files, tmp_path, place, salience):
    one, other = files
    bad = write_csv(tmp_path / "bad.csv", [("a cup", "food"), ("", "food")])
    refused(
        salience(*place.train(data=one), bad),
        'bad.csv: 1 row of 2 with an empty or missing value: 1 in "text" (row 2)',
    )
    lists = write_csv(tmp_path / "lists.csv", [("a cup", '["food"]')])
    refused(salience(*place.train(data=one), lists), "lists.csv has lists of labels, and", "a.csv has one label")
    unnamed = write_csv(tmp_path / "unnamed.csv", [("a cup", "food")], ("text", "kind"))
    refused(salience(*place.train("--label", "label", data=one), unnamed), 'unnamed.csv: no column "label" (--label)')
    refused(salience(*place.train(data=one), one), "a.csv is named twice among the data")
    refused(salience(*place.train(data=one), "nothere.csv", "--output", one), "nothere.csv: no such file")
    part = read_parts([str(one), str(other)])
    assert part.texts.rows == [*range(1, 31)] * 2 and len(part.labels) == 60
