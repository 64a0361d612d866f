"""The page of `salience analyse attention` in a browser: its tables and pictures, and that words stay words."""

import csv
import json
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from markupsafe import escape
from matplotlib.figure import Figure

from labelled import WORDS, labelled_rows, write_csv
from salience.audit.words import NEUTRAL
from salience.cli.main import main
from salience.data.task import Task
from salience.data.texts import Texts
from salience.papers.attention_classifiers.options import AttentionOptions, WordRecipe
from salience.papers.uaftc.analysis import Analysis, TokenScores, Words, analyse, sweep
from salience.papers.uaftc.page import attention_page, category_rows, draw_all, mean_weights
from salience.papers.uaftc.page import scores as draw_scores
from salience.papers.uaftc.training import fit_words
from salience.training.recipe import Recipe
from salience.training.task import read_task

PICTURES = ["polarity", "attention", "weights", "scales", "training"]
SENTIMENT = {"sport": "negative", "music": "neutral", "food": "positive"}
HOSTILE = ["--><img src=x onerror=window.hacked=1>", "</svg></td><script>window.hacked = 1</script>", "R&D $x_1$ <b>"]


def with_labels(names, seed: int = 0) -> list[tuple[str, str]]:
    """Rows whose labels have other names."""
    return [(text, dict(zip(WORDS, names, strict=True))[label]) for text, label in labelled_rows(120, seed)]


def run(data, folder) -> None:
    """A tiny analysis: two models of two epochs."""
    arguments = ["analyse", "attention", data, "--scales", "1,10", "--epochs", "2", "--batch-size", "10", "--output",
                 folder]  # fmt: skip
    assert main([str(argument) for argument in arguments]) == 0


