"""Gradients, gradient times input and integrated gradients: against captum, against a slow loop, and in their sum."""

from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

import families
import word_models
from reference import close
from salience import EXPLAINERS, Batch
from salience.explainers import IntegratedGradients, gradient, gradient_map, gradient_x_input

SHAPES = {
    "ragged": ([5, 1, 9, 0], None, 2),
    "alone": ([6], None, 0),
    "pairs": ([5, 2, 4], [3, 7, 1], 1),
}
MODELS = [*families.MODELS, *(f"words, {encoder}" for encoder in word_models.ENCODERS)]

every_shape = pytest.mark.parametrize("shape", SHAPES)


def model_of(name: str, **settings):
    if name.startswith("words, "):
        return word_models.word_classifier(name.removeprefix("words, ")).double()
    return families.MODELS[name](**settings).double()


def texts_of(name: str, shape: str) -> Batch:
    lengths, pairs, padding = SHAPES[shape]
    if name.startswith("words, "):
        return word_models.word_batch([max(length, 1) for length in lengths], pairs, extra_padding=padding)
    return families.batch(lengths, pairs, extra_padding=padding, family=name)


def other_classes(own: Batch) -> torch.Tensor:
    """A class for each text that is not its label."""
    return (own.labels + 1) % 3


def real(own: Batch) -> torch.Tensor:
    return own.attention_mask.bool()


# --------------------------------------------------------------------------------------------------------- captum's


def token_types(own: Batch) -> torch.Tensor:
    """1 from the second text on, as BERT's tokenizer numbers them."""
    types = torch.zeros_like(own.segment)
    for row, parts in enumerate(own.segment.tolist()):
        if 2 in parts:
            types[row, parts.index(2) : int(own.attention_mask[row].sum())] = 1
    return types


def captums(kind: str, model, own: Batch, **settings) -> torch.Tensor:
    """What captum's explainer `kind` says of each unit of BERT's embeddings (B, T, D), for ln p of the labels."""
    attr = pytest.importorskip("captum.attr")
    others = (own.attention_mask, token_types(own))

    def of_ids(ids, mask, types):
        return model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits.log_softmax(1)

    def of_rows(rows, mask, types):
        return model(inputs_embeds=rows, attention_mask=mask, token_type_ids=types).logits.log_softmax(1)

    if kind == "IntegratedGradients":
        rows = model.bert.embeddings.word_embeddings(own.input_ids).detach()
        baseline = rows * (own.segment == 0)[..., None]
        return attr.LayerIntegratedGradients(of_rows, model.bert.embeddings).attribute(
            rows, baseline, target=own.labels, additional_forward_args=others, method="riemann_middle", **settings
        )
    return attr.LayerGradientXActivation(of_ids, model.bert.embeddings, **settings).attribute(
        own.input_ids, target=own.labels, additional_forward_args=others
    )


@every_shape
def test_the_gradient_is_captums(shape):
    model, own = model_of("bert"), texts_of("bert", shape)
    expected = captums("LayerGradientXActivation", model, own, multiply_by_inputs=False)
    expected = expected.where(real(own)[..., None], 0)
    assert expected.abs().max() > 0.1
    assert close(gradient_map(model, own), expected.abs(), 1e-5)
    assert close(gradient(model, own), expected.norm(dim=2), 1e-5)


@every_shape
def test_gradient_times_input_is_captums(shape):
    """Captum's is of ln p, ours of the loss with its sign turned: the same number."""
    model, own = model_of("bert"), texts_of("bert", shape)
    expected = captums("LayerGradientXActivation", model, own).sum(2)
    assert (expected[real(own)] < -0.01).any() and (expected[real(own)] > 0.01).any()
    assert close(gradient_x_input(model, own), expected.where(real(own), 0), 1e-5)


@families.crossed("shape", SHAPES, "steps", [2, 5, 32])
def test_integrated_gradients_are_captums(shape, steps):
    model, own = model_of("bert"), texts_of("bert", shape)
    expected = captums("IntegratedGradients", model, own, n_steps=steps).sum(2)
    assert expected.abs().max() > 0.01
    assert (expected[own.segment == 0] == 0).all()  # the same rows in the baseline
    assert close(IntegratedGradients(steps)(model, own), expected, 1e-5)


def test_there_are_32_steps_unless_said_otherwise():
    model, own = model_of("bert"), texts_of("bert", "ragged")
    assert EXPLAINERS["integrated-gradients"] == IntegratedGradients(32)
    assert torch.equal(EXPLAINERS["integrated-gradients"](model, own), IntegratedGradients(32)(model, own))
    assert not close(IntegratedGradients(32)(model, own), IntegratedGradients(2)(model, own), 1e-3)


# ------------------------------------------------------------------------------------------------------- slow loops


@contextmanager
def output_of(module, function):
    """Inside the `with`, the module gives `function` of what it would give."""
    handle = module.register_forward_hook(lambda _, arguments, result: function(result))
    try:
        yield
    finally:
        handle.remove()


def log_probability(model, name: str, own: Batch, target: int) -> torch.Tensor:
    inputs = {"input_ids": own.input_ids, "attention_mask": own.attention_mask}
    if name in families.WITH_TOKEN_TYPES:
        inputs["token_type_ids"] = token_types(own)
    logits = model(**inputs).logits[0]
    return logits[target] - logits.logsumexp(0)


def gradients_by_hand(model, name: str, own: Batch, target: int, module, rows) -> tuple[torch.Tensor, torch.Tensor]:
    """d ln p / d of what `module` gives, where that is replaced by `rows` of it; and what it was (T, D)."""
    seen = []

    def see(result):
        seen.append(result.detach())
        seen.append(rows(result.detach()).requires_grad_())
        return seen[1]

    with output_of(module, see):
        value = log_probability(model, name, own, target)
    return torch.autograd.grad(value, seen[1])[0][0], seen[0][0]


