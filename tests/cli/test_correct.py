"""`salience correct`, and `train --corrections` with what its page saves, up to the report of before and after."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest
import yaml
from test_bad_input import refused
from test_resume import weights

from labelled import WORDS, labelled_rows, rows_of_several, write_csv
from pages import Content
from salience.audit.doubtful import explained, places_of, share_on
from salience.classify import load
from salience.data.marks import Mark
from salience.data.texts import Texts
from salience.data.words import spaced_spans
from salience.scores.calibration import with_temperature

HEADER = ("text", "label", "marks", "ignore", "predicted", "marks_share", "ignore_share")


def data_of(page) -> dict:
    (found,) = re.findall(
        r'<script id="data" type="application/json">(.*?)</script>', page.read_text(encoding="utf-8")
    )
    return json.loads(found)


def text_of(row, number=0) -> str:
    return "".join(before + word for before, word, *_ in row["texts"][number]["words"]) + row["texts"][number]["rest"]


def estimate_of(run) -> dict:
    found = json.loads((run / "metrics.json").read_text())["estimate"]
    assert found["calibrated"]
    return found


def lines_of(file) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_the_page_has_the_texts_of_all_files_each_once(place, run, salience, tmp_path):
    """Rows that the run was trained on are predicted as by the models of the estimate, which have not seen them."""
    output = tmp_path / "page.html"
    rows = [(f"{text} ", label) for text, label in labelled_rows(20)] + [("a new cup", "sport"), ("a newer cup", "")]
    more = write_csv(tmp_path / "more.csv", rows)
    unlabelled = write_csv(tmp_path / "unlabelled.csv", [("the newest cup",)], ("text",))
    answer = salience("correct", run, unlabelled, place.data, more, "--limit", "100", "--output", output)
    assert answer.code == 0, answer.err
    data = data_of(output)
    texts = [text_of(row) for row in data["rows"]]
    new = ("a new cup", "a newer cup", "the newest cup")
    assert sorted(texts) == sorted({*(text for text, _ in labelled_rows(60)), *new})
    given = dict(labelled_rows(60)) | {"a new cup": "sport"}
    unseen, temperature = lines_of(run / "out_of_fold.jsonl"), estimate_of(run)["temperature_scaling"]["temperature"]
    known = {row["text"]: with_temperature(np.array([row["probabilities"]]), temperature)[0] for row in unseen}
    for row, text in zip(data["rows"], texts, strict=True):
        own = known[text] if text in known else load(run, device="cpu").predict_proba([text])[0]
        assert (None if row["given"] is None else data["labels"][row["given"][0]]) == given.get(text)
        assert row["predicted"] == [own.argmax()] and np.allclose(row["probabilities"], own, atol=1e-3)
        assert text in new or row["place"].endswith("of train.csv")
    answer = salience("correct", run, place.data, "--limit", "7", "--output", output, "--overwrite")
    assert answer.code == 0 and len(data_of(output)["rows"]) == 7
    assert f"page: {output}, 7 texts" in answer.out and "train with --corrections corrections.csv" in answer.out


def trained_on_a_word(browser, page, salience, *asked) -> dict:
    """Marks the first word on a page, saves, and trains; what the run keeps of the one correction."""
    corrections, run = page.with_suffix(".csv"), page.with_suffix(".run")
    tab = browser.new_page()
    tab.goto(page.as_uri())
    tab.locator("article").first.locator(".word").first.click()
    with tab.expect_download() as download:
        tab.keyboard.press("s")
    download.value.save_as(corrections)
    tab.close()
    answer = salience(*asked, "--corrections", corrections, "--output", run)
    assert answer.code == 0, answer.err
    (kept,) = lines_of(run / "corrected.jsonl")
    return kept


@pytest.mark.whole
def test_pairs_and_several_labels(place, several_run, several_files, browser, salience, tmp_path):
    rows = [(f"note {number}", text, label) for number, (text, label) in enumerate(labelled_rows(30))]
    pairs = write_csv(tmp_path / "pairs.csv", rows, ("first", "second", "topic"))
    options = ("--text", "first", "--text-pair", "second", "--label", "topic", "--output", tmp_path / "run")
    assert salience(*place.train(*options, data=pairs)).code == 0
    answer = salience("correct", tmp_path / "run", pairs, "--output", tmp_path / "page.html")
    assert answer.code == 0, answer.err
    data = data_of(tmp_path / "page.html")
    assert data["columns"] == ["first", "second"] and not data["several"]
    assert {(text_of(row), text_of(row, 1)) for row in data["rows"]} == {row[:2] for row in rows}
    train = place.train(*options[:-2], data=pairs)
    kept = trained_on_a_word(browser, tmp_path / "page.html", salience, *train)
    assert [mark[:2] for mark in kept["marks"]] == [[0, 4]] and not kept["ignore"]  # "note" of the first text
    answer = salience("correct", several_run, several_files[0], "--output", tmp_path / "several.html")
    assert answer.code == 0, answer.err
    data = data_of(tmp_path / "several.html")
    given = {text: json.loads(labels) for text, labels in reversed(rows_of_several(60, 0))}
    assert data["several"] and all(
        {data["labels"][each] for each in row["given"]} == {*given[text_of(row)]}
        and {*row["given"], *row["predicted"]} <= {*row["explained"]}
        for row in data["rows"]
    )
    train = place.train("--estimate", "none", data=several_files[0])
    kept = trained_on_a_word(browser, tmp_path / "several.html", salience, *train)
    assert [list(mark[:2]) for mark in kept["marks"]] == [list(spaced_spans(kept["text"])[0])]


def test_what_cannot_be_corrected_is_refused(place, run, salience, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = write_csv(tmp_path / "other.csv", [("a cup", "sport")], ("body", "label"))
    taken = write_csv(tmp_path / "taken.csv", [("a cup", "sport")], ("marks", "label"))
    refused(salience("correct", run, place.data, "--limit", "0"), "--limit is 0")
    refused(salience("correct", run, place.data, "--output", "page.csv"), "name the page with .html")
    refused(salience("correct", run, taken, "--text", "marks"), 'the text column "marks" has a name that')
    assert salience("correct", run, place.data, other, "--limit", "1").code == 2
    assert not (tmp_path / "corrections.html").exists()


@pytest.fixture
def corrections(tmp_path):
    """Ten rows with another label and a word that must not count, one added row, and what was predicted before."""
    rows = labelled_rows(60)[:10]
    names = list(WORDS)
    lines = [
        (text, names[number % 3], "", f"[[0, {text.index(' ')}]]", names[(number + number % 2) % 3], "", 0.5)
        for number, (text, _) in enumerate(rows)
    ]
    return write_csv(tmp_path / "corrections.csv", [*lines, ("a goal", "sport", "[[2, 6]]", "", "", "", "")], HEADER)


def test_a_run_is_trained_on_the_corrected_rows_and_repeated_by_its_recipe(place, corrections, salience, tmp_path):
    given = ("--corrections", corrections, "--estimate", "folds:2", "--method", "plain")
    answer = salience(*place.train(*given, "--output", tmp_path / "one"))
    assert answer.code == 0, answer.err
    assert "corrections.csv: 10 rows replaced" in answer.out and "and 1 row added" in answer.out
    said = {row["text"]: row for row in csv.DictReader(corrections.open())}
    seen = {row["text"]: row for row in lines_of(tmp_path / "one" / "out_of_fold.jsonl")}
    assert len(seen) == len({text for text, _ in labelled_rows(60)}) + 1
    assert all(seen[text]["label"] == row["label"] for text, row in said.items())
    found = {row["text"]: row for row in lines_of(tmp_path / "one" / "corrected.jsonl")}
    assert found.keys() == said.keys()
    for text, row in found.items():
        assert row["predicted"] == [seen[text]["predicted"]] and row["fold"] == seen[text]["fold"]
        assert (row["marks"], row["ignore"]) == (
            ([[2, 6, "1", False]], []) if text == "a goal" else ([], [[0, text.index(" "), "1", False]])
        )
    again = salience("train", "--config", tmp_path / "one" / "recipe.yaml", "--output", tmp_path / "two")
    assert again.code == 0 and weights(tmp_path / "one") == weights(tmp_path / "two")
    assert yaml.safe_load((tmp_path / "one" / "recipe.yaml").read_text())["corrections"] == str(corrections)
    refused(salience("audit", place.data, "--run", tmp_path / "one", "--output", tmp_path / "audit"), "--corrections")
    asked = f"corrections={corrections}"
    refused(salience("distill", tmp_path / "one", place.data, "--set", asked), "leave out --corrections")
    corrections.write_text(corrections.read_text().replace("sport", "music"))
    refused(salience("train", "--config", tmp_path / "one" / "recipe.yaml", "--output", tmp_path / "three"),
            "corrections.csv has changed")  # fmt: skip


@pytest.mark.whole
def test_the_report_has_before_and_after(place, corrections, salience, reported, tmp_path):
    """Against the files of the run, and explanations text by text."""
    for name, estimate in (("folds", "folds:2"), ("none", "none")):
        output = tmp_path / name
        given = ("--corrections", corrections, "--estimate", estimate, "--output", output)
        answer = salience(*place.train(*given))
        assert answer.code == 0, answer.err
        page = Content((output / "report.html").read_text(encoding="utf-8"))
        rows = lines_of(output / "corrected.jsonl")
        known = [row for row in rows if row["text"] != "a goal"]
        after = sum(row["predicted"] == row["label"] for row in known)
        assert page.rows_of("rows predicted right") == [["5 of 10", f"{after} of 10"]]
        assert f"{after} of 10 corrected rows are predicted right, 5 before" in page.text
        other = sum(row["predicted"] == row["label"] for row in rows if row["text"] == "a goal")
        assert page.rows_of("other rows predicted right") == [["-", f"{other} of 1"]]
        own, classifier = {}, load(output, device="cpu", precision="fp32")
        for row in rows:
            (explanation,) = explained(classifier, Texts([row["text"]]))
            places = places_of(explanation, [row["text"]], [spaced_spans(row["text"])])
            own[row["text"]] = share_on(explanation, places, [Mark(*mark) for mark in row["marks"] + row["ignore"]])
        shares = [own.pop("a goal"), np.mean([*own.values()])]
        for role, before, share in zip(("decide", "must not count"), ("-", "50 %"), shares, strict=True):
            assert page.rows_of(f"share of the explanation on words that {role}") == [[before, f"{100 * share:.0f} %"]]
        told = "that was trained without it" if name == "folds" else "which was trained on them"
        assert told in page.text
    again = (tmp_path / "folds" / "report.html").read_text()
    assert salience("report", tmp_path / "folds").code == 0
    assert (tmp_path / "folds" / "report.html").read_text() == again


def test_corrections_without_what_was_before_show_what_is_known(place, salience, reported, tmp_path):
    said = write_csv(tmp_path / "said.csv", [(text, "music") for text, _ in labelled_rows(60)[:4]])
    answer = salience(*place.train("--corrections", said, "--output", tmp_path / "run"))
    assert answer.code == 0, answer.err
    page = Content((tmp_path / "run" / "report.html").read_text(encoding="utf-8"))
    (row,) = page.rows_of("rows predicted right")
    assert row[0] == "-" and row[1].endswith("of 4") and "of the explanation on" not in page.text


@pytest.mark.whole
def test_from_the_page_to_a_run(place, run, browser, salience, reported, tmp_path):
    """A word by a click, another one by keys, a label, saved in Chromium, and trained on."""
    assert salience("correct", run, place.data, "--output", tmp_path / "page.html").code == 0
    tab = browser.new_page()
    tab.goto((tmp_path / "page.html").as_uri())
    tab.locator("article").first.locator(".word").first.click()
    data = data_of(tmp_path / "page.html")
    chosen = (data["rows"][1]["given"][0] + 1) % 3
    for key in ("ArrowRight", "i", "ArrowDown", str(chosen + 1), "ArrowDown", "Enter"):
        tab.keyboard.press(key)
    with tab.expect_download() as download:
        tab.keyboard.press("s")
    download.value.save_as(tmp_path / "corrections.csv")
    tab.close()
    answer = salience(*place.train("--corrections", tmp_path / "corrections.csv", "--output", tmp_path / "run"))
    assert answer.code == 0, answer.err
    rows = lines_of(tmp_path / "run" / "corrected.jsonl")
    assert {row["text"] for row in rows} == {text_of(row) for row in data["rows"][:3]}
    (marked,) = [row for row in rows if row["marks"]]
    words = spaced_spans(marked["text"])
    assert [mark[:2] for mark in (*marked["marks"], *marked["ignore"])] == [list(word) for word in words[:2]]
    (second,) = [row for row in rows if row["text"] == text_of(data["rows"][1])]
    assert second["label"] == [data["labels"][chosen]]
    assert "corrected rows are predicted right" in (tmp_path / "run" / "report.html").read_text()
