"""Texts as token ids: what the tokenizer gives, text by text; words by loops; batches and orders of an epoch."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas import DataFrame

import families
from salience.data.batching import Collator, LengthGrouped, in_order, padded
from salience.data.encoding import SPECIAL, encode_texts
from salience.data.long_texts import passages
from salience.data.texts import Texts
from salience.data.words import word_spans
from salience.errors import InputError

TEXTS = ["a lovely film about dogs", "", "dull", "the film unbelievablyy long , told twice told twice"]
PAIRS = ["told twice", "the film", "", "a lovely film about old dogs"]
TOKENIZER = families.tiny_tokenizer(["a lovely film about old dogs , told twice the dull long"])


def test_encoding_is_what_the_tokenizer_gives_text_by_text(monkeypatch):
    monkeypatch.setattr("salience.data.encoding.CHUNK", 3)
    for pairs in (None, PAIRS):
        for longest in (None, 8):
            encoded = encode_texts(TOKENIZER, TEXTS, pairs, labels=[0, 1, 0, 1], max_length=longest)
            for row, item in enumerate(encoded):
                both = [[TEXTS[row]]] if pairs is None else [[TEXTS[row]], [pairs[row]]]
                whole = len(TOKENIZER(*both)["input_ids"][0])
                expected = TOKENIZER(*both, truncation=longest is not None, max_length=longest)
                assert item["input_ids"].tolist() == expected["input_ids"][0]
                sequences = expected.encodings[0].sequence_ids
                special = expected.encodings[0].special_tokens_mask
                assert item["segment"].tolist() == [
                    0 if is_special else part + 1 for part, is_special in zip(sequences, special, strict=True)
                ]
                assert item["token_type_ids"].tolist() == expected["token_type_ids"][0]
                assert item["labels"] == row % 2
                assert encoded.cut[row] == (longest is not None and whole > longest)
    assert encode_texts(TOKENIZER, []).lengths.tolist() == []


def test_texts_to_encode_are_read_as_those_to_predict():
    """Neither the names of a table's columns nor the letters of a text are encoded."""
    table = DataFrame({"text": TEXTS, "text_pair": PAIRS})
    both = encode_texts(TOKENIZER, TEXTS, PAIRS)
    for found in (encode_texts(TOKENIZER, table), encode_texts(TOKENIZER, table[["text"]], table["text_pair"])):
        assert [row["input_ids"].tolist() for row in found] == [row["input_ids"].tolist() for row in both]
    with pytest.raises(InputError, match="texts is str; give a sequence of texts"):
        encode_texts(TOKENIZER, "dull")


