"""The page of explainers by metrics in a browser: its table, its curves, and that names stay names."""

import json

import numpy as np
import pytest

from salience.faithfulness import Metric, metrics_named
from salience.faithfulness.results import Estimate, Evaluation, Row
from salience.report.faithfulness_page import write_faithfulness

NAMES = ["attention", "gradient", "gradient-x-input", "integrated-gradients", "occlusion", "random"]
MOST = 20


def row(name: str, level: float = 0.5, most: int = MOST, **metrics) -> Row:
    """An explainer whose curves fall to `level` and rise from it."""
    falling = np.linspace(0.9, level, most + 1)
    metrics = metrics or {"accuracy-drop@5": (12.345, 10.0, 14.5), "decision-flip": (7.0, 6.25, 8.125),
                          "loo-tau": (-0.5, -1, 0)}  # fmt: skip
    return Row(name, estimates(metrics), {}, falling, np.array([0.9, *falling[:0:-1]]), {})


def estimates(metrics) -> dict[str, Estimate]:
    return {name: Estimate(*values) for name, values in metrics.items()}


def evaluation_of(rows) -> Evaluation:
    """The catalogue's metrics; what it does not know is taken to be something in percent."""
    strange = Metric(lambda erasure: np.zeros(0), "<i>percent & more</i>", True, "")
    known = metrics_named(["accuracy-drop@5", "decision-flip", "loo-tau", "aopc"])
    return Evaluation(rows, {name: known.get(name, strange) for name in rows[0].metrics})


ROWS = [row(name, 0.2 + 0.1 * number) for number, name in enumerate(NAMES)]


@pytest.fixture
def shown(page, tmp_path):
    """Writes rows and opens their page."""

    def run(rows, title="Faithfulness of tiny", about="60 texts of test.csv"):
        write_faithfulness(evaluation_of(rows), title, about, tmp_path)
        page.goto((tmp_path / "index.html").as_uri())
        return page

    return run


def cells(page) -> list[list[str]]:
    return page.locator("tr").evaluate_all("all => all.map(own => [...own.children].map(cell => cell.innerText))")


def drawn(page, kind: str) -> list[list[dict]]:
    """The elements of a kind in each of the two drawings: text, colour, and where they stand in the drawing."""
    return page.locator("figure svg").evaluate_all(
        """(all, kind) => all.map(svg => [...svg.querySelectorAll(kind)].map(own => {
            const outer = svg.getBoundingClientRect(), inner = own.getBoundingClientRect();
            return {text: own.textContent, colour: own.getAttribute(kind == "text" ? "fill" : "stroke"),
                    anchor: own.getAttribute("text-anchor"), points: own.getAttribute("points"),
                    left: inner.left - outer.left, top: inner.top - outer.top,
                    right: inner.right - outer.left, bottom: inner.bottom - outer.top,
                    width: outer.width, height: outer.height};
        }))""",
        kind,
    )


def legend(page) -> list[list[dict]]:
    return [[own for own in drawing if own["colour"]] for drawing in drawn(page, "text")]


def inside(own: dict) -> bool:
    return own["left"] >= 0 and own["top"] >= 0 and own["right"] <= own["width"] and own["bottom"] <= own["height"]


def apart(one: dict, other: dict) -> bool:
    beside = one["right"] <= other["left"] or other["right"] <= one["left"]
    return beside or one["bottom"] <= other["top"] + 1 or other["bottom"] <= one["top"] + 1


