"""A recipe in the Trainer's words."""

import numpy as np
import pytest

import families
from salience.classify import TextClassifier
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError
from salience.training.prepare import check_machine, plan_of, training_arguments
from salience.training.recipe import Recipe, default_rates, default_steps
from word_models import word_classifier

TASK = Task(["a", "b", "c"], Texts(["x"] * 6, labels=np.array([0, 1, 2] * 2)))


def arguments(tmp_path, **settings):
    return training_arguments(planned(steps=100, batch_size=32, learning_rate=1e-4, **settings), tmp_path, True)


def planned(model=None, task=TASK, given=False, **settings):
    """What a recipe uses on a model and on texts."""
    classifier = TextClassifier(families.build("bert") if model is None else model, None, 8)
    return plan_of(Recipe("x", precision="fp32", device="cpu", **settings), task, classifier, given)


def test_the_batch_of_a_step_is_the_same_in_pieces_and_on_processes(tmp_path, monkeypatch):
    found = arguments(tmp_path, accumulation=2)
    assert (found.per_device_train_batch_size, found.gradient_accumulation_steps) == (16, 2)
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setattr("salience.training.prepare.TrainingArguments", dict)  # no processes are there to join
    assert arguments(tmp_path, accumulation=2)["per_device_train_batch_size"] == 4


def test_a_batch_that_cannot_be_cut_is_refused():
    with pytest.raises(InputError, match="--batch-size 32 cannot be divided into 3 equal parts"):
        planned(batch_size=32, accumulation=3)


@pytest.mark.parametrize("settings", [{"freeze": 0}, {"contrastive": 0.1}, {"trained_share": 0.5}], ids=str)
def test_a_training_by_turns_has_no_other_techniques(settings):
    with pytest.raises(InputError, match=f"VAT .* has no {next(iter(settings))}"):
        planned(families.attention_classifier(pooling="variational"), **settings)


def test_validation_is_looked_at_as_often_as_asked(tmp_path):
    found = arguments(tmp_path, evaluations=7)
    assert found.eval_steps == 15  # 100 / 7, rounded up
    assert found.warmup_steps == 10


def test_half_precision_without_a_gpu_is_refused_by_name():
    with pytest.raises(InputError, match="--precision fp16 needs a CUDA device"):
        check_machine(Recipe("x", precision="fp16", device="cpu"))


@pytest.mark.parametrize(
    "rows, classes, batch_size, epochs",
    [
        (80, 6, 16, 100 / (80 / 6) ** 0.5),
        (20, 10, 16, 60),  # at the most
        (500_000, 2, 32, 3),  # at the least
    ],
)
def test_the_number_of_steps_follows_the_data(rows, classes, batch_size, epochs):
    assert default_steps(rows, classes, batch_size) == round(epochs * rows / batch_size)


def test_narrow_models_take_larger_steps():
    assert default_rates(768) == (5e-5, 1)
    assert default_rates(384) == (2e-4, 1)
    assert default_rates(384, mean=True) == (5e-5, 10)
    assert default_rates(None) == (pytest.approx(2.95e-3, rel=1e-3), 1)


def test_models_over_words_learn_alike_whatever_their_width():
    width = families.build("bert").config.hidden_size
    assert planned(word_classifier("lstm", hidden_size=6)).learning_rate == default_rates(None)[0]
    for model in (families.attention_classifier(), families.build("bert")):
        assert planned(model).learning_rate == default_rates(width)[0]


@pytest.mark.parametrize(
    "setting, message",
    [
        ({"learning_rate": -1}, "learning_rate=-1: give a number from 0 to 10"),
        ({"steps": "many"}, "steps='many': give a whole number from 1"),
        ({"patience": 1.5}, "patience=1.5: give a whole number from 1"),
        ({"clean": 1.0}, "clean=1.0: give a number from 0 to 0.99"),
        ({"precision": "fp8"}, 'unknown precision "fp8"'),
        ({"bad_rows": "skp"}, 'Did you mean "skip"?'),
    ],
)
def test_settings_out_of_range_are_named(setting, message):
    with pytest.raises(InputError) as caught:
        Recipe("x", **setting)
    assert message in str(caught.value)
