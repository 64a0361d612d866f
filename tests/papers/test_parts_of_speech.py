"""Attention by part of speech against slow loops, and the taggers it is read with."""

import copy
import re
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import families
from salience.data.encoding import encode_texts
from salience.errors import InputError
from salience.explainers import Attention
from salience.papers.attentionmix import parts_of_speech as tagging
from salience.papers.attentionmix.parts_of_speech import (
    SpacyTagger,
    TaggedScores,
    by_tag,
    given_tags,
    meetings,
    tagged_attention,
)

# Texts as (word, tag) in order. The tokenizer knows few words: "goalkeeper" comes in pieces, signs are tokens.
TAGGED = [
    ("the goalkeeper wins", "the:DET goalkeeper:NOUN wins:VERB"),
    ("A new album, quite loud!", "A:DET new:ADJ album:NOUN ,:PUNCT quite:ADV loud:ADJ !:PUNCT"),
    ("song", "song:NOUN"),
    ("they don't  play the guitar", "they:PRON do:AUX n't:PART play:VERB the:DET guitar:NOUN"),
    ("one-two", "one:NUM -:PUNCT two:NUM"),
    ("goal the goal the goal the goal the goal", " ".join(["goal:NOUN the:DET"] * 4) + " goal:NOUN"),
]
TEXTS = [text for text, _ in TAGGED]
HEADS = [(0, None), (0, 1), (1, 0), (-1, None)]
each_head = pytest.mark.parametrize(("layer", "head"), HEADS)


def spans(text: str, tags: str) -> list[tuple[int, int, str]]:
    """Where each word stands in its text."""
    found, at = [], 0
    for word, tag in (own.rsplit(":", 1) for own in tags.split()):
        start = text.index(word, at)
        at = start + len(word)
        found.append((start, at, tag))
    return found


SPANS = [spans(*own) for own in TAGGED]


@pytest.fixture(scope="module")
def reader():
    """A tiny BERT in double precision and its tokenizer, to which half of the words are known."""
    tokenizer = families.tiny_tokenizer(["the a new song guitar goal wins they play quite"])
    return families.build("bert", vocabulary=len(tokenizer)).double(), tokenizer


def by_hand(reader, text, own_spans, layer, head, mean=True, words=False, max_length=None):
    """A text by itself: (place, tag, score) of every token or word with a tag, from the model's own attention."""
    model, tokenizer = reader
    eager = copy.deepcopy(model)
    eager.set_attn_implementation("eager")
    encoded = tokenizer(text, truncation=max_length is not None, max_length=max_length, return_offsets_mapping=True)
    ids = torch.tensor([encoded["input_ids"]])
    with torch.no_grad():
        given = eager(input_ids=ids, output_attentions=True).attentions[layer][0]
    heads = range(len(given)) if head is None else [head]
    length, found, seen = ids.shape[1], [], {}
    for place in range(1, length - 1):  # between [CLS] and [SEP]
        score = sum(float(given[own, query, place]) for own in heads for query in range(length)) / len(heads)
        score = score / length if mean else score
        first = encoded["offset_mapping"][place][0]
        number = next(number for number, (start, end, _) in enumerate(own_spans) if start <= first < end)
        if words and number in seen:
            found[seen[number]][2] += score
        else:
            seen[number] = len(found)
            found.append([place, own_spans[number][2], score])
    return found


# --------------------------------------------------------------------------------------------------------- averages


def test_the_worked_example():
    found = by_tag([0.2, 0.3, 0.1], ["ADJ", "NOUN", "ADJ"])
    assert found.tags == ["ADJ", "NOUN"]
    assert found.count.tolist() == [2, 1]
    assert found.overall == pytest.approx(0.2)
    assert found.relative == pytest.approx(np.array([0.75, 1.5]))
    assert found.difference == pytest.approx(np.array([-0.05, 0.1]))
    assert (found.count * found.relative).sum() / 3 == pytest.approx(1)


@given(st.lists(st.tuples(st.floats(1e-3, 1), st.sampled_from(["ADJ", "NOUN", "VERB", "X"])), min_size=1))
def test_averages_are_those_of_a_loop_and_their_ratios_average_to_one(rows):
    found = by_tag([score for score, _ in rows], [tag for _, tag in rows])
    assert found.tags == sorted({tag for _, tag in rows})
    for tag, count, mean in zip(found.tags, found.count, found.mean, strict=True):
        own = [score for score, other in rows if other == tag]
        assert count == len(own)
        assert mean == pytest.approx(sum(own) / len(own))
    assert (found.count * found.relative).sum() / len(rows) == pytest.approx(1)
    assert (found.count * found.difference).sum() == pytest.approx(0, abs=1e-9)


