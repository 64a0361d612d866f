"""Small models over words learn what can be learnt, and the best epoch is kept; Adagrad as the paper's code has it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import TrainerCallback

import word_models
from salience.data.encoding import encode_texts
from salience.data.task import Task
from salience.data.texts import Texts
from salience.papers.attention_classifiers.options import AttentionOptions, WordRecipe
from salience.papers.datasets import accuracy
from salience.papers.uaftc import training as study
from salience.papers.uaftc.training import KeepBest, adagrad, fit_words

OPTIONS = AttentionOptions("embeddings", "dot", scale=10.0, width=8)
RECIPE = WordRecipe(epochs=8, batch_size=10, learning_rate=0.1)
FILLER = ["the", "a", "of", "and", "to", "in"]


def part(number: int, seed: int) -> Texts:
    """Texts of which "good" or "bad" says everything."""
    draw, texts = np.random.default_rng(seed), []
    for row in range(number):
        words = [*draw.choice(FILLER, draw.integers(2, 7)), ("bad", "good")[row % 2]]
        texts.append(" ".join(draw.permutation(words)))
    return Texts(texts, labels=[row % 2 for row in range(number)])


DATA = Task(["negative", "positive"], part(60, 0), part(20, 1), part(30, 2), tokenised=True)


class Epochs(TrainerCallback):
    """Counts epochs and steps."""

    def __init__(self):
        self.epochs = self.steps = 0

    def on_epoch_end(self, args, state, control, **_):
        self.epochs += 1

    def on_step_end(self, args, state, control, **_):
        self.steps += 1


@pytest.fixture(scope="module")
def fitted():
    return fit_words(OPTIONS, RECIPE, DATA, seed=0)


def test_what_can_be_learnt_is_learnt(fitted):
    assert fitted.test_accuracy == 1
    assert max(fitted.accuracies) == 1
    assert len(fitted.accuracies) == 8
    untrained = fit_words(OPTIONS, replace(RECIPE, epochs=1, learning_rate=1e-9), DATA, seed=0)
    assert untrained.test_accuracy < 0.8


def test_the_words_are_those_of_the_training_texts(fitted):
    vocabulary = set(fitted.tokenizer.get_vocab())
    assert {"good", "bad", *FILLER} <= vocabulary
    assert len(vocabulary) == 8 + 3


def test_the_same_seed_is_the_same_model(fitted):
    again = fit_words(OPTIONS, RECIPE, DATA, seed=0)
    assert word_models.bits(again.model) == word_models.bits(fitted.model)
    assert word_models.bits(fit_words(OPTIONS, RECIPE, DATA, seed=1).model) != word_models.bits(fitted.model)


class Spoiler(Epochs):
    """Turns the model's opinion round after its sixth epoch: what follows is worse."""

    def on_epoch_end(self, args, state, control, model=None, **_):
        super().on_epoch_end(args, state, control)
        if self.epochs == 6:
            with torch.no_grad():
                model.head.weight.mul_(-5)


def test_every_epoch_is_looked_at_and_the_best_one_returned():
    spoiler = Spoiler()
    found = fit_words(OPTIONS, replace(RECIPE, epochs=7), DATA, seed=1, callbacks=[spoiler])
    assert (spoiler.epochs, spoiler.steps) == (7, 42)
    assert found.accuracies[-1] < 0.5 < max(found.accuracies)
    assert found.best_epoch == found.accuracies.index(max(found.accuracies))
    validation, test = (
        encode_texts(found.tokenizer, part.texts, labels=part.labels) for part in (DATA.validation, DATA.test)
    )
    assert accuracy(found.model, validation) == max(found.accuracies)
    assert accuracy(found.model, test) == found.test_accuracy > 0.5


def test_the_first_of_the_best_epochs_is_kept(monkeypatch):
    model = word_models.word_classifier()
    told = iter([0.5, 0.9, 0.9, 0.3])
    monkeypatch.setattr(study, "accuracy", lambda own, encoded: next(told))
    keeper = KeepBest(model, None)
    kept = []
    for epoch in range(4):
        with torch.no_grad():
            model.head.weight.fill_(epoch)
        keeper.on_epoch_end(None, None, None)
        kept.append((int(np.argmax(keeper.accuracies)), keeper.weights["head.weight"].unique().tolist()))
    assert kept == [(0, [0]), (1, [1]), (1, [1]), (1, [1])]
    assert keeper.accuracies == [0.5, 0.9, 0.9, 0.3]


