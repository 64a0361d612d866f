"""The preparation of Jain and Wallace: worked texts, sizes of the parts, and that every row is used once."""

from collections import Counter

import pytest

from salience.papers.datasets import SOURCES, newsgroup_words, newsgroups, short_reviews, stratified


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hell, it holds 80,000 seats.\nNot more", "hell it holds qqq qqq seats not more"),
        ("I haven't seen the '91 Mariners", "i haven ' t seen the qqq mariners"),
        ("400% (about half of it", "qqq about half of it"),
        ("The end.", "the end ."),  # of the last run, a mark is the last character
        ("e-mail", "e mail"),
        ("R2D2 x_1", "qqq qqq"),
        (" \n ", ""),
        ("...", "."),
    ],
)
def test_worked_messages(text, words):
    assert newsgroup_words(text) == words


def made(part: str, number: int) -> list[dict]:
    """Rows of which two thirds are of one class."""
    return [{"text": f"{part} {'w' * (row + 1)}", "label": "ab"[row % 3 == 0]} for row in range(number)]


def test_messages_are_split_together():
    rows = [*made("train", 90), {"text": " ", "label": "a"}]
    training, validation, test = newsgroups(90, 20, 40)(rows, made("test", 60))
    assert [len(training), len(validation), len(test)] == [90, 20, 40]
    texts = [row["text"] for part in (training, validation, test) for row in part]
    assert len({*texts}) == 150 and "" not in texts
    for part in (training, validation, test):
        assert Counter(row["label"] for row in part)["b"] == pytest.approx(len(part) / 3, abs=1)
        assert {row["text"].split()[0] for row in part} == {"train", "test"}
    assert newsgroups(90, 20, 40)(rows, made("test", 60)) == (training, validation, test)


def test_surplus_training_rows_are_left_out():
    training, *_ = newsgroups(30, 10, 10)(made("train", 40), made("test", 20))
    assert len(training) == 30


def test_the_sizes_are_those_of_the_paper():
    """Sun and Lu, Table 1: 624 + 612, 156 + 154, 195 + 192 and 794 + 790 + 716, ..."""
    for name, sizes, classes in (
        ("20news-1", (624 + 612, 156 + 154, 195 + 192), 2),
        ("20news-2", (794 + 790 + 716, 91 + 70 + 79, 84 + 100 + 90), 3),
    ):
        rows = [{"text": "a" * (row + 1), "label": str(row % classes)} for row in range(3000)]
        training, validation, test = SOURCES[name].preparation(rows[:2000], rows[2000:])
        assert (len(training), len(validation), len(test)) == sizes


def test_long_reviews_are_left_out():
    """399 words are short; punctuation does not count, and line breaks of the web do not either."""
    short = ["a, " * 398 + f"<br /><br />{row}" for row in range(100)]
    rows = [{"text": text, "label": "ab"[row % 2]} for row, text in enumerate([*short, "b " * 400, "c " * 900])]
    training, validation, test = short_reviews(held_out=0.2, test=10)(rows, rows[::-1])
    assert [len(training), len(validation), len(test)] == [80, 20, 10]
    texts = [row["text"] for part in (training, validation, test) for row in part]
    assert all(text.startswith("a,") and "<br" not in text for text in texts)
    assert len({row["text"] for row in [*training, *validation]}) == 100


def test_what_is_left_and_what_is_drawn_are_all_rows():
    rows = made("x", 60)
    left, taken = stratified(rows, 21)
    assert sorted(row["text"] for row in [*left, *taken]) == sorted(row["text"] for row in rows)
    assert Counter(row["label"] for row in taken) == {"a": 14, "b": 7}
