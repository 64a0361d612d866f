"""Prediction by the processes of a Ray cluster, through Ray Data."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from salience.cluster import connected
from salience.errors import InputError, one_line
from salience.prediction.predictor import Answers, Predictor
from salience.prediction.windows import Windows

if TYPE_CHECKING:
    from pyarrow import Table

Batch = dict[str, np.ndarray]  # as Ray Data's functions take and give it


def answers_by_ray(
    predictor: Predictor, windows: Windows, address: str
) -> Generator[tuple[int, list[dict], Answers], None, None]:
    """Predicts the windows of a file on a cluster, and gives them in their order.

    One task reads the file and sends its texts, and nothing else, to actors, which hold the model; this process reads
    the same rows and puts the answers beside them. If an actor is lost, its windows are predicted again by another.

    Args:
        predictor: the settings; the model must be at the same place on all machines.
        windows: of the file, which must be at the same place on all machines.
        address: of the cluster; see `salience.cluster.connected`.

    Yields:
        The number of the first row of a window, its rows, and what the classifier says about them.

    Raises:
        InputError: there is no cluster, or the work failed there.
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
    """The texts of a file as a column named 0, and the second texts of pairs as one named 1: a window at a time.

    Args:
        start: a batch of one row, which says nothing.
    """
    import pyarrow

    for texts in windows.texts():
        columns = [pyarrow.array(column, pyarrow.string()) for column in zip(*texts, strict=True)]
        yield pyarrow.table(columns, names=[str(place) for place in range(len(columns))])


class Actor:
    """A process with the model."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor

    def __call__(self, batch: Batch) -> Batch:
        """The answers for a batch of texts, as a batch."""
        columns = [batch[name] for name in sorted(batch)]
        return vars(self.predictor.answers(list(zip(*columns, strict=True))))


@contextmanager
def failures(address: str) -> Iterator[None]:
    """A context in which an error of the cluster becomes an `InputError`, the one raised there if there is one."""
    import ray

    try:
        yield
    except ray.exceptions.RayError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, InputError | OSError):
            cause = getattr(cause, "cause", None) or cause.__cause__
        raise InputError(f"--ray {address}: {cause or one_line(error)[-500:]}") from error
