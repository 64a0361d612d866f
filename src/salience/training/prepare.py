"""From a recipe and labelled texts to a run that only needs to be fitted: every check is made here, once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from huggingface_hub import try_to_load_from_cache
from torch import Tensor
from transformers import PreTrainedModel, TrainingArguments, set_seed
from transformers.utils import is_torch_bf16_gpu_available

from salience.batch import Batch
from salience.classify import TextClassifier, choose_device
from salience.data.batching import Collator
from salience.data.encoding import Encoded
from salience.data.labels import loss_weights
from salience.data.task import Task
from salience.data.texts import Texts
from salience.data.words import word_spans
from salience.errors import InputError, counted, one_line
from salience.explainers import Occlusion
from salience.hooks.attention import differentiating
from salience.hooks.hooks import forward
from salience.hooks.stages import depth
from salience.mixing import dry_run
from salience.mixing.choosing import choose_method
from salience.mixing.method import lowest_level, resolved
from salience.models.architectures import architecture, build, own_settings
from salience.models.loading import EMBEDDED, load_classifier, longest_text
from salience.models.precision import for_predictions, resolve_precision
from salience.processes import check_launcher, world_size
from salience.runs.results import whole_lengths
from salience.runs.sentences import HEAD_ALONE
from salience.settings import with_options
from salience.training.callbacks import UNTRACKED, Tracking, copied_weights
from salience.training.head import (
    check_regression,
    described_in,
    last_map,
    recognised_stages,
    set_map,
    set_regression,
    train_top,
    used_head_start,
    used_pooling,
    with_pooling,
)
from salience.training.procedures import choose_procedure
from salience.training.recipe import Plan, Recipe
from salience.training.task import refused

# Texts are in the language of an encoder with up to so many tokens a word, unless its vocabulary is of many languages.
TOKENS_A_WORD, MULTILINGUAL = 1.55, 60_000
UNKNOWN_WORDS = 0.05  # share of words without tokens of their own, such as the characters of another script
TOLD_BY = 100  # texts that are looked at, and words that are needed
MUCH = 2e9  # bytes that the activations of a step take, from which on a line tells them
LETTERS = 0.8  # least share of letters in a word that counts
# Better than the packaged encoder, by docs/research/studies/larger-encoders.md.
BETTER = "sentence-transformers/all-mpnet-base-v2"
RESOLVING_ROWS = 256  # training rows on which a method chooses what it leaves open


def silent(line: str) -> None:
    """A `note` that nobody reads."""


def first_batches(tokenizer, encoded: Encoded) -> Iterator[Batch]:
    """Batches of 32 of the first rows, in their order, on the CPU."""
    return (as_batch(tokenizer, encoded, start) for start in range(0, min(RESOLVING_ROWS, len(encoded)), 32))


def as_batch(tokenizer, encoded: Encoded, start: int, size: int = 32) -> Batch:
    """Rows from `start` on as a batch, on the CPU."""
    return Batch(**Collator.of(tokenizer)([encoded[row] for row in range(start, min(start + size, len(encoded)))]))


@dataclass(frozen=True)
class Prepared:
    """All that a run needs, read and checked, before anything is trained or written.

    Args:
        plan: what is used.
        classifier: the model to train, with its tokenizer and the length of the texts that it reads.
        method: the mixing method; None trains on the texts as they are.
        training, validation, test: the encoded texts; None where there are no such rows. Descriptions of labels are
            the last training texts.
        class_weights: one weight a class or label (C,), as of the loss.
        drawn_head: the weights of the last linear map before they became a regression; empty if they did not.
        vectors: (N, D) what the last linear map read of the training texts for the regression that initialises it, of
            a sample if they are many; None without such a regression, or if it was given.
    """

    plan: Plan
    classifier: TextClassifier
    method: Any
    training: Encoded
    validation: Encoded | None
    test: Encoded | None
    class_weights: list[float] | None
    drawn_head: dict[str, Tensor] = field(default_factory=dict)
    vectors: np.ndarray | None = None

    @property
    def model(self) -> PreTrainedModel:
        return self.classifier.model

    @property
    def parts(self) -> dict[str, Encoded]:
        """The encoded texts of "training", "validation" and "test", of those that there are."""
        parts = {"training": self.training, "validation": self.validation, "test": self.test}
        return {role: encoded for role, encoded in parts.items() if encoded is not None}

    def untrained(self) -> TextClassifier | None:
        """A copy of the classifier as it was loaded, before anything is trained; the generators are seeded as then.

        None if the model is built from the training texts, so that other texts give another one.
        """
        if own_settings(self.plan.model, self.plan.model_options) is not None:
            return None
        set_seed(self.plan.seed)
        model = deepcopy(self.model).cpu()
        if self.drawn_head:
            last_map(model).load_state_dict(self.drawn_head)
        return replace(self.classifier, model=model)


def prepare(
    recipe: Recipe,
    task: Task,
    note: Callable[[str], None] = silent,
    *,
    classifier: TextClassifier | None = None,
    method: Any = None,
) -> Prepared:
    """All that a run needs, checked, with its initial head; arguments and errors as of `checked`."""
    return with_initial_head(checked(recipe, task, note, classifier=classifier, method=method), task)


def with_initial_head(
    prepared: Prepared, task: Task, regression: tuple[np.ndarray, np.ndarray] | None = None
) -> Prepared:
    """A checked run, ready to train: its head is as the plan wants, for which the training texts are computed.

    `regression` has the weights (C, D) and biases (C,) of that head, if they are known already.
    """
    plan, training = prepared.plan, prepared.training
    if plan.head_start == "logistic":
        linear = last_map(prepared.model)
        drawn_head, vectors = copied_weights(linear), None
        if regression is not None:
            set_map(linear, *regression)
        else:
            described = described_in(training, task.descriptions)
            vectors = set_regression(
                prepared.classifier, training, prepared.class_weights, plan.head_strength, described
            )
        prepared = replace(prepared, drawn_head=drawn_head, vectors=vectors)
    if task.taught is not None:
        training.labels = task.taught if training.owners is None else task.taught[training.owners]
    return prepared


def checked(
    recipe: Recipe,
    task: Task,
    note: Callable[[str], None] = silent,
    *,
    classifier: TextClassifier | None = None,
    method: Any = None,
) -> Prepared:
    """Builds the model, makes the plan, and checks that everything fits, by a dry run too. The head is a fresh one.

    Args:
        note: told warnings and choices, a line each.
        classifier: trained instead of the recipe's model. Its weights are changed.
        method: an object such as `SSMix()`, used instead of the recipe's method. Its fields need not be such that a
            recipe can hold them.

    Raises:
        InputError: the recipe, the model or the texts are at fault, or this machine cannot train so.
    """
    check_machine(recipe)
    if task.multi_label:
        if (own := own_settings(recipe.model, recipe.model_options)) is not None:
            raise refused(f"--model {recipe.model}", own.one_label)
        if recipe.contrastive:
            raise refused(
                "--set contrastive", "its loss compares the texts of a class, and these texts have sets of labels"
            )
    weighed = task.training if task.multi_label else task.to_train_on
    weights = loss_weights(recipe.class_weights, weighed.known_labels, task.labels)
    given = classifier is not None
    if classifier is None:
        classifier = fresh_classifier(recipe, task, note)
    classifier = replace(classifier, pairs=task.training.second is not None)
    encoded: dict[str, Encoded] = {}
    for role, texts in {"training": task.to_train_on, "validation": task.validation, "test": task.test}.items():
        if not len(texts):
            continue
        encoded[role] = classifier.read(texts)
        if encoded[role].cut.any():
            note(left_out(role, texts, encoded[role], classifier))
    if unread := unread_marks(task.training, encoded["training"], classifier):
        note(f"{counted(unread, 'marked word')} are in the cut part of a text, and are trained on as texts only")
    # The models of an estimate are copies of one that was tried.
    kept = 0 if given else try_longest(recipe.model, classifier, encoded.values())
    if (line := foreign_language(classifier.tokenizer, task.training)) is not None:
        note(line)
    plan = plan_of(recipe, task, classifier, given)
    model, tokenizer, training = classifier.model, classifier.tokenizer, encoded["training"]
    classifier = replace(classifier, precision=for_predictions(plan.precision))
    check_regression(plan, model)
    pooling = "" if plan.pooling == "cls" else f" ({plan.pooling} pooling)"
    steps = (
        f"{plan.steps} steps of {min(plan.batch_size, len(training))} texts, learning rate {plan.learning_rate:.2g}"
    )
    if plan.trained_layers == 0:
        steps = HEAD_ALONE
    written = with_options(plan.method, plan.method_options)
    note(f"recipe: {written} on {plan.model}{pooling}, {steps}, seed {plan.seed}")
    procedure = choose_procedure(architecture(model).procedure, plan.procedure_options)
    if plan.contrastive:
        recognised_stages(model, "--set contrastive")
    method = choose_method(plan.method, plan.method_options) if method is None else method
    method = resolved(method, model, tokenizer, first_batches(tokenizer, training), note)
    trained = plan.trained_layers
    if isinstance(trained, int) and train_top(model, trained, lowest_level(method, model)) is None:
        note(f"all layers are trained: {plan.method} mixes or reads below the top {trained}")
        plan = replace(plan, trained_layers="all")
    if kept and (line := needed_memory(plan, model, training, kept)) is not None:
        note(line)
    if method is not None:
        by_length, count = training.lengths.argsort(kind="stable"), len(training)
        rows = sorted({int(by_length[place]) for place in (count // 4, 3 * count // 4)})
        dry_run(method, model, Batch(**Collator.of(tokenizer)([training[row] for row in rows])))
    procedure.check(model)
    validation, test = encoded.get("validation"), encoded.get("test")
    return Prepared(plan, classifier, method, training, validation, test, weights)


def left_out(role: str, texts: Texts, encoded: Encoded, classifier: TextClassifier) -> str:
    """A line on texts that are longer than what is read of them, of which there is one at least."""
    told = (
        f"{encoded.cut_texts.mean():.1%} of the {role} texts are cut: they are longer than {classifier.max_length} "
        "tokens"
    )
    if encoded.owners is not None:  # windows are cut where a word has more tokens than they
        return told
    read = encoded.lengths.sum() / whole_lengths(texts, encoded, classifier.tokenizer).sum()
    return f"{told}, and {1 - read:.1%} of all tokens are not read; --long windows reads them too"


def unread_marks(texts: Texts, encoded: Encoded, classifier: TextClassifier) -> int:
    """How many marked words are behind what is read of their single texts, where these are cut at their ends."""
    cut, marks = encoded.cut_texts[: len(texts)], texts.marks or []
    rows = [row for row in np.flatnonzero(cut).tolist() if marks and marks[row]]
    if not rows or texts.second is not None or classifier.long != "head":
        return 0
    words, unread = classifier.encode_heads(texts.take(rows), classifier.word_spans).words, 0
    for row, count in zip(rows, words.counts.tolist(), strict=True):
        ends = [0, *(end for _, end in classifier.word_spans(texts.texts[row]))]
        unread += sum(mark.start >= ends[count] for mark in marks[row])
    return unread


def check_machine(recipe: Recipe) -> None:
    """Raises an `InputError` if this machine cannot train so, before a model is loaded."""
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


def try_longest(name: str, classifier: TextClassifier, parts: Iterable[Encoded]) -> int:
    """Computes the longest of all texts and the shortest, as training does, and explains the shortest.

    Returns the bytes that a text of the longest one's length keeps for the backward pass through all layers.

    What fails in the code of a model would end a run in its first step, or after its last one. The random state, the
    model's mode and its gradients stay as they are.

    Raises:
        InputError: the model cannot be computed so, or gives no logits of the labels.
    """
    model, lengths = classifier.model, [(part, part.lengths) for part in parts]
    longest, shortest = (
        part[int(find(of_part))] for part, of_part, find in (
            (*max(lengths, key=lambda each: each[1].max()), np.argmax),
            (*min(lengths, key=lambda each: each[1].min()), np.argmin),
        )
    )  # fmt: skip
    rows = [{key: value for key, value in row.items() if key != "labels"} for row in (longest, shortest)]
    collate = Collator.of(classifier.tokenizer)
    batch, short = (Batch(**collate(some)).to(model.device) for some in (rows, rows[1:]))
    was_training, wanted = model.training, [weight for weight in model.parameters() if weight.requires_grad]
    kept = {weight.untyped_storage().data_ptr(): 0 for weight in model.parameters()}  # bytes beside the model

    def keep(tensor: Tensor) -> Tensor:
        kept.setdefault(tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes())
        return tensor

    keeping = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    try:
        with torch.random.fork_rng(), torch.enable_grad(), differentiating(model), keeping:
            model.train()
            logits = forward(model, batch)
            torch.autograd.grad(logits.float().square().sum(), wanted, allow_unused=True)
        two_words = (short.segment > 0) & ((short.segment > 0).cumsum(1) < 3)
        Occlusion()(model, replace(short, segment=short.segment * two_words))
    except Exception as error:  # of many types
        raise InputError(
            f"the model {name!r} cannot be trained: a trial with two texts, the longest of which has "
            f"{counted(len(longest['input_ids']), 'token')}, ended in {type(error).__name__}: {one_line(error, 300)}"
        ) from error
    finally:
        model.train(was_training)
    if logits.shape != (shape := (len(batch), model.config.num_labels)):
        raise InputError(
            f"the model {name!r} cannot be trained: its logits are {tuple(logits.shape)}, and not {shape}"
        )
    return sum(kept.values()) // len(batch)


def needed_memory(plan: Plan, model: PreTrainedModel, training: Encoded, kept: int) -> str | None:
    """A line on the memory of a step with the longest training texts, if it needs much; `kept` are bytes of a text."""
    rows = min(plan.batch_size, len(training)) // (plan.accumulation * world_size())
    share = 1.0 if plan.trained_layers == "all" else int(plan.trained_layers) / depth(model)
    if (need := rows * kept * share) < MUCH:
        return None
    return (
        f"a step keeps up to {need / 1e9:.1f} GB in memory, with {rows} texts of {training.lengths.max():,} tokens: "
        "a lower --max-length or --trained-layers needs less"
    )


def foreign_language(tokenizer: Any, texts: Texts) -> str | None:
    """A line that says so, if texts are in another language than the vocabulary of their encoder was made for.

    A vocabulary of one language divides words of others into more tokens. docs/research/studies/languages.md has the
    measurement.
    """
    words = (text[start:end] for text in texts.texts[:TOLD_BY] for start, end in word_spans(text))
    plain = [word for word in words if sum(map(str.isalpha, word)) >= LETTERS * len(word)][:10_000]
    if len(tokenizer) > MULTILINGUAL or len(plain) < TOLD_BY:
        return None
    ids = [token for word in tokenizer(plain, add_special_tokens=False)["input_ids"] for token in word]
    tokens, unknown = len(ids) / len(plain), ids.count(tokenizer.unk_token_id) / len(plain)
    if unknown > UNKNOWN_WORDS:
        found = f"the tokenizer of this encoder has nothing for {unknown:.0%} of the words of the texts"
    elif tokens > TOKENS_A_WORD:
        found = f"the texts have {tokens:.1f} tokens a word, and those in the language of this encoder 1.1 to 1.4"
    else:
        return None
    return f"{found}: choose one that was trained on theirs, such as --model intfloat/multilingual-e5-small"


def fresh_classifier(recipe: Recipe, task: Task, note: Callable[[str], None]) -> TextClassifier:
    """The recipe's model with a fresh head. The tokenizer's `model_max_length`, saved with it, is the length read."""
    own = own_settings(recipe.model, recipe.model_options)
    set_seed(recipe.seed)  # the fresh head, then everything that is drawn
    if own is None:
        if recipe.model in EMBEDDED and isinstance(try_to_load_from_cache(BETTER, "config.json"), str):
            files = " ".join(recipe.sources)
            note(f"{BETTER} is in the hub's cache, and often better: rank both with salience encoders {files}")
        model, tokenizer = load_classifier(recipe.model, task.labels, recipe.dropout, task.multi_label, note)
        model = with_pooling(model, recipe.model, recipe.pooling, note)
    else:
        texts = task.to_train_on
        model, tokenizer = build(own, task.labels, [*texts.texts, *(texts.second or [])], note)
    if recipe.long != "head":
        model.config.long_texts = recipe.long  # predictions read texts as training does
    longest = tokenizer.model_max_length = longest_text(model, tokenizer, recipe.max_length)
    return TextClassifier(model, tokenizer, longest)


def plan_of(recipe: Recipe, task: Task, classifier: TextClassifier, given: bool) -> Plan:
    """What a run uses, where its recipe leaves values open. The head of a classifier that was given stays as it is."""
    model, own = classifier.model, architecture(classifier.model)
    pooling = used_pooling(model) if recipe.pooling == "auto" else recipe.pooling
    start = recipe.head_start or ("random" if given else used_head_start(recipe.model, model, pooling != "cls"))
    if recipe.trained_layers == 0:
        start = "logistic"
    columns = {} if (read := task.columns) is None else {
        "text": read.text, "text_pair": read.text_pair, "label": read.label, "label_separator": read.separator,
        "empty_label": read.empty_label,
    }  # fmt: skip
    validated = len(task.validation) > 0
    plan = recipe.resolved(
        # The learning rate depends on the width of a transformer.
        len(task.training) + len(task.further), len(task.labels),
        None if own.reads_words else model.config.hidden_size,
        several=task.multi_label, validated=validated, pooling=pooling, head_start=start,
        max_length=classifier.max_length, **columns,
        precision=resolve_precision(recipe.precision, choose_device(recipe.device), model),
    )  # fmt: skip
    parts = plan.accumulation * world_size()
    if plan.batch_size % parts:
        raise InputError(
            f"--batch-size {plan.batch_size} cannot be divided into {parts} equal parts (accumulation times "
            f"processes); choose a multiple of {parts}"
        )
    shared = plan.trained_share is not None and plan.trained_share < 1
    above = plan.trained_layers != "all"
    given_up = {
        "contrastive": plan.contrastive, "trained_layers": above, "trained_share": shared,
        "teacher": plan.teacher is not None,
    }  # fmt: skip
    if own.procedure == "turns" and (asked := [option for option, is_asked in given_up.items() if is_asked]):
        raise InputError(f"VAT is trained by turns, which has no {asked[0]}: leave it out, or take another model")
    if shared and validated:
        raise InputError(
            "--set trained_share is for a training without validation rows, which choose a checkpoint: leave one out"
        )
    return plan


def training_arguments(
    plan: Plan, checkpoints: Path, has_validation: bool, tracking: Tracking = UNTRACKED
) -> TrainingArguments:
    """The arguments of the Trainer.

    The optimiser is the Trainer's default: AdamW (Loshchilov and Hutter, 2019, arXiv:1711.05101) with betas 0.9 and
    0.999 and epsilon 1e-8, a linear warm-up and linear decay to 0, and gradients clipped to a norm of 1.
    """
    every = math.ceil(plan.steps / plan.evaluations)
    selecting: dict[str, Any] = {
        "eval_strategy": "steps", "eval_steps": every, "metric_for_best_model": "selection", "greater_is_better": True,
    }  # fmt: skip
    return TrainingArguments(
        output_dir=str(checkpoints),
        max_steps=plan.steps,
        per_device_train_batch_size=plan.batch_size // (plan.accumulation * world_size()),
        per_device_eval_batch_size=64,
        gradient_accumulation_steps=plan.accumulation,
        learning_rate=plan.learning_rate,
        weight_decay=plan.weight_decay,
        warmup_steps=round(plan.warmup * plan.steps),
        label_smoothing_factor=plan.label_smoothing,
        bf16=plan.precision == "bf16",
        fp16=plan.precision == "fp16",
        # Without a GPU the Trainer takes the CPU by itself, but then it refuses bf16.
        use_cpu=plan.device == "cpu" or (plan.precision == "bf16" and not is_torch_bf16_gpu_available()),
        seed=plan.seed,
        save_strategy="steps",
        save_steps=plan.steps,  # `ResumePoints` decides
        save_total_limit=1,
        restore_callback_states_from_checkpoint=True,  # early stopping goes on counting in a resumed run
        logging_steps=every,
        report_to=list(tracking.trackers) or "none",
        run_name=tracking.output.name if tracking.trackers else None,
        disable_tqdm=True,
        dataloader_pin_memory=torch.cuda.is_available(),
        **(selecting if has_validation else {}),
    )
