"""`salience describe`: a plain checkpoint from descriptions alone, that the other commands read."""

import json

import pytest
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, f1_score
from test_bad_input import refused
from transformers import pipeline

import salience as package
from labelled import WORDS, labelled_rows, write_csv
from salience.files import files_in
from salience.runs.folder import written_by_run


@pytest.fixture(scope="module")
def labels(place):
    file = place.folder / "described.yaml"
    lines = (f"{label}: [{label}, {words!r}]\n" for label, words in WORDS.items())
    file.write_text("".join(lines) + "'a | <b>': nothing of *this*\n", encoding="utf-8")
    return file


@pytest.fixture
def described(salience, place, labels, tmp_path):
    folder = tmp_path / "described"
    answer = salience("describe", labels, "--model", place.model, "--device", "cpu", "--test", place.test,
                      "--output", folder)  # fmt: skip
    assert answer.code == 0, answer.err
    return folder, answer.out


def test_the_folder_is_a_plain_checkpoint(described, labels):
    folder, printed = described
    assert f"saved: {folder} ({len(WORDS) + 1} labels)\n" in printed
    assert written_by_run(folder) == set(files_in(folder))
    texts = [text for text, _ in labelled_rows(10, seed=4)]
    classifier = package.load(folder, device="cpu")
    assert classifier.labels == [*WORDS, "a | <b>"]
    by_transformers = pipeline("text-classification", model=str(folder), truncation=True, device="cpu")(texts)
    assert [row["label"] for row in by_transformers] == classifier.predict(texts)
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "| a \\| \\<b\\> | nothing of \\*this\\* |" in card and "not calibrated" in card
    about = json.loads((folder / "descriptions.json").read_text(encoding="utf-8"))
    assert about["labels"]["a | <b>"] == ["nothing of *this*"]


def test_the_scores_are_those_of_the_test_rows(described):
    folder, printed = described
    rows = labelled_rows(30, seed=1)  # the test rows of `place`
    predicted = package.load(folder, device="cpu").predict([text for text, _ in rows])
    gold = [label for _, label in rows]
    accuracy, macro = accuracy_score(gold, predicted), f1_score(gold, predicted, average="macro", zero_division=0)
    low, high = binomtest(round(30 * accuracy), 30).proportion_ci(method="wilson")
    line = f"accuracy {accuracy:.3f} [{low:.3f}, {high:.3f}], macro-F1 {macro:.3f} ["
    assert f"on 30 rows of test.csv: {line}" in printed
    assert f"On 30 labelled rows: {line}" in (folder / "README.md").read_text(encoding="utf-8")


def test_other_commands_read_the_folder(described, place, salience, tmp_path):
    folder, _ = described
    assert salience("predict", folder, place.test, "--output", tmp_path / "out.csv", "--device", "cpu").code == 0
    assert salience("explain", folder, "--text", "a match and a cup", "--device", "cpu").code == 0
    refused(salience("push", folder, "me/described"), "is no run")


def test_only_its_own_folders_are_replaced(described, place, labels, run, salience):
    folder, _ = described
    command = ["describe", labels, "--model", place.model, "--device", "cpu", "--output"]
    refused(salience(*command, folder), "exists: choose another --output, or --overwrite it")
    refused(salience(*command, run, "--overwrite"), "is not a classifier of salience describe and is not overwritten")
    (folder / "notes.txt").write_text("mine")
    refused(
        salience(*command, folder, "--overwrite"),
        'salience did not write "notes.txt"',
    )
    (folder / "notes.txt").unlink()
    assert salience(*command, folder, "--overwrite").code == 0
    assert written_by_run(folder) == set(files_in(folder))
    assert "Nothing was measured" in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("sport: a match\n", "a classifier needs two labels"),
        ("sport: a match\nmusic:\n", 'a description of "music" has no words'),
        ("sport: a match\nmusic: []\n", '1 label without a description: "music"'),
        ("[", "is not yaml"),
        ("just a text", "label descriptions are lines of the form label: text"),
    ],
)
def test_descriptions_that_are_none(content, said, place, salience, tmp_path):
    file = tmp_path / "labels.yaml"
    file.write_text(content, encoding="utf-8")
    out = tmp_path / "out"
    refused(salience("describe", file, "--model", place.model, "--device", "cpu", "--output", out), said)
    assert not out.exists()


def test_test_rows_without_labels(place, labels, salience, tmp_path):
    file = write_csv(tmp_path / "texts.csv", [("a cup",), ("a song",)], ("text",))
    out = tmp_path / "out"
    answer = salience("describe", labels, "--model", place.model, "--device", "cpu", "--test", file, "--output", out)
    assert answer.code == 2 and "no row has a label that the model knows" in answer.err
    assert not out.exists()


def test_test_rows_whose_labels_are_all_missing(place, labels, salience, tmp_path):
    file = write_csv(tmp_path / "texts.csv", [("a cup", ""), ("a song", "")], ("text", "label"))
    out = tmp_path / "out"
    answer = salience("describe", labels, "--model", place.model, "--device", "cpu", "--test", file, "--output", out)
    assert answer.code == 2 and "texts.csv: no row has a label that the model knows" in answer.err
    assert not out.exists()


def test_training_without_labels_names_the_command(place, salience, tmp_path):
    file = write_csv(tmp_path / "texts.csv", [("a cup",), ("a song",)], ("text",))
    refused(salience("train", file, "--model", place.model, "--label-descriptions", "names"), "see salience describe")
