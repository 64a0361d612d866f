"""The report of a comparison as text: its values, its parts, and that names stay names. A browser is not needed."""

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from grids import SEEDS, TEXTS, made_up, with_heat_maps
from matplotlib.figure import Figure
from rich.console import Console

from pages import HOSTILE, Content
from salience.comparison.variation import spread
from salience.errors import InputError
from salience.report.comparison_page import (
    MOST_CLASSES,
    comparison_markdown,
    comparison_page,
    p_value,
    show_comparison,
)
from salience.report.comparison_pictures import runs_and_intervals
from salience.report.page import cut
from salience.report.pictures import SVG


def content_of(evidence) -> Content:
    return Content(comparison_page(evidence, "Comparison"))


@pytest.fixture
def without_pictures(monkeypatch):
    """Pictures take most of the time of a page; tests of its words draw none."""
    monkeypatch.setattr("salience.report.page.picture", lambda drawing, name: f'<svg xmlns="{SVG}"/>')


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Two data sets, two sizes."""
    return made_up(tmp_path_factory.mktemp("large"), sets=("one", "two"), sizes=(100, None))


@pytest.fixture(scope="module")
def html(large) -> str:
    return comparison_page(large, "Comparison")


@pytest.fixture(scope="module")
def found(html) -> Content:
    return Content(html)


def test_values_are_those_of_the_comparison(large, found):
    """Counted from the runs' scores, for every condition and method."""
    for method in large.methods:
        rows = [row for row in found.rows_of(method) if len(row) == 8]
        assert len(rows) == 4
        for cells, results in zip(rows, large.conditions, strict=True):
            accuracy = np.array(results.scores[method]["accuracy"])
            assert cells[0].startswith(f"{accuracy.mean():.2f} ± {accuracy.std(ddof=1):.2f}")
            assert not cells[0].endswith("best") and not cells[2].endswith("best")  # they differ by chance alone
            if method == "plain":
                assert cells[4:] == ["baseline", "", "", "1.00"]
                continue
            differs = results.differences[method]["accuracy"]
            assert cells[4] == f"{differs.mean:+.2f} [{differs.low:+.2f}, {differs.high:+.2f}]"
            assert cells[5] == p_value(differs)
            seconds = [sum(results.scores[each]["seconds"]) for each in (method, "plain")]
            assert cells[7] == f"{seconds[0] / seconds[1]:.2f}"
    over = [row for row in found.rows_of("ssmix") if len(row) == 3 and "[" in row[0]]
    assert over == [
        [str(each.here["ssmix"]), p_value(each.here["ssmix"]), str(each.elsewhere["ssmix"])]
        for each in large.over_data_sets
    ]


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize(
    ("skill", "best"),
    [
        ({"plain": 1, "ssmix": 50, "tmix": 1}, "ssmix"),
        ({"plain": 3, "ssmix": -1, "tmix": -1}, "plain"),
        ({"plain": -50, "ssmix": 50, "tmix": 49}, None),  # two that are better than the baseline, and not apart
    ],
)
def test_best_is_what_is_better_than_all_others_beyond_chance(skill, best, tmp_path):
    texts = tuple(f"text number {number}" for number in range(400))
    evidence = made_up(tmp_path, skill=skill, texts=texts)
    page, text = content_of(evidence), comparison_markdown(evidence, "x")
    named = {method for method in skill for row in page.rows_of(method) if row[0].endswith("best")}
    assert named == ({best} if best else set()) and ("(best)" in text) == (best is not None)


@pytest.mark.usefixtures("without_pictures")
def test_it_begins_with_a_verdict_on_each_method_and_a_forest_plot_for_each_size(large, html, tmp_path):
    """Over the data sets where there are several; of one condition, the verdicts are those in full."""
    start = html.split('<section id="methods">')[0]
    for method in ("ssmix", "tmix"):
        assert f">{method}: too few runs to tell from plain (" in start
        for over in large.over_data_sets:
            assert f"<title>{method}: {over.here[method]} points</title>" in start
    assert start.count("<figure>") == 2 and "<summary>12 verdicts in words</summary>" in start
    assert start.index("<li") < start.index("<figure") < start.index("36 runs: 3 methods")
    skill = {"plain": 1, "ssmix": 50, "tmix": -50}
    sizes = made_up(tmp_path, skill=skill, sizes=(100, None), texts=tuple(f"text {number}" for number in range(400)))
    start = comparison_page(sizes, "Comparison").split('<section id="methods">')[0]
    for method, words in (("ssmix", "gain over"), ("tmix", "loss against")):
        gains = [each.differences[method]["accuracy"].mean for each in sizes.conditions]
        where = f"100 rows: {gains[0]:+.1f} points, all rows: {gains[1]:+.1f} points"
        assert f">{method}: {words} plain ({where})<" in start


