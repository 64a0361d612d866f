"""Models that are each trained on a part of the labelled rows, and what they predict of the others.

What a model predicts is stored when it is trained, so that an interrupted run goes on with the next one.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from accelerate import PartialState

from salience.files import replacing
from salience.processes import is_main_process
from salience.training.fitting import Listeners, fit
from salience.training.interpolating import Beginning
from salience.training.passes import text_passes
from salience.training.preparing import Prepared
from salience.training.shares import SHARES


@dataclass(frozen=True)
class FoldResult:
    """What the model of one fold gave.

    Args:
        rows: (R,) the numbers of the predicted rows among the labelled ones.
        probabilities: (S, R, C) float32, of each share of the trained weights among which the estimate chooses, or of
            one share.
        numbers: number of training rows, steps, passes of texts, and seconds.
    """

    rows: np.ndarray
    probabilities: np.ndarray
    numbers: tuple[int, int, float, float]


def fold_result(
    place: Path, rows: np.ndarray, classes: int, ready: Callable[[], Prepared], listeners: Listeners, announcement: str
) -> FoldResult:
    """What the model of a fold predicts: as it was stored, or after it is trained. Every process trains.

    Args:
        place: a folder for checkpoints, which is removed in the end; what is predicted is stored beside it.
        rows: (R,) the numbers of the rows to predict.
        classes: number of labels.
        ready: prepares the model, its training rows, and the predicted rows as its test rows.
        listeners: what is called during training.
        announcement: told before the training.

    Raises:
        InputError: the loss or the weights of the model are not finite.
    """
    file = place.with_name(f"{place.name}.npz")
    finished = read_fold(file, rows, classes)
    if finished is None:
        listeners.note(announcement)
        finished = fit_fold(ready, rows, place, listeners)
        if is_main_process():
            write_fold(file, finished)
            shutil.rmtree(place, ignore_errors=True)
        PartialState().wait_for_everyone()  # the others may look for the file of the fold
    return finished


def fit_fold(ready: Callable[[], Prepared], rows: np.ndarray, checkpoints: Path, listeners: Listeners) -> FoldResult:
    """Trains the model of a fold and predicts its rows, which are the test rows of what `ready` prepares."""
    started = time.time()
    prepared = ready()
    assert prepared.test is not None  # no fold is empty
    beginning = Beginning(prepared.model) if prepared.recipe.trained_share is None else None
    fitted = fit(prepared, checkpoints, listeners)
    seen = prepared.rows
    if not is_main_process():
        return FoldResult(rows, np.zeros((0, 0, 0), np.float32), (seen, fitted.steps, 0.0, 0.0))
    shares = [1.0] if beginning is None else beginning.at(SHARES)
    probabilities = np.stack([fitted.classifier.probabilities(prepared.test) for _ in shares])
    numbers = (seen, fitted.steps, text_passes(prepared, fitted), time.time() - started)
    return FoldResult(rows, probabilities, numbers)


def write_fold(file: Path, result: FoldResult) -> None:
    """Writes a finished fold, in one step."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as unfinished, open(unfinished, "wb") as opened:
        np.savez(opened, rows=result.rows, probabilities=result.probabilities, numbers=np.array(result.numbers))


def read_fold(file: Path, rows: np.ndarray, classes: int) -> FoldResult | None:
    """A finished fold; None if it is not finished, or was one of other rows.

    Args:
        rows: (R,) the rows that it must have predicted.
        classes: number of labels.
    """
    if not file.is_file():
        return None
    with np.load(file, allow_pickle=False) as arrays:
        if not np.array_equal(arrays["rows"], rows) or arrays["probabilities"].shape[1:] != (len(rows), classes):
            return None
        seen, steps, passes, seconds = arrays["numbers"].tolist()
        return FoldResult(rows, arrays["probabilities"], (int(seen), int(steps), passes, seconds))
