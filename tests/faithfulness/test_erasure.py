"""Texts with some of their words, on ids, against a loop over texts; and how often the judge is asked."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import families
from salience.data.batching import padded
from salience.data.encoding import SPECIAL, Encoded, Words, encode_texts
from salience.data.words import word_spans
from salience.explainers.explain import word_scores
from salience.faithfulness.erasure import Erasure, Reading, ranks
from salience.papers.attention_classifiers.building import word_tokenizer

TEXTS = ["a good film, unseen", "bad", "", "the film is good and bad and unheard-of"]
PAIRS = ["quite so", "the film", "no", ""]
EMPTY = 1
PIECES, WORDS = families.tiny_tokenizer(TEXTS[:2] + PAIRS), word_tokenizer(TEXTS[:2] + PAIRS)


@pytest.fixture(scope="module", params=["pieces", "words"])
def tokenizer(request):
    return PIECES if request.param == "pieces" else WORDS


@pytest.mark.parametrize("pairs", [None, PAIRS])
def test_the_ids_are_those_of_the_tokenizer(tokenizer, pairs):
    encoded = encode_texts(tokenizer, TEXTS, pairs, spans=word_spans)
    for row, both in enumerate(zip(TEXTS, pairs, strict=True) if pairs else [(text,) for text in TEXTS]):
        expected = tokenizer(*([text] for text in both))
        segment = [0 if part is None else part + 1 for part in expected.sequence_ids(0)]
        assert encoded[row]["input_ids"].tolist() == expected["input_ids"][0]
        assert encoded[row]["segment"].tolist() == segment
        assert (encoded.words_of(row) == SPECIAL).tolist() == [part == 0 for part in segment]


def test_words_are_found_on_request_only():
    with pytest.raises(ValueError, match="without their words"):
        _ = encode_texts(WORDS, TEXTS).words
    with pytest.raises(ValueError, match="without their words"):
        _ = encode_texts(WORDS, TEXTS).take([1]).words


def test_texts_are_encoded_alike_in_any_number_of_calls(tokenizer, monkeypatch):
    expected = encode_texts(tokenizer, TEXTS, PAIRS, [0, 1, 2, 3], 7, word_spans)
    monkeypatch.setattr("salience.data.encoding.CHUNK", 3)
    encoded = encode_texts(tokenizer, TEXTS, PAIRS, [0, 1, 2, 3], 7, word_spans)
    for name in ("ids", "segments", "lengths", "starts", "labels", "cut"):
        assert np.array_equal(getattr(encoded, name), getattr(expected, name))
    for name in ("of_tokens", "counts"):
        assert np.array_equal(getattr(encoded.words, name), getattr(expected.words, name))
    assert (encoded.words.names, encoded.words.second) == (expected.words.names, expected.words.second)
    with pytest.raises(ValueError, match="text 4: the spans of words must be in order"):
        encode_texts(tokenizer, TEXTS, spans=lambda text: [(4, 8), (0, 3)] if "heard" in text else [])


def test_texts_are_taken_with_their_words(tokenizer):
    encoded = encode_texts(tokenizer, TEXTS, PAIRS, [3, 2, 1, 0], 7, word_spans)
    taken = encoded.take([3, 0, 3])
    for new, old in enumerate([3, 0, 3]):
        assert taken[new]["input_ids"].tolist() == encoded[old]["input_ids"].tolist()
        assert taken[new]["labels"] == encoded[old]["labels"] and taken.cut[new] == encoded.cut[old]
        assert taken.words_of(new).tolist() == encoded.words_of(old).tolist()
        assert taken.words.names[new] == encoded.words.names[old]
        assert (taken.words.counts[new], taken.words.second[new]) == (
            encoded.words.counts[old],
            encoded.words.second[old],
        )
    assert len(encoded.take([])) == len(encoded.take([]).words.counts) == 0


@pytest.mark.parametrize("pairs", [None, PAIRS])
def test_words_are_counted_on_into_the_second_text(tokenizer, pairs):
    found = encode_texts(tokenizer, TEXTS, pairs, spans=word_spans)
    for row, text in enumerate(TEXTS):
        second = [] if pairs is None else pairs[row].split()
        assert found.words.names[row] == text.split() + second
        assert found.words.counts[row] == len(text.split()) + len(second)
        own = found.words_of(row)
        assert sorted(set(own.tolist()) - {SPECIAL}) == list(range(found.words.counts[row]))
        assert found.words.second[row] == (None if pairs is None else len(text.split()))


def test_what_a_model_does_not_read_is_no_word(tokenizer):
    found = encode_texts(tokenizer, TEXTS, max_length=5, spans=word_spans)
    assert (found.lengths <= 5).all()
    assert found.words.counts[3] < len(TEXTS[3].split())
    assert len(found.words.names[3]) == found.words.counts[3]


def test_what_is_cut_off_a_pair_is_no_word_of_either(tokenizer):
    texts, pairs = ["a good film unseen and bad", "bad"], ["the film is good", "no"]
    for longest in range(4, 24):
        found = encode_texts(tokenizer, texts, pairs, max_length=longest, spans=word_spans)
        for row in range(2):
            own = found.words_of(row)
            assert sorted(set(own.tolist()) - {SPECIAL}) == list(range(found.words.counts[row]))
            first, second = (np.unique(own[found[row]["segment"] == part]) for part in (1, 2))
            assert found.words.second[row] == len(first)
            assert found.words.names[row] == texts[row].split()[: len(first)] + pairs[row].split()[: len(second)]
    assert found.words.counts.tolist() == [10, 2]  # at the end all are read


def test_a_words_score_is_the_sum_over_its_tokens(tokenizer):
    found = encode_texts(tokenizer, TEXTS, PAIRS, spans=word_spans)
    for row in range(len(TEXTS)):
        own = found.words_of(row)
        scores = np.random.default_rng(row).normal(size=len(own) + 3)  # of a padded batch
        expected = [
            sum(scores[place] for place in range(len(own)) if own[place] == word)
            for word in range(found.words.counts[row])
        ]
        assert word_scores(found, row, scores) == pytest.approx(np.array(expected))


def test_texts_that_are_cut_are_known(tokenizer):
    for longest in (None, 5):
        found = encode_texts(tokenizer, TEXTS, max_length=longest)
        whole = encode_texts(tokenizer, TEXTS)
        assert found.cut.tolist() == (found.lengths < whole.lengths).tolist()
        assert found.cut.any() == (longest is not None)


def test_or_its_highest_tokens(tokenizer):
    found = encode_texts(tokenizer, TEXTS, PAIRS, spans=word_spans).take(range(len(TEXTS)))
    several = 0
    for row in range(len(TEXTS)):
        own = found.words_of(row)
        scores = -np.random.default_rng(row).random(len(own) + 3)  # below 0, which is no word's score
        expected = [
            max(scores[place] for place in np.flatnonzero(own == word)) for word in range(found.words.counts[row])
        ]
        assert word_scores(found, row, scores, "max") == pytest.approx(np.array(expected))
        several += len(own[own != SPECIAL]) - found.words.counts[row]
    assert several > 0 or tokenizer is WORDS


def test_a_word_that_has_no_token_has_the_score_0():
    words = Words(np.array([0, 2]), np.array([3]), [["a", "b", "c"]], [None], [()])
    found = Encoded(np.arange(2), np.ones(2, int), np.array([2]), words=words)
    for pieces in ("sum", "max"):
        assert word_scores(found, 0, np.array([-1.0, -2.0]), pieces).tolist() == [-1, 0, -2]


def test_a_second_text_without_its_words_has_the_token_types_of_an_empty_one():
    found = encode_texts(PIECES, TEXTS, PAIRS, spans=word_spans)
    numbers = [np.arange(count) for count in found.words.counts]
    kept = np.concatenate([own < second for own, second in zip(numbers, found.words.second, strict=True)])
    left = padded(found.keeping(kept, EMPTY).take(range(4)), np.arange(4))
    expected = PIECES(TEXTS, [""] * 4, padding=True, return_tensors="pt")
    assert expected["token_type_ids"].sum() == 4
    for name in ("input_ids", "token_type_ids"):
        assert torch.equal(getattr(left, name), expected[name])


@given(st.data())
def test_keeping_against_a_loop(data):
    tokenizer = data.draw(st.sampled_from([PIECES, WORDS]))
    pairs = data.draw(st.sampled_from([None, PAIRS]))
    found = encode_texts(tokenizer, TEXTS, pairs, spans=word_spans)
    kept = np.array(
        data.draw(
            st.lists(st.booleans(), min_size=int(found.words.counts.sum()), max_size=int(found.words.counts.sum()))
        ),
        bool,
    )
    left, of_tokens = found.keeping(kept, EMPTY), found.words.of_tokens
    first = 0
    for row in range(len(TEXTS)):
        start, stop = found.starts[row : row + 2]
        expected = [
            (found.ids[place], found.segments[place])
            for place in range(start, stop)
            if of_tokens[place] == SPECIAL or kept[first + of_tokens[place]]
        ]
        first += found.words.counts[row]
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
    texts = encode_texts(WORDS, TEXTS, labels=[1, 0, 0, 1], spans=word_spans)
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
    # The whole texts are known. From one word on two texts change, until the text of 4 words is whole again.
    erasure.curve_alone()
    assert judge.texts == 4 + 3 + 2 + 2 + 2 + 2 + 2 + 2 + 1
    erasure.curve_without(), erasure.curve_alone(), erasure.without(3), erasure.alone(np.array([1, 1, 0, 2]))
    assert judge.texts == 20  # all is known


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

    texts = encode_texts(WORDS, TEXTS[3:], labels=[0], spans=word_spans)
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
    assert alone[0] == whole and [len(ids) for ids in alone[1:]] == [1, 2, 3, 4, 5, 6, 7]  # 8 words are the whole text
    for gone, kept in zip(without[1:-1], alone[1:], strict=False):
        assert sorted(gone + kept) == sorted(whole)
        places = iter(whole)
        assert all(word in places for word in kept)  # as a subsequence
