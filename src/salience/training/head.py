"""The head of a classifier: what it reads, how it begins, below what nothing is trained, and its temperature.

It begins at random, or as the logistic regression of the labels on the vectors that it reads; or, where no text is
labelled, from descriptions of the labels alone. A text then gets the label whose description has the most similar
sentence vector (Yin, Hay and Roth, 2019, arXiv:1909.00161, call this "label-fully-unseen" classification). The
similarity is a linear map of the text's vector, and so the head of a plain checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np
import torch
from scipy.special import log_softmax
from torch import Tensor, nn
from transformers import PreTrainedModel

from salience.batch import Batch
from salience.classify import TextClassifier, choose_device
from salience.classify.frozen_encoder import of_length_one, sentence_vectors
from salience.data.encoding import Encoded
from salience.data.texts import Texts
from salience.errors import InputError, counted, listed, quoted
from salience.hooks.hooks import evaluating, forward
from salience.hooks.stages import depth, encoder_of, layers_of, linear_maps, stage, stages, unwrapped
from salience.models.architectures import USUAL, architecture
from salience.models.loading import (
    load_classifier,
    load_configuration,
    longest_text,
    model_source,
    other_labels,
    reorder,
    rows_by_name,
    sentence_pooling,
)
from salience.models.mean_pooling import (
    OWN_LAYER,
    fresh_head,
    is_narrow,
    settle,
    supports_mean,
    with_first_token,
    with_mean_pooling,
)
from salience.models.sentence_modules import PooledClassifier, saved_head, with_saved_head
from salience.scores.calibration import fit_temperature
from salience.scores.labels import labels_of
from salience.training.baselines import fitted_regression
from salience.training.recipe import MOST, Plan

# Parts of encoders between embeddings and layers: of ELECTRA, ALBERT, and DeBERTa's norm of relative positions.
BELOW = ("embeddings_project", "encoder.embedding_hidden_mapping_in", "encoder.LayerNorm")
FOLDS = 5  # of the rows that choose how much a regression leans on descriptions
# Of cosines in logits, as in the loss of sentence-transformers for such encoders. No label depends on it.
SCALE = 20.0
# What a cosine with the descriptions of a label may count in logits before any row is known, and of how many rows the
# best of them is chosen: with more rows it changes little (docs/research/studies/label-descriptions.md).
LEANINGS, LEANING_ROWS = (0.0, 5.0, 10.0, SCALE), 500


def with_pooling(
    model: PreTrainedModel, name: str, pooling: str, note: Callable[[str], None] = lambda line: None
) -> PreTrainedModel:
    """The classifier that is trained, loaded from a name: with a pooling over the tokens where it is asked for.

    "auto" is the pooling that the encoder was trained for, "mean" or "first", if its files or its name say so; else
    "cls", the model's own head. A pooling that a trained classifier already has is kept, and so is its head, if it is
    of the same labels. `note` is told of a head of modules that is not.

    Raises:
        InputError: the model's pooling layer was trained, or its architecture has a pooling of its own.
    """
    if is_narrow(model):
        if getattr(model.config, "pooling_layer", None) not in (None, "mean"):
            raise InputError(
                f"--model {quoted(name)} has the pooling {model.config.pooling_layer}, which is retired: it predicts, "
                "but is not trained further; begin from its encoder, with --set pooling=mean"
            )
        if kept_rows(name, model) is None:
            fresh_head(model)
        settle(model)
        return model
    pooling = getattr(model.config, "sentence_pooling", None) or pooling
    if pooling == "auto":
        pooling = sentence_pooling(name) or "cls"
    if pooling == "cls":
        return model
    if architecture(model) is not USUAL:
        raise InputError(f"--set pooling={pooling}: {type(model).__name__} has a pooling of its own; leave it out")
    if pooling == "mean" and supports_mean(model):
        return with_mean_pooling(model)
    if pooling == "first" and model.config.model_type in OWN_LAYER:
        return with_first_token(model)
    model.config.sentence_pooling = pooling
    saved, rows = with_saved_head(encoder_of(model), model_source(name)), kept_rows(name, model)
    if saved is not None and rows is not None:
        reorder(saved.classifier, rows)
        return saved
    stored = load_configuration(name)
    if saved_head(model_source(name), stored.num_labels) is not None:
        note(other_labels(name, stored, labels_in(model)))
    return PooledClassifier(encoder_of(model))


def labels_in(model: PreTrainedModel) -> list[str]:
    return [model.config.id2label[number] for number in range(model.config.num_labels)]


def kept_rows(name: str, model: PreTrainedModel) -> list[int] | None:
    """The rows, in the head of a checkpoint, of the labels of a model that was loaded from it; see `rows_by_name`."""
    return rows_by_name(load_configuration(name), labels_in(model))


def used_pooling(model: PreTrainedModel) -> str:
    """The value of `pooling` that a classifier stands for: "mean", "first", or "cls" for its own head."""
    if isinstance(inner := unwrapped(model), PooledClassifier):
        return inner.config.sentence_pooling
    if getattr(model.config, "first_token", False) is True:
        return "first"
    own_mean = getattr(model.config, "classifier_pooling", None) == "mean"
    return "mean" if own_mean or getattr(model.config, "pooling_layer", None) else "cls"


def recognised_stages(model: nn.Module, option: str) -> dict[str | int, nn.Module]:
    try:
        return stages(model)
    except ValueError as error:
        raise InputError(f"{option} cannot be used with this model: {error}") from error


def train_top(model: nn.Module, layers: int, lowest: int | None = None) -> int | None:
    """Excludes everything below the top layers of an encoder from training, until it is loaded again.

    Args:
        layers: number of encoder layers that are trained; a pooling layer is none of them.
        lowest: the lowest level that a method mixes at or that its guide reads; None if it needs none.

    Returns:
        The level of the highest layer that is not trained; None, and nothing is excluded, if `lowest` is below it.

    Raises:
        InputError: the encoder has fewer layers, its layers are not recognised, or it has one layer at several levels.
    """
    option = f"--trained-layers {layers}"
    modules = recognised_stages(model, option)
    below = depth(model) - layers
    if below < 0:
        raise InputError(f"{option}: the encoder has {depth(model)} layers; give a number up to that, or all")
    if lowest is not None and lowest < below:
        return None
    of_layers = layers_of(model)
    frozen = [module for level, module in of_layers.items() if isinstance(level, int) and level <= below]
    trained = [module for level, module in of_layers.items() if level not in range(1, below + 1)]
    if any(module is other for module in frozen for other in trained):
        raise InputError(f"{option}: the encoder has one layer at several levels; use --trained-layers all")
    for module in (*frozen, *parts_below(model), modules["embeddings"]):
        module.requires_grad_(False)
    return below


def parts_below(model: nn.Module) -> list[nn.Module]:
    """The parts of an encoder, beside its embedding block, that belong to the embeddings.

    MPNet and DeBERTa share tables of relative positions between all layers; others have parts before the first layer.
    """
    inside = {id(part) for module in layers_of(model).values() for part in module.modules()}
    outside = {name: part for name, part in encoder_of(model).named_modules() if id(part) not in inside}
    return [part for name, part in outside.items() if isinstance(part, nn.Embedding) or name in BELOW]


def frozen_layers(model: nn.Module) -> int:
    """The number of the lowest layers, a pooling layer included, below and in which no weight is trained."""

    def is_frozen(module: nn.Module) -> bool:
        return not any(weight.requires_grad for weight in module.parameters())

    try:
        modules, layers = stages(model), layers_of(model).values()
    except ValueError:  # its layers are not recognised, and `train_top` refuses it
        return 0
    return sum(1 for _ in takewhile(is_frozen, layers)) if is_frozen(modules["embeddings"]) else 0


def last_map(model: PreTrainedModel) -> nn.Linear:
    """The linear map whose outputs are the logits that the model predicts by."""
    head = architecture(model).predicting_head or unwrapped(model)
    return next(linear_maps(head))


@torch.no_grad()
def divide_logits(model: PreTrainedModel, temperature: float) -> None:
    """Divides the weights and biases of the last linear map, and so the logits, by a temperature above 0."""
    for weight in last_map(model).parameters(recurse=False):
        weight.div_(temperature)


@torch.no_grad()
def divisible(model: PreTrainedModel, batch: Batch) -> bool:
    """Whether `divide_logits` divides the logits: not if the last map is shared, or is not the last step."""

    def logits() -> Tensor:
        with evaluating(model):
            return forward(model, batch.to(model.device)).float()

    before = logits()
    divide_logits(model, 2.0)  # which changes no bit but the exponents
    after = logits()
    divide_logits(model, 0.5)
    return torch.allclose(2 * after, before, rtol=1e-3, atol=1e-4)


def choose_calibration(asked: bool | None, model: PreTrainedModel, batch: Batch, note: Callable[[str], None]) -> bool:
    """Whether the temperature of an estimate is folded into a model: if asked, and by default if it can be."""
    if asked is False or divisible(model, batch):
        return asked is not False
    reason = (
        f"the logits of {type(unwrapped(model)).__name__} are not those of its last linear map, which would hold the "
        "temperature"
    )
    if asked:
        raise InputError(f"--set calibrate=true: {reason}: leave it out")
    note(f"not calibrated: {reason}")
    return False


def check_regression(plan: Plan, model: PreTrainedModel) -> None:
    """Raises an `InputError` if the head is to be a regression and cannot be one."""
    for name, other in {"head_start": "random", "head_end": "trained"}.items():
        if getattr(plan, name) == "logistic" and not can_begin(model):
            raise InputError(f"--set {name}=logistic is not available for {type(model).__name__}: use {name}={other}")


def can_begin(model: PreTrainedModel) -> bool:
    """Whether a head can be initialised as a regression: its last linear map reads a vector of the text."""
    return architecture(model) is USUAL and stage(model, "sentence") is last_map(model)


def used_head_start(name: str, model: PreTrainedModel, pooled: bool) -> str:
    """How a head is initialised by default: as a regression if it is new and reads pooled tokens (measured)."""
    if not pooled or not can_begin(model) or getattr(model, "has_saved_head", False):
        return "random"
    kinds = load_configuration(name).architectures or []
    is_classifier = any(kind.endswith("ForSequenceClassification") for kind in kinds)
    return "random" if is_classifier and kept_rows(name, model) is not None else "logistic"


@torch.no_grad()
def set_regression(
    classifier: TextClassifier, training: Encoded, class_weights: Sequence[float] | None = None, strength: float = 1.0,
    described: int = 0,
) -> np.ndarray | None:  # fmt: skip
    """Sets the last linear map of a classifier to the regression of the labels on the vectors that it reads.

    Returns these vectors (N, D). Nothing is done, and None is returned, if all texts that are read are of one class.

    Of more than `MOST` training texts, `MOST` are sampled, the same in every call. `strength` is the inverse strength
    of the L2 penalty, for vectors whose mean length is 1. The last `described` texts are descriptions of the labels.
    """
    model = classifier.model
    training = training.take(drawn(len(training)))
    labels, linear = np.asarray(training.labels), last_map(model)
    if not labels_of(labels).several and len(np.unique(labels)) < 2:
        return None
    with classifier.computing():
        vectors = sentence_vectors(model, training)
    set_map(linear, *regression_of(vectors, labels, linear.out_features, class_weights, strength, described))
    return vectors


@torch.no_grad()
def set_map(linear: nn.Linear, weights: np.ndarray, biases: np.ndarray) -> None:
    """Gives a linear map its weights (C, D), and its biases (C,) if it has any."""
    linear.weight.copy_(torch.from_numpy(weights))
    if linear.bias is not None:
        linear.bias.copy_(torch.from_numpy(biases))


def described_in(training: Encoded, descriptions: Texts) -> int:
    """How many of the texts that are read, or of their windows, are of descriptions, which are the last ones."""
    if training.owners is None:
        return len(descriptions)
    return int((training.owners >= training.texts - len(descriptions)).sum())


def drawn(count: int) -> np.ndarray:
    """The numbers of the rows that a regression is fitted on: of more than `MOST`, always the same ones."""
    return np.sort(np.random.default_rng(0).permutation(count)[:MOST]) if count > MOST else np.arange(count)


def regression_of(
    vectors: np.ndarray, labels: np.ndarray, classes: int, class_weights: Sequence[float] | None = None,
    strength: float = 1.0, described: int = 0,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The weights (C, D) and biases (C,) of the regression for labels (N,), or of those for each of several (N, C).

    The last `described` texts are descriptions of the labels; of one label each, see `leaning_regression`.
    """
    if labels_of(labels).several:
        return regressions(vectors, labels, class_weights, strength)
    if described and len(labels) <= LEANING_ROWS + described:
        return leaning_regression(vectors, labels, classes, class_weights, strength, described)
    return regression(vectors, labels, classes, class_weights, strength)


