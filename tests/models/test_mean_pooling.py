"""Mean pooling in a plain checkpoint: against a linear head on the mean that is computed here, and its gradients."""

import copy
import math

import pytest
import torch
from torch.nn.functional import cross_entropy, linear
from transformers import AutoModelForSequenceClassification

import families
from salience.hooks.hooks import forward, inputs_of, reading
from salience.hooks.stages import encoder_of, stages
from salience.models.loading import load_classifier, load_encoder
from salience.models.mean_pooling import LARGE, NARROW, RATIO, SMALLEST, USUAL, head, with_mean_pooling

TEXTS = ["How did serfdom develop in and then leave Russia ?", "What ?", "the cat sat on the mat", "A fine film ."]


def mean_of(encoder, batch):
    """The mean over all tokens but padding, as in sentence-transformers: [CLS] and [SEP] count. And the states."""
    states = encoder(**inputs_of(encoder, batch)).last_hidden_state
    rows = [row[mask.bool()].mean(0) for row, mask in zip(states, batch.attention_mask, strict=True)]
    return torch.stack(rows), states


def last_norm(model):
    """Weight and bias of the LayerNorm at the end of the encoder's own last layer."""
    norm = stages(model)[max(level for level in stages(model) if isinstance(level, int))].output.LayerNorm
    return norm.weight.detach(), norm.bias.detach()


def replaced(model):
    """The units (D,) that the pooling layer replaces by their offsets."""
    gain = last_norm(model)[0].abs()
    mask = gain < SMALLEST * gain.max()
    mask[gain.argsort()[:2]] = True
    return mask


def on_the_mean(model):
    """Weights (C, D) and bias (C,) of the linear head that the model's head is, as seen from the mean."""
    _, last = head(model)
    weights = (last.weight * NARROW).detach().masked_fill(replaced(model), 0)
    return weights, last.bias.detach() + (last.weight * NARROW).detach() @ (last_norm(model)[1] * replaced(model))


def largest_error(model, mean, states):
    """An upper limit for the error of the logits (B, C), from what the construction neglects.

    With x = (mean - b) / g, of the units that are not replaced, and q = (|x|^2 + (sum x)^2) / D:
    - LayerNorm divides by the deviation for q = `USUAL`: a part d = |q - USUAL| / (2 RATIO^2) of x, and of the
      constant RATIO / sqrt(D) that LayerNorm subtracts in every unit;
    - the first token's own state h / g, 1 / c of which is added to x, where g multiplies again: |h| / c, and as much
      for its mean at most;
    - tanh(y) = y - y^3 / 3 + ..., y = t mean.
    A fifth is added for products of these.
    """
    gain, offset = last_norm(model)
    kept = ~replaced(model)
    width = len(gain)
    scale = LARGE / RATIO / math.sqrt(width)
    inner = ((mean - offset) / gain.where(kept, 1)) * kept
    q = (inner.square().sum(1) + inner.sum(1).square()) / width
    part = ((q - USUAL).abs() / (2 * RATIO**2))[:, None]
    of_state = gain.abs() * part * (inner.abs() + RATIO / math.sqrt(width))
    of_state = of_state + (states[:, 0].abs() + gain.abs() * states[:, 0].abs().mean(1, keepdim=True)) / scale
    of_state = of_state + NARROW**2 * mean.abs() ** 3 / 3
    return 1.2 * (of_state * kept) @ on_the_mean(model)[0].abs().T


@pytest.fixture(scope="module")
def minilm():
    torch.manual_seed(0)
    model, tokenizer = load_classifier("minilm", list("abcdef"))
    encoded = tokenizer(TEXTS, padding=True, return_tensors="pt")
    segment = encoded["attention_mask"].clone()
    labels = torch.arange(len(TEXTS))
    return model.eval(), families.Batch(encoded["input_ids"], encoded["attention_mask"], segment, labels)


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_the_logits_are_those_of_a_linear_head_on_the_mean(family):
    plain = families.build(family).double()
    model = with_mean_pooling(copy.deepcopy(plain)).double().eval()
    own = families.batch([5, 1, 12, 0], family=family)
    with torch.no_grad():
        mean, states = mean_of(encoder_of(plain), own)
        error = (forward(model, own) - linear(mean, *on_the_mean(model))).abs()
        limit = largest_error(model, mean, states)
    assert (error <= limit).all()
    assert limit.max() < 0.1 * linear(mean, on_the_mean(model)[0]).abs().max()  # the limit says something


def test_units_that_say_nothing_are_replaced_by_their_offset():
    """Of MiniLM's last LayerNorm, three weights are 0: 1 / g would be infinite."""
    plain = families.build("bert").double()
    with torch.no_grad():
        plain.bert.encoder.layer[-1].output.LayerNorm.weight[[2, 5, 11]] = 0
    model = with_mean_pooling(copy.deepcopy(plain)).double().eval()
    assert replaced(model).nonzero().flatten().tolist() == [2, 5, 11]
    own = families.batch([5, 1, 12])
    with torch.no_grad():
        mean, states = mean_of(plain.bert, own)
        assert torch.equal(mean[:, 2], last_norm(model)[1][2].expand(3))
        error = (forward(model, own) - linear(mean, *on_the_mean(model))).abs()
        assert (error <= largest_error(model, mean, states)).all()


def test_the_packaged_model_in_fp32(minilm):
    plain, own = minilm
    model = with_mean_pooling(copy.deepcopy(plain)).eval()
    with torch.no_grad():
        mean, states = mean_of(plain.bert, own)
        expected, found = linear(mean, *on_the_mean(model)), forward(model, own)
        assert ((found - expected).abs() <= largest_error(model, mean, states)).all()
    assert (found - expected).norm() < 0.01 * (expected - expected.mean(0)).norm()  # 1 % of what distinguishes texts


