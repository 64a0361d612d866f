"""Tests of explanations by classifiers that read windows: against readers of heads, and against loops over texts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kendalltau

from long_readers import WORDS, classifier
from salience.classify import TextClassifier
from salience.data.texts import Texts
from salience.explainers.explain import explain
from salience.faithfulness.evaluation import evaluate

pytestmark = pytest.mark.whole  # it trains real models, or many of them

LONG = " ".join(np.random.default_rng(0).choice(WORDS, 40).tolist())
SINGLE = Texts(["a film", LONG, "told twice", f"{LONG} dogs\n and dogs"], labels=[0, 1, 1, 0])
PAIRS = Texts(["a film about", "told twice", LONG], [LONG, "dogs", "old men"], labels=[0, 1, 1])
METRICS = ["comprehensiveness", "sufficiency", "loo-tau", "decision-flip"]


def kept(words: list[str], second: int | None, stays: np.ndarray):
    """The text, or the pair, of the words that stay, put together by hand."""
    parts = [(0, len(words))] if second is None else [(0, second), (second, len(words))]
    texts = [" ".join(word for word, stay in zip(words[a:b], stays[a:b], strict=True) if stay) for a, b in parts]
    return texts[0] if second is None else tuple(texts)


def by_hand(reader: TextClassifier, text, words, second, scores, label: int) -> dict[str, float]:
    """Comprehensiveness and sufficiency (DeYoung et al., 2020), and tau, with a prediction for each text."""
    rank = np.argsort(np.argsort(-scores, kind="stable"), kind="stable")
    whole = float(reader.predict_proba([text])[0, label])
    drops = {"comprehensiveness": [], "sufficiency": []}
    for percent in (1, 5, 10, 20, 50):
        count = -(-len(words) * percent // 100)
        for name, stays in (("comprehensiveness", rank >= count), ("sufficiency", rank < count)):
            drops[name].append(whole - float(reader.predict_proba([kept(words, second, stays)])[0, label]))
    alone = [kept(words, second, np.arange(len(words)) != place) for place in range(len(words))]
    lost = [np.log(whole) - np.log(float(reader.predict_proba([each])[0, label])) for each in alone]
    found = {name: float(np.mean(values)) for name, values in drops.items()}
    return found | {"loo-tau": kendalltau(scores, lost).statistic}


@pytest.mark.parametrize("texts", [SINGLE, PAIRS], ids=["texts", "pairs"])
@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
def test_a_text_is_judged_whole(texts, several):
    reader = classifier("windows", several)
    given = replace(texts, labels=np.ones((len(texts), 2), int)) if several else texts
    asked = "gold" if several else "predicted"
    evaluation = evaluate(reader, given, metrics=METRICS[:3], target=asked)
    explained = explain(reader, given, target=asked)
    assert len(explained) == len(texts) * (2 if several else 1)
    rows = [row for row in range(len(texts)) for _ in range(2 if several else 1)]
    expected = [
        by_hand(reader, texts.texts[row] if texts.second is None else (texts.texts[row], texts.second[row]),
                each.words, each.second, each.scores["gradient"], each.target)
        for row, each in zip(rows, explained, strict=True)
    ]  # fmt: skip
    for name in METRICS[:3]:
        values = evaluation["gradient"].values[name]
        assert values == pytest.approx([each[name] for each in expected], abs=2e-5), name
    assert max(abs(each["comprehensiveness"]) for each in expected) > 1e-3


def test_short_texts_are_judged_as_by_a_reader_of_heads():
    texts = Texts(["a film about old men", "told twice", "the dogs and a film", "men"], labels=[0, 1, 1, 0])
    for given in (texts, replace(texts, second=["dogs", "a film", "old", "told"])):
        ours, theirs = (
            evaluate(
                classifier(long), given, metrics=[*METRICS, "accuracy-drop@2"], explainers=["gradient", "occlusion"]
            )
            for long in ("windows", "head")
        )
        for row in ("gradient", "occlusion", "random"):
            for name in METRICS:
                assert ours[row].values[name] == pytest.approx(theirs[row].values[name], abs=2e-5, nan_ok=True)


def test_a_judge_that_reads_heads_is_asked_about_the_words_that_it_reads():
    reader, judge = classifier("windows"), classifier("head")
    said: list[str] = []
    evaluation = evaluate(reader, SINGLE, metrics=["comprehensiveness"], judge=judge, say=said.append)
    alone = evaluate(judge, SINGLE, metrics=["comprehensiveness"])
    assert not any("longer than" in line for line in said)
    for short in (0, 2):
        values = (each["gradient"].values["comprehensiveness"][short] for each in (evaluation, alone))
        assert next(values) == pytest.approx(next(values), abs=1e-6)
