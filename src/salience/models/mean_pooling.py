"""Mean pooling inside a plain BERT or RoBERTa checkpoint: one more layer, whose [CLS] is the mean of the tokens.

A classifier of BERT's kind reads the state of its first token through a dense layer with a tanh. Encoders such as
all-MiniLM-L6-v2 were trained for the mean over all tokens instead (Reimers and Gurevych, 2019, arXiv:1908.10084,
Sec. 3), and neither their first token nor that dense layer was trained for anything. `with_mean_pooling` gives the
encoder a layer L + 1 of its own architecture with weights that are computed, not trained:

    attention     query = 0: all scores are equal, so every token receives the mean v of the values of all tokens that
                  are not padding; value = identity, minus the offset b of layer L's LayerNorm (h = g * x + b)
    its output    u = c v / g + K e_j - s e_i + own state: c and K are large, so that the own state is small beside
                  them; s is the sum of the entries of c v / g
    LayerNorm     subtracts the mean of u, which s makes constant, and divides by its standard deviation, which is that
                  of K e_j and so nearly constant
    feed-forward  its second matrix is 0, and the LayerNorm after it scales back: [CLS] = g * v / g + b, the mean
    pooler        t * identity: tanh is nearly linear there; the weights of the classifier are divided by t

So the logits are those of a linear map of the mean, up to the errors that its tests derive (about 1 % of the
part of the logits that depends on the text), and so do gradients pass. Units j and i are those with the smallest g,
which say least of a text (in MiniLM, three units have g = 0); they are replaced by their offset.

The constants: K = 2^15 is representable in fp16. c v / g is K / `RATIO` long at most, because |x| = sqrt(D); a larger
ratio makes the LayerNorm more linear, and the own state larger beside c v / g. t is small for encoders that have
single units with large means.

ModernBERT, EuroBERT and UltraBERT use `classifier_pooling="mean"` of their configuration as it is. No architecture of
transformers 5.0 to 5.23 does so with BERT's weights. A layer without K e_j would give the direction of the mean, which
differs from a linear head by a factor that depends on the text (by 8 % on TREC).

The layer has no dropout: dropout would remove K. Outside salience, set `hidden_dropout_prob` to 0 to train such a
checkpoint further.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from salience.hooks.stages import encoder_layers, encoder_of, has_pooling_layer

OWN_LAYER = ("bert", "roberta", "xlm-roberta", "camembert")  # model types that get a pooling layer
LARGE = 2.0**15  # K
RATIO = 8.0  # K over the largest length of u
USUAL = 0.4  # mean of |v / g|^2 / D for which the LayerNorm is calibrated: sentences of TREC in MiniLM
NARROW = 2.0**-6  # t
SMALLEST = 2.0**-8  # units whose g is smaller than this part of the largest are replaced by their offset


def supports_mean(model: PreTrainedModel) -> bool:
    """Whether `with_mean_pooling` can be used with a classifier."""
    return has_pooling_layer(model) or has_own_mean(model) or model.config.model_type in OWN_LAYER


def has_own_mean(model: PreTrainedModel) -> bool:  # as ModernBERT
    return getattr(model.config, "classifier_pooling", None) in ("cls", "mean", "bos", "late")


def with_mean_pooling(model: PreTrainedModel) -> PreTrainedModel:
    """A classifier with the same encoder that computes its logits from the mean over the tokens.

    Its head is fresh: a normal draw with the standard deviation of the model's configuration, as seen from the mean.
    The given classifier is not changed, but its weights are shared; do not use it afterwards.
    """
    if has_own_mean(model):
        model.config.classifier_pooling = "mean"
        return model
    if model.config.model_type not in OWN_LAYER:
        raise ValueError(
            f"no layer of a {model.config.model_type} computes a mean: see salience.models.sentence_modules"
        )
    config = copy.deepcopy(model.config)
    config.num_hidden_layers += 1
    config.pooling_layer = "mean"
    deeper: PreTrainedModel = type(model)(config)
    deeper.load_state_dict(model.state_dict(), strict=False)
    set_pooling_layer(deeper)
    fresh_head(deeper)
    settle(deeper)
    return deeper.train(model.training)


@torch.no_grad()
def set_pooling_layer(model: PreTrainedModel) -> None:
    """Computes the weights of the last layer and of the pooler as above.

    Keys and the first matrix of the feed-forward part stay as they are: with queries of 0, or a second matrix of 0,
    they have no effect.
    """
    before: Any
    layer: Any
    before, layer = encoder_layers(encoder_of(model))[-2:]
    attention, output = layer.attention, layer.output
    gain, offset = before.output.LayerNorm.weight, before.output.LayerNorm.bias
    width = len(gain)
    unit, counter, *_ = gain.abs().argsort().tolist()  # j and i
    kept = gain.abs() >= SMALLEST * gain.abs().max()
    kept[[unit, counter]] = False
    scale = LARGE / RATIO / math.sqrt(width)  # c
    deviation = LARGE / math.sqrt(width) * math.sqrt(1 - 1 / width + USUAL / RATIO**2)  # of u, usually

    attention.self.query.weight.zero_()
    attention.self.query.bias.zero_()
    attention.self.value.weight.copy_(torch.eye(width))
    attention.self.value.bias.copy_(-offset)
    forth = torch.where(kept, scale / gain, 0)
    attention.output.dense.weight.copy_(torch.diag(forth))
    attention.output.dense.weight[counter] = -forth
    attention.output.dense.bias.zero_()
    attention.output.dense.bias[unit] = LARGE
    attention.output.LayerNorm.weight.fill_(1)
    attention.output.LayerNorm.bias.zero_()
    output.dense.weight.zero_()
    output.dense.bias.zero_()
    back = torch.where(kept, gain * deviation / scale, 0)
    output.LayerNorm.weight.copy_(back)
    output.LayerNorm.bias.copy_(offset + back * LARGE / width / deviation)
    set_narrow(model)


@torch.no_grad()
def set_narrow(model: PreTrainedModel) -> None:
    """Makes the dense layer before the tanh t times the identity."""
    dense, _ = head(model)
    dense.weight.copy_(NARROW * torch.eye(len(dense.weight)))
    dense.bias.zero_()


def with_first_token(model: PreTrainedModel) -> PreTrainedModel:
    """A classifier of a type in `OWN_LAYER` whose logits are a linear map of its first token; changed in place.

    Its pooler, which encoders for the first token do not have, becomes t times the identity. The head is fresh.
    """
    model.config.first_token = True
    set_narrow(model)
    fresh_head(model)
    settle(model)
    return model


def is_narrow(model: nn.Module) -> bool:
    """Whether a classifier reads a pooling layer or its first token through t times the identity."""
    return has_pooling_layer(model) or getattr(encoder_of(model).config, "first_token", False) is True


def head(model: PreTrainedModel) -> tuple[nn.Linear, nn.Linear]:
    """The dense layer before the tanh, and the linear map after it, of a classifier of a type in `OWN_LAYER`."""
    classifier = model.get_submodule("classifier")
    if isinstance(classifier, nn.Linear):  # BERT
        return model.get_submodule("bert.pooler.dense"), classifier  # type: ignore[return-value]
    return classifier.get_submodule("dense"), classifier.get_submodule("out_proj")  # type: ignore[return-value]


@torch.no_grad()
def fresh_head(model: PreTrainedModel) -> None:
    """Initialises the linear map of the head, as wide as a head on the mean itself would be."""
    _, linear = head(model)
    linear.weight.normal_(0, model.config.initializer_range / NARROW)
    linear.bias.zero_()


def settle(model: PreTrainedModel) -> None:
    """Switches dropout in the pooling layer off, and excludes its weights and those of the pooler from training.

    To be called when a classifier that `is_narrow` is made or loaded for training; files do not hold this.
    """
    layers: list[Any] = encoder_layers(encoder_of(model))[-1:] if has_pooling_layer(model) else []
    for module in (module for layer in layers for module in layer.modules()):
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    dense, _ = head(model)
    for part in (*layers, dense):
        part.requires_grad_(False)


def without_pooling_layer(encoder: PreTrainedModel) -> PreTrainedModel:
    """The encoder without its pooling layer, for a model with a pooling of its own; changed in place."""
    if has_pooling_layer(encoder):
        layers = next(
            module
            for module in encoder.modules()
            if isinstance(module, nn.ModuleList) and len(module) == encoder.config.num_hidden_layers
        )
        del layers[-1]
        encoder.config.num_hidden_layers -= 1
        del encoder.config.pooling_layer
    return encoder
