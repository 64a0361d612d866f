"""Probabilities and vectors from one pass are those of two, for every family of models."""

import numpy as np
import pytest
import torch

import families
from salience.classify.classifier import predict_probabilities
from salience.classify.frozen_encoder import probabilities_and_vectors, sentence_vectors
from salience.data.encoding import Encoded
from salience.scores.labels import SEVERAL_LABELS
from salience.training.head import last_map


@pytest.mark.parametrize("problem", [None, SEVERAL_LABELS.problem_type])
@pytest.mark.parametrize("family", families.MODELS)
def test_one_pass_is_as_good_as_two(family, problem):
    model = families.MODELS[family]().train()
    model.config.problem_type = problem
    own = families.batch([3, 1, 5, 4], family=family)
    real = own.attention_mask.bool()
    texts = Encoded(own.input_ids[real].numpy(), own.segment[real].numpy(), real.sum(1).numpy())
    probabilities, vectors = probabilities_and_vectors(model, texts, "fp32")
    assert model.training and probabilities.dtype == vectors.dtype == np.float32
    assert np.allclose(probabilities, predict_probabilities(model, texts, "fp32"), atol=1e-6)
    assert np.allclose(vectors, sentence_vectors(model, texts), atol=1e-5)
    assert len({tuple(row) for row in vectors.tolist()}) == 4


@pytest.mark.parametrize("kind", families.OTHERS)
def test_the_last_map_gives_the_logits_of_the_vectors(kind):
    """Decoders map every token and take one of the results, and have no vector of the text until then."""
    model = families.other(kind)
    own = families.batch([3, 1, 5, 4])
    real = own.attention_mask.bool()
    texts = Encoded(own.input_ids[real].numpy(), own.segment[real].numpy(), real.sum(1).numpy())
    probabilities, vectors = probabilities_and_vectors(model, texts, "fp32")
    assert np.allclose(probabilities, predict_probabilities(model, texts, "fp32"), atol=1e-6)
    with torch.no_grad():
        mapped = last_map(model)(torch.from_numpy(vectors)).softmax(1).numpy()
    assert np.allclose(mapped, probabilities, atol=1e-5)
