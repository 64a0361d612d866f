"""The report of a comparison as a browser shows it: pictures that can be seen, and texts that unfold."""

import pytest
from grids import made_up, with_heat_maps

from pages import HOSTILE
from salience.report.comparison_page import comparison_page

pytestmark = pytest.mark.whole  # a browser


@pytest.fixture
def shown(page, tmp_path):
    """Opens the report of a made-up grid."""

    def run(title="Comparison", heat_maps=(), **chosen):
        evidence = with_heat_maps(made_up(tmp_path, **chosen), heat_maps)
        (tmp_path / "report.html").write_text(comparison_page(evidence, title), encoding="utf-8")
        page.goto((tmp_path / "report.html").as_uri())
        return page

    return run


def test_every_picture_is_seen_and_inside_the_page(shown):
    """Two forest plots, four boards, two curves, two pictures of each data set; no text is cut off at their edges."""
    page = shown(sets=("one", "two"), sizes=(100, None))
    pictures = page.locator("figure svg")
    assert pictures.count() == 2 + 4 + 2 + 2 * 2
    outside = pictures.evaluate_all(
        """all => all.flatMap(svg => {
            const outer = svg.getBoundingClientRect();
            if (outer.width < 100 || outer.height < 50 || outer.right > innerWidth) return ["a picture"];
            return [...svg.querySelectorAll("text")].filter(own => {
                const inner = own.getBoundingClientRect();
                return inner.left < outer.left - 1 || inner.right > outer.right + 1
                    || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
            }).map(own => own.textContent);
        })"""
    )
    assert outside == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200


def test_a_dot_for_each_run_says_its_accuracy(shown):
    page = shown()
    titles = page.locator("#methods use > title").all_text_contents()
    assert len([title for title in titles if title.startswith("ssmix, seed ") and title.endswith(" %")]) == 3
    assert len([title for title in titles if title.startswith("ssmix, seed ") and title.endswith(" points")]) == 3


def test_the_rest_of_a_text_unfolds(shown):
    texts = [f"{number} " + "word " * 200 for number in range(12)]
    page = shown(texts=texts, skill={"plain": 9, "ssmix": -9, "tmix": 0})
    folded = page.locator(".card details").first
    assert not folded.locator("p").is_visible()
    folded.locator("summary").click()
    assert folded.locator("p").is_visible()


def test_names_stay_names(shown):
    """What a browser takes for a script, an address or a style would be counted by the fixture `page`."""
    texts = [f"{HOSTILE[number % 5]} {number}" for number in range(30)]
    page = shown(
        HOSTILE[1], methods=HOSTILE[:3], sets=HOSTILE[:2], sizes=(50, None), labels=HOSTILE, texts=texts
    )  # fmt: skip
    assert page.title() == page.locator("h1").text_content() == HOSTILE[1]
    assert page.locator("script, img, b").count() == 0
    assert page.locator("#methods table").first.locator("td:first-child").all_text_contents() == HOSTILE[:3]


def test_a_small_window_loses_nothing(page, shown):
    page.set_viewport_size({"width": 400, "height": 800})
    shown(sets=("one", "two"), sizes=(100, None))
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_heat_maps_are_coloured_and_fold(shown):
    """The policy of the page lets the colours through, and the last of the words has the strongest."""
    texts = [f"{number} " + "word " * 100 + "last" for number in range(12)]
    page = shown(heat_maps=("plain", "ssmix"), texts=texts, skill={"plain": 9, "ssmix": -9, "tmix": 0})
    assert page.locator(".map").count() == 20
    line = page.locator(".map").first
    last = line.locator(".word").last
    assert last.text_content() == "last" and not last.is_visible()
    line.locator("summary").click()
    assert last.is_visible() and last.get_attribute("title") == "1"
    colours = line.locator(".word").evaluate_all("all => all.map(own => getComputedStyle(own).backgroundColor)")
    assert colours[-1] == "rgba(224, 130, 20, 0.75)" and len({*colours}) > 50
    samples = page.locator(".legend .word")
    assert samples.all_text_contents() == ["0%", "25%", "50%", "75%", "100%"]
    assert samples.last.evaluate("own => getComputedStyle(own).backgroundColor") == colours[-1]


def test_words_stay_words(shown):
    texts = [f"{HOSTILE[number % 5]} {number} {'x' * 300}" for number in range(30)]
    page = shown(HOSTILE[1], HOSTILE[:3], methods=HOSTILE[:3], labels=HOSTILE, texts=texts)
    assert page.locator("script, img").count() == 0
    assert page.locator(".map strong").all_text_contents() == HOSTILE[:3] * 10
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
