"""VAT: the compressor's loss as worked by hand, what each phase may change, cached features, and interrupted runs."""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from launching_turns import trained_by_turns
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, TrainerCallback, set_seed

import families
from labelled import FILLER, WORDS, labelled_rows, planned, write_csv
from reference import close
from salience import Batch, SSMix
from salience.classify import TextClassifier
from salience.data.batching import Collator, LengthGrouped
from salience.data.encoding import Encoded, encode_texts
from salience.errors import InputError
from salience.hooks.hooks import forward
from salience.papers.attention_classifiers import classifier as compressor
from salience.papers.attention_classifiers.building import word_tokenizer
from salience.papers.attention_classifiers.classifier import Compressor, divergence, pooled_states, sample
from salience.papers.attention_classifiers.options import PRESETS
from salience.papers.vat import turns
from salience.papers.vat.turns import compress, compression_loss, encode_features, frozen
from salience.training import callbacks as resuming
from salience.training.fit import Listeners, build_trainer, fit
from salience.training.objective import CrossEntropy
from salience.training.prepare import Prepared
from salience.training.procedures import Turns
from salience.training.recipe import Recipe
from salience.training.run import train
from word_models import bits, word_classifier

ROWS = labelled_rows(30)
TEXTS, NAMES = [text for text, _ in ROWS], list(WORDS)
TOKENIZER = word_tokenizer(TEXTS)
RECIPE = Recipe(data="texts", method="plain", steps=8, batch_size=8, learning_rate=0.02, evaluations=2, device="cpu")
BETA = Turns().beta


def encoded(pairs: bool = False) -> Encoded:
    labels = [NAMES.index(label) for _, label in ROWS]
    return encode_texts(TOKENIZER, TEXTS, TEXTS[::-1] if pairs else None, labels)


def model_of(encoder: str = "lstm", pooling: str = "variational", seed: int = 0, dropout: float = 0.3, **settings):
    return word_classifier(
        encoder, seed, pooling=pooling, vocab_size=len(TOKENIZER), dropout=dropout, embedding_dropout=dropout,
        **({"head": "perceptron"} | settings),
    )  # fmt: skip


def ready(
    model,
    validation: bool = True,
    recipe: Recipe = RECIPE,
    iterations: int = 2,
    method=None,
    class_weights=None,
    **settings,
) -> Prepared:
    """A run that is prepared to train the model, by turns with these settings if it needs them."""
    everything = encoded()
    options = {"iterations": iterations, **settings} if model.procedure == "turns" else {}
    return Prepared(
        planned(replace(recipe, procedure_options=options)), TextClassifier(model, TOKENIZER, 100), method,
        everything.take(range(20)), everything.take(range(20, 30)) if validation else None, None, class_weights,
    )  # fmt: skip


PARTS = ("encoder", "pooling", "compressor", "head")


def parts(model) -> dict[str, dict]:
    return {name: bits(getattr(model, name)) for name in PARTS}


def changed(before: dict, after: dict) -> set[str]:
    return {name for name in PARTS if before[name] != after[name]}


# ------------------------------------------------------------------------------------------- worked by hand (3.13)


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor([values], dtype=torch.float64)


def test_the_divergence_as_worked_by_hand():
    for mean, deviation, expected in [
        ((1, 0), (1, 2), 2 - math.log(2)),
        ((1, 0), (1, 2), 1.3068528),
        ((0, 0, 0), (1, 1, 1), 0),
        ((0.5,), (0.5,), 0.4431472),
        ((0,), (math.log(2),), 0.1067),
    ]:
        tolerance = 1e-4 if expected == 0.1067 else 1e-7
        assert divergence(tensor(*mean), tensor(*deviation)).item() == pytest.approx(expected, abs=tolerance)


def test_the_divergence_is_torchs_and_never_negative():
    mean, deviation = torch.randn(20, 3).double(), torch.rand(20, 3).double() * 3 + 1e-3
    prior = torch.distributions.Normal(torch.zeros(()).double(), 1.0)
    expected = torch.distributions.kl_divergence(torch.distributions.Normal(mean, deviation), prior).sum(1)
    assert close(divergence(mean, deviation), expected)
    assert (divergence(mean, deviation) >= 0).all()


def test_a_sample_as_worked_by_hand(monkeypatch):
    monkeypatch.setattr(torch, "randn_like", lambda mean: tensor(0.5, -2))
    assert sample(tensor(1, -1), tensor(2, 0.5)).tolist() == [[2, -2]]


def test_a_sample_has_its_mean_and_deviation_and_their_gradients():
    mean, deviation = tensor(1, -1).requires_grad_(), tensor(2, 0.5).requires_grad_()
    found = sample(mean.expand(4000, 2), deviation.expand(4000, 2))
    assert close(found.mean(0), mean, 0.1) and close(found.std(0), deviation, 0.1)
    assert torch.autograd.grad(found.sum(), mean, retain_graph=True)[0].tolist() == [[4000, 4000]]
    (by_deviation,) = torch.autograd.grad(found.sum(), deviation)
    assert close(by_deviation, ((found - mean) / deviation).sum(0, keepdim=True))