def test_the_points_of_the_picture_are_the_runs_and_their_differences(large):
    results = large.conditions[0]
    drawing = runs_and_intervals(results, large.seeds)
    axes = Figure().subplots(*drawing.panels)
    said = {text for texts in drawing.draw(axes).values() for text in texts}
    own = results.scores["plain"]["accuracy"]
    for method in large.methods:
        for seed, value, other in zip(large.seeds, results.scores[method]["accuracy"], own, strict=True):
            assert f"{method}, seed {seed}: {value:.2f} %" in said
            assert (f"{method}, seed {seed}: {value - other:+.2f} points" in said) == (method != "plain")


def test_both_reports_say_the_same(large, found):
    page, text = found, comparison_markdown(large, "Comparison")
    plain = text.replace("\\", "").replace("**", "")
    for results in large.conditions:
        for by_score in results.differences.values():
            assert str(by_score["accuracy"]) in plain and str(by_score["accuracy"]) in page.text
    assert "36 runs: 3 methods, 3 seeds, 4 conditions." in plain
    assert "36 runs: 3 methods, 3 seeds, 4 conditions." in page.text
    assert "over the 3 seeds 3, 4, 5" in plain and "over the 3 seeds 3, 4, 5" in page.text
    assert plain.count("one, 100 rows, tmix: ") == 1  # its verdict
    assert "| batch_size | 16 | filled in |" in plain and "| steps | 7 |  |" in plain
    assert page.rows_of("batch_size") == [["16", "filled in"]] and page.rows_of("salience") == [["1.2.3"]]
    of_data = "one.csv (one, 100 rows; one, all rows); two.csv (two, 100 rows; two, all rows)"
    assert page.rows_of("data")[0][0] == of_data


def test_curves_are_over_sizes(large, found):
    """All rows are 160 of training and 40 held out of them."""
    assert [(curves.title, curves.rows) for curves in large.curves] == [("one", [100, 200]), ("two", [100, 200])]
    assert "curves" in found.sections and "#curves" in found.addresses
    mean = np.mean(large.conditions[0].scores["ssmix"]["accuracy"])
    assert f"ssmix, 100 rows: {mean:.2f} ± " in found.text
    assert "## Learning curves" in comparison_markdown(large, "x")


@pytest.mark.usefixtures("without_pictures")
def test_parts_that_are_missing_leave_nothing(tmp_path):
    """One data set, one size, methods that are always right: no curves, no sets, no texts, and nothing is confused."""
    evidence = made_up(tmp_path, skill={"plain": 50, "ssmix": 50, "tmix": 50})
    page, text = content_of(evidence), comparison_markdown(evidence, "x")
    assert page.sections == ["methods", "cost", "reliability", "classes", "confusions", "recipe"]
    assert [address for address in page.addresses if address.startswith("#") and address[1:] in
            ("over", "curves", "disputed")] == []  # fmt: skip
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# x",
        "## Methods",
        "### 40 test rows",
        "## Classes",
        "## Recipe and runs",
    ]
    nothing = content_of(replace(evidence, predictions=[]))
    assert nothing.sections == ["methods", "recipe"]


@pytest.mark.parametrize(
    ("sizes", "said", "limited"),
    [
        ((None,), "all with the same training rows", True),
        ((20, 40), "each with its own sample of the rows.", False),
        ((20, None), "each with its own sample where not all rows are used", True),
    ],
)
def test_what_the_seeds_vary_is_said(sizes, said, limited, tmp_path):
    evidence = made_up(tmp_path, sizes=sizes)
    words = comparison_markdown(evidence, "x")
    assert said in words and ("do not cover other training rows" in words) is limited


@pytest.mark.usefixtures("without_pictures")
def test_texts_on_which_methods_disagree(tmp_path):
    """The baseline is right, and another method never: the texts are those of the file, and no more than ten."""
    evidence = made_up(tmp_path, methods=("plain", "wrong"), skill={"plain": 50, "wrong": -50})
    (predictions,) = evidence.predictions
    assert predictions.disputed == len(TEXTS) and len(predictions.texts) == 10
    for each in predictions.texts:
        number = each.row - 2
        assert (each.text, each.label) == (TEXTS[number], ("bad", "good", "so-so")[number % 3])
        assert each.predicted["plain"] == (each.label, len(SEEDS)) and each.predicted["wrong"][0] != each.label
    page = content_of(evidence)
    assert "On 40 of 40 test rows" in page.text and "Shown are the 10 with the largest" in page.text
    assert sum(text in page.text for text in TEXTS) >= 10
    assert "3 seeds, right" in page.text and "wrong)" in page.text


