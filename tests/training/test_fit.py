"""Validation texts that are read in windows: the Trainer's scores and what selects are those of texts, not windows."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss
from transformers import EvalPrediction

import families
from labelled import write_csv
from long_readers import WORDS
from salience.data.texts import Texts
from salience.papers.vat import turns
from salience.scores.labels import ONE_LABEL
from salience.training.fit import build_trainer, by_length, of_texts, validation_scores
from salience.training.prepare import prepare
from salience.training.recipe import Recipe
from salience.training.run import train
from salience.training.task import task_of


def made_rows(count: int, seed: int) -> list[tuple[str, str]]:
    """Texts of 2 to 60 words with a label of three at random; those of the label "c" are the longest."""
    draw = np.random.default_rng(seed)
    labels = draw.permutation(["a", "b", "c"] * (count // 3))
    return [(" ".join(draw.choice(WORDS, draw.integers(40, 60) if at == "c" else draw.integers(2, 30))), at)
            for at in labels]  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    return SimpleNamespace(
        data=str(write_csv(folder / "rows.csv", made_rows(30, 0))),
        validation=str(write_csv(folder / "validation.csv", made_rows(21, 1))),
        model=str(families.save_tiny_model(folder / "tiny", [" ".join(WORDS)])),
    )


def recipe_of(place, **settings) -> Recipe:
    return Recipe(data=place.data, validation=place.validation, model=place.model, method="plain", long="windows",
                  max_length=10, batch_size=6, device="cpu", pooling="cls", **settings)  # fmt: skip


@pytest.fixture(scope="module")
def evaluated(place, tmp_path_factory):
    """What the Trainer says of the untrained model; and its probabilities of each text, from one window at a time."""
    recipe = recipe_of(place, steps=4)
    task = task_of(recipe, lambda line: None)
    prepared = prepare(recipe, task)
    trainer = build_trainer(prepared, tmp_path_factory.mktemp("checkpoints"))
    classifier, logits = prepared.classifier, []
    found = classifier.passages(task.validation)
    for number in range(len(task.validation)):
        windows = found.texts.take(np.flatnonzero(found.owners == number))
        alone = [classifier.probabilities(classifier.encode_heads(Texts([text])))[0] for text in windows.texts]
        logits.append(np.mean(np.log(np.array(alone, np.float64)), axis=0))
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels = task.validation.known_labels
    return SimpleNamespace(trainer=trainer, scores=trainer.evaluate(), expected=expected, labels=labels)


def test_the_scores_of_an_evaluation_are_those_of_texts(evaluated):
    """The selection adds standard errors of the number of texts; at step 0 there are none of it to add."""
    scores, expected, labels = evaluated.scores, evaluated.expected, evaluated.labels
    assert len(evaluated.trainer.eval_dataset) > 2 * len(labels)
    assert scores["eval_accuracy"] == accuracy_score(labels, expected.argmax(1))
    assert scores["eval_log_loss"] == pytest.approx(log_loss(labels, expected), abs=1e-6)
    evaluated.trainer.state.global_step = evaluated.trainer.state.max_steps = 4
    try:
        last = evaluated.trainer.evaluate()["eval_selection"]
    finally:
        evaluated.trainer.state.global_step = 0
    assert last == pytest.approx(ONE_LABEL.selection(expected, labels, 1.0), abs=1e-9)


def test_an_iteration_of_a_training_by_turns_has_the_accuracy_on_texts(evaluated):
    found = turns.validation_accuracy(evaluated.trainer)
    assert found == accuracy_score(evaluated.labels, evaluated.expected.argmax(1))


def test_the_history_has_the_scores_of_the_finished_run(place, tmp_path):
    run = train(recipe_of(place, steps=4, learning_rate=1e-2), tmp_path / "run", note=lambda line: None)
    history = json.loads((run.folder / "history.json").read_text())
    (best,) = (point for point in history if point["step"] == run.metrics["best_step"])
    scores = run.metrics["validation"]
    assert best["validation_accuracy"] == pytest.approx(scores["accuracy"], abs=1e-9)
    assert best["validation_log_loss"] == pytest.approx(scores["log_loss"], abs=1e-5)
    assert not any(module.training for module in run.classifier.model.modules())  # threads may share it


def test_windows_of_a_text_stay_together_in_order_of_length(evaluated):
    rows = evaluated.trainer.eval_dataset
    assert rows.owners.tolist() == sorted(rows.owners.tolist())
    longest = [max(rows.lengths[rows.owners == number]) for number in range(rows.texts)]
    assert longest == sorted(longest) and by_length(None) is None


def test_probabilities_of_texts_with_several_labels():
    """The mean of the logits ln p - ln (1 - p) of each label: of 0.9 and 0.1 it is 0, so that p is 0.5."""
    given = np.array([[0.9, 0.2], [0.1, 0.2], [0.3, 0.6]])
    probabilities, labels = of_texts(given, np.array([[1, 0], [1, 0], [0, 1]]), np.array([0, 0, 1]))
    assert probabilities == pytest.approx(np.array([[0.5, 0.2], [0.3, 0.6]]), abs=1e-6)
    assert labels.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("prefer_later", [True, False])
def test_later_checkpoints_are_preferred_on_request_only(prefer_later):
    probabilities, labels = np.array([[0.8, 0.2]] * 15 + [[0.3, 0.7]] * 5), np.zeros(20, int)
    found = []
    for step in (1, 10):
        model = SimpleNamespace(config=SimpleNamespace(problem_type="single_label_classification"))
        trainer = SimpleNamespace(model=model, state=SimpleNamespace(global_step=step, max_steps=10))
        scores = validation_scores(trainer, prefer_later, EvalPrediction(np.log(probabilities), labels))
        assert scores["accuracy"] == 0.75
        found.append(scores["selection"])
    error = (16 * 6 / 22**3) ** 0.5
    assert found == pytest.approx([0.75 + 0.2 * error, 0.75 + 2 * error] if prefer_later else [0.75, 0.75])