def regression(
    vectors: np.ndarray, labels: np.ndarray, classes: int, class_weights: Sequence[float] | None = None,
    strength: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The weights (C, D) and biases (C,) of a logistic regression in float64, for vectors (N, D) of their own length.

    A class without a row has weights of 0 and the lowest of the biases; two classes have one at least.
    """
    length = np.linalg.norm(vectors.astype(np.float64), axis=1).mean()
    of_rows = None if class_weights is None else np.asarray(class_weights)[labels]
    fitted = fitted_regression(vectors / length, labels, strength, of_rows)
    found, offsets = fitted.coef_ / length, fitted.intercept_
    if len(found) == 1:  # two classes: the logits are those of the second one against the first
        found, offsets = np.concatenate([-found, found]) / 2, np.concatenate([-offsets, offsets]) / 2
    weights, biases = np.zeros((classes, vectors.shape[1])), np.full(classes, offsets.min())
    weights[fitted.classes_], biases[fitted.classes_] = found, offsets
    return weights, biases


def leaning_regression(
    vectors: np.ndarray, labels: np.ndarray, classes: int, class_weights: Sequence[float] | None, strength: float,
    described: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """As `regression`, penalised for its distance from a classifier of the descriptions, and not from 0.

    That classifier has the cosine with the descriptions of each label, times one of `LEANINGS`: the one with which the
    rows of five folds have the lowest log loss by the regressions of the others, at its best temperature. With fewer
    than ten rows it is the highest. The last `described` texts are the descriptions; a class may have none.
    """
    length = np.linalg.norm(vectors.astype(np.float64), axis=1).mean()
    scaled, rows = vectors / length, len(labels) - described
    of_rows = np.ones(len(labels)) if class_weights is None else np.asarray(class_weights)[labels]
    directions = directions_of(vectors[rows:], labels[rows:], classes)

    def fitted(leaning: float, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kept = np.concatenate([places, np.arange(rows, len(labels))])
        weights, biases = regression_towards(leaning * directions, scaled[kept], labels[kept], of_rows[kept], strength)
        unseen = np.setdiff1d(np.arange(classes), labels[kept])
        biases[unseen] = np.delete(biases, unseen).min()  # nothing else holds them, as in `regression`
        return weights, biases

    def held_out_loss(leaning: float) -> float:
        logits = np.zeros((rows, classes))
        for number in range(FOLDS):
            inside = folds == number
            weights, biases = fitted(leaning, np.flatnonzero(~inside))
            logits[inside] = scaled[:rows][inside] @ weights.T + biases
        scaled_logits = log_softmax(logits / fit_temperature(logits, labels[:rows]), axis=1)
        return -float(scaled_logits[np.arange(rows), labels[:rows]].mean())

    folds = np.random.default_rng(0).permutation(rows) % FOLDS
    leaning = LEANINGS[-1] if rows < 2 * FOLDS else min(LEANINGS, key=held_out_loss)
    weights, biases = fitted(leaning, np.arange(rows))
    return weights / length, biases


def regression_towards(
    centre: np.ndarray, vectors: np.ndarray, labels: np.ndarray, of_rows: np.ndarray, strength: float
) -> tuple[np.ndarray, np.ndarray]:
    """The weights (C, D) and biases (C,) of the logistic regression with the penalty |weights - centre|^2 / 2C.

    It is the most probable one where the weights have a normal distribution around `centre` (C, D) before any row is
    known. `of_rows` (N,) are weights of the rows, and `strength` is C.
    """
    from scipy.optimize import minimize

    one_hot, rows = np.eye(len(centre))[labels], np.arange(len(labels))

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights, biases = flat[: centre.size].reshape(centre.shape), flat[centre.size :]
        log_probabilities = log_softmax(vectors @ weights.T + biases, axis=1)
        errors = of_rows[:, None] * (np.exp(log_probabilities) - one_hot)
        away = (weights - centre) / strength
        value = -(of_rows * log_probabilities[rows, labels]).sum() + (away * (weights - centre)).sum() / 2
        return value, np.concatenate([(errors.T @ vectors + away).ravel(), errors.sum(0)])

    start = np.concatenate([centre.ravel(), np.zeros(len(centre))])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000}).x
    return found[: centre.size].reshape(centre.shape), found[centre.size :]


def directions_of(vectors: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """The mean direction (C, D) of the vectors (N, D) of each class, of length 1, or of 0 without any, in float64."""
    unit = of_length_one(vectors.astype(np.float64))
    return of_length_one(np.stack([unit[labels == number].sum(0) for number in range(classes)]))


def regressions(
    vectors: np.ndarray, labels: np.ndarray, label_weights: Sequence[float] | None = None, strength: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """The weights (C, D) and biases (C,) of a logistic regression of each of several labels (N, C), in float64.

    A label that no row has, or every row, has weights of 0 and the log odds of its rows, half a row added to either
    side. The weights are of the texts that have each label.
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


@torch.no_grad()
def described_classifier(
    name: str, descriptions: Texts, labels: Sequence[str], max_length: int | None = None, device: str = "auto"
) -> TextClassifier:
    """A classifier whose logits are `SCALE` times the similarities of a text with the descriptions of the labels.

    The similarity is the cosine with the mean of a label's descriptions, each a vector of length 1, as the head of a
    model with mean pooling reads them. The vector of a text is not scaled to length 1 but divided by the mean length
    of the descriptions, which changes no label.

    Args:
        descriptions: texts that describe labels, with the numbers of these.
        max_length: number of tokens read of a text; None is the model's maximum, at most 512.

    Raises:
        InputError: there are fewer than two labels, one has no description, or the model cannot have mean pooling.
    """
    numbers = descriptions.known_labels
    if lacking := [label for number, label in enumerate(labels) if number not in numbers]:
        raise InputError(f"{counted(len(lacking), 'label')} without a description: {listed(map(quoted, lacking), 5)}")
    if len(labels) < 2:
        raise InputError("a classifier needs two labels: describe another one")
    model, tokenizer = load_classifier(name, labels)
    model = with_pooling(model, name, "mean")
    longest = tokenizer.model_max_length = longest_text(model, tokenizer, max_length)
    classifier = TextClassifier(model.to(choose_device(device)).eval(), tokenizer, longest, "fp32")
    if not can_begin(model):
        raise InputError(f"descriptions cannot be the head of {type(model).__name__}: name another --model")
    vectors = sentence_vectors(model, classifier.encode(replace(descriptions, labels=None)))
    directions, length = directions_of(vectors, numbers, len(labels)), np.linalg.norm(vectors, axis=1).mean()
    set_map(last_map(model), SCALE * (directions / length), np.zeros(len(labels)))
    return classifier
