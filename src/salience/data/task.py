"""A classification task: labelled texts to train on, to choose the model by, and to test on; and how files become one.

The way of a file: `stream` yields its rows, `choose_columns` says where texts and labels are, and `collect` reads them
and reports rows without one. `read_part` does all of it, once for a file in a process.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from salience.data.columns import Columns, choose_columns
from salience.data.corrections import further_texts, without_phrases
from salience.data.marks import marks_in, overlap
from salience.data.reading import column_names, stream
from salience.data.texts import Texts
from salience.data.values import (
    Label,
    check_same_kind,
    group_of,
    indicator_of,
    joined_labels,
    labels_of,
    mixed_kinds,
    outer_name,
    text_of,
    value_at,
    value_in,
)
from salience.errors import InputError, counted, listed, quoted, rows_listed, unknown
from salience.files import readable_text
from salience.settings import read_yaml
from salience.work import doing

LIMIT = 50_000_000  # characters of texts that are kept: some hundreds of megabytes at most
_kept: OrderedDict[tuple, tuple[Part, int]] = OrderedDict()  # what was read, with its number of characters
NAMES = "names"  # in place of a file of descriptions: the names of the labels
# Rows of a label, on average, with which descriptions gained something in docs/research/studies/label-descriptions.md.
FEW = 10


class Part(NamedTuple):
    """The labelled rows of a file, or of several."""

    texts: Texts  # N
    labels: list[Label]  # N
    columns: Columns  # that they are from
    notes: list[str]  # of one line each
    left_out: int = 0  # rows without a text or a label


@dataclass(frozen=True)
class Task:
    """A data set with its parts. The texts have labels.

    Args:
        labels: the names of the C labels, in the order of their numbers.
        training: the texts to train on.
        validation: the texts by which the model is chosen; may be empty.
        test: the texts that measure the model; may be empty.
        columns: the columns of the files; None for texts that come from no file.
        tokenised: whether the words of the texts are separated by spaces already.
        descriptions: texts that describe labels, on which the model is trained too; may be empty. They are no rows:
            none of them is drawn, held out, or counted.
        left_out: the number of rows without a text or a label in the files of the parts that have such rows, by part.
        ignored_words: words and phrases that are taken out of all texts to train on.
        before: what was known of each corrected text, or pair, before the corrections, by the text without the space
            around it; see `salience.data.corrected`.
        taught: (N, C) the probabilities of the labels of the training texts, of which the labels are the decisions;
            they are learnt in place of these. None where people have labelled the texts.
    """

    labels: list[str]
    training: Texts
    validation: Texts = field(default_factory=lambda: Texts([]))
    test: Texts = field(default_factory=lambda: Texts([]))
    columns: Columns | None = None
    tokenised: bool = False
    descriptions: Texts = field(default_factory=lambda: Texts([]))
    left_out: Mapping[str, int] = field(default_factory=dict)
    ignored_words: Sequence[str] = ()
    before: Mapping[tuple[str, ...], Mapping[str, Any]] = field(default_factory=dict)
    taught: np.ndarray | None = None

    @property
    def multi_label(self) -> bool:
        """Whether a text can have several labels, or none; the labels of N texts are then 0 and 1 (N, C)."""
        return self.training.labels is not None and self.training.labels.ndim == 2

    @cached_property
    def further(self) -> Texts:
        """The texts that the marks of the training texts give; see `salience.data.corrections`."""
        marked = self.training.marks is not None or self.training.ignore is not None
        return further_texts(self.training, self.labels, self.ignored_words) if marked else Texts([])

    @property
    def to_train_on(self) -> Texts:
        """The training texts, the further ones and the descriptions, in this order."""
        more = [part for part in (self.further, self.descriptions) if len(part)]
        parts = [replace(part, rows=None, marks=None, ignore=None, groups=None, files=None)
                 for part in (self.training, *more)]  # fmt: skip
        return without_phrases(Texts.concatenated(parts) if more else self.training, self.ignored_words)


def all_labelled(task: Task) -> Texts:
    """The training rows and the validation rows of a task, in the order of their file if they are of one file."""
    if not len(task.validation):
        return task.training
    rows = Texts.concatenated([task.training, task.validation])
    files = [""] * len(rows) if rows.files is None else rows.files
    places = list(zip(files, rows.rows or [], strict=False))
    if len(set(places)) < len(rows):  # row 1 of two files
        return rows
    order = list(dict.fromkeys(files))
    return rows.take(sorted(range(len(rows)), key=lambda row: (order.index(files[row]), places[row])))


def same_source(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one is not a file
        return one == other


def check_not_read(output: Path | None, *sources: str | None) -> None:
    """Refuses to write the file that is read: `--overwrite` does not mean that one."""
    if output is None or not output.is_file():  # a terminal can be both read and written
        return
    for source in sources:
        if source is not None and same_source(str(output), source):
            raise InputError(f"{output} is what is read, and is not replaced: choose another --output")


def read_part(
    source: str, columns: Columns | None = None, encoding: str = "utf-8", bad_rows: str = "error", **chosen: Any
) -> Part:
    """The labelled rows of a file or hub data set. A file that this process has read a moment ago is not read again.

    A grid names the same files for every run. A file is the same as long as its path, size, times and number in the
    file system are; data sets on the hub are read every time. A file of more than `LIMIT` characters is not kept.

    Args:
        columns: the columns of the training data; None chooses columns, by `chosen`: see `choose_columns`.
        bad_rows: as in `collect`.

    Raises:
        InputError: a column is not there or cannot be guessed; or as `collect`.
    """
    before = stamp(source)
    key = (before, source, columns, encoding, bad_rows, tuple(sorted(chosen.items())))
    if key in _kept:
        _kept.move_to_end(key)
        part = _kept[key][0]
    else:
        names, notes = column_names(source, encoding), list[str]()
        if columns is None:
            found, notes = choose_columns(names, source=source, **chosen)
        else:
            found, _ = choose_columns(
                names, columns.text, columns.text_pair, columns.label, source=source, separator=columns.separator,
                empty_label=columns.empty_label,
            )  # fmt: skip
        total = count()
        rows = (row for row, _ in zip(stream(source, encoding, columns=found.names), total, strict=False))
        texts, labels, warnings = collect(rows, found, source, bad_rows)
        assert labels is not None  # `choose_columns` has chosen a label
        part = Part(texts, labels, found, notes + warnings, next(total) - len(texts))
        size = sum(len(text) for column in texts.columns for text in column)
        if before is not None and size <= LIMIT and stamp(source) == before:  # it did not change while it was read
            _kept[key] = part, size
            while sum(each for _, each in _kept.values()) > LIMIT:
                _kept.popitem(last=False)
    return part._replace(labels=list(part.labels), notes=list(part.notes))  # of its own, which callers may extend


def read_parts(sources: Sequence[str], encoding: str = "utf-8", bad_rows: str = "error", **chosen: Any) -> Part:
    """As `read_part`, of several files that share the columns that are chosen; notes name their other columns."""
    if len(sources) == 1:
        return read_part(sources[0], None, encoding, bad_rows, **chosen)
    names = columns_of(sources, encoding, **chosen)
    shared = [name for name in names[sources[0]] if all(name in names[source] for source in sources)]
    columns, notes = choose_columns(shared, source=listed(sources, 3), **chosen)
    named = chosen | {"text": columns.text, "text_pair": columns.text_pair, "label": columns.label}
    parts = [read_part(source, None, encoding, bad_rows, **named) for source in sources]
    for source, part in zip(sources, parts, strict=True):
        check_same_kind(parts[0].labels, sources[0], part.labels, source)
        notes += part.notes
        read = {outer_name(name, names[source]) for name in columns.names}
        if further := [name for name in names[source] if name not in read]:
            notes.append(f"{source}: further columns are left out: {listed(map(quoted, further))}")
    texts = Texts.concatenated(
        replace(part.texts, files=[source] * len(part.texts)) for source, part in zip(sources, parts, strict=True)
    )
    labels = [label for part in parts for label in part.labels]
    return Part(texts, labels, columns, notes, sum(part.left_out for part in parts))


def columns_of(sources: Sequence[str], encoding: str = "utf-8", **chosen: Any) -> dict[str, list[str]]:
    """The names of the columns of each file.

    Raises:
        InputError: a file is named twice, or has not the columns that are chosen, or none that can be guessed.
    """
    for one, other in combinations(sources, 2):
        if same_source(one, other):
            raise InputError(f"{other} is named twice among the data: leave out one of the two")
    names = {source: column_names(source, encoding) for source in sources}
    for source in sources:
        choose_columns(names[source], source=source, **chosen)
    return names


def stamp(source: str) -> tuple | None:
    """What tells a file from others and from its own later states; None if there is no such file."""
    try:
        path = os.path.realpath(source)
        if not os.path.isfile(path):
            return None
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return path, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


@doing("reading rows")
def collect(
    rows: Iterable[dict], columns: Columns, source: str, bad_rows: str = "error"
) -> tuple[Texts, list[Label] | None, list[str]]:
    """The texts of all rows, their labels (None if `columns` has no label), and warnings of one line each.

    Args:
        bad_rows: "error" refuses rows in which a text or the label is empty or missing, "skip" leaves them out.

    Raises:
        InputError: a text or label is empty (unless such rows are left out) or of a wrong type; some rows have a list
            of labels and others have not; labels seem to be joined by a separator that is not named; no row is left.
    """
    if bad_rows not in ("error", "skip"):
        raise unknown("choice for --bad-rows", bad_rows, ["error", "skip"])
    readers: dict[str | None, Callable[[object], Any]] = {columns.text: text_of, columns.text_pair: text_of}
    if columns.several:
        readers |= dict.fromkeys(columns.several, indicator_of)
    else:
        readers[columns.label] = partial(labels_of, separator=columns.separator, empty_label=columns.empty_label)
    readers[columns.group] = group_of
    kinds = {name: kind for name, kind in readers.items() if name is not None}

    complete: dict[str | None, list[Any]] = {name: [] for name in kinds}
    marked: dict[str, list[Any]] = {name: [] for name in (columns.marks, columns.ignore) if name is not None}
    empty: dict[str, list[int]] = {name: [] for name in kinds}
    numbers: list[int] = []
    total = 0
    for total, row in enumerate(rows, 1):
        values = {name: value_in(row, name, kind, total, source) for name, kind in kinds.items()}
        if missing := [name for name, value in values.items() if value is None]:
            for name in missing:
                empty[name].append(total)
            continue
        numbers.append(total)
        for name, value in values.items():
            complete[name].append(value)
        for name, given in marked.items():
            given.append(value_at(row, name))

    warnings = []
    if len(numbers) < total:
        parts = (f"{len(at):,} in {quoted(name)} ({rows_listed(at)})" for name, at in empty.items() if at)
        left = counted(total - len(numbers), "row")
        told = f"{left} of {total:,} with an empty or missing value: {'; '.join(parts)}"
        none, found = "", complete.get(columns.label, [])
        lists = columns.separator is not None or any(isinstance(each, tuple) for each in found)
        if lists and empty.get(str(columns.label)):
            none = "if an empty label says that a row has none, add --empty-label none"
        if bad_rows == "error":
            mend = "fill them in, or leave such rows out with --bad-rows skip"
            raise InputError(f"{source}: {told}; {none}{', else ' * bool(none)}{mend}")
        if not numbers:
            raise InputError(f"{source}: {told}; no row is left, are these the right columns?")
        warnings.append(f"{source}: left out {told}{'; ' * bool(none)}{none}")

    texts = Texts(
        complete[columns.text], complete.get(columns.text_pair), rows=numbers, groups=complete.get(columns.group)
    )
    if columns.several:
        switches = zip(*(complete[name] for name in columns.several), strict=True)
        applying = [
            tuple(name for name, value in zip(columns.several, row, strict=True) if value == "1") for row in switches
        ]
        return with_marks(texts, list(applying), marked, columns, source), list(applying), warnings
    if columns.label is None:
        return texts, None, warnings
    labels: list[Label] = complete[columns.label]
    given = [each for each in labels if each]
    if columns.empty_label == "none" and given and all(isinstance(each, str) for each in given):
        raise InputError(
            f"{source}: column {quoted(columns.label)}: --empty-label none is for multi-label rows, and these "
            "have one each: leave it out, or name what divides several with --label-separator"
        )
    if (single := mixed_kinds(labels)) is not None:
        raise InputError(
            f"{source}: row {numbers[single]}, column {quoted(columns.label)}: {quoted(labels[single])} is no list, "
            'and other rows have lists of labels; write it as a list with one label, such as ["joy"]'
        )
    if both := joined_labels([label for label in labels if isinstance(label, str)]):
        raise InputError(
            f"{source}: column {quoted(columns.label)}: most rows have several labels, joined by {quoted(both[0])}, "
            f"such as {quoted(both[1])}; add --label-separator {quoted(both[0])}"
        )
    return with_marks(texts, labels, marked, columns, source), labels, warnings


def with_marks(
    texts: Texts, labels: Sequence[Label], values: Mapping[str, Sequence[Any]], columns: Columns, source: str,
    known: Collection[str] = (),
) -> Texts:  # fmt: skip
    """The texts of a file with the marks that its columns have, as `Mark`s; `known` are labels that no row may have.

    Raises:
        InputError: a value is none of marks, or a word is marked as deciding and as one that must not count.
    """
    of_rows = [(label,) if isinstance(label, str) else label for label in labels]
    names, numbers = {*known, *(name for label in of_rows for name in label)}, texts.rows or []
    columns_of_texts = [name for name in (columns.text, columns.text_pair) if name is not None]
    rows = [dict(zip(columns_of_texts, row, strict=True)) for row in zip(*texts.columns, strict=True)]
    found: dict[str, Any] = {}
    for role, column in {"marks": columns.marks, "ignore": columns.ignore}.items():
        if column is None:
            continue
        found[role] = []
        for number, value, row, own in zip(numbers, values[column], rows, of_rows, strict=True):
            try:
                found[role].append(marks_in(value, row, own, names))
            except TypeError as error:
                raise InputError(f"{source}: row {number}, column {quoted(column)}: {error}") from error
    both_roles = (found.get("marks", []), found.get("ignore", []))  # without one of them, there is nothing to compare
    for number, row, deciding, ignored in zip(numbers, rows, *both_roles, strict=False):
        if (both := overlap(deciding, ignored)) is not None:
            word = list(row.values())[both.second][both.start : both.end]
            raise InputError(
                f"{source}: row {number}: {quoted(word)} is marked in both {quoted(columns.marks)} and "
                f"{quoted(columns.ignore)}: a word decides, or must not count"
            )
    return replace(texts, **found)


def label_descriptions(source: str, labels: Sequence[str], several: bool = False) -> Texts:
    """The descriptions of labels, texts that say in words what a label means, with the numbers of the labels.

    Args:
        source: a yaml file with a text or a list of texts for each label, which may leave labels out; or "names",
            which takes the names of the labels themselves.
        several: whether a text can have several labels. A description then has its label alone: 0 and 1 (M, C).
    """
    described = {label: [name_in_words(label)] for label in labels} if source == NAMES else read_descriptions(source)
    for label, descriptions in described.items():
        if label not in labels:
            raise unknown(f"label in {source}:", label, labels)
        if not all(re.search(r"\w", text) for text in descriptions):
            raise InputError(f"{source}: a description of {quoted(label)} has no words: write some, or remove it")
    pairs = [(text, labels.index(label)) for label, texts in described.items() for text in texts]
    numbers = np.array([number for _, number in pairs], np.int64)
    alone = np.eye(len(labels), dtype=np.int64)
    return Texts([text for text, _ in pairs], labels=alone[numbers] if several else numbers)


def described_labels(source: str | None) -> list[str]:
    """The labels that a file of descriptions names, which are labels also where no row has them."""
    return [] if source in (None, NAMES) else list(read_descriptions(source))


def name_in_words(label: str) -> str:
    """The name of a label as a text: "card_arrival" as "card arrival", "getSpareCard" as "get spare card"."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)
    words = re.sub(r"[_\W]+", " ", apart).strip()
    return words.lower() if words else label


def read_descriptions(source: str) -> dict[str, list[str]]:
    with readable_text(Path(source).expanduser()) as file:
        text = file.read()
    found = read_yaml(text, source, texts_only=True)
    if not isinstance(found, dict) or not found:
        raise InputError(f"{source}: label descriptions are lines of the form label: text")
    descriptions = {label: texts if isinstance(texts, list) else [texts] for label, texts in found.items()}
    wrong = [str(label) for label, texts in descriptions.items() if not all(isinstance(text, str) for text in texts)]
    if wrong:
        raise InputError(
            f"{source}: {counted(len(wrong), 'label')} with something else than a text or a list of texts: "
            f"{listed(wrong, 5)}"
        )
    return descriptions


def worth_describing(task: Task) -> str:
    """A line for a person who has few rows of a label and has described none; else empty."""
    rows = len(task.training) / len(task.labels)
    if rows > FEW or len(task.descriptions) or task.taught is not None or task.training.second is not None:
        return ""
    return (
        f"few labels ({counted(round(rows), 'row')} of each on average): a sentence on what each label means can help "
        "(--label-descriptions labels.yaml)"
    )
