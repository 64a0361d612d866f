"""`salience audit` of texts with several labels: each label is judged by itself, and a row has one decision."""

import csv
import json

import numpy as np
import pytest

from labelled import WORDS, rows_of_several, write_csv
from pages import Content
from salience.audit.wrong_labels import likely_wrong, of_each_label
from salience.scores.predictions import Predictions

ROWS = [(text, json.loads(labels)) for text, labels in rows_of_several(80, 0)]
NAMES = sorted(WORDS)


def spoilt() -> list[tuple[str, list[str]]]:
    """The rows, two of them with a label too few or too many, and one twice with other labels."""
    rows = [(text, list(labels)) for text, labels in ROWS]
    first = next(row for row, (_, labels) in enumerate(rows) if len(labels) == 2)
    second = next(row for row, (_, labels) in enumerate(rows) if len(labels) == 1)
    rows[first] = (rows[first][0], rows[first][1][:1])
    rows[second] = (rows[second][0], sorted({*rows[second][1], next(n for n in NAMES if n not in rows[second][1])}))
    return [*rows, (rows[5][0], [] if rows[5][1] else ["food"])]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    file = tmp_path_factory.mktemp("several") / "texts.csv"
    return write_csv(file, [(text, json.dumps(labels)) for text, labels in spoilt()])


@pytest.fixture
def audited(data, place, salience, tmp_path):
    folder = tmp_path / "audit"
    answer = salience("audit", data, "--model", place.model, "--device", "cpu", "--output", folder)
    assert answer.code == 0, answer.err
    return folder, answer


def findings_in(folder, kind) -> list[dict]:
    lines = [json.loads(line) for line in (folder / "audit.jsonl").read_text().splitlines()]
    return [line for line in lines if line["kind"] == kind]


def test_each_label_of_a_text_has_words_by_which_it_is_decided(place, salience, tmp_path):
    planted = [(f"{text} goalkeeper" if "sport" in labels else text, json.dumps(labels)) for text, labels in ROWS]
    data = write_csv(tmp_path / "planted.csv", planted)
    folder = tmp_path / "audit"
    answer = salience("audit", data, "--model", place.model, "--device", "cpu", "--explain", "--output", folder)
    assert answer.code == 0, answer.err
    (own,) = [each for each in findings_in(folder, "deciding_word") if each["word"] == "goalkeeper"]
    assert own["label"] == "sport"
    assert own["rows"] == [row for row, (_, labels) in enumerate(ROWS, 1) if "sport" in labels]


def decisions_in(folder) -> list[dict]:
    with (folder / "decisions.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_page_findings_and_decisions_agree(audited):
    folder, answer = audited
    page = Content((folder / "audit.html").read_text())
    assert page.sections == ["overview", "decisions", "label", "duplicate", "outlier", "word"]  # no pairs of classes
    assert "% over all decisions about labels" in answer.out and "pairs of classes" not in answer.out
    found, rows = findings_in(folder, "label"), {row["row"]: row for row in decisions_in(folder)}
    assert found and f"likely wrong labels: {len(found)}\n" in answer.out
    for line in found:
        own = rows[str(line["rows"][0])]
        assert json.loads(own["label"]) == line["label"] == sorted(spoilt()[line["rows"][0] - 1][1])
        assert json.loads(own["suggested"]) == line["suggested"] != line["label"]
        assert set(line["probabilities"]) == set(line["label"]) ^ set(line["suggested"])
        assert line["score"] == pytest.approx(max(abs(1 - 2 * p) for p in line["probabilities"].values()), abs=1e-5)
        assert f"row {line['rows'][0]}" in page.text and ", ".join(line["suggested"] or ["no label"]) in page.text
    twice = next(line for line in findings_in(folder, "duplicate") if {6, 81} <= set(line["rows"]))
    assert twice["suggestion"] == "choose one set of labels"
    assert [] in twice["labels"] and "with other labels: row" in rows["6"]["reason"]


def test_decisions_make_a_copy_and_nothing_else_changes(audited, data, salience, tmp_path):
    folder, _ = audited
    rows = decisions_in(folder)
    changed = next(row for row in rows if row["suggested"])
    for row in rows:
        row["decision"] = "relabel" if row is changed else "delete" if row["row"] == "81" else ""
    decisions = write_csv(folder / "decisions.csv", [row.values() for row in rows], list(rows[0]))
    copy = tmp_path / "corrected.csv"
    answer = salience("audit", data, "--apply", decisions, "--output", copy)
    assert answer.code == 0, answer.err
    assert f"1 row relabelled and 1 row deleted of 81: {copy}" in answer.out
    with data.open(newline="") as before, copy.open(newline="") as after:
        expected, found = list(csv.DictReader(before)), list(csv.DictReader(after))
    expected[int(changed["row"]) - 1]["label"] = changed["suggested"]
    assert found == expected[:80]


def test_the_estimate_of_a_run_judges_each_label(place, data, salience, tmp_path):
    run, folder = tmp_path / "run", tmp_path / "audit"
    assert salience(*place.train("--output", run, "--estimate", "folds:2", data=data)).code == 0
    answer = salience("audit", data, "--model", place.model, "--run", run, "--output", folder)
    assert answer.code == 0 and "the estimate of run on 81 rows" in answer.out, answer.err
    with np.load(run / "out_of_fold.npz") as arrays:
        judged = of_each_label(Predictions(arrays["probabilities"], arrays["labels"]))
        wrong = np.stack([likely_wrong(given, both) for _, given, both in judged], axis=1)
    expected = {
        row + 1: {NAMES[label] for label in np.flatnonzero(wrong[row])} for row in np.flatnonzero(wrong.any(1))
    }
    assert {line["rows"][0]: set(line["probabilities"]) for line in findings_in(folder, "label")} == expected


def test_labels_with_a_separator_and_in_columns(place, salience, tmp_path):
    joined = write_csv(tmp_path / "joined.csv", [(text, "|".join(labels) or "[]") for text, labels in spoilt()])
    indicated = [(text, *(int(name in labels) for name in NAMES)) for text, labels in spoilt()]
    columns = write_csv(tmp_path / "columns.csv", indicated, ("text", *NAMES))
    told = []
    for file, options in ((joined, ["--label-separator", "|"]), (columns, ["--label", ",".join(NAMES)])):
        folder = tmp_path / file.stem
        answer = salience("audit", file, "--model", place.model, "--device", "cpu", "--output", folder, *options)
        assert answer.code == 0, answer.err
        told.append((folder / "audit.jsonl").read_text())
    assert told[0] == told[1]
    row = next(row for row in decisions_in(tmp_path / "joined") if row["suggested"]) | {"decision": "relabel"}
    decisions = write_csv(tmp_path / "decisions.csv", [row.values()], list(row))
    asked = ["--apply", decisions, "--label-separator", "|", "--output", tmp_path / "new.csv"]
    assert salience("audit", joined, *asked).code == 0
    with (tmp_path / "new.csv").open(newline="") as file:
        new = list(csv.DictReader(file))[int(row["row"]) - 1]["label"]
    assert new == ("|".join(json.loads(row["suggested"])) or "[]")
    asked = ["--apply", decisions, "--label", ",".join(NAMES), "--output", tmp_path / "other.csv"]
    assert salience("audit", columns, *asked).code == 0
    with columns.open(newline="") as before, (tmp_path / "other.csv").open(newline="") as after:
        expected, found = list(csv.DictReader(before)), list(csv.DictReader(after))
    right = json.loads(row["suggested"])
    expected[int(row["row"]) - 1] |= {name: str(int(name in right)) for name in NAMES}
    assert found == expected
