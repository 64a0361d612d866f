"""The studies that train, explain and judge: small runs of them, whose numbers are counted again by hand."""

from dataclasses import replace

import numpy as np
import pytest
from test_datasets import write

from salience.classify import TextClassifier
from salience.data.texts import Texts
from salience.faithfulness.erasure import as_judged
from salience.papers.attention_classifiers.building import word_tokenizer
from salience.papers.vat import tables as judging
from salience.papers.vat import tables as vat
from word_models import word_classifier

GOOD, BAD, PLAIN = ("lovely", "great"), ("dull", "awful"), ("film", "plot", "cast", "scene", "story")


def rows(count: int, seed: int) -> list[dict]:
    """Texts of six words of which one decides, with its sentiment marked."""
    random, found = np.random.default_rng(seed), []
    for number in range(count):
        words = list(random.choice(PLAIN, 6))
        kind = ("very negative", "negative", "neutral", "positive", "very positive")[number % 5]
        marks = ["neutral"] * 6
        if kind != "neutral":
            place = int(random.integers(6))
            words[place] = str(random.choice(GOOD if kind.endswith("positive") else BAD))
            marks[place] = kind.split()[-1]
        found.append({"text": " ".join(words), "label": kind, "token_labels": marks})
    return found


@pytest.fixture
def folder(tmp_path):
    for part, count in (("train", 60), ("dev", 20), ("test", 30)):
        write(tmp_path / "sst_trees", part, rows(count, seed=count))
    return tmp_path


def test_one_cell_of_vat_holds_all_five_tables(folder, monkeypatch):
    plan = replace(vat.PLANS["lstm"], epochs=4, iterations=2, judged=20, most=6)
    monkeypatch.setitem(vat.PLANS, "lstm", plan)
    found = vat.run(vat.Cell("sst5", "lstm-random", 0), folder)
    assert len(found["test"]) == len(found["validation"]) == 3  # iterations 0 to 2
    assert found["accuracy"] == found["test"][int(np.argmax(found["validation"]))]
    assert (found["rows"], found["judged"]) == (60, 20)
    for name in ("random", "ATT", "VAT"):
        own = found["explanations"][name]
        assert len(own["without"]) == len(own["alone"]) == 7
        assert own["without"][0] == own["alone"][0]  # the whole texts
        assert own["AOPC@5"] == pytest.approx(100 * (own["without"][0] - own["without"][5]))
        assert own["post-hoc@5"] == pytest.approx(100 * own["alone"][5])
        assert own["AOPC over K"] == pytest.approx(100 * np.mean(own["without"][0] - np.array(own["without"])))
        assert own["alone"][6] == own["alone"][0]  # six words are all there are
        assert len(own["positive"]) == len(own["negative"]) == 6
    report = vat.report([{"set": "sst5", "encoder": "lstm-random", "seed": 0} | found])
    assert "Table 5" in report and "58.7 26.0 32.7 30.3 54.2 34.7" in report


def test_marked_words_are_found_polarity_by_polarity():
    """Scores that point at the marked word find it at 1; those of texts of the other polarity do not count."""
    part = Texts(
        ["a lovely film", "a dull film", "no opinion", "two words parted"],
        labels=[3, 0, 2, 4],
        marks=[
            ["neutral", "positive", "neutral"],
            ["neutral", "very negative", "neutral"],
            ["neutral"] * 2,
            ["positive"],
        ],
    )
    labels = ("very negative", "negative", "neutral", "positive", "very positive")
    scores = [np.array([0.0, 1.0, 0.5]), np.array([1.0, 0.0, 0.5]), np.array([1.0, 0.0]), np.array([1.0, 0.0, 0.0])]
    found = judging.detection(scores, part, labels)
    assert found["positive"][:3] == [100, 100, 100]  # the fourth text's words are not parted as its marks are
    assert found["negative"][:3] == [0, 0, 0]
    assert found["negative"][4] == 100  # recall at 5: all three words are taken


def test_scores_of_a_pair_stay_with_their_words_where_the_judge_reads_more():
    """The explained model reads a, b | p, q, the judge a, b, c | p, q, r."""
    tokenizer, pair = word_tokenizer(["a b c p q r"]), [("a b c", "p q r")]
    whole = len(tokenizer(["a b c"], ["p q r"])["input_ids"][0])
    model = word_classifier("lstm", 0, vocab_size=len(tokenizer))
    own, judged = (
        TextClassifier(model, tokenizer, longest).encode(pair, words=True).words for longest in (whole - 2, whole)
    )
    assert (own.names, judged.names) == ([["a", "b", "p", "q"]], [["a", "b", "c", "p", "q", "r"]])
    (found,) = as_judged([np.array([1.0, 2.0, 3.0, 4.0])], own, judged)
    assert found.tolist() == [1, 2, -np.inf, 3, 4, -np.inf]
    (back,) = as_judged([np.arange(6.0)], judged, own)
    assert back.tolist() == [0, 1, 3, 4]
