"""The page of explainers by metrics in a browser: its table, its curves, and that names stay names."""

from dataclasses import replace

import numpy as np
import pytest
from evaluations import MOST, NAMES, ROWS, estimates, evaluation_of, row

from salience.faithfulness.results import Row
from salience.report.faithfulness_page import faithfulness_page
from salience.report.pictures import LONGEST_NAME, drawable

pytestmark = pytest.mark.whole  # a browser


@pytest.fixture
def shown(page, tmp_path):
    """Writes rows and opens their page."""

    def run(rows, title="Faithfulness of tiny", about="60 texts of test.csv"):
        (tmp_path / "index.html").write_text(faithfulness_page(evaluation_of(rows), title, about), encoding="utf-8")
        page.goto((tmp_path / "index.html").as_uri())
        return page

    return run


def cells(page) -> list[list[str]]:
    return page.locator("tr").evaluate_all("all => all.map(own => [...own.children].map(cell => cell.innerText))")


def lines(page) -> list[list[dict]]:
    """The lines of each of the two pictures: colour, dashes, and what each point says and where it is."""
    return page.locator("figure svg").evaluate_all(
        """all => all.map(svg => {
            const marks = [...svg.querySelectorAll("use:has(> title)")];
            const groups = new Set(marks.map(own => own.parentNode.parentNode));
            return [...groups].map(group => {
                const style = getComputedStyle(group.querySelector("path"));
                const points = [...group.querySelectorAll("use")];
                return {colour: style.stroke, dashes: style.strokeDasharray,
                        titles: points.map(own => own.querySelector("title").textContent),
                        heights: points.map(own => own.getBoundingClientRect().top)};
            });
        })"""
    )


def names_of(picture: list[dict]) -> list[str]:
    return [line["titles"][0].rsplit(": ", 1)[0] for line in picture]


def written(page) -> list[list[dict]]:
    """The texts of each of the two pictures, and where they are in it."""
    return page.locator("figure svg").evaluate_all(
        """all => all.map(svg => [...svg.querySelectorAll("text")].map(own => {
            const outer = svg.getBoundingClientRect(), inner = own.getBoundingClientRect();
            return {text: own.textContent, left: inner.left - outer.left, top: inner.top - outer.top,
                    right: inner.right - outer.left, bottom: inner.bottom - outer.top,
                    width: outer.width, height: outer.height};
        }))"""
    )


def legend(page) -> list[list[str]]:
    """The names beside the curves: they are written after the last axis label."""
    every = [[own["text"] for own in texts] for texts in written(page)]
    return [texts[texts.index("accuracy (%)") + 1 :] for texts in every]


def ticks(texts: list[dict]) -> tuple[list[str], list[str]]:
    """The numbers below the picture, and those beside it."""
    every = [own["text"] for own in texts]
    below = every.index("words removed" if "words removed" in every else "words kept")
    return every[:below], every[below + 1 : every.index("accuracy (%)")]


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
        "explainer", "accuracy-drop@5\npercentage points, higher is better", "decision-flip\nwords, lower is better",
        "loo-tau\nrank correlation, higher is better",
    ]  # fmt: skip
    assert [own[0] for own in body] == NAMES
    assert body[0][1:] == ["12.35\n10.00 to 14.50", "7.00\n6.25 to 8.12", "-0.50\n-1.00 to 0.00"]
    captions = page.locator("figcaption").all_text_contents()
    assert captions == [
        "Accuracy without the words with the highest scores: lower is better",
        "Accuracy on the words with the highest scores alone (0: on the whole text): higher is better",
    ]
    assert page.locator("svg").evaluate_all("all => all.map(own => own.getAttribute('aria-label'))") == captions
    assert page.locator("svg").first.is_visible() and page.locator("svg").last.is_visible()


def test_both_pictures_have_a_line_for_each_explainer(shown):
    page = shown(ROWS)
    for picture, names in zip(lines(page), legend(page), strict=True):
        assert names_of(picture) == names == NAMES
        assert len({line["colour"] for line in picture}) == len(NAMES)
        assert all(len(line["titles"]) == MOST + 1 for line in picture)


def test_a_point_says_its_values_under_the_pointer(shown):
    """Chromium shows the title of the element that is hit."""
    page = shown([row("gradient", 0.1), row("random", 0.6)])
    without, alone = lines(page)
    assert without[0]["titles"][0] == "gradient: 0 words removed, accuracy 90.0 %"
    assert without[0]["titles"][5] == "gradient: 5 words removed, accuracy 70.0 %"
    assert alone[1]["titles"][1] == "random: 1 words kept, accuracy 60.0 %"
    hit = (
        page.locator("#without use:has(> title)")
        .nth(5)
        .evaluate("""own => {
        own.scrollIntoView({block: "center"});
        const box = own.getBoundingClientRect();
        const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        return hit.querySelector(":scope > title").textContent;
    }""")
    )
    assert hit == without[0]["titles"][5]


def test_lines_go_where_the_numbers_say(shown):
    """Down without the words that matter, and up with more of them."""
    page = shown([row("gradient", 0.1), row("random", 0.6)])
    without, alone = ([line["heights"] for line in picture] for picture in lines(page))
    for heights in without:
        assert heights == sorted(heights)  # y counts from above
    for heights in alone:
        assert heights[1:] == sorted(heights[1:], reverse=True)
    assert without[0][0] == without[1][0] and without[0][-1] > without[1][-1]
    counts, percentages = ticks(written(page)[0])
    assert counts == ["0", "5", "10", "15", "20"]
    assert percentages == ["10", "20", "30", "40", "50", "60", "70", "80", "90"]


