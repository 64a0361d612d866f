"""decisions.csv: what an audit writes into it, and what is read of what a person has filled in."""

import numpy as np
import pytest

from labelled import write_csv
from salience.audit.decisions import COLUMNS, as_decision, decision_rows, has_decisions, read_decisions
from salience.audit.findings import Finding
from salience.data.texts import Texts
from salience.errors import InputError

LABELS = {1: "x", 2: "-1", 3: "x", 5: "y"}


def read(tmp_path, *lines, header=COLUMNS[:4]):
    return read_decisions(str(write_csv(tmp_path / "decisions.csv", lines, header)), LABELS, "data.csv")


def test_every_row_has_one_line_with_all_reasons():
    texts = Texts(["one", "two", "three", "f" * 600], labels=[0, 0, 1, 1], rows=[2, 3, 5, 9])
    findings = [
        Finding("label", [5], "relabel", 0.5, {"suggested": "x"}),
        Finding("duplicate", [2, 3], "keep one of them", 1.0, {"labels": ["x", "x"]}),
        Finding("duplicate", [5, 9], "choose one label", 0.97, {"labels": ["y", "y", "x"]}),
        Finding("leak", [3], "delete the row", 0.96, {"test_rows": [7]}),
        Finding("outlier", [9], "check", 0.9, {}),
        Finding("word", [2], "check", 0.5, {}),
    ]
    rows = decision_rows(findings, texts, ["x", "y"])
    assert [list(row) for row in rows] == [list(COLUMNS)] * 3
    by_row = {row["row"]: row for row in rows}
    assert list(by_row) == ["5", "3", "9"]
    assert by_row["5"]["suggested"] == "x" and by_row["5"]["label"] == "y" and by_row["5"]["decision"] == ""
    assert by_row["5"]["reason"] == "the label is likely wrong; nearly equal, with other labels: row 9"
    assert by_row["3"]["reason"] == "nearly equal: row 2; nearly equal to test row 7"
    assert by_row["9"]["text"] == "f" * 500 + "..."


def test_decisions_become_changes(tmp_path):
    lines = [("1", "x", "y", "relabel"), ("2", "'-1", "x", " Delete "), ("3", "x", "y", "keep"), ("5", "y", "x", "")]
    assert read(tmp_path, *lines) == {1: "y", 2: None}
    assert read(tmp_path, ("1", "x", "'-1", "RELABEL"), ("5", "y", "y", "relabel")) == {1: "-1"}


def test_the_right_label_is_a_decision(tmp_path):
    """Also without a suggestion; one that is called as a decision, or begins as its mark does, has the mark before."""
    assert read(tmp_path, ("1", "x", "", "y"), ("2", "'-1", "x", " x "), ("5", "y", "x", "'-1")) == {
        1: "y", 2: "x", 5: "-1"
    }  # fmt: skip
    labels = ["keep", "Delete", "relabel", "label:a", "a", " b", "c"]
    assert [as_decision(label) for label in labels] == [
        "label:keep", "label:Delete", "label:relabel", "label:label:a", "a", "label: b", "c"
    ]  # fmt: skip
    lines = [(str(row), label, "", as_decision(labels[row % 7])) for row, label in enumerate(labels, 1)]
    file = write_csv(tmp_path / "named.csv", lines, COLUMNS[:4])
    own = dict(enumerate(labels, 1))
    assert read_decisions(str(file), own, "data.csv") == {row: labels[row % 7] for row in own}


def test_a_file_without_a_decision_says_so(tmp_path):
    with pytest.raises(InputError, match=r'decisions\.csv: the column "decision" is empty in 2 rows: fill it in'):
        read(tmp_path, ("1", "x", "y", ""), ("5", "y", "x", " "))
    assert read(tmp_path, ("1", "x", "y", "keep")) == {}


SETS = {1: ("joy", "fear"), 2: (), 3: ("fear",), 4: ("=joy",)}


def read_sets(tmp_path, *lines):
    return read_decisions(str(write_csv(tmp_path / "decisions.csv", lines, COLUMNS[:4])), SETS, "data.csv")


def test_several_labels_are_lists_without_an_order():
    texts = Texts(["one", "two"], labels=np.array([[1, 1], [0, 0]]), rows=[2, 3])
    findings = [
        Finding("label", [3], "relabel", 0.5, {"suggested": ["joy", "fear"]}),
        Finding("duplicate", [2, 3], "choose one set of labels", 1.0, {"labels": [["joy", "fear"], []]}),
    ]
    rows = decision_rows(findings, texts, ["joy", "fear"])
    assert [(row["row"], row["label"], row["suggested"]) for row in rows] == [
        ("3", "[]", '["joy", "fear"]'), ("2", '["joy", "fear"]', "")
    ]  # fmt: skip
    assert "with other labels: row 2" in rows[0]["reason"]


