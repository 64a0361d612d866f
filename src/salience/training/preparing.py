"""From a recipe and labelled texts to a run that only needs to be fitted: every check is made here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from transformers import PreTrainedModel

from salience.data.encoding import Encoded
from salience.data.loss_weights import loss_weights
from salience.data.task import Task
from salience.inference import TextClassifier, choose_device
from salience.mixing import dry_run
from salience.mixing.choosing import choose_method
from salience.mixing.method import resolved
from salience.models.attention_classifier import is_over_words
from salience.models.precision import for_predictions, resolve_precision
from salience.models.procedure import required_procedure
from salience.models.sentence_pooling import used_pooling
from salience.training.arguments import check_device, check_parts
from salience.training.batches import as_batch, first_batches
from salience.training.encoding import encode_part
from salience.training.freezing import freeze_lowest, recognised_stages
from salience.training.fresh_classifier import fresh_classifier
from salience.training.head_start import begin_as_regression, check_head_start, used_head_start
from salience.training.multi_label import check_multi_label
from salience.training.procedures import Standard, Turns, choose_procedure
from salience.training.recipe import Recipe
from salience.training.techniques import check_techniques, used_contrast, used_share


def silent(line: str) -> None:
    """A `note` that nobody reads."""


@dataclass(frozen=True)
class Prepared:
    """All that a run needs, read and checked, before anything is trained or written.

    Args:
        recipe: nothing is left open in it.
        classifier: the model to train, with its tokenizer and the length of the texts that it reads.
        method: the mixing method; None trains on the texts as they are.
        procedure: how the model is fitted.
        training, validation, test: the encoded texts with their labels; None where there are no such rows.
            Descriptions of labels are the last training texts.
        class_weights: one weight a class or label (C,), as of the loss.
        descriptions: how many descriptions of labels there are.
    """

    recipe: Recipe
    classifier: TextClassifier
    method: Any
    procedure: Standard | Turns
    training: Encoded
    validation: Encoded | None
    test: Encoded | None
    class_weights: list[float] | None
    descriptions: int = 0

    @property
    def rows(self) -> int:
        """The number of labelled rows that are trained on."""
        return self.training.texts - self.descriptions

    @property
    def batch(self) -> int:
        """The number of texts in a step: as the recipe says, or all of them if there are fewer."""
        return texts_of_step(self.recipe, self.training)

    @property
    def parts(self) -> dict[str, Encoded]:
        """The encoded texts of "training", "validation" and "test", of those that there are."""
        parts = {"training": self.training, "validation": self.validation, "test": self.test}
        return {role: encoded for role, encoded in parts.items() if encoded is not None}

    @property
    def model(self) -> PreTrainedModel:
        """The model to train."""
        return self.classifier.model


def prepare(
    recipe: Recipe,
    task: Task,
    note: Callable[[str], None] = silent,
    *,
    classifier: TextClassifier | None = None,
    method: Any = None,
) -> Prepared:
    """Builds the model, fills in what the recipe leaves open, and checks that everything fits, by a dry run too.

    Args:
        task: the labelled texts.
        note: told warnings and choices, a line each.
        classifier: trained instead of the recipe's model. Its weights are changed.
        method: an object such as `SSMix()`, used instead of the recipe's method. Its fields need not be such that a
            recipe can hold them.

    Raises:
        InputError: the recipe, the model or the texts are at fault.
    """
    check_device(recipe)
    if method is None:
        choose_method(recipe.method, recipe.method_options)  # an unknown name is reported before a model is loaded
    check_multi_label(recipe, task)
    weighed = task.training if task.multi_label else task.to_train_on
    weights = loss_weights(recipe.class_weights, weighed.known_labels, task.labels)
    given = classifier is not None
    if classifier is None:
        classifier = fresh_classifier(recipe, task, note)
    model, tokenizer = classifier.model, classifier.tokenizer
    training, validation, test = (
        encode_part(classifier, part, role, note) if len(part) else None
        for role, part in [("training", task.to_train_on), ("validation", task.validation), ("test", task.test)]
    )
    assert training is not None  # a task has training texts
    recipe = with_head(filled_in(recipe, classifier, task), model, given, validation is not None)
    classifier = replace(classifier, precision=for_predictions(recipe.precision))
    method = choose_method(recipe.method, recipe.method_options) if method is None else method
    check_parts(recipe)
    check_head_start(recipe.head_start, model)
    if recipe.head_start == "logistic":
        begin_as_regression(classifier, training, weights, recipe.head_strength)
    note(in_words(recipe, texts_of_step(recipe, training)))
    procedure = choose_procedure(required_procedure(model), recipe.procedure_options)
    by_turns = isinstance(procedure, Turns)
    check_techniques(recipe, method is not None, by_turns, validation is not None)
    if recipe.freeze is not None:
        freeze_lowest(model, recipe.freeze)
    if recipe.contrastive:
        recognised_stages(model, "--contrastive")
    method = resolved(method, model, tokenizer, first_batches(tokenizer, training), note)
    if method is not None:
        dry_run(method, model, as_batch(tokenizer, training, 0, 2))
    procedure.check(model)
    return Prepared(
        recipe, classifier, method, procedure, training, validation, test, weights,
        descriptions=len(task.descriptions),
    )  # fmt: skip


def filled_in(recipe: Recipe, classifier: TextClassifier, task: Task) -> Recipe:
    """The recipe with nothing left open.

    Args:
        classifier: the classifier that is trained.
        task: the labelled texts.
    """
    model, classes = classifier.model, len(task.labels)
    if task.columns is not None:
        recipe = replace(recipe, text=task.columns.text, text_pair=task.columns.text_pair, label=task.columns.label)
    precision = resolve_precision(recipe.precision, choose_device(recipe.device), model)
    recipe = replace(recipe, max_length=classifier.max_length, precision=precision)
    if recipe.pooling == "auto":
        recipe = replace(recipe, pooling=used_pooling(model))
    recipe = replace(recipe, contrastive=0.0 if task.multi_label else used_contrast(recipe))
    return recipe.resolved(len(task.training), classes, width_of(model))


def with_head(recipe: Recipe, model: PreTrainedModel, given: bool, validated: bool) -> Recipe:
    """The recipe with how the head begins, and with the share of the trained weights unless an estimate chooses it.

    Args:
        recipe: else filled in.
        given: whether the classifier is given; its head stays as it is.
        validated: whether there are validation rows.
    """
    start = recipe.head_start or ("random" if given else used_head_start(recipe, model))
    return replace(recipe, head_start=start, trained_share=used_share(recipe, start, validated))


def texts_of_step(recipe: Recipe, training: Encoded) -> int:
    """The number of texts in a training step of a recipe in which nothing is left open."""
    assert recipe.batch_size is not None
    return min(recipe.batch_size, len(training))


def in_words(recipe: Recipe, batch: int) -> str:
    """The main settings of a recipe, of which none is left open, in one line.

    Args:
        batch: number of texts in a step.
    """
    pooling = "" if recipe.pooling == "cls" else f" ({recipe.pooling} pooling)"
    return (
        f"recipe: {recipe.method} on {recipe.model}{pooling}, {recipe.steps} steps of {batch} "
        f"texts, learning rate {recipe.learning_rate:.2g}, seed {recipe.seed}"
    )


def width_of(model: PreTrainedModel) -> int | None:
    """The number of hidden units of a transformer, on which its learning rate depends; None for models over words."""
    return None if is_over_words(model) else model.config.hidden_size
