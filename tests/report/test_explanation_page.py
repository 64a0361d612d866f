"""The page of explanations in a browser: what it shows, its switch, search and orders, and that texts stay texts."""

import random
import time
from dataclasses import replace

import numpy as np
import pytest

from salience.explainers.explanation import Explanation, colour
from salience.report.explanation_page import explanation_page

pytestmark = pytest.mark.whole  # a browser
LABELS = ["sport", "music", "food"]
PAGE_OF = 50  # texts that are drawn at a time
HOSTILE = {
    "a script": "<script>window.hacked = 1</script>",
    "the end of a script": '</script><script>window.hacked = 1</script> ]}"',
    "the end of a title": "</title></h1></main></select><script>window.hacked = 1</script>",
    "a picture": "<img src=x onerror=window.hacked=1>",
    "a picture from elsewhere": '<img src="http://localhost:9/x.png"><svg onload="window.hacked=1">',
    "a comment": "<!-- <script> -->",
    "an open comment": "<!--<script>",
    "cdata": "<![CDATA[ ]]>",
    "entities": "&lt;b&gt; &amp;amp; &#x3c; &nbsp",
    "quotes": "\"double' `back` ${window.hacked=1} \\",
    "escapes": "\\u003cb\\u003e \\n \\",
    "line separators": "a\u2028b\u2029c",
    "an emoji": "👩‍👩‍👧 café e\u0301 שלום",
    "controls": "\x01\x1b[31m\x7f\ufeff\u202e",
    "what templates take": "{{ 7 * 7 }} {title} %s $& $1 \\1",
    "the names of our own places": "__TITLE__ __DATA__",
    "a prototype": "__proto__ constructor toString",
}


def explanation(text, probabilities=(0.7, 0.2, 0.1), gold=None, target=None, second=None, labels=LABELS, **scores):
    """A text that is explained by hand; of one explainer, gradient, unless others are named."""
    words = text.split(" ") if text else []
    probabilities = np.array(probabilities, np.float32)
    return Explanation(
        words, second, list(labels), probabilities, int(probabilities.argmax()) if target is None else target, gold,
        {name: np.array(own, float) for name, own in (scores or {"gradient": np.linspace(1, 0, len(words))}).items()},
    )  # fmt: skip


