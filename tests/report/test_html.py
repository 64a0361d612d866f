"""Pages as HTML and as Markdown, without a browser: what is in them, and that values stay texts."""

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html import unescape

import numpy as np
import pytest
from evaluations import NAMES, ROWS, estimates, evaluation_of, row
from rich.console import Console

from pages import HOSTILE, Content
from salience.explainers.explanation import Explanation
from salience.faithfulness.results import Row
from salience.report.comparison_pictures import confusion_matrix
from salience.report.explanation_page import explanation_page
from salience.report.faithfulness_page import faithfulness_json, faithfulness_page, terminal_tables
from salience.report.page import (
    Card,
    Cell,
    Figure,
    Grid,
    Legend,
    Lines,
    Lists,
    Marked,
    Section,
    Table,
    Title,
    cut,
    framed,
    in_terminal,
    markdown_of,
    page_of,
)
from salience.report.pictures import Drawing, Styles, inline, picture
from salience.report.run_page import POINTS_OF_CURVE, threshold_drawing
from salience.scores.thresholds import Curve


def hash_of(page: str, tag: str) -> str:
    """The SHA-256 of an element, as a policy has it."""
    (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


@pytest.mark.parametrize("script", ["", "document.title += '!'"])
def test_the_frame_allows_its_own_style_and_script_alone(script):
    page = framed("R&D <b>\ud83d", "h1 { color: red }", "<h1>one</h1>", script)
    assert "<title>R&amp;D &lt;b&gt;\\ud83d</title>" in page and "h1 { color: red }" in page
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts == {
        "default-src": "'none'", "img-src": "data:", "style-src": hash_of(page, "style"),
        "script-src": hash_of(page, "script") if script else "'none'", "base-uri": "'none'", "form-action": "'none'",
    }  # fmt: skip


def explanation(words, scores=None, labels=("a", "b"), **more) -> Explanation:
    found = np.linspace(0.5, 1, len(words)) if scores is None else np.array(scores)
    return Explanation(list(words), None, list(labels), np.array([0.75, 0.25]), 0, None, {"gradient": found}, **more)


def hostile_sections(text: str) -> list[Section]:
    """A section with every kind of block, all of whose texts are one."""
    table = Table([text, Cell(text, text)], [[text, Cell(text, text)], [text, Cell(text, best=True)]], {1}, text)
    explained = explanation(text.split(" "))
    picture = Figure(text, Drawing(lambda axes: axes.set_title(text) and None, (3, 2)))
    lead = [text, Marked(text), Marked(text, "row")]
    return [
        Section("one", text, [text, Title(text), Lines([text], text), table, picture, Grid([picture])]),
        Section("two", text, [
            Card(lead, [(lead, text)], [(text, text)], [(lead, explained)]), Legend(text),
            table._replace(in_place=True), Lists({text: [(text, text)]}),
        ]),
    ]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_all_blocks_stay_texts(text):
    page = page_of(text, text, hostile_sections(text), before=[text], explainer="gradient")
    found = Content(page)
    assert not {"script", "img", "b", "iframe"} & set(found.tags)
    assert all(address == "data:," or address.startswith("#") for address in found.addresses)
    shown = " ".join(text.replace("\x00", "\ufffd").split())
    assert " ".join(found.text.replace("\x00", "\ufffd").split()).count(shown) > 20
    markdown = markdown_of(text, text, hostile_sections(text))
    assert not re.search(r"(?<!\\)<|(?<!\\)\]", markdown)
    assert sum(line.startswith("#") for line in markdown.splitlines()) == 4  # a title, two sections, a part


def test_blocks_in_each_medium():
    table = Table(
        ["name", Cell("accuracy", "%")], [["plain", Cell("90.1", "88 to 92")], ["ssmix", Cell("91", best=True)]]
    )
    many = Table(["name", "number"], [[f"n{n}", str(n)] for n in range(23)], folded="23 names", file="names.csv")
    sections = [Section("a", "Scores", ["words", table, Title("more"), many]),
                Section("b", "Pictures", [Figure("of it", Drawing(lambda axes: None, (3, 2)))])]  # fmt: skip
    page = page_of("title", "about", sections)
    found = Content(page)
    assert found.sections == ["a", "b"] and found.addresses[1:3] == ["#a", "#b"] and ">Pictures</a>" in page
    assert found.rows_of("plain") == [["90.188 to 92"]] and found.rows_of("ssmix") == [["91 best"]]
    assert "<details><summary>23 names</summary>" in page and len(found.rows_of("n22")) == 1
    assert page.count("<svg") == 1 and 'aria-label="of it"' in page
    markdown = markdown_of("title", "about", sections)
    assert "| name | accuracy \\(%\\) |" in markdown or "| name | accuracy (%) |" in markdown
    assert "**91** (best)" in markdown and "90.1 (88 to 92)" in markdown.replace("\\", "")
    assert "| n19 | 19 |" in markdown and "n20" not in markdown and "3 more are in names.csv." in markdown
    assert "## Scores" in markdown and "Pictures" not in markdown  # which Markdown has none of
    console = Console(width=60, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(in_terminal("[red]t", table))
    text = console.export_text()
    assert "[red]t" in text and re.search(r"plain\W+90\.1", text)


def test_long_texts_are_cut_at_a_word_and_heat_maps_fold():
    words = [f"word{number}" for number in range(100)]
    start, rest = cut(" ".join(words))
    assert len(start) <= 280 and start + rest == " ".join(words) and not rest.startswith("word")
    assert cut("aaa bbbb", 4) == ("aaa", " bbbb") and cut("aaaa bbb", 4) == ("aaaa", " bbb")  # the last places
    cards = [Card("", [("", " ".join(words))], maps=[("", explanation(words, cut=True))])]
    page = page_of("t", "", [Section("s", "S", [Legend("of it"), *cards])], explainer="gradient")
    assert page.count("<summary>the rest</summary>") == 2 and "(the rest was not read)" in page
    assert len(re.findall('<span class="word svg-[0-9]+" title="[0-9.]+">word', page)) == 100
    colour = re.search(r"\.(svg-[0-9]+) { background: rgba\(224,130,20,0.75\) }", page)[1]
    assert f'<span class="word {colour}" title="1">word99</span>' in page


def test_every_text_has_the_direction_of_its_letters_and_the_spaces_that_it_had():
    joined = explanation(["东"] * 400, joined=frozenset(range(1, 400)))
    cards = [Card("", [("", "سلام " * 100)], maps=[("", joined)])]
    blocks = [*cards, Table(["n", "t"], [["1", "سلام"]], {1}), Lists({"a": [("سلام", "")]}), Lines(["سلام"])]
    page = page_of("t", "", [Section("s", "S", blocks)], explainer="gradient")
    directed = re.findall(r'<(\w+)[^>]* dir="auto"[^>]*>([^<]*)', page)
    assert [(tag, text.strip("… \n")[:4]) for tag, text in directed] == [
        ("p", "سلام"), ("p", "سلام"), ("div", ""), ("div", ""), ("td", "سلام"), ("li", "سلام"), ("li", "سلام")
    ]  # fmt: skip
    assert page.count(">东</span><span") == 398 and page.count("<summary>the rest</summary>") == 2
    (data,) = re.findall('<script id="data" type="application/json">(.*?)</script>', explanation_page([joined], "x"))
    assert json.loads(data)["rows"][0]["spaces"] == [""] * 400


def test_explanations_are_data_that_no_text_ends():
    hostile = [explanation(text.split(" "), labels=HOSTILE[:2], row=number) for number, text in enumerate(HOSTILE)]
    page = explanation_page(iter(hostile), HOSTILE[0])
    (data,) = re.findall('<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    content = json.loads(data)
    assert [" ".join(each["words"]) for each in content["rows"]] == HOSTILE
    assert content["labels"] == HOSTILE[:2] and content["explainers"] == ["gradient"] and content["counted"] == "texts"
    assert Content(page).tags.count("script") == 2 and unescape(page).count(HOSTILE[0]) == 2
    first = content["rows"][0]
    assert (first["row"], first["predicted"], first["probabilities"], first["right"]) == (0, 0, [0.75, 0.25], None)
    unknown = replace(hostile[0], scores={"gradient": np.full(len(hostile[0].words), np.nan)})
    assert '"scores": [[null' in explanation_page([unknown], "x")


def test_the_table_and_the_curves_of_faithfulness():
    page = faithfulness_page(evaluation_of(ROWS), "Faithfulness of tiny", "60 texts")
    found = Content(page)
    assert [found.rows_of(name)[0] for name in NAMES] == [
        ["12.3510.00 to 14.50", "7.006.25 to 8.12", "-0.50-1.00 to 0.00"]
    ] * len(NAMES)  # fmt: skip
    assert found.rows_of("explainer") == [[
        "accuracy-drop@5percentage points, higher is better", "decision-flipwords, lower is better",
        "loo-taurank correlation, higher is better",
    ]]  # fmt: skip
    assert 'figure id="without"' in page and 'figure id="alone"' in page and page.count("<svg") == 2
    assert "gradient: 0 words removed, accuracy 90.0 %" in page
    nothing, unknown = np.zeros(0), (float("nan"),) * 3
    bare = Row("<b>random", estimates({"aopc": unknown}), {}, nothing, nothing, {"<i>pos": {"P@1": 31.25}})
    page = faithfulness_page(evaluation_of([bare]), "x", "")
    found = Content(page)
    assert "svg" not in found.tags and not {"b", "i"} & set(found.tags)
    assert found.rows_of("<b>random") == [["-"], ["<i>pos", "31.2"]]


def test_faithfulness_in_a_terminal():
    evaluation = evaluation_of([replace(each, marked={"[b]pos": {"P@1": 31.25}}) for each in ROWS])
    console = Console(width=50, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    tables = terminal_tables(evaluation, "about", 50)
    for table in tables:
        console.print(table)
    text = console.export_text()
    assert len(tables) > 1 and text.count("gradients") >= 1 and max(map(len, text.splitlines())) <= 50
    assert "12.3±2.2" in text and "-0.50±0.50" in text and "[b]pos" in text and "31.2" in text


def test_json_has_no_nan():
    unknown = (float("nan"),) * 3
    content = faithfulness_json(evaluation_of([row("gradient", aopc=unknown)]), "60 texts")
    json.dumps(content, allow_nan=False)
    assert content["rows"][0]["metrics"]["aopc"] == [None, None, None]


def test_the_file_beside_the_page_has_all_numbers():
    content = faithfulness_json(evaluation_of(ROWS), "60 texts of test.csv")
    assert content == json.loads(json.dumps(content)) | {"about": "60 texts of test.csv"}
    for own, written_row in zip(ROWS, content["rows"], strict=True):
        assert written_row == {
            "explainer": own.explainer, "metrics": {name: list(values) for name, values in own.metrics.items()},
            "without": own.without.tolist(), "alone": own.alone.tolist(),
        }  # fmt: skip
    assert content["metrics"]["decision-flip"] == {
        "unit": "words", "higher_is_better": False,
        "reference": "Serrano and Smith (2019), arXiv:1906.03731, section 5",
    }  # fmt: skip


def test_right_answers_are_blue_and_errors_red():
    table = confusion_matrix("", ["a", "b"], np.array([[3, 1], [0, 4]]))
    page = page_of("t", "", [Section("s", "S", [table])])
    shown = dict(re.findall(r'<td class="(svg-\d+)">(\d*)</td>', page))
    colours = {count: re.search(rf"\.{name} {{ background: (.*?) }}", page)[1] for name, count in shown.items()}
    assert colours == {
        "3": "rgba(58,110,217,0.56)", "1": "rgba(217,71,58,0.19)", "4": "rgba(58,110,217,0.75)",
        "": "rgba(217,71,58,0.00)",
    }  # fmt: skip


def test_a_curve_of_many_thresholds_has_one_point_where_one_is_seen():
    probabilities = np.random.default_rng(0).beta(0.1, 0.9, 5000)  # most near 0, as where labels are many
    curve = Curve.of(probabilities, probabilities > 0.5)
    drawn = inline(picture(threshold_drawing(curve, {}), "curve"), Styles(), "curve")
    titles = re.findall(r"<title>from (\S+) on: precision", drawn)
    places = [round(float(title) * POINTS_OF_CURVE) for title in titles]
    assert len({*places}) >= len(places) - 1 > 100  # the lowest threshold is always drawn
    assert titles[0] == f"{curve.values[0]:.4g}" and titles[-1] == f"{curve.values[-1]:.4g}"
    assert not re.search(r' (?:d|x|y)="[^"]*\.\d{3}', drawn)