def test_a_comma_in_a_label_is_no_second_label():
    texts = Texts(["one", "two"], labels=np.array([[1, 1, 0], [0, 0, 1]]), rows=[2, 3])
    finding = Finding("duplicate", [2, 3], "choose one set of labels", 1.0, {"labels": [["a", "b"], ["a, b"]]})
    rows = decision_rows([finding], texts, ["a", "b", "a, b"])
    assert [row["row"] for row in rows] == ["2", "3"] and "with other labels" in rows[0]["reason"]


def test_decisions_about_several_labels_become_changes(tmp_path):
    lines = [
        ("1", '["fear", "joy"]', '["=joy"]', "relabel"), ("2", "[]", '["joy", "fear"]', "relabel"),
        ("3", '["fear"]', "", "[]"), ("4", "['=joy']", '["=joy"]', "relabel"),
    ]  # fmt: skip
    assert read_sets(tmp_path, *lines) == {1: ("=joy",), 2: ("joy", "fear"), 3: ()}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("3", '["fear"]', "joy", "relabel"), 'row 1, column "suggested": "joy" is no list of different labels'),
        (("3", '["fear"]', '{"joy": 1}', "relabel"), "is no list of different labels"),
        (("3", '["fear"]', '["joy", "joy"]', "relabel"), "is no list of different labels"),
        (("3", '["fear"]', "[1]", "relabel"), "is no list of different labels"),
        (("3", '["fear"]', '["joyy"]', "relabel"), 'column "suggested": unknown label "joyy"; known: =joy, fear, joy'),
        (("3", "fear", "[]", "delete"), 'row 1, column "label": "fear" is no list of different labels'),
        (("1", '["joy"]', "[]", "delete"), 'row 1 of data.csv has the label ["joy", "fear"], not ["joy"]; '),
    ],
)
def test_lists_that_are_none_are_refused(line, said, tmp_path):
    with pytest.raises(InputError) as error:
        read_sets(tmp_path, line)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("1", "x", "y", "remove"), 'row 1: unknown decision "remove"; known: delete, keep, relabel'),
        (("1", "x", "", "z"), 'known: delete, keep, relabel. Or a label of the data: "-1", "x", "y".'),
        (("1", "x", "", "label:z"), 'row 1: unknown decision "z"'),
        (("4", "x", "y", "delete"), 'data.csv has no row "4" with a label'),
        (("one", "x", "y", "delete"), 'data.csv has no row "one" with a label'),
        (("9" * 5000, "x", "y", "delete"), "data.csv has no row"),
        (("1", "y", "y", "delete"), 'row 1 of data.csv has the label "x", not "y"; the file was made from other data'),
        (("1", "x", "z", "relabel"), 'row 1, column "suggested": unknown label "z"; known: -1, x, y'),
        (("1", "x", "", "relabel"), 'unknown label ""'),
    ],
)
def test_what_does_not_fit_is_refused_with_its_row(line, said, tmp_path):
    with pytest.raises(InputError) as caught:
        read(tmp_path, line)
    assert said in str(caught.value) and "decisions.csv" in str(caught.value)


def test_a_number_that_a_spreadsheet_has_changed_is_told(tmp_path):
    file = write_csv(tmp_path / "decisions.csv", [("1", "1", "2", "relabel")], COLUMNS[:4])
    with pytest.raises(InputError, match=r'has the label "01", not "1"; .*a spreadsheet has changed'):
        read_decisions(str(file), {1: "01", 2: "2"}, "data.csv")


def test_decisions_that_are_not_utf_8_are_told_how_to_be_saved(tmp_path):
    (tmp_path / "decisions.csv").write_bytes("row,label,suggested,decision\n1,café,x,delete\n".encode("cp1252"))
    with pytest.raises(InputError, match=r"decisions\.csv is not UTF-8: save it as csv in UTF-8") as caught:
        read_decisions(str(tmp_path / "decisions.csv"), {1: "café"}, "data.csv")
    assert "--encoding" not in str(caught.value)


def test_two_decisions_on_one_row_are_refused(tmp_path):
    with pytest.raises(InputError, match="row 3: row 1 is decided in row 1 already"):
        read(tmp_path, ("1", "x", "y", "keep"), ("5", "y", "x", ""), ("1", "x", "y", "delete"))


def test_another_file_is_refused(tmp_path):
    with pytest.raises(InputError, match='no column "suggested"; take the file that `salience audit` wrote'):
        read(tmp_path, ("1", "x", "keep"), header=("row", "label", "decision"))


def test_whether_a_person_has_decided(tmp_path):
    empty = [("1", "x", "y", ""), ("5", "y", "x", " ")]
    assert not has_decisions(write_csv(tmp_path / "a.csv", empty, COLUMNS[:4]))
    assert not has_decisions(write_csv(tmp_path / "b.csv", [], COLUMNS[:4]))
    assert has_decisions(write_csv(tmp_path / "c.csv", [*empty, ("2", "-1", "x", "keep")], COLUMNS[:4]))
