"""Windows and ends of long texts: every word is read, nothing is too long, and how the parts are merged."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

import families
from salience.data.long_texts import ends_of, merged, passages, windows
from salience.data.texts import Texts
from salience.data.words import word_spans

TEXT = "the a film about old men and their new dogs , told twice ."
WORDS = TEXT.split()
TOKENIZER = families.tiny_tokenizer([TEXT])


def tokens(text: str) -> int:
    """The number of tokens, special ones included."""
    return len(TOKENIZER(text)["input_ids"])


@given(st.lists(st.integers(1, 12), min_size=1, max_size=60), st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_windows_cover_all_words_and_have_room(lengths, room):
    """A word that is longer than a window has one of its own."""
    ends = np.cumsum(lengths).tolist()
    found = windows(ends, room)
    assert {word for first, last in found for word in range(first, last)} == {*range(len(lengths))}
    for (first, last), following in zip(found, [*found[1:], None], strict=True):
        assert sum(lengths[first:last]) <= room or last == first + 1
        if following is not None:
            assert first < following[0] <= last < following[1]
            if following is not found[-1]:
                assert sum(lengths[following[0] : last]) <= room / 4
    if sum(lengths) <= room:
        assert found == [(0, len(lengths))]


@given(st.lists(st.integers(1, 12), min_size=2, max_size=60), st.integers(2, 40))
@settings(max_examples=100, deadline=None)
def test_head_and_tail_share_the_room(lengths, room):
    ends = np.cumsum(lengths).tolist()
    if ends[-1] <= room:
        return
    head, tail = ends_of(ends, room)
    assert 1 <= head <= tail < len(lengths)
    used = sum(lengths[:head]) + sum(lengths[tail:])
    assert used <= room or head == 1 or tail == len(lengths) - 1
    if head > 1:
        assert sum(lengths[:head]) <= room // 2 < sum(lengths[: head + 1])


def worked() -> Texts:
    return Texts([" ".join(WORDS), "the film", " ".join(WORDS * 3)], labels=[1, 0, 1], rows=[4, 5, 6])


@pytest.mark.parametrize("long", ["windows", "head-tail"])
def test_passages_are_texts_that_can_be_read_at_once(long):
    texts = worked()
    found = passages(TOKENIZER, texts, 12, long)
    assert max(map(tokens, found.texts.texts)) <= 12
    assert found.texts.labels.tolist() == texts.labels[found.owners].tolist()
    assert found.texts.rows == [texts.rows[owner] for owner in found.owners]
    for number, text in enumerate(texts.texts):
        words = text.split()
        own = [(first, part.split()) for first, part, owner in zip(
            found.first_words.tolist(), found.texts.texts, found.owners, strict=True) if owner == number]  # fmt: skip
        if long == "windows":
            assert not found.shortened[number]
            assert all(words[first : first + len(part)] == part for first, part in own)
            assert {word for first, part in own for word in range(first, first + len(part))} == {*range(len(words))}
        else:
            ((_, part),) = own
            half = len(part) // 2
            assert part[:half] == words[:half] and part[-half:] == words[-half:]
            assert found.shortened[number] == (len(part) < len(words))


def test_short_texts_are_as_they_are():
    """With their white space, which a tokenizer might read."""
    texts = Texts(["  the film \n", ""])
    found = passages(TOKENIZER, texts, 12, "windows")
    assert (
        found.texts.texts == texts.texts and found.owners.tolist() == [0, 1] and found.first_words.tolist() == [0, 0]
    )
    assert passages(TOKENIZER, Texts([]), 12, "windows").owners.tolist() == []


@pytest.mark.parametrize("long", ["windows", "head-tail"])
def test_white_space_that_has_tokens_has_no_words(long):
    letters = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    of_bytes = Tokenizer(BPE(letters, []))  # a space is a token, as of RoBERTa
    of_bytes.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=of_bytes)
    found = passages(tokenizer, Texts([" " * 50, "a"]), 12, long)
    assert found.owners.tolist() == [0, 1] and found.texts.texts == [" " * 50, "a"]


def test_many_texts_are_tokenised_in_parts(monkeypatch):
    whole = passages(TOKENIZER, worked(), 12, "windows")
    monkeypatch.setattr("salience.data.encoding.CHUNK", 1)
    parts = passages(TOKENIZER, worked(), 12, "windows")
    assert parts.texts == whole.texts and parts.owners.tolist() == whole.owners.tolist()


LONG, SHORT = " ".join(WORDS * 3), "the film"
MIDDLE = " ".join(WORDS[:9])  # more than half of the room of 13


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("long", ["windows", "head-tail"])
def test_of_a_pair_the_longer_text_is_divided_and_the_other_one_is_whole(long, swapped):
    columns = [LONG, SHORT, LONG], [SHORT, "told", MIDDLE]
    first, second = reversed(columns) if swapped else columns
    found = passages(TOKENIZER, Texts(first, second, labels=[1, 0, 1]), 16, long)
    longer, other = (found.texts.second, found.texts.texts) if swapped else (found.texts.texts, found.texts.second)
    places = found.first_words if swapped else found.second_words
    starts = found.second_words if swapped else found.first_words
    assert not places.any() and found.texts.labels.tolist() == [int(owner != 1) for owner in found.owners]
    for own, of_other, owner, start in zip(longer, other, found.owners.tolist(), starts.tolist(), strict=True):
        assert len(TOKENIZER(own, of_other)["input_ids"]) <= 16
        assert of_other == [SHORT, "told", " ".join(WORDS[:6])][owner]  # half of the 13 tokens are 6
        if long == "windows":
            assert own.split() == columns[0][owner].split()[start:][: len(own.split())]
    assert (longer.count(SHORT), found.shortened[1]) == (1, False)
    if long == "windows":
        assert found.shortened.tolist() == [False, False, True]
        for owner in (0, 2):
            parts = [(start, len(own.split())) for own, start, whose in zip(longer, starts, found.owners, strict=True)
                     if whose == owner]  # fmt: skip
            assert {word for start, count in parts for word in range(start, start + count)} == {*range(len(WORDS) * 3)}
            assert max(count for _, count in parts) == (11 if owner == 0 else 7)  # the room that is left
    else:
        assert found.owners.tolist() == [0, 1, 2] and found.shortened.tolist() == [True, False, True]


def test_a_word_longer_than_half_of_the_room_is_kept():
    """It has 9 tokens, of 10 that are read; a word of more tokens than are read is divided."""
    found = passages(TOKENIZER, Texts([LONG], ["film" * 3 + " the"]), 13, "windows")
    assert set(found.texts.second) == {"film" * 3} and found.shortened.tolist() == [True]
    found = passages(TOKENIZER, Texts([LONG], ["film" * 4 + " the"]), 13, "windows")
    assert set(found.texts.second) == {"filmfilm"} and found.shortened.tolist() == [True]  # 5 tokens, half of the room


LETTERS = "".join(chr(0x4E00 + number) for number in range(100))  # Chinese, and none twice


def test_windows_cover_a_text_without_spaces():
    """Each of the 100 signs is a token. A window has 14, of which 3 are in the one before; the last one is full."""
    found = passages(TOKENIZER, Texts([LETTERS]), 16, "windows")
    places = [LETTERS.index(part) for part in found.texts.texts]
    assert places == [*range(0, 86, 11), 86] and {len(part) for part in found.texts.texts} == {14}
    assert not found.shortened.any() and found.first_words.tolist() == places  # each sign is a word


def test_head_and_tail_of_a_text_without_spaces():
    found = passages(TOKENIZER, Texts([LETTERS, LETTERS[:14]]), 16, "head-tail")
    assert found.texts.texts == [f"{LETTERS[:7]} {LETTERS[-7:]}", LETTERS[:14]]
    assert found.shortened.tolist() == [True, False]


@pytest.mark.parametrize("long", ["windows", "head-tail"])
@given(st.lists(st.sampled_from(["the", "film", "film" * 9, "dogs" * 30, LETTERS[:40], "x" * 50]), min_size=1))
@settings(max_examples=40, deadline=None)
def test_what_is_read_of_words_of_any_length_can_be_read_at_once(long, words):
    """In windows, all of each word, in order; a window knows the number of its first word, or of its first piece."""
    text = " ".join(words)
    found = passages(TOKENIZER, Texts([text]), 16, long)
    assert max(map(tokens, found.texts.texts)) <= 16
    if long == "head-tail":
        head, tail = text[:3], text[-1:]
        assert found.texts.texts[0].startswith(head) and found.texts.texts[0].endswith(tail)
        return
    words, *of_parts = ([each[start:end] for start, end in word_spans(each)] for each in (text, *found.texts.texts))
    counts = list(map(len, of_parts))
    for part, first, count in zip(of_parts, found.first_words.tolist(), counts, strict=True):
        assert all(own in word for own, word in zip(part, words[first : first + count], strict=True))
    read = {number for first, count in zip(found.first_words.tolist(), counts, strict=True)
            for number in range(first, first + count)}  # fmt: skip
    assert read == {*range(len(words))}


CORPUS = [f"the {TEXT}\n\nthe film twice!\n and, \n told about the men?!"] * 4

ODD = [*WORDS, "film" * 9, "dogs" * 30, LETTERS[:9], "!?", "men.\n\n"]


def covered(text: str, parts: list[str]) -> bool:
    """Whether parts, in their order, leave nothing of a text out but white space."""
    reached = 0
    for part in parts:
        reached += len(text[reached:]) - len(text[reached:].lstrip())
        start = text.rfind(part.lstrip(), 0, reached + len(part))
        reached = max(reached, start + len(part.lstrip()))
        if start < 0:
            return False
    return not text[reached:].strip()


@pytest.mark.parametrize("kind", families.TRAINED)
@given(st.lists(st.tuples(st.sampled_from(ODD), st.sampled_from([" ", " ", " ", "\n\n", "  \t"])), min_size=1),
       st.integers(16, 30))  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_no_tokenizer_fills_a_window_beyond_what_is_read(kind, words, room):
    """And nothing of a text but white space is in no window of it, alone and as the second text of a pair."""
    tokenizer = trained(kind)
    text = "".join(f"{word}{number}{space}" for number, (word, space) in enumerate(words))
    for texts in (Texts([text]), Texts(["the"], [text])):
        for long in ("windows", "head-tail"):
            found = passages(tokenizer, texts, room, long)
            assert max(map(len, tokenizer(*found.texts.columns)["input_ids"])) <= room
            if long == "windows":
                assert covered(text, found.texts.columns[-1]) and not found.shortened.any()


@cache
def trained(kind: str):
    return families.trained_tokenizer(kind, CORPUS)


def test_a_window_reads_the_tokens_of_the_text():
    """A word has the piece with its space in every window, but in that of the beginning of a text."""
    tokenizer = trained("bytes")
    text = " ".join(WORDS * 9)
    whole = tokenizer(text, add_special_tokens=False)["input_ids"]
    windows_of = passages(tokenizer, Texts([text]), 16, "windows").texts.texts
    for window in tokenizer(windows_of, add_special_tokens=False)["input_ids"]:
        assert any(whole[start : start + len(window)] == window for start in range(len(whole)))


def test_both_texts_of_a_pair_may_have_no_spaces():
    found = passages(TOKENIZER, Texts([LETTERS], [LETTERS[:30]]), 19, "windows")
    assert set(found.texts.second) == {LETTERS[:8]} and found.shortened.tolist() == [True]
    assert {sign for part in found.texts.texts for sign in part} == set(LETTERS)
    pairs = zip(found.texts.texts, found.texts.second, strict=True)
    assert max(len(TOKENIZER(*pair)["input_ids"]) for pair in pairs) <= 19


def test_the_bytes_of_a_letter_stay_together():
    letters = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    of_bytes = Tokenizer(BPE(letters, []))
    of_bytes.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=of_bytes)
    found = passages(tokenizer, Texts([LETTERS]), 10, "windows")  # three tokens a sign
    assert "".join(dict.fromkeys("".join(found.texts.texts))) == LETTERS
    assert all(part in LETTERS and len(part) == 3 for part in found.texts.texts)


def test_the_mean_of_the_logits():
    """Against a loop over logits, from which the probabilities are made."""
    random = np.random.default_rng(0)
    owners = np.array([0, 0, 0, 1, 2, 2])
    logits = random.normal(size=(6, 3)) * 4
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    for number, row in enumerate(merged(probabilities.astype(np.float32), owners)):
        mean = np.mean([logits[place] for place in range(6) if owners[place] == number], axis=0)
        assert row == pytest.approx(np.exp(mean) / np.exp(mean).sum(), rel=1e-4)
    sigmoids = (1 / (1 + np.exp(-logits))).astype(np.float32)
    for number, row in enumerate(merged(sigmoids, owners, several=True)):
        mean = np.mean([logits[place] for place in range(6) if owners[place] == number], axis=0)
        assert row == pytest.approx(1 / (1 + np.exp(-mean)), rel=1e-4)
    sure = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)  # as sure as float32 can be, of opposites
    assert merged(sure, np.array([0, 0]), several=True)[0] == pytest.approx([0.5, 0.5], abs=1e-6)
    assert merged(np.array([[1.0, 0.0], [0.25, 0.75]], np.float32), np.array([0, 0]))[0, 0] > 0.999
    assert merged(np.zeros((0, 3), np.float32), np.zeros(0, int)).shape == (0, 3)
