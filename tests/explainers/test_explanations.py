"""An explanation as a value: what it predicts, whose class it speaks of, and how it shows itself in a notebook."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import families
import long_readers
from salience import EXPLAINERS
from salience.classify import TextClassifier
from salience.classify.classifier import predict_probabilities
from salience.data.batching import DIFFERENTIATED, TOKENS
from salience.data.encoding import encode_texts
from salience.data.texts import UNKNOWN, Texts
from salience.data.words import word_spans
from salience.explainers.explain import TEXTS, explain_texts, explain_words
from salience.explainers.explanation import Explanation, Explanations, as_json, explanation_of
from salience.report.terminal import explanation_line


class Shown(HTMLParser):
    """The words of a notebook's output with the style of each, and every element's name."""

    def __init__(self, text: str):
        super().__init__()
        self.words: dict[str, str] = {}
        self.elements: list[str] = []
        self.style = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        self.style = dict(attributes).get("style")

    def handle_data(self, data):
        if self.style is not None:
            self.words[data] = self.style
            self.style = None


def explanation(words: list[str], scores: list[float], labels=("bad", "good")) -> Explanation:
    return Explanation(words, None, list(labels), np.array([0.25, 0.75]), 1, None, {"gradient": np.array(scores)})


def test_a_notebook_says_whose_words_are_coloured_and_where_a_second_text_begins():
    own = explanation(["a", "cup", "won"], [1.0, -1.0, 0.5])
    assert "gradient for" not in own._repr_html_() and "|" not in own._repr_html_()
    other = replace(own, target=0, second=1)._repr_html_()
    assert "<small>gradient for bad</small>" in other
    assert other.index(">a<") < other.index("|") < other.index(">cup<")


def test_a_notebook_draws_all_of_a_list():
    own, other = (explanation(["a", "cup"], [1.0, score]) for score in (0.0, -1.0))
    assert Explanations([own, other])._repr_html_() == own._repr_html_() + other._repr_html_()


def test_words_that_no_white_space_parts_are_shown_and_written_so():
    """In a notebook, in the terminal and in JSON; the text has the direction of its letters."""
    own = replace(explanation(["东", "京", "is", "好"], [1.0, -1.0, -1.0, -1.0]), joined={1})
    shown = own._repr_html_()
    assert '<div dir="auto">' in shown and "> <" not in shown.split("京")[0].split("东")[1] and "京</span> <" in shown
    assert explanation_line(own).plain.split(": ")[1] == "*东*京 is 好"
    assert explanation_line(own).plain == f"  {own}" and str(Explanations([own, own])) == f"{own}\n{own}"
    row = as_json(own)
    assert (
        row["joined"] == [1] and explanation_of(row).joined == {1} and "joined" not in as_json(replace(own, joined=()))
    )
    with pytest.raises(ValueError, match="no explanation"):
        explanation_of(row | {"joined": ["a"]})


def test_the_terminal_marks_no_word_that_speaks_against_the_class():
    line = explanation_line(explanation(["good", "bad", "awful", "so"], [1.0, -1.0, -2.0, 0.0])).plain
    assert line.split()[2:] == ["*good*", "bad", "awful", "so"]


def test_a_notebook_shows_words_as_strong_as_their_scores():
    shown = Shown(explanation(["not", "very", "good"], [-1.0, 0.0, 2.0])._repr_html_())
    assert shown.words["good"] == "background:rgba(224,130,20,0.75)"  # orange, the strongest
    assert shown.words["not"] == "background:rgba(128,115,172,0.38)"  # purple, half as strong
    assert shown.words["very"].endswith(",0.00)")


def test_a_notebook_runs_nothing_that_a_text_or_a_label_holds():
    words = ["<script>alert(1)</script>", "<img/src=x>", "&amp;"]
    own = explanation(words, [1.0, 2.0, 3.0], labels=("bad", "<b onclick=x>good"))
    shown = Shown(own._repr_html_())
    assert set(words) <= set(shown.words)
    assert set(shown.elements) == {"div", "b", "small", "br", "span"}


def test_scores_of_nothing_have_no_colour():
    shown = Shown(explanation(["a", "b"], [0.0, 0.0])._repr_html_())
    assert all(style.endswith(",0.00)") for style in shown.words.values())


def test_explaining_switches_dropout_off_and_leaves_the_mode(monkeypatch):
    """In whichever mode the model was; each module returns to its own."""
    monkeypatch.setitem(TOKENS, "cpu", 8)
    monkeypatch.setitem(DIFFERENTIATED, "cpu", 8)
    model, tokenizer = families.build("bert", dropout=0.5), families.tiny_tokenizer(["the film is good"])
    texts = encode_texts(tokenizer, ["the film", "good", "is the film good"], spans=word_spans)
    expected = explain_words(model, texts, EXPLAINERS["gradient"]), predict_probabilities(model, texts)
    model.train()
    model.classifier.eval()
    found = explain_words(model, texts, EXPLAINERS["gradient"]), predict_probabilities(model, texts)
    assert all(map(np.array_equal, found[0], expected[0])) and np.array_equal(found[1], expected[1])
    assert model.training and not model.classifier.training
    with pytest.raises(ZeroDivisionError):
        explain_words(model, texts, lambda *values: 1 / 0)
    assert model.training and not model.classifier.training


def test_batches_that_are_differentiated_are_small(monkeypatch):
    """Activations stay in memory for the backward pass."""
    monkeypatch.setitem(DIFFERENTIATED, "cpu", 8)
    model, tokenizer = families.build("bert").eval(), families.tiny_tokenizer(["a cup"])
    seen = []

    def explainer(model, batch, target):
        seen.append(batch.input_ids.numel())
        return batch.segment.float()

    explain_words(model, encode_texts(tokenizer, ["a cup"] * 6, spans=word_spans), explainer)
    list(explain_texts(TextClassifier(model, tokenizer, 512), Texts(["a cup"] * 6), {"own": explainer}))
    assert seen == [8] * 6  # two texts of four tokens
    assert DIFFERENTIATED["cuda"] < TOKENS["cuda"]


def test_texts_keep_their_order_over_windows_and_batches():
    """More of them than a window holds, long and short ones mixed."""
    random = np.random.default_rng(0)
    words = ["a", "cup", "song", "of", "the", "cat"]
    texts = [" ".join(random.choice(words, random.integers(1, 7))) for _ in range(TEXTS + 5)]
    model, tokenizer = families.build("bert").eval(), families.tiny_tokenizer(texts)
    explained = []

    def explainer(model, batch, target):
        explained.append(len(batch))
        return EXPLAINERS["gradient"](model, batch, target)

    found = explain_texts(TextClassifier(model, tokenizer, 512), Texts(texts), {"gradient": explainer})
    first = next(found)
    assert sum(explained) == TEXTS  # a window is explained, and no more
    assert [" ".join(own.words) for own in (first, *found)] == texts


def test_long_texts_are_explained_so_many_characters_at_a_time(monkeypatch):
    """Those of one part are held together: their words, windows and scores."""
    monkeypatch.setattr("salience.data.encoding.CHARACTERS", 400)
    random, classifier, explained = np.random.default_rng(0), long_readers.classifier("windows"), []
    texts = Texts([" ".join(random.choice(long_readers.WORDS, size)) for size in (30, 45, 60, 20, 500, 10)])
    parts = [[0, 1], [2, 3], [4], [5]]
    assert [sum(len(texts.texts[row]) for row in part) <= 400 for part in parts] == [True, True, False, True]

    def explainer(model, batch, target):
        explained.append(len(batch))
        return EXPLAINERS["gradient"](model, batch, target)

    found = explain_texts(classifier, texts, {"gradient": explainer})
    for part in parts:
        held = next(found), sum(explained), *(next(found) for _ in part[1:])
        explained.clear()
        assert held[1] == len(classifier.passages(texts.take(part)).texts)
        assert [" ".join(own.words) for own in (held[0], *held[2:])] == [texts.texts[row] for row in part]


@pytest.mark.parametrize("target", ["predicted", "gold", 2])
def test_the_target_is_whose_class_is_explained(target):
    model, tokenizer = families.build("bert").eval(), families.tiny_tokenizer(["a cup of tea"])
    texts = Texts(["a cup", "of tea"], labels=[0, 1])
    explained = explain_texts(TextClassifier(model, tokenizer, 512), texts, {"g": EXPLAINERS["gradient"]}, target)
    for label, own in zip(texts.labels, explained, strict=True):
        assert own.target == {"predicted": own.predicted, "gold": label, 2: 2}[target]
        assert own.gold == label and own.probabilities.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("texts", "which"),
    [(Texts(["a cup"]), "a text"), (Texts(["a cup", "a"], labels=[0, UNKNOWN], rows=[3, 8]), "row 8")],
)
def test_gold_labels_must_be_known(texts, which):
    model, tokenizer = families.build("bert").eval(), families.tiny_tokenizer(["a cup"])
    classifier = TextClassifier(model, tokenizer, 512)
    with pytest.raises(ValueError, match=f"{which} has none that the model knows"):
        list(explain_texts(classifier, texts, {"g": EXPLAINERS["gradient"]}, "gold"))
    last = list(explain_texts(classifier, texts, {"g": EXPLAINERS["gradient"]}))[-1]
    assert last.gold is None and last.row == (None if texts.rows is None else 8)
