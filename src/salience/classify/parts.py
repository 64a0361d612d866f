"""The rows of a file, or of a part of it, some at a time."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from salience.classify.predictor import Answers, Predictor, texts_in
from salience.data.columns import Columns
from salience.data.reading import stream
from salience.errors import InputError, one_line
from salience.processes import connected, rows_of
from salience.work import doing

if TYPE_CHECKING:
    from pyarrow import Table


@dataclass(frozen=True)
class Windows:
    """Reads a file of texts in bounded memory. It can be sent to another process, which reads the same rows."""

    source: str  # as `salience.data.reading.stream` takes it
    encoding: str
    columns: Columns  # those of the texts
    rows: range  # from 0
    size: int  # number of rows in memory at a time

    def __iter__(self) -> Iterator[tuple[int, list[dict]]]:
        """Yields the number of the first row of a window, from 1, and its rows with all columns."""
        return self.windows(stream(self.source, self.encoding))

    def texts(self) -> Iterator[list[tuple[str | None, ...]]]:
        """Yields the texts of every window. Other columns of typed tables are not read."""
        for first, rows in self.windows(stream(self.source, self.encoding, columns=self.columns.names)):
            yield self.texts_of(first, rows)

    def texts_of(self, first: int, rows: list[dict]) -> list[tuple[str | None, ...]]:
        return texts_in(rows, self.columns, self.source, first)

    def windows(self, rows: Iterator[dict]) -> Iterator[tuple[int, list[dict]]]:
        rows, first = islice(rows, self.rows.start, self.rows.stop), self.rows.start + 1
        while window := list(islice(rows, self.size)):
            yield first, window
            first += len(window)


def check_window(size: int) -> None:
    """Raises an `InputError` if a window has no row."""
    if size < 1:
        raise InputError(f"--window must be at least 1, not {size}")


@doing("counting rows")
def rows_of_part(part: tuple[int, int], source: str, encoding: str, columns: Columns) -> range:
    """The rows of the k-th of n parts of a file, which is read once to count them."""
    return rows_of(part, sum(1 for _ in stream(source, encoding, columns=columns.names)))


class ClusterError(InputError):
    """The cluster has failed, and not what it was given."""


Batch = dict[str, np.ndarray]  # as Ray Data's functions take and give it


def answers_by_ray(
    predictor: Predictor, windows: Windows, address: str
) -> Generator[tuple[int, list[dict], Answers], None, None]:
    """Predicts the windows of a file on a cluster: in their order, the number of the first row, the rows, the answers.

    One task reads the file and sends its texts, and nothing else, to actors, which hold the model; this process reads
    the same rows and puts the answers beside them. If an actor is lost, its windows are predicted again by another.
    The model and the file must be at the same place on all machines.
    """
    # Else its core warns of a loss of what actors are made from; Ray Data itself keeps that as long as they live.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    with connected(address), failures(address):  # says what to install, if Ray is not there
        import ray

        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        resources = ray.cluster_resources()
        gpus = int(resources.get("GPU", 0))
        actors = gpus or max(1, int(resources.get("CPU", 1)))
        answered = (
            ray.data.range(1, override_num_blocks=1)
            .map_batches(read_texts, fn_args=[windows], num_cpus=0)
            .repartition(target_num_rows_per_block=windows.size)
            .map_batches(
                Actor, fn_constructor_args=[predictor], batch_size=windows.size, num_cpus=1,
                num_gpus=1 if gpus else 0, compute=ray.data.ActorPoolStrategy(min_size=1, max_size=actors),
            )
            .iter_batches(batch_size=windows.size, batch_format="numpy")
        )  # fmt: skip
        for (first, rows), batch in zip(windows, answered, strict=True):
            yield first, rows, Answers(**batch)


def read_texts(start: Batch, windows: Windows) -> Iterator[Table]:
    """The texts of a file as a column named 0, and the second texts of pairs as one named 1: a window at a time."""
    import pyarrow

    for texts in windows.texts():
        columns = [pyarrow.array(column, pyarrow.string()) for column in zip(*texts, strict=True)]
        yield pyarrow.table(columns, names=[str(place) for place in range(len(columns))])


class Actor:
    """A process with the model."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor

    def __call__(self, batch: Batch) -> Batch:
        columns = [batch[name] for name in sorted(batch)]
        return vars(self.predictor.answers(list(zip(*columns, strict=True))))


@contextmanager
def failures(address: str) -> Iterator[None]:
    """Inside the `with`, an error of the cluster becomes an `InputError`, by the one raised there if there is one."""
    import ray

    try:
        yield
    except ray.exceptions.RayError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, InputError | OSError):
            cause = getattr(cause, "cause", None) or cause.__cause__
        kind = ClusterError if cause is None else InputError
        raise kind(f"--ray {address}: {cause or one_line(error)[-500:]}") from error
