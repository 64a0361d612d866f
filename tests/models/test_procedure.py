"""The training procedure that a model names, for every family and every pooling, wrapped models included."""

import pytest
import torch
from torch import nn

import families
from salience.models.architectures import architecture
from salience.papers.attention_classifiers.options import POOLINGS
from word_models import word_classifier


def procedure(model) -> str:
    return architecture(model).procedure


@pytest.mark.parametrize("family", families.FAMILIES)
def test_models_of_transformers_are_trained_in_the_standard_way(family):
    assert procedure(families.FAMILIES[family]()) == "standard"


@pytest.mark.parametrize("pooling", POOLINGS)
def test_only_variational_pooling_is_trained_by_turns(pooling):
    expected = "turns" if pooling == "variational" else "standard"
    assert procedure(word_classifier("lstm", pooling=pooling)) == expected
    assert procedure(families.attention_classifier(pooling=pooling)) == expected


def test_a_wrapped_model_needs_what_the_model_inside_needs():
    model = word_classifier("lstm", pooling="variational")
    assert procedure(torch.compile(model)) == "turns"
    adapted = nn.Module()
    adapted.get_base_model = lambda: model
    assert procedure(adapted) == "turns"
