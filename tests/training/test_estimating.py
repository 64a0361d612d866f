"""The estimate of a run: against trainings of the same rows one by one, killed and resumed, and by two processes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from launching_estimates import trained_with_estimate
from sklearn.metrics import accuracy_score, f1_score
from transformers import TrainerCallback

import families
from labelled import FILLER, WORDS, labelled_rows, untimed, write_csv
from salience.data.texts import Texts
from salience.errors import InputError
from salience.scores.labels import ONE_LABEL
from salience.training import callbacks as resuming
from salience.training import estimate as estimating
from salience.training.baselines import tfidf_probabilities
from salience.training.estimate import Folds, choose_folds, fold_result
from salience.training.fit import Listeners
from salience.training.recipe import Recipe
from salience.training.run import train
from salience.training.task import task_of
from word_models import bits

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
    """A run of three folds with SSMix, and how often it took a step."""
    watch = Watch()
    folder = tmp_path_factory.mktemp("whole") / "run"
    recipe = recipe_of(place, estimate="folds:3", method="ssmix", steps=None, steps_factor=0.1, batch_size=16)
    run = train(recipe, folder, callbacks=[watch], **SILENT)
    return SimpleNamespace(run=run, recipe=recipe, folder=folder, steps=watch.steps)


# ------------------------------------------------------------------------------------ against trainings, one by one


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_fold_is_predicted_as_by_a_run_of_the_other_rows(number, whole, place, tmp_path):
    """With the rows of the fold as test rows. The number of steps follows from the rows that are left."""
    _, lines, arrays = read(whole.folder)
    inside = [line["row"] - 1 for line in lines if line["fold"] == number]
    rest = write_csv(tmp_path / "rest.csv", [row for index, row in enumerate(ROWS) if index not in inside])
    held = write_csv(tmp_path / "held.csv", [ROWS[index] for index in inside])
    watch = Watch()
    alone = train(replace(whole.recipe, data=str(rest), test=str(held), estimate="none"), tmp_path / "run",
                  callbacks=[watch], **SILENT)  # fmt: skip
    assert np.array_equal(alone.probabilities, arrays["probabilities"][arrays["fold"] == number])
    estimate = whole.run.metrics["estimate"]
    assert watch.steps == [estimate["steps"][number - 1]] and estimate["training_rows"][number - 1] == 30 - len(inside)


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
     ({"estimate": "none"}, None), ({"validation": True, "estimate": "holdout"}, "holdout")],
)  # fmt: skip
def test_the_usual_estimate(settings, kind, place):
    files = {name: place.test for name in ("test", "validation") if name in settings}
    recipe = recipe_of(place, **settings | files)
    folds = choose_folds(recipe, task_of(recipe, print), print)
    assert (folds and folds.kind) == kind


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


@pytest.mark.parametrize("seconds", [0, 60], ids=["checkpoints", "no checkpoints"])
@pytest.mark.parametrize("at", [(1, 1), (1, 3), (2, 2), (3, 1), (4, 2)], ids=str)
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


def test_two_processes_estimate_as_one_does(place, tmp_path):
    alone = trained_with_estimate(place.data, str(tmp_path / "alone"))
    script = Path(__file__).with_name("launching_estimates.py")
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script, place.data]
    done = subprocess.run([sys.executable, *launch, tmp_path / "both"], capture_output=True, text=True, timeout=300)
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
    assert np.array_equal(alone.probabilities, arrays["probabilities"][arrays["fold"] == 2])


def test_a_class_of_one_row_is_predicted_by_a_model_that_has_not_seen_it(place, tmp_path):
    rows = [*labelled_rows(12), ("a rare one", "rare")]
    said = []
    data = str(write_csv(tmp_path / "rare.csv", rows))
    run = train(recipe_of(place, data=data, class_weights="auto"), tmp_path / "run", note=said.append)
    assert [line for line in said if "rare" in line] == [
        'estimate: the class "rare" is in one part only, and is predicted by a model that has not seen it'
    ]
    assert run.metrics["estimate"]["rows"] == 13
