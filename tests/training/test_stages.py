"""Two stages: against two trainings one after the other, killed and resumed, and layer calls that are counted."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from launching_stages import trained_in_stages
from safetensors.torch import load_file

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience import METHODS, SSMix
from salience.data.encoding import encode_texts
from salience.errors import InputError
from salience.inference import TextClassifier
from salience.jobs.watching import watched
from salience.models.vocabulary import word_tokenizer
from salience.training import phases, resuming, scoring, stages
from salience.training.alignment import penalty
from salience.training.fitting import Listeners, fit
from salience.training.passes import text_passes
from salience.training.plain_stage import stage_steps
from salience.training.preparing import Prepared
from salience.training.procedures import Standard
from salience.training.recipe import Recipe
from salience.training.run import prepare_files, train
from test_contract import layer_modules
from watching import Killed, Watch
from word_models import bits, word_classifier

TEXTS, LABELS = zip(*labelled_rows(30), strict=True)
TOKENIZER = word_tokenizer([*WORDS.values(), " ".join(FILLER)])
# 6 steps with 3 evaluations without mixing, then 10 with 5.
RECIPE = Recipe(
    "rows.csv", model="lstm", method="plain+ssmix", steps=16, evaluations=8, batch_size=5, learning_rate=0.02,
    seed=4, device="cpu",
)  # fmt: skip


def ready(validation: bool = True, recipe: Recipe = RECIPE, method=SSMix(window=0.3), **procedure) -> Prepared:  # noqa: B008
    """A fresh model of the same seed and all that its training needs."""
    encoded = encode_texts(TOKENIZER, TEXTS, labels=[list(WORDS).index(label) for label in LABELS])
    model = word_classifier("lstm", 0, pooling="additive", vocab_size=len(TOKENIZER), dropout=0.3)
    return Prepared(
        recipe, TextClassifier(model, TOKENIZER, 50), method, Standard(**procedure),
        encoded.take(range(20)), encoded.take(range(20, 30)) if validation else None, None, None,
    )  # fmt: skip


def fitted(folder, validation: bool = True, at=None, **settings):
    watch = Watch(at)
    done = fit(ready(validation, replace(RECIPE, **settings)), folder, Listeners(callbacks=[watch]))
    return watch, bits(done.classifier.model), done


# ----------------------------------------------------------------------------------------- two trainings, one by one


@pytest.mark.parametrize("alignment", [0.0, 0.5])
@pytest.mark.parametrize("validation", [True, False])
def test_it_is_a_plain_training_and_then_one_with_mixing(validation, alignment, tmp_path):
    """The second one with other weights to begin with, another seed, and a fifth of the rate."""
    own = ready(validation, alignment=alignment)
    done = fit(own, tmp_path / "both")
    one = replace(RECIPE, plain_share=0)
    first = ready(validation, replace(one, method="plain", steps=6, evaluations=3), None, alignment=alignment)
    plain = fit(first, tmp_path / "first")
    second = ready(validation, replace(one, steps=10, evaluations=5, learning_rate=0.004, seed=5), alignment=alignment)
    second.model.load_state_dict(plain.classifier.model.state_dict())
    mixed = fit(second, tmp_path / "second")
    assert bits(done.classifier.model) == bits(mixed.classifier.model) != bits(plain.classifier.model)
    assert (done.plain_steps, done.steps) == (6, 16)
    assert done.best_step == (6 + mixed.state.best_global_step if validation else None)


def test_the_second_stage_begins_with_the_best_weights_of_the_first(tmp_path, monkeypatch):
    """Evaluations after steps 2, 4, 6 of the first stage, and 2 to 10 of the second."""
    scores = iter([0.1, 0.9, 0.2, 0.3, 0.5, 0.8, 0.1, 0.2])
    monkeypatch.setattr(scoring, "OF_ONE", replace(scoring.OF_ONE, selection=lambda *_: next(scores)))
    watch, weights, done = fitted(tmp_path)
    assert next(scores, None) is None
    assert list(watch.weights) == [(4, step) for step in range(1, 7)] + [(5, step) for step in range(1, 11)]
    assert watch.begun[1] == watch.weights[4, 4] != watch.weights[4, 6]
    assert weights == watch.weights[5, 6]
    assert (done.best_step, done.steps) == (12, 16)


def test_each_stage_has_a_schedule_of_its_own(tmp_path):
    """Up over a tenth of its steps, and down to 0."""
    watch, _, _ = fitted(tmp_path, False)
    for seed, steps, rate in ((4, 6, 0.02), (5, 10, 0.004)):
        rates = [watch.rates[seed, step] for step in range(1, steps + 1)]
        assert rates == pytest.approx([rate * (steps - step) / (steps - 1) for step in range(1, steps + 1)])


def test_a_first_stage_that_stops_early_does_not_lengthen_the_second(tmp_path, monkeypatch):
    scores = iter([0.5, 0.4, 0.1, 0.2, 0.3, 0.4, 0.5])
    monkeypatch.setattr(scoring, "OF_ONE", replace(scoring.OF_ONE, selection=lambda *_: next(scores)))
    _, _, done = fitted(tmp_path, patience=1)
    assert (done.plain_steps, done.steps, done.best_step) == (4, 14, 14)


def test_the_alignment_is_paid_in_both_stages(tmp_path, monkeypatch):
    calls = []

    def counted(weight, form):
        own = penalty(weight, form)
        return lambda model: calls.append(weight) or own(model)

    monkeypatch.setattr("salience.training.fitting.penalty", counted)
    fit(ready(alignment=0.5), tmp_path)
    assert calls == [0.5] * 16


def test_a_share_of_0_trains_as_ever(tmp_path):
    once = ready(recipe=replace(RECIPE, plain_share=0))
    done = fit(once, tmp_path)
    assert (done.plain_steps, done.steps, done.best_step) == (0, 16, done.state.best_global_step)
    assert not (tmp_path / "plain").exists() and not (tmp_path / "mixed").exists()


def test_both_stages_tell_their_progress(tmp_path):
    told = []
    with watched(lambda step, steps, loss: told.append((step, steps))):
        fitted(tmp_path, False)
    assert told == [(step, 6) for step in range(1, 7)] + [(step, 10) for step in range(1, 11)]


@pytest.mark.parametrize(
    ("steps", "share", "expected"),
    [(8, 0.375, (3, 5)), (1000, 0.375, (375, 625)), (2, 0.01, (1, 1)), (2, 0.95, (1, 1)), (3, 0.95, (2, 1)),
     (100, 0.95, (95, 5)), (7, 0.5, (4, 3))],
)  # fmt: skip
def test_steps_are_divided_and_none_is_lost(steps, share, expected):
    assert stage_steps(steps, share) == expected


def test_evaluations_are_divided_as_the_steps_are():
    for share, expected in ((0.375, (8, 12)), (0.01, (1, 19)), (0.95, (19, 1))):
        both = stages.stage_recipes(replace(RECIPE, steps=1000, evaluations=20, plain_share=share))
        assert tuple(each.evaluations for each in both) == expected
    both = stages.stage_recipes(replace(RECIPE, evaluations=1))
    assert [each.evaluations for each in both] == [1, 1]


def test_the_last_seed_is_followed_by_the_first():
    both = stages.stage_recipes(replace(RECIPE, seed=2**32 - 1))
    assert [each.seed for each in both] == [2**32 - 1, 0]


# ---------------------------------------------------------------------------------------------------- interrupted runs


@pytest.fixture(scope="module")
def untroubled(tmp_path_factory):
    """Runs that write no checkpoint, because they are short."""
    return {kind: fitted(tmp_path_factory.mktemp("untroubled"), kind)[1:] for kind in (True, False)}


def check_resumed(folder, validation: bool, untroubled) -> Watch:
    weights, done = untroubled[validation]
    torch.default_generator.manual_seed(123)
    watch, resumed, again = fitted(folder, validation)
    assert resumed == weights
    assert (again.steps, again.plain_steps, again.best_step) == (done.steps, done.plain_steps, done.best_step)
    assert again.state.best_metric == done.state.best_metric
    return watch


@pytest.mark.parametrize("validation", [True, False])
@pytest.mark.parametrize("at", [(4, 1), (4, 4), (4, 6), (5, 1), (5, 3), (5, 10)], ids=str)
@pytest.mark.parametrize("seconds", [0, 60], ids=["checkpoints", "no checkpoints"])
def test_a_run_that_is_killed_in_a_stage_ends_with_the_same_weights(
    at, validation, seconds, untroubled, tmp_path, monkeypatch
):
    monkeypatch.setattr(resuming, "SECONDS", seconds)
    with pytest.raises(Killed):
        fitted(tmp_path, validation, at)
    watch = check_resumed(tmp_path, validation, untroubled)
    repeated = {seed for seed, _ in watch.weights}
    assert repeated == ({4, 5} if at[0] == 4 else {5})  # a finished stage is not trained again


@pytest.mark.parametrize("written", [False, True], ids=["while the first is written", "after it"])
def test_a_run_that_is_killed_between_the_stages(written, untroubled, tmp_path, monkeypatch):
    """The weights of the first stage are there; its state, by which it counts as finished, is the last to be."""

    def kill(*arguments, **named):
        raise Killed

    def note(line: str) -> None:
        if written and line.startswith("stage 2"):
            raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        if not written:
            patch.setattr(phases.json, "dumps", kill)
        fit(ready(), tmp_path, Listeners(note))
    finished = {file.name for file in (tmp_path / "plain" / "finished").iterdir()}
    assert finished == {"weights.safetensors", *(["state.json"] if written else [])}
    watch = check_resumed(tmp_path, True, untroubled)
    assert {seed for seed, _ in watch.weights} == ({5} if written else {4, 5})


def test_a_finished_phase_holds_tied_weights(tmp_path):
    """safetensors refuses tensors that share their memory."""
    model = torch.nn.ModuleDict({"one": torch.nn.Linear(2, 2), "other": torch.nn.Linear(2, 2)})
    model["other"].weight = model["one"].weight
    model.device = torch.device("cpu")
    phases.write_phase(model, tmp_path / "phase", {"global_step": 3})
    before = bits(model)
    with torch.no_grad():
        model["one"].weight.zero_()
    assert phases.read_phase(model, tmp_path / "phase") == {"global_step": 3}
    assert bits(model) == before
    assert phases.read_phase(model, tmp_path / "other") is None


# ---------------------------------------------------------------------------------------------------------- whole runs


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    return SimpleNamespace(
        data=str(write_csv(folder / "train.csv", labelled_rows(40))),
        test=str(write_csv(folder / "test.csv", labelled_rows(9, seed=1))),
        model=str(families.save_tiny_model(folder / "tiny", [*WORDS.values(), " ".join(FILLER)], dropout=0.1)),
    )


def recipe_of(place, **settings) -> Recipe:
    usual = {"data": place.data, "test": place.test, "model": place.model, "steps": 8, "evaluations": 4,
             "batch_size": 8, "device": "cpu", "validation_share": 0.2}  # fmt: skip
    return Recipe(**usual | settings)


@pytest.mark.parametrize("clean", [0.5, 0.0])
@pytest.mark.parametrize("method", ["plain+plain", "plain+ssmix", "plain+embedmix", "plain+senmixup"])
def test_counted_passes_are_those_of_both_stages(method, clean, place, tmp_path):
    """Texts that pass the layers while the model trains, forward and backward; evaluations do not count."""
    prepared, _ = prepare_files(recipe_of(place, method=method, clean=clean))
    forwards, backwards = [], []

    def after(module, arguments, result):
        value = result[0] if isinstance(result, tuple) else result
        if not module.training:
            return
        forwards.append(len(value))
        if value.requires_grad:
            value.register_hook(lambda gradient: backwards.append(len(gradient)) and None)

    layers = layer_modules(prepared.model)
    handles = [layer.register_forward_hook(after) for layer in layers]
    done = fit(prepared, tmp_path)
    for handle in handles:
        handle.remove()
    without_weights = method == "plain+ssmix" and clean == 0  # its backward pass for the guide costs a forward pass
    guided = 5 * 8 * len(layers) if without_weights else 0
    counted = (sum(forwards) + 2 * sum(backwards) - guided) / 3 / len(layers)
    assert text_passes(prepared, done) == pytest.approx(counted, abs=1e-3)
    step = {"plain+ssmix": 5 / 3, "plain+embedmix": 1, "plain+senmixup": 1, "plain+plain": 1}[method]
    if clean:
        step = {"plain+ssmix": 2, "plain+embedmix": 2, "plain+senmixup": 1, "plain+plain": 1}[method]
    assert counted == pytest.approx(8 * (3 + 5 * step))


def test_a_run_counts_both_stages(place, tmp_path, monkeypatch):
    scores = iter([0.1, 0.2, 0.3, 0.1, 0.9, 0.2, 0.3, 0.1])  # after the 3 steps of the first stage, and after the 5
    monkeypatch.setattr(scoring, "OF_ONE", replace(scoring.OF_ONE, selection=lambda *_: next(scores)))
    said = []
    done = train(recipe_of(place, method="plain+embedmix", evaluations=8), tmp_path / "run", note=said.append)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert (metrics["steps"], metrics["text_passes"]) == (8, 8 * (3 + 5 * 2))
    assert metrics["best_step"] == done.metrics["best_step"] == 3 + 2
    assert any(line.startswith("recipe: plain+embedmix on ") for line in said)
    rate = done.recipe.learning_rate
    assert said[-2:] == [
        f"stage 1 of 2: plain, 3 steps, learning rate {rate:.2g}",
        f"stage 2 of 2: embedmix, 5 steps, learning rate {rate / 5:.2g}, from the best checkpoint of stage 1",
    ]
    card = (tmp_path / "run" / "README.md").read_text()
    assert "a stage of plain training (0.375 of the steps), then embedmix with clean=0.5 at 0.2 times the" in card
    assert (done.recipe.method, done.recipe.plain_share) == ("embedmix", 0.375)
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("seed", [0, 1])  # of the stage in which it is killed
def test_a_killed_run_is_resumed(seed, place, tmp_path, monkeypatch):
    recipe = recipe_of(place, method="plain+ssmix")
    whole = train(recipe, tmp_path / "whole", note=lambda line: None)
    monkeypatch.setattr(resuming, "SECONDS", 0)
    with pytest.raises(Killed):
        train(recipe, tmp_path / "killed", note=lambda line: None, callbacks=[Watch((seed, 2))])
    again = train(recipe, tmp_path / "killed", note=lambda line: None, resume=True)
    assert bits(again.classifier.model) == bits(whole.classifier.model)
    kept = [{name: value for name, value in run.metrics.items() if name != "seconds"} for run in (again, whole)]
    assert kept[0] == kept[1]


def test_an_interrupted_run_of_an_earlier_version_is_resumed(place, tmp_path):
    """Its recipe has no share of plain steps, because there were no stages."""
    recipe = recipe_of(place, method="ssmix")
    with pytest.raises(Killed):
        train(recipe, tmp_path / "run", note=lambda line: None, callbacks=[Watch((0, 2))])
    file = tmp_path / ".run.partial" / "recipe.yaml"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not line.startswith("plain_share")))
    with pytest.raises(InputError, match=r"the interrupted run had plain_share=0\.0, not 0\.5"):
        train(replace(recipe, plain_share=0.5), tmp_path / "run", note=lambda line: None, resume=True)
    assert train(recipe, tmp_path / "run", note=lambda line: None, resume=True).metrics["steps"] == 8


def test_models_trained_by_turns_have_no_plain_stage(place, tmp_path):
    settings = {"model_options": {"width": 8}, "steps": 2, "evaluations": 1}
    vat = recipe_of(place, model="lstm-vat", method="plain", procedure_options={"iterations": 0}, **settings)
    for recipe in (replace(vat, plain_share=0.5), replace(vat, method="plain+ssmix")):
        with pytest.raises(InputError, match=r"^VAT is trained by turns.*--plain-share.*$"):
            train(recipe, tmp_path / "vat", note=lambda line: None)
    trained = train(vat, tmp_path / "trained", note=lambda line: None).folder
    again = replace(vat, model=str(trained), model_options={}, plain_share=0.5)
    with pytest.raises(InputError, match=r"^VAT is trained by turns.*--plain-share.*$"):  # a folder says it when read
        train(again, tmp_path / "vat", note=lambda line: None)
    assert {file.name for file in tmp_path.iterdir()} == {"trained"}


def test_a_single_step_has_no_two_stages(place, tmp_path):
    with pytest.raises(InputError, match=r"^a single step has no two stages: use --steps 2 or more.*$"):
        train(recipe_of(place, method="plain+ssmix", steps=1), tmp_path / "run", note=lambda line: None)
    assert train(recipe_of(place, method="plain+ssmix", steps=2), tmp_path / "run").metrics["steps"] == 2


def test_two_processes_train_as_one_does(place, tmp_path):
    """They share a folder, in which only one of them writes."""
    alone = trained_in_stages(place.data, str(tmp_path / "alone"))
    script = Path(__file__).with_name("launching_stages.py")
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script, place.data]
    done = subprocess.run([sys.executable, *launch, tmp_path / "both"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    both, expected = (load_file(tmp_path / name / "model.safetensors") for name in ("both", "alone"))
    assert both.keys() == expected.keys()
    for name, weight in expected.items():
        assert torch.allclose(weight, both[name], rtol=0, atol=1e-5), name
    metrics = json.loads((tmp_path / "both" / "metrics.json").read_text())
    for name in ("steps", "best_step", "text_passes"):
        assert metrics[name] == alone.metrics[name]


# --------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize("method", ["plain", *METHODS])
def test_a_plain_stage_is_named_before_a_method(method):
    recipe = Recipe("x", method=f"plain+{method}")
    assert (recipe.method, recipe.plain_share, recipe.staged_method) == (method, 0.375, f"plain+{method}")
    assert Recipe("x", method=method).plain_share == 0 and Recipe("x", method=method).staged_method == method
    assert Recipe.from_mapping(recipe.as_mapping()) == recipe == replace(recipe, steps=None)


def test_a_plain_stage_is_named_with_options_and_with_its_own_share():
    recipe = Recipe("x", method="plain+ssmix:window=0.2", plain_share=0.6)
    assert (recipe.method, recipe.method_options, recipe.plain_share) == ("ssmix", {"window": 0.2}, 0.6)
    assert Recipe("x", method="ssmix", plain_share=0.6) == Recipe("x", method="plain+ssmix", plain_share=0.6)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("plain+ssmx", 'unknown method "ssmx".*Did you mean "ssmix"'),
        ("plain+", 'unknown method ""'),
        ("plain+tf-idf", 'unknown method "tf-idf"'),
        ("plain+plain:window=1", "the method 'plain' has no options"),
        ("ssmix+plain", r'unknown method "ssmix\+plain"'),
        ("plain+plain+ssmix", r'--method "plain\+plain\+ssmix": write plain\+ once, before the name of a method'),
    ],
)
def test_names_that_are_none(method, message, place, tmp_path):
    with pytest.raises(InputError, match=message) as error:
        train(recipe_of(place, method=method), tmp_path / "run")
    assert "\n" not in str(error.value) and not list(tmp_path.iterdir())


def test_a_stage_before_no_method_is_refused(place, tmp_path):
    with pytest.raises(InputError, match="--plain-share is the part of the steps before a mixing method: name one"):
        train(recipe_of(place, method=None, plain_share=0.5), tmp_path / "run")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("share", [-0.1, 0.96, 1, "half", None, True])
def test_a_share_leaves_steps_to_both_stages(share):
    with pytest.raises(InputError, match=r"^--plain-share is .*: give a number from 0 to 0\.95$"):
        Recipe("x", plain_share=share)