def test_nothing_is_cut_off_or_hidden(shown):
    page = shown(ROWS)
    for texts in written(page):
        for number, own in enumerate(texts):
            assert inside(own), own["text"]
            for other in texts[:number]:
                assert apart(own, other), (own["text"], other["text"])


@pytest.mark.parametrize("name", ["pooling-attention", "integrated-gradients", "captum:LayerIntegratedGradients"])
def test_long_names_can_be_read(name, shown):
    page = shown([row(name), row("random", 0.6)])
    for texts in written(page):
        (own,) = (own for own in texts if own["text"] == name)
        assert inside(own), f"{own['right']:.0f} of {own['width']:.0f} pixels"


@pytest.mark.parametrize("count", [8, 12])
def test_every_line_has_a_name_and_a_look_of_its_own(count, shown):
    """Our own explainers, and more of others."""
    page = shown([*(row(f"explainer-{number}", 0.2 + 0.03 * number) for number in range(count - 1)), row("random")])
    for picture, texts in zip(lines(page), written(page), strict=True):
        assert len({(line["colour"], line["dashes"]) for line in picture}) == count
        assert all(map(inside, texts))
    for picture, names in zip(lines(page), legend(page), strict=True):
        assert names_of(picture) == names and len(names) == count


@pytest.mark.parametrize(
    "curve",
    [[0.5] * 21, [0.9, 0.895, 0.89], [1.0] * 21, [0.0, 0.0]],
    ids=["constant", "hardly falling", "always right", "never right"],
)
def test_curves_that_say_little(curve, shown):
    values = np.array(curve)
    page = shown([
        Row(name, estimates({"aopc": (0.0, 0.0, 0.0)}), {}, values, values, {}) for name in ("gradient", "random")
    ])  # fmt: skip
    for picture, texts in zip(lines(page), written(page), strict=True):
        assert [len(line["titles"]) for line in picture] == [len(curve)] * 2
        _, percentages = ticks(texts)
        assert len(set(percentages)) == len(percentages) >= 2, percentages
        assert all(0 <= float(own) <= 100 for own in percentages), percentages  # of accuracy
        assert all(map(inside, texts))


def test_one_word_at_most(shown):
    page = shown([row("gradient", most=1), row("random", 0.6, most=1)])
    for picture, texts in zip(lines(page), written(page), strict=True):
        assert [len(line["titles"]) for line in picture] == [2, 2]
        assert ticks(texts)[0] == ["0", "1"]


def test_random_alone(shown):
    page = shown([row("random")])
    assert [len(picture) for picture in lines(page)] == [1, 1]
    assert len(cells(page)) == 2


def test_without_curves_there_are_no_pictures(shown):
    nothing = np.zeros(0)
    page = shown([Row("random", estimates({"aopc": (0.0, 0.0, 0.0)}), {}, nothing, nothing, {})])
    assert page.locator("figure, svg").count() == 0 and len(cells(page)) == 2


def test_marked_words_have_a_table_of_their_own(shown):
    marked = {"<b>pos": {"P@1": 31.25, "R@1": 5.0}, "neg": {"P@1": 0.0, "R@1": 100.0}}
    page = shown([replace(row("random"), marked=marked)])
    assert cells(page)[2:] == [
        ["explainer", "class", "P@1", "R@1"], ["random", "<b>pos", "31.2", "5.0"], ["random", "neg", "0.0", "100.0"],
    ]  # fmt: skip


HOSTILE = [
    "<script>window.hacked = 1</script>", "<img src=x onerror=window.hacked=1>", "</title></svg></table><b>x",
    "\"'><svg onload='window.hacked=1'>", "&lt;b&gt; &amp;", "<!-- x", "{title} {0} {{ x }} %s", "👩‍👧 \u2028 ä",
]  # fmt: skip


def test_names_are_no_markup(shown):
    rows = [row(name, 0.3, **{f"{name} %": (1.0, 0.5, 1.5) for name in HOSTILE}) for name in HOSTILE]
    title, about = " ".join(HOSTILE), " - ".join(HOSTILE)
    page = shown(rows, title, about)
    assert page.title() == page.locator("h1").text_content() == title
    assert page.locator("p").text_content() == about
    assert page.locator("th").all_text_contents() == [
        "explainer", *(f"{name} %<i>percent & more</i>, higher is better" for name in HOSTILE)
    ]  # fmt: skip
    assert page.locator("td:first-child").all_text_contents() == HOSTILE
    for picture, names in zip(lines(page), legend(page), strict=True):
        assert names == [drawable(name, LONGEST_NAME) for name in HOSTILE]
        titles = [line["titles"][0] for line in picture]
        assert titles == [drawable(f"{name}: 0 {titles[0].split(': 0 ')[1]}") for name in HOSTILE]
    found = {
        kind: page.locator(kind).count() for kind in ("script", "img", "b", "head title", "svg", "table", "figure")
    }
    assert found == {"script": 0, "img": 0, "b": 0, "head title": 1, "svg": 2, "table": 1, "figure": 2}


def test_what_cannot_be_told_is_written_so(shown):
    """As Kendall's tau where every text is one word: JSON has no NaN."""
    unknown = (float("nan"),) * 3
    page = shown([row("gradient", aopc=unknown), row("random", aopc=unknown)])
    assert [row[1:] for row in cells(page)[1:]] == [["-"], ["-"]]


def test_a_small_window_loses_nothing(page, shown):
    """What is wider than the window scrolls by itself, or is below the rest: the page does not grow to the side."""
    page.set_viewport_size({"width": 400, "height": 800})
    many = {f"a metric {number}": (1.0, 0.5, 1.5) for number in range(12)}
    shown([row(name, **many) for name in NAMES])
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
