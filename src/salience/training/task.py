"""What training on texts with several labels each cannot have, refused by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from salience.data.columns import Columns
from salience.data.labels import check_labels, encode, names_of
from salience.data.splitting import contradictions, default_share, draw, group_numbers, shared_rows, split
from salience.data.task import Task, all_labelled, label_descriptions, read_part, same_source
from salience.data.texts import Texts
from salience.data.values import Label, check_same_kind
from salience.errors import InputError, counted, listed, quoted
from salience.files import sha256_of
from salience.models.architectures import own_settings
from salience.settings import as_option
from salience.training.measures import Measure
from salience.training.recipe import Recipe

# Settings that need one label for each text, and why. They are refused if they are not at these values.
ONE_LABEL_ONLY = {
    "contrastive": (0.0, "its loss compares the texts of a class, and these texts have sets of labels"),
}


def check_multi_label(recipe: Recipe, task: Task) -> None:
    """Checks a recipe for texts that can have several labels; nothing is checked of others.

    Raises:
        InputError: names the option, and why it needs one label for each text.
    """
    if not task.multi_label:
        return
    own = own_settings(recipe.model, recipe.model_options)
    if own is not None:
        raise refused(f"--model {recipe.model}", own.one_label)
    for name, (usual, reason) in ONE_LABEL_ONLY.items():
        value = getattr(recipe, name)
        if value is not None and value != usual:
            raise refused(as_option(name), reason)


def refused(option: str, reason: str) -> InputError:
    """The error for an option."""
    return InputError(f"{option} is not available for texts with several labels: {reason}")


def check_measures(measures: Mapping[str, Measure], multi_label: bool) -> None:
    """Raises an `InputError` if a measure needs one label for each text and `multi_label` texts can have several."""
    for name, measure in measures.items():
        reason = getattr(measure, "one_label", None)
        if multi_label and reason is not None:
            raise refused(as_option(name), reason)


def check_one_label(task: Task, what: str) -> None:
    """Checks that each text has one label.

    Args:
        what: a command and what it does, for which this is needed; a clause for the message.

    Raises:
        InputError: texts can have several labels.
    """
    if task.multi_label:
        raise InputError(f"{what}, which is not available for texts with several labels")


# The task that a recipe names: all of its files are read and checked before anything is trained.

Note = Callable[[str], None]


def read_task(recipe: Recipe, note: Note = print) -> Task:
    """The labelled texts that a recipe names.

    Args:
        recipe: names the files and their columns. Its seed draws rows and holds them out. Groups are those of the
            training data; other files need none.
        note: called with each guess and each warning, after all files have been read.

    Raises:
        InputError: the data are at fault; names file and row.
    """
    notes: list[str] = []
    rows = labelled_rows(recipe, notes.append)
    validation = other_rows(recipe, recipe.validation, "validation", rows, notes.append)
    test = other_rows(recipe, recipe.test, "test", rows, notes.append)
    note_rows_of_both(recipe, validation, test, notes.append)
    training = replace(rows.texts, labels=encode(rows.labels, rows.names, recipe.data, rows.texts.rows or []))
    share = default_share(len(training)) if recipe.validation_share is None else recipe.validation_share
    if not recipe.validation and share > 0:
        kept, held_out = split(rows.labels, share, recipe.seed, recipe.data, group_numbers(rows.texts))
        training, validation = training.take(kept), training.take(held_out)
        notes.append(f"validation: {len(held_out)} of the {len(rows.texts)} rows held out (stratified)")
    if missing := labels_without_rows(training, rows.names):
        notes.append(f"{recipe.data}: no training row has the label {listed(missing, 5)}")
    task = Task(rows.names, training, validation, test, rows.columns)
    task = replace(task, descriptions=described_labels(recipe, task, notes.append))
    for line in notes:
        note(line)
    return task


@dataclass(frozen=True)
class LabelledRows:
    """The rows of the training data that a recipe draws.

    Args:
        texts: N texts, without the numbers of their labels.
        labels: the names of their N labels.
        names: the names of all labels in the data, in the order of their numbers.
        columns: the columns that were read.
    """

    texts: Texts
    labels: list[Label]
    names: list[str]
    columns: Columns


def labelled_rows(recipe: Recipe, note: Note) -> LabelledRows:
    """The rows of the training data, or those that are drawn of them."""
    texts, labels, columns, notes = read_part(
        recipe.data, None, recipe.encoding, recipe.bad_rows, text=recipe.text, text_pair=recipe.text_pair,
        label=recipe.label, group=recipe.group, separator=recipe.label_separator,
    )  # fmt: skip
    for line in [*notes, *check_labels(labels, recipe.data, recipe.label is not None)]:
        note(line)
    names = names_of(labels, columns.several)
    if recipe.size is not None:
        drawn = draw(labels, recipe.size, recipe.seed, recipe.data)
        note(f"size: {len(drawn):,} of the {len(texts):,} rows drawn (stratified)")
        texts, labels = texts.take(drawn), [labels[row] for row in drawn]
    return LabelledRows(texts, labels, names, columns)


def other_rows(recipe: Recipe, source: str | None, role: str, training: LabelledRows, note: Note) -> Texts:
    """The rows of the validation or test data, with the labels of the training rows.

    Args:
        source: the data; None or an empty name if there are none.
        role: "validation" or "test", for notes.
    """
    if not source:
        return Texts([])
    texts, labels, _, notes = read_part(source, training.columns, recipe.encoding, recipe.bad_rows)
    for line in notes:
        note(line)
    check_same_kind(training.labels, recipe.data, labels, source)
    texts = replace(texts, labels=encode(labels, training.names, source, texts.rows or []))
    if same_source(source, recipe.data):
        note(f"{source}: the {role} file is the training file itself; scores are flattered")
    elif shared := shared_rows(training.texts, texts):
        note(f"{source}: {shared} of {len(texts)} {role} rows also stand in {recipe.data}; scores are flattered")
    return texts


def note_rows_of_both(recipe: Recipe, validation: Texts, test: Texts, note: Note) -> None:
    """Notes test rows that are also rows of the validation data."""
    if not (recipe.validation and recipe.test):
        return
    flattered = "by which the model is chosen; the test score is flattered"
    if same_source(recipe.validation, recipe.test):
        note(f"{recipe.test}: the test file is also the validation file, {flattered}")
    elif shared := shared_rows(validation, test):
        note(f"{recipe.test}: {shared} of {len(test)} test rows also stand in {recipe.validation}, {flattered}")


def labels_without_rows(training: Texts, names: list[str]) -> list[str]:
    """The quoted names of the labels that no row has, where a row can have several."""
    numbers = training.known_labels
    return [quoted(names[label]) for label in np.flatnonzero(numbers.sum(0) == 0)] if numbers.ndim == 2 else []


def described_labels(recipe: Recipe, task: Task, note: Note) -> Texts:
    """The descriptions of labels, or none."""
    if recipe.label_descriptions is None:
        return Texts([])
    if task.columns is not None and task.columns.text_pair is not None:
        raise InputError("--label-descriptions are single texts, but the rows are pairs: leave them out")
    texts = label_descriptions(recipe.label_descriptions, task.labels, several=task.multi_label)
    note(f"label descriptions: {counted(len(texts), 'text')} to train on beside the rows")
    return texts


# The files that a run reads, and their checksums.


def task_of(recipe: Recipe, note: Callable[[str], None]) -> Task:
    """The labelled texts that a recipe names.

    Args:
        note: called with each guess and each warning.

    Raises:
        InputError: the data are at fault; names file and row.
    """
    task = read_task(recipe, note)
    note_contradictions(recipe, task, note)
    return task


def note_contradictions(recipe: Recipe, task: Task, note: Callable[[str], None]) -> None:
    """Notes how many rows of the training data have a text, or a pair, that other rows have with another label."""
    count = contradictions(task.training if recipe.validation else all_labelled(task))
    if count:  # two at least
        note(f"{recipe.data}: {count:,} rows have a text that also has another label; `salience audit` lists them")


def data_files(recipe: Recipe) -> dict[str, Path]:
    """The files of texts and word vectors, by the options that name them. Data sets on the hub are left out."""
    named = {
        "the training data": recipe.data, "--validation": recipe.validation, "--test": recipe.test,
        "--label-descriptions": recipe.label_descriptions,
        "--embeddings": recipe.model_options.get("embeddings"),
    }  # fmt: skip
    return {option: Path(name) for option, name in named.items() if isinstance(name, str) and os.path.isfile(name)}


def input_files(recipe: Recipe) -> dict[str, Path]:
    """The data files and the folders of the model and its encoder, by the options that name them."""
    folders = {"--model": recipe.model, "--encoder": recipe.model_options.get("encoder")}
    return data_files(recipe) | {
        option: Path(name) for option, name in folders.items() if isinstance(name, str) and os.path.isdir(name)
    }


def checksums(recipe: Recipe) -> dict[str, str]:
    """The SHA-256 of every data file, by its name in the recipe.

    Raises:
        InputError: a file has changed since the recipe was written.
    """
    sums = {str(file): sha256_of(file) for file in data_files(recipe).values()}
    for file, expected in recipe.checksums.items():
        if sums.get(file, expected) != expected:
            raise InputError(
                f"{file} has changed since the recipe was written (its SHA-256 differs): restore the earlier "
                "file, or remove its line from the recipe's checksums to train on the file as it is"
            )
    return sums
