"""What a layer attends to: against the model's own eager attention, and at the price of the layers below it."""

import copy
import json
import warnings
from dataclasses import replace

import pytest
import torch
from transformers import ModernBertForSequenceClassification

import families
from families import FAMILIES, LAYERS, batch, crossed, layer_modules, padded, rearranged, some
from reference import close
from reference_attention import eager_attention, relevances
from salience import AttentionMix, Batch, mixed
from salience.explainers import Attention, ClsAttention
from salience.hooks.attention import attention, capturing, probabilities
from salience.hooks.hooks import forward
from salience.mixing.method import swap_halves

HEADS = 2
OWN_ATTENTION = {"deberta-v2": "DebertaV2ForSequenceClassification", "mpnet": "MPNetForSequenceClassification"}
# Older transformers had not yet given it the interface that its attention is read through.
OWN_ATTENTION |= {
    family: "ModernBertForSequenceClassification"
    for family in ("modernbert", "modernbert-mean")
    if not ModernBertForSequenceClassification._can_set_attn_implementation()
}
# Without the interface ModernBERT takes the softmax of float64 scores in float32.
SOFTMAX_PRECISION = {family: 1e-6 for family in OWN_ATTENTION if family.startswith("modernbert")}
WITH_INTERFACE = [family for family in FAMILIES if family not in OWN_ATTENTION]

# Without a mask transformers is told of no padding: there is none in "full" and "alone".
SHAPES = {
    "ragged": ([5, 1, 9, 0], None, 0),
    "ragged, and more padding": ([5, 1, 9, 0], None, 4),
    "full": ([9, 9, 9], None, 0),
    "alone": ([12], None, 0),
    "pairs": ([5, 2, 0], [3, 8, 1], 0),
    "alone, a pair": ([4], [6], 0),
}

every_family = pytest.mark.parametrize("family", some(FAMILIES, "bert", "albert", "deberta-v2", "modernbert-mean"))
every_layer = pytest.mark.parametrize("layer", range(LAYERS))
quiet = pytest.mark.filterwarnings("ignore:.*attention interface")


def model_of(family: str, dropout: float = 0.0):
    return FAMILIES[family](dropout=dropout).double()


def of_shape(shape: str, family: str):
    lengths, pairs, padding = SHAPES[shape]
    return batch(lengths, pairs, extra_padding=padding, family=family)


# ------------------------------------------------------------------------------------------- the model's own attention


@quiet
@crossed("family", FAMILIES, "shape", SHAPES)
def test_every_layer_and_head_is_the_models_own(family, shape):
    model, own = model_of(family), of_shape(shape, family)
    columns = own.input_ids.shape[1]
    expected, seen = eager_attention(model, own, family), []
    for layer in range(LAYERS):
        found = attention(model, own, layer)
        assert found.shape == (len(own), HEADS, columns, columns)
        for row, length in enumerate(own.attention_mask.sum(1).tolist()):
            assert close(found[row, :, :length, :length], expected[row][layer], 1e-6)
            assert (found[row, :, :length, length:] == 0).all()  # a token attends to no padding
        for head in range(HEADS):
            assert close(attention(model, own, layer, head), found[:, head : head + 1])
            seen.append(found[0, head])
    assert not any(close(first, second, 1e-3) for at, first in enumerate(seen) for second in seen[:at])


@pytest.mark.parametrize("kind", ["CTRL", "EuroBert", "Falcon", "GPT2", "Mistral", "Qwen2"])
@pytest.mark.parametrize("shape", ["ragged, and more padding", "alone"])
def test_the_attention_of_models_without_an_embedding_block_and_of_decoders_is_their_own(shape, kind):
    """Without padding, no mask says that a decoder's tokens attend to none after them; heads can share keys."""
    model, own = families.other(kind), replace(of_shape(shape, "bert"), token_type_ids=None)
    expected = eager_attention(model, own, kind)
    for layer in range(2):
        found = attention(model, own, layer)
        for row, length in enumerate(own.attention_mask.sum(1).tolist()):
            assert close(found[row, :, :length, :length], expected[row][layer], 1e-5)


@quiet
@pytest.mark.parametrize(
    ("kind", "reason"),
    [("Bart", "reads a text twice, in an encoder and in a decoder"), ("T5", "reads a text twice"),
     ("Longformer", "does not return the attention of each token to all others")],
)  # fmt: skip
def test_an_attention_that_is_not_of_each_token_to_all_others_is_refused_for_that_reason(kind, reason):
    with pytest.raises(ValueError, match=reason):
        attention(families.other(kind), batch([8, 3]), 0)  # 10 tokens, as many as Longformer's layers tell of each


