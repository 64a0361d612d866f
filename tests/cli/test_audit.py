"""`salience audit` as a user meets it: planted faults are found, decisions are applied, and bad input is refused."""

import codecs
import csv
import json
import os
import shlex

import numpy as np
import pytest
from test_bad_input import refused

from labelled import labelled_rows, write_csv
from pages import HOSTILE, Content
from salience.audit.wrong_labels import likely_wrong
from salience.data.reading import stream
from salience.training.task import read_phrases

ROWS = [list(row) for row in labelled_rows(60)]
WRONG = {4: "food", 18: "music", 33: "sport"}  # rows that get a wrong label


def spoilt() -> list[list[str]]:
    """Rows with wrong labels, a row twice, and one twice with two labels."""
    rows = [list(row) for row in ROWS]
    for row, label in WRONG.items():
        assert rows[row - 1][1] != label
        rows[row - 1][1] = label
    return [*rows, list(rows[0]), [f" {rows[1][0]} ", "sport"]]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("audit") / "texts.csv", spoilt())


@pytest.fixture
def audit(place, salience):
    """Runs the command with the tiny encoder."""

    def run(data, *options):
        return salience("audit", data, "--model", place.model, "--device", "cpu", *options)

    return run


@pytest.fixture
def audited(audit, data, tmp_path):
    answer = audit(data, "--output", tmp_path / "audit")
    assert answer.code == 0, answer.err
    return tmp_path / "audit", answer


def findings_in(folder, kind=None) -> list[dict]:
    lines = [json.loads(line) for line in (folder / "audit.jsonl").read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if kind in (None, line["kind"])]


