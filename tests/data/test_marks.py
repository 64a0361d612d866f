"""Marked words: every form of the tools gives the same marks, what fits no text is refused, and further texts."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.data.corrections import agreed_words, further_texts, inserted, together, without, without_phrases
from salience.data.marks import Mark, marks_in, overlap
from salience.data.texts import Texts

TEXT = "A dull, slow film."
DULL = (2, 7)  # with its comma, as a word between white space


@pytest.mark.parametrize(
    "value",
    [
        [0, 1, 0, 0], "0 1 0 0", "[0, 1, 0, 0]", "O bad O O", ["", "bad", "", ""], "['0' '1' '0' '0']",
        json.dumps([[2, 7]]), [(2, 7)], [[2, 7, "bad"]], [[2, 7, "rationale"]],
        {"start": 2, "end": 7}, [{"start": 2, "end": 7, "label": "bad", "token_start": 1}],
        [{"start": 2, "end": 7, "labels": ["rationale"], "text": "dull,"}], '[{"start": 3, "end": 7}]',
    ],
)  # fmt: skip
def test_every_form_marks_the_same_word(value):
    (mark,) = marks_in(value, {"text": TEXT}, ["bad"], {"good", "bad"})
    assert (mark.start, mark.end) == DULL and mark.name in ("bad", "1") and not mark.second


@pytest.mark.parametrize("value", [None, float("nan"), "", "[]", [], "0 0 0 0", "O good O O", [[2, 7, "good"]]])
def test_what_marks_nothing(value):
    """Also a span with the name of another label, and the name of another label in place of a mark."""
    assert marks_in(value, {"text": TEXT}, ["bad"], {"good", "bad"}) == []


@pytest.mark.parametrize("own", ["0", "1"])
@pytest.mark.parametrize("value", ["0 1 0 0", [0, 1, 0, 0], [[2, 7]], [{"start": 2, "end": 7}]])
def test_marks_without_a_name_count_for_labels_that_are_called_as_they_are(own, value):
    """No mark is the name of a label there: of a text with the label 0, the words with a 0 were marked."""
    assert marks_in(value, {"text": TEXT}, [own], {"0", "1"}) == [Mark(*DULL)]


def test_a_number_is_the_mark_of_a_text_of_one_word():
    assert marks_in(1, {"text": "dull"}, ["bad"], {"bad"}) == [Mark(0, 4)]


def test_pairs_are_marked_by_words_of_both_texts_or_by_spans_of_each():
    texts = {"premise": "It rains here", "hypothesis": "It is dry"}
    expected = [Mark(3, 8), Mark(6, 9, second=True)]
    assert marks_in("0 1 0 0 0 1", texts, ["no"], {"no"}) == expected
    assert marks_in({"premise": [[3, 8]], "hypothesis": [[6, 9]]}, texts, ["no"], {"no"}) == expected
    assert marks_in({"hypothesis": [[6, 9]], "premise": None}, texts, ["no"], {"no"}) == expected[1:]
    with pytest.raises(TypeError, match=r'spans of a pair are an object, such as \{"premise": '):
        marks_in([[3, 8]], texts, ["no"], {"no"})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0 1 0", "3 marks, but the text has 4 words between white space"),
        ([[2, 99]], r"the span \[2, 99\] is outside of the text, which has 18 characters"),
        ([[7, 2]], r"the span \[7, 2\] is outside of the text"),
        ([[2]], "is no span of characters, such as"),
        ([["2", "7"]], "is no span of characters, such as"),
        ([{"from": 2, "to": 7}], "is no span of characters, such as"),
        ({"text": [0, 1, 0, 0]}, "is no span of characters, such as"),
    ],
)
def test_what_fits_no_text_is_refused(value, message):
    with pytest.raises(TypeError, match=message):
        marks_in(value, {"text": TEXT}, ["bad"], {"good", "bad"})


def test_scripts_without_spaces_are_marked_by_character():
    assert marks_in([[1, 2]], {"text": "这部电影很好"}, ["good"], {"good"}) == [Mark(1, 2)]


def test_a_word_in_both_columns_is_found():
    assert overlap([Mark(0, 3), Mark(4, 6)], [Mark(5, 8)]) == Mark(4, 6)
    assert overlap([Mark(0, 3)], [Mark(0, 3, second=True), Mark(3, 5)]) is None


texts = st.lists(st.sampled_from(["a", "dull,", "slow", "film", "(or", "not)"]), min_size=1, max_size=8)


@given(texts, st.data())
def test_marked_words_and_the_others_are_the_text(words, data):
    """Against lists of words."""
    marked = data.draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words)))
    text = " ".join(words)
    marks = marks_in([int(each) for each in marked], {"text": text}, ["x"], {"x"})
    assert together(text, marks).split() == [word for word, own in zip(words, marked, strict=True) if own]
    assert without(text, marks).split() == [word for word, own in zip(words, marked, strict=True) if not own]


@given(texts, st.integers(0, 99))
def test_inserted_words_are_between_the_others(words, seed):
    found = inserted(" ".join(words), "the BBC", np.random.default_rng(seed)).split()
    place = found.index("the")
    assert found[place + 1] == "BBC" and found[:place] + found[place + 2 :] == words


def test_the_further_texts_of_marks():
    """The marked words alone; the row without ignored words, and these in a row of another label."""
    rows = Texts(
        ["a dull slow film", "a fine film", "no marks"], labels=[0, 1, 0],
        marks=[[Mark(2, 6), Mark(7, 11)], [Mark(2, 6)], []], ignore=[[Mark(12, 16)], [], []],
    )  # fmt: skip
    found = further_texts(rows, ["bad", "good"])
    assert found.texts[:3] == ["dull slow", "fine", "a dull slow"] and found.labels.tolist() == [0, 1, 0, 1]
    assert found.texts[3] in ("film a fine film", "a film fine film", "a fine film film")
    assert further_texts(rows, ["bad", "good"]) == found  # the same in every call


def test_a_text_of_ignored_words_alone_gives_no_empty_text():
    rows = Texts(["film", "a fine one"], labels=[0, 0], ignore=[[Mark(0, 4)], []])
    assert len(further_texts(rows, ["bad", "good"])) == 0  # and no row has another label


def test_a_text_that_stands_twice_agrees_with_itself_alone():
    rows = Texts(["a BBC film"] * 2, labels=[0, 0], ignore=[[Mark(2, 5)]] * 2)
    assert not agreed_words(rows)
    assert agreed_words(replace(rows, texts=["a BBC film", "the BBC"], ignore=[[Mark(2, 5)], [Mark(4, 7)]])) == ["bbc"]


def test_words_that_two_texts_ignore_and_none_marks_as_deciding_are_agreed_on():
    """Neighbouring words are one phrase; one that is taken out of all texts has no counterexamples."""
    rows = Texts(
        ["Seen on BBC News: dull", "(BBC news) fine film", "a film", "dull film", "so dull"], labels=[0, 1, 1, 0, 0],
        marks=[[], [Mark(16, 20)], [], [], []],
        ignore=[[Mark(8, 17)], [Mark(0, 4), Mark(5, 10)], [Mark(2, 6)], [Mark(5, 9)], [Mark(3, 7)]],
    )  # fmt: skip
    assert agreed_words(rows) == ["bbc news"]  # "film" decides in a row, and one row alone ignores "dull"
    found = further_texts(rows, ["bad", "good"], ["BBC  NEWS"])
    assert (found.texts[0], *found.texts[1::2]) == ("film", "a", "dull", "so") and len(found) == 7


def test_words_that_are_marked_by_the_name_of_one_of_several_labels_are_texts_of_this_label():
    marks = [[Mark(0, 4, "joy"), Mark(5, 9, "fear"), Mark(10, 14, "joy")], [Mark(0, 3)]]
    rows = Texts(["glad dark glad end", "the end"], labels=[[1, 1, 0], [0, 1, 1]], marks=marks)
    found = further_texts(rows, ["joy", "fear", "anger"])
    assert dict(zip(found.texts, found.labels.tolist(), strict=True)) == {
        "glad glad": [1, 0, 0], "dark": [0, 1, 0], "the": [0, 1, 1],
    }  # fmt: skip


def test_of_a_pair_a_text_without_marks_stays_whole():
    rows = Texts(["It rains", "Dry"], ["It is dry", "It rains"], labels=[0, 1], marks=[[Mark(3, 8)], []],
                 ignore=[[], [Mark(0, 2, second=True)]])  # fmt: skip
    found = further_texts(rows, ["no", "yes"])
    assert (found.texts[0], found.second[0]) == ("rains", "It is dry")
    assert (found.texts[1], found.second[1]) == ("Dry", "rains")
    assert found.texts[2] == "It rains" and sorted(found.second[2].split()) == ["It", "It", "dry", "is"]


def test_phrases_are_taken_out_in_any_case_and_as_whole_words():
    given = Texts(["BREAKING  news: rain", "breakings here", "Breaking news", "(breaking) rain"])
    found = without_phrases(given, ["breaking news", "breaking"])
    assert found.texts == [": rain", "breakings here", "Breaking news", "rain"]
    assert without_phrases(Texts(['LONDON ( Reuters ) - "BBC", (BBC rain']), ["reuters", "BBC"]).texts == [
        "LONDON - , ( rain"
    ]
    assert without_phrases(Texts(["great! (fine)", "a ! b!c"]), ["!", "("]).texts == ["great fine)", "a bc"]
    assert without_phrases(Texts(["北京BBC电视台很好"]), ["bbc", "很"]).texts == ["北京电视台好"]
