"""Classifiers that read long texts in windows or from both ends: predictions, explanations, and refusals."""

from dataclasses import replace

import numpy as np
import pytest

from long_readers import WORDS, classifier
from salience.data.texts import Texts
from salience.errors import InputError
from salience.explainers import EXPLAINERS
from salience.explainers.explain import explain_texts

LONG = " ".join(np.random.default_rng(0).choice(WORDS, 60).tolist())
TEXTS = Texts(["a film", LONG, "told twice", LONG + " dogs and dogs"], labels=[0, 1, 1, 0], rows=[3, 4, 5, 6])


def test_windows_are_predicted_as_texts_of_their_own():
    """Each window by itself, in a loop; the text has the mean of their log probabilities."""
    reader, heads = classifier("windows"), classifier("head")
    found = reader.predict_proba(TEXTS)
    assert found.shape == (4, 2)
    passages = reader.passages(TEXTS)
    assert (
        np.bincount(passages.owners) == [1, len(passages.texts) // 2 - 1, 1, len(passages.texts) // 2 - 1]
    ).sum() > 1
    for number in range(4):
        own = [text for text, owner in zip(passages.texts.texts, passages.owners, strict=True) if owner == number]
        logits = np.mean([np.log(heads.predict_proba([text])[0]) for text in own], axis=0)
        assert found[number] == pytest.approx(np.exp(logits) / np.exp(logits).sum(), abs=1e-6)
    assert found[[0, 2]] == pytest.approx(heads.predict_proba(TEXTS)[[0, 2]], abs=1e-6)


def test_head_and_tail_are_read_as_one_text():
    reader, heads = classifier("head-tail"), classifier("head")
    encoded = reader.encode(TEXTS)
    assert encoded.owners is None and encoded.cut.tolist() == [False, True, False, True]
    words = LONG.split()
    joined = reader.passages(TEXTS).texts.texts[1].split()
    assert len(joined) == 14 and joined == [*words[:7], *words[-7:]]
    assert reader.predict_proba(TEXTS)[1] == pytest.approx(heads.predict_proba([" ".join(joined)])[0], abs=1e-6)


def mean_scores(words, windows):
    total, count = np.zeros(words), np.zeros(words)
    for first, scores in windows:
        total[first : first + len(scores)] += scores
        count[first : first + len(scores)] += 1
    return total / np.maximum(count, 1)


@pytest.mark.parametrize("target", ["predicted", "gold", 1])
def test_explanations_of_windows(target):
    """Against explanations of each window alone, for the class that is explained of the whole text."""
    reader, heads = classifier("windows"), classifier("head")
    gradient = {"gradient-x-input": EXPLAINERS["gradient-x-input"]}
    found = list(explain_texts(reader, TEXTS, gradient, target))
    passages = reader.passages(TEXTS)
    for number, each in enumerate(found):
        text = TEXTS.texts[number]
        assert each.words == text.split() and each.row == TEXTS.rows[number] and each.gold == TEXTS.labels[number]
        assert each.probabilities == pytest.approx(reader.predict_proba([text])[0], abs=1e-6)
        wanted = {"predicted": each.predicted, "gold": each.gold, 1: 1}[target]
        assert each.target == wanted and not each.cut
        total, count = np.zeros(len(each.words)), np.zeros(len(each.words))
        for place in np.flatnonzero(passages.owners == number):
            first = passages.first_words[place]
            (own,) = explain_texts(heads, Texts([passages.texts.texts[place]]), gradient, wanted)
            total[first : first + len(own.words)] += own.scores["gradient-x-input"]
            count[first : first + len(own.words)] += 1
        assert count.min() >= 1
        assert each.scores["gradient-x-input"] == pytest.approx(total / count, rel=1e-4, abs=1e-6)


def test_windows_of_texts_with_several_labels():
    """Predictions against a loop over windows, and explanations of each label against those of the windows alone."""
    reader, heads = classifier("windows", several=True), classifier("head", several=True)
    texts, passages = Texts(TEXTS.texts, labels=np.array([[1, 1], [0, 1], [1, 0], [1, 1]])), reader.passages(TEXTS)
    explainers, target = {"gradient-x-input": EXPLAINERS["gradient-x-input"]}, "gold"
    found = {(each.words[-1], len(each.words), each.target): each for each in
             explain_texts(reader, texts, explainers, target)}  # fmt: skip
    assert len(found) == 6
    for number, text in enumerate(TEXTS.texts):
        own = [passages.texts.texts[place] for place in np.flatnonzero(passages.owners == number)]
        logits = [np.log(p) - np.log(1 - p) for p in heads.predict_proba(own).astype(np.float64)]
        expected = 1 / (1 + np.exp(-np.mean(logits, axis=0)))
        assert reader.predict_proba([text])[0] == pytest.approx(expected, abs=1e-6)
        firsts = passages.first_words[passages.owners == number]
        for label in np.flatnonzero(texts.labels[number]):
            each = found[text.split()[-1], len(text.split()), label]
            assert each.probabilities == pytest.approx(expected, abs=1e-6)
            of_windows = [
                next(explain_texts(heads, Texts([window]), explainers, int(label))).scores["gradient-x-input"]
                for window in own
            ]
            scores = mean_scores(len(each.words), list(zip(firsts.tolist(), of_windows, strict=True)))
            assert each.scores["gradient-x-input"] == pytest.approx(scores, rel=1e-4, abs=1e-6)


def test_what_reads_texts_at_once_refuses_windows():
    with pytest.raises(InputError, match="this model reads long texts in windows"):
        classifier("windows").encode(TEXTS)


PAIRS = Texts([LONG, "a film", "told twice"], ["told twice", LONG + " and", "dogs"], labels=[0, 1, 1], rows=[3, 4, 5])


@pytest.mark.parametrize("several", [False, True])
def test_pairs_are_read_and_explained_in_windows_of_their_longer_text(several):
    """Against predictions and explanations of each window and its other text as a pair of their own."""
    reader, heads = classifier("windows", several), classifier("head", several)
    texts = replace(PAIRS, labels=np.array([[0, 1], [1, 0], [1, 0]])) if several else PAIRS
    gradient = {"gradient-x-input": EXPLAINERS["gradient-x-input"]}
    passages = reader.passages(texts)
    explanations = list(explain_texts(reader, texts, gradient, "gold"))
    assert len(explanations) == 3 and len(passages.owners) > 10
    for number, each in enumerate(explanations):
        first, second = texts.texts[number].split(), texts.second[number].split()
        assert each.words == first + second and each.second == len(first) and not each.cut
        own = [(passages.texts.texts[place], passages.texts.second[place])
               for place in np.flatnonzero(passages.owners == number)]  # fmt: skip
        given = heads.predict_proba(own).astype(np.float64)
        logits = np.log(given) - (np.log(1 - given) if several else 0)
        mean = np.exp(logits.mean(0))
        expected = mean / (1 + mean) if several else mean / mean.sum()
        assert reader.predict_proba(texts.take([number]))[0] == pytest.approx(expected, abs=1e-6)
        total, count = np.zeros(len(each.words)), np.zeros(len(each.words))
        for pair in own:
            (alone,) = explain_texts(heads, Texts([pair[0]], [pair[1]]), gradient, each.target)
            begins = [passages_start(text, part.split()) for text, part in zip((first, second), pair, strict=True)]
            places = [*range(begins[0], begins[0] + alone.second)]
            places += range(len(first) + begins[1], len(first) + begins[1] + len(alone.words) - alone.second)
            total[places] += alone.scores["gradient-x-input"]
            count[places] += 1
        assert count.min() >= 1
        assert each.scores["gradient-x-input"] == pytest.approx(total / count, rel=1e-4, abs=1e-6)


def passages_start(words: list[str], part: list[str]) -> int:
    """Where the words of a part begin in a text, in which they are found once."""
    (start,) = [place for place in range(len(words)) if words[place : place + len(part)] == part]
    return start


def test_a_value_that_is_none_of_ours_is_no_reading():
    """A configuration is a file, in which anything may stand."""
    reader = classifier("windows")
    for value in ("all", None, 3):
        reader.model.config.long_texts = value
        assert reader.long == "head"
    assert replace(reader).encode(["a film"]).owners is None


def test_a_text_without_spaces_is_read_and_explained_as_a_whole():
    """It is one word, whose score is the mean over its pieces."""
    reader, text = classifier("windows"), "film" * 20
    encoded = reader.read([text])
    assert len(encoded) > 3 and encoded.texts == 1 and not encoded.cut.any()
    (found,) = explain_texts(
        reader, Texts([text], labels=[0]), {"gradient-x-input": EXPLAINERS["gradient-x-input"]}, 1
    )
    heads = classifier("head")
    alone = explain_texts(
        heads,
        Texts(reader.passages(Texts([text])).texts.texts),
        {"gradient-x-input": EXPLAINERS["gradient-x-input"]},
        1,
    )
    assert found.words == [text] and not found.cut
    scores = [each.scores["gradient-x-input"].item() for each in alone]
    assert found.scores["gradient-x-input"] == pytest.approx([np.mean(scores)], abs=1e-6)