def worked_compressor(means, deviations, logits) -> Compressor:
    """Whatever it is shown, u, sigma and the logits of the class are these."""
    found = Compressor(2, len(means), len(logits)).double()
    with torch.no_grad():
        for weight in found.parameters():
            weight.zero_()
        found.mean[-1].bias.copy_(torch.tensor(means))
        # The inverse of softplus, and of the smallest deviation that is added.
        found.deviation[-1].bias.copy_((torch.tensor(deviations).double() - compressor.SMALLEST).expm1().log())
        found.classifier[-1].bias.copy_(torch.tensor(logits))
    return found


def test_the_compressors_loss_as_worked_by_hand():
    """CE at p = .75, and .1 of u = (1, 0), sigma = (1, 2)."""
    model = SimpleNamespace(
        pooling=lambda states, mask: (states[:, 0], None),
        compressor=worked_compressor((1.0, 0.0), (1.0, 2.0), (math.log(3), 0.0)),
    )
    model.classify_compressed = model.compressor.classifier
    states, mask, labels = torch.randn(1, 3, 2).double(), torch.ones(1, 3).bool(), torch.tensor([0])
    assert compression_loss(model, states, mask, labels, beta=0.0).item() == pytest.approx(0.2876821, abs=1e-6)
    assert compression_loss(model, states, mask, labels, beta=0.1).item() == pytest.approx(0.4183674, abs=1e-6)
    three = (states.expand(3, 3, 2), mask.expand(3, 3), labels.expand(3))
    assert compression_loss(model, *three, beta=0.1).item() == pytest.approx(0.4183674, abs=1e-6)  # a mean over texts


def test_at_the_beginning_a_unit_costs_as_worked_by_hand():
    """softplus(0) = ln 2: .1067 nats with u = 0."""
    found = worked_compressor((0.0, 0.0), (1.0, 1.0), (0.0, 0.0))
    torch.nn.init.zeros_(found.deviation[-1].bias)
    _, kept = found(torch.randn(3, 2).double())
    assert close(kept, torch.full((3,), 2 * 0.1067), 2e-4)


def test_the_compressor_is_the_papers_formula():
    found, pooled = Compressor(4, 3, 2).double(), torch.randn(5, 4).double()

    def by_hand(maps, values):
        return maps[2].weight @ (maps[0].weight @ values + maps[0].bias).tanh() + maps[2].bias

    torch.default_generator.manual_seed(1)
    compressed, kept = found(pooled)
    torch.default_generator.manual_seed(1)
    noise = torch.randn_like(torch.empty(5, 3).double())
    for row in range(5):
        mean = by_hand(found.mean, pooled[row])
        deviation = torch.log1p(by_hand(found.deviation, pooled[row]).exp()) + 1e-6
        assert close(compressed[row], mean + deviation * noise[row])
        assert close(found.classifier(compressed)[row], by_hand(found.classifier, mean + deviation * noise[row]))
        assert close(kept[row], sum((u**2 + s**2 - 1) / 2 - s.log() for u, s in zip(mean, deviation, strict=True)))


def test_without_deviation_the_compressor_is_deterministic():
    found, pooled = Compressor(4, 3, 2), torch.randn(5, 4)
    assert not torch.equal(found(pooled)[0], found(pooled)[0])
    torch.nn.init.zeros_(found.deviation[-1].weight)
    torch.nn.init.constant_(found.deviation[-1].bias, -100.0)
    first, _ = found(pooled)
    assert close(first, found(pooled)[0], 1e-4)
    assert close(first, found.mean(pooled), 1e-4)


# -------------------------------------------------------------------------------------------- what a phase may change


def test_a_shared_head_classifies_what_is_compressed():
    for head, classes in [("linear", 2), ("linear", 3), ("perceptron", 2)]:
        model = model_of(head=head, classes=classes, shared_head=True, dropout=0.0)
        states, mask, labels = torch.randn(4, 3, 6), torch.ones(4, 3).bool(), torch.tensor([0, 1, 1, 0])
        torch.manual_seed(0)
        found = compression_loss(model, states, mask, labels, beta=0.5)
        torch.manual_seed(0)
        compressed, kept = model.compressor(model.pooling(states, mask)[0])
        scores = model.head(compressed)
        logits = torch.cat([-scores / 2, scores / 2], 1) if scores.shape[1] == 1 else scores
        assert logits.shape == (4, classes)
        assert close(found, F.cross_entropy(logits, labels) + 0.5 * kept.mean(), 1e-6)
        assert model.compressor.classifier is None


