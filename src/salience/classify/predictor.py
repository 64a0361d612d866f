"""A trained classifier as a function of columns, which can be sent to other processes and machines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from salience.classify import TextClassifier, load
from salience.classify.abstaining import Thresholds, read_thresholds
from salience.classify.classifier import Once, at_once
from salience.classify.familiarity import Familiarity, read_familiarity
from salience.data.columns import Columns, choose_as_trained
from salience.data.reading import column_names, column_types
from salience.data.values import joined, text_of, value_in, well_formed
from salience.errors import InputError, quoted, unknown
from salience.models.precision import check_precision
from salience.runs.folder import trained_columns
from salience.runs.results import read_out_of_fold
from salience.scores.labels import Labels
from salience.scores.metrics import HALF

if TYPE_CHECKING:
    from pyarrow import DataType

MOST_PROBABLE, LABEL_SET, FAMILIAR = "most_probable", "label_set", "familiarity"
TEXTS = ("predicted", MOST_PROBABLE, LABEL_SET)


@dataclass(frozen=True)
class AddedColumns:
    """What is added to a row: the predicted label, its probability, and the probabilities of all labels.

    In a table these are one column for each label, in JSON lines one object. With thresholds, the predicted label is
    missing where its probability is not above its threshold, and the most probable label is added to every row. With
    `predicted_from`, a label is predicted from its threshold on. With `lowest`, a set of labels is added.
    How familiar the text is comes last.

    Where texts are multi-label, `predicted` is a list of those whose probability is at least their threshold,
    [] if no label applies, and there is no column of the highest probability. In a table, lists are written with the
    separator of the training rows if they had one, else as JSON.
    """

    kind: Labels
    labels: list[str]
    prefix: str  # begins every name
    as_columns: bool  # whether rows are those of a table, not JSON lines
    thresholds: list[float] | None = None  # (C,), see `salience.classify.abstaining`; None if every text is decided
    lowest: float | None = None  # the lowest probability of a label in a set; None adds no sets
    columns: Columns | None = None  # of the training, which say how several labels are written; None: as JSON
    predicted_from: np.ndarray | None = None  # (C,), see `salience.scores.thresholds.predicted_from`; of one label
    familiarity: bool = False  # whether it is known

    def __post_init__(self) -> None:
        if twice := [label for label in self.labels if self.labels.count(label) > 1]:
            raise InputError(
                f"two labels of the model are named {quoted(twice[0])}: rename one of them in its config.json"
            )

    @property
    def abstains(self) -> bool:
        return self.thresholds is not None and not self.kind.several

    @cached_property
    def names(self) -> list[str]:
        return list(self.named(None))

    @property
    def texts(self) -> list[str]:
        """The added columns that hold texts; the others hold numbers."""
        return [name for name in self.names if name in {self.prefix + each for each in TEXTS}]

    def named(self, probabilities: list[float] | None, familiarity: float = math.nan) -> dict[str, Any]:
        """The added values of one row by name. `probabilities` is None for a row without a text; NaN becomes None."""
        defined = probabilities is not None and all(map(math.isfinite, probabilities))
        each: list[Any] = list(probabilities) if probabilities is not None and defined else [None] * len(self.labels)
        values: dict[str, Any] = {"predicted": None}
        if self.kind.several:
            if defined:
                chosen = self.kind.decisions(np.array(each), np.array(self.thresholds))
                values["predicted"] = self.as_list(np.flatnonzero(chosen))
        else:
            best = max(range(len(each)), key=each.__getitem__) if defined else 0
            if defined and self.predicted_from is not None:
                best = int(self.kind.decisions(np.array(each), self.predicted_from).argmax())
            label = self.labels[best] if defined else None
            if self.thresholds is None or (defined and each[best] > self.thresholds[best]):
                values["predicted"] = label
            if self.thresholds is not None:
                values[MOST_PROBABLE] = label
            values["probability"] = each[best]
            if self.lowest is not None:
                values[LABEL_SET] = self.as_list(self.set_of(each, best)) if defined else None
        if self.as_columns:
            values |= {f"probability_{label}": value for label, value in zip(self.labels, each, strict=True)}
        else:
            values["probabilities"] = None if probabilities is None else dict(zip(self.labels, each, strict=True))
        if self.familiarity:
            values[FAMILIAR] = familiarity if math.isfinite(familiarity) else None
        return {self.prefix + name: value for name, value in values.items()}

    def set_of(self, probabilities: list[float], best: int) -> list[int]:
        """The numbers of the labels of a set, the most probable first; it always holds the predicted one, `best`."""
        order = sorted(range(len(probabilities)), key=lambda place: -probabilities[place])
        return [place for place in order if place == best or probabilities[place] >= (self.lowest or 0)]

    def as_list(self, numbers: Iterable[int]) -> list[str] | str:
        """The names of labels, in a table as a text."""
        found = [self.labels[number] for number in numbers]
        if not self.as_columns:
            return found
        written = (None, "error") if self.columns is None else (self.columns.separator, self.columns.empty_label)
        return joined(found, *written)

    def check_free(self, names: Iterable[str], source: str) -> None:
        """Raises an `InputError` if one of `names`, the columns of `source`, is that of an added column."""
        names = set(names)
        for name in self.names:
            if name in names:
                raise InputError(
                    f"{source}: the column {quoted(name)} has the name of what is added to the rows; rename it, or "
                    "put something before the names that are added, for example --prefix model_"
                )


def written_columns(data: str, encoding: str, added: AddedColumns) -> dict[str, DataType | str] | None:
    """The names and types of all columns of the file to write; None for JSON lines, where each row has its own."""
    if not added.as_columns:
        added.check_free(column_names(data, encoding), data)
        return None
    types = column_types(data, encoding)
    added.check_free(types, data)
    texts = set(added.texts)
    return types | {name: "string" if name in texts else "double" for name in added.names}


def lowest_in_set(probabilities: np.ndarray, labels: np.ndarray, level: float) -> float:
    """The lowest probability of a label in a set: the k-th highest score of N rows, k = ceil((N + 1) level).

    If a new row is exchangeable with the N rows, its label has at least this probability with a probability of at
    least `level`. Probabilities are (N, C), labels class numbers (N,).
    """
    rows = len(labels)
    place = math.ceil((rows + 1) * level - 1e-9)  # 30 * 0.9 is above 27 in floating point
    if place > rows:
        least = math.ceil(level / (1 - level) - 1e-9)
        raise InputError(
            f"--sets {level:g} needs at least {least:,} rows of an estimate, and there are {rows:,}: choose a lower "
            "level, or train on more rows"
        )
    scores = np.sort(probabilities[np.arange(rows), labels].astype(float))[::-1]
    return float(scores[place - 1])


def lowest_of_run(model: str | Path, labels: Sequence[str], level: float) -> float:
    """`lowest_in_set` for the out-of-fold predictions in a run folder, scaled as the run's model is.

    Of rows of one group, one counts.
    """
    if not 0 < level < 1:
        raise InputError(f"--sets {level:g}: give the share of the sets that hold the right label, such as 0.9")
    found = read_out_of_fold(model, "--sets")
    if found.names != list(labels) or found.predictions.labels.ndim > 1:
        raise InputError(
            f"the out-of-fold predictions in {model} are not about this model, or damaged: train it again, or leave "
            "out --sets"
        )
    return lowest_in_set(*found.independent(seed=0), level)


@dataclass(frozen=True)
class Answers:
    """What a classifier of C labels says about N rows."""

    probabilities: np.ndarray  # (N, C) float32, NaN for rows without a text
    has_text: np.ndarray  # (N,) bool; False where a text is missing or blank
    cut: np.ndarray  # (N,) bool, whether a text is longer than what the classifier reads of it
    familiarity: np.ndarray  # (N,) float64, NaN where it is not known, see `salience.classify.familiarity`

    def lists(self) -> list[tuple[list[float] | None, float]]:
        """The probabilities of each row as a list, None for a row without a text; and its familiarity."""
        rows = zip(self.probabilities.tolist(), self.has_text, self.familiarity.tolist(), strict=True)
        return [(values if has_text else None, familiarity) for values, has_text, familiarity in rows]


@dataclass(frozen=True)
class Predictor:
    """Adds a predicted label and its probabilities to batches of columns.

    A predictor is called with a mapping from names to columns of one length: lists, arrays, or a pandas frame. This is
    the batch of `ray.data.Dataset.map_batches`, and what Spark's `mapInPandas` gives. It returns the same columns and,
    behind them, `predicted`, `probability`, and `probability_LABEL` for every label; with a run of `salience train`
    also `familiarity`, see docs/guides/thresholds.md. Rows without a text keep their place: their label is None and
    their probabilities are NaN.

    It can be pickled. Only its settings are sent; each process loads the model once, when it is first needed, from a
    folder that all machines see.

    Args:
        model: a run folder of `salience train`, or any other text classifier.
        text: the column of the texts; None takes that of the training, or a usual name.
        text_pair: the column of the second texts of pairs; None likewise.
        precision: "auto", "fp32" or "bf16", see `TextClassifier`; found out in the process that predicts.
        max_length: number of tokens read of a text; None reads as many as in training.
        device: "auto", "cpu" or "cuda"; found out in the process that predicts.
        prefix: begins the names of the added columns.
        abstain: whether the thresholds of the run apply, if it has any: `predicted` is then None where the probability
            is not above the threshold, and `most_probable` is added.
        threshold: takes the place of the run's thresholds, for all labels. Where texts are multi-label, these
            are the probabilities from which on labels are predicted; `predicted` then holds lists as JSON. With
            "spam=0.25", the label spam is predicted from 0.25 on, and elsewhere the most probable one of the others;
            where texts are multi-label, the others keep their thresholds.
        sets: adds `label_set`, sets that hold the right label with this probability; see docs/guides/thresholds.md.

    Raises:
        InputError: the precision is unknown, or a threshold does not fit. When it is called: the model cannot be
            loaded, a column is missing, a value is no text, or a column has the name of an added one.

    Example:
        >>> predictor = Predictor("runs/reviews")
        >>> predictor({"id": [1, 2], "text": ["a lovely song", None]})["predicted"]
        array(['positive', None], dtype=object)
    """

    model: str | Path
    text: str | None = None
    text_pair: str | None = None
    precision: str = "auto"
    max_length: int | None = None
    device: str = "auto"
    prefix: str = ""
    abstain: bool = True
    threshold: float | str | None = None
    sets: float | None = None

    def __post_init__(self) -> None:
        check_precision(self.precision)
        _ = self.asked_threshold
        if self.threshold is not None and not self.abstain:
            raise InputError("--no-abstain decides every text, and --threshold does not: leave out one of them")

    @cached_property
    def asked_threshold(self) -> tuple[str | None, float | None]:
        """The label, None for all of them, and the threshold that was asked for; None without one."""
        given = self.threshold
        if given is None:
            return None, None
        name, equals, number = given.rpartition("=") if isinstance(given, str) else ("", "", given)
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not 0 <= value < 1:
            written = given if isinstance(given, str) else f"{given:g}"
            raise InputError(
                f"--threshold {written}: give a probability from 0 to below 1, such as 0.9, or that of one label, as "
                "spam=0.25"
            )
        return (name if equals else None), value

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The columns of the batch, and the added ones: labels as objects (N,), probabilities as float64 (N,)."""
        given = dict(batch)
        added = self.added()
        added.check_free(given, "the batch")
        asked = {"text": self.text, "text_pair": self.text_pair}
        columns, _ = choose_as_trained(list(given), self.trained_columns, asked, need_label=False, text_option="text")
        if len({len(values) for values in given.values()}) > 1:
            raise InputError("the columns of the batch have different lengths")
        names = sorted(columns.names)
        read = [dict(zip(names, row, strict=True)) for row in zip(*(given[name] for name in names), strict=True)]
        texts = texts_in(read, columns, "the batch")
        rows = [added.named(*answer) for answer in self.answers(texts).lists()]
        kinds = {name: object if name in added.texts else np.float64 for name in added.names}
        return given | {name: np.array([row[name] for row in rows], kind) for name, kind in kinds.items()}

    @cached_property
    def classifier(self) -> TextClassifier:
        """The model, loaded once in this process, also for other predictors with the same settings."""
        folder = Path(self.model).expanduser()
        version = folder.stat().st_mtime_ns if folder.exists() else 0
        return loaded(str(self.model), version, self.max_length, self.device, self.precision)

    @cached_property
    def trained_columns(self) -> Columns | None:
        return trained_columns(self.model)

    def added(self, as_columns: bool = True) -> AddedColumns:
        """What is added to the rows."""
        kind, labels = self.classifier.kind, self.classifier.labels
        if kind.several:
            for option, given in (("--sets", self.sets is not None), ("--no-abstain", not self.abstain)):
                if given:
                    raise InputError(f"{option}: {self.model} is a multi-label classifier; leave {option} out")
            thresholds = self.predicted_from.tolist()
        else:
            thresholds = None if self.thresholds is None else [self.thresholds.values[label] for label in labels]
        names = [well_formed(str(label)) for label in labels]
        lowest, own = (None, None) if kind.several else (self.lowest_in_set, self.predicted_from)
        if own is not None and not np.isnan(own).any():  # then no label has a threshold of its own
            own = None
        return AddedColumns(
            kind, names, well_formed(self.prefix), as_columns, thresholds, lowest, self.trained_columns, own,
            self.familiarity is not None,
        )  # fmt: skip

    @cached_property
    def familiarity(self) -> Familiarity | None:
        return read_familiarity(self.model, self.classifier)

    @cached_property
    def lowest_in_set(self) -> float | None:
        return None if self.sets is None else lowest_of_run(self.model, self.classifier.labels, self.sets)

    @cached_property
    def thresholds(self) -> Thresholds | None:
        """The thresholds below which nothing is predicted; None if every text is decided."""
        labels, (name, value) = self.classifier.labels, self.asked_threshold
        if value is not None:
            return None if name is not None else Thresholds(dict.fromkeys(labels, value))
        return read_thresholds(self.model, labels) if self.abstain else None

    @cached_property
    def predicted_from(self) -> np.ndarray:
        """The thresholds (C,) from which on labels are predicted, as `Labels.decisions` takes them."""
        labels, (name, value) = self.classifier.labels, self.asked_threshold
        several = self.classifier.multi_label
        if value is None and self.abstain:
            return self.classifier.thresholds
        if name is None:  # one number, of which abstaining is made where a text has one label
            return np.full(len(labels), HALF if value is None else value)
        if name not in labels:
            raise unknown("label in --threshold", name, labels)
        own = self.classifier.thresholds if several else np.full(len(labels), np.nan)
        own[labels.index(name)] = value
        return own

    def answers(self, texts: Sequence[tuple[str | None, ...]], once: Once = at_once) -> Answers:
        """The answers about N rows, each a text or the two texts of a pair; None stands for a text that is missing.

        `once` is called for every batch, with a function that computes what is said of it.
        """
        has_text = np.array([None not in row for row in texts], bool)
        complete: list[Any] = [row if len(row) > 1 else row[0] for row in texts if None not in row]
        encoded = self.classifier.read(complete)
        probabilities = np.full((len(texts), len(self.classifier.labels)), np.nan, np.float32)
        familiarity = np.full(len(texts), np.nan)
        if self.familiarity is None:
            probabilities[has_text] = self.classifier.probabilities(encoded, once)
        else:
            both = self.familiarity.with_probabilities(self.classifier, encoded, once)
            probabilities[has_text], familiarity[has_text] = both
        cut = np.zeros(len(texts), bool)
        cut[has_text] = encoded.cut_texts
        return Answers(probabilities, has_text, cut, familiarity)


@lru_cache(maxsize=1)
def loaded(model: str, version: int, max_length: int | None, device: str, precision: str) -> TextClassifier:
    """The classifier; the last one is kept in memory, until its folder has another time of writing, the `version`."""
    return load(model, max_length, device, precision)


def texts_in(
    rows: Sequence[Mapping[str, Any]], columns: Columns, source: str, first: int = 1
) -> list[tuple[str | None, ...]]:
    """The text of each row, or the two texts of a pair; None for a text that is missing or blank.

    `source`, the name of the data, and the number of the `first` row are for messages.
    """
    names = [name for name in (columns.text, columns.text_pair) if name is not None]
    return [
        tuple(value_in(row, name, text_of, number, source) for name in names) for number, row in enumerate(rows, first)
    ]