@quiet
@every_family
def test_the_models_own_attention_under_its_own_padding(family):
    """The same texts padded on both sides of the comparison, in the precision in which models are trained."""
    model, own = FAMILIES[family](), batch([5, 1, 9], extra_padding=2, family=family)
    eager = copy.deepcopy(model)
    eager.set_attn_implementation("eager")
    with torch.no_grad():
        result = eager(input_ids=own.input_ids, attention_mask=own.attention_mask, output_attentions=True)
    real = own.attention_mask.bool()[:, None, :, None].expand(-1, HEADS, -1, own.input_ids.shape[1])
    for layer, expected in enumerate(result.attentions):
        found = attention(model, own, layer)
        assert found.dtype == torch.float32
        assert close(found[real], expected[real], 2e-5)


@quiet
@every_family
def test_an_eager_models_mask_is_not_taken_for_another_kind(family):
    """Eager attention adds its mask, fused attention reads a bool one: what is found must not depend on it."""
    model, own = model_of(family), batch([5, 1, 9], family=family)
    expected = [attention(model, own, layer) for layer in range(LAYERS)]
    model.set_attn_implementation("eager")
    chosen = model.config._attn_implementation  # models without the interface may not take it
    for layer in range(LAYERS):
        assert close(attention(model, own, layer), expected[layer])
    assert model.config._attn_implementation == chosen
    assert chosen == "eager" or family in OWN_ATTENTION


def softmax_by_hand(query, key, allowed, added, scaling):
    """One query at a time, over the keys it may see."""
    found = torch.zeros(*query.shape[:3], key.shape[2], dtype=query.dtype)
    for row, head, place in torch.cartesian_prod(*map(torch.arange, query.shape[:3])).tolist():
        seen = allowed[row, place].nonzero().flatten().tolist()
        scores = [float(query[row, head, place] @ key[row, head, at]) * scaling + added[row, place, at] for at in seen]
        weights = torch.tensor(scores, dtype=query.dtype).exp()
        for at, weight in zip(seen, weights / weights.sum(), strict=True):
            found[row, head, place, at] = weight
    return found


@pytest.mark.parametrize("kind", ["bool", "added", "none"])
def test_the_three_kinds_of_masks(kind):
    """True where there is something to see; a number that is added; none at all. Who sees nothing attends to
    nothing."""
    generator = torch.Generator().manual_seed(0)
    query, key = (torch.randn(2, 3, 4, 5, generator=generator, dtype=torch.float64) for _ in range(2))
    allowed, added = torch.ones(2, 4, 4, dtype=torch.bool), torch.zeros(2, 4, 4, dtype=torch.float64)
    mask = None
    if kind == "bool":
        allowed = torch.rand(2, 4, 4, generator=generator) < 0.6
        allowed[1, 2] = False
        mask = allowed[:, None]
    if kind == "added":
        added = torch.randn(2, 4, 4, generator=generator, dtype=torch.float64)
        mask = added[:, None]
    assert close(probabilities(query, key, mask, 0.7), softmax_by_hand(query, key, allowed, added, 0.7))


# ----------------------------------------------------------------------------------------------- what a token receives


@quiet
@crossed("family", FAMILIES, "shape", SHAPES)
def test_a_tokens_score_is_the_mean_of_what_its_text_gives_to_it(family, shape):
    model, own = model_of(family), of_shape(shape, family)
    texts, columns = eager_attention(model, own, family), own.input_ids.shape[1]
    lengths = own.attention_mask.sum(1)
    for layer in range(LAYERS):
        weights = [layers[layer] for layers in texts]
        for head in (None, *range(HEADS)):
            scores = Attention(layer, head)(model, own)
            assert scores.shape == own.input_ids.shape
            assert close(scores, relevances(weights, columns, head), 1e-6)
            assert close(scores.sum(1), torch.ones(len(own)), SOFTMAX_PRECISION.get(family, 1e-9))
            assert (scores[own.attention_mask == 0] == 0).all()
            assert (scores >= 0).all()
            sums = Attention(layer, head, mean=False)(model, own)
            assert close(sums, relevances(weights, columns, head) * lengths[:, None], 1e-5)
            assert close(sums.sum(1), lengths, SOFTMAX_PRECISION.get(family, 1e-9))
            assert (sums[own.attention_mask == 0] == 0).all()