@pytest.mark.usefixtures("without_pictures")
def test_heat_maps_are_below_their_text(tmp_path):
    """A line for each method that has one: its class, the probability of that, and each word with its score."""
    evidence = made_up(tmp_path, methods=("plain", "wrong"), skill={"plain": 50, "wrong": -50})
    bare = comparison_page(evidence, "x")
    assert "Heat maps" not in bare and 'class="map"' not in bare
    page = comparison_page(with_heat_maps(evidence, ["wrong"], ["no heat maps of <b>one</b>"]), "x")
    assert page.count('class="map"') == 10 and "No heat maps of &lt;b&gt;one" in page
    assert "the model of each method with seed 3" in page and "explainer gradient" in page
    (predictions,) = evidence.predictions
    cards = page.split('<div class="card">')[1:]
    for text, card in zip(predictions.texts, cards, strict=True):
        assert text.text in card and "<strong>wrong</strong> bad 0.67" in card and "<strong>plain</strong>" not in card
        assert re.findall(r'title="([^"]*)">([^<]*)<', card) == [
            (score, word) for score, word in zip(("0.333", "0.667", "1"), text.text.split(), strict=True)
        ]
    assert "heat map" not in comparison_markdown(with_heat_maps(evidence), "x").lower()


@pytest.mark.usefixtures("without_pictures")
def test_words_have_the_colours_of_a_notebook(tmp_path):
    evidence = with_heat_maps(made_up(tmp_path, methods=("plain", "wrong"), skill={"plain": 9, "wrong": -9}))
    page = comparison_page(evidence, "x")
    classes = re.findall(r'class="word (\S+)" title="([^"]*)"', page.split('<div class="map">', 1)[1])
    shade = {name: re.search(rf"\.{name} {{ background: (\S+) }}", page)[1] for name, _ in classes}
    assert {(score, shade[name]) for name, score in classes} == {
        ("0.333", "rgba(224,130,20,0.25)"), ("0.667", "rgba(224,130,20,0.50)"), ("1", "rgba(224,130,20,0.75)")
    }  # fmt: skip


@pytest.mark.usefixtures("without_pictures")
def test_a_heat_map_without_numbers(tmp_path):
    """A diverged model gives neither probabilities nor scores; the page says so in place of a colour."""
    evidence = with_heat_maps(made_up(tmp_path, methods=("plain", "wrong"), skill={"plain": 9, "wrong": -9}))
    for by_method in evidence.heat_maps.of_texts.values():
        by_method["plain"] = replace(
            by_method["plain"], probabilities=np.full(3, np.nan), scores={"gradient": np.full(3, np.nan)}
        )
    page = comparison_page(evidence, "x")
    assert "<strong>plain</strong> bad unknown" in page and 'title="nan"' in page and "rgba(224,130,20,nan" not in page


@pytest.mark.usefixtures("without_pictures")
def test_many_classes_are_listed(tmp_path):
    labels = tuple(f"class-{number:02}" for number in range(MOST_CLASSES + 1))
    evidence = made_up(tmp_path, labels=labels)
    (predictions,) = evidence.predictions
    rows = [row for row in content_of(evidence).rows_of("plain") if len(row) == 4]
    counts = predictions.confusions["plain"]
    wrong = counts * (1 - np.eye(len(counts)))
    label, prediction, count, share = rows[0]
    at = labels.index(label), labels.index(prediction)
    assert wrong[at] == wrong.max() and count == f"{wrong.max():.1f}"
    assert share == f"{100 * wrong.max() / counts[at[0]].sum():.0f} %"
    assert [float(row[2]) for row in rows] == sorted((float(row[2]) for row in rows), reverse=True)
    few = content_of(made_up(tmp_path / "few", labels=labels[:MOST_CLASSES]))
    assert not [row for row in few.rows_of("plain") if len(row) == 4]


def spent(method: str, seed: int) -> dict:
    """What a run measures beside its scores; a reference has neither passes nor a temperature."""
    if method == "majority":
        return {}
    scaled = {"temperature": 1.5, "calibration_error_scaled": 0.03 if method == "plain" else 0.02}
    return {"temperature_scaling": scaled, "text_passes": 1200.0 + seed}