@given(st.lists(st.integers(0, 12), max_size=30), st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_tokenizer_is_given_so_many_characters_at_a_time(lengths, pairs):
    """In every call, of heads and of windows, unless one text has more; what is found is that of one call."""
    texts = ["film " * length for length in lengths]
    given = Texts(texts, ["told " * length for length in lengths[::-1]] if pairs else None)
    whole = encode_texts(TOKENIZER, *given.columns, max_length=16), passages(TOKENIZER, given, 16, "windows")
    asked: list[int] = []

    class Asked(type(TOKENIZER)):
        def __call__(self, *columns, **settings):
            asked.append(sum(len(text) for column in columns for text in column))
            return super().__call__(*columns, **settings)

    tokenizer = Asked(tokenizer_object=TOKENIZER.backend_tokenizer, model_input_names=TOKENIZER.model_input_names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("salience.data.encoding.CHARACTERS", 40)
        encoded = encode_texts(tokenizer, *given.columns, max_length=16)
        assert [list(each["input_ids"]) for each in encoded] == [list(each["input_ids"]) for each in whole[0]]
        assert encoded.cut.tolist() == whole[0].cut.tolist()
        longest = max([40, *(sum(map(len, row)) for row in zip(*given.columns, strict=True))])
        assert max(asked, default=0) <= longest
        asked.clear()
        found = passages(tokenizer, given, 16, "windows")
        assert found.texts == whole[1].texts and found.owners.tolist() == whole[1].owners.tolist()
        assert max(asked, default=0) <= 2 * longest  # a text in windows has parts of it twice


def test_words_are_those_of_the_characters_of_each_token():
    """Against a loop over characters; of a text that is cut, only the words that are read are there."""
    for pairs in (None, PAIRS):
        encoded = encode_texts(TOKENIZER, TEXTS, pairs, max_length=9, spans=word_spans)
        for row in range(len(TEXTS)):
            both = [TEXTS[row]] if pairs is None else [TEXTS[row], pairs[row]]
            encoding = TOKENIZER(*([text] for text in both), truncation=True, max_length=9).encodings[0]
            names, numbers, known = [], [], {}
            for part, (_, end), special in zip(
                encoding.sequence_ids, encoding.offsets, encoding.special_tokens_mask, strict=True
            ):
                if special:
                    numbers.append(SPECIAL)
                    continue
                word = len(both[part][:end].split())  # the number of the word in its text, from 1
                if (part, word) not in known:
                    known[part, word] = len(names)
                    names.append(both[part].split()[word - 1])
                numbers.append(known[part, word])
            assert encoded.words_of(row).tolist() == numbers
            assert encoded.words.names[row] == names and encoded.words.counts[row] == len(names)
            first_of_second = sum(part == 0 for part, _ in known)
            assert encoded.words.second[row] == (None if pairs is None else first_of_second)
    with pytest.raises(ValueError, match="text 1: the spans of words must be in order"):
        encode_texts(TOKENIZER, ["a film"], spans=lambda text: [(2, 6), (0, 1)])
    with pytest.raises(ValueError, match="without their words"):
        _ = encode_texts(TOKENIZER, TEXTS).words


def test_texts_are_taken_in_any_order_and_lose_words():
    encoded = encode_texts(TOKENIZER, TEXTS, labels=[0, 1, 2, 3], spans=word_spans)
    taken = encoded.take([3, 0, 3])
    for row, source in enumerate([3, 0, 3]):
        assert taken[row]["input_ids"].tolist() == encoded[source]["input_ids"].tolist()
        assert taken[row]["labels"] == source and taken.words.names[row] == encoded.words.names[source]
        assert taken.words_of(row).tolist() == encoded.words_of(source).tolist()
    assert len(encoded.take([])) == 0
    kept = np.array([name != "film" for names in encoded.words.names for name in names])
    left = encoded.keeping(kept, TOKENIZER.unk_token_id)
    without = [" ".join(name for name in text.split() if name != "film") for text in TEXTS]
    for row, text in enumerate(without):
        assert left[row]["input_ids"].tolist() == TOKENIZER(text)["input_ids"]


def test_a_length_without_a_place_for_words_is_refused(complaint):
    message = complaint(encode_texts, TOKENIZER, TEXTS, max_length=2)
    assert message == "--max-length 2 leaves no place for words: 2 tokens of each text are special"
    assert "3 tokens of each pair are special" in complaint(encode_texts, TOKENIZER, TEXTS, PAIRS, max_length=3)


def test_the_collator_finds_the_segments_of_rows_that_others_have_tokenised():
    collator = Collator.of(TOKENIZER)
    for pairs in (None, PAIRS[:1] + PAIRS[3:]):
        texts = TEXTS[:1] + TEXTS[3:]
        own = encode_texts(TOKENIZER, texts, pairs, labels=[1, 0])
        others = TOKENIZER(texts, pairs, padding=True)
        rows = [
            {"input_ids": ids, "attention_mask": mask, "label": float(1 - row)}
            for row, (ids, mask) in enumerate(zip(others["input_ids"], others["attention_mask"], strict=True))
        ]
        found, expected = collator(rows), collator(list(own))
        for name in ("input_ids", "attention_mask", "segment", "labels"):
            assert torch.equal(found[name], expected[name]) and found[name].dtype == torch.long
        assert torch.equal(padded(own, np.arange(2), collator.padding).token_type_ids, torch.tensor(
            others["token_type_ids"]))  # fmt: skip


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_special_token_inside_a_text_is_no_separator(family):
    tokenizer = families.tiny_tokenizer(family=family)
    collator, texts = Collator.of(tokenizer), ["a [MASK] b", "a [UNK] [MASK]", "[MASK]", "a", ""]
    for pairs in (None, ["c", "[MASK] c", "[MASK]", "", "c"]):
        own = encode_texts(tokenizer, texts, pairs)
        others = [{"input_ids": row["input_ids"]} for row in own]
        assert torch.equal(collator(others)["segment"], collator(list(own))["segment"])
    rows = [dict(row) for row in encode_texts(TOKENIZER, ["a [SEP] b", "a [SEP]"], ["c", ""])]
    rows += [dict(row) for row in encode_texts(TOKENIZER, ["a [SEP] b", "[SEP]"])]
    segments = [row.pop("segment").tolist() for row in rows]
    found = Collator.of(TOKENIZER)(rows)["segment"]
    for row, segment in enumerate(segments):  # the token types tell a pair from a text with a separator in it
        assert found[row, : len(segment)].tolist() == segment


def test_an_epoch_has_full_batches_of_like_lengths_in_an_order_of_its_own():
    lengths = np.random.default_rng(0).integers(1, 50, 203)
    orders = []
    for epoch in range(2):
        sampler = LengthGrouped(lengths, batch_size=10, seed=3)
        sampler.set_epoch(epoch)
        orders.append(list(sampler))
        assert len(sampler) == len(orders[-1]) == len(set(orders[-1])) == 200 and list(sampler) == orders[-1]
        spread = np.ptp(lengths[orders[-1]].reshape(-1, 10), axis=1).mean()
        assert spread < 0.7 * np.ptp(lengths[: len(sampler)].reshape(-1, 10), axis=1).mean()
    assert orders[0] != orders[1] != list(LengthGrouped(lengths, 10, seed=4))
    assert sorted(LengthGrouped([3, 1], batch_size=10, seed=0)) == [0, 1]


def test_values_of_batches_return_to_the_order_of_the_rows():
    parts = [(np.array([2, 0]), np.array([20, 0])), (np.array([1]), np.array([10]))]
    assert in_order(parts).tolist() == [0, 10, 20]
