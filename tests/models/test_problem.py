"""What logits mean, by the configuration, and explanations of models of several labels."""

import math

import pytest
import torch

import families
from salience import EXPLAINERS, METHODS, forward_mixed
from salience.batch import Batch
from salience.errors import InputError
from salience.models.problem import labels_of_model, log_likelihood, thresholds_in
from salience.scores.labels import ONE_LABEL, SEVERAL_LABELS
from salience.training.objective import BinaryCrossEntropy, mixed, plain

LABELS = torch.tensor([[1, 0, 1], [0, 0, 0]])


def several() -> torch.nn.Module:
    model = families.build("bert").eval()
    model.config.problem_type = "multi_label_classification"
    return model


def labelled() -> Batch:
    batch = families.batch([3, 5])
    return Batch(batch.input_ids, batch.attention_mask, batch.segment, LABELS)


def test_the_configuration_decides():
    assert labels_of_model(families.build("bert")) is ONE_LABEL and labels_of_model(several()) is SEVERAL_LABELS


def test_the_likelihood_of_labels_is_the_product_over_labels():
    logits = torch.tensor([[0.3, -1.0, 2.0], [0.5, 0.1, -3.0]])
    found = log_likelihood(several(), logits, LABELS)
    p = 1 / (1 + (-logits).exp())
    for row in range(2):
        product = 1.0
        for label in range(3):
            product *= p[row, label] if LABELS[row, label] else 1 - p[row, label]
        assert found[row] == pytest.approx(product.log().item(), rel=1e-5)
    assert torch.allclose(log_likelihood(several(), logits, torch.tensor([2, 0])), p[[0, 1], [2, 0]].log())


def test_thresholds_of_labels_are_read_where_a_text_can_have_several():
    model = several()
    assert thresholds_in(model.config, ["a", "b", "c"]).tolist() == [0.5] * 3
    model.config.label_thresholds = {"b": 0.25, "a": 1, "c": 0}
    assert thresholds_in(model.config, ["a", "b", "c"]).tolist() == [1, 0.25, 0]
    model.config.problem_type = "single_label_classification"
    model.config.label_thresholds = "of something else"
    assert thresholds_in(model.config, ["a", "b", "c"]).tolist() == [0.5] * 3
    model.config.problem_type = "multi_label_classification"
    for damaged in ("text", {}, {"a": 0.5}, {"a": 0.5, "b": 0.5, "c": 2}, {"a": 0.5, "b": "x", "c": 0}, [0.5] * 3):
        model.config.label_thresholds = damaged
        with pytest.raises(InputError, match="label_thresholds must have a number from 0 to 1 for each label"):
            thresholds_in(model.config, ["a", "b", "c"])


def test_one_label_of_a_text_can_have_a_threshold():
    model = families.build("bert")
    model.config.predicted_from = {"b": 0.25}
    assert thresholds_in(model.config, ["a", "b", "c"]).tolist() == pytest.approx(
        [math.nan, 0.25, math.nan], nan_ok=True
    )
    for damaged in ("text", {}, {"d": 0.5}, {"a": 1}, {"a": -0.5}, {"a": "0.5"}, {"a": 0.5, "b": 0.5}, [0.5]):
        model.config.predicted_from = damaged
        with pytest.raises(InputError, match="predicted_from must have a number from 0 to below 1 for one label"):
            thresholds_in(model.config, ["a", "b", "c"])
    model.config.problem_type = "multi_label_classification"
    assert thresholds_in(model.config, ["a", "b", "c"]).tolist() == [0.5] * 3


def test_occlusion_is_the_change_of_the_log_sigmoid_of_one_label():
    model, batch = several(), families.batch([3])
    scores = EXPLAINERS["occlusion"](model, batch, torch.tensor([1]))
    whole = model(batch.input_ids, batch.attention_mask, batch.token_type_ids).logits[0, 1]
    for position in (1, 2, 3):
        kept = [place for place in range(batch.input_ids.shape[1]) if place != position]
        shorter = [part[:, kept] for part in (batch.input_ids, batch.attention_mask, batch.token_type_ids)]
        expected = torch.nn.functional.logsigmoid(whole) - torch.nn.functional.logsigmoid(model(*shorter).logits[0, 1])
        assert scores[0, position].item() == pytest.approx(expected.item(), abs=1e-5)


@families.crossed("name", sorted(METHODS), "clean", [0.0, 0.5])
def test_every_mixing_method_trains_on_several_labels(name, clean):
    """The last loss is that of the mixed logits with the mixed labels."""
    model, batch = several(), labelled()
    method, seen = METHODS[name](), []

    def recorded(own: Batch, scores=None):
        mix = method(own, scores)
        seen.append(mix)
        return mix

    class Recorded:
        guide = method.guide
        __call__ = staticmethod(recorded)

    losses = []
    for loss in mixed(Recorded(), clean, BinaryCrossEntropy(), shared_trunk=False)(model, batch):
        loss.backward()
        losses.append(loss.item())
    with torch.no_grad():
        logits = forward_mixed(model, batch, seen[0])
    mixed_labels = seen[0].share[:, None] * LABELS + (1 - seen[0].share[:, None]) * LABELS[seen[0].partner]
    expected = torch.nn.BCEWithLogitsLoss()(logits, mixed_labels)
    assert losses[-1] == pytest.approx((1 - clean) * expected.item(), rel=1e-4)
    (unmixed,) = plain(model, batch, BinaryCrossEntropy())
    assert len(losses) == 1 or losses[0] == pytest.approx(clean * unmixed.item(), rel=1e-4)
