"""How a fresh head begins: as the logistic regression of the labels on the vectors that it reads.

The regression separates the classes as well as the vectors of the untrained encoder do. A head that begins at random
sends gradients into the encoder that have nothing to do with the labels, until it has learnt as much (Kumar et al.,
2022, arXiv:2202.10054, Sec. 3: linear probing, then fine-tuning). The penalty is strong, so that the weights are
small: with large ones, few texts have a gradient. Where a text can have several labels, there is a regression for each
label.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel

from salience.data.encoding import Encoded
from salience.errors import InputError
from salience.hooks.stages import stages
from salience.inference import TextClassifier
from salience.inference.sentence_vectors import sentence_vectors
from salience.models.attention_classifier import AttentionClassifier
from salience.models.loading import load_configuration
from salience.training.calibrating import last_map
from salience.training.recipe import Recipe

MOST = 10_000  # texts that the regression is fitted on: with as many, more of them change little and cost time


def can_begin(model: PreTrainedModel) -> bool:
    """Whether the head of a classifier can begin as a regression: its last linear map reads a vector of the text."""
    return not isinstance(model, AttentionClassifier) and stages(model).get("sentence") is last_map(model)


def used_head_start(recipe: Recipe, model: PreTrainedModel) -> str:
    """How the fresh head of a run begins by default: as a regression where it reads a mean, which was measured.

    Args:
        recipe: its pooling is not "auto".
        model: as it was loaded by the name that the recipe has.

    Returns:
        "logistic" or "random". A head that was trained already stays as it is, which is "random" too.
    """
    if not recipe.reads_mean or not can_begin(model):
        return "random"
    loaded = load_configuration(recipe.model)
    is_classifier = any(name.endswith("ForSequenceClassification") for name in loaded.architectures or [])
    return "random" if is_classifier and loaded.num_labels == model.config.num_labels else "logistic"


def check_head_start(head_start: str | None, model: PreTrainedModel) -> None:
    """Raises an `InputError` if the head of the model is to begin as a regression and cannot."""
    if head_start == "logistic" and not can_begin(model):
        raise InputError(f"--head-start logistic is not available for {type(model).__name__}: use --head-start random")


@torch.no_grad()
def begin_as_regression(
    classifier: TextClassifier, training: Encoded, class_weights: Sequence[float] | None = None, strength: float = 1.0
) -> None:
    """Sets the last linear map of a classifier; nothing is done if all texts that are read are of one class.

    Of more than `MOST` training texts, `MOST` are drawn, the same in every call.

    Args:
        classifier: its model `can_begin`. The encoder is not changed.
        training: N encoded texts with labels, one each or several.
        class_weights: of the C classes or labels in the loss; None for equal ones.
        strength: inverse strength of the L2 penalty, for vectors whose mean length is 1.
    """
    if len(training) > MOST:
        training = training.take(np.sort(np.random.default_rng(0).permutation(len(training))[:MOST]))
    labels = np.asarray(training.labels)
    if labels.ndim == 1 and len(np.unique(labels)) < 2:
        return
    with classifier.computing():
        vectors = sentence_vectors(classifier.model, training)
    linear: nn.Linear = last_map(classifier.model)
    if labels.ndim == 1:
        weights, biases = regression(vectors, labels, linear.out_features, class_weights, strength)
    else:
        weights, biases = regressions(vectors, labels, class_weights, strength)
    linear.weight.copy_(torch.from_numpy(weights))
    if linear.bias is not None:
        linear.bias.copy_(torch.from_numpy(biases))


def regression(
    vectors: np.ndarray, labels: np.ndarray, classes: int, class_weights: Sequence[float] | None = None,
    strength: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The weights (C, D) and biases (C,) of a logistic regression in float64, for vectors of their own length.

    A class without a row has weights of 0 and the lowest of the biases.

    Args:
        vectors: (N, D).
        labels: (N,), class numbers, of at least two classes.
        classes: number of classes C.
        class_weights: of the C classes; None for equal ones.
        strength: inverse strength of the L2 penalty, for vectors whose mean length is 1.
    """
    from sklearn.linear_model import LogisticRegression

    length = np.linalg.norm(vectors.astype(np.float64), axis=1).mean()
    of_rows = None if class_weights is None else np.asarray(class_weights)[labels]
    fitted = LogisticRegression(C=strength, max_iter=1000).fit(vectors / length, labels, of_rows)
    found, offsets = fitted.coef_ / length, fitted.intercept_
    if len(found) == 1:  # two classes: the logits are those of the second one against the first
        found, offsets = np.concatenate([-found, found]) / 2, np.concatenate([-offsets, offsets]) / 2
    weights, biases = np.zeros((classes, vectors.shape[1])), np.full(classes, offsets.min())
    weights[fitted.classes_], biases[fitted.classes_] = found, offsets
    return weights, biases


def regressions(
    vectors: np.ndarray, labels: np.ndarray, label_weights: Sequence[float] | None = None, strength: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """The weights (C, D) and biases (C,) of a logistic regression of each of several labels, in float64.

    A label that no row has, or every row, has weights of 0 and the log odds of its rows, half a row added to either
    side.

    Args:
        vectors: (N, D).
        labels: (N, C), 0 and 1.
        label_weights: of the texts that have each label (C,); None for weights of 1.
        strength: as of `regression`.
    """
    weights, biases = np.zeros((labels.shape[1], vectors.shape[1])), np.zeros(labels.shape[1])
    for number, of_label in enumerate(labels.T):
        if of_label.min() == of_label.max():
            biases[number] = np.log((of_label.sum() + 0.5) / (len(of_label) - of_label.sum() + 0.5))
        else:
            # Of the two classes "no" and "yes": the logit of a label is the difference of both.
            of_both = None if label_weights is None else (1.0, label_weights[number])
            both, offsets = regression(vectors, of_label, 2, of_both, strength)
            weights[number], biases[number] = both[1] - both[0], offsets[1] - offsets[0]
    return weights, biases
