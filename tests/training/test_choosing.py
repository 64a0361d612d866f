"""`--method auto`: against trainings one by one, killed and continued, refused, and counted."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from transformers import TrainerCallback

import families
from labelled import FILLER, WORDS, labelled_rows, untimed, write_csv
from salience import SalienceClassifier
from salience.errors import InputError
from salience.training import candidates, choosing, halving, resuming
from salience.training.folds import fold_numbers
from salience.training.inputs import task_of
from salience.training.recipe import Recipe
from salience.training.run import prepare_files, train
from watching import Killed
from word_models import bits

ROWS = labelled_rows(24)
SILENT = {"note": lambda line: None}


class Steps(TrainerCallback):
    """Counts the steps of each training, and kills the n-th training at its first step."""

    def __init__(self, at: int | None = None):
        self.at, self.counts = at, []

    def on_train_begin(self, args, state, control, **_):
        self.counts.append(0)

    def on_step_end(self, args, state, control, **_):
        self.counts[-1] += 1
        if len(self.counts) == self.at:
            raise Killed


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    return SimpleNamespace(
        data=str(write_csv(folder / "rows.csv", ROWS)),
        test=str(write_csv(folder / "test.csv", labelled_rows(9, seed=1))),
        model=str(families.save_tiny_model(folder / "tiny", [*WORDS.values(), " ".join(FILLER)], dropout=0.1)),
    )


def recipe_of(place, **settings) -> Recipe:
    usual = {"data": place.data, "model": place.model, "method": "auto", "steps": 3, "batch_size": 6, "device": "cpu",
             "estimate": "none", "test": place.test, "auto_budget": 40.0}  # fmt: skip
    return Recipe(**usual | settings)


@pytest.fixture(scope="module")
def whole(place, tmp_path_factory):
    """A run among five candidates, the last of which is taken: a difference of any size counts."""
    steps, folder = Steps(), tmp_path_factory.mktemp("whole") / "run"
    lines = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halving, "NORMAL", -np.inf)
        kept = kept_results(patch)
        run = train(recipe_of(place), folder, callbacks=[steps], note=lines.append)
    return SimpleNamespace(run=run, folder=folder, steps=steps.counts, lines=lines, kept=kept)


def kept_results(patch) -> dict:
    """What each model of the comparison predicts, by the name of its method and the round."""
    kept, make = {}, choosing.fold_result

    def keeping(place, rows, *others):
        kept[place.name] = make(place, rows, *others)
        return kept[place.name]

    patch.setattr(choosing, "fold_result", keeping)
    return kept


def test_the_model_is_that_of_a_run_with_the_chosen_method(whole, place, tmp_path):
    chosen = whole.run.metrics["choice"]["chosen"]
    assert chosen in candidates.METHODS and chosen == whole.run.metrics["choice"]["rival"]
    named = {"method": chosen, "method_options": candidates.METHODS[chosen], "auto_budget": 12.0}
    alone = train(recipe_of(place, **named), tmp_path / "run", **SILENT)
    assert bits(alone.classifier.model) == bits(whole.run.classifier.model)
    assert np.array_equal(alone.probabilities, whole.run.probabilities)
    passes = whole.run.metrics["text_passes"] - whole.run.metrics["choice"]["text_passes"]
    assert passes == pytest.approx(alone.metrics["text_passes"])


@pytest.mark.parametrize("name", ["plain-1", "plain-3", "senmixup-1", "dropmix-g-1", "tmix-1"])
def test_a_look_at_a_method_is_a_run_on_half_of_the_rows(name, whole, place, tmp_path):
    """The halves are those of a division for each two rounds, stratified by class."""
    method, _, number = name.rpartition("-")
    division, half = divmod(int(number) - 1, 2)
    inside = fold_numbers(task_of(recipe_of(place), lambda line: None).training, 2, division) == half + 1
    assert sorted(np.flatnonzero(inside)) == whole.kept[name].rows.tolist()
    parts = {
        role: str(
            write_csv(tmp_path / f"{role}.csv", [row for row, held in zip(ROWS, inside, strict=True) if held == at])
        )
        for role, at in (("data", False), ("test", True))
    }
    options = candidates.METHODS.get(method, {})
    recipe = recipe_of(place, method=method, method_options=options, auto_budget=12.0, **parts)
    alone = train(recipe, tmp_path / "run", **SILENT)
    assert np.array_equal(alone.probabilities[None], whole.kept[name].probabilities)


def test_what_was_compared_is_reported(whole):
    """Five candidates, three, two, and one; a step of plain training costs a pass for each text, the others more."""
    metrics = json.loads((whole.folder / "metrics.json").read_text())
    assert [len(row) for row in metrics["choice"]["rounds"]] == [6, 4, 3, 2]
    assert whole.steps == [3] * (6 + 4 + 3 + 2) + [3]
    assert metrics["choice"]["text_passes"] == pytest.approx(sum(each.numbers[2] for each in whole.kept.values()))
    # 3 steps of 6 texts: one pass each in plain training, and two with SSMix.
    passes = {name: result.numbers[2] for name, result in whole.kept.items()}
    assert passes["plain-1"] == 18 < passes["ssmix-1"] == 36
    assert metrics["rows"] == {"training": 24, "test": 9}
    chosen = metrics["choice"]["chosen"]
    assert any(line.startswith(f"chosen method: {chosen}; {chosen} has a log loss") for line in whole.lines)
    assert f"{chosen} with clean=0.5 (chosen by --method auto)" in (whole.folder / "README.md").read_text()


def test_the_recipe_repeats_the_choice(whole):
    assert "method: auto" in (whole.folder / "recipe.yaml").read_text()


def test_plain_training_is_what_is_left_if_nothing_is_better(place, tmp_path, monkeypatch):
    monkeypatch.setattr(halving, "NORMAL", np.inf)
    run = train(recipe_of(place, auto_budget=8.0), tmp_path / "run", **SILENT)
    plain = train(recipe_of(place, method="plain", auto_budget=12.0), tmp_path / "plain", **SILENT)
    assert run.metrics["choice"]["chosen"] == "plain"
    assert bits(run.classifier.model) == bits(plain.classifier.model)
    assert "plain training (chosen by --method auto)" in (run.folder / "README.md").read_text()


def test_a_killed_choice_goes_on(place, tmp_path, monkeypatch):
    """In the third training of the comparison, of which the first two are not made again."""
    monkeypatch.setattr(resuming, "SECONDS", 0)
    recipe = recipe_of(place, auto_budget=9.0)
    whole = train(recipe, tmp_path / "whole", **SILENT)
    with pytest.raises(Killed):
        train(recipe, tmp_path / "run", callbacks=[Steps(3)], **SILENT)
    again = Steps()
    resumed = train(recipe, tmp_path / "run", resume=True, callbacks=[again], **SILENT)
    rounds = whole.metrics["choice"]["rounds"]
    assert len(again.counts) == sum(map(len, rounds)) + 1 - 2
    assert untimed(resumed.folder) == untimed(whole.folder)


def test_rows_of_a_group_are_no_independent_evidence(place, tmp_path, monkeypatch):
    """The comparison is told the group of each row if a column of groups is named, and else takes rows as they are."""
    told, compare = [], choosing.halve
    monkeypatch.setattr(choosing, "halve", lambda *given: told.append(given[-1]) or compare(*given))
    rows = [[*row, f"author {number // 3}"] for number, row in enumerate(ROWS)]
    file = str(write_csv(tmp_path / "rows.csv", rows, header=["text", "label", "author"]))
    for name, group in (("grouped", "author"), ("rows", None)):
        estimate = "none" if group is None else "folds:2"
        recipe = recipe_of(
            place, data=file, text="text", label="label", group=group, estimate=estimate, auto_budget=4.0
        )
        train(replace(recipe, steps=1), tmp_path / name, **SILENT)
    *grouped, alone = told
    whole = max(grouped, key=len)  # the others are those of the models of the estimate
    assert whole.tolist() == [number // 3 for number in range(len(ROWS))]
    assert sum(map(len, grouped)) == 2 * len(ROWS) and alone is None


def test_an_estimate_chooses_again_in_each_fold(place, tmp_path):
    """Two models of the estimate, each of which chooses among its own rows: rows that are scored choose nothing."""
    steps = Steps()
    recipe = recipe_of(place, estimate="folds:2", auto_budget=8.0, calibrate=False)
    run = train(recipe, tmp_path / "run", callbacks=[steps], **SILENT)
    looks = sum(map(len, run.metrics["choice"]["rounds"]))
    assert len(steps.counts) == 3 * (looks + 1)


# ------------------------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method_options": {"window": 0.2}}, "the method 'auto' has no options"),
        ({"method": "plain+auto"}, "no plain stage"),
        ({"model": "lstm-vat", "procedure_options": {}}, "VAT is trained by turns"),
        ({"method": "plain", "auto_budget": 3.0}, "--auto-budget has no effect without --method auto"),
        ({"auto_budget": 2.0}, "--auto-budget 2 is too small for a choice between two methods, which takes"),
    ],
)
def test_what_does_not_fit_is_refused(settings, message, place, tmp_path):
    with pytest.raises(InputError, match=message):
        train(recipe_of(place, **settings), tmp_path / "run", **SILENT)
    assert not list(tmp_path.iterdir())


def test_unlabelled_texts_are_refused(place, tmp_path):
    file = write_csv(tmp_path / "texts.csv", [[text] for text, _ in ROWS], header=["text"])
    with pytest.raises(InputError, match="chooses for labelled texts only"):
        train(recipe_of(place, unlabelled=str(file)), tmp_path / "run", **SILENT)


def test_rows_that_cannot_be_halved_are_refused(place, tmp_path):
    file = write_csv(tmp_path / "rows.csv", ROWS[:3])  # a row of each class
    with pytest.raises(InputError, match="compares methods on halves of the rows, but no class has more than 1 row"):
        train(recipe_of(place, data=str(file)), tmp_path / "run", **SILENT)


@pytest.mark.parametrize(
    ("rows", "settings", "reason"),
    [
        ([[text, label, str(number % 2)] for label in WORDS for number, text in enumerate(["one", "two"])], {},
         "no class has more than 1 row"),
        ([[text, label, f"author {number % 3}"] for number, (text, label) in enumerate(ROWS)], {"group": "author"},
         "there is only 1 group"),
    ],
)  # fmt: skip
def test_rows_that_a_model_of_the_estimate_cannot_halve_are_refused_at_once(rows, settings, reason, place, tmp_path):
    file = write_csv(tmp_path / "rows.csv", rows, ["text", "label", "author"])
    recipe = recipe_of(place, data=str(file), test=None, estimate="folds:2", **settings)
    said = []
    with pytest.raises(InputError, match=f"for the models of the estimate {reason}: use --estimate none"):
        train(recipe, tmp_path / "run", note=said.append)
    assert not any("is trained" in line for line in said)
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]


def test_the_estimator_refuses_what_the_command_line_refuses():
    texts, labels = zip(*ROWS, strict=True)
    with pytest.raises(InputError, match="VAT is trained by turns, without mixing"):
        SalienceClassifier(method="auto", model="lstm-vat", steps=1).fit(list(texts), list(labels))


def test_methods_that_do_not_fit_the_model_are_left_out(place):
    """A model over words without attention between layers: AttentionMix has no weights to be guided by."""
    prepared, _ = prepare_files(recipe_of(place, model="lstm-base", steps=1, test=None))
    assert prepared.method is None and prepared.candidates is not None
    assert set(prepared.candidates.methods) == {"senmixup", "dropmix-g", "tmix", "ssmix"}


@pytest.mark.parametrize("settings", [{"label_descriptions": "names"}, {"long": "windows", "max_length": 6}])
def test_descriptions_and_windows_leave_the_candidates_of_a_budget_as_they_are(settings, place):
    """They are no rows: the steps of a look, which are paid from the budget, follow from the labelled rows."""
    recipe = recipe_of(place, steps=None, batch_size=None, auto_budget=12.0)
    usual, _ = prepare_files(recipe)
    prepared, _ = prepare_files(replace(recipe, **settings))
    assert usual.candidates is not None and prepared.candidates is not None
    assert len(prepared.training) > len(usual.training)
    assert list(prepared.candidates.methods) == list(usual.candidates.methods)
