"""`salience train --unlabelled`: what is written and said, what is refused, and a run that is killed."""

import json

import pytest
import yaml
from test_bad_input import refused
from test_resume import finish, kill, start, wait_for, weights  # noqa: F401  `start` is a fixture

import salience as package
from labelled import labelled_rows, write_csv
from salience.files import sha256_of

TEXTS = [text for text, _ in labelled_rows(40, seed=2)]


@pytest.fixture(scope="module")
def more(place):
    """40 texts, and one of the training rows."""
    known = labelled_rows(60)[0][0]
    return write_csv(place.folder / "more.csv", [[text] for text in [*TEXTS, known]], ["text"])


def arguments(place, more, output, *options):
    return place.train("--unlabelled", more, "--output", output, "--precision", "fp32", "--method", "plain", *options)


def test_a_run_says_what_it_does_and_writes_where_its_texts_are_from(place, more, salience, tmp_path):
    answer = salience(*arguments(place, more, tmp_path / "run", "--test", place.test))
    assert answer.code == 0, answer.err
    said = answer.out + answer.err
    assert f"unlabelled: {len(set(TEXTS))} texts of" in said and "left out 1 training row" in said.replace("\n", " ")
    assert "phase 1 of 2: the teacher" in said and "phase 2 of 2: the student, 6 steps" in said
    recipe = yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text())
    assert recipe["unlabelled"] == str(more)
    assert recipe["checksums"][str(more)] == sha256_of(more)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["rows"]["unlabelled"] == len(set(TEXTS))
    assert metrics["steps"] == 12
    card = (tmp_path / "run" / "README.md").read_text()
    assert f"with {len(set(TEXTS))} texts without labels of `more.csv`" in card
    assert str(more.parent) not in card
    assert package.load(tmp_path / "run").predict(TEXTS[:2])


@pytest.mark.parametrize(
    ("option", "value", "line"),
    [
        ("view", "randomunk:window=0.15", "% of the decisions about their labels both teachers say the same"),
        ("view", "ssmix", "% of the decisions about their labels both teachers say the same"),
        ("labels", "moving", "texts without labels, which the model labels in every step"),
    ],
)
def test_texts_without_labels_get_several(option, value, line, place, several_files, more, salience, tmp_path):
    options = ("--estimate", "none", f"--unlabelled-{option}", value, "--class-weights", "food=2")
    train = place.train("--unlabelled", more, "--output", tmp_path / "run", "--method", "plain", data=several_files[0])
    answer = salience(*train, *options, "--test", several_files[1])
    assert answer.code == 0, answer.err
    said = " ".join((answer.out + answer.err).split())
    assert line in said
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["steps"] == 12 and metrics["rows"]["unlabelled"] and metrics["test"]["log_loss"] < 1


def test_the_recipe_of_a_run_repeats_it(place, more, salience, tmp_path):
    assert salience(*arguments(place, more, tmp_path / "one", "--unlabelled-view", "tmix")).code == 0
    again = salience("train", "--config", tmp_path / "one" / "recipe.yaml", "--output", tmp_path / "two")
    assert again.code == 0, again.err
    assert weights(tmp_path / "one") == weights(tmp_path / "two")


def test_every_model_of_an_estimate_is_trained_with_them(place, more, salience, tmp_path):
    options = ("--validation-share", "0", "--estimate", "folds:2")
    answer = salience(*arguments(place, more, tmp_path / "run", *options))
    assert answer.code == 0, answer.err
    assert (answer.out + answer.err).count("phase 2 of 2") == 3
    estimate = json.loads((tmp_path / "run" / "metrics.json").read_text())["estimate"]
    assert estimate["steps"] == [12, 12]


def test_what_is_refused(place, more, salience, tmp_path):
    output = tmp_path / "run"
    refused(salience(*arguments(place, tmp_path / "none.csv", output)), "none.csv")
    refused(salience(*arguments(place, place.data, output)), "no text without a label is left")
    refused(salience(*place.train("--unlabelled-weight", "2")), "--unlabelled-weight has no effect without texts")
    refused(
        salience(*arguments(place, more, output, "--plain-share", "0.5")), "--unlabelled has two phases of its own"
    )
    refused(salience(*arguments(place, more, output, "--unlabelled-ratio", "-1")), "--unlabelled-ratio is -1: give")
    assert not output.exists()


def test_an_output_that_holds_the_texts_is_refused(place, salience, tmp_path):
    file = write_csv(tmp_path / "more.csv", [["a text"]], ["text"])
    refused(salience(*arguments(place, file, tmp_path)), "which --unlabelled reads: choose another --output")


@pytest.mark.parametrize("phase", ["teacher", "student"])
def test_a_killed_run_ends_with_the_same_weights(phase, place, more, start, salience, tmp_path):  # noqa: F811
    options = ("--steps", "24", "--evaluations", "6", "--patience", "6")
    assert salience(*arguments(place, more, tmp_path / "whole", *options)).code == 0
    output, checkpoints = tmp_path / "run", tmp_path / ".run.partial" / "checkpoints"
    process = start(*arguments(place, more, output, *options))
    wait_for(lambda: list(checkpoints.glob(f"{phase}/checkpoint-*/trainer_state.json")), process)
    kill(process)
    assert not output.exists()
    finish(start(*arguments(place, more, output, *options, "--resume")))
    assert weights(output) == weights(tmp_path / "whole")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run", "whole"]