def test_what_the_page_shows(shown):
    page = shown(ROWS)
    assert page.title() == page.locator("h1").text_content() == "Faithfulness of tiny"
    assert page.locator("p").text_content() == "60 texts of test.csv"
    head, *body = cells(page)
    assert head == [
        "explainer", "accuracy-drop@5\npercentage points,\nhigher is better", "decision-flip\nwords,\nlower is better",
        "loo-tau\nrank correlation,\nhigher is better",
    ]  # fmt: skip
    assert [own[0] for own in body] == NAMES
    assert body[0][1:] == ["12.35\n10.00 to 14.50", "7.00\n6.25 to 8.12", "-0.50\n-1.00 to 0.00"]
    captions = page.locator("figcaption").all_text_contents()
    assert captions == [
        "accuracy without the K highest words: lower is better",
        "accuracy on the K highest words alone (K = 0: on the whole text): higher is better",
    ]
    assert page.locator("svg").first.is_visible() and page.locator("svg").last.is_visible()


def test_both_drawings_have_a_line_an_explainer(shown):
    page = shown(ROWS)
    for lines, names in zip(drawn(page, "polyline"), legend(page), strict=True):
        assert [own["text"] for own in names] == NAMES
        assert [own["colour"] for own in lines] == [own["colour"] for own in names]
        assert len({own["colour"] for own in lines}) == len(NAMES)
        assert all(len(own["points"].split()) == MOST + 1 for own in lines)
        assert all(map(inside, lines))


def test_lines_go_where_the_numbers_say(shown):
    """Down without the words that matter, and up with more of them."""
    page = shown([row("gradient", 0.1), row("random", 0.6)])
    without, alone = (
        [[float(point.split(",")[1]) for point in own["points"].split()] for own in lines]
        for lines in drawn(page, "polyline")
    )
    for own in without:
        assert own == sorted(own)  # y counts from above
    for own in alone:
        assert own[1:] == sorted(own[1:], reverse=True)
    assert without[0][0] == without[1][0] and without[0][-1] > without[1][-1]
    scale = [own["text"] for own in drawn(page, "text")[0] if own["anchor"]]
    assert scale == ["10", "50", "90", "0", "10", "20"]


def test_nothing_is_cut_off_or_hidden(shown):
    page = shown(ROWS)
    for texts in drawn(page, "text"):
        for number, own in enumerate(texts):
            assert inside(own), own["text"]
            for other in texts[:number]:
                assert apart(own, other), (own["text"], other["text"])


@pytest.mark.parametrize("name", ["pooling-attention", "integrated-gradients", "captum:LayerIntegratedGradients"])
def test_long_names_can_be_read(name, shown):
    page = shown([row(name), row("random", 0.6)])
    for names in legend(page):
        assert names[0]["text"] == name
        assert inside(names[0]), f"{names[0]['right']:.0f} of {names[0]['width']:.0f} pixels"


def test_many_explainers_are_all_named(shown):
    """Our own, and more of others."""
    count = 12
    page = shown([row(f"explainer-{number}", 0.2 + 0.03 * number) for number in range(count)])
    for lines, names in zip(drawn(page, "polyline"), legend(page), strict=True):
        assert len(lines) == len(names) == count
        for own in names:
            assert inside(own), own["text"]


@pytest.mark.parametrize("count", [8, 12])
def test_every_line_has_a_look_of_its_own(count, shown):
    page = shown([*(row(f"explainer-{number}", 0.2 + 0.03 * number) for number in range(count - 1)), row("random")])
    looks = (
        page.locator("figure")
        .first.locator("polyline")
        .evaluate_all("all => all.map(own => own.getAttribute('stroke') + own.getAttribute('stroke-dasharray'))")
    )
    assert len(set(looks)) == count


@pytest.mark.parametrize(
    "curve",
    [[0.5] * 21, [0.9, 0.895, 0.89], [1.0] * 21, [0.0, 0.0]],
    ids=["constant", "hardly falling", "always right", "never right"],
)
def test_curves_that_say_little(curve, shown):
    page = shown(
        [
            Row(name, estimates({"aopc": (0.0, 0.0, 0.0)}), {}, np.array(curve), np.array(curve), {})
            for name in ("gradient", "random")
        ]
    )
    for lines, texts in zip(drawn(page, "polyline"), drawn(page, "text"), strict=True):
        assert len(lines) == 2 and all(map(inside, lines))
        scale = [own["text"] for own in texts if own["anchor"] == "end"]
        assert len(set(scale)) == len(scale) >= 2, scale
        assert all(0 <= float(own) <= 100 for own in scale), scale  # of accuracy