def test_a_shared_head_is_trained_in_both_phases(tmp_path):
    model = model_of(shared_head=True)
    before = parts(model)
    run = ready(model, validation=False)
    trainer = build_trainer(run, tmp_path / "learner")
    turns.compressor_phase(run, BETA, trainer, tmp_path)
    between = parts(model)
    assert changed(before, between) == {"pooling", "compressor", "head"}
    turns.learner_phase(RECIPE, trainer, tmp_path, joint=False)
    assert changed(between, parts(model)) == {"encoder", "head"}


def test_the_compressor_phase_changes_attention_and_compressor_alone(tmp_path):
    model = model_of().train()
    before = parts(model)
    trainer = build_trainer(ready(model), tmp_path / "learner")
    turns.compressor_phase(ready(model), BETA, trainer, tmp_path)
    assert changed(before, parts(model)) == {"pooling", "compressor"}
    assert all(weight.requires_grad for weight in model.parameters())
    assert model.training and not model._forward_hooks and not model.pooling._forward_pre_hooks
    assert not (tmp_path / "features.npy").exists()


@pytest.mark.parametrize(("joint", "expected"), [(True, {"encoder", "pooling", "head"}), (False, {"encoder", "head"})])
def test_the_learner_phase_changes_the_encoder_and_the_head(joint, expected, tmp_path):
    """The attention too in iteration 0; weight decay may not move what is frozen."""
    model = model_of()
    before = parts(model)
    trainer = build_trainer(ready(model, validation=False, recipe=replace(RECIPE, weight_decay=0.5)), tmp_path)
    state = turns.learner_phase(RECIPE, trainer, tmp_path, joint)
    assert changed(before, parts(model)) == expected
    assert state.global_step == 8
    assert all(weight.requires_grad for weight in model.parameters())


@pytest.mark.parametrize(
    "encoder", ["lstm", *(pytest.param(own, marks=pytest.mark.whole) for own in ("affine", "embeddings"))]
)
def test_phases_in_their_order(encoder, tmp_path, monkeypatch):
    """Iteration 0 is the joint one; every further one, half as long, compresses, then learns."""
    order = []

    model = model_of(encoder)

    def watched(name, phase, run, *others, **named):
        before = parts(model)
        found = phase(run, *others, **named)
        recipe = run if name == "learner_phase" else run.plan
        order.append((name, recipe.seed, changed(before, parts(model))))
        return found

    for name in ("compressor_phase", "learner_phase"):
        monkeypatch.setattr(turns, name, partial(watched, name, getattr(turns, name)))
    found = fit(ready(model, validation=False), tmp_path).iterations
    learnt = {"encoder", "head"}
    assert order == [
        ("learner_phase", 0, learnt | {"pooling"}),
        ("compressor_phase", 1, {"pooling", "compressor"}),
        ("learner_phase", 1, learnt),
        ("compressor_phase", 2, {"pooling", "compressor"}),
        ("learner_phase", 2, learnt),
    ]
    assert found == [
        {"iteration": number, "steps": steps, "validation_accuracy": None, "kept": number == 2}
        for number, steps in enumerate([8, 4, 4])
    ]


def test_without_a_compressor_the_learner_has_all_turns(tmp_path, monkeypatch):
    """The attention of iteration 0 stays, and so do the compressor's weights; all else is as with a compressor."""
    monkeypatch.setattr(turns, "compressor_phase", None)
    model = model_of()
    before = parts(model)
    seen = []
    listeners = Listeners(iteration=lambda model: seen.append(parts(model)))
    found = fit(ready(model, validation=False, compressor="none"), tmp_path, listeners).iterations
    assert [row["steps"] for row in found] == [8, 4, 4]
    assert changed(before, seen[0]) == {"encoder", "head", "pooling"}
    assert changed(seen[0], seen[1]) == changed(seen[1], seen[2]) == {"encoder", "head"}
    assert found[2]["kept"]


def test_the_divergence_is_a_sum_or_a_mean_over_dimensions():
    for form, weight in [("sum", 0.3), ("mean", 0.3 / 5)]:
        model = SimpleNamespace(compressor=Compressor(4, 5, 2))
        assert turns.beta_of(Turns(beta=0.3, divergence=form), model) == pytest.approx(weight)


@pytest.mark.parametrize(("accuracies", "best"), [((0.9, 0.5, 0.7), 2), ((0.9, 0.7, 0.5), 1), ((None, None, None), 2)])
def test_iterations_before_the_earliest_are_not_kept(accuracies, best, tmp_path, monkeypatch):
    given = iter(accuracies)
    monkeypatch.setattr(turns, "validation_accuracy", lambda trainer: next(given))
    found = fit(ready(model_of(), validation=False, earliest=1), tmp_path).iterations
    assert [row["kept"] for row in found] == [number == best for number in range(3)]