def test_the_packaged_model_in_bf16(minilm):
    """Beside the error of fp32, six more roundings to 8 bits, each of at most 2^-9: values, their mean, the output of
    the attention with its weights, the pooler, and the classifier. The states before are rounded in both models."""
    plain, own = minilm
    model = with_mean_pooling(copy.deepcopy(plain)).eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        mean, _ = mean_of(plain.bert, own)
        mean, found = mean.float(), forward(model, own).float()
    weights, bias = on_the_mean(model)
    expected = linear(mean, weights, bias)
    assert (found - expected).norm() < (0.01 + 6 * 2**-9) * linear(mean.abs(), weights.abs()).norm() / 4


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_gradients_of_the_states_are_those_of_a_head_on_the_mean(family):
    """Of a weighted sum of the logits, so that errors of the logits themselves do not count.

    With s = K sqrt((1 + q / RATIO^2) / D), what LayerNorm returns, x c / s - K / (D s), has besides the wanted
    derivative one of s: at most (|x| + RATIO) (|x| + sqrt(D) |sum x|) / (RATIO^2 D) of the gradient. The first token's
    own state has an additional weight of 1 / c, against 1 / T in the mean. Half as much is added for the other errors.
    """
    plain = families.build(family).double()
    model = with_mean_pooling(copy.deepcopy(plain)).double().eval()
    own = families.batch([5, 1, 12, 3], family=family)
    weight = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    mean, states = mean_of(encoder_of(plain), own)
    (expected,) = torch.autograd.grad((linear(mean, *on_the_mean(model)) * weight).sum(), states)
    with reading(model, families.LAYERS) as read:
        (forward(model, own) * weight).sum().backward()
    gain, offset = last_norm(model)
    for row, tokens in enumerate(own.attention_mask.sum(1).tolist()):
        inner = (((mean[row] - offset) / gain) * ~replaced(model)).detach()
        of_norm = (inner.norm() + RATIO) * (inner.norm() + 4 * inner.sum().abs()) / (RATIO**2 * 16)
        tolerance = 1.5 * (of_norm + tokens**0.5 / (LARGE / RATIO / 4))
        assert tolerance < 0.25
        assert (read.gradient[row] - expected[row]).norm() < tolerance * expected[row].norm()
        assert not read.gradient[row, tokens:].any()  # nothing reaches padding


def test_gradients_of_the_packaged_model(minilm):
    """Within 1 %, for all weights of the encoder: there, q is about 0.4."""
    plain, own = copy.deepcopy(minilm[0]), minilm[1]
    model = with_mean_pooling(copy.deepcopy(plain)).eval()
    mean, _ = mean_of(plain.bert, own)
    cross_entropy(linear(mean, *on_the_mean(model)), own.labels).backward()
    cross_entropy(forward(model, own), own.labels).backward()
    expected = {name: weight.grad for name, weight in plain.bert.named_parameters() if weight.grad is not None}
    found = dict(model.bert.named_parameters())
    largest = max(gradient.norm() for gradient in expected.values())
    assert len(expected) == 5 + 6 * 16
    for name, gradient in expected.items():
        assert (found[name].grad - gradient).norm() <= 0.01 * gradient.norm() + 1e-5 * largest, name


def test_nothing_of_the_layer_is_trained_and_nothing_drops_the_constant():
    plain = families.build("bert", dropout=0.5)
    own = families.batch([5, 1, 12])
    model = with_mean_pooling(copy.deepcopy(plain)).train()
    layer = stages(model)["pooling"]
    for module in model.bert.encoder.layer[:-1].modules():  # dropout below and above the layer is left
        if isinstance(module, torch.nn.Dropout):
            assert module.p == 0.5
    assert model.dropout.p == 0.5
    states = torch.randn(3, 8, 16)
    assert torch.equal(layer(states), layer(states))
    cross_entropy(forward(model, own), own.labels).backward()
    assert all(weight.grad is None for weight in layer.parameters())
    assert model.bert.pooler.dense.weight.grad is None
    assert model.bert.encoder.layer[0].attention.self.query.weight.grad.norm() > 0


def test_a_saved_classifier_is_plain(tmp_path):
    model = families.with_mean("bert")
    own = families.batch([5, 1, 12])
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    assert type(loaded).__name__ == "BertForSequenceClassification"
    assert loaded.config.num_hidden_layers == families.LAYERS + 1
    with torch.no_grad():
        inputs = {"input_ids": own.input_ids, "attention_mask": own.attention_mask}
        assert torch.equal(loaded(**inputs).logits, forward(model, own))


def test_an_encoder_for_other_models_has_no_pooling_layer(tmp_path):
    families.save_tiny_model(tmp_path, ["a b"], family="bert, mean")
    encoder, _ = load_encoder(str(tmp_path))
    assert len(encoder.encoder.layer) == encoder.config.num_hidden_layers == 2
    assert not hasattr(encoder.config, "pooling_layer")
    assert [level for level in stages(encoder) if level == "pooling"] == []


@pytest.mark.parametrize("family", ["distilbert", "electra", "deberta-v2", "mpnet", "albert"])
def test_other_architectures_have_no_such_layer(family):
    model = families.build(family)
    with pytest.raises(ValueError, match=r"no layer of a .* computes a mean"):
        with_mean_pooling(model)
    assert not hasattr(model.config, "pooling_layer")


def test_modernbert_has_its_own_mean():
    model = with_mean_pooling(families.build("modernbert"))
    own = families.batch([5, 1, 12])
    expected = families.build("modernbert-mean")
    expected.load_state_dict(model.state_dict())
    with torch.no_grad():
        assert torch.equal(forward(model, own), forward(expected, own))
