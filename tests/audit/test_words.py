"""Words that give the label away, by counting texts; and words by which a classifier decides, by a slow loop."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from salience.audit.findings import Finding
from salience.audit.words import NAME, PART, deciding_words, telling_words
from salience.data.corrections import without_phrases
from salience.data.texts import Texts
from salience.explainers.explanation import Explanation


def words_of(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(each.details["word"], each.details["label"]) for each in findings]


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
    (found,) = telling_words(texts, ["a", "b", "c"])
    having = [place for place, text in enumerate(texts.texts) if "§" in text]
    own = int((texts.known_labels == 0).sum())
    assert words_of([found]) == [("§", "a")] and found.details["gamma"] == 1
    assert found.rows == [place + 1 for place in having] and found.score == pytest.approx(len(having) / own)
    odds = (len(having) + 0.5) / (own - len(having) + 0.5) / (0.5 / (200 - own + 0.5))
    assert found.details["log_odds"] == pytest.approx(math.log(odds), abs=1e-6)


def test_words_of_scripts_without_spaces_are_counted_each():
    """A planted Chinese sign and a planted run of Katakana are found in sentences that are all different."""
    draw = random.Random(0)
    letters = [chr(0x4E00 + number) for number in range(40)]
    texts = ["".join(draw.choices(letters, k=8)) for _ in range(80)]
    texts = [text[:4] + ("糖" if number < 40 else "サッカー") + text[4:] for number, text in enumerate(texts)]
    found = telling_words(Texts(texts, labels=[0] * 40 + [1] * 40), "ab")
    assert [(*words_of([each])[0], each.score) for each in found[:2]] == [("サッカー", "b", 1), ("糖", "a", 1)]


def test_gamma_and_share_are_those_of_counted_texts():
    texts = Texts(["cue, a"] * 30 + ["a, b"] * 20 + ["cue, b"] + ["b, a"] * 49, labels=[0] * 50 + [1] * 50)
    (found,) = telling_words(texts, "ab")
    assert words_of([found]) == [("cue", "a")] and found.score == 0.6
    assert found.details["gamma"] == pytest.approx((30 - 1) / (30 + 1), abs=1e-6)


def test_each_of_several_labels_is_a_class_against_the_texts_without_it():
    texts = labelled(200, [1, 1, 1], 0.6, 0)
    one = texts.known_labels
    sets = (one[:, None] == np.arange(3)).astype(int)
    assert telling_words(replace(texts, labels=sets), "abc") == telling_words(texts, "abc") != []
    both = sets.copy()
    both[:, 1] |= both[:, 0]  # every text of the first label has the second one, too
    having = [row for row, text in enumerate(texts.texts, 1) if "§" in text]
    found = telling_words(replace(texts, labels=both), "abc")
    assert {key: each.rows for key, each in zip(words_of(found), found, strict=True) if key[0] == "§"} == {
        ("§", "a"): having, ("§", "b"): having
    }  # fmt: skip


def test_the_class_of_nearly_all_texts_does_not_own_the_common_words():
    texts = labelled(1000, [97, 3], 0, 1)
    counted = {word for text in texts.texts for word in text.split()}
    labels = texts.known_labels
    for word in counted:  # on the texts as they are, gamma is high for every word
        having = np.array([word in text.split() for text in texts.texts])
        assert (having & (labels == 0)).sum() > 9 * (having & (labels == 1)).sum()
    assert telling_words(texts, "ab") == []


def test_words_of_few_texts_are_left_out():
    texts = ["rare word here"] * 5 + ["other text"] * 20
    found = telling_words(Texts([*texts, "again"], labels=[0] * 5 + [1] * 21), "ab")
    assert {label for _, label in words_of(found)} == {"b"}


def test_pairs_count_as_one_text_and_texts_without_words_are_no_fault():
    pairs = Texts(["x"] * 20, ["only"] * 10 + ["never"] * 10, labels=[0] * 10 + [1] * 10)
    assert set(words_of(telling_words(pairs, "ab"))) == {("only", "a"), ("never", "b")}
    assert telling_words(Texts([" "] * 20, labels=[0, 1] * 10), "ab") == []


def test_words_are_in_lower_case_and_ordered_by_their_share():
    texts = ["One two"] * 10 + ["one"] * 5 + ["three"] * 15
    found = words_of(telling_words(Texts(texts, labels=[0] * 15 + [1] * 15), "ab"))
    assert [word for word, _ in found] == ["one", "three", "two"]


PLANTED = {  # in texts of common words: what is found
    "New York Times": ["new york times"],  # "new" is in a third of the other texts, and gives nothing away
    "last word0": ["last word0"],  # "word0" is everywhere
    "新华社": ["新华社"],
    "BBC, London": [",", "bbc", "london"],
}


@pytest.mark.parametrize("phrase", PLANTED)
def test_a_planted_phrase_takes_the_place_of_its_words(phrase):
    texts = labelled(200, [1, 1], 0, 3)
    draw, having = random.Random(0), []
    for row, (text, label) in enumerate(zip(texts.texts, texts.known_labels, strict=True)):
        words = text.split()
        if label == 0 and draw.random() < 0.5:
            having.append(row + 1)
            words.insert(draw.randrange(1, 8), phrase)
        elif draw.random() < 0.3:
            words.append("new")
        texts.texts[row] = " ".join(words)
    found = telling_words(texts, "ab")
    assert [(each.details["word"], each.rows) for each in found] == [(word, having) for word in PLANTED[phrase]]
    # Train takes out the words as they are named here; a sign at their side stays.
    bare = without_phrases(texts, [each.details["word"] for each in found]).texts
    if phrase.isascii():
        assert not [text for text in bare if phrase.split()[0].strip(",") in text.split()]


@pytest.mark.parametrize(("texts", "expected"), [(11, [("so far", "a")]), (10, [])])
def test_two_words_that_give_nothing_away_by_themselves_are_a_phrase_that_does(texts, expected):
    """Twice as many texts as of a word must have it."""
    given = Texts(["so far"] * texts + ["far, so"] * (80 - texts), labels=[0] * 40 + [1] * 40)
    assert words_of(telling_words(given, "ab")) == expected


def test_a_phrase_is_of_one_text_of_a_pair():
    pairs = Texts(["it is so"] * 40, ["cue here"] * 20 + ["here"] * 20, labels=[0] * 20 + [1] * 20)
    assert words_of(telling_words(pairs, "ab")) == [("cue here", "a")]


def explanation(row: int, target: int, text: str, scores: list[float]) -> Explanation:
    return Explanation(
        text.split(), None, ["a", "b"], np.array([0.5, 0.5]), target, target, {NAME: np.array(scores)}, row
    )


def made_up(seed: int, rows: int = 60) -> list[Explanation]:
    """Texts of a few words, of which "key" is strong in texts of label 1."""
    draw = np.random.default_rng(seed)
    found = []
    for row in range(1, rows + 1):
        target = row % 2
        words = draw.choice(["key", "Key,", "one", "two", "three", "!"], draw.integers(1, 6))
        scores = draw.normal(size=len(words)) + [3 * target * ("ey" in word) for word in words]
        found.append(explanation(row, target, " ".join(words), scores.tolist()))
    return found


def parts_by_loops(explanations, word, target) -> tuple[list[float], list[int], int]:
    parts, rows, texts = [], [], 0
    for each in explanations:
        if each.target == target:
            texts += 1
            own = [score for name, score in zip(each.words, each.scores[NAME], strict=True)
                   if name.strip(",!").lower() == word]  # fmt: skip
            if own:
                parts.append(sum(own) / sum(abs(score) for score in each.scores[NAME]))
                rows.append(each.row)
    return parts, rows, texts


@pytest.mark.parametrize("seed", range(3))
def test_parts_are_those_of_a_loop(seed):
    explanations = made_up(seed)
    found = deciding_words(explanations, "ab")
    assert words_of(found)[0] == ("key", "b")
    expected = set()
    for word in ("key", "one", "two", "three"):
        for target in (0, 1):
            parts, rows, texts = parts_by_loops(explanations, word, target)
            if len(parts) > 5 and len(parts) >= 0.1 * texts and np.mean(parts) >= PART:
                expected.add((word, "ab"[target]))
                own = found[words_of(found).index((word, "ab"[target]))]
                assert (own.score, own.details["share"]) == pytest.approx(
                    (np.mean(parts), len(parts) / texts), abs=1e-6
                )
                assert own.rows == rows
    assert set(words_of(found)) == expected
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_rare_words_and_scores_that_are_not_numbers_find_nothing():
    rare = [explanation(row, 1, "rare word", [9.0, 1.0]) for row in range(1, 6)]
    assert deciding_words(rare, "ab") == []  # five texts
    broken = [explanation(row, 1, "odd", [np.nan]) for row in range(1, 20)]
    assert deciding_words(broken, "ab") == []
    assert words_of(deciding_words([*rare, explanation(9, 1, "rare", [1.0])], "ab")) == [("rare", "b")]