def test_one_word_at_most(shown):
    page = shown([row("gradient", most=1), row("random", 0.6, most=1)])
    for lines, texts in zip(drawn(page, "polyline"), drawn(page, "text"), strict=True):
        assert [len(own["points"].split()) for own in lines] == [2, 2]
        assert [own["text"] for own in texts if own["anchor"] == "middle"] == ["0", "1"]


def test_random_alone(shown):
    page = shown([row("random")])
    assert [len(lines) for lines in drawn(page, "polyline")] == [1, 1]
    assert len(cells(page)) == 2


HOSTILE = [
    "<script>window.hacked = 1</script>", "<img src=x onerror=window.hacked=1>", "</title></svg></table><b>x",
    "\"'><svg onload='window.hacked=1'>", "&lt;b&gt; &amp;", "<!-- x", "{title} {0} {{ x }} %s", "👩‍👧 \u2028 ä",
]  # fmt: skip


def test_names_are_no_markup(shown):
    rows = [row(name, 0.3, **{f"{name} %": (1.0, 0.5, 1.5) for name in HOSTILE}) for name in HOSTILE]
    title, about = " ".join(HOSTILE), " - ".join(HOSTILE)
    page = shown(rows, title, about)
    assert page.locator("title").text_content() == page.locator("h1").text_content() == title
    assert page.locator("p").text_content() == about
    assert page.locator("th").all_text_contents() == [
        "explainer", *(f"{name} %<i>percent & more</i>,higher is better" for name in HOSTILE)
    ]  # fmt: skip
    assert page.locator("td:first-child").all_text_contents() == HOSTILE
    for names in legend(page):
        assert [own["text"] for own in names] == HOSTILE
    found = {kind: page.locator(kind).count() for kind in ("script", "img", "b", "title", "svg", "table", "figure")}
    assert found == {"script": 0, "img": 0, "b": 0, "title": 1, "svg": 2, "table": 1, "figure": 2}


def test_what_cannot_be_told_is_written_so(shown, tmp_path):
    """As Kendall's tau where every text is one word: JSON has no NaN."""
    unknown = (float("nan"),) * 3
    page = shown([row("gradient", aopc=unknown), row("random", aopc=unknown)])
    assert [row[1:] for row in cells(page)[1:]] == [["-"], ["-"]]

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    found = json.loads((tmp_path / "faithfulness.json").read_text(encoding="utf-8"), parse_constant=refuse)
    assert [own["explainer"] for own in found["rows"]] == ["gradient", "random"]


def test_the_file_beside_the_page_has_all_numbers(shown, tmp_path):
    shown(ROWS)
    found = json.loads((tmp_path / "faithfulness.json").read_text(encoding="utf-8"))
    assert found["about"] == "60 texts of test.csv"
    for own, written in zip(ROWS, found["rows"], strict=True):
        assert written == {
            "explainer": own.explainer, "metrics": {name: list(values) for name, values in own.metrics.items()},
            "without": own.without.tolist(), "alone": own.alone.tolist(),
        }  # fmt: skip
    assert found["metrics"]["decision-flip"] == {
        "unit": "words", "higher_is_better": False,
        "reference": "Serrano and Smith (2019), arXiv:1906.03731, section 5",
    }  # fmt: skip


def test_a_small_window_loses_nothing(page, shown):
    """What is wider than the window scrolls by itself, or is below the rest: the page does not grow to the side."""
    page.set_viewport_size({"width": 400, "height": 800})
    many = {f"a metric {number}": (1.0, 0.5, 1.5) for number in range(12)}
    shown([row(name, **many) for name in NAMES])
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
