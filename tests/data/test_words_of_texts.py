"""What a word is: between spaces, and in scripts without spaces by Unicode's rules, a tokenizer or a segmenter."""

from functools import cache, partial

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

import families
from salience.data.encoding import SPECIAL, Words, encode_texts, joined_words, put_together
from salience.data.texts import Texts
from salience.data.words import segmented_spans, word_spans

# Worked examples: words with bars between them. Where white space parts them, it stands beside the bar.
BY_RULES = [
    "我|喜|欢|这|部|电|影|，|非|常|好|。",
    "私|は|ホーム|・|スーパー|へ|行|っ|た|。",
    "น้ำ|ดื่|ม|ดี",  # of Thai, letters with their marks
    "ພ|າ|ສ|າ| ລ|າ|ວ",
    "나는| 영화를| 좋아한다.",
    "أحبّ| هذا| الفيلم،| حقّاً!",
    "मुझे| यह| फ़िल्म| पसंद| है।",
    "看|👨‍👩‍👧|了|👍🏽|🇩🇪|🇫🇷|e\u0301|！",
    "👨‍👩‍👧👍🏽| it's| great:-)",
    "I| like|  東|京|\n(see| it's|『|3.5|元|』|)",
    "don't| stop-it,| 3.14|\tplease. ",
]
CORPUS = [example.replace("|", "") for example in BY_RULES] * 3
FRAGMENTS = sorted({part for example in BY_RULES for part in regex.findall(r"\S+?(?=\|)|\s", example)})


def words_in(text: str, spans: list[tuple[int, int]]) -> list[str]:
    return [text[start:end] for start, end in spans]


@pytest.mark.parametrize("example", BY_RULES)
def test_words_by_the_rules_of_unicode(example):
    text = example.replace("|", "")
    assert words_in(text, word_spans(text)) == [word.strip() for word in example.split("|")]


def unigram(pieces: list[str]):
    """A tokenizer with these pieces, the longer ones more probable, as of XLM-R."""
    return families.unigram_tokenizer([("[UNK]", -9.0), ("▁", -2.0), *((piece, -1.0) for piece in pieces)])


@pytest.mark.parametrize("words", ["我|喜欢|电影|，|好| 东京|!", "ฉัน|รัก|หนัง", "私は|スーパー|へ"])
def test_a_token_is_not_divided(words):
    """Words are those that the tokenizer knows, in Chinese and Thai; a run of Katakana stays one between tokens."""
    text = words.replace("|", "")
    pieces = [word.strip() for word in words.replace("スーパー", "スー|パー").split("|")]
    assert words_in(text, word_spans(text, unigram(pieces))) == [word.strip() for word in words.split("|")]


def test_the_letters_of_a_character_stay_together_whatever_the_tokenizer_makes_of_them():
    assert words_in("ดื่มน้ำ", word_spans("ดื่มน้ำ", unigram(list("ดื่มน้ำ")))) == ["ดื่", "ม", "น้ำ"]


@cache
def trained(kind: str):
    return families.trained_tokenizer(kind, CORPUS, 700)


@pytest.mark.parametrize("kind", families.TRAINED)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("".join))
@settings(max_examples=25, deadline=None)
def test_words_are_the_text_and_have_tokens_of_their_own(kind, text):
    """In every script and tokenizer: put together, words are the text; no token is in two words that are joined."""
    tokenizer = trained(kind)
    spans = word_spans(text, tokenizer)
    names, joined = words_in(text, spans), joined_words([spans])
    assert put_together(names, joined, [True] * len(names)) == " ".join(text.split())
    begins = {match.start() for match in regex.finditer(r"\X", text)}
    assert all(start in begins or text[start - 1 : start].isspace() for start, _ in spans)
    encoded = encode_texts(tokenizer, [text], spans=partial(word_spans, tokenizer=tokenizer))
    assert encoded.words.names == [names] and list(encoded.words.joined) == [joined]
    (encoding,) = tokenizer([text]).encodings
    for (start, end), word in zip(encoding.offsets, encoded.words_of(0).tolist(), strict=True):
        read = text[start:end].strip()
        assert not read or (word != SPECIAL and read in names[word]) or " " in read
    assert {*range(len(names))} <= {*encoded.words_of(0).tolist()} or kind == "WordPiece"  # it drops some letters


def test_what_is_left_of_a_text_has_no_space_that_was_not_there():
    text = "我喜欢 东京 so much，真的"
    names, joined = words_in(text, word_spans(text)), joined_words([word_spans(text)])
    for left_out, rest in [
        ("欢", "我喜 东京 so much，真的"),
        ("东京", "我喜欢 so much，真的"),
        ("我so，", "喜欢 东京 much真的"),
        ("欢东", "我喜 京 so much，真的"),
        ("much", "我喜欢 东京 so ，真的"),
    ]:
        assert put_together(names, joined, [name not in left_out for name in names]) == rest


def test_words_of_pairs_are_not_joined_across_their_texts():
    found = Words.of(Texts(["东京"], ["东 京"]), word_spans)
    assert (found.names, found.second, list(found.joined)) == ([["东", "京", "东", "京"]], [2], [{1}])


def test_a_segmenter_decides():
    text = "我喜欢 电影 very much。"
    words = ["我", "喜欢", " ", "电影", " ", "very much", "。"]
    assert words_in(text, segmented_spans(text, lambda _: words)) == ["我", "喜欢", "电影", "very much", "。"]
    assert segmented_spans("", lambda _: []) == []


@pytest.mark.parametrize("words", [["我喜欢"], ["喜", "我"], ["我", "喜", "好"], ["喜"], []])
def test_a_segmenter_that_gives_another_text_is_refused(words, complaint):
    message = complaint(segmented_spans, "我喜 ", lambda _: words)
    assert message.startswith(
        f'the segmenter makes "{" | ".join(words)}" of "我喜 ": its words must be the whole text'
    )
