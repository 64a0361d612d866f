"""Texts with some of their words, on ids, against a loop over texts; and how often the judge is asked."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import families
from salience.data.encoding import Encoded, encode_texts
from salience.explainers.word_tokens import SPECIAL, WordTokens, encode_words
from salience.faithfulness.erasure import Erasure, Reading, ranks
from salience.models.vocabulary import word_tokenizer

TEXTS = ["a good film, unseen", "bad", "", "the film is good and bad and unheard-of"]
PAIRS = ["quite so", "the film", "no", ""]
EMPTY = 1
PIECES, WORDS = families.tiny_tokenizer(TEXTS[:2] + PAIRS), word_tokenizer(TEXTS[:2] + PAIRS)


@pytest.fixture(scope="module", params=["pieces", "words"])
def tokenizer(request):
    return PIECES if request.param == "pieces" else WORDS


@pytest.mark.parametrize("pairs", [None, PAIRS])
def test_the_ids_are_those_of_the_tokenizer(tokenizer, pairs):
    found, expected = encode_words(tokenizer, TEXTS, pairs), encode_texts(tokenizer, TEXTS, pairs)
    for own, other in ((found.encoded.ids, expected.ids), (found.encoded.segments, expected.segments)):
        assert np.array_equal(own, other)
    assert (found.words == SPECIAL).tolist() == (expected.segments == 0).tolist()


@pytest.mark.parametrize("pairs", [None, PAIRS])
def test_words_are_counted_on_into_the_second_text(tokenizer, pairs):
    found = encode_words(tokenizer, TEXTS, pairs)
    for row, text in enumerate(TEXTS):
        second = [] if pairs is None else pairs[row].split()
        assert found.names[row] == text.split() + second
        assert found.counts[row] == len(text.split()) + len(second)
        own = found.words[found.encoded.starts[row] : found.encoded.starts[row + 1]]
        assert sorted(set(own.tolist()) - {SPECIAL}) == list(range(found.counts[row]))
        assert found.second[row] == (None if pairs is None else len(text.split()))


def test_what_a_model_does_not_read_is_no_word(tokenizer):
    found = encode_words(tokenizer, TEXTS, max_length=5)
    assert (found.encoded.lengths <= 5).all()
    assert found.counts[3] < len(TEXTS[3].split())
    assert len(found.names[3]) == found.counts[3]


def test_what_is_cut_off_a_pair_is_no_word_of_either(tokenizer):
    texts, pairs = ["a good film unseen and bad", "bad"], ["the film is good", "no"]
    for longest in range(4, 24):
        found = encode_words(tokenizer, texts, pairs, max_length=longest)
        for row in range(2):
            own = found.words_of(row)
            assert sorted(set(own.tolist()) - {SPECIAL}) == list(range(found.counts[row]))
            first, second = (np.unique(own[found.encoded[row]["segment"] == part]) for part in (1, 2))
            assert found.second[row] == len(first)
            assert found.names[row] == texts[row].split()[: len(first)] + pairs[row].split()[: len(second)]
    assert found.counts.tolist() == [10, 2]  # at the end all are read


def test_a_words_score_is_the_sum_over_its_tokens(tokenizer):
    found = encode_words(tokenizer, TEXTS, PAIRS)
    for row in range(len(TEXTS)):
        own = found.words[found.encoded.starts[row] : found.encoded.starts[row + 1]]
        scores = np.random.default_rng(row).normal(size=len(own) + 3)  # of a padded batch
        expected = [
            sum(scores[place] for place in range(len(own)) if own[place] == word) for word in range(found.counts[row])
        ]
        assert found.scores_of_words(row, scores) == pytest.approx(np.array(expected))


def test_texts_that_are_cut_are_known(tokenizer):
    for longest in (None, 5):
        found = encode_words(tokenizer, TEXTS, max_length=longest)
        expected = encode_texts(tokenizer, TEXTS, max_length=longest)
        whole = encode_texts(tokenizer, TEXTS)
        assert found.cut.tolist() == (expected.lengths < whole.lengths).tolist()
        assert found.encoded.cut == expected.cut == found.cut.sum()


def test_or_its_highest_tokens(tokenizer):
    found = encode_words(tokenizer, TEXTS, PAIRS, pieces="max").take(range(len(TEXTS)))
    several = 0
    for row in range(len(TEXTS)):
        own = found.words_of(row)
        scores = -np.random.default_rng(row).random(len(own) + 3)  # below 0, which is no word's score
        expected = [max(scores[place] for place in np.flatnonzero(own == word)) for word in range(found.counts[row])]
        assert found.scores_of_words(row, scores) == pytest.approx(np.array(expected))
        several += len(own[own != SPECIAL]) - found.counts[row]
    assert several > 0 or tokenizer is WORDS


def test_a_word_that_has_no_token_has_the_score_0():
    found = WordTokens(Encoded(np.arange(2), np.ones(2, int), np.array([2]), None, 0), np.array([0, 2]),
                       np.array([3]), [["a", "b", "c"]], [None], np.zeros(1, bool))  # fmt: skip
    for pieces in ("sum", "max"):
        assert replace(found, pieces=pieces).scores_of_words(0, np.array([-1.0, -2.0])).tolist() == [-1, 0, -2]


@given(st.data())
def test_keeping_against_a_loop(data):
    tokenizer = data.draw(st.sampled_from([PIECES, WORDS]))
    pairs = data.draw(st.sampled_from([None, PAIRS]))
    found = encode_words(tokenizer, TEXTS, pairs)
    kept = np.array(
        data.draw(st.lists(st.booleans(), min_size=int(found.counts.sum()), max_size=int(found.counts.sum()))), bool
    )
    left = found.keeping(kept, EMPTY)
    first = 0
    for row in range(len(TEXTS)):
        start, stop = found.encoded.starts[row : row + 2]
        expected = [
            (found.encoded.ids[place], found.encoded.segments[place])
            for place in range(start, stop)
            if found.words[place] == SPECIAL or kept[first + found.words[place]]
        ]
        first += found.counts[row]
        own = left[row]
        if expected or start == stop:
            assert list(zip(own["input_ids"], own["segment"], strict=True)) == expected
        else:
            assert own["input_ids"].tolist() == [EMPTY]


def test_ranks_are_of_the_highest_first_and_ties_by_place():
    scores = [np.array([0.1, 0.9, 0.9, 0.5]), np.zeros(0), np.array([2.0, 3.0])]
    assert ranks(scores).tolist() == [3, 0, 1, 2, 1, 0]


class CountingJudge:
    """Class 1 if a word of the vocabulary's "good" is there; remembers what it was shown."""

    def __init__(self, good: int):
        self.good, self.texts = good, 0

    def __call__(self, encoded) -> np.ndarray:
        self.texts += len(encoded)
        there = [self.good in encoded[row]["input_ids"] for row in range(len(encoded))]
        return np.eye(2)[np.array(there, int)]


