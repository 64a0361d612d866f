"""TMix against an explicit computation in two passes (methods.md 3.4)."""

from contextlib import contextmanager

import pytest
import torch

from families import FAMILIES, LAYERS, batch, build, crossed, distinct_batch, layer_modules, padded
from reference import close
from salience import EmbedMix, TMix, forward_mixed
from salience.hooks.hooks import forward
from salience.mixing.method import neighbours, shuffle, swap_halves

LEVELS = ["embeddings", *range(1, LAYERS + 1)]


@contextmanager
def watching(model, action):
    """Calls action(level, output) after the embedding block and each layer; what it returns takes the output's place.

    Levels count calls, not modules: ALBERT calls one module for all of its layers.
    """
    calls = iter(range(1, 1000))

    def after(level):
        def hook(module, arguments, result):
            value = result[0] if isinstance(result, tuple) else result
            changed = action(level or next(calls), value)
            if changed is None:
                return None
            return (changed, *result[1:]) if isinstance(result, tuple) else changed

        return hook

    handles = [model.base_model.embeddings.register_forward_hook(after("embeddings"))]
    handles += [layer.register_forward_hook(after(None)) for layer in layer_modules(model)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def union_of(own, partner):
    return torch.maximum(own.attention_mask, own.attention_mask[partner])


def two_passes(model, own, level, partner, ratio):
    """A pass that reads the level, and one under both masks into which the mixture is put at that level.

    What the second pass computed before is thrown away, so that its mask counts for what comes after, and only there.
    """
    read = {}
    with watching(model, lambda at, value: read.update({at: value})):
        forward(model, own)
    mixture = ratio * read[level] + (1 - ratio) * read[level][partner]
    with watching(model, lambda at, value: mixture if at == level else None):
        return model(input_ids=own.input_ids, attention_mask=union_of(own, partner)).logits


@crossed("family", FAMILIES, "level", LEVELS)
def test_against_two_passes(family, level):
    # What stands on padding there depends on how much there is: a longer text cannot meet it as it is. What it meets
    # instead is test_padding_changes_nothing's business; here partners are of equal lengths.
    alike = level != "embeddings" and family in ("deberta-v2", "modernbert", "modernbert-mean")
    model = FAMILIES[family]().double()
    own = batch([7, 7, 7, 11, 11] if alike else [7, 2, 5, 11, 6], family=family)
    partner = torch.tensor([1, 2, 0, 4, 3])
    mix = TMix(levels=(level,), ratio=0.75, pair=lambda _: partner)(own, None)
    with torch.no_grad():
        expected = two_passes(model, own, level, partner, 0.75)
        found = forward_mixed(model, own, mix)
        assert not close(expected, forward(model, own), 1e-2)
    assert close(found, expected)


@crossed("level", range(1, LAYERS + 1), "attention", ["eager", "sdpa"])
def test_against_berts_layers_one_by_one(level, attention):
    """The layers up to the level under each text's own mask, those after it under both; masks added by hand."""
    model = FAMILIES["bert"]().double()
    own = batch([7, 2, 5, 11])
    partner = torch.tensor([1, 0, 3, 2])
    both = union_of(own, partner)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        hidden = model.bert.embeddings(input_ids=own.input_ids)
        for number, layer in enumerate(model.bert.encoder.layer, start=1):
            mask = own.attention_mask if number <= level else both
            output = layer(hidden, torch.where(mask.bool(), 0.0, -1e9).double()[:, None, None, :])
            hidden = output[0] if isinstance(output, tuple) else output
            if number == level:
                hidden = 0.75 * hidden + 0.25 * hidden[partner]
        expected = model.classifier(model.bert.pooler(hidden))
        model.set_attn_implementation(attention)
        found = forward_mixed(model, own, TMix(levels=(level,), ratio=0.75, pair=neighbours)(own, None))
    assert close(found, expected)


@pytest.mark.parametrize("family", FAMILIES)
def test_below_the_first_layer_it_is_embedmix(family):
    model = FAMILIES[family]().double()
    own = batch([7, 2, 5, 11], family=family)
    with torch.no_grad():
        here = forward_mixed(model, own, TMix(levels=("embeddings",), ratio=0.75)(own, None))
        there = forward_mixed(model, own, EmbedMix(ratio=0.75)(own, None))
    assert torch.equal(here, there)


@crossed("family", FAMILIES, "level", LEVELS)
def test_ratio_one_is_the_plain_model_and_ratio_zero_the_partner(family, level):
    model = FAMILIES[family]().double()
    own = batch([6, 6, 6, 6, 6], family=family)
    with torch.no_grad():
        plain = forward(model, own)
        for ratio, expected in ((1.0, plain), (0.0, plain[swap_halves(own)])):
            mix = TMix(levels=(level,), ratio=ratio, largest=False)(own, None)
            assert close(forward_mixed(model, own, mix), expected)
            assert mix.share.tolist() == [ratio] * 5


@crossed("family", FAMILIES, "level", LEVELS)
def test_padding_changes_nothing(family, level):
    """The longer text meets the shorter one's padding; how much of it there is must not matter."""
    model = FAMILIES[family]().double()
    own = batch([7, 2, 5, 11], family=family)
    mix = TMix(levels=(level,), ratio=0.75, pair=neighbours)(own, None)
    with torch.no_grad():
        narrow, wide = forward_mixed(model, own, mix), forward_mixed(model, padded(own, 8, family), mix)
    assert close(narrow, wide)


def meeting_levels(model, method, draws: int) -> set:
    """Where the texts meet, seen from outside: the first level whose output differs from the plain pass."""
    own = batch([4, 4])
    plain, found = {}, set()
    with torch.no_grad():
        with watching(model, lambda at, value: plain.update({at: value})):
            forward(model, own)
        for _ in range(draws):
            mix, mixed = method(own, None), {}
            with watching(model, lambda at, value: mixed.update({at: value})):  # noqa: B023 (read in this turn)
                forward_mixed(model, own, mix)
            found.add(next((at for at in plain if not torch.equal(plain[at], mixed[at])), "after the last layer"))
    return found


@pytest.mark.parametrize(("layers", "expected"), [(12, {7, 9, 12}), (24, {14, 18, 24}), (6, {4, 5, 6})])
def test_the_papers_layers_scaled_to_the_model(layers, expected):
    """7, 9 and 12 of BERT's 12. A hook of this test may see a level before or after the mixing hook: both are allowed,
    so the first changed output is the level's own or the next layer's."""
    model = build("bert", layers=layers, width=8)
    found = meeting_levels(model, TMix(ratio=0.5), draws=16)
    shifted = {level + 1 if level < layers else "after the last layer" for level in expected}
    assert found in (expected, shifted)


def test_levels_are_drawn_anew_for_every_batch_and_by_the_seed():
    own = distinct_batch([2, 3])
    torch.default_generator.manual_seed(3)
    first = [TMix(levels=(1, 2, 3), pair=shuffle)(own, None).level for _ in range(60)]
    torch.default_generator.manual_seed(3)
    again = [TMix(levels=(1, 2, 3), pair=shuffle)(own, None).level for _ in range(60)]
    assert first == again
    assert set(first) == {1, 2, 3}
    assert all(8 <= first.count(level) <= 34 for level in (1, 2, 3))  # 20 expected, deviation 3.7


def test_defaults_are_the_ssmix_papers():
    method = TMix()
    assert (method.alpha, method.largest, method.ratio, method.pair) == (0.2, True, None, swap_halves)
    assert method.guide is None


def test_a_layer_the_model_has_not_is_refused():
    model, own = FAMILIES["bert"](), batch([3, 4])
    with pytest.raises((ValueError, KeyError, IndexError)):
        forward_mixed(model, own, TMix(levels=(LAYERS + 1,), ratio=0.5)(own, None))


def test_the_gradient_reaches_both_texts_through_the_trunk():
    """One pass for both: the first layers learn from either side of the mixture."""
    model = FAMILIES["bert"]().double()
    own = batch([5, 6])
    mix = TMix(levels=(2,), ratio=0.75)(own, None)
    seen = []
    handle = model.bert.embeddings.register_forward_hook(lambda *call: seen.append(call[2]))
    logits = forward_mixed(model, own, mix)
    handle.remove()
    (gradient,) = torch.autograd.grad(logits[0].sum(), seen[0])
    assert len(seen) == 1
    assert (gradient.abs().sum((1, 2)) > 1e-6).all()