@quiet
@crossed("family", FAMILIES, "shape", SHAPES)
def test_what_the_first_token_gives_is_its_row(family, shape):
    model, own = model_of(family), of_shape(shape, family)
    texts = eager_attention(model, own, family)
    for layer in range(LAYERS):
        for head in (None, *range(HEADS)):
            scores = ClsAttention(layer, head)(model, own)
            assert scores.shape == own.input_ids.shape
            for row, layers in enumerate(texts):
                weights, length = layers[layer], layers[layer].shape[-1]
                expected = sum(weights[:, 0]) / HEADS if head is None else weights[head, 0]
                assert close(scores[row, :length], expected, 1e-6)
                assert (scores[row, length:] == 0).all()


def test_the_first_token_stands_behind_padding_on_the_left():
    model, own = model_of("bert"), batch([5, 5], extra_padding=3)
    left = Batch(*(part.roll(3, 1) for part in (own.input_ids, own.attention_mask, own.segment)), own.labels)
    assert left.attention_mask[0].tolist() == [0] * 3 + [1] * 7
    eager = copy.deepcopy(model)
    eager.set_attn_implementation("eager")
    with torch.no_grad():
        given = eager(left.input_ids, left.attention_mask, output_attentions=True).attentions[1]
    assert close(ClsAttention(1, 0)(model, left), given[:, 0, 3], 1e-9)


@pytest.mark.parametrize("explainer", [Attention(), ClsAttention()], ids=["from all", "from the first"])
def test_rows_that_are_only_padding_receive_nothing(explainer):
    model, own = model_of("bert"), batch([5, 3])
    own.attention_mask[1] = 0
    own.segment[1] = 0
    scores = explainer(model, own)
    assert (scores[1] == 0).all()
    assert close(scores[:1], explainer(model, rearranged(own, torch.tensor([0]))))


@quiet
@crossed("family", FAMILIES, "head", [None, 1])
def test_padding_changes_nothing(family, head):
    model, own = model_of(family), batch([5, 1, 9, 0], family=family)
    columns = own.input_ids.shape[1]
    for layer in range(LAYERS):
        narrow, wide = (Attention(layer, head)(model, texts) for texts in (own, padded(own, 6, family)))
        assert close(wide[:, :columns], narrow, 1e-6)
        assert (wide[:, columns:] == 0).all()


@quiet
@every_family
def test_negative_layers_count_from_the_last(family):
    model, own = model_of(family), batch([5, 1, 9], family=family)
    for layer in range(LAYERS):
        assert torch.equal(Attention(layer - LAYERS)(model, own), Attention(layer)(model, own))


@quiet
@crossed("family", FAMILIES, "layer", [LAYERS, LAYERS + 7, -LAYERS - 1])
def test_a_layer_that_the_model_has_not_is_refused(family, layer):
    with pytest.raises(ValueError, match=f"layers 0 to {LAYERS - 1}, not {layer}"):
        Attention(layer)(FAMILIES[family](), batch([5], family=family))


@quiet
@crossed("family", FAMILIES, "head", [HEADS, 11, -1])
def test_a_head_that_the_layers_have_not_is_refused(family, head):
    with pytest.raises(ValueError, match=f"heads 0 to {HEADS - 1} in a layer, not {head}"):
        Attention(0, head)(FAMILIES[family](), batch([5], family=family))


def test_what_is_explained_does_not_matter():
    """Attention is the same whichever class is asked about; it takes one as every explainer does."""
    model, own = model_of("bert"), batch([5, 1])
    assert torch.equal(Attention()(model, own, torch.tensor([0, 2])), Attention()(model, own))


# ---------------------------------------------------------------------------------------------- models of other kinds


@every_layer
@pytest.mark.parametrize("family", OWN_ATTENTION)
def test_models_that_compute_all_heads_say_so_by_name(family, layer):
    model, own = model_of(family), batch([5, 1, 9], family=family)
    expected = relevances([layers[layer] for layers in eager_attention(model, own, family)], own.input_ids.shape[1], 1)
    with pytest.warns(UserWarning, match=f"{OWN_ATTENTION[family]} does not use transformers' attention interface"):
        scores = Attention(layer, 1)(model, own)
    assert close(scores, expected, 1e-6)


