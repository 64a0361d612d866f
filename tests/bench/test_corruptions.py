"""Typing errors and missing words: worked, and in what holds of all of them."""

import re
import string
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corruptions import CORRUPTIONS, NEIGHBOURS, WORD, Robustness, corrupted, dropped_words, mistyped, typos
from salience.data.task import Task
from salience.data.texts import Texts

TEXT = st.text(st.sampled_from("aabcdeMZé ß\n.,'7-日"), max_size=60) | st.text(max_size=30)
RATES = st.floats(0, 1)
SEEDS = st.integers(0, 1000)
KINDS = ("swap", "delete", "insert", "double")


def made(word: str, kind: str, place: int, places: int, key: float = 0.0) -> str:
    """The error of a kind at the place of this number, of a word in which all four kinds are possible."""
    return mistyped(word, (KINDS.index(kind) + 0.5) / 4, (place + 0.5) / places, key)


def test_worked_errors():
    assert [made("Match", "swap", place, 3) for place in range(3)] == ["Mtach", "Macth", "Mathc"]
    assert [made("Match", "delete", place, 4) for place in range(4)] == ["Mtch", "Mach", "Math", "Matc"]
    assert [made("Match", "double", place, 5) for place in (0, 4)] == ["MMatch", "Matchh"]
    assert [made("Match", "insert", 0, 5, key) for key in (0.0, 0.99)] == ["MNatch", "MKatch"]
    assert {made("Match", "insert", 1, 5, key) for key in np.arange(0, 1, 0.1)} == {
        f"Ma{letter}tch" for letter in NEIGHBOURS["a"]
    }


def test_neighbours_of_keys():
    assert set(NEIGHBOURS) == set(string.ascii_lowercase)
    assert {key: set(NEIGHBOURS[key]) for key in "qsgpzm"} == {
        "q": set("wa"),
        "s": set("adwezx"),
        "g": set("fhtyvb"),
        "p": set("ol"),
        "z": set("xas"),
        "m": set("njk"),
    }
    for key, others in NEIGHBOURS.items():
        assert all(key in NEIGHBOURS[other] for other in others)
        assert len(set(others)) == len(others)


def test_only_kinds_that_change_the_word_are_drawn():
    """In "eee" no swap does, and Cyrillic letters have no key on this keyboard."""
    draws = np.arange(0.05, 1, 0.1)
    assert {mistyped("eee", kind, 0.5, 0) for kind in draws} == {"ee", "eewe", "eeee"}
    assert {mistyped("мир", kind, 0.9, 0) for kind in draws} == {"мри", "ми", "мирр"}