def test_there_is_an_iteration_to_keep():
    with pytest.raises(InputError, match="--set earliest=3: the last iteration is 2; give it or less"):
        Turns(iterations=2, earliest=3)


def test_frozen_attention_lets_the_gradient_through():
    """The encoder learns through the weights of a frozen attention as through those of another (3.13)."""
    everything = encoded()
    own = Batch(**Collator.of(TOKENIZER)([everything[row] for row in range(5)]))
    gradients = []
    for freeze in (False, True):
        model = model_of(dropout=0.0)
        with frozen(model.pooling.parameters() if freeze else []):
            F.cross_entropy(forward(model, own), own.labels).backward()
        assert (model.pooling.query.grad is None) == freeze
        gradients.append([weight.grad for weight in [*model.encoder.parameters(), *model.head.parameters()]])
    assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))


def test_whoever_watches_is_shown_the_model_after_every_iteration(tmp_path):
    """Half of an odd number of steps is rounded up."""
    model, seen = model_of(), []
    run = ready(model, validation=False, recipe=replace(RECIPE, steps=5), iterations=1)
    found = fit(run, tmp_path, Listeners(iteration=seen.append)).iterations
    assert [row["steps"] for row in found] == [5, 3]
    assert len(seen) == 2 and all(shown is model for shown in seen)


def test_what_was_frozen_before_stays_frozen(tmp_path):
    """A user's frozen word vectors, through all phases."""
    model = model_of()
    model.get_input_embeddings().weight.requires_grad_(False)
    before = model.get_input_embeddings().weight.clone()
    fit(ready(model, iterations=1), tmp_path)
    assert torch.equal(model.get_input_embeddings().weight, before)
    assert not model.get_input_embeddings().weight.requires_grad


@pytest.mark.parametrize("method", [None, SSMix()])
def test_iteration_0_is_additive_attention(method, tmp_path):
    """The paper's ATT, to the last bit."""
    variational, additive = model_of(), model_of(pooling="additive", seed=1)
    shared = {
        key: value.clone() for key, value in variational.state_dict().items() if not key.startswith("compressor.")
    }
    additive.load_state_dict(shared)
    recipe = replace(RECIPE, steps=6)
    by_turns = fit(ready(variational, recipe=recipe, iterations=0, method=method), tmp_path / "one")
    once = fit(ready(additive, recipe=recipe, method=method), tmp_path / "other")
    learnt = {key: value for key, value in variational.state_dict().items() if key in shared}
    assert bits(additive) == bits(learnt) != bits(shared)
    assert (len(by_turns.iterations), once.iterations) == (1, [])
    steps = [(fitted.state.global_step, fitted.state.best_global_step) for fitted in (by_turns, once)]
    assert steps[0] == steps[1]


def test_other_models_train_once(tmp_path):
    fitted = fit(ready(model_of(pooling="dot")), tmp_path)
    assert fitted.iterations == [] and fitted.state.global_step == 8


@pytest.mark.parametrize(
    ("accuracies", "best"),
    [((0.5, 0.9, 0.7), 1), ((0.9, 0.5, 0.9), 0), ((None, None, None), 2),
     pytest.param((0.5, 0.7, 0.9), 2, marks=pytest.mark.whole)],
)  # fmt: skip
def test_the_best_iteration_on_validation_is_kept(accuracies, best, tmp_path, monkeypatch):
    """The earlier of equals; where nothing is held out, the last."""
    given = iter(accuracies)
    monkeypatch.setattr(turns, "validation_accuracy", lambda trainer: next(given))
    done = fit(ready(model_of(), validation=False), tmp_path)
    model, found = done.classifier.model, done.iterations
    assert [row["validation_accuracy"] for row in found] == list(accuracies)
    kept = [load_file(tmp_path / f"iteration-{number}" / "learnt" / "weights.safetensors") for number in range(3)]
    assert [bits(own) == bits(model) for own in kept] == [number == best for number in range(3)]


# -------------------------------------------------------------------------------- by which of the two it predicts


def test_a_compressor_predicts_by_the_mean_of_what_it_keeps(tmp_path):
    model = model_of(inference="compressor", dropout=0.0)
    everything = encoded()
    own = Batch(**Collator.of(TOKENIZER)([everything[row] for row in range(5)]))
    by_compressor = forward(model.eval(), own)
    states, mask = pooled_states(model, own)
    pooled, _ = model.pooling(states, mask)
    assert torch.equal(by_compressor, model.compressor.classifier(model.compressor.mean(pooled)))
    assert torch.equal(forward(model.train(), own), model.head(pooled))  # what is trained is the learner
    model.save_pretrained(tmp_path)
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    assert torch.equal(forward(again, own), by_compressor)


