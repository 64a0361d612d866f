"""The page of corrections in a browser: what is clicked and typed is what the file has that it saves."""

import csv
import io
import json

import numpy as np
import pytest

from pages import HOSTILE
from salience.audit.doubtful import Doubtful, places_of, share_on
from salience.audit.words import NAME
from salience.data.corrected import COLUMNS
from salience.data.marks import Mark
from salience.data.words import spaced_spans
from salience.explainers.explanation import Explanation
from salience.report.correction_page import correction_page

pytestmark = pytest.mark.whole  # a browser
LABELS = ["=sum", "fine", *HOSTILE[:3]]
REASON = f"{HOSTILE[0]} gives fine away"
SCORES = [0.5, -0.25, 0.125, 1.0, -2.0, 0.25, 0.75, -0.5]  # of words, again and again


def doubtful(
    *texts: str, given=None, predicted=(0,), row=1, read=None, file="a.csv", explained=(0,)
) -> Doubtful:  # fmt: skip
    """A text or a pair of which the classifier reads the first words, or all; scores of later labels are reversed."""
    words = [spaced_spans(text) for text in texts]
    names = [text[slice(*span)] for text, own in zip(texts, words, strict=True) for span in own][:read]
    scores = np.resize(SCORES, len(names))
    probabilities = np.full(len(LABELS), 0.1)
    probabilities[list(predicted)] = 0.6
    second = len(words[0]) if len(texts) > 1 else None
    explanations = [
        Explanation(names, second, LABELS, probabilities, label, None, {NAME: own}, row, read is not None)
        for label, own in zip(explained, [scores, scores[::-1]], strict=False)
    ]
    places = places_of(explanations[0], texts, words)
    return Doubtful(texts, words, places, explanations, list(predicted), given, REASON, file)


@pytest.fixture
def shown(page, tmp_path):
    """Opens the page of some texts."""

    def run(found, columns=("text",), several=False):
        file = tmp_path / "page.html"
        file.write_text(correction_page(found, columns, LABELS, several, HOSTILE[1]), encoding="utf-8")
        page.goto(file.as_uri())
        return page

    return run


def saved(page, press=None) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.keyboard.press(press) if press else page.get_by_role("button", name="save corrections.csv").click()
    assert download.value.suggested_filename == "corrections.csv"
    text = download.value.path().read_bytes().decode("utf-8")
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def word(page, row: int, number: int):
    return page.locator("article").nth(row).locator(".word").nth(number)


def said(page) -> str:
    return page.get_by_role("status").text_content()


TEXT = "The BBC  says,\na 🎬 film\tis dull "


def test_words_are_marked_by_clicks(shown):
    """A word says nothing, decides, must not count, and says nothing again; characters are counted as Python does."""
    page = shown([doubtful(TEXT, given=[1]), doubtful("another", given=[1])])
    word(page, 0, 7).click()
    word(page, 0, 4).click()
    for _ in range(2):
        word(page, 0, 1).click()
    for _ in range(3):
        word(page, 0, 0).click()
    assert said(page) == "1 of 2 rows are corrected"
    (row,) = saved(page)
    assert tuple(row) == ("text", *COLUMNS) and row["text"] == TEXT
    assert [TEXT[slice(*span)] for span in json.loads(row["marks"])] == ["🎬", "dull"]
    assert [TEXT[slice(*span)] for span in json.loads(row["ignore"])] == ["BBC"]
    assert (row["label"], row["predicted"]) == ("fine", "'=sum")
    found = doubtful(TEXT)
    for role in ("marks", "ignore"):
        expected = share_on(found.explanations[0], found.places, [Mark(*span) for span in json.loads(row[role])])
        assert float(row[f"{role}_share"]) == pytest.approx(expected, abs=1e-4)