def test_nothing_to_average():
    with pytest.raises(ValueError, match=r"no word has a part of speech"):
        by_tag([], [])


# -------------------------------------------------------------------------------------------------- tagged attention


def compare(found: TaggedScores, expected: list[list]) -> None:
    assert [own.tolist() for own in found.places] == [[place for place, _, _ in own] for own in expected]
    assert [own.tolist() for own in found.tags] == [[tag for _, tag, _ in own] for own in expected]
    for scores, own in zip(found.scores, expected, strict=True):
        assert scores == pytest.approx(np.array([score for _, _, score in own]), abs=1e-6)


@families.crossed("layer, head", HEADS, "words, mean", [(False, True), (False, False), (True, True), (True, False)])
def test_tagged_attention_is_that_of_a_loop(reader, layer, head, words, mean):
    found = tagged_attention(*reader, TEXTS, SPANS, Attention(layer, head, mean=mean), words=words)
    pairs = zip(TEXTS, SPANS, strict=True)
    compare(found, [by_hand(reader, text, own, layer, head, mean, words) for text, own in pairs])


def test_heads_that_are_read_at_once_are_as_by_themselves(reader):
    for words in [False, True]:

        def both(model, batch, target=None):
            return torch.stack([Attention(1, head)(model, batch) for head in (0, 1)], 2)

        found = tagged_attention(*reader, TEXTS, SPANS, both, words=words)
        for head in (0, 1):
            alone = tagged_attention(*reader, TEXTS, SPANS, Attention(1, head), words=words)
            for scores, own in zip(found.scores, alone.scores, strict=True):
                assert scores[:, head] == pytest.approx(own)


def test_the_texts_have_words_of_several_pieces(reader):
    """Else the tests above would not tell pieces from words."""
    pieces = tagged_attention(*reader, TEXTS, SPANS, Attention())
    words = tagged_attention(*reader, TEXTS, SPANS, Attention(), words=True)
    assert [len(own) for own in words.scores] == [len(own) for own in SPANS]
    assert sum(map(len, pieces.scores)) > sum(map(len, words.scores)) + 10


def test_special_tokens_are_in_no_tag(reader):
    """A text's attention sums to 1; what is missing is what the special tokens received."""
    found = tagged_attention(*reader, TEXTS, SPANS, Attention(1, 0))
    for text, scores, places in zip(TEXTS, found.scores, found.places, strict=True):
        length = len(reader[1](text)["input_ids"])
        assert places.tolist() == list(range(1, length - 1))
        assert 0 < scores.sum() < 1 - 1e-3
    average, tokens = found.by_tag(), np.concatenate(found.scores)
    assert average.overall == pytest.approx(tokens.mean())
    assert average.count.sum() == len(tokens)


@families.crossed("words", [False, True], "longest", [3, 7, 12])
def test_what_is_cut_off_has_no_attention(reader, longest, words):
    found = tagged_attention(*reader, TEXTS, SPANS, Attention(0, 1), longest, words)
    pairs = zip(TEXTS, SPANS, strict=True)
    compare(found, [by_hand(reader, text, own, 0, 1, words=words, max_length=longest) for text, own in pairs])
    assert max(own.max() for own in found.places) == min(longest, 20) - 2


def test_a_text_without_words_changes_nothing_else(reader):
    alone = tagged_attention(*reader, TEXTS, SPANS, Attention())
    found = tagged_attention(*reader, [TEXTS[0], "", *TEXTS[1:]], [SPANS[0], [], *SPANS[1:]], Attention())
    assert [len(part[1]) for part in (found.scores, found.tags, found.places)] == [0, 0, 0]
    assert found.by_tag().mean == pytest.approx(alone.by_tag().mean, abs=1e-6)


def test_a_token_in_no_word_of_the_tagger_has_no_tag(reader):
    """A tagger of one's own may leave signs out; they are no part of the words beside them."""
    for text, tags, places in [
        ("new , song", "new:ADJ song:NOUN", [1, 3]),
        ("new song !", "new:ADJ song:NOUN", [1, 2]),
        ("- new song", "new:ADJ song:NOUN", [2, 3]),
        ("...", "", []),
    ]:
        tagged = [spans("the song", "the:DET song:NOUN"), spans(text, tags)]
        found = tagged_attention(*reader, ["the song", text], tagged, Attention())
        assert found.places[1].tolist() == places
        assert found.tags[1].tolist() == [tag for _, _, tag in spans(text, tags)]


