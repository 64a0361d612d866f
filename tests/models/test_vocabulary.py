"""Tokenizers of words: what a word is, which words are known, and that all of it is saved."""

import pytest
from transformers import AutoTokenizer

from salience.data.batching import Collator
from salience.data.encoding import encode_texts
from salience.papers.attention_classifiers.building import PADDING, SEPARATOR, SPECIAL, UNKNOWN, word_tokenizer


def words(tokenizer, text: str) -> list[str]:
    return tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])


def known(tokenizer) -> set[str]:
    return set(tokenizer.get_vocab()) - set(SPECIAL)


def test_special_tokens_come_first():
    tokenizer = word_tokenizer(["a film"])
    assert [tokenizer.get_vocab()[name] for name in (PADDING, UNKNOWN, SEPARATOR)] == [0, 1, 2]
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.sep_token_id) == (0, 1, 2)
    assert tokenizer.cls_token_id is None
    assert len(tokenizer) == 5


def test_frequent_words_have_small_numbers_and_ties_the_order_of_letters():
    tokenizer = word_tokenizer(["b a c c", "c b a"])
    assert [tokenizer.get_vocab()[word] for word in "cab"] == [3, 4, 5]
    again = word_tokenizer(["a b c", "c c a b"])
    assert again.get_vocab() == tokenizer.get_vocab()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A Good FILM", ["a", "good", "film"]),
        ("don't", ["don't"]),
        ("don’t", ["don’t"]),
        ("a well-made, state-of-the-art film!", ["a", "well-made", ",", "state-of-the-art", "film", "!"]),
        ("'quoted' and trailing- ...", ["'", "quoted", "'", "and", "trailing", "-", ".", ".", "."]),
        ("3.5 of 10", ["3", ".", "5", "of", "10"]),
        ("(good)\tfilm\nhere  now", ["(", "good", ")", "film", "here", "now"]),
        ("CAFÉ Straße 東京", ["café", "straße", "東京"]),
        ("cafe\u0301", ["café"]),  # an accent by itself joins its letter
        ("", []),
        (" \n\t", []),
    ],
)
def test_what_a_word_is(text, expected):
    assert words(word_tokenizer([text, "other"]), text) == expected


def test_texts_that_are_tokenised_already_are_cut_at_spaces_only():
    text = "it 's a Well-Made film , isn't it-- ( yes )"
    tokenizer = word_tokenizer([text], split=False)
    expected = ["it", "'s", "a", "well-made", "film", ",", "isn't", "it--", "(", "yes", ")"]
    assert words(tokenizer, text) == expected
    assert words(word_tokenizer([text]), text) != expected


def test_rare_words_are_unknown():
    texts = ["good good film", "Good bad film"]
    assert known(word_tokenizer(texts)) == {"good", "bad", "film"}
    assert known(word_tokenizer(texts, minimum_frequency=2)) == {"good", "film"}
    tokenizer = word_tokenizer(texts, minimum_frequency=3)
    assert known(tokenizer) == {"good"}
    assert words(tokenizer, "a GOOD film") == [UNKNOWN, "good", UNKNOWN]


def test_unknown_words_stay_in_their_places():
    tokenizer = word_tokenizer(["a film"])
    encoded = encode_texts(tokenizer, ["an unseen film"])
    assert encoded[0]["input_ids"].tolist() == [1, 1, tokenizer.get_vocab()["film"]]
    assert encoded[0]["segment"].tolist() == [1, 1, 1]


def test_a_text_has_no_special_tokens_and_a_pair_one_separator():
    tokenizer = word_tokenizer(["a b c"])
    single, pair = encode_texts(tokenizer, ["a b", ""]), encode_texts(tokenizer, ["a b", "c", ""], ["c", "b a", ""])
    assert single[0]["input_ids"].tolist() == [3, 4]
    assert single[0]["segment"].tolist() == [1, 1]
    assert single.lengths.tolist() == [2, 0]
    assert [pair[row]["input_ids"].tolist() for row in range(3)] == [[3, 4, 2, 5], [5, 2, 4, 3], [2]]
    assert [pair[row]["segment"].tolist() for row in range(3)] == [[1, 1, 0, 2], [1, 0, 2, 2], [0]]


def test_batches_are_padded_with_the_tokenizers_padding():
    tokenizer = word_tokenizer(["a b c"])
    encoded = encode_texts(tokenizer, ["a b c", "b", ""])
    batch = Collator.of(tokenizer)([encoded[row] for row in range(3)])
    assert batch["input_ids"].tolist() == [[3, 4, 5], [4, 0, 0], [0, 0, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0], [0, 0, 0]]
    assert batch["segment"].tolist() == [[1, 1, 1], [1, 0, 0], [0, 0, 0]]


def test_long_texts_are_cut():
    tokenizer = word_tokenizer(["a b c"])
    single = encode_texts(tokenizer, ["a b c a b c"], max_length=4)
    pair = encode_texts(tokenizer, ["a a a a a a"], ["b b b b b b"], max_length=7)
    assert single[0]["input_ids"].tolist() == [3, 4, 5, 3] and single.cut.tolist() == [True]
    assert pair[0]["segment"].tolist() == [1, 1, 1, 0, 2, 2, 2] and pair.cut.tolist() == [True]


@pytest.mark.parametrize("split", [True, False])
def test_a_saved_tokenizer_gives_the_same_ids(split, tmp_path):
    texts = ["Don't panic, it's a well-made film.", "CAFÉ cafe\u0301 東京!", "unheard of", ""]
    tokenizer = word_tokenizer(texts[:2], split=split)
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.is_fast
    assert loaded(texts)["input_ids"] == tokenizer(texts)["input_ids"]
    assert loaded(texts, texts[::-1])["input_ids"] == tokenizer(texts, texts[::-1])["input_ids"]
    assert (loaded.pad_token_id, loaded.unk_token_id, loaded.sep_token_id) == (0, 1, 2)
    assert loaded.get_vocab() == tokenizer.get_vocab()
    for one, other in ((texts, None), (texts, texts[::-1])):
        found, expected = encode_texts(loaded, one, other), encode_texts(tokenizer, one, other)
        assert found.ids.tolist() == expected.ids.tolist()
        assert found.segments.tolist() == expected.segments.tolist()