def test_the_keyboard_does_all_of_it(shown):
    """Behind the last word, and before the first row, there is nothing."""
    page = shown([doubtful("one two three", row=row, given=[1], predicted=[row % 2]) for row in (3, 5, 7, 9)])
    for key in ("ArrowRight", "d", "ArrowRight", "i", "ArrowRight", "ArrowRight", "i", "d", "2"):
        page.keyboard.press(key)
    for key in ("ArrowDown", "1", "ArrowDown", "Enter", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowLeft", "d"):
        page.keyboard.press(key)
    rows = saved(page, "s")
    assert [json.loads(row["marks"] or "[]") for row in rows] == [[[8, 13]], [], []]
    assert [row["label"] for row in rows] == ["fine", "'=sum", "fine"] and rows[0]["ignore"] == ""
    for key in ("d", "d", "u", "ArrowDown", "u"):
        page.keyboard.press(key)
    assert said(page) == "1 of 4 rows are corrected"
    assert [row["label"] for row in saved(page)] == ["fine"]


def test_labels_by_the_list_and_rows_without_one(shown):
    """A label that nobody gave is not made of the prediction, unless a person confirms it."""
    page = shown([doubtful("one two", row=row, predicted=[2]) for row in (1, 2, 3)])
    assert page.get_by_role("button", name="save corrections.csv").is_disabled()
    selects = page.locator("article select")
    assert selects.first.locator("option").all_text_contents() == [
        "choose the label", *(f"{number} {label} ({0.6 if number == 3 else 0.1:.2f})"
                              for number, label in enumerate(LABELS, 1))]  # fmt: skip
    selects.first.select_option("4")
    word(page, 1, 0).click()
    assert said(page) == "2 of 3 rows are corrected, 1 of them without a label"
    page.get_by_role("button", name="right as it is").nth(2).click()
    assert [row["label"] for row in saved(page)] == [LABELS[4], "", LABELS[2]]
    page.get_by_role("button", name="undo").first.click()
    assert len(saved(page)) == 2


def test_several_labels(shown):
    found = [doubtful("one two", given=[0, 3], predicted=[0]), doubtful("three", predicted=[]),
             doubtful("four", given=[])]  # fmt: skip
    page = shown(found, several=True)
    boxes = page.locator("article").first.locator("input")
    assert [box.is_checked() for box in boxes.all()] == [True, False, False, True, False]
    boxes.nth(3).click()
    for key in ("5", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    rows = saved(page)
    assert [json.loads(row["label"]) for row in rows] == [[LABELS[0], LABELS[4]], []]
    assert [json.loads(row["predicted"]) for row in rows] == [[LABELS[0]], []]


def test_each_of_several_labels_has_its_heat_map(shown):
    """The shares that are saved stay those of the most probable label."""
    page = shown([doubtful("one two three", given=[0, 3], explained=(0, 3)), doubtful("four")], several=True)
    choice = page.get_by_label("explained label of row 1")
    assert choice.locator("option").all_text_contents() == [LABELS[0], LABELS[3]] and choice.count() == 1

    def titles() -> list[float]:
        return [float(each.get_attribute("title")) for each in page.locator("article").first.locator(".word").all()]

    assert titles() == SCORES[:3]
    before = word(page, 0, 2).evaluate("word => word.style.background")
    choice.select_option(LABELS[3])
    assert titles() == SCORES[2::-1]
    assert word(page, 0, 2).evaluate("word => word.style.background") != before
    word(page, 0, 0).click()
    assert float(saved(page)[0]["marks_share"]) == pytest.approx(0.5 / 0.875, abs=1e-4)


def test_pairs_have_their_spans_by_their_columns(shown):
    page = shown([doubtful("It rains", "It is dry", given=[1])], ("premise", 'hypo"thesis'))
    word(page, 0, 4).click()
    for _ in range(2):
        word(page, 0, 1).click()
    (row,) = saved(page)
    assert (row["premise"], row['hypo"thesis']) == ("It rains", "It is dry")
    assert json.loads(row["marks"]) == {"premise": [], 'hypo"thesis': [[6, 9]]}
    assert json.loads(row["ignore"]) == {"premise": [[3, 8]], 'hypo"thesis': []}


def test_texts_labels_and_names_stay_texts_and_fit_every_window(shown):
    hostile = [f"{text} {'x' * 90}".replace("\x00", "") for text in HOSTILE]
    page = shown([doubtful(text, row=row, given=[row % 5], predicted=[4], read=2, file=HOSTILE[row % 3])
                  for row, text in enumerate(hostile)])  # fmt: skip
    for row in range(len(hostile)):
        word(page, row, 0).click()
    assert [row["text"] for row in saved(page)] == hostile
    assert page.locator("article img, article b, h1 script, h1 img").count() == 0
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_leaving_with_unsaved_corrections_warns(shown, tmp_path):
    page = shown([doubtful("one two", given=[1])])
    leaving = "() => dispatchEvent(new Event('beforeunload', { cancelable: true }))"
    assert page.evaluate(leaving)
    word(page, 0, 0).click()
    assert not page.evaluate(leaving)
    saved(page)
    assert page.evaluate(leaving)