def erasure_of(scores, most=4):
    judge = CountingJudge(WORDS.convert_tokens_to_ids("good"))
    texts = encode_words(WORDS, TEXTS, labels=[1, 0, 0, 1])
    return Erasure(Reading(texts, judge, EMPTY), scores, most=most), judge


def decided(probabilities) -> list[list[int]]:
    """The classes of each text over the number of words."""
    return probabilities.argmax(2).T.tolist()


def test_removing_the_cue_first_flips_at_once_and_keeping_it_alone_is_enough():
    cue = [np.array([float(word == "good") for word in text.split()]) for text in TEXTS]
    erasure, _ = erasure_of(cue)
    assert decided(erasure.curve_without()) == [[1, 0, 0, 0, 0], [0] * 5, [0] * 5, [1, 0, 0, 0, 0]]
    assert decided(erasure.curve_alone()) == [[1] * 5, [0] * 5, [0] * 5, [1] * 5]


def test_removing_it_last_does_not():
    last = [-np.array([float(word == "good") for word in text.split()]) for text in TEXTS]
    erasure, _ = erasure_of(last)
    assert decided(erasure.curve_without())[0] == [1, 1, 1, 1, 0]  # its fourth word is the cue
    assert decided(erasure.curve_alone())[0][1] == 0


def test_unchanged_texts_are_not_judged_again():
    """Words are 4, 1, 0 and 8: without K = 1, 2, 3, 4 of them 3, 2, 2 and 2 texts change."""
    erasure, judge = erasure_of([np.arange(len(text.split()), dtype=float) for text in TEXTS])
    assert erasure.curve_without().shape == (5, 4, 2)
    assert judge.texts == 4 + 3 + 2 + 2 + 2
    # The whole texts are known. From one word on two texts change, the longest of them until it is whole again.
    erasure.curve_alone()
    assert judge.texts == 4 + 3 + 2 + 2 + 2 + 2 + 2 + 2 + 2
    erasure.curve_without(), erasure.curve_alone(), erasure.without(3), erasure.alone(np.array([1, 1, 0, 2]))
    assert judge.texts == 21  # all is known


def test_one_number_of_words_takes_one_pass():
    erasure, judge = erasure_of([np.arange(len(text.split()), dtype=float) for text in TEXTS])
    few = erasure.without(3)
    assert judge.texts == 3 + 4  # the text without words is unchanged: the whole texts answer for it
    assert np.array_equal(few, erasure.curve_without()[3])


def test_each_text_may_have_its_own_number_of_words():
    scores = [np.random.default_rng(row).random(len(text.split())) for row, text in enumerate(TEXTS)]
    counts = np.array([2, 1, 0, 3])
    erasure, other = erasure_of(scores)[0], erasure_of(scores)[0]
    for one, curve in ((erasure.without(counts), other.curve_without()), (erasure.alone(counts), other.curve_alone())):
        assert np.array_equal(one, np.stack([curve[count, row] for row, count in enumerate(counts)]))


def judged_texts(which: str, most=8) -> list[list[int]]:
    """The ids of the longest text as a judge sees it for K = 0, 1, ... words."""
    shown = []

    def judge(encoded):
        shown.append([encoded[row]["input_ids"].tolist() for row in range(len(encoded))])
        return np.full((len(encoded), 2), 0.5)

    texts = encode_words(WORDS, TEXTS[3:], labels=[0])
    erasure = Erasure(Reading(texts, judge, EMPTY), [np.random.default_rng(0).random(8)], most=most)
    getattr(erasure, which)()
    return [ids for (ids,) in shown]


def test_what_is_left_is_nested_and_in_order():
    """Each text is the one before without one more word; the words alone are those that were removed."""
    without, alone = judged_texts("curve_without"), judged_texts("curve_alone")
    whole = without[0]
    assert [len(ids) for ids in without] == [8, 7, 6, 5, 4, 3, 2, 1, 1]
    assert without[-1] == [EMPTY]
    for before, after in pairwise(without[:-1]):
        assert after in [before[:place] + before[place + 1 :] for place in range(len(before))]
    assert alone[0] == whole and [len(ids) for ids in alone[1:]] == [1, 2, 3, 4, 5, 6, 7, 8]
    for gone, kept in zip(without[1:-1], alone[1:], strict=False):
        assert sorted(gone + kept) == sorted(whole)
        places = iter(whole)
        assert all(word in places for word in kept)  # as a subsequence
