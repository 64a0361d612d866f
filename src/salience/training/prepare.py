"""Encoded rows as batches, before anything is trained: what methods are resolved on and tried with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, TrainingArguments, set_seed
from transformers.utils import is_torch_bf16_gpu_available

from salience.batch import Batch
from salience.classify import TextClassifier, choose_device
from salience.data.batching import Collator
from salience.data.encoding import Encoded
from salience.data.labels import loss_weights
from salience.data.task import Task
from salience.data.texts import Texts
from salience.errors import InputError
from salience.mixing import dry_run
from salience.mixing.choosing import choose_method
from salience.mixing.method import resolved
from salience.models.architectures import architecture, build, own_settings
from salience.models.loading import load_classifier, longest_text
from salience.models.precision import for_predictions, resolve_precision
from salience.processes import check_launcher, world_size
from salience.training.callbacks import UNTRACKED, Tracking
from salience.training.head import (
    begin_as_regression,
    check_head_start,
    freeze_lowest,
    recognised_stages,
    used_head_start,
    used_pooling,
    with_pooling,
)
from salience.training.objective import check_techniques, used_contrast, used_share
from salience.training.procedures import Standard, Turns, choose_procedure
from salience.training.recipe import Recipe
from salience.training.task import check_multi_label

RESOLVING_ROWS = 256  # training rows on which a method chooses what it leaves open


def first_batches(tokenizer, encoded: Encoded) -> Iterator[Batch]:
    """Batches of 32 of the first rows, in their order, on the CPU."""
    return (as_batch(tokenizer, encoded, start) for start in range(0, min(RESOLVING_ROWS, len(encoded)), 32))


def as_batch(tokenizer, encoded: Encoded, start: int, size: int = 32) -> Batch:
    """Rows from `start` on as a batch, on the CPU."""
    return Batch(**Collator.of(tokenizer)([encoded[row] for row in range(start, min(start + size, len(encoded)))]))


# Encoding the parts of a task, with a line on what is not read of them.


def encode_part(classifier: TextClassifier, texts: Texts, role: str, note: Callable[[str], None]) -> Encoded:
    """The texts of one part with their labels. `note` is told how many are longer than what is read."""
    encoded, longest = classifier.read(texts), classifier.max_length
    if encoded.cut.any():
        share = encoded.cut_texts.mean()
        note(
            f"{share:.1%} of the {role} texts are longer than the {longest} tokens read of each; the rest is left out"
        )
    return encoded


# The model that a recipe names, with a fresh head for the labels of a task.


def fresh_classifier(recipe: Recipe, task: Task, note: Callable[[str], None]) -> TextClassifier:
    """The recipe's model with a fresh head. The tokenizer's `model_max_length`, saved with it, is the length read."""
    own = own_settings(recipe.model, recipe.model_options)
    set_seed(recipe.seed)  # the fresh head, then everything that is drawn
    if own is None:
        model, tokenizer = load_classifier(recipe.model, task.labels, recipe.dropout, task.multi_label)
        model = with_pooling(model, recipe.model, recipe.pooling)
    else:
        model, tokenizer = build(own, task.labels, all_texts(task.to_train_on), note)
    if recipe.long != "head":
        model.config.long_texts = recipe.long  # predictions read texts as training does
    longest = tokenizer.model_max_length = longest_text(model, tokenizer, recipe.max_length)
    return TextClassifier(model, tokenizer, longest)


def all_texts(texts: Texts) -> list[str]:
    """First texts and second texts, from which a vocabulary is built."""
    return [*texts.texts, *(texts.second or [])]


# From a recipe to the `TrainingArguments` of the Hugging Face Trainer, and the check that this machine can run it.


def check_device(recipe: Recipe) -> None:
    """Checks device, precision and launcher of a recipe, before anything is read.

    Raises:
        InputError: this machine has no such device or precision, or the variables of the launcher are incomplete.
    """
    if recipe.device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: torch finds no CUDA device on this machine; use --device cpu or auto")
    on_cpu = recipe.device == "cpu" or not torch.cuda.is_available()
    if recipe.precision == "fp16" and on_cpu:
        raise InputError("--precision fp16 needs a CUDA device; use fp32, or bf16")
    if recipe.precision == "bf16" and not on_cpu and not is_torch_bf16_gpu_available():
        raise InputError(
            "--precision bf16: the CUDA device of this machine does not support it; use fp16, fp32, or --device cpu"
        )
    check_launcher()


def check_parts(recipe: Recipe) -> None:
    """Checks that a step can be made in equal parts.

    Args:
        recipe: nothing is left open in it.

    Raises:
        InputError: the batch size is not divisible by the number of accumulation steps times the number of processes.
    """
    assert recipe.batch_size is not None
    parts = recipe.accumulation * world_size()
    if recipe.batch_size % parts:
        raise InputError(
            f"--batch-size {recipe.batch_size} cannot be divided into {parts} equal parts (--accumulation times "
            f"processes); choose a multiple of {parts}"
        )


def trains_on_cpu(recipe: Recipe) -> bool:
    """Whether the Trainer is told explicitly to use the CPU.

    Without a GPU it does so by itself, but then it refuses bf16.
    """
    return recipe.device == "cpu" or (recipe.precision == "bf16" and not is_torch_bf16_gpu_available())


def training_arguments(
    recipe: Recipe, checkpoints: Path, has_validation: bool, tracking: Tracking = UNTRACKED
) -> TrainingArguments:
    """The arguments of the Trainer for a recipe in which nothing is left open.

    The optimiser is the Trainer's default: AdamW (Loshchilov and Hutter, 2019, arXiv:1711.05101) with betas 0.9 and
    0.999 and epsilon 1e-8, a linear warm-up and linear decay to 0, and gradients clipped to a norm of 1.

    Args:
        checkpoints: the folder for checkpoints; `salience.training.callbacks` says when they are written.
        has_validation: whether there are validation rows, by which the best checkpoint is selected.
        tracking: where the run is reported.

    """
    assert recipe.batch_size and recipe.steps and recipe.learning_rate is not None  # a resolved recipe
    parts = recipe.accumulation * world_size()
    every = math.ceil(recipe.steps / recipe.evaluations)
    selecting: dict[str, Any] = {"eval_strategy": "steps", "eval_steps": every,
              "metric_for_best_model": "selection", "greater_is_better": True}  # fmt: skip
    return TrainingArguments(
        output_dir=str(checkpoints),
        max_steps=recipe.steps,
        per_device_train_batch_size=recipe.batch_size // parts,
        per_device_eval_batch_size=64,
        gradient_accumulation_steps=recipe.accumulation,
        learning_rate=recipe.learning_rate,
        weight_decay=recipe.weight_decay,
        warmup_steps=round(recipe.warmup * recipe.steps),
        label_smoothing_factor=recipe.label_smoothing,
        bf16=recipe.precision == "bf16",
        fp16=recipe.precision == "fp16",
        use_cpu=trains_on_cpu(recipe),
        seed=recipe.seed,
        save_strategy="steps",
        save_steps=recipe.steps,  # `ResumePoints` decides
        save_total_limit=1,
        restore_callback_states_from_checkpoint=True,  # early stopping goes on counting in a resumed run
        logging_steps=every,
        report_to=list(tracking.trackers) or "none",
        run_name=tracking.run,
        disable_tqdm=True,
        dataloader_pin_memory=torch.cuda.is_available(),
        **(selecting if has_validation else {}),
    )


# What is checked of a recipe before data are read or a model is loaded.


def check_recipe(recipe: Recipe) -> None:
    """Checks what needs neither data nor model: the method, the model's options, and what this machine can do.

    Raises:
        InputError: names what is wrong.
    """
    check_device(recipe)
    method = choose_method(recipe.method, recipe.method_options)
    own = own_settings(recipe.model, recipe.model_options)
    if own is not None and recipe.pooling not in ("auto", "cls"):
        raise InputError(
            f"--pooling {recipe.pooling}: {recipe.model} has a pooling of its own; leave --pooling out, or choose the "
            "pooling by the name of the model, such as attention:mean"
        )
    if own is not None and recipe.dropout is not None:
        raise InputError(
            f"--dropout {recipe.dropout:g}: {recipe.model} has a dropout of its own; set it with --set-model dropout="
            f"{recipe.dropout:g}"
        )
    by_turns = own is not None and own.procedure == "turns"
    check_techniques(recipe, method is not None, by_turns)


# From a recipe and labelled texts to a run that only needs to be fitted: every check is made here.


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
    procedure = choose_procedure(architecture(model).procedure, recipe.procedure_options)
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
    return None if architecture(model).reads_words else model.config.hidden_size
