"""The texts of a pair explained one at a time (SS7 of methods.md): against single texts put together by hand."""

from dataclasses import replace

import pytest
import torch

import families
from reference import close, ssmix_reference
from salience import Batch, SSMix
from salience.explainers import EachTextAlone, Occlusion, gradient, gradient_map
from salience.mixing.method import swap_halves

TEXTS, SECONDS = [5, 2, 4, 1, 0], [3, 7, 1, 1, 2]


def by_hand(explainer, model, name: str, own: Batch, row: int, part: int) -> torch.Tensor:
    """Scores of one text's words: [CLS], the words, [SEP], and the label of the pair."""
    ids = families.specials(name)
    words = own.input_ids[row][own.segment[row] == part].tolist()
    text = torch.tensor([[ids["[CLS]"], *words, ids["[SEP]"]]])
    segment = torch.tensor([[0, *[1] * len(words), 0]])
    return explainer(model, Batch(text, torch.ones_like(text), segment, own.labels[row : row + 1]))[0, 1:-1]


@families.crossed("name", families.MODELS, "explainer", [gradient, gradient_map, Occlusion()])
def test_each_text_is_scored_as_if_it_stood_alone(name, explainer):
    model, own = families.MODELS[name]().double(), families.batch(TEXTS, SECONDS, extra_padding=2, family=name)
    scores = EachTextAlone(explainer)(model, own)
    assert scores.shape[:2] == own.segment.shape
    assert not scores[own.segment == 0].any()
    together = explainer(model, own)
    for row in range(len(own)):
        for part in (1, 2):
            at = own.segment[row] == part
            assert close(scores[row][at], by_hand(explainer, model, name, own, row, part), 1e-9)
            if at.sum():
                assert not close(scores[row][at], together[row][at], 1e-3)


def test_the_target_is_the_pairs():
    model, own = families.MODELS["bert"]().double(), families.batch(TEXTS, SECONDS)
    other = (own.labels + 1) % 3
    labelled = replace(own, labels=other)
    explainer = EachTextAlone(gradient)
    assert torch.equal(explainer(model, own, other), explainer(model, labelled))
    assert not close(explainer(model, own, other), explainer(model, own), 1e-3)


def test_single_texts_are_explained_as_they_are():
    model, own = families.MODELS["bert"]().double(), families.batch(TEXTS, extra_padding=1)
    assert torch.equal(EachTextAlone(gradient)(model, own), gradient(model, own))


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_it_guides_ssmix(name):
    model, own = families.MODELS[name]().double(), families.batch([9, 8, 5, 7], [6, 9, 8, 7], family=name)
    method = SSMix(window=0.3, guide=EachTextAlone(gradient))
    scores = method.guide(model, own)
    mix = method(own, scores)
    ids, share = ssmix_reference(own, scores, 0.3, swap_halves(own))
    assert torch.equal(mix.blend(own.input_ids), ids)
    assert close(mix.share, share, 1e-7)
    assert not torch.equal(ids, SSMix(window=0.3)(own, gradient(model, own)).blend(own.input_ids))
