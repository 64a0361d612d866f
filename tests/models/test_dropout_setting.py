"""The dropout of an encoder by `--dropout`: in the passes of a model in training mode, and in its configuration."""

import pytest
import torch

import families
from salience.errors import InputError
from salience.hooks.hooks import forward
from salience.hooks.stages import stages
from salience.models.loading import load_classifier, set_dropout
from salience.training.head import with_pooling

NAMES = [name for name in families.FAMILIES if name != "modernbert-mean"]


def loaded(folder, family, dropout, pooling="cls"):
    families.save_tiny_model(folder, ["a good film"], family, dropout=0.1)
    model, _ = load_classifier(str(folder), ["no", "yes"], dropout)
    return with_pooling(model, str(folder), pooling).train()


def is_random(model) -> bool:
    own = families.batch([5, 2, 9, 4], classes=2)
    own = own.with_ids(own.input_ids.clamp(max=model.config.vocab_size - 1))
    return not torch.equal(forward(model, own), forward(model, own))


@pytest.mark.parametrize("family", NAMES)
def test_every_family_can_be_trained_without_and_with_another_dropout(family, tmp_path):
    none, other = (loaded(tmp_path, family, value) for value in (0.0, 0.3))
    for module in none.modules():  # heads may have a dropout of their own, which stays
        if type(module).__name__.endswith("Dropout") and module.p:
            assert not any(module is part for layer in families.layer_modules(none) for part in layer.modules())
            module.p = 0.0
    assert not is_random(none) and is_random(other)
    rates = {
        module.p
        for layer in families.layer_modules(other)
        for module in layer.modules()
        if type(module).__name__.endswith("Dropout")
    }
    assert rates <= {0.3}


def test_the_models_own_is_kept(tmp_path):
    model = loaded(tmp_path, "bert", None)
    assert (model.config.hidden_dropout_prob, model.config.attention_probs_dropout_prob) == (0.1, 0.1)


def test_a_pooling_layer_stays_without_dropout(tmp_path):
    model = loaded(tmp_path, "bert", 0.3, "mean")
    rates = [
        {module.p for module in part.modules() if isinstance(module, torch.nn.Dropout)}
        for part in model.bert.encoder.layer
    ]
    assert rates == [{0.3}, {0.3}, {0.0}]
    assert stages(model)["pooling"] is model.bert.encoder.layer[-1]
    assert model.config.hidden_dropout_prob == 0.3


def test_a_model_without_dropout_is_refused():
    class Config:
        model_type = "made-up"

    with pytest.raises(InputError, match=r"--dropout 0\.3: models of the type made-up have no dropout to set"):
        set_dropout(Config(), 0.3)