def test_fewer_texts_than_a_batch_holds_are_trained_on_too():
    """For as many epochs as was said."""
    for rows in [7, 25]:
        seen = Epochs()
        data = replace(DATA, training=part(rows, 0))
        found = fit_words(OPTIONS, replace(RECIPE, epochs=5, batch_size=100), data, seed=0, callbacks=[seen])
        assert (len(found.accuracies), seen.epochs) == (5, 5)


def test_only_so_many_words_of_a_text_are_read():
    """What decides stands behind them: nothing can be learnt."""

    def behind(own: Texts) -> Texts:
        return Texts([f"the the the {text}" for text in own.texts], labels=own.labels)

    data = replace(DATA, training=behind(DATA.training), validation=behind(DATA.validation), test=behind(DATA.test))
    assert fit_words(OPTIONS, RECIPE, data, seed=0).test_accuracy == 1
    assert fit_words(OPTIONS, RECIPE, data, seed=0, max_length=3).test_accuracy == 0.5


def test_a_price_of_alignment_lowers_it():
    free, priced = (fit_words(OPTIONS, replace(RECIPE, alignment=price), DATA, seed=0).model for price in (0.0, 10.0))
    coupling = [abs((model.head.weight @ model.pooling.query[0]).item()) for model in (free, priced)]
    assert coupling[1] < 0.5 * coupling[0]
    with pytest.raises(ValueError, match=r"V\^T W is defined"):
        fit_words(replace(OPTIONS, pooling="mean", scale=1), replace(RECIPE, alignment=1.0), DATA, seed=0)


def test_accuracy_is_counted():
    tokens = word_models.word_batch([3, 5, 2, 8])
    model = word_models.word_classifier()
    predicted = model(tokens.input_ids, tokens.attention_mask, tokens.segment > 0).logits.argmax(1).tolist()
    rows = [ids[mask.bool()].numpy() for ids, mask in zip(tokens.input_ids, tokens.attention_mask, strict=True)]
    lengths = np.array([len(row) for row in rows])
    labels = [predicted[0], predicted[1], (predicted[2] + 1) % 3, predicted[3]]
    encoded = study.Encoded(np.concatenate(rows), np.ones(lengths.sum(), np.int8), lengths, labels)
    assert accuracy(model, encoded) == 0.75


# ------------------------------------------------------------------------------------------------------------ Adagrad


def test_decay_leaves_the_embeddings_alone():
    """A loss without a gradient: what moves is moved by the decay."""
    model = word_models.word_classifier("lstm")
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    optimizer, _ = adagrad(model, WordRecipe(weight_decay=0.5))
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    optimizer.step()
    for name, weight in model.named_parameters():
        if weight is model.get_input_embeddings().weight:
            assert torch.equal(weight, before[name])
        else:
            assert ((weight - before[name]) * before[name] < 0).all(), name  # towards 0
    assert len(before) > 5


def test_without_decay_nothing_moves_by_itself():
    model = word_models.word_classifier("affine")
    before = word_models.bits(model)
    optimizer, _ = adagrad(model, WordRecipe())
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    optimizer.step()
    assert word_models.bits(model) == before


def test_the_steps_of_adagrad_by_hand():
    """Gradients of 2, then 1: lr g / sqrt(sum of g^2), with lr / (1 + steps decay); the schedule changes nothing."""
    model = word_models.word_classifier()
    start = model.head.weight.detach().clone()
    optimizer, schedule = adagrad(model, WordRecipe(learning_rate=0.3, decay=0.25))
    expected = [0.3 * 1, 0.3 / 1.25 / 5**0.5, 0.3 / 1.5 / 6**0.5]
    for step, gradient in enumerate((2.0, 1.0, 1.0)):
        for weight in model.parameters():
            weight.grad = torch.full_like(weight, gradient)
        optimizer.step()
        schedule.step()
        moved = start - model.head.weight.detach()
        assert moved == pytest.approx(np.full(moved.shape, sum(expected[: step + 1])), abs=1e-5)
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(list(model.parameters()))