def decisions_in(folder) -> list[dict]:
    with (folder / "decisions.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def decide(folder, decisions: dict[str, str]):
    rows = [row | {"decision": decisions.get(row["row"], "")} for row in decisions_in(folder)]
    return write_csv(folder / "decisions.csv", [row.values() for row in rows], list(rows[0]))


def test_the_files_agree_with_each_other(audited):
    folder, answer = audited
    assert sorted(os.listdir(folder)) == ["audit.html", "audit.jsonl", "decisions.csv", "ignore_words.txt"]
    found, page = findings_in(folder), Content((folder / "audit.html").read_text(encoding="utf-8"))
    assert page.sections == ["overview", "decisions", "label", "duplicate", "outlier", "classes", "word"]
    for kind, name in (("label", "likely wrong labels"), ("duplicate", "groups of near-duplicates")):
        number = sum(line["kind"] == kind for line in found)
        assert f"{name}: {number}\n" in answer.out and page.rows_of(name) == [[str(number)]]
    assert answer.out.splitlines()[-3:-1] == [f"page: {folder}/audit.html", f"decisions: {folder}/decisions.csv"]
    assert not page.addresses or all(address.startswith(("#", "data:")) for address in page.addresses)
    rows = {int(row["row"]): row for row in decisions_in(folder)}
    texts = spoilt()
    for number, row in rows.items():
        assert [row["text"], row["label"]] == texts[number - 1] and row["decision"] == ""
    for line in findings_in(folder, "label"):
        assert rows[line["rows"][0]]["suggested"] == line["suggested"] != line["label"]
        assert line["score"] == pytest.approx(
            line["probability_of_suggested"] - line["probability_of_label"], abs=2e-6
        )


def test_equal_texts_are_found_and_those_of_two_labels_come_first(audited):
    groups = [(line["rows"], line["suggestion"]) for line in findings_in(audited[0], "duplicate")]
    alone = {tuple(rows): suggestion for rows, suggestion in groups}
    both = [rows for rows, _ in groups if {2, 62} <= set(rows)]
    assert both and alone[tuple(both[0])] == "choose one label"
    assert any({1, 61} <= set(rows) for rows, _ in groups)
    suggestions = [suggestion for _, suggestion in groups]
    assert suggestions == sorted(suggestions)  # "choose one label" before "keep one of them"


def test_decisions_make_a_copy_and_nothing_else_changes(audited, data, salience, tmp_path):
    folder, _ = audited
    rows = decisions_in(folder)
    suggested = next(row for row in rows if row["suggested"])
    other = next(row["row"] for row in rows if row["row"] != suggested["row"])
    decisions = decide(folder, {suggested["row"]: "relabel", other: "delete"})
    copy = tmp_path / "corrected.csv"
    answer = salience("audit", data, "--apply", decisions, "--output", copy)
    assert answer.code == 0, answer.err
    assert f"1 row relabelled and 1 row deleted of 62: {copy}" in answer.out
    before, after = list(stream(data)), list(stream(copy))
    before[int(suggested["row"]) - 1]["label"] = suggested["suggested"]
    del before[int(other) - 1]
    assert after == before
    refused(salience("audit", data, "--apply", decisions, "--output", copy), "exists: choose another --output")
    refused(salience("audit", copy, "--apply", decisions, "--output", tmp_path / "again.csv"), "decisions.csv: row")


def test_every_row_that_is_near_to_a_test_row_is_to_be_deleted(audit, tmp_path):
    data = write_csv(tmp_path / "data.csv", [*ROWS, ROWS[6]])
    test = write_csv(tmp_path / "test.csv", [("nothing like it at all", "food"), ROWS[6], ("oven", "sport")])
    answer = audit(data, "--test", test, "--output", tmp_path / "audit", "--similarity", "1")
    assert answer.code == 0, answer.err
    (leak,) = [line for line in findings_in(tmp_path / "audit", "leak") if line["test_rows"] == [2]]
    assert sorted(leak["rows"]) == [7, len(ROWS) + 1] and leak["suggestion"] == "delete the rows"
    assert leak["labels"] == [ROWS[6][1]] * 2
    near = [row["row"] for row in decisions_in(tmp_path / "audit") if "test row 2" in row["reason"]]
    assert sorted(map(int, near)) == [7, len(ROWS) + 1]


def test_test_rows_are_searched_for_the_data(audit, data, tmp_path):
    test = write_csv(tmp_path / "test.csv", [("nothing like it at all", "food"), ROWS[6], ("oven", "sport")])
    answer = audit(data, "--test", test, "--output", tmp_path / "audit", "--similarity", "1")
    assert answer.code == 0, answer.err
    leaks = [line for line in findings_in(tmp_path / "audit", "leak") if line["test_rows"] == [2]]
    assert [(line["rows"], line["test_label"]) for line in leaks] == [([7], ROWS[6][1])]
    page = Content((tmp_path / "audit" / "audit.html").read_text(encoding="utf-8"))
    assert "leak" in page.sections and "test row 2" in page.text
    assert any("nearly equal to test row 2" in row["reason"] for row in decisions_in(tmp_path / "audit"))


def test_decisions_begin_with_the_mark_that_excel_needs_and_are_read_with_it(audit, salience, tmp_path):
    rows = [*ROWS, [f"{ROWS[0][0]} café", "sport"], [f"{ROWS[0][0]} café", "food"]]
    data, copy = write_csv(tmp_path / "data.csv", rows), tmp_path / "copy.csv"
    assert audit(data, "--output", tmp_path / "audit").code == 0
    decisions = tmp_path / "audit" / "decisions.csv"
    (number,) = [place for place, row in enumerate(decisions_in(tmp_path / "audit"), 1) if row["row"] == "62"]
    mark, *lines = decisions.read_bytes()[:3], *decisions.read_bytes()[3:].decode().splitlines()
    assert mark == codecs.BOM_UTF8 and lines[0].startswith("row,label,") and "café" in lines[number]
    first, label, suggested, _, rest = lines[number].split(",", 4)
    lines[number] = ",".join([first, label, suggested, "delete", rest])
    decisions.write_bytes(mark + "\n".join(lines).encode())
    answer = salience("audit", data, "--apply", decisions, "--output", copy)
    assert answer.code == 0, answer.err
    assert copy.read_text(encoding="utf-8").splitlines() == data.read_text(encoding="utf-8").splitlines()[:-1]


def test_test_rows_that_are_equal_are_a_group(audit, data, tmp_path):
    """Those with different labels come first; decisions are about the data alone."""
    rows = [
        ("the oven is hot", "food"),
        ("a late goal", "sport"),
        (" the oven is hot", "food"),
        ("a late goal ", "food"),
    ]
    test = write_csv(tmp_path / "test.csv", [*rows, ("nothing like it at all", "food")])
    answer = audit(data, "--test", test, "--output", tmp_path / "audit", "--similarity", "1")
    assert answer.code == 0, answer.err
    assert "groups of near-duplicate test rows: 2" in answer.out
    first, second = findings_in(tmp_path / "audit", "test_duplicate")
    assert (first["test_rows"], first["labels"], first["rows"]) == ([2, 4], ["sport", "food"], [])
    assert (second["test_rows"], second["score"]) == ([1, 3], 1)
    assert (first["suggestion"], second["suggestion"]) == ("choose one label", "keep one of them in the test file")
    page = Content((tmp_path / "audit" / "audit.html").read_text(encoding="utf-8"))
    assert "test_duplicate" in page.sections and "test row 4" in page.text
    assert audit(data, "--output", tmp_path / "without").code == 0
    assert "test_duplicate" not in (tmp_path / "without" / "audit.html").read_text(encoding="utf-8")


def test_words_that_give_labels_away_are_a_file_for_train(audit, place, tmp_path):
    """Whatever the files are called, in the shell and on the page. An audit without such words leaves no old file."""
    planted = [(f"{text} Evening $tar" if label == "sport" else text, label) for text, label in ROWS]
    data, folder = write_csv(tmp_path / "<i>it's.csv", planted), tmp_path / "a  b & $(c);"
    answer = audit(data, "--text", "text", "--output", folder)
    assert answer.code == 0, answer.err
    words = list(dict.fromkeys(line["word"] for line in findings_in(folder, "word")))
    assert "evening" in words and read_phrases(folder / "ignore_words.txt") == words
    said, _, command = answer.out.splitlines()[-1].partition(", then run: ")
    assert said == f"words: {folder}/ignore_words.txt; delete those that rightly decide the label"
    assert shlex.split(command) == [
        "salience", "train", str(data), "--text", "text", "--model", str(place.model), "--device", "cpu",
        "--ignore-words", f"{folder}/ignore_words.txt", "--output", "runs/<i>it's-without-words",
    ]  # fmt: skip
    page = Content((folder / "audit.html").read_text(encoding="utf-8"))
    assert command in page.text and "Delete from that file each word that rightly decides the label" in page.text
    assert "i" not in page.tags
    plain = write_csv(tmp_path / "plain.csv", [(f"word {row % 7}", "ab"[row % 2]) for row in range(40)])
    answer = audit(plain, "--output", folder, "--overwrite")
    assert answer.code == 0 and "words that give the label away: 0\n" in answer.out
    assert sorted(os.listdir(folder)) == ["audit.html", "audit.jsonl", "decisions.csv"]
    assert answer.out.splitlines()[-1].startswith("decisions: ")
    assert "ignore_words" not in (folder / "audit.html").read_text(encoding="utf-8")


@pytest.mark.whole
def test_a_planted_word_is_one_by_which_the_classifier_decides(place, audit, data, salience, tmp_path):
    """By the regression on the vectors of the encoder, and by the model of a run."""
    planted = [(f"{text} goalkeeper" if label == "sport" else text, label) for text, label in ROWS]
    file = write_csv(tmp_path / "planted.csv", planted)
    steps = ("--method", "plain", "--steps", "60", "--learning-rate", "0.005", "--estimate", "folds:2")
    assert salience(*place.train(*steps, "--output", tmp_path / "trained", data=file)).code == 0
    for name, options in {"regression": [], "run": ["--run", tmp_path / "trained"]}.items():
        answer = audit(file, "--explain", "--output", tmp_path / name, *options)
        assert answer.code == 0, answer.err
        found = findings_in(tmp_path / name, "deciding_word")
        assert f"words by which a classifier decides: {len(found)}\n" in answer.out
        (own,) = [each for each in found if (each["word"], each["label"]) == ("goalkeeper", "sport")]
        assert own["score"] >= 0.2 and own["share"] == 1
        assert own["rows"] == [row for row, (_, label) in enumerate(planted, 1) if label == "sport"]
        page = Content((tmp_path / name / "audit.html").read_text(encoding="utf-8"))
        assert "deciding_word" in page.sections and page.rows_of("goalkeeper")
    refused(salience("audit", data, "--apply", "x.csv", "--explain"), "--explain has no effect with --apply")


def test_the_estimate_of_a_run_judges_the_labels(place, audit, data, salience, tmp_path):
    assert salience(*place.train("--estimate", "folds:2", "--output", tmp_path / "run", data=data)).code == 0
    answer = audit(data, "--run", tmp_path / "run", "--output", tmp_path / "audit")
    assert answer.code == 0 and "the estimate of run on 62 rows: accuracy " in answer.out, answer.err
    with np.load(tmp_path / "run" / "out_of_fold.npz") as arrays:
        expected = np.flatnonzero(likely_wrong(arrays["labels"], arrays["probabilities"])) + 1
    assert sorted(line["rows"][0] for line in findings_in(tmp_path / "audit", "label")) == expected.tolist()

    again = [tmp_path / "run", "--output", tmp_path / "other"]
    refused(audit(place.data, "--run", *again), "was not made from", "its SHA-256 differs")
    refused(audit(data, "--folds", "3", "--run", *again), "--folds has no effect with --run")
    refused(audit(data, "--fine-tune", "--run", *again), "--fine-tune has no effect with --run")
    file = tmp_path / "run" / "out_of_fold.npz"
    file.write_bytes(file.read_bytes()[:50])
    refused(audit(data, "--run", *again), "is damaged")
    file.unlink()
    refused(audit(data, "--run", *again), "has no estimate: train it with --estimate folds:5")
    refused(audit(data, "--run", place.model, "--output", tmp_path / "other"), "is no run")
    assert not (tmp_path / "other").exists()


def test_a_run_with_other_labels_is_refused(place, audit, salience, tmp_path):
    rows = [(text, label, ROWS[-place][1]) for place, (text, label) in enumerate(ROWS)]
    data = write_csv(tmp_path / "two.csv", rows, ("text", "label", "other"))
    options = ["--label", "other", "--estimate", "folds:2", "--output", tmp_path / "run"]
    assert salience(*place.train(*options, data=data)).code == 0
    answer = audit(data, "--label", "label", "--run", tmp_path / "run", "--output", tmp_path / "a")
    refused(answer, "has other rows or labels than")


@pytest.mark.whole
def test_a_training_judges_the_labels(audit, data, tmp_path):
    answer = audit(data, "--fine-tune", "--folds", "2", "--output", tmp_path / "audit")
    assert answer.code == 0, answer.err
    assert "labels checked by fine-tuned models, 2-fold cross-validation: accuracy " in answer.out
    assert "model 2 of 2 is trained on 31 rows" in answer.out


def test_texts_and_labels_stay_texts(audit, salience, tmp_path):
    clean = [label.replace("\n", " ").replace("\x00", "") for label in HOSTILE]
    rows = [(f"{HOSTILE[n % 5]} {n}".replace("\x00", ""), f"={n}", clean[n % 3]) for n in range(60)]
    data = write_csv(tmp_path / "hostile.csv", rows, ("text", "other", "label"))
    answer = audit(data, "--text-pair", "other", "--text", "text", "--output", tmp_path / "audit")
    assert answer.code == 0, answer.err
    page = Content((tmp_path / "audit" / "audit.html").read_text(encoding="utf-8"))
    assert not {"img", "b"} & set(page.tags) and "{{ 7 * 7 }}" in page.text
    assert page.tags.count("script") == 2  # its data and its own script
    cells = [cell for row in decisions_in(tmp_path / "audit") for cell in row.values()]
    assert cells and not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_decisions_are_never_lost(audited, audit, data):
    folder, _ = audited
    assert audit(data, "--output", folder, "--overwrite").code == 0
    decisions = decide(folder, {decisions_in(folder)[0]["row"]: "keep"})
    content = decisions.read_bytes()
    refused(audit(data, "--output", folder, "--overwrite"), "has decisions, which would be lost")
    assert decisions.read_bytes() == content


def test_the_same_audit_gives_the_same_files(audited, audit, data, tmp_path):
    assert audit(data, "--output", tmp_path / "again").code == 0
    for name in os.listdir(tmp_path / "again"):
        again = (tmp_path / "again" / name).read_bytes()  # the page names its folder
        assert again.replace(bytes(tmp_path / "again"), bytes(audited[0])) == (audited[0] / name).read_bytes()


def test_a_class_of_one_row_is_not_judged_and_few_rows_have_few_folds(audit, tmp_path):
    rows = [("a goal in the cup", "sport"), ("a band", "music"), ("one more goal", "sport"), ("two songs", "music"),
            ("the team", "sport"), ("soup", "food")]  # fmt: skip
    answer = audit(write_csv(tmp_path / "few.csv", rows), "--output", tmp_path / "audit")
    assert answer.code == 0, answer.err
    assert "3 folds instead of 5: no class has more than 3 rows" in answer.out
    assert 'labels that are not checked, because all of their rows are in one fold: "food"' in answer.out
    assert all(line["rows"] != [6] for line in findings_in(tmp_path / "audit", "label"))
