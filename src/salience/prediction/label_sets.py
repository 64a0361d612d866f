"""Sets of labels that hold the right one with a given probability: conformal prediction.

The score of a row is the probability of its label (least ambiguous sets; Sadinle, Lei and Wasserman, 2019,
arXiv:1609.00451). A set holds every label whose probability is at least a quantile of these scores, as in section 1
of Angelopoulos and Bates (2021), arXiv:2107.07511. The scores are those of out-of-fold predictions, by models that had
not seen the rows.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from salience.errors import InputError, one_line
from salience.inference.onnx_classifier import is_exported
from salience.training.results import OUT_OF_FOLD
from salience.training.temperature import with_temperature
from salience.training.thresholds import one_row_of_each


def lowest_in_set(probabilities: np.ndarray, labels: np.ndarray, level: float) -> float:
    """The lowest probability of a label in a set: the k-th highest score of N rows, k = ceil((N + 1) level).

    If a new row is exchangeable with the N rows, its label has at least this probability with a probability of at
    least `level`.

    Args:
        probabilities: (N, C).
        labels: (N,), class numbers.
        level: between 0 and 1.

    Raises:
        InputError: there are too few rows for this level.
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

    Args:
        model: the folder of the run.
        labels: those of the model.
        level: between 0 and 1.

    Raises:
        InputError: the level is not between 0 and 1, the run has no estimate, its files are damaged, or there are too
            few rows.
    """
    if not 0 < level < 1:
        raise InputError(f"--sets {level:g}: give the share of the sets that hold the right label, such as 0.9")
    folder = Path(model).expanduser()
    file = folder / OUT_OF_FOLD[1]
    if not file.is_file() and is_exported(folder):
        raise InputError(
            f"--sets needs the out-of-fold predictions of a run, which an export has not: name the run that {model} "
            "was exported from"
        )
    if not file.is_file():
        raise InputError(
            f"--sets needs the out-of-fold predictions of a run, and {model} has no {OUT_OF_FOLD[1]}: train it with "
            "--estimate folds:5"
        )
    try:
        with np.load(file, allow_pickle=False) as arrays:
            probabilities, numbers = arrays["probabilities"], arrays["labels"]
            names = arrays["names"].tolist()
            groups = arrays.get("group")
        estimate = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["estimate"]
        temperature = float(estimate["temperature_scaling"]["temperature"]) if estimate["calibrated"] else 1.0
        fits = (
            names == list(labels)
            and probabilities.shape == (len(numbers), len(names))
            and probabilities.dtype.kind == "f"
            and numbers.dtype.kind in "iu"
            and bool(((numbers >= 0) & (numbers < len(names))).all())
            and bool((np.isfinite(probabilities) & (probabilities >= 0)).all())
            and (groups is None or groups.shape == numbers.shape)
            and 0 < temperature < math.inf
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{file} or metrics.json beside it is damaged: {one_line(error, 200)}") from error
    if not fits:
        raise InputError(f"{file} is not about this model, or is damaged: train the model again, or leave out --sets")
    if groups is not None:
        rows = one_row_of_each(groups, seed=0)
        probabilities, numbers = probabilities[rows], numbers[rows]
    return lowest_in_set(with_temperature(probabilities, temperature), numbers, level)