def test_which_of_the_two_predicts_changes_no_training(tmp_path):
    """Checkpoints within a turn are chosen by the learner, whose turn it is."""
    for inference in ("learner", "compressor"):
        done = fit(ready(model_of(inference=inference)), tmp_path / inference)
        model, found = done.classifier.model, done.iterations
        assert model.config.inference == inference
    learnt = [
        [bits(load_file(tmp_path / inference / f"iteration-{number}" / "learnt" / "weights.safetensors"))
         for number in range(3)]
        for inference in ("learner", "compressor")
    ]  # fmt: skip
    assert learnt[0] == learnt[1]
    assert not found[0]["kept"]
    (kept,) = (row for row in found if row["kept"])
    assert bits(model) == learnt[1][kept["iteration"]]
    trainer = build_trainer(ready(model), tmp_path / "again")
    assert turns.validation_accuracy(trainer) == kept["validation_accuracy"]


@pytest.mark.parametrize(
    ("inference", "accuracies", "best"),
    [("learner", (0.9, 0.5, 0.7), 0), ("compressor", (0.9, 0.5, 0.7), 2), ("compressor", (None, None, None), 2)],
)
def test_an_untrained_compressor_is_never_kept(inference, accuracies, best, tmp_path, monkeypatch):
    given = iter(accuracies)
    monkeypatch.setattr(turns, "validation_accuracy", lambda trainer: next(given))
    found = fit(ready(model_of(inference=inference), validation=False), tmp_path).iterations
    assert [row["kept"] for row in found] == [number == best for number in range(3)]


def test_without_turns_there_is_no_compressor_to_predict_by():
    Turns(0).check(model_of())
    with pytest.raises(InputError, match="compressor=none trains no compressor"):
        Turns(compressor="none").check(model_of(inference="compressor"))
    with pytest.raises(ValueError, match="iterations=0 trains no compressor"):
        Turns(0).check(model_of(inference="compressor"))


def test_the_accuracy_of_an_iteration_is_the_models(tmp_path):
    model = model_of()
    trainer = build_trainer(ready(model), tmp_path)
    found = turns.validation_accuracy(trainer)
    everything, right = encoded(), 0
    for row in range(20, 30):
        own = Batch(**Collator.of(TOKENIZER)([everything[row]]))
        right += int(forward(model, own).argmax() == own.labels[0])
    assert found == right / 10
    assert turns.validation_accuracy(build_trainer(ready(model, validation=False), tmp_path)) is None


def test_a_run_is_repeated_by_its_seed(tmp_path):
    runs = [
        bits(fit(ready(model_of(), recipe=recipe, iterations=1), tmp_path / str(number)).classifier.model)
        for number, recipe in enumerate([RECIPE, RECIPE, replace(RECIPE, seed=5)])
    ]
    assert runs[0] == runs[1] != runs[2]


# ----------------------------------------------------------------------------------------------------- cached features


