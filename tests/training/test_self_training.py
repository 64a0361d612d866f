"""Training with texts without labels: labels made by hand, both phases killed and resumed, and passes that count."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from test_unlabelled_labels import aligned_slowly

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.errors import InputError
from salience.inference.frozen_encoder import load_frozen
from salience.training import resuming
from salience.training.checking import check_recipe
from salience.training.fitting import Listeners, fit
from salience.training.passes import text_passes
from salience.training.recipe import Recipe
from salience.training.run import prepare_files
from salience.training.self_training.batches import UnlabelledRows
from salience.training.self_training.labelling import read_labels
from salience.training.self_training.moving import MovingLabels
from watching import Killed, Watch
from word_models import bits

STEPS = 5


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    return SimpleNamespace(
        data=str(write_csv(folder / "train.csv", labelled_rows(24))),
        more=str(write_csv(folder / "more.csv", [[text] for text, _ in labelled_rows(40, seed=2)], ["text"])),
        model=str(families.save_tiny_model(folder / "tiny", [*WORDS.values(), " ".join(FILLER)], dropout=0.1)),
    )


def recipe_of(place, **settings) -> Recipe:
    usual = {"data": place.data, "unlabelled": place.more, "model": place.model, "method": "plain", "steps": STEPS,
             "batch_size": 6, "validation_share": 0.0, "estimate": "none", "device": "cpu", "precision": "fp32",
             "learning_rate": 0.01, "seed": 4}  # fmt: skip
    return Recipe(**(usual | settings))


def fitted(place, folder, at=None, note=lambda line: None, **settings):
    watch = Watch(at)
    prepared = prepare_files(recipe_of(place, **settings))[0]
    done = fit(prepared, folder, Listeners(note, callbacks=[watch]))
    return SimpleNamespace(prepared=prepared, watch=watch, weights=bits(done.classifier.model), done=done)


@pytest.fixture(scope="module")
def untroubled(place, tmp_path_factory):
    """A run that nothing interrupts, with its checkpoints folder."""
    folder = tmp_path_factory.mktemp("untroubled")
    found = fitted(place, folder)
    found.folder = folder
    return found


def test_the_teacher_is_the_model_without_the_option_and_the_student_begins_as_it_did(place, untroubled, tmp_path):
    alone = fitted(place, tmp_path, unlabelled=None)
    watch = untroubled.watch
    assert watch.weights[4, STEPS] == alone.weights != untroubled.weights
    assert watch.begun[0] == watch.begun[1] == alone.watch.begun[0]
    assert list(watch.weights) == [(seed, step) for seed in (4, 5) for step in range(1, STEPS + 1)]
    assert untroubled.weights == watch.weights[5, STEPS]
    done = untroubled.done
    assert (done.teacher_steps, done.steps, done.best_step) == (STEPS, 2 * STEPS, None)


def test_the_labels_are_those_of_both_teachers(place, untroubled, tmp_path):
    """The model that a run without the option gives, and scikit-learn on vectors, put together by hand."""
    alone = fitted(place, tmp_path, unlabelled=None)
    texts, training = untroubled.prepared.unlabelled.texts, untroubled.prepared.unlabelled.rows
    encoder = load_frozen(place.model, max_length=untroubled.prepared.classifier.max_length, precision="fp32")
    regression = LogisticRegression(C=10, max_iter=1000).fit(encoder.vectors(training), training.known_labels)
    both = alone.done.classifier.predict_proba(texts), regression.predict_proba(encoder.vectors(texts))
    prior = [np.mean(training.known_labels == label) for label in range(3)]
    middle = aligned_slowly(((both[0].astype(float) + both[1]) / 2).tolist(), prior)
    expected = [[value**2 / sum(each**2 for each in row) for value in row] for row in middle]
    found = read_labels(untroubled.folder / "labels.npz")
    np.testing.assert_allclose(found.labels, expected, atol=1e-4)
    assert found.teacher_steps == STEPS


def test_the_share_of_the_trained_weights_is_that_of_the_student(place, untroubled, tmp_path):
    """An estimate chooses it by teachers that have their trained weights, and so has the teacher of the run."""
    half = fitted(place, tmp_path, trained_share=0.5)
    np.testing.assert_array_equal(
        read_labels(tmp_path / "labels.npz").labels, read_labels(untroubled.folder / "labels.npz").labels
    )
    assert half.watch.weights == untroubled.watch.weights and half.weights != untroubled.weights


def test_the_student_learns_from_the_texts_without_labels(place, untroubled, tmp_path):
    """Other weights of the loss, other views and other numbers of texts give other students."""
    others = [
        fitted(place, tmp_path / name, **{name: value}).weights
        for name, value in (("unlabelled_weight", 0.0), ("unlabelled_view", "plain"), ("unlabelled_ratio", 3))
    ]
    known = [str(weights) for weights in (*others, untroubled.weights)]
    assert len(set(known)) == 4


def test_texts_are_mixed_with_the_labelled_ones_if_this_is_asked_for(place, untroubled, tmp_path):
    settings = {"unlabelled_view": "tmix"}
    alone = fitted(place, tmp_path / "alone", **settings)
    together = fitted(place, tmp_path / "together", **settings, unlabelled_partners="all")
    assert together.watch.weights[4, STEPS] == alone.watch.weights[4, STEPS]  # of the teacher
    assert together.weights != alone.weights
    more = text_passes(together.prepared, together.done) - text_passes(alone.prepared, alone.done)
    assert more == pytest.approx(STEPS * 6)  # the labelled texts, once more in each step of the student


MOVING = {"unlabelled_labels": "moving"}


@pytest.fixture(scope="module")
def by_itself(place, tmp_path_factory):
    """A run whose model labels the texts itself."""
    return fitted(place, tmp_path_factory.mktemp("moving"), **MOVING)


def test_a_model_that_labels_texts_itself_goes_on_from_the_teacher(by_itself, untroubled):
    watch = by_itself.watch
    assert watch.weights[4, STEPS] == untroubled.watch.weights[4, STEPS]  # of the teacher
    assert watch.begun == [untroubled.watch.begun[0], watch.weights[4, STEPS]]
    assert list(watch.weights) == [(seed, step) for seed in (4, 5) for step in range(1, STEPS + 1)]
    assert by_itself.weights not in (untroubled.weights, watch.weights[4, STEPS])
    assert by_itself.done.steps == 2 * STEPS


def test_labels_of_a_step_are_those_of_the_model_at_that_step(place, tmp_path, monkeypatch):
    """Each step labels its own texts, with the weights that the step before it has left."""
    given = []

    def recorded(self, model, own):
        given.append((bits(model), own.input_ids.tolist()))
        return of(self, model, own)

    of = MovingLabels.of
    monkeypatch.setattr(MovingLabels, "of", recorded)
    found = fitted(place, tmp_path, **MOVING)
    weights = found.watch.weights
    assert [each for each, _ in given] == [weights[4, STEPS], *(weights[5, step] for step in range(1, STEPS))]
    assert {len(texts) for _, texts in given} == {12}


def test_the_share_of_the_trained_weights_counts_from_the_beginning_of_the_teacher(place, by_itself, tmp_path):
    half = fitted(place, tmp_path, trained_share=0.5, **MOVING)
    assert half.watch.weights == by_itself.watch.weights
    before = prepare_files(recipe_of(place))[0].model.state_dict()
    after = by_itself.prepared.model.state_dict()
    for name, weight in half.prepared.model.state_dict().items():
        if weight.is_floating_point():
            torch.testing.assert_close(weight, (before[name] + after[name]) / 2)


@pytest.mark.parametrize("at", [(4, 2), (5, 1), (5, 3)], ids=str)
def test_a_run_that_labels_texts_itself_is_resumed(at, place, by_itself, tmp_path, monkeypatch):
    monkeypatch.setattr(resuming, "SECONDS", 0)
    with pytest.raises(Killed):
        fitted(place, tmp_path, at, **MOVING)
    again = fitted(place, tmp_path, **MOVING)
    assert again.weights == by_itself.weights
    assert again.done.steps == by_itself.done.steps
    assert {seed for seed, _ in again.watch.weights} == ({4, 5} if at[0] == 4 else {5})


def test_passes_of_a_model_that_labels_texts_itself_count(by_itself):
    texts = len(by_itself.prepared.unlabelled)
    of_labelling = (texts + STEPS * 12) / 3  # forward passes: all texts once, and those of each step
    expected = STEPS * 6 + STEPS * (6 + 12) + of_labelling
    assert text_passes(by_itself.prepared, by_itself.done) == pytest.approx(expected, abs=1e-3)


def test_a_ratio_of_0_trains_without_them(place, untroubled, tmp_path):
    alone = fitted(place, tmp_path, unlabelled_ratio=0)
    assert alone.prepared.unlabelled is None
    assert alone.weights == untroubled.watch.weights[4, STEPS]


@pytest.mark.parametrize("at", [(4, 2), (4, STEPS), (5, 1), (5, 3), (5, STEPS)], ids=str)
def test_a_run_that_is_killed_ends_with_the_same_weights(at, place, untroubled, tmp_path, monkeypatch):
    monkeypatch.setattr(resuming, "SECONDS", 0)
    with pytest.raises(Killed):
        fitted(place, tmp_path, at)
    again = fitted(place, tmp_path)
    assert again.weights == untroubled.weights
    assert again.done.steps == untroubled.done.steps
    assert {seed for seed, _ in again.watch.weights} == ({4, 5} if at[0] == 4 else {5})  # no teacher is trained twice


def test_a_run_that_is_killed_between_the_phases(place, untroubled, tmp_path):
    def note(line: str) -> None:
        if line.startswith("phase 2"):
            raise Killed

    with pytest.raises(Killed):
        fitted(place, tmp_path, note=note)
    again = fitted(place, tmp_path)
    assert again.weights == untroubled.weights
    assert {seed for seed, _ in again.watch.weights} == {5}


def recorded_rows(monkeypatch) -> list[list[int]]:
    """A list to which the texts of every part of a step are added."""
    read: list[list[int]] = []

    def recorded(rows):
        found = of_part(rows)
        read.append(found.tolist())
        return found

    of_part = UnlabelledRows.next
    monkeypatch.setattr(UnlabelledRows, "next", recorded)
    return read


def test_a_step_in_parts_reads_the_texts_of_the_whole_step(place, tmp_path, monkeypatch):
    read = recorded_rows(monkeypatch)
    fitted(place, tmp_path / "whole")
    whole = read.copy()
    read.clear()
    fitted(place, tmp_path / "parts", accumulation=2)
    assert [len(rows) for rows in whole] == [12] * STEPS
    assert [one + other for one, other in zip(read[::2], read[1::2], strict=True)] == whole


def test_with_few_rows_a_step_keeps_the_ratio_and_all_of_its_texts(place, tmp_path, monkeypatch):
    """24 rows are a step of 24 texts where the recipe says 64, in two parts of up to 16 where it says four."""
    read = recorded_rows(monkeypatch)
    whole = fitted(place, tmp_path / "whole", batch_size=64, unlabelled_ratio=1)
    texts = read.copy()
    read.clear()
    parts = fitted(place, tmp_path / "parts", batch_size=64, unlabelled_ratio=1, accumulation=4)
    assert [len(rows) for rows in texts] == [24] * STEPS
    assert [one + other for one, other in zip(read[::2], read[1::2], strict=True)] == texts
    of_labelling = (2 * 40 + 24) / 3
    for found in (whole, parts):
        expected = STEPS * 24 + STEPS * (24 + 24) + of_labelling
        assert text_passes(found.prepared, found.done) == pytest.approx(expected, abs=1e-3)


def test_validation_rows_choose_in_both_phases(place, tmp_path):
    found = fitted(place, tmp_path, validation_share=0.25, evaluations=STEPS)
    assert found.done.best_step == STEPS + found.done.state.best_global_step
    assert found.weights == found.watch.weights[5, found.done.state.best_global_step]


def test_passes_of_both_phases_count(place, untroubled):
    prepared = untroubled.prepared
    texts = len(prepared.unlabelled)
    of_steps = STEPS * 6 + STEPS * (6 + 12)
    of_labelling = (texts + texts + 24) / 3  # forward passes: both teachers, and the rows for the second one
    assert text_passes(prepared, untroubled.done) == pytest.approx(of_steps + of_labelling, abs=1e-3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"unlabelled": None, "unlabelled_ratio": 3}, "--unlabelled-ratio has no effect without texts: add --unlab"),
        ({"unlabelled_view": "ssmx"}, '--unlabelled-view ssmx: unknown method "ssmx"'),
        ({"unlabelled_view": "ssmix:windw=1"}, '--unlabelled-view ssmix:windw=1: unknown option of ssmix "windw"'),
        ({"unlabelled": None, "unlabelled_partners": "all"}, "--unlabelled-partners has no effect without texts"),
        (
            {"unlabelled_partners": "all"},
            "--unlabelled-partners all: --unlabelled-view randomunk:window=0.15 mixes no ",
        ),
        (
            {"unlabelled_partners": "all", "unlabelled_view": "plain"},
            "--unlabelled-partners all: --unlabelled-view pl",
        ),
        (
            {"unlabelled_partners": "all", "unlabelled_view": "tmix", "accumulation": 2},
            "--unlabelled-partners all mixes the texts of a whole step: leave out --accumulation",
        ),
        ({"unlabelled": None, "unlabelled_labels": "moving"}, "--unlabelled-labels has no effect without texts"),
        (
            {"unlabelled_labels": "moving", "accumulation": 2},
            "--unlabelled-labels moving labels the texts of a whole step: leave out --accumulation",
        ),
        ({"plain_share": 0.3}, "--unlabelled has two phases of its own: leave out --plain-share"),
        ({"model": "attention:variational"}, "VAT is trained by turns, without texts that have no labels"),
    ],
)
def test_what_is_refused_before_anything_is_read(settings, message, place):
    with pytest.raises(InputError) as caught:
        check_recipe(recipe_of(place, **settings))
    assert str(caught.value).startswith(message)


def test_several_processes_are_refused(place, monkeypatch):
    for name, value in {"WORLD_SIZE": "2", "RANK": "0", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match="--unlabelled trains in one process"):
        check_recipe(recipe_of(place))
    check_recipe(replace(recipe_of(place), unlabelled=None))