@pytest.mark.parametrize("family", WITH_INTERFACE)
def test_others_have_nothing_to_say(family):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Attention(1, 1)(model_of(family), batch([5, 1, 9], family=family))


# ------------------------------------------------------------------------------------------------ nothing stays behind


def modes(model) -> list[bool]:
    return [module.training for module in model.modules()]


@quiet
@every_family
def test_dropout_does_not_touch_the_result_and_modes_come_back(family):
    """Each module to the mode it was in, also those that a user set on their own."""
    model, own = model_of(family, dropout=0.5), batch([5, 1, 9], family=family)
    expected = [Attention(layer)(model, own) for layer in range(LAYERS)]
    model.train()
    layer_modules(model)[-1].eval()
    next(module for module in model.modules() if isinstance(module, torch.nn.Embedding)).eval()
    before, state = modes(model), torch.get_rng_state()
    assert len(set(before)) == 2
    for layer in range(LAYERS):
        assert torch.equal(Attention(layer)(model, own), expected[layer])
        assert modes(model) == before
    assert torch.equal(torch.get_rng_state(), state)  # a training run draws the same numbers with and without


def settings_of(model, folder) -> tuple:
    """All that says how a model attends, in memory and as it is saved."""
    model.config.save_pretrained(folder)
    parts = [module.config._attn_implementation for module in model.modules() if hasattr(module, "config")]
    return parts, json.loads((folder / "config.json").read_text()), model.config.to_dict()


class Broken(Exception):
    pass


@quiet
@pytest.mark.parametrize(
    ("family", "usual"), [(family, "eager") for family in FAMILIES] + [(family, "sdpa") for family in WITH_INTERFACE]
)
def test_the_models_settings_are_as_they_were_also_after_an_error(family, usual, tmp_path):
    model, own = model_of(family).train(), batch([5, 1, 9], family=family)
    model.set_attn_implementation(usual)
    before, training = settings_of(model, tmp_path), modes(model)
    expected = Attention(LAYERS - 1)(model, own)
    assert settings_of(model, tmp_path) == before

    calls = iter(range(1, 1000))

    def fail(*_):
        if next(calls) == 2:  # on the way to the last layer
            raise Broken

    handles = [layer.register_forward_pre_hook(fail) for layer in layer_modules(model)]
    with pytest.raises(Broken):
        Attention(LAYERS - 1)(model, own)
    for handle in handles:
        handle.remove()
    assert settings_of(model, tmp_path) == before
    assert modes(model) == training
    assert capturing.get(None) is None
    assert torch.equal(Attention(LAYERS - 1)(model, own), expected)
    assert forward(model, own).requires_grad


def test_what_the_capture_is_called_is_never_saved(tmp_path):
    """Someone who saves a model while its attention is being read must be able to load it elsewhere."""
    model, own = model_of("bert"), batch([5, 1, 9])
    before = settings_of(model, tmp_path)[1]
    handle = model.register_forward_pre_hook(lambda *_: model.config.save_pretrained(tmp_path))
    Attention(2)(model, own)
    handle.remove()
    assert json.loads((tmp_path / "config.json").read_text()) == before


# -------------------------------------------------------------------------------------------------------------- costs


class Counting:
    """Inside the `with`, how many layers a pass enters and how many it completes, both in calls: one that is entered
    for its queries and keys only does not come to its end, and neither did it cost a layer."""

    def __init__(self, model):
        self.model, self.entered, self.completed = model, 0, 0

    def __enter__(self):
        def enter(*_):
            self.entered += 1

        def complete(*_):
            self.completed += 1

        layers = layer_modules(self.model)
        self.handles = [layer.register_forward_pre_hook(enter) for layer in layers]
        self.handles += [layer.register_forward_hook(complete) for layer in layers]
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()


@pytest.mark.parametrize("family", WITH_INTERFACE)
def test_only_the_layers_below_run(family):
    model, own = model_of(family), batch([5, 1, 9], family=family)
    for layer in range(LAYERS):
        for head in (None, 1):
            with Counting(model) as counted:
                Attention(layer, head)(model, own)
            assert (counted.entered, counted.completed) == (layer + 1, layer)


@quiet
@every_layer
@pytest.mark.parametrize("family", OWN_ATTENTION)
def test_models_of_other_kinds_run_the_layer_itself_too(family, layer):
    model, own = model_of(family), batch([5, 1, 9], family=family)
    with Counting(model) as counted:
        Attention(layer)(model, own)
    assert (counted.entered, counted.completed) == (layer + 1, layer + 1)