def test_the_order_in_which_a_tagger_lists_words_changes_nothing(reader):
    for words in [False, True]:
        expected = tagged_attention(*reader, TEXTS, SPANS, Attention(1, 0), words=words)
        shuffled = [[own[index] for index in np.random.default_rng(0).permutation(len(own))] for own in SPANS]
        for listed in (shuffled, [own[::-1] for own in SPANS]):
            found = tagged_attention(*reader, TEXTS, listed, Attention(1, 0), words=words)
            for one, other in zip(expected.scores, found.scores, strict=True):
                assert one.tolist() == other.tolist()
            for part in ("tags", "places"):
                assert [own.tolist() for own in getattr(found, part)] == [
                    own.tolist() for own in getattr(expected, part)
                ]


def test_words_that_no_text_can_have_are_refused(reader):
    for second, said in [
        ([(0, 3, "DET"), (2, 8, "NOUN")], "characters 0 to 3 and 2 to 8 overlap"),
        ([(4, 8, "NOUN"), (0, 8, "DET")], "characters 0 to 8 and 4 to 8 overlap"),
        ([(0, 3, "DET"), (0, 3, "ADJ")], "characters 0 to 3 and 0 to 3 overlap"),
        ([(4, 9, "NOUN")], 'is characters 4 to 9 ("NOUN"), but the text has 8 characters'),
        ([(-4, 8, "NOUN")], "is characters -4 to 8"),
        ([(3, 3, "X"), (4, 8, "NOUN")], "is characters 3 to 3"),
        ([(8, 4, "X")], "is characters 8 to 4"),
    ]:
        tagged = [spans("the song", "the:DET song:NOUN"), second]
        with pytest.raises(InputError, match=rf"text 2: .*{re.escape(said)}"):
            tagged_attention(*reader, ["the song"] * 2, tagged, Attention())


def test_words_are_found_in_ordered_spans_only(reader):
    with pytest.raises(ValueError, match="text 1: the spans of words must be in order"):
        encode_texts(reader[1], ["the song"], spans=lambda text: [(4, 8), (0, 3)])


# ---------------------------------------------------------------------------------------------------------- meetings


def meetings_by_hand(texts: TaggedScores, partner) -> dict[tuple[str, str], list[float]]:
    """What the own word keeps, b1 / (b1 + b2), by the tags of both."""
    found: dict[tuple[str, str], list[float]] = {}
    for row, other in enumerate(partner):
        for index, place in enumerate(texts.places[row]):
            for there, same in enumerate(texts.places[other]):
                if place == same:
                    mine, theirs = texts.scores[row][index], texts.scores[other][there]
                    tags = texts.tags[row][index], texts.tags[other][there]
                    found.setdefault(tags, []).append(mine / (mine + theirs))
    return found


def texts_of(*rows: str) -> TaggedScores:
    """Rows as "place tag score" between commas."""
    parts = [[own.split() for own in row.split(",")] for row in rows]
    return TaggedScores(
        [np.array([float(score) for *_, score in row]) for row in parts],
        [np.array([tag for _, tag, _ in row], dtype=object) for row in parts],
        [np.array([int(place) for place, *_ in row]) for row in parts],
    )


@families.crossed("words", [False, True], "partner", [[1, 2, 3, 4, 5, 0], [5, 4, 3, 2, 1, 0], [0, 2, 1, 5, 3, 4]])
def test_meetings_are_those_of_a_loop(reader, partner, words):
    texts = tagged_attention(*reader, TEXTS, SPANS, Attention(0, 0), words=words)
    found, expected = meetings(texts, np.array(partner)), meetings_by_hand(texts, partner)
    assert found.tags == sorted({tag for both in expected for tag in both})
    for own, first in enumerate(found.tags):
        for other, second in enumerate(found.tags):
            parts = expected.get((first, second), [])
            assert found.count[own, other] == len(parts)
            mean = sum(parts) / len(parts) if parts else np.nan
            assert found.kept[own, other] == pytest.approx(mean, nan_ok=True)
        mine = [part for (tag, _), parts in expected.items() if tag == first for part in parts]
        theirs = [1 - part for (_, tag), parts in expected.items() if tag == first for part in parts]
        if mine:
            assert found.own[own] == pytest.approx(sum(mine) / len(mine))
        if theirs:
            assert found.partner[own] == pytest.approx(sum(theirs) / len(theirs))


def test_a_meeting_by_hand():
    """Places 1 and 2 meet, place 3 has nobody: .2 / .8 and .3 / .4."""
    found = meetings(texts_of("1 ADJ .2, 2 NOUN .3, 3 VERB .5", "1 NOUN .6, 2 NOUN .1"), np.array([1, 1]))
    assert found.tags == ["ADJ", "NOUN"]
    assert found.count.tolist() == [[0, 1], [0, 3]]  # the second text meets itself
    assert found.kept[0, 1] == pytest.approx(0.25)
    assert found.kept[1, 1] == pytest.approx((0.75 + 0.5 + 0.5) / 3)