@pytest.mark.usefixtures("without_pictures")
def test_scores_that_not_all_runs_have(tmp_path):
    """Calibration with temperature, and passes, in all tables."""
    evidence = made_up(tmp_path, ("plain", "ssmix", "majority"), more=spent)
    page, text = content_of(evidence), comparison_markdown(evidence, "x")
    expected = {"plain": "0.03 ± 0.00", "ssmix": "0.02 ± 0.00", "majority": "-"}
    (head,) = [row for row in page.rows if row[0] == "method" and len(row) == 11]
    for column, name in ((8, "calibration error with temperature"), (9, "passes")):
        assert head[column].startswith(name) and name in text
    for method, error in expected.items():
        (cells,) = [row for row in page.rows_of(method) if len(row) == 10]
        assert cells[7] == error and cells[8] == ("-" if method == "majority" else "1,204")
        assert f"| {error} |" in text.replace("\\", "")
    frame = evidence.frame().set_index(["method", "seed"])
    assert frame.loc[("ssmix", 4)][["temperature", "calibration_error_scaled"]].tolist() == [1.5, 0.02]
    assert np.isnan(frame.loc[("majority", 4), "temperature"])


def test_the_terminal_is_readable_at_80_columns(tmp_path):
    """Every method has one line in each table, with all of its numbers, and no head is broken."""
    evidence = made_up(tmp_path, ("plain", "ssmix", "majority"), more=spent)
    console = Console(width=80, file=StringIO(), highlight=False)
    show_comparison(evidence, console)
    lines = [line.split() for line in console.file.getvalue().splitlines()]
    results, (scores, differences) = evidence.conditions[0], [line for line in lines if line[:1] == ["ssmix"]]
    for score in ("accuracy", "macro_f1", "log_loss", "calibration_error"):
        assert spread(results.scores["ssmix"][score]) in " ".join(scores)
    assert scores[-2] == "1,204" and str(results.differences["ssmix"]["log_loss"]) in " ".join(differences)
    assert len([line for line in lines if line[:1] == ["majority"]]) == 2
    heads = " ".join(next(line for line in lines if line[:1] == ["accuracy"]))
    assert heads == "accuracy macro-F1 log loss calibration passes x time"


def explained(method: str, seed: int) -> dict:
    """What the measure faithfulness gives; of one method an excess is undefined with one seed."""
    numbers = {f"sufficiency_{name}_over_random": -0.03 * seed - 0.1 * (method == "ssmix") for name in EXPLAINED}
    if (method, seed) == ("tmix", 5):
        numbers["sufficiency_gradient_over_random"] = None
    return {"faithfulness": numbers}


EXPLAINED = ("gradient", "integrated_gradients")


@pytest.mark.usefixtures("without_pictures")
def test_faithfulness_has_a_table_of_its_own(tmp_path):
    """Means of the baseline and differences of the others; means of all where one run lacks the score."""
    evidence = made_up(tmp_path, more=explained)
    found = {
        "sufficiency, gradient": ["-12.00 ± 3.00", "-22.00 ± 3.00", "-"],
        "sufficiency, integrated-gradients": ["-12.00 ± 3.00", "-10.00", "+0.00"],
    }
    page, text = content_of(evidence), comparison_markdown(evidence, "x").replace("\\", "")
    for name, cells in found.items():
        ((unit, *shown),) = page.rows_of(name)
        assert unit == "points, lower is better" and shown == cells
        assert f"| {name} | {unit} | {' | '.join(cells)} |" in text
    assert "excess over random scores" in page.text and "comprehensiveness" not in page.text
    (head,) = [row for row in page.rows if row[0] == "method" and len(row) == 9]
    assert not [name for name in head if "sufficiency" in name]  # the scores' own table is as without the measure
    for methods, printed in ((("plain", "ssmix", "tmix"), True), (("plain", "ssmix", "tmix", "embedmix"), False)):
        console = Console(width=100, file=StringIO(), highlight=False)
        show_comparison(made_up(tmp_path / str(len(methods)), methods, more=explained), console)
        assert ("-22.00 ± 3.00" in console.file.getvalue()) == printed  # four methods are wider than a terminal