@pytest.mark.parametrize("head", [None, 0])
def test_of_the_layer_itself_only_the_projections_run(head):
    """No product with values, no output projection, no feed-forward part, no pooler, no classifier."""
    model, own, ran = model_of("bert"), batch([5, 1, 9]), []
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_hook(lambda *_, name=name: ran.append(name))
    Attention(1, head)(model, own)
    below, itself = ([name for name in ran if f".layer.{layer}." in name] for layer in (0, 1))
    assert len(below) == 6
    assert ran == below + itself
    assert {name.rsplit(".", 1)[1] for name in itself} <= {"query", "key", "value"}


@pytest.mark.parametrize("head", [None, 1])
def test_only_the_head_that_is_asked_for_is_multiplied(head, monkeypatch):
    seen = []

    def watching(query, key, *others):
        seen.append((query.shape[1], key.shape[1]))
        return probabilities(query, key, *others)

    monkeypatch.setattr("salience.hooks.attention.probabilities", watching)
    Attention(1, head)(model_of("bert"), batch([5, 1, 9]))
    assert seen == [(HEADS, HEADS) if head is None else (1, 1)]


def layer_calls(model, run) -> tuple[int, int]:
    """How many layers complete a forward and a backward pass in a step, in calls."""
    back = []

    def after(module, arguments, result):
        value = result[0] if isinstance(result, tuple) else result
        if value.requires_grad:
            value.register_hook(lambda gradient: back.append(len(gradient)) and None)

    handles = [layer.register_forward_hook(after) for layer in layer_modules(model)]
    with Counting(model) as counted:
        run()
    for handle in handles:
        handle.remove()
    return counted.completed, len(back)


COSTS = [("words", 0.0, LAYERS), ("words", 0.5, 2 * LAYERS), (2, 0.0, LAYERS), (2, 0.5, 2 * LAYERS - 2)]


@quiet
@crossed("family", FAMILIES, "at", [(layer, *cost) for layer in range(LAYERS) for cost in COSTS])
def test_a_step_costs_the_layers_below_the_guide_once_more(family, at):
    """methods.md, section 5: 3 + l/12 forward passes, plain training being 3, for a forward pass through l of 12
    layers and no backward pass through any. With a clean loss there are two passes, which share the layers below the
    level at which texts meet."""
    layer, level, clean, passed = at
    model, own = model_of(family).train(), batch([5, 2, 9, 4], family=family)

    def step():
        for loss in mixed(AttentionMix(layer, level=level, pair=swap_halves), clean)(model, own):
            loss.backward()

    guide = layer + 1 if family in OWN_ATTENTION else layer
    assert layer_calls(model, step) == (passed + guide, passed)


# ---------------------------------------------------------------------------------------------------------- autocast


@quiet
@crossed("family", FAMILIES, "head", [None, 1])
def test_under_autocast_it_is_close_to_full_precision(family, head):
    """bfloat16 has 8 bits: queries and keys are right to one part in 256, and attention to a few."""
    model, own = FAMILIES[family](spread=0.2), batch([5, 1, 9, 30], extra_padding=1, family=family)
    for layer in range(LAYERS):
        expected = Attention(layer, head)(model, own)
        with torch.autocast("cpu", torch.bfloat16):
            found = Attention(layer, head)(model, own)
        assert close(found, expected, 0.01)
        assert not torch.equal(found.float(), expected)  # it was at work
        assert close(found.sum(1), torch.ones(4), 0.01)
        assert (found[own.attention_mask == 0] == 0).all()


def test_scores_of_attention_are_not_rounded_under_autocast():
    """Products of hundreds lose whole units in bfloat16; softmax turns a unit into a factor of e."""
    generator = torch.Generator().manual_seed(0)
    query, key = (20 * torch.randn(2, 3, 6, 8, generator=generator) for _ in range(2))
    expected = probabilities(query, key, None, 0.01)
    with torch.autocast("cpu", torch.bfloat16):
        assert close(probabilities(query, key, None, 0.01), expected, 1e-6)
        half = probabilities(query.bfloat16(), key.bfloat16(), None, 0.01)
    assert half.dtype == torch.float32
    assert close(half, probabilities(query.bfloat16().float(), key.bfloat16().float(), None, 0.01), 1e-6)
