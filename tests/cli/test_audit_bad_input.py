"""What `salience audit` refuses, in one line and before anything is computed."""

import os

import pytest
from test_bad_input import refused

from labelled import labelled_rows, write_csv


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("audit") / "texts.csv", labelled_rows(60))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--similarity", "2"], "--similarity is 2: give a number from 0.5 to 1"),
        (["--folds", "1"], "--folds is 1: give a whole number from 2 to 20"),
        (["--label", "lable"], 'no column "lable" (--label)'),
        (["--group", "author"], 'no column "author" (--group)'),
        (["--test", "nowhere.csv"], "nowhere.csv: no such file"),
        (["--run", "nowhere"], "nowhere is no run"),
        (["--apply", "x.csv"], "--apply needs the name of the corrected copy: add --output corrected.csv"),
        (["--apply", "x.csv", "--output", "new.tsv"], "new.tsv must end in .csv"),
        (["--apply", "x.csv", "--output", "new.csv"], "x.csv: no such file"),
        (["--apply", "x.csv", "--output", "new.csv", "--folds", "3"], "--folds has no effect with --apply"),
        (["--apply", "x.csv", "--output", "new.csv", "--seed", "3"], "--seed has no effect with --apply"),
        (["--apply", "d.csv", "--output", "DATA", "--overwrite"], "is what is read, and is not replaced"),
    ],
)
def test_bad_input_is_refused_in_one_line(options, said, salience, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("row,label,suggested,decision\n1,sport,,keep\n")
    answer = salience("audit", data, *(data if option == "DATA" else option for option in options))
    refused(answer, said)
    assert os.listdir(tmp_path) == ["d.csv"]


def test_data_of_the_hub_cannot_be_corrected(salience, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(salience("audit", "owner/name", "--apply", "x.csv", "--output", "y.csv"), "is a data set on the hub")


def test_decisions_that_delete_everything_are_refused(salience, tmp_path):
    data = write_csv(tmp_path / "two.csv", [("a", "x"), ("b", "y")])
    rows = [("1", "x", "", "delete"), ("2", "y", "", "delete")]
    decisions = write_csv(tmp_path / "decisions.csv", rows, ("row", "label", "suggested", "decision"))
    answer = salience("audit", data, "--apply", decisions, "--output", tmp_path / "new.csv")
    refused(answer, "deletes every row of", "nothing would be left")


def test_decisions_are_not_replaced_by_the_corrected_copy(salience, tmp_path):
    data = write_csv(tmp_path / "two.csv", [("a", "x"), ("b", "y"), ("c", "y")])
    decisions = write_csv(
        tmp_path / "decisions.csv", [("1", "x", "", "delete")], ("row", "label", "suggested", "decision")
    )
    before = decisions.read_bytes()
    answer = salience("audit", data, "--apply", decisions, "--output", decisions, "--overwrite")
    refused(answer, "is what is read, and is not replaced")
    assert decisions.read_bytes() == before
