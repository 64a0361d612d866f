"""A trained classifier as a function of columns, which can be sent to other processes and machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from salience.data.columns import Columns, choose_as_trained
from salience.data.values import text_of, value_in, well_formed
from salience.errors import InputError
from salience.inference import TextClassifier, load
from salience.inference.abstaining import Thresholds, read_thresholds
from salience.models.precision import check_precision
from salience.prediction.added_columns import AddedColumns
from salience.prediction.added_label_lists import AddedLists
from salience.prediction.label_sets import lowest_of_run
from salience.training.recipe_file import trained_columns


@dataclass(frozen=True)
class Answers:
    """What a classifier of C labels says about N rows.

    Args:
        probabilities: (N, C) float32, NaN for rows without a text.
        has_text: (N,) bool; False where a text is missing or blank.
        cut: (N,) bool, whether a text is longer than what the classifier reads of it.
    """

    probabilities: np.ndarray
    has_text: np.ndarray
    cut: np.ndarray

    def lists(self) -> list[list[float] | None]:
        """The probabilities of each row as a list; None for a row without a text."""
        rows = zip(self.probabilities.tolist(), self.has_text, strict=True)
        return [probabilities if has_text else None for probabilities, has_text in rows]


@dataclass(frozen=True)
class Predictor:
    """Adds a predicted label and its probabilities to batches of columns.

    A predictor is called with a mapping from names to columns of one length: lists, arrays, or a pandas frame. This is
    the batch of `ray.data.Dataset.map_batches`, and what Spark's `mapInPandas` gives. It returns the same columns and,
    behind them, `predicted`, `probability`, and `probability_LABEL` for every label. Rows without a text keep their
    place: their label is None and their probabilities are NaN.

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
        threshold: takes the place of the run's thresholds, for all labels. Where a text can have several labels, these
            are the probabilities from which on labels are predicted; `predicted` then holds lists as JSON.
        sets: adds `label_set`, sets that hold the right label with this probability; see docs/abstaining.md.

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
    threshold: float | None = None
    sets: float | None = None

    def __post_init__(self) -> None:
        check_precision(self.precision)
        if self.threshold is not None and not 0 <= self.threshold < 1:
            raise InputError(f"--threshold {self.threshold:g}: give a probability from 0 to below 1, such as 0.9")
        if self.threshold is not None and not self.abstain:
            raise InputError("--no-abstain decides every text, and --threshold does not: leave out one of them")

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The columns of the batch, and the added ones: labels as objects (N,), probabilities as float64 (N,)."""
        given = dict(batch)
        added = self.added()
        added.check_free(given, "the batch")
        columns = self.columns_of(list(given))
        if len({len(values) for values in given.values()}) > 1:
            raise InputError("the columns of the batch have different lengths")
        names = sorted(columns.names)
        read = [dict(zip(names, row, strict=True)) for row in zip(*(given[name] for name in names), strict=True)]
        texts = texts_in(read, columns, "the batch")
        rows = [added.named(answer) for answer in self.answers(texts).lists()]
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
        """The columns on which the model was trained; None if they are not known."""
        return trained_columns(self.model)

    def added(self, as_columns: bool = True) -> AddedColumns:
        """What is added to the rows."""
        labels = self.classifier.labels
        if self.classifier.multi_label:
            self.check_one_label_options()
            each = self.classifier.thresholds.tolist() if self.threshold is None else [self.threshold] * len(labels)
            return AddedLists.of(labels, well_formed(self.prefix), as_columns, each)
        thresholds = None if self.thresholds is None else [self.thresholds.values[label] for label in labels]
        return AddedColumns.of(labels, well_formed(self.prefix), as_columns, thresholds, self.lowest_in_set)

    def check_one_label_options(self) -> None:
        """Raises an `InputError` if an option was given that needs a model with one label for each text."""
        for option, given in (("--sets", self.sets is not None), ("--no-abstain", not self.abstain)):
            if given:
                raise InputError(f"{option}: {self.model} gives a text several labels at once; leave {option} out")

    @cached_property
    def lowest_in_set(self) -> float | None:
        """The lowest probability of a label in a set; None if there are no sets."""
        return None if self.sets is None else lowest_of_run(self.model, self.classifier.labels, self.sets)

    @cached_property
    def thresholds(self) -> Thresholds | None:
        """The thresholds below which nothing is predicted; None if every text is decided."""
        labels = self.classifier.labels
        if self.threshold is not None:
            return Thresholds(dict.fromkeys(labels, self.threshold))
        return read_thresholds(self.model, labels) if self.abstain else None

    def columns_of(self, names: Sequence[str]) -> Columns:
        """The columns of the texts among `names`."""
        named = {"text": self.text, "text_pair": self.text_pair}
        return choose_as_trained(names, self.trained_columns, named, need_label=False, text_option="text")[0]

    def answers(self, texts: Sequence[tuple[str | None, ...]]) -> Answers:
        """The probabilities of N rows.

        Args:
            texts: for each row its text, or the two texts of a pair; None for a text that is missing.
        """
        has_text = np.array([None not in row for row in texts], bool)
        complete: list[Any] = [row if len(row) > 1 else row[0] for row in texts if None not in row]
        encoded = self.classifier.read(complete)
        probabilities = np.full((len(texts), len(self.classifier.labels)), np.nan, np.float32)
        probabilities[has_text] = self.classifier.probabilities(encoded)
        cut = np.zeros(len(texts), bool)
        cut[has_text] = encoded.cut_texts
        return Answers(probabilities, has_text, cut)


@lru_cache(maxsize=1)
def loaded(model: str, version: int, max_length: int | None, device: str, precision: str) -> TextClassifier:
    """The classifier; the last one is kept in memory.

    Args:
        version: when the model's folder was written, so that a model that was trained again is loaded again.
    """
    return load(model, max_length, device, precision)


def texts_in(
    rows: Sequence[Mapping[str, Any]], columns: Columns, source: str, first: int = 1
) -> list[tuple[str | None, ...]]:
    """The text of each row, or the two texts of a pair; None for a text that is missing or blank.

    Args:
        source: the name of the data, for error messages.
        first: the number of the first row in the data.

    Raises:
        InputError: a value is no text.
    """
    names = [name for name in (columns.text, columns.text_pair) if name is not None]
    return [
        tuple(value_in(row, name, text_of, number, source) for name in names) for number, row in enumerate(rows, first)
    ]
