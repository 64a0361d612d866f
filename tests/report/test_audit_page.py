"""The page of an audit in a browser: decisions about rows, and the file that the page saves."""

import csv
import io
from shlex import join

import numpy as np
import pytest

from pages import HOSTILE
from salience.audit.decisions import COLUMNS, decision_rows, read_decisions
from salience.audit.findings import Finding
from salience.data.reading import Form
from salience.data.task import Task
from salience.data.texts import Texts
from salience.data.writing import csv_writer
from salience.report.audit_page import AuditEvidence, audit_page
from salience.scores.predictions import Predictions

pytestmark = pytest.mark.whole  # a browser
LABELS = ["=sum", "keep", *HOSTILE[:3]]
COMMAND = join(["salience", "train", f"{HOSTILE[1]}  x.csv", "--ignore-words", f"{HOSTILE[2]}/{'long' * 40}.txt"])
COUNT = 60  # rows, more than are shown at first


def evidence() -> AuditEvidence:
    """Every row has a finding, and every third one a suggested label; texts and labels are hostile."""
    texts = [f"{HOSTILE[row % 5]} {row}".replace("\x00", "") for row in range(COUNT)]
    labels = np.arange(COUNT) % 5
    kind = {True: lambda row: {"label": LABELS[row % 5], "suggested": LABELS[(row + 1) % 5]}, False: lambda row: {}}
    findings = [
        Finding("label" if row % 3 == 0 else "outlier", [row + 1], "check", 0.5, kind[row % 3 == 0](row) | {
            "probability_of_label": 0.1, "probability_of_suggested": 0.6,
        })
        for row in range(COUNT)
    ]  # fmt: skip
    found = {"word": HOSTILE[3], "label": LABELS[4], "gamma": 1.0, "log_odds": 5.0}
    findings.append(Finding("word", [5], "check", 0.5, found))
    probabilities = np.full((COUNT, 5), 0.2)
    task = Task(LABELS, Texts(texts, labels=labels))
    return AuditEvidence(task, findings, Predictions(probabilities, labels), "a test", 0.95, ignoring=COMMAND)


def saved(page) -> str:
    with page.expect_download() as download:
        page.get_by_role("button", name="save decisions.csv").click()
    assert download.value.suggested_filename == "decisions.csv"
    return download.value.path().read_bytes().decode("utf-8")


def test_what_is_decided_on_the_page_is_saved_as_the_audit_writes_it(page, tmp_path):
    """Without a decision, it is decisions.csv to the last byte; with decisions, `--apply` reads them."""
    of_page = evidence()
    (tmp_path / "audit.html").write_text(audit_page(of_page, HOSTILE[1]), encoding="utf-8")
    page.goto((tmp_path / "audit.html").as_uri())
    rows = decision_rows(of_page.findings, of_page.task.training, LABELS)
    expected = io.StringIO(newline="")
    csv_writer(expected, COLUMNS, safe=True, form=Form())(rows)
    assert saved(page) == "\ufeff" + expected.getvalue()
    selects = page.locator(".decision select")
    assert selects.count() == 50 and page.get_by_role("status").text_content() == "0 of 60 rows are decided"
    page.get_by_role("button", name="show more rows").click()
    assert selects.count() == COUNT and not page.get_by_role("button", name="show more rows").is_visible()
    first = rows[0]
    assert selects.first.locator("option").all_text_contents() == [
        "undecided", f"relabel: {first['suggested']}", "keep", "delete", *LABELS
    ]  # fmt: skip
    place = {int(row["row"]): number for number, row in enumerate(rows)}
    for row, choice in {1: "relabel", 2: "label:keep", 3: "delete", 4: "=sum", 5: "keep", 60: LABELS[2]}.items():
        selects.nth(place[row]).select_option(choice)
    assert page.get_by_role("status").text_content() == "6 of 60 rows are decided"
    (tmp_path / "decisions.csv").write_text(saved(page), encoding="utf-8", newline="")
    lines = list(csv.DictReader(io.StringIO(saved(page).removeprefix("\ufeff"))))
    assert lines[0]["text"].startswith(HOSTILE[0])
    own = {row: LABELS[(row - 1) % 5] for row in range(1, COUNT + 1)}
    changes = read_decisions(str(tmp_path / "decisions.csv"), own, "data.csv")
    assert changes == {1: "keep", 3: None, 4: "=sum", 60: LABELS[2]}  # row 2 is called keep already
    assert page.locator("img, b, h1 script").count() == 0
    assert page.locator(".command").text_content() == COMMAND
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