def slowly_compressed(model, texts: Encoded, steps: int, size: int, beta: float) -> list[float]:
    """What `compress` does, with the encoder run anew in evaluation mode for every batch."""
    model.eval()
    weights = [*model.pooling.parameters(), *model.compressor.parameters()]
    optimizer = torch.optim.Adam(weights, 1e-3)
    losses, rows = [], []
    words = [int((texts[row]["segment"] > 0).sum()) for row in range(len(texts))]
    order = LengthGrouped(words, size, seed=int(torch.randint(2**31, ())))
    while len(losses) < steps:
        order.set_epoch(len(losses) // order.batches)
        rows = rows or np.array(list(order)).reshape(-1, size).tolist()
        own = Batch(**Collator.of(TOKENIZER)([texts[row] for row in rows.pop(0)]))
        with torch.no_grad():
            states = model.encoder(input_ids=own.input_ids, attention_mask=own.attention_mask).last_hidden_state
        pooled, _ = model.pooling(states, own.segment > 0)
        mean, deviation = model.compressor.mean(pooled), F.softplus(model.compressor.deviation(pooled)) + 1e-6
        logits = model.compressor.classifier(mean + deviation * torch.randn_like(mean))
        kept = (mean**2 + deviation**2 - 1 - 2 * deviation.log()).sum(1) / 2
        loss = F.cross_entropy(logits, own.labels) + beta * kept.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@families.crossed("in_memory", [0, 2**30], "pairs, encoder", product([False, True], ["lstm", "embeddings"]))
def test_cached_features_train_like_the_encoder_run_each_time(encoder, pairs, in_memory, tmp_path):
    """More than an epoch; the encoder has dropout, which is off."""
    texts, model = encoded(pairs), model_of(encoder).train()
    other = copy.deepcopy(model)
    set_seed(3)
    found = compress(model, encode_features(model, texts, tmp_path, in_memory), steps=9, batch_size=8, beta=0.1)
    set_seed(3)
    expected = slowly_compressed(other, texts, steps=9, size=8, beta=0.1)
    assert found == pytest.approx(expected, abs=1e-6)
    for one, same in zip(model.parameters(), other.parameters(), strict=True):
        assert close(one, same, 1e-5)


def test_features_are_the_states_of_the_words_and_nothing_else(tmp_path):
    """No separators, no padding; over a transformer no [CLS]."""
    for words in (True, False):
        tokenizer = TOKENIZER if words else families.tiny_tokenizer(TEXTS)
        model = model_of() if words else families.attention_classifier(pooling="variational").float()
        if not words:
            model.resize_token_embeddings(len(tokenizer))
        pairs = encode_texts(tokenizer, TEXTS, TEXTS[::-1], [0] * 30)
        features = encode_features(model, pairs, tmp_path)
        assert len(features) == 30
        for row in (0, 17):
            states, mask, _ = features.batch([row])
            own = Batch(**Collator.of(tokenizer)([pairs[row]]))
            types = {} if words else {"token_type_ids": ((own.segment == 2).cumsum(1) > 0).long()}
            with torch.no_grad():
                expected = model.encoder(own.input_ids, own.attention_mask, **types).last_hidden_state
            assert mask.all()
            assert close(states[0], expected[0][own.segment[0] > 0], 1e-5)


def test_batches_of_features_are_padded_and_keep_their_labels(tmp_path):
    model = model_of()
    texts = encode_texts(TOKENIZER, ["goal match", "", "song the band"], None, [0, 2, 1])
    features = encode_features(model, texts, tmp_path)
    states, mask, labels = features.batch([2, 1, 0])
    assert states.shape == (3, 3, 6)
    assert mask.tolist() == [[True] * 3, [False] * 3, [True, True, False]]
    assert (states[~mask] == 0).all()
    assert labels.tolist() == [1, 2, 0]
    nothing, mask, _ = features.batch([1])
    assert nothing.shape == (1, 0, 6) and mask.shape == (1, 0)
    losses = compress(model, features, steps=6, batch_size=1, beta=0.1)
    assert len(losses) == 6 and all(map(math.isfinite, losses))


def test_mapped_features_are_those_in_memory(tmp_path):
    model, texts = model_of().train(), encoded()
    inside, mapped = encode_features(model, texts, tmp_path), encode_features(model, texts, tmp_path, in_memory=0)
    assert isinstance(mapped.states, np.memmap) and not isinstance(inside.states, np.memmap)
    assert np.array_equal(inside.states, mapped.states)
    for one, other in zip(inside.batch([3, 0, 7]), mapped.batch([3, 0, 7]), strict=True):
        assert torch.equal(one, other)
    assert model.training and not model.pooling._forward_pre_hooks


def test_a_phase_removes_the_file_of_its_features(tmp_path, monkeypatch):
    found = []
    for in_memory in (2**30, 0):
        model, place = model_of(), tmp_path / str(in_memory)
        monkeypatch.setattr(turns, "encode_features", partial(encode_features, in_memory=in_memory))
        turns.compressor_phase(ready(model), BETA, build_trainer(ready(model), place / "learner"), place)
        assert sorted(file.name for file in place.iterdir() if file.name != "learner") == ["compressed"]
        found.append(bits(model))
    assert found[0] == found[1]


def test_the_encoder_reads_every_text_once_in_a_compressor_phase(tmp_path):
    model, seen = model_of(), []
    run = ready(model, recipe=replace(RECIPE, steps=20))
    trainer = build_trainer(run, tmp_path / "learner")

    def count(module, arguments, named):
        seen.extend(tuple(row[row != 0].tolist()) for row in named["input_ids"])

    handle = model.encoder.register_forward_pre_hook(count, with_kwargs=True)
    turns.compressor_phase(run, BETA, trainer, tmp_path)
    handle.remove()
    assert sorted(seen) == sorted(tuple(encoded()[row]["input_ids"].tolist()) for row in range(20))


def test_information_that_costs_more_is_kept_less(tmp_path):
    kept = []
    for beta in (0.0, 10.0):
        model = model_of()
        features = encode_features(model, encoded(), tmp_path)
        torch.default_generator.manual_seed(0)
        losses = compress(model, features, steps=30, batch_size=8, beta=beta, learning_rate=0.01)
        states, mask, _ = features.batch(range(30))
        with torch.no_grad():
            kept.append(model.compressor(model.pooling(states, mask)[0])[1].mean().item())
        assert losses[-1] < losses[0]
    assert kept[1] < kept[0] / 2


def test_the_compressor_has_the_learners_loss(tmp_path, monkeypatch):
    """Class weights and label smoothing."""
    seen = []
    monkeypatch.setattr(turns, "compress", lambda *arguments: seen.append(arguments))
    model = model_of()
    run = ready(model, recipe=replace(RECIPE, label_smoothing=0.2, seed=3), class_weights=[0.5, 1.0, 1.5])
    turns.compressor_phase(run, 0.7, build_trainer(run, tmp_path / "learner"), tmp_path)
    ((used, features, steps, size, beta, loss),) = seen
    assert (used, len(features), steps, size, beta) == (model, 20, 8, 8, 0.7)
    assert loss == CrossEntropy((0.5, 1.0, 1.5), 0.2)


# ---------------------------------------------------------------------------------------------------- interrupted runs


class Killed(Exception):
    """Stands for a process that is killed: nothing of it is left but its folder."""


class AtStep(TrainerCallback):
    """Kills the learner of a certain iteration at a certain step."""

    def __init__(self, iteration: int, step: int):
        self.iteration, self.step = iteration, step

    def on_step_end(self, args, state, control, **_):
        if args.seed == self.iteration and state.global_step == self.step:
            raise Killed


def killed_at_call(function, number: int, first: bool):
    """The function that kills at its call of that number, before or after it does what it does."""
    calls = []

    def killing(*arguments, **named):
        calls.append(0)
        if len(calls) == number and first:
            raise Killed
        found = function(*arguments, **named)
        if len(calls) == number:
            raise Killed
        return found

    return killing


# Where it is killed: a function of `turns`, at which of its calls, before or after it does what it does; or the
# iteration and the step of a learner.
MOMENTS = {
    "in the first phase, before a checkpoint": (0, 1),
    "in the first phase, after a checkpoint": (0, 5),
    "between two iterations": ("validation_accuracy", 1, False),
    "in a compressor phase": ("compress", 1, False),
    "while a compressor phase is written": ("write_phase", 2, True),
    "between a compressor and a learner": ("compressor_phase", 1, False),
    "in a further learner, before a checkpoint": (1, 1),
    "in a further learner, after a checkpoint": (1, 3),
    "while a learner is written": ("write_phase", 3, True),
    "after the last learner": ("learner_phase", 2, False),
}


def fitted(folder, validation: bool = True, callbacks=()) -> tuple[dict, int, list]:
    """One process: a fresh model of the same seed, and training in this folder."""
    torch.default_generator.manual_seed(7)
    done = fit(ready(model_of(), validation, iterations=1), folder, Listeners(callbacks=callbacks))
    return bits(done.classifier.model), done.state.global_step, done.iterations


@pytest.fixture(scope="module")
def untroubled(tmp_path_factory):
    """Runs that write no checkpoint, because they are short."""
    return {kind: fitted(tmp_path_factory.mktemp(f"untroubled-{kind}"), kind) for kind in (True, False)}


def kill(moment: str, folder, validation: bool, patch) -> None:
    """Trains as far as that moment, with a checkpoint after every step."""
    patch.setattr(resuming, "SECONDS", 0)
    where, *how = MOMENTS[moment]
    callbacks = [AtStep(where, *how)] if isinstance(where, int) else []
    if not callbacks:
        patch.setattr(turns, where, killed_at_call(getattr(turns, where), *how))
    with pytest.raises(Killed):
        fitted(folder, validation, callbacks)
    patch.undo()
    torch.default_generator.manual_seed(123)


USUAL = ("in a compressor phase", "in a further learner, after a checkpoint")


@pytest.mark.parametrize(
    "moment", [moment if moment in USUAL else pytest.param(moment, marks=pytest.mark.whole) for moment in MOMENTS]
)
def test_a_killed_run_ends_with_the_same_weights(moment, untroubled, tmp_path, monkeypatch):
    """Nothing is held out: the last iteration is what is kept."""
    kill(moment, tmp_path, False, monkeypatch)
    assert fitted(tmp_path, False) == untroubled[False]


@pytest.mark.whole
@pytest.mark.parametrize("moment", ["between two iterations", "in a further learner, after a checkpoint"])
def test_a_killed_run_goes_on_choosing_by_validation(moment, untroubled, tmp_path, monkeypatch):
    kill(moment, tmp_path, True, monkeypatch)
    assert fitted(tmp_path) == untroubled[True]


def test_a_phase_that_is_half_written_is_run_again(untroubled, tmp_path, monkeypatch):
    """Its weights are there, but not yet the state by which it counts as finished."""
    kill("in a further learner, before a checkpoint", tmp_path, False, monkeypatch)
    (tmp_path / "iteration-1" / "compressed" / "state.json").rename(tmp_path / "lost.json")
    assert fitted(tmp_path, False) == untroubled[False]


def test_a_finished_run_is_not_trained_again(untroubled, tmp_path, monkeypatch):
    assert fitted(tmp_path) == untroubled[True]
    monkeypatch.setattr(turns, "run_trainer", killed_at_call(turns.run_trainer, 1, True))
    monkeypatch.setattr(turns, "compress", killed_at_call(turns.compress, 1, True))
    assert fitted(tmp_path) == untroubled[True]


# ---------------------------------------------------------------------------------------------------------- whole runs


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    data, test = write_csv(folder / "train.csv", ROWS), write_csv(folder / "test.csv", labelled_rows(9, seed=1))
    encoder = families.save_tiny_model(folder / "tiny", [*WORDS.values(), " ".join(FILLER)], dropout=0.1)
    return SimpleNamespace(data=str(data), test=str(test), encoder=str(encoder))


def run(place, output, model: str, **settings):
    options = {"encoder": place.encoder} if model.startswith("bert") else {"width": 8}
    usual = {"data": place.data, "model": model, "model_options": options, "steps": 3, "evaluations": 1,
             "learning_rate": 0.01, "device": "cpu", "validation_share": 0.2}  # fmt: skip
    if model.endswith("-vat"):
        usual |= {"procedure_options": {"iterations": 1, "beta": 0.5}}
    resume = settings.pop("resume", False)
    return train(Recipe(**(usual | settings)), output, note=lambda line: None, resume=resume)


@pytest.mark.parametrize(
    "model",
    ["lstm-vat", *(pytest.param(f"{name}", marks=pytest.mark.whole) for name in PRESETS if name != "lstm-vat")],
)
def test_presets_train_from_end_to_end(model, place, tmp_path):
    done = run(place, tmp_path / "run", model, test=place.test, max_length=32)
    found = done.metrics.get("iterations")
    if model.endswith("-vat"):
        assert [(row["iteration"], row["steps"]) for row in found] == [(0, 3), (1, 2)]
        best = max(row["validation_accuracy"] for row in found)
        assert done.metrics["validation"]["accuracy"] == pytest.approx(best)
    else:
        assert found is None
    assert json.loads((done.folder / "metrics.json").read_text()).get("iterations") == found
    assert done.predictions.probabilities.shape == (9, 3)
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_settings_of_a_recipe_reach_the_phases(place, tmp_path, monkeypatch):
    seen = []
    real = turns.compress
    monkeypatch.setattr(turns, "compress", lambda *given: seen.append(given[2:5]) or real(*given))
    done = run(place, tmp_path / "run", "lstm-vat", method="ssmix", steps=2, batch_size=6,
               procedure_options={"beta": 0.7, "iterations": 2})  # fmt: skip
    assert seen == [(1, 6, 0.7)] * 2
    assert len(done.metrics["iterations"]) == 3


@pytest.mark.whole
def test_a_killed_run_of_a_preset_is_resumed(place, tmp_path, monkeypatch):
    whole = run(place, tmp_path / "whole", "bert-vat", test=place.test, validation_share=0)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(turns, "validation_accuracy", killed_at_call(turns.validation_accuracy, 1, False))
        run(place, tmp_path / "killed", "bert-vat", test=place.test, validation_share=0)
    again = run(place, tmp_path / "killed", "bert-vat", test=place.test, validation_share=0, resume=True)
    assert bits(again.classifier.model) == bits(whole.classifier.model)
    assert np.array_equal(again.predictions.probabilities, whole.predictions.probabilities)
    assert again.metrics["iterations"] == whole.metrics["iterations"]


def test_a_finished_phase_holds_tied_weights(tmp_path):
    """safetensors refuses tensors that share their memory."""
    model = torch.nn.ModuleDict({"one": torch.nn.Linear(2, 2), "other": torch.nn.Linear(2, 2)})
    model["other"].weight = model["one"].weight
    model.device = torch.device("cpu")
    turns.write_phase(model, tmp_path / "phase", {"global_step": 3})
    before = bits(model)
    with torch.no_grad():
        model["one"].weight.zero_()
    assert turns.read_phase(model, tmp_path / "phase") == {"global_step": 3}
    assert bits(model) == before
    assert turns.read_phase(model, tmp_path / "other") is None


# ------------------------------------------------------------------------------------------------- several processes


@pytest.mark.whole
def test_two_processes_train_as_one_does(place, tmp_path):
    """They share a folder, in which only one of them writes."""
    alone = trained_by_turns(place.data, str(tmp_path / "alone"))
    script = Path(__file__).with_name("launching_turns.py")
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script, place.data]
    done = subprocess.run([sys.executable, *launch, tmp_path / "both"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    both = load_file(tmp_path / "both" / "model.safetensors")
    start = load_file(tmp_path / "alone" / "model.safetensors")
    assert start.keys() == both.keys()
    for name, weight in start.items():
        assert torch.allclose(weight, both[name], rtol=0, atol=1e-5), name
    rows = json.loads((tmp_path / "both" / "metrics.json").read_text())["iterations"]
    assert rows == alone.metrics["iterations"] and [row["kept"] for row in rows] == [False, False, True]
