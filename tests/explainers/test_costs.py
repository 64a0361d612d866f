"""The arithmetic of explaining, by torch's own counter of floating-point operations, and the passes of the model."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import families
from salience.classify import TextClassifier
from salience.data.texts import Texts
from salience.explainers import EXPLAINERS, IntegratedGradients
from salience.explainers.explain import explain_texts, explain_words
from salience.explainers.explainer import WithLogits
from salience.hooks.hooks import forward

TEXTS = ["the film is good", "a film is unseen and", "is the good film"]
LENGTHS = [7, 7, 7]  # tokens with padding and the two special ones
WORDS = [4, 5, 4]
PREDICTING = {name: explainer for name, explainer in EXPLAINERS.items() if isinstance(explainer, WithLogits)}


@pytest.fixture(scope="module")
def classifier() -> TextClassifier:
    return TextClassifier(families.build("bert").eval(), families.tiny_tokenizer(TEXTS), 64)


def operations(work) -> int:
    """Of matrix products. On a CPU, torch does not count those inside fused attention."""
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def of_layers(model, lengths) -> int:
    """Of all linear layers in a forward pass over texts of these lengths, by hand."""
    config = model.config
    width, inner = config.hidden_size, config.intermediate_size
    head = width**2 + width * config.num_labels  # pooler and classifier
    return 2 * (config.num_hidden_layers * sum(lengths) * (4 * width**2 + 2 * width * inner) + len(lengths) * head)


@pytest.mark.parametrize("name", ["gradient", "gradient-x-input"])
def test_a_gradient_takes_a_forward_pass_and_the_backward_pass_of_the_inputs_alone(name, classifier):
    """Each linear layer is one product forward and one backward; gradients of weights would be a third one."""
    model, encoded = classifier.model, classifier.encode(TEXTS, words=True)
    once = of_layers(model, LENGTHS)
    assert operations(lambda: classifier.probabilities(encoded)) == once
    assert operations(lambda: explain_words(model, encoded, EXPLAINERS[name])) == 2 * once
    assert operations(lambda: list(explain_texts(classifier, Texts(TEXTS), {name: EXPLAINERS[name]}))) == 2 * once
    assert all(weight.grad is None for weight in model.parameters())

    def trained():
        inputs = classifier.tokenizer(TEXTS, padding=True, return_tensors="pt")
        model(inputs["input_ids"], inputs["attention_mask"]).logits.sum().backward()

    assert operations(trained) == 3 * once  # so the counter sees them
    model.zero_grad(set_to_none=True)


@pytest.mark.parametrize("name", ["attention", "cls-attention"])
def test_attention_takes_a_forward_pass_and_one_product_of_queries_and_keys(name, classifier):
    found = operations(lambda: list(explain_texts(classifier, Texts(TEXTS), {name: EXPLAINERS[name]})))
    width = classifier.model.config.hidden_size
    products = sum(2 * length**2 * width for length in LENGTHS)
    assert 0 <= found - of_layers(classifier.model, LENGTHS) - products <= products  # the mean over queries


def test_occlusion_takes_a_pass_of_each_shortened_text_without_its_padding(classifier):
    found = operations(lambda: list(explain_texts(classifier, Texts(TEXTS), {"own": EXPLAINERS["occlusion"]})))
    assert found == of_layers(classifier.model, [*LENGTHS, *[6] * sum(WORDS)])


PASSES = {
    "gradient": 1, "attention": 1, "cls-attention": 1, "occlusion": 1 + 1, "random": 1, "integrated-gradients": 2 + 32,
    "random gradient attention": 1 + 1,
}  # fmt: skip


@families.crossed("names", PASSES, "target", ["predicted", "gold", 1])
def test_the_prediction_takes_no_pass_of_its_own(names, target, classifier, monkeypatch):
    calls, usual = [], classifier.model.bert.embeddings.forward

    def recorded(*inputs, **named):
        calls.append(1)
        return usual(*inputs, **named)

    monkeypatch.setattr(classifier.model.bert.embeddings, "forward", recorded)
    texts = Texts(TEXTS, labels=[0, 1, 1])
    list(explain_texts(classifier, texts, {name: EXPLAINERS[name] for name in names.split()}, target))
    assert len(calls) == PASSES[names]


def test_the_baseline_of_integrated_gradients_is_read_where_the_embeddings_end(classifier, monkeypatch):
    """The layers compute the texts as they are, and each point."""
    layer, calls = classifier.model.bert.encoder.layer[0], []
    usual = layer.forward
    monkeypatch.setattr(layer, "forward", lambda *inputs, **named: calls.append(1) or usual(*inputs, **named))
    explain_words(classifier.model, classifier.encode(TEXTS, words=True), IntegratedGradients(3))
    assert len(calls) == 1 + 3


@pytest.mark.parametrize("family", ["bert", "deberta-v2", "modernbert", "attention"])
@pytest.mark.filterwarnings("ignore:.* does not use transformers' attention interface")
def test_scores_and_prediction_of_one_pass_are_those_of_two(family):
    model, batch = families.MODELS[family]().eval(), families.batch([5, 2, 7])
    with torch.no_grad():
        logits = forward(model, batch)
    assert {"gradient", "gradient-x-input", "integrated-gradients", "occlusion", "attention"} <= PREDICTING.keys()
    for name, explainer in (PREDICTING | {"integrated-gradients": IntegratedGradients(3)}).items():
        if family == "attention" and "attention" in name:  # its encoder has no self-attention
            continue
        for target in (None, torch.tensor([0, 1, 0])):
            scores, found = explainer.with_logits(model, batch, target)
            assert torch.equal(scores, explainer(model, batch, target)), name
            assert torch.allclose(found, logits, atol=1e-6) and not found.requires_grad, name