def words_of(folder) -> list[dict]:
    with (folder / "words.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def analysed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("analysed")
    run(write_csv(folder / "train.csv", labelled_rows(120)), folder / "analysis")
    return folder / "analysis"


def test_the_page_is_made_of_tables_and_pictures_and_its_names_are_no_markup(tmp_path):
    run(write_csv(tmp_path / "train.csv", with_labels(HOSTILE)), tmp_path / "analysis")
    page = (tmp_path / "analysis" / "index.html").read_text(encoding="utf-8")
    assert page.count("<figure") == page.count("<svg") == len(PICTURES) and page.count("<table") == 2
    for name in HOSTILE:
        assert escape(name) in page and name not in page
    assert "<script" not in page and "<img" not in page


@pytest.fixture
def opened(page):
    def open_in(folder):
        page.goto((folder / "index.html").as_uri())
        return page

    return open_in


def table(page, number: int) -> list[list[str]]:
    found = page.locator("table").nth(number).locator("tr")
    return found.evaluate_all("all => all.map(own => [...own.children].map(cell => cell.textContent))")


@pytest.mark.whole
def test_the_tables(analysed, opened):
    page = opened(analysed)
    assert page.title() == page.locator("h1").text_content() == "Attention on train.csv"
    head, *rows = table(page, 0)
    assert head[:4] == ["scale", "category", "words", "attention score"]
    summary = json.loads((analysed / "summary.json").read_text(encoding="utf-8"))
    assert [(float(row[0]), row[1], int(row[2])) for row in rows] == [
        (own["scale"], own["category"], own["words"]) for own in summary["categories"]
    ]
    assert {row[0] for row in rows} == {"1", "10"}
    assert {"food", "music", "sport"} <= {row[1] for row in rows}


@pytest.mark.whole
def test_the_words_that_are_attended_to_most(analysed, opened):
    """Those of the first scale, the highest attention score first, as words.csv has them."""
    words = words_of(analysed)
    _, *rows = table(opened(analysed), 1)
    for label, own in WORDS.items():
        (found,) = (row[1].split(", ") for row in rows if row[0] == label)
        of_label = {row["word"]: float(row["local attention"]) for row in words if row["category"] == label}
        assert set(found) == set(of_label) <= set(own.split())
        scores = [of_label[word] for word in found]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.whole
def test_the_pictures_are_inside(analysed, opened):
    page = opened(analysed)
    assert page.locator("figure").evaluate_all("all => all.map(own => own.id)") == PICTURES
    for name in PICTURES:
        picture = page.locator(f"#{name} svg")
        assert picture.count() == 1
        assert picture.locator("path").count() > 5 and picture.locator("text").count() > 5
        box = picture.bounding_box()
        assert box["width"] > 300 and box["height"] > 150
        assert (analysed / f"{name}.png").stat().st_size > 1000
    assert page.locator("img, image, object, iframe, link[rel=stylesheet], script").count() == 0


@pytest.mark.whole
def test_the_texts_of_pictures_are_texts(analysed, opened):
    """They can be selected, searched and read aloud; and they are no formulas."""
    page = opened(analysed)
    texts = page.locator("#polarity svg text").all_text_contents()
    assert "polarity score" in texts and "sport words" in texts and "occurrences in the training texts" in texts
    assert not [text for text in page.locator("svg text").all_text_contents() if "$" in text or "\\" in text]


@pytest.mark.whole
def test_points_say_their_values_under_the_pointer(analysed, opened):
    """A word's point has its number of occurrences and its score, as words.csv has them."""
    page = opened(analysed)
    drawn = set(page.locator("#attention svg use > title").all_text_contents())
    expected = {
        f"{row['word']}: {sum(int(row[f'count {label}']) for label in WORDS)} occurrences, "
        f"score {float(row['local attention']):.3g}"
        for row in words_of(analysed)
        if row["category"] != "other"
    }
    assert drawn == expected and len(drawn) > 10
    for name, beginning in {
        "scales": "sport words: scale 1, ",
        "training": "sport words: epoch 2, mean polarity",
    }.items():
        titles = page.locator(f"#{name} svg use > title").all_text_contents()
        assert any(title.startswith(beginning) for title in titles), titles
    assert page.locator("#attention use:has(title)").first.evaluate(
        "own => own.querySelector('title').namespaceURI"
    ) == (
        "http://www.w3.org/2000/svg"  # elsewhere a title is no tooltip
    )


@pytest.mark.whole
def test_the_pictures_do_not_disturb_each_other(analysed, opened):
    """They are one document: whatever one of them refers to by its id must be its own, or the same everywhere."""
    page = opened(analysed)
    strangers = page.evaluate("""() => {
        const found = [];
        for (const own of document.querySelectorAll("[id]")) {
            for (const other of document.querySelectorAll(`[id="${own.id}"]`)) {
                const used = document.querySelector(`[*|href="#${own.id}"], [clip-path="url(#${own.id})"]`);
                if (used && other.outerHTML !== own.outerHTML) found.push(own.id);
            }
        }
        return found;
    }""")
    assert strangers == []


@pytest.mark.whole
def test_a_small_window_loses_nothing(analysed, page, opened):
    page.set_viewport_size({"width": 400, "height": 800})
    opened(analysed)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.locator("#polarity svg").bounding_box()["width"] > 300  # a picture that can be read


@pytest.mark.whole
def test_a_class_may_be_called_neutral(tmp_path, opened):
    """As in SST-5: words of that class are not neutral words, of which there is one here."""
    rows = [(f"{text} and", label) for text, label in with_labels(SENTIMENT.values())]
    run(write_csv(tmp_path / "train.csv", rows), tmp_path / "analysis")
    _, *rows = table(opened(tmp_path / "analysis"), 1)
    listed = {word for row in rows for word in row[1].split(", ")}
    assert "and" in listed
    for label, name in SENTIMENT.items():
        seen = {row["word"] for row in words_of(tmp_path / "analysis") if int(row[f"count {name}"]) > 5}
        assert seen & set(WORDS[label].split()) <= listed, name


@pytest.mark.whole
def test_few_rows_are_trained_on_for_as_long_as_many(tmp_path):
    """Fewer than a batch of them, too; and what is said of the epochs is so."""
    data = write_csv(tmp_path / "train.csv", labelled_rows(30))
    assert main(["analyse", "attention", str(data), "--epochs", "3", "--output", str(tmp_path / "analysis")]) == 0
    summary = json.loads((tmp_path / "analysis" / "summary.json").read_text(encoding="utf-8"))
    assert [row["epoch"] for row in summary["trajectories"]["10"]] == [0, 1, 2, 3]


def test_what_training_is_watched_by_is_what_is_analysed():
    """Also where texts are cut, and words that stand behind the cut belong to no class."""
    for classes in [2, 3]:
        labels = tuple(WORDS)[:classes]
        rows = [(f"the {text} {other}", labels.index(label)) for text, label in labelled_rows(240) if label in labels
                for other in [WORDS[labels[0]]]]  # fmt: skip
        part = Texts([text for text, _ in rows], labels=[label for _, label in rows])
        data = Task(list(labels), part, part.take(range(40)))
        options, recipe = AttentionOptions("embeddings", "dot"), WordRecipe(epochs=1, batch_size=10)
        (found,) = sweep(options, recipe, data, [10], max_length=3, say=lambda line: None)
        last = found.trajectory[-1]
        for category in np.unique(found.words.category):
            own = torch.from_numpy(found.words.category == category)
            assert last[f"attention {category}"] == pytest.approx(found.alone.attention[own].mean().item())
            assert last[f"polarity {category}"] == pytest.approx(found.alone.polarity[own].mean(0).tolist())
        assert sum(map(abs, last["V^T W"])) == pytest.approx(found.alignment)
        assert (found.words.category == 1).any()
        assert (found.test_accuracy, found.in_test) == (None, None)


def test_words_that_a_text_lacks_have_no_weight_in_the_picture(monkeypatch):
    seen, category = [], np.array([0, 0, 1, NEUTRAL])
    monkeypatch.setattr("salience.papers.uaftc.page.weight_boxes", lambda axes, weights, *named: seen.extend(weights))
    scores = TokenScores(torch.zeros(4), torch.zeros(4, 1), torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.ones(4))
    of_test = replace(scores, occurrences=torch.tensor([1, 0, 2, 0]))
    analysis = Analysis(
        scale=1, words=Words(list("abcd"), np.ones((4, 2), int), category), alone=scores, in_texts=scores,
        in_test=of_test, alignment=0.0, test_accuracy=None, trajectory=[],
    )  # fmt: skip
    mean_weights(Figure().subplots(), analysis, ["no", "yes"])
    assert [weights.tolist() for weights in seen] == [pytest.approx([0.3]), pytest.approx([0.1]), []]


def test_polarity_is_shown_for_a_words_own_class(tmp_path):
    """Of three classes: words of each have 6 for it and -3 for the others, neutral ones 0, 0 and 9."""
    category = np.array([0, 0, 1, 2, NEUTRAL])
    polarity = torch.tensor([[6.0, -3, -3], [6, -3, -3], [-3, 6, -3], [-3, -3, 6], [0, 0, 9]])
    scores = TokenScores(torch.zeros(5), polarity, torch.ones(5), torch.ones(5))
    analysis = Analysis(
        scale=1, words=Words(list("abcde"), np.ones((5, 3), int), category), alone=scores, in_texts=scores,
        in_test=None, alignment=0.0, test_accuracy=None, trajectory=[],
    )  # fmt: skip
    shown = {row["category"]: row["polarity score"] for row in category_rows(analysis, ["R", "G", "B"])}
    assert shown == {"R": 6, "G": 6, "B": 6, "neutral": 3}
    axes = Figure().subplots()
    draw_scores(axes, analysis, ["R", "G", "B"], "polarity")
    heights = {own.get_label(): own.get_offsets()[:, 1].tolist() for own in axes.collections}
    assert heights == {"R words": [6, 6], "G words": [6], "B words": [6], "neutral words": [3]}
    two = replace(analysis, in_texts=replace(scores, polarity=-polarity[:, :1]),
                  words=replace(analysis.words, category=np.array([0, 0, 1, NEUTRAL, NEUTRAL])))  # fmt: skip
    shown = {row["category"]: row["polarity score"] for row in category_rows(two, ["no", "yes"])}
    assert shown == {"no": -6, "yes": 3, "neutral": 1.5}


@pytest.mark.whole
def test_names_of_labels_and_files_are_no_markup(tmp_path, opened):
    file = "<img src=x onerror=window.hacked=1> & <b>.csv"
    run(write_csv(tmp_path / file, with_labels(HOSTILE)), tmp_path / "analysis")
    page = opened(tmp_path / "analysis")
    assert page.title() == page.locator("h1").text_content() == f"Attention on {file}"
    assert set(HOSTILE) <= {row[1] for row in table(page, 0)[1:]}
    assert set(HOSTILE) <= {row[0] for row in table(page, 1)}
    assert page.locator("figure").count() == len(PICTURES)
    assert page.locator("script, img, b").count() == 0


@pytest.mark.whole
def test_words_are_no_markup(tmp_path, opened):
    """A tokenizer may well have such words: ours has them where words are what stands between spaces."""
    draw = random.Random(0)
    words = {"a": ["<img/src=x/onerror=window.hacked=1>", "</td></table>"], "b": ["<script>window.hacked=1</script>",
             "&lt;b&gt;", "\"'"]}  # fmt: skip
    rows = [(" ".join(["the", *draw.choices(words[label], k=3)]), label) for label in "ab" * 40]
    data = read_task(Recipe(data=str(write_csv(tmp_path / "train.csv", rows)), validation_share=None))
    fitted = fit_words(
        AttentionOptions("embeddings", "dot"), WordRecipe(epochs=1, batch_size=10), replace(data, tokenised=True), 0
    )
    analysis = analyse(fitted.model, fitted.tokenizer, data)
    pictures = draw_all([analysis], data.labels, tmp_path)
    page = attention_page([analysis], data.labels, pictures, "Attention")
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    page = opened(tmp_path)
    _, *found = table(page, 1)
    shown = {row[0]: set(row[1].split(", ")) for row in found}
    assert {label: shown[label] for label in words} == {label: set(own) for label, own in words.items()}
    assert page.locator("script, img, td > b").count() == 0
    assert page.locator("table").count() == 2
