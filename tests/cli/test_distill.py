"""`salience distill`: what a student learns from, that it learns it, and what is refused."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import yaml
from test_bad_input import refused
from test_resume import weights

from displays import Seen
from labelled import labelled_rows, write_csv
from salience.classify import load
from salience.training.fit import build_trainer
from salience.training.objective import labels_of
from salience.training.prepare import prepare
from salience.training.recipe import PASSES, Recipe
from salience.training.task import task_of
from salience.work import shown


@pytest.fixture(scope="module")
def texts(place):
    """A file of texts alone."""
    with (file := place.folder / "unlabelled.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows([["text"], *([text] for text, _ in labelled_rows(50, seed=3))])
    return file


def recipe_of(place, texts, run, **settings):
    return Recipe(str(texts), model=str(place.model), teacher=str(run), device="cpu", **settings)


@pytest.mark.parametrize("kind", ["one label", "several labels", "windows"])
def test_the_loss_of_a_batch_is_that_of_the_teachers_probabilities(place, texts, run, several_run, tmp_path, kind):
    teacher = several_run if kind == "several labels" else run
    settings = {"long": "windows", "max_length": 8} if kind == "windows" else {}
    recipe = recipe_of(place, texts, teacher, **settings)
    task = task_of(recipe, lambda line: None)
    prepared = prepare(recipe, task)
    soft = torch.from_numpy(load(teacher, device="cpu").predict_proba(task.training))
    owners = prepared.training.owners
    assert (owners is not None) == (kind == "windows")
    rows = torch.arange(len(soft)) if owners is None else torch.from_numpy(owners)
    trainer = build_trainer(prepared, tmp_path)
    items = list(prepared.training.take(range(5)))
    batch = trainer.batch(trainer.data_collator(items))
    assert torch.equal(labels_of(batch).float(), soft[rows[:5]])
    with torch.no_grad():
        logits = prepared.model.eval()(input_ids=batch.input_ids, attention_mask=batch.attention_mask).logits
        kind_of_loss = torch.nn.BCEWithLogitsLoss() if kind == "several labels" else torch.nn.CrossEntropyLoss()
        expected = kind_of_loss(logits, soft[rows[:5]])
        found = sum(trainer.objective(prepared.model, batch))
    assert torch.allclose(found, expected, rtol=1e-5)


@pytest.mark.whole
def test_a_student_learns_what_its_teacher_says_whatever_people_have_said(place, run, salience, tmp_path):
    """The labels in the file are the wrong way round, and are not read."""
    rows = labelled_rows(300, seed=3)
    wrong = {"sport": "music", "music": "food", "food": "sport"}
    data = write_csv(tmp_path / "texts.csv", [(text, wrong[label]) for text, label in rows])
    taught = place.train("--output", tmp_path / "teacher", "--steps", "300", "--learning-rate", "0.01")
    taught[taught.index("--steps") + 1] = "300"
    assert salience(*taught).code == 0
    answer = salience(
        "distill", tmp_path / "teacher", data, "--model", place.model, "--test", place.test, "--set",
        "learning_rate=0.01", "--set", "steps=300", "--device", "cpu", "--output", tmp_path / "student",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    teacher, student = (load(tmp_path / name, device="cpu") for name in ("teacher", "student"))
    asked = [text for text, _ in labelled_rows(100, seed=4)]
    assert np.mean([*map(str.__eq__, teacher.predict(asked), student.predict(asked))]) > 0.9
    assert student.labels == teacher.labels


def test_the_result_is_an_ordinary_run(place, texts, run, salience, tmp_path):
    """Its recipe repeats it, its card says who taught it, and its test is on labels of people."""
    options = ("--test", place.test, "--model", place.model, "--device", "cpu")
    answer = salience("distill", run, texts, *options, "--output", tmp_path / "student")
    assert answer.code == 0, answer.err
    assert f"the teacher {run} labels 50 texts" in answer.out
    assert "estimate" not in answer.out
    recipe = yaml.safe_load((tmp_path / "student" / "recipe.yaml").read_text())
    assert recipe["teacher"] == str(run)
    assert recipe["steps"] == round(PASSES * 50 / recipe["batch_size"])
    assert json.loads((tmp_path / "student" / "metrics.json").read_text())["rows"] == {"training": 50, "test": 30}
    assert "probabilities of `run`" in (tmp_path / "student" / "README.md").read_text().replace("\n", " ")
    again = salience("train", "--config", tmp_path / "student" / "recipe.yaml", "--output", tmp_path / "again")
    assert again.code == 0, again.err
    assert weights(tmp_path / "again") == weights(tmp_path / "student")
    recipe["checksums"][str(run / "model.safetensors")] = "0" * 64  # as of another teacher
    (other := tmp_path / "other.yaml").write_text(yaml.safe_dump(recipe))
    refused(salience("train", "--config", other, "--output", tmp_path / "third"), "has changed since the recipe")


def test_the_number_of_rows_that_is_drawn_keeps_each_text_with_its_probabilities(place, texts, run):
    whole = task_of(recipe_of(place, texts, run), lambda line: None)
    part = task_of(recipe_of(place, texts, run, size=20), lambda line: None)
    known = {text: row.tolist() for text, row in zip(whole.training.texts, whole.taught, strict=True)}
    assert [known[text] for text in part.training.texts] == part.taught.tolist()
    assert (part.taught.argmax(1) == part.training.known_labels).all()


def test_what_cannot_be_taught_is_refused(place, texts, run, salience, tmp_path):
    def distil(*arguments, error):
        refused(salience("distill", *arguments, "--model", place.model, "--output", tmp_path / "student"), error)

    strange = write_csv(tmp_path / "strange.csv", [("the goal", "weather"), ("a song", "music")])
    distil(run, texts, "--test", strange, error='"weather"')
    (empty := tmp_path / "empty.csv").write_text("text\n\n   \n")
    distil(run, empty, "--bad-rows", "skip", error="no row is left")
    distil(run, texts, "--text-pair", "text", "--text", "text", error="text")
    distil(tmp_path / "nowhere", texts, error="nowhere")
    distil(run, texts, "--set", "estimate=folds:2", error="leave out --estimate folds:2")
    distil(run, texts, "--set", "contrastive=0.2", error="leave out --set contrastive=0.2")


def test_a_teacher_of_pairs_is_given_pairs_and_others_single_texts(place, run, salience, tmp_path):
    (pairs := tmp_path / "pairs.csv").write_text(
        "text,text_pair,label\n" + "the goal,a match,yes\na song,soup,no\n" * 10
    )
    answer = salience(*place.train("--output", tmp_path / "teacher", data=pairs))
    assert answer.code == 0, answer.err
    (single := tmp_path / "single.csv").write_text("text\nthe goal\na song\n")
    arguments = ("--model", place.model, "--output", tmp_path / "student")
    refused(salience("distill", tmp_path / "teacher", single, *arguments), "trained on pairs of texts")
    named = ("--text", "text", "--text-pair", "text_pair")
    refused(salience("distill", run, pairs, *named, *arguments), "trained on single texts, not on pairs")


def test_a_limit_of_time_cuts_steps_and_never_the_layers(place, texts, run):
    from salience.errors import InputError
    from salience.training.pace import Pace

    recipe = recipe_of(place, texts, run, steps=100)
    task = task_of(recipe, lambda line: None)
    prepared = prepare(recipe, task)
    pace = Pace(model=1.0, step=1.0, text=0.0)
    assert pace.within(51.0, prepared, task, None) == {"steps": 50}
    with pytest.raises(InputError, match="too short"):
        pace.within(2.0, replace(prepared), task, None)


def test_the_labelling_of_a_teacher_is_counted(place, texts, run):
    seen = Seen()
    with shown(lambda: seen):
        task = task_of(recipe_of(place, texts, run), lambda line: None)
    assert seen.moved_to()[("predicting", 50, "texts")] == pytest.approx(50)
    assert np.allclose(task.taught, load(run, device="cpu").predict_proba(task.training), atol=1e-6)