def test_texts_whose_words_stand_at_other_places_never_meet():
    found = meetings(texts_of("1 ADJ .2", "2 NOUN .6"), np.array([1, 0]))
    assert found.tags == [] and found.count.shape == found.kept.shape == (0, 0)


def test_both_sides_of_a_pair_share_everything(reader):
    """The own side of (1, 2) is 1 minus the partner's side of (2, 1)."""
    texts = tagged_attention(*reader, TEXTS, SPANS, Attention(1, 1))
    first, second = (
        meetings(
            TaggedScores(*([part[row] for row in order] for part in (texts.scores, texts.tags, texts.places))), [1]
        )
        for order in ([1, 3], [3, 1])
    )
    assert first.tags == second.tags
    assert (first.count == second.count.T).all() and first.count.sum() == 9  # the shorter text's tokens
    assert first.kept == pytest.approx(1 - second.kept.T, nan_ok=True)
    assert first.own == pytest.approx(second.partner, nan_ok=True)
    assert not np.allclose(np.nan_to_num(first.kept, nan=0.5), 0.5, atol=0.01)


def test_words_that_nobody_looks_at_share_evenly():
    found = meetings(texts_of("1 ADJ 0, 2 ADJ 0", "1 NOUN 0, 2 VERB .5"), np.array([1, 0]))
    assert found.kept[found.tags.index("ADJ")] == pytest.approx([np.nan, 0.5, 0], nan_ok=True)


def test_a_tag_that_met_on_one_side_only_is_nan_on_the_other():
    """And says so quietly: what numpy has to say of 0 / 0 would stand between the lines of the command."""
    texts = texts_of("1 ADJ .5, 2 NOUN .1", "1 ADJ .5, 2 ADJ .1", "1 ADJ .2")
    found = meetings(texts, np.array([1, 2, 0]))
    noun = found.tags.index("NOUN")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found.own[noun] == pytest.approx(0.5)
        assert np.isnan(found.partner[noun])


# ----------------------------------------------------------------------------------------------------------- taggers


def test_ready_made_tags_belong_to_words_between_white_space():
    for tags in ("PRON ADJ PUNCT", ["PRON", "ADJ", "PUNCT"], "['PRON', 'ADJ', 'PUNCT']", "['PRON' 'ADJ' 'PUNCT']"):
        assert given_tags(tags, {"text": " it's\tgood ,\n", "second": "one"}) == [
            (1, 5, "PRON"),
            (6, 10, "ADJ"),
            (11, 12, "PUNCT"),
        ]
    assert given_tags("[CLS] [SEP]", {"text": "a b"}) == [(0, 1, "[CLS]"), (2, 3, "[SEP]")]
    assert given_tags(None, {"text": ""}) == []


def test_as_many_tags_as_words():
    for tags, said in [(["ADJ"], "1 mark, "), ([], "0 marks, "), (["ADJ", "NOUN", "X"], "3 marks, ")]:
        with pytest.raises(TypeError, match=said + "but the text has 2 words between white space"):
            given_tags(tags, {"text": "good film"})


def test_spacy_is_asked_for_by_name(monkeypatch):
    monkeypatch.setattr(tagging, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"need spaCy \(pip install spacy\).*--tags COLUMN"):
        list(SpacyTagger()(["a text"]))


def fake_spacy(monkeypatch, load) -> None:
    """spaCy as far as a tagger calls it."""
    monkeypatch.setattr(tagging, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=load))


def test_a_missing_pipeline_is_asked_for_by_name(monkeypatch):
    def load(name, **_):
        raise OSError("[E050] Can't find model")

    fake_spacy(monkeypatch, load)
    with pytest.raises(InputError, match=r"no pipeline 'tiny_pipeline'.*python -m spacy download tiny_pipeline"):
        list(SpacyTagger("tiny_pipeline")(["a text"]))


class Word:
    """A token of spaCy."""

    def __init__(self, idx: int, text: str, pos: str):
        self.idx, self.text, self.pos_, self.is_space = idx, text, pos, text.isspace()

    def __len__(self) -> int:
        return len(self.text)


def test_a_pipelines_words_stand_where_they_stand(monkeypatch):
    document = [Word(0, "do", "AUX"), Word(2, "n't", "PART"), Word(6, "  ", "SPACE"), Word(8, "go", "VERB")]
    fake_spacy(monkeypatch, lambda name, **_: SimpleNamespace(pipe=lambda texts: (document for _ in texts)))
    expected = [(0, 2, "AUX"), (2, 5, "PART"), (8, 10, "VERB")]
    assert list(SpacyTagger()(["don't   go", "don't   go"])) == [expected, expected]
