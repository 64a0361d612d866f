"""Words that give the label away, by counting texts."""

import math
import random
import re
from dataclasses import replace

import numpy as np
import pytest

from salience.audit.giveaways import giveaways
from salience.data.texts import Texts


def labelled(rows: int, shares: list[float], cue: float, seed: int) -> Texts:
    """Texts of common words; a share `cue` of those of class 0 have a mark, too."""
    draw = random.Random(seed)
    words = [f"word{number}" for number in range(12)]
    labels = draw.choices(range(len(shares)), shares, k=rows)
    texts = [" ".join(draw.choices(words, k=8)) for _ in labels]
    texts = [
        f"{text} §" if label == 0 and draw.random() < cue else text for text, label in zip(texts, labels, strict=True)
    ]
    return Texts(texts, labels=labels)


def test_a_planted_sign_is_found_with_its_rows():
    texts = labelled(200, [1, 1, 1], 0.6, 0)
    (found,) = giveaways(texts, 3)
    having = [place for place, text in enumerate(texts.texts) if "§" in text]
    own = int((texts.known_labels == 0).sum())
    assert (found.word, found.label, found.gamma, found.places) == ("§", 0, 1.0, having)
    assert found.share == pytest.approx(len(having) / own)
    odds = (len(having) + 0.5) / (own - len(having) + 0.5) / (0.5 / (200 - own + 0.5))
    assert found.log_odds == pytest.approx(math.log(odds))


def test_gamma_and_share_are_those_of_counted_texts():
    texts = Texts(["cue a"] * 30 + ["a b"] * 20 + ["cue b"] + ["b a"] * 49, labels=[0] * 50 + [1] * 50)
    (found,) = giveaways(texts, 2)
    assert (found.word, found.label, found.share) == ("cue", 0, 0.6)
    assert found.gamma == pytest.approx((30 - 1) / (30 + 1))


def test_each_of_several_labels_is_a_class_against_the_texts_without_it():
    texts = labelled(200, [1, 1, 1], 0.6, 0)
    one = texts.known_labels
    sets = (one[:, None] == np.arange(3)).astype(int)
    assert giveaways(replace(texts, labels=sets), 3) == giveaways(texts, 3) != []
    both = sets.copy()
    both[:, 1] |= both[:, 0]  # every text of the first label has the second one, too
    having = sorted(place for place, text in enumerate(texts.texts) if "§" in text)
    found = {each.label: each.places for each in giveaways(replace(texts, labels=both), 3) if each.word == "§"}
    assert found == {0: having, 1: having}


def test_the_class_of_nearly_all_texts_does_not_own_the_common_words():
    texts = labelled(1000, [97, 3], 0, 1)
    counted = {word for text in texts.texts for word in text.split()}
    labels = texts.known_labels
    for word in counted:  # on the texts as they are, gamma is high for every word
        having = np.array([word in text.split() for text in texts.texts])
        assert (having & (labels == 0)).sum() > 9 * (having & (labels == 1)).sum()
    assert giveaways(texts, 2) == []


def test_words_of_few_texts_are_left_out():
    texts = ["rare word here"] * 5 + ["other text"] * 20
    assert giveaways(Texts([*texts, "again"], labels=[0] * 5 + [1] * 21), 2) != []
    assert {found.label for found in giveaways(Texts([*texts, "again"], labels=[0] * 5 + [1] * 21), 2)} == {1}


def test_pairs_count_as_one_text_and_texts_without_words_are_no_fault():
    pairs = Texts(["x"] * 20, ["only"] * 10 + ["never"] * 10, labels=[0] * 10 + [1] * 10)
    assert {(found.word, found.label) for found in giveaways(pairs, 2)} == {("only", 0), ("never", 1)}
    assert giveaways(Texts([" "] * 20, labels=[0, 1] * 10), 2) == []


def test_words_are_in_lower_case_and_ordered_by_their_share():
    texts = ["One two"] * 10 + ["one"] * 5 + ["three"] * 15
    found = giveaways(Texts(texts, labels=[0] * 15 + [1] * 15), 2)
    assert [each.word for each in found] == ["one", "three", "two"]
    assert all(re.fullmatch(r"[a-z]+", each.word) for each in found)
