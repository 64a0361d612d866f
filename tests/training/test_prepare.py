"""From a recipe to what is used: its arguments of the Trainer, and what a recipe leaves open."""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import families
import families_page
from labelled import FILLER, WORDS, labelled_rows, rows_of_several, write_csv
from salience.classify import TextClassifier
from salience.classify.frozen_encoder import sentence_vectors
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError
from salience.mixing import SenMixup
from salience.models.loading import load_tokenizer
from salience.training import prepare as preparing
from salience.training.head import last_map, regressions
from salience.training.prepare import (
    MULTILINGUAL,
    check_machine,
    foreign_language,
    fresh_classifier,
    plan_of,
    prepare,
    silent,
    training_arguments,
    try_longest,
    with_initial_head,
)
from salience.training.recipe import Plan, Recipe, default_rates, default_steps
from salience.training.run import checked_files
from salience.training.task import task_of
from word_models import bits, word_classifier

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


@pytest.mark.parametrize("settings", [{"trained_layers": 1}, {"contrastive": 0.1}, {"trained_share": 0.5}], ids=str)
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
        ({"steps": "many"}, "steps='many': give a whole number from 0"),
        ({"steps": 0}, "--steps must be at least 1, not 0"),
        ({"trained_layers": 0, "steps": 3}, "--trained-layers 0 trains the head alone, a logistic regression"),
        ({"trained_layers": 0, "method": "ssmix"}, "leave out --method ssmix"),
        ({"trained_layers": "0", "head_start": "random"}, "leave out --set head_start=random"),
        ({"trained_layers": 0, "contrastive": 0.5}, "leave out --set contrastive=0.5"),
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


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Rows, and an encoder that sentence-transformers uses with a mean, and the same without that file."""
    folder = tmp_path_factory.mktemp("place")
    words = [*WORDS.values(), " ".join(FILLER)]
    plain, mean = (families.save_tiny_model(folder / name, words) for name in ("plain", "mean"))
    (mean / "1_Pooling").mkdir()
    (mean / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    data = write_csv(folder / "rows.csv", labelled_rows(24))
    return SimpleNamespace(data=str(data), plain=str(plain), mean=str(mean))


def prepared(place, model, data=None, **settings):
    recipe = Recipe(data or place.data, model=getattr(place, model), steps=3, device="cpu", **settings)
    return with_initial_head(*checked_files(recipe))


def test_a_mean_is_trained_with_mixtures_of_vectors_and_contrast(place):
    found = prepared(place, "mean")
    assert (found.plan.pooling, found.plan.method, found.plan.method_options) == (
        "mean",
        "senmixup",
        {"alpha": 1},
    )
    assert found.method == SenMixup(alpha=1.0)
    assert (found.plan.contrastive, found.plan.contrastive_temperature) == (0.6, 0.1)
    assert found.plan.head_start == "logistic"


def test_the_copy_for_a_fold_is_what_would_be_loaded(place):
    """To the bit, with the head that was drawn before it became a regression on the rows of the run."""
    found = prepared(place, "mean")
    recipe = found.plan
    assert bits(found.untrained().model) == bits(fresh_classifier(recipe, task_of(recipe, silent), silent).model)
    assert bits(found.untrained().model) != bits(found.model)
    torch.rand(1)
    state = [(found.untrained(), torch.get_rng_state())[1] for _ in range(2)]
    assert torch.equal(*state)


def test_a_model_whose_vocabulary_is_of_the_training_texts_has_no_copy(place):
    assert checked_files(Recipe(place.data, model="lstm-base", steps=3, device="cpu"))[0].untrained() is None


def test_another_head_is_trained_without(place):
    for found in (prepared(place, "plain"), prepared(place, "mean", pooling="cls")):
        assert (found.plan.pooling, found.plan.method, found.method) == ("cls", "plain", None)
        assert found.plan.contrastive == 0
        assert found.plan.head_start == "random"


def test_several_labels_have_the_same_beginning_and_no_contrast(place, tmp_path):
    data = write_csv(tmp_path / "several.csv", rows_of_several(24, 0))
    found = prepared(place, "mean", data=str(data))
    assert (found.plan.head_start, found.plan.method, found.plan.contrastive) == ("logistic", "senmixup", 0)
    vectors = sentence_vectors(found.model, found.training)
    weights, biases = regressions(vectors, np.asarray(found.training.labels))
    assert last_map(found.model).weight.detach().numpy() == pytest.approx(weights, abs=1e-6)
    assert last_map(found.model).bias.detach().numpy() == pytest.approx(biases, abs=1e-6)


def test_a_head_that_was_trained_is_kept(place, tmp_path):
    """It begins anew where the labels are others."""
    first = prepared(place, "mean")
    weights = last_map(first.model).weight + 1
    last_map(first.model).weight.data = weights
    first.model.save_pretrained(tmp_path / "run")
    first.classifier.tokenizer.save_pretrained(tmp_path / "run")
    again = checked_files(Recipe(place.data, model=str(tmp_path / "run"), steps=3, device="cpu"))[0]
    assert (again.plan.pooling, again.plan.head_start) == ("mean", "random")
    assert torch.equal(last_map(again.model).weight, weights)
    texts = [(text, f"{label} {len(text) % 2}") for text, label in labelled_rows(24)]
    others = write_csv(tmp_path / "others.csv", texts)
    fresh = checked_files(Recipe(str(others), model=str(tmp_path / "run"), steps=3, device="cpu"))[0]
    assert fresh.plan.head_start == "logistic"


@pytest.mark.parametrize(
    ("settings", "method", "contrast"),
    [
        ({"method": "plain"}, "plain", 0.6),
        ({"method": "ssmix"}, "ssmix", 0.6),
        ({"contrastive": 0.0}, "senmixup", 0),
        ({"contrastive": 0.2}, "senmixup", 0.2),
        ({"clean": 0.0}, "senmixup", 0),  # there are no unmixed texts to compare
        ({"clean": 0.0, "method": "plain"}, "plain", 0.6),  # clean is about mixtures, and here are none
        ({"accumulation": 2}, "senmixup", 0),  # the parts of a batch cannot be compared
        ({"head_start": "random"}, "senmixup", 0.6),
    ],
)
def test_what_is_asked_comes_first(settings, method, contrast, place):
    recipe = prepared(place, "mean", **settings).plan
    assert (recipe.method, recipe.contrastive) == (method, contrast)
    assert recipe.head_start == settings.get("head_start", "logistic")


def test_several_processes_have_no_contrast_by_default(monkeypatch):
    found = {"pooling": "mean", "head_start": "random", "max_length": 8}
    assert Recipe("rows.csv").resolved(60, 3, 384, **found).contrastive == 0.6
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert Recipe("rows.csv").resolved(60, 3, 384, **found).contrastive == 0


def test_a_resolved_recipe_stays_as_it_is(place):
    """So a run is repeated by its recipe.yaml, also by versions with other defaults."""
    recipe = prepared(place, "mean").plan
    assert checked_files(recipe)[0].plan == recipe
    assert Plan.from_mapping(recipe.as_mapping()) == recipe


def test_options_without_a_method_are_refused():
    with pytest.raises(InputError, match="window: settings of a method need its name: add --method NAME"):
        Recipe("rows.csv", method_options={"window": 0.2})


def test_all_classes_count_alike_with_their_descriptions(tmp_path):
    """Two rows of one label and ten of each other one; three descriptions of the first, one of the second."""
    left, rows = {"sport": 10, "music": 10, "food": 2}, []
    for text, label in labelled_rows(60):
        if left[label]:
            rows.append((text, label))
            left[label] -= 1
    assert Counter(label for _, label in rows) == {"sport": 10, "music": 10, "food": 2}
    described = {"food": ["a soup", "a meal", "a dish"], "music": ["a song"]}
    (tmp_path / "labels.yaml").write_text(json.dumps(described))
    recipe = Recipe(
        data=str(write_csv(tmp_path / "rows.csv", rows)), class_weights="auto", method="plain", device="cpu",
        model=str(families.save_tiny_model(tmp_path / "tiny", [*WORDS.values(), " ".join(FILLER)])),
        label_descriptions=str(tmp_path / "labels.yaml"), pooling="cls", steps=1,
    )  # fmt: skip
    task = task_of(recipe, lambda line: None)
    weights = dict(zip(task.labels, prepare(recipe, task).class_weights, strict=True))
    texts = {"sport": 10, "music": 11, "food": 5}
    assert [weights[label] * texts[label] for label in texts] == pytest.approx([26 / 3] * 3)
    assert np.mean([weights[label] for label in texts for _ in range(texts[label])]) == pytest.approx(1)


ENGLISH = "The card that I ordered last week has not arrived yet, and nobody could tell me when it will be delivered"
GERMAN = "Die Karte, die ich letzte Woche bestellt habe, ist noch nicht angekommen, und niemand konnte mir sagen, wann"


@pytest.mark.parametrize(("text", "count", "said"), [(ENGLISH, 20, False), (GERMAN, 20, True), (GERMAN, 4, False)])
def test_texts_in_another_language_are_told(text, count, said):
    """By their tokens a word; a few words tell nothing, and a vocabulary of many languages neither."""
    tokenizer = load_tokenizer("minilm")
    found = foreign_language(tokenizer, Texts([text] * count))
    assert (found is not None) == said and (not said or "tokens a word" in found)
    tokenizer.add_tokens([f"[{number}]" for number in range(MULTILINGUAL)])
    assert foreign_language(tokenizer, Texts([text] * count)) is None


CHINESE = "人人生而自由，在尊严和权利上一律平等。这本书很好看，我非常喜欢它的故事和人物。"


def test_texts_in_a_script_without_spaces():
    """By the characters that a vocabulary has not; one that was made from such texts has them."""
    texts = Texts([CHINESE] * 20)
    assert "nothing for 6" in foreign_language(load_tokenizer("minilm"), texts)
    assert foreign_language(families.trained_tokenizer("WordPiece", [" ".join(CHINESE)]), texts) is None


@pytest.mark.parametrize(("layers", "share"), [("all", 1), (1, 0.5)])
def test_a_step_that_needs_much_memory_is_told(layers, share, tmp_path, monkeypatch):
    monkeypatch.setattr(preparing, "MUCH", 1.0)
    monkeypatch.setattr(preparing, "try_longest", lambda *_: 500_000_000)
    place = str(write_csv(tmp_path / "rows.csv", labelled_rows(12)))
    model, notes = str(families.save_tiny_model(tmp_path / "tiny", list(WORDS.values()))), []
    checked_files(Recipe(place, model=model, device="cpu", steps=1, trained_layers=layers, batch_size=8), notes.append)
    assert sum(f"a step keeps up to {4 * share:.1f} GB in memory, with 8 texts of" in line for line in notes) == 1


def test_a_better_encoder_in_the_cache_is_told(tmp_path, monkeypatch):
    """Nothing is fetched to find out, and a model that was chosen is no question."""
    place = str(write_csv(tmp_path / "rows.csv", labelled_rows(12)))
    tiny = str(families.save_tiny_model(tmp_path / "tiny", list(WORDS.values())))
    asked = []
    monkeypatch.setattr(preparing, "try_to_load_from_cache", lambda *names: asked.append(names) or str(tmp_path))
    for model, told in (("minilm", 1), (tiny, 0)):
        notes = []
        checked_files(Recipe(place, model=model, device="cpu", steps=1), notes.append)
        assert sum(preparing.BETTER in line for line in notes) == told == len(asked)
        asked.clear()


@pytest.mark.parametrize("part", ["training", "test"])
def test_the_longest_text_is_tried_before_training(part, tmp_path):
    """MPT's biases of distance are of 16 tokens, and its other settings name no length."""
    model = families_page.save(tmp_path / "tiny", "mpt", max_seq_len=16)
    short, long = labelled_rows(12), [("the team won " * 7, "sport")]
    files = {
        "data": write_csv(tmp_path / "train.csv", short + long * (part == "training")),
        "test": write_csv(tmp_path / "test.csv", short + long * (part == "test")),
    }
    recipe = Recipe(**{role: str(file) for role, file in files.items()}, model=str(model), device="cpu")
    tried = "a trial with two texts, the longest of which has [0-9]+ tokens, ended in RuntimeError: The size of tensor"
    with pytest.raises(InputError, match=tried):
        checked_files(recipe)


def test_a_trial_leaves_the_model_as_it_is(tmp_path):
    """Its weights, their gradients, its mode, and the random numbers that are drawn next."""
    model = families.build("bert", dropout=0.5)
    classifier = TextClassifier(model, families.tiny_tokenizer(["the team won a cup"]), 16)
    encoded = classifier.encode(["the team", "", "the team won a cup"])
    weights, state = [weight.clone() for weight in model.parameters()], torch.get_rng_state()
    for training in (True, False):
        model.train(training)
        try_longest("tiny", classifier, [encoded])
        assert model.training == training and torch.equal(torch.get_rng_state(), state)
        assert all(map(torch.equal, model.parameters(), weights))
        assert all(weight.grad is None for weight in model.parameters())
