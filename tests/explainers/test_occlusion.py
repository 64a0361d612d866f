"""Occlusion: against a slow loop that leaves tokens out one at a time and runs every shortened text alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import families
import word_models
from reference import close
from salience import EXPLAINERS, Batch
from salience.data.batching import padded
from salience.data.encoding import encode_texts
from salience.explainers import Occlusion

SHAPES = {
    "ragged": ([5, 1, 9, 0], None, 0),
    "ragged, and more padding": ([5, 1, 9, 0], None, 4),
    "alone": ([6], None, 0),
    "one word": ([1, 1], None, 0),
    "pairs": ([5, 2, 1], [3, 1, 4], 1),
}
MODELS = [*families.MODELS, *(f"words, {encoder}" for encoder in word_models.ENCODERS)]


def model_of(name: str):
    if name.startswith("words, "):
        return word_models.word_classifier(name.removeprefix("words, ")).double()
    return families.MODELS[name]().double()


def texts_of(name: str, shape: str) -> Batch:
    lengths, pairs, padding = SHAPES[shape]
    if name.startswith("words, "):
        # With no special token beside it, a text's only word would leave nothing to run.
        lengths = [max(length, 2) for length in lengths]
        return word_models.word_batch(lengths, pairs, extra_padding=padding)
    return families.batch(lengths, pairs, extra_padding=padding, family=name)


def logarithms(model, name: str, ids: list[int], types: list[int]) -> list[float]:
    """ln p of every class of one text, given as its tokens and their types."""
    inputs = {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
    if name in families.WITH_TOKEN_TYPES:
        inputs["token_type_ids"] = torch.tensor([types])
    with torch.no_grad():
        return model(**inputs).logits[0].log_softmax(0).tolist()


def by_hand(model, name: str, own: Batch, target: torch.Tensor | None) -> torch.Tensor:
    """`target` None: what the model predicts."""
    scores = torch.zeros(own.input_ids.shape, dtype=torch.float64)
    for row in range(len(own)):
        length = int(own.attention_mask[row].sum())
        ids, parts = own.input_ids[row, :length].tolist(), own.segment[row, :length].tolist()
        types = [0] * length if own.token_type_ids is None else own.token_type_ids[row, :length].tolist()
        whole = logarithms(model, name, ids, types)
        explained = whole.index(max(whole)) if target is None else int(target[row])
        for place, part in enumerate(parts):
            if part:
                left = logarithms(model, name, ids[:place] + ids[place + 1 :], types[:place] + types[place + 1 :])
                scores[row, place] = whole[explained] - left[explained]
    return scores


@families.crossed("name", MODELS, "shape", SHAPES)
def test_against_a_slow_loop(name, shape):
    model, own = model_of(name), texts_of(name, shape)
    expected = by_hand(model, name, own, own.labels)
    assert expected.abs().max() > 1e-3
    assert close(Occlusion()(model, own), expected, 1e-6)
    assert (expected[own.segment == 0] == 0).all()


@pytest.mark.parametrize("name", ["bert", "attention", "words, lstm"])
def test_the_class_is_the_one_given_else_the_label_else_the_predicted_one(name):
    model, own = model_of(name), texts_of(name, "ragged")
    bare = replace(own, labels=None)
    asked = (own.labels + 1) % 3
    assert close(Occlusion()(model, own, asked), by_hand(model, name, own, asked), 1e-6)
    assert close(Occlusion()(model, bare), by_hand(model, name, own, None), 1e-6)
    assert not close(by_hand(model, name, own, asked), by_hand(model, name, own, own.labels), 1e-2)


def test_the_only_word_of_a_second_text_is_compared_with_an_empty_text():
    """The separator after an empty second text is still of the second type, as a tokenizer says."""
    model, tokenizer = model_of("bert"), families.tiny_tokenizer()
    own = padded(encode_texts(tokenizer, ["a b", "c"], ["d", "e f"], [2, 0]), np.arange(2), labelled=True)
    with torch.no_grad():
        whole, left = (model(**tokenizer(["a b"], [second], return_tensors="pt")).logits.log_softmax(1)[0, 2]
                       for second in ("d", ""))  # fmt: skip
    scores = Occlusion()(model, own)
    assert abs(whole - left) > 1e-3
    assert close(scores[0, 4], whole - left, 1e-6)


@pytest.mark.parametrize("at_once", [1, 2, 7, 1000])
def test_how_many_run_at_once_changes_nothing(at_once):
    model, own = model_of("bert"), texts_of("bert", "pairs")
    assert close(Occlusion(at_once)(model, own), Occlusion()(model, own), 1e-9)


def test_no_batch_is_larger_than_asked_for():
    model, own, sizes = model_of("bert"), texts_of("bert", "ragged"), []
    model.get_input_embeddings().register_forward_pre_hook(lambda _, arguments: sizes.append(len(arguments[0])))
    Occlusion(4)(model, own)
    assert sizes == [4, 4, 4, 4, 3]  # the texts themselves, and their 15 words


@pytest.mark.parametrize("name", ["bert", "attention"])
def test_a_batch_without_any_word_has_nothing_to_leave_out(name):
    model, own = families.MODELS[name](), families.batch([0, 0], family=name)
    assert torch.equal(EXPLAINERS["occlusion"](model, own), torch.zeros(own.input_ids.shape))


@pytest.mark.parametrize("encoder", word_models.ENCODERS)
def test_a_word_that_is_a_whole_text_is_compared_with_no_text_at_all(encoder):
    """Nothing to read pools to zeros, and with no bias behind it every class is as likely as any other."""
    model, own = word_models.word_classifier(encoder, classes=2).double(), word_models.word_batch([1, 3], classes=2)
    with torch.no_grad():
        logits = model(own.input_ids, own.attention_mask).logits
    expected = logits.log_softmax(1)[0, own.labels[0]] - torch.tensor(0.5, dtype=torch.float64).log()
    found = Occlusion()(model, own)
    assert close(found[0, :1], expected[None], 1e-6)
    assert (found[0, 1:] == 0).all()
