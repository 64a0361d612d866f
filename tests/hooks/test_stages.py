"""Looking up the stages of a model: the head's last linear map, and how much of the model is walked through."""

import pytest
import torch
from torch import nn
from transformers import AutoModelForSequenceClassification

import families
import families_page
from salience import METHODS, mixed, plain
from salience.hooks.stages import layers_of, stages
from salience.mixing import forwarding
from salience.training.head import last_map


@pytest.mark.parametrize("family", families.MODELS)
def test_the_head_is_the_last_linear_map_of_the_model(family):
    model = families.MODELS[family]()
    assert stages(model)["sentence"] is [part for part in model.modules() if isinstance(part, nn.Linear)][-1]


@pytest.mark.parametrize("kind", ["camembert", "jina_embeddings_v3", "xlm-roberta"])
def test_the_head_is_found_where_a_model_has_it_before_its_encoder(kind, tmp_path):
    model = AutoModelForSequenceClassification.from_pretrained(families_page.save(tmp_path, kind))
    assert next(iter(model.named_children()))[0] == "classifier"
    assert stages(model)["sentence"] is last_map(model) is model.classifier.out_proj


@pytest.mark.parametrize(("kind", "reason"), [("xlm", "parts of its 2 layers"), ("funnel", "has no list of 2 layers")])
def test_lists_of_parts_of_layers_and_of_blocks_are_no_layers(kind, reason, tmp_path):
    model = AutoModelForSequenceClassification.from_pretrained(families_page.save(tmp_path, kind))
    with pytest.raises(ValueError, match=reason):
        layers_of(model)


def visited(monkeypatch, work) -> int:
    """How many modules walks through a model give out while this is done."""
    walk, count = nn.Module.named_modules, 0

    def counted(self, memo=None, *arguments, **options):
        nonlocal count
        for found in walk(self, memo, *arguments, **options):
            count += memo is None  # a walk calls itself for each part, with what it has seen
            yield found

    with monkeypatch.context() as patched:
        patched.setattr(nn.Module, "named_modules", counted)
        work()
    return count


def test_the_stages_are_found_without_a_walk_through_the_whole_model(monkeypatch):
    model = families.FAMILIES["bert"]()
    whole = visited(monkeypatch, lambda: list(model.modules()))
    assert whole == len(list(model.modules()))
    assert visited(monkeypatch, lambda: stages(model)) < whole / 3


def test_a_mixed_pass_does_not_walk_through_the_model_many_times(monkeypatch):
    """A walk takes as long as some layers on a GPU. A plain step has none."""
    model, own = families.FAMILIES["bert"](), families.batch([5, 3, 4, 6])
    whole = len(list(model.modules()))
    assert visited(monkeypatch, lambda: list(plain(model, own))) == 0
    for name in ("wordmixup", "tmix", "senmixup"):
        method = METHODS[name]()
        assert visited(monkeypatch, lambda method=method: list(mixed(method, 0.5)(model, own))) < 5 * whole, name


def test_a_mask_is_widened_once_for_all_layers(monkeypatch):
    widened = []

    def counted(mask, mix):
        widened.append(mask.shape)
        return of_both(mask, mix)

    of_both = forwarding.of_both
    model, own = families.FAMILIES["bert"](), families.batch([5, 3])
    mix = METHODS["embedmix"](pair=lambda given: torch.tensor([1, 0]))(own, None)
    monkeypatch.setattr(forwarding, "of_both", counted)
    forwarding.forward_mixed(model, own, mix)
    assert sum(len(shape) == 4 for shape in widened) == 1