def many(count: int, words: int = 6, seed: int = 0) -> list[Explanation]:
    """Texts with random words, labels and probabilities, whose last word is their number."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        largest = draw.randint(3400, 9999) / 10000
        rest = draw.uniform(0, 1)
        probabilities = [largest, (1 - largest) * rest, (1 - largest) * (1 - rest)]
        draw.shuffle(probabilities)
        text = " ".join([*draw.choices(["the", "Goal", "song", "bread", "a", "quite"], k=words), f"n{number}"])
        scores = {name: [draw.uniform(-1, 1) for _ in range(words + 1)] for name in ("gradient", "occlusion")}
        rows.append(explanation(text, probabilities, draw.choice([None, 0, 1, 2]), **scores))
    return rows


@pytest.fixture
def shown(page, tmp_path):
    """Opens the page of explanations."""

    def run(explanations, title="model: rows.csv"):
        file = tmp_path / "explanations.html"
        file.write_text(explanation_page(iter(explanations), title), encoding="utf-8")
        page.goto(file.as_uri())
        return page

    return run


def texts(page) -> list[list[str]]:
    """The words of each text on the page."""
    return page.locator("article").evaluate_all(
        "all => all.map(own => [...own.querySelectorAll('.word')].map(word => word.textContent))"
    )


def numbers(page) -> list[int]:
    """Which of `many` are on the page, in its order."""
    return [int(words[-1].removeprefix("n")) for words in texts(page)]


def everything(page) -> list[int]:
    """The same once all of them have been scrolled to."""
    seen = -1
    while seen != (seen := page.locator("article").count()):
        to_the_end(page)
    return numbers(page)


def to_the_end(page) -> None:
    page.evaluate(
        "() => { scrollTo(0, document.body.scrollHeight);"
        " return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))); }"
    )


def colours(page) -> list[str]:
    return page.locator(".word").evaluate_all("all => all.map(own => getComputedStyle(own).backgroundColor)")


def titles(page) -> list[str]:
    return page.locator(".word").evaluate_all("all => all.map(own => own.title)")


def said(page) -> str:
    return page.get_by_role("status").text_content()


def css(red: int, green: int, blue: int, strength: float) -> str:
    """As a browser writes it."""
    return f"rgba({red}, {green}, {blue}, {strength:g})"


def orange(strength: float) -> str:
    return css(224, 130, 20, strength)


def purple(strength: float) -> str:
    return css(128, 115, 172, strength)


# -------------------------------------------------------------------------------------------------- what a text shows


def test_a_text_with_its_verdict(shown):
    page = shown([explanation("a very good goal", gold=0)], "tiny: test.csv")
    assert page.title() == page.locator("h1").text_content() == "tiny: test.csv"
    assert texts(page) == [["a", "very", "good", "goal"]]
    assert page.locator(".verdict").text_content() == "sport 0.70 rightmusic 0.20food 0.10"
    assert said(page) == "1 of 1 texts"
    assert page.locator(".word").first.is_visible()


def test_a_row_of_a_file_shows_its_number(shown):
    page = shown([replace(explanation("goal"), row=12), explanation("song")])
    assert page.locator(".row").all_text_contents() == ["row 12"]


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        ({"gold": None}, "sport 0.70"),
        ({"gold": 0}, "sport 0.70 right"),
        ({"gold": 1}, "sport 0.70 wrong: it is music"),
        ({"gold": 0, "target": 2}, "sport 0.70 right, explained: food"),
        ({"gold": 1, "target": 1}, "sport 0.70 wrong: it is music, explained: music"),
    ],
    ids=["no label", "right", "wrong", "another class", "the gold class"],
)
def test_verdicts(settings, verdict, shown):
    page = shown([explanation("one", (0.7, 0.3, 0.0), **settings)])
    assert page.locator(".verdict").text_content() == f"{verdict}music 0.30"  # a class with nothing is not listed
    assert page.locator(".wrong").count() == ("wrong" in verdict)


def test_the_verdict_is_on_the_models_decision_however_close(shown):
    """Both probabilities are written as 0.5."""
    close = explanation("one two", (0.49996, 0.50004), gold=1, labels=["no", "yes"])
    assert close.predicted == 1
    verdict = shown([close]).locator(".verdict").text_content()
    assert verdict.startswith("yes 0.50 right") and "explained" not in verdict


def test_words_are_coloured_by_their_scores(shown):
    page = shown([explanation("a b c d e", gradient=[4, -4, 2, 0, -0.04])])
    assert colours(page) == [orange(0.75), purple(0.75), orange(0.38), purple(0), purple(0.01)]
    assert titles(page) == ["4.00", "-4.00", "2.00", "0.00", "-0.0400"]


def test_scores_can_be_read_without_a_mouse(shown):
    page = shown([explanation("a b", gradient=[4, -0.5], occlusion=[1, 2])])

    def written() -> list[str]:
        return page.locator(".word").evaluate_all("all => all.map(own => getComputedStyle(own, '::after').content)")

    assert written() == ["none", "none"]
    box = page.get_by_label("scores")
    box.press("Space")
    assert written() == ['"4.00"', '"-0.500"']
    page.get_by_label("explainer").select_option("occlusion")
    assert written() == ['"1.00"', '"2.00"'] and texts(page) == [["a", "b"]]
    box.uncheck()
    assert written() == ["none", "none"]


def test_the_colours_are_those_of_notebooks(shown):
    scores = np.linspace(-3, 3, 13)
    page = shown([explanation(" ".join("abcdefghijklm"), gradient=scores)])
    found = [own.replace(" ", "") for own in colours(page)]
    for own, score in zip(found, scores, strict=True):
        wanted = colour(score / 3)
        assert own.split(",")[:3] == wanted.split(",")[:3]
        assert float(own[:-1].split(",")[3]) == pytest.approx(float(wanted[:-1].split(",")[3]), abs=0.011)


def test_scores_of_nothing_colour_nothing(shown):
    page = shown([explanation("a b", gradient=[0, 0]), explanation("c d", gradient=[4e-8, 1e-7])])
    assert colours(page) == [purple(0), purple(0), orange(0.3), orange(0.75)]  # each text by its own strongest word


def test_pairs_show_where_the_second_text_begins(shown):
    page = shown([
        explanation("a film good day", second=2), explanation("alone"), explanation("only second", second=0),
        explanation("only first", second=2),
    ])  # fmt: skip
    assert texts(page) == [["a", "film", "good", "day"], ["alone"], ["only", "second"], ["only", "first"]]
    assert page.locator(".second").all_text_contents() == ["good", "only"]
    edges = page.locator(".word").evaluate_all("all => all.map(own => getComputedStyle(own).borderLeftStyle)")
    assert edges == ["none", "none", "solid", "none", "none", "solid", "none", "none", "none"]


def test_a_text_without_words(shown):
    page = shown([explanation(""), explanation("one"), explanation("", second=0)])
    assert texts(page) == [[], ["one"], []]
    assert said(page) == "3 of 3 texts"
    for order in ("unsure", "sure", "wrong", "file"):
        page.get_by_label("order").select_option(order)
        assert page.locator("article").count() == 3


def test_no_rows_at_all(shown):
    page = shown([])
    assert said(page) == "0 of 0 texts"
    page.get_by_label("search").fill("goal")
    page.get_by_label("order").select_option("wrong")
    to_the_end(page)
    assert (said(page), texts(page)) == ("0 of 0 texts", [])


def test_a_model_that_gives_no_numbers_is_shown_nevertheless(shown):
    """As after a training that diverged: nothing is known of the text, but the page opens."""
    broken = explanation("all is lost", (np.nan, np.nan, np.nan), gradient=[np.nan, np.inf, 1.0])
    assert texts(shown([broken, explanation("one")])) == [["all", "is", "lost"], ["one"]]


# ------------------------------------------------------------------------------------------------ texts are no markup


def on_the_page(page) -> list[int]:
    """How many elements there are of kinds that only markup in a text could bring."""
    return [page.locator(kind).count() for kind in ("script", "title", "h1", "main", "img", "svg", "b > *")]


def test_texts_are_shown_as_they_are(shown):
    page = shown([explanation(text) for text in HOSTILE.values()])
    assert texts(page) == [text.split(" ") for text in HOSTILE.values()]
    assert on_the_page(page) == [2, 1, 1, 1, 0, 0, 0]
    for wanted in HOSTILE.values():
        page.get_by_label("search").fill(wanted)
        assert texts(page) == [text.split(" ") for text in HOSTILE.values() if wanted.lower() in text.lower()]


def test_names_of_labels_and_explainers_are_no_markup(shown):
    labels, count = list(HOSTILE.values()), len(HOSTILE)
    rows = []
    for number in range(count):
        probabilities = [0.2 / (count - 1)] * count
        probabilities[number] = 0.8
        own = {name: [1 - 2 * (place % 2)] for place, name in enumerate(labels)}
        other = (number + 1) % count
        rows.append(explanation("one", probabilities, gold=other, target=other, labels=labels, **own))
    page = shown(rows)
    for number, found in enumerate(page.locator(".verdict").all_text_contents()):
        other, rest = labels[(number + 1) % count], [name for place, name in enumerate(labels) if place != number]
        bars = "".join(f"{name} {0.2 / (count - 1):.2f}" for name in rest)
        assert found == f"{labels[number]} 0.80 wrong: it is {other}, explained: {other}{bars}"
    assert on_the_page(page) == [2, 1, 1, 1, 0, 0, 0]
    choice = page.get_by_label("explainer")
    assert choice.locator("option").all_text_contents() == labels
    for place in range(count):
        choice.select_option(index=place)
        assert colours(page) == [(purple if place % 2 else orange)(0.75)] * count


@pytest.mark.parametrize(
    "case", ["a script", "the end of a title", "entities", "quotes", "line separators", "the names of our own places"]
)
def test_a_title_is_no_markup(case, shown):
    page = shown([explanation("one")], HOSTILE[case])
    assert page.locator("title").text_content() == HOSTILE[case]
    assert page.locator("h1").text_content() == HOSTILE[case]
    assert texts(page) == [["one"]]
    assert on_the_page(page) == [2, 1, 1, 1, 0, 0, 0]


# ----------------------------------------------------------------------------------------------------------- switching


def test_the_switch_shows_the_scores_of_another_explainer(shown):
    page = shown([explanation("a b", gradient=[1, 0.5], occlusion=[-2, 8]), explanation("c", gradient=[3],
                                                                                         occlusion=[-3])])  # fmt: skip
    choice = page.get_by_label("explainer")
    assert choice.locator("option").all_text_contents() == ["gradient", "occlusion"]
    first = ([orange(0.75), orange(0.38), orange(0.75)], ["1.00", "0.500", "3.00"])
    assert (colours(page), titles(page)) == first
    choice.select_option("occlusion")
    assert (colours(page), titles(page)) == ([purple(0.19), orange(0.75), purple(0.75)], ["-2.00", "8.00", "-3.00"])
    assert texts(page) == [["a", "b"], ["c"]]
    choice.select_option("gradient")
    assert (colours(page), titles(page)) == first


def test_the_switch_keeps_what_was_searched_and_ordered(shown):
    rows = many(60)
    page = shown(rows)
    page.get_by_label("search").fill("goal")
    page.get_by_label("order").select_option("sure")
    before, coloured = (numbers(page), said(page)), colours(page)
    page.get_by_label("explainer").select_option("occlusion")
    assert (numbers(page), said(page)) == before
    assert colours(page) != coloured
    assert titles(page)[0] == f"{rows[before[0][0]].scores['occlusion'][0]:.3g}"


def test_the_switch_keeps_the_place(shown):
    """Two explainers are compared on the text that is being read, wherever it stands."""
    page = shown(many(200))
    to_the_end(page)
    to_the_end(page)
    reading = page.locator("article", has_text="n120")
    reading.scroll_into_view_if_needed()
    before = reading.bounding_box()
    page.get_by_label("explainer").select_option("occlusion")
    assert reading.count() == 1, "the text that was being read is no longer on the page"
    assert reading.bounding_box() == before


# ----------------------------------------------------------------------------------------------------------- searching

SEARCHED = ["The Goal of the match", "a song about a goal", "C++ (or .*) bread", "Straße ÉCOLE", "music"]
FOUND = {
    "goal": [0, 1], "GOAL": [0, 1], "  goal  ": [0, 1], "the match": [0], "oa": [0, 1], "song goal": [],
    ".*": [2], "c++ (or": [2], "\\": [], "école": [3], "straße": [3], "": [0, 1, 2, 3, 4], "   ": [0, 1, 2, 3, 4],
    "nowhere": [], "sport": [0, 3], "Sport": [0, 3], "FOOD": [2], "foo": [], "music": [1, 4],
}  # fmt: skip


def test_several_labels_of_a_text_are_counted_as_decisions(shown):
    of_one = explanation("a goal")
    assert said(shown([replace(of_one, decided=(0, 1), target=target) for target in (0, 1)])) == "2 of 2 decisions"
    assert said(shown([of_one])) == "1 of 1 texts"


def test_a_search_is_for_words_in_any_case_or_for_a_label(shown):
    predicted = [0, 1, 2, 0, 1]
    page = shown([explanation(text, np.roll([0.8, 0.1, 0.1], own)) for text, own in zip(SEARCHED, predicted,
                                                                                       strict=True)])  # fmt: skip
    for wanted, found in FOUND.items():
        page.get_by_label("search").fill(wanted)
        assert texts(page) == [SEARCHED[number].split(" ") for number in found], wanted
        assert said(page) == f"{len(found)} of 5 texts"


def test_words_without_spaces_are_shown_and_found_as_they_are_written(shown):
    page = shown([replace(explanation("东 京 is 好"), joined={1}), explanation("a goal")])
    assert page.locator(".text").all_text_contents() == ["东京 is 好", "a goal"]
    page.get_by_label("search").fill("东京")
    assert said(page) == "1 of 2 texts"


def test_a_search_is_as_one_types_and_can_be_taken_back(shown):
    page = shown(many(60))
    search = page.get_by_label("search")
    counts = []
    for sign in "n5x":
        search.press(sign)
        counts.append(said(page))
    # "quite" has no n and "song" one: all the numbers begin with it
    assert counts == ["60 of 60 texts", "11 of 60 texts", "0 of 60 texts"]
    assert texts(page) == []
    search.press("Backspace")
    assert numbers(page) == [5, *range(50, 60)]
    search.fill("")
    assert said(page) == "60 of 60 texts"
    assert numbers(page) == list(range(PAGE_OF))


# ------------------------------------------------------------------------------------------------------------ ordering


def in_order(rows: list[Explanation], order: str) -> list[int]:
    """The numbers of the rows as the page must show them; those that are equal stay as in the file."""
    sure = [round(float(row.probabilities.max()), 4) for row in rows]
    wrong = [row.gold is not None and row.gold != row.predicted for row in rows]
    keys = {
        "file": lambda number: 0,
        "unsure": lambda number: sure[number],
        "sure": lambda number: -sure[number],
        "wrong": lambda number: (not wrong[number], -sure[number]),
    }
    return sorted(range(len(rows)), key=keys[order])


@pytest.mark.parametrize("order", ["file", "unsure", "sure", "wrong"])
def test_orders(order, shown):
    rows = many(120)
    page = shown(rows)
    page.get_by_label("order").select_option(order)
    expected = in_order(rows, order)
    assert numbers(page) == expected[:PAGE_OF]
    assert everything(page) == expected
    assert said(page) == "120 of 120 texts"


def test_errors_come_first_and_are_called_so(shown):
    rows = many(40)
    page = shown(rows)
    page.get_by_label("order").select_option(label="confident errors first")
    errors = sum(row.gold not in (None, row.predicted) for row in rows)
    assert 5 < errors < 35
    called = page.locator("article").evaluate_all("all => all.map(own => own.querySelector('.wrong') !== null)")
    assert called == [True] * errors + [False] * (40 - errors)


def test_an_order_of_what_was_searched_and_back(shown):
    rows = many(120)
    page = shown(rows)
    page.get_by_label("order").select_option("unsure")
    page.get_by_label("search").fill("GOAL")
    found = [number for number in in_order(rows, "unsure") if "Goal" in rows[number].words]
    assert everything(page) == found
    assert said(page) == f"{len(found)} of 120 texts"
    page.get_by_label("search").fill("")
    page.get_by_label("order").select_option("file")
    assert everything(page) == list(range(120))


# ---------------------------------------------------------------------------------------------------------- many texts


def test_scrolling_loads_more(shown):
    page = shown(many(120))
    assert numbers(page) == list(range(PAGE_OF))
    for expected in (100, 120, 120):
        to_the_end(page)
        assert numbers(page) == list(range(expected))
        assert said(page) == "120 of 120 texts"


def test_a_search_from_below_shows_the_first_that_is_found(shown):
    page = shown(many(200))
    everything(page)
    page.get_by_label("search").fill("n1")
    assert numbers(page)[:3] == [1, 10, 11]
    header, first = page.locator("header").bounding_box(), page.locator("article").first.bounding_box()
    assert header["y"] + header["height"] <= first["y"] < 800


@pytest.mark.parametrize("order", ["as it opens", "after an order"])
def test_a_window_higher_than_the_first_texts_shows_the_rest(order, page, shown):
    """There is nothing to scroll then."""
    page.set_viewport_size({"width": 1200, "height": 6000})
    shown(many(120, words=1))
    if order == "after an order":
        page.get_by_label("order").select_option("unsure")
    assert len(everything(page)) == 120


def test_five_thousand_texts(shown):
    rows = many(5000, words=40)
    page = shown(rows)
    assert said(page) == "5000 of 5000 texts"
    assert page.locator("article").count() == PAGE_OF  # however many there are
    began = time.monotonic()
    for sign in "n4999":
        page.get_by_label("search").press(sign)
    assert (said(page), numbers(page)) == ("1 of 5000 texts", [4999])
    page.get_by_label("search").fill("")
    for order in ("unsure", "sure", "wrong"):
        page.get_by_label("order").select_option(order)
        assert numbers(page) == in_order(rows, order)[:PAGE_OF]
    page.get_by_label("explainer").select_option("occlusion")
    assert time.monotonic() - began < 30  # seconds; it takes about one on a quiet machine


# ------------------------------------------------------------------------------------------------------- small windows

WIDE = {"words": "word " * 50, "an address": "https://example.org/" + "a-long-path/" * 20, "a long word": "w" * 400}


@pytest.mark.parametrize("case", WIDE)
def test_nothing_stands_beside_the_window(case, page, shown):
    shown([explanation(f"see {WIDE[case].strip()} for more")], f"tiny: {WIDE[case].strip()}.csv")
    for width in (1200, 400, 320):
        page.set_viewport_size({"width": width, "height": 800})
        for scored in (False, True):
            page.get_by_label("scores").set_checked(scored)
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_in_a_small_window_most_is_left_for_the_texts(page, shown):
    """The controls stay in sight while one scrolls."""
    page.set_viewport_size({"width": 400, "height": 800})
    shown(many(60))
    to_the_end(page)
    header = page.locator("header").bounding_box()
    assert header["y"] == 0
    assert header["height"] < 800 / 4


def test_a_text_that_was_cut_says_so(shown):
    page = shown([explanation("one"), replace(explanation("two"), cut=True)])
    assert page.locator("article").all_text_contents()[0].count("not read") == 0
    assert page.locator("article").all_text_contents()[1].endswith("(the rest was not read)")
    assert texts(page) == [["one"], ["two"]]
