"""The task that a recipe names: all of its files are read and checked before anything is trained."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from operator import ne
from pathlib import Path
from typing import Any

import numpy as np

from salience.classify import load
from salience.data.columns import choose_as_trained
from salience.data.corrected import Correction, Key, with_corrections
from salience.data.corrections import agreed_words, without_phrases
from salience.data.labels import check_labels, encode, names_of, separate
from salience.data.reading import column_names, stream
from salience.data.splitting import contradictions, default_share, draw, group_numbers, shared_rows, split, stripped
from salience.data.task import (
    Part,
    Task,
    all_labelled,
    collect,
    described_labels,
    label_descriptions,
    read_part,
    read_parts,
    same_source,
)
from salience.data.texts import Texts
from salience.data.values import Label, check_same_kind
from salience.errors import InputError, counted, listed, quoted
from salience.files import readable_text, sha256_of
from salience.models.architectures import own_settings
from salience.models.loading import load_configuration
from salience.runs.folder import trained_columns
from salience.scores.labels import labels_of
from salience.settings import as_option
from salience.training.measures import Measure
from salience.training.recipe import Recipe

Note = Callable[[str], None]


def read_task(recipe: Recipe, note: Note = print) -> Task:
    """The labelled texts that a recipe names. Its seed samples rows and holds them out.

    `note` is called with each guess and each warning, after all files have been read.

    Raises:
        InputError: the data are at fault; names file and row.
    """
    notes: list[str] = []
    taught, corrections = None, dict[Key, Correction]()
    if recipe.teacher is not None:
        (rows, labels, columns, found, left), names, taught = taught_part(recipe, note)
        notes += found
    else:
        rows, labels, columns, found, left = read_parts(
            recipe.sources, recipe.encoding, recipe.bad_rows, **recipe.columns
        )
        for role, column in {"marks": recipe.marks, "ignore": recipe.ignore}.items():
            if column is not None and not any(getattr(rows, role)):
                raise InputError(
                    f"{recipe.named_data}: no row has a marked word in the column {quoted(column)} (--{role}): write "
                    "spans of characters, such as [[0, 4]], or for each word 1 or the name of the label, else 0"
                )
        described = [] if columns.several else described_labels(recipe.label_descriptions)
        if recipe.corrections is not None:
            rows, labels, corrections, told = with_corrections(
                rows, labels, columns, recipe.corrections, recipe.named_data, described
            )
            found.append(told)
        notes += [*found, *check_labels(labels, recipe.named_data, recipe.label is not None, described)]
        names = names_of([*labels, *described], columns.several)
    if recipe.size is not None:
        drawn = draw(labels, recipe.size, recipe.seed, recipe.named_data)
        notes.append(f"size: a stratified sample of {len(drawn):,} of the {len(rows):,} rows")
        rows, labels = rows.take(drawn), [labels[row] for row in drawn]
        taught = None if taught is None else taught[drawn]

    left_out = {"training": left}

    def other_rows(role: str, source: str | None) -> Texts:
        """The validation or test rows, with the labels of the training rows."""
        if not source:
            return Texts([])
        texts, own, _, found, left_out[role] = read_part(source, columns, recipe.encoding, recipe.bad_rows)
        notes.extend(found)
        if role == "validation":  # they are put together with the training rows, and know what these do
            known: dict[str, Any] = {
                "files": [source] * len(texts), "marks": [[]] * len(texts), "ignore": [[]] * len(texts)
            }  # fmt: skip
            texts = replace(texts, **{name: each for name, each in known.items() if getattr(rows, name) is not None})
        check_same_kind(labels, recipe.named_data, own, source)
        said = (corrections.get(key) for key in stripped(texts))
        if other := sum(
            each is not None and each.label is not None and {*separate(each.label)} != {*separate(label)}
            for each, label in zip(said, own, strict=True)
        ):
            notes.append(
                f"{source}: {counted(other, 'row')} with another label in {recipe.corrections}, which corrects "
                f"training rows only: correct the {role} file by hand"
            )
        return replace(texts, labels=encode(own, names, source, texts.rows or []))

    validation, test = other_rows("validation", recipe.validation), other_rows("test", recipe.test)
    parts = [("training", rows, recipe.sources)]
    parts += [(role, part, [name]) for role, part, name in (
        ("validation", validation, recipe.validation), ("test", test, recipe.test)) if name]  # fmt: skip
    for (seen, of_seen, files), (role, part, (source, *_)) in combinations(parts, 2):
        of = listed(files, 3)
        if any(same_source(source, file) for file in files):
            notes.append(f"{source}: the {role} file is also the {seen} file; the {role} scores are too high")
        elif shared := shared_rows(of_seen, part):
            notes.append(
                f"{source}: {shared} of {len(part)} {role} rows are in {of} too; the {role} scores are too high"
            )
    training = replace(rows, labels=encode(labels, names, recipe.named_data, rows.rows or []))
    share = default_share(len(training)) if recipe.validation_share is None else recipe.validation_share
    if not recipe.validation and share > 0:
        kept, held_out = split(labels, share, recipe.seed, recipe.named_data, group_numbers(rows))
        training, validation = training.take(kept), training.take(held_out)
        notes.append(f"validation: {len(held_out)} of the {len(rows)} rows are held out (stratified)")
    left_out = {role: left for role, left in left_out.items() if left}
    before = {key: each.before for key, each in corrections.items()}
    task = Task(names, training, validation, test, columns, left_out=left_out, before=before, taught=taught)
    rows_of = labels_of(training.known_labels).support(training.known_labels, len(names))
    if unused := [quoted(name) for name, of in zip(names, rows_of, strict=True) if not of]:
        notes.append(f"{recipe.named_data}: no training row has the label {listed(unused, 5)}")
    if recipe.label_descriptions is not None:
        if columns.text_pair is not None:
            raise InputError("--label-descriptions are single texts, but the rows are pairs: leave them out")
        descriptions = label_descriptions(recipe.label_descriptions, names, several=task.multi_label)
        notes.append(f"label descriptions: {counted(len(descriptions), 'text')} to train on, too")
        task = replace(task, descriptions=descriptions)
    ignored_words = [] if recipe.ignore_words is None else read_phrases(recipe.ignore_words)
    if ignored_words:
        bare = without_phrases(training, ignored_words)
        changed = sum(map(ne, zip(*training.columns, strict=True), zip(*bare.columns, strict=True)))
        notes.append(
            f"{recipe.ignore_words}: its words are removed from {changed:,} of {len(training):,} training rows"
        )
    if agreed := agreed_words(training):
        ignored_words += agreed
        notes.append(
            "marks: removed from all training texts, because several rows ignore them: "
            f"{listed(map(quoted, agreed), 5)}"
        )
    task = replace(task, ignored_words=ignored_words)
    if len(task.further):
        notes.append(f"marks: {counted(len(task.further), 'further text')} made from marked words to train on")
    for line in notes:
        note(line)
    return task


def read_phrases(source: str) -> list[str]:
    """The words and phrases in a file, one a line."""
    with readable_text(Path(source).expanduser()) as file:
        phrases = [line.strip() for line in file if line.strip()]
    if not phrases:
        raise InputError(f"{source} has no words: write one word or phrase a line, or leave out --ignore-words")
    return phrases


def check_input(recipe: Recipe) -> None:
    """Raises an `InputError` if the files or the model that a recipe names are at fault; nothing is computed.

    It is called where an output is at fault, before that is said: of both, the input is the first to be mended.
    """
    if recipe.teacher is None:
        read_task(recipe, lambda line: None)
    else:
        for source in filter(None, (*recipe.sources, recipe.test)):
            column_names(source, recipe.encoding)
        load_configuration(recipe.teacher)
    if own_settings(recipe.model, recipe.model_options) is None:
        load_configuration(recipe.model)


def taught_part(recipe: Recipe, note: Note) -> tuple[Part, list[str], np.ndarray]:
    """The rows of a recipe with a teacher: texts, the labels that it gives them, columns and notes.

    Returns:
        These; the C names of its labels; and its probabilities (N, C) float32.
    """
    assert recipe.teacher is not None
    if len(recipe.sources) > 1:
        raise InputError(f"{recipe.named_data}: a teacher labels the texts of one file: put them into one")
    (source,), trained = recipe.sources, trained_columns(recipe.teacher)
    named = {"text": recipe.text, "text_pair": recipe.text_pair}
    columns, notes = choose_as_trained(
        column_names(source, recipe.encoding), trained, named, need_label=False, source=source
    )
    texts, _, warnings = collect(
        stream(source, recipe.encoding, columns=columns.names), columns, source, recipe.bad_rows
    )
    precision = "auto" if recipe.precision == "fp16" else recipe.precision
    teacher = load(recipe.teacher, device=recipe.device, precision=precision)
    note(f"the teacher {recipe.teacher} labels {counted(len(texts), 'text')}")
    probabilities = teacher.predict_proba(texts)
    decided = [tuple(np.array(teacher.labels)[row].tolist()) for row in teacher.decisions(probabilities)]
    labels: list[Label] = [*decided] if teacher.multi_label else [only for (only,) in decided]
    if trained is not None:  # where rows have labels of people: those of validation and test
        label = recipe.label or trained.label
        columns = replace(columns, label=label, separator=trained.separator, empty_label=trained.empty_label)
    return Part(texts, labels, columns, notes + warnings), teacher.labels, probabilities


def task_of(recipe: Recipe, note: Note) -> Task:
    """As `read_task`, for a training: also notes how many rows have a text that other rows have with another label."""
    task = read_task(recipe, note)
    count = contradictions(task.training if recipe.validation else all_labelled(task))
    if count and recipe.teacher is None:  # two at least
        note(
            f"{recipe.named_data}: {count:,} rows have a text that another row has with another label; `salience "
            "audit` lists them"
        )
    return task


def refused(option: str, reason: str) -> InputError:
    """The error for an option that needs one label for each text."""
    return InputError(f"{option} is not available for multi-label texts: {reason}")


def check_measures(measures: Mapping[str, Measure], multi_label: bool) -> None:
    """Raises an `InputError` if a measure needs one label for each text and `multi_label` texts can have several."""
    for name, measure in measures.items():
        reason = getattr(measure, "one_label", None)
        if multi_label and reason is not None:
            raise refused(as_option(name), reason)


def check_one_label(task: Task, what: str) -> None:
    """Raises an `InputError` if texts are multi-label; `what` is a command and what it does, a clause."""
    if task.multi_label:
        raise InputError(f"{what}, which is not available for multi-label texts")


def data_files(recipe: Recipe) -> dict[str, Path]:
    """Files of texts, word vectors and a teacher's weights, by the options that name them; none on the hub."""
    data = {f"the training data{f' ({number})' * (number > 1)}": name for number, name in enumerate(recipe.sources, 1)}
    named = data | {
        "--validation": recipe.validation, "--test": recipe.test,
        "--label-descriptions": recipe.label_descriptions, "--ignore-words": recipe.ignore_words,
        "--corrections": recipe.corrections,
        "--set-model embeddings": recipe.model_options.get("embeddings"),
        "the teacher": None if recipe.teacher is None else os.path.join(recipe.teacher, "model.safetensors"),
    }  # fmt: skip
    return {option: Path(name) for option, name in named.items() if isinstance(name, str) and os.path.isfile(name)}


def input_files(recipe: Recipe) -> dict[str, Path]:
    """The data files and the folders of the model and its encoder, by the options that name them."""
    folders = {
        "--model": recipe.model, "--set-model encoder": recipe.model_options.get("encoder"),
        "the teacher": recipe.teacher,
    }  # fmt: skip
    return data_files(recipe) | {
        option: Path(name) for option, name in folders.items() if isinstance(name, str) and os.path.isdir(name)
    }


def checksums(recipe: Recipe) -> dict[str, str]:
    """The SHA-256 of every data file, by its name in the recipe; an `InputError` if one has changed since."""
    sums = {str(file): sha256_of(file) for file in data_files(recipe).values()}
    for file, expected in recipe.checksums.items():
        if sums.get(file, expected) != expected:
            raise InputError(
                f"{file} has changed since the recipe was written (its SHA-256 differs): restore the earlier "
                "file, or remove its line from the recipe's checksums to train on the file as it is"
            )
    return sums
