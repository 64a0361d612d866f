"""Folds, the estimate against trainings one by one, killed and resumed, and the share that it chooses."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import yaml
from launching_runs import trained_with_estimate, trained_with_share
from safetensors.torch import load_file
from scipy.special import expit
from sklearn.metrics import accuracy_score, f1_score, log_loss
from transformers import TrainerCallback

import families
from labelled import FILLER, WORDS, labelled_rows, untimed, write_csv
from salience.classify.frozen_encoder import load_frozen
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError
from salience.models import loading
from salience.runs.sentences import estimate_sentences
from salience.scores import held_out
from salience.scores.calibration import (
    half_of_rows,
    label_temperature_of,
    temperature_of,
    with_label_temperature,
    with_temperature,
)
from salience.scores.held_out import chosen_share, cross_chosen, standard_error
from salience.scores.labels import ONE_LABEL
from salience.training import callbacks as resuming
from salience.training import estimate as estimating
from salience.training.baselines import tfidf_probabilities
from salience.training.estimate import (
    SHARES,
    Folds,
    Heads,
    choose_folds,
    fold_numbers,
    fold_result,
    heads_alone,
    more_folds,
    obstacle,
    plan_estimate,
    prepared_fold,
    recipe_of_folds,
    usual_estimate,
    usual_folds,
)
from salience.training.fit import Listeners
from salience.training.head import last_map
from salience.training.prepare import prepare
from salience.training.recipe import Recipe
from salience.training.run import train
from salience.training.task import task_of
from word_models import bits


def texts_of(labels, texts=None, **known) -> Texts:
    texts = [f"text {number}" for number in range(len(labels))] if texts is None else texts
    return Texts(list(texts), labels=np.array(labels), **known)


def task_with(texts: Texts, **parts) -> Task:
    return Task([f"class {number}" for number in range(texts.known_labels.max() + 1)], texts, **parts)


def folds_of(texts: Texts, estimate: str | None = None, said: list | None = None, **settings):
    note = (lambda line: None) if said is None else said.append
    return choose_folds(Recipe("x", estimate=estimate, **settings), task_with(texts), note)


@pytest.mark.parametrize("count", [2, 3, 5, 20])
def test_classes_are_spread_evenly(count):
    labels = np.repeat([0, 1, 2], [60, 41, 20])
    numbers = fold_numbers(texts_of(labels), count, 0)
    assert set(numbers) == set(range(1, count + 1))
    for label in range(3):
        sizes = np.bincount(numbers[labels == label], minlength=count + 1)[1:]
        assert sizes.max() - sizes.min() <= 1
    assert not np.array_equal(numbers, fold_numbers(texts_of(labels), count, 1))
    assert np.array_equal(numbers, fold_numbers(texts_of(labels), count, 0))


@pytest.mark.parametrize("count", [2, 5])
def test_no_group_is_divided(count):
    random = np.random.default_rng(0)
    groups = [f"author {number}" for number in random.integers(0, 40, 300)]
    labels = random.integers(0, 3, 300)
    numbers = fold_numbers(texts_of(labels, groups=groups), count, 0)
    for group in set(groups):
        assert len({number for number, of in zip(numbers, groups, strict=True) if of == group}) == 1
    assert np.bincount(numbers)[1:].min() > 300 / count / 2
    for label in range(3):  # as evenly as the groups allow
        sizes = np.bincount(numbers[labels == label], minlength=count + 1)[1:]
        assert sizes.max() - sizes.min() <= 12


def test_equal_texts_are_one_group_and_space_around_them_is_ignored():
    texts = [f"text {number % 25}" + " " * (number // 25) for number in range(100)]
    numbers = fold_numbers(texts_of(np.arange(100) % 2, texts), 5, 0)
    together = {}
    for text, number in zip(texts, numbers, strict=True):
        together.setdefault(text.strip(), set()).add(number)
    assert all(len(found) == 1 for found in together.values()) and len(set(numbers)) == 5


def test_pairs_are_equal_if_both_texts_are():
    first, second = ["a", "a", "b", "b", "c", "c"] * 4, ["x", "y"] * 12
    numbers = fold_numbers(Texts(first, second, np.array([0, 1] * 12)), 2, 0)
    for pair in set(zip(first, second, strict=True)):
        assert len({n for n, of in zip(numbers, zip(first, second, strict=True), strict=True) if of == pair}) == 1
    assert len(set(numbers)) == 2


def test_named_groups_take_the_place_of_equal_texts():
    """Then equal texts of two authors may be in two parts."""
    texts = texts_of([0, 1] * 10, ["same"] * 20, groups=[str(number) for number in range(20)])
    assert len(set(fold_numbers(texts, 2, 0))) == 2
    assert obstacle(texts_of([0, 1] * 10, ["same"] * 20), 2) == "the rows have only 1 text"


@pytest.mark.parametrize(
    ("texts", "kind", "message"),
    [
        (texts_of([0, 0, 1, 1, 2]), "folds:3", "parts, but no class has more than 2 rows: use --estimate folds:2, or"),
        (texts_of([0, 0, 1, 1, 2]), "holdout", "into 5 parts, but no class has more than 2 rows"),
        (texts_of([0, 1, 2]), "folds:2", "into 2 parts, but no class has more than 1 row: add rows, or use"),
        (texts_of([0, 1] * 9, "abc" * 6), "folds:5", "the rows have only 3 texts"),
        (texts_of([0, 1] * 9, groups=["a"] * 18), "folds:2", "the rows have only 1 group"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_divided(texts, kind, message):
    with pytest.raises(InputError) as error:
        folds_of(texts, kind)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_without_an_estimate_a_line_says_that_nothing_is_calibrated():
    said = []
    assert folds_of(texts_of([0, 1] * 4), "none", said) is None
    assert said == ["no estimate, so probabilities are not calibrated"]


def test_a_run_that_leaves_the_estimate_open_goes_on_without_one():
    said = []
    assert folds_of(texts_of([0, 1, 2]), said=said) is None
    assert said == ["no estimate, so probabilities are not calibrated: no class has more than 1 row"]
    assert usual_estimate(task_with(texts_of([0, 1, 2]))) == "none"
    rows = texts_of([0, 1] * 4)
    assert usual_estimate(task_with(rows)) == "folds:2"
    assert usual_estimate(task_with(rows, test=rows)) == "folds:2"
    assert usual_estimate(task_with(rows, validation=rows)) == "none"
    for count, kind in ((10, "folds:10"), (7, "folds:5"), (4, "folds:2"), (1, "none")):
        assert usual_estimate(task_with(texts_of([0, 1] * count)), 10) == kind
    many = texts_of([0, 1] * 2500)
    assert usual_estimate(task_with(many)) == "folds:2" and usual_estimate(task_with(many, test=rows)) == "none"


def test_classes_in_one_part_are_named_once():
    said = []
    labels = np.repeat([0, 1, 2, 3], [20, 15, 1, 1])
    folds = folds_of(texts_of(labels), "folds:3", said)
    (line,) = said
    assert line.startswith('estimate: all rows of "class 2", "class 3" are in one fold')
    assert Counter(folds.numbers[labels == 2].tolist()).total() == 1


def test_of_a_holdout_only_the_first_part_counts():
    labels, said = np.repeat([0, 1], [50, 5]), []
    folds = folds_of(texts_of(labels, groups=["a"] * 10 + [str(n) for n in range(40)] + ["b"] * 5), "holdout", said)
    inside = folds.numbers[labels == 1][0] == 1
    assert len(said) == int(inside) and folds.predicted == [1]


def test_groups_without_an_estimate():
    with pytest.raises(InputError, match=r'^--group "author" has no effect without an estimate: add --estimate .*$'):
        folds_of(texts_of([0, 1] * 4, groups=list("abcdefgh")), "none", group="author")


def test_groups_of_which_there_is_only_one():
    said = r'^--group "author" has no effect without an estimate: none can be made, because the rows have only 1 group'
    with pytest.raises(InputError, match=said):
        folds_of(texts_of([0, 1] * 4, groups=["a"] * 8), None, group="author")


def test_groups_of_rows_that_are_held_out_need_no_estimate():
    """--validation-share does not divide them. The rows of a --validation file are others, and have no groups."""
    rows = texts_of([0, 1] * 4, groups=list("abcdefgh"))
    task = Task(["x", "y"], rows.take(range(6)), rows.take([6, 7]))
    given = Recipe("x", group="author", estimate="none", validation_share=0.25)
    assert choose_folds(given, task, print) is None
    with pytest.raises(InputError, match=r'^--group "author" has no effect without an estimate'):
        choose_folds(replace(given, validation="other.csv", validation_share=0.0), task, print)


def test_steps_follow_from_the_rows_if_those_of_the_run_do():
    def plan_of(recipe, rows):
        return recipe.resolved(rows, 2, 384, pooling="cls", head_start="random", max_length=8)

    asked = Recipe("x", learning_rate=0.1)
    run = plan_of(asked, 100)
    parts = recipe_of_folds(run, 100, 2)
    assert parts.steps is None and plan_of(parts, 50).steps == plan_of(asked, 50).steps != run.steps
    longer = recipe_of_folds(plan_of(Recipe("x", steps_factor=2.5), 100), 100, 2)
    assert plan_of(longer, 50).steps == round(2.5 * 62)
    assert plan_of(recipe_of_folds(plan_of(Recipe("x", steps=7), 100), 100, 2), 50).steps == 7
    large = recipe_of_folds(plan_of(Recipe("x"), 3000), 3000, 2)
    assert plan_of(large, 1500).batch_size == 32  # that of the run


@pytest.mark.parametrize("value", ["folds:1", "folds:21", "folds:", "folds:2.0", "folds", "Holdout", "5", 5, True, ""])
def test_kinds_that_are_none(value):
    with pytest.raises(InputError, match=r"^estimate=.*: give none, holdout, or folds:K"):
        Recipe("x", estimate=value)


@pytest.mark.parametrize("value", ["none", "holdout", "folds:2", "folds:20", None])
def test_kinds_of_estimates(value):
    assert Recipe("x", estimate=value).estimate == value


ROWS = labelled_rows(30)
SILENT = {"note": lambda line: None}


class Killed(Exception):
    """Stands for a process that is killed."""


class Watch(TrainerCallback):
    """Counts trainings and steps, and kills the n-th training at a step."""

    def __init__(self, at: tuple[int, int] | None = None):
        self.at, self.steps = at, []

    def on_train_begin(self, args, state, control, **_):
        self.steps.append(0)

    def on_step_end(self, args, state, control, **_):
        self.steps[-1] += 1
        if (len(self.steps), state.global_step) == self.at:
            raise Killed


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    return SimpleNamespace(
        folder=folder,
        data=str(write_csv(folder / "rows.csv", ROWS)),
        test=str(write_csv(folder / "test.csv", labelled_rows(9, seed=1))),
        model=str(families.save_tiny_model(folder / "tiny", [*WORDS.values(), " ".join(FILLER)], dropout=0.1)),
    )


def recipe_of(place, **settings) -> Recipe:
    usual = {"data": place.data, "model": place.model, "method": "plain", "steps": 4, "batch_size": 8,
             "device": "cpu", "calibrate": False}  # fmt: skip
    return Recipe(**usual | settings)


def read(folder: Path) -> tuple[dict, list[dict], dict]:
    """The metrics, the lines and the arrays of the rows that were estimated."""
    lines = (folder / "out_of_fold.jsonl").read_text(encoding="utf-8").splitlines()
    with np.load(folder / "out_of_fold.npz", allow_pickle=False) as arrays:
        found = dict(arrays)
    return json.loads((folder / "metrics.json").read_text()), [json.loads(line) for line in lines], found


def timeless(folder: Path) -> dict:
    """Every file of a run without the times that it took."""
    found = untimed(folder)
    metrics = found["metrics.json"]
    assert metrics["estimate"].pop("seconds") >= 0
    return found


@pytest.fixture(scope="module")
def whole(place, tmp_path_factory):
    """A run of three folds with SSMix, how often it took a step, and how often a file of weights was read."""
    watch, loaded, usual = Watch(), [], loading._pretrained
    folder = tmp_path_factory.mktemp("whole") / "run"
    recipe = recipe_of(place, estimate="folds:3", method="ssmix", steps=None, steps_factor=0.1, batch_size=16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "_pretrained", lambda *given, **named: loaded.append(1) or usual(*given, **named))
        run = train(recipe, folder, callbacks=[watch], **SILENT)
    return SimpleNamespace(run=run, recipe=recipe, folder=folder, steps=watch.steps, loaded=len(loaded))


# ------------------------------------------------------------------------------------ against trainings, one by one


@pytest.mark.parametrize("number", [*(pytest.param(each, marks=pytest.mark.whole) for each in (1, 2)), 3])
def test_a_fold_is_predicted_as_by_a_run_of_the_other_rows(number, whole, place, tmp_path):
    """With the rows of the fold as test rows. The number of steps follows from the rows that are left."""
    _, lines, arrays = read(whole.folder)
    inside = [line["row"] - 1 for line in lines if line["fold"] == number]
    rest = write_csv(tmp_path / "rest.csv", [row for index, row in enumerate(ROWS) if index not in inside])
    held = write_csv(tmp_path / "held.csv", [ROWS[index] for index in inside])
    watch = Watch()
    alone = train(replace(whole.recipe, data=str(rest), test=str(held), estimate="none"), tmp_path / "run",
                  callbacks=[watch], **SILENT)  # fmt: skip
    assert np.array_equal(alone.predictions.probabilities, arrays["probabilities"][arrays["fold"] == number])
    estimate = whole.run.metrics["estimate"]
    assert watch.steps == [estimate["steps"][number - 1]] and estimate["training_rows"][number - 1] == 30 - len(inside)


def test_whether_a_temperature_can_be_folded_in_is_seen_on_two_texts(place):
    """The model predicts them before and after its last map is divided."""
    recipe, seen = recipe_of(place, estimate="folds:3", calibrate=None), []
    task = task_of(recipe, seen.append)
    prepared = prepare(recipe, task)
    count = lambda model, given, named: seen.append(len(named["input_ids"]))  # noqa: E731
    prepared.model.register_forward_pre_hook(count, with_kwargs=True)
    seen.clear()
    assert plan_estimate(prepared, task, pytest.fail).calibrated
    assert seen == [2, 2]


def test_the_weights_are_read_once_for_all_models(whole):
    assert whole.loaded == 1


def test_the_model_is_that_of_a_run_without_an_estimate(whole, tmp_path):
    plain = train(replace(whole.recipe, estimate="none"), tmp_path / "run", **SILENT)
    assert bits(plain.classifier.model) == bits(whole.run.classifier.model)
    assert "estimate" not in plain.metrics and not (plain.folder / "out_of_fold.npz").exists()
    same = [{name: run.metrics[name] for name in ("rows", "steps", "text_passes")} for run in (plain, whole.run)]
    assert same[0] == same[1]


def test_scores_are_those_of_the_rows_in_their_order(whole):
    metrics, lines, arrays = read(whole.folder)
    estimate, names = metrics["estimate"], sorted(WORDS)
    assert [line["row"] for line in lines] == list(range(1, 31))
    assert [(line["text"], line["label"]) for line in lines] == ROWS
    predicted = arrays["probabilities"].argmax(1)
    assert [line["predicted"] for line in lines] == [names[number] for number in predicted]
    assert np.allclose([line["probabilities"] for line in lines], arrays["probabilities"], atol=1e-6)
    assert arrays["names"].tolist() == names and [line["fold"] for line in lines] == arrays["fold"].tolist()
    truth = [label for _, label in ROWS]
    said = [line["predicted"] for line in lines]
    assert estimate["accuracy"] == accuracy_score(truth, said)
    assert estimate["macro_f1"] == pytest.approx(f1_score(truth, said, average="macro", zero_division=0))
    expected = ONE_LABEL.detailed(arrays["probabilities"], arrays["labels"])
    assert {name: estimate[name] for name in expected} == expected
    assert (estimate["kind"], estimate["rows"]) == ("folds:3", 30)
    for score in ("accuracy", "macro_f1"):
        low, high = estimate[f"{score}_interval"]
        assert low < estimate[score] < high


def test_baselines_predict_the_same_rows_without_having_seen_them(whole):
    metrics, lines, arrays = read(whole.folder)
    labels, texts = arrays["labels"], [line["text"] for line in lines]
    shares, regressed = np.zeros((30, 3), np.float32), np.zeros((30, 3), np.float32)
    for row in range(30):
        others = np.flatnonzero(arrays["fold"] != arrays["fold"][row])
        shares[row] = [np.mean(labels[others] == number) for number in range(3)]
        seen = Texts([texts[other] for other in others], labels=labels[others])
        regressed[row] = tfidf_probabilities(seen, Texts([texts[row]]), 3)
    scores = metrics["estimate"]["baselines"]
    assert scores["majority class"] == ONE_LABEL.detailed(shares, labels)
    assert scores["TF-IDF + logistic regression"] == pytest.approx(ONE_LABEL.detailed(regressed, labels), nan_ok=True)


def test_the_cost_is_counted_beside_that_of_the_run(whole):
    metrics = whole.run.metrics
    estimate = metrics["estimate"]
    assert whole.steps == [*estimate["steps"], metrics["steps"]]
    assert estimate["text_passes"] == pytest.approx(sum(estimate["steps"]) * 16 * 2)  # a step of SSMix is two passes
    assert metrics["text_passes"] == metrics["steps"] * 16 * 2
    assert 0 < estimate["seconds"] <= metrics["seconds"]


def test_steps_that_are_given_are_those_of_all_models(place, tmp_path):
    watch = Watch()
    train(recipe_of(place, estimate="folds:2"), tmp_path / "run", callbacks=[watch], **SILENT)
    assert watch.steps == [4, 4, 4]


@pytest.mark.whole
def test_a_recipe_repeats_the_estimate(whole, place, tmp_path):
    import yaml

    again = Recipe.from_mapping(yaml.safe_load((whole.folder / "recipe.yaml").read_text()))
    assert again.steps is not None  # nothing is left open in it
    train(again, tmp_path / "run", **SILENT)
    assert timeless(tmp_path / "run") == timeless(whole.folder)


def test_holdout_trains_one_model_on_four_fifths(place, tmp_path):
    watch = Watch()
    run = train(recipe_of(place, estimate="holdout"), tmp_path / "run", callbacks=[watch], **SILENT)
    _, lines, arrays = read(run.folder)
    estimate = run.metrics["estimate"]
    assert watch.steps == [4, 4]
    assert (estimate["rows"], estimate["training_rows"], estimate["kind"]) == (6, [24], "holdout")
    assert {line["fold"] for line in lines} == {1} and len(arrays["labels"]) == 6
    assert sorted(line["label"] for line in lines) == sorted([*WORDS, *WORDS])


def test_rows_held_out_of_the_same_file_are_labelled_rows_too(place, tmp_path):
    """Each is predicted by a model that was not trained on it; rows of a file of their own are not."""
    run = train(recipe_of(place, estimate="folds:2", validation_share=0.2), tmp_path / "run", **SILENT)
    assert run.metrics["rows"] == {"training": 24, "validation": 6} and run.metrics["judged_on"] == "validation"
    assert [line["row"] for line in read(run.folder)[1]] == list(range(1, 31))
    given = recipe_of(place, estimate="folds:2", validation=place.test)
    assert len(choose_folds(given, task_of(given, print), print).texts) == 30


# ---------------------------------------------------------------------------------------------- what a run makes of it


@pytest.mark.parametrize(
    ("settings", "kind"),
    [({}, "folds:2"), ({"test": True}, "folds:2"), ({"validation_share": 0.2}, None), ({"validation": True}, None),
     ({"estimate": "none"}, None), ({"steps_factor": 0.25}, "folds:5"),
     ({"trained_layers": 0, "steps": None}, "folds:10"),
     ({"validation": True, "estimate": "holdout"}, "holdout")],
)  # fmt: skip
def test_the_usual_estimate(settings, kind, place):
    files = {name: place.test for name in ("test", "validation") if name in settings}
    recipe = recipe_of(place, **settings | files)
    folds = choose_folds(recipe, task_of(recipe, print), print)
    assert (folds and folds.kind) == kind


def test_many_rows_have_two_folds_whatever_the_effort_is():
    for rows, folds in ((1999, 5), (2000, 2)):
        assert usual_folds(Recipe("x", steps_factor=0.25), rows) == folds


def test_the_files_are_in_the_manifest_and_nothing_else_is_left(place, whole, tmp_path):
    names = {file.name for file in whole.folder.iterdir()}
    assert {"out_of_fold.jsonl", "out_of_fold.npz"} <= names
    assert set(json.loads((whole.folder / "manifest.json").read_text())["files"]) == names
    folder = tmp_path / "run"
    train(recipe_of(place, estimate="holdout"), folder, **SILENT)
    train(recipe_of(place, estimate="none"), folder, overwrite=True, **SILENT)
    assert not (folder / "out_of_fold.npz").exists() and [file.name for file in tmp_path.iterdir()] == ["run"]


def test_trackers_are_told_of_the_run_alone(place, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("salience.training.callbacks.Tracking.open", tracked(opened))
    train(recipe_of(place, estimate="folds:2"), tmp_path / "run", report_to=["tensorboard"], **SILENT)
    assert opened == [(), (), ("tensorboard",)]


def tracked(opened: list):
    from contextlib import nullcontext

    def open_with(self):
        opened.append(tuple(self.trackers))
        return nullcontext()

    return open_with


# ---------------------------------------------------------------------------------------------------- interrupted runs


KILLS = [(at, seconds) for at in [(1, 1), (1, 3), (2, 2), (3, 1), (4, 2)] for seconds in (0, 60)]
QUICK = [((2, 2), 0)]


@pytest.mark.parametrize(
    ("at", "seconds"),
    [pytest.param(*each, marks=[] if each in QUICK else pytest.mark.whole, id=str(each)) for each in KILLS],
)
def test_a_killed_run_ends_with_the_same_files(at, seconds, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(resuming, "SECONDS", seconds)
    with pytest.raises(Killed):
        train(whole.recipe, tmp_path / "run", callbacks=[Watch(at)], **SILENT)
    kept = {file.name for file in (tmp_path / ".run.partial" / "checkpoints" / "estimate").glob("*.npz")}
    assert kept == {f"fold-{number}.npz" for number in range(1, min(at[0], 4))}
    watch = Watch()
    train(whole.recipe, tmp_path / "run", resume=True, callbacks=[watch], **SILENT)
    assert len(watch.steps) == 4 - at[0] + 1  # finished folds are not trained again
    assert watch.steps[0] == whole.steps[at[0] - 1] - (at[1] - 1 if seconds == 0 else 0)
    assert timeless(tmp_path / "run") == timeless(whole.folder)


@pytest.mark.whole
def test_a_run_killed_while_a_fold_is_written(whole, tmp_path, monkeypatch):
    def fail(*arguments, **named):
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(estimating.np, "savez", fail)
        train(whole.recipe, tmp_path / "run", **SILENT)
    assert not list((tmp_path / ".run.partial" / "checkpoints" / "estimate").glob("*.npz"))
    train(whole.recipe, tmp_path / "run", resume=True, **SILENT)
    assert timeless(tmp_path / "run") == timeless(whole.folder)


def test_a_fold_of_other_rows_is_not_taken_over(tmp_path):
    def ready():
        raise Killed

    def folds_of(numbers) -> Folds:
        return Folds("folds:2", Texts(list("abcd"), labels=np.arange(4) % 2), np.array(numbers))

    rows, probabilities = np.array([1, 3]), np.full((1, 2, 3), 1 / 3, np.float32)
    np.savez(tmp_path / "fold-2.npz", rows=rows, probabilities=probabilities, numbers=np.array([4, 2, 8.0, 0.25]))
    found = fold_result(folds_of([1, 2, 1, 2]), 2, 3, tmp_path, ready, Listeners())
    assert np.array_equal(found["probabilities"], probabilities) and found["numbers"].tolist() == [4, 2, 8.0, 0.25]
    for numbers, classes in (([1, 2, 2, 1], 3), ([1, 2, 1, 2], 2)):
        with pytest.raises(Killed):
            fold_result(folds_of(numbers), 2, classes, tmp_path, ready, Listeners())


def test_another_estimate_does_not_continue_a_run(whole, tmp_path):
    with pytest.raises(Killed):
        train(whole.recipe, tmp_path / "run", callbacks=[Watch((2, 1))], **SILENT)
    with pytest.raises(InputError, match=r"had estimate='folds:3', not 'holdout'"):
        train(replace(whole.recipe, estimate="holdout"), tmp_path / "run", resume=True, **SILENT)


def launched(*given):
    """A training of launching_runs.py in two processes."""
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [sys.executable, *launch, Path(__file__).with_name("launching_runs.py"), *given]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.whole
def test_two_processes_estimate_as_one_does(place, tmp_path):
    alone = trained_with_estimate(place.data, str(tmp_path / "alone"))
    done = launched("trained_with_estimate", place.data, tmp_path / "both")
    assert done.returncode == 0, done.stderr[-3000:]
    both, one = read(tmp_path / "both"), read(alone.folder)
    assert np.allclose(both[2]["probabilities"], one[2]["probabilities"], rtol=0, atol=1e-5)
    assert np.array_equal(both[2]["fold"], one[2]["fold"])
    for name in ("training_rows", "steps", "text_passes", "accuracy_interval"):
        assert both[0]["estimate"][name] == one[0]["estimate"][name]


# ---------------------------------------------------------------------------------------- other models


@pytest.mark.parametrize(
    "settings",
    [{"model": "attention:additive", "model_options": {"encoder": "lstm", "width": 8}},
     {"model": "lstm-vat", "model_options": {"width": 8}, "procedure_options": {"iterations": 1}}],
    ids=["words", "turns"],
)  # fmt: skip
def test_every_procedure_is_estimated(settings, place, tmp_path):
    """Models over words have a vocabulary of the rows that they are trained on."""
    recipe = recipe_of(place, estimate="folds:2", **settings)
    run = train(recipe, tmp_path / "run", **SILENT)
    _, lines, arrays = read(run.folder)
    inside = [line["row"] - 1 for line in lines if line["fold"] == 2]
    rest = write_csv(tmp_path / "rest.csv", [row for index, row in enumerate(ROWS) if index not in inside])
    held = write_csv(tmp_path / "held.csv", [ROWS[index] for index in inside])
    alone = train(replace(recipe, data=str(rest), test=str(held), estimate="none"), tmp_path / "alone", **SILENT)
    assert np.array_equal(alone.predictions.probabilities, arrays["probabilities"][arrays["fold"] == 2])


def test_a_class_of_one_row_is_predicted_by_a_model_that_has_not_seen_it(place, tmp_path):
    rows = [*labelled_rows(12), ("a rare one", "rare")]
    said = []
    data = str(write_csv(tmp_path / "rare.csv", rows))
    run = train(recipe_of(place, data=data, class_weights="auto"), tmp_path / "run", note=said.append)
    (line,) = (line for line in said if '"rare"' in line and "a new head is initialised" not in line)
    assert "are in one fold, whose model never saw" in line
    assert run.metrics["estimate"]["rows"] == 13


def noisy(labels, classes, noise, seed):
    """Probabilities that are right as often as the noise of their logits admits."""
    logits = 3 * np.eye(classes)[labels] + noise * np.random.default_rng(seed).normal(size=(len(labels), classes))
    exponents = np.exp(logits)
    return exponents / exponents.sum(1, keepdims=True)


@pytest.fixture
def labels():
    return np.random.default_rng(0).integers(0, 4, 200)


def test_the_share_with_the_lowest_log_loss_is_chosen(labels):
    probabilities = np.stack([noisy(labels, 4, noise, seed) for seed, noise in enumerate((1.0, 2.0, 3.0))])
    losses = [log_loss(labels, with_temperature(each, temperature_of(each, labels))) for each in probabilities]
    assert chosen_share(probabilities, labels) == np.argmin(losses) == 0
    assert chosen_share(probabilities[[2, 0, 1]], labels) == 1


def test_of_several_labels_the_share_with_the_lowest_log_loss_of_decisions_is_chosen():
    labels = np.random.default_rng(0).integers(0, 2, (200, 5))
    probabilities = np.stack([
        expit((2 * labels - 1) * 2 + noise * np.random.default_rng(seed).normal(size=labels.shape))
        for seed, noise in enumerate((3.0, 1.0, 2.0))
    ])  # fmt: skip
    losses = [
        log_loss(labels.ravel(), with_label_temperature(each, label_temperature_of(each, labels)).ravel())
        for each in probabilities
    ]
    assert chosen_share(probabilities, labels) == np.argmin(losses) == 1
    np.testing.assert_array_equal(cross_chosen(probabilities, labels, 1), probabilities[1])


def test_the_trained_weights_are_kept_unless_a_share_is_clearly_better(labels):
    """A share that is as good but for chance is better by a standard error in about 16 % of the cases."""
    trained = noisy(labels, 4, 2.0, 0)
    assert chosen_share(np.stack([trained, trained, trained]), labels) == 2
    pairs = [np.stack([noisy(labels, 4, 2.0, seed), noisy(labels, 4, 2.0, seed + 100)]) for seed in range(100)]
    assert 0.05 < np.mean([chosen_share(pair, labels) == 0 for pair in pairs]) < 0.3


def test_the_standard_error_over_groups_is_that_of_a_bootstrap_over_groups():
    generator = np.random.default_rng(0)
    groups = generator.integers(0, 300, 1500)
    values = generator.normal(size=300)[groups] + generator.normal(size=1500)
    members = [np.flatnonzero(groups == number) for number in range(300)]
    draws = [values[np.concatenate([members[n] for n in generator.integers(0, 300, 300)])].mean() for _ in range(2000)]
    assert standard_error(values, groups) == pytest.approx(np.std(draws), rel=0.05)
    assert standard_error(values) == pytest.approx(values.std(ddof=1) / 1500**0.5)
    assert standard_error(values) < standard_error(values, groups) / 1.5


def test_rows_that_are_repeated_in_their_group_choose_what_they_choose_alone(labels):
    """As many copies of a row make a chance difference certain, unless the copies count as one."""
    pairs = [np.stack([noisy(labels, 4, 2.0, seed), noisy(labels, 4, 2.0, seed + 100)]) for seed in range(20)]
    alone = [chosen_share(pair, labels) for pair in pairs]
    copies = np.repeat(np.arange(200), 25)
    assert [chosen_share(pair[:, copies], labels[copies], copies) for pair in pairs] == alone
    assert [chosen_share(pair[:, copies], labels[copies]) for pair in pairs] != alone


def test_a_single_group_chooses_nothing(labels):
    pair = np.stack([noisy(labels, 4, 1.0, 0), noisy(labels, 4, 3.0, 1)])
    assert chosen_share(pair, labels, np.zeros(200)) == 1


def test_a_single_row_chooses_nothing():
    assert chosen_share(np.array([[[0.9, 0.1]], [[0.1, 0.9]]]), np.array([0])) == 1


def test_no_row_is_scored_by_a_share_that_it_has_chosen(labels):
    """Changing the rows of one half changes the shares of the other half alone."""
    good, bad = noisy(labels, 4, 1.0, 1), noisy(labels, 4, 4.0, 2)
    groups = np.arange(200) % 20
    first = half_of_rows(groups, 0)
    found = cross_chosen(np.stack([good, bad]), labels, 0, groups)
    np.testing.assert_array_equal(found, good)  # both halves say so
    mixed = np.stack([np.where(first[:, None], bad, good), np.where(first[:, None], good, bad)])
    found = cross_chosen(mixed, labels, 1, groups)
    # For the first half the trained weights are better, and so the rows of the other half are predicted with them.
    np.testing.assert_array_equal(found.argmax(1), bad.argmax(1))
    np.testing.assert_array_equal(found[~first], bad[~first])


def test_another_share_is_brought_to_the_confidence_of_the_kept_one(labels):
    """Shares that differ by their temperatures alone: the rows fit one temperature, that of the kept share."""
    groups = np.arange(200) % 20
    first = half_of_rows(groups, 0)
    base = np.where(first[:, None], noisy(labels, 4, 3.0, 1), noisy(labels, 4, 3.0, 2))
    other = noisy(labels, 4, 1.0, 3)
    # Either half is predicted better by another share, and so each is predicted with the share that is worse for it.
    shares = np.stack([
        with_temperature(np.where(first[:, None], base, other), 3.0), np.where(first[:, None], other, base)
    ])  # fmt: skip
    temperatures = [temperature_of(each, labels) for each in shares]
    for kept in (0, 1):
        found = with_temperature(cross_chosen(shares, labels, kept, groups), temperatures[kept])
        expected = [with_temperature(each, number) for each, number in zip(shares, temperatures, strict=True)]
        np.testing.assert_allclose(found, np.where(first[:, None], *expected), rtol=1e-6)


def test_the_regression_is_the_first_of_the_shares_and_the_trained_weights_the_last():
    assert (SHARES[0], SHARES[-1]) == (0, 1) and sorted(SHARES) == list(SHARES)


@pytest.fixture(scope="module")
def mean_place(tmp_path_factory):
    """Rows, and an encoder that sentence-transformers uses with a mean."""
    folder = tmp_path_factory.mktemp("mean_place")
    model = families.save_tiny_model(folder / "mean", [*WORDS.values(), " ".join(FILLER)])
    (model / "1_Pooling").mkdir()
    (model / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    return SimpleNamespace(data=str(write_csv(folder / "rows.csv", labelled_rows(24))), model=str(model))


def run_of(mean_place, output, **settings):
    recipe = Recipe(mean_place.data, model=mean_place.model, device="cpu", steps=3, calibrate=False, **settings)
    return train(recipe, output, note=lambda line: None)


def weights_of(run):
    return {name: weight.detach().clone() for name, weight in run.classifier.model.named_parameters()}


def test_the_model_of_a_run_has_the_share_that_its_estimate_chooses(mean_place, tmp_path, monkeypatch):
    monkeypatch.setattr(held_out, "chosen_share", lambda probabilities, labels, groups=None: 1)
    chosen = run_of(mean_place, tmp_path / "chosen", estimate="folds:2")
    assert chosen.metrics["estimate"]["trained_share"] == SHARES[1] == 0.5
    said = "saved weights: 0.5 x fine-tuned + 0.5 x initial"
    assert any(line.startswith(said) for line in estimate_sentences(chosen.metrics))
    named = run_of(mean_place, tmp_path / "named", estimate="none", trained_share=0.5)
    for name, weight in weights_of(named).items():
        assert torch.allclose(weights_of(chosen)[name], weight, atol=1e-7), name


@pytest.mark.whole
def test_what_the_regression_gains_by_more_rows_is_told(mean_place, tmp_path):
    """Eight rows a class have five folds at most; an estimate with as many has no more to tell."""
    halves = run_of(mean_place, tmp_path / "halves", estimate="folds:2").metrics
    found = halves["estimate"]
    more = found["head_alone_of_more"]
    assert more["kind"] == "folds:5" and more["accuracy"] != found["head_alone"]["accuracy"]
    about = min(1.0, found["accuracy"] + more["accuracy"] - found["head_alone"]["accuracy"])
    assert any(f"expect about {about:.3f} of the saved model" in line for line in estimate_sentences(halves))
    fifths = run_of(mean_place, tmp_path / "fifths", estimate="folds:5").metrics
    assert fifths["estimate"]["head_alone"] == {name: more[name] for name in more if name != "kind"}
    assert not any("expect about" in line for line in estimate_sentences(fifths))


def test_what_more_rows_bring_is_of_the_rows_of_the_estimate(mean_place, tmp_path, monkeypatch):
    """A holdout predicts a fifth of the rows, and more folds all of them; large groups have no more folds."""
    data = str(write_csv(tmp_path / "rows.csv", labelled_rows(36)))
    recipe = Recipe(data, model=mean_place.model, device="cpu", steps=1, calibrate=False, estimate="holdout")
    wrong = np.full((36, 3), 1 / 3, np.float32)  # every row is predicted as of the first class
    monkeypatch.setattr(estimating, "heads_alone", lambda prepared, task, divisions: [
        Heads(wrong[np.isin(each.numbers, each.predicted)], {}, 0.0) for each in divisions
    ])  # fmt: skip
    found = train(recipe, tmp_path / "run", note=lambda line: None).metrics["estimate"]
    assert found["head_alone_of_more"] == {"kind": "folds:10"} | found["head_alone"]
    grouped = texts_of([0, 1] * 30, groups=["a"] * 40 + [str(number) for number in range(20)])
    task, plan = task_with(grouped), Recipe("x", group="g", estimate="folds:2")
    folds = choose_folds(plan, task, lambda line: None)
    monkeypatch.setattr(estimating, "fold_numbers", refuse)
    assert more_folds(plan, task, folds) == []


def refuse(*arguments):
    raise InputError("the groups are too large")


def test_no_step_is_made_where_the_estimate_chooses_the_regression(mean_place, tmp_path, monkeypatch):
    """The model, but for its temperature, is the one that `trained_layers=0` gives at once."""
    monkeypatch.setattr(held_out, "chosen_share", lambda probabilities, labels, groups=None: 0)
    chosen = run_of(mean_place, tmp_path / "chosen", estimate="folds:2")
    assert (chosen.metrics["steps"], chosen.metrics["estimate"]["trained_share"]) == (0, 0)
    assert any("saved weights: the head alone" in line for line in estimate_sentences(chosen.metrics))
    recipe = Recipe(mean_place.data, model=mean_place.model, device="cpu", trained_layers=0, calibrate=False,
                    head_strength=1.0, estimate="folds:2")  # fmt: skip
    alone = train(recipe, tmp_path / "alone", note=lambda line: None)
    for name, weight in weights_of(alone).items():
        assert torch.equal(weights_of(chosen)[name], weight), name
    start = load_frozen(mean_place.model, device="cpu").model.state_dict()
    encoder = alone.classifier.model.base_model.state_dict()
    assert all(torch.equal(encoder[name], weight) for name, weight in start.items() if not name.startswith("pooler."))
    plan, estimate = alone.recipe, alone.metrics["estimate"]
    assert (plan["steps"], plan["method"], plan["head_start"], plan["trained_share"]) == (0, "plain", "logistic", 1)
    assert estimate["accuracy"] == chosen.metrics["estimate"]["head_alone"]["accuracy"]
    assert "head_alone" not in estimate and "trained_share" not in estimate


@pytest.mark.parametrize("case", [
    "several labels", "marks", *(pytest.param(case, marks=pytest.mark.whole) for case in
                        ("rows", "weights", "descriptions", "windows")),
])  # fmt: skip
def test_the_head_alone_is_as_the_models_of_the_folds_begin(mean_place, tmp_path, case):
    """The rows of each fold, predicted by the model that was prepared on the others and is not trained."""
    settings = {
        "weights": {"class_weights": "auto"}, "descriptions": {"label_descriptions": "names"},
        "windows": {"long": "windows", "max_length": 6}, "several labels": {"data": None},
    }.get(case, {})  # fmt: skip
    data = mean_place.data
    if case == "marks":
        rows = [(text, label, "1" + " 0" * (len(text.split()) - 1)) for text, label in labelled_rows(24)]
        data, settings = str(write_csv(tmp_path / "marked.csv", rows, ("text", "label", "why"))), {"marks": "why"}
    if settings.pop("data", data) is None:
        rows = [(text, f"{label}|new" if len(text) % 2 else label) for text, label in labelled_rows(24)]
        data, settings = str(write_csv(tmp_path / "several.csv", rows)), {"label_separator": "|"}
    recipe = Recipe(data, model=mean_place.model, device="cpu", estimate="folds:3", head_strength=3.0, **settings)
    task = task_of(recipe, lambda line: None)
    prepared = prepare(recipe, task)
    folds = choose_folds(prepared.plan, task, lambda line: None)
    found, of_more = heads_alone(prepared, task, [folds, *more_folds(prepared.plan, task, folds)])
    assert of_more.probabilities.shape == found.probabilities.shape
    assert not np.allclose(of_more.probabilities, found.probabilities)
    probabilities = np.zeros((len(folds.texts), len(task.labels)), np.float32)
    for number in folds.predicted:
        training, predicted = folds.divided(number)
        recipe = recipe_of_folds(prepared.plan, len(task.training), len(task.labels))
        part = prepare(recipe, replace(task, training=training, test=predicted))
        probabilities[folds.numbers == number] = part.classifier.probabilities(part.test)
        begun = prepared_fold(prepared, recipe, replace(task, training=training), None, found.regressions[number])
        assert begun.vectors is None and part.vectors is not None  # the texts are not read once more
        # Weights of hundreds, in fp32: the vectors of one text differ by rounding between batches.
        np.testing.assert_allclose(weights_of_map(begun), weights_of_map(part), rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(found.probabilities, probabilities, atol=1e-4)
    assert np.ptp(found.probabilities, axis=0).max() > 0.05
    anew = heads_alone(replace(prepared, vectors=None), task, [folds])[0]
    np.testing.assert_allclose(anew.probabilities, found.probabilities, atol=1e-4)
    assert (found.passes == 0 or case == "marks") and anew.passes


def weights_of_map(prepared):
    return last_map(prepared.model).weight.detach().numpy()


@pytest.mark.whole
def test_a_recipe_leaves_the_choice_to_the_run_that_repeats_it(mean_place, tmp_path, monkeypatch):
    monkeypatch.setattr(held_out, "chosen_share", lambda probabilities, labels, groups=None: 2)
    first = run_of(mean_place, tmp_path / "first", estimate="folds:2")
    again = train(
        Recipe.from_mapping(yaml.safe_load((tmp_path / "first" / "recipe.yaml").read_text())),
        tmp_path / "again",
        note=lambda line: None,
    )
    assert again.metrics["estimate"]["trained_share"] == first.metrics["estimate"]["trained_share"] == 0.75
    for name, weight in weights_of(first).items():
        assert torch.equal(weights_of(again)[name], weight), name
    with (
        np.load(tmp_path / "first" / "out_of_fold.npz") as one,
        np.load(tmp_path / "again" / "out_of_fold.npz") as two,
    ):
        np.testing.assert_array_equal(one["probabilities"], two["probabilities"])


@pytest.mark.whole
def test_the_rows_are_predicted_with_every_share(mean_place, tmp_path, monkeypatch):
    """The last of them are the predictions of the trained weights, which an estimate of that share has too."""
    seen = []
    monkeypatch.setattr(
        held_out, "chosen_share", lambda probabilities, labels, groups=None: seen.append(probabilities) or 3
    )
    open_ = run_of(mean_place, tmp_path / "open", estimate="folds:2")
    named = run_of(mean_place, tmp_path / "named", estimate="folds:2", trained_share=1.0)
    assert seen[0].shape == (len(SHARES), 24, 3) and open_.metrics["estimate"]["trained_share"] == 1
    assert "trained_share" not in named.metrics["estimate"]
    assert not any("saved weights" in line for line in estimate_sentences(open_.metrics))
    with np.load(tmp_path / "named" / "out_of_fold.npz") as arrays:
        np.testing.assert_allclose(seen[0][-1], arrays["probabilities"], atol=1e-6)
    assert not np.allclose(seen[0][0], seen[0][-1])
    for name, weight in weights_of(named).items():
        assert torch.equal(weights_of(open_)[name], weight), name


@pytest.mark.whole
@pytest.mark.parametrize(("number", "share"), [("0", 0.0), ("1", 0.5)])
def test_two_processes_choose_as_one_does(mean_place, tmp_path, number, share):
    """With a share of 0, neither trains: one that did would wait for the other."""
    alone = trained_with_share(mean_place.data, str(tmp_path / "alone"), mean_place.model, number)
    done = launched("trained_with_share", mean_place.data, tmp_path / "both", mean_place.model, number)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads((tmp_path / "both" / "metrics.json").read_text())["estimate"]["trained_share"] == share
    both = load_file(tmp_path / "both" / "model.safetensors")
    for name, weight in load_file(alone.folder / "model.safetensors").items():
        if not name.endswith("key.bias"):  # attention does not depend on it: its gradient is rounding
            assert torch.allclose(both[name], weight, atol=1e-5), name


@pytest.mark.parametrize(
    "settings", [{"validation_share": 0.25}, pytest.param({"head_start": "random"}, marks=pytest.mark.whole)]
)
def test_other_runs_choose_nothing(mean_place, tmp_path, settings):
    run = run_of(mean_place, tmp_path / "run", estimate="folds:2", **settings)
    assert run.recipe["trained_share"] == 1 and "trained_share" not in run.metrics["estimate"]