def distance(one: str, other: str) -> int:
    """Edits between two words: letters left out or added, and swaps of neighbours (optimal string alignment)."""
    table = np.zeros((len(one) + 1, len(other) + 1), int)
    table[:, 0], table[0] = np.arange(len(one) + 1), np.arange(len(other) + 1)
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1)
            if one[i - 1] == other[j - 1]:
                table[i, j] = min(table[i, j], table[i - 1, j - 1])
            if i > 1 and j > 1 and one[i - 2 : i] == other[j - 2 : j][::-1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[-1, -1]


@given(st.from_regex(WORD, fullmatch=True), SEEDS)
def test_a_long_word_has_one_error_after_its_first_letter(word, seed):
    found = typos(word, 1, np.random.default_rng([seed, 1]))
    assert distance(word, found) == 1
    assert found[0] == word[0]


@given(TEXT, SEEDS)
def test_nothing_but_long_words_changes(text, seed):
    found = typos(text, 1, np.random.default_rng([seed, 1]))
    pattern = ".+".join(re.escape(gap) for gap in WORD.split(text))
    assert re.fullmatch(pattern, found, re.DOTALL)
    assert (found == text) == (WORD.search(text) is None)


@given(TEXT, RATES, RATES, SEEDS)
def test_typos_at_a_rate_are_also_made_at_a_higher_one(text, one, other, seed):
    """Word by word: as clean at the lower rate, or the same error at both."""
    low, high = sorted((one, other))
    words = WORD.findall(text)
    generator = np.random.default_rng([seed, 0])
    expected = {low: [], high: []}
    for word in words:
        chance, *draws = generator.random(4)
        for rate in expected:
            expected[rate].append(mistyped(word, *draws) if chance < rate else word)
    for rate, changed in expected.items():
        gaps = WORD.split(text)
        whole = gaps[0] + "".join(word + gap for word, gap in zip(changed, gaps[1:], strict=True))
        assert typos(text, rate, np.random.default_rng([seed, 0])) == whole


@given(TEXT, SEEDS)
def test_at_rate_0_nothing_changes(text, seed):
    for corruption in CORRUPTIONS.values():
        assert corruption(text, 0, np.random.default_rng([seed, 1])) == text


@given(TEXT, RATES, RATES, SEEDS)
def test_dropped_words(text, one, other, seed):
    """What is left are words of the text in their order, at least one; at a higher rate, words of those."""
    low, high = sorted((one, other))
    some = dropped_words(text, low, np.random.default_rng([seed, 1])).split()
    fewer = dropped_words(text, high, np.random.default_rng([seed, 1])).split()
    for longer, shorter in ((text.split(), some), (some, fewer)):
        remaining = iter(longer)
        assert all(word in remaining for word in shorter)
        assert bool(shorter) == bool(longer)
    assert len(dropped_words(text, 1, np.random.default_rng([seed, 1])).split()) == min(1, len(text.split()))


def test_worked_dropped_words():
    class Given:
        def random(self, count):
            return np.array([0.9, 0.1, 0.5, 0.2])[:count]

    assert dropped_words(" one\ttwo  three four ", 0.1, Given()) == " one\ttwo  three four "
    assert dropped_words(" one\ttwo  three four ", 0.2, Given()) == "one\tthree four"
    assert dropped_words("one two  three four", 0.4, Given()) == "one three"
    assert dropped_words("one two three four", 1, Given()) == "one"


def test_rates_and_kinds_of_many_words():
    """4,000 words at 0.2: 800 errors, with a standard deviation of 25; each kind a quarter of them."""
    text = " ".join(["words"] * 4000)
    found = typos(text, 0.2, np.random.default_rng([0, 1])).split()
    changed = [word for word in found if word != "words"]
    assert abs(len(changed) - 800) < 4 * 25
    kinds = Counter()
    for word in changed:
        if len(word) == 5:
            kinds["swap"] += 1
        elif len(word) == 4:
            kinds["delete"] += 1
        else:
            doubled = word in {"wwords", "woords", "worrds", "wordds", "wordss"}
            kinds["double" if doubled else "insert"] += 1
    assert set(kinds) == set(KINDS)
    assert max(kinds.values()) - min(kinds.values()) < 100
    dropped = 4000 - len(dropped_words(text, 0.2, np.random.default_rng([0, 1])).split())
    assert abs(dropped - 800) < 4 * 25


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_a_row_is_corrupted_alike_in_any_order(corruption):
    words = [f"these are several words of the text number {number}" for number in range(20)]
    texts = Texts(words, words[::-1], labels=np.arange(20), rows=list(range(31, 51)))
    found = corrupted(texts, corruption, 0.5, seed=3)
    order = np.random.default_rng(0).permutation(20)[:12]
    assert corrupted(texts.take(order), corruption, 0.5, seed=3) == found.take(order)
    assert found.labels is texts.labels
    assert found.rows == texts.rows
    assert found.texts != texts.texts
    assert found.second != texts.second
    assert corrupted(texts, corruption, 0.5, seed=4) != found
    assert len(set(corrupted(Texts(words[:1] * 20), corruption, 0.5, 0).texts)) > 10  # each row has its own errors


def test_texts_without_rows_are_numbered_from_1():
    texts = ["several words here", "and some others there"]
    numbered = corrupted(Texts(texts, rows=[1, 2]), "typos", 0.5, 0)
    assert corrupted(Texts(texts), "typos", 0.5, 0).texts == numbered.texts


def test_the_accuracies_on_corrupted_rows():
    texts = Texts([f"these are several words of the text number {number}" for number in range(20)], labels=[0] * 20)

    class Classifier:
        def predict_proba(self, read):
            """The first class where a text has all of its words."""
            same = np.array([len(text.split()) == 9 for text in read.texts])
            return np.stack([same, ~same], 1).astype(float)

    measure = Robustness(0.5)
    found = measure(Classifier(), Task(["a", "b"], texts, Texts([]), texts), seed=3)
    whole = [len(each.split()) == 9 for each in corrupted(texts, "dropped-words", 0.5, 0).texts]
    assert found == {"accuracy_typos": 1, "accuracy_dropped_words": np.mean(whole), "rate": 0.5}
    assert {*measure.columns} | {*measure.settings} == {*found}
