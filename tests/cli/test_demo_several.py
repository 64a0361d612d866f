"""The page of `salience demo` where a text can have several labels: thresholds, and a text's decisions explained."""

import re
from importlib.util import find_spec

import numpy as np
import pytest

import families
from browsing import VIOLATIONS
from salience.classify import TextClassifier
from salience.cli import demo as demo_page
from salience.report.demo_page import classes_table

pytestmark = [  # gradio takes seconds to import
    pytest.mark.whole, pytest.mark.skipif(find_spec("gradio") is None, reason="gradio is not installed"),
]  # fmt: skip
HOSTILE = "<img src=x onerror=alert(1)>"
LABELS = ["food", HOSTILE, "sport"]
TEXT = "a cup <script>window.hacked = 1</script>"


def reader(thresholds: list[float]) -> TextClassifier:
    model = families.build("bert").eval()
    model.config.id2label = dict(enumerate(LABELS))
    model.config.problem_type = "multi_label_classification"
    model.config.label_thresholds = dict(zip(LABELS, thresholds, strict=True))
    return TextClassifier(model, families.tiny_tokenizer(), 32, "fp32")


def shown(classifier: TextClassifier, text: str, pair: str = "") -> tuple[dict[str, float], str, str]:
    """What the page shows of a text: the function behind it, without a browser."""
    page = demo_page.build_page(classifier, "tiny")
    return next(iter(page.fns.values())).fn(text, pair, "gradient")


def rows_of(table: str) -> list[list[str]]:
    """The cells of a table's rows below its head."""
    return [re.findall(r"<td>(.*?)</td>", row) for row in table.split("<tr>")[2:]]


def test_every_label_has_its_probability_and_threshold():
    classifier = reader([0.0, 1.0, 0.25])
    expected = dict(zip(LABELS, classifier.predict_proba([TEXT])[0].tolist(), strict=True))
    probabilities, table, _ = shown(classifier, TEXT)
    assert probabilities == pytest.approx(expected, abs=1e-6)
    rows = rows_of(table.replace("<b>", "").replace("</b>", ""))
    assert [float(row[1]) for row in rows] == pytest.approx(sorted(expected.values(), reverse=True), abs=6e-4)
    by_label = {row[0].replace("&lt;", "<").replace("&gt;", ">"): row for row in rows}
    assert [by_label[label][2] for label in LABELS] == ["0.000", "1.000", "0.250"]
    decided = [label for label in LABELS if by_label[label][3] == "predicted"]
    assert decided == classifier.predict([TEXT])[0] and "food" in decided and HOSTILE not in decided
    assert "<img" not in table


@pytest.mark.parametrize("thresholds", [[0, 1, 0], [0, 0, 0], [1, 1, 1]], ids=["two", "all", "none"])
def test_each_predicted_label_is_explained(thresholds):
    classifier = reader(thresholds)
    probabilities, _, words = shown(classifier, TEXT, "a song")
    heads = re.findall(r"<b>(.*?)</b>", words)
    if thresholds == [1, 1, 1]:  # the most probable label, and that it is not predicted
        best = max(probabilities, key=probabilities.get)
        assert heads == [f"not {best} ({probabilities[best]:.2f})".replace("<", "&lt;").replace(">", "&gt;")]
    else:
        names = [label for label, threshold in zip(LABELS, thresholds, strict=True) if not threshold]
        assert len(heads) == len(names) == words.count("<div>")
        for head, name in zip(heads, names, strict=True):
            assert head.replace("&lt;", "<").replace("&gt;", ">").startswith(f"{name} (")
    assert "<script" not in words and words.count("song") == len(heads)


def test_an_empty_text_shows_nothing():
    assert shown(reader([0.5, 0.5, 0.5]), " ") == ({}, "", "")


def test_the_table_of_classes_has_the_thresholds():
    table = classes_table(LABELS, np.array([0.125, 0.5, 1]), None)
    assert "predicted from" in table and "abstains" not in table and "<img" not in table
    assert [row[1] for row in rows_of(table)] == ["0.125", "0.500", "1.000"]
    assert "label_thresholds of config.json" in table


def test_the_page_in_a_browser(browser):
    page = demo_page.build_page(reader([0.0, 1.0, 0.0]), "tiny")
    _, address, _ = demo_page.launch(page, prevent_thread_lock=True, quiet=True, ssr_mode=False)
    try:
        opened = browser.new_page()
        opened.add_init_script(VIOLATIONS)
        opened.goto(address)
        opened.get_by_label("text", exact=True).fill(TEXT)
        opened.get_by_role("button", name="explain").click()
        opened.locator("span[title]", has_text="<script>").first.wait_for()
        cells = opened.locator("td", has_text="predicted")
        cells.first.wait_for()
        assert cells.count() == 2
        assert opened.locator("td", has_text=HOSTILE).count() == 2  # of this text, and of the list of classes
        assert opened.evaluate("window.hacked") is None and opened.evaluate("window.violations") == []
        opened.close()
    finally:
        page.close()
