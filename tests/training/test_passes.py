"""Passes of a training step: against layers that are counted, and against the cards of the methods."""

from dataclasses import dataclass, replace

import pytest

import families
import word_models
from salience import METHODS, mixed
from salience.explainers.gradient import Gradient
from salience.hooks.stages import stages
from salience.mixing.method import Method
from salience.report.cards import read_index
from salience.training.objective import plain
from salience.training.passes import guide_passes, passes_per_step
from test_contract import rows_through_layers

LAYERS = 12  # of the model that the cards state the costs for
SETTINGS = {
    "attentionmix, layer 6": replace(METHODS["attentionmix"](), layer=6),
    "attentionmix, last layer": replace(METHODS["attentionmix"](), layer=-1),
    "attentionmix at a layer": replace(METHODS["attentionmix"](), layer=3, level=5),
    "tmix, layer 4": replace(METHODS["tmix"](), levels=(4,)),
    "tmix at the embeddings": replace(METHODS["tmix"](), levels=("embeddings",)),
    "tmix in the sentence": replace(METHODS["tmix"](), levels=("sentence",)),
    "wordmixup": METHODS["wordmixup"](),
}


@pytest.fixture(scope="module")
def model():
    return families.build("bert", layers=LAYERS)


def cost(method, clean: float) -> float:
    """Of a step in forward passes of the batch, a backward pass being two; one that ends at the embeddings is one."""
    model = families.build("bert", layers=LAYERS).train()
    own = families.batch([5, 2, 9, 4])
    forwards, backwards = rows_through_layers(model, own, mixed(method, clean))
    ends_early = clean == 0 and isinstance(method.guide, Gradient)  # it needs no weights' gradients
    return (forwards + 2 * backwards) / LAYERS - ends_early


@families.crossed("name", [*METHODS, *SETTINGS], "clean", [0.0, 0.5, 0.1])
def test_declared_passes_are_those_that_are_counted(name, clean, model):
    """Rows that pass layers forward and backward in a step; the levels of TMix one by one."""
    method = SETTINGS[name] if name in SETTINGS else METHODS[name]()
    drawn = [replace(method, levels=(level,)) for level in method.levels] if name == "tmix" else [method]
    counted = sum(cost(each, clean) for each in drawn) / len(drawn)  # in forward passes
    assert 3 * passes_per_step(method, clean, model) == pytest.approx(counted, abs=0.005)


def test_a_step_of_plain_training_is_one_pass(model):
    own = families.batch([5, 2, 9, 4])
    forwards, backwards = rows_through_layers(families.build("bert", layers=LAYERS).train(), own, plain)
    assert (forwards + 2 * backwards) / 3 / LAYERS == passes_per_step(None, 0.5, model) == 1


@pytest.mark.parametrize("entry", read_index(), ids=lambda entry: entry.name)
def test_the_cards_state_the_same(entry, model):
    for layer in (0, 6) if entry.name == "attentionmix" else (0,):
        method = METHODS[entry.name](**{"layer": layer} if layer else {})
        for stated, clean in ((entry.cost, 0.5), (entry.cost_mixed, 0.0)):
            forward_passes = eval(stated.replace(" F", "").replace("l/L", str(layer / LAYERS)))
            assert 3 * passes_per_step(method, clean, model) == pytest.approx(forward_passes, abs=0.005)


@pytest.mark.parametrize("name", ["tmix", "mixupencoding", "senmixup", "attentionmix", "ssmix", "embedmix"])
def test_a_pooling_layer_is_a_layer(name):
    """Counted in the model: all layers, the pooling layer among them, forward and backward."""
    model, own = families.with_mean("bert").train(), families.batch([5, 2, 9, 4])
    method = METHODS[name]()
    for level in getattr(method, "levels", [None]):
        one = method if level is None else replace(method, levels=(level,))
        rows = {"forward": 0, "backward": 0}

        def after(module, arguments, result, rows=rows):
            rows["forward"] += 1
            if result.requires_grad:
                result.register_hook(lambda gradient: rows.update(backward=rows["backward"] + 1))

        handles = [layer.register_forward_hook(after) for layer in model.bert.encoder.layer]
        for loss in mixed(one, 0.5)(model, own):
            loss.backward()
        for handle in handles:
            handle.remove()
        counted = (rows["forward"] + 2 * rows["backward"]) / 3 / (families.LAYERS + 1)
        assert passes_per_step(one, 0.5, model) == pytest.approx(counted)


def test_models_over_words():
    """An LSTM is a layer that two passes can share; embeddings alone have none, so both passes are whole ones."""
    model, own = word_models.word_classifier("lstm"), word_models.word_batch([5, 2, 9, 4])
    for name, passes in (("senmixup", 1), ("embedmix", 2), ("ssmix", 2)):
        calls = []
        handle = stages(model)[1].register_forward_hook(lambda *_, calls=calls: calls.append(1) and None)
        for loss in mixed(METHODS[name](), 0.5)(model, own):
            loss.backward()
        handle.remove()
        assert len(calls) == passes_per_step(METHODS[name](), 0.5, model) == passes
    alone = word_models.word_classifier("embeddings")
    assert passes_per_step(METHODS["senmixup"](), 0.5, alone) == 2
    assert passes_per_step(METHODS["embedmix"](), 0.5, alone) == 2


def test_a_guide_of_the_users_own_is_a_whole_pass(model):
    @dataclass(frozen=True)
    class Guided(Method):
        guide = staticmethod(lambda model, batch: batch.attention_mask.float())

        def __call__(self, batch, scores):
            return METHODS["wordmixup"]()(batch)

    assert guide_passes(Guided().guide, model) == 1
    assert passes_per_step(Guided(), 0.5, model) == 3
    assert sum(1 for _ in mixed(Guided(), 0.5)(model, families.batch([5, 2]))) == 2
