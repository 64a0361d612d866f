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
from salience.models.precision import check_precision
from salience.prediction.added_columns import Added
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
        text, text_pair: the columns of the texts; None takes those of the training, or usual names.
        precision: "auto", "fp32" or "bf16", see `TextClassifier`; found out in the process that predicts.
        max_length: number of tokens read of a text; None reads as many as in training.
        device: "auto", "cpu" or "cuda"; found out in the process that predicts.
        prefix: begins the names of the added columns.

    Raises:
        InputError: the precision is unknown. When it is called: the model cannot be loaded, a column is missing, a
            value is no text, or a column has the name of an added one.

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

    def __post_init__(self) -> None:
        check_precision(self.precision)

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
        label, *numbers = added.names
        labels = {label: np.array([row[label] for row in rows], object)}
        return given | labels | {name: np.array([row[name] for row in rows], np.float64) for name in numbers}

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

    def added(self, as_columns: bool = True) -> Added:
        """What is added to the rows."""
        return Added.of(self.classifier.labels, well_formed(self.prefix), as_columns)

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
        encoded = self.classifier.encode(complete)
        probabilities = np.full((len(texts), len(self.classifier.labels)), np.nan, np.float32)
        probabilities[has_text] = self.classifier.probabilities(encoded)
        cut = np.zeros(len(texts), bool)
        cut[has_text] = encoded.cut
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