@families.crossed("name", [name for name in MODELS if name != "bert"], "shape", SHAPES)
def test_gradients_against_a_slow_loop(name, shape):
    model, own = model_of(name), texts_of(name, shape)
    target = other_classes(own)
    found = [explainer(model, own, target) for explainer in (gradient, gradient_x_input, gradient_map)]
    for row in range(len(own)):
        slope, value = gradients_by_hand(
            model, name, families.alone(own, row), int(target[row]), model.base_model.embeddings, torch.clone
        )
        expected = [slope.norm(dim=1), (slope * value).sum(1), slope.abs()]
        for scores, wanted in zip(found, expected, strict=True):
            tolerance = 1e-5 * max(1.0, float(wanted.abs().max()))  # scores are single precision
            assert close(scores[row, : len(wanted)], wanted, tolerance)
            assert (scores[row, len(wanted) :] == 0).all()


@families.crossed("name", [name for name in MODELS if name != "bert"], "shape", SHAPES)
def test_integrated_gradients_against_a_slow_loop(name, shape):
    """Three steps: at 1/6, 3/6 and 5/6 of the way from the embeddings of a text whose words' rows are zeros."""
    model, own = model_of(name), texts_of(name, shape)
    target = other_classes(own)
    found = IntegratedGradients(3)(model, own, target)
    for row in range(len(own)):
        text = families.alone(own, row)
        words = (text.segment[0] > 0).nonzero().flatten().tolist()
        block, nothing = model.base_model.embeddings, (text.segment == 0)[..., None]
        with output_of(model.get_input_embeddings(), lambda rows, nothing=nothing: rows * nothing):
            _, start = gradients_by_hand(model, name, text, int(target[row]), block, torch.clone)
        expected = torch.zeros(own.input_ids.shape[1], dtype=torch.float64)
        for part in (1 / 6, 3 / 6, 5 / 6):

            def between(end, part=part, start=start):
                return start + part * (end - start)

            slope, end = gradients_by_hand(model, name, text, int(target[row]), block, between)
            for place in words:
                expected[place] += float(slope[place] @ (end[place] - start[place])) / 3
        assert close(found[row], expected, 1e-5 * max(1.0, float(expected.abs().max())))


# ------------------------------------------------------------------------------------------------------ completeness


SOME = ("bert", "modernbert", "attention", "words, lstm")


@pytest.mark.parametrize(
    "name", [*SOME, *(pytest.param(name, marks=pytest.mark.whole) for name in MODELS if name not in SOME)]
)
def test_integrated_gradients_add_up_to_what_the_words_add(name):
    """Their sum is ln p of the text minus ln p of the baseline, and more steps come closer to it."""
    model, own = model_of(name, spread=0.2) if name in families.MODELS else model_of(name), texts_of(name, "ragged")
    expected, found = [], {}
    for row in range(len(own)):
        text, target = families.alone(own, row), int(own.labels[row])
        with torch.no_grad():
            whole = log_probability(model, name, text, target)
            with output_of(model.get_input_embeddings(), lambda rows, t=text: rows * (t.segment == 0)[..., None]):
                expected.append(whole - log_probability(model, name, text, target))
    expected = torch.stack(expected)
    assert expected.abs().max() > 0.01
    for steps in (8, 64):
        found[steps] = IntegratedGradients(steps)(model, own).double().sum(1)
    error = {steps: float((sums - expected).abs().max()) for steps, sums in found.items()}
    assert error[64] < 0.01 * float(expected.abs().max())
    assert error[64] < error[8] / 5


# ------------------------------------------------------------------------------- models without an embedding block


@pytest.mark.parametrize("kind", ["CTRL", "EuroBert", "GPT2", "XLM", *(
    pytest.param(kind, marks=pytest.mark.whole) for kind in ("Falcon", "Mistral", "Qwen2")
)])  # fmt: skip
def test_without_an_embedding_block_the_gradient_is_that_of_the_word_vectors(kind):
    """Of a text alone, which can be given as vectors; it says the same among others."""
    model, own = families.other(kind).double(), replace(families.batch([5, 2, 9]), token_type_ids=None)
    scores = {name: EXPLAINERS[name](model, own) for name in ("gradient", "gradient-x-input", "integrated-gradients")}
    for row, length in enumerate(own.attention_mask.sum(1).tolist()):
        words = model.get_input_embeddings()(own.input_ids[row : row + 1, :length]).detach().requires_grad_()
        given = {"inputs_embeds": words.clone(), "attention_mask": own.attention_mask[row : row + 1, :length]}
        model(**given).logits.log_softmax(1)[0, own.labels[row]].backward()
        assert torch.allclose(scores["gradient"][row, :length], words.grad[0].norm(dim=1).float(), 1e-4, 1e-5)
        of_words = (words * words.grad)[0].sum(1).float()
        assert torch.allclose(scores["gradient-x-input"][row, :length], of_words, 1e-3, 1e-4)
        assert scores["integrated-gradients"][row].isfinite().all() and scores["integrated-gradients"][row].any()


@pytest.mark.parametrize("name", ["gradient", "gradient-x-input", "integrated-gradients"])
def test_a_model_that_pads_texts_itself_is_explained_as_if_they_came_padded(name):
    """Longformer computes whole windows, of 8 tokens here."""
    model, own = families.other("Longformer").double(), families.batch([5, 2, 9])
    scores, expected = EXPLAINERS[name](model, own), EXPLAINERS[name](model, families.padded(own, 16 - 11))
    assert scores.shape == own.input_ids.shape and close(scores, expected[:, :11])