@pytest.mark.usefixtures("without_pictures")
def test_classes_of_the_largest_size(tmp_path):
    """F1 as of scikit-learn, mean over seeds; many classes are folded, and cut in Markdown."""
    evidence = made_up(tmp_path / "few", sizes=(100, None))
    page, results = content_of(evidence), evidence.conditions[1]
    assert page.tags.count("details") == 1  # the verdicts one by one
    for number, name in enumerate(("bad", "good", "so-so")):
        (cells,) = [row for row in page.rows_of(name) if len(row) == 4]
        values = np.array(results.classes.f1["ssmix"])[:, number]
        assert cells[0] == str(results.classes.rows[number]) and cells[2] == spread(values)
        assert spread(values) in comparison_markdown(evidence, "x")
    frame = evidence.class_frame()
    assert len(frame) == 2 * 3 * 3 * 3 and {*frame["class"]} == {"bad", "good", "so-so"}
    means = frame.groupby(["size", "method", "seed"], dropna=False)["f1"].mean()
    macro = evidence.frame().set_index(["size", "method", "seed"])["macro_f1"]
    assert np.allclose(means.sort_index(), macro.sort_index())
    labels = [f"class-{number:02}" for number in range(23)]
    many = made_up(tmp_path / "many", labels=labels, texts=[f"text {number}" for number in range(60)])
    assert "<details><summary>23 classes</summary>" in comparison_page(many, "x")
    assert "3 more are in classes.csv." in comparison_markdown(many, "x")


@pytest.mark.whole
def test_names_are_no_markup(tmp_path):
    texts = [f"{HOSTILE[number % 5]} {number} {'<i>' * 200}" for number in range(30)]
    evidence = made_up(tmp_path, HOSTILE[:3], HOSTILE[:2], (50, None), HOSTILE, texts)
    page, text = comparison_page(evidence, HOSTILE[0]), comparison_markdown(evidence, HOSTILE[0])
    found = Content(page)
    assert not {"script", "img", "b", "i"} & set(found.tags)
    assert "{{ 7 * 7 }}" in found.text  # a template did not compute it
    assert {row[0] for row in found.rows} >= set(HOSTILE[:3])
    assert not re.search(r"(?<!\\)<|(?<!\\)\]", text)
    headings = [line for line in text.splitlines() if line.startswith("#")]
    levels = [line.split(" ")[0] for line in headings]
    assert (levels.count("#"), levels.count("##"), levels.count("###")) == (1, 7, 4 + 2 * 3)  # none is of a name
    for block in text.split("\n\n"):
        bars = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(bars) == 1, "a table whose rows differ in their number of cells"
    assert "\x1b" not in text and "\x00" not in text


@pytest.mark.usefixtures("without_pictures")
def test_words_are_no_markup(tmp_path):
    texts = [f"{HOSTILE[number % 5]} {number}" for number in range(30)]
    evidence = made_up(tmp_path, HOSTILE[:3], labels=HOSTILE, texts=texts)
    page = comparison_page(with_heat_maps(evidence, HOSTILE[:3], HOSTILE), "x")
    found = Content(page)
    assert page.count('class="map"') == 30
    assert not {"script", "img", "b", "i"} & set(found.tags)
    assert all(word in found.text for text in texts[:5] for word in text.split(" ")[:-1])


def test_nothing_comes_from_elsewhere(html, found):
    assert all(address == "data:," or address.startswith("#") for address in found.addresses)
    outside = re.findall(r"(?:https?:)?//[a-z.]+|@import|url\((?!#)", html)
    assert not outside, outside
    assert "script" not in found.tags and "script-src 'none'" in html


@pytest.mark.usefixtures("without_pictures")
def test_long_texts_are_folded(tmp_path):
    texts = [f"{number} " + "word " * 400 for number in range(12)]
    page = content_of(made_up(tmp_path, texts=texts, skill={"plain": 9, "ssmix": -9, "tmix": 0}))
    assert page.tags.count("details") == page.tags.count("summary") == 10
    evidence = made_up(tmp_path / "maps", texts=texts, skill={"plain": 9, "ssmix": -9, "tmix": 0})
    page = comparison_page(with_heat_maps(evidence, ["plain"]), "x")
    assert page.count("<details>") == 20
    start, rest = page.split('<div class="map">')[1].split("<details>", 1)
    shown = re.findall(r">(\w+)</span>", start)
    assert 275 < len(" ".join(shown)) <= 280 and len(shown) + rest.split("</details>")[0].count("</span>") == 402
    for text in ("short", "x" * 1000, texts[0]):
        start, rest = cut(text, 100)
        assert start + rest == text and len(start) <= 100


def test_predictions_that_are_damaged(tmp_path, monkeypatch):
    """The file is cut off after some rows: the folder is named."""
    written = Path.write_text
    monkeypatch.setattr(Path, "write_text", lambda file, text, **rest: written(file, text[:200], **rest))
    with pytest.raises(InputError, match=r"predictions.jsonl is damaged .* remove .*p-3 to run it again"):
        made_up(tmp_path)
