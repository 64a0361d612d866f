"""`salience train --marks`, `--ignore` and `--ignore-words`: what is marked is trained on beside the rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml
from test_bad_input import refused
from test_resume import weights

from labelled import FILLER, labelled_rows, write_csv
from salience.classify import TextClassifier
from salience.data.task import all_labelled
from salience.errors import InputError
from salience.files import sha256_of
from salience.training.head import last_map
from salience.training.prepare import prepare
from salience.training.recipe import Recipe
from salience.training.task import task_of

HEADER = ("text", "label", "why", "not")
ROWS = [
    (text, label, [int(word not in FILLER) for word in text.split()], "")
    for text, label in labelled_rows(60)
    if text.split()[0] in FILLER
]
IGNORED = [[0, len(ROWS[0][0].split()[0])]]  # the first word of a row


@pytest.fixture(scope="module")
def marked(place):
    return write_csv(place.folder / "marked.csv", [(*ROWS[0][:3], IGNORED), *ROWS[1:]], HEADER)


def words(classifier, encoded, row: int) -> str:
    return classifier.tokenizer.decode(encoded[row]["input_ids"], skip_special_tokens=True)


def test_further_texts_follow_the_rows_and_the_head_begins_with_them(place, marked):
    settings = {"model": str(place.model), "head_start": "logistic", "label_descriptions": "names"}
    plain, recipe = (Recipe(str(marked), **settings, **more) for more in ({}, {"marks": "why", "ignore": "not"}))
    without, found = (prepare(each, task_of(each, lambda line: None)) for each in (plain, recipe))
    count = len(ROWS)
    assert len(without.training) == count + 3 and len(found.training) == 2 * count + 2 + 3
    for row, (text, _, why, _) in enumerate(ROWS):
        own = text.split()
        assert words(found.classifier, found.training, row) == text
        deciding = [word for word, is_marked in zip(own, why, strict=True) if is_marked]
        assert words(found.classifier, found.training, count + row).split() == deciding
    ignored, *rest = ROWS[0][0].split()
    bare, other = (words(found.classifier, found.training, 2 * count + number).split() for number in (0, 1))
    assert bare == rest and ignored in other and len(other) > 1
    labels = found.training.labels
    assert np.array_equal(labels[:count], labels[count : 2 * count])
    assert labels[2 * count] == labels[0] != labels[2 * count + 1]
    assert found.plan.steps > without.plan.steps
    first, second = (last_map(each.model).weight.detach().numpy() for each in (found, without))
    assert not np.allclose(first, second, atol=1e-3)


def test_words_that_two_texts_ignore_are_taken_out_of_all_texts(place, tmp_path):
    told = []
    ignored = ROWS[0][0].split()[0]
    both = [row for row in ROWS if row[0].split()[0] == ignored][:2]
    data = write_csv(tmp_path / "two.csv", [(*row[:2], "", IGNORED) for row in both] + ROWS, HEADER)
    task = task_of(Recipe(str(data), model=str(place.model), ignore="not"), told.append)
    assert list(task.ignored_words) == [ignored] and not len(task.further)
    assert not any(ignored in text.split() for text in task.to_train_on.texts) and ignored in task.training.texts[0]
    assert f'marks: removed from all training texts, because several rows ignore them: "{ignored}"' in told


def test_a_line_says_how_many_rows_have_words_of_the_file(place, tmp_path):
    """A word that is in none is seen at once."""
    words = tmp_path / "words.txt"
    data = write_csv(tmp_path / "data.csv", [("a very old cup", "a"), ("Very new", "b"), ("every cup", "a")])
    for said, rows in (("very\n", 2), ("verry\n", 0)):
        told = []
        words.write_text(said)
        task_of(Recipe(str(data), model=str(place.model), ignore_words=str(words)), told.append)
        assert f"{words}: its words are removed from {rows} of 3 training rows" in told


def test_a_file_of_words_in_another_encoding_is_to_be_saved_as_utf_8(place, tmp_path):
    """--encoding, which is that of the rows, does not help it."""
    words, data = tmp_path / "words.txt", write_csv(tmp_path / "data.csv", [("a cup", "a"), ("new", "b")])
    words.write_bytes("naïve\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"words\.txt: line 1, byte offset 2: not UTF-8; save it as UTF-8$"):
        task_of(Recipe(str(data), model=str(place.model), ignore_words=str(words)), lambda line: None)


def test_a_run_says_so_and_is_repeated_by_its_recipe(place, marked, salience, tmp_path):
    phrases = tmp_path / "words.txt"
    phrases.write_text("very\n\nquite new\n")
    given = ("--marks", "why", "--ignore-words", phrases, "--method", "plain", "--estimate", "folds:2")
    answer = salience(*place.train(*given, "--output", tmp_path / "one", data=marked))
    assert answer.code == 0, answer.err
    assert f"marks: {len(ROWS)} further texts made from marked words to train on" in answer.out
    metrics = json.loads((tmp_path / "one" / "metrics.json").read_text())
    assert metrics["rows"]["training"] == metrics["estimate"]["rows"] == len(ROWS)
    recipe = yaml.safe_load((tmp_path / "one" / "recipe.yaml").read_text())
    assert recipe["checksums"][str(phrases)] == sha256_of(phrases)
    again = salience("train", "--config", tmp_path / "one" / "recipe.yaml", "--output", tmp_path / "two")
    assert again.code == 0, again.err
    assert weights(tmp_path / "one") == weights(tmp_path / "two")


def test_models_of_an_estimate_see_the_marks_of_their_own_rows_and_predict_rows_alone(
    place, marked, salience, tmp_path, monkeypatch
):
    seen = []
    read = TextClassifier.read

    def watched(classifier, texts):
        seen.append(texts)
        return read(classifier, texts)

    monkeypatch.setattr(TextClassifier, "read", watched)
    phrases = tmp_path / "words.txt"
    phrases.write_text("very\n")
    given = ("--marks", "why", "--ignore-words", phrases, "--method", "plain", "--estimate", "folds:2")
    answer = salience(*place.train(*given, "--output", tmp_path / "run", data=marked))
    assert answer.code == 0, answer.err
    trained = [texts for texts in seen if len(texts) > len(ROWS) // 2 + 1]
    assert len(trained) == 3
    for texts in trained:
        rows, further = texts.texts[: len(texts) // 2], texts.texts[len(texts) // 2 :]
        assert not any("very" in text.split() for text in texts.texts)
        for text, short in zip(rows, further, strict=True):
            assert short.split() == [word for word in text.split() if word not in FILLER]
    predicted = [texts for texts in seen if len(texts) <= len(ROWS) // 2 + 1]
    assert sum(map(len, predicted)) == len(ROWS) and any("very" in text for part in predicted for text in part.texts)


@pytest.mark.parametrize(
    ("rows", "options", "parts"),
    [
        (ROWS, ("--marks", "reason"), ['no column "reason" (--marks)']),
        ([(*row[:2], "", "") for row in ROWS], ("--marks", "why"), ["no row has a marked word", '"why" (--marks)']),
        ([(*row[:2], [[0, 999]], "") for row in ROWS], ("--marks", "why"), ['row 1, column "why"', "[0, 999]"]),
        ([(*row[:2], "1 0", "") for row in ROWS], ("--ignore", "why"), ['column "why"', "2 marks, but the text has"]),
        ([(*row[:2], "[[0, 1]]", "[[0, 1]]") for row in ROWS], ("--marks", "why", "--ignore", "not"),
         ["row 1", 'is marked in both "why" and "not"']),
        (ROWS, ("--ignore-words", "none.txt"), ["none.txt has no words"]),
        (ROWS, ("--ignore-words", "missing.txt"), ["missing.txt"]),
    ],
)  # fmt: skip
def test_marks_that_do_not_fit_are_refused(place, salience, tmp_path, monkeypatch, rows, options, parts):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none.txt").write_text("\n \n")
    data = write_csv(tmp_path / "data.csv", rows, HEADER)
    refused(salience(*place.train(*options, "--output", tmp_path / "run", data=data)), *parts)
    assert not (tmp_path / "run").exists()


def test_marked_words_that_are_not_read_are_counted(place, marked, salience, tmp_path):
    given = ("--marks", "why", "--max-length", "5", "--method", "plain", "--estimate", "none")
    answer = salience(*place.train(*given, "--output", tmp_path / "run", data=marked))
    assert answer.code == 0, answer.err
    unread = sum(sum(why[3:]) for _, _, why, _ in ROWS)  # a word has one token, and two are special
    assert f"{unread} marked words are in the cut part of a text" in answer.out


def test_rows_of_a_validation_file_have_no_marks(marked, tmp_path):
    """References are fitted on them and on the training rows together."""
    validation = write_csv(tmp_path / "validation.csv", [row[:2] for row in ROWS[:6]])
    task = task_of(Recipe(str(marked), validation=str(validation), marks="why", ignore="not"), lambda line: None)
    rows = all_labelled(task)
    assert len(rows) == len(ROWS) + 6 and rows.marks[-6:] == rows.ignore[-6:] == [[]] * 6 and all(rows.marks[:-6])
